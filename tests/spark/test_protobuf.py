"""from_protobuf and to_protobuf without a registry, in a classic and a Connect session."""

import datetime
import decimal
import inspect

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from pyspark.sql.protobuf import functions as own

from kcodec import ProtobufCodec, RegistryError, registry
from kcodec.registry import Schema
from kcodec_spark import from_protobuf, register, to_protobuf

UTC = datetime.timezone.utc

ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Status { NEW = 0; PAID = 1; }
message Line { string sku = 1; uint32 count = 2; }
message Order {
  int64 id = 1; string name = 2; double price = 3; bool paid = 4; bytes raw = 5; Status status = 6;
  repeated Line lines = 7; map<string, int32> tags = 8; repeated sint32 sizes = 9;
  oneof contact { string mail = 10; int64 phone = 11; }
  google.protobuf.Timestamp at = 12; google.protobuf.Duration took = 13; google.protobuf.StringValue note = 14;
  google.protobuf.Any extra = 15; optional float weight = 16; uint64 big = 17;
}
"""
CODEC = ProtobufCodec(ORDER, "Order")
FULL = CODEC.from_json("""{
  "id": 7, "name": "é", "price": 1.5, "paid": true, "raw": "AP8=", "status": "PAID",
  "lines": [{"sku": "a", "count": 3}, {}], "tags": {"k": -1}, "sizes": [1, -2], "phone": 49,
  "at": "2024-02-29T12:30:15.123456789Z", "took": "1.5s", "note": "", "weight": 0,
  "extra": {"@type": "x/shop.Line", "sku": "s"}, "big": "18446744073709551615"
}""")
ROWS = [FULL, None, b"", CODEC.from_json('{"id": 2, "mail": "m"}')]
DECODED = {
    "id": 7, "name": "é", "price": 1.5, "paid": True, "raw": b"\0\xff", "status": "PAID",
    "lines": [("a", 3), (None, None)], "tags": {"k": -1}, "sizes": [1, -2], "mail": None, "phone": 49,
    "took": datetime.timedelta(seconds=1.5), "note": (None,), "weight": 0.0,
    "extra": ("x/shop.Line", b"\n\1s"), "big": -1,
}  # fmt: skip
EMPTY = {**dict.fromkeys(DECODED), "lines": [], "tags": {}, "sizes": []}


def frame(spark, values):
    return spark.createDataFrame(list(enumerate(values)), "n int, value binary").coalesce(1)


@pytest.fixture
def orders(spark):
    return frame(spark, ROWS)


def rows_of(column, name="o"):
    return [row[name] and row[name].asDict() for row in column.collect()]


def test_values(orders):
    column = orders.select(from_protobuf("value", "Order", schema=ORDER).alias("o"))
    first, tombstone, empty, last = rows_of(column.select(F.expr("o").alias("o")))
    at = column.select(F.expr("unix_micros(o.at)")).first()[0]
    moment = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
    assert at == (moment - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1)
    assert {name: value for name, value in first.items() if name != "at"} == DECODED
    assert tombstone is None
    assert {name: value for name, value in empty.items() if name != "at"} == EMPTY
    assert {name: value for name, value in last.items() if value not in (None, [], {})} == {
        "id": 2,
        "mail": "m",
    }


def test_options_of_spark(orders):
    options = {
        "emit.default.values": "true", "enums.as.ints": "TRUE", "upcast.unsigned.ints": True,
        "UNWRAP.primitive.wrapper.types": "true", "convert.any.fields.to.json": "true",
    }  # fmt: skip
    column = orders.select(from_protobuf("value", "Order", options=options, schema=ORDER).alias("o"))
    first, _, empty, _ = rows_of(column)
    assert (first["status"], first["big"], first["note"]) == (1, decimal.Decimal(2**64 - 1), "")
    assert first["extra"] == '{"@type":"x/shop.Line","sku":"s"}'
    assert first["lines"] == [("a", 3), ("", 0)]
    assert (empty["id"], empty["name"], empty["weight"], empty["note"]) == (0, "", None, None)


def test_schemas_may_be_given_in_all_ways(orders, tmp_path):
    from google.protobuf import descriptor_pb2, timestamp_pb2

    descriptors = descriptor_pb2.FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(descriptors.file.add())
    path = tmp_path / "timestamp.desc"
    path.write_bytes(descriptors.SerializeToString())
    df = frame(orders.sparkSession, [b"\x08\x05"])
    given = [
        from_protobuf("value", "Timestamp", str(path)),
        from_protobuf("value", "google.protobuf.Timestamp", None, None, path.read_bytes()),
        from_protobuf(F.col("value"), schema=timestamp_pb2.Timestamp),
    ]
    for column in given:
        assert df.select(column.alias("t")).first()["t"] == (5, None)
    texts = {"main.proto": 'syntax = "proto3"; import "a.proto"; message M { A a = 1; }',
             "a.proto": 'syntax = "proto3"; message A { int32 x = 1; }'}  # fmt: skip
    df = frame(orders.sparkSession, [b"\x0a\x02\x08\x05"])
    assert df.select(from_protobuf("value", schema=texts).alias("m")).first()["m"] == ((5,),)
    assert df.select(from_protobuf("value", schema=texts)).columns == ["from_protobuf(value)"]


@pytest.mark.parametrize(
    ("function", "theirs"), [(from_protobuf, own.from_protobuf), (to_protobuf, own.to_protobuf)]
)
def test_positions_are_those_of_spark(function, theirs):
    ours = [
        name
        for name, each in inspect.signature(function).parameters.items()
        if each.kind != each.KEYWORD_ONLY
    ]
    assert ours == list(inspect.signature(theirs).parameters)


def test_ready_codec_in_place_of_the_name(orders):
    codec = ProtobufCodec(ORDER, "Order", fields=["id", "lines.count"])
    column = orders.select(from_protobuf("value", codec).alias("o"))
    assert column.first()["o"] == (7, [(3,), (0,)])
    fields = from_protobuf("value", "Order", schema=ORDER, fields=["lines.count", "id"])
    expected = "struct<id:bigint,lines:array<struct<count:int>>>"
    assert orders.select(fields.alias("o")).schema["o"].dataType.simpleString() == expected


def test_failfast_names_row_byte_and_field(orders):
    bad = orders.withColumn("value", F.expr("if(n = 2, X'080112026161120361', value)"))
    with pytest.raises(PythonException) as failure:
        bad.select(from_protobuf("value", "Order", schema=ORDER)).collect()
    lines = [line for line in str(failure.value).splitlines() if "DecodeError" in line]
    assert "kcodec.errors.DecodeError: truncated: row 2, byte 7, name: " in lines[-1]


def test_corrupt_rows_tell_why(orders):
    bad = orders.withColumn("value", F.expr("if(n = 2, X'FF', value)"))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    column = bad.select(from_protobuf("value", "Order", options=options, schema=ORDER).alias("o"))
    codes = [row[0] for row in column.select("o._error.code", "o.id").collect()]
    assert codes == [None, None, "truncated", None]
    assert column.where("o._error is not null").select("o._error.bytes").first()[0] == b"\xff"
    nulls = bad.select(
        from_protobuf("value", "Order", options={"mode": "permissive"}, schema=ORDER).alias("o")
    )
    assert set(rows_of(nulls)[2].values()) == {None}


def test_sql_and_streams(orders, tmp_path):
    spark = orders.sparkSession
    register(spark, {"order_of": ProtobufCodec(ORDER, "Order", round="truncate")})
    orders.createOrReplaceTempView("messages")
    assert [row[0] for row in spark.sql("SELECT order_of(value).id FROM messages").collect()] == [
        7,
        None,
        0,
        2,
    ]
    orders.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("n int, value binary").parquet(str(tmp_path / "in"))
    query = (
        stream.select(from_protobuf("value", "Order", schema=ORDER).alias("o"))
        .select("o.id")
        .writeStream.format("memory")
        .queryName("decoded")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)
    found = spark.sql("SELECT id FROM decoded").collect()
    query.stop()
    assert sorted(row[0] or 0 for row in found) == [0, 0, 2, 7]


# --- to_protobuf --------------------------------------------------------------------------------------------


def test_what_was_decoded_is_written_again(orders):
    decoded = orders.select("value", from_protobuf("value", "Order", schema=ORDER).alias("o"))
    back = decoded.select("value", to_protobuf("o", "Order", schema=ORDER).alias("b")).collect()
    cut = CODEC.from_json(CODEC.to_json(FULL).replace("123456789", "123456"))
    assert [row["b"] for row in back] == [cut, None, b"", ROWS[3]]


def test_messages_that_contain_themselves_are_written(spark):
    node = 'syntax = "proto3"; message N { int32 v = 1; N next = 2; }'
    second = F.struct(F.lit(2).alias("v"), F.struct(F.lit(3).alias("v")).alias("next"))
    nodes = spark.range(1).select(F.struct(F.lit(1).alias("v"), second.alias("next")).alias("n"))
    assert nodes.select(to_protobuf("n", schema=node)).first()[0] == b"\x08\1\x12\6\x08\2\x12\2\x08\3"


def test_several_columns_are_the_struct_of_them(spark):
    df = spark.range(2).select("id", F.lit("x").alias("name"), F.array(F.lit(1), F.lit(-2)).alias("sizes"))
    pairs = df.select(
        to_protobuf(["id", F.upper("name").alias("name"), "sizes"], "Order", schema=ORDER),
        to_protobuf(F.struct("id", F.upper("name").alias("name"), "sizes"), "Order", schema=ORDER),
        to_protobuf(["id", "sizes"], CODEC),
    ).collect()
    expected = [CODEC.from_json(f'{{"id": {row}, "name": "X", "sizes": [1, -2]}}') for row in range(2)]
    assert [pair[0] for pair in pairs] == [pair[1] for pair in pairs] == expected
    assert pairs[1][2] == CODEC.from_json('{"id": 1, "sizes": [1, -2]}')
    assert df.select(to_protobuf(["id"], CODEC)).columns[0].startswith("to_protobuf(")


def test_enums_and_nulls_are_written(spark):
    df = spark.sql("SELECT 'PAID' AS status, CAST(NULL AS STRING) AS name, map('a', 1) AS tags")
    assert df.select(to_protobuf(F.struct("*"), CODEC)).first()[0] == CODEC.from_json(
        '{"status": "PAID", "tags": {"a": 1}}'
    )
    numbers = spark.sql("SELECT 1 AS status")
    assert numbers.select(to_protobuf(F.struct("*"), CODEC)).first()[0] == CODEC.from_json('{"status": 1}')


def test_what_cannot_be_written_fails_the_query(spark):
    with pytest.raises(
        PythonException, match=r"kcodec\.errors\.EncodeError: unknown_symbol: row 0, status: "
    ):
        spark.sql("SELECT 'GREEN' AS status").select(to_protobuf(F.struct("*"), CODEC)).collect()
    with pytest.raises(PythonException, match=r"EncodeError: type_mismatch: row 0"):
        spark.sql("SELECT 1 AS nothing").select(to_protobuf(F.struct("*"), CODEC)).collect()


# --- with a registry ----------------------------------------------------------------------------------------

FIRST = 'syntax = "proto3"; package s; message Other { string x = 1; } message Order { int64 id = 1; }'
SECOND = FIRST.replace("int64 id = 1;", "int64 id = 1; optional string note = 2;")


@pytest.fixture
def address(tmp_path):
    return f"sqlite:///{tmp_path / 'schemas.db'}"


@pytest.fixture
def framed(address):
    handle = registry.open(address)
    made = []
    for text, row in ((FIRST, '{"id": 1}'), (SECOND, '{"id": 2, "note": "n"}')):
        number = handle.register("orders-value", Schema(text, "PROTOBUF")).id
        payload = ProtobufCodec(text, "Order").from_json(row)
        # The indexes of the second message of the file.
        made.append(b"\0" + number.to_bytes(4, "big") + b"\x02\x02" + payload)
    return [*made, None]


def test_framed_values(spark, address, framed):
    df = frame(spark, framed)
    databricks = {
        "schema.registry.subject": "orders-value", "schema.registry.address": address,
        "schema.registry.protobuf.name": "s.Order",
    }  # fmt: skip
    for column in (
        from_protobuf("value", "Order", subject="orders-value", schemaRegistryAddress=address),
        from_protobuf("value", options=databricks),
        from_protobuf(
            "value", "s.Order", subject="orders-value", schemaRegistryAddress=address, schema=SECOND
        ),
    ):
        decoded = df.select(column.alias("o"))
        assert decoded.schema["o"].dataType.simpleString() == "struct<id:bigint,note:string>"
        assert [row["o"] for row in decoded.collect()] == [(1, None), (2, "n"), None]
    only = from_protobuf("value", options=databricks, fields=["note"])
    assert [row[0] for row in df.select(only).collect()] == [(None,), ("n",), None]
    place = {"subject": "orders-value", "schemaRegistryAddress": address}
    mixed = from_protobuf("value", ["s.Order", "s.Other"], **place)
    assert [row[0] for row in df.select(mixed).collect()] == [((1, None), None), ((2, "n"), None), None]
    permissive = {**databricks, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    other = {**permissive, "schema.registry.protobuf.name": "Other"}
    codes = df.select(from_protobuf("value", options=other).alias("o")).select("o._error.code").collect()
    assert [row[0] for row in codes] == ["schema_error", "schema_error", None]


def test_framed_values_are_written(spark, address, framed):
    df = spark.sql("SELECT 2L AS id, 'n' AS note")
    place = {"subject": "orders-value", "schemaRegistryAddress": address}
    column = to_protobuf(["id", "note"], "Order", **place)
    assert df.select(column).first()[0] == framed[1]
    assert df.select(to_protobuf(F.struct("*"), "Order", schema=SECOND, **place)).first()[0] == framed[1]
    mixed = to_protobuf(
        F.struct(F.struct("*").alias("Order"), F.lit(None).alias("s.Other")), ["Order", "Other"], **place
    )
    assert df.select(mixed).first()[0] == framed[1]
    third = SECOND.replace("optional string note", "string note")
    with pytest.raises(RegistryError):
        to_protobuf(["id"], "Order", schema=third, **place)
    register_it = {"confluent.schema.registry.auto.register.schemas": "true"}
    made = df.select(to_protobuf(["id"], "Order", options=register_it, schema=third, **place)).first()[0]
    assert made[5:] == b"\x02\x02\x08\x02"
    assert registry.open(address).get_version("orders-value").schema.text.count("optional") == 0
