"""What topics a cluster has."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kcodec.arguments import Servers, Topics
from kcodec.errors import KafkaError
from kcodec.kafka.connection.cluster import Cluster, TopicPartition, by_topic
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.offsets import led_bounds, topics_of

_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("leader", pa.int32()),
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("size", pa.int64()),
    ]
)


def list_topics(
    topics: Topics = "^.*", *, servers: "Servers | None" = None, config: Mapping[str, Any] | None = None
) -> pa.Table:
    """List partitions with their offsets and sizes.

    Parameters
    ----------
    topics, servers, config
        As for `read`; by default all topics but internal ones.

    Returns
    -------
    pyarrow.Table
        One row a partition: ``topic``, ``partition``, ``leader`` (the broker's id), ``start`` and ``end`` (the first
        offset, and the one behind the last), ``size`` (bytes of its log at the leader; null if the
        broker does not tell). Where a partition has no leader now, these are null.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.list_topics(servers="broker:9092").to_pylist()                                    # doctest: +SKIP
    [{'topic': 'orders', 'partition': 0, 'leader': 1, 'start': 0, 'end': 1000, 'size': 65536}]
    """
    with Cluster(Settings.of(config, servers)) as cluster:
        partitions = topics_of(cluster.partitions, topics)
        starts, ends = led_bounds(cluster, partitions)
        sizes = _sizes(cluster, list(starts))
        rows = [
            {
                "topic": place.topic,
                "partition": place.partition,
                "leader": cluster.leader(place).broker if place in starts else None,
                "start": starts.get(place),
                "end": ends.get(place),
                "size": sizes.get(place),
            }
            for place in partitions
        ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def _sizes(cluster: Cluster, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Ask leaders for the sizes of their logs; none come from brokers that refuse or cannot answer."""
    found: dict[TopicPartition, int] = {}
    for broker, places in cluster.leaders(partitions).items():
        topics = [{"topic": topic, "partitions": numbers} for topic, numbers in by_topic(places).items()]
        try:
            answer = cluster.channel(broker, "sizes").request("DescribeLogDirsRequest", {"topics": topics})
        except KafkaError:
            continue
        for folder in answer["results"]:
            for topic in folder["topics"]:
                for each in topic["partitions"]:
                    if not each["isFutureKey"]:
                        found[TopicPartition(topic["name"], each["partitionIndex"])] = each["partitionSize"]
    return found
