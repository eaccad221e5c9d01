"""Which offsets are read: ranges of partitions, planned from what a user asks for, split, and limited."""

import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from kcodec.errors import ConfigError, check_kind, is_whole
from kcodec.kafka.connection.cluster import EARLIEST, LATEST, OFFSETS, Cluster, TopicPartition
from kcodec.kafka.connection.error_codes import Code, broker_error

__all__ = [
    "Lost",
    "Range",
    "bounds",
    "check_positions",
    "is_by_partition",
    "is_pattern",
    "led_bounds",
    "limit_ranges",
    "plan_ranges",
    "positions_json",
    "positions_of",
    "read_positions",
    "split_ranges",
    "topics_of",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_WORDS = {"earliest": EARLIEST, "latest": LATEST}

#: An offset of each partition of each topic.
Positions = dict[str, dict[int, int]]


class Range(NamedTuple):
    """Records of a partition.

    Attributes
    ----------
    topic : str
        The topic.
    partition : int
        The partition.
    start : int
        The first offset.
    end : int or None
        The one behind the last; None if there is no end.

    Examples
    --------
    >>> Range("orders", 0, 10, 30).size
    20
    """

    topic: str
    partition: int
    start: int
    end: int | None = None

    @property
    def size(self) -> int:
        """Number of offsets; transactions and compaction leave some without a record."""
        assert self.end is not None, "a range without an end has no size"
        return max(self.end - self.start, 0)

    @property
    def place(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


class Lost(NamedTuple):
    """Offsets that were asked for and are no longer there, or whose records were read and have been replaced."""

    topic: str
    partition: int
    start: int
    end: int
    is_replaced: bool = False


def topics_of(
    partitions: Callable[[Iterable[str] | None], dict[str, list[int]]], topics: Any
) -> list[TopicPartition]:
    """Return the partitions of what a user names: a topic, several, a pattern, or an assignment.

    `partitions` asks for those of topics, None for all: `Cluster.partitions`, or `Cluster.refresh`, which tries once.
    A pattern is a compiled one, or a text that starts with ``^``; it matches whole names, and no internal topics.
    """
    if is_pattern(topics):
        pattern = _compiled(topics)
        found = {name: all_of for name, all_of in partitions(None).items() if pattern.fullmatch(name)}
    elif isinstance(topics, Mapping) and not any(map(_is_single, topics.values())):
        found = {str(name): sorted({_number(each) for each in numbers}) for name, numbers in topics.items()}
        known = partitions(found) if found else {}
        for name, numbers in found.items():
            for number in numbers:
                if number not in known[name]:
                    raise broker_error(Code.UNKNOWN_TOPIC_OR_PARTITION, str(TopicPartition(name, number)))
    else:
        names = [topics] if isinstance(topics, str) else [] if _is_single(topics) else list(topics)
        if not names or isinstance(topics, Mapping) or not all(isinstance(name, str) for name in names):
            raise ConfigError("topics are a name, names, a pattern, or {topic: [partition, ...]}")
        among = next(filter(is_pattern, names), None)
        if among is not None:
            raise ConfigError(
                f"the pattern {among!r} is to stand alone: other names can be part of it, ^(a|b.*)"
            )
        found = partitions(names)
    return [TopicPartition(name, number) for name in sorted(found) for number in found[name]]


def is_pattern(topics: Any) -> bool:
    """Return whether a user names topics by a pattern."""
    return isinstance(topics, re.Pattern) or (isinstance(topics, str) and topics.startswith("^"))


def _is_single(value: Any) -> bool:
    return isinstance(value, str) or not isinstance(value, Iterable)


def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        found = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"topics={pattern!r} is not a pattern: {error}") from None
    if not isinstance(found.pattern, str):
        raise ConfigError(f"topics={pattern!r} is not a pattern of text")
    return found


def _number(value: Any) -> int:
    try:
        return int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{value!r} is not the number of a partition") from None


def read_positions(text: str | Mapping[str, Any]) -> Positions:
    """Read offsets of partitions, also from the JSON that Spark's Kafka source keeps them as.

    Parameters
    ----------
    text : str or mapping
        JSON, or a mapping of topics to mappings of partitions to offsets, with partitions as text or numbers.

    Returns
    -------
    dict
        Offsets by partition, by topic.

    Raises
    ------
    ConfigError
        If they are not whole numbers by topic and partition.

    Examples
    --------
    >>> read_positions('{"orders": {"0": 23, "1": -2}}')
    {'orders': {0: 23, 1: -2}}
    """
    found = _by_partition(text)
    for topic, by in found.items():
        for partition, offset in by.items():
            if not is_whole(offset):
                place = TopicPartition(topic, partition)
                raise ConfigError(f"offsets are integers: {offset!r} of {place} is not one")
    return found


def _by_partition(text: str | Mapping[str, Any]) -> dict[str, dict[int, Any]]:
    """Read what is given for each partition."""
    if isinstance(text, str):
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"the offsets are not JSON: {error}") from None
    else:
        parsed = text
    if not isinstance(parsed, Mapping) or not all(isinstance(each, Mapping) for each in parsed.values()):
        raise ConfigError('offsets are by topic and partition, such as {"orders": {"0": 23}}')
    return {
        str(name): {_number(number): value for number, value in each.items()} for name, each in parsed.items()
    }


