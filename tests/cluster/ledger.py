"""What was written and what was read, as numbers; and whether both are what they have to be.

Each record's value is a number: that of its writer, times `WRITER`, and how many this one has written before.
"""

import threading
import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

WRITER = 10**12
#: What became of a call: its error may say nothing of whether the records were written.
ACKNOWLEDGED, ABORTED, UNKNOWN = "acknowledged", "aborted", "unknown"
_SECONDS = 90


class Call(NamedTuple):
    """A call that wrote some numbers, and what it said."""

    topic: str
    first: int
    end: int
    outcome: str
    error: str = ""


class Rows(NamedTuple):
    """Records of a topic, in the order in which they were read."""

    partition: Any
    offset: Any
    value: Any

    def __len__(self) -> int:
        return len(self.value)

    def of(self, partition: int) -> "Rows":
        return Rows(*(column[self.partition == partition] for column in self))


def rows(batches: list[pa.RecordBatch]) -> Rows:
    """Return the numbers of what kcodec has read."""
    if not batches:
        return Rows(*(np.empty(0, np.int64) for _ in range(3)))
    table = pa.Table.from_batches(batches)
    values = table["value"].cast(pa.string()).cast(pa.int64())
    return Rows(
        *(column.cast(pa.int64()).to_numpy() for column in (table["partition"], table["offset"], values))
    )


def numbers(first: int, count: int) -> pa.Table:
    """Return the records of so many numbers; equal keys are of the same partition."""
    found = range(first, first + count)
    return pa.table(
        {"key": [b"k%d" % (each % 97) for each in found], "value": [b"%d" % each for each in found]}
    )


class Ledger:
    """What all writers did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls: list[Call] = []

    def add(self, call: Call) -> None:
        with self._lock:
            self.calls.append(call)

    def of(self, topic: str) -> list[Call]:
        with self._lock:
            return [call for call in self.calls if call.topic == topic]


def whole(address: str, topic: str, isolation: str) -> Rows:
    """Read a topic from its beginning to its end with librdkafka."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "check",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    places = consumer.list_topics(topic, _SECONDS).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in places])
    found, left, end = [], set(places), time.monotonic() + _SECONDS
    while left:
        assert time.monotonic() < end, f"librdkafka has not come to the ends of {topic}: {left}"
        for message in consumer.consume(10_000, 0.2):
            if message.error() is None:
                found.append((message.partition(), message.offset(), int(message.value())))
            elif message.error().name() == "_PARTITION_EOF":
                left.discard(message.partition())
    consumer.close()
    table = np.array(found, np.int64).reshape(-1, 3)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    return Rows(*table.T)


def check_written(calls: list[Call], log: Rows) -> list[str]:
    """Return what is wrong with a log: acknowledged is what is there once, in its writers' order."""
    topic = calls[0].topic if calls else ""
    times = Counter(log.value.tolist())
    wrong = []
    for call in calls:
        seen = [times.pop(number, 0) for number in range(call.first, call.end)]
        lost, twice = seen.count(0), sum(each > 1 for each in seen)
        if call.outcome == ACKNOWLEDGED and lost:
            wrong.append(f"{topic}: {lost} acknowledged records are lost, of {call}")
        if twice:
            wrong.append(f"{topic}: {twice} records are there twice, of {call}")
        if call.outcome == ABORTED and lost < len(seen):
            wrong.append(f"{topic}: {len(seen) - lost} records of an aborted transaction, of {call}")
    if times:
        wrong.append(f"{topic}: {len(times)} records that nobody wrote")
    is_sure = np.isin(log.value // WRITER, np.unique(log.value // WRITER))
    for call in calls:
        if call.outcome == UNKNOWN:
            is_sure &= (log.value < call.first) | (log.value >= call.end)
    for partition in np.unique(log.partition):
        of = Rows(*(column[is_sure] for column in log)).of(partition)
        for writer in np.unique(of.value // WRITER):
            if (np.diff(of.value[of.value // WRITER == writer]) <= 0).any():
                wrong.append(f"{topic}-{partition}: the records of writer {writer} are not in order")
    return wrong


def check_whole_calls(calls: list[Call], log: Rows) -> list[str]:
    """Return transactions of which some records are visible, and others are not."""
    there = np.sort(log.value)
    counts = [np.searchsorted(there, call.end) - np.searchsorted(there, call.first) for call in calls]
    return [
        f"{call.topic}: {count} of the records of one transaction, {call}"
        for call, count in zip(calls, counts, strict=True)
        if count not in (0, call.end - call.first)
    ]


def check_read(
    what: str, read: Rows, log: Rows, start: dict[int, int], end: dict[int, int] | None = None
) -> list[str]:
    """Return what is wrong with what was read from a start to an end, or as far as it came."""
    wrong = []
    for partition, first in start.items():
        got, there = read.of(partition), log.of(partition)
        last = None if end is None else end[partition]
        if last is None:
            last = int(got.offset[-1]) + 1 if len(got) else first
        is_within = (there.offset >= first) & (there.offset < last)
        if np.array_equal(got.offset, there.offset[is_within]) and np.array_equal(
            got.value, there.value[is_within]
        ):
            continue
        missing = np.setdiff1d(there.offset[is_within], got.offset)
        more = np.setdiff1d(got.offset, there.offset[is_within])
        again = len(got) - len(np.unique(got.offset))
        wrong.append(
            f"{what}: partition {partition} from {first} to {last}: {len(missing)} missing (first {missing[:1]}), "
            f"{len(more)} that are not there (first {more[:1]}), {again} again"
        )
    return wrong
