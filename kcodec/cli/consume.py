"""``kcodec consume``: the records of topics."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcodec.cli.kafka_options import (
    KafkaOptions,
    add_frame,
    add_message,
    add_options,
    document_codec,
    read_where,
    registered,
    with_frame,
    with_message,
)
from kcodec.cli.progress import Progress
from kcodec.errors import ConfigError, EncodeError, RegistryError

if TYPE_CHECKING:
    import pyarrow as pa

    from kcodec.cli.dead_letters import DeadLetters
    from kcodec.kafka.report import RecordFault

#: Columns that tell where a record stands, under names that no field has: they are read with all others, and not
#: written.
_PLACE = {f"kcodec.place.{name}": name for name in ("topic", "partition", "offset")}
#: What files are by their names, where nothing else is said.
_OF_FILES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of the console tool."""
    consume = commands.add_parser(
        "consume",
        help="read the records of topics, decoded",
        description="Reads topics from a start to an end, or as they grow, and writes their records as a table, as "
        "lines of JSON, as console consumers print them, as CSV or as Parquet.",
        epilog="Exit status: 0 if all is well, 1 if a record could not be decoded or a batch not be read, 2 if the "
        "topics cannot be read.",
    )
    consume.add_argument(
        "topics",
        nargs="+",
        metavar="TOPIC",
        help="names, or a pattern that whole names match, such as ^orders-.*",
    )
    add_options(consume)
    for name in ("key", "value"):
        consume.add_argument(
            f"--{name}",
            metavar="FORMAT",
            default="bytes",
            help=f"{registered()} or a plugin's, with a registry; json (plain), connect_json, string, bytes, int, "
            "bigint, double (default %(default)s)",
        )
    consume.add_argument(
        "--schema",
        metavar="DDL",
        help="with --value json: the columns, such as 'id BIGINT, tags ARRAY<STRING>', or a file with them; by default "
        "those that the last documents of the topic have",
    )
    add_message(consume, "that of the first value")
    add_frame(consume)
    consume.add_argument(
        "--from", dest="start", metavar="WHERE", help="earliest, latest, -N (records before the end), a time, or "
        "offsets as JSON; by default earliest, with --follow latest",
    )  # fmt: skip
    consume.add_argument("--to", dest="end", metavar="WHERE", help="the same (default latest)")
    consume.add_argument("-f", "--follow", action="store_true", help="go on as the topics grow")
    consume.add_argument(
        "--group", metavar="NAME", help="with --follow: start at its offsets, and commit them"
    )
    consume.add_argument("-n", "--max", type=_count, metavar="N", help="no more than so many records")
    consume.add_argument(
        "--where",
        metavar="CONDITION",
        help="such as \"value.id > 5 and topic = 'orders'\": a column or field, one of = != < <= > >=, in ('a', 'b'), "
        "like 'a%%', is null, each also with not; a number, 'text', true; and, or, not, parentheses",
    )
    consume.add_argument("--columns", metavar="NAMES", help="such as key,value.id,offset,headers")
    consume.add_argument(
        "-o", "--format", choices=("table", "json", "text", "csv", "parquet"),
        help="by default that of FILE (.parquet, .csv), a table on a terminal, else json; text with a property print.*",
    )  # fmt: skip
    consume.add_argument("--output", type=Path, metavar="FILE", help="by default the standard output")
    consume.add_argument(
        "--dead-letters",
        metavar="PLACE",
        help="put records that cannot be decoded aside: in FILE.parquet, which kcodec produce reads, or in "
        "a topic",
    )
    consume.add_argument(
        "--isolation", choices=("read_committed", "read_uncommitted"), help="default read_committed"
    )
    consume.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from kcodec.cli.record_output import RecordOutput

    options = KafkaOptions(given)
    format = given.format
    if format is None:
        wants_text = any(name.startswith("print.") for name in options.properties)
        is_table = given.output is None and sys.stdout.isatty()
        of_file = _OF_FILES.get(given.output.suffix.lower()) if given.output is not None else None
        format = "text" if wants_text else "table" if is_table else of_file or "json"
    with RecordOutput(format, given.output, options.properties) as output, ExitStack() as stack:
        # The log counts the bad records of each batch, which are told one by one.
        logger = logging.getLogger("kcodec")
        logger.addFilter(_is_no_count)
        stack.callback(logger.removeFilter, _is_no_count)
        letters = None
        if given.dead_letters is not None:
            from kcodec.cli.dead_letters import DeadLetters

            made = DeadLetters(given.dead_letters, given.topics, options.config, given.isolation)
            letters = stack.enter_context(made)
        return 1 if _consume(given, options, format, output, letters) else 0


