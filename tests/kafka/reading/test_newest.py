"""The newest record of each key: ``latest_by_key``."""

import pyarrow as pa
import pytest
from fake_broker import FakeCluster
from hypothesis import given
from hypothesis import strategies as st

import kcodec
from kcodec import ksql
from kcodec.errors import ConfigError
from kcodec.kafka import RecordError, read, write
from kcodec.kafka.connection.cluster import TopicPartition
from kcodec.kafka.reading import newest
from kcodec.protocol.batch.schema import HEADERS


@pytest.fixture
def place(fast):
    with FakeCluster({"t": 2}) as cluster:
        yield {"servers": cluster.address, "config": fast}


KEYS = st.sampled_from([None, b"", b"a", b"b", b"\0"])
RECORDS = st.lists(
    st.tuples(st.integers(0, 2), KEYS, st.none() | st.just(b"v"), st.none() | st.integers(0, 3)), max_size=30
)


@given(RECORDS, st.integers(1, 5), st.sampled_from([1, 1 << 30]))
def test_what_is_kept_is_what_a_table_has(records, size, most):
    found = newest.Newest()
    found._most = most
    model = {}
    for partition in range(3):
        rows = [each[1:] for each in records if each[0] == partition]
        batch = pa.record_batch(
            {
                "key": pa.array([key for key, *_ in rows], pa.binary()),
                "value": pa.array([value for _, value, _ in rows], pa.binary()),
                "timestamp": pa.array([time for *_, time in rows], pa.timestamp("ms", "UTC")),
                "offset": pa.array(range(len(rows)), pa.int64()),
                "timestamp_type": pa.array([0] * len(rows), pa.int8()),
                "headers": pa.array([[]] * len(rows), HEADERS),
            }
        )
        for first in range(0, len(rows), size):
            found.add(TopicPartition("t", partition), batch.slice(first, size))
        of_partition = {
            key: (-1 if time is None else time, partition, offset, value)
            for offset, (key, value, time) in enumerate(rows)
            if key is not None
        }
        for key, row in of_partition.items():
            model[key] = max(model.get(key, row), row, key=lambda each: each[:2])
    left = [
        (place.partition, offset)
        for place, batch in found.take()
        for offset in batch.column("offset").to_pylist()
    ]
    assert left == sorted((row[1], row[2]) for row in model.values() if row[3] is not None)
    assert list(found.take()) == []


def test_a_topic_as_a_table(place):
    serde = kcodec.Serde("AVRO", "memory://newest", topic="t")
    rows = [
        ("a", {"id": 1}),
        ("b", {"id": 2}),
        ("a", {"id": 3}),
        ("c", {"id": 4}),
        ("b", None),
        (None, {"id": 5}),
    ]
    kind = pa.struct([("id", pa.int64())])
    table = pa.table({"key": [key for key, _ in rows], "value": pa.array([value for _, value in rows], kind)})
    write(table, "t", value=serde, **place)
    found = read(
        "t", value=serde, latest_by_key=True, columns=["key", "value.id", "offset"], **place
    ).read_all()
    assert sorted(zip(found["key"].to_pylist(), found["id"].to_pylist(), strict=True)) == [
        (b"a", 3),
        (b"c", 4),
    ]
    deletes = read("t", latest_by_key="deletes", columns=["key", "value"], **place).read_all()
    assert sorted(deletes["key"].to_pylist()) == [b"a", b"b", b"c"]
    assert deletes["value"].null_count == 1
    whole = read("t", value=serde, latest_by_key=True, **place).read_all()
    assert whole.column_names == [
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
    ]
    assert read("t", value=serde, latest_by_key=True, start="latest", **place).read_all().num_rows == 0


def test_only_the_newest_are_decoded(place):
    documents = {"key": [b"a", b"a", b"b"], "value": [b"{", b'{"id": 1}', b"{"]}
    write(pa.table(documents), "t", **place)
    given = {"value": kcodec.JsonCodec("id INT"), "latest_by_key": True, **place}
    reader, report = read("t", errors="report", **given)
    assert sorted(reader.read_all()["value"].to_pylist(), key=str) == [None, {"id": 1}]
    assert [each.column for each in report.faults] == ["value"]
    with pytest.raises(RecordError, match="truncated: t-"):
        read("t", **given).read_all()
    assert read("t", errors="null", **given).read_all().num_rows == 2


def test_a_table_of_ksqldb(place):
    table = "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');"
    rows = {"K": [1, 2, 1, 2, 3], "V": [10, 20, 11, 21, 30]}
    ksql.write(table, pa.table(rows), **place)
    write(pa.table({"key": [bytes([0, 0, 0, 3])], "value": pa.array([None], pa.binary())}), "t", **place)
    found = ksql.read(table, latest_by_key=True, **place).read_all()
    assert sorted(zip(found["K"].to_pylist(), found["V"].to_pylist(), strict=True)) == [(1, 11), (2, 21)]


def test_changes_of_debezium(place):
    envelope = "before STRUCT<id: INT>, after STRUCT<id: INT, n: INT>, op STRING"
    codec = kcodec.JsonCodec(envelope)
    events = [
        ("1", {"after": {"id": 1, "n": 1}, "op": "c"}),
        ("2", {"after": {"id": 2, "n": 1}, "op": "c"}),
        ("3", {"after": {"id": 3, "n": 1}, "op": "c"}),
        ("1", {"after": {"id": 1, "n": 2}, "op": "u"}),
        # One delete with its tombstone, and one without.
        ("2", {"before": {"id": 2}, "op": "d"}),
        ("2", None),
        ("3", {"before": {"id": 3}, "op": "d"}),
    ]
    table = pa.table(
        {
            "key": [key for key, _ in events],
            "value": pa.array([value for _, value in events], codec.arrow_type),
        }
    )
    write(table, "t", value=codec, **place)
    found = read("t", value=codec, latest_by_key=True, columns=["value"], **place).read_all()
    unwrapped = kcodec.unwrap(found["value"], delete_tombstone_handling_mode="drop")
    assert unwrapped.values.filter(unwrapped.kept).to_pylist() == [{"id": 1, "n": 2}]


def test_the_argument(place):
    with pytest.raises(ConfigError, match="latest_by_key='yes' is not True, False or 'deletes'"):
        read("t", latest_by_key="yes", **place)
