"""Spark's Kafka source and sink, with confluent-kafka's own serializers at the other end."""

import json

import pytest
from confluent_kafka.serialization import MessageField
from topics import KEY_SCHEMA, Message, deserializer, of_spark, order, order_schema, serializer

from kcodec_spark import from_avro, to_avro

ROWS = 60

pytestmark = pytest.mark.parametrize("registry_url", ["registry_server", "own_server"], indirect=True)


@pytest.fixture
def produced(kafka, registry_url, topic):
    """Fill a topic; gives the orders by id."""
    value = serializer(registry_url, order_schema(), topic)
    key = serializer(registry_url, KEY_SCHEMA, topic, MessageField.KEY)
    orders = {number: order(number) for number in range(ROWS)}
    kafka.produce(topic, [Message(key({"id": number}), value(each)) for number, each in orders.items()])
    return orders


def decoded(frame, topic, registry_url):
    return frame.select(
        from_avro("key", subject=f"{topic}-key", schemaRegistryAddress=registry_url).alias("key"),
        from_avro("value", subject=f"{topic}-value", schemaRegistryAddress=registry_url).alias("order"),
    )


def by_id(rows):
    assert all(row["key"]["id"] == row["order"]["id"] for row in rows)
    found = {row["order"]["id"]: of_spark(row["order"]) for row in rows}
    assert len(found) == len(rows)
    return found


def test_batch(spark, kafka, registry_url, topic, produced):
    rows = decoded(kafka.source(spark.read, topic), topic, registry_url).collect()
    assert by_id(rows) == produced


def test_all_that_is_there(spark, kafka, registry_url, topic, produced, tmp_path):
    """A streaming query with the trigger availableNow."""
    frame = decoded(kafka.source(spark.readStream, topic), topic, registry_url)
    query = (
        frame.writeStream.format("memory")
        .queryName(f"now_{topic.replace('-', '_')}")
        .outputMode("append")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert query.exception() is None
    assert by_id(spark.table(f"now_{topic.replace('-', '_')}").collect()) == produced


def test_a_running_query(spark, kafka, registry_url, topic, produced, tmp_path):
    name = f"running_{topic.replace('-', '_')}"
    frame = decoded(kafka.source(spark.readStream, topic), topic, registry_url)
    query = (
        frame.writeStream.format("memory")
        .queryName(name)
        .outputMode("append")
        .option("checkpointLocation", str(tmp_path))
        .trigger(processingTime="100 milliseconds")
        .start()
    )
    try:
        query.processAllAvailable()
        assert by_id(spark.table(name).collect()) == produced
        value = serializer(registry_url, order_schema(), topic)
        key = serializer(registry_url, KEY_SCHEMA, topic, MessageField.KEY)
        more = {number: order(number) for number in range(ROWS, ROWS + 20)}
        kafka.produce(topic, [Message(key({"id": number}), value(each)) for number, each in more.items()])
        query.processAllAvailable()
        assert by_id(spark.table(name).collect()) == {**produced, **more}
    finally:
        query.stop()


@pytest.mark.parametrize("how", ["batch", "stream"])
def test_written_with_spark(spark, kafka, registry_url, topic, produced, tmp_path, how):
    """What the Kafka sink wrote, confluent-kafka's deserializer reads."""
    written = kafka.create(f"{topic}-written")
    options = {"confluent.schema.registry.auto.register.schemas": "true"}
    reader = spark.read if how == "batch" else spark.readStream
    encoded = decoded(kafka.source(reader, topic), topic, registry_url).select(
        to_avro("key", KEY_SCHEMA, f"{written}-key", registry_url, options).alias("key"),
        to_avro("order", order_schema(), f"{written}-value", registry_url, options).alias("value"),
    )
    place = {"kafka.bootstrap.servers": kafka.address, "topic": written}
    if how == "batch":
        encoded.write.format("kafka").options(**place).save()
    else:
        place["checkpointLocation"] = str(tmp_path)
        query = encoded.writeStream.format("kafka").options(**place).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
    messages = kafka.consume(written, ROWS)
    key = deserializer(registry_url, written, MessageField.KEY)
    value = deserializer(registry_url, written)
    assert {key(each.key)["id"]: value(each.value) for each in messages} == produced
    # The bytes are those of confluent-kafka's serializer, ids included.
    expected = serializer(registry_url, order_schema(), written, **{"auto.register.schemas": False})
    assert {each.value for each in messages} == {expected(each) for each in produced.values()}
    subjects = {f"{written}-key", f"{written}-value"}
    from kcodec import registry

    handle = registry.open(registry_url)
    assert subjects <= set(handle.subjects())
    assert json.loads(handle.get_version(f"{written}-value").schema.text)["name"] == "Order"
    handle.close()
