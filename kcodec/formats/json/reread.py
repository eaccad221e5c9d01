"""Rows that strict reading refuses, read again by a dialect's own rules.

A lenient system answers to input that is not what its schema says: it truncates, wraps, coerces. Such rows are
rare, so the kernel refuses them, and they are read again, one by one, by a plain function that answers as the
original does.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kcodec.columns.arrays.nested import replace_rows
from kcodec.errors import Fault
from kcodec.plan.failure import RowError


def reread(
    values: pa.Array,
    array: pa.Array,
    faults: Sequence[Fault],
    read: Callable[[bytes, int], Any],
    *,
    stop: bool = False,
    kind: pa.DataType | None = None,
) -> tuple[pa.Array, list[Fault]]:
    """Read the rows that have a fault again, and put their values in their places; return the remaining faults.

    The array and its faults are what the kernel made of the values, without ``stop``. `read` takes the bytes of a row
    and its number; it returns a value as `pyarrow.array` takes it for `kind`, or raises `RowError`. By default that is
    the array's type, else one of the same layout. With `stop` it ends at the first row that fails again, and the array
    is then not meaningful.
    """
    if not faults:
        return array, []
    found: list[Any] = []
    rows: list[int] = []
    remaining: list[Fault] = []
    for fault in faults:
        data = values[fault.row].as_py()
        try:
            value = read(data.encode() if isinstance(data, str) else data, fault.row)
        except RowError as error:
            again = error.fault(fault.row)
            if error.offset is None and error.path == fault.path:
                # Both refuse the same part, and the kernel knows where it stands.
                again = again._replace(offset=fault.offset)
            remaining.append(again)
            if stop:
                return array, remaining
        else:
            rows.append(fault.row)
            found.append(value)
    if found:
        made = pa.array(found, array.type) if kind is None else pa.array(found, kind).view(array.type)
        array = replace_rows(array, rows, made)
    return array, remaining
