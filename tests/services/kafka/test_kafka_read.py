"""Topics as columns beside confluent-kafka's consumer, record by record."""

import json
import uuid
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from consumed_rows import ALL, consumed, place, rows_of

import kcodec
from kcodec.cli.main import main
from kcodec.errors import ConfigError, KafkaError
from kcodec.kafka import Range, RecordError, find_ranges, positions_json, read, split_ranges

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {
            "name": "place",
            "type": {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]},
        },
    ],
}


def test_a_group_with_members_takes_no_offsets_of_others(kafka, topic, monkeypatch, capfd):
    """What the console says of it, while a consumer of confluent-kafka is a member."""
    producer = Producer({"bootstrap.servers": kafka.address})
    producer.produce(topic, b"a")
    assert producer.flush(30) == 0
    group = f"{topic}-totals"
    settings = {"bootstrap.servers": kafka.address, "group.id": group, "auto.offset.reset": "earliest"}
    member = Consumer({**settings, "enable.auto.commit": False})
    member.subscribe([topic])
    while not (messages := member.consume(1, 1)) or messages[0].error() is not None:
        pass
    place = ["-b", kafka.address]
    assert (
        main(["consume", topic, *place, "--follow", "--group", group, "--from", "earliest", "--max", "1"])
        == 2
    )
    told = capfd.readouterr().err
    assert f"group '{group}', {topic}-" in told
    assert "the group has members, and only they commit its offsets" in told
    assert main(["groups", group, *place, "--reset", "earliest", "--topic", topic]) == 2
    assert f"group '{group}' has 1 member (it is Stable)" in capfd.readouterr().err
    member.close()


def produce(address, topic, count, **settings):
    producer = Producer({"bootstrap.servers": address, "linger.ms": 20, **settings})
    for number in range(count):
        producer.produce(
            topic,
            None if number % 11 == 0 else f"value {number}".encode() * (number % 5),
            None if number % 7 == 0 else f"key {number % 13}".encode(),
            headers=[("h", b"1"), ("h", None)] if number % 17 == 0 else None,
            timestamp=1_700_000_000_000 + number,
        )
        producer.poll(0)
    assert producer.flush(60) == 0


@pytest.fixture
def wide(kafka):
    """Make a topic of several partitions."""
    return kafka.create(f"wide-{uuid.uuid4().hex[:8]}", partitions=5)


def test_a_hundred_thousand_framed_records(kafka, topic):
    """The value columns are those that one message after the other gives."""
    registry = f"memory://{topic}"
    serde = kcodec.Serde("AVRO", registry, topic=topic, schema=json.dumps(ORDER))
    orders = pa.array(
        [
            {
                "id": number,
                "note": None if number % 3 else f"note {number}",
                "place": {"city": "x" * (number % 9)},
            }
            for number in range(100_000)
        ]
    )
    producer = Producer(
        {"bootstrap.servers": kafka.address, "linger.ms": 20, "queue.buffering.max.messages": 200_000}
    )
    for number, value in enumerate(serde.serialize(orders).to_pylist()):
        producer.produce(topic, value, str(number).encode())
        producer.poll(0)
    assert producer.flush(60) == 0
    columns = ["key", "value", "partition", "offset"]
    found = sorted(
        read(topic, servers=kafka.address, value=serde, columns=columns).read_all().to_pylist(), key=place
    )
    expected = consumed(kafka.address, topic)
    values = serde.deserialize([row["value"] for row in expected]).to_pylist()
    assert [(row["key"], row["value"], *place(row)) for row in found] == [
        (row["key"], value, *place(row)) for row, value in zip(expected, values, strict=True)
    ]
    assert len(found) == 100_000
    # Only what is asked for is made, by the codec too.
    flat = read(
        topic,
        servers=kafka.address,
        value={"format": "AVRO", "registry": registry, "reader_schema": "latest"},
        columns={"number": "value.id", "city": "value.place.city", "at": "offset"},
    ).read_all()
    assert flat.schema == pa.schema([("number", pa.int64()), ("city", pa.string()), ("at", pa.int64())])
    assert sorted(flat["number"].to_pylist()) == list(range(100_000))
    assert sorted(map(len, flat["city"].to_pylist())) == sorted(number % 9 for number in range(100_000))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_column_and_codec(kafka, wide, codec):
    produce(kafka.address, wide, 5_000, **{"compression.type": codec})
    found = rows_of(read(wide, servers=kafka.address, columns=ALL))
    assert len(found) == 5_000
    assert found == consumed(kafka.address, wide)


def test_small_fetches(kafka, wide):
    """Responses that are cut inside a batch, and batches larger than what is fetched."""
    produce(kafka.address, wide, 3_000, **{"batch.size": 4_000})
    expected = consumed(kafka.address, wide)
    for size in (100, 5_000, 20_000):
        config = {"fetch.max.bytes": size, "max.partition.fetch.bytes": size}
        assert rows_of(read(wide, servers=kafka.address, columns=ALL, config=config)) == expected


