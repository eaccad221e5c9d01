"""``kcodec produce``: rows of a file, or of the standard input, into a topic."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from kcodec.cli.kafka_options import KafkaOptions, add_options
from kcodec.errors import ConfigError, DecodeError

__all__ = ["add"]

_LINES = 50_000
_STANDARD_INPUT = "-"


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of the console tool."""
    produce = commands.add_parser(
        "produce",
        help="write rows into a topic",
        description="Writes the rows of a Parquet file, or the lines of another file, into a topic. With a format, "
        "lines are JSON, of which each is a value; without one they are the bytes themselves.",
        epilog="Exit status: 0 if brokers have all records, 1 if a row could not be read or written, 2 if the topic "
        "cannot be written.",
    )
    produce.add_argument("topic", metavar="TOPIC")
    add_options(produce)
    produce.add_argument(
        "--file", default=_STANDARD_INPUT, metavar="FILE", help="rows (default -, the standard input)"
    )
    produce.add_argument(
        "--value", default="bytes", metavar="FORMAT", help="avro, or bytes (default %(default)s)"
    )
    produce.add_argument("--key", default="bytes", metavar="FORMAT", help="the same for keys")
    produce.add_argument(
        "--schema", type=Path, metavar="FILE", help="of values; by default the subject's latest one"
    )
    produce.add_argument("--key-field", metavar="NAME", help="the field of the rows that is the key as well")
    produce.add_argument("--codec", choices=("zstd", "lz4", "snappy", "gzip", "none"), help="default zstd")
    produce.add_argument("--partition", type=int, metavar="N", help="by default that of the key")
    produce.add_argument("--transactional-id", metavar="ID", help="all records become visible together")
    produce.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from kcodec.kafka.topic_writer import write

    options = KafkaOptions(given)
    value = _with_schema(options.payload("value", given.value), options, given.schema)
    rows = _rows(given, options, value)
    columns: dict[str, Any] | None = None
    if given.key_field is not None:
        columns = {
            "key": given.key_field,
            "value": [name for name in rows.schema.names if name != "value"] or "value",
        }
    try:
        written = write(
            rows,
            given.topic,
            key=options.payload("key", given.key),
            value=value,
            columns=columns,
            partition=given.partition,
            codec=given.codec,
            transactional_id=given.transactional_id,
            config=options.config,
        )
    except (DecodeError, ConfigError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        print(f"kcodec produce: {error}", file=sys.stderr)
        return 1
    if sys.stderr.isatty():
        ends = ", ".join(f"{number}: {offset}" for number, offset in written.end[given.topic].items())
        print(f"written, the partitions end at {ends or 'what they were'}", file=sys.stderr)
    return 0


def _with_schema(value: Any, options: KafkaOptions, file: Path | None) -> Any:
    text = options.properties.get("value.schema")
    path = file or options.properties.get("value.schema.file")
    if path is not None:
        text = Path(path).read_text(encoding="utf-8")
    if not isinstance(value, str):
        if text is not None:
            raise ConfigError("a schema is for a --value such as avro")
        return value
    if text is None:
        return {"format": value, "config": {"auto.register.schemas": False, "use.latest.version": True}}
    return {"format": value, "schema": text, "reader_schema": text}


def _rows(given: argparse.Namespace, options: KafkaOptions, value: Any) -> pa.RecordBatchReader:
    """Return the rows as batches, which are read as they are written."""
    if given.file.endswith(".parquet"):
        import pyarrow.parquet as pq

        file = pq.ParquetFile(given.file)
        return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
    if value is None:
        return _lines_of_bytes(given.file, options)
    return _lines_of_json(given, options, value)


def _open(file: str) -> BinaryIO:
    return sys.stdin.buffer if file == _STANDARD_INPUT else open(file, "rb")


def _lines(file: str) -> Iterator[list[bytes]]:
    found = []
    with _open(file) as opened:
        for line in opened:
            found.append(line.rstrip(b"\r\n"))
            if len(found) == _LINES:
                yield found
                found = []
    if found:
        yield found


def _lines_of_bytes(file: str, options: KafkaOptions) -> pa.RecordBatchReader:
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
    parses_key = options.flag("parse.key")
    separator = options.properties.get("key.separator", "\t").encode()
    null = options.properties.get("null.literal")

    def batches() -> Iterator[pa.RecordBatch]:
        number = 0
        for lines in _lines(file):
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


def _lines_of_json(given: argparse.Namespace, options: KafkaOptions, value: Any) -> pa.RecordBatchReader:
    """Read lines of JSON as the type of the schema that they are written with."""
    from kcodec.formats.json.codec import JsonCodec
    from kcodec.kafka.payload_format import PayloadFormat
    from kcodec.kafka.settings import Settings

    kind = PayloadFormat(value, Settings.of(options.config), False).arrow_type(given.topic)
    if kind is None:
        raise ConfigError(f"no schema of {given.topic!r} is known: --schema FILE")
    codec = JsonCodec(kind)
    schema = pa.schema(list(kind)) if pa.types.is_struct(kind) else pa.schema([("value", kind)])

    def batches() -> Iterator[pa.RecordBatch]:
        number = 0
        for lines in _lines(given.file):
            lines = [line for line in lines if line.strip()]
            try:
                found = codec.decode(lines)
            except DecodeError as error:
                raise DecodeError(
                    error.row + number, error.offset, error.path, error.code, error.reason
                ) from None
            number += len(lines)
            if pa.types.is_struct(kind):
                yield pa.RecordBatch.from_struct_array(found)
            else:
                yield pa.record_batch([found], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
