"""The newest record of each key: what compaction of a topic would leave, and deletes none of."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.kafka.connection.cluster import TopicPartition

#: Of records, what columns are made of.
_COLUMNS = ["key", "value", "headers", "offset", "timestamp", "timestamp_type"]
#: Of records that may be old, before these are looked for.
_BYTES = 64 << 20


class Newest:
    """Keeps the newest record of each key of some topics: add all records, then take those that are left.

    Keys are compared by their bytes, as brokers do where they compact. Within a partition the later offset is newer. A
    key that is in several partitions of a topic, as it is where partitions were added, has the record of the latest
    time. Memory is that of the newest records, and of as many bytes again, or 64 MiB.
    """

    def __init__(self) -> None:
        self._kept: dict[TopicPartition, list[pa.RecordBatch]] = {}
        self._size = 0
        self._most = _BYTES

    def add(self, place: TopicPartition, records: pa.RecordBatch) -> None:
        """Add records of a partition, which come in its order; those without a key are left out."""
        # Copies, so that no response is kept for the few records of it that are.
        records = records.select(_COLUMNS)
        for number, name in enumerate(_COLUMNS[:2]):
            records = records.set_column(number, name, records.column(name).cast(pa.binary()))
        if records.column("key").null_count:
            records = records.filter(records.column("key").is_valid())
        if not len(records):
            return
        self._kept.setdefault(place, []).append(records)
        self._size += records.nbytes
        if self._size > self._most:
            self._size = sum(map(self._shrink, list(self._kept)))
            self._most = max(2 * self._size, self._size + _BYTES)

    def _shrink(self, place: TopicPartition) -> int:
        """Forget what is not the newest of its key in a partition; return the bytes of what is left."""
        batches = self._kept[place]
        keys = pa.chunked_array([batch.column("key") for batch in batches])
        self._kept[place] = found = _only(batches, _highest(keys, np.arange(len(keys))))
        return sum(batch.nbytes for batch in found)

    def take(self, *, deletes: bool = False) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
        """Yield the newest records, with or without deletes, of each partition in their order; they are forgotten."""
        for place in self._kept:
            self._shrink(place)
        for topic in dict.fromkeys(place.topic for place in self._kept):
            places = sorted(place for place in self._kept if place.topic == topic)
            if len(places) > 1:
                self._newest_of_topic(places)
            for place in places:
                for batch in self._kept.pop(place):
                    found = batch if deletes else batch.filter(batch.column("value").is_valid())
                    if len(found):
                        yield place, found

    def _newest_of_topic(self, places: list[TopicPartition]) -> None:
        """Of a key that is in several partitions, leave the record of the latest time; of the same, the last one's."""
        batches = [batch for place in places for batch in self._kept[place]]
        if not batches:
            return
        keys = pa.chunked_array([batch.column("key") for batch in batches])
        # Records without a time come before all others.
        times = [pc.fill_null(batch.column("timestamp").cast(pa.int64()), -(1 << 63)) for batch in batches]
        order = np.argsort(pa.chunked_array(times).to_numpy(), kind="stable")
        ranks = np.empty(len(keys), np.int64)
        ranks[order] = np.arange(len(keys))
        wanted = np.zeros(len(keys), bool)
        wanted[order[_highest(keys, ranks)]] = True
        first = 0
        for place in places:
            batches = self._kept[place]
            count = sum(map(len, batches))
            self._kept[place] = _only(batches, np.flatnonzero(wanted[first : first + count]))
            first += count


def _highest(keys: pa.ChunkedArray, ranks: Any) -> Any:
    found = pa.table({"key": keys, "rank": ranks}).group_by("key").aggregate([("rank", "max")])
    return found["rank_max"].to_numpy()


def _only(batches: list[pa.RecordBatch], rows: Any) -> list[pa.RecordBatch]:
    """Return some rows of batches, counted over all of them, in their order."""
    wanted = np.zeros(sum(map(len, batches)), bool)
    wanted[rows] = True
    found, first = [], 0
    for batch in batches:
        part = wanted[first : first + len(batch)]
        first += len(batch)
        if part.any():
            found.append(batch.filter(pa.array(part)))
    return found
