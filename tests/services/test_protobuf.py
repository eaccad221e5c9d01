"""Protobuf through the broker and the registry, with other clients' serializers at the other end."""

from datetime import datetime, timezone

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from topics import BY_TOPIC, Message

import kcodec
from kcodec import registry

ROWS = 60
ORDER, CANCELLED = "shop.Event.Order", "shop.Cancelled"

#: The entries of the map stand before Order in descriptors, and not at all in texts.
EVENTS = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "{topic}/money.proto";

message Cancelled {{
  int64 id = 1;
}}

message Event {{
  map<string, int32> counts = 1;
  enum Status {{
    NEW = 0;
    PAID = 1;
  }}
  message Order {{
    int64 id = 1;
    optional string customer = 2;
    Status status = 3;
    sint32 change = 4;
    uint32 points = 5;
    double weight = 6;
    bytes note = 7;
    bool express = 8;
    Money total = 9;
    google.protobuf.Timestamp created = 10;
    repeated Line lines = 11;
    repeated sint64 stops = 12;
    map<string, string> tags = 13;
    oneof payment {{
      string card = 14;
      Money voucher = 15;
    }}
  }}
  message Line {{
    string sku = 1;
    fixed32 quantity = 2;
  }}
}}
"""
MONEY = """
syntax = "proto3";
package shop;

message Money {
  int64 units = 1;
  string currency = 2;
}
"""


def order(number):
    """Make an order as kcodec's columns have it, some with fields that are not set."""
    return {
        "id": number * 10**12,
        "customer": (None, "", f"customer {number} ü")[number % 3],
        "status": ("NEW", "PAID")[number % 2],
        "change": (-1) ** number * number,
        "points": 2**32 - 1 - number,
        "weight": number / 7,
        "note": b"\0\xff" * (number % 4),
        "express": number % 5 == 0,
        "total": {"units": -number, "currency": "EUR"} if number % 4 else None,
        "created": datetime.fromtimestamp(1_750_000_000 + number / 8, timezone.utc) if number % 6 else None,
        "lines": [{"sku": f"S-{number}-{index}", "quantity": index} for index in range(number % 4)],
        "stops": [(-2) ** index for index in range(number % 9)],
        "tags": [(f"t{index}", str(number)) for index in range(number % 3)],
        "card": "4711" if number % 3 == 1 else None,
        "voucher": {"units": number, "currency": ""} if number % 3 == 2 else None,
    }


ORDERS = [order(number) for number in range(ROWS)]


class Events:
    """The events of one topic, and clients that write and read them."""

    def __init__(self, url, topic):
        self.url, self.topic = url, topic
        self.schema = {
            f"{topic}/event.proto": EVENTS.format(topic=topic),
            f"{topic}/money.proto": MONEY,
        }
        pool = descriptor_pool.DescriptorPool()
        files = descriptor_pb2.FileDescriptorSet.FromString(kcodec.ProtobufCodec(self.schema).descriptor_set)
        for file in files.file:
            pool.Add(file)
        self.classes = {
            name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
            for name in (ORDER, CANCELLED)
        }
        self.client = SchemaRegistryClient({"url": url, "timeout": 30})
        self.context = SerializationContext(topic, MessageField.VALUE)

    def message(self, row, name=ORDER):
        """Make a message of confluent-kafka's user."""
        given = {field: value for field, value in row.items() if value is not None}
        return self.classes[name](**given | ({"tags": dict(row["tags"])} if "tags" in row else {}))

    def serialized(self, rows, name=ORDER):
        serialize = ProtobufSerializer(self.classes[name], self.client, BY_TOPIC)
        return [serialize(self.message(row, name), self.context) for row in rows]

    def deserialized(self, values, client):
        deserialize = ProtobufDeserializer(self.classes[ORDER], BY_TOPIC, client)
        return [deserialize(value, self.context) for value in values]

    def serde(self, message=ORDER, **settings):
        return kcodec.Serde("PROTOBUF", self.url, topic=self.topic, message=message, **settings)


@pytest.fixture
def events(registry_url, topic):
    return Events(registry_url, topic)


def through(kafka, topic, values):
    """Send values to a topic; gives them as a consumer has them, in their order."""

    kafka.produce(topic, [Message(b"%06d" % row, value) for row, value in enumerate(values)])
    return [message.value for message in kafka.consume(topic, len(values))]


def test_confluent_writes(kafka, events, topic):
    values = through(kafka, topic, events.serialized(ORDERS))
    assert values[0][5:8].hex() == "040202"
    serde = events.serde()
    assert serde.deserialize(values).to_pylist() == ORDERS
    with registry.open(events.url) as handle:
        (reference,) = handle.get_version(f"{topic}-value").schema.references
    assert reference == registry.Reference(f"{topic}/money.proto", f"{topic}/money.proto", 1)


def test_confluent_writes_two_messages(kafka, events, topic):
    cancelled = [{"id": number} for number in range(ROWS)]
    pairs = zip(events.serialized(ORDERS), events.serialized(cancelled, CANCELLED), strict=True)
    values = through(kafka, topic, [value for pair in pairs for value in pair])
    found = events.serde([ORDER, CANCELLED]).deserialize(values).to_pylist()
    assert found[::2] == [{ORDER: row, CANCELLED: None} for row in ORDERS]
    assert found[1::2] == [{ORDER: None, CANCELLED: row} for row in cancelled]


def test_confluent_reads(kafka, events, topic):
    """What is written with a schema that kcodec registered."""
    serde = events.serde(schema=events.schema)
    values = through(kafka, topic, serde.serialize(pa.array(ORDERS, serde.arrow_type)).to_pylist())
    # As the text counts, in which entries of maps do not stand.
    assert values[0][5:8].hex() == "040200"
    # Apicurio Registry gives no descriptor for a text.
    assert events.deserialized(values, None) == [events.message(row) for row in ORDERS]
    assert events.serde().deserialize(values).to_pylist() == ORDERS


def test_confluent_reads_what_it_registered(kafka, events, topic):
    events.serialized(ORDERS[:1])
    serde = events.serde(config={"auto.register.schemas": "false", "use.latest.version": "true"})
    values = through(kafka, topic, serde.serialize(pa.array(ORDERS, serde.arrow_type)).to_pylist())
    assert values[0][5:8].hex() == "040202"
    assert events.deserialized(values, events.client) == [events.message(row) for row in ORDERS]
