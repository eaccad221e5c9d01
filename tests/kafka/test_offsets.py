"""Ranges: split, limited, and as Spark's own source writes offsets."""

import pickle
from collections import Counter
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from kcodec.errors import ConfigError
from kcodec.kafka import Range, limit_ranges, positions_json, read_positions, split_ranges
from kcodec.kafka.connection.cluster import TopicPartition
from kcodec.kafka.offsets import plan_ranges, topics_of

RANGES = st.lists(
    st.builds(
        lambda partition, start, size: Range("t", partition, start, start + size),
        st.integers(0, 20),
        st.integers(0, 1000),
        st.integers(0, 500),
    ),
    max_size=6,
    unique_by=lambda each: each.partition,
)


@given(RANGES, st.one_of(st.none(), st.integers(1, 50)), st.one_of(st.none(), st.integers(1, 300)))
def test_parts_are_the_whole(ranges, min_parts, max_count):
    parts = split_ranges(ranges, min_parts, max_count)
    assert all(part.size > 0 for part in parts)
    if max_count is not None:
        assert all(part.size <= max_count for part in parts)
    for each in ranges:
        own = [part for part in parts if part.partition == each.partition]
        edges = [each.start, *(part.end for part in own)]
        assert [part.start for part in own] == edges[: len(own)]
        assert edges[-1] == (each.end if each.size else each.start)
    assert pickle.loads(pickle.dumps(parts)) == parts


@cases(
    ("sizes", "min_parts", "max_count", "parts"),
    [
        # One has ten times what each of the others has.
        ([1000] + 9 * [100], 20, None, [11] + 9 * [1]),
        # Small ones are a part each, which the large one does not get on top of its own.
        ([10_000] + 99 * [10], 150, None, [51] + 99 * [1]),
        ([1000, 10, 10, 10], 10, None, [7, 1, 1, 1]),
        # Half a part is a whole one.
        ([25, 25], 5, None, [3, 3]),
        ([9000, 900, 10], 6, 3000, [3, 1, 1]),
        ([9000, 900, 10], 7, 3000, [6, 1, 1]),
        # Those that have nothing cost nothing.
        ([10_000, *(10_000 * [0])], 4, None, [4] + 10_000 * [0]),
        ([5], 9, None, [5]),
    ],
)
def test_parts_of_unequal_partitions(sizes, min_parts, max_count, parts):
    found = split_ranges([Range("t", at, 0, size) for at, size in enumerate(sizes)], min_parts, max_count)
    count = Counter(each.partition for each in found)
    assert [count[at] for at in range(len(sizes))] == parts


def test_what_is_left_over_goes_to_the_last():
    assert [each.size for each in split_ranges([Range("t", 0, 5, 1005)], 7)] == [142] + 6 * [143]
    assert [each.size for each in split_ranges([Range("t", 0, 0, 10)], 4)] == [2, 2, 3, 3]


@given(RANGES, st.integers(1, 2000))
def test_limits(ranges, limit):
    limited = limit_ranges(ranges, limit)
    assert [each[:3] for each in limited] == [each[:3] for each in ranges]
    assert sum(each.size for each in limited) <= max(limit, len(ranges))
    # Who goes on behind what was read comes to the end.
    for before, after in zip(ranges, limited, strict=True):
        assert before.start <= after.end <= before.end
        assert (after.size > 0) == (before.size > 0)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.dictionaries(st.integers(0, 300), st.integers(0, 1 << 62)),
        max_size=4,
    )
)
def test_positions(positions):
    assert read_positions(positions_json(positions)) == positions


@pytest.mark.parametrize("text", ["", "[]", '{"t": 5}', '{"t": {"x": 5}}', "{", "[" * 100_000])
def test_positions_that_are_none(text):
    with pytest.raises(ConfigError, match=r"offsets are|is not the number of a partition"):
        read_positions(text)


@pytest.mark.parametrize("offset", ['"5"', "1.5", "true", "null", '"earliest"', "[1]"])
def test_offsets_that_are_no_numbers(offset):
    with pytest.raises(ConfigError, match=r"^offsets are integers: .+ of t-1 is not one$"):
        read_positions('{"t": {"0": -2, "1": ' + offset + "}}")


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ZONES = st.builds(lambda hours: timezone(timedelta(hours=hours)), st.integers(-12, 14))


@given(
    st.datetimes(datetime(1969, 1, 1), datetime(2200, 1, 1), timezones=ZONES),
    st.integers(0, 1000).map(lambda part: part if part < 1000 else 0),
)
def test_times_are_the_first_milliseconds_from_them_on(when, micros):
    when = when.replace(microsecond=when.microsecond // 1000 * 1000 + micros)
    asked = []

    def offsets(wanted, isolation):
        asked.extend(at for at in wanted.values() if at >= 0)
        return {place: ({-2: 0, -1: 100}.get(at, 7), -1) for place, at in wanted.items()}

    cluster = SimpleNamespace(offsets=offsets, settings=None)
    ranges, lost = plan_ranges(cluster, [TopicPartition("t", 0)], when, "latest", "read_committed")
    assert (ranges, lost) == ([Range("t", 0, 7, 100)], [])
    (found,) = asked
    millisecond = timedelta(milliseconds=1)
    assert found == 0 if when < EPOCH else when <= EPOCH + found * millisecond < when + millisecond


def _planned(start, end):
    def offsets(wanted, isolation):
        return {place: ({-2: 2, -1: 100}[at], -1) for place, at in wanted.items()}

    cluster = SimpleNamespace(offsets=offsets, settings=None)
    places = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]
    return plan_ranges(cluster, places, start, end, "read_committed")[0]


def test_ends_by_partition_say_what_is_read():
    assert _planned("earliest", {"t": {0: 3}}) == [Range("t", 0, 2, 3)]
    assert _planned("earliest", '{"u": {"0": 5}}') == [Range("u", 0, 2, 5)]
    assert _planned({"t": {1: 7}}, {"t": {0: 3}}) == [Range("t", 0, 2, 3), Range("t", 1, 7, 100)]
    assert _planned({"t": {0: 2, 1: 7}}, {"t": {0: 3}, "u": {0: -1}}) == [
        Range("t", 0, 2, 3),
        Range("t", 1, 7, 100),
        Range("u", 0, 2, 100),
    ]
    assert _planned("earliest", {}) == []
    for start, end in (("earliest", {"t": {2: 1}}), ({"t": {2: 1}}, {"t": {0: 3}})):
        with pytest.raises(ConfigError, match="an offset of t-2, which is not read"):
            _planned(start, end)


def test_starts_alone_leave_no_partition_out():
    # One that was added after the positions were kept.
    assert _planned({"t": {0: 5, 1: 6}}, "latest") == [
        Range("t", 0, 5, 100),
        Range("t", 1, 6, 100),
        Range("u", 0, 2, 100),
    ]


@pytest.mark.parametrize("number", [0.5, "0.5", None, "x"])
def test_partitions_that_are_none(number):
    with pytest.raises(ConfigError, match="is not the number of a partition"):
        topics_of(lambda names: {"t": [0]}, {"t": [number]})
