"""Lists of Python values: UUIDs and enumerations in them, and texts in place of lists."""

import dataclasses
import enum
import re
import uuid

import pyarrow as pa
import pytest
from cases import cases

import kcodec

ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
TEXT = str(ID)


class Color(enum.Enum):
    RED = "red"


class Size(enum.Enum):
    LARGE = 3


class Word(str, enum.Enum):
    RED = "red"


CODECS = {
    "avro": kcodec.AvroCodec(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "t", "type": ["null", "string"], "default": None},
                {"name": "b", "type": ["null", "bytes"], "default": None},
                {"name": "n", "type": ["null", "long"], "default": None},
                {"name": "d", "type": ["null", "double"], "default": None},
                {
                    "name": "s",
                    "type": ["null", {"type": "enum", "name": "E", "symbols": ["blue", "red"]}],
                    "default": None,
                },
                {"name": "l", "type": {"type": "array", "items": "string"}, "default": []},
                {"name": "m", "type": {"type": "map", "values": "string"}, "default": {}},
            ],
        }
    ),
    "protobuf": kcodec.ProtobufCodec(
        """syntax = "proto3"; message R { optional string t = 1; optional bytes b = 2; optional int64 n = 3;
        optional double d = 4; optional E s = 5; repeated string l = 6; map<string, string> m = 7;
        enum E { blue = 0; red = 1; } }"""
    ),
    "json": kcodec.JsonCodec(
        "t STRING, b BINARY, n BIGINT, d DOUBLE, s STRING, l ARRAY<STRING>, m MAP<STRING, STRING>"
    ),
    "json_schema": kcodec.JsonSchemaCodec(
        """{"type": "object", "properties": {"t": {"type": "string"}, "n": {"type": "integer"},
        "d": {"type": "number"}, "s": {"enum": ["blue", "red"]}, "l": {"type": "array", "items": {"type": "string"}},
        "b": {"type": "string", "contentEncoding": "base64"},
        "m": {"type": "object", "additionalProperties": {"type": "string"}}}}"""
    ),
    "connect": kcodec.ConnectJsonCodec(
        pa.struct(
            [
                ("t", pa.string()),
                ("b", pa.binary()),
                ("n", pa.int64()),
                ("d", pa.float64()),
                ("s", pa.string()),
                ("l", pa.list_(pa.string())),
                ("m", pa.map_(pa.string(), pa.string())),
            ]
        ),
        schemas_enable=False,
    ),
    "ksql": kcodec.KsqlCodec(
        "JSON", "t STRING, b BYTES, n BIGINT, d DOUBLE, s STRING, l ARRAY<STRING>, m MAP<STRING, STRING>"
    ),
}


def rows(name, row):
    return {field.upper(): value for field, value in row.items()} if name == "ksql" else row


def written(codec, row):
    """Write a row in all three ways, which give the same bytes."""
    (data,) = codec.encode_list([row])
    assert codec.encode_one(row) == data
    assert codec.encode([row]).to_pylist() == [data]
    return data


of_each = pytest.mark.parametrize("name", CODECS)


@of_each
@cases(
    ("row", "plain"),
    [
        ({"t": ID}, {"t": TEXT}),
        ({"b": ID}, {"b": ID.bytes}),
        ({"t": Color.RED}, {"t": "red"}),
        ({"s": Color.RED}, {"s": "red"}),
        ({"s": Word.RED}, {"s": "red"}),
        ({"n": Size.LARGE}, {"n": 3}),
        ({"l": [Color.RED, ID]}, {"l": ["red", TEXT]}),
        ({"m": {"k": Color.RED, "i": ID}}, {"m": {"k": "red", "i": TEXT}}),
    ],
)
def test_what_they_hold_is_written(name, row, plain, impl):
    codec = CODECS[name]
    if name == "json_schema" and "b" in row:
        return  # a document has no bytes
    assert written(codec, rows(name, row)) == written(codec, rows(name, plain))


@of_each
@cases(
    ("row", "told"),
    [
        ({"t": Size.LARGE}, "<Size.LARGE: 3>"),
        ({"s": Size.LARGE}, "<Size.LARGE: 3>"),
        ({"n": Color.RED}, "<Color.RED: 'red'>"),
        ({"d": Size.LARGE}, "<Size.LARGE: 3>"),
        ({"n": ID}, "UUID"),
        ({"d": ID}, "UUID"),
    ],
)
def test_what_they_hold_is_not_written_as_something_else(name, row, told, impl):
    codec, row = CODECS[name], rows(name, row)
    with pytest.raises(kcodec.EncodeError, match=re.escape(told)) as raised:
        codec.encode_one(row)
    assert raised.value.code == "type_mismatch"
    with pytest.raises(TypeError, match=re.escape(told)):
        codec.encode([row])


@of_each
def test_a_text_is_no_list_of_its_letters(name, impl):
    codec = CODECS[name]
    for value in ("red", b"red"):
        with pytest.raises(kcodec.EncodeError) as raised:
            codec.encode_one(rows(name, {"l": value}))
        assert raised.value.code == "type_mismatch"
        with pytest.raises(TypeError, match=r"(?i)^l: b?'red' is no list<"):
            codec.encode([rows(name, {"l": value})])


@cases(
    ("rows", "kind", "told"),
    [
        ([{"a": [1]}, {"a": [2, "x"]}], pa.struct([("a", pa.list_(pa.int64()))]), "row 1 .* int64 at a[1]: "),
        ([{"k": "x"}], pa.map_(pa.string(), pa.int64()), "row 0 .* int64 at [0].value: "),
        ([[({}, 1)]], pa.map_(pa.string(), pa.int64()), "row 0 .* string at [0].key: "),
        ([[("k",)]], pa.map_(pa.string(), pa.int64()), "row 0 .* map<"),
        ([{"a": {"b": {}}}], pa.struct([("a", pa.struct([("b", pa.string())]))]), "row 0 .* string at a.b: "),
        (["x"], pa.list_(pa.string()), "the rows: 'x' is no list<"),
        (
            ["2026-01-31"],
            pa.date32(),
            "row 0 .* date32[day]: '2026-01-31' is text, not an object of datetime",
        ),
    ],
)
def test_an_error_names_the_place(rows, kind, told):
    with pytest.raises(TypeError, match="^" + re.escape(told).replace(r"\.\*", ".*").replace(r"\ ", " ")):
        kcodec.column(rows, kind)


def test_where_no_schema_is_given(impl):
    serde = kcodec.Serde("AVRO", "memory://held", topic="held")
    framed = serde.serialize([{"color": Color.RED, "size": Size.LARGE, "tags": [Color.RED]}])
    assert serde.deserialize(framed).to_pylist() == [{"color": "red", "size": 3, "tags": ["red"]}]
    with pytest.raises(TypeError, match="may be text or bytes where no schema is given"):
        serde.serialize([{"id": ID}])


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_serdes_and_records(format, impl):
    @dataclasses.dataclass
    class Order:
        id: uuid.UUID
        color: Color
        size: Size

    schema = kcodec.schema_of("id STRING, color STRING, size BIGINT", format, name="Order")
    serde = kcodec.Serde(format, f"memory://held-{format}", topic="held", schema=schema)
    framed = serde.serialize_one(Order(ID, Color.RED, Size.LARGE))
    assert serde.deserialize_one(framed) == {"id": TEXT, "color": "red", "size": 3}
