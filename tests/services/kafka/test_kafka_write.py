"""Columns into topics: read back by confluent-kafka and by Java's console consumer; brokers that go down."""

import os
import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import processes
import pyarrow as pa
import pytest
from artifacts import JAVA, artifacts, program, run
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from consumed_rows import ALL, consumed, place, rows_of
from topics import Kafka

import kcodec
from kcodec.kafka import follow, list_topics, read, write

ROWS = 3_000


def records(count=ROWS):
    return pa.table(
        {
            "key": pa.array(
                [None if row % 7 == 0 else b"key %d" % (row % 50) for row in range(count)], pa.binary()
            ),
            "value": pa.array(
                [None if row % 11 == 0 else b"value %d" % row for row in range(count)], pa.binary()
            ),
            "timestamp": pa.array(
                [1_700_000_000_000 + row for row in range(count)], pa.timestamp("ms", "UTC")
            ),
            "headers": pa.array(
                [[("a", b"1"), ("b", None)] if row % 13 == 0 else [] for row in range(count)],
                pa.map_(pa.string(), pa.binary()),
            ),
        }
    )


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_read_back_by_confluent_kafka(kafka, codec):
    topic = kafka.create(f"written-{uuid.uuid4().hex[:8]}", partitions=4)
    table = records()
    written = write(table, topic, servers=kafka.address, compression=codec, config={"batch.size": 20_000})
    rows = consumed(kafka.address, topic)
    found = rows_of(read(topic, servers=kafka.address, columns=ALL, start=written.start, end=written.end))
    assert found == rows
    assert len(rows) == ROWS
    expected = {row["timestamp"].timestamp(): row for row in table.to_pylist()}
    for row in rows:
        given = expected[row["timestamp"] / 1000]
        assert (row["key"], row["value"]) == (given["key"], given["value"])
        assert [(pair["key"], pair["value"]) for pair in row["headers"]] == given["headers"]
    # Keys go where confluent-kafka puts them with Java's partitioner.
    other = kafka.create(f"theirs-{uuid.uuid4().hex[:8]}", partitions=4)
    producer = Producer({"bootstrap.servers": kafka.address, "partitioner": "murmur2"})
    for key in sorted({row["key"] for row in rows if row["key"]}):
        producer.produce(other, b"", key)
    assert producer.flush(30) == 0
    theirs = {row["key"]: row["partition"] for row in consumed(kafka.address, other)}
    assert {row["key"]: row["partition"] for row in rows if row["key"]} == theirs


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_read_back_by_java(kafka, topic, codec):
    write(
        records(500),
        topic,
        servers=kafka.address,
        compression=codec,
        partition=0,
        transactional_id=f"{topic}-java",
    )
    command = program(JAVA / "ReadTopic.java", artifacts() / "broker", 17)
    printed = run([*command, kafka.address, topic, "0"])

    def shown(value):
        return "null" if value is None else value.hex()

    expected = [
        " ".join(
            [
                f"{row} {1_700_000_000_000 + row} {shown(each['key'])} {shown(each['value'])}",
                *(f"{name}={shown(value)}" for name, value in each["headers"]),
            ]
        )
        for row, each in enumerate(records(500).to_pylist())
    ]
    assert printed == expected


def test_transactions(kafka, topic):
    serde = kcodec.Serde("AVRO", f"memory://{topic}", topic=topic, schema='"int"')
    config = {"servers": kafka.address, "value": serde, "transactional_id": topic}
    write(pa.table({"value": pa.array([1, 2, 3])}), topic, **config)
    with pytest.raises(kcodec.EncodeError):
        write(pa.table({"value": pa.array([*range(200_000), 1 << 40])}), topic, **config)
    write(pa.table({"value": pa.array([4])}), topic, **config)

    def found():
        records = read(topic, servers=kafka.address, value=serde, columns=["value"]).read_all()
        return sorted(records["value"].to_pylist())

    # A broker answers that a transaction is committed before it has told so to all partitions.
    processes.until(lambda: len(found()) >= 4)
    assert found() == [1, 2, 3, 4]
    assert len(consumed(kafka.address, topic)) == 4
    assert len(consumed(kafka.address, topic, "read_uncommitted")) > 4