def test_starts_and_ends(kafka, wide):
    produce(kafka.address, wide, 2_000)
    expected = consumed(kafka.address, wide)

    def offsets(**given):
        reader = read(wide, servers=kafka.address, columns=["partition", "offset"], **given)
        return sorted((row["partition"], row["offset"]) for row in reader.read_all().to_pylist())

    everything = [place(row) for row in expected]
    ends = {}
    for number, offset in everything:
        ends[number] = offset + 1
    assert offsets() == everything
    assert offsets(start="latest") == []
    assert offsets(end="earliest") == []
    assert offsets(start=-10) == [(p, o) for p, o in everything if o >= ends[p] - 10]
    assert offsets(end=-10) == [(p, o) for p, o in everything if o < ends[p] - 10]
    assert offsets(start=-(10**9)) == everything
    start, end = {wide: {0: 5, 1: 7, 2: -1}}, {wide: {"0": 20, "3": 9}}
    low, high = {0: 5, 1: 7, 2: ends[2]}, {**ends, 0: 20, 3: 9}
    # Partitions that neither names are left out.
    inside = [(p, o) for p, o in everything if p in {0, 1, 2, 3} and low.get(p, 0) <= o < high[p]]
    assert offsets(start=start, end=end) == inside
    assert offsets(start=positions_json(start), end=positions_json(end)) == inside
    middle = datetime.fromtimestamp(1_700_000_001, timezone.utc)
    times = {place(row): row["timestamp"] for row in expected}
    assert offsets(start=middle) == [at for at in everything if times[at] >= 1_700_000_001_000]
    assert offsets(end=middle) == [at for at in everything if times[at] < 1_700_000_001_000]
    assert offsets(start=middle + timedelta(days=1)) == []
    with pytest.raises(ConfigError, match="has no time zone"):
        offsets(start=datetime(2026, 1, 1))
    with pytest.raises(
        KafkaError, match=f"{wide}-0: OFFSET_OUT_OF_RANGE: it ends at {ends[0]}, before 100000"
    ):
        offsets(end={wide: {0: 100_000}})
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        offsets(start={wide: {0: 100_000}})
    with pytest.raises(ConfigError, match="which is not read"):
        offsets(start={wide: {99: 1}})


def test_topics(kafka, wide, topic):
    produce(kafka.address, wide, 100)
    produce(kafka.address, topic, 50)

    def names(topics):
        found = read(topics, servers=kafka.address, columns=["topic"]).read_all()
        return {name: found["topic"].to_pylist().count(name) for name in set(found["topic"].to_pylist())}

    assert names([wide, topic]) == {wide: 100, topic: 50}
    assert names(f"^(wide|orders)-({wide[5:]}|{topic[7:]})") == {wide: 100, topic: 50}
    assert names("^nothing-of-this-name") == {}
    first = read({wide: [0, 3]}, servers=kafka.address, columns=["partition"]).read_all()
    assert set(first["partition"].to_pylist()) == {0, 3}
    with pytest.raises(KafkaError, match="topic 'no-such-topic': UNKNOWN_TOPIC_OR_PARTITION"):
        names("no-such-topic")
    with pytest.raises(KafkaError, match="-77: UNKNOWN_TOPIC_OR_PARTITION"):
        names({wide: [77]})
    assert names({wide: []}) == {}


def test_ranges_are_planned_split_and_read_one_by_one(kafka, wide):
    produce(kafka.address, wide, 1_000)
    ranges = find_ranges(wide, servers=kafka.address)
    assert sum(each.size for each in ranges) == 1_000
    parts = split_ranges(ranges, min_parts=12)
    # Each partition's share is rounded, and how many records it has is chance.
    assert 10 <= len(parts) <= 14
    found = [row for part in parts for row in rows_of(read(part, servers=kafka.address, columns=ALL))]
    assert sorted(found, key=place) == consumed(kafka.address, wide)
    assert rows_of(read(Range(wide, 0, 3, 5), servers=kafka.address))[0]["offset"] == 3


