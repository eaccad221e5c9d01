"""Columns of ``pyarrow.uuid()`` are text where a schema has text, and bytes where it has bytes."""

import json
import uuid

import pyarrow as pa
import pytest
from cases import cases

import kcodec
from kcodec import AvroCodec, ConnectJsonCodec, JsonCodec, JsonSchemaCodec, KsqlCodec, ProtobufCodec
from kcodec.columns.arrays.uuids import uuid_texts

IDS = [uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"), uuid.UUID(int=7)]
TEXTS = [str(each) for each in IDS]


def uuids(values):
    bytes_of = [None if each is None else each.bytes for each in values]
    return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(bytes_of, pa.binary(16)))


COLUMN = uuids([IDS[0], None, IDS[1]])


def record(kind):
    return {"type": "record", "name": "R", "fields": [{"name": "f", "type": ["null", kind]}]}


def message(kind):
    return f'syntax = "proto3"; message M {{ optional {kind} f = 1; }}'


def document(**kind):
    return json.dumps({"properties": {"f": kind}})


FIXED = {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}
TAKE_TEXT = {
    "avro": AvroCodec(record("string")),
    "avro uuid": AvroCodec(record({"type": "string", "logicalType": "uuid"})),
    "protobuf": ProtobufCodec(message("string")),
    "json schema": JsonSchemaCodec(document(type="string", format="uuid")),
    "json schema with a union": JsonSchemaCodec(document(type=["string", "integer"])),
    "json schema without the column": JsonSchemaCodec('{"type": "object", "properties": {"g": {}}}'),
    "json": JsonCodec("f STRING"),
    "connect": ConnectJsonCodec(pa.struct([("f", pa.string())]), schemas_enable=False),
    "connect with envelopes": ConnectJsonCodec(pa.struct([("f", pa.string())])),
    **{
        f"ksql {each}": KsqlCodec(each, "f STRING")
        for each in ("JSON", "DELIMITED", "PROTOBUF_NOSR", "KAFKA")
    },
    **{
        f"ksql {each}": KsqlCodec(each, "f STRING", registry=f"memory://uuids-{each}", topic="t")
        for each in ("AVRO", "JSON_SR", "PROTOBUF")
    },
}
TAKE_BYTES = {
    "avro": AvroCodec(record("bytes")),
    "avro fixed": AvroCodec(record(FIXED)),
    "protobuf": ProtobufCodec(message("bytes")),
    "json schema": JsonSchemaCodec(document(type="string", contentEncoding="base64")),
    "json": JsonCodec("f BINARY"),
    "connect": ConnectJsonCodec(pa.struct([("f", pa.binary())]), schemas_enable=False),
    "connect without a schema": ConnectJsonCodec(),
    "ksql": KsqlCodec("JSON", "f BYTES"),
}


@cases("name", TAKE_TEXT)
def test_text(impl, name):
    codec = TAKE_TEXT[name]
    text = pa.table({"f": [TEXTS[0], None, TEXTS[1]]})
    for rows in (slice(None), slice(1, None), slice(0, 0)):
        assert codec.encode(pa.table({"f": COLUMN[rows]})).to_pylist() == codec.encode(text[rows]).to_pylist()


@cases("name", TAKE_BYTES)
def test_bytes(impl, name):
    codec = TAKE_BYTES[name]
    stored = codec.encode(pa.table({"f": COLUMN.storage})).to_pylist()
    assert codec.encode(pa.table({"f": COLUMN})).to_pylist() == stored


def test_bytes_that_are_no_uuids_are_not_taken_for_them(impl):
    with pytest.raises(kcodec.EncodeError, match="invalid_utf8"):
        ProtobufCodec(message("string")).encode(pa.table({"f": COLUMN.storage}))


BELOW = {
    "list": (
        {"type": "array", "items": "string"},
        pa.ListArray.from_arrays([0, 1, 2], uuids(IDS)),
        [[each] for each in TEXTS],
    ),
    "map": (
        {"type": "map", "values": "string"},
        pa.MapArray.from_arrays([0, 1, 2], pa.array(["a", "b"]), uuids(IDS)),
        [[("a", TEXTS[0])], [("b", TEXTS[1])]],
    ),
    "dictionary": (
        record("string"),
        pa.table({"f": pa.DictionaryArray.from_arrays(pa.array([1, 0]), uuids(IDS))}),
        [{"f": each} for each in TEXTS[::-1]],
    ),
    "alone": ("string", uuids(IDS), TEXTS),
}


@cases("name", BELOW)
def test_below(impl, name):
    schema, array, rows = BELOW[name]
    codec = AvroCodec(schema if isinstance(schema, dict) else json.dumps(schema))
    for at in (0, 1):
        assert codec.decode(codec.encode(array[at:])).to_pylist() == rows[at:]


def test_a_serde_with_another_schema_than_its_columns(impl):
    registry = kcodec.registry.open("memory://uuids")
    text = kcodec.Serde("AVRO", registry, topic="t", schema=record("string"))
    text.serialize(pa.table({"f": COLUMN}))
    latest = {"use.latest.version": True, "auto.register.schemas": False}
    serde = kcodec.Serde("AVRO", registry, topic="t", config=latest)
    assert serde.deserialize(serde.serialize(pa.table({"f": COLUMN})))[2].as_py() == {"f": TEXTS[1]}
    derived = kcodec.Serde("AVRO", registry, topic="u")
    assert derived.deserialize(derived.serialize(pa.table({"f": COLUMN})))[2].as_py() == {"f": IDS[1].bytes}


def test_more_text_than_offsets_of_32_bits(monkeypatch):
    monkeypatch.setattr("kcodec.columns.arrays.uuids._MAX_TEXTS", 2)
    found = uuid_texts(COLUMN, pa.string)
    assert (found.type, found.to_pylist()) == (pa.large_string(), [TEXTS[0], None, TEXTS[1]])


def test_many(monkeypatch):
    monkeypatch.setattr("kcodec.columns.arrays.uuids._AT_ONCE", 3)
    ids = [uuid.UUID(int=number << 90) for number in range(10)]
    for count in (1, 3, 4, 10):
        assert uuid_texts(uuids(ids)[10 - count :], pa.string).to_pylist() == list(
            map(str, ids[10 - count :])
        )
