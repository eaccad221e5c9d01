"""Rules behind each frame: fields and payloads encrypted in all formats; and ids in headers beside confluent-kafka."""

import json
import pickle

import pytest
from cases import cases
from confluent_kafka.schema_registry import header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from encryption_box import PARAMETERS, SECRET

from kcodec import Serde
from kcodec.contracts.row_rules import ValueShape
from kcodec.contracts.values import message_class
from kcodec.formats.protobuf.schema_format import ProtobufFormat
from kcodec.frames import FRAMES, Frame
from kcodec.registry import Rule, RuleSet, Schema
from kcodec.registry.memory import MemoryRegistry

AVRO = {
    "type": "record",
    "name": "Customer",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": "string", "confluent:tags": ["PII"]},
    ],
}
JSON = {
    "type": "object",
    "title": "Customer",
    "properties": {"id": {"type": "integer"}, "email": {"type": "string", "confluent:tags": ["PII"]}},
    "required": ["id", "email"],
}
PROTOBUF = """syntax = "proto3";
package shop;
import "confluent/meta.proto";
message Other { }
message Customer { int64 id = 1; string email = 2 [(confluent.field_meta) = { tags: ["PII"] }]; }
"""
SCHEMAS = {"AVRO": json.dumps(AVRO), "JSON": json.dumps(JSON), "PROTOBUF": PROTOBUF}
NAMES = {"AVRO": "AVRO", "JSON": "JSON_SR", "PROTOBUF": "PROTOBUF"}
ROWS = [{"id": 1, "email": "ada@example.com"}, {"id": 2, "email": "bob@example.com"}]

FIELDS = Rule("fields", type="ENCRYPT", tags=("PII",), params=PARAMETERS)
PAYLOAD = Rule("payload", type="ENCRYPT_PAYLOAD", params=PARAMETERS)
POSITIVE = Rule("positive", type="CEL", kind="CONDITION", expr="message.id > 0")
RULES = {
    "none": RuleSet(),
    "fields": RuleSet(domain=(FIELDS,)),
    "payload": RuleSet(encoding=(PAYLOAD,)),
    "row by row": RuleSet(domain=(POSITIVE, FIELDS), encoding=(PAYLOAD,)),
}
OWN = (Frame(b"Z", compression="zlib"), Frame(b"", 8), Frame(b"K", 16, "bytes"))
CELLS = [
    (frame, format)
    for frame in (*FRAMES, *OWN)
    for format in SCHEMAS
    if format == "AVRO" or frame != "SINGLE_OBJECT"
]


def made(registry, format, **options):
    """Return a serde of the latest version; one by one, Protobuf's message has to be named."""
    config = {"use.latest.version": True, "auto.register.schemas": False}
    if format == "PROTOBUF":
        options["message"] = "shop.Customer"
    return Serde(
        NAMES[format], registry, topic="t", config={**config, **options.pop("config", {})}, **options
    )


def check(frame, format, rules):
    """What is encrypted is no part of the frame, and what is compressed is encrypted before."""
    registry = MemoryRegistry()
    registry.register("t-value", Schema(SCHEMAS[format], format, rules=RULES[rules]))
    serde = made(registry, format, frame=frame)
    headers = None
    if serde.frame.header:
        values, headers = serde.serialize_with_headers(ROWS)
    else:
        values = serde.serialize(ROWS)
        one = serde.serialize_one(ROWS[0])
        assert serde.deserialize_one(one) == ROWS[0]
        assert b"ada" not in one
    assert not any(b"example" in each for each in values.to_pylist())
    for reader in (made(registry, format, frame=frame), pickle.loads(pickle.dumps(serde))):
        for _ in range(2):
            # The second time the schema is known.
            assert reader.deserialize(values, headers=headers).to_pylist() == ROWS
        header = None if headers is None else headers[0].as_py()
        assert reader.deserialize_one(values[0].as_py(), headers=header) == ROWS[0]
    # A row that is damaged in its last byte fails by itself.
    broken = [values[0].as_py()[:-1], values[1].as_py()]
    found, report = serde.deserialize(broken, headers=headers, errors="report")
    assert (found.to_pylist(), report["row"].to_pylist()) == ([None, ROWS[1]], [0])
    another = made(registry, format, frame=frame, config={"rule.executors._default_.param.secret": "another"})
    _, report = another.deserialize(values, headers=headers, errors="report")
    assert report["code"].to_pylist() == ["encryption"] * 2


@pytest.mark.parametrize("rules", ["fields", "payload"])
@cases("frame, format", CELLS)
def test_rules_behind_each_frame(monkeypatch, frame, format, rules):
    monkeypatch.setenv("LOCAL_SECRET", SECRET)
    check(frame, format, rules)


@pytest.mark.thorough
@cases("frame, format", CELLS)
def test_rules_that_run_row_by_row_behind_each_frame(monkeypatch, frame, format):
    monkeypatch.setenv("LOCAL_SECRET", SECRET)
    check(frame, format, "row by row")


@pytest.fixture(params=["AVRO", "JSON", "PROTOBUF"])
def format(request):
    return request.param


def theirs(box, format, kind):
    """Return confluent-kafka's serializer or deserializer, with ids in headers."""
    if format == "PROTOBUF":
        schema = ProtobufFormat().parse(PROTOBUF)
        message = message_class(schema, ValueShape(PROTOBUF, (), tuple(schema.indexes("shop.Customer"))))
        conf = {"use.deprecated.format": False}
    if kind == "read":
        if format == "AVRO":
            return box.their(AvroDeserializer, box.client)
        if format == "JSON":
            return box.their(JSONDeserializer, None, None, box.client)
        read = box.their(ProtobufDeserializer, message, schema_registry_client=box.client, conf=conf)

        def rows(value, place):
            found = read(value, place)
            return {"id": found.id, "email": found.email}

        return rows
    conf = {"schema.id.serializer": header_schema_id_serializer}
    if format == "AVRO":
        return box.their(AvroSerializer, box.client, None, conf=conf)
    if format == "JSON":
        return box.their(JSONSerializer, SCHEMAS["JSON"], box.client, conf=conf)
    conf["use.deprecated.format"] = False
    write = box.their(ProtobufSerializer, message, box.client, conf=conf)
    return lambda row, place: write(message(**row), place)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rules", RULES)
def test_headers_beside_confluents(box, topic, impl, format, rules):
    """Both write the same header, and read what the other writes."""
    box.registry.register(f"{topic}-value", Schema(SCHEMAS[format], format, rules=RULES[rules]))
    options = {"message": "shop.Customer"} if format == "PROTOBUF" else {}
    serde = box.serde(NAMES[format], topic, frame="CONFLUENT_HEADER", **options)
    serializer, written, headers = theirs(box, format, "write"), [], []
    for row in ROWS:
        place = SerializationContext(topic, MessageField.VALUE, [])
        written.append(serializer(dict(row), place))
        headers.append(place.headers)
    assert serde.deserialize(written, headers=headers).to_pylist() == ROWS

    values, ours = serde.serialize_with_headers(ROWS)
    assert [[(serde.header, each)] for each in ours.to_pylist()] == headers
    assert rules != "none" or values.to_pylist() == written
    deserializer = theirs(box, format, "read")
    found = [
        deserializer(value, SerializationContext(topic, MessageField.VALUE, [(serde.header, header)]))
        for value, header in zip(values.to_pylist(), ours.to_pylist(), strict=True)
    ]
    assert found == ROWS