def test_rows_that_cannot_be_decoded(kafka, topic):
    serde = kcodec.Serde("AVRO", f"memory://{topic}", topic=topic, schema='"long"')
    good = serde.serialize(pa.array([1, 2, 3, 4])).to_pylist()
    producer = Producer({"bootstrap.servers": kafka.address})
    for value in (good[0], b"\x02 is bad", good[1], None, good[2][:-1], good[3]):
        producer.produce(topic, value, partition=1)
    assert producer.flush(30) == 0
    place = {"servers": kafka.address, "value": serde, "columns": ["value", "offset"]}
    with pytest.raises(RecordError, match=f"frame_magic: {topic}-1, offset 1, value, byte 0") as info:
        read(topic, **place).read_all()
    error = info.value
    assert (error.topic, error.partition, error.position, error.column) == (topic, 1, 1, "value")
    assert read(topic, errors="null", **place).read_all()["value"].to_pylist() == [1, None, 2, None, None, 4]
    reader, report = read(topic, errors="report", **place)
    assert reader.read_all()["value"].to_pylist() == [1, None, 2, None, None, 4]
    rows = report.table().to_pylist()
    assert [(row["partition"], row["offset"], row["column"], row["code"]) for row in rows] == [
        (1, 1, "value", "frame_magic"),
        (1, 4, "value", "truncated"),
    ]
    assert rows[1]["schema_id"] == 1


def test_transactions(kafka, topic):
    """Committed, aborted and open ones, by several producers in turn."""
    producers = [
        Producer(
            {"bootstrap.servers": kafka.address, "transactional.id": f"{topic}-{number}", "linger.ms": 0}
        )
        for number in range(3)
    ]
    for each in producers:
        each.init_transactions(30)
    for turn in range(6):
        for number, each in enumerate(producers):
            each.begin_transaction()
            for item in range(5):
                each.produce(topic, f"{turn} {number} {item}".encode(), partition=item % 2)
            each.flush(30)
        for number, each in enumerate(producers):
            if (turn + number) % 2:
                each.commit_transaction(30)
            else:
                each.abort_transaction(30)
    produce(kafka.address, topic, 10)
    committed = rows_of(read(topic, servers=kafka.address, columns=ALL))
    assert committed == consumed(kafka.address, topic)
    assert len(committed) == 45 + 10
    everything = rows_of(read(topic, servers=kafka.address, columns=ALL, isolation="read_uncommitted"))
    assert everything == consumed(kafka.address, topic, "read_uncommitted")
    assert len(everything) == 90 + 10
    for size in (1, 200):
        config = {"fetch.max.bytes": size, "max.partition.fetch.bytes": size}
        assert rows_of(read(topic, servers=kafka.address, columns=ALL, config=config)) == committed
    # One that is open ends what is stable.
    producers[0].begin_transaction()
    producers[0].produce(topic, b"open", partition=0)
    producers[0].flush(30)
    produce(kafka.address, topic, 20)
    assert rows_of(read({topic: [0]}, servers=kafka.address, columns=ALL)) == [
        row for row in committed if row["partition"] == 0
    ]
    assert rows_of(read({topic: [1]}, servers=kafka.address, columns=ALL)) == [
        row for row in consumed(kafka.address, topic) if row["partition"] == 1
    ]
    producers[0].abort_transaction(30)


def test_offsets_that_are_gone(kafka, topic):
    produce(kafka.address, topic, 100)
    low = 20
    admin = AdminClient({"bootstrap.servers": kafka.address})
    gone = TopicPartition(topic, 0, low)
    admin.delete_records([gone])[gone].result(30)
    expected = consumed(kafka.address, topic)
    assert rows_of(read(topic, servers=kafka.address, columns=ALL)) == expected
    start = {topic: {0: 3, 1: 0}}
    with pytest.raises(KafkaError, match=f"{topic}-0: OFFSET_OUT_OF_RANGE: it has the offsets 20 to") as info:
        read(topic, servers=kafka.address, start=start)
    assert info.value.name == "OFFSET_OUT_OF_RANGE"
    config = {"auto.offset.reset": "earliest"}
    reader, report = read(
        topic, servers=kafka.address, start=start, columns=ALL, errors="report", config=config
    )
    assert rows_of(reader) == expected
    assert [(each.code, each.offset, each.reason) for each in report.faults] == [
        ("offset_out_of_range", 3, "the offsets 3 to 19 are no longer there")
    ]
    # What goes away between planning and reading; how many records without a key are in a partition is chance.
    end = 1 + max(row["offset"] for row in expected if row["partition"] == 0)
    ranges = [Range(topic, 0, 3, end)]
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        read(ranges, servers=kafka.address).read_all()
    reader, report = read(ranges, servers=kafka.address, errors="report", config=config)
    assert reader.read_all()["offset"].to_pylist() == list(range(low, end))
    assert [each.offset for each in report.faults] == [3]


def test_a_topic_without_records(kafka, topic):
    table = read(topic, servers=kafka.address, columns=ALL).read_all()
    assert (table.num_rows, table.column_names) == (0, ALL)
    # The type of what was never there is null.
    serde = kcodec.Serde("AVRO", f"memory://{topic}", topic=topic)
    table = read(topic, servers=kafka.address, value=serde, columns=["value"]).read_all()
    assert table.schema == pa.schema([("value", pa.null())])
