"""from_protobuf and to_protobuf without a registry, in a classic and a Connect session."""

import datetime
import decimal
import inspect

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from pyspark.sql.protobuf import functions as own

from kcodec.formats.protobuf.codec import ProtobufCodec
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