def positions_json(positions: Mapping[str, Mapping[int, int]]) -> str:
    """Write offsets of partitions as the JSON that Spark's Kafka source keeps them as.

    Parameters
    ----------
    positions : mapping
        Offsets by partition, by topic.

    Returns
    -------
    str
        In the order of topics and partitions.

    Raises
    ------
    ConfigError
        If they are not whole numbers by topic and partition.

    Examples
    --------
    >>> positions_json({"orders": {1: 5, 0: 23}})
    '{"orders":{"0":23,"1":5}}'
    """
    ordered = {
        name: {str(key): each[key] for key in sorted(each)}
        for name, each in sorted(read_positions(positions).items())
    }
    return json.dumps(ordered, separators=(",", ":"))


def plan_ranges(
    cluster: Cluster,
    partitions: Sequence[TopicPartition],
    start: Any,
    end: Any,
    isolation: str,
    committed: Mapping[TopicPartition, int] | None = None,
    *,
    is_sure: bool = False,
) -> tuple[list[Range], list[Lost]]:
    """Return the ranges that are asked for, and which of their offsets are gone.

    `start` and `end` are ``"earliest"``, ``"latest"``, a datetime, a negative number of offsets before the latest, or
    any of these and offsets by topic and partition; `end` may be None. `committed` are offsets of a group, which come
    before `start`. Where `end` is by partition, those that neither it nor `start` names are left out. What is
    behind the end of a partition is looked for a second time, `is_sure`. Offsets that are gone where
    ``auto.offset.reset`` is not set, and a partition that has not got so far, are a `KafkaError`.
    """
    partitions = _asked_for(partitions, start, end)
    starts = _wanted(partitions, start, EARLIEST, "start")
    ends = None if end is None else _wanted(partitions, end, LATEST, "end")
    starts |= committed or {}
    earliest, latest = bounds(cluster, partitions, isolation)
    found, lost = [], []
    resolved = _resolved(cluster, starts, earliest, latest, isolation)
    resolved_ends = None if ends is None else _resolved(cluster, ends, earliest, latest, isolation)
    # Who has read uncommitted records may be behind the beginning of a transaction that is open: nothing is lost there.
    ahead = [each for each in partitions if resolved[each] > latest[each]]
    tops = cluster.offsets(dict.fromkeys(ahead, LATEST), "read_uncommitted") if ahead else {}
    beyond = [each for each in ahead if resolved[each] > tops[each][0]]
    if resolved_ends is not None:
        beyond += [each for each in partitions if resolved_ends[each] > latest[each]]
    if beyond and not is_sure:
        cluster.doubt(beyond, OFFSETS)
        return plan_ranges(cluster, partitions, start, end, isolation, committed, is_sure=True)
    for partition in partitions:
        first = resolved[partition]
        last = None if resolved_ends is None else resolved_ends[partition]
        low, high = earliest[partition], latest[partition]
        top = tops.get(partition, (high, 0))[0]
        if last is not None and last > high:
            raise broker_error(Code.OFFSET_OUT_OF_RANGE, str(partition), f"it ends at {high}, before {last}")
        if first > top or (first < low and (last is None or first < last)):
            if cluster.settings.reset == "error":
                text = f"it has the offsets {low} to {top}, not {first}"
                raise broker_error(Code.OFFSET_OUT_OF_RANGE, str(partition), text)
            to = low if cluster.settings.reset == "earliest" else high
            if to > first:
                lost.append(Lost(*partition, first, to if last is None else min(to, last)))
            first = to
        found.append(Range(*partition, first, None if last is None else max(first, last)))
    return found, lost


