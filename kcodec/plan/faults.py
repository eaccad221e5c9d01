"""Rows that failed, as columns: made for reports of many."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import overload

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.errors import Fault

__all__ = ["Faults"]


class Faults(Sequence[Fault]):
    """Rows that failed, in order; each is made a `Fault` when it is asked for.

    Parameters
    ----------
    rows, offsets : pyarrow.Int64Array
        Of each the row's number and the byte in it.
    kinds : pyarrow.Int64Array
        Of each the position in `ways`.
    ways : sequence of (str, str, str)
        Path, code and reason.

    Examples
    --------
    >>> column = pa.array([0, 0])
    >>> faults = Faults(pa.array([3, 8]), column, column, [("id", "truncated", "the input ends inside this value")])
    >>> len(faults), faults[1].row, faults.columns()[2].to_pylist()
    (2, 8, ['id', 'id'])
    """

    def __init__(
        self, rows: pa.Array, offsets: pa.Array, kinds: pa.Array, ways: Sequence[tuple[str, str, str]]
    ) -> None:
        self._rows = rows
        self._offsets = offsets
        self._kinds = kinds
        self._ways = ways

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> Sequence[int]:
        """The rows' numbers."""
        return _numbers(self._rows)

    @overload
    def __getitem__(self, at: int) -> Fault: ...
    @overload
    def __getitem__(self, at: slice) -> list[Fault]: ...
    def __getitem__(self, at: int | slice) -> Fault | list[Fault]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        row, offset, kind = (_numbers(column)[at] for column in (self._rows, self._offsets, self._kinds))
        return Fault(row, offset, *self._ways[kind])

    def __iter__(self) -> Iterator[Fault]:
        columns = map(_numbers, (self._rows, self._offsets, self._kinds))
        for row, offset, kind in zip(*columns, strict=True):
            yield Fault(row, offset, *self._ways[kind])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def placed(self, before: int) -> "Faults":
        """Return the same of rows with so many before them."""
        return Faults(pc.add(self._rows, before), self._offsets, self._kinds, self._ways) if before else self

    def told(self, way: Callable[[str, str, str], tuple[str, str, str]]) -> "Faults":
        """Return the same with path, code and reason as a function makes them."""
        return Faults(self._rows, self._offsets, self._kinds, [way(*each) for each in self._ways])

    def with_reasons(self, reasons: Mapping[int, str]) -> "Faults":
        """Return the same with other reasons for some, by their position."""
        if not reasons:
            return self
        ways, kinds = list(self._ways), list(_numbers(self._kinds))
        for at, reason in reasons.items():
            path, code, _ = ways[kinds[at]]
            kinds[at] = len(ways)
            ways.append((path, code, reason))
        return Faults(self._rows, self._offsets, pa.array(kinds, pa.int64()), ways)

    def columns(self) -> list[pa.Array]:
        """Return the columns of a report but for the schema ids: rows, offsets, paths, codes, reasons."""
        told = [pa.array([way[i] for way in self._ways], pa.string()).take(self._kinds) for i in range(3)]
        return [self._rows, self._offsets, *told]


def _numbers(column: pa.Array) -> memoryview:
    """Return what a column of integers holds, without an object of Arrow for each."""
    return memoryview(column.buffers()[1]).cast("B").cast("q")[column.offset : column.offset + len(column)]
