"""Metadata responses as columns: a cluster may have millions of partitions, and a broker may say so."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec.errors import KafkaError
from kcodec.kafka.connection.error_codes import Code

#: More than any cluster has.
_MOST_BROKERS = 1 << 16


class Topic(NamedTuple):
    """A topic as metadata tell of it; `topic_id` is None where brokers have none.

    Partitions are in order, as arrays of the same length; the epoch of a leader is -1 where it is unknown.
    """

    name: str
    code: int
    topic_id: bytes | None
    partitions: Any
    leaders: Any
    epochs: Any

    def leader(self, partition: int) -> tuple[int, int]:
        """Return the leader of a partition and its epoch; -1 if there is none.

        >>> Topic("t", 0, None, np.array([0, 2]), np.array([7, 8]), np.array([1, 1])).leader(2)
        (8, 1)
        """
        at = int(np.searchsorted(self.partitions, partition))
        if at == len(self.partitions) or self.partitions[at] != partition:
            return -1, -1
        return int(self.leaders[at]), int(self.epochs[at])

    def since(self, known: "Topic | None") -> "Topic":
        """Return the same with the leaders of what was known before where their epochs are later.

        A broker that was out of touch for a while tells of leaders of earlier days, and may take itself for one.

        >>> now = Topic("t", 0, None, np.array([0, 1]), np.array([7, 8]), np.array([4, 2]))
        >>> now.since(Topic("t", 0, None, np.array([1, 2]), np.array([9, 9]), np.array([3, 3]))).leaders.tolist()
        [7, 9]
        """
        if known is None or known.topic_id != self.topic_id or not len(known.partitions):
            return self
        at = np.minimum(np.searchsorted(known.partitions, self.partitions), len(known.partitions) - 1)
        later = (known.partitions[at] == self.partitions) & (known.epochs[at] > self.epochs)
        # Brokers of old versions have no epochs to compare.
        later &= self.epochs >= 0
        if not later.any():
            return self
        return self._replace(
            leaders=np.where(later, known.leaders[at], self.leaders),
            epochs=np.where(later, known.epochs[at], self.epochs),
        )


def read_brokers(answer: pa.StructArray) -> dict[int, tuple[str, int]]:
    """Return the addresses of the brokers that a response names, leaving out invalid ones."""
    brokers = answer.field("brokers").flatten()
    if len(brokers) > _MOST_BROKERS:
        raise KafkaError(f"a broker says that its cluster has {len(brokers)} brokers")
    return {
        each["nodeId"]: (each["host"], each["port"])
        for each in brokers.to_pylist()
        if 0 < each["port"] < 65536
    }


def read_topics(answer: pa.StructArray, asked: int | None) -> Iterator[Topic]:
    """Yield the topics of a response to a request for so many; of one for all, those that are neither internal nor bad.

    Raise `KafkaError` if there are more than were asked for, or of partitions that no topic has.
    """
    topics = answer.field("topics").flatten()
    if asked is not None and len(topics) > asked:
        raise KafkaError(f"a broker answers for {len(topics)} topics, and was asked for {asked}")
    lists = topics.field("partitions")
    edges = _numbers(lists.offsets, np.int32)
    codes = _numbers(topics.field("errorCode"), np.int16)
    # Every topic has partitions.
    codes = np.where((codes == 0) & (np.diff(edges) == 0), Code.LEADER_NOT_AVAILABLE.value, codes)
    kept = np.arange(len(topics))
    if asked is None:
        is_internal = np.array(topics.field("isInternal").to_pylist(), bool)
        kept = np.flatnonzero((codes == 0) & ~is_internal)
    values = lists.values
    columns = [_numbers(values.field(name), np.int32) for name in ("partitionIndex", "leaderId")]
    columns.append(
        _numbers(values.field("leaderEpoch"), np.int32)
        if values.type.get_field_index("leaderEpoch") >= 0
        else np.full(len(values), -1)
    )
    has_ids = topics.type.get_field_index("topicId") >= 0
    for row in kept.tolist():
        numbers, leaders, epochs = (column[edges[row] : edges[row + 1]] for column in columns)
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        name = topics.field("name")[row].as_py() or ""
        if len(numbers) and (numbers[0] < 0 or (numbers[1:] == numbers[:-1]).any()):
            raise KafkaError(f"a broker names a partition of {name!r} twice, or one that is negative")
        topic_id = topics.field("topicId")[row].as_py() if has_ids else b""
        yield Topic(
            name,
            int(codes[row]),
            topic_id if any(topic_id) else None,
            numbers,
            leaders[order],
            epochs[order],
        )


def _numbers(array: pa.Array, kind: Any) -> Any:
    # Not to_numpy, which loads pandas where that is installed.
    if not len(array):
        return np.empty(0, kind)
    return np.frombuffer(array.buffers()[1], kind, array.offset + len(array))[array.offset :]
