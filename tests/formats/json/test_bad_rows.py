"""Bad rows among good ones: both implementations name the same ones, with the same faults."""

import array
import dataclasses
import json
import random
from functools import partial

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from json_rows import KERNEL, KINDS, VALUES, same_decode, usual, written
from json_strategies import OPTIONS, damaged, documents, kinds
from side_by_side import answer, on_both
from tries import tries

from kcodec import JsonCodec
from kcodec._impl import kernel
from kcodec.formats.json.node import Form
from kcodec.formats.json.plan import JsonOptions, json_plan
from kcodec.plan import Limits

#: What is done to a document in parts.
DAMAGE = [
    lambda parts: written(parts)[:-1],
    lambda parts: written(parts)[: len(written(parts)) // 2],
    lambda parts: written({**parts, "id": '"1"'}),
    lambda parts: written({**parts, "note": "null"}),
    lambda parts: written({**parts, "small": "1000", "score": "false"}),
    lambda parts: written({**parts, "sizes": '[1,2,"3"]'}),
    lambda parts: written({**parts, "address": '{"street":"s","place":{"zip":-1}}'}),
    lambda parts: written({**parts, "address": '{"street":"s"'}),
    lambda parts: written({**parts, "counts": '{"a":1.5}'}),
    lambda parts: written({**parts, "lines": '[{"sku":"a","qty":1,"rate":1.5},{"sku":"a","qty":1.5}]'}),
    lambda parts: written({**parts, "lines": '[{"sku":"a","qty":1,"rate":1.5},{"sku":"a"'}),
    lambda parts: written({name: value for name, value in parts.items() if name != "id"}),
    lambda parts: written({name: value for name, value in parts.items() if name != "note"}),
    lambda parts: written({**parts, "other": '{"a":1'}),
    lambda parts: written({**parts, "tags": '["é","a"'}).replace(b"\xc3\xa9", b"\xc3"),
    lambda parts: written(parts).replace(b"n", b"\xa9", 1),
    lambda parts: written({**parts, "name": '"\\x"'}),
    lambda parts: written(parts) + b"]",
    lambda parts: written(parts).replace(b":", b" ", 1),
    lambda parts: b"null",
    lambda parts: b"null null",
    lambda parts: b"",
    lambda parts: b" ",
    lambda parts: b"[1,2]",
    lambda parts: b"no JSON",
    lambda parts: bytes(range(256)),
    lambda parts: None,
    # Not wrong, but not what the rows around are like.
    lambda parts: written(dict(reversed(parts.items()))),
    lambda parts: written({**parts, "other": "[1,{}]"}),
    lambda parts: b"\xef\xbb\xbf " + written(parts) + b"\n",
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ["steady", "few", "any"])
@pytest.mark.parametrize("wrong", [{0}, {0, 1, 40}, {0, 7, 8, 9, 20, 31, 64}, set(range(65)) - {3, 50}])
def test_bad_rows_at_every_place_of_blocks(order, wrong):
    # Blocks have at most 64 rows: a step of 65 comes to each place of one.
    plan = json_plan(pa.struct(KINDS), "decode")
    rows = []
    for row in range(65 * len(DAMAGE)):
        parts = usual(row, order)
        damage = DAMAGE[(row // 65 + row % 65) % len(DAMAGE)] if row % 65 in wrong else written
        rows.append(damage(parts))
    same_decode([plan], rows)


@given(st.data())
def test_bad_rows_anywhere(data):
    count = data.draw(st.integers(1, len(KINDS)))
    kind = pa.struct(KINDS[:count] if data.draw(st.booleans()) else KINDS[-count:])
    plan = json_plan(
        kind, "decode", JsonOptions(duplicate_keys=data.draw(st.sampled_from(["last", "error"])))
    )
    if data.draw(st.booleans()):
        # A field that may be absent after all, with a default.
        at = data.draw(st.integers(0, count - 1))
        children = list(plan.root.children)
        forms = children[at].forms | Form.ABSENT | Form.DEFAULT
        default = VALUES[children[at].name].split(" | ")[0].encode()
        children[at] = dataclasses.replace(children[at], forms=forms, data=default)
        plan = dataclasses.replace(plan, root=dataclasses.replace(plan.root, children=tuple(children)))
    order = data.draw(st.sampled_from(["steady", "steady", "few", "any"]))
    share = data.draw(st.sampled_from([2, 10, 50]))
    rows = [
        data.draw(st.sampled_from(DAMAGE))(usual(row, order))
        if data.draw(st.integers(1, 100)) <= share
        else written(usual(row, order))
        for row in range(data.draw(st.integers(1, 150)))
    ]
    starts = array.array("i", [data.draw(st.sampled_from([0, 0, 0, 0, 1, 400])) for _ in rows])
    same_decode([plan], rows, trailing=data.draw(st.booleans()))
    same_decode([plan], rows, starts=starts)


@given(st.data())
@settings(max_examples=tries(30))
def test_blocks_of_rows_with_several_faults(data):
    """The first fault of each row is told, whichever of its fields a block reads first."""
    plan = json_plan(data.draw(kinds()), "decode", data.draw(OPTIONS))
    document = documents(plan.root)
    bad = document.flatmap(damaged).flatmap(damaged).flatmap(damaged)
    some = data.draw(st.lists(st.one_of(document, bad, bad), min_size=2, max_size=8))
    rows = random.Random(data.draw(st.integers(0, 1 << 32))).choices(
        some, k=data.draw(st.sampled_from([8, 13, 70]))
    )
    same_decode([plan], rows, limits=Limits())


def test_bad_rows_of_every_layout():
    kind = pa.struct(KINDS)
    native, pure = (kernel(KERNEL, implementation) for implementation in ("native", "pure"))
    text = [damage for damage in DAMAGE if (damage(usual(7)) or b"").isascii()]
    rows = [text[row % len(text)](usual(row)) if row % 7 == 0 else written(usual(row)) for row in range(400)]
    expected, expected_faults = pure.decode(pa.array(rows), [pure.Program(json_plan(kind, "decode"))])
    for layout in (pa.binary(), pa.string(), pa.large_binary(), pa.binary_view(), pa.string_view()):
        values = pa.array([b"first", *rows, b"x" * 80], pa.binary()).cast(layout).slice(1, len(rows))
        decoded, faults = native.decode(values, [native.Program(json_plan(kind, "decode"))])
        assert decoded.equals(expected)
        assert faults == expected_faults
        decoded.validate(full=True)
        # Nothing of a bad row is seen beneath its null.
        for fault in faults:
            assert not decoded[fault.row].is_valid
            assert [decoded.field(at)[fault.row].as_py() for at in range(1, 14)] == [None] * 13


def test_a_cut_text_before_an_escape_of_other_rows():
    # Exactly as many bytes follow as may be read: a sanitizer notices one more.
    plan = json_plan(pa.struct([("a", pa.string())]), "decode")
    module = kernel(KERNEL, "native")
    for size in range(130):
        data = b'{"a":"\\n' + b"x" * size
        offsets = pa.py_buffer(array.array("i", [0, len(data)]))
        text = pa.py_buffer(data + b"y" * 61 + b"\\u0")
        column = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, text])
        _, faults = module.decode(column, [module.Program(plan, Limits())])
        assert [(fault.offset, fault.code) for fault in faults] == [(len(data), "truncated")]


@pytest.mark.parametrize("count", [0, 1, 64])
def test_rows_that_are_cut_before_what_would_go_on_with_them(count):
    """What stands behind a row in memory, such as a space and its value, is none of it."""
    inner = pa.struct([("a", pa.int64()), ("b", pa.string())])
    fields = [("id", pa.int64()), ("x", pa.list_(pa.int64())), ("o", inner), ("l", pa.list_(inner))]
    codec = JsonCodec(pa.struct([*fields, ("d", pa.decimal128(9, 2)), ("s", pa.string())]))
    whole = b'{"id": 12, "x": [1, 2], "o": {"a": 1, "b": "c"}, "l": [{"a": 1}], "d": 1.5, "s": "t"}'
    for size in range(len(whole)):
        if whole[size : size + 1] in b' "1':
            rows = [whole] * count + [whole[:size], whole[size:], whole]
            on_both(partial(lambda rows: answer(*codec.decode(rows, errors="report")), rows))


def test_paths_of_many_bad_rows():
    kind = pa.struct([("lists", pa.list_(pa.list_(pa.int8())))])
    rows = [f'{{"lists":[[],[{"1," * (row % 70)}"x"]]}}'.encode() for row in range(300)]
    same_decode([json_plan(kind, "decode")], rows)
    faults = kernel(KERNEL, "native").decode(
        pa.array(rows), [kernel(KERNEL, "native").Program(json_plan(kind, "decode"))]
    )[1]
    assert [fault.path for fault in faults] == [f"lists[1][{row % 70}]" for row in range(300)]
    deep = pa.list_(pa.int8())
    for _ in range(10):
        deep = pa.list_(deep)
    rows = [b'{"d":' + b"[" * 11 + b"1000" + b"]" * 11 + b"}"] * 5 + [b'{"d":[]}'] * 70
    same_decode([json_plan(pa.struct([("d", deep)]), "decode")], rows, limits=Limits())


@cases(
    ("kind", "texts", "wanted"),
    [
        (pa.map_(pa.bool_(), pa.int8()), ['{"true":1,"false":2}', '{"True":1}', '{"1":1}'], [0, *["json_type"] * 2]),
        (pa.map_(pa.int8(), pa.int8()), ['{"-1":1}', '{"1.0":1}', '{"01":1}'], [0, "invalid_number", "invalid_number"]),
        (pa.map_(pa.int8(), pa.int8()), ['{"128":1}', '{"1":1}'], ["out_of_range", 0]),
        (pa.map_(pa.date32(), pa.int8()), ['{"2024-01-02":1}', '{"x":1}'], [0, "invalid_time"]),
        # Characters in fours, then the bytes that they are.
        (pa.binary(2), ['"YWE="', '"YQ=="', '"YWFh"', '""', '"YWFhYQ=="'], [0, *["fixed_size"] * 4]),
        (pa.binary(2), ['"YW\\u0045="', '"!!!!"', "5"], [0, "invalid_base64", "json_type"]),
        (pa.decimal128(5, 2), ["1e2", "1e3", "1.255", '"x"'], [0, "decimal_precision", "inexact", "invalid_number"]),
        (pa.decimal128(5, 2), ["0e999999999", "9" * 20], [0, "decimal_precision"]),
        (pa.decimal128(5, 2), ["9" * 200, "1"], ["number_length", 0]),
    ],
)  # fmt: skip
def test_rows_that_are_no_value_of_their_type(impl, kind, texts, wanted):
    codec = JsonCodec(pa.struct([("x", kind)]), limits=Limits(max_number_length=100))
    found, report = codec.decode([f'{{"x":{text}}}' for text in texts], errors="report")
    codes = dict(zip(report["row"].to_pylist(), report["code"].to_pylist(), strict=True))
    assert [codes.get(row, 0) for row in range(len(texts))] == wanted
    assert found.is_null().to_pylist() == [bool(code) for code in wanted]


@pytest.mark.parametrize("colon", [" : ", "\n:", "  :\t"])
def test_space_before_colons(colon):
    """As some encoders write it, in all rows or some; cut at each byte, and with each byte changed."""
    kind = pa.struct(
        [("id", pa.int64()), ("a name of more than sixteen bytes", pa.string()), ("x", pa.float64())]
    )
    documents = [
        {"id": 7, "a name of more than sixteen bytes": "é" * 5, "x": 1.5},
        {"x": 0.25, "other": [1], "id": 8},
    ]
    spaced = [json.dumps(each, ensure_ascii=False, separators=(" , ", colon)).encode() for each in documents]
    tight = [json.dumps(each, ensure_ascii=False).encode() for each in documents]
    cut = [row[:size] for row in spaced for size in range(len(row))]
    changed = [
        row[:at] + byte + row[at + 1 :]
        for row in spaced
        for at in range(len(row))
        for byte in (b'"', b"x", b" ")
    ]
    plan = json_plan(kind, "decode")
    for rows in (spaced * 20, [*tight, *spaced] * 10, [*spaced * 3, *cut, *spaced], [*tight, *changed]):
        same_decode([plan], rows)
