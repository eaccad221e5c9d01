"""The offsets of a group without members, as ``kafka-consumer-groups`` shows them."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kcodec.errors import KafkaError
from kcodec.kafka.connection.cluster import Cluster, TopicPartition, by_topic
from kcodec.kafka.connection.error_codes import Code, broker_error


class Committed(NamedTuple):
    """An offset of a group, and the epoch of the leader that took the record before it, -1 if that is unknown."""

    offset: int
    epoch: int


def _ask(
    cluster: Cluster, group: str, name: str, body: dict[str, Any], places: Iterable[TopicPartition] | None
) -> dict[TopicPartition, dict[str, Any]]:
    """Ask the coordinator of a group, as long as an error may pass; return its answers for partitions, None for all."""
    wanted = None if places is None else set(places)

    def attempt(end: float) -> dict[TopicPartition, dict[str, Any]]:
        broker = cluster.coordinator(group, end)
        answer = cluster.channel(broker, "group", end).request(name, {"groupId": group, **body}, end)
        if answer.get("errorCode"):
            raise broker_error(answer["errorCode"], f"group {group!r}")
        found = {
            TopicPartition(topic["name"], each["partitionIndex"]): each
            for topic in answer["topics"]
            for each in topic["partitions"]
        }
        for place, each in found.items():
            if each["errorCode"]:
                why = "the group has members, and only they commit its offsets"
                is_foreign = each["errorCode"] == Code.UNKNOWN_MEMBER_ID
                raise broker_error(
                    each["errorCode"], f"group {group!r}, {place}", why if is_foreign else None
                )
        if wanted is not None and wanted != set(found):
            raise KafkaError(f"broker {broker} answers for other partitions than it was asked for")
        return found

    return cluster.retry(attempt)


def commit_offsets(
    cluster: Cluster,
    group: str,
    positions: Mapping[str, Mapping[int, int]],
    epochs: Mapping[TopicPartition, int] = MappingProxyType({}),
) -> None:
    """Commit offsets as a consumer that chooses its own partitions does, with the leaders' epochs where known."""
    topics = [
        {
            "name": topic,
            "partitions": [
                {
                    "partitionIndex": number,
                    "committedOffset": offset,
                    "committedLeaderEpoch": epochs.get(TopicPartition(topic, number), -1),
                    "committedMetadata": "",
                }
                for number, offset in offsets.items()
            ],
        }
        for topic, offsets in positions.items()
        if offsets
    ]
    if topics:
        places = [TopicPartition(topic, number) for topic, offsets in positions.items() for number in offsets]
        body = {"generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
        _ask(cluster, group, "OffsetCommitRequest", body, places)


def fetch_offsets(cluster: Cluster, group: str) -> dict[TopicPartition, int]:
    """Return the committed offsets of all partitions that have one."""
    return {place: found.offset for place, found in fetch_commits(cluster, group).items()}


def fetch_commits(
    cluster: Cluster, group: str, partitions: Sequence[TopicPartition] | None = None
) -> dict[TopicPartition, Committed]:
    """Return the committed offsets of partitions that have one, by default of all."""
    topics = None
    if partitions is not None:
        topics = [
            {"name": name, "partitionIndexes": numbers} for name, numbers in by_topic(partitions).items()
        ]
        if not topics:
            return {}
    found = _ask(cluster, group, "OffsetFetchRequest", {"topics": topics}, partitions)
    return {
        place: Committed(each["committedOffset"], each.get("committedLeaderEpoch", -1))
        for place, each in found.items()
        if each["committedOffset"] >= 0
    }
