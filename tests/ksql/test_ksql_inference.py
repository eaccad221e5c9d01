"""ksqlDB's columns from the latest schema of a topic, and schemas chosen by their ids."""

import datetime
import json
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
from ksql_codecs import UTC, codec_of, framed, record, registered

from kcodec import ConfigError, KsqlCodec, SchemaError
from kcodec.registry import Config, Schema
from kcodec.registry.memory import MemoryRegistry


def test_columns_are_taken_from_the_latest_schema(impl):
    registry = MemoryRegistry()
    # ksqlDB's own schema has another name, which most levels refuse.
    registry.set_config(Config("NONE"))
    registered(
        registry, record(("id", "long"), ("Tags", {"type": "array", "items": "string"})), subject="t-value"
    )
    codec = KsqlCodec("AVRO", registry=registry, topic="t")
    assert ", ".join(map(str, codec.columns)) == "`ID` BIGINT, `TAGS` ARRAY<STRING>"
    assert codec.decode(codec.encode(pa.array([{"ID": 1}]))).to_pylist() == [{"ID": 1, "TAGS": None}]
    # Its keys are given, its values are not.
    assert len(KsqlCodec("AVRO", "K INT KEY", registry=registry, topic="t").columns) == 1 + 1
    assert pickle.loads(pickle.dumps(codec)) == codec
    registry.register("t-key", Schema('"int"', "AVRO"))
    keys = KsqlCodec("AVRO", registry=registry, topic="t", is_key=True)
    assert str(keys.columns[0]) == "`ROWKEY` INTEGER KEY"


@pytest.mark.parametrize("kind", ["null", ["null"]])
def test_fields_that_are_always_null_are_left_out(kind):
    registry = MemoryRegistry()
    registered(registry, record(("a", "int"), ("b", kind)), subject="t-value")
    assert ", ".join(map(str, KsqlCodec("AVRO", registry=registry, topic="t").columns)) == "`A` INTEGER"


INFERRED = [
    (
        "AVRO",
        json.dumps(
            record(
                ("a", ["null", "int"]),
                ("d", {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}),
                ("m", {"type": "map", "values": "float"}),
                ("u", ["int", "string"]),
                ("t", {"type": "int", "logicalType": "time-millis"}),
                ("r", record(("x", {"type": "long", "logicalType": "timestamp-millis"}), name="I")),
            )
        ),
        "`A` INTEGER, `D` DECIMAL(5, 1), `M` MAP<STRING, DOUBLE>, `U` STRUCT<`INT` INTEGER, `STRING` STRING>, "
        "`T` TIME, "
        "`R` STRUCT<`X` TIMESTAMP>",
    ),
    (
        "PROTOBUF",
        'syntax = "proto3"; import "google/type/timeofday.proto"; message M { oneof o { int32 a = 1; bytes b = 2; } '
        "uint32 c = 3; repeated google.type.TimeOfDay d = 4; map<string, M2> e = 5; message M2 { float f = 1; } }",
        "`O_0` STRUCT<`A` INTEGER, `B` BYTES>, `C` BIGINT, `D` ARRAY<TIME>, `E` MAP<STRING, STRUCT<`F` DOUBLE>>",
    ),
    (
        "JSON_SR",
        json.dumps(
            {
                "type": "object",
                "properties": {
                    "b": {"type": "number", "connect.index": 1},
                    "a": {"oneOf": [{"type": "null"}, {"type": "integer"}], "connect.index": 0},
                    "c": {"type": "array", "items": {"type": "boolean"}},
                },
            }
        ),
        "`A` BIGINT, `B` DOUBLE, `C` ARRAY<BOOLEAN>",
    ),
]


