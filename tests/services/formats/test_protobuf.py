"""Protobuf through the broker and the registry, with other clients' serializers at the other end."""

import base64
from datetime import datetime, timezone

import pyarrow as pa
import pytest
from artifacts import JAVA, SPARK_JAVA, had, jars, program, run
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from topics import BY_TOPIC, Message, of_spark

import kcodec
from kcodec import kafka as topics
from kcodec import registry
from kcodec_spark import from_protobuf

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
        codec = kcodec.ProtobufCodec(self.schema, ORDER)
        self.column = pa.array(ORDERS, codec.arrow_type)
        self.descriptor_set = codec.descriptor_set
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(self.descriptor_set).file:
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


both_servers = pytest.mark.parametrize("registry_url", ["registry_server", "own_server"], indirect=True)


@pytest.fixture
def events(registry_url, topic):
    return Events(registry_url, topic)


def through(kafka, topic, values):
    """Send values to a topic; gives them as a consumer has them, in their order."""
    kafka.produce(topic, [Message(b"%06d" % row, value) for row, value in enumerate(values)])
    return [message.value for message in kafka.consume(topic, len(values))]


def rows_of(array):
    """Return rows whose maps are in the order of their keys: Python's messages have them in any."""
    return [row and {**row, "tags": sorted(row["tags"])} for row in array.to_pylist()]


@both_servers
def test_confluent_writes(kafka, events, topic):
    values = through(kafka, topic, events.serialized(ORDERS))
    assert values[0][5:8].hex() == "040202"
    assert rows_of(events.serde().deserialize(values)) == ORDERS
    handle = registry.open(events.url)
    (reference,) = handle.get_version(f"{topic}-value").schema.references
    handle.close()
    assert reference == registry.Reference(f"{topic}/money.proto", f"{topic}/money.proto", 1)


@both_servers
def test_confluent_writes_two_messages(kafka, events, topic):
    cancelled = [{"id": number} for number in range(ROWS)]
    pairs = zip(events.serialized(ORDERS), events.serialized(cancelled, CANCELLED), strict=True)
    values = through(kafka, topic, [value for pair in pairs for value in pair])
    found = events.serde([ORDER, CANCELLED]).deserialize(values)
    assert rows_of(found.field(ORDER)) == [row for each in ORDERS for row in (each, None)]
    assert found.field(CANCELLED).to_pylist() == [row for each in cancelled for row in (None, each)]


@both_servers
def test_confluent_reads(kafka, events, topic):
    """What is written with a schema that kcodec registered."""
    values = through(kafka, topic, events.serde(schema=events.schema).serialize(events.column).to_pylist())
    # As the text counts, in which entries of maps do not stand.
    assert values[0][5:8].hex() == "040200"
    # Apicurio Registry gives no descriptor for a text, so the deserializer does without a registry there.
    client = None if "/ccompat/" in events.url else events.client
    assert events.deserialized(values, client) == [events.message(row) for row in ORDERS]
    assert events.serde().deserialize(values).to_pylist() == ORDERS


@both_servers
def test_confluent_reads_what_it_registered(kafka, events, topic):
    events.serialized(ORDERS[:1])
    serde = events.serde(config={"auto.register.schemas": "false", "use.latest.version": "true"})
    values = through(kafka, topic, serde.serialize(events.column).to_pylist())
    assert values[0][5:8].hex() == "040202"
    # To a client that has registered a schema, the text of a server's answer stands for the descriptor that it needs.
    fresh = SchemaRegistryClient({"url": events.url, "timeout": 30})
    client = events.client if "/ccompat/" in events.url else fresh
    assert events.deserialized(values, client) == [events.message(row) for row in ORDERS]


#: Confluent's frame: message indexes rather than a name.
INDEXED = {"send-indexes": "true", "send-type-ref": "false", "read-indexes": "true", "read-type-ref": "false"}


def run_java(kafka, events, command, lines=()):
    """Run Apicurio's serializers on messages in JSON."""
    place = (kafka.address, events.url.replace("/ccompat/v7", "/registry/v3"), events.topic)
    settings = {f"serde.{name}": value for name, value in INDEXED.items()}
    return java(command, lines, *place, ORDER, events.descriptor_set, settings)


def java(command, lines, address, url, topic, message, files, settings):
    named = [f"apicurio.registry.{name}={value}" for name, value in settings.items()]
    source = JAVA / "protobuf" / "ProtobufTopic.java"
    oracle = had(lambda: program(source, jars("protobuf"), SPARK_JAVA, JAVA / "Topic.java"))
    files = base64.b64encode(files).decode()
    return run([*oracle, command, address, url, topic, message, files, *named], lines)


