"""Delimited text as lists in JSON, in plain Python: the reference that the compiled twin is tested against.

A record of delimited text has the cells of one row, as a list in JSON has its values; so the row loop of JSON reads
and writes the columns, and what is here only turns one text into the other.
"""

import json
import re

import pyarrow as pa

from kcodec.java.jackson import quote

__all__ = ["from_json", "printed", "to_json"]

_NUMBER = re.compile(r"[-+.eE0-9]+", re.ASCII)

#: A row that is odd: its number, where it is not UTF-8, and how many cells it has if not as many as there are columns;
#: None of what it is not. The cells of a row whose quotes are odd are not counted.
Odd = tuple[int, int | None, int | None]


def to_json(
    values: pa.Array, delimiter: str, kinds: bytes, large: bool = False
) -> tuple[pa.Array, list[Odd]]:
    """Turn records into lists, and find the rows that are odd, which are null there.

    For each cell the `kinds` have ``n`` if a number, or ``b`` if a boolean, stands in the list as such where it is
    one, and ``s`` if all is text. Odd are other numbers of cells, text behind the first record or lines before it,
    quotes with anything behind them, and what is not UTF-8. An empty cell is null.
    """
    lists: list[bytes | None] = []
    odd: list[Odd] = []
    for row, value in enumerate(values.to_pylist()):
        made = None
        if value is not None:
            data = value.encode() if isinstance(value, str) else value
            cells = _cells(data, delimiter)
            if cells is not None and len(cells) == len(kinds):
                parts = (_part(cell, kind) for cell, kind in zip(cells, kinds, strict=True))
                made = f"[{','.join(parts)}]".encode()
            else:
                odd.append((row, *_oddity(data, delimiter, len(kinds))))
        lists.append(made)
    return pa.array(lists, pa.large_binary() if large else pa.binary()), odd


def _oddity(data: bytes, delimiter: str, count: int) -> tuple[int | None, int | None]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return error.start, None
    if not text or text[0] in "\r\n":
        return None, None
    end = rf"[{re.escape(delimiter)}\r\n]"
    cell = re.compile(rf'"(?:[^"]|"")*"(?={end}|\Z)|(?!")(?:(?!{end}).)*', re.DOTALL)
    lines, at = [0], 0
    while found := cell.match(text, at):
        lines[-1] += 1
        if found.end() == len(text):
            return None, lines[0] if lines[0] != count else None
        if text[found.end()] != delimiter:
            lines.append(0)
        at = found.end() + 1
    return None, None


def _cells(data: bytes, delimiter: str) -> list[str] | None:
    """Split a record; None if it is odd."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    cells, at = [], 0
    while True:
        cell, quote = [], text[at : at + 1] == '"'
        at += quote
        while at < len(text) and (quote or text[at] not in (delimiter, "\r", "\n")):
            if quote and text[at] == '"':
                if text[at + 1 : at + 2] != '"':
                    quote = False
                    at += 1
                    if at < len(text) and text[at] not in (delimiter, "\r", "\n"):
                        return None
                    break
                at += 1
            cell.append(text[at])
            at += 1
        if quote:
            return None
        cells.append("".join(cell))
        if text[at : at + 1] != delimiter:
            break
        at += 1
    # Nothing, or a line of its own, is no record.
    return cells if text[at:] in ("", "\n", "\r\n", "\r") and text[:1] not in ("", "\r", "\n") else None


def _part(cell: str, kind: int) -> str:
    if not cell:
        return "null"
    if (kind == ord("n") and _NUMBER.fullmatch(cell)) or (kind == ord("b") and cell in ("true", "false")):
        return cell
    return quote(cell, escape_surrogates=False)


def from_json(values: pa.Array, delimiter: str, large: bool = False) -> pa.Array:
    """Turn lists of text, numbers, booleans and nulls, without space, into records.

    They are quoted where commons-csv 1.4 does it by ``QuoteMode.MINIMAL``.
    """
    records: list[bytes | None] = []
    for value in values.to_pylist():
        made = None
        if value is not None:
            cells = json.loads(value, parse_int=str, parse_float=str)
            made = delimiter.join(printed(cell, not i, delimiter) for i, cell in enumerate(cells)).encode()
        records.append(made)
    return pa.array(records, pa.large_binary() if large else pa.binary())


def printed(cell: str | bool | None, first: bool, delimiter: str) -> str:
    """Return how a cell stands in a record, in which it may be the first.

    >>> printed("a,b", False, ","), printed("-1", True, ","), printed("-1", False, ",")
    ('"a,b"', '"-1"', '-1')
    """
    if cell is None:
        return ""
    text = str(cell).lower() if isinstance(cell, bool) else cell
    if not text:
        return '""' if first else ""
    start = text[0]
    if (
        (first and not (start.isascii() and start.isalnum()))
        or start <= "#"
        or any(letter in text for letter in ("\r", "\n", '"', delimiter))
        or text[-1] <= " "
    ):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text
