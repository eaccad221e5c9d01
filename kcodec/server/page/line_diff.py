"""Two texts beside each other: which lines came, went and stayed, and which words of a line changed."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup, escape

from kcodec.server.page.code import Line, markup, text_of

#: Lines of each text, between those that both begin and end with, that are compared: it takes their product at worst.
MAX_LINES = 2000

#: Lines shown around each change.
_AROUND = 3

#: Lines from which on frequent ones do not count as the same: texts of them would take cubic time.
_MAX_EXACT = 500

#: Tokens of a pair of lines whose words are compared.
_MAX_TOKENS = 100


class Row(NamedTuple):
    """A line of either text or of both."""

    #: Its numbers, from 1.
    old: int | None
    new: int | None
    #: ``"same"``, ``"removed"`` or ``"added"``.
    kind: str
    #: The line.
    content: Markup


class Gap(NamedTuple):
    """Lines that are the same in both texts and left out."""

    lines: int


class _Shown(NamedTuple):
    """What may become a row: most lines are left out before they are written as markup."""

    old: int | None
    new: int | None
    kind: str
    line: Line | Markup

    @property
    def row(self) -> Row:
        line = self.line if isinstance(self.line, Markup) else markup(self.line)
        return Row(self.old, self.new, self.kind, line)


def diff_rows(old: list[Line], new: list[Line]) -> list[Row | Gap] | None:
    """Return the rows of a comparison; none if the texts are equal, None if they are too long.

    >>> from kcodec.server.page.code import code_lines
    >>> rows = diff_rows(code_lines('{"a": [1, 2]}'), code_lines('{"a": [1, 3]}'))
    >>> [(row.kind, row.old, row.new) for row in rows]
    [('same', 1, 1), ('removed', 2, None), ('added', None, 2), ('same', 3, 3)]
    """
    # What follows a member of an array or an object is no change of the member.
    left, right = ([text_of(line).rstrip(",") for line in lines] for lines in (old, new))
    if left == right:
        return []
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    first, second = left[start : len(left) - end], right[start : len(right) - end]
    if max(len(first), len(second)) > MAX_LINES:
        return None
    rows: list[_Shown] = [_Shown(at + 1, at + 1, "same", old[at]) for at in range(start)]
    matcher = SequenceMatcher(None, first, second, autojunk=max(len(first), len(second)) > _MAX_EXACT)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        i, j = start + i1 + 1, start + j1 + 1
        before, after = old[start + i1 : start + i2], new[start + j1 : start + j2]
        if kind == "equal":
            rows += (_Shown(i + at, j + at, "same", line) for at, line in enumerate(before))
            continue
        pairs = list(_pairs(before, after))
        rows += (_Shown(i + at, None, "removed", line) for at, (line, _) in enumerate(pairs[: len(before)]))
        rows += (_Shown(None, j + at, "added", line) for at, (_, line) in enumerate(pairs[: len(after)]))
    i, j = len(left) - end, len(right) - end
    rows += (_Shown(i + at + 1, j + at + 1, "same", old[i + at]) for at in range(end))
    return [each if isinstance(each, Gap) else each.row for each in _folded(rows)]


def _pairs(before: list[Line], after: list[Line]) -> Iterator[tuple[Markup, Markup]]:
    """Return changed lines in pairs, with the words that changed marked where the lines are alike."""
    for at in range(max(len(before), len(after))):
        left = before[at] if at < len(before) else []
        right = after[at] if at < len(after) else []
        if left and right and len(left) + len(right) <= _MAX_TOKENS:
            yield _marked(left, right)
        else:
            yield markup(left), markup(right)


def _marked(left: Line, right: Line) -> tuple[Markup, Markup]:
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < 0.6:
        return markup(left), markup(right)
    sides: tuple[list[str], list[str]] = ([], [])
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        for side, tokens in zip(sides, (left[i1:i2], right[j1:j2]), strict=True):
            if kind == "equal":
                side.append(str(markup(tokens)))
            else:
                side += (f'<mark class="{each.kind}">{escape(each.text)}</mark>' for each in tokens)
    return Markup("".join(sides[0])), Markup("".join(sides[1]))


def _folded(rows: list[_Shown]) -> Iterator[_Shown | Gap]:
    """Leave out what is the same far from any change."""
    near: set[int] = set()
    for at, row in enumerate(rows):
        if row.kind != "same":
            near.update(range(at - _AROUND, at + _AROUND + 1))
    for is_near, group in groupby(enumerate(rows), lambda each: each[0] in near):
        shown = [row for _, row in group]
        # The words for one line take a line themselves.
        if is_near or len(shown) == 1:
            yield from shown
        else:
            yield Gap(len(shown))
