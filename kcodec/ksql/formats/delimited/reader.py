"""Delimited text as ksqlDB reads it, a row at a time: commons-csv 1.4, then ``KsqlDelimitedDeserializer``.

This is the specification, and the slow path for rows that the row loop finds odd. An empty cell is null, quoted or
not. Cells are read by Java's own functions: `Integer.parseInt`, `Double.parseDouble`, `new BigDecimal`,
`Base64.getDecoder`; ``parseBoolean`` takes anything but *true* for false.
"""

import base64
import functools
import math
import re
from typing import Any, NoReturn

from kcodec.columns.types.plain import MILLIS_PER_DAY
from kcodec.errors import CODES
from kcodec.java.numbers import parse_java_decimal, parse_java_double, parse_java_integer
from kcodec.java.utf8 import decode_utf8
from kcodec.ksql.formats.json.reader import TIME_RANGE, clipped, fit
from kcodec.ksql.types import SqlType
from kcodec.plan.failure import RowError

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")
_LINE = re.compile(r"[^\r\n]+")
#: ``Character.isWhitespace``: unlike Python's, not the no-break spaces nor U+0085.
_NO_WHITESPACE = "\x85\u00a0\u2007\u202f"


def read_record(data: bytes, kind: SqlType, delimiter: str, *, strict: bool) -> dict[str, Any]:
    r"""Read one row of columns, as `kcodec.ksql.formats.json.reader.read_row` does it.

    With `strict`, refuse what ksqlDB reads, but with a loss: bytes that are no UTF-8, further records, booleans that
    are neither true nor false, doubles beyond all finite ones.

    >>> from kcodec.ksql.types import parse_type
    >>> read_record(b'"a""b",+1,\n', parse_type("STRUCT<A STRING, B INT, C TIME>"), ",", strict=True)
    {'A': 'a"b', 'B': 1, 'C': None}
    """
    try:
        text = data.decode() if strict else decode_utf8(data)
    except UnicodeDecodeError as error:
        raise RowError("invalid_utf8", error.start) from None
    records = _Lexer(text, delimiter).records() if '"' in text else _plain_records(text, delimiter)
    if not records:
        raise RowError("delimited_syntax", 0, reason="No fields in record")
    cells = records[0]
    if len(cells) != len(kind.fields):
        raise RowError("column_count", reason=count_mismatch(len(kind.fields), len(cells)))
    if strict and len(records) > 1:
        raise RowError("trailing_bytes")
    return {
        field.name: _Cell(text, at, cell, field.name, strict).value(field.type)
        for field, (at, cell) in zip(kind.fields, cells, strict=True)
    }


def count_mismatch(expected: int, got: int) -> str:
    """Return the fault of a row whose number of cells is not that of the columns."""
    return f"Column count mismatch on deserialization. expected: {expected}, got: {got}"


def _plain_records(text: str, delimiter: str) -> list[list[tuple[int, str]]]:
    """Do what the lexer does, with text that has no quotes."""
    records: list[list[tuple[int, str]]] = []
    for line in _LINE.finditer(text):
        at, cells = line.start(), []
        for cell in line[0].split(delimiter):
            cells.append((at, cell))
            at += len(cell) + 1
        records.append(cells)
    return records


@functools.cache
def _stop(delimiter: str) -> re.Pattern[str]:
    """Return what ends a cell without quotes."""
    return re.compile(rf"[{re.escape(delimiter)}\r\n]")


