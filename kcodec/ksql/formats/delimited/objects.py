"""Single rows of DELIMITED, read and written without a column where all cells are plain; columns do the others."""

import base64
import datetime
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from kcodec.columns.types.plain import MILLIS_PER_DAY
from kcodec.ksql.formats.delimited._kernel_py import printed
from kcodec.ksql.types import SqlField, SqlType
from kcodec.objects.each import AloneReader, EachWriter
from kcodec.objects.kernel import Reader, Writer
from kcodec.objects.make_py import make_date, make_datetime, make_time
from kcodec.objects.taken import days, micros, micros_of_day

_WIDEST = 38
#: Columns of which all cells are told apart at once: what that takes grows with their square.
_MOST = 500


class Cell(NamedTuple):
    """What is plain of a column."""

    name: str
    #: A regular expression of its cells; the empty one is null.
    pattern: str
    #: Makes a value of a cell; None of one that is not plain after all.
    read: Callable[[bytes], Any]
    #: The class of its values.
    kind: type
    #: Makes the text of a value; None of one that is not plain.
    write: Callable[[Any], str | bool | None]


def plain_cells(columns: Sequence[SqlField], delimiter: str) -> list[Cell] | None:
    """Return what is plain of columns; None if one has nothing, they are many, or cells may have the delimiter."""
    if len(columns) > _MOST or not delimiter.isascii() or delimiter.isalnum() or delimiter in "+-./=":
        return None
    cells = [_cell(column.name, column.type, re.escape(delimiter)) for column in columns]
    return None if None in cells else [cell for cell in cells if cell is not None]


def _cell(name: str, kind: SqlType, delimiter: str) -> Cell | None:
    match kind.base:
        case "BOOLEAN":
            return Cell(name, "true|false", b"true".__eq__, bool, bool)
        case "INTEGER":
            return Cell(name, r"-?\d{1,9}", int, int, lambda value: _whole(value, 31))
        case "BIGINT":
            return Cell(name, r"-?\d{1,18}", int, int, lambda value: _whole(value, 63))
        case "DOUBLE":
            return Cell(name, r"-?\d{1,15}(?:\.\d{1,20})?", float, float, _double)
        case "DECIMAL" if kind.precision <= _WIDEST:
            whole = rf"\d{{1,{kind.precision - kind.scale}}}" if kind.precision > kind.scale else "0"
            places = rf"\.\d{{{kind.scale}}}" if kind.scale else ""
            return Cell(name, f"-?{whole}{places}", _decimal, Decimal, lambda value: _digits(value, kind))
        case "STRING":
            # Bare, or in quotes, of which those within are doubled.
            pattern = rf'"[^"]*(?:""[^"]*)*"|[^"\r\n{delimiter}]+'
            return Cell(name, pattern, _text, str, str)
        case "BYTES":
            pattern = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
            return Cell(name, pattern, base64.b64decode, bytes, lambda data: base64.b64encode(data).decode())
        case "DATE":
            return Cell(name, r"-?\d{1,7}", _date, datetime.date, lambda day: str(days(day)))
        case "TIME":
            return Cell(name, r"\d{1,8}", _time, datetime.time, lambda time: _millis(micros_of_day(time)))
        case "TIMESTAMP":
            return Cell(name, r"-?\d{1,15}", _datetime, datetime.datetime, lambda time: _millis(micros(time)))
    return None


def _whole(value: int, bits: int) -> str | None:
    return str(value) if -(1 << bits) <= value < 1 << bits else None


def _double(value: float) -> str | None:
    # Between these Java writes no exponent.
    return repr(value) if 1e-3 <= abs(value) < 1e7 else None


def _decimal(cell: bytes) -> Decimal | None:
    # Of zero there is one only in a column.
    return Decimal(cell.decode()) or None


def _digits(value: Decimal, kind: SqlType) -> str | None:
    _, digits, exponent = value.as_tuple()
    return format(value, "f") if value and exponent == -kind.scale and len(digits) <= kind.precision else None


def _text(cell: bytes) -> str | None:
    try:
        text = cell.decode()
    except UnicodeDecodeError:
        return None
    return text[1:-1].replace('""', '"') or None if text[0] == '"' else text


def _date(cell: bytes) -> datetime.date | None:
    return make_date(int(cell))


def _time(cell: bytes) -> datetime.time | None:
    millis = int(cell)
    return make_time(1000 * millis) if millis < MILLIS_PER_DAY else None


def _datetime(cell: bytes) -> datetime.datetime | None:
    return make_datetime(1000 * int(cell), datetime.timezone.utc)


def _millis(micros: int) -> str | None:
    millis, finer = divmod(micros, 1000)
    return None if finer else str(millis)


class DelimitedReader(AloneReader):
    """Reads rows one by one; see `kcodec.objects.kernel.Reader`. `columns` read what is not plain."""

    def __init__(self, cells: Sequence[Cell], delimiter: str, columns: Reader) -> None:
        super().__init__(columns)
        self._cells = [(cell.name, cell.read) for cell in cells]
        row = re.escape(delimiter).join(f"({cell.pattern})?" for cell in cells)
        self._match = re.compile(row.encode()).fullmatch

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one row."""
        found = self._match(data) if type(data) is bytes and data and not start else None
        row = None if found is None else self._row(found.groups())
        return super().decode_one(data, start) if row is None else row

    def _row(self, texts: Sequence[bytes | None]) -> dict[str, Any] | None:
        row = {}
        for (name, read), text in zip(self._cells, texts, strict=True):
            value = read(text) if text else None
            if value is None and text:
                return None
            row[name] = value
        return row


class DelimitedWriter(EachWriter):
    """Writes rows one by one; see `kcodec.objects.kernel.Writer`. `columns` write what is not plain."""

    def __init__(self, cells: Sequence[Cell], delimiter: str, columns: Writer) -> None:
        super().__init__(columns.encode_one)
        self._cells = [(cell.name, cell.kind, cell.write) for cell in cells]
        self._delimiter = delimiter

    def encode_one(self, value: Any, prefix: bytes = b"") -> bytes | None:
        """Write one row."""
        if type(value) is dict and len(value) == len(self._cells):
            try:
                row = self._row(value)
                if row:
                    return prefix + row.encode()
            except (KeyError, OverflowError, UnicodeEncodeError):
                pass
        return self._encode(value, prefix)

    def _row(self, values: dict[str, Any]) -> str | None:
        texts: list[str] = []
        for name, kind, write in self._cells:
            value = values[name]
            text = write(value) if type(value) is kind else None
            if text is None and value is not None:
                return None
            texts.append(printed(text, not texts, self._delimiter))
        return self._delimiter.join(texts)
