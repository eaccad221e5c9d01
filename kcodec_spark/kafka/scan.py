"""Reading topics: what is decided when a query is planned, and what its tasks do."""

import functools
import logging
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kcodec.columns.arrays.nested import cast_leaves
from kcodec.columns.types.fields import field_path
from kcodec.errors import ConfigError
from kcodec.kafka.conditions.condition import Condition, paths
from kcodec.kafka.conditions.narrow import narrowed
from kcodec.kafka.conditions.where import Look, column_at, empty, matching
from kcodec.kafka.connection.cluster import EARLIEST, LATEST, Cluster, TopicPartition
from kcodec.kafka.connection.error_codes import Code, broker_error
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.offsets import Range, plan_ranges, split_ranges, topics_of
from kcodec.kafka.report import ReadReport, RecordError
from kcodec.protocol.batch.schema import HEADERS
from kcodec_spark.kafka.options import STREAM, Bound, Given

if TYPE_CHECKING:
    from kcodec_spark.kafka.payload import Payload

__all__ = ["Scan", "load"]

logger = logging.getLogger("kcodec")

#: Plans that a worker keeps; workers serve one task after another.
_KEPT = 32


@dataclass(frozen=True)
class Scan:
    """How topics are read, with everything that was found out when the query was made."""

    topics: Any
    #: Settings of Kafka's client.
    config: Mapping[str, Any] = field(repr=False)
    given: Given
    #: As `kcodec.kafka.read` takes them: those that Spark gets, and then those that only the condition reads.
    columns: Mapping[str, str]
    #: What decodes keys and values, pickled: only tasks need it, not the process that finds the offsets of a stream.
    payloads: bytes = field(repr=False)
    is_permissive: bool
    #: Of all columns, as Spark takes them.
    schema: pa.Schema
    #: How many of them Spark gets.
    shown: int
    #: What holds for the rows that Spark gets; None for all.
    condition: Condition | None = None

    @property
    def settings(self) -> Settings:
        """The settings of Kafka's client, checked."""
        return Settings.of(self.config)

    @property
    def takes_filters(self) -> bool:
        """Whether filters of the query are taken in."""
        return self.given.flag("pushFilters", False)

    def ranges(self) -> list[Range]:
        """Find the offsets of a batch, split as is asked for."""
        given = self.given
        for name in STREAM:
            if name in given:
                logger.warning("%s is an option of streams: it does nothing in a batch", name)
        start, end = given.start("earliest"), given.end()
        _refuse(start, "latest", LATEST, "latest is for streams")
        _refuse(end, "earliest", EARLIEST, "earliest is no end")
        with Cluster(self.settings) as cluster:
            partitions = topics_of(cluster.partitions, self.topics)
            _check_order(start, end, partitions)
            if cluster.settings.reset != "error":
                end = _reached(cluster, partitions, start, end)
            found = self.narrowed(cluster, self.found(cluster, partitions, start, end))
        return self.split(found)

    def narrowed(self, cluster: Cluster, ranges: list[Range]) -> list[Range]:
        """Return what of ranges has all records that the condition holds for."""
        if self.condition is None:
            return ranges
        # A field of a value may have the name of another column.
        own = set(self.columns.values())
        return narrowed(
            cluster,
            ranges,
            self.condition,
            own & {"topic", "partition", "offset", "timestamp"},
            cluster.settings.isolation,
            in_order=self.given.flag("timestampsInOrder", False),
        )

    def split(self, ranges: Sequence[Range]) -> list[Range]:
        """Split ranges as is asked for; empty ones are left out."""
        given = self.given
        return split_ranges(
            ranges, min_parts=given.number("minPartitions"), max_count=given.number("maxRecordsPerPartition")
        )

    def found(
        self, cluster: Cluster, partitions: Sequence[TopicPartition], start: Bound, end: Bound | None
    ) -> list[Range]:
        """Find the offsets that are asked for."""
        for bound in (start, end):
            if bound is not None:
                _check_named(bound, partitions)
        ranges, lost = plan_ranges(
            cluster, partitions, start.at, None if end is None else end.at, cluster.settings.isolation
        )
        if lost:
            from kcodec.kafka.reading.topic_reader import note_lost

            note_lost(lost, ReadReport())
        if start.is_time and start.unmatched == "error":
            self._check_matched(cluster, partitions, start, ranges)
        return ranges

    def _check_matched(
        self, cluster: Cluster, partitions: Sequence[TopicPartition], start: Bound, ranges: Sequence[Range]
    ) -> None:
        """Raise if no record of a partition is as late as the time at which it was to start."""
        latest, _ = plan_ranges(cluster, partitions, "latest", None, cluster.settings.isolation)
        for each, last in zip(ranges, latest, strict=True):
            if each.start >= last.start:
                raise ConfigError(
                    f"{start.option}: {each.place} has no record of that time or later; with "
                    "startingOffsetsByTimestampStrategy=latest it starts at its end"
                )

    def read(self, part: Sequence[Any] | None) -> Iterator[pa.RecordBatch]:
        """Read a part of a partition; None stands for nothing, where Spark wants a part of it."""
        if part is None:
            return
        from kcodec.kafka.reading.topic_reader import read, read_matching

        key, value = _payloads(self.payloads)
        look = self._look()
        if look is not None:
            shown = pa.schema(list(self.schema)[: self.shown])
            for batch in read_matching(
                Range(*part), look, config=self.config, key=key, value=value, columns=self._shown_columns()
            ):
                yield _as_spark(batch, shown)
            return
        found = read(
            Range(*part),
            config=self.config,
            key=key,
            value=value,
            columns=self.columns,
            errors="report" if self.is_permissive else "raise",
        )
        reader, report = found if self.is_permissive else (found, ReadReport())
        for batch in reader:
            _log(report)
            rows = _as_spark(batch, self.schema)
            if self.condition is not None:
                rows = matching(self.condition, rows).select(range(self.shown))
            if len(rows):
                yield rows
        _log(report)

    def _look(self) -> Look | None:
        """Return how to tell first for which records the condition holds; None if whole rows are to be looked at."""
        # A bad value is null then, as a whole.
        if self.condition is None or self.is_permissive:
            return None
        kind = pa.struct(list(self.schema))
        rows = empty(self.schema)
        columns, fields = {}, []
        for path in dict.fromkeys(paths(self.condition)):
            first, *below = field_path(kind, path) or [""]
            source = self._source(first)
            # Headers that are null are not so before they are Spark's.
            if source is None or source == "headers":
                return None
            name = ".".join(path)
            columns[name] = ".".join((source, *below))
            fields.append(pa.field(name, column_at(rows, path).type))
        # Where a condition reads all that there is, nothing is gained.
        if set(columns.values()) >= set(self.columns.values()):
            return None
        return Look(self.condition, columns, pa.schema(fields))

    def _shown_columns(self) -> dict[str, str]:
        """Return the columns that Spark gets; each of those behind is one."""
        columns = list(self.columns.items())
        return dict(columns[: len(columns) - (len(self.schema) - self.shown)])

    def _source(self, name: str) -> str | None:
        """Return what a column is of records; None if that cannot be told."""
        if name in self.columns:
            return self.columns[name]
        whole = [each.removesuffix("*") for each in self.columns.values() if each.endswith(".*")]
        return f"{whole[0]}{name}" if len(whole) == 1 else None


