"""Java's patterns of dates and times: which texts ``DateTimeFormatter`` reads by them, and as which moments.

As ksqlDB has them: in any case, with Java's root locale, resolved smartly; fields that a text lacks are those of
1970-01-01T00:00.
"""

from dataclasses import replace

from kcodec.ksql.records.datetime_fields import resolved
from kcodec.ksql.records.datetime_parts import (
    Literal,
    LocalOffset,
    Number,
    Offset,
    Optional,
    Padded,
    Part,
    State,
    Text,
    Zone,
    read,
)

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


class DateTimePattern:
    """A pattern of Java's ``DateTimeFormatter``.

    Names of months and days are those of the root locale: ``Jan``, ``Mon``, in any case. Of zones, ids and offsets are
    read, and no abbreviations such as ``PST``; week-based years and weeks (``Y``, ``w``, ``W``, ``e``, ``c``), periods
    of the day (``B``), generic zones (``v``) and Julian days (``g``) are not read. Where Java refuses the pattern too,
    the `ValueError` has its words.

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
            if isinstance(part, Number) and (part.is_fixed or (part.least == 4 and part.sign == "+")):
                found.append((part.field, part.least))
            elif isinstance(part, Literal) and not any(each.isdigit() for each in part.text):
                found.append(("", part.text))
            elif isinstance(part, Offset) and not any(each.isdigit() for each in part.none):
                found.append(("offset", part.none))
            else:
                return None
        fields = [field for field, _ in found if field]
        return tuple(found) if len(set(fields)) == len(fields) else None

    def milliseconds(self, text: str, zone: str = "UTC") -> int:
        """Return the milliseconds since 1970 of a text; `zone` is its zone if it names none.

        Raises `ValueError` for what Java does not read.
        """
        state = State()
        at = read(self._parts, state, text, 0)
        if at < 0:
            raise ValueError(f"could not be parsed at index {~at}")
        if at < len(text):
            raise ValueError(f"could not be parsed, unparsed text found at index {at}")
        return resolved(state, zone)


def _compiled(pattern: str) -> tuple[Part, ...]:
    """Compile a pattern as Java's ``appendPattern`` does."""
    levels: list[list[Part]] = [[]]
    # Whether the last part of a level is a number that the next one's width is taken from, and where that stands.
    open_at: int | None = None
    pad = at = 0

    def add(part: Part) -> None:
        nonlocal open_at, pad
        open_at = None
        levels[-1].append(Padded(part, pad) if pad else part)
        pad = 0

    def add_number(part: Number) -> None:
        nonlocal open_at
        base = open_at
        add(part)
        if base is None:
            open_at = len(levels[-1]) - 1
            return
        opened = levels[-1][base]
        if not isinstance(opened, Number):
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
            if isinstance(part, Number):
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
            add(Literal(text or "'"))
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
            add(Optional(parts))
            at += 1
        elif letter in "{}#":
            raise ValueError(f"Pattern includes reserved character: '{letter}'")
        else:
            add(Literal(letter))
            at += 1
    while len(levels) > 1:
        parts = tuple(levels.pop())
        levels[-1].append(Optional(parts))
    return tuple(levels[0])


def _letter(letter: str, count: int) -> Part:
    many = ValueError(f"Too many pattern letters: {letter}")
    if letter == "V":
        if count != 2:
            raise ValueError("Pattern letter count must be 2: V")
        return Zone()
    if letter == "z":
        if count > 4:
            raise many
        return Zone(names=count < 4)
    if letter == "O":
        if count not in (1, 4):
            raise ValueError("Pattern letter count must be 1 or 4: O")
        return LocalOffset(count == 4)
    if letter == "Z":
        if count > 5:
            raise many
        if count == 4:
            return LocalOffset(True)
        return Offset("Z", True, "needed", "allowed") if count == 5 else Offset("+0000", False, "needed", "")
    if letter in "Xx":
        if count > 5:
            raise many
        none = "Z" if letter == "X" else "+00" if count == 1 else "+0000" if count % 2 == 0 else "+00:00"
        minutes = "allowed" if count == 1 else "needed"
        return Offset(none, count in (3, 5), minutes, "allowed" if count > 3 else "")
    if letter in "YwWecBvg":
        raise ValueError(f"kcodec does not read the pattern letter {letter}")
    field = _FIELDS.get(letter)
    if field is None:
        raise ValueError(f"Unknown pattern letter: {letter}")
    if letter in "uy":
        if count == 2:
            return Number(field, 2, 2, reduced=True)
        _check_width(count)
        return Number(field, count, 19, "-" if count < 4 else "+")
    if letter in "GEa" or (letter in "MLQq" and count > 2):
        if count > (1 if letter == "a" else 5):
            raise many
        return _text_part(field, 5 if letter == "q" and count == 3 else count)
    if letter == "S":
        if count > 9:
            raise ValueError(f"Minimum width must be from 0 to 9 inclusive but was {count}")
        return Number(field, count, count, fraction=True)
    if letter in "AnN":
        _check_width(count)
        return Number(field, count, 19)
    if letter == "D":
        if count > 3:
            raise many
        return Number(field, 1, 19, "-") if count == 1 else Number(field, count, 3)
    if count > (1 if letter == "F" else 2):
        raise many
    return Number(field, 1, 19, "-") if count == 1 else Number(field, 2, 2)


def _check_width(count: int) -> None:
    if count > 19:
        raise ValueError(f"The minimum width must be from 1 to 19 inclusive but was {count}")


def _text_part(field: str, count: int) -> Part:
    names = _TEXTS[field]
    chosen = names.get(max(count, 3), names[3])
    if field == "day_of_week" and count == 5:
        # Of letters that two days have, Java takes the later day.
        chosen = {name[0]: number for number, name in enumerate(_DAYS, 1)}
    return Text(field, tuple(sorted(chosen.items(), key=lambda item: -len(item[0]))))
