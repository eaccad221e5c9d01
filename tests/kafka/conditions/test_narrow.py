"""What conditions leave to be fetched: all records that they hold for, and as few others as can be told."""

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pyarrow as pa
import pytest
from cases import cases
from fake_broker import PATIENT, FakeCluster
from hypothesis import given
from hypothesis import strategies as st

from kcodec.kafka.conditions.condition import AnyOf, Compare, Every, IsNull, Not, OneOf
from kcodec.kafka.conditions.narrow import Bounds, bounds_of, narrowed
from kcodec.kafka.conditions.where import matching, parse
from kcodec.kafka.connection.cluster import Cluster, TopicPartition
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.offsets import Range
from kcodec.protocol import write_batches

OWN = {"topic", "partition", "offset", "timestamp"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def at(milliseconds):
    return EPOCH + timedelta(milliseconds=milliseconds)


@cases(
    ("text", "expected"),
    [
        ("offset >= 5 and offset < 9", Bounds(5, 9)),
        ("offset > 5.5 and offset <= 9.5", Bounds(6, 10)),
        ("offset = 5", Bounds(5, 6)),
        ("offset = 5.5", None),
        ("offset in [9, 5.5, 7]", Bounds(7, 10)),
        ("offset in []", None),
        ("offset in [5.5]", None),
        ("not offset < 5", Bounds(5)),
        ("not (offset < 5 or offset = 7)", Bounds(5)),
        ("not (offset < 5 and value.id = 7)", Bounds()),
        ("not not offset = 5", Bounds(5, 6)),
        ("offset is null", None),
        ("offset != 5", Bounds()),
        ("offset = 5 or offset = 9", Bounds(5, 10)),
        ("offset > 5 or offset < 3", Bounds()),
        ("offset < 3 or value.id = 5", Bounds()),
        ("offset < 3 and value.id = 5", Bounds(end=3)),
        ("offset >= '5'", Bounds(5)),
        ("topic = 't'", Bounds()),
        ("topic > 't' or topic is null", None),
        ("topic != 't' or offset < 3", Bounds(end=3)),
        ("topic = 'u' and offset < 3 or topic = 't' and offset > 5", Bounds(6)),
        ("not topic in ['t']", None),
        ("partition = 1 and topic = 't'", Bounds()),
        ("partition < 0.5", None),
        ("timestamp >= '1970-01-01T00:00:01Z'", Bounds(since=1000)),
        ("timestamp > '1970-01-01T00:00:01Z'", Bounds(since=1001)),
        ("timestamp > '1970-01-01T00:00:00.999999Z'", Bounds(since=1000)),
        ("timestamp < '1970-01-01T00:00:01.000001Z'", Bounds(until=1001)),
        ("timestamp <= '1970-01-01 00:00:01'", Bounds(until=1001)),
        ("timestamp = '1970-01-01T00:00:00.000001Z'", None),
        ("timestamp in ['1970-01-01 00:00:01', '1970-01-01 00:00:03']", Bounds(since=1000, until=3001)),
        ("timestamp is null", Bounds()),
        ("value.offset = 5", Bounds()),
    ],
)
def test_limits(text, expected):
    assert bounds_of(parse(text, "where"), TopicPartition("t", 1), OWN) == expected


def test_columns_of_values_are_no_places():
    """A field may be called as a column of the record."""
    assert bounds_of(parse("offset = 5 and topic = 'u'", "where"), TopicPartition("t", 1), {"topic"}) is None
    assert bounds_of(parse("offset = 5", "where"), TopicPartition("t", 1), {"topic"}) == Bounds()


OFFSETS = st.integers(-1, 12) | st.sampled_from([3.5, 7.25, -0.5])
TIMES = st.integers(0, 12_000).map(lambda micros: EPOCH + timedelta(microseconds=micros))
OPS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


def leaves(name, values):
    path = (name,)
    return (
        st.builds(Compare, st.just(path), OPS, values)
        | st.builds(OneOf, st.just(path), st.lists(values, max_size=3).map(tuple))
        | st.just(IsNull(path))
    )


CONDITIONS = st.recursive(
    leaves("offset", OFFSETS)
    | leaves("timestamp", TIMES)
    | leaves("topic", st.sampled_from(["s", "t", "u"]))
    | leaves("partition", st.integers(0, 2))
    | leaves("id", st.integers(0, 3)),
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(Every, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple))
    ),
    max_leaves=6,
)


