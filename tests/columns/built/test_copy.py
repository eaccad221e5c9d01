"""Small columns, which are copied out of what the next call is read into: as large ones, whatever they hold."""

import datetime
import decimal
from random import Random

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

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


@cases("count", [0, 1, 2, 3, 63, 64, 65, 130])
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


LISTS = [
    ("list", pa.list_(pa.int64())),
    ("names", pa.list_(pa.string())),
    ("map", pa.map_(pa.string(), pa.int64())),
]
MIXED = pa.struct(
    [("flag", pa.bool_()), ("id", pa.int64()), ("text", pa.string()), ("real", pa.float64()), *LISTS]
)


def drawn_row(random):
    def text(most):
        return "".join(random.choices("abcé€", k=random.randint(0, most)))

    row = {
        "flag": random.random() < 0.5,
        "id": random.getrandbits(random.choice([5, 30, 63])) - 9,
        "text": text(random.choice([3, 90])),
        "real": random.random(),
        "list": [random.getrandbits(random.choice([4, 12, 63])) for _ in range(random.choice([0, 1, 30]))],
        "names": [text(9) for _ in range(random.randint(0, 9))],
        "map": [(f"{text(9)}{number}", number) for number in range(random.choice([0, 2, 20]))],
    }
    absent = {name: None for name in ("flag", "id", "text", "real") if random.random() < 0.3}
    return {**row, **absent}


@pytest.mark.parametrize("kind", ["AVRO", "PROTOBUF", "JSON"])
@settings(max_examples=tries(40), deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_no_call_leaves_anything_to_the_next(kind, seed):
    """Columns are kept between calls: whatever one has held or failed at, the next reads as if it were the first."""
    random = Random(seed)
    if kind == "JSON":
        codec = JsonCodec(MIXED)
    elif kind == "AVRO":
        codec = AvroCodec(kcodec.schema_of(pa.schema(list(MIXED)), name="Row"))
    else:
        codec = ProtobufCodec(kcodec.schema_of(pa.schema(list(MIXED)), "PROTOBUF", name="Row"), "Row")
    for _ in range(4):
        rows = [drawn_row(random) for _ in range(random.choice([0, 1, 9, 200]))]
        values = codec.encode(pa.array(rows, codec.arrow_type)).to_pylist()
        for at in range(len(values)):
            if random.random() < 0.1:
                values[at] = random.choice([None, b"", b"\xff", values[at][:-1], values[at] + b"x"])
        found, report = codec.decode(values, errors="report")
        found.validate(full=True)
        kcodec.release_unused()
        alone, told = codec.decode(values, errors="report")
        assert found.equals(alone)
        assert report.equals(told)
