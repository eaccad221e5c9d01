"""``kcodec topics``: partitions, offsets and sizes, and what the bytes of topics look like."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kcodec.cli.kafka_options import KafkaOptions, add_options, name_and_value
from kcodec.errors import ConfigError, KafkaError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

    from kcodec.kafka.inspection import Inspection, Payloads

_SAMPLE = 200


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of the console tool."""
    topics = commands.add_parser(
        "topics",
        help="list topics: partitions, offsets, sizes, what their bytes look like; make, set and delete them",
        description="Lists topics with their partitions, offsets and sizes. Before names, create makes them, delete "
        "deletes them with all their records, and config lists their settings, or with --set and --unset changes them.",
    )
    topics.add_argument(
        "topics",
        nargs="*",
        metavar="TOPIC",
        help="names, or a pattern that whole names match, such as ^orders-.*; by default all",
    )
    add_options(topics)
    topics.add_argument(
        "--sample",
        action="store_true",
        help=f"a row for each topic: what its last {_SAMPLE} records look like, with --registry by their schemas; on a "
        "terminal, for topics that are named, all that there is to see",
    )
    topics.add_argument(
        "--partitions", type=int, metavar="N", help="with create; by default as the broker has it"
    )
    topics.add_argument("--replicas", type=int, metavar="N", help="the same")
    topics.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="with create and config: a setting"
    )
    topics.add_argument(
        "--unset",
        action="append",
        default=[],
        metavar="NAME",
        help="with config: back to what the broker has",
    )
    topics.add_argument(
        "--dry-run", action="store_true", help="with create and changed settings: the broker only checks it"
    )
    topics.add_argument(
        "-o", "--format", choices=("table", "json", "csv"), help="by default a table on a terminal, else json"
    )
    topics.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from kcodec.cli.record_output import print_table
    from kcodec.kafka.topics.topic_list import list_topics

    options = KafkaOptions(given)
    if len(given.topics) > 1 and given.topics[0] in _ACTIONS:
        return _ACTIONS[given.topics[0]](given, given.topics[1:], options)
    _refuse(given, ("partitions", "replicas", "set", "unset", "dry_run"), "create or config")
    names = given.topics or ["^.*"]
    try:
        found = list_topics(names[0] if len(names) == 1 else names, config=options.config)
    except KafkaError as error:
        if names[0] in _ACTIONS and error.name == "UNKNOWN_TOPIC_OR_PARTITION":
            raise ConfigError(f"{names[0]} takes the names of topics, and no topic is called so") from None
        raise
    if given.topics and not len(found):
        print(f"kcodec topics: no topic's whole name matches {names[0]!r}", file=sys.stderr)
    if given.sample:
        _sample(found, options, given.format, is_named=bool(given.topics))
    else:
        print_table(found, given.format)
    return 0


def _refuse(given: argparse.Namespace, names: Iterable[str], what: str) -> None:
    """Raise if an option is given that does nothing here."""
    for name in names:
        if getattr(given, name):
            raise ConfigError(f"--{name.replace('_', '-')} is for kcodec topics {what}")


def _create(given: argparse.Namespace, names: list[str], options: KafkaOptions) -> int:
    from kcodec.kafka.topics.topic_admin import create_topic

    _refuse(given, ("unset",), "config")
    _refuse(given, ("sample",), "without create, delete and config")
    settings = dict(name_and_value(each, "--set") for each in given.set)
    counts = {name: getattr(given, name) for name in ("partitions", "replicas")}
    for name in names:
        create_topic(
            name,
            settings=settings,
            dry_run=given.dry_run,
            config=options.config,
            **{name: count for name, count in counts.items() if count is not None},
        )
    return 0


def _delete(given: argparse.Namespace, names: list[str], options: KafkaOptions) -> int:
    from kcodec.kafka.topics.topic_admin import delete_topics

    _refuse(given, ("partitions", "replicas", "set", "unset", "dry_run"), "create or config")
    _refuse(given, ("sample",), "without create, delete and config")
    delete_topics(names, config=options.config)
    return 0


