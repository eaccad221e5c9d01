"""Batches of records written out: as a table, as lines of JSON, as console consumers print them, as CSV, as Parquet."""

from __future__ import annotations

import shutil
import sys
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.cli.terminal import byte_stream, json_stream, plain_text
from kcodec.cli.text_table import TextTable
from kcodec.columns.types.plain import is_bytes
from kcodec.errors import ConfigError, one_line
from kcodec.formats.json.codec import JsonCodec

#: The years 1 to 9999, in microseconds.
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
#: Columns, and the properties of console consumers that need them.
_PRINTED = {name: name for name in ("key", "value", "partition", "offset", "timestamp", "headers")}
_PRINTED["timestampType"] = "timestamp"


def print_table(found: pa.Table, format: str | None) -> None:
    """Print a table in a format, by default as a table on a terminal, else as lines of JSON."""
    with RecordOutput(format or ("table" if sys.stdout.isatty() else "json"), None, {}) as output:
        output.begin(found.schema)
        for batch in found.combine_chunks().to_batches():
            output.write(batch)


class RecordOutput:
    """Where batches go: to a file or to the standard output; to be closed.

    `console` are the properties of console consumers, for ``text``, where `texts` print columns otherwise than as JSON.
    `raw` are the columns of keys, values and headers that no format decodes: their bytes are text, as `plain_text` has
    it; in ``text``, but on a terminal, they are the bytes themselves. Others are Base64, as in values.
    """

    def __init__(self, format: str, file: Path | None, console: dict[str, str]) -> None:
        self.texts: dict[str, Callable[[pa.Array], list[str | None]]] = {}
        self.raw: set[str] = set()
        self._stack = ExitStack()
        self._format = format
        self._console = console
        self._file = file
        self._writer: Any = None
        self._schema: pa.Schema | None = None
        self._writing: Future[None] | None = None
        shown = json_stream(sys.stdout) if format == "json" else sys.stdout
        self._out: BinaryIO = byte_stream(shown)
        #: Whether there is a terminal that the records are shown on, and others may write to as well.
        self.is_shown = file is None and sys.stdout.isatty()
        self._is_open = file is None or format == "parquet"
        if file is None and format == "parquet":
            raise ConfigError("-o parquet needs --output FILE")

    def __enter__(self) -> RecordOutput:  # noqa: PYI034 (Self is of Python 3.11)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stack:
            if self._writing is not None and kind is None:
                self._writing.result()

    def open(self) -> None:
        """Open the file, which loses what was in it: not before it is known that there is something to read."""
        if not self._is_open:
            assert self._file is not None
            self._out = self._stack.enter_context(self._file.open("wb"))
            self._is_open = True

    def begin(self, schema: pa.Schema) -> None:
        """Write what stands before all records; a file then is one even if there is none.

        Columns that console consumers' properties ask for and that are not there, or that Parquet has not, are a
        `ConfigError`.
        """
        for column, name in _PRINTED.items() if self._format == "text" else ():
            if column not in schema.names and self._prints(name):
                raise ConfigError(
                    f"-o text prints the column {column!r}, which is not one of --columns: see --property print.{name}"
                )
        self.open()
        if self._format == "parquet":
            import pyarrow.parquet as pq

            assert self._file is not None
            try:
                writer = pq.ParquetWriter(self._file, schema, compression="zstd")
            except pa.ArrowException as error:
                raise ConfigError(
                    f"-o parquet: {one_line(error)}; --columns says which are written"
                ) from None
            self._writer = self._stack.enter_context(writer)
            # One batch is written while the next is read; this ends before the file does.
            self._thread = self._stack.enter_context(ThreadPoolExecutor(1, "kcodec-parquet"))
        elif self._format == "csv":
            import pyarrow.csv as csv

            plain = pa.schema([pa.field(each.name, _cell_type(each.type)) for each in schema])
            self._schema = plain
            self._writer = self._stack.enter_context(csv.CSVWriter(self._out, plain))

    def write(self, batch: pa.RecordBatch) -> None:
        """Write records."""
        if self._format == "parquet":
            if self._writing is not None:
                self._writing.result()
            self._writing = self._thread.submit(self._writer.write_batch, batch)
            return
        if self._format == "csv":
            assert self._schema is not None
            arrays = [self._cells(batch, name) for name in batch.schema.names]
            self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        else:
            {"table": self._table, "json": self._json, "text": self._text}[self._format](batch)
        if self._file is None:
            self._out.flush()

    def flush(self) -> None:
        """Wait until records that were written have left."""
        if self._format != "parquet":
            self._out.flush()
        elif self._writing is not None:
            self._writing.result()

    def _json(self, batch: pa.RecordBatch) -> None:
        arrays = [self._readable(batch, name) for name in batch.schema.names]
        for line in _encoded(pa.StructArray.from_arrays(arrays, batch.schema.names)):
            self._out.write(line + b"\n")

    def _readable(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        """Return a column whose bytes are text, if it is one that no format decodes."""
        array = batch.column(name)
        if name not in self.raw:
            return _times(array, "T") if _is_wide(array) else array
        return _texts(array) if _is_binary(array.type) else _header_texts(array)

    def _cells(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        """Return a column whose values are no longer than a cell: bytes, times and nested values as text."""
        if pa.types.is_timestamp(batch.column(name).type):
            return _times(batch.column(name), " ")
        array = self._readable(batch, name)
        if _is_binary(array.type):
            cells = [None if each is None else b64encode(each).decode() for each in array.to_pylist()]
            return pa.array(cells, pa.string())
        if pa.types.is_nested(array.type):
            return pa.array(
                [None if line is None else line.decode() for line in _encoded(array)], pa.string()
            )
        return array.cast(pa.string()) if pa.types.is_null(array.type) else array

    def _table(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            numeric = [
                pa.types.is_integer(each.type) or pa.types.is_floating(each.type) for each in batch.schema
            ]
            width = shutil.get_terminal_size().columns if self.is_shown else None
            self._writer = TextTable(batch.schema.names, numeric, width)
        columns = [self._cells(batch, name).to_pylist() for name in batch.schema.names]
        text = self._writer.text(zip(*columns, strict=True))
        self._out.write(text.encode("utf-8", "backslashreplace"))

    def _prints(self, name: str) -> bool:
        """Return whether console consumers are asked to print a part of records."""
        return self._console.get(f"print.{name}", str(name == "value")).strip().lower() == "true"

    def _text(self, batch: pa.RecordBatch) -> None:
        """Print records as ``kafka-console-consumer`` does: what its ``print`` properties ask for."""
        console = self._console
        separator = console.get("key.separator", "\t")
        parts = []
        cells = {
            name: self._printed(batch, name)
            for name in batch.schema.names
            if name != "headers" and self._prints(_PRINTED.get(name, name))
        }
        null = console.get("null.literal", "null")

        def add(name: str, show: Callable[[Any], str]) -> None:
            if self._prints(name):
                parts.append([show(cell) for cell in cells[name]])

        kinds = {0: "CreateTime", 1: "LogAppendTime"}
        if self._prints("timestamp"):
            times = pc.fill_null(
                batch.column("timestamp").cast(pa.timestamp("ms", "UTC")).cast(pa.int64()), -1
            )
            parts.append(
                [
                    f"{kinds[kind]}:{time}" if kind in kinds else "NO_TIMESTAMP"
                    for kind, time in zip(cells["timestampType"], times.to_pylist(), strict=True)
                ]
            )
        add("partition", lambda cell: f"Partition:{cell}")
        add("offset", lambda cell: f"Offset:{cell}")
        if self._prints("headers"):
            between = console.get("headers.separator", ",")
            parts.append([self._headers(row, between, null) for row in batch.column("headers").to_pylist()])
        add("key", lambda cell: null if cell is None else str(cell))
        add("value", lambda cell: null if cell is None else str(cell))
        end = console.get("line.separator", "\n")
        text = "".join(separator.join(row) + end for row in zip(*parts, strict=True))
        self._out.write(text.encode("utf-8", "surrogateescape"))

    def _printed(self, batch: pa.RecordBatch, name: str) -> list[Any]:
        array = batch.column(name)
        if name in self.texts:
            return self.texts[name](array)
        if name in self.raw and _is_binary(array.type):
            return [None if each is None else self._bytes(each) for each in array.to_pylist()]
        return self._cells(batch, name).to_pylist()

    def _headers(self, row: list[dict[str, Any]], between: str, null: str) -> str:
        if not row:
            return "NO_HEADERS"
        return between.join(
            f"{pair['key']}:{null if pair['value'] is None else self._bytes(pair['value'])}" for pair in row
        )

    def _bytes(self, data: bytes) -> str:
        """Return bytes as the text that is printed: on a terminal what can be read, else what is encoded to them."""
        return plain_text(data) if self.is_shown else data.decode("utf-8", "surrogateescape")


def _cell_type(kind: pa.DataType) -> pa.DataType:
    is_text = (pa.types.is_nested, pa.types.is_null, pa.types.is_timestamp, _is_binary)
    return pa.string() if any(each(kind) for each in is_text) else kind


def _is_binary(kind: pa.DataType) -> bool:
    return is_bytes(kind) or bool(pa.types.is_fixed_size_binary(kind))


def _texts(array: pa.Array) -> pa.Array:
    """Return bytes as `plain_text`, which most often are text as they are."""
    try:
        texts = array.cast(pa.string())
        if not pc.any(pc.match_substring_regex(texts, r"\\x[0-9a-f]{2}")).as_py():
            return texts
    except pa.ArrowException:
        pass
    return pa.array([None if each is None else plain_text(each) for each in array.to_pylist()], pa.string())


def _is_wide(array: pa.Array) -> bool:
    """Return whether these are times and one of them has a year of other than four digits, which JSON cannot show."""
    if not pa.types.is_timestamp(array.type) or array.type.unit == "ns":
        return False
    bounds = pc.min_max(array.cast(pa.int64())).as_py()
    return any(each is not None and not _is_plain(each * _UNITS[array.type.unit]) for each in bounds.values())


def _is_plain(micros: int) -> bool:
    return _FIRST <= micros <= _LAST


def _times(array: pa.Array, between: str) -> pa.Array:
    """Return times as text; years that have not four digits, which Arrow makes others of, have six and a sign.

    >>> _times(pa.array([0, 1_700_000_000_000_000_000], pa.timestamp("us", "UTC")), "T").to_pylist()
    ['1970-01-01T00:00:00.000000Z', '+055840-11-08T22:13:20.000000Z']
    """
    found = pc.replace_substring(array.cast(pa.string()), " ", between)
    if not _is_wide(array):
        return found
    texts = found.to_pylist()
    end = "" if array.type.tz is None else "Z"
    for row, number in enumerate(array.cast(pa.int64()).to_pylist()):
        micros = None if number is None else number * _UNITS[array.type.unit]
        if micros is not None and not _is_plain(micros):
            # The calendar comes again after 400 years.
            days, rest = divmod(micros, 86_400_000_000)
            cycles, days = divmod(days, 146_097)
            time = datetime(1970, 1, 1) + timedelta(days, microseconds=rest)
            texts[row] = f"{time.year + 400 * cycles:+07}-{time:%m-%d{between}%H:%M:%S.%f}{end}"
    return pa.array(texts, pa.string())


def _header_texts(headers: pa.Array) -> pa.Array:
    rows = [
        [
            {
                "key": pair["key"],
                "value": None if pair["value"] is None else plain_text(pair["value"]),
            }
            for pair in row
        ]
        for row in headers.to_pylist()
    ]
    return pa.array(rows, pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])))


def _encoded(array: pa.Array) -> list[Any]:
    return JsonCodec(array.type, nonfinite=True).encode(array, as_list=True)
