"""Java's patterns of dates and times: which texts ``DateTimeFormatter`` reads by them, and as which moments.

As ksqlDB has them: in any case, with Java's root locale, resolved smartly; fields that a text lacks are those of
1970-01-01T00:00.
"""

import calendar
import functools
import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from typing import Any, Protocol

__all__ = ["DateTimePattern", "check_zone"]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: What letters stand for; of those in two letters, text from three letters on.
_FIELDS = {
    "G": "era", "u": "year", "y": "year_of_era", "D": "day_of_year", "M": "month", "L": "month", "d": "day",
    "Q": "quarter", "q": "quarter", "E": "day_of_week", "F": "aligned_day", "a": "half", "h": "clock_hour_of_half",
    "K": "hour_of_half", "k": "clock_hour", "H": "hour", "m": "minute", "s": "second", "S": "nano", "A": "milli_of_day",
    "n": "nano", "N": "nano_of_day",
}  # fmt: skip
_TEXTS: dict[str, dict[int, dict[str, int]]] = {
    "era": {
        3: {"AD": 1, "BC": 0},
        4: {"CE": 1, "BCE": 0},
        5: {"CE": 1, "BCE": 0},
    },
    "month": {
        3: {name: number for number, name in enumerate(_MONTHS, 1)},
        5: {str(number): number for number in range(12, 0, -1)},
    },
    "day_of_week": {3: {name: number for number, name in enumerate(_DAYS, 1)}},
    "quarter": {3: {f"Q{number}": number for number in range(1, 5)}, 5: {str(n): n for n in range(1, 5)}},
    "half": {3: {"AM": 0, "PM": 1}},
}
#: Least and greatest values.
_RANGES = {
    "era": (0, 1), "year": (-999999999, 999999999), "year_of_era": (1, 1000000000), "month": (1, 12), "day": (1, 31),
    "day_of_year": (1, 366), "day_of_week": (1, 7), "half": (0, 1), "hour_of_half": (0, 11),
    "clock_hour_of_half": (1, 12), "hour": (0, 23), "clock_hour": (1, 24), "minute": (0, 59), "second": (0, 59),
    "nano": (0, 999999999), "milli_of_day": (0, 86399999), "nano_of_day": (0, 86399999999999),
    "offset": (-64800, 64800), "aligned_day": (1, 7),
}  # fmt: skip
#: Zones of the tz database that Java does not know by these names.
_UNKNOWN = ("EST", "MST", "HST", "ROC", "Factory", "localtime")
#: Names of zones that are ids of others too.
_NAMES = {"cet": "Europe/Paris", "met": "Europe/Paris", "eet": "Europe/Bucharest"}
_LONG = (1 << 63) - 1
_DAY = 86400


