"""Topics written by ``kcodec_kafka``, beside Spark's own sink, read by confluent-kafka."""

import pytest
from confluent_kafka.serialization import MessageField
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from topics import KEY_SCHEMA, Message, deserializer, serializer

from kcodec_spark import register_kafka

ROWS = 200


@pytest.fixture
def spark(spark):
    register_kafka(spark)
    return spark


@pytest.fixture
def place(kafka):
    return {"kafka.bootstrap.servers": kafka.address}


def write(frame, format="kcodec_kafka", **options):
    frame.write.format(format).options(**options).mode("append").save()


def rows(spark, topic, place):
    """Return the records of a topic, as Spark's own source reads them, but for their time."""
    frame = spark.read.format("kafka").options(**place, subscribe=topic, includeHeaders="true").load()
    return frame.select("partition", "key", "value", "headers")


def test_records_are_those_of_sparks_sink(spark, kafka, place, topic):
    """Partitions by key, headers, nulls, and columns that are no part of a record."""
    headers = "if(id % 5 = 0, array(struct('h' AS key, cast(cast(id AS string) AS binary) AS value)), null) AS headers"
    frame = spark.range(ROWS).selectExpr(
        "cast(id % 17 AS string) AS key",
        "if(id % 7 = 0, null, cast(id AS string)) AS value",
        headers,
        "current_timestamp() AS timestamp",
        "id AS offset",
    )
    other = kafka.create(f"{topic}-own", partitions=2)
    write(frame, topic=topic, **place)
    write(frame, "kafka", topic=other, **place)
    own, theirs = rows(spark, topic, place), rows(spark, other, place)
    assert own.count() == ROWS
    assert own.exceptAll(theirs).count() == theirs.exceptAll(own).count() == 0


def test_topics_and_partitions_of_columns(spark, kafka, place, topic):
    """A partition that is null is that of the key; the option comes before the column."""
    more = kafka.create(f"{topic}-more", partitions=2)
    frame = spark.range(ROWS).select(
        F.col("id").cast("string").alias("key"),
        F.col("id").cast("string").alias("value"),
        F.when(F.col("id") % 2 == 0, topic).otherwise(more).alias("topic"),
        F.when(F.col("id") % 3 == 0, 1).alias("partition"),
    )
    theirs = {name: kafka.create(f"{name}-own", partitions=2) for name in (topic, more)}
    write(frame, **place)
    own_topic = F.concat(F.col("topic"), F.lit("-own"))
    write(frame.withColumn("topic", own_topic), "kafka", **place)
    for name, own in theirs.items():
        found, expected = rows(spark, name, place), rows(spark, own, place)
        assert found.count() == ROWS // 2
        assert found.exceptAll(expected).count() == 0
    write(frame, topic=more, **place)
    assert rows(spark, more, place).count() == ROWS // 2 + ROWS


def test_encoded(spark, kafka, place, topic, registry_url):
    """What is written is what confluent-kafka's serializer writes, and null values are tombstones."""
    schema = (
        '{"type": "record", "name": "Out", "fields": [{"name": "id", "type": "long"}, '
        '{"name": "name", "type": ["null", "string"]}]}'
    )
    frame = spark.range(20).selectExpr(
        "named_struct('id', id) AS key",
        "if(id < 5, null, named_struct('id', id, 'name', cast(id AS string))) AS value",
    )
    formats = {"key.format": "avro", "key.schema": KEY_SCHEMA, "value.format": "avro", "value.schema": schema}
    register_it = {"confluent.schema.registry.auto.register.schemas": "true"}
    write(frame, topic=topic, schemaRegistryAddress=registry_url, **formats, **register_it, **place)
    messages = kafka.consume(topic, 20)
    key = deserializer(registry_url, topic, MessageField.KEY)
    expected = serializer(registry_url, schema, topic, **{"auto.register.schemas": False})
    assert {key(each.key)["id"]: each.value for each in messages} == {
        number: None if number < 5 else expected({"id": number, "name": str(number)}) for number in range(20)
    }


def test_all_columns_are_the_value(spark, kafka, place, topic):
    frame = spark.range(3).selectExpr("id", "cast(id AS string) AS name", "cast(id AS string) AS key")
    write(frame, topic=topic, **{"value.format": "json"}, **place)
    assert kafka.consume(topic, 3) == [
        Message(b"%d" % number, b'{"id":%d,"name":"%d"}' % (number, number)) for number in range(3)
    ]


def test_a_stream(spark, kafka, place, topic, tmp_path):
    kafka.produce(topic, [Message(b"%d" % number, b"v") for number in range(ROWS)])
    copy = kafka.create(f"{topic}-copy", partitions=2)
    frame = spark.readStream.format("kcodec_kafka").options(
        **place, subscribe=topic, startingOffsets="earliest"
    )
    for _ in range(2):
        writer = frame.load().select("key", "value").writeStream.format("kcodec_kafka")
        writer = writer.options(**place, topic=copy, checkpointLocation=str(tmp_path))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        assert query.exception() is None
    assert len(kafka.consume(copy, ROWS)) == ROWS


def test_what_is_wrong_is_told(spark, kafka, place, topic, registry_url):
    # In one task, which is tried four times.
    frame = spark.range(0, 3, 1, 1).selectExpr("cast(id AS string) AS value", "id AS number")
    schema = '{"type": "record", "name": "Out", "fields": [{"name": "number", "type": "int"}]}'
    for changed, options, expected in (
        (frame, {}, "give the option topic, or a column"),
        (frame.drop("value"), {"topic": topic}, "there is no column value, only number: give value.format"),
        (
            frame.selectExpr("number AS value"),
            {"topic": topic},
            "column value is bigint, not string or binary",
        ),
        (frame, {"topic": topic, "kafka.ack": "all"}, "did you mean 'acks'"),
        (frame, {"topic": topic, "topics": topic}, "did you mean topic"),
        (frame, {"topic": topic, "mode": "PERMISSIVE"}, "what cannot be written fails its task"),
        (frame, {"topic": f"{topic}-none"}, "UNKNOWN_TOPIC_OR_PARTITION"),
        (
            frame.selectExpr("number + 3000000000 AS number"),
            {"topic": topic, "value.format": "avro", "value.schema": schema},
            "EncodeError: out_of_range",
        ),
    ):
        with pytest.raises(PySparkException, match=expected):
            write(changed, **place, **options)
    with pytest.raises(PySparkException, match="topics are not overwritten"):
        frame.write.format("kcodec_kafka").options(**place, topic=topic).mode("overwrite").save()
    assert kafka.consume(topic, 0) == []