class Asked:
    """Answers as brokers do: the first offset of a time or later."""

    settings = SimpleNamespace(isolation="read_uncommitted")

    def __init__(self, times):
        self.times = times

    def offsets(self, wanted, isolation):
        return {
            place: (next((offset for offset, each in enumerate(self.times[place]) if each >= time), -1), time)
            for place, time in wanted.items()
        }


@given(CONDITIONS, st.lists(st.integers(-1, 12), min_size=12, max_size=12), st.booleans())
def test_no_record_is_passed_over(condition, times, in_order):
    """For each record that a condition holds for, its offset is in what is left."""
    if in_order:
        times = sorted(times)
    places = [TopicPartition(*place) for place in (("t", 0), ("t", 1), ("u", 0))]
    whole = [Range(*place, 2, 11) for place in places]
    asked = Asked(dict.fromkeys(places, times))
    left = narrowed(asked, whole, condition, OWN, "read_uncommitted", in_order=in_order)
    read = {(each.topic, each.partition, offset) for each in left for offset in range(each.start, each.end)}
    rows = [
        (*place, offset, at(times[offset]), offset % 4 or None) for place in places for offset in range(2, 11)
    ]
    topic, partition, offset, timestamp, number = zip(*rows, strict=True)
    batch = pa.record_batch(
        {
            "topic": pa.array(topic),
            "partition": pa.array(partition, pa.int32()),
            "offset": pa.array(offset),
            "timestamp": pa.array(timestamp, pa.timestamp("us", "UTC")),
            "id": pa.array(number, pa.int32()),
        }
    )
    wanted = {
        (row["topic"], row["partition"], row["offset"]) for row in matching(condition, batch).to_pylist()
    }
    assert wanted <= read <= {row[:3] for row in rows}


@pytest.mark.parametrize(
    ("text", "in_order", "expected"),
    [
        ("timestamp >= '1970-01-01 00:00:05'", False, [(0, 5, 10), (1, 5, 10)]),
        ("timestamp < '1970-01-01 00:00:05'", False, [(0, 0, 10), (1, 0, 10)]),
        ("timestamp < '1970-01-01 00:00:05'", True, [(0, 0, 5), (1, 0, 5)]),
        ("timestamp > '1970-01-01 00:00:05' and partition = 1 and offset <= 7", False, [(1, 6, 8)]),
        ("timestamp >= '1970-01-02'", False, []),
        ("timestamp < '1970-01-02'", True, [(0, 0, 10), (1, 0, 10)]),
        ("timestamp >= '1969-12-31'", True, [(0, 0, 10), (1, 0, 10)]),
    ],
)
def test_times_are_asked_for(text, in_order, expected):
    with FakeCluster({"t": 2}) as fake:
        for partition in range(2):
            times = pa.array([number * 1000 for number in range(10)], pa.timestamp("ms", "UTC"))
            fake.append(("t", partition), write_batches(pa.table({"value": [b""] * 10, "timestamp": times})))
        with Cluster(Settings.of({"bootstrap.servers": fake.address, **PATIENT})) as cluster:
            whole = [Range("t", partition, 0, 10) for partition in range(2)]
            condition = parse(text, "where")
            left = narrowed(cluster, whole, condition, OWN, "read_uncommitted", in_order=in_order)
    assert [each[1:] for each in left] == expected
