"""What a user can see of what a query has read."""

import re
from collections import Counter

import pytest
from pyspark.sql import Observation
from topics import KEY_SCHEMA, Message, order, order_schema, serializer

from kcodec_spark import from_avro, metrics, schema_id

EXPECTED = {"rows": 14, "tombstones": 2, "schema_ids": 3, "bad_rows": 2}


def fill(kafka, registry_url, topic):
    writers = [serializer(registry_url, order_schema(version), topic) for version in (1, 2)]
    other = serializer(registry_url, KEY_SCHEMA, f"{topic}-other")
    good = [writers[number % 2](order(number, number % 2 + 1)) for number in range(10)]
    values = [*good, None, None, b"not framed", other({"id": 1})]
    kafka.produce(topic, [Message(None, value) for value in values])


def decoded(frame, topic, registry_url):
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    order = from_avro("value", options=options, subject=f"{topic}-value", schemaRegistryAddress=registry_url)
    return frame.select("value", order.alias("order"))


def test_observation(spark, kafka, registry_url, topic):
    fill(kafka, registry_url, topic)
    observation = Observation("orders")
    rows = decoded(kafka.source(spark.read, topic), topic, registry_url)
    rows.observe(observation, *metrics("value", "order._error")).write.format("noop").mode("overwrite").save()
    assert observation.get == EXPECTED


def test_progress_of_a_stream(spark, kafka, registry_url, topic, tmp_path):
    fill(kafka, registry_url, topic)
    rows = decoded(kafka.source(spark.readStream, topic), topic, registry_url)
    query = (
        rows.observe("orders", *metrics(rows["value"], "order._error"))
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        query.processAllAvailable()
        found = [each["observedMetrics"]["orders"].asDict() for each in query.recentProgress]
    finally:
        query.stop()
    # A Connect client has the values and, apart from them, their names.
    named = [
        dict(zip((field["name"] for field in each["schema"]["fields"]), each["values"], strict=True))
        if "schema" in each
        else each
        for each in found
    ]
    observed = [each for each in named if each["rows"]]
    assert observed == [EXPECTED]


def test_schema_ids(spark, kafka, registry_url, topic):
    fill(kafka, registry_url, topic)
    counts = kafka.source(spark.read, topic).groupBy(schema_id("value").alias("id")).count().collect()
    by_count = sorted(row["count"] for row in counts if row["id"] is not None)
    assert by_count == [1, 5, 5]
    assert [row["count"] for row in counts if row["id"] is None] == [3]


@pytest.mark.parametrize("level", ["NOTSET", "DEBUG"])
def test_what_workers_log(spark, kafka, registry_url, topic, caplog, level):
    """As much as the logger would tell where the query was made."""
    caplog.set_level(level, "kcodec")
    fill(kafka, registry_url, topic)

    def logged():
        logs = spark.tvf.python_worker_logs().where("logger = 'kcodec'")
        return Counter((row["level"], row["msg"]) for row in logs.collect())

    spark.conf.set("spark.sql.pyspark.worker.logging.enabled", "true")
    try:
        before = logged()
        decoded(kafka.source(spark.read, topic), topic, registry_url).collect()
        told = list((logged() - before).elements())
    finally:
        spark.conf.unset("spark.sql.pyspark.worker.logging.enabled")
    assert any("frame_magic 1" in text for each, text in told if each == "WARNING")
    if level == "NOTSET":
        assert {each for each, _ in told} == {"WARNING"}
    else:
        batches = [
            re.match(r"(?:from_avro: )?read (\d+) rows: (\d+) bad.*, (\d+) fetched", text) for _, text in told
        ]
        rows, bad, fetched = map(
            sum, zip(*(map(int, each.groups()) for each in batches if each), strict=True)
        )
        assert (rows, bad) == (EXPECTED["rows"], EXPECTED["bad_rows"])
        # The id that was not there under the subject, by each worker that met it.
        assert fetched == sum(f"from {registry_url}" in text for each, text in told if each == "INFO") > 0
