"""Python's dates and times, made of what stands in columns: the twin of `_make`.

What is outside the years 1 to 9999 is None.
"""

import datetime

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_START = datetime.datetime(1970, 1, 1)


def make_date(days: int) -> datetime.date | None:
    """Make the date that is some days after 1970-01-01.

    >>> make_date(-1)
    datetime.date(1969, 12, 31)
    """
    number = days + _EPOCH
    return datetime.date.fromordinal(number) if 1 <= number <= datetime.date.max.toordinal() else None


def make_time(micros: int) -> datetime.time:
    """Make the time that is some microseconds after midnight.

    >>> make_time(3_600_000_001)
    datetime.time(1, 0, 0, 1)
    """
    return (_START + datetime.timedelta(microseconds=micros)).time()


def make_datetime(micros: int, zone: datetime.tzinfo | None) -> datetime.datetime | None:
    """Make the time that is some microseconds after the start of 1970, with a zone or without one.

    >>> make_datetime(-1, None)
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)
    """
    try:
        return (_START + datetime.timedelta(microseconds=micros)).replace(tzinfo=zone)
    except OverflowError:
        return None