@both_servers
def test_java_writes(kafka, events, topic):
    lines = [json_format.MessageToJson(events.message(row), indent=None) for row in ORDERS]
    run_java(kafka, events, "write", lines)
    values = [message.value for message in kafka.consume(topic, ROWS)]
    # The text that it registers spells entries of maps out.
    assert values[0][5:8].hex() == "040202"
    assert rows_of(events.serde().deserialize(values)) == ORDERS


@both_servers
def test_java_reads(kafka, events, topic):
    # Apicurio's deserializer knows no file by itself.
    serde = events.serde(schema=events.schema, config={"skip.known.types": "false"})
    values = serde.serialize(events.column).to_pylist()
    kafka.produce(topic, [Message(b"%06d" % row, value) for row, value in enumerate(values)])
    found = [json_format.Parse(line, events.classes[ORDER]()) for line in run_java(kafka, events, "read")]
    assert found == [events.message(row) for row in ORDERS]


@pytest.mark.parametrize(
    ("frame", "use_id", "send_ref"),
    [("APICURIO_GLOBAL_ID", "globalId", "false"), ("APICURIO_CONTENT_ID", "contentId", "true")],
)
def test_messages_that_headers_name(kafka, registry_server, topic, frame, use_id, send_ref):
    """Apicurio's frame in headers: Java writes a name in front of payloads too, unless it is told not to."""
    url = registry_server.address.replace("/ccompat/v7", "/registry/v3")
    text = 'syntax = "proto3"; package shop; message Other { } message Order { int64 id = 1; string by = 2; }'
    codec = kcodec.ProtobufCodec(text, "shop.Order")
    settings = {"headers.enabled": "true", "use-id": use_id, "serde.send-type-ref": send_ref}
    rows = [{"id": number, "by": "ü" * number} for number in range(9)]
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(codec.descriptor_set).file:
        pool.Add(file)
    order_type = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
    lines = [json_format.MessageToJson(order_type(**row), indent=None) for row in rows]
    java("write", lines, kafka.address, url, topic, "shop.Order", codec.descriptor_set, settings)

    root = registry_server.address.replace("/apis/ccompat/v7", "").replace("http://", "apicurio://")
    value = {"format": "PROTOBUF", "registry": registry.open(root, {"use.id": use_id}), "frame": frame}
    where = {"servers": kafka.address, "columns": ["key", "value", "headers"]}
    found = topics.read(topic, value={**value, "message": "Order"}, **where).read_all().sort_by("key")
    assert found["value"].to_pylist() == rows
    headers = {header["key"]: header["value"] for header in found["headers"][0].as_py()}
    assert headers["apicurio.protobuf.type"] == b"Order"
    bare = topics.read(topic, **where).read_all().sort_by("key")["value"][1].as_py()
    assert bare.startswith(b"\x07\x0a\x05Order") == (send_ref == "true")

    other = kafka.create(f"{topic}-ours")
    ours = {**value, "schema": text, "message": "shop.Order"}
    keys = [b"%06d" % row["id"] for row in rows]
    written = pa.table({"key": keys, "value": pa.array(rows, codec.arrow_type)})
    topics.write(written, other, servers=kafka.address, value=ours)
    read = java("read", (), kafka.address, url, other, "shop.Order", codec.descriptor_set, settings)
    assert [json_format.Parse(line, order_type()) for line in read] == [order_type(**row) for row in rows]


@both_servers
def test_spark_reads(spark, kafka, registry_url, events, topic, tmp_path):
    """A streaming query with the trigger availableNow."""
    kafka.produce(topic, [Message(None, value) for value in events.serialized(ORDERS)])
    name = f"protobuf_{topic.replace('-', '_')}"
    decoded = from_protobuf(
        "value",
        ORDER,
        options={"emit.default.values": "true", "upcast.unsigned.ints": "true"},
        subject=f"{topic}-value",
        schemaRegistryAddress=registry_url,
    )
    query = (
        kafka.source(spark.readStream, topic)
        .select(decoded.alias("order"))
        .writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert query.exception() is None
    found = {row["order"]["id"]: of_spark(row["order"]) for row in spark.table(name).collect()}
    assert found == {row["id"]: {**row, "tags": dict(row["tags"])} for row in ORDERS}