def test_follow_and_commit(kafka, topic):
    group = f"group-{topic}"
    write(records(100), topic, servers=kafka.address)
    with follow(topic, start="earliest", group=group, servers=kafka.address, columns=["offset"]) as follower:
        rows = 0
        while rows < 100:
            rows += len(next(follower))
        follower.commit()
        positions = follower.positions
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": group})
    committed = consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], 30)
    assert {each.partition: each.offset for each in committed} == positions[topic]
    consumer.close()
    admin = AdminClient({"bootstrap.servers": kafka.address})
    assert group in {each.group_id for each in admin.list_consumer_groups().result(30).valid}
    write(records(10), topic, servers=kafka.address, partition=0)
    with follow(topic, group=group, servers=kafka.address, columns=["offset"]) as follower:
        assert next(follower)["offset"][0].as_py() == positions[topic][0]


def test_list_topics(kafka, topic):
    write(records(100), topic, servers=kafka.address, partition=1)
    rows = list_topics([topic], servers=kafka.address).to_pylist()
    assert [(row["partition"], row["start"], row["end"]) for row in rows] == [(0, 0, 0), (1, 0, 100)]
    assert rows[0]["size"] == 0
    assert rows[1]["size"] > 500
    assert topic in list_topics(servers=kafka.address)["topic"].to_pylist()


@pytest.fixture
def own_broker(tmp_path):
    """Run a broker that a test may stop."""
    service, address = processes.broker(tmp_path)
    service.start()
    try:
        yield service, Kafka(address)
    finally:
        service.stop()


@pytest.mark.thorough
def test_a_broker_that_is_killed_while_it_is_written_and_read(own_broker):
    """Nothing is lost, and nothing is there twice."""
    service, kafka = own_broker
    topic = kafka.create("restarted", partitions=2)
    count = 200_000

    def batches():
        for first in range(0, count, 2_000):
            yield pa.record_batch(
                {"value": pa.array([b"%0100d" % row for row in range(first, first + 2_000)])}
            )
            time.sleep(0.01)

    def while_it_restarts(work, seconds):
        """Do something in another thread; the process is started by this one, with which it ends."""
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(work)
            time.sleep(seconds)
            os.kill(service.pid, signal.SIGKILL)
            service.stop()
            service.start()
            return done.result(120)

    config = {"batch.size": 50_000, "delivery.timeout.ms": 120_000, "request.timeout.ms": 10_000}
    reader = pa.RecordBatchReader.from_batches(pa.schema([("value", pa.binary())]), batches())
    while_it_restarts(
        lambda: write(reader, topic, servers=kafka.address, compression="none", config=config), 0.6
    )
    config = {"max.partition.fetch.bytes": 100_000, "default.api.timeout.ms": 120_000}
    reader = read(topic, servers=kafka.address, columns=["value", "partition", "offset"], config=config)
    rows = reader.read_next_batch().to_pylist()
    rows += while_it_restarts(lambda: reader.read_all().to_pylist(), 0)
    found = [int(row["value"]) for row in rows]
    assert sorted(found) == list(range(count))
    for number in (0, 1):
        own = [int(row["value"]) for row in sorted(rows, key=place) if row["partition"] == number]
        assert own == sorted(own)


@pytest.mark.parametrize("more", [{}, {"transactional_id": "split"}])
def test_batches_that_a_topic_finds_too_large(kafka, more):
    topic = f"small-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": kafka.address})
    limits = {"max.message.bytes": "100000"}
    admin.create_topics([NewTopic(topic, 1, config=limits)])[topic].result(30)
    values = [os.urandom(1_000) for _ in range(2_000)]
    written = write(pa.table({"value": values}), topic, servers=kafka.address, **more)
    assert written.end == {topic: {0: 2_000}}
    found = read(written.ranges, servers=kafka.address, columns=["value"]).read_all()
    assert found["value"].to_pylist() == values
    with pytest.raises(kcodec.KafkaError, match=r"a batch of one record has 1200.. bytes"):
        write(pa.table({"value": [bytes(120_000)]}), topic, servers=kafka.address, compression="none", **more)


def test_a_topic_that_is_made_anew(kafka):
    """Its records are none of those before, whatever their offsets are."""
    topic = kafka.create(f"anew-{uuid.uuid4().hex[:8]}")
    admin = AdminClient({"bootstrap.servers": kafka.address})
    write(pa.table({"value": [b"old"] * 5}), topic, servers=kafka.address)
    config = {"default.api.timeout.ms": 20_000}
    with follow(topic, start="earliest", servers=kafka.address, config=config) as follower:
        assert len(follower.poll(20)) == 5
        admin.delete_topics([topic])[topic].result(30)
        while topic in admin.list_topics(timeout=30).topics:
            time.sleep(0.05)
        kafka.create(topic)
        write(pa.table({"value": [b"new"] * 12}), topic, servers=kafka.address)
        with pytest.raises(kcodec.KafkaError, match="was deleted and made anew"):
            assert follower.poll(20) is None
