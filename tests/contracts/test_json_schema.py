"""Encrypted properties of JSON documents, written by confluent-kafka and read by us, and the other way round."""

import copy
import random

import pytest
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from encryption_box import RECORDS, context

from kcodec.registry import Metadata

CUSTOMER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "email": {"type": "string", "confluent:tags": ["PII"]},
        "phone": {"oneOf": [{"type": "null"}, {"type": "string"}], "confluent:tags": ["PII"]},
        "nick": {"type": "array", "items": {"type": "string"}, "confluent:tags": ["PII"]},
        "both": {"type": ["string", "integer"], "confluent:tags": ["PII"]},
        "lines": {"type": "array", "items": {"$ref": "#/definitions/line"}},
        "last": {"$ref": "#/definitions/line"},
        "city": {"type": "string", "confluent:tags": ["PUBLIC"]},
        "named": {"type": "string"},
        "plain": {"type": "string"},
    },
    "required": ["id"],
    "definitions": {
        "line": {
            "type": "object",
            "properties": {
                "note": {"type": "string", "confluent:tags": ["PII"]},
                "qty": {"type": "integer"},
            },
        }
    },
}
TEXTS = ["", "a", "ä€😀", "x" * 100, "plain text", '"\\\n', "0123456789abcdef"]
VARIANTS = {
    "gcm-256": {},
    "siv": {"encrypt_dek_algorithm": "AES256_SIV"},
    "rotated": {"encrypt_dek_expiry_days": "1"},
    "payload": {"payload": True, "encrypt_dek_algorithm": "AES128_GCM"},
}


def customer(number, draw):
    made = {
        "id": number,
        "email": draw.choice(TEXTS) + str(number),
        "phone": draw.choice(TEXTS),
        "nick": [draw.choice(TEXTS) for _ in range(draw.randrange(3))],
        "both": draw.choice(TEXTS),
        "lines": [{"note": draw.choice(TEXTS), "qty": each} for each in range(draw.randrange(3))],
        "last": {"note": draw.choice(TEXTS), "qty": 1},
        "city": "Bonn",
        "named": draw.choice(TEXTS),
        "plain": "plain",
    }
    for name in draw.sample(["phone", "last", "nick", "named"], draw.randrange(4)):
        del made[name]
    return made


def as_row(value):
    row = {name: value.get(name) for name in CUSTOMER["properties"]}
    row["both"] = {"integer": None, "string": value["both"]}
    return row


@pytest.mark.parametrize("name", VARIANTS)
def test_both_ways(box, topic, impl, name):
    metadata = Metadata.of(tags={"$.na*": ["PII"]})
    box.register(f"{topic}-value", CUSTOMER, "JSON", metadata=metadata, **VARIANTS[name])
    draw = random.Random(name)
    values = [customer(number, draw) for number in range(RECORDS)]
    rows = [as_row(value) for value in values]

    serializer = box.their(JSONSerializer, None, box.client, None)
    written = [serializer(copy.deepcopy(value), context(topic)) for value in values]
    serde = box.serde("JSON_SR", topic, schema=CUSTOMER)
    assert serde.deserialize(written).to_pylist() == rows

    deserializer = box.their(JSONDeserializer, None, schema_registry_client=box.client)
    ours = serde.serialize(serde.deserialize(written), as_list=True)
    found = [deserializer(value, context(topic)) for value in ours]
    assert [as_row(value) for value in found] == rows
    if name == "payload":
        assert not any(b"plain" in value for value in ours)
        return
    closed = (
        box.serde("JSON_SR", topic, {"rule.executors.encrypt.disabled": "true"}).deserialize(ours).to_pylist()
    )
    for row, kept in zip(closed, rows, strict=True):
        assert row["email"] != kept["email"]
        assert (row["named"] is None) == (kept["named"] is None)
        assert row["named"] is None or row["named"] != kept["named"]
        assert (row["city"], row["plain"], row["id"]) == (kept["city"], kept["plain"], kept["id"])
