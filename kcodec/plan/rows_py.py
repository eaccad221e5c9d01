"""What the row loops in plain Python share: programs, which program reads a row, and where the row begins and ends."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from kcodec.columns.built.lists import from_lists
from kcodec.columns.types.layout import Column, item_bytes, layout
from kcodec.errors import Fault
from kcodec.plan.failure import OtherPrefix, RowError
from kcodec.plan.node import Limits, Plan

__all__ = ["ColumnRow", "ItemBytes", "Program", "decode_rows", "encode_rows", "join_rows", "quiet"]

P = TypeVar("P", bound="Program")
Row = TypeVar("Row")

#: Bytes and values of rows that are held as Python objects before an array is made of them.
_HELD = 1 << 17

#: Bytes of items that a byte of a row may yield before that counts as expansion; see `Limits.max_expansion`.
_SPARE = 16


def quiet(number: float) -> float:
    """Return a number as C converts it between float and double, which quiets NaNs that signal; `struct` may not."""
    return number * 1.0


class Program:
    """A plan made ready to run."""

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
    read: "Callable[[P, tuple[Column, ...], ItemBytes, bytes, int], Row]",
    join: Callable[[pa.DataType, list[Row | None]], pa.Array],
    *,
    selector: Any,
    starts: Any,
    stop: bool,
    ends: Any = None,
    start: int = 0,
) -> tuple[pa.Array, list[Fault]]:
    """Read the rows that are not null, each by its program, and make an array of them, some at a time.

    `read` reads a row with a program, for the columns that all programs have, and counts its items; up to the end of
    the bytes given and from a position in them. `join` makes an array of the columns' type of rows that were read, None
    for those that are null or failed. `ends` has per row, as int32, where the payload ends, and `start` is where
    payloads start without `starts`. All others are as for `kcodec.plan.kernel.RowKernel.decode`. Rows that failed are
    returned as faults.
    """
    kind = next(program for program in programs if program is not None).plan.arrow_type
    columns = layout(kind)
    sizes = item_bytes(columns)
    prefix = b""
    if isinstance(starts, bytes):
        prefix, starts, start = starts, None, len(starts)
    chosen, first, last = (
        None if each is None else memoryview(each).cast("B").cast("i") for each in (selector, starts, ends)
    )
    rows: list[Row | None] = []
    arrays: list[pa.Array] = []
    held = 0
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
                payload = data[:end]
                row = read(program, columns, ItemBytes(sizes, program.limits, payload, begin), payload, begin)
            except RowError as error:
                faults.append(error.fault(number))
                if stop:
                    break
        rows.append(row)
        held += len(columns) + len(data or b"")
        if held > _HELD:
            arrays.append(join(kind, rows))
            rows, held = [], 0
            # An array of few rows takes about 1 KB a column beside its values: those of a size become one, so that
            # there are never more than the logarithm of their number.
            while len(arrays) > 1 and len(arrays[-2]) <= len(arrays[-1]):
                arrays[-2:] = [pa.concat_arrays(arrays[-2:])]
    if rows or not arrays:
        arrays.append(join(kind, rows))
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays), faults


def payloads(values: pa.Array) -> list[bytes | None]:
    """Return the bytes of each row; text may be anything but UTF-8."""
    if pa.types.is_fixed_size_binary(values.type) or pa.types.is_binary(values.type):
        return list(values.to_pylist())
    return list(values.cast(pa.large_binary()).to_pylist())


class ColumnRow:
    """The values that one row adds to each column, kept apart until the whole row turns out to be good."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.columns = columns
        #: Per column that anything was added to.
        self.out: defaultdict[int, list[Any]] = defaultdict(list)

    def added(self) -> "defaultdict[int, list[Any]]":
        """Give what was added so far, and begin anew."""
        out, self.out = self.out, defaultdict(list)
        return out

    def add(self, out: "defaultdict[int, list[Any]]") -> None:
        """Add what was added before."""
        for column, values in out.items():
            self.out[column] += values

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
    return from_lists(
        columns, [[value for row in out for value in row.get(at, ())] for at in range(len(columns))]
    )


class ItemBytes:
    """What the items of a row take in columns of fixed width, which `Limits.max_expansion` bounds.

    `sizes` is what an item of each column takes, see `kcodec.columns.types.layout.item_bytes`. `data` is the row up to
    the end of its payload, which starts `at`.

    >>> items = ItemBytes({0: 8}, Limits(max_expansion=100), b"0", 0)
    >>> items.count(0, 14)
    >>> items.count(0, 1)
    Traceback (most recent call last):
    kcodec.plan.failure.RowError: the value expands to more than the limits allow
    """

    def __init__(self, sizes: dict[int, int], limits: Limits, data: bytes, at: int) -> None:
        self._sizes = sizes
        self._left = limits.max_expansion + _SPARE * (len(data) - at)
        self._end = len(data)

    def count(self, column: int, items: int = 1) -> None:
        """Count items of a list or map column; `RowError` if they take more than they may."""
        self._left -= items * self._sizes.get(column, 0)
        if self._left < 0:
            raise RowError("size_limit", self._end)


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
