"""Rows of a file, or of the standard input: Parquet, lines of JSON, or lines of bytes."""

import json
import select
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pyarrow as pa

from kcodec._files import check_end
from kcodec._lazy import compute as pc
from kcodec.cli.kafka_options import KafkaOptions
from kcodec.cli.progress import Progress
from kcodec.cli.terminal import standard_input
from kcodec.columns.types.plain import nullable
from kcodec.errors import CODES, ConfigError, DecodeError, EncodeError, one_line
from kcodec.formats.json.codec import JsonCodec
from kcodec.formats.schema_format import has_messages
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.payload_format import PayloadFormat

_STANDARD_INPUT = "-"
_LINES = 50_000
#: Bytes that are read at once.
_CHUNK = 1 << 20
#: Bytes of lines that are written together, a little more or less.
_GROUP = 64 << 20
#: Bytes of a line: a request, which counts its own in 32 bits, holds no record of more.
_LONGEST = (1 << 31) - 1
#: Seconds that a line waits for others.
_PATIENCE = 0.5
#: What the names of Parquet files end in.
_PARQUET = (".parquet", ".pq")
#: Columns of a Parquet file whose rows are records, not values.
_RECORD = {"key", "value", "headers", "timestamp"}
#: Those of ``kcodec consume`` without ``--columns``.
_CONSUMED = {*_RECORD, "topic", "partition", "offset", "timestampType"}


class _OfLine:
    """An error of a row, told by its line."""

    row: int

    def _value(self) -> str:
        return f"line {self.row + 1}"


class _BadLine(_OfLine, DecodeError):
    pass


class _UnfitLine(_OfLine, EncodeError):
    pass


class _Interrupted(KeyboardInterrupt):
    """The user interrupted while nothing was being read: the rows so far are to be written."""


