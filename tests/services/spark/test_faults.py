"""Registries that are down, slow or refuse; a broker that is restarted; Python workers that are killed."""

import os
import signal
from pathlib import Path

import pytest
from processes import until
from pyspark.errors import PySparkException
from topics import Message, of_spark, order, order_schema, serializer

from kcodec import Serde, registry
from kcodec.errors import RegistryError
from kcodec_spark import from_avro

#: Try again once, soon; wait half a second for an answer.
HASTE = {"max.retries": "1", "retries.wait.ms": "20", "timeout": "0.5"}
OPTIONS = {f"confluent.schema.registry.{name}": value for name, value in HASTE.items()}


@pytest.fixture
def handle(front):
    handle = registry.open(front.url, HASTE)
    yield handle
    handle.close()


@pytest.fixture
def values(registry_url, topic):
    """Write an order; its schema is registered under the topic's subject."""
    return [serializer(registry_url, order_schema(), topic)(order(1))]


class TestSerde:
    """A registry that fails, seen from a process that reads columns."""

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_a_failure_that_passes_is_not_seen(self, front, handle, topic, values, status):
        front.fail(status, times=1)
        assert Serde("AVRO", handle, topic=topic).deserialize(values)[0]["id"].as_py() == 1
        assert len(front.requests) == 3  # the subject's latest twice, the id once

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_a_failure_that_stays_is_told_after_the_retries(self, front, handle, topic, values, status):
        serde = Serde("AVRO", handle, topic=topic, reader_schema=order_schema())
        front.fail(status)
        with pytest.raises(RegistryError, match=rf"{front.url}: HTTP {status}: told to fail \(after") as info:
            serde.deserialize(values)
        assert (info.value.status, info.value.error_code) == (status, status * 100)
        assert len(front.requests) == 2
        array, report = serde.deserialize(values, errors="report")
        assert (array.null_count, report["code"].to_pylist()) == (1, ["registry_error"])
        assert f"HTTP {status}" in report["reason"][0].as_py()
        front.fail(None)
        assert serde.deserialize(values).null_count == 0

    def test_a_refusal_is_not_asked_again(self, front, handle, topic, values):
        front.basic("someone:else")
        with pytest.raises(RegistryError, match=f"{front.url}: HTTP 401") as info:
            Serde("AVRO", handle, topic=topic).deserialize(values)
        assert info.value.status == 401
        assert len(front.requests) == 1

    def test_a_slow_registry(self, front, handle, topic, values):
        front.delay = 0.1
        assert Serde("AVRO", handle, topic=topic).deserialize(values).null_count == 0
        front.delay = 2
        with pytest.raises(
            RegistryError, match=rf"{front.url}: no whole answer within 0\.5 s \(after 1\."
        ) as info:
            Serde("AVRO", handle, topic=topic).arrow_type  # noqa: B018
        assert info.value.status is None

    def test_a_registry_that_is_down(self, front, handle, topic, values):
        front.down()
        with pytest.raises(RegistryError, match=f"{front.url}: no connection"):
            Serde("AVRO", handle, topic=topic).deserialize(values)
        front.up()
        assert Serde("AVRO", handle, topic=topic).deserialize(values).null_count == 0

    def test_what_is_known_needs_no_registry(self, front, handle, topic, values):
        serde = Serde("AVRO", handle, topic=topic)
        expected = serde.deserialize(values)
        front.down()
        assert serde.deserialize(values * 1000)[999].as_py() == expected[0].as_py()
        front.up()