@functools.lru_cache(maxsize=_KEPT)
def load(scan: bytes) -> Scan:
    """Return a scan that was pickled, once for each process."""
    return pickle.loads(scan)


@functools.lru_cache(maxsize=_KEPT)
def _payloads(pickled: bytes) -> tuple["Payload | None", "Payload | None"]:
    """Return what decodes keys and values, with the schemas that it has fetched, once for each process."""
    return pickle.loads(pickled)


def _log(report: ReadReport) -> None:
    """Log which batches are left out; reading itself has logged lost offsets."""
    for each in report.faults:
        if each.code not in ("offset_out_of_range", "log_truncated"):
            logger.warning("left out: %s", RecordError(each))
    report.faults.clear()


def _refuse(bound: Bound, word: str, offset: int, why: str) -> None:
    """Raise if a batch starts at ``latest`` or ends at ``earliest``, given as a word or as its offset."""
    if bound.at == word:
        raise ConfigError(f"{bound.option}: {why}")
    for place, at in _offsets(bound):
        if at == offset:
            raise ConfigError(f"{bound.option}: {place}: {offset}: {why}")


def _check_order(start: Bound, end: Bound, partitions: Sequence[TopicPartition]) -> None:
    """Raise if a partition is to start behind its end, as Spark does; offsets are not compared with times."""
    for place in partitions:
        first, last = _at(start, place), _at(end, place)
        if isinstance(first, int) and isinstance(last, int):
            # The end may be -1, the latest.
            is_behind = first > last >= 0
        elif isinstance(first, datetime) and isinstance(last, datetime):
            is_behind = first > last
        else:
            continue
        if is_behind:
            raise ConfigError(f"{place}: {start.option} is {first}, which is beyond {last} of {end.option}")