def _is_no_count(record: logging.LogRecord) -> bool:
    return not hasattr(record, "bad_rows")


def _consume(
    given: argparse.Namespace, options: KafkaOptions, format: str, output: Any, letters: DeadLetters | None
) -> bool:
    """Write the records that are asked for; return whether some could not be decoded."""
    topics = given.topics[0] if len(given.topics) == 1 else given.topics
    columns = [name.strip() for name in given.columns.split(",")] if given.columns else _columns(format)
    fields = {name.rpartition(".")[2] for name in columns if "." in name}
    hidden: list[str] = []
    if given.where is not None:
        from kcodec.kafka.conditions.where import named_columns

        # What has only fields of it among the columns is read as a whole, to look at.
        named = named_columns(given.where, "--where")
        hidden = [
            name for name in _columns("json") if name in named and name not in (*columns, *fields)
            and (named[name] or "*" not in fields)
        ]  # fmt: skip
    documents = [name for name in ("key", "value") if getattr(given, name).lower() == "json"]
    if given.schema is not None and "value" not in documents:
        raise ConfigError("--schema is for --value json; the schemas of other formats are in the registry")
    formats = {
        name: None if name in documents else options.payload(name, getattr(given, name))
        for name in ("key", "value")
    }
    formats["value"] = with_message(formats["value"], given.message)
    place: dict[str, Any] = {
        "config": options.config,
        **with_frame(formats, given.frame),
        **_document_codecs(given, options, documents),
        "columns": _named([*columns, *hidden]),
        "isolation": given.isolation,
        "errors": "report",
    }
    output.raw |= {
        name for name in ("key", "value", "headers") if name in columns and place.get(name) is None
    }
    if format == "text":
        output.texts |= {
            name: text
            for name in ("key", "value")
            if (text := _console_text(given, options, place[name], name)) is not None
        }
    numbers = {name for name in ("key", "value") if name in (*columns, *hidden) and _is_number(place[name])}
    writer = _RowPrinter(given, output, letters, len(hidden) + len(_PLACE), numbers)
    start = read_where(given.start, "--from")
    try:
        if given.follow and given.end is not None:
            raise ConfigError("--follow has no end: --to is for reading without it")
        if given.follow:
            _follow(topics, start or "latest", given.group, place, writer, output)
        elif given.group is not None:
            raise ConfigError("--group is for --follow")
        else:
            _read(topics, start or "earliest", read_where(given.end, "--to") or "latest", place, writer)
    finally:
        writer.progress.clear()
    return writer.has_told


def _document_codecs(given: argparse.Namespace, options: KafkaOptions, names: list[str]) -> dict[str, Any]:
    """Return what reads the keys or values that are plain JSON."""
    from kcodec.kafka.inspection import inspect

    found = {}
    if "value" in names and given.schema is not None:
        found["value"] = document_codec(given.schema)
    rest = [name for name in names if name not in found]
    if rest and (len(given.topics) > 1 or given.topics[0].startswith("^")):
        raise ConfigError(f"--{rest[0]} json of several topics: give the columns with --schema, or one topic")
    if rest:
        seen = inspect(given.topics[0], config=options.config)
        for name in rest:
            side = getattr(seen, name)
            if side.format != "JSON" or side.arrow_type is None:
                raise ConfigError(
                    f"--{name} json: no columns can be seen in the last {name}s: {side.problem or side.summary}"
                    + ("; give them with --schema" * (name == "value"))
                )
            found[name] = side.codec
    return found


def _read(topics: Any, start: Any, end: Any, place: dict[str, Any], writer: _RowPrinter) -> None:
    from kcodec.kafka.reading.topic_reader import read

    reader, report = read(topics, start=start, end=end, **place)
    writer.begin(reader.schema)
    while writer.wants_more and (batch := next(reader, None)) is not None:
        writer.write(batch)
        writer.tell(report.faults)
    writer.tell_rest(report.faults)