class TestSpark:
    """A registry that fails, seen from a query."""

    def test_down_when_the_query_is_made(self, spark, front, topic, values):
        front.down()
        with pytest.raises(RegistryError, match=f"{front.url}: no connection"):
            from_avro("value", options=OPTIONS, subject=f"{topic}-value", schemaRegistryAddress=front.url)
        front.up()

    def decoded(self, spark, front, topic, registry_url, **options):
        """Decode a value whose schema was registered after the query was made."""
        column = from_avro(
            "value",
            options={**OPTIONS, **options},
            subject=f"{topic}-value",
            schemaRegistryAddress=front.url,
        )
        late = [serializer(registry_url, order_schema(2), topic)(order(2, 2))]
        rows = spark.createDataFrame([(bytes(value),) for value in late], "value binary")
        return rows.select(column.alias("order"))

    def test_down_when_a_new_id_arrives(self, spark, front, topic, registry_url, values):
        frame = self.decoded(spark, front, topic, registry_url)
        front.down()
        with pytest.raises(PySparkException) as info:
            frame.collect()
        told = [line for line in str(info.value).splitlines() if "RegistryError" in line]
        assert any(
            line.startswith(f"kcodec.errors.RegistryError: {front.url}: no connection") for line in told
        )
        front.up()
        assert of_spark(frame.first()["order"]) == order(2)

    def test_failing_when_a_new_id_arrives(self, spark, front, topic, registry_url, values):
        """The client tries twice, Spark four times."""
        frame = self.decoded(spark, front, topic, registry_url)
        front.requests.clear()
        front.fail(503)
        with pytest.raises(
            PySparkException, match=rf"RegistryError: {front.url}: HTTP 503: told to fail \(after"
        ):
            frame.collect()
        assert len(front.requests) == 2 * 4
        front.fail(None)
        assert of_spark(frame.first()["order"]) == order(2)

    @pytest.mark.parametrize(
        ("fault", "told", "tries"),
        [
            ("down", "no connection", 0),
            ("slow", "no whole answer", 2),
            (401, "HTTP 401: told to fail", 1),
            (429, "HTTP 429: told to fail", 2),
            (500, "HTTP 500: told to fail", 2),
            (503, "HTTP 503: told to fail", 2),
        ],
    )
    def test_permissive(self, spark, front, topic, registry_url, values, fault, told, tries):
        more = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error", "onRegistryFailure": "null"}
        frame = self.decoded(spark, front, topic, registry_url, **more)
        front.requests.clear()
        if fault == "down":
            front.down()
        elif fault == "slow":
            front.delay = 2
        else:
            front.fail(fault)
        row = frame.first()["order"]
        assert row["_error"]["code"] == "registry_error"
        assert f"{front.url}: {told}" in row["_error"]["reason"]
        assert row["id"] is None
        assert len(front.requests) == tries
        front.fail(None)
        front.delay = 0
        if fault == "down":
            front.up()
        assert of_spark(frame.first()["order"]) == {**order(2), "_error": None}

    def test_failures_that_pass_are_not_seen(self, spark, front, topic, registry_url, values):
        frame = self.decoded(spark, front, topic, registry_url)
        front.fail(503, times=1)
        assert of_spark(frame.first()["order"]) == order(2)


class Stream:
    """A streaming query from a topic to Parquet."""

    def __init__(self, spark, kafka, topic, address, folder):
        self.spark, self.folder = spark, folder
        decoded = from_avro("value", subject=f"{topic}-value", schemaRegistryAddress=address)
        self.query = (
            kafka.source(spark.readStream, topic)
            .select(decoded.alias("order"))
            .select("order.*")
            .writeStream.format("parquet")
            .option("path", f"{folder}/rows")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(processingTime="50 milliseconds")
            .start()
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.query.stop()

    def ids(self):
        """Return the ids of all orders written, in order: none twice if none is written twice."""
        self.query.processAllAvailable()
        rows = self.spark.read.parquet(f"{self.folder}/rows").select("id").collect()
        return sorted(row["id"] for row in rows)


def write(kafka, registry_url, topic, numbers, version=1):
    value = serializer(registry_url, order_schema(version), topic)
    for partition in (0, 1):
        chosen = [number for number in numbers if number % 2 == partition]
        kafka.produce(topic, [Message(None, value(order(number, version))) for number in chosen], partition)


def test_a_broker_that_is_restarted(spark, broker, kafka, registry_url, topic, tmp_path):
    write(kafka, registry_url, topic, range(20))
    with Stream(spark, kafka, topic, registry_url, tmp_path) as stream:
        assert stream.ids() == list(range(20))
        run = stream.query.runId
        broker.stop()
        broker.start()
        write(kafka, registry_url, topic, range(20, 40))
        assert stream.ids() == list(range(40))
        assert stream.query.runId == run


def children(pid):
    """Return the children of a process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found.append(int(stat.parent.name))
    return found


@pytest.fixture
def jvm(request, spark):
    """Return the process id of the session's JVM."""
    if "connect" in type(spark).__module__:
        return request.getfixturevalue("connect_server").pid
    return spark.sparkContext._gateway.proc.pid


def test_a_worker_that_is_killed(spark, jvm, front, kafka, registry_url, topic, tmp_path):
    """While it waits for a schema, in the middle of a task."""
    write(kafka, registry_url, topic, range(20))
    with Stream(spark, kafka, topic, front.url, tmp_path) as stream:
        assert stream.ids() == list(range(20))
        run = stream.query.runId
        before = len(front.requests)
        front.delay = 30
        write(kafka, registry_url, topic, range(20, 60), version=2)
        until(lambda: len(front.requests) > before)
        workers = [worker for daemon in children(jvm) for worker in children(daemon)]
        assert workers
        front.delay = 0
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        assert stream.ids() == list(range(60))
        assert stream.query.runId == run


def test_executors_ask_once(spark, front, kafka, registry_url, topic, tmp_path):
    """Each Python worker asks once for a schema, however many rows, tasks and batches there are."""
    write(kafka, registry_url, topic, range(20))
    with Stream(spark, kafka, topic, front.url, tmp_path) as stream:
        assert stream.ids() == list(range(20))
        front.requests.clear()
        for first in (20, 220, 420):
            write(kafka, registry_url, topic, range(first, first + 200), version=2)
            assert stream.ids() == list(range(first + 200))
        asked = [path for path in front.paths() if path.startswith("GET /schemas/ids/")]
        assert len(set(asked)) == 1
        assert len(asked) <= 2