def _at(bound: Bound, place: TopicPartition) -> Any:
    """Return where a partition is to start or end: a word, an offset, a time; None if that is not given."""
    return bound.at.get(place.topic, {}).get(place.partition) if isinstance(bound.at, dict) else bound.at


def _reached(cluster: Cluster, partitions: Sequence[TopicPartition], start: Bound, end: Bound) -> Bound:
    """Return the end of a batch without offsets that are not there, as with Spark's failOnDataLoss=false.

    Where a batch starts has to be there all the same: what comes before is not what was asked for.
    """
    found, _ = plan_ranges(cluster, partitions, "latest", None, cluster.settings.isolation)
    latest = {each.place: each.start for each in found}
    for place, at in _offsets(start):
        if at > latest.get(place, at):
            text = f"it ends at {latest[place]}, before {at}"
            raise broker_error(Code.OFFSET_OUT_OF_RANGE, str(place), text)
    beyond = {place: at for place, at in _offsets(end) if at > latest.get(place, at)}
    if not beyond:
        return end
    ends = {topic: dict(by) for topic, by in end.at.items()}
    for place, at in beyond.items():
        logger.warning("%s: the offsets %d to %d are not there", place, latest[place], at - 1)
        ends[place.topic][place.partition] = latest[place]
    return replace(end, at=ends)


def _offsets(bound: Bound) -> list[tuple[TopicPartition, int]]:
    if bound.is_time or not isinstance(bound.at, dict):
        return []
    return [
        (TopicPartition(topic, number), at) for topic, by in bound.at.items() for number, at in by.items()
    ]


def _check_named(bound: Bound, partitions: Sequence[TopicPartition]) -> None:
    """Raise if offsets are given, but not of all partitions, as Spark does."""
    if not isinstance(bound.at, dict):
        return
    named = {TopicPartition(topic, number) for topic, at in bound.at.items() for number in at}
    missing = sorted(set(partitions) - named)
    if missing:
        raise ConfigError(f"{bound.option} does not name {missing[0]}: name all partitions that are read")


def _as_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if batch.schema.equals(schema):
        return batch
    arrays = [
        column if column.type == field.type else cast_leaves(_filled(column), field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _filled(column: pa.Array) -> pa.Array:
    """Return a column, null where it is that of the headers and there are none: so are they in Spark's own source."""
    if column.type != HEADERS:
        return column
    return pc.if_else(pc.equal(pc.list_value_length(column), 0), pa.scalar(None, HEADERS), column)
