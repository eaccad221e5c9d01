"""Messages that no consumer can read: told apart, kept, written elsewhere; or one readable line."""

import struct

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from topics import KEY_SCHEMA, Message, of_spark, order, order_schema, serializer

from kcodec_spark import from_avro

ERROR = "_error"


@pytest.fixture
def poisoned(kafka, registry_url, topic):
    """Fill a topic; gives what is good by key, and of what is bad the bytes and the code."""
    value = serializer(registry_url, order_schema(), topic)
    other = serializer(registry_url, KEY_SCHEMA, f"{topic}-other")
    good = {f"good-{number:02d}": order(number) for number in range(20)}
    intact = value(order(7))
    bad = {
        "truncated": (intact[:-4], "truncated"),
        "magic": (b'{"id": 7, "customer": "Ana"}', "frame_magic"),
        "unknown": (b"\0" + struct.pack(">i", 987_654) + intact[5:], "unknown_schema_id"),
        "foreign id": (other({"id": 7}), "unresolvable"),
        "foreign bytes": (intact[:5] + other({"id": 300})[5:], "truncated"),
        "empty": (b"", "frame_truncated"),
        "short": (intact[:3], "frame_truncated"),
        "trailing": (intact, None),
    }
    messages = [Message(key.encode(), value(each)) for key, each in good.items()]
    poison = [Message(key.encode(), each, [("origin", b"test")]) for key, (each, _) in bad.items()]
    tombstone = Message(b"tombstone", None)
    kafka.produce(topic, [*messages[:10], *poison, tombstone, *messages[10:]])
    good["trailing"] = order(7)
    del bad["trailing"]
    return good, bad


def permissive(frame, topic, registry_url):
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": ERROR}
    decoded = from_avro(
        "value", options=options, subject=f"{topic}-value", schemaRegistryAddress=registry_url
    )
    return frame.select(F.col("key").cast("string"), "value", decoded.alias("order"))


def dead_letters(rows):
    """Select bad rows as they came, with what is wrong with them as headers."""
    error = F.col(f"order.{ERROR}")
    headers = [
        F.struct(
            F.lit(f"kcodec.{name}").alias("key"), error[name].cast("string").cast("binary").alias("value")
        )
        for name in ("code", "reason", "schema_id")
    ]
    return rows.where(error.isNotNull()).select(
        "key", error["bytes"].alias("value"), F.array(*headers).alias("headers")
    )


def check_letters(kafka, letters, bad):
    found = {each.key.decode(): each for each in kafka.consume(letters, len(bad))}
    assert {key: each.value for key, each in found.items()} == {key: value for key, (value, _) in bad.items()}
    for key, (_, code) in bad.items():
        headers = dict(found[key].headers)
        assert headers["kcodec.code"].decode() == code
        assert headers["kcodec.reason"]
    assert dict(found["unknown"].headers)["kcodec.schema_id"] == b"987654"


def test_permissive(spark, kafka, registry_url, topic, poisoned):
    good, bad = poisoned
    rows = permissive(kafka.source(spark.read, topic), topic, registry_url)
    found = {row["key"]: row for row in rows.collect()}
    assert len(found) == len(good) + len(bad) + 1
    for key, each in good.items():
        assert of_spark(found[key]["order"]) == {**each, ERROR: None}
    for key, (value, code) in bad.items():
        error = found[key]["order"][ERROR]
        assert (error["code"], bytes(error["bytes"])) == (code, value)
        assert bytes(found[key]["value"]) == value
        assert error["reason"]
        assert found[key]["order"]["id"] is None
    assert found["tombstone"]["order"] is None

    letters = kafka.create(f"{topic}-letters")
    sink = dead_letters(rows).write.format("kafka").option("kafka.bootstrap.servers", kafka.address)
    sink.option("topic", letters).save()
    check_letters(kafka, letters, bad)


def test_dead_letters_of_a_stream(spark, kafka, registry_url, topic, poisoned, tmp_path):
    _, bad = poisoned
    letters = kafka.create(f"{topic}-letters")
    rows = permissive(kafka.source(spark.readStream, topic), topic, registry_url)
    query = (
        dead_letters(rows)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.address)
        .option("topic", letters)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    check_letters(kafka, letters, bad)


def test_failfast(spark, kafka, registry_url, topic, poisoned):
    rows = kafka.source(spark.read, topic).where("key = 'truncated'")
    decoded = from_avro("value", subject=f"{topic}-value", schemaRegistryAddress=registry_url)
    with pytest.raises(PySparkException) as info:
        rows.select(decoded).collect()
    told = [line for line in str(info.value).splitlines() if line.startswith("kcodec.errors.DecodeError: ")]
    assert len(told) == 1
    assert told[0].startswith("kcodec.errors.DecodeError: truncated: row 0, byte ")
    assert "the input ends inside this value" in told[0]


def test_failfast_of_a_stream(spark, kafka, registry_url, topic, poisoned, tmp_path):
    decoded = from_avro("value", subject=f"{topic}-value", schemaRegistryAddress=registry_url)
    rows = kafka.source(spark.readStream, topic).where("key = 'magic'").select(decoded.alias("order"))
    query = (
        rows.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(PySparkException) as info:
        query.awaitTermination(120)
    told = [
        line for line in str(info.value).splitlines() if "DecodeError: frame_magic: row 0, byte 0" in line
    ]
    assert told
    assert "the first byte is not a known magic byte" in told[0]
