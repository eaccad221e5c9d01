"""Struct, Value and ListValue as text of JSON: what the compiled loop prints is what its plain twin does."""

import json
import random

import pyarrow as pa
import pytest
from cases import cases

from kcodec import ProtobufCodec
from kcodec._impl import kernel
from kcodec.formats.protobuf.schema import ProtobufSchema

SCHEMA = """
syntax = "proto3";
import "google/protobuf/struct.proto";
message All {
  google.protobuf.Struct a = 1; google.protobuf.Value b = 2; google.protobuf.ListValue c = 3;
  repeated google.protobuf.Struct many = 4;
}
"""
TYPES = ProtobufSchema.parse(SCHEMA).messages
NAMES = {"a": "google.protobuf.Struct", "b": "google.protobuf.Value", "c": "google.protobuf.ListValue"}


def drawn(r, depth):
    shape = r.randrange(8 if depth else 5)
    if shape == 0:
        return r.choice([None, True, False])
    if shape in (1, 2):
        return r.choice([0, 1, -1.5, -0.5, 1e300, 5e-324, 123456789012, r.random(), r.getrandbits(53)])
    if shape in (3, 4):
        return r.choice(
            ["", "abc", "é", "日本語", "\u2027", "\u2028", 'a"b', "a<b", "\t", "\U0001f600", "x" * 200]
        )
    if shape == 5:
        return [drawn(r, depth - 1) for _ in range(r.randint(0, 4))]
    return {
        r.choice(["", "k", "key", "é", "<"]) + str(at): drawn(r, depth - 1) for at in range(r.randint(0, 5))
    }


def messages(field, trees):
    codec = ProtobufCodec(SCHEMA)
    texts = [json.dumps(tree, ensure_ascii=False) for tree in trees]
    rows = codec.encode(pa.array([{field: text} for text in texts]))
    plain = ProtobufCodec(f'syntax = "proto3"; message All {{ bytes {field} = {" abc".index(field)}; }}')
    return plain.decode(rows).field(field).to_pylist()


@cases("field", NAMES)
@cases("seed", range(8))
def test_texts(field, seed):
    r = random.Random(seed)
    shapes = {"a": dict, "b": object, "c": list}
    trees = [tree for tree in (drawn(r, 5) for _ in range(400)) if isinstance(tree, shapes[field])]
    values = messages(field, trees)
    for at in range(0, len(values), 3):
        if values[at] and r.random() < 0.7:
            changed = bytearray(values[at])
            changed[r.randrange(len(changed))] = r.choice([0, 1, 10, 0x12, 0x1A, r.randrange(256)])
            values[at] = bytes(changed[: r.choice([len(changed), r.randrange(len(changed) + 1)])])
    array = pa.array([*values, None], pa.binary())
    message = TYPES[NAMES[field]]
    native, pure = (
        kernel("formats.protobuf.json._struct", implementation).texts(array, message, 40).to_pylist()
        for implementation in ("native", "pure")
    )
    for made, expected in zip(native, pure, strict=True):
        assert made in (None, expected)
    # What is not rare is not left out.
    assert sum(made is not None for made in native) > len(native) // 8


@cases("field", NAMES)
@cases("seed", range(8))
def test_messages(field, seed):
    r = random.Random(seed)
    shapes = {"a": dict, "b": object, "c": list}
    texts = []
    for tree in (drawn(r, 5) for _ in range(400)):
        if isinstance(tree, shapes[field]):
            text = json.dumps(
                tree, ensure_ascii=r.random() < 0.2, separators=r.choice([(",", ":"), (" , ", " : ")])
            )
            if text and r.random() < 0.3:
                at = r.randrange(len(text))
                text = text[:at] + r.choice('{}[]",:\\-0e1é ') + text[at + r.randrange(2) :]
            texts.append(text)
    texts += [
        "-0",
        "1e400",
        "01",
        *(f"[0.{'0' * size}1]" for size in (997, 998)),
        *(f'{{"a":-1{"0" * size}}}' for size in (300, 998, 999)),
        *(f"{'1' * size}e-900" for size in (995, 996)),
        '{"b":1,"a":2,"b":3}',
        '{"b":1,"a":{"d":[1,[],{}],"c":"x"}}',
        "[1,]",
        '{"\U0001f600":1,"\uffee":2}',
    ]
    texts += ['{"a":' * depth + "1" + "}" * depth for depth in (5, 33, 34, 40)]
    texts += ["[" * depth + "]" * depth for depth in (48, 49, 50, 51)]
    message = TYPES[NAMES[field]]
    array = pa.array([*texts, None, " " * 100])
    native, pure = (
        kernel("formats.protobuf.json._struct", implementation).messages(array, message, 100).to_pylist()
        for implementation in ("native", "pure")
    )
    for text, made, expected in zip(array.to_pylist(), native, pure, strict=True):
        assert made in (None, expected), text
    assert sum(made is not None for made in native) > len(native) // 8


