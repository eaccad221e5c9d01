"""What the row loops in plain Python share: programs, which program reads a row, and where the row begins and ends."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from kcodec.columns.layout import Column, layout
from kcodec.columns.lists import from_lists
from kcodec.errors import Fault
from kcodec.plan.failure import OtherPrefix, RowError
from kcodec.plan.node import Limits, Plan

__all__ = ["ColumnRow", "Program", "decode_rows", "encode_rows", "join_rows"]

P = TypeVar("P", bound="Program")
Row = TypeVar("Row")


class Program:
    """A plan made ready to run.

    Parameters
    ----------
    plan : Plan
        What to do.
    limits : Limits, optional
        What a row may cost.
    """

    def __init__(self, plan: Plan, limits: Limits = Limits()) -> None:  # noqa: B008
        self._plan = plan
        self._limits = limits

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self._plan

    @property
    def limits(self) -> Limits:
        """The limits."""
        return self._limits


def decode_rows(
    values: pa.Array,
    programs: Sequence[P | None],
    read: Callable[[P, bytes, int], Row],
    *,
    selector: Any,
    starts: Any,
    stop: bool,
    ends: Any = None,
    start: int = 0,
) -> tuple[list[Row | None], list[Fault]]:
    """Read the rows that are not null, each by its program.

    Parameters
    ----------
    values, programs, selector, starts, stop
        As for `kcodec.plan.kernel.RowKernel.decode`.
    read : callable
        Reads a row with a program, up to the end of the bytes given and from a position in them.
    ends : buffer of int32, optional
        Per row where the payload ends.
    start : int
        Where payloads start, without `starts`.

    Returns
    -------
    tuple of (list, list of Fault)
        What was read, None for rows that are null or failed; and those that failed.
    """
    prefix = b""
    if isinstance(starts, bytes):
        prefix, starts, start = starts, None, len(starts)
    chosen, first, last = (
        None if each is None else memoryview(each).cast("B").cast("i") for each in (selector, starts, ends)
    )
    rows: list[Row | None] = []
    faults: list[Fault] = []
    for number, data in enumerate(payloads(values)):
        index = 0 if chosen is None else chosen[number]
        program = programs[index] if 0 <= index < len(programs) else None
        row = None
        if data is not None and not data.startswith(prefix):
            raise OtherPrefix
        if data is not None and program is not None:
            begin = start if first is None else first[number]
            end = len(data) if last is None else last[number]
            try:
                if not 0 <= begin <= end <= len(data):
                    raise RowError("truncated", len(data))
                row = read(program, data[:end], begin)
            except RowError as error:
                faults.append(error.fault(number))
                if stop:
                    break
        rows.append(row)
    return rows, faults


def payloads(values: pa.Array) -> list[bytes | None]:
    """Return the bytes of each row; text may be anything but UTF-8."""
    if pa.types.is_fixed_size_binary(values.type) or pa.types.is_binary(values.type):
        return list(values.to_pylist())
    return list(values.cast(pa.large_binary()).to_pylist())


class ColumnRow:
    """The values that one row adds to each column, kept apart until the whole row turns out to be good.

    Parameters
    ----------
    columns : tuple of Column
        The columns.
    """

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.columns = columns
        self.out: list[list[Any]] = [[] for _ in columns]

    def put(self, column: int, value: Any) -> None:
        """Add a value to a column; -1 drops it."""
        if column >= 0:
            self.out[column].append(value)

    def null(self, column: int) -> None:
        """Add a null to a column, and to the columns below it that have as many values."""
        self.out[column].append(None)
        if pa.types.is_struct(self.columns[column].type):
            for child in self.columns[column].children:
                self.null(child)


def join_rows(kind: pa.DataType, rows: Sequence[ColumnRow | None]) -> pa.Array:
    """Make the array of a type that rows have added to; None is a null."""
    columns = layout(kind)
    null = ColumnRow(columns)
    null.null(0)
    out = [(row or null).out for row in rows]
    return from_lists(columns, [[value for row in out for value in row[at]] for at in range(len(columns))])


def encode_rows(
    array: pa.Array, write: Callable[[int], bytes], *, large: bool, stop: bool
) -> tuple[pa.Array, list[Fault]]:
    """Write the rows that are not null, by their number; a row that cannot be written is null and a fault."""
    result: list[bytes | None] = []
    faults: list[Fault] = []
    for row in range(len(array)):
        data = None
        if not pa.types.is_null(array.type) and array[row].is_valid:
            try:
                data = write(row)
            except RowError as error:
                faults.append(error.fault(row))
                if stop:
                    break
        result.append(data)
    return pa.array(result, pa.large_binary() if large else pa.binary()), faults
