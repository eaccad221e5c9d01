"""Topics made, deleted, and set otherwise."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from kcodec.arguments import Servers
from kcodec.errors import ConfigError, KafkaError, check_booleans, check_kind, is_whole
from kcodec.kafka.connection.channel import Channel
from kcodec.kafka.connection.cluster import Cluster
from kcodec.kafka.connection.error_codes import broker_error
from kcodec.kafka.connection.settings import Settings

#: How long a controller may take until it is done, in milliseconds.
_PATIENCE = 30_000
#: Resources, and what is done to their settings, as Kafka counts them.
_TOPIC, _SET, _DELETE = 2, 0, 1
_SOURCES = {1: "topic", 2: "broker", 3: "default_broker", 4: "static_broker", 5: "default", 6: "logger"}
_SETTINGS = pa.schema(
    [("name", pa.string()), ("value", pa.string()), ("source", pa.string()), ("read_only", pa.bool_())]
)


def create_topic(
    topic: str,
    *,
    partitions: int = -1,
    replicas: int = -1,
    settings: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    servers: "Servers | None" = None,
    config: Mapping[str, Any] | None = None,
) -> None:
    """Make a topic.

    Parameters
    ----------
    topic : str
        Its name.
    partitions, replicas : int
        How many; -1 for what the broker has set (from Kafka 2.4 on).
    settings : mapping, optional
        Of the topic, such as ``{"cleanup.policy": "compact"}``.
    dry_run : bool
        Whether the broker only says whether it would do it.
    servers, config
        As for `read`.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`, and if the broker refuses: the topic is there, or a setting is not valid.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.create_topic("orders", partitions=6, servers="broker:9092")                       # doctest: +SKIP
    """
    check_kind(str, "the name of a topic", topic=topic)
    check_booleans(dry_run=dry_run)
    given = [] if settings is None else _settings(settings)
    for name, count in (("partitions", partitions), ("replicas", replicas)):
        if not is_whole(count) or not (count == -1 or 0 < count < 1 << 15):
            raise ConfigError(f"{name}={count!r} is not a number from 1 to 32767, or -1")
    wanted = {
        "name": topic,
        "numPartitions": partitions,
        "replicationFactor": replicas,
        "assignments": [],
        "configs": [{"name": name, "value": _text(value)} for name, value in given],
    }

    def ask(channel: Channel, end: float) -> list[dict[str, Any]]:
        body = {"topics": [wanted], "timeoutMs": _PATIENCE, "validateOnly": dry_run}
        if -1 in (partitions, replicas) and channel.version("CreateTopicsRequest") < 4:
            raise ConfigError("this broker has no defaults: give the numbers of partitions and of replicas")
        return list(channel.request("CreateTopicsRequest", body, end)["topics"])

    with Cluster(Settings.of(config, servers)) as cluster:
        _check([topic], _at_controller(cluster, ask))


def delete_topics(
    topics: str | Iterable[str], *, servers: "Servers | None" = None, config: Mapping[str, Any] | None = None
) -> None:
    """Delete topics, with all their records.

    Parameters
    ----------
    topics : str or list of str
        Their names; no pattern is taken.
    servers, config
        As for `read`.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`, and for the first topic that the broker does not delete.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.delete_topics("orders", servers="broker:9092")                                    # doctest: +SKIP
    """
    check_kind(Iterable, "the name of a topic, or a list of names", topics=topics)
    names = [topics] if isinstance(topics, str) else list(topics)
    for name in names:
        check_kind(str, "the name of a topic", topic=name)

    def ask(channel: Channel, end: float) -> list[dict[str, Any]]:
        body = {"topicNames": names, "timeoutMs": _PATIENCE}
        return list(channel.request("DeleteTopicsRequest", body, end)["responses"])

    with Cluster(Settings.of(config, servers)) as cluster:
        _check(names, _at_controller(cluster, ask))


def topic_settings(
    topic: str, *, servers: "Servers | None" = None, config: Mapping[str, Any] | None = None
) -> pa.Table:
    """List the settings of a topic.

    Parameters
    ----------
    topic : str
        Its name.
    servers, config
        As for `read`.

    Returns
    -------
    pyarrow.Table
        ``name``, ``value`` (null if it is secret), ``source`` (``topic`` if it is set there, else ``default``, ...) and
        whether it is ``read_only``.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.topic_settings("orders", servers="broker:9092").column_names                      # doctest: +SKIP
    ['name', 'value', 'source', 'read_only']
    """
    check_kind(str, "the name of a topic", topic=topic)
    resource = {"resourceType": _TOPIC, "resourceName": topic, "configurationKeys": None}
    body = {"resources": [resource], "includeSynonyms": False, "includeDocumentation": False}
    with Cluster(Settings.of(config, servers)) as cluster:
        answer = cluster.retry(lambda end: cluster.ask("DescribeConfigsRequest", body, end))
    found = _of_resource(answer["results"], topic)
    rows = [
        {
            "name": each["name"],
            "value": None if each["isSensitive"] else each["value"],
            "source": _SOURCES.get(each["configSource"]),
            "read_only": each["readOnly"],
        }
        for each in sorted(found["configs"], key=lambda each: str(each["name"]))
    ]
    return pa.Table.from_pylist(rows, _SETTINGS)


def set_topic_settings(
    topic: str,
    settings: Mapping[str, Any],
    *,
    dry_run: bool = False,
    servers: "Servers | None" = None,
    config: Mapping[str, Any] | None = None,
) -> None:
    """Set some settings of a topic; the others stay as they are.

    Parameters
    ----------
    topic : str
        Its name.
    settings : mapping
        Names to values; None for what the broker has set.
    dry_run : bool
        Whether the broker only says whether it would do it.
    servers, config
        As for `read`.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`, and if the broker refuses.

    Examples
    --------
    >>> from kcodec import kafka
    >>> kafka.set_topic_settings("orders", {"retention.ms": 86400000}, servers="broker:9092")   # doctest: +SKIP
    """
    check_kind(str, "the name of a topic", topic=topic)
    check_booleans(dry_run=dry_run)
    changes = [
        {
            "name": name,
            "configOperation": _DELETE if value is None else _SET,
            "value": None if value is None else _text(value),
        }
        for name, value in _settings(settings)
    ]
    resource = {"resourceType": _TOPIC, "resourceName": topic, "configs": changes}
    body = {"resources": [resource], "validateOnly": dry_run}
    with Cluster(Settings.of(config, servers)) as cluster:
        answer = _at_controller(
            cluster, lambda channel, end: channel.request("IncrementalAlterConfigsRequest", body, end)
        )
    _of_resource(answer["responses"], topic)


def _settings(given: Any) -> list[tuple[str, Any]]:
    """Return settings of a topic; `ConfigError` if they are no mapping of names."""
    check_kind(Mapping, "a mapping of settings", settings=given)
    for name in given:
        check_kind(str, "the name of a setting", settings=name)
    return list(given.items())


def _text(value: Any) -> str:
    """Return a setting as brokers have it.

    >>> _text(True), _text(5)
    ('true', '5')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _at_controller(cluster: Cluster, ask: Callable[[Channel, float], Any]) -> Any:
    """Ask the broker that changes topics. It is asked once: who asks again finds the change done."""
    body = {"topics": [], "allowAutoTopicCreation": False}
    found = cluster.retry(lambda end: cluster.ask("MetadataRequest", body, end))
    cluster.refresh([])
    end = cluster.deadline().end
    return ask(cluster.channel(found["controllerId"], "controller", end), end)


def _check(names: list[str], results: list[dict[str, Any]]) -> None:
    by_name = {each["name"]: each for each in results}
    for name in names:
        if name not in by_name:
            raise KafkaError(f"the broker does not answer for topic {name!r}")
        code = by_name[name]["errorCode"]
        if code:
            raise broker_error(code, f"topic {name!r}", by_name[name].get("errorMessage"))


def _of_resource(results: list[dict[str, Any]], topic: str) -> dict[str, Any]:
    for each in results:
        if each["resourceName"] == topic:
            if each["errorCode"]:
                raise broker_error(each["errorCode"], f"topic {topic!r}", each["errorMessage"])
            return each
    raise KafkaError(f"the broker does not answer for topic {topic!r}")
