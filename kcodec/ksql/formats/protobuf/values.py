"""Dates, times and decimals of Protobuf's messages, as Connect reads and writes them: columns of their parts.

Dates are days of Java's calendar: before 15 October 1582 they are those of Julius Caesar.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.slices import unscaled

__all__ = ["date_parts", "days_of_parts", "decimal_parts", "millis_of_parts", "time_parts"]

#: The first day of the Gregorian calendar: its number, and what it is written as.
_CUTOVER = -141_427
_CUTOVER_DATE = 15821015
#: Days from the beginning of the Julian period to 1970.
_EPOCH = 2_440_588
_MONTHS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])

Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]


def _columns(array: pa.Array) -> tuple[list[Any], Marks]:
    """Return the numbers in a struct's fields, 0 for nulls, and which rows are not null."""
    numbers = [np.asarray(part.cast(pa.int64()).fill_null(0)) for part in array.flatten()]
    return numbers, np.asarray(array.is_valid())


def days_of_parts(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return days since 1970 of years, months and days, and which of them are not days of the calendar."""
    (year, month, day), valid = _columns(array)
    early = (year * 100 + month) * 100 + day < _CUTOVER_DATE
    leap = (year % 4 == 0) & (early | (year % 100 != 0) | (year % 400 == 0))
    longest = _MONTHS[np.clip(month, 0, 12)] + ((month == 2) & leap)
    fits = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= longest)
    shift = (14 - month) // 12
    years = year + 4800 - shift
    number = day + (153 * (month + 12 * shift - 3) + 2) // 5 + 365 * years + years // 4
    number = np.where(early, number - 32083, number - years // 100 + years // 400 - 32045) - _EPOCH
    # Ten days of October 1582 were left out.
    bad = valid & ~(fits & (early == (number < _CUTOVER)))
    days = pa.array(np.where(bad, 0, number).astype(np.int32), mask=~valid | bad)
    return days, pa.array(bad)


def date_parts(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return years, months and days of dates, and which of them are not in the years 1 to 9999."""
    days = array.cast(pa.int32()).cast(pa.int64())
    parts = [pc.year(array), pc.month(array), pc.day(array)]
    early = pc.fill_null(pc.less(days, _CUTOVER), False)
    if pc.any(early).as_py():
        number = np.asarray(days.fill_null(0)) + _EPOCH + 32082
        quad = (4 * number + 3) // 1461
        rest = number - 1461 * quad // 4
        turn = (5 * rest + 2) // 153
        julian = (quad - 4800 + turn // 10, turn + 3 - 12 * (turn // 10), rest - (153 * turn + 2) // 5 + 1)
        parts = [pc.if_else(early, pa.array(old), new) for old, new in zip(julian, parts, strict=True)]
    bad = pc.fill_null(pc.or_(pc.less(parts[0], 1), pc.greater(parts[0], 9999)), False)
    columns = [part.cast(pa.int32()) for part in parts]
    mask = pc.or_(array.is_null(), bad)
    return pa.StructArray.from_arrays(columns, ["year", "month", "day"], mask=mask), bad


def millis_of_parts(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return milliseconds of the day of hours, minutes, seconds and nanoseconds, and which are not times of a day."""
    (hours, minutes, seconds, nanos), valid = _columns(array)
    fits = (hours >= 0) & (hours < 24) & (minutes >= 0) & (minutes < 60) & (seconds >= 0) & (seconds < 60)
    bad = valid & ~(fits & (nanos >= 0) & (nanos < 10**9))
    millis = ((hours * 60 + minutes) * 60 + seconds) * 1000 + nanos // 10**6
    return pa.array(np.where(bad, 0, millis).astype(np.int32), mask=~valid | bad), pa.array(bad)


def time_parts(array: pa.Array) -> pa.Array:
    """Return hours, minutes, seconds and nanoseconds of times in milliseconds; the end of a day is its beginning."""
    millis = np.asarray(array.cast(pa.int32()).fill_null(0)).astype(np.int64)
    seconds = millis // 1000
    numbers = (seconds // 3600 % 24, seconds // 60 % 60, seconds % 60, millis % 1000 * 10**6)
    mask = array.is_null() if array.null_count else None
    columns = [pa.array(each.astype(np.int32)) for each in numbers]
    return pa.StructArray.from_arrays(columns, ["hours", "minutes", "seconds", "nanos"], mask=mask)


def decimal_parts(array: pa.Array) -> pa.Array:
    """Return the unscaled bytes of decimals, how many digits each has, and their scale."""
    values, digits = unscaled(array)
    scales = pa.array(np.full(len(array), array.type.scale, np.int32))
    columns = [values, digits.cast(pa.uint32()), scales]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(columns, ["value", "precision", "scale"], mask=mask)