def test_numbers_that_are_too_long(impl):
    codec = ProtobufCodec(SCHEMA)
    texts = [f"0.{'0' * size}1" for size in (997, 998)] * 20
    _, report = codec.encode(pa.array([{"b": text} for text in texts]), errors="report")
    assert report["row"].to_pylist() == list(range(1, 40, 2))
    assert set(report["code"].to_pylist()) == {"number_length"}


def test_texts_of_any_size(impl):
    codec = ProtobufCodec(SCHEMA)
    for count in (1, 63, 64, 65, 200):
        tree = {f"k{at}": [float(at)] * (at % 40) for at in range(count)}
        text = json.dumps(tree, separators=(",", ":"))
        ordered = json.dumps(dict(sorted(tree.items())), separators=(",", ":"))
        assert codec.decode(codec.encode(pa.array([{"a": text}] * 3))).field("a").to_pylist() == [ordered] * 3
    texts = [f'["{"x" * (1 << 20)}"]', "[]", f"[{'{},' * 5000}true]"]
    rows = pa.array([{"c": text} for text in texts])
    assert codec.decode(codec.encode(rows)).field("c").to_pylist() == texts


def test_a_row_that_is_too_long_for_it():
    native, value = kernel("formats.protobuf.json._struct", "native"), TYPES[NAMES["b"]]
    longest = b'"%b"' % (b"x" * ((1 << 28) // 12 - 2))
    texts = pa.array([b"true", longest, longest + b" ", b"false"], pa.large_binary())
    assert native.messages(texts, value, 100).is_valid().to_pylist() == [True, True, False, True]
    longest = b"\x1a\xfb\xff\xff\x1f" + b"x" * ((1 << 26) - 5)
    made = native.texts(pa.array([longest, longest[1:], longest + b"y"]), value, 100)
    assert made.is_valid().to_pylist() == [True, False, False]


def test_the_last_row_of_a_column():
    # Behind it nothing can be read.
    native, value = kernel("formats.protobuf.json._struct", "native"), TYPES[NAMES["b"]]
    for size in (100, 1 << 13, (1 << 21) - 1, 1 << 21):
        text = b'"%b"' % (b"x" * size)
        made = native.messages(pa.array([text]), value, 100)
        assert native.texts(made, value, 100).to_pylist() == [text]


def test_how_deep_it_goes(impl):
    codec = ProtobufCodec(SCHEMA)
    for levels in (3, 30, 34, 60):
        text = '{"k":' * levels + "[]" + "}" * levels
        array, report = codec.encode(pa.array([{"a": text}]), errors="report")
        if report.num_rows == 0:
            assert codec.decode(array).field("a").to_pylist() == [text]
        else:
            assert report["code"].to_pylist() == ["depth_limit"]


def test_columns_and_lists_of_them(impl):
    rows = [{"a": '{"x":1.0,"y":[null,true]}', "b": '"<"', "c": "[]", "many": ["{}", '{"z":"é"}']}] * 40 + [
        {"a": None, "b": "null", "c": None, "many": []}
    ]
    codec = ProtobufCodec(SCHEMA)
    found = codec.decode(codec.encode(pa.array(rows))).to_pylist()
    assert found == [{**row, "b": '"\\u003c"' if row["b"] == '"<"' else "null"} for row in rows]


def test_of_no_other_message():
    with pytest.raises(ValueError, match="has no such text"):
        kernel("formats.protobuf.json._struct", "native").texts(pa.array([b""]), TYPES["All"], 5)
