"""Ranges of message versions, as Kafka's message definitions write them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from kcodec.java.numbers import parse_java_integer

#: The highest version there can be: an open range ends here.
MAX_VERSION = 32767

#: Letters of the longest range without leading zeros: ``32766-32767``.
_LONGEST = 11


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
        # Definitions say the same few ranges over and over; a long one, with leading zeros, is not kept.
        return _range(text) if len(text) <= _LONGEST else _range.__wrapped__(text)

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


@lru_cache(256)
def _range(text: str) -> Versions:
    if text.endswith("+"):
        ends = parse_java_integer(text[:-1], 16), MAX_VERSION
    else:
        first, dash, second = text.partition("-")
        lowest = parse_java_integer(first, 16)
        ends = lowest, parse_java_integer(second, 16) if dash else lowest
    if min(ends) < 0:
        raise ValueError(f"Invalid version range {ends[0]} to {ends[1]}")
    return Versions(*ends)
