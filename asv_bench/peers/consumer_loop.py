#!/usr/bin/env python3
"""A consumer's loop as its user writes it: records of a topic one by one, as dicts, in messages a second.

    python asv_bench/peers/consumer_loop.py [--rows 1000000] [--rounds 3]

Starts the broker of ``tests/services`` (Maven and Java), fills a topic of one partition with framed Avro of two fields,
and reads it with confluent-kafka's ``poll`` and with its ``consume``, each with its ``AvroDeserializer`` and with
kcodec's in its place, and with the ``records()`` of a follower. All read the whole topic in each round, in turns; the
median of the rounds counts. The sum of a field is compared.
"""

import sys
from pathlib import Path

# Where this script stands, the name of another would hide the standard library's module.
sys.path.remove(str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "services"))

import argparse
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import processes
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, avro
from confluent_kafka.serialization import MessageField, SerializationContext

import kcodec
import kcodec.confluent
import kcodec.kafka

TOPIC = "loop"
_FIELDS = '[{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]'
TEXT = f'{{"type": "record", "name": "Two", "fields": {_FIELDS}}}'
#: What `consume` is asked for at a time.
BATCH = 1000
#: How many times the messages a second of `consume` with its deserializer are wanted.
BAR = 5


def fill(address: str, serde: kcodec.Serde, rows: int) -> None:
    """Make the topic, and produce so many values."""
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(30)
    producer = Producer({"bootstrap.servers": address, "queue.buffering.max.messages": 2_000_000})
    for row in range(rows):
        producer.produce(TOPIC, serde.serialize_one({"id": row, "name": f"n{row}"}))
        if not row % 10_000:
            producer.poll(0)
    assert producer.flush(300) == 0


def polled(consumer: Consumer) -> Iterator[Any]:
    """Yield messages as they come."""
    while True:
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        yield message


def consumed(consumer: Consumer) -> Iterator[Any]:
    """Yield messages that come in batches."""
    while True:
        messages = consumer.consume(BATCH, timeout=10)
        assert messages
        assert not any(message.error() for message in messages)
        yield from messages


def theirs(
    address: str, rows: int, messages: Callable[[Consumer], Iterator[Any]], deserializer: Any
) -> Callable[[], int]:
    """Return a loop over a consumer's messages that sums a field of their values."""
    context = SerializationContext(TOPIC, MessageField.VALUE)

    def run() -> int:
        consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": uuid.uuid4().hex,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                # By default it pauses a second whenever its queue was full.
                "fetch.queue.backoff.ms": 1,
            }
        )
        consumer.subscribe([TOPIC])
        total = 0
        try:
            for _, message in zip(range(rows), messages(consumer), strict=False):
                total += deserializer(message.value(), context)["id"]
        finally:
            consumer.close()
        return total

    return run


def followed(address: str, rows: int, serde: kcodec.Serde) -> Callable[[], int]:
    """Return a loop over a follower's records."""

    def run() -> int:
        total = 0
        with kcodec.kafka.follow(TOPIC, servers=address, start="earliest", value=serde) as follower:
            for _, record in zip(range(rows), follower.records(), strict=False):
                total += record.value["id"]
        return total

    return run


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    client = SchemaRegistryClient.new_client({"url": "mock://consumer-loop"})
    serde = kcodec.Serde("AVRO", "memory://consumer-loop", topic=TOPIC, schema=TEXT)
    # The same id in both registries.
    assert serde.serialize_one({"id": 0, "name": ""})[:5] == b"\0\0\0\0\1"
    assert client.register_schema(f"{TOPIC}-value", Schema(TEXT, "AVRO")) == 1
    with tempfile.TemporaryDirectory(prefix="kcodec-consumer-loop-") as folder:
        service, address = processes.broker(Path(folder))
        service.start()
        try:
            fill(address, serde, given.rows)
            loops = {
                f"{how}, {whose} AvroDeserializer": theirs(
                    address, given.rows, messages, home.AvroDeserializer(client)
                )
                for how, messages in (("poll", polled), ("consume", consumed))
                for whose, home in (("confluent-kafka's", avro), ("kcodec's", kcodec.confluent))
            }
            loops["kcodec follow().records()"] = followed(address, given.rows, serde)
            taken: dict[str, list[float]] = {name: [] for name in loops}
            for _ in range(given.rounds):
                for name, run in loops.items():
                    start = time.perf_counter()
                    assert run() == given.rows * (given.rows - 1) // 2, name
                    taken[name].append(time.perf_counter() - start)
        finally:
            service.stop()
    rates = {name: given.rows / statistics.median(seconds) for name, seconds in taken.items()}
    peer = rates["consume, confluent-kafka's AvroDeserializer"]
    print(f"{given.rows:,} records, median of {given.rounds} rounds, messages a second")
    for name, rate in rates.items():
        print(f"  {name:45} {rate:12,.0f} {rate / peer:6.1f}x consume")
    print(f"  wanted of records(): {BAR}x")


if __name__ == "__main__":
    main()