@pytest.mark.parametrize(("name", "text", "columns"), INFERRED, ids=[name for name, _, _ in INFERRED])
def test_inferred_types(name, text, columns):
    registry = MemoryRegistry()
    registered(registry, text, {"JSON_SR": "JSON"}.get(name, name), subject="t-value")
    assert ", ".join(map(str, KsqlCodec(name, registry=registry, topic="t").columns)) == columns


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["price", "id", "name"], ["price", "name", "id"]),
        ([f"f{number}" for number in range(13)], [f"f{number}" for number in (10, 12, 11, *range(10))]),
        (["AaAa", "BBBB", "AaBB", "x"], ["x", "AaAa", "BBBB", "AaBB"]),
    ],
)
def test_properties_without_an_index_are_in_the_order_of_javas_hash_table(names, columns):
    registry = MemoryRegistry()
    text = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    number = registered(registry, text, "JSON")
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t", properties={"VALUE_SCHEMA_ID": number})
    assert [column.name for column in codec.columns] == columns


def test_a_schema_is_chosen_by_its_id(impl):
    registry = MemoryRegistry()
    text = record(("id", "long"), ("note", ["null", "string"]), name="Mine")
    text["fields"].append({"name": "extra", "type": "int", "default": 5})
    number = registered(registry, text)
    codec = codec_of("AVRO", None, registry=registry, properties={"VALUE_SCHEMA_ID": number})
    # Names are as they are.
    assert [column.name for column in codec.columns] == ["id", "note", "extra"]
    assert json.loads(codec.schema)["name"] == "Mine"
    part = codec_of("AVRO", "`id` BIGINT", registry=registry, properties={"VALUE_SCHEMA_ID": number})
    assert part.encode(pa.array([{"id": 1}])).to_pylist() == [framed(number, b"\x02\x00\x0a")]
    assert registry.subjects() == ["any"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "ID BIGINT",
            r"columns are changed, missing or reordered: \[`ID` BIGINT\]. Schema from schema registry is",
        ),
        ("`b` INT, `a` INT", "columns are changed, missing or reordered"),
        ("`a` INT, `b` BIGINT", "columns are changed"),
    ],
)
def test_declared_columns_are_those_of_the_chosen_schema(columns, message):
    registry = MemoryRegistry()
    number = registered(registry, record(("a", "int"), ("b", "int")))
    with pytest.raises(SchemaError, match=message):
        codec_of("AVRO", columns, registry=registry, properties={"schemaId": number})


RECURSIVE = [
    ("AVRO", json.dumps(record(("a", ["null", "R"]), ("b", ["null", "R"]), ("c", "int")))),
    ("PROTOBUF", 'syntax = "proto3"; message R { R a = 1; R b = 2; int32 c = 3; }'),
    (
        "JSON_SR",
        json.dumps(
            {
                "type": "object",
                "properties": {
                    "a": {"$ref": "#"},
                    "b": {"$ref": "#"},
                    "c": {"type": "integer", "connect.type": "int32"},
                },
            }
        ),
    ),
]


@pytest.mark.parametrize(("name", "text"), RECURSIVE, ids=[name for name, _ in RECURSIVE])
def test_schemas_that_contain_themselves(impl, name, text):
    """Columns may be declared; to infer them there are too many."""
    registry = MemoryRegistry()
    registered(registry, text, {"JSON_SR": "JSON"}.get(name, name), subject="t-value")
    with pytest.raises(
        SchemaError, match=r"within [aA].* nested deeper than 64, .*: a schema that contains itself"
    ):
        KsqlCodec(name, registry=registry, topic="t")
    codec = codec_of(name, "C INT, A STRUCT<A STRUCT<C INT>, X INT>", registry=registry)
    body = {
        "AVRO": b"\x02\x02\x00\x00\x0a\x00\x06\x00\x04",
        "PROTOBUF": b"\0\x0a\x04\x0a\x02\x18\x05\x18\x02",
        "JSON_SR": b'{"a":{"a":{"c":5},"c":3},"c":2}',
    }
    assert codec.decode([framed(1, body[name])]).to_pylist() == [{"C": 2, "A": {"A": {"C": 5}, "X": None}}]


