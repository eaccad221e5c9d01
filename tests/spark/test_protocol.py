"""Kafka's own messages in Spark, in a classic and a Connect session."""

import json

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from kcodec import ConfigError, MessageCodec
from kcodec.protocol import MessageSpec, SpecError, TopicCodec, load
from kcodec_spark import decode_consumer_offsets, decode_transaction_state, from_kafka_message

SPEC = json.dumps(
    {
        "apiKey": 1,
        "type": "request",
        "name": "PlaceRequest",
        "validVersions": "0-1",
        "flexibleVersions": "1+",
        "fields": [
            {"name": "Id", "type": "uuid", "versions": "0+"},
            {"name": "Port", "type": "uint16", "versions": "0+"},
            {"name": "Size", "type": "uint32", "versions": "1+", "default": "7", "ignorable": True},
            {"name": "Names", "type": "[]string", "versions": "0+", "nullableVersions": "0+"},
            {
                "name": "Note",
                "type": "string",
                "versions": "1+",
                "taggedVersions": "1+",
                "tag": 0,
                "ignorable": True,
            },
        ],
    }
)
MESSAGE = {"id": bytes(range(16)), "port": 65535, "size": 2**32 - 1, "names": ["a", "ö"], "note": "n"}
OFFSET_KEY = b"\0\1\0\1g\0\1t\0\0\0\5"


def encoded(version, **header):
    codec = MessageCodec(SPEC, version, **header)
    return codec.encode_one(MESSAGE)


def frame(spark, rows, schema="n int, value binary, version int"):
    return spark.createDataFrame(rows, schema).coalesce(1)


def test_one_version(spark):
    df = frame(spark, [(0, encoded(1), 1), (1, None, 1)])
    read = df.select("n", from_kafka_message("value", SPEC, 1).alias("m"))
    assert read.schema["m"].dataType.simpleString() == (
        "struct<id:binary,port:int,size:bigint,names:array<string>,note:string>"
    )
    rows = read.orderBy("n").collect()
    assert rows[0].m.asDict() == {**MESSAGE, "id": bytearray(MESSAGE["id"])}
    assert rows[1].m is None


def test_a_column_of_versions(spark):
    df = frame(spark, [(0, encoded(0), 0), (1, encoded(1), 1), (2, None, None)])
    for version in ("version", F.col("version").cast("smallint")):
        rows = (
            df.select("n", from_kafka_message(F.col("value"), SPEC, version).alias("m"))
            .orderBy("n")
            .collect()
        )
        assert [row.m and (row.m["size"], row.m["note"]) for row in rows] == [(7, ""), (2**32 - 1, "n"), None]
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_bad"}
    for kind in ("string", "double", "timestamp"):
        column = from_kafka_message("value", SPEC, F.col("version").cast(kind), options)
        with pytest.raises(PythonException, match=r"ConfigError: versions are integers, not "):
            df.select(column).collect()


def test_versions_in_the_messages(spark):
    spec = MessageSpec.parse(SPEC)
    values = [version.to_bytes(2, "big") + encoded(version) for version in (0, 1)]
    df = frame(spark, [(n, value, None) for n, value in enumerate(values)])
    rows = df.select(from_kafka_message("value", spec, header="version").alias("m")).collect()
    assert [row.m["port"] for row in rows] == [65535, 65535]
    codec = MessageCodec.for_versions(spec, header="version")
    assert df.select(from_kafka_message("value", codec).alias("m")).collect() == rows


def test_modes(spark):
    good, bad = encoded(1), encoded(1)[:-1]
    df = frame(spark, [(0, good, 1), (1, bad, 1), (2, good, 9)])
    with pytest.raises(PythonException, match="truncated: row 1"):
        df.select(from_kafka_message("value", SPEC, 1)).collect()
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_bad"}
    rows = (
        df.select("n", from_kafka_message("value", SPEC, "version", options).alias("m"))
        .orderBy("n")
        .collect()
    )
    assert rows[0].m["_bad"] is None
    assert (rows[1].m["id"], rows[1].m["_bad"]["code"], rows[1].m["_bad"]["bytes"]) == (
        None,
        "truncated",
        bad,
    )
    assert rows[2].m["_bad"]["code"] == "unsupported_version"


def test_arguments(spark):
    with pytest.raises(ConfigError, match="give the version, or the column"):
        from_kafka_message("value", SPEC)
    with pytest.raises(ConfigError, match="to the MessageCodec itself"):
        from_kafka_message("value", MessageCodec(SPEC, 1), compat="kafka")
    with pytest.raises(ConfigError, match="version 5"):
        from_kafka_message("value", SPEC, 5)
    with pytest.raises(SpecError):
        from_kafka_message("value", "{}", 5)
    for spec in (None, json.loads(SPEC)):
        with pytest.raises(TypeError, match="spec is a MessageSpec, its JSON text or a MessageCodec, not"):
            from_kafka_message("value", spec, 3)
    with pytest.raises(TypeError, match="df is a DataFrame, not NoneType"):
        decode_consumer_offsets(None)
    with pytest.raises(TypeError, match=r"definitions are those .* not str"):
        decode_consumer_offsets(spark.range(0), "x")
    with pytest.raises(ConfigError, match="takes the options mode"):
        from_kafka_message("value", SPEC, 1, {"avroSchema": '"int"'})


