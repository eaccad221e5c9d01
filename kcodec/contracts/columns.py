"""Columns with some of their values changed, however deep they stand."""

import bisect
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.nested import members, rebuild
from kcodec.columns.types.plain import is_list, is_text
from kcodec.formats.tagged import ITEMS, VALUES
from kcodec.plan.failure import step

__all__ = ["ValuePlace", "changed"]

#: ``change(values, place, chosen)`` returns other values of the same type and number; only those `chosen` are changed.
Change = Callable[[pa.Array, "ValuePlace", Any], pa.Array]
#: The way to values, and what changes them.
_Step = tuple[tuple[str | int, ...], Change]


class ValuePlace:
    """Where values stand: the row and the path of each, which are only worked out for those that fail."""

    def __init__(self, locate: Callable[[int], tuple[int, str]]) -> None:
        self.locate = locate

    @classmethod
    def rows(cls) -> "ValuePlace":
        """Return the place of the rows themselves."""
        return cls(lambda at: (at, ""))

    def member(self, name: str) -> "ValuePlace":
        """Return the place of a member of structs."""

        def locate(at: int) -> tuple[int, str]:
            row, path = self.locate(at)
            return row, step(path, name)

        return ValuePlace(locate)

    def items(self, offsets: Any, keys: pa.Array | None) -> "ValuePlace":
        """Return the place of items of lists, or of values of maps with such keys."""

        def locate(at: int) -> tuple[int, str]:
            within = bisect.bisect_right(offsets, at) - 1
            row, path = self.locate(within)
            return row, f"{path}[{at - int(offsets[within]) if keys is None else repr(keys[at].as_py())}]"

        return ValuePlace(locate)


def changed(
    array: pa.Array, changes: Iterable[tuple[Sequence[str | int], Change]], chosen: Any = None
) -> pa.Array:
    """Return an array in which the values at some steps are changed, one step after the other.

    The array has a layout that `kcodec.columns.arrays.nested.unpack` leaves as it is. Steps are the way to values, as
    in `kcodec.formats.tagged.TaggedField`. `chosen` is a mask of the rows whose values are changed, if not all are.

    >>> rows = pa.array([{"a": [1, 2]}, {"a": None}])
    >>> changed(rows, [(("a", ITEMS), lambda values, place, chosen: pa.array([5, 6]))]).to_pylist()
    [{'a': [5, 6]}, {'a': None}]
    """
    return _changed(array, [(tuple(steps), change) for steps, change in changes], ValuePlace.rows(), chosen)


def _changed(array: pa.Array, changes: list[_Step], place: ValuePlace, chosen: Any) -> pa.Array:
    for is_below, part in itertools.groupby(changes, lambda each: bool(each[0])):
        if is_below:
            array = _changed_below(array, part, place, chosen)
        else:
            for _, change in part:
                array = change(array, place, chosen)
    return array


def _beneath(array: pa.Array, part: pa.Array) -> pa.Array:
    """Return a member of a struct that is never null with values beneath the struct's nulls: see `null_rows`."""
    kind = part.type
    null = pc.and_(array.is_valid(), part.is_null())
    mask = null if null.true_count else None
    if pa.types.is_struct(kind):
        parts = [part.field(at) for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if is_list(kind) or pa.types.is_map(kind):
        buffers = [None, part.buffers()[1]]
        given = pa.Array.from_buffers(kind, len(part), buffers, offset=part.offset, children=[part.values])
        return given if mask is None else part
    return pc.if_else(array.is_valid(), part, pa.scalar("" if is_text(kind) else b"", kind))


def _changed_below(array: pa.Array, changes: Iterable[_Step], place: ValuePlace, chosen: Any) -> pa.Array:
    """Return an array with other members, items or values; those that take the same step keep their order."""
    by_step: dict[str | int, list[_Step]] = {}
    for steps, change in changes:
        by_step.setdefault(steps[0], []).append((steps[1:], change))
    if pa.types.is_struct(array.type):
        parts = members(array)
        for name, each in by_step.items():
            assert isinstance(name, str)
            at = array.type.get_field_index(name)
            parts[at] = _changed(parts[at], each, place.member(name), chosen)
        if array.null_count:
            for at, field in enumerate(array.type):
                if not field.nullable:
                    parts[at] = _beneath(array, parts[at]) if field.name in by_step else array.field(at)
        return rebuild(array, parts)
    ((first, rest),) = by_step.items()
    offsets = array.offsets.to_numpy(zero_copy_only=False)
    values = array.values
    if chosen is not None or array.null_count:
        # A serde that reads nothing encrypted needs no NumPy.
        import numpy as np

        if array.null_count:
            # A row that failed may hide items behind its null.
            valid = array.is_valid().to_numpy(zero_copy_only=False)
            chosen = valid if chosen is None else chosen & valid
        below = np.zeros(len(values), bool)
        below[offsets[0] : offsets[-1]] = np.repeat(chosen, np.diff(offsets))
        chosen = below
    if first == ITEMS:
        return rebuild(array, [_changed(values, rest, place.items(offsets, None), chosen)])
    assert first == VALUES
    keys, items = members(values)
    items = _changed(items, rest, place.items(offsets, keys), chosen)
    return rebuild(array, [rebuild(values, [keys, items])])
