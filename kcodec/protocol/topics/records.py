"""Which records an internal topic holds: from definitions to a table of record types."""

from collections.abc import Iterator
from dataclasses import dataclass

from kcodec.errors import ConfigError
from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec

#: Topics whose values are framed with their type, and have no keys.
FRAMED = ("__cluster_metadata", "__remote_log_metadata")

TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state", *FRAMED)

#: Records of the coordinators that are not in ``__consumer_offsets``. Each topic numbers its types by itself.
_ELSEWHERE = {
    "TransactionLog": "__transaction_state",
    "ShareSnapshot": "__share_group_state",
    "ShareUpdate": "__share_group_state",
}


@dataclass(frozen=True, slots=True)
class RecordType:
    """A kind of record in a topic, named as its message without ``Key``; the key is None in framed topics.

    `types` holds each number by which records name it, and the version of the key that goes with it.
    """

    name: str
    types: tuple[tuple[int, int], ...]
    key: MessageSpec | None
    value: MessageSpec


def record_types(topic: str, definitions: Definitions) -> tuple[RecordType, ...]:
    """Find the records of a topic among definitions, in the order of their numbers.

    Raise `ConfigError` if there is no such topic, the definitions have none of its records, or two of one number.
    """
    if topic not in TOPICS:
        raise ConfigError(f"topic {topic!r} is not one of {', '.join(TOPICS)}")
    found = sorted(
        _framed(topic, definitions) if topic in FRAMED else _keyed(topic, definitions),
        key=lambda each: each.types,
    )
    if not found:
        raise ConfigError(f"the definitions have no record of {topic}")
    claimed: dict[int, str] = {}
    for each in found:
        for number, _ in each.types:
            if claimed.setdefault(number, each.name) != each.name:
                raise ConfigError(f"{claimed[number]} and {each.name} are both of type {number} in {topic}")
    return tuple(found)


def _framed(topic: str, definitions: Definitions) -> Iterator[RecordType]:
    for spec in definitions.values():
        remote = spec.name.startswith("Remote")
        if (
            spec.type == "metadata"
            and spec.api_key is not None
            and remote == (topic == "__remote_log_metadata")
        ):
            yield RecordType(spec.name, ((spec.api_key, 0),), None, spec)


def _keyed(topic: str, definitions: Definitions) -> Iterator[RecordType]:
    for key in definitions.values():
        name = key.name.removesuffix("Key")
        if name == key.name or _ELSEWHERE.get(name, "__consumer_offsets") != topic:
            continue
        value = definitions.get(f"{name}Value")
        if value is None or key.valid_versions.empty or value.valid_versions.empty:
            continue
        if key.type == "coordinator-key" and key.api_key is not None:
            yield RecordType(name, ((key.api_key, 0),), key, value)
        elif key.type == "data":
            # Before Kafka 4.0 the version of the key was the type of the record.
            yield RecordType(name, tuple((version, version) for version in key.valid_versions), key, value)