class DateTimePattern:
    """A pattern of Java's ``DateTimeFormatter``.

    Names of months and days are those of the root locale: ``Jan``, ``Mon``, in any case. Of zones, ids and offsets are
    read, and no abbreviations such as ``PST``; week-based years and weeks (``Y``, ``w``, ``W``, ``e``, ``c``), periods
    of the day (``B``), generic zones (``v``) and Julian days (``g``) are not read.

    Raises
    ------
    ValueError
        With Java's words where it refuses the pattern too.

    Examples
    --------
    >>> DateTimePattern("yyyy-MM-dd HH:mm:ss[XXX]").milliseconds("2024-02-29 12:00:00+02:00")
    1709200800000
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > 10_000:
            raise ValueError("the pattern is longer than 10000 characters")
        self.pattern = pattern
        self._parts = _compiled(pattern)

    @property
    def layout(self) -> tuple[tuple[str, str | int], ...] | None:
        """Where fields stand in most texts, if that is the same in all of them; None if it is not.

        For each part of the pattern its field and how many digits it has, or an empty field and its literal. The last
        part may be ``offset`` and what stands for none of one, such as ``Z``. Texts of another form may be read, too.

        >>> DateTimePattern("yyyy-MM").layout
        (('year_of_era', 4), ('', '-'), ('month', 2))
        """
        found: list[tuple[str, str | int]] = []
        for part in self._parts:
            if found and found[-1][0] == "offset":
                return None
            if isinstance(part, _Number) and (part.is_fixed or (part.least == 4 and part.sign == "+")):
                found.append((part.field, part.least))
            elif isinstance(part, _Literal) and not any(each.isdigit() for each in part.text):
                found.append(("", part.text))
            elif isinstance(part, _Offset) and not any(each.isdigit() for each in part.none):
                found.append(("offset", part.none))
            else:
                return None
        fields = [field for field, _ in found if field]
        return tuple(found) if len(set(fields)) == len(fields) else None

    def milliseconds(self, text: str, zone: str = "UTC") -> int:
        """Return the milliseconds since 1970 of a text; `zone` is its zone if it names none.

        Raises `ValueError` for what Java does not read.
        """
        state = _State()
        at = _run(self._parts, state, text, 0)
        if at < 0:
            raise ValueError(f"could not be parsed at index {~at}")
        if at < len(text):
            raise ValueError(f"could not be parsed, unparsed text found at index {at}")
        return _resolved(state, zone)


class _State:
    """The fields that have been read so far, and the zone."""

    def __init__(self) -> None:
        self.fields: dict[str, int] = {}
        self.zone: str | None = None

    def set(self, name: str, value: int, begin: int, end: int) -> int:
        """Keep a field; if it has another value already, that is a failure at its begin."""
        if self.fields.setdefault(name, value) != value:
            return ~begin
        return end


class _Part(Protocol):
    def parse(self, state: _State, text: str, at: int) -> int:
        """Read from a place on; return the one behind, or ``~place`` of a failure."""


def _run(parts: Sequence[_Part], state: _State, text: str, at: int) -> int:
    for part in parts:
        at = part.parse(state, text, at)
        if at < 0:
            break
    return at


@dataclass(frozen=True)
class _Number:
    """A number; `following` digits behind it belong to the next ones, which have fixed widths."""

    field: str
    least: int
    most: int
    # "" for digits alone, "-" if a minus may stand before, "+" if a plus has to where the digits exceed the width.
    sign: str = ""
    following: int = 0
    fraction: bool = False
    reduced: bool = False

    @property
    def is_fixed(self) -> bool:
        return self.least == self.most and not self.sign

    def parse(self, state: _State, text: str, at: int) -> int:
        begin = at
        if at == len(text):
            return ~at
        mark = text[at] if text[at] in "+-" else ""
        if mark:
            if not self.sign or (mark == "+" and self.sign == "-"):
                return ~at
            at += 1
        if at + self.least > len(text):
            return ~at
        end, limit = at, min(len(text), at + self.most + self.following)
        while end < limit and text[end] in "0123456789":
            end += 1
        if end - at < self.least:
            return ~at
        if self.following:
            end = at + max(self.least, end - at - self.following)
        value = int(text[at:end])
        if value > _LONG:
            value, end = value // 10, end - 1
        if mark == "-":
            if value == 0:
                return ~(at - 1)
            value = -value
        elif self.sign == "+":
            if mark and end - at <= self.least:
                return ~(at - 1)
            if not mark and end - at > self.least:
                return ~at
        if self.fraction:
            value = int(text[at:end].ljust(9, "0"))
        elif self.reduced and end - at == 2:
            value += 2000
        return state.set(self.field, value, begin, end)


@dataclass(frozen=True)
class _Text:
    field: str
    names: tuple[tuple[str, int], ...]

    def parse(self, state: _State, text: str, at: int) -> int:
        for name, value in self.names:
            if text[at : at + len(name)].casefold() == name.casefold():
                return state.set(self.field, value, at, at + len(name))
        return ~at


@dataclass(frozen=True)
class _Literal:
    text: str

    def parse(self, state: _State, text: str, at: int) -> int:
        end = at + len(self.text)
        found = text[at:end]
        if len(found) == len(self.text) and all(map(_same, found, self.text)):
            return end
        return ~at


def _same(one: str, other: str) -> bool:
    return one == other or one.upper() == other.upper() or one.lower() == other.lower()


@dataclass(frozen=True)
class _Offset:
    """An offset as ``+HH``, then minutes and seconds: each needed, allowed, or neither."""

    none: str
    colon: bool
    minutes: str
    seconds: str

    def parse(self, state: _State, text: str, at: int) -> int:
        if at == len(text):
            return ~at
        end = _Literal(self.none).parse(state, text, at)
        if end >= 0:
            return state.set("offset", 0, at, end)
        if text[at] not in "+-":
            return ~at
        parts = [0, 0, 0]
        end = at + 1
        for index, wanted in enumerate(("needed", self.minutes, self.seconds)):
            if not wanted:
                break
            behind = end + (1 if self.colon and index else 0)
            digits = text[behind : behind + 2]
            found = (
                len(digits) == 2
                and all(each in "0123456789" for each in digits)
                and int(digits) <= 59
                and (behind == end or text[end] == ":")
            )
            if not found:
                if wanted == "needed":
                    return ~at
                break
            parts[index], end = int(digits), behind + 2
        if parts[0] > 23:
            raise ValueError("Value out of range: Hour[0-23], Minute[0-59], Second[0-59]")
        seconds = parts[0] * 3600 + parts[1] * 60 + parts[2]
        return state.set("offset", -seconds if text[at] == "-" else seconds, at, end)


_ID_OFFSET = _Offset("Z", True, "needed", "allowed")


@dataclass(frozen=True)
class _LocalOffset:
    """``GMT``, ``GMT+8`` and ``GMT+8:30``; or in full ``GMT+08:00``."""

    full: bool

    def parse(self, state: _State, text: str, at: int) -> int:
        end = _Literal("GMT").parse(state, text, at)
        if end < 0:
            return end
        if end == len(text) or text[end] not in "+-":
            return state.set("offset", 0, at, end)
        sign = -1 if text[end] == "-" else 1
        end += 1
        width = 2 if self.full or text[end + 1 : end + 2] in tuple("0123456789") else 1
        hours = _digits(text, end, width)
        if hours is None:
            return ~at
        end += width
        parts = [0, 0]
        for index in range(2):
            number = _digits(text, end + 1, 2) if text[end : end + 1] == ":" else None
            if number is None:
                if self.full and not index:
                    return ~at
                break
            parts[index], end = number, end + 3
        return state.set("offset", sign * (hours * 3600 + parts[0] * 60 + parts[1]), at, end)


def _digits(text: str, at: int, width: int) -> int | None:
    found = text[at : at + width]
    return int(found) if len(found) == width and found.isascii() and found.isdigit() else None


@dataclass(frozen=True)
class _Zone:
    """The id of a zone, or an offset; `names` are read before ids."""

    names: bool = False

    def parse(self, state: _State, text: str, at: int) -> int:
        if at == len(text):
            return ~at
        if text[at] in "+-":
            return self._offset(state, text, at, at, "")
        for prefix in ("UTC", "GMT", "UT"):
            end = at + len(prefix)
            if text[at:end].upper() == prefix and text[end : end + 1] in ("+", "-"):
                return self._offset(state, text, at, end, prefix)
        names, longest = _zones()
        for length in range(min(len(text) - at, longest), 0, -1):
            name = text[at : at + length].lower()
            found = (_NAMES.get(name) if self.names else None) or names.get(name)
            if found is not None:
                return self._set(state, found, at, at + length)
        if text[at] in "Zz":
            return self._set(state, "+00:00", at, at + 1)
        return ~at

    def _offset(self, state: _State, text: str, begin: int, at: int, prefix: str) -> int:
        inner = _State()
        end = _ID_OFFSET.parse(inner, text, at)
        if end < 0 or abs(inner.fields["offset"]) > 64800:
            # What stands before is a zone by itself.
            return self._set(state, prefix, begin, at) if prefix else ~begin
        return self._set(state, text[at:end], begin, end)

    def _set(self, state: _State, zone: str, begin: int, end: int) -> int:
        if state.zone not in (None, zone):
            return ~begin
        state.zone = zone
        return end


@functools.cache
def _zones() -> tuple[dict[str, str], int]:
    """Return the ids of zones by their lower case, and how long the longest is."""
    known = zoneinfo.available_timezones() | {"UTC", "GMT", "UT"}
    return {name.lower(): name for name in known if name not in _UNKNOWN}, max(map(len, known))


@dataclass(frozen=True)
class _Optional:
    parts: tuple[_Part, ...]

    def parse(self, state: _State, text: str, at: int) -> int:
        fields, zone = dict(state.fields), state.zone
        end = _run(self.parts, state, text, at)
        if end < 0:
            state.fields, state.zone = fields, zone
            return at
        return end


@dataclass(frozen=True)
class _Padded:
    part: _Part
    width: int

    def parse(self, state: _State, text: str, at: int) -> int:
        end = at + self.width
        if end > len(text):
            return ~at
        begin = at
        while begin < end and text[begin] == " ":
            begin += 1
        found = self.part.parse(state, text[:end], begin)
        return found if found in (end, ~at) else ~begin


def _compiled(pattern: str) -> tuple[_Part, ...]:
    """Compile a pattern as Java's ``appendPattern`` does."""
    levels: list[list[_Part]] = [[]]
    # Whether the last part of a level is a number that the next one's width is taken from, and where that stands.
    open_at: int | None = None
    pad = at = 0

    def add(part: _Part) -> None:
        nonlocal open_at, pad
        open_at = None
        levels[-1].append(_Padded(part, pad) if pad else part)
        pad = 0

    def add_number(part: _Number) -> None:
        nonlocal open_at
        base = open_at
        add(part)
        if base is None:
            open_at = len(levels[-1]) - 1
            return
        opened = levels[-1][base]
        if not isinstance(opened, _Number):
            # Java fails too: by a cast.
            raise ValueError(f"a number follows a padded one: {pattern}")
        if part.is_fixed:
            levels[-1][base] = replace(opened, following=opened.following + part.most)
            open_at = base
        else:
            open_at = len(levels[-1]) - 1

    while at < len(pattern):
        letter = pattern[at]
        if letter.isascii() and letter.isalpha():
            count = len(pattern) - at - len(pattern[at:].lstrip(letter))
            at += count
            if letter == "p":
                following = pattern[at : at + 1]
                if not (following.isascii() and following.isalpha()):
                    raise ValueError(f"Pad letter 'p' must be followed by valid pad pattern: {pattern}")
                pad = count
                continue
            part = _letter(letter, count)
            if isinstance(part, _Number):
                add_number(part)
            else:
                add(part)
        elif letter == "'":
            start, text = at + 1, ""
            while True:
                end = pattern.find("'", start)
                if end < 0:
                    raise ValueError(f"Pattern ends with an incomplete string literal: {pattern}")
                text += pattern[start:end]
                if pattern[end + 1 : end + 2] != "'":
                    break
                text, start = text + "'", end + 2
            at = end + 1
            add(_Literal(text or "'"))
        elif letter == "[":
            if len(levels) > 64:
                raise ValueError("optional sections are nested deeper than 64")
            open_at = None
            levels.append([])
            at += 1
        elif letter == "]":
            if len(levels) == 1:
                raise ValueError("Pattern invalid as it contains ] without previous [")
            parts = tuple(levels.pop())
            add(_Optional(parts))
            at += 1
        elif letter in "{}#":
            raise ValueError(f"Pattern includes reserved character: '{letter}'")
        else:
            add(_Literal(letter))
            at += 1
    while len(levels) > 1:
        parts = tuple(levels.pop())
        levels[-1].append(_Optional(parts))
    return tuple(levels[0])


