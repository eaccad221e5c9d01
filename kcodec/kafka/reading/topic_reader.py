"""Topics as columns, from a start to an end."""

import itertools
import logging
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec.arguments import FormatLike, Position, Selection, Servers, Topics
from kcodec.columns.stream import stream
from kcodec.errors import ConfigError, check_choice, check_functions
from kcodec.kafka.connection.cluster import LATEST, Cluster
from kcodec.kafka.connection.error_codes import Code, broker_error
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.fetching.fetcher import Fetcher, Piece
from kcodec.kafka.offsets import Lost, Range, check_positions, plan_ranges, topics_of
from kcodec.kafka.reading.columns import Columns, completed
from kcodec.kafka.reading.newest import Newest
from kcodec.kafka.report import ReadReport
from kcodec.kafka.views import filtered, size_of

if TYPE_CHECKING:
    from kcodec.kafka.conditions.where import Look

__all__ = ["ISOLATION", "check_isolation", "find_ranges", "note_lost", "read", "read_matching"]

logger = logging.getLogger(__name__)

ISOLATION = ("read_committed", "read_uncommitted")

#: Of columns of which no key or value is known yet, before they are taken to be null.
_HELD_BYTES = 64 << 20

#: How columns are made of pieces.
_ReadAll = Callable[[Iterator[Piece], Columns], Iterator[pa.RecordBatch]]
#: Who is told how far it is, and how many offsets there are.
_Told = tuple[Callable[[int, int], object], int]


def check_isolation(isolation: str | None, settings: Settings) -> str:
    """Return the isolation that is asked for, by an argument or by ``isolation.level``."""
    if isolation is None:
        return settings.isolation
    check_choice("isolation", isolation, ISOLATION)
    return isolation


def _check_latest(latest_by_key: object) -> None:
    """Refuse what is neither a boolean nor ``"deletes"``."""
    if latest_by_key != "deletes" and not isinstance(latest_by_key, bool):
        raise ConfigError(f"latest_by_key={latest_by_key!r} is not True, False or 'deletes'")


