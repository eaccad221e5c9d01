"""Dates, times and timestamps of ISO 8601 in plain Python; ``wire/text/isotime.h`` of compiled code has their forms.

What is read and written is integers in the unit of a column's type.
"""

import datetime
import re
from fractions import Fraction

import pyarrow as pa

from kcodec.columns.types.plain import MILLIS_PER_DAY, PER_SECOND

_DATE = r"(\d{4})-(\d\d)-(\d\d)"
_CLOCK = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
_ZONE = r"(?:[Zz]|([+-])(\d\d)(?::?(\d\d)|:(\d\d):(\d\d)))"

#: Days before 1970-01-01, as `datetime` counts them.
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_LAST = datetime.date.max.toordinal()


def bounds(kind: pa.DataType) -> tuple[int, int]:
    """Return the least and the greatest integer that a column of integers or times holds.

    >>> bounds(pa.time32("s"))
    (0, 86399)
    """
    if pa.types.is_time(kind):
        return 0, 86400 * PER_SECOND[kind.unit] - 1
    if pa.types.is_unsigned_integer(kind):
        return 0, (1 << kind.bit_width) - 1
    return -(1 << (kind.bit_width - 1)), (1 << (kind.bit_width - 1)) - 1


def read_iso(text: str, kind: pa.DataType, *, utc: bool = False, floor: bool = False) -> tuple[int, str]:
    """Read a text; return its value, and the code of an error, which is empty if there is none.

    >>> read_iso("1970-01-02T00:00:00+01:00", pa.timestamp("s", "UTC"))
    (82800, '')
    >>> read_iso("00:00:01.5", pa.time32("s"))
    (0, 'inexact')
    """
    if utc and not pa.types.is_timestamp(kind):
        text = text[:-1] if text[-1:] in ("Z", "z") else text
    value = _instant(text, kind, utc)
    if value is None:
        return 0, "invalid_time"
    if value.denominator != 1 and not floor:
        return 0, "inexact"
    low, high = bounds(kind)
    whole = value.numerator // value.denominator
    return (whole, "") if low <= whole <= high else (0, "out_of_range")


def _instant(text: str, kind: pa.DataType, utc: bool) -> Fraction | None:
    if pa.types.is_date(kind):
        pattern = _DATE
    elif pa.types.is_time(kind):
        pattern = _CLOCK
    else:
        pattern = f"{_DATE}[Tt ]{_CLOCK}" + (_ZONE if kind.tz or utc else "")
    match = re.compile(pattern, re.ASCII).fullmatch(text)
    if match is None:
        return None
    parts = list(match.groups())
    days = 0
    if not pa.types.is_time(kind):
        try:
            days = datetime.date(*map(int, parts[:3])).toordinal() - _EPOCH
        except ValueError:
            return None
        if pa.types.is_date(kind):
            return Fraction(days * (1 if kind.bit_width == 32 else MILLIS_PER_DAY))
        parts = parts[3:]
    hour, minute, second = map(int, parts[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    seconds = days * 86400 + hour * 3600 + minute * 60 + second + Fraction("0." + (parts[3] or "0"))
    if parts[4:] and parts[4]:
        offset = [int(part) for part in parts[5:] if part]
        if offset[0] > 23 or max(offset[1:]) > 59:
            return None
        apart = offset[0] * 3600 + offset[1] * 60 + sum(offset[2:])
        seconds -= apart if parts[4] == "+" else -apart
    return seconds * PER_SECOND[kind.unit]


def write_iso(value: int, kind: pa.DataType, *, utc: bool = False) -> str | None:
    """Write a value, with all digits of its unit unless `utc`; None for a year that has not four digits.

    >>> write_iso(500, pa.time32("ms")), write_iso(500, pa.time32("ms"), utc=True)
    ('00:00:00.500', '00:00:00.5Z')
    """
    if pa.types.is_date(kind):
        days, rest = (value, 0) if kind.bit_width == 32 else divmod(value, MILLIS_PER_DAY)
        return None if rest or not 1 <= days + _EPOCH <= _LAST else _day(days) + "Z" * utc
    unit = PER_SECOND[kind.unit]
    seconds, rest = divmod(value, unit)
    days, seconds = divmod(seconds, 86400)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if unit > 1 and not utc:
        clock += f".{rest:0{len(str(unit)) - 1}}"
    elif rest:
        clock += f".{rest:0{len(str(unit)) - 1}}".rstrip("0")
    if pa.types.is_time(kind):
        return None if days else clock + "Z" * utc
    zone = "Z" * bool(kind.tz or utc)
    return f"{_day(days)}T{clock}{zone}" if 1 <= days + _EPOCH <= _LAST else None


def _day(days: int) -> str:
    return datetime.date.fromordinal(days + _EPOCH).isoformat()
