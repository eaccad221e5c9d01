"""Following topics: the offsets of each micro-batch, kept in the form of Spark's own Kafka source."""

import logging
import time
from collections.abc import Mapping
from typing import Any

from kcodec.errors import ConfigError, KafkaError
from kcodec.kafka.connection.cluster import LATEST, Cluster, TopicPartition
from kcodec.kafka.offsets import Range, limit_ranges, plan_ranges, topics_of
from kcodec_spark.kafka.options import Bound
from kcodec_spark.kafka.scan import Scan, load

__all__ = ["Stream", "stream"]

logger = logging.getLogger("kcodec")

#: As Spark's source has it in its checkpoint: ``{"orders": {"0": 23}}``.
Offsets = dict[str, dict[str, int]]
Positions = dict[TopicPartition, int]


class Stream:
    """What a stream asks of the brokers, on connections that it keeps.

    `max_offsets` and `min_offsets` are what each trigger is to read, at most and at least; None if that is not limited.
    """

    def __init__(self, scan: Scan) -> None:
        given = scan.given
        given.refuse_ends()
        self._scan = scan
        self._start = given.start("latest")
        self.max_offsets = given.number("maxOffsetsPerTrigger")
        self.min_offsets = given.number("minOffsetsPerTrigger")
        self._max_delay = given.milliseconds("maxTriggerDelay", "15m") / 1000
        if self.min_offsets and self.max_offsets and self.min_offsets > self.max_offsets:
            raise ConfigError("minOffsetsPerTrigger is more than maxOffsetsPerTrigger")
        self._fails = given.flag("failOnDataLoss", True)
        self._cluster = Cluster(scan.settings)
        #: Where the stream starts, until its first batch is planned.
        self._first: list[Range] = []
        #: Where the stream ends, if it reads what there was at its beginning.
        self._final: Positions | None = None
        self._reported: Positions | None = None
        self._triggered = time.monotonic()
        #: Of the topics that this stream has seen; what it read before it was started anew may be of others.
        self._ids: dict[str, bytes | None] = {}

    def close(self) -> None:
        """Close all connections."""
        self._cluster.close()

    def initial(self) -> Offsets:
        """Return where the stream starts."""
        end = Bound("endingOffsets", "latest")
        self._first = self._scan.found(self._cluster, self._partitions(), self._start, end)
        if self._final is not None:
            # Spark asks for it first, and more may have come since.
            self._final |= {
                each.place: max(each.start, self._final.get(each.place, 0)) for each in self._first
            }
        return _offsets({each.place: each.start for each in self._first})

    def latest(self, start: Mapping[str, Any] | None, is_limited: bool) -> Offsets:
        """Return where the next micro-batch ends, if it starts at offsets."""
        latest = self._latest()
        self._reported = latest
        if self._final is not None:
            latest = {
                place: min(at, self._final[place]) for place, at in latest.items() if place in self._final
            }
        # Spark keeps where batches end, not where a stream starts. One that starts at the latest offset is started anew
        # at a later one if its first batch fails: that has nothing of it, so that nothing is passed over.
        latest |= {each.place: each.start for each in self._first if not each.size}
        self._first = []
        if start is None and self.max_offsets is not None:
            raise ConfigError("maxOffsetsPerTrigger needs Spark 4.2 or newer")
        if start is None or not is_limited:
            return _offsets(latest)
        before = _positions(start)
        ranges = self._ranges(before, latest)
        if self.min_offsets is not None and self._final is None:
            now = time.monotonic()
            if (
                sum(each.size for each in ranges) < self.min_offsets
                and now < self._triggered + self._max_delay
            ):
                return _offsets(before)
            self._triggered = now
        if self.max_offsets is not None:
            ends = {each.place: each.end or 0 for each in limit_ranges(ranges, self.max_offsets)}
            latest = {place: ends.get(place, at) for place, at in latest.items()}
        return _offsets(latest)

    def reported(self) -> Offsets | None:
        """Return the ends of the partitions, as they were last asked for."""
        return None if self._reported is None else _offsets(self._reported)

    def finish_here(self) -> None:
        """Read up to the present ends, and nothing that comes later."""
        self._final = self._latest()

    def parts(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[Range]:
        """Return the parts of a micro-batch."""
        before, after = _positions(start), _positions(end)
        if self._first:
            # It is the first batch of an earlier run, which started where there was less.
            before = {place: min(at, after[place]) for place, at in before.items() if place in after}
            self._first = []
        for place in sorted(set(before) - set(after)):
            self._lose(f"{place} was read up to offset {before[place]}, and is gone")
        ranges = self._scan.narrowed(self._cluster, self._ranges(before, after, is_final=True))
        return self._scan.split(ranges)

    def _ranges(self, before: Positions, after: Positions, is_final: bool = False) -> list[Range]:
        """Return the ranges between positions; new partitions start at their first offset."""
        added = sorted(set(after) - set(before))
        starts = dict(before)
        for each in plan_ranges(self._cluster, added, "earliest", None, self._isolation)[0] if added else ():
            starts[each.place] = each.start
            if each.start and is_final:
                self._lose(f"{each.place} is new, and starts at offset {each.start}")
        found = []
        for place, end in sorted(after.items()):
            if end < starts[place] and is_final:
                self._lose(f"{place} ends at offset {end}, and was read up to {starts[place]}")
            found.append(Range(*place, min(starts[place], end), end))
        return found

    @property
    def _isolation(self) -> str:
        return self._cluster.settings.isolation

    def _partitions(self) -> list[TopicPartition]:
        found = topics_of(self._cluster.partitions, self._scan.topics)
        for topic in {each.topic for each in found}:
            topic_id = self._cluster.topic_id(topic)
            if self._ids.setdefault(topic, topic_id) != topic_id:
                self._ids[topic] = topic_id
                self._lose(f"topic {topic!r} was deleted and made anew")
        return found

    def _latest(self) -> Positions:
        partitions = self._partitions()
        found = self._cluster.offsets(dict.fromkeys(partitions, LATEST), self._isolation)
        return {place: found[place][0] for place in partitions}

    def _lose(self, what: str) -> None:
        if self._fails:
            raise KafkaError(
                f"{what}: some data may have been lost; with failOnDataLoss=false the stream goes on"
            )
        logger.warning("%s: some data may have been lost", what)


def stream(scan: bytes) -> Stream:
    """Return the stream of a scan that was pickled."""
    return Stream(load(scan))


def _positions(offsets: Mapping[str, Any]) -> Positions:
    return {
        TopicPartition(topic, int(number)): int(at)
        for topic, by in offsets.items()
        for number, at in by.items()
    }


def _offsets(positions: Positions) -> Offsets:
    found: Offsets = {}
    for place, at in sorted(positions.items()):
        found.setdefault(place.topic, {})[str(place.partition)] = at
    return found
