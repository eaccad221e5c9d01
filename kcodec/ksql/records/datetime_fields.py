"""How fields of a date and a time become a moment: Java's smart resolving, and what ksqlDB does after it."""

import calendar
import functools
import zoneinfo
from datetime import date, datetime, timedelta, timezone
from typing import Any

from kcodec.ksql.records.datetime_parts import ID_OFFSET, State

#: Least and greatest values.
_RANGES = {
    "era": (0, 1), "year": (-999999999, 999999999), "year_of_era": (1, 1000000000), "month": (1, 12), "day": (1, 31),
    "day_of_year": (1, 366), "day_of_week": (1, 7), "half": (0, 1), "hour_of_half": (0, 11),
    "clock_hour_of_half": (1, 12), "hour": (0, 23), "clock_hour": (1, 24), "minute": (0, 59), "second": (0, 59),
    "nano": (0, 999999999), "milli_of_day": (0, 86399999), "nano_of_day": (0, 86399999999999),
    "offset": (-64800, 64800), "aligned_day": (1, 7),
}  # fmt: skip
_LONG = (1 << 63) - 1
_DAY = 86400


def resolved(state: State, zone: str) -> int:
    """Return the milliseconds of what was read, as ksqlDB puts the fields together."""
    fields = state.fields
    for name in ("clock_hour", "clock_hour_of_half"):
        if name in fields:
            value = fields.pop(name)
            if value:
                _check(name, value)
            plain = "hour" if name == "clock_hour" else "hour_of_half"
            _agree(fields, plain, 0 if value == (24 if plain == "hour" else 12) else value)
    if "half" in fields and "hour_of_half" in fields:
        half, hour = _check("half", fields.pop("half")), _check("hour_of_half", fields.pop("hour_of_half"))
        _agree(fields, "hour", half * 12 + hour)
    for name, scale in (("nano_of_day", 1), ("milli_of_day", 1_000_000)):
        if name in fields:
            seconds, nano = divmod(_check(name, fields.pop(name)) * scale, 10**9)
            _agree(fields, "hour", seconds // 3600)
            _agree(fields, "minute", seconds // 60 % 60)
            _agree(fields, "second", seconds % 60)
            if scale == 1:
                _agree(fields, "nano", nano)
            elif fields.setdefault("nano", nano) // 1_000_000 != nano // 1_000_000:
                raise ValueError("Conflict found: the milliseconds and the nanoseconds differ")
    more_days = 0
    if fields.get("hour") == 24 and not any(fields.get(name) for name in ("minute", "second", "nano")):
        fields["hour"], more_days = 0, 1
    if "half" in fields and not fields.keys() & {"hour", "minute", "second", "nano"}:
        # The middle of the half, since JDK 16.
        fields["hour"] = _check("half", fields["half"]) * 12 + 6
    minute, second, nano = (_check(name, fields.get(name, 0)) for name in ("minute", "second", "nano"))
    if "hour" in fields:
        hour = _check("hour", fields["hour"])
        if fields.get("half", hour // 12) != hour // 12:
            raise ValueError("the hour and the half of the day differ")
        if fields.get("hour_of_half", hour % 12) != hour % 12:
            raise ValueError("the hour and the hour of half a day differ")
    else:
        hour = _check("half", fields.get("half", 0)) * 12 + _check(
            "hour_of_half", fields.get("hour_of_half", 0)
        )
    days, whole = _day(fields)
    if whole and "hour" in fields:
        days += more_days
    seconds = days * _DAY + hour * 3600 + minute * 60 + second
    if "offset" in fields:
        seconds -= _check("offset", fields["offset"])
    else:
        seconds -= _offset(state.zone or zone, seconds)
    found = seconds * 1000 + nano // 1_000_000
    if not -_LONG <= found <= _LONG:
        raise ValueError("long overflow")
    return found


def _check(name: str, value: int) -> int:
    least, most = _RANGES[name]
    if not least <= value <= most:
        raise ValueError(
            f"Invalid value for {name.replace('_', ' ')} (valid values {least} - {most}): {value}"
        )
    return value


def _agree(fields: dict[str, int], name: str, value: int) -> None:
    if fields.setdefault(name, value) != value:
        raise ValueError(f"Conflict found: {name} {fields[name]} differs from {value}")


def _day(fields: dict[str, int]) -> tuple[int, bool]:
    """Return the days since 1970, and whether the fields name a whole date."""
    era = fields.get("era")
    if "year_of_era" in fields:
        of_era = _check("year_of_era", fields["year_of_era"])
        given = fields.get("year")
        after = era == 1 if era is not None else given is None or given > 0
        _agree(fields, "year", of_era if after else 1 - of_era)
    elif era is not None:
        _check("era", era)
    year, month, day = fields.get("year"), fields.get("month"), fields.get("day")
    day_of_year, weekday = fields.get("day_of_year"), fields.get("day_of_week")
    if year is not None:
        _check("year", year)
        if month is not None and day is not None:
            length = _length(year, _check("month", month))
            found = _days(year, month, min(_check("day", day), length))
            return _checked_day(found, fields), True
        if day_of_year is not None:
            found = _days(year, 1, 1) + _check("day_of_year", day_of_year) - 1
            if day_of_year == 366 and not calendar.isleap(year % 400 + 400):
                raise ValueError(f"Invalid date 'DayOfYear 366' as '{year}' is not a leap year")
            return _checked_day(found, fields), True
    # Not a date: the fields one after the other, from long ones to short ones.
    year = 1970 if year is None else year
    if era == 0 and "year_of_era" not in fields and "year" not in fields:
        year = 1 - year
    at = _days(year, 1 if month is None else _check("month", month), 1)
    if weekday is not None:
        at += _check("day_of_week", weekday) - 1 - (at + 3) % 7
    aligned = fields.get("aligned_day")
    if day is not None:
        first, length = _month_of(at)
        if _check("day", day) > length:
            raise ValueError(f"Invalid date: the month has {length} days, not {day}")
        at = first + day - 1
    elif aligned is not None:
        first, _ = _month_of(at)
        at += _check("aligned_day", aligned) - 1 - (at - first) % 7
    if day_of_year is not None:
        if _check("day_of_year", day_of_year) == 366:
            raise ValueError("Leap day cannot be parsed without supplying the year field")
        at = _days(_civil(at)[0], 1, 1) + day_of_year - 1
    return at, False


def _checked_day(days: int, fields: dict[str, int]) -> int:
    """Return days, after they were compared with what else was read."""
    year, month, day = _civil(days)
    others = {
        "era": int(year > 0),
        "month": month,
        "day": day,
        "day_of_year": days - _days(year, 1, 1) + 1,
        "day_of_week": (days + 3) % 7 + 1,
        "quarter": (month + 2) // 3,
        "aligned_day": (day - 1) % 7 + 1,
    }
    for name, value in others.items():
        # A day behind the end of its month has become the last one.
        if fields.get(name, value) != value and name != "day":
            raise ValueError(f"Conflict found: {name.replace('_', ' ')} {fields[name]} differs from {value}")
    return days


def _length(year: int, month: int) -> int:
    return calendar.monthrange(year % 400 + 400, month)[1]


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970, of any year."""
    cycles, rest = divmod(year - 2000, 400)
    return cycles * 146097 + date(rest + 2000, month, day).toordinal() - date(1970, 1, 1).toordinal()


def _civil(days: int) -> tuple[int, int, int]:
    cycles, rest = divmod(days - _days(2000, 1, 1), 146097)
    found = date(2000, 1, 1) + timedelta(rest)
    return found.year + 400 * cycles, found.month, found.day


def _month_of(days: int) -> tuple[int, int]:
    year, month, _ = _civil(days)
    return _days(year, month, 1), _length(year, month)


def _offset(zone: str, seconds: int) -> int:
    """Return the seconds by which the local time of a zone is ahead of UTC."""
    if zone in ("UTC", "GMT", "UT"):
        return 0
    if zone[0] in "+-":
        state = State()
        ID_OFFSET(state, zone, 0)
        return state.fields["offset"]
    days, rest = divmod(seconds, _DAY)
    year, month, day = _civil(days)
    # The rules of zones begin after the first years that Python has, and do not change any more before its last.
    year = (
        min(max(year, 2), 9600 + year % 400 - (400 if year % 400 == 399 else 0))
        if year > 9500 or year < 2
        else year
    )
    local = datetime(year, month, min(day, _length(year, month))) + timedelta(seconds=rest)
    found = local.replace(tzinfo=_info(zone)).utcoffset()
    assert found is not None
    return int(found.total_seconds())


@functools.lru_cache(maxsize=64)
def _info(zone: str) -> Any:
    return timezone.utc if zone == "UTC" else zoneinfo.ZoneInfo(zone)
