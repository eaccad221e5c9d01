"""``kcodec demo --kafka HOST:PORT --registry URL``: the orders go through a topic and a registry of the user's."""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec import registry as registries
from kcodec.errors import KcodecError, RegistryError
from kcodec.registry import SchemaRegistry

_BATCH = 10_000
_SECONDS = 60


class DemoPlace(NamedTuple):
    """Where the demo runs: topic, registry, and what produces a column of values and returns what was consumed."""

    topic: str
    registry_url: str
    send: Callable[[pa.Array], pa.Array]


@contextmanager
def through(broker: str, registry_url: str) -> Iterator[DemoPlace]:
    """Make a topic for the demo; afterwards delete it and its subject. Raise `KcodecError` if that fails."""
    from confluent_kafka.admin import AdminClient, NewTopic

    topic = f"kcodec-demo-{secrets.token_hex(4)}"
    registry = registries.open(registry_url)
    # Before there is anything to clean up.
    registry.subjects()
    admin = AdminClient({"bootstrap.servers": broker})
    # One partition, so that the order stays.
    _wait(broker, admin.create_topics([NewTopic(topic, 1)])[topic])
    try:
        yield DemoPlace(topic, registry_url, lambda values: _send(broker, topic, values))
    finally:
        _wait(broker, admin.delete_topics([topic])[topic])
        _forget(registry, f"{topic}-value")
        registry.close()


def _wait(broker: str, future: Any) -> None:
    from confluent_kafka import KafkaException

    try:
        future.result(_SECONDS)
    except (KafkaException, TimeoutError) as error:
        raise KcodecError(f"{broker}: {error}") from None


def _forget(registry: SchemaRegistry, subject: str) -> None:
    try:
        registry.delete_subject(subject)
        registry.delete_subject(subject, permanent=True)
    except RegistryError as error:
        if not error.missing:
            raise


def _send(broker: str, topic: str, values: pa.Array) -> pa.Array:
    from confluent_kafka import Consumer, Producer, TopicPartition

    producer = Producer({"bootstrap.servers": broker, "linger.ms": 50, "enable.idempotence": True})
    for value in values.to_pylist():
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(_SECONDS):
        raise KcodecError(f"{broker}: the orders could not be produced within {_SECONDS} seconds")
    consumer = Consumer({"bootstrap.servers": broker, "group.id": topic, "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        consumed: list[bytes | None] = []
        end = time.monotonic() + _SECONDS
        while len(consumed) < len(values):
            messages = consumer.consume(min(_BATCH, len(values) - len(consumed)), 1)
            failed = [message.error() for message in messages if message.error() is not None]
            if failed or time.monotonic() > end:
                raise KcodecError(f"{broker}: {failed[0] if failed else 'the orders could not be consumed'}")
            consumed += [message.value() for message in messages]
    finally:
        consumer.close()
    return pa.array(consumed, values.type)
