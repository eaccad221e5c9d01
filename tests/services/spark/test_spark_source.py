"""``kcodec_kafka`` beside Spark's own Kafka source: the same rows, offsets and checkpoints."""

import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from confluent_kafka.serialization import MessageField
from processes import until, worker_path
from pyspark.errors import PySparkException
from topics import KEY_SCHEMA, Message, of_spark, order, order_schema, serializer

from kcodec.kafka import Range, split_ranges
from kcodec_spark import register_kafka
from kcodec_spark.kafka.query import make
from kcodec_spark.kafka.stream import stream

HERE = Path(__file__).parent
ROWS = 60


@pytest.fixture
def spark(spark):
    register_kafka(spark)
    return spark


@pytest.fixture
def source(kafka):
    """Return a reader of a format, batch or stream, with options."""

    def of(reader, format="kcodec_kafka", **options):
        options = {name.replace("__", "."): value for name, value in options.items()}
        return reader.format(format).options(**{"kafka.bootstrap.servers": kafka.address, **options})

    return of


@pytest.fixture
def orders(kafka, registry_url, topic):
    """Fill a topic with keyed orders; gives them by id."""
    value = serializer(registry_url, order_schema(), topic)
    key = serializer(registry_url, KEY_SCHEMA, topic, MessageField.KEY)
    made = {number: order(number) for number in range(ROWS)}
    kafka.produce(topic, [Message(key({"id": number}), value(each)) for number, each in made.items()])
    return made


def rows_of(frame):
    return sorted(frame.collect(), key=lambda row: (row["topic"], row["partition"], row["offset"]))


def numbered(kafka, topic, count=100, start=0, partitions=2):
    """Fill a topic with numbers, in turn in each partition, whose timestamps are a second apart."""
    producer = Producer({"bootstrap.servers": kafka.address})
    for number in range(start, start + count):
        producer.produce(
            topic,
            str(number),
            partition=number % partitions,
            timestamp=1_700_000_000_000 + number // partitions * 1000,
        )
    assert producer.flush(30) == 0


def test_rows_are_those_of_sparks_source(spark, kafka, source, topic):
    messages = [
        Message(b"a", b"1"),
        Message(None, b"2", [("h", b"x"), ("h", None), ("i", b"")]),
        Message(b"", None, [("j", b"y")]),
        Message(None, None),
    ]
    kafka.produce(topic, messages * 20)
    for headers in ("true", "false"):
        own = source(spark.read, subscribe=topic, includeHeaders=headers).load()
        other = source(spark.read, "kafka", subscribe=topic, includeHeaders=headers).load()
        assert own.schema == other.schema
        assert rows_of(own) == rows_of(other)
        assert own.count() == 80


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": '{"T":{"0":7,"1":-2}}', "endingOffsets": '{"T":{"0":-1,"1":9}}'},
        {"startingTimestamp": "1700000010000", "endingTimestamp": "1700000020000"},
        {"startingOffsetsByTimestamp": '{"T":{"0":1700000003000,"1":1700000045000}}'},
        {
            "startingOffsetsByTimestamp": '{"T":{"0":1700000003000,"1":9900000045000}}',
            "startingOffsetsByTimestampStrategy": "latest",
        },
        {"endingOffsetsByTimestamp": '{"T":{"0":1700000003500,"1":9900000045000}}'},
        {"startingTimestamp": "1700000010000", "startingOffsets": '{"T":{"0":7,"1":-2}}'},
        {"minPartitions": "7"},
        {"maxRecordsPerPartition": "9"},
        {"maxRecordsPerPartition": "30", "minPartitions": "3"},
    ],
)
def test_offsets_are_those_of_sparks_source(classic, kafka, source, topic, options):
    register_kafka(classic)
    numbered(kafka, topic)
    given = {name: value.replace("T", topic) for name, value in options.items()}
    own = source(classic.read, subscribe=topic, **given).load()
    other = source(classic.read, "kafka", subscribe=topic, **given).load()
    assert rows_of(own) == rows_of(other) != []
    if "minPartitions" in options:
        assert own.rdd.getNumPartitions() == other.rdd.getNumPartitions()
    elif "maxRecordsPerPartition" in options:
        # Spark's heeds it in streams only.
        assert own.rdd.getNumPartitions() == 12


