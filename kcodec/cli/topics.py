"""``kcodec topics``: partitions, offsets and sizes, and what the bytes of topics look like."""

from __future__ import annotations

import argparse
import itertools
import sys
import uuid
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kcodec.cli.kafka_options import KafkaOptions, add_options, name_and_value
from kcodec.errors import ConfigError
from kcodec.frames import FRAMES

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["add"]

_SAMPLE = 20


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of the console tool."""
    topics = commands.add_parser(
        "topics",
        help="list topics: partitions, offsets, sizes, what their bytes look like; make, set and delete them",
        description="Lists topics with their partitions, offsets and sizes. Before names, create makes them, delete "
        "deletes them with all their records, and config lists their settings, or with --set and --unset changes them.",
    )
    topics.add_argument(
        "topics", nargs="*", metavar="TOPIC", help="names, or a pattern that starts with ^; by default all"
    )
    add_options(topics)
    topics.add_argument(
        "--sample", action="store_true", help=f"look at the last {_SAMPLE} records of each partition"
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
    from kcodec.kafka.topic_list import list_topics

    options = KafkaOptions(given)
    if len(given.topics) > 1 and given.topics[0] in _ACTIONS:
        return _ACTIONS[given.topics[0]](given, given.topics[1:], options)
    _refuse(given, ("partitions", "replicas", "set", "unset", "dry_run"), "create or config")
    names = given.topics or ["^.*"]
    found = list_topics(names[0] if len(names) == 1 else names, config=options.config)
    if given.sample:
        keys, values = _sampled(found, options)
        found = found.append_column("keys", [keys]).append_column("values", [values])
    _show(found, given.format)
    return 0


def _show(found: pa.Table, format: str | None) -> None:
    from kcodec.cli.record_output import RecordOutput

    with RecordOutput(format or ("table" if sys.stdout.isatty() else "json"), None, {}) as output:
        output.begin(found.schema)
        for batch in found.combine_chunks().to_batches():
            output.write(batch)


def _refuse(given: argparse.Namespace, names: Iterable[str], what: str) -> None:
    """Raise if an option is given that does nothing here."""
    for name in names:
        if getattr(given, name):
            raise ConfigError(f"--{name.replace('_', '-')} is for kcodec topics {what}")


def _create(given: argparse.Namespace, names: list[str], options: KafkaOptions) -> int:
    from kcodec.kafka.topic_admin import create_topic

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
    from kcodec.kafka.topic_admin import delete_topics

    _refuse(given, ("partitions", "replicas", "set", "unset", "dry_run"), "create or config")
    _refuse(given, ("sample",), "without create, delete and config")
    delete_topics(names, config=options.config)
    return 0


def _configure(given: argparse.Namespace, names: list[str], options: KafkaOptions) -> int:
    import pyarrow as pa

    from kcodec.kafka.topic_admin import set_topic_settings, topic_settings

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
    _show(pa.concat_tables(tables), given.format)
    return 0


_ACTIONS = {"create": _create, "delete": _delete, "config": _configure}


def _sampled(found: pa.Table, options: KafkaOptions) -> tuple[pa.Array, pa.Array]:
    """Return what the keys and the values of each partition look like."""
    import pyarrow as pa

    from kcodec.kafka.offsets import Range
    from kcodec.kafka.topic_reader import read

    keys: list[str | None] = []
    values: list[str | None] = []
    for row in found.to_pylist():
        if row["leader"] is None:
            keys.append(None)
            values.append(None)
            continue
        last = Range(row["topic"], row["partition"], max(row["start"], row["end"] - _SAMPLE), row["end"])
        records = read(
            [last], columns=["key", "value", "headers"], isolation="read_uncommitted", config=options.config
        ).read_all()
        headers = records["headers"].to_pylist()
        keys.append(_looks(records["key"].to_pylist(), _in_headers(headers, is_key=True)))
        values.append(_looks(records["value"].to_pylist(), _in_headers(headers, is_key=False)))
    return pa.array(keys, pa.string()), pa.array(values, pa.string())


def _in_headers(records: list[list[dict[str, Any]]], *, is_key: bool) -> list[str | None]:
    """Return for the headers of each record the frame that names the schema of its key or value in one of them."""
    frames = [each for each in FRAMES.values() if each.header]
    names = {each.header_of(is_key=is_key): each for each in frames}
    return [
        next(
            (
                names[header["key"]].name
                for header in headers or ()
                if header["key"] in names and names[header["key"]].read(header["value"] or b"") is not None
            ),
            None,
        )
        for headers in records
    ]


def _looks(payloads: list[bytes | None], frames: Iterable[str | None] = itertools.repeat(None)) -> str:
    """Return what payloads look like, the most frequent first; `frames` are those that headers hold.

    >>> _looks([b"{}", b'{"a": 1}', None])
    'JSON, null'
    """
    looks = (
        _look(payload) if frame is None or payload is None else f"frame {frame}"
        for payload, frame in zip(payloads, frames, strict=False)
    )
    return ", ".join(name for name, _ in Counter(looks).most_common())


def _look(payload: bytes | None) -> str:
    if payload is None:
        return "null"
    if not payload:
        return "empty"
    if payload[:5] == bytes(5) and len(payload) >= 10 and payload[5:9] != bytes(4):
        return f"frame APICURIO, schema id {int.from_bytes(payload[5:9], 'big')}"
    if payload[0] == 3 and len(payload) >= 18 and payload[1] in (0, 5):
        return f"frame GLUE, schema {uuid.UUID(bytes=payload[2:18])}"
    if payload[:2] == b"\xc3\x01" and len(payload) >= 10:
        return f"frame SINGLE_OBJECT, schema {payload[2:10].hex()}"
    if payload[0] == 0 and len(payload) >= 5:
        number = int.from_bytes(payload[1:5], "big")
        if len(payload) != 8:
            return f"schema id {number}"
        # No schema has the id 0.
        return f"schema id {number} or int64" if number else "int64"
    if payload[0] == 1 and len(payload) >= 17:
        return "schema GUID"
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return {4: "int32", 8: "int64 or double"}.get(len(payload), "binary")
    if text.lstrip()[:1] in ("{", "["):
        return "JSON"
    return "text" if text.isprintable() or text.isspace() or "\n" in text else "binary"
