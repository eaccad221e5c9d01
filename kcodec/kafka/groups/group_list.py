"""Groups of consumers: which there are, how far they are, who their members are; and their offsets, set anew."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kcodec.arguments import Position, Servers, Topics
from kcodec.errors import ConfigError, KafkaError, check_booleans, check_kind, one_line
from kcodec.kafka.connection.cluster import Cluster, TopicPartition
from kcodec.kafka.connection.error_codes import broker_error
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.groups.group import commit_offsets, fetch_offsets
from kcodec.kafka.offsets import (
    check_positions,
    is_by_partition,
    led_bounds,
    plan_ranges,
    positions_of,
    topics_of,
)

#: States of a group whose offsets nobody else commits.
_AT_REST = ("Empty", "Dead")
_LISTED = pa.schema([("group", pa.string()), ("state", pa.string()), ("members", pa.int32())])
_MEMBERS = pa.schema([("member", pa.string()), ("client", pa.string()), ("host", pa.string())])
_PLACE = [("topic", pa.string()), ("partition", pa.int32())]
_LAG = pa.schema([*_PLACE, *((name, pa.int64()) for name in ("committed", "start", "end", "lag"))])
_GROUPS = pa.schema([("group", pa.string()), ("partition", pa.int32()), *list(_LAG)[2:]])
_RESET = pa.schema([*_PLACE, ("committed", pa.int64()), ("offset", pa.int64())])


def list_groups(*, servers: "Servers | None" = None, config: Mapping[str, Any] | None = None) -> pa.Table:
    """List the groups of consumers.

    Parameters
    ----------
    servers, config
        As for `read`.

    Returns
    -------
    pyarrow.Table
        ``group``, its ``state`` (``Stable``, ``Empty``, ...) and number of ``members``; null where the broker does not
        tell, as of the groups of Kafka's newer consumer protocol (KIP-848).

    Raises
    ------
    ConfigError, KafkaError
        As for `read`.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.list_groups(servers="broker:9092").to_pylist()                                    # doctest: +SKIP
    [{'group': 'totals', 'state': 'Empty', 'members': 0}]
    """
    with Cluster(Settings.of(config, servers)) as cluster:
        rows = []
        for name in _names(cluster):
            try:
                found = _described(cluster, name)
            except KafkaError:
                found = None
            told = found is not None and found["groupState"] not in ("", "Dead")
            state, members = (found["groupState"], len(found["members"])) if found and told else (None, None)
            rows.append({"group": name, "state": state, "members": members})
    return pa.Table.from_pylist(rows, _LISTED)


def group_members(
    group: str, *, servers: "Servers | None" = None, config: Mapping[str, Any] | None = None
) -> pa.Table:
    """List the members of a group.

    Parameters
    ----------
    group : str
        Its name.
    servers, config
        As for `read`.

    Returns
    -------
    pyarrow.Table
        ``member`` (the id that the coordinator gave it), ``client`` and ``host``.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.group_members("totals", servers="broker:9092").num_rows                           # doctest: +SKIP
    3
    """
    check_kind(str, "the name of a group", group=group)
    with Cluster(Settings.of(config, servers)) as cluster:
        rows = [
            {"member": each["memberId"], "client": each["clientId"], "host": each["clientHost"]}
            for each in _described(cluster, group)["members"]
        ]
    return pa.Table.from_pylist(rows, _MEMBERS)


def group_lag(
    group: str, *, servers: "Servers | None" = None, config: Mapping[str, Any] | None = None
) -> pa.Table:
    """Tell how far a group is.

    Parameters
    ----------
    group : str
        Its name.
    servers, config
        As for `read`.

    Returns
    -------
    pyarrow.Table
        A row for each partition with an offset of the group: ``topic``, ``partition``, ``committed``, the partition's
        ``start`` and ``end``, and ``lag``: how many offsets are between; null of a topic that is not there any more.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.group_lag("totals", servers="broker:9092").to_pylist()                            # doctest: +SKIP
    [{'topic': 'orders', 'partition': 0, 'committed': 90, 'start': 0, 'end': 100, 'lag': 10}]
    """
    check_kind(str, "the name of a group", group=group)
    with Cluster(Settings.of(config, servers)) as cluster:
        committed = fetch_offsets(cluster, group)
        known = cluster.partitions(None) if committed else {}
        there = [place for place in committed if place.partition in known.get(place.topic, ())]
        starts, ends = led_bounds(cluster, there)
        rows = [
            {"topic": place.topic, **_lag_of(place, offset, starts, ends)}
            for place, offset in sorted(committed.items())
        ]
    return pa.Table.from_pylist(rows, _LAG)


def topic_groups(
    topic: str, *, servers: "Servers | None" = None, config: Mapping[str, Any] | None = None
) -> pa.Table:
    """Tell how far each group is that has committed offsets of a topic.

    Parameters
    ----------
    topic : str
        Its name.
    servers, config
        As for `read`.

    Returns
    -------
    pyarrow.Table
        A row for each group and partition: ``group``, ``partition``, ``committed``, ``start``, ``end`` and ``lag``, as
        of `group_lag`. Groups whose offsets may not be read are left out.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.topic_groups("orders", servers="broker:9092").to_pylist()                         # doctest: +SKIP
    [{'group': 'totals', 'partition': 0, 'committed': 90, 'start': 0, 'end': 100, 'lag': 10}]
    """
    check_kind(str, "the name of a topic", topic=topic)
    with Cluster(Settings.of(config, servers)) as cluster:
        places = topics_of(cluster.partitions, [topic])
        starts, ends = led_bounds(cluster, places)
        rows = []
        for group in _names(cluster):
            try:
                committed = fetch_offsets(cluster, group)
            except KafkaError as error:
                if error.code is None:
                    raise
                continue
            rows += [
                {"group": group, **_lag_of(place, committed[place], starts, ends)}
                for place in places
                if place in committed
            ]
    return pa.Table.from_pylist(rows, _GROUPS)


def reset_offsets(
    group: str,
    topics: Topics,
    start: Position,
    *,
    dry_run: bool = False,
    servers: "Servers | None" = None,
    config: Mapping[str, Any] | None = None,
) -> pa.Table:
    """Set the offsets that a group's members start from.

    Parameters
    ----------
    group : str
        Its name. It must have no members: they would go on where they are, and commit over it.
    topics
        As for `read`, but for ranges: of which partitions.
    start : str, datetime, int or mapping
        As for `read`. Where it is by partition, those that are not named keep what they have.
    dry_run : bool
        Whether nothing is committed.
    servers, config
        As for `read`.

    Returns
    -------
    pyarrow.Table
        ``topic``, ``partition``, ``committed`` (before; null if the group had none) and ``offset`` (from now on).

    Raises
    ------
    ConfigError, KafkaError
        As for `read`, and if the group has members.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.reset_offsets("totals", "orders", "earliest", dry_run=True, servers="broker:9092")  # doctest: +SKIP
    """
    check_kind(str, "the name of a group", group=group)
    check_booleans(dry_run=dry_run)
    check_positions(start)
    with Cluster(Settings.of(config, servers)) as cluster:
        found = _described(cluster, group)
        if found["groupState"] not in _AT_REST:
            number, state = len(found["members"]), one_line(found["groupState"])
            raise ConfigError(
                f"group {group!r} has {number} member{'s' * (number != 1)} (it is {state}): its "
                "offsets are set when they have stopped"
            )
        places = topics_of(cluster.partitions, topics)
        # Ends by partition say which are read: so are those here.
        end = start if is_by_partition(start) else "latest"
        ranges, _ = plan_ranges(cluster, places, start, end, "read_uncommitted")
        committed = fetch_offsets(cluster, group)
        rows = [
            {
                "topic": each.topic,
                "partition": each.partition,
                "committed": committed.get(each.place),
                "offset": each.start,
            }
            for each in ranges
        ]
        if not dry_run:
            commit_offsets(cluster, group, positions_of(ranges))
    return pa.Table.from_pylist(rows, _RESET)


def _lag_of(
    place: TopicPartition,
    committed: int,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> dict[str, Any]:
    """Return how far a group is in a partition: null of one that is not there any more, or has no leader."""
    return {
        "partition": place.partition,
        "committed": committed,
        "start": starts.get(place),
        "end": ends.get(place),
        "lag": max(ends[place] - committed, 0) if place in ends else None,
    }


def _names(cluster: Cluster) -> list[str]:
    """Return the names of all groups: each broker knows those that it coordinates."""

    def attempt(end: float) -> set[str]:
        found: set[str] = set()
        cluster.refresh([], end)
        for broker in cluster.brokers:
            answer = cluster.channel(broker, "group", end).request("ListGroupsRequest", {}, end)
            if answer["errorCode"]:
                raise broker_error(answer["errorCode"], f"groups of broker {broker}")
            # Those of Kafka Connect and others have no offsets.
            found |= {
                each["groupId"] for each in answer["groups"] if each["protocolType"] in ("", "consumer")
            }
        return found

    return sorted(cluster.retry(attempt))


def _described(cluster: Cluster, group: str) -> dict[str, Any]:
    def attempt(end: float) -> dict[str, Any]:
        channel = cluster.channel(cluster.coordinator(group, end), "group", end)
        answer = channel.request("DescribeGroupsRequest", {"groups": [group]}, end)
        found = [each for each in answer["groups"] if each["groupId"] == group]
        if len(found) != 1:
            raise KafkaError(f"the coordinator of group {group!r} does not answer for it")
        if found[0]["errorCode"]:
            raise broker_error(found[0]["errorCode"], f"group {group!r}")
        return dict(found[0])

    return cluster.retry(attempt)
