"""The files that a real broker writes, beside what its clients are told."""

import random
import re
from itertools import pairwise

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from kcodec.protocol import list_batches, read_segment
from kcodec.protocol.batch.dump_log import Dump
from kcodec_spark import register_segments

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def log(broker):
    """Fill a topic with transactions, committed, aborted and open, in every codec; gives its name and folder."""
    name = "kcodec-segments"
    settings = {"bootstrap.servers": broker.address}
    # Records from years ago would be deleted while the tests run.
    small = {"segment.bytes": "1048576", "index.interval.bytes": "4096", "retention.ms": "-1"}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(name, 1, 1, config=small)])[name].result(30)
    noise = random.Random(1)
    for codec in CODECS:
        plain = Producer({**settings, "compression.type": codec, "linger.ms": 20})
        some = Producer(
            {**settings, "compression.type": codec, "transactional.id": f"{name}-{codec}", "linger.ms": 20}
        )
        some.init_transactions(30)
        for end in ("commit", "abort"):
            some.begin_transaction()
            for row in range(300):
                for producer, kind in ((plain, "plain"), (some, end)):
                    key = None if row % 7 == 0 else f"{codec}-{row}"
                    value = None if row % 11 == 0 else f"{kind} {row} ".encode() * 8 + noise.randbytes(1000)
                    headers = [("kind", kind), ("none", None)] if row % 3 == 0 else None
                    producer.produce(
                        name, key=key, value=value, headers=headers, timestamp=1_700_000_000_000 + row
                    )
            plain.flush(30)
            some.flush(30)
            (some.commit_transaction if end == "commit" else some.abort_transaction)(30)
    left = Producer(
        {**settings, "transactional.id": f"{name}-open", "transaction.timeout.ms": 15 * 60 * 1000}
    )
    left.init_transactions(30)
    left.begin_transaction()
    left.produce(name, value=b"open")
    left.flush(30)
    plain.produce(name, value=b"after")
    plain.flush(30)
    yield name, broker.folder / "data" / f"{name}-0"
    left.abort_transaction(30)


def consumed(broker, name: str, isolation: str) -> list[tuple]:
    """Read the topic as a consumer does."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "none",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(name, 0, 0)])
    rows = []
    while True:
        message = consumer.poll(30)
        assert message is not None, "nothing within 30 seconds"
        if message.error():
            break
        headers = [{"key": key, "value": value} for key, value in message.headers() or []]
        rows.append((message.offset(), message.timestamp()[1], message.key(), message.value(), headers))
    consumer.close()
    return rows


def segments(folder) -> list:
    return sorted(folder.glob("*.log"))


def rows_of(table: pa.Table) -> list[tuple]:
    times = table.column("timestamp").cast(pa.int64())
    columns = [
        times if name == "timestamp" else table.column(name)
        for name in ("offset", "timestamp", "key", "value", "headers")
    ]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_what_consumers_see(broker, log, isolation):
    name, folder = log
    assert len(segments(folder)) > 2
    found = [row for path in segments(folder) for row in rows_of(read_segment(path, isolation=isolation))]
    expected = consumed(broker, name, isolation)
    assert found == expected
    assert len(found) == (len(CODECS) * 1200 + 2 if isolation == "read_uncommitted" else len(CODECS) * 900)


def test_what_the_broker_says(broker, log):
    name, folder = log
    admin = AdminClient({"bootstrap.servers": broker.address})
    place = TopicPartition(name, 0)
    ends = {
        level: admin.list_offsets({place: OffsetSpec.latest()}, isolation_level=level)[place]
        .result(30)
        .offset
        for level in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)
    }
    batches = pa.concat_tables([list_batches(path) for path in segments(folder)])
    assert all(batches.column("crc_valid").to_pylist())
    assert set(batches.column("compression").to_pylist()) == set(CODECS)
    last = batches.column("last_offset").to_pylist()
    assert last[-1] + 1 == ends[IsolationLevel.READ_UNCOMMITTED]
    assert all(
        base == before + 1
        for base, before in zip(batches.column("base_offset").to_pylist()[1:], last, strict=False)
    )
    stable = read_segment(segments(folder)[-1], isolation="read_committed", control="keep")
    assert stable.column("offset")[-1].as_py() + 1 == ends[IsolationLevel.READ_COMMITTED]


def test_what_lies_beside(log):
    _, folder = log
    for path in segments(folder):
        batches = {batch["position"]: batch for batch in list_batches(path).to_pylist()}
        for entry in read_segment(path.with_suffix(".index")).to_pylist():
            assert (
                batches[entry["position"]]["base_offset"]
                <= entry["offset"]
                <= batches[entry["position"]]["last_offset"]
            )
        times = read_segment(path.with_suffix(".timeindex")).column("timestamp").cast(pa.int64()).to_pylist()
        assert all(before < after for before, after in pairwise(times))
    aborted = [row for path in sorted(folder.glob("*.txnindex")) for row in read_segment(path).to_pylist()]
    assert len(aborted) == len(CODECS)
    snapshots = sorted(folder.glob("*.snapshot"))
    assert read_segment(snapshots[-1]).num_rows >= len(CODECS)


def test_dumps(log, tmp_path):
    _, folder = log
    for path in segments(folder):
        dump = Dump(path, records=True)
        with (tmp_path / "dump.txt").open("w+", encoding="utf-8") as out:
            dump.text(out)
            out.seek(0)
            lines = out.read().splitlines()
        assert not [problem for problem in dump.problems if "-1 is followed by" not in problem][1:]
        assert len(re.findall("isvalid: true", "\n".join(lines))) == list_batches(path).num_rows


def test_the_metadata_log(broker):
    folder = broker.folder / "data" / "__cluster_metadata-0"
    (path, *_) = segments(folder)
    control = read_segment(path, control="only")
    assert "LEADER_CHANGE" in control.column("control_type").to_pylist()
    assert read_segment(path).num_rows > 10
    dump = Dump(path, records=True)
    with open(broker.folder / "dump.txt", "w", encoding="utf-8") as out:
        dump.text(out)
    text = (broker.folder / "dump.txt").read_text(encoding="utf-8")
    assert re.search(r'LeaderChange: \{"version":\d,"leaderId":1,', text), text[:2000]
    for checkpoint in folder.glob("*.checkpoint"):
        kinds = read_segment(checkpoint, control="only").column("control_type").to_pylist()
        assert kinds[0] == "SNAPSHOT_HEADER"
        assert kinds[-1] == "SNAPSHOT_FOOTER"


def test_spark(spark, broker, log):
    name, folder = log
    register_segments(spark)
    frame = spark.read.format("kcodec_segment").option("isolation", "read_committed").load(str(folder))
    found = frame.orderBy("offset").select("topic", "partition", "offset", "key", "value").collect()
    expected = [(name, 0, row[0], row[2], row[3]) for row in consumed(broker, name, "read_committed")]
    assert [tuple(row) for row in found] == expected
