"""Values that are read without columns, and those that are left to them; `same_decode` compares both on all others."""

import datetime
import gc
import tracemalloc
from decimal import Decimal

import pyarrow as pa
import pytest
from side_by_side import NotPlain, exact, left_to_columns

from kcodec import JsonCodec, Limits, ProtobufCodec
from kcodec._impl import kernel

UTC = datetime.timezone.utc
JSON = JsonCodec(
    pa.struct(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("name", pa.string()),
            ("price", pa.decimal128(9, 2)),
            ("at", pa.timestamp("ms", "UTC")),
            ("day", pa.date32()),
            ("score", pa.float32()),
            ("data", pa.binary()),
            ("tags", pa.list_(pa.string())),
            ("counts", pa.map_(pa.string(), pa.uint8())),
            ("place", pa.struct([("city", pa.string())])),
        ]
    )
)
DOCUMENT = {
    "id": 2**60 + 1,
    "name": 'by "hand" é',
    "price": Decimal("12.50"),
    "at": datetime.datetime(2024, 5, 1, 10, 0, 0, 1000, UTC),
    "day": datetime.date(2024, 2, 29),
    "score": 0.5,
    "data": b"\xff\x00",
    "tags": ["a", None, ""],
    "counts": [("x", 1), ("y", 255)],
    "place": {"city": "Zürich"},
}
PROTOBUF = ProtobufCodec("""
    syntax = "proto3";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message Order {
      int64 id = 1; optional string note = 2; repeated sint32 numbers = 3; repeated string tags = 4;
      map<string, uint64> counts = 5; Place place = 6; google.protobuf.Timestamp at = 7; Kind kind = 8;
      google.protobuf.StringValue name = 9; oneof which { bool yes = 10; double share = 11; } fixed32 last = 300;
      message Place { string city = 1; }
      enum Kind { NONE = 0; SOME = 1; }
    }
""")
MESSAGE = {
    "id": -1,
    "note": None,
    "numbers": [-1, 2**31 - 1],
    "tags": ["a", "é"],
    "counts": [("x", Decimal(2**64 - 1))],
    "place": {"city": "Zürich"},
    "at": datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    "kind": "SOME",
    "name": "",
    "yes": None,
    "share": 0.25,
    "last": 7,
}


def plain_reader(codec):
    """What reads a codec's values without columns."""
    name = "json" if codec is JSON else "protobuf"
    return kernel(f"formats.{name}.objects._read", "native").object_reader(
        codec.decode_plan, Limits(), left_to_columns
    )


@pytest.mark.parametrize(
    ("codec", "value"), [(JSON, DOCUMENT), (PROTOBUF, MESSAGE)], ids=["json", "protobuf"]
)
def test_what_is_plain_takes_no_columns(codec, value):
    empty = dict.fromkeys(value) | {"id": 0}
    for each in (value, empty):
        data = codec.encode_one(each)
        wanted = exact(codec.decode([data]).to_pylist()[0])
        assert exact(plain_reader(codec).decode_one(data)) == wanted
        assert exact(plain_reader(codec).decode_one(b"frame" + data, 5)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 1, "tags": [1]}',
        '{"id": 1.5}',
        '{"id": 1e2}',
        '{"i\\u0064": 1}',
        '{"id": 1, "counts": {"a": 1, "a": 2}}',
        '{"id": 1, "counts": {"a": 256}}',
        '{"id": 1, "price": 0.125}',
        '{"id": 1, "name": "\x01"}',
        '{"id": 1,}',
        '{"id": 01}',
        "{}",
        '\ufeff{"id": 1}',
    ],
)
def test_documents_that_are_left_to_columns(impl, text):
    """The answer, a value or what is wrong with it, is that of columns."""
    with pytest.raises(NotPlain):
        plain_reader(JSON).decode_one(text.encode())
    values = [b'{"id": 1}', None, text.encode(), b'{"id": 2}']
    column, report = JSON.decode(values, errors="report")
    objects, found = JSON.decode_list(values, errors="report")
    assert objects == column.to_pylist()
    assert found.equals(report)


@pytest.mark.parametrize(
    "data",
    [
        "3a00 3a00",  # a message in two parts
        "5001 5900000000000000 00",  # two members of a oneof, and half a field
        "5001 590000000000000000",
        "2a030a0161 2a030a0161",  # a key of a map twice
        "1201ff",  # no UTF-8
        "0b0c",  # a group
        "1205 61",
        "80808080808080808001 00",
    ],
)
def test_messages_that_are_left_to_columns(impl, data):
    data = bytes.fromhex(data)
    with pytest.raises(NotPlain):
        plain_reader(PROTOBUF).decode_one(data)
    values = [b"\x08\x01", None, data, b"\x08\x02"]
    column, report = PROTOBUF.decode(values, errors="report")
    objects, found = PROTOBUF.decode_list(values, errors="report")
    assert objects == column.to_pylist()
    assert found.equals(report)


def test_items_are_counted_before_they_fill_the_memory():
    """A list of many small items is left to columns, which say what the limits allow."""
    message = ProtobufCodec("syntax = 'proto3'; message M { repeated N n = 1; message N { int64 a = 1; } }")
    documents = JsonCodec(pa.list_(pa.struct([("a", pa.int64())])))
    for codec, name, data in ((message, "protobuf", b"\x0a\x00" * 100), (documents, "json", b"[{},{},{}]")):
        make = kernel(f"formats.{name}.objects._read", "native").object_reader
        make(codec.decode_plan, Limits(), left_to_columns).decode_one(data)
        with pytest.raises(NotPlain):
            make(codec.decode_plan, Limits(max_expansion=100), left_to_columns).decode_one(data)


@pytest.mark.parametrize(
    ("codec", "value"), [(JSON, DOCUMENT), (PROTOBUF, MESSAGE)], ids=["json", "protobuf"]
)
def test_nothing_is_left_of_what_was_read(codec, value):
    data = codec.encode_one(value)
    reader = plain_reader(codec)

    def allocated():
        for _ in range(500):
            reader.decode_one(data)
            with pytest.raises(NotPlain):
                reader.decode_one(data[:-1])
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = allocated()
        assert allocated() - first < 5_000
    finally:
        tracemalloc.stop()
