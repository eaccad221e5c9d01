"""A part of a long list, which pages show one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

#: Rows of a table that is shown in parts.
_ROWS = 50


class ListPart(NamedTuple):
    """A part of a long list: which items these are, of how many."""

    items: list[Any]
    number: int
    parts: int
    total: int

    @classmethod
    def of(cls, items: list[Any], number: int) -> ListPart:
        """Return a part by its number, from 1; the last one if there are not as many."""
        return cls.read(len(items), number, lambda offset, limit: items[offset : offset + limit])

    @classmethod
    def read(cls, total: int, number: int, ask: Callable[[int, int], list[Any]]) -> ListPart:
        """Return a part of a list that is read by ``ask(offset, limit)``."""
        parts = max(1, -(-total // _ROWS))
        number = min(max(number, 1), parts)
        return cls(ask(_ROWS * (number - 1), _ROWS), number, parts, total)
