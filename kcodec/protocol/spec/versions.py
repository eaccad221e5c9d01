"""Ranges of message versions, as Kafka's message definitions write them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["MAX_VERSION", "Versions", "parse_int"]

#: The highest version there can be: an open range ends here.
MAX_VERSION = 32767

_DIGITS = {10: re.compile(r"[+-]?[0-9]+"), 16: re.compile(r"[+-]?[0-9a-fA-F]+")}


def parse_int(text: str, bits: int, base: int = 10) -> int:
    """Read a signed integer as Java's ``parseByte``, ``parseShort``, ``parseInt`` and ``parseLong`` do.

    Raises
    ------
    ValueError
        With Java's words, if the text is not a number or does not fit.

    Examples
    --------
    >>> parse_int("+7f", 8, 16)
    127
    """
    radix = "" if base == 10 else f" under radix {base}"
    value = int(text, base) if _DIGITS[base].fullmatch(text) else None
    wide = max(bits, 32)
    if value is None or not -(1 << wide - 1) <= value < 1 << wide - 1:
        raise ValueError(f'For input string: "{text}"{radix}')
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f'Value out of range. Value:"{text}" Radix:{base}')
    return value


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, both ends included; empty where the lowest is above the highest.

    Attributes
    ----------
    lowest, highest : int
        The ends; `MAX_VERSION` as the highest means that the range is open.

    Examples
    --------
    >>> Versions.parse("2+") & Versions.parse("0-5")
    Versions(lowest=2, highest=5)
    >>> str(Versions.parse("3+")), 7 in Versions.parse("3+"), list(Versions(1, 3))
    ('3+', True, [1, 2, 3])
    """

    lowest: int
    highest: int

    #: No version at all.
    NONE: ClassVar["Versions"]

    @classmethod
    def parse(cls, text: str) -> "Versions":
        """Read ``none``, ``2``, ``0-5`` or ``3+``.

        Raises
        ------
        ValueError
            If it is none of these, with the words of Kafka's generator.
        """
        text = text.strip()
        if text == "none":
            return cls.NONE
        if text.endswith("+"):
            ends = parse_int(text[:-1], 16), MAX_VERSION
        else:
            first, dash, second = text.partition("-")
            lowest = parse_int(first, 16)
            ends = lowest, parse_int(second, 16) if dash else lowest
        if min(ends) < 0:
            raise ValueError(f"Invalid version range {ends[0]} to {ends[1]}")
        return cls(*ends)

    @property
    def empty(self) -> bool:
        """Whether no version is in the range."""
        return self.lowest > self.highest

    @property
    def open(self) -> bool:
        """Whether the range has no end."""
        return self.highest == MAX_VERSION

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def __and__(self, other: "Versions") -> "Versions":
        lowest, highest = max(self.lowest, other.lowest), min(self.highest, other.highest)
        return Versions.NONE if lowest > highest else Versions(lowest, highest)

    def covers(self, other: "Versions") -> bool:
        """Return whether all versions of another range are in this one."""
        return other.empty or (self.lowest <= other.lowest and other.highest <= self.highest)

    def __str__(self) -> str:
        if self.empty:
            return "none"
        if self.lowest == self.highest:
            return str(self.lowest)
        return f"{self.lowest}+" if self.open else f"{self.lowest}-{self.highest}"


Versions.NONE = Versions(0, -1)
