"""Single messages with other columns than the usual ones are what columns of one row are."""

import random

import pytest
from random_messages import damaged, payload, schema_text
from side_by_side import told

from kcodec import KcodecError, ProtobufCodec
from kcodec.objects.by_columns import ColumnReader, ColumnWriter

CHOICES = {
    "absent": ["default", "null"],
    "oneofs": ["members", "case"],
    "unknown_fields": ["skip", "keep"],
    "enums": ["name", "number"],
    "unsigned": ["wide", "native", "signed"],
}


def spoil(rnd, value):
    """Change a value at some depth."""
    while below := [each for each in value.values() if isinstance(each, dict) and rnd.random() < 0.5]:
        value = rnd.choice(below)
    if value:
        name = rnd.choice(list(value))
        value[name] = rnd.choice(
            [None, 7, "x", b"y", 1.5, True, [], {}, name, value[rnd.choice(list(value))]]
        )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(45))
def test_they_are_what_columns_are(seed, impl):
    rnd = random.Random(seed)
    codec = ProtobufCodec(schema_text(rnd), **{name: rnd.choice(few) for name, few in CHOICES.items()})
    reader, writer = ColumnReader(codec.decode), ColumnWriter(codec.encode)
    rows = [payload(rnd, codec._message) for _ in range(8)]
    for row in rows + [damaged(rnd, row, rows) for row in rows]:
        assert told(codec.decode_one, row) == told(reader.decode_one, row), row
        try:
            value = codec.decode_one(row)
        except KcodecError:
            continue
        for _ in range(3):
            assert told(codec.encode_one, value) == told(writer.encode_one, value), value
            spoil(rnd, value)


SCHEMA = """
    syntax = "proto3";
    message M { int64 id = 1; string name = 2; double rate = 3; oneof which { int32 a = 5; string b = 6; } }
"""


@pytest.mark.parametrize(
    ("options", "data", "value"),
    [
        ({"absent": "null"}, b"\x08\x00", {"id": None, "name": None, "rate": None, "a": None, "b": None}),
        (
            {"oneofs": "case"},
            b"\x08\x07\x2a\x00",
            {"id": 7, "name": "", "rate": 0.0, "a": None, "b": None, "which": None},
        ),
        (
            {"oneofs": "case"},
            b"\x08\x07\x32\x01x",
            {"id": 7, "name": "", "rate": 0.0, "a": None, "b": "x", "which": "b"},
        ),
        (
            {"unknown_fields": "keep"},
            b"\x08\x07",
            {"id": 7, "name": "", "rate": 0.0, "a": None, "b": None, "_unknown_fields": None},
        ),
    ],
    ids=["absent", "no case", "case", "unknown fields"],
)
def test_what_is_plain_takes_no_column(options, data, value, monkeypatch):
    codec = ProtobufCodec(SCHEMA, **options)
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    monkeypatch.setattr(ColumnReader, "decode_one", None)
    assert codec.decode_one(data) == value
    assert codec.decode_one(codec.encode_one(value)) == value


def test_a_zero_with_a_sign_is_no_default():
    codec = ProtobufCodec(SCHEMA, absent="null")
    written = codec.encode_one({"rate": -0.0})
    assert str(codec.decode_one(written)["rate"]) == "-0.0"
    assert codec.decode_one(written[:1] + bytes(8))["rate"] is None