def find_ranges(
    topics: Topics,
    *,
    servers: "Servers | None" = None,
    start: Position = "earliest",
    end: Position = "latest",
    isolation: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> list[Range]:
    """Find out which offsets `read` would read, without reading them.

    Parameters
    ----------
    topics, servers, start, end, isolation, config
        As for `read`.

    Returns
    -------
    list of Range
        One for each partition: topic, partition, the first offset, and the one behind the last. They are pickled, split
        by `split_ranges`, and read by `read`, elsewhere and one by one if need be.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.find_ranges("orders", servers="broker:9092", start="earliest")                           # doctest: +SKIP
    [Range(topic='orders', partition=0, start=0, end=1000)]
    """
    settings = Settings.of(config, servers)
    check_positions(start, end)
    with Cluster(settings) as cluster:
        return _plan(cluster, topics, start, end, check_isolation(isolation, settings))[0]


def _plan(
    cluster: Cluster, topics: Topics, start: Position, end: Position, isolation: str
) -> tuple[list[Range], list[Lost]]:
    if isinstance(topics, Range):
        topics = [topics]
    if isinstance(topics, (list, tuple)) and topics and all(isinstance(each, Range) for each in topics):
        known = cluster.partitions({each.topic for each in topics})
        for each in topics:
            if each.partition not in known[each.topic]:
                raise broker_error(Code.UNKNOWN_TOPIC_OR_PARTITION, str(each.place))
        open_ended = dict.fromkeys((each.place for each in topics if each.end is None), LATEST)
        ends = cluster.offsets(open_ended, isolation)
        return [each._replace(end=ends[each.place][0]) if each.end is None else each for each in topics], []
    return plan_ranges(cluster, topics_of(cluster.partitions, topics), start, end, isolation)


def read(
    topics: Topics,
    *,
    servers: "Servers | None" = None,
    start: Position = "earliest",
    end: Position = "latest",
    key: "FormatLike | None" = None,
    value: "FormatLike | None" = None,
    columns: "Selection | None" = None,
    isolation: str | None = None,
    errors: str = "raise",
    latest_by_key: bool | str = False,
    progress: Callable[[int, int], object] | None = None,
    config: Mapping[str, Any] | None = None,
) -> Any:
    """Read topics, from a start to an end that are found out at the beginning, into columns.

    Record batches are read as the brokers send them: there is no object per record. The next response is fetched while
    one is decoded; besides what a user keeps, two responses of each broker are held at most (``fetch.max.bytes``).

    Parameters
    ----------
    topics : str, list of str, re.Pattern, mapping, or list of Range
        A topic, several, a pattern (compiled, or text that starts with ``^``) that whole names match, an assignment
        ``{topic: [partition, ...]}``; or the ranges that `find_ranges` has found. One without an end is read up to
        the latest offset.
    servers : str or list of str, optional
        ``host:port`` of some brokers; by default ``bootstrap.servers`` of `config`.
    start, end : str, datetime, int or mapping
        ``"earliest"``; ``"latest"`` (with ``read_committed`` up to the first open transaction); a datetime with a time
        zone: the first record of that time or later; a negative number: so many offsets before the latest, in each
        partition; or any of these and offsets, by topic and partition, as a mapping or as the JSON of Spark's Kafka
        source (-2 earliest, -1 latest). An `end` by partition says which are read: those that it and `start` name. A
        `start` alone does not: partitions that it does not name, such as those added since, are read from the earliest.
    key, value : Codec, Serde, str, mapping or None
        What the payloads are: a codec; a serde; a format's name in any case, such as ``"AVRO"``, with
        ``schema.registry.url`` in `config`; a mapping of ``"format"``, ``"registry"`` and further arguments of
        `kcodec.Serde`, `KsqlCodec` or `ConnectJsonCodec`; None for the bytes as they are.
    columns : list of str, or mapping of new names to them, optional
        ``key``, ``value``, ``topic``, ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``;
        ``value.id`` for a field, ``value.*`` for all of them, in a mapping under that name. By default all but the
        headers, as Spark's Kafka source has them. Nothing else is made.
    isolation : {"read_committed", "read_uncommitted"}, optional
        Whether records of aborted and open transactions are left out; by default ``isolation.level`` of `config`, else
        they are.
    errors : {"raise", "null", "report"}
        What becomes of a key or value that cannot be decoded: an exception; a null; or that and a row of the report. A
        damaged batch is an exception, or its records are left out.
    latest_by_key : bool or "deletes"
        Only the newest record of each key, if that is no delete, which a null value is: the table that a topic of
        changes describes, whether it is compacted or not. Keys are compared by their bytes, as brokers do; records
        without a key are left out. Of a key that is in several partitions, the record of the latest time counts. All
        is read before the first batch is there, and the newest records are held in memory; no others are decoded. With
        ``"deletes"`` the newest records that are deletes are there too: what a table that is kept elsewhere needs.
    progress : callable, optional
        Called while it is read, by the thread that reads, with how many offsets are behind and how many there are.
    config : mapping, optional
        Settings under the names of librdkafka or Java's clients. ``auto.offset.reset`` says what happens where offsets
        are gone: ``error`` (the default), or ``earliest`` or ``latest``, where reading goes on.

    Returns
    -------
    pyarrow.RecordBatchReader
        With ``errors="report"`` a pair of it and a `ReadReport`, which is complete when all was read. Each batch is of
        one partition, whose records are in order.

    Raises
    ------
    ConfigError
        For an unknown setting, with the nearest known one, and for other arguments that are none.
    KafkaError
        If the brokers refuse, fail, or do not answer in time; also while it is read.
    RecordError
        While it is read, with ``errors="raise"``: the first batch, key or value that cannot be read.

    Examples
    --------
    >>> from kcodec import JsonCodec, kafka
    >>> orders = kafka.read("orders", servers="broker:9092", value=JsonCodec("id BIGINT"))      # doctest: +SKIP
    >>> orders.read_all()                                                                       # doctest: +SKIP
    """
    settings = Settings.of(config, servers)
    isolation = check_isolation(isolation, settings)
    _check_latest(latest_by_key)
    check_positions(start, end)
    check_functions(progress=progress)
    report = ReadReport()
    made = Columns(
        settings, key=key, value=value, columns=columns, isolation=isolation, errors=errors, report=report
    )
    with ExitStack() as opened:
        cluster = opened.enter_context(Cluster(settings))
        ranges, lost = _plan(cluster, topics, start, end, isolation)
        note_lost(lost, report)
        made.begin(list(dict.fromkeys(each.topic for each in ranges)))
        told = None if progress is None else (progress, sum(each.size for each in ranges))
        read_all = partial(_newest, deletes=latest_by_key == "deletes") if latest_by_key else _all
        reader = _reader(opened, Fetcher(cluster, ranges, isolation), made, report, read_all, told)
    return (reader, report) if errors == "report" else reader


def read_matching(
    part: Range,
    look: "Look",
    *,
    key: "FormatLike | None" = None,
    value: "FormatLike | None" = None,
    columns: "Selection | None" = None,
    config: Mapping[str, Any] | None = None,
) -> pa.RecordBatchReader:
    """Read those records of a range for which a condition holds; of others only what it reads is decoded, or checked.

    The range has an end. The other arguments and the errors are those of `read`, with ``errors="raise"``.

    >>> from kcodec.kafka.conditions.where import Look, parse
    >>> look = Look(parse("value.id > 5", "where"), {"value.id": "value.id"}, pa.schema([("value.id", pa.int64())]))
    >>> part = Range("orders", 0, 0, 1000)
    >>> read_matching(part, look, value="AVRO", config={"bootstrap.servers": "broker:9092"})       # doctest: +SKIP
    """
    settings = Settings.of(config)
    report = ReadReport()
    made, first = (
        Columns(
            settings,
            key=key,
            value=value,
            columns=chosen,
            isolation=settings.isolation,
            errors="raise",
            report=report,
        ).begin([part.topic])
        for chosen in (columns, look.columns)
    )
    with ExitStack() as opened:
        cluster = opened.enter_context(Cluster(settings))
        ranges, _ = _plan(cluster, part, "earliest", "latest", settings.isolation)
        read_all = partial(_matching, first=first, look=look)
        return _reader(opened, Fetcher(cluster, ranges, settings.isolation), made, report, read_all, None)


def _reader(
    opened: ExitStack,
    fetcher: Fetcher,
    columns: Columns,
    report: ReadReport,
    read_all: _ReadAll,
    told: _Told | None,
) -> pa.RecordBatchReader:
    """Return what reads the columns, and closes at its end what is open."""
    batches = opened.enter_context(closing(_batches(fetcher, columns, report, read_all, told)))
    # A generator that has not begun ends without what is to be done at its end.
    next(batches)
    # As long as keys and values are null, it takes further ones to know of what type these are.
    held: list[pa.RecordBatch] = []
    left = _HELD_BYTES
    while columns.schema is None and left > 0 and (batch := next(batches, None)) is not None:
        held.append(batch)
        left -= size_of(batch)
    schema = columns.fix_schema()
    reader = stream(schema, itertools.chain((completed(each, schema) for each in held), batches))
    opened.pop_all()
    return reader


def _batches(
    fetcher: Fetcher, columns: Columns, report: ReadReport, read_all: _ReadAll, told: _Told | None
) -> Generator[pa.RecordBatch | None, None, None]:
    """Yield None, then the batches; end all threads and connections when the generator ends or is dropped."""
    try:
        yield None
        pieces = (piece for found in fetcher for piece in found)
        yield from read_all(pieces if told is None else _telling(pieces, *told), columns)
    finally:
        fetcher.close()
        note_lost(fetcher.take_lost(), report)


def _telling(pieces: Iterator[Piece], progress: Callable[[int, int], object], total: int) -> Iterator[Piece]:
    """Yield pieces, and tell what is behind them when the next one is asked for."""
    done = 0
    for piece in pieces:
        yield piece
        done += (piece.next if piece.end is None else min(piece.next, piece.end)) - piece.start
        progress(done, total)
    if done < total:
        # Offsets that are gone.
        progress(total, total)


def _all(pieces: Iterator[Piece], columns: Columns) -> Iterator[pa.RecordBatch]:
    for piece in pieces:
        for batch, _ in columns.read(piece):
            yield batch


def _newest(pieces: Iterator[Piece], columns: Columns, *, deletes: bool) -> Iterator[pa.RecordBatch]:
    newest = Newest()
    for piece in pieces:
        for records in columns.records(piece):
            newest.add(piece.place, records)
    for place, records in newest.take(deletes=deletes):
        yield columns.columns(place, records)


def _matching(
    pieces: Iterator[Piece], columns: Columns, *, first: Columns, look: "Look"
) -> Iterator[pa.RecordBatch]:
    for piece in pieces:
        for records in columns.records(piece):
            holds = look.holds(first.columns(piece.place, records))
            found = filtered(records.select(columns.needed), holds)
            if len(found):
                yield columns.columns(piece.place, found)


def note_lost(lost: list[Lost], report: ReadReport) -> None:
    """Report and log offsets that are gone."""
    report.lose(lost)
    for each in lost:
        logger.warning(
            "%s-%d: the offsets %d to %d are gone", each.topic, each.partition, each.start, each.end - 1
        )