def test_a_reference_to_itself():
    registry = MemoryRegistry()
    registered(registry, {"oneOf": [{"type": "null"}, {"$ref": "#"}]}, "JSON", subject="t-value")
    with pytest.raises(SchemaError, match="in circles"):
        KsqlCodec("JSON_SR", registry=registry, topic="t")


def test_what_is_not_inferred():
    registry = MemoryRegistry()
    with pytest.raises(
        SchemaError, match="Schema for message values on topic 't' does not exist in the Schema Registry"
    ):
        KsqlCodec("AVRO", registry=registry, topic="t")
    messages = (
        'syntax = "proto3"; package shop; message Skip { Skip again = 1; } message Order { int32 id = 1; }'
    )
    registered(registry, messages, "PROTOBUF", subject="t-value")
    with pytest.raises(SchemaError, match="You may want to set VALUE_FORMAT to 'PROTOBUF'"):
        KsqlCodec("AVRO", registry=registry, topic="t")
    with pytest.raises(
        SchemaError,
        match=r"multiple schema definitions.*\n\n- shop.Skip\n- shop.Order\n\n.*VALUE_SCHEMA_FULL_NAME",
    ):
        KsqlCodec("PROTOBUF", registry=registry, topic="t")
    with pytest.raises(ConfigError, match="needs registry="):
        KsqlCodec("AVRO")
    with pytest.raises(ConfigError, match="topic="):
        KsqlCodec("AVRO", registry=registry)
    registered(registry, '"int"', subject="bare-value")
    with pytest.raises(SchemaError, match="anonymous type"):
        KsqlCodec("AVRO", registry=registry, topic="bare")
    bare = KsqlCodec("AVRO", registry=registry, topic="bare", wrap=False)
    assert str(bare.columns[0]) == "`ROWVAL` INTEGER"
    registered(registry, record(("a", "int"), ("b", "int")), subject="two-key")
    assert [
        str(column) for column in KsqlCodec("AVRO", registry=registry, topic="two", is_key=True).columns
    ] == ["`ROWKEY` STRUCT<`A` INTEGER, `B` INTEGER> KEY"]


def test_logical_types_that_only_connect_names_are_written(impl):
    connect = {
        "day": ("int", "Date", datetime.date(2024, 2, 29), b"\x8c\xb5\x02"),
        "time": ("int", "Time", datetime.time(1, 2, 3), b"\xf0\xbb\xc6\x03"),
        "at": ("long", "Timestamp", datetime.datetime(2024, 2, 29, tzinfo=UTC), b"\x80\xa0\xc9\xa2\xbec"),
        "price": ("bytes", "Decimal", Decimal("1.25"), b"\x02}"),
    }
    registry = MemoryRegistry()
    text = record(
        *(
            (
                name,
                [
                    "null",
                    {
                        "type": kind,
                        "connect.name": f"org.apache.kafka.connect.data.{logical}",
                        "connect.parameters": {"scale": "2", "connect.decimal.precision": "4"},
                    },
                ],
            )
            for name, (kind, logical, _, _) in connect.items()
        ),
        name="Mine",
    )
    number = registered(registry, text)
    columns = "`day` DATE, `time` TIME, `at` TIMESTAMP, `price` DECIMAL(4, 2)"
    codec = codec_of("AVRO", columns, registry=registry, properties={"VALUE_SCHEMA_ID": number})
    row = {name: value for name, (_, _, value, _) in connect.items()}
    values = codec.encode(pa.array([row, dict.fromkeys(row)], codec.arrow_type))
    body = b"".join(b"\x02" + data for _, _, _, data in connect.values())
    assert values.to_pylist() == [framed(number, body), framed(number, b"\x00" * 4)]
    assert codec.decode(values).to_pylist() == [row, dict.fromkeys(row)]
