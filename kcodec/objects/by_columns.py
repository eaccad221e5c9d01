"""Values one by one, by columns: for formats that read and write nothing else."""

import array
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.columns.arrays.casts import cast_rows, refused_value
from kcodec.columns.types.plain import in_microseconds
from kcodec.errors import DecodeError, EncodeError, Fault, one_line
from kcodec.objects.each import EachWriter, fault_of
from kcodec.objects.rows import rows
from kcodec.objects.taken import plain

_Written = TypeVar("_Written")

#: What is wrong with a date or time that is ``out_of_range``, and with one that is ``inexact``.
NO_YEAR = "the year is not one of 1 to 9999, which Python's dates and times have"
NANOSECONDS = 'Python\'s times have no nanoseconds; round="truncate" drops them'

#: The types that columns are read as: without nanoseconds.
_read_as: Kept[pa.DataType, pa.DataType] = Kept()


def objects_of(column: Any, *, floor: bool = False) -> tuple[list[Any], list[Fault]]:
    """Return the values of a column as objects, and the faults of those that Python's dates and times do not hold.

    Nanoseconds that are no whole microseconds are ``inexact``, or with `floor` dropped.

    >>> objects_of(pa.array([0, 10**7], pa.date32()))[1][0].code
    'out_of_range'
    >>> objects_of(pa.array([1001], pa.timestamp("ns")))[1][0].code
    'inexact'
    """
    kind = _read_as.get(column.type, lambda: in_microseconds(column.type))
    if kind != column.type:
        # pyarrow would make objects of pandas, where that is installed.
        return _cast_objects(column, kind, floor)
    try:
        return rows(column), []
    except (OverflowError, ValueError):
        pass
    made: list[Any] = []
    faults: list[Fault] = []
    for row in range(len(column)):
        one = column[row : row + 1]
        value = None
        try:
            value = rows(one)[0]
        except OverflowError:
            whole = one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one
            path, _, _ = refused_value(whole, whole.type, _is_beyond_years)
            faults.append(Fault(row, None, path, "out_of_range", NO_YEAR))
        except ValueError as error:
            faults.append(Fault(row, None, "", "inexact", one_line(error)))
        made.append(value)
    return made, faults


def _is_beyond_years(part: pa.Array, kind: pa.DataType) -> bool:
    try:
        rows(part)
    except OverflowError:
        return True
    return False


def _cast_objects(column: Any, kind: pa.DataType, floor: bool) -> tuple[list[Any], list[Fault]]:
    made: list[Any] = []
    faults: list[Fault] = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        cast, finer = cast_rows(chunk, kind, floor=floor)
        found, lost = objects_of(cast)
        finer = [fault._replace(reason=NANOSECONDS) for fault in finer]
        faults += [fault._replace(row=fault.row + len(made)) for fault in sorted([*finer, *lost], key=_row)]
        made += found
    return made, faults


def with_records(write: Callable[[Any], _Written], value: Any) -> _Written:
    """Write a value; if that fails, with a dict for each dataclass and the like.

    Where it has no such record, what is raised is that of the value as it is given.

    >>> import collections
    >>> kind = pa.struct([("x", pa.int64())])
    >>> with_records(lambda value: pa.array([value], kind).to_pylist(), collections.UserDict(x=7))
    [{'x': 7}]
    """
    try:
        return write(value)
    # Mappings that are no dicts end as KeyError within pyarrow.
    except (EncodeError, TypeError, KeyError, pa.ArrowException):
        records = plain(value)
        if records is value:
            raise
    return write(records)


class ColumnReader:
    """Reads payloads by a codec's ``decode``; see `kcodec.objects.kernel.Reader`, and `objects_of` for `floor`."""

    told = True

    def __init__(self, decode: Callable[..., Any], *, floor: bool = False) -> None:
        self._decode = decode
        self._floor = floor

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one payload."""
        made, faults = objects_of(self._decode([_behind(data, start)]), floor=self._floor)
        if faults:
            raise DecodeError(*faults[0])
        return made[0]

    def decode_list(
        self, values: Any, starts: Sequence[int] | None = None, stop: bool = False
    ) -> tuple[list[Any], list[Fault]]:
        """Read many, also of a column."""
        if starts is not None:
            values = [_behind(data, start) for data, start in zip(values, starts, strict=True)]
        if stop:
            try:
                return objects_of(self._decode(values), floor=self._floor)
            except DecodeError as error:
                return [], [fault_of(error)]
        column, report = self._decode(values, errors="report")
        made, lost = objects_of(column, floor=self._floor)
        return made, sorted([*(Fault(*row.values()) for row in report.to_pylist()), *lost], key=_row)


class ArrayReader:
    """Reads payloads by what decodes arrays of them; see `kcodec.objects.kernel.Reader`.

    `decode` takes an array, per row the number of its program (0, or -1 for a null) and the byte at which its payload
    starts, both as buffers of int32, and whether to stop at the first fault. It returns a column and the faults. See
    `objects_of` for `floor`.
    """

    told = True

    def __init__(
        self,
        decode: Callable[[pa.Array, Any, Any, bool], tuple[pa.Array, Sequence[Fault]]],
        *,
        floor: bool = False,
    ) -> None:
        self._decode = decode
        self._floor = floor

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one payload."""
        made, faults = self.decode_list([data], [start], True)
        if faults:
            raise DecodeError(*faults[0])
        return made[0]

    def decode_list(
        self, values: list[Any], starts: Sequence[int] | None = None, stop: bool = False
    ) -> tuple[list[Any], list[Fault]]:
        """Read many."""
        numbers = array.array("i", [-(data is None) for data in values])
        places = array.array("i", starts or [0] * len(values))
        column, faults = self._decode(pa.array(values, pa.large_binary()), numbers, places, stop)
        if faults and stop:
            # There may be no column.
            return [], [faults[0]]
        made, lost = objects_of(column, floor=self._floor)
        return made, sorted([*faults, *lost], key=_row)


class ColumnWriter(EachWriter):
    """Writes Python objects by a codec's ``encode``, each as a column: of another type, one would spoil the others."""

    def _column(self, value: Any) -> list[bytes | None]:
        # A list of nothing else would be one of bytes.
        return self._encode([value], as_list=True)

    def encode_one(self, value: Any, prefix: bytes = b"") -> bytes | None:
        """Write one value."""
        if value is None:
            return None
        try:
            data = with_records(self._column, value)[0]
        except TypeError as error:
            raise EncodeError(0, None, "", "type_mismatch", one_line(error)) from None
        # Where payloads are text, there is no prefix.
        return prefix + data if prefix and data is not None else data


def _row(fault: Fault) -> int:
    return fault.row


def _behind(data: Any, start: int) -> Any:
    return data if data is None or not start else bytes(data)[start:]