def _configure(given: argparse.Namespace, names: list[str], options: KafkaOptions) -> int:
    import pyarrow as pa

    from kcodec.cli.record_output import print_table
    from kcodec.kafka.topics.topic_admin import set_topic_settings, topic_settings

    _refuse(given, ("partitions", "replicas"), "create")
    _refuse(given, ("sample",), "without create, delete and config")
    changes: dict[str, str | None] = dict(name_and_value(each, "--set") for each in given.set)
    changes |= dict.fromkeys(given.unset)
    if given.dry_run and not changes:
        raise ConfigError("--dry-run is for --set and --unset")
    if changes:
        for name in names:
            set_topic_settings(name, changes, dry_run=given.dry_run, config=options.config)
        return 0
    found = [(name, topic_settings(name, config=options.config)) for name in names]
    tables = [table.add_column(0, "topic", [pa.repeat(name, len(table))]) for name, table in found]
    print_table(pa.concat_tables(tables), given.format)
    return 0


_ACTIONS = {"create": _create, "delete": _delete, "config": _configure}


def _sample(found: pa.Table, options: KafkaOptions, format: str | None, *, is_named: bool) -> None:
    """Show what the topics of partitions look like: those that were named in full on a terminal, others in a line."""
    import pyarrow as pa

    from kcodec.cli.record_output import print_table
    from kcodec.kafka.inspection import inspect

    format = format or ("table" if sys.stdout.isatty() else "json")
    names = dict.fromkeys(found["topic"].to_pylist())
    inspections = (inspect(name, config=options.config, sample=_SAMPLE) for name in names)
    if format == "table" and is_named:
        for each in inspections:
            print(each)
        return
    flat = format != "json"
    rows = [_row(each, flat=flat) for each in inspections]
    print_table(pa.Table.from_pylist(rows, _rows(flat=flat)), format)


def _row(found: Inspection, *, flat: bool) -> dict[str, Any]:
    row = {
        "topic": found.topic,
        "partitions": len(found.partitions),
        "records": found.records,
        "size": found.size,
        "rate": found.rate,
        "last": found.last,
        "keys": ", ".join(found.key.looks),
        "values": ", ".join(found.value.looks),
        "key": _payloads(found.key),
        "value": _payloads(found.value),
    }
    if flat:
        del row["key"], row["value"]
    return row


def _payloads(found: Payloads) -> dict[str, Any]:
    return {
        "format": found.format,
        "frame": found.frame,
        "schema_ids": list(map(str, found.schema_ids)),
        "schema": found.schema,
        "columns": None if found.arrow_type is None else _ddl(found),
        "nulls": found.nulls,
        "distinct": found.distinct,
        "sizes": list(found.sizes),
        "fields": found.fields.to_pylist(),
        "problem": found.problem,
    }


def _ddl(found: Payloads) -> str | None:
    try:
        return found.schema_as("DDL")
    except SchemaError:
        return None


def _rows(*, flat: bool) -> pa.Schema:
    import pyarrow as pa

    text, number, real = pa.string(), pa.int64(), pa.float64()
    field = pa.struct([("field", text), ("type", text), ("nulls", real), ("examples", pa.list_(text))])
    payloads = pa.struct(
        [
            ("format", text),
            ("frame", text),
            ("schema_ids", pa.list_(text)),
            ("schema", text),
            ("columns", text),
            ("nulls", number),
            ("distinct", number),
            ("sizes", pa.list_(number)),
            ("fields", pa.list_(field)),
            ("problem", text),
        ]
    )
    plain = [
        ("topic", text),
        ("partitions", number),
        ("records", number),
        ("size", number),
        ("rate", real),
        ("last", pa.timestamp("us", "UTC")),
        ("keys", text),
        ("values", text),
    ]
    return pa.schema(plain if flat else [*plain, ("key", payloads), ("value", payloads)])
