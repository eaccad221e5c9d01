"""``kcodec produce``: rows of a file, or of the standard input, into a topic."""

import argparse
import sys
from pathlib import Path
from typing import Any

from kcodec.cli.kafka_options import (
    KafkaOptions,
    add_frame,
    add_message,
    add_options,
    document_codec,
    read_text,
    registered,
    unknown_format,
    with_frame,
    with_message,
)
from kcodec.errors import ConfigError, EncodeError, RegistryError, SchemaError, one_line


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of the console tool."""
    produce = commands.add_parser(
        "produce",
        help="write rows into a topic",
        description="Writes the rows of a Parquet file, or the lines of another file, into a topic. With a format, "
        "lines are JSON, of which each is a value: plain, or in Avro's JSON encoding, as kcodec consume -o text is. "
        "Without a format they are the bytes themselves. A row of a Parquet file is a value as well, but where there "
        "is a column value and none but key, value, headers and timestamp: then they are the parts of a record.",
        epilog="Exit status: 0 if brokers have all records, 1 if a row could not be read or written (the others are, "
        "but in a transaction), 2 if the topic cannot be written.",
    )
    produce.add_argument("topic", metavar="TOPIC")
    add_options(produce)
    produce.add_argument("--file", default="-", metavar="FILE", help="rows (default -, the standard input)")
    produce.add_argument(
        "--value",
        default="bytes",
        metavar="FORMAT",
        help=f"{registered()} or a plugin's, with a registry; json, with --schema; string, bytes, int, bigint, double "
        "(default %(default)s)",
    )
    produce.add_argument("--key", default="bytes", metavar="FORMAT", help="the same for keys, but for json")
    produce.add_argument(
        "--schema",
        metavar="FILE|DDL",
        help="of values, by default the subject's latest one; with --value json their columns as Spark's DDL, or a "
        "file of it",
    )
    add_message(produce, "the only one of the schema")
    add_frame(produce)
    produce.add_argument(
        "--key-field", metavar="NAME", help="the field of the values that is the key as well"
    )
    produce.add_argument(
        "--compression", choices=("zstd", "lz4", "snappy", "gzip", "none"), help="default zstd"
    )
    produce.add_argument("--partition", type=int, metavar="N", help="by default that of the key")
    produce.add_argument("--transactional-id", metavar="ID", help="all records become visible together")
    produce.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from kcodec.cli.row_input import open_rows

    options = KafkaOptions(given)
    key = _with_schema("key", options.payload("key", given.key), options)
    if given.value.upper() == "JSON":
        value = _documents(given.schema)
    else:
        file = None if given.schema is None else Path(given.schema)
        value = _with_schema("value", options.payload("value", given.value), options, file)
    value = with_message(value, given.message)
    formats = with_frame({"key": key, "value": value}, given.frame)
    key, value = formats["key"], formats["value"]
    if options.flag("parse.key") and value is not None:
        raise ConfigError(
            "--property parse.key is for lines of bytes: with --value, --key-field names the key"
        )
    # A transaction is seen at its end, or not at all.
    as_they_come = given.transactional_id is None and "transactional.id" not in options.config
    try:
        with open_rows(
            given.file, given.topic, options, value, given.key_field, as_they_come=as_they_come
        ) as rows:
            if key is not None and "key" not in rows.schema.names:
                raise ConfigError(f"--key {given.key}: --key-field says which field of the values is the key")
            for name, format in (("key", key), ("value", value)):
                if format is None and name in rows.schema.names:
                    _check_payloads(name, rows.schema.field(name).type)
            written = _write(
                rows,
                given.topic,
                as_they_come=as_they_come,
                key=key,
                value=None if rows.is_encoded else value,
                partition=given.partition,
                compression=given.compression,
                transactional_id=given.transactional_id,
                config=options.config,
            )
            if rows.is_interrupted:
                raise KeyboardInterrupt
    except (ConfigError, SchemaError):
        raise
    except RegistryError as error:
        if not error.missing:
            raise
        hint = "without --schema FILE the latest one is written: give a file to register its schema"
        raise error.hinted(hint) from None
    except ValueError as error:
        print(f"kcodec produce: {error}", file=sys.stderr)
        return 1
    rows.progress.clear()
    if rows.bad:
        print(f"kcodec produce: {rows.count} lines are written, {rows.bad} are not", file=sys.stderr)
        return 1
    if sys.stderr.isatty():
        places = ", ".join(f"{number}: {offset}" for number, offset in written.end[given.topic].items())
        print(f"written, the partitions end at {places or 'what they were'}", file=sys.stderr)
    return 0


def _write(rows: Any, topic: str, *, as_they_come: bool, **given: Any) -> Any:
    from kcodec.kafka.writing.topic_writer import write

    try:
        return write(rows.reader(), topic, **given)
    except EncodeError as error:
        raise rows.place(error) from error
    except KeyboardInterrupt:
        rows_of = (
            "the last rows not all may be" if as_they_come else "a transaction all rows are, or none is,"
        )
        print(f"kcodec produce: interrupted, of {rows_of} written", file=sys.stderr)
        raise


def _check_payloads(name: str, kind: Any) -> None:
    """Raise `ConfigError` if keys or values that no format is given for are neither bytes nor text."""
    import pyarrow as pa

    from kcodec.columns.arrays.given import payloads

    try:
        payloads(pa.nulls(0, kind))
    except TypeError:
        raise ConfigError(
            f"{name}s of {one_line(kind)} are neither bytes nor text: say with --{name} how they are written"
        ) from None


def _documents(schema: str | None) -> Any:
    """Return what writes plain JSON."""
    if schema is None:
        raise ConfigError(
            "--value json: give the columns with --schema, so that lines are checked by them; without --value, "
            "lines are written as they are"
        )
    return document_codec(schema)


def _with_schema(name: str, format: Any, options: KafkaOptions, file: Path | None = None) -> Any:
    """Return a format of keys or values with its schema; where none is given, values have the subject's latest."""
    from kcodec.formats.schema_format import find_schema_format

    text = options.properties.get(f"{name}.schema")
    path = file or options.properties.get(f"{name}.schema.file")
    if path is not None:
        text = read_text(path)
    if not isinstance(format, str):
        if text is not None:
            raise ConfigError(f"a schema is for a --{name} such as avro")
        return format
    if text is None and name == "key":
        return format
    if find_schema_format(format) is None:
        raise unknown_format(name, format.lower())
    if text is None:
        return {"format": format, "config": {"auto.register.schemas": False, "use.latest.version": True}}
    return {"format": format, "schema": text, "reader_schema": text}