def test_parts_are_those_of_sparks_source(classic):
    """Of partitions of all sizes, with either option and both."""
    java = classic._jvm
    kafka = java.org.apache.spark.sql.kafka010
    nothing = getattr(getattr(java.scala, "None$"), "MODULE$")
    lists = java.scala.jdk.javaapi.CollectionConverters

    def theirs(ranges, **options):
        calculator = kafka.KafkaOffsetRangeCalculator.apply(
            java.org.apache.spark.sql.util.CaseInsensitiveStringMap(options)
        )
        given = java.java.util.ArrayList()
        for each in ranges:
            place = java.org.apache.kafka.common.TopicPartition(each.topic, each.partition)
            given.add(kafka.KafkaOffsetRange(place, each.start, each.end, nothing))
        nowhere = getattr(calculator, "getRanges$default$2")()
        found = lists.asJava(calculator.getRanges(lists.asScala(given).toSeq(), nowhere))
        return [
            Range(part.topic(), part.partition(), part.fromOffset(), part.untilOffset()) for part in found
        ]

    chosen = random.Random(1)
    for _ in range(20):
        sizes = [chosen.choice((0, 1, 7, 25, 100, 1000)) for _ in range(chosen.randrange(1, 9))]
        ranges = [Range("t", at, 5, 5 + size) for at, size in enumerate(sizes)]
        parts, most = chosen.randrange(1, 40), chosen.randrange(1, 300)
        assert split_ranges(ranges, parts) == theirs(ranges, minPartitions=str(parts))
        both = {"minPartitions": str(parts), "maxRecordsPerPartition": str(most)}
        assert split_ranges(ranges, parts, most) == theirs(ranges, **both)


def test_topics_by_pattern_and_assignment(classic, kafka, source, topic):
    register_kafka(classic)
    other = kafka.create(f"{topic}-more", partitions=1)
    numbered(kafka, topic)
    kafka.produce(other, [Message(None, b"x")])
    for given in ({"subscribePattern": f"{topic}.*"}, {"assign": json.dumps({topic: [1], other: [0]})}):
        own, spark_own = (
            source(classic.read, format, **given).load() for format in ("kcodec_kafka", "kafka")
        )
        assert rows_of(own) == rows_of(spark_own)
        assert {row["topic"] for row in own.collect()} == {topic, other}
    assert source(classic.read, subscribePattern=topic).load().count() == 100


def test_transactions(classic, kafka, source, topic):
    """By default all records are read, as by Spark's source."""
    register_kafka(classic)
    for number, ends in enumerate(("commit_transaction", "abort_transaction")):
        producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": f"{topic}-{number}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(topic, ends, partition=0)
        producer.flush(30)
        getattr(producer, ends)(30)
    for given, count in (({}, 2), ({"kafka__isolation__level": "read_committed"}, 1)):
        own, other = (
            source(classic.read, format, subscribe=topic, **given).load()
            for format in ("kcodec_kafka", "kafka")
        )
        assert rows_of(own) == rows_of(other)
        assert own.count() == count


def test_decoded(spark, kafka, source, registry_url, topic, orders):
    formats = {"key.format": "avro", "value.format": "AVRO", "schemaRegistryAddress": registry_url}
    frame = source(spark.read, subscribe=topic, **formats).load()
    assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    rows = frame.collect()
    assert {row["key"]["id"]: of_spark(row["value"]) for row in rows} == orders
    flat = source(spark.read, subscribe=topic, columns="value.*, offset", **formats).load()
    assert flat.columns == [*order(0), "offset"]
    some = source(spark.read, subscribe=topic, fields="id,lines.sku", **formats).load().select("value.*")
    assert some.columns == ["id", "lines"]
    assert {row["id"]: [line["sku"] for line in row["lines"]] for row in some.collect()} == {
        number: [line["sku"] for line in each["lines"]] for number, each in orders.items()
    }


def test_columns_stay_what_they_were(classic, kafka, source, registry_url, topic, orders):
    """A version that is registered after the query was made changes nothing in it; at a Connect server each action
    is a query of its own.
    """
    register_kafka(classic)
    spark = classic
    formats = {"value.format": "avro", "schemaRegistryAddress": registry_url, "columns": "value.*"}
    frame = source(spark.read, subscribe=topic, **formats).load()
    kafka.produce(topic, [Message(b"", serializer(registry_url, order_schema(2), topic)(order(ROWS, 2)))])
    assert frame.columns == list(order(0))
    assert {row["id"]: of_spark(row) for row in frame.collect()} == {**orders, ROWS: order(ROWS)}
    assert "channel" in source(spark.read, subscribe=topic, **formats).load().columns


