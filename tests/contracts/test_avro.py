"""Encrypted fields of Avro, written by confluent-kafka and read by us, and the other way round."""

import copy
import random

import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from encryption_box import RECORDS, context

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [
        {"name": "note", "type": ["null", "string"], "default": None, "confluent:tags": ["PII"]},
        {"name": "qty", "type": "int"},
    ],
}
CUSTOMER = {
    "type": "record",
    "name": "Customer",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": "string", "confluent:tags": ["PII", "OTHER"]},
        {"name": "phone", "type": ["null", "string"], "default": None, "confluent:tags": ["PII"]},
        {"name": "photo", "type": "bytes", "confluent:tags": ["PII"]},
        {"name": "nick", "type": {"type": "array", "items": "string"}, "confluent:tags": ["PII"]},
        {"name": "notes", "type": {"type": "map", "values": "string"}, "confluent:tags": ["PII"]},
        {
            "name": "either",
            "type": ["null", "int", "bytes", "string"],
            "default": None,
            "confluent:tags": ["PII"],
        },
        {"name": "lines", "type": {"type": "array", "items": LINE}},
        {"name": "by_name", "type": {"type": "map", "values": "Line"}},
        {"name": "last", "type": ["null", "Line"], "default": None},
        {"name": "city", "type": "string", "confluent:tags": ["PUBLIC"]},
        {"name": "plain", "type": "string"},
    ],
}
TEXTS = ["", "a", "ä€😀", "x" * 100, "plain text", "\0", "0123456789abcdef"]
VARIANTS = {
    "gcm-128": {"encrypt_dek_algorithm": "AES128_GCM"},
    "gcm-256": {},
    "siv": {"encrypt_dek_algorithm": "AES256_SIV"},
    "rotated": {"encrypt_dek_expiry_days": "1"},
    "payload": {"payload": True, "encrypt_dek_algorithm": "AES128_GCM"},
}


def line(draw):
    return {"note": draw.choice([None, *TEXTS]), "qty": draw.randrange(9)}


def customer(number, draw):
    return {
        "id": number,
        "email": draw.choice(TEXTS) + str(number),
        "phone": draw.choice([None, *TEXTS]),
        "photo": draw.randbytes(draw.choice([0, 1, 40])),
        "nick": [draw.choice(TEXTS) for _ in range(draw.randrange(3))],
        "notes": {key: draw.choice(TEXTS) for key in draw.sample(TEXTS, draw.randrange(3))},
        "either": draw.choice([None, "text", b"bytes", ""]),
        "lines": [line(draw) for _ in range(draw.randrange(3))],
        "by_name": {key: line(draw) for key in draw.sample(TEXTS, draw.randrange(3))},
        "last": draw.choice([None, line(draw)]),
        "city": "Bonn",
        "plain": "plain",
    }


def as_row(value):
    """Return a record of theirs as a row of ours."""
    row = dict(value)
    row["notes"] = list(value["notes"].items())
    row["by_name"] = list(value["by_name"].items())
    kinds = {int: "member0", bytes: "member1", str: "member2"}
    either = value["either"]
    members = dict.fromkeys(kinds.values())
    row["either"] = None if either is None else {**members, kinds[type(either)]: either}
    return row


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", VARIANTS)
def test_both_ways(box, topic, impl, name):
    box.register(f"{topic}-value", CUSTOMER, **VARIANTS[name])
    draw = random.Random(name)
    values = [customer(number, draw) for number in range(RECORDS)]
    rows = [as_row(value) for value in values]

    serializer = box.their(AvroSerializer, box.client, None)
    # Theirs changes what it is given.
    written = [serializer(copy.deepcopy(value), context(topic)) for value in values]
    serde = box.serde("AVRO", topic, schema=CUSTOMER)
    assert serde.deserialize(written).to_pylist() == rows

    deserializer = box.their(AvroDeserializer, box.client)
    ours = serde.serialize(rows, as_list=True)
    assert [deserializer(value, context(topic)) for value in ours] == values
    if name == "payload":
        assert not any(b"plain" in value for value in ours)
        return
    closed = (
        box.serde("AVRO", topic, {"rule.executors.encrypt.disabled": "true"}).deserialize(ours).to_pylist()
    )
    for row, kept in zip(closed, rows, strict=True):
        assert row["email"] != kept["email"]
        assert (row["city"], row["plain"], row["id"]) == (kept["city"], kept["plain"], kept["id"])


@pytest.mark.parametrize("renamed", [False, True])
def test_records_of_one_union(box, topic, impl, renamed):
    """Each has its own tags, also where the reader's schema has them in another namespace, or by an alias."""

    def text(space, first, **more):
        tagged = {"name": "text", "type": "string", "confluent:tags": ["PII"]}
        branches = [
            {"type": "record", "name": first, "namespace": space, "fields": [tagged], **more},
            {
                "type": "record",
                "name": "Open",
                "namespace": space,
                "fields": [{"name": "text", "type": "string"}],
            },
        ]
        return {"type": "record", "name": "R", "fields": [{"name": "either", "type": ["null", *branches]}]}

    box.register(f"{topic}-value", text("a", "Closed"))
    serde = box.serde("AVRO", topic)
    rows = [
        {"either": None},
        {"either": {"member0": {"text": "secret one"}, "member1": None}},
        {"either": {"member0": None, "member1": {"text": "open one"}}},
    ]
    made = serde.serialize(rows, as_list=True)
    assert [b"secret" in each or b"open" in each for each in made] == [False, False, True]
    reader = text("b", "Hidden", aliases=["a.Closed"]) if renamed else text("a", "Closed")
    found = box.serde("AVRO", topic, reader_schema=reader).deserialize(made)
    assert found.to_pylist() == rows
