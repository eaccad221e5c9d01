"""Encrypted fields of Protobuf messages, written by confluent-kafka and read by us, and the other way round."""

import base64
import copy
import random

import pytest
from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from encryption_box import RECORDS, context
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from kcodec.formats.protobuf.schema_format import ProtobufFormat

TEXT = """syntax = "proto3";
package shop;
import "confluent/meta.proto";
message Customer {
  int64 id = 1;
  string email = 2 [(confluent.field_meta).tags = "PII"];
  optional string phone = 3 [(confluent.field_meta) = { tags: ["PII", "OTHER"] }];
  bytes photo = 4 [(confluent.field_meta).tags = "PII"];
  repeated string nick = 5 [(confluent.field_meta).tags = "PII"];
  repeated Line lines = 6;
  map<string, Line> by_name = 7;
  Line last = 8;
  oneof either {
    string one = 9 [(confluent.field_meta).tags = "PII"];
    bytes other = 10 [(confluent.field_meta).tags = "PII"];
  }
  string city = 11 [(confluent.field_meta).tags = "PUBLIC"];
  message Line {
    string note = 1 [(confluent.field_meta).tags = "PII"];
    int32 qty = 2;
  }
}
"""
TEXTS = ["", "a", "ä€😀", "x" * 100, "plain text", "0123456789abcdef"]
VARIANTS = {
    "gcm-256": {},
    "siv": {"encrypt_dek_algorithm": "AES256_SIV"},
    "rotated": {"encrypt_dek_expiry_days": "1"},
    "payload": {"payload": True, "encrypt_dek_algorithm": "AES128_GCM"},
}


@pytest.fixture(scope="module")
def customer_class():
    """The class of the message."""
    language = ProtobufFormat()
    text = language.printed(language.parse(TEXT), "serialized")
    file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text))
    file.name = "customer_of_tests.proto"
    pool = descriptor_pool.Default()
    pool.FindFileByName(meta_pb2.DESCRIPTOR.name)
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Customer"))


def customer(number, draw):
    made = {
        "id": number,
        "email": draw.choice(TEXTS),
        "photo": draw.randbytes(draw.choice([0, 1, 40])),
        "nick": [draw.choice(TEXTS) for _ in range(draw.randrange(3))],
        "lines": [line(draw) for _ in range(draw.randrange(3))],
        "by_name": {key: line(draw) for key in draw.sample(TEXTS, draw.randrange(3))},
        "city": "Bonn",
    }
    optional = {"phone": draw.choice(TEXTS), "last": line(draw)}
    either = draw.choice([{}, {"one": draw.choice(TEXTS)}, {"other": b"bytes"}])
    return made | {name: optional[name] for name in draw.sample(sorted(optional), draw.randrange(3))} | either


def line(draw):
    return {"note": draw.choice(TEXTS), "qty": draw.randrange(9)}


def as_row(value):
    names = ("id", "email", "phone", "photo", "nick", "lines", "by_name", "last", "one", "other", "city")
    row = {name: value.get(name) for name in names}
    row["by_name"] = sorted(value["by_name"].items())
    return row


def sorted_maps(rows):
    return [{**row, "by_name": sorted(row["by_name"])} for row in rows]


@pytest.mark.parametrize("name", VARIANTS)
def test_both_ways(box, topic, impl, name, customer_class):
    box.register(f"{topic}-value", TEXT, "PROTOBUF", **VARIANTS[name])
    draw = random.Random(name)
    values = [customer(number, draw) for number in range(RECORDS)]
    rows = [as_row(value) for value in values]

    conf = {"use.deprecated.format": False}
    serializer = box.their(ProtobufSerializer, customer_class, box.client, conf=conf)
    written = [serializer(customer_class(**copy.deepcopy(value)), context(topic)) for value in values]
    serde = box.serde("PROTOBUF", topic, schema=TEXT)
    assert sorted_maps(serde.deserialize(written).to_pylist()) == rows

    deserializer = box.their(
        ProtobufDeserializer, customer_class, schema_registry_client=box.client, conf=conf
    )
    ours = serde.serialize(serde.deserialize(written), as_list=True)
    assert [deserializer(value, context(topic)) for value in ours] == [
        customer_class(**value) for value in values
    ]
    if name == "payload":
        assert not any(b"Bonn" in value for value in ours)
        return
    closed = (
        box.serde("PROTOBUF", topic, {"rule.executors.encrypt.disabled": "true"})
        .deserialize(ours)
        .to_pylist()
    )
    for row, kept in zip(closed, rows, strict=True):
        assert row["email"] != kept["email"]
        assert (row["city"], row["id"]) == (kept["city"], kept["id"])
