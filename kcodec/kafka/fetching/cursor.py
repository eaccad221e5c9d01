"""Where a partition is read: what is next, what it waits for, and of which leader it is known."""

import time
from typing import Any

import numpy as np

from kcodec.errors import KafkaError
from kcodec.kafka.connection.cluster import MAX_OFFSET, UNKNOWN_TRIES, Cluster
from kcodec.kafka.connection.error_codes import TOPIC_RECREATED, Code
from kcodec.kafka.offsets import Range

#: How often leaders must say that there is no such offset, others being asked in between who leads.
_MISSING_TRIES = 3

# Bytes that an offset is taken for at first, and the fewest to ask for, as a request has its price, too.
_FIRST_GUESS, _FEWEST_BYTES = 1 << 10, 64 << 10


class Cursor:
    """Where a partition is read. `epoch` is that of the record before, -1 if it is unknown."""

    def __init__(self, cluster: Cluster, given: Range, epoch: int) -> None:
        self.place = given.place
        #: Of the topic whose offsets these are.
        self.topic_id = cluster.topic_id(given.topic)
        self.next = given.start
        self.end = given.end
        self.max_bytes = min(cluster.settings.partition_bytes, cluster.settings.fetch_bytes)
        #: Bytes of an offset, as far as is known.
        self.per_offset = float(_FIRST_GUESS)
        self.deadline = cluster.deadline()
        #: Why nothing can be asked for, if so, and until when.
        self.error: KafkaError | None = None
        self.not_before = 0.0
        self.unknown = 0
        #: How often its leader has said that there is no such offset.
        self.missing = 0
        #: Of the last batch that was read, and of the leader that was known to have it.
        self.epoch = epoch
        self.leader_epoch = -1
        #: Another broker that has the partition, nearer than the leader, and until when it is asked.
        self.replica: int | None = None
        self.replica_until = 0.0
        #: Another range of the partition, which is read when this one is at its end: a request has each partition once.
        self.following: Cursor | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether brokers have said often enough that the topic does not exist."""
        return self.unknown >= UNKNOWN_TRIES

    @property
    def is_missing(self) -> bool:
        """Whether brokers have said often enough that the offset does not exist."""
        return self.missing >= _MISSING_TRIES

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to read."""
        return self.is_deleted or (self.end is not None and self.next >= self.end)

    @property
    def wanted_bytes(self) -> int:
        """How many bytes to ask for. Brokers do not know where a range ends: what they send beyond it is wasted."""
        if self.end is None:
            return self.max_bytes
        # A quarter more, as a batch that is cut off takes a request of its own.
        left = (self.end - self.next) * self.per_offset * 1.25
        return int(min(max(left, _FEWEST_BYTES), self.max_bytes))

    def fail(self, error: KafkaError, may_be_deleted: bool) -> None:
        """Remember an error that may pass; raise it if there is no time left, or if it cannot pass."""
        self.unknown += error.code == Code.UNKNOWN_TOPIC_OR_PARTITION or error.name == TOPIC_RECREATED
        if self.is_deleted:
            if may_be_deleted:
                return
            raise error
        self.not_before = time.monotonic() + self.deadline.pause(error)
        self.error = error

    def advance(self, to: int) -> None:
        """Go on at an offset."""
        self.next = to
        self.unknown = self.missing = 0
        self.deadline.restart()


def in_order(headers: Any, cursor: Cursor) -> int:
    """Return the offset behind the batches; raise if one begins before the end of another, which no log has."""
    first, last = headers["offset"], headers["offset"] + headers["last_delta"]
    # The sum may have no room, or the offset behind it.
    none = np.flatnonzero((last < first) | (last == MAX_OFFSET))
    if len(none):
        row = int(none[0])
        raise KafkaError(
            f"{cursor.place}: the batch at offset {first[row]} is to end {headers['last_delta'][row]} behind it"
        )
    behind = np.flatnonzero((first[1:] <= first[:-1]) | (first[1:] <= last[:-1]))
    if len(behind):
        row = int(behind[0])
        raise KafkaError(
            f"{cursor.place}: the batch at offset {first[row + 1]} follows that of {first[row]} to {last[row]}"
        )
    return int(last[-1]) + 1