def _letter(letter: str, count: int) -> _Part:
    many = ValueError(f"Too many pattern letters: {letter}")
    if letter == "V":
        if count != 2:
            raise ValueError("Pattern letter count must be 2: V")
        return _Zone()
    if letter == "z":
        if count > 4:
            raise many
        return _Zone(names=count < 4)
    if letter == "O":
        if count not in (1, 4):
            raise ValueError("Pattern letter count must be 1 or 4: O")
        return _LocalOffset(count == 4)
    if letter == "Z":
        if count > 5:
            raise many
        if count == 4:
            return _LocalOffset(True)
        return (
            _Offset("Z", True, "needed", "allowed") if count == 5 else _Offset("+0000", False, "needed", "")
        )
    if letter in "Xx":
        if count > 5:
            raise many
        none = "Z" if letter == "X" else "+00" if count == 1 else "+0000" if count % 2 == 0 else "+00:00"
        minutes = "allowed" if count == 1 else "needed"
        return _Offset(none, count in (3, 5), minutes, "allowed" if count > 3 else "")
    if letter in "YwWecBvg":
        raise ValueError(f"kcodec does not read the pattern letter {letter}")
    field = _FIELDS.get(letter)
    if field is None:
        raise ValueError(f"Unknown pattern letter: {letter}")
    if letter in "uy":
        if count == 2:
            return _Number(field, 2, 2, reduced=True)
        _check_width(count)
        return _Number(field, count, 19, "-" if count < 4 else "+")
    if letter in "GEa" or (letter in "MLQq" and count > 2):
        if count > (1 if letter == "a" else 5):
            raise many
        return _text_part(field, 5 if letter == "q" and count == 3 else count)
    if letter == "S":
        if count > 9:
            raise ValueError(f"Minimum width must be from 0 to 9 inclusive but was {count}")
        return _Number(field, count, count, fraction=True)
    if letter in "AnN":
        _check_width(count)
        return _Number(field, count, 19)
    if letter == "D":
        if count > 3:
            raise many
        return _Number(field, 1, 19, "-") if count == 1 else _Number(field, count, 3)
    if count > (1 if letter == "F" else 2):
        raise many
    return _Number(field, 1, 19, "-") if count == 1 else _Number(field, 2, 2)


