"""Rows that failed, as columns: made for reports of many."""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.arguments import Buffer
from kcodec.errors import CODES, Fault, one_line

__all__ = ["Faults", "integers", "joined", "null_rows", "nulled", "refused", "schema_ids", "short_reason"]

#: Path, code and reason of a row that failed.
Way = tuple[str, str, str]

#: Characters of a reason. Texts of schemas and of registries may stand in it, and it is repeated for each row.
_MAX_REASON = 1000
#: One that was shortened already: it says behind its end how long it was.
_SHORTENED = re.compile(rf".{{0,{_MAX_REASON}}}\.\.\. \([0-9]{{1,19}} characters\)")


class Faults(Sequence[Fault]):
    """Rows that failed, in order; each is made a `Fault` when it is asked for.

    `rows` and `offsets` are the number of each row and the byte in it, null if no byte is at fault. `kinds` is the
    position of each in `ways`, which have path, code and reason. `ids` are the schema ids in their frames, as text in
    frames whose ids are no numbers.

    >>> column = pa.array([0, 0])
    >>> faults = Faults(pa.array([3, 8]), column, column, [("id", "truncated", "the input ends inside this value")])
    >>> len(faults), faults[1].row, faults.columns()[2].to_pylist()
    (2, 8, ['id', 'id'])
    """

    def __init__(
        self,
        rows: pa.Array,
        offsets: pa.Array,
        kinds: pa.Array,
        ways: Sequence[Way],
        ids: pa.Array | None = None,
    ) -> None:
        self.rows = rows
        self._offsets = offsets
        self._kinds = kinds
        self._ways = ways
        self._ids = pa.nulls(len(rows), pa.int64()) if ids is None else ids

    @classmethod
    def of(cls, faults: Sequence[Fault]) -> "Faults":
        """Return rows that failed as columns."""
        if isinstance(faults, Faults):
            return faults
        ways = ((fault.row, fault.offset, (fault.path, fault.code, fault.reason)) for fault in faults)
        return cls.told_apart(ways).with_ids(schema_ids([fault.schema_id for fault in faults]))

    @classmethod
    def told_apart(cls, found: Iterable[tuple[int, int | None, Way]]) -> "Faults":
        """Return rows that failed, given the number, the offset and the way of each.

        >>> syntax = "", "json_syntax", "this is no JSON"
        >>> Faults.told_apart([(1, None, syntax), (4, 7, syntax)])[1].offset
        7
        """
        rows: list[int] = []
        offsets: list[int | None] = []
        kinds: list[int] = []
        ways: dict[Way, int] = {}
        for row, offset, way in found:
            rows.append(row)
            offsets.append(offset)
            kinds.append(ways.setdefault(way, len(ways)))
        return cls(integers(rows), integers(offsets), integers(kinds), list(ways))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Fault: ...
    @overload
    def __getitem__(self, at: slice) -> list[Fault]: ...
    def __getitem__(self, at: int | slice) -> Fault | list[Fault]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        row, offset, kind, schema_id = (column[at].as_py() for column in self._columns)
        path, code, reason = self._ways[kind]
        return Fault(row, offset, path, code, reason, schema_id)

    def __iter__(self) -> Iterator[Fault]:
        for row, offset, kind, schema_id in zip(*map(_numbers, self._columns), strict=True):
            path, code, reason = self._ways[kind]
            yield Fault(row, offset, path, code, reason, schema_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    @property
    def _columns(self) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
        return self.rows, self._offsets, self._kinds, self._ids

    def placed(self, before: int) -> "Faults":
        """Return the same of rows with so many before them."""
        if not before:
            return self
        return Faults(pc.add(self.rows, before), self._offsets, self._kinds, self._ways, self._ids)

    def at(self, rows: Buffer) -> "Faults":
        """Return the same of rows that are counted otherwise: each is the position in a buffer of int32.

        >>> import numpy as np
        >>> Faults.told_apart([(1, 0, ("", "truncated", ""))]).at(np.array([3, 8], np.int32))[0].row
        8
        """
        places = memoryview(rows).cast("B").cast("i")
        return Faults(
            integers([places[row] for row in _numbers(self.rows)]),
            self._offsets,
            self._kinds,
            self._ways,
            self._ids,
        )

    def without(self, rows: pa.Array) -> "Faults":
        """Return the same but for some rows."""
        kept = pc.invert(pc.is_in(self.rows, rows))
        rows, offsets, kinds, ids = (column.filter(kept) for column in self._columns)
        return Faults(rows, offsets, kinds, self._ways, ids)

    def told(self, way: Callable[[str, str, str], Way]) -> "Faults":
        """Return the same with path, code and reason as a function makes them."""
        return Faults(self.rows, self._offsets, self._kinds, [way(*each) for each in self._ways], self._ids)

    def with_reasons(self, reasons: Mapping[int, str]) -> "Faults":
        """Return the same with other reasons for some, by their position."""
        if not reasons:
            return self
        ways, kinds = list(self._ways), list(_numbers(self._kinds))
        for at, reason in reasons.items():
            path, code, _ = ways[kinds[at]]
            kinds[at] = len(ways)
            ways.append((path, code, reason))
        return Faults(self.rows, self._offsets, integers(kinds), ways, self._ids)

    def with_ids(self, ids: pa.Array) -> "Faults":
        """Return the same with schema ids."""
        return Faults(self.rows, self._offsets, self._kinds, self._ways, ids)

    def way(self, at: int) -> Way:
        """Return path, code and reason of the row in a position."""
        return self._ways[self._kinds[at].as_py()]

    def by_row(self) -> Iterator[tuple[int, Way]]:
        """Yield the number and the way of each row, without making faults of them."""
        for row, kind in zip(_numbers(self.rows), _numbers(self._kinds), strict=True):
            yield row, self._ways[kind]

    def codes(self) -> Counter[str]:
        """Count the rows of each code."""
        counted: Counter[str] = Counter()
        for kind, count in Counter(_numbers(self._kinds)).items():
            counted[self._ways[kind][1]] += count
        return counted

    def columns(self) -> list[pa.Array]:
        """Return the columns of a report: rows, offsets, paths, codes, reasons, schema ids."""
        told = [pa.array([way[i] for way in self._ways], pa.string()).take(self._kinds) for i in range(3)]
        return [self.rows, self._offsets, *told, self._ids]


def joined(parts: Iterable[Sequence[Fault]]) -> Sequence[Fault]:
    """Return the rows of several parts in order; no row is in two of them.

    >>> one = Fault(8, 0, "", "truncated", "the input ends inside this value")
    >>> [fault.row for fault in joined([[one], [], [one._replace(row=3)]])]
    [3, 8]
    """
    some = [part for part in parts if part]
    if len(some) < 2:
        return some[0] if some else []
    ways: list[Way] = []
    columns: list[Any] = []
    for part in map(Faults.of, some):
        rows, offsets, kinds, ids = part._columns
        columns.append((rows, offsets, pc.add(kinds, len(ways)), ids))
        ways += part._ways
    if len({ids.type for *_, ids in columns}) > 1:
        columns = [(*others, ids.cast(pa.string())) for *others, ids in columns]
    rows, offsets, kinds, ids = (pa.concat_arrays(each) for each in zip(*columns, strict=True))
    order = pc.array_sort_indices(rows)
    return Faults(rows.take(order), offsets.take(order), kinds.take(order), ways, ids.take(order))


def refused(
    bad: pa.Array, code: str = "out_of_range", reason: str = "", *, offset: int | None = None, path: str = ""
) -> list[Fault]:
    """Return a fault for each row that is marked; by default with the reason of the code.

    >>> [(fault.row, fault.path) for fault in refused(pa.array([False, True]), "null_value", path="id")]
    [(1, 'id')]
    """
    reason = reason or CODES[code]
    return [Fault(row, offset, path, code, reason) for row in pc.indices_nonzero(bad).to_pylist()]


def nulled(array: pa.Array, rows: pa.BooleanArray) -> pa.Array:
    """Return an array that is null in the rows for which a mask is true, or null.

    >>> nulled(pa.array(["a", "b"]), pa.array([True, False])).to_pylist()
    [None, 'b']
    """
    # With a null scalar, pyarrow before 24 makes of a slice of texts one whose offsets are wrong.
    return pc.if_else(rows, null_rows(len(array), array.type), array)


def null_rows(length: int, kind: pa.DataType) -> pa.Array:
    """Return nulls of a type, beneath which fields that are never null have values, as decoders leave them.

    Arrow's writer of Parquet refuses structs whose columns all of a field that is never null are null.

    >>> kind = pa.struct([pa.field("id", pa.int64(), nullable=False)])
    >>> nulls = null_rows(2, kind)
    >>> nulls.to_pylist(), nulls.field("id").to_pylist()
    ([None, None], [0, 0])
    """
    if not pa.types.is_struct(kind) or not kind.num_fields:
        return pa.nulls(length, kind)
    return _struct(length, kind, pa.repeat(True, length))


def _struct(length: int, kind: pa.StructType, mask: pa.BooleanArray | None) -> pa.Array:
    return pa.StructArray.from_arrays([_column(length, each) for each in kind], fields=list(kind), mask=mask)


def _column(length: int, field: pa.Field) -> pa.Array:
    kind = field.type
    if field.nullable:
        return null_rows(length, kind)
    if pa.types.is_struct(kind) and kind.num_fields:
        return _struct(length, kind, None)
    nulls = pa.nulls(length, kind)
    has_lists = isinstance(nulls, (pa.ListArray, pa.LargeListArray, pa.MapArray))
    is_plain = not kind.num_fields and not pa.types.is_null(kind) and not pa.types.is_dictionary(kind)
    if not has_lists and (not is_plain or isinstance(kind, pa.BaseExtensionType)):
        # No decoder makes columns of dictionaries and the like.
        return nulls
    # What is not null has the zeros that stand there now: numbers, or the offsets of nothing.
    buffers = [None, *nulls.buffers()[1 : kind.num_buffers]]
    return pa.Array.from_buffers(kind, length, buffers, children=[nulls.values] if has_lists else None)


def integers(numbers: Sequence[int | None]) -> pa.Array:
    """Make a column of integers; `pyarrow.array` loads pandas where that is installed.

    >>> integers([3, None]).to_pylist()
    [3, None]
    """
    count = len(numbers)
    values = pa.py_buffer(array("q", [number or 0 for number in numbers]))
    bits = None
    if None in numbers:
        valid = int("".join("0" if number is None else "1" for number in reversed(numbers)), 2)
        bits = pa.py_buffer(valid.to_bytes((count + 7) // 8, "little"))
    return pa.Array.from_buffers(pa.int64(), count, [bits, values])


def schema_ids(ids: Sequence[int | str | None]) -> pa.Array:
    """Make a column of schema ids: of text, if one is.

    >>> schema_ids([7, None]).type, schema_ids(["c3", None]).type
    (DataType(int64), DataType(string))
    """
    if any(isinstance(each, str) for each in ids):
        return pa.array([None if each is None else str(each) for each in ids], pa.string())
    return integers(ids)  # type: ignore[arg-type]


def _numbers(column: pa.Array) -> Sequence[Any]:
    """Return what a column of integers holds, without an object of Arrow for each."""
    if column.null_count == len(column):
        return [None] * len(column)
    if column.null_count or column.type != pa.int64():
        return column.to_pylist()
    return memoryview(column.buffers()[1]).cast("B").cast("q")[column.offset : column.offset + len(column)]


def short_reason(reason: str) -> str:
    """Return a reason, or the beginning of a long one.

    >>> shortened = short_reason("x" * 10**6)
    >>> shortened[-24:], short_reason(shortened) == shortened
    ('... (1000000 characters)', True)
    """
    if len(reason) <= _MAX_REASON or _SHORTENED.fullmatch(reason):
        return reason
    return one_line(reason, _MAX_REASON)
