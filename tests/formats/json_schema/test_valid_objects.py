"""Single documents that are validated are what columns of one row are."""

import json
import random

import pytest
from side_by_side import told
from tries import tries

import kcodec
from kcodec import JsonSchemaCodec, Serde
from kcodec.objects.by_columns import ColumnReader, ColumnWriter
from kcodec.registry import Schema

TEXT = {"type": "string", "pattern": "^[a-z]*$", "maxLength": 3}
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1, "maximum": 2**40},
            "name": {"oneOf": [{"type": "null"}, TEXT]},
            "note": TEXT,
            "tags": {"type": "array", "items": TEXT, "uniqueItems": True},
            "price": {"type": "number", "multipleOf": 0.5},
        },
        "required": ["id"],
        "additionalProperties": {"type": "integer"},
    }
)
VALUES = [
    *(
        None,
        0,
        1,
        7,
        2**50,
        1.5,
        1.25,
        1e400,
        float("nan"),
        "",
        "ab",
        "ABC",
        "abcd",
        "é",
        [],
        ["a"],
        ["a", "a"],
        {},
        True,
    )
]
NAMES = ["id", "name", "note", "tags", "price", "other"]


@pytest.mark.parametrize("options", [{}, {"formats": "ignore"}, {"round": "truncate"}], ids=str)
def test_they_are_what_columns_are(options, impl):
    codec = JsonSchemaCodec(SCHEMA, validate=True, **options)
    reader, writer = ColumnReader(codec.decode), ColumnWriter(codec.encode)
    rnd = random.Random(1)
    for turn in range(min(250, tries(400))):
        value = {name: rnd.choice(VALUES) for name in NAMES if rnd.random() < 0.4}
        if turn % 2:
            value["id"] = 7
        data = json.dumps(value).encode()
        data = rnd.choice(
            [data, data, data, data[:-1], data + b" ", data + b"x", b" " + data, data[1:], b"", b"null"]
        )
        assert told(codec.decode_one, data) == told(reader.decode_one, data), data
        assert told(codec.encode_one, value) == told(writer.encode_one, value), value
    for other in ('{"id": 0}', bytearray(b'{"id": 0}'), bytearray(b'{"id": 7}'), None):
        assert told(codec.decode_one, other) == told(reader.decode_one, other), other


def test_framed_documents(impl):
    registry = kcodec.registry.open("memory://valid-objects")
    registry.register("t-value", Schema(SCHEMA, "JSON"))
    serde = Serde(
        "JSON_SR", registry, topic="t", config={"json.fail.invalid.schema": True, "use.latest.version": True}
    )
    data = serde.serialize_one({"id": 7, "note": "ab"})
    assert serde.deserialize_one(data)["note"] == "ab"
    bad = data.replace(b'"ab"', b'"AB"')
    with pytest.raises(kcodec.DecodeError) as alone:
        serde.deserialize_one(bad)
    with pytest.raises(kcodec.DecodeError) as column:
        serde.deserialize([bad])
    assert str(alone.value) == str(column.value)
    assert alone.value.code == "schema_violation"
    for value in ({"id": 0}, {"id": 7, "note": "AB"}):
        with pytest.raises(kcodec.EncodeError, match="schema_violation"):
            serde.serialize_one(value)


def test_what_is_valid_takes_no_column(monkeypatch):
    codec = JsonSchemaCodec(SCHEMA, validate=True)
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    monkeypatch.setattr(ColumnReader, "decode_one", None)
    value = codec.decode_one(b'{"id":7,"tags":["a","b"]}')
    assert (value["id"], value["tags"], value["note"]) == (7, ["a", "b"], None)
    assert json.loads(codec.encode_one({"id": 7, "note": "ab"}))["note"] == "ab"