def _check_width(count: int) -> None:
    if count > 19:
        raise ValueError(f"The minimum width must be from 1 to 19 inclusive but was {count}")


def _text_part(field: str, count: int) -> _Part:
    names = _TEXTS[field]
    chosen = names.get(max(count, 3), names[3])
    if field == "day_of_week" and count == 5:
        # Of letters that two days have, Java takes the later day.
        chosen = {name[0]: number for number, name in enumerate(_DAYS, 1)}
    return _Text(field, tuple(sorted(chosen.items(), key=lambda item: -len(item[0]))))


def _resolved(state: _State, zone: str) -> int:
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
            if day_of_year == 366 and not _is_leap(year):
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


def _is_leap(year: int) -> bool:
    return calendar.isleap(year % 400 + 400)


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


def check_zone(zone: str) -> str:
    """Return the id of a zone, or raise `ValueError`.

    >>> check_zone("Europe/Paris"), check_zone("+02:00")
    ('Europe/Paris', '+02:00')
    """
    state = _State()
    if not isinstance(zone, str) or _Zone().parse(state, zone, 0) != len(zone) or state.zone is None:
        raise ValueError(f"{zone!r} is not a time zone")
    return state.zone


def _offset(zone: str, seconds: int) -> int:
    """Return the seconds by which the local time of a zone is ahead of UTC."""
    if zone in ("UTC", "GMT", "UT"):
        return 0
    if zone[0] in "+-":
        state = _State()
        _ID_OFFSET.parse(state, zone, 0)
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
