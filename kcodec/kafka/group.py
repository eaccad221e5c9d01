"""The offsets of a group without members, as ``kafka-consumer-groups`` shows them."""

from collections.abc import Iterable, Mapping
from typing import Any

from kcodec.kafka.cluster import Cluster, TopicPartition, by_topic
from kcodec.kafka.error_codes import broker_error

__all__ = ["commit_offsets", "fetch_offsets"]


def _ask(cluster: Cluster, group: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
    """Ask the coordinator of a group, as long as an error in its answer may pass."""

    def attempt() -> dict[str, Any]:
        broker = cluster.coordinator(group)
        answer = cluster.channel(broker, "group").request(name, {"groupId": group, **body})
        codes = {f"group {group!r}": answer.get("errorCode", 0)}
        for topic in answer["topics"]:
            for each in topic["partitions"]:
                codes[f"group {group!r}, {topic['name']}-{each['partitionIndex']}"] = each["errorCode"]
        for place, code in codes.items():
            if code:
                raise broker_error(code, place)
        return answer

    return cluster.retry(attempt)


def commit_offsets(cluster: Cluster, group: str, positions: Mapping[str, Mapping[int, int]]) -> None:
    """Commit offsets as a consumer does that chooses its partitions itself."""
    topics = [
        {
            "name": topic,
            "partitions": [
                {"partitionIndex": number, "committedOffset": offset, "committedMetadata": ""}
                for number, offset in offsets.items()
            ],
        }
        for topic, offsets in positions.items()
        if offsets
    ]
    if topics:
        _ask(
            cluster,
            group,
            "OffsetCommitRequest",
            {"generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics},
        )


def fetch_offsets(
    cluster: Cluster, group: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the committed offsets of those partitions that have one."""
    topics = [{"name": name, "partitionIndexes": numbers} for name, numbers in by_topic(partitions).items()]
    if not topics:
        return {}
    answer = _ask(cluster, group, "OffsetFetchRequest", {"topics": topics})
    found = {
        TopicPartition(topic["name"], each["partitionIndex"]): each["committedOffset"]
        for topic in answer["topics"]
        for each in topic["partitions"]
    }
    return {place: offset for place, offset in found.items() if offset >= 0}