class InputRows:
    """Rows as batches of records of a schema, which are read as they are written.

    `line` tells which line a row was, counted from 0. `is_interrupted` tells whether the rows ended by an interruption,
    `bad` how many lines could not be read or written: they are not among the rows. With `is_encoded`, values are bytes.
    """

    def __init__(
        self,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        line: Callable[[int], int] | None = None,
        is_encoded: bool = False,
    ) -> None:
        self.schema = schema
        self.is_encoded = is_encoded
        self.count = self.bad = 0
        self.progress = Progress()
        self._batches = batches
        self._line = line
        self.is_interrupted = False

    def reader(self) -> pa.RecordBatchReader:
        """Return what reads the rows."""
        return pa.RecordBatchReader.from_batches(self.schema, self._read())

    def place(self, error: EncodeError) -> EncodeError:
        """Return an error of a row as one of its line."""
        if self._line is None:
            return error
        return _UnfitLine(
            self._line(error.row), error.offset, error.path, error.code, error.reason, error.schema_id
        )

    def _read(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                self.count += len(batch)
                yield batch
                self.progress.add(batch)
        except _Interrupted:
            self.is_interrupted = True


@contextmanager
def open_rows(
    file: str,
    topic: str,
    options: KafkaOptions,
    value: Any,
    key_field: str | None = None,
    *,
    as_they_come: bool = True,
) -> Iterator[InputRows]:
    """Open a file, and return its rows.

    `value` is what `kcodec.kafka.write` is told of the values of the topic; with None, lines are bytes. `key_field` is
    the field of the values that is the key as well. With `as_they_come`, lines wait half a second for others at most,
    and an interruption is their end.
    """
    if file != _STANDARD_INPUT:
        check_end(file)
    if file.lower().endswith(_PARQUET):
        with _parquet(file) as opened:
            schema, batches = opened.schema_arrow, opened.iter_batches()
            names = set(schema.names)
            if names == _CONSUMED:
                raise ConfigError(
                    f"{file} has the columns of kcodec consume: with --columns {','.join(sorted(_RECORD))} it writes "
                    "those that are read here"
                )
            if key_field is None and "value" in names and names <= _RECORD:
                yield InputRows(schema, batches)
            else:
                values = ((array, array) for array in (batch.to_struct_array() for batch in batches))
                yield _records(pa.struct(list(schema)), values, key_field)
        return
    # The file first: neither a broker nor a registry is asked for one that is not there.
    with nullcontext(standard_input()) if file == _STANDARD_INPUT else open(file, "rb") as opened:
        lines = _grouped(file, opened, as_they_come)
        if value is None:
            if key_field is not None:
                raise ConfigError(
                    "--key-field is for values with fields: say with --value how they are written"
                )
            yield _lines_of_bytes(file, lines, options)
        else:
            yield _lines_of_json(lines, topic, options, value, key_field, is_whole=not as_they_come)


def _parquet(file: str) -> Any:
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(file)
    except pa.ArrowInvalid as error:
        raise ConfigError(f"{file}: {one_line(error)}") from None


def _records(
    kind: pa.DataType,
    values: Iterable[tuple[pa.Array, pa.Array]],
    key_field: str | None,
    line: Callable[[int], int] | None = None,
    encoded: pa.DataType | None = None,
) -> InputRows:
    """Return values as records; they come twice, the second time as they are written: of the type `encoded`, if given.

    Of the values' fields, `kcodec.kafka.write` would take some for parts of records, by their names.
    """
    fields = [pa.field("value", kind if encoded is None else encoded)]
    if key_field is not None:
        if not pa.types.is_struct(kind):
            raise ConfigError(f"--key-field is for values with fields, these are {kind}")
        index = kind.get_field_index(key_field)
        if index < 0:
            names = ", ".join(field.name for field in kind)
            raise ConfigError(f"--key-field {key_field!r} is none of the fields {names}")
        fields.append(pa.field("key", kind.field(index).type))
    schema = pa.schema(fields)

    def batches() -> Iterator[pa.RecordBatch]:
        for array, written in values:
            keys = [] if key_field is None else [pc.struct_field(array, [index])]
            yield pa.RecordBatch.from_arrays([written, *keys], schema=schema)

    return InputRows(schema, batches(), line, encoded is not None)


def _grouped(name: str, file: Any, as_they_come: bool) -> Iterator[list[bytes]]:
    """Yield lines in groups; with `as_they_come` a group ends when no further line comes soon."""
    found: list[bytes] = []
    last: list[bytes] = []
    number, size, held = 1, 0, 0
    deadline = 0.0
    while True:
        chunk = None
        try:
            if not (found and as_they_come) or _is_readable(file, deadline - time.monotonic()):
                chunk = file.read1(_CHUNK)
        except KeyboardInterrupt:
            if not as_they_come:
                raise
            if found:
                yield found
            raise _Interrupted from None
        if chunk is None:
            yield found
            found, held = [], 0
            continue
        if not found:
            deadline = time.monotonic() + _PATIENCE
        *whole, rest = chunk.split(b"\n")
        size += len(whole[0] if whole else rest)
        if size > _LONGEST:
            raise ValueError(f"{name}, line {number} has more than {_LONGEST} bytes, which no record holds")
        if whole:
            whole[0] = b"".join(last) + whole[0]
            last.clear()
            number, size = number + len(whole), len(rest)
        last.append(rest)
        if not chunk and any(last):
            whole = [b"".join(last)]
        found += [line.rstrip(b"\r") for line in whole]
        held += len(chunk)
        while len(found) >= _LINES or (found and (held >= _GROUP or not chunk)):
            yield found[:_LINES]
            found = found[_LINES:]
            held = 0
        if not chunk:
            return


def _is_readable(file: Any, seconds: float) -> bool:
    """Return whether there is something to read, or the end, within some time; True if that cannot be known."""
    try:
        return bool(select.select([file], [], [], max(seconds, 0))[0])
    except (OSError, ValueError):
        return True


def _lines_of_bytes(file: str, groups: Iterable[list[bytes]], options: KafkaOptions) -> InputRows:
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
    parses_key = options.flag("parse.key")
    separator = options.properties.get("key.separator", "\t").encode()
    null = options.properties.get("null.literal")
    if not separator:
        raise ConfigError("--property key.separator is empty")

    def batches() -> Iterator[pa.RecordBatch]:
        number = 0
        for lines in groups:
            keys: list[bytes | None] = [None] * len(lines)
            values: list[bytes | None] = list(lines)
            if parses_key:
                for row, line in enumerate(lines):
                    key, found, text = line.partition(separator)
                    if not found:
                        raise ValueError(f"{file}, line {number + row + 1} has no key separator")
                    keys[row], values[row] = key, text
            if null is not None:
                keys, values = (
                    [None if each == null.encode() else each for each in column] for column in (keys, values)
                )
            number += len(lines)
            yield pa.record_batch([pa.array(keys, pa.binary()), pa.array(values, pa.binary())], schema=schema)

    return InputRows(schema, batches(), lambda row: row)


def _lines_of_json(
    groups: Iterable[list[bytes]],
    topic: str,
    options: KafkaOptions,
    value: Any,
    key_field: str | None,
    *,
    is_whole: bool,
) -> InputRows:
    """Read lines of JSON, each a value, as the type of the schema that they are written with, and write them so.

    Lines of the format's own JSON, such as Avro's JSON encoding, are read as well. What is wrong with a line is
    printed, and the others are rows; with `is_whole`, all of them are, or none.
    """
    format = PayloadFormat(value, Settings.of(options.config), False)
    kind = format.arrow_type(topic)
    if kind is None:
        what = "message" if has_messages(value["format"]) and "message" not in value else "schema"
        raise ConfigError(
            f"no {what} of {topic!r} is known: --{what} {'NAME' if what == 'message' else 'FILE'}"
        )
    if isinstance(value, dict) and has_messages(value["format"]):
        # What a message does not have is not set; a field that has to be there is looked for where it is written.
        kind = nullable(kind)
    decode = _json_decoder(kind, isinstance(value, dict) and value["format"] == "KAFKA")
    own = format.line_reader(topic)
    #: For each line that is no row, the number of rows before it.
    passed: list[int] = []

    def line(row: int) -> int:
        return row + bisect_right(passed, row)

    def read(texts: list[bytes]) -> tuple[pa.Array, list[dict[str, Any]]]:
        """Return the values of lines, and what is wrong with those that are none."""
        tagged = None if own is None else own(texts)
        if tagged is None or tagged.null_count == len(tagged):
            return decode(list(texts))
        rest = [None if found.is_valid else text for found, text in zip(tagged, texts, strict=True)]
        plain, faults = decode(rest)
        return pc.coalesce(tagged, plain), faults

    def parts() -> Iterator[tuple[pa.Array, pa.Array]]:
        number = rows = 0
        for lines in groups:
            at = [place for place, text in enumerate(lines, number) if text.strip()]
            values, faults = read([lines[place - number] for place in at])
            encoded = format.encode_reported(topic, values) if made.is_encoded else None
            if encoded is not None:
                read_badly = {fault["row"] for fault in faults}
                faults = faults + [each for each in encoded[1].to_pylist() if each["row"] not in read_badly]
            wrong = {fault["row"]: fault for fault in faults}
            for row in sorted(wrong):
                print(f"kcodec produce: {_told(wrong[row], at[row], kind)}", file=sys.stderr)
            made.bad += len(wrong)
            kept = [row not in wrong for row in range(len(at))]
            good = dict.fromkeys(place for place, is_kept in zip(at, kept, strict=True) if is_kept)
            for place in range(number, number + len(lines)):
                if place in good:
                    rows += 1
                else:
                    passed.append(rows)
            number += len(lines)
            if is_whole and made.bad:
                # Read on, to tell of all lines; what is written already is taken back at the end.
                continue
            mask = pa.array(kept, pa.bool_())
            values = values.filter(mask)
            yield values, values if encoded is None else encoded[0].filter(mask)
        if is_whole and made.bad:
            raise ValueError("nothing is written, since not all lines can be")

    made = _records(kind, parts(), key_field, line, format.encoded_type(topic))
    return made


def _told(fault: dict[str, Any], number: int, kind: pa.DataType) -> str:
    """Return what is wrong with a line, and what was wanted, where its path names a field."""
    wanted: Any = kind
    for name in (fault["path"] or "").split("."):
        index = wanted.get_field_index(name) if wanted is not None and pa.types.is_struct(wanted) else -1
        wanted = None if wanted is None or index < 0 else wanted.field(index).type
    if fault["code"] == "union_members" and not fault["path"]:
        wanted = f"one of {', '.join(field.name for field in kind)}"
    reason = fault["reason"] if wanted is None else f"{fault['reason']} ({one_line(wanted, 80)} is wanted)"
    return str(_BadLine(number, fault["offset"], fault["path"], fault["code"], reason))


def _json_decoder(
    kind: pa.DataType, is_bare: bool
) -> Callable[[list[bytes | None]], tuple[pa.Array, list[dict[str, Any]]]]:
    """Return what decodes texts as a type, with what is wrong with others.

    With `is_bare` it takes also those that are the type's only field alone.
    """
    codec = JsonCodec(kind, nonfinite=True)

    def decode(texts: list[bytes | None]) -> tuple[pa.Array, list[dict[str, Any]]]:
        found, report = codec.decode(texts, "report")
        return found, report.to_pylist()

    if not is_bare:
        return decode
    name = kind.field(0).name
    field = JsonCodec(kind.field(0).type, nonfinite=True)

    def decode_bare(texts: list[bytes | None]) -> tuple[pa.Array, list[dict[str, Any]]]:
        whole = [text if (text or b"").lstrip().startswith(b"{") else None for text in texts]
        alone = [text if other is None else None for text, other in zip(texts, whole, strict=True)]
        objects, faults = decode(whole)
        within = pc.struct_field(objects, [0])
        bad = {fault["row"] for fault in faults}
        for row, (text, is_null) in enumerate(zip(whole, within.is_null().to_pylist(), strict=True)):
            # An object of something else is not a null.
            if is_null and text is not None and row not in bad and name not in json.loads(text):
                lacking = {"path": name, "code": "missing_key", "reason": CODES["missing_key"]}
                faults.append({"row": row, "offset": 0, **lacking})
        numbers, report = field.decode(alone, "report")
        found = pc.coalesce(numbers, within)
        return pa.StructArray.from_arrays([found], fields=list(kind)), faults + report.to_pylist()

    return decode_bare
