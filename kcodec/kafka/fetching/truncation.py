"""Whether a log still has what was read of it, which a leader tells by the epochs of the leaders before (KIP-320).

Each batch says in which leader's epoch it was written. Where a replica that lacked some of them has become the leader
(an unclean election), it knows that the epoch ended sooner: what was read behind that end is gone, and the offsets are
those of other records.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kcodec.errors import KafkaError
from kcodec.kafka.connection.channel import Channel
from kcodec.kafka.connection.cluster import TopicPartition

_REQUEST = "OffsetForLeaderEpochRequest"
_CONSUMER = -1


class Epochs(NamedTuple):
    """What a partition is asked for: the leader's epoch as it is known, and the one that was read last."""

    leader: int
    read: int


class EpochEnd(NamedTuple):
    """What a leader answers: an error; or the last epoch up to the one asked for, and where it ends, -1 if unknown."""

    error: int
    epoch: int
    offset: int


def ask_epoch_ends(
    channel: Channel, wanted: Mapping[TopicPartition, Epochs]
) -> dict[TopicPartition, EpochEnd] | None:
    """Ask the leader of partitions where epochs end; None before Kafka 2.3, which tells it to other brokers only."""
    if not channel.knows(_REQUEST):
        return None
    topics: dict[str, list[dict[str, Any]]] = {}
    for place, epochs in wanted.items():
        topics.setdefault(place.topic, []).append(
            {
                "partition": place.partition,
                "currentLeaderEpoch": epochs.leader,
                "leaderEpoch": epochs.read,
            }
        )
    body = {
        "replicaId": _CONSUMER,
        "topics": [{"topic": topic, "partitions": partitions} for topic, partitions in topics.items()],
    }
    return dict(_answers(channel, channel.request(_REQUEST, body), wanted))


def _answers(
    channel: Channel, answer: dict[str, Any], wanted: Mapping[TopicPartition, Epochs]
) -> Iterable[tuple[TopicPartition, EpochEnd]]:
    left = set(wanted)
    for topic in answer["topics"]:
        for each in topic["partitions"]:
            place = TopicPartition(topic["topic"], each["partition"])
            if place not in left:
                raise KafkaError(f"broker {channel} answers for {place}, which it was not asked for")
            left.remove(place)
            yield place, EpochEnd(each["errorCode"], each["leaderEpoch"], each["endOffset"])
    for place in left:
        raise KafkaError(f"broker {channel} does not answer for {place}")