def _follow(
    topics: Any, start: Any, group: str | None, place: dict[str, Any], writer: _RowPrinter, output: Any
) -> None:
    from kcodec.kafka.reading.follower import follow

    # Batches of which it takes a value to know the columns: all that have come, while these are null.
    held: list[pa.RecordBatch] = []
    with follow(topics, start=start, group=group, **place) as follower, _ended_by_signals():
        if follower.schema is not None:
            writer.begin(follower.schema)
        else:
            output.open()
        while writer.wants_more:
            found = follower.poll(0.5)
            if found is not None:
                held.append(found)
            last = None
            if held and follower.schema is not None:
                positions = follower.positions
                last = writer.write_held(held, follower.schema, follower.lag)
                output.flush()
                writer.tell(follower.report.faults)
                if group is not None:
                    for each in reversed(held):
                        _move(positions, each)
                    if last is not None:
                        _move(positions, last, 1)
                    follower.commit(positions)
                held.clear()
            writer.tell(follower.report.faults)
    if held:
        writer.write_held(held, follower.schema or held[-1].schema)
    writer.tell_rest(follower.report.faults)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let an interruption end what is done, and SIGTERM as well, so that files are closed as they should be."""
    before = None
    # Others than the main thread hear of no signals.
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _move(positions: dict[str, dict[int, int]], record: pa.RecordBatch, behind: int = 0) -> None:
    """Set a position to the first record of a batch, or so many behind it, unless its topic was deleted meanwhile."""
    topic, partition, offset = _place(record)
    if partition in positions.get(topic, ()):
        positions[topic][partition] = offset + behind


def _named(columns: list[str]) -> list[str] | dict[str, str]:
    """Return the columns that are read, by the names that they have: those asked for, and the place of a record."""
    named = {name if name.endswith(".*") else name.rpartition(".")[2]: name for name in columns}
    # Two of a name are an error, which only a list can tell.
    return {**named, **_PLACE} if len(named) == len(columns) else columns


def _place(record: pa.RecordBatch) -> tuple[str, int, int]:
    topic, partition, offset = (record.column(name)[0].as_py() for name in _PLACE)
    return topic, partition, offset


def _console_text(given: argparse.Namespace, options: KafkaOptions, format: Any, name: str) -> Any:
    """Return what prints values as console consumers do: by the subject's latest schema, which they are read as."""
    if _is_number(format):
        return _number_texts
    if not isinstance(format, str) or len(given.topics) > 1 or given.topics[0].startswith("^"):
        return None
    from kcodec import registry as registries
    from kcodec.formats.schema_format import find_schema_format
    from kcodec.kafka.connection.settings import Settings
    from kcodec.registry.references import named_texts

    language = find_schema_format(format)
    settings = Settings.of(options.config)
    if settings.registry is None or language is None:
        return None
    with closing(registries.open(settings.registry, dict(settings.registry_config) or None)) as registry:
        try:
            latest = registry.get_version(f"{given.topics[0]}-{name}").schema
        except RegistryError as error:
            if error.status != 404:
                raise
            return None
        if latest.type != language.type:
            return None
        return language.printer(language.parse_known(latest.text, named_texts(registry, latest)))


def _is_number(format: Any) -> bool:
    """Return whether keys or values are single numbers, as Java's serializers write them."""
    return isinstance(format, dict) and format["format"] == "KAFKA"


def _number_texts(numbers: pa.Array) -> list[str | None]:
    from kcodec.formats.json.codec import JsonCodec

    texts = JsonCodec(numbers.type, nonfinite=True).encode(numbers).to_pylist()
    # JSON has numbers that are not finite within quotes.
    return [None if each is None else each.decode().strip('"') for each in texts]


