"""Topics of the broker: made, filled and read with confluent-kafka; and the orders that stand in them."""

import json
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

_SECONDS = 30


class Message(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: list | None = None


class Kafka:
    """Makes, fills and reads topics."""

    def __init__(self, address: str) -> None:
        self.address = address

    def create(self, topic: str, partitions: int = 1) -> str:
        admin = AdminClient({"bootstrap.servers": self.address})
        admin.create_topics([NewTopic(topic, partitions)])[topic].result(_SECONDS)
        return topic

    def produce(self, topic: str, messages: Iterable[Message], partition: int | None = None) -> None:
        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 5})
        place = {} if partition is None else {"partition": partition}
        for message in messages:
            producer.produce(topic, message.value, message.key, headers=message.headers, **place)
        assert producer.flush(_SECONDS) == 0

    def consume(self, topic: str, count: int) -> list[Message]:
        """Read all messages of a topic, in the order of their keys: so many, no more."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": f"{topic}-reader",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe([topic])
        found: list[Message] = []
        end = time.monotonic() + _SECONDS
        while len(found) < count and time.monotonic() < end:
            for message in consumer.consume(count - len(found), 1):
                assert message.error() is None, message.error()
                found.append(Message(message.key(), message.value(), message.headers()))
        ends = [consumer.get_watermark_offsets(place, _SECONDS) for place in consumer.assignment()]
        consumer.close()
        assert len(found) == count == sum(high - low for low, high in ends)
        return sorted(found, key=lambda message: message.key or b"")

    def source(self, reader: Any, topic: str) -> Any:
        """Read a topic with Spark, from its start."""
        return (
            reader.format("kafka")
            .option("kafka.bootstrap.servers", self.address)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .load()
        )


def order_schema(version: int = 1) -> str:
    """Return the schema of orders in one of three versions, each readable as the others."""
    fields: list[dict] = [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": ["null", "string"], "default": None},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "created", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "sku", "type": "string"}, {"name": "quantity", "type": "int"}],
                },
            },
        },
    ]
    if version > 1:
        fields.append({"name": "channel", "type": "string", "default": "web"})
    if version > 2:
        fields.append({"name": "points", "type": ["null", "int"], "default": None})
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


KEY_SCHEMA = (
    '{"type": "record", "name": "Key", "namespace": "shop", "fields": [{"name": "id", "type": "long"}]}'
)


def order(number: int, version: int = 1) -> dict:
    """Make an order as fastavro has it."""
    made = {
        "id": number,
        "customer": f"customer {number} ü" if number % 3 else None,
        "total": Decimal(number * 1234) / 100,
        "created": datetime.fromtimestamp(1_750_000_000 + number, timezone.utc),
        "tags": {f"t{index}": str(number) for index in range(number % 3)},
        "lines": [{"sku": f"S-{number}-{index}", "quantity": index} for index in range(number % 4)],
    }
    if version > 1:
        made["channel"] = f"channel {number % 5}"
    if version > 2:
        made["points"] = number if number % 2 else None
    return made


def of_spark(row: Any) -> dict:
    """Make what Spark collected comparable with `order`."""
    made = row.asDict(recursive=True)
    if isinstance(made.get("created"), datetime) and made["created"].tzinfo is None:
        # Spark gives times in the zone of this process.
        made["created"] = made["created"].astimezone(timezone.utc)
    return made


#: Without a question for associations, which Apicurio Registry does not know.
BY_TOPIC = {"subject.name.strategy.type": "TOPIC"}


def _registry(url: str) -> SchemaRegistryClient:
    # By itself the client waits for ever.
    return SchemaRegistryClient({"url": url, "timeout": _SECONDS})


def serializer(
    url: str, schema: str, topic: str, field: str = MessageField.VALUE, **settings: Any
) -> Callable[[Any], bytes]:
    """Make confluent-kafka's own serializer."""
    serialize = AvroSerializer(_registry(url), schema, conf={**BY_TOPIC, **settings})
    context = SerializationContext(topic, field)
    return lambda value: serialize(value, context)


def deserializer(url: str, topic: str, field: str = MessageField.VALUE) -> Callable[[bytes], Any]:
    """Make confluent-kafka's own deserializer."""
    deserialize = AvroDeserializer(_registry(url), conf=BY_TOPIC)
    context = SerializationContext(topic, field)
    return lambda value: deserialize(value, context)