class _Lexer:
    """Commons-csv's lexer, without comments, escapes and null strings."""

    def __init__(self, text: str, delimiter: str) -> None:
        self.text = text
        self.delimiter = delimiter
        self.stop = _stop(delimiter)
        self.at = 0
        self.line = 1

    def fail(self, reason: str) -> NoReturn:
        raise RowError("delimited_syntax", len(self.text[: self.at].encode()), reason=reason)

    def end_of_line(self) -> bool:
        """Step over an end of line if one is here."""
        if self.text[self.at : self.at + 1] not in ("\r", "\n") or self.at == len(self.text):
            return False
        self.at += 2 if self.text.startswith("\r\n", self.at) else 1
        self.line += 1
        return True

    def records(self) -> list[list[tuple[int, str]]]:
        """Split all of the text into records of cells, each with the place where it starts."""
        records: list[list[tuple[int, str]]] = []
        while True:
            while self.end_of_line():
                pass
            if self.at == len(self.text):
                return records
            cells = [self.cell()]
            while self.text.startswith(self.delimiter, self.at):
                self.at += 1
                cells.append(self.cell())
            records.append(cells)
            if not self.end_of_line():
                return records

    def cell(self) -> tuple[int, str]:
        """Read a cell up to the delimiter, the end of the line or of the text behind it."""
        begin = self.at
        if not self.text.startswith('"', self.at):
            stop = self.stop.search(self.text, begin)
            self.at = stop.start() if stop else len(self.text)
            return begin, self.text[begin : self.at]
        parts, start_line = [], self.line
        self.at += 1
        while True:
            close = self.text.find('"', self.at)
            if close < 0:
                self.at = begin
                self.fail(f"(startline {start_line}) EOF reached before encapsulated token finished")
            part = self.text[self.at : close]
            parts.append(part)
            self.line += len(part.replace("\r\n", "\n").replace("\r", "\n").split("\n")) - 1
            self.at = close + 1
            if not self.text.startswith('"', self.at):
                break
            parts.append('"')
            self.at += 1
        while self.at < len(self.text) and self.text[self.at] not in (self.delimiter, "\r", "\n"):
            letter = self.text[self.at]
            if not letter.isspace() or letter in _NO_WHITESPACE:
                self.fail(f"(line {self.line}) invalid char between encapsulated token and delimiter")
            self.at += 1
        return begin, "".join(parts)


class _Cell:
    """A cell, and where it stands."""

    def __init__(self, row: str, at: int, text: str, name: str, strict: bool) -> None:
        self.row = row
        self.at = at
        self.text = text
        self.name = name
        self.strict = strict

    def fail(self, code: str, reason: str = "") -> NoReturn:
        offset = len(self.row[: self.at].encode())
        raise RowError(code, offset, self.name, clipped(reason or CODES[code]))

    def value(self, kind: SqlType) -> Any:
        text = self.text
        if not text:
            return None
        if kind.base == "STRING":
            return text
        if kind.base == "BOOLEAN":
            if self.strict and text.lower() not in ("true", "false"):
                self.fail("invalid_boolean", "the text is neither true nor false")
            return text.lower() == "true"
        if kind.base == "BYTES":
            if not _BASE64.fullmatch(text):
                self.fail("invalid_base64", f"Value is not a valid Base64 encoded string: {text}")
            return base64.b64decode(text + "=" * (-len(text) % 4))
        try:
            return self.number(kind)
        except ValueError:
            self.fail("invalid_number", f'For input string: "{text}"')

    def number(self, kind: SqlType) -> Any:
        if kind.base == "DOUBLE":
            real = parse_java_double(self.text)
            if self.strict and math.isinf(real) and "Infinity" not in self.text:
                self.fail("out_of_range")
            return real
        if kind.base == "DECIMAL":
            fitted, code, reason = fit(parse_java_decimal(self.text), kind)
            if fitted is None:
                self.fail(code, reason)
            return fitted
        number = parse_java_integer(self.text, 32 if kind.base in ("INTEGER", "DATE") else 64)
        if kind.base == "TIME" and not 0 <= number < MILLIS_PER_DAY:
            self.fail("out_of_range", TIME_RANGE)
        if kind.base == "TIMESTAMP":
            number *= 1000
            if not -(1 << 63) <= number < 1 << 63:
                self.fail("out_of_range")
        return number
