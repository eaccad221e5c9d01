"""Rows as a table of text that is as wide as the terminal, under one header."""

from collections.abc import Iterable, Sequence
from typing import Any

#: Of a cell where there is no terminal, and the fewest characters that one is cut to for the sake of others.
_WIDTH, _NARROW = 40, 8
_BETWEEN = "  "


class TextTable:
    """Rows in columns whose widths the first of them decide.

    Columns of numbers stand on the right and are not cut. The width is that of a terminal in characters; None where
    there is none.

    >>> table = TextTable(["id", "note"], [True, False], 14)
    >>> print(table.text([[1, "a"], [20, "a long note"]]) + table.text([[3, "b"]]), end="")
    id  note
     1  a
    20  a long no…
     3  b
    """

    def __init__(self, names: Sequence[str], numeric: Sequence[bool], width: int | None) -> None:
        self._names = list(names)
        self._numeric = list(numeric)
        self._width = width
        self._widths: list[int] | None = None

    def text(self, rows: Iterable[Sequence[Any]]) -> str:
        """Return rows as lines, the first time behind a header."""
        cells = [[_plain(cell) for cell in row] for row in rows]
        head = []
        if self._widths is None:
            self._widths = self._fitted(cells)
            head = [self._line(self._names)]
        return "".join([*head, *map(self._line, cells)])

    def _fitted(self, cells: list[list[str]]) -> list[int]:
        columns = zip(self._names, *cells, strict=True)
        widths = [max(map(len, column)) for column in columns]
        if self._width is None:
            return [
                width if right else max(len(name), min(width, _WIDTH))
                for name, width, right in zip(self._names, widths, self._numeric, strict=True)
            ]
        room = self._width - len(_BETWEEN) * (len(widths) - 1)
        texts = [place for place, right in enumerate(self._numeric) if not right]
        while texts and sum(widths) > room:
            # The widest gives way first, down to the next one.
            place = max(texts, key=widths.__getitem__)
            widest = widths[place]
            if widest <= _NARROW:
                break
            lower = max([_NARROW, *(widths[each] for each in texts if widths[each] < widest)])
            widths[place] = max(lower, widest - (sum(widths) - room))
        return widths

    def _line(self, cells: Sequence[str]) -> str:
        assert self._widths is not None
        # What is longer than those of the first rows is cut where there is no room for it.
        bounds = [max(width, _WIDTH) for width in self._widths]
        if self._width is not None:
            longest = sum(map(max, map(len, cells), self._widths)) + len(_BETWEEN) * (len(cells) - 1)
            bounds = self._widths if longest > self._width else [self._width] * len(cells)
        placed = [
            cell.rjust(width) if right else _cut(cell, bound).ljust(width)
            for cell, width, bound, right in zip(cells, self._widths, bounds, self._numeric, strict=True)
        ]
        return _BETWEEN.join(placed).rstrip() + "\n"


def _plain(cell: Any) -> str:
    text = "" if cell is None else str(cell)
    return "".join(each if each.isprintable() else " " for each in text)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"