def test_bad_values(spark, kafka, source, registry_url, topic, orders):
    value = serializer(registry_url, order_schema(), topic)
    bad = value(order(0))[:-1]
    kafka.produce(topic, [Message(b"k", bad), Message(b"k", None)])
    formats = {"value.format": "avro", "schemaRegistryAddress": registry_url}
    with pytest.raises(
        PySparkException, match=rf"RecordError: truncated: {topic}-\d, offset \d+, value, byte"
    ):
        source(spark.read, subscribe=topic, **formats).load().collect()
    permissive = {**formats, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    frame = source(spark.read, subscribe=topic, **permissive).load()
    rows = frame.where("value._error is not null").collect()
    assert [(row["value"]["_error"]["code"], row["value"]["_error"]["bytes"]) for row in rows] == [
        ("truncated", bad)
    ]
    assert frame.where("value is null").count() == 1
    assert frame.where("value.id is not null").count() == ROWS
    named = source(spark.read, subscribe=topic, **permissive, columns="value.id,value._error").load()
    assert named.where("_error is not null").count() == 1


def test_other_formats(spark, kafka, source, topic):
    kafka.produce(topic, [Message(b"\0\0\0\7", b'{"ID": 1, "at": "x"}'), Message(b"\0\0\0\7", b'{"ID": 2}')])
    schema = '{"type":"struct","fields":[{"name":"ID","type":"long","nullable":true,"metadata":{}}]}'
    formats = {"value.format": "json", "value.schema": schema, "key.format": "kafka", "key.schema": "K INT"}
    rows = source(spark.read, subscribe=topic, columns="key.K,value.ID", **formats).load().collect()
    assert sorted(rows) == [(7, 1), (7, 2)]


def test_what_is_wrong_is_told_when_it_is_made(spark, source, topic):
    for options, expected in (
        ({"subscribe": topic, "startingOfsets": "earliest"}, "did you mean startingOffsets"),
        ({}, "one of subscribe, subscribePattern, assign"),
        ({"subscribe": topic, "value.format": "avro"}, "value.schema is needed"),
        ({"subscribe": topic, "kafka.fetch.max.byte": "1"}, "did you mean 'fetch.max.bytes'"),
        ({"subscribe": topic, "startingOffsets": "latest"}, "latest is for streams"),
        ({"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 1}})}, "name all partitions"),
        ({"subscribe": topic, "startingTimestamp": "9900000000000"}, "no record of that time"),
    ):
        with pytest.raises(PySparkException, match=expected):
            source(spark.read, **options).load().collect()


def test_credentials_are_not_shown(classic, source, topic, capfd):
    register_kafka(classic)
    jaas = 'PlainLoginModule required username="u" password="sesame";'
    given = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"}
    frame = source(classic.read, subscribe=topic, **given, **{"kafka.sasl.jaas.config": jaas}).load()
    with pytest.raises(PySparkException) as failure:
        source(
            classic.read, subscribe=topic, **given, **{"kafka.sasl.jaas.config": jaas, "kafka.acks": "x"}
        ).load()
    frame.explain(True)
    # Of streams Spark shows options itself, unless it is told not to.
    hidden = "spark.sql.redaction.options.regex"
    shown = classic.conf.get(hidden)
    classic.conf.set(hidden, "(?i)url|password|secret|token|jaas|user[.]info")
    try:
        stream = source(classic.readStream, subscribe=topic, **{"kafka.sasl.jaas.config": jaas})
        stream.options(**given).load().explain(True)
    finally:
        classic.conf.set(hidden, shown)
    assert "sesame" not in str(failure.value) + "".join(capfd.readouterr())


class Query:
    """A stream into Parquet files, which goes on from its checkpoint each time."""

    def __init__(self, folder):
        self.folder = folder

    def start(self, frame, **trigger):
        return (
            frame.select("topic", "partition", "offset")
            .writeStream.format("parquet")
            .options(path=str(self.folder / "data"), checkpointLocation=str(self.folder / "checkpoint"))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )

    def run(self, frame):
        query = self.start(frame)
        assert query.awaitTermination(120)
        assert query.exception() is None
        return query

    def ends(self):
        """Return what the checkpoint says of each batch."""
        logs = sorted(
            (self.folder / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name)
        )
        return [json.loads(path.read_text().splitlines()[-1]) for path in logs]

    def offsets(self, spark):
        rows = spark.read.parquet(str(self.folder / "data")).collect()
        return sorted((row["partition"], row["offset"]) for row in rows)


def everything(*counts):
    return [(partition, offset) for partition, count in enumerate(counts) for offset in range(count)]


@pytest.mark.parametrize("first", ["kcodec_kafka", "kafka"])
def test_a_stream_goes_on_where_the_other_source_stopped(spark, kafka, source, topic, tmp_path, first):
    second = {"kcodec_kafka": "kafka", "kafka": "kcodec_kafka"}[first]
    query = Query(tmp_path)
    for turn, format in enumerate((first, second, first)):
        numbered(kafka, topic, start=100 * turn)
        query.run(source(spark.readStream, format, subscribe=topic, startingOffsets="earliest").load())
    assert query.offsets(spark) == everything(150, 150)
    assert query.ends()[-1] == {topic: {"0": 150, "1": 150}}


def test_triggers_are_limited(spark, kafka, source, topic, tmp_path):
    numbered(kafka, topic)
    query = Query(tmp_path)
    limited = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "30"}
    run = query.run(source(spark.readStream, **limited).load())
    assert query.offsets(spark) == everything(50, 50)
    assert [each[topic]["0"] for each in query.ends()] == [15, 30, 45, 50]
    last = run.lastProgress["sources"][0]
    assert last["numInputRows"] == 10
    latest = last["latestOffset"]
    assert (json.loads(latest) if isinstance(latest, str) else latest) == {topic: {"0": 50, "1": 50}}


def test_triggers_wait_for_enough(classic, kafka, source, topic, tmp_path):
    register_kafka(classic)
    numbered(kafka, topic, 10)
    query = Query(tmp_path)
    waiting = {"subscribe": topic, "startingOffsets": "earliest", "minOffsetsPerTrigger": "50"}
    running = query.start(source(classic.readStream, **waiting).load(), processingTime="100 milliseconds")
    try:
        time.sleep(4)
        assert query.ends() in ([], [{topic: {"0": 0, "1": 0}}])
        numbered(kafka, topic, 50, start=10)
        running.processAllAvailable()
        while query.ends()[-1:] != [{topic: {"0": 30, "1": 30}}]:
            assert running.isActive
            time.sleep(0.1)
        assert {topic: {"0": 5, "1": 5}} not in query.ends()
    finally:
        running.stop()
    hurried = {**waiting, "maxTriggerDelay": "1s"}
    numbered(kafka, topic, 10, start=60)
    running = query.start(source(classic.readStream, **hurried).load(), processingTime="100 milliseconds")
    try:
        end = time.monotonic() + 60
        while query.ends()[-1] != {topic: {"0": 35, "1": 35}}:
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        running.stop()


def test_a_first_batch_that_did_not_end(spark, kafka, source, tmp_path, topic):
    """Spark keeps no start of it: what came after it is read all the same."""
    numbered(kafka, topic, 10)
    query = Query(tmp_path)
    query.run(source(spark.readStream, subscribe=topic).load())
    for folder in ("data", "checkpoint/commits"):
        shutil.rmtree(tmp_path / folder)
    numbered(kafka, topic, 10, start=10)
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    until(lambda: len(admin.list_topics(topic, 30).topics[topic].partitions) == 3)
    kafka.produce(topic, [Message(None, b"new")] * 3, partition=2)
    query.run(source(spark.readStream, subscribe=topic).load())
    assert query.offsets(spark) == [(p, o) for p, o in everything(10, 10, 3) if p == 2 or o >= 5]


def test_what_comes_while_a_stream_begins(kafka, topic):
    """Spark asks where a stream that reads what there is ends, and then where it starts."""
    numbered(kafka, topic, 10)
    given = {"kafka.bootstrap.servers": kafka.address, "subscribe": topic}
    with closing(stream(make(given)[0])) as found:
        found.finish_here()
        numbered(kafka, topic, 10, start=10)
        start = found.initial()
        for _ in range(2):
            end = found.latest(start, True)
            assert found.parts(start, end) == []
            assert start == end == {topic: {"0": 10, "1": 10}}


def test_partitions_that_are_added(spark, kafka, source, tmp_path, topic):
    numbered(kafka, topic, 10)
    query = Query(tmp_path)
    frame = source(spark.readStream, subscribe=topic).load()
    running = query.start(frame, processingTime="200 milliseconds")
    try:
        running.processAllAvailable()
        numbered(kafka, topic, 10, start=10)
        admin = AdminClient({"bootstrap.servers": kafka.address})
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
        kafka.produce(topic, [Message(None, b"new")] * 3, partition=2)
        end = time.monotonic() + 60
        while not query.ends() or query.ends()[-1] != {topic: {"0": 10, "1": 10, "2": 3}}:
            assert running.isActive, running.exception()
            assert time.monotonic() < end, query.ends()
            time.sleep(0.2)
        running.processAllAvailable()
    finally:
        running.stop()
    assert query.offsets(spark) == [(p, o) for p, o in everything(10, 10, 3) if p == 2 or o >= 5]


def test_offsets_that_are_gone(classic, kafka, source, topic, tmp_path):
    """A topic that was made anew has fewer offsets than the checkpoint."""
    register_kafka(classic)
    numbered(kafka, topic)
    query = Query(tmp_path)
    given = {"subscribe": topic, "startingOffsets": "earliest"}
    query.run(source(classic.readStream, **given).load())
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.delete_topics([topic])[topic].result(30)
    until(lambda: topic not in admin.list_topics(timeout=30).topics)
    kafka.create(topic, partitions=2)
    numbered(kafka, topic, 20)
    failing = query.start(source(classic.readStream, **given).load())
    with pytest.raises(PySparkException, match="some data may have been lost"):
        failing.awaitTermination(120)
    query.run(source(classic.readStream, **given, failOnDataLoss="false").load())
    numbered(kafka, topic, 20, start=20)
    query.run(source(classic.readStream, **given, failOnDataLoss="false").load())
    assert query.offsets(classic)[-1] == (1, 49)
    assert (0, 19) in query.offsets(classic)


def test_filters_are_not_taken(classic, kafka, source, topic):
    """Where Spark pushes filters down to a source in Python, it keeps them for later queries of the same DataFrame."""
    register_kafka(classic)
    numbered(kafka, topic)
    classic.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = source(classic.read, subscribe=topic).load()
        assert frame.where("partition = 1").count() == 50
        assert frame.count() == 100
    finally:
        classic.conf.unset("spark.sql.python.filterPushdown.enabled")


def kill(process):
    """Kill a process and all that it has started, at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


@pytest.mark.thorough
def test_a_killed_stream_neither_loses_nor_repeats_rows(classic, kafka, topic, tmp_path):
    """It is killed in the middle of a batch, again and again, and goes on from its checkpoint."""
    numbered(kafka, topic, 12_000)
    query = Query(tmp_path)
    program = [sys.executable, str(HERE / "killed_stream.py"), kafka.address, topic, str(tmp_path)]
    path = os.pathsep.join([str(HERE.parents[2]), worker_path(tmp_path / "path")])
    environment = {**os.environ, "PYTHONPATH": path}
    kills = 0
    for after in (2, 4, None):
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(
                program,
                env=environment,
                start_new_session=True,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        try:
            if after is None:
                assert process.wait(240) == 0, (tmp_path / "log").read_text()[-3000:]
                continue
            until(functools.partial(is_within_batch, tmp_path, after), 120)
            assert process.poll() is None
            kills += 1
        finally:
            kill(process)
    assert kills == 2
    assert query.offsets(classic) == everything(6_000, 6_000)


def is_within_batch(folder, after):
    """Return whether files of a batch are there, of which so many have begun, and its end is not noted."""
    return len(started(folder)) >= after and written(folder) > len(ended(folder))


def started(folder):
    return list((folder / "checkpoint" / "offsets").glob("[0-9]*"))


def ended(folder):
    return list((folder / "checkpoint" / "commits").glob("[0-9]*"))


def written(folder):
    """Count the files of data that have begun, of four a batch."""
    return -(-len(list((folder / "data").glob("*.parquet"))) // 4)
