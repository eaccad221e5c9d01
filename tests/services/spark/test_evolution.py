"""Schemas that are registered while a query runs, and what the query sees when it is started again."""

from topics import Message, of_spark, order, order_schema, serializer

from kcodec_spark import from_avro


class Stream:
    """A streaming query that appends what it decodes to Parquet, and goes on from its checkpoint."""

    def __init__(self, spark, kafka, topic, registry_url, folder, reader_schema):
        self.spark, self.kafka, self.topic = spark, kafka, topic
        self.registry_url, self.folder, self.reader_schema = registry_url, folder, reader_schema
        self.start()

    def start(self):
        decoded = from_avro(
            "value",
            self.reader_schema,
            subject=f"{self.topic}-value",
            schemaRegistryAddress=self.registry_url,
        )
        self.query = (
            self.kafka.source(self.spark.readStream, self.topic)
            .select(decoded.alias("order"))
            .select("order.*")
            .writeStream.format("parquet")
            .option("path", f"{self.folder}/rows")
            .option("checkpointLocation", f"{self.folder}/checkpoint")
            .trigger(processingTime="50 milliseconds")
            .start()
        )

    def run_id(self):
        return self.query.runId

    def rows(self):
        self.query.processAllAvailable()
        rows = self.spark.read.option("mergeSchema", "true").parquet(f"{self.folder}/rows").collect()
        found = {row["id"]: of_spark(row) for row in rows}
        assert len(found) == len(rows)
        return found


def as_version(number, written, read):
    """Return an order written with one version and read with another."""
    made = order(number, written)
    made.setdefault("channel", "web")
    made.setdefault("points", None)
    kept = 6 + (read > 1) + (read > 2)
    return dict(list(made.items())[:kept])


def test_new_versions_under_a_running_query(spark, kafka, registry_url, topic, tmp_path):
    def write(version, numbers):
        value = serializer(registry_url, order_schema(version), topic)
        kafka.produce(topic, [Message(None, value(order(number, version))) for number in numbers])

    write(1, range(20))
    place = (spark, kafka, topic, registry_url)
    first = Stream(*place, tmp_path / "first", order_schema(1))
    latest = Stream(*place, tmp_path / "latest", None)
    try:
        runs = first.run_id(), latest.run_id()
        expected = {number: order(number) for number in range(20)}
        assert first.rows() == latest.rows() == expected
        for version, numbers in ((2, range(20, 40)), (3, range(40, 65))):
            write(version, numbers)
            expected |= {number: as_version(number, version, 1) for number in numbers}
            assert first.rows() == latest.rows() == expected
        assert runs == (first.run_id(), latest.run_id())

        # Started again, the query that reads the latest version has its columns from then on.
        for stream in (first, latest):
            stream.query.stop()
            stream.start()
        write(3, range(65, 70))
        write(2, range(70, 75))
        assert first.rows() == expected | {
            number: as_version(number, 3 if number < 70 else 2, 1) for number in range(65, 75)
        }
        wide = {number: {**each, "channel": None, "points": None} for number, each in expected.items()}
        assert latest.rows() == wide | {
            number: as_version(number, 3 if number < 70 else 2, 3) for number in range(65, 75)
        }
    finally:
        first.query.stop()
        latest.query.stop()
