"""Which offsets a condition can hold for: what lies outside is not fetched."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec.errors import ConfigError
from kcodec.kafka.conditions.condition import (
    NEGATED,
    AnyOf,
    Compare,
    Condition,
    Every,
    IsNull,
    Not,
    OneOf,
    Path,
    mask,
    number_of,
    paths,
    scalar_of,
    units_of,
)
from kcodec.kafka.connection.cluster import Cluster, TopicPartition
from kcodec.kafka.offsets import Range

_TIME = pa.timestamp("us", "UTC")


class Bounds(NamedTuple):
    """Bounds of the records of a partition, each None if there is none."""

    #: The first offset, and the one behind the last.
    first: int | None = None
    end: int | None = None
    #: The first millisecond since 1970, and the one behind the last.
    since: int | None = None
    until: int | None = None


_ALL = Bounds()


def narrowed(
    cluster: Cluster,
    ranges: Sequence[Range],
    condition: Condition,
    columns: Collection[str],
    isolation: str,
    *,
    in_order: bool,
) -> list[Range]:
    """Return what of ranges has all records that a condition holds for; empty ones are left out.

    The ranges have ends. `columns` names the columns of the condition that are the records' own ``topic``,
    ``partition``, ``offset`` and ``timestamp``. `in_order` is whether the times of a partition never go back. Brokers
    tell which is the first record of a time or later: behind it there may be earlier ones, so that only then it is an
    end.
    """
    found: dict[TopicPartition, Range] = {}
    wanted: dict[TopicPartition, Bounds] = {}
    for each in ranges:
        bounds = bounds_of(condition, each.place, columns)
        if bounds is not None:
            wanted[each.place] = bounds
            start = max(each.start, bounds.first or 0)
            end = each.end if bounds.end is None else min(bounds.end, each.end or 0)
            found[each.place] = each._replace(start=start, end=end)
    since = _times({place: wanted[place].since for place in found if found[place].size})
    for place, (offset, _) in cluster.offsets(since, isolation).items():
        # There is none so late, or none that is stable.
        start = max(found[place].start, offset) if offset >= 0 else found[place].end or 0
        found[place] = found[place]._replace(start=start)
    if in_order:
        until = _times({place: wanted[place].until for place in found if found[place].size})
        for place, (offset, _) in cluster.offsets(until, isolation).items():
            if offset >= 0:
                found[place] = found[place]._replace(end=min(found[place].end or 0, offset))
    return [each for each in found.values() if each.size]


def _times(times: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int]:
    # Records without a time have -1, which a broker would take for the latest offset.
    return {place: time for place, time in times.items() if time is not None and time > 0}


def bounds_of(condition: Condition, place: TopicPartition, columns: Collection[str]) -> Bounds | None:
    """Return what the records of a partition have within which a condition holds; None if it holds for none.

    >>> condition = Every((Compare(("offset",), ">", 4), Compare(("topic",), "==", "t")))
    >>> bounds_of(condition, TopicPartition("t", 0), {"offset", "topic"})
    Bounds(first=5, end=None, since=None, until=None)
    >>> bounds_of(condition, TopicPartition("u", 0), {"offset", "topic"}) is None
    True
    """
    if isinstance(condition, (Every, AnyOf)):
        parts = (bounds_of(part, place, columns) for part in condition.parts)
        return reduce(_both if isinstance(condition, Every) else _either, parts)
    own = all(len(path) == 1 and path[0] in columns for path in paths(condition))
    if own and all(path[0] in ("topic", "partition") for path in paths(condition)):
        return _ALL if _holds(condition, place) else None
    if isinstance(condition, Not):
        negated = _negated(condition.part)
        return bounds_of(negated, place, columns) if negated is not None else _ALL
    if not own:
        return _ALL
    (name,) = condition.path
    if name == "offset":
        return _of_offset(condition)
    return _of_time(condition) if name == "timestamp" else _ALL


def _negated(condition: Condition) -> Condition | None:
    """Return what holds where a condition does not; None if there is no simpler way to say so."""
    if isinstance(condition, Not):
        return condition.part
    if isinstance(condition, (Every, AnyOf)):
        parts = tuple(Not(part) for part in condition.parts)
        return AnyOf(parts) if isinstance(condition, Every) else Every(parts)
    if isinstance(condition, Compare):
        return condition._replace(op=NEGATED[condition.op])
    return None


def _holds(condition: Condition, place: TopicPartition) -> bool:
    row = {"topic": pa.array([place.topic]), "partition": pa.array([place.partition], pa.int32())}

    def find(path: Path) -> pa.Array:
        return row[path[0]]

    try:
        return mask(condition, find)[0].as_py() is True
    except ConfigError:
        # Where rows are read, it is told.
        return True


def _of_offset(condition: Condition) -> Bounds | None:
    if isinstance(condition, IsNull):
        return None
    if isinstance(condition, OneOf):
        whole = [units for units, is_whole in map(_whole, condition.values) if is_whole]
        return Bounds(min(whole), max(whole) + 1) if whole else None
    return _between(condition.op, *_whole(condition.value)) if isinstance(condition, Compare) else _ALL


def _whole(value: Any) -> tuple[int, bool]:
    return units_of(number_of(value, pa.int64()), 0)


def _of_time(condition: Condition) -> Bounds | None:
    if isinstance(condition, OneOf):
        each = (_of_time(Compare(condition.path, "==", value)) for value in condition.values)
        return reduce(_either, each, None)
    if not isinstance(condition, Compare):
        return _ALL
    micros = scalar_of(condition.value, _TIME).value
    between = _between(condition.op, micros // 1000, micros % 1000 == 0)
    return None if between is None else Bounds(since=between.first, until=between.end)


def _between(op: str, floor: int, is_whole: bool) -> Bounds | None:
    """Return the whole numbers that compare so with a number, which is `floor`, or between it and the next one."""
    if op == "==":
        return Bounds(floor, floor + 1) if is_whole else None
    if op in ("<", "<="):
        return Bounds(end=floor if op == "<" and is_whole else floor + 1)
    if op in (">", ">="):
        return Bounds(floor if op == ">=" and is_whole else floor + 1)
    return _ALL


def _both(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    if one is None or other is None:
        return None
    return Bounds(*(_inner(*each) for each in zip((max, min, max, min), one, other, strict=True)))


def _inner(choose: Callable[..., int], one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else choose(one, other)


def _either(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    if one is None or other is None:
        return other if one is None else one
    return Bounds(*(_outer(*each) for each in zip((min, max, min, max), one, other, strict=True)))


def _outer(choose: Callable[..., int], one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else choose(one, other)
