"""from_json_schema and to_json_schema, in a classic and a Connect session, alone and with a registry in a file."""

import datetime
import decimal
import json

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F

from kcodec import ConfigError, JsonSchemaCodec, SchemaError, Serde, registry
from kcodec.registry import Reference, Schema
from kcodec_spark import from_json_schema, register, to_json_schema

SUBJECT = "orders-value"
ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "at": {"type": "string", "format": "date-time"},
        "tags": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
        "kind": {"oneOf": [{"type": "null"}, {"type": "string"}, {"type": "boolean"}]},
        "more": {},
    },
    "required": ["id"],
}
ROWS = [
    b'{"id":1,"at":"2024-02-29T12:00:00Z","tags":{"a":1.5,"b":null},"kind":"x","more":[1,{"b":2}]}',
    None,
    b'{"id":2,"kind":true,"else":1}',
    b'{"id":"3"}',
]


def frame(spark, rows):
    return spark.createDataFrame([(row,) for row in rows], "value binary").coalesce(1)


@pytest.fixture
def address(tmp_path):
    return f"sqlite:///{tmp_path / 'schemas.db'}"


def test_documents_there_and_back(spark):
    good = frame(spark, ROWS[:3])
    column = good.select(from_json_schema("value", ORDER))
    assert column.columns == ["from_json_schema(value)"]
    rows = [row[0] for row in column.collect()]
    assert rows[0].asDict() | {"at": None} == {
        "id": 1, "at": None, "tags": {"a": 1.5, "b": None}, "kind": (None, "x"), "more": '[1,{"b":2}]',
    }  # fmt: skip
    moment = column.select(F.expr("unix_seconds(`from_json_schema(value)`.at)")).first()[0]
    assert moment == datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc).timestamp()
    assert rows[1] is None
    assert rows[2] == (2, None, None, (True, None), None)
    back = good.select(from_json_schema("value", json.dumps(ORDER)).alias("r")).select(
        to_json_schema("r", ORDER).alias("v")
    )
    assert [row.v for row in back.collect()] == [
        ROWS[0].replace(b"00Z", b"00.000000Z"), None, b'{"id":2,"kind":true}',
    ]  # fmt: skip


def test_bad_rows(spark):
    df = frame(spark, ROWS)
    with pytest.raises(PythonException, match="DecodeError: json_type: row 3, byte 6, id: "):
        df.select(from_json_schema("value", ORDER)).collect()
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    rows = df.select(from_json_schema("value", ORDER, options).alias("r")).select("r.*").collect()
    assert [row["_error"] and row["_error"].code for row in rows] == [None, None, None, "json_type"]
    closed = {**ORDER, "additionalProperties": False}
    rows = df.select(from_json_schema("value", closed, options, validate=True).alias("r")).select("r._error")
    found = [row[0] and (row[0].code, row[0].reason) for row in rows.collect()]
    assert found[:2] == [None, None]
    assert [each[0] for each in found[2:]] == ["schema_violation"] * 2
    assert found[3][1].startswith("type at /id: ")
    wrong = df.limit(1).select(F.struct(F.lit("x").alias("id")).alias("r"))
    wrong = wrong.select(to_json_schema("r", ORDER, options, validate=True).alias("w"))
    assert wrong.select("w._error.code").first()[0] == "schema_violation"


def test_arguments(spark):
    df = frame(spark, ROWS[2:3])
    kept = df.select(from_json_schema("value", ORDER, unknown="keep", fields="id").alias("r"))
    assert kept.first().r == (2,)
    kept = df.select(from_json_schema("value", ORDER, unknown="keep").alias("r"))
    assert kept.select("r._unknown").first()[0] == '{"else":1}'
    typed = df.select(from_json_schema("value", ORDER, arrow_type="id DECIMAL(9,2), else INT").alias("r"))
    assert typed.first().r == (decimal.Decimal("2.00"), 1)
    assert df.select(from_json_schema("value", JsonSchemaCodec(ORDER)).alias("r")).first().r[0] == 2
    derived = df.select(
        to_json_schema([F.lit(1).alias("a"), F.lit(None).cast("string").alias("b")]).alias("v")
    )
    assert derived.first().v == b'{"a":1,"b":null}'
    for call, error, reason in (
        (lambda: from_json_schema("value"), ConfigError, "a schema is needed"),
        (lambda: from_json_schema("value", "{"), SchemaError, "not JSON"),
        (lambda: from_json_schema("value", ORDER, formats="no"), ConfigError, "formats"),
        (lambda: to_json_schema("value", formats="no"), ConfigError, "formats"),
        (
            lambda: from_json_schema("value", JsonSchemaCodec(True), large=True),
            ConfigError,
            "given to the Json",
        ),
        (lambda: from_json_schema("value", 7), TypeError, "a codec or a serde"),
    ):
        with pytest.raises(error, match=reason):
            call()