def _asked_for(partitions: Sequence[TopicPartition], start: Any, end: Any) -> Sequence[TopicPartition]:
    """Return the partitions that are read.

    Ends by partition say which these are. Starts alone do not: they are where an earlier read stopped, and of a
    partition that was added since then nothing may be lost.
    """
    if not is_by_partition(end):
        return partitions
    named = [_by_partition(given) for given in (start, end) if is_by_partition(given)]
    return [each for each in partitions if any(each.partition in by.get(each.topic, {}) for by in named)]


def bounds(
    cluster: Cluster, partitions: Iterable[TopicPartition], isolation: str
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Return the first offset of each partition, and the one behind the last."""
    asked = list(partitions)
    starts, ends = (
        {
            place: offset
            for place, (offset, _) in cluster.offsets(dict.fromkeys(asked, time), isolation).items()
        }
        for time in (EARLIEST, LATEST)
    )
    return starts, ends


def led_bounds(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Return the same of partitions that have a leader now, whether their last records are committed or not."""
    led = [place for place in partitions if cluster.leader(place).broker >= 0]
    return bounds(cluster, led, "read_uncommitted")


def is_by_partition(given: Any) -> bool:
    """Return whether offsets are given by topic and partition, as a mapping or as JSON."""
    return isinstance(given, Mapping) or (isinstance(given, str) and given.lstrip().startswith("{"))


def check_positions(start: Any, end: Any = None) -> None:
    """Refuse (`ConfigError`) a start or an end that is no such thing, whichever partitions there are.

    >>> check_positions("erliest")
    Traceback (most recent call last):
    kcodec.errors.ConfigError: start='erliest' is not earliest, latest, a datetime, a negative number of records, or \
offsets by topic and partition
    """
    for name, given in (("start", start), ("end", end)):
        if is_by_partition(given):
            for by in _by_partition(given).values():
                for each in by.values():
                    _one(each, name, True)
        elif name == "start" or given is not None:
            _one(given, name, False)


def _wanted(
    partitions: Iterable[TopicPartition], given: Any, default: int, name: str
) -> dict[TopicPartition, Any]:
    """Return what is asked for of each partition: an offset, -1, -2, a datetime, or a `_Before`."""
    if is_by_partition(given):
        positions = _by_partition(given)
        unknown = {(topic, each) for topic, by in positions.items() for each in by} - set(partitions)
        if unknown:
            raise ConfigError(f"{name} has an offset of {TopicPartition(*min(unknown))}, which is not read")
        return {
            each: _one(positions.get(each.topic, {}).get(each.partition, default), name, True)
            for each in partitions
        }
    wanted = _one(given, name, False)
    return dict.fromkeys(partitions, wanted)


class _Before(NamedTuple):
    records: int


def _one(value: Any, name: str, is_offset: bool) -> Any:
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ConfigError(f"{name}={value!r} has no time zone")
        return value
    if is_whole(value):
        if is_offset and value >= EARLIEST:
            return value
        if not is_offset and value < 0:
            return _Before(-value)
    raise ConfigError(
        f"{name}={value!r} is not earliest, latest, a datetime, a negative number of records, or offsets by topic "
        "and partition"
    )


def _resolved(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, Any],
    earliest: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    isolation: str,
) -> dict[TopicPartition, int]:
    times = {key: _milliseconds(value) for key, value in wanted.items() if isinstance(value, datetime)}
    at_times = cluster.offsets(times, isolation) if times else {}

    def one(key: TopicPartition, value: Any) -> int:
        if isinstance(value, _Before):
            return max(latest[key] - value.records, earliest[key])
        if isinstance(value, datetime):
            offset = at_times[key][0]
            # Nothing is that late, or not yet stable.
            return latest[key] if offset < 0 else min(offset, latest[key])
        return {EARLIEST: earliest[key], LATEST: latest[key]}.get(value, int(value))

    return {key: one(key, value) for key, value in wanted.items()}


