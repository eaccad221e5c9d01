"""The parts of a pattern of dates and times, each of which reads its piece of a text into fields or a zone."""

import functools
import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

#: Zones of the tz database that Java does not know by these names.
_UNKNOWN = ("EST", "MST", "HST", "ROC", "Factory", "localtime")
#: Names of zones that are ids of others too.
_NAMES = {"cet": "Europe/Paris", "met": "Europe/Paris", "eet": "Europe/Bucharest"}
_LONG = (1 << 63) - 1


class State:
    """The fields that have been read so far, and the zone."""

    def __init__(self) -> None:
        self.fields: dict[str, int] = {}
        self.zone: str | None = None

    def set(self, name: str, value: int, begin: int, end: int) -> int:
        """Keep a field; if it has another value already, fail where the field begins."""
        if self.fields.setdefault(name, value) != value:
            return ~begin
        return end


class Part(Protocol):
    """What reads a piece of a text."""

    def __call__(self, state: State, text: str, at: int) -> int:
        """Read from a place on; return the one behind, or ``~place`` of a failure."""


def read(parts: Sequence[Part], state: State, text: str, at: int) -> int:
    """Read parts one after the other, up to the first that fails; the arguments are those of a `Part`."""
    for part in parts:
        at = part(state, text, at)
        if at < 0:
            break
    return at


@dataclass(frozen=True)
class Number:
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
        """Whether it always has the same number of digits, and no sign."""
        return self.least == self.most and not self.sign

    def __call__(self, state: State, text: str, at: int) -> int:
        """Read it, as every `Part`."""
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
class Text:
    """A name of a month, a day or the like; of several that fit, the first."""

    field: str
    names: tuple[tuple[str, int], ...]

    def __call__(self, state: State, text: str, at: int) -> int:
        """Read it, as every `Part`."""
        for name, value in self.names:
            if text[at : at + len(name)].casefold() == name.casefold():
                return state.set(self.field, value, at, at + len(name))
        return ~at


@dataclass(frozen=True)
class Literal:
    """Letters that stand for themselves, in either case."""

    text: str

    def __call__(self, state: State, text: str, at: int) -> int:
        """Read it, as every `Part`."""
        end = at + len(self.text)
        found = text[at:end]
        if len(found) == len(self.text) and all(map(_same, found, self.text)):
            return end
        return ~at


def _same(one: str, other: str) -> bool:
    return one == other or one.upper() == other.upper() or one.lower() == other.lower()


@dataclass(frozen=True)
class Offset:
    """An offset as ``+HH``, then minutes and seconds: each needed, allowed, or neither."""

    none: str
    colon: bool
    minutes: str
    seconds: str

    def __call__(self, state: State, text: str, at: int) -> int:
        """Read it, as every `Part`."""
        if at == len(text):
            return ~at
        end = Literal(self.none)(state, text, at)
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


ID_OFFSET = Offset("Z", True, "needed", "allowed")


@dataclass(frozen=True)
class LocalOffset:
    """``GMT``, ``GMT+8`` and ``GMT+8:30``; or in full ``GMT+08:00``."""

    full: bool

    def __call__(self, state: State, text: str, at: int) -> int:
        """Read it, as every `Part`."""
        end = Literal("GMT")(state, text, at)
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
class Zone:
    """The id of a zone, or an offset; `names` are read before ids."""

    names: bool = False

    def __call__(self, state: State, text: str, at: int) -> int:
        """Read it, as every `Part`."""
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

    def _offset(self, state: State, text: str, begin: int, at: int, prefix: str) -> int:
        inner = State()
        end = ID_OFFSET(inner, text, at)
        if end < 0 or abs(inner.fields["offset"]) > 64800:
            # What stands before is a zone by itself.
            return self._set(state, prefix, begin, at) if prefix else ~begin
        return self._set(state, text[at:end], begin, end)

    def _set(self, state: State, zone: str, begin: int, end: int) -> int:
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
class Optional:
    """Parts in brackets, which may be missing together."""

    parts: tuple[Part, ...]

    def __call__(self, state: State, text: str, at: int) -> int:
        """Read it, as every `Part`."""
        fields, zone = dict(state.fields), state.zone
        end = read(self.parts, state, text, at)
        if end < 0:
            state.fields, state.zone = fields, zone
            return at
        return end


@dataclass(frozen=True)
class Padded:
    """A part with blanks before it, up to a width in all."""

    part: Part
    width: int

    def __call__(self, state: State, text: str, at: int) -> int:
        """Read it, as every `Part`."""
        end = at + self.width
        if end > len(text):
            return ~at
        begin = at
        while begin < end and text[begin] == " ":
            begin += 1
        found = self.part(state, text[:end], begin)
        return found if found in (end, ~at) else ~begin


def check_zone(zone: str) -> str:
    """Return the id of a zone, or raise `ValueError`.

    >>> check_zone("Europe/Paris"), check_zone("+02:00")
    ('Europe/Paris', '+02:00')
    """
    state = State()
    if not isinstance(zone, str) or Zone()(state, zone, 0) != len(zone) or state.zone is None:
        raise ValueError(f"{zone!r} is not a time zone")
    return state.zone
