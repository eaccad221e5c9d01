"""Schemas of data that has none."""

import json

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest
from cases import cases

import kcodec

ORDERS = pa.schema([pa.field("id", pa.int64(), False), ("note", pa.string())])

TYPES = {"AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "JSON_SR": "JSON"}


@cases(
    "data",
    [
        pa.table({"id": [1], "note": ["a"]}),
        pa.table({"id": [1], "note": ["a"]}).to_batches()[0],
        pandas.DataFrame({"id": [1, 2], "note": ["a", None]}, index=[7, 5]),
        polars.DataFrame({"id": [1], "note": ["a"]}),
        polars.LazyFrame({"id": [1], "note": ["a"]}),
        duckdb.sql("SELECT 1::BIGINT AS id, 'a' AS note"),
        [{"id": 1}, {"note": "a"}],
        {"id": [1], "note": ["a"]},
        "id BIGINT, note STRING",
        pa.struct([("id", pa.int64()), ("note", pa.string())]),
    ],
    ids=lambda data: type(data).__module__.partition(".")[0] + "." + type(data).__name__,
)
def test_what_has_columns(data):
    assert json.loads(kcodec.schema_of(data, "avro", name="Order", namespace="shop.v1")) == {
        "type": "record",
        "name": "Order",
        "namespace": "shop.v1",
        "fields": [
            {"name": "id", "type": ["null", "long"], "default": None},
            {"name": "note", "type": ["null", "string"], "default": None},
        ],
    }


def test_a_lazy_frame_is_not_computed():
    def fail(_):
        raise AssertionError

    frame = polars.LazyFrame({"id": [1]}).with_columns(
        more=polars.col("id").map_batches(fail, return_dtype=polars.Int64)
    )
    assert kcodec.schema_of(frame, "ddl") == "id BIGINT, more BIGINT"


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_without_names_it_is_what_a_serde_registers(format):
    registry = kcodec.registry.open(f"memory://derived-{format}")
    kcodec.Serde(format, registry, topic="orders").serialize(
        pa.StructArray.from_arrays([pa.array([1]), pa.array(["a"])], fields=list(ORDERS))
    )
    found = registry.lookup(
        "orders-value", kcodec.registry.Schema(kcodec.schema_of(ORDERS, format), TYPES[format])
    )
    assert found.version == 1


def test_names_in_each_format():
    assert kcodec.schema_of(ORDERS, "protobuf", name="Order", namespace="shop.v1").startswith(
        'syntax = "proto3";\npackage shop.v1;\n\nmessage Order {\n'
    )
    assert json.loads(kcodec.schema_of(ORDERS, "json-sr", name="Order"))["title"] == "Order"
    assert "topLevelRecord" in kcodec.schema_of(ORDERS, namespace="shop")


@cases(
    ("data", "arguments", "error", "message"),
    [
        (5, {}, TypeError, "int is no table: a table is an Arrow table, batch or reader"),
        (ORDERS, {"format": "AVOR"}, kcodec.ConfigError, "AVOR"),
        (ORDERS, {"format": 5}, kcodec.ConfigError, "format=5 is not text"),
        (ORDERS, {"format": "JSON_SR", "namespace": "x"}, kcodec.ConfigError, "has no namespace"),
        (ORDERS, {"format": "DDL", "name": "x"}, kcodec.ConfigError, "has no names"),
        (ORDERS, {"format": "PROTOBUF", "name": "a.b"}, kcodec.ConfigError, "namespace="),
        (ORDERS, {"name": "a b"}, kcodec.SchemaError, "a b"),
        (pa.schema([("a b", pa.int8())]), {}, kcodec.SchemaError, "a b"),
        (pa.int64(), {"name": "x"}, kcodec.SchemaError, "a name is one of a record, which int64 is not"),
        (
            pa.schema([("at", pa.duration("s"))]),
            {"format": "ddl"},
            kcodec.SchemaError,
            "at: Spark's DDL has no type",
        ),
        (
            pa.schema([("at", pa.month_day_nano_interval())]),
            {"format": "JSON_SR"},
            kcodec.SchemaError,
            "at: a column of month_day_nano_interval is not written as JSON",
        ),
        (
            pa.schema([("at", pa.list_(pa.month_day_nano_interval()))]),
            {"format": "JSON_SR"},
            kcodec.SchemaError,
            r"at\[\]: a column of month_day_nano_interval is not written as JSON",
        ),
    ],
)
def test_what_has_no_schema(data, arguments, error, message):
    with pytest.raises(error, match=message):
        kcodec.schema_of(data, **arguments)