def _milliseconds(when: datetime) -> int:
    """Return the first millisecond that is not before a time; `datetime.timestamp` is not exact enough."""
    return max(-((_EPOCH - when) // timedelta(milliseconds=1)), 0)


def split_ranges(
    ranges: Sequence[Range], min_parts: int | None = None, max_count: int | None = None
) -> list[Range]:
    """Split ranges into parts, as Spark's source does: each in proportion to its size; empty ones are left out.

    Parameters
    ----------
    ranges : list of Range
        As `find_ranges` finds them.
    min_parts : int, optional
        How many parts there are to be; there may be a few more or less.
    max_count : int, optional
        The most offsets of a part.

    Returns
    -------
    list of Range

    Raises
    ------
    ConfigError
        If an argument is wrong.

    Examples
    --------
    >>> [(part.start, part.end) for part in split_ranges([Range("t", 0, 0, 10)], min_parts=3)]
    [(0, 3), (3, 6), (6, 10)]
    """
    check_kind(int | None, "a number of parts", min_parts=min_parts)
    if max_count is not None and (not is_whole(max_count) or max_count < 1):
        raise ConfigError(f"max_count={max_count!r} is not a number of at least 1")
    parts = [each for each in _checked(ranges) if each.size > 0]
    if max_count is not None:
        parts = [piece for each in parts for piece in _pieces(each, -(-each.size // max_count))]
    if min_parts is not None and min_parts > len(parts):
        parts = _spread(parts, min_parts)
    return parts


def _spread(parts: Sequence[Range], count: int) -> list[Range]:
    """Split the larger ones of parts, so that there are about so many of all.

    A part that stays whole counts as one, however small it is: what is left of the count is for the others.
    """
    total = sum(each.size for each in parts)
    small = [each for each in parts if _share(each, total, count) == 1]
    total -= sum(each.size for each in small)
    count = max(count - len(small), 1)
    # All parts of a partition stay whole where one does.
    whole = {each.place for each in small}
    return [
        piece
        for each in parts
        for piece in _pieces(each, 1 if each.place in whole else _share(each, total, count))
    ]


def _share(part: Range, total: int, count: int) -> int:
    """Return how many of a count of parts one part is to have; rounded as Java does it."""
    return max(math.floor(count * (part.size / total) + 0.5), 1)


def _checked(ranges: Iterable[Range]) -> list[Range]:
    check_kind(Iterable, "a sequence of Range", ranges=ranges)
    found = list(ranges)
    for each in found:
        check_kind(Range, "a Range", ranges=each)
    return found


def _pieces(whole: Range, count: int) -> Iterator[Range]:
    start, end = whole.start, whole.start + whole.size
    for left in range(min(count, whole.size), 0, -1):
        edge = start + (end - start) // left
        yield whole._replace(start=start, end=edge)
        start = edge


def limit_ranges(ranges: Sequence[Range], max_offsets: int) -> list[Range]:
    """Cut ranges to a number of offsets together, each in proportion to its size.

    Parameters
    ----------
    ranges : list of Range
        As `find_ranges` finds them.
    max_offsets : int
        About how many offsets they keep; one each at least.

    Returns
    -------
    list of Range
        With the same starts.

    Raises
    ------
    ConfigError
        If an argument is wrong.

    Examples
    --------
    >>> [each.end for each in limit_ranges([Range("t", 0, 0, 900), Range("t", 1, 5, 105)], 100)]
    [90, 15]
    """
    check_kind(int, "a number of offsets", max_offsets=max_offsets)
    ranges = _checked(ranges)
    total = sum(each.size for each in ranges)
    if total <= max_offsets:
        return ranges
    return [
        each._replace(end=each.start + min(each.size, max(int(max_offsets * each.size / total), 1)))
        if each.size
        else each
        for each in ranges
    ]


def positions_of(ranges: Iterable[Range]) -> Positions:
    """Return where ranges start, by topic and partition."""
    found: Positions = {}
    for each in ranges:
        found.setdefault(each.topic, {})[each.partition] = each.start
    return found
