"""Rows of a file, or of the standard input: Parquet, lines of JSON, or lines of bytes."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pyarrow as pa

from kcodec._files import check_end
from kcodec._lazy import compute as pc
from kcodec.cli.kafka_options import KafkaOptions
from kcodec.errors import ConfigError, DecodeError
from kcodec.formats.json.codec import JsonCodec
from kcodec.kafka.payload_format import PayloadFormat
from kcodec.kafka.settings import Settings

__all__ = ["open_rows"]

_STANDARD_INPUT = "-"
_LINES = 50_000
#: Columns of a Parquet file whose rows are records, not values.
_RECORD = {"key", "value", "headers", "timestamp"}


@contextmanager
def open_rows(
    file: str, topic: str, options: KafkaOptions, value: Any, key_field: str | None = None
) -> Iterator[pa.RecordBatchReader]:
    """Open a file, and return its rows as batches of records, which are read as they are written.

    `value` is what `kcodec.kafka.write` is told of the values of the topic; with None, lines are bytes. `key_field` is
    the field of the values that is the key as well.
    """
    if file != _STANDARD_INPUT:
        check_end(file)
    if file.endswith(".parquet"):
        import pyarrow.parquet as pq

        with pq.ParquetFile(file) as opened:
            schema, batches = opened.schema_arrow, opened.iter_batches()
            names = set(schema.names)
            if key_field is None and "value" in names and names <= _RECORD:
                yield pa.RecordBatchReader.from_batches(schema, batches)
            else:
                values = (batch.to_struct_array() for batch in batches)
                yield _records(pa.struct(list(schema)), values, key_field)
        return
    # The file first: neither a broker nor a registry is asked for one that is not there.
    with nullcontext(sys.stdin.buffer) if file == _STANDARD_INPUT else open(file, "rb") as lines:
        if value is None:
            if key_field is not None:
                raise ConfigError(
                    "--key-field is for values with fields: say with --value how they are written"
                )
            yield _lines_of_bytes(file, _grouped(lines), options)
        else:
            yield _lines_of_json(_grouped(lines), topic, options, value, key_field)


def _records(
    kind: pa.DataType, values: Iterable[pa.Array], key_field: str | None = None
) -> pa.RecordBatchReader:
    """Return values as records.

    Of the values' fields, `kcodec.kafka.write` would take some for parts of records, by their names.
    """
    fields = [pa.field("value", kind)]
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
        for array in values:
            keys = [] if key_field is None else [pc.struct_field(array, [index])]
            yield pa.RecordBatch.from_arrays([array, *keys], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _grouped(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    found = []
    for line in lines:
        found.append(line.rstrip(b"\r\n"))
        if len(found) == _LINES:
            yield found
            found = []
    if found:
        yield found


def _lines_of_bytes(file: str, groups: Iterable[list[bytes]], options: KafkaOptions) -> pa.RecordBatchReader:
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
    parses_key = options.flag("parse.key")
    separator = options.properties.get("key.separator", "\t").encode()
    null = options.properties.get("null.literal")

    def batches() -> Iterator[pa.RecordBatch]:
        number = 0
        for lines in groups:
            keys: list[bytes | None] = [None] * len(lines)
            values: list[bytes | None] = list(lines)
            if parses_key:
                for row, line in enumerate(lines):
                    key, found, text = line.partition(separator)
                    if not found:
                        raise ConfigError(f"{file}, line {number + row + 1} has no key separator")
                    keys[row], values[row] = key, text
            if null is not None:
                keys, values = (
                    [None if each == null.encode() else each for each in column] for column in (keys, values)
                )
            number += len(lines)
            yield pa.record_batch([pa.array(keys, pa.binary()), pa.array(values, pa.binary())], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _lines_of_json(
    groups: Iterable[list[bytes]], topic: str, options: KafkaOptions, value: Any, key_field: str | None
) -> pa.RecordBatchReader:
    """Read lines of JSON, each a value, as the type of the schema that they are written with."""
    kind = PayloadFormat(value, Settings.of(options.config), False).arrow_type(topic)
    if kind is None:
        raise ConfigError(f"no schema of {topic!r} is known: --schema FILE")
    codec = JsonCodec(kind)

    def values() -> Iterator[pa.Array]:
        number = 0
        for lines in groups:
            lines = [line for line in lines if line.strip()]
            try:
                found = codec.decode(lines)
            except DecodeError as error:
                raise DecodeError(
                    error.row + number, error.offset, error.path, error.code, error.reason
                ) from None
            number += len(lines)
            yield found

    return _records(kind, values(), key_field)