def offset_value(offset):
    return b"\0\3" + offset.to_bytes(8, "big") + b"\xff" * 4 + b"\0\0" + bytes(8)


SOURCE = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"


def records(spark, *pairs):
    rows = [(*pair, "__consumer_offsets", 0, n, None, 0) for n, pair in enumerate(pairs)]
    return spark.createDataFrame(rows, SOURCE).coalesce(1)


def test_consumer_offsets(spark):
    df = records(
        spark, (OFFSET_KEY, offset_value(3)), (OFFSET_KEY, None), (b"\0\0\0\1", b"\0" * 6), (b"\0\x63", b"")
    )
    read = decode_consumer_offsets(df)
    assert read.columns == [*df.columns, "kind", "type", "version", "OffsetCommit", "GroupMetadata"]
    rows = read.orderBy("offset").collect()
    assert [row.kind for row in rows] == ["record", "tombstone", "marker", "unknown_type"]
    assert rows[0].OffsetCommit["key"] == T.Row(group="g", topic="t", partition=5)
    assert rows[0].OffsetCommit["value"]["offset"] == 3
    assert rows[1].OffsetCommit["value"] is None
    assert [row.GroupMetadata for row in rows] == [None] * 4
    flat = read.where("kind = 'record'").select(
        "OffsetCommit.key.*", F.col("OffsetCommit.value.offset").alias("at")
    )
    assert flat.collect() == [T.Row(group="g", topic="t", partition=5, at=3)]


def test_consumer_offsets_of_definitions(spark, shared):
    definitions = load(shared / "kafka-messages" / "group-coordinator")
    read = decode_consumer_offsets(records(spark, (b"\0\3\0\1g", b"\0\0\0\0\0\7\0")), definitions)
    assert set(read.columns) >= {each.name for each in TopicCodec("__consumer_offsets", definitions).records}
    row = read.collect()[0]
    assert (row.kind, row.ConsumerGroupMetadata["key"]["groupId"]) == ("record", "g")
    assert row.ConsumerGroupMetadata["value"]["epoch"] == 7


def test_bad_records(spark):
    df = records(spark, (OFFSET_KEY, offset_value(3)[:-1]), (OFFSET_KEY, offset_value(4)))
    with pytest.raises(
        PythonException, match=r"truncated: row 0, byte 16, OffsetCommit\.value\.commitTimestamp"
    ):
        decode_consumer_offsets(df).collect()
    rows = decode_consumer_offsets(df, options={"mode": "PERMISSIVE"}).orderBy("offset").collect()
    assert [(row.kind, row.OffsetCommit and row.OffsetCommit["value"]["offset"]) for row in rows] == [
        ("error", None),
        ("record", 4),
    ]
    with pytest.raises(ConfigError, match="has a column kind already"):
        decode_consumer_offsets(df.withColumn("Kind", F.lit(1)))
    with pytest.raises(ConfigError, match="columnNameOfCorruptRecord"):
        decode_consumer_offsets(df, options={"columnNameOfCorruptRecord": "bad"})


def test_a_stream(spark, tmp_path):
    records(spark, (OFFSET_KEY, offset_value(3)), (OFFSET_KEY, None)).write.parquet(str(tmp_path / "topic"))
    source = spark.readStream.schema(SOURCE).parquet(str(tmp_path / "topic"))
    query = (
        decode_consumer_offsets(source)
        .select("kind", "OffsetCommit.value.offset")
        .writeStream.format("memory")
        .queryName("committed")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert query.exception() is None
    assert spark.table("committed").orderBy("kind").collect() == [
        T.Row(kind="record", offset=3),
        T.Row(kind="tombstone", offset=None),
    ]


def test_transaction_state(spark):
    value = (
        b"\0\0"
        + (9).to_bytes(8, "big")
        + b"\0\1"
        + (60_000).to_bytes(4, "big")
        + b"\2"
        + b"\xff" * 4
        + bytes(16)
    )
    df = records(spark, (b"\0\0\0\2tx", value)).withColumnRenamed("value", "v")
    row = decode_transaction_state(df, key=F.col("key"), value="v").collect()[0]
    assert row.TransactionLog["key"]["transactionalId"] == "tx"
    log = row.TransactionLog["value"]
    assert (log["producerId"], log["transactionStatus"], log["transactionPartitions"]) == (9, 2, None)


def test_all_columns_stay_whatever_their_names(spark):
    df = records(spark, (OFFSET_KEY, offset_value(3))).select(
        "*", F.lit(1).alias("x"), F.lit(2).alias("X"), F.lit(3).alias("x"), F.lit(4).alias("c`d")
    )
    read = decode_consumer_offsets(df)
    assert read.columns == [*df.columns, "kind", "type", "version", "OffsetCommit", "GroupMetadata"]
    row = read.first()
    assert tuple(row)[len(SOURCE.split(", ")) :][:4] == (1, 2, 3, 4)
    assert (row.kind, row.OffsetCommit["value"]["offset"]) == ("record", 3)