def test_sql(spark):
    frame(spark, ROWS[:1]).createOrReplaceTempView("orders")
    codec = JsonSchemaCodec(ORDER)
    register(spark, {"order_of": codec, "order_bytes": (codec, "encode")})
    assert spark.sql("SELECT order_of(value).id FROM orders").first()[0] == 1
    assert spark.sql("SELECT order_bytes(order_of(value)) FROM orders").first()[0].startswith(b'{"id":1,')


def test_framed_values_of_several_versions(spark, address):
    handle = registry.open(address)
    handle.set_config(registry.Config(compatibility="NONE"))
    line = {"type": "object", "properties": {"sku": {"type": "string"}}}
    handle.register("line", Schema(json.dumps(line), "JSON"))
    old = {"type": "object", "properties": {"id": {"type": "integer"}, "gone": {"type": "string"}}}
    new = {
        "type": "object",
        "properties": {"id": {"type": "number"}, "lines": {"type": "array", "items": {"$ref": "line.json"}}},
    }
    references = [Reference("line.json", "line", 1)]
    first = handle.register(SUBJECT, Schema(json.dumps(old), "JSON")).id
    second = handle.register(SUBJECT, Schema(json.dumps(new), "JSON", references)).id
    values = [
        b"\0" + first.to_bytes(4, "big") + b'{"id":1,"gone":"x"}',
        b"\0" + second.to_bytes(4, "big") + b'{"id":2.5,"lines":[{"sku":"a"}]}',
        None,
        b"\0\0\0\0\x63{}",
    ]
    place = {"subject": SUBJECT, "schemaRegistryAddress": address}
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    df = frame(spark, values).select(from_json_schema("value", options=options, **place).alias("r"))
    rows = [
        row.r and (row.r["id"], row.r["lines"], row.r["_error"] and row.r["_error"].code)
        for row in df.collect()
    ]
    assert rows == [(1.0, None, None), (2.5, [("a",)], None), None, (None, None, "unknown_schema_id")]
    back = df.limit(2).select(to_json_schema(F.struct("r.id", "r.lines"), **place).alias("v"))
    assert [row.v[5:] for row in back.collect()] == [b'{"id":1.0}', b'{"id":2.5,"lines":[{"sku":"a"}]}']
    assert {row.v[:5] for row in back.collect()} == {b"\0" + second.to_bytes(4, "big")}
    old_only = frame(spark, values[:1]).select(
        from_json_schema("value", json.dumps(old), validate=True, **place).alias("r")
    )
    assert old_only.first().r == (1, "x")
    serde = Serde("JSON_SR", address, topic="orders", config={"auto.register.schemas": False})
    assert serde.deserialize(pa.array(values[:2], pa.binary())).to_pylist()[1] == {
        "id": 2.5,
        "lines": [{"sku": "a"}],
    }
    with pytest.raises(ConfigError, match="references are those that the schema has there"):
        from_json_schema("value", references={}, **place)


def test_streams(spark, tmp_path):
    if "connect" in type(spark).__module__:
        pytest.skip("the same functions, once")
    source = tmp_path / "in"
    source.mkdir()
    frame(spark, ROWS[:3]).write.mode("overwrite").parquet(str(source))
    stream = spark.readStream.schema("value binary").parquet(str(source))
    query = (
        stream.select(from_json_schema("value", ORDER).alias("r"))
        .select(to_json_schema("r", ORDER).alias("v"))
        .writeStream.format("memory")
        .queryName("written_orders")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    rows = [row.v for row in spark.table("written_orders").collect()]
    assert sorted(row or b"" for row in rows)[2].startswith(b'{"id":2')
    assert len(rows) == 3
