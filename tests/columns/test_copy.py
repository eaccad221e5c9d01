"""Columns of few rows, which are written into shared memory: as those of many, whatever they hold."""

import datetime
import decimal

import pyarrow as pa
import pytest

import kcodec
from kcodec import AvroCodec, JsonCodec, ProtobufCodec

KIND = pa.struct(
    [
        ("flag", pa.bool_()),
        ("id", pa.int64()),
        ("text", pa.string()),
        ("blob", pa.binary()),
        ("day", pa.date32()),
        ("price", pa.decimal128(12, 2)),
        ("none", pa.null()),
        ("empty", pa.struct([])),
        ("list", pa.list_(pa.list_(pa.bool_()))),
        ("map", pa.map_(pa.string(), pa.struct([("x", pa.int8()), ("t", pa.list_(pa.string()))]))),
    ]
)
LARGE = pa.struct(
    [
        ("text", pa.large_string()),
        ("list", pa.large_list(pa.large_list(pa.bool_()))),
        (
            "map",
            pa.map_(
                pa.large_string(), pa.struct([("x", pa.int8()), ("t", pa.large_list(pa.large_string()))])
            ),
        ),
    ]
)
ROWS = [
    None,
    {
        "flag": True,
        "id": -1,
        "text": "ü",
        "blob": b"\0",
        "day": datetime.date(1500, 1, 1),
        "price": decimal.Decimal("-0.01"),
        "empty": {},
        "list": [[], None, [True, None]],
        "map": [("a", {"x": 1, "t": ["", None]}), ("b", None)],
    },
    {"text": "", "list": [], "map": []},
    {"list": [[False] * 9], "map": [("k" * 20, {"x": None, "t": []})]},
]


@pytest.fixture(params=[False, True], ids=["narrow", "large"])
def codec(request, impl):
    return JsonCodec(LARGE if request.param else KIND)


def rows_of(codec, count):
    names = {field.name for field in codec.arrow_type}
    return [row and {key: row[key] for key in row if key in names} for row in (ROWS * 33)[:count]]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 63, 64, 65, 130])
def test_any_number_of_rows(codec, count):
    rows = rows_of(codec, count)
    column = codec.decode(codec.encode(pa.array(rows, codec.arrow_type)))
    column.validate(full=True)
    assert column.equals(pa.array(rows, codec.arrow_type))
    assert column.type == codec.arrow_type


def test_columns_outlive_each_other_and_the_next_call(codec):
    values = codec.encode(pa.array(rows_of(codec, 4), codec.arrow_type))
    kept = [codec.decode(values).field("text") for _ in range(50)]
    kcodec.release_unused()
    codec.decode(values)
    assert {tuple(each.to_pylist()) for each in kept} == {(None, "ü", "", None)}


def test_a_row_that_outgrows_the_memory(impl):
    """Items, text and defaults take more than few rows mostly do."""
    many = {"list": [[True] * 1000] * 100, "text": "x" * 2_000_000}
    codec = JsonCodec(KIND)
    assert codec.decode(codec.encode(pa.array([many], KIND))).equals(pa.array([many], KIND))
    writer = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": {"type": "array", "items": "int"}}]}'
    text = "y" * 30_000
    reader = writer.replace("]}", f', {{"name": "d", "type": "string", "default": "{text}"}}]}}')
    codec = AvroCodec(writer, reader)
    found = codec.decode([b"\0"] * 40)
    found.validate(full=True)
    assert found.field("d").to_pylist() == [text] * 40


def test_types_too_deep_for_the_c_data_interface(impl):
    kind, value, document = pa.int64(), 1, b"1"
    for _ in range(63):
        kind, value, document = pa.list_(kind), [value], b"[" + document + b"]"
    found = JsonCodec(kind).decode([document, None])
    found.validate(full=True)
    assert found.to_pylist() == [value, None]


def test_wide_types(impl):
    fields = "".join(f"optional {kind} f{at} = {at};" for at, kind in enumerate(["int64", "string"] * 700, 1))
    codec = ProtobufCodec(f'syntax = "proto3"; message M {{ {fields} }}', "M")
    rows = [{"f1": 1, "f1400": "z"}, {"f700": "a" * 700}]
    assert codec.decode(codec.encode(rows)).equals(pa.array(rows, codec.arrow_type))


def test_bad_rows(codec):
    good = codec.encode(pa.array(rows_of(codec, 4), codec.arrow_type)).to_pylist()
    found, report = codec.decode([good[1], b'{"text":"x","list":[[1', good[2], b"[]"], errors="report")
    _, first, second, _ = rows_of(codec, 4)
    assert found.equals(pa.array([first, None, second, None], codec.arrow_type))
    assert report["row"].to_pylist() == [1, 3]
    found.validate(full=True)
