"""Rows as a table that people read: of text, and of HTML as notebooks show it."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

from kcodec.errors import one_line

#: Rows of a page: with what stands around them, one screen.
MOST_ROWS = 30
#: Characters of a cell of a page.
_WIDTH = 100


def shortened(value: Any, most: int = 40) -> str:
    r"""Return a value as a text of one line, in which control characters are escaped.

    >>> shortened(b"\x00\xff"), shortened("a\nb"), shortened(None), shortened("a" * 50, 5)
    ('0x00ff', 'a b', 'null', 'aa...')
    >>> print(shortened("\x1b[31mred"))
    \x1b[31mred
    """
    if isinstance(value, bytes):
        text = f"0x{value[:most].hex()}"
    elif value is None:
        text = "null"
    else:
        text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    # Escaped, a character is ten at most.
    text = one_line(text[: most + 1], 10 * (most + 1))
    return text if len(text) <= most else f"{text[: most - 3]}..."


def text_table(names: Sequence[str], rows: Iterable[Sequence[str]], indent: str = "") -> str:
    """Return rows under their names, in columns as wide as they have to be, with control characters escaped.

    >>> print(text_table(["field", "type"], [["id", "BIGINT"], ["note", "STRING"]], "  "))
      field  type
      id     BIGINT
      note   STRING
    """
    lines = [[one_line(cell) for cell in line] for line in (names, *rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(names))]
    return "\n".join(
        indent + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def text_page(title: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a title and the rows below it, as many as fit a screen; of the others their number.

    >>> print(text_page("2 differences", ["type", "path"], [["TYPE_MISMATCH", "/id"], ["NAME_MISMATCH", "/to"]]))
    2 differences
      type           path
      TYPE_MISMATCH  /id
      NAME_MISMATCH  /to
    """
    if not rows:
        return title
    lines = [title, text_table(names, _cells(rows), "  ")]
    if len(rows) > MOST_ROWS:
        lines.append(f"  ... and {len(rows) - MOST_ROWS:,} more")
    return "\n".join(lines)


def html_page(title: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return what `text_page` does as HTML.

    >>> html_page("nothing <is> wrong", ["type"], [])
    '<p>nothing &lt;is&gt; wrong</p>'
    """
    page = f"<p>{html.escape(one_line(title))}</p>"
    if rows:
        page += html_table(names, _cells(rows))
    if len(rows) > MOST_ROWS:
        page += f"<p>... and {len(rows) - MOST_ROWS:,} more</p>"
    return page


def _cells(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    return [[shortened(cell, _WIDTH) for cell in row] for row in rows[:MOST_ROWS]]


def html_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows as a table of HTML, in which nothing of a cell is markup, and control characters are escaped.

    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """

    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(one_line(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(names, 'th')}</thead><tbody>{body}</tbody></table>"