class _RowPrinter:
    """Writes the wanted rows of batches, up to a number of them.

    Of the columns, the last `hidden` ones are not written. Those of `numbers` are structs of one, which is shown bare.
    """

    def __init__(
        self,
        given: argparse.Namespace,
        output: Any,
        letters: DeadLetters | None,
        hidden: int,
        numbers: set[str],
    ) -> None:
        self._output = output
        self._letters = letters
        self._hidden = hidden
        self._numbers = numbers
        self._where = given.where
        self._condition: Any = None
        self._left = given.max
        #: Of each partition, the offset of the last record so far that counts.
        self._ends: dict[tuple[str, int], int] = {}
        self._begun = False
        self.has_told = False
        self.progress = Progress()

    def begin(self, schema: pa.Schema) -> None:
        if self._begun:
            return
        self._begun = True
        import pyarrow as pa

        schema = pa.schema(
            [
                pa.field(field.name, field.type.field(0).type) if field.name in self._numbers else field
                for field in schema
            ]
        )
        if self._where is not None:
            from kcodec.kafka.conditions.where import Where

            known = pa.schema([field for field in schema if field.name not in _PLACE])
            self._condition = Where(self._where, known, "--where")
        self._output.begin(pa.schema(list(schema)[: len(schema) - self._hidden]))

    @property
    def wants_more(self) -> bool:
        return self._left is None or self._left > 0

    def write(self, batch: pa.RecordBatch, lag: int | None = None) -> pa.RecordBatch | None:
        """Write what is wanted of a batch; return the last record that is, if no more are wanted behind it."""
        rows = self._bare(batch)
        if self._condition is not None:
            rows = self._condition.rows(rows)
        last = None
        if self._left is not None:
            rows = rows.slice(0, min(self._left, len(rows)))
            self._left -= len(rows)
        if len(rows):
            self._show(rows)
            last = rows.slice(len(rows) - 1)
        end = batch.slice(len(batch) - 1) if self.wants_more or last is None else last
        topic, partition, offset = _place(end)
        self._ends[topic, partition] = offset
        self.progress.add(batch, lag)
        return None if self.wants_more else last

    def _bare(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self._numbers:
            return batch
        import pyarrow as pa

        from kcodec._lazy import compute as pc

        arrays = [
            pc.struct_field(array, [0]) if name in self._numbers else array
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, batch.schema.names)

    def _show(self, part: pa.RecordBatch) -> None:
        if self._output.is_shown:
            self.progress.clear()
        try:
            self._output.write(part.select(range(part.num_columns - self._hidden)))
        except EncodeError as error:
            topic, partition, offset = _place(part.slice(error.row))
            what = f"{error.code}: {error.path}: {error.reason}"
            raise ConfigError(
                f"{topic}-{partition}, offset {offset}: {what}; -o parquet has all values"
            ) from None

    def write_held(
        self, held: list[pa.RecordBatch], schema: pa.Schema, lag: int | None = None
    ) -> pa.RecordBatch | None:
        """Write held batches with a schema, leaving out unwanted ones; return what `write` does."""
        from kcodec.kafka.reading.columns import completed

        self.begin(schema)
        last = None
        while held and self.wants_more:
            last = self.write(completed(held.pop(0), schema), lag)
        return last

    def tell(self, faults: list[RecordFault]) -> None:
        """Report what could not be read, and forget it; faults behind the last record that counts have to wait."""
        wanted = [each for each in faults if self._counts(each)]
        faults[:] = [each for each in faults if not self._counts(each)]
        self._tell(wanted)

    def tell_rest(self, faults: list[RecordFault]) -> None:
        """Report the remaining faults at the end; behind the last of the wanted records, none matters."""
        if self.wants_more:
            self._tell(faults)

    def _counts(self, fault: RecordFault) -> bool:
        """Return whether a fault counts: it is not behind the last wanted record."""
        if self._left is None:
            return True
        end = self._ends.get(fault[:2])
        if end is not None and fault.offset <= end:
            return True
        # Nobody knows whether records come behind a batch that cannot be read.
        return fault.column is None and (self.wants_more or end is None)

    def _tell(self, faults: list[RecordFault]) -> None:
        if faults:
            self.has_told = True
        for fault in faults:
            where = f"{fault.topic}-{fault.partition}, offset {fault.offset}, {fault.column or 'batch'}"
            path = f"{fault.path}: " if fault.path else ""
            print(f"{where}: {fault.code}: {path}{fault.reason}", file=sys.stderr)
        if self._letters is not None:
            self._letters.add(faults)


def _columns(format: str) -> list[str]:
    if format == "text":
        return ["key", "value", "partition", "offset", "timestamp", "timestampType", "headers"]
    if format == "table":
        return ["topic", "partition", "offset", "timestamp", "key", "value"]
    return ["topic", "partition", "offset", "timestamp", "timestampType", "headers", "key", "value"]


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = -1
    if count < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of records")
    return count
