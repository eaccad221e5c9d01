"""The compiled kernel answers as the plain one: values, and faults with row, offset, path and code."""

import array
import base64
import dataclasses
import decimal
import json
import math
import random
import warnings
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import side_by_side
from hypothesis import given, settings
from hypothesis import strategies as st
from json_rows import KERNEL, KINDS, LIMITS, VALUES, line, same_decode, written
from json_strategies import ANY, NUMBERS, OPTIONS, TEXTS, damaged, documents, entry_plans, kinds, odd_plans
from tries import tries

from kcodec._impl import kernel
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.formats.json.plan import JsonOptions, json_plan
from kcodec.plan import Limits, Plan

WIDE = decimal.Context(prec=100)


same_encode = partial(side_by_side.same_encode, KERNEL, limits=LIMITS)


@given(st.data())
def test_decode_of_any_document(data):
    plan = json_plan(data.draw(kinds()), "decode", data.draw(OPTIONS))
    row = st.one_of(documents(plan.root), documents(plan.root).flatmap(damaged), st.none())
    rows = data.draw(st.lists(row, max_size=5))
    same_decode([plan], rows, trailing=data.draw(st.booleans()))


@given(st.data())
def test_decode_with_odd_forms(data):
    plan = json_plan(data.draw(kinds()), "decode", data.draw(OPTIONS))
    plan = data.draw(odd_plans(data.draw(entry_plans(plan))))
    row = st.one_of(documents(plan.root), documents(plan.root).flatmap(damaged))
    same_decode([plan], data.draw(st.lists(row, max_size=5)))


@given(st.data())
def test_encode_of_decoded_columns(data):
    options = data.draw(OPTIONS)
    kind = data.draw(kinds())
    decoding = data.draw(entry_plans(json_plan(kind, "decode", options)))
    rows = data.draw(st.lists(st.one_of(st.none(), documents(decoding.root)), max_size=5))
    decoded = same_decode([decoding], rows)
    encoding = json_plan(kind, "encode", options)
    cut = data.draw(st.integers(0, len(rows)))
    around = {"prefix": data.draw(st.binary(max_size=3)), "suffix": data.draw(st.binary(max_size=3))}
    same_encode(encoding, decoded.slice(cut), large=data.draw(st.booleans()), **around)
    # What is written is read as the same.
    written = same_encode(encoding, decoded)
    again = same_decode([json_plan(kind, "decode", options)], written.to_pylist(), limits=Limits())
    values, before = side_by_side.comparable(again), side_by_side.comparable(decoded)
    for row, document in enumerate(written):
        assert not document.is_valid or values[row] == before[row]


@given(st.data())
def test_many_programs_and_ranges(data):
    kind = data.draw(kinds())
    plans = [json_plan(kind, "decode"), data.draw(odd_plans(json_plan(kind, "decode")))]
    rows, selector, starts, ends = [], array.array("i"), array.array("i"), array.array("i")
    for _ in range(data.draw(st.integers(0, 5))):
        choice = data.draw(st.integers(-1, 1))
        prefix, suffix = data.draw(st.binary(max_size=3)), data.draw(st.binary(max_size=3))
        document = data.draw(documents(plans[choice].root).flatmap(damaged))
        rows.append(prefix + document + suffix)
        selector.append(choice)
        starts.append(len(prefix))
        ends.append(len(prefix) + len(document) + data.draw(st.sampled_from([0, 0, 0, -1, 9])))
    same_decode(plans, rows, selector=selector, starts=starts, ends=ends)
    same_decode(plans, rows, selector=selector, starts=starts)


@given(st.data())
def test_objects_of_many_fields(data):
    names = [f"field_{i}" if i % 3 else f"F{i}" for i in range(data.draw(st.sampled_from([64, 65, 130])))]
    kind = pa.struct([pa.field(name, pa.int16(), i % 50 != 7) for i, name in enumerate(names)])
    plan = json_plan(
        kind, "decode", JsonOptions(duplicate_keys=data.draw(st.sampled_from(["last", "error"])))
    )
    if data.draw(st.booleans()):
        root = dataclasses.replace(plan.root, forms=plan.root.forms | Form.FOLD)
        root = dataclasses.replace(
            root, children=tuple(dataclasses.replace(c, name=c.name.upper()) for c in root.children)
        )
        plan = dataclasses.replace(plan, root=root)
    rows = []
    for _ in range(data.draw(st.integers(1, 3))):
        chosen = data.draw(st.sampled_from([names, names[::-1], names[5:], names + names[60:]]))
        if data.draw(st.booleans()):
            chosen = [*chosen, *(name.upper() for name in names[62:70])]
        rows.append(json.dumps({}).encode() if not chosen else b"{")
        rows[-1] += ",".join(f'"{name}":{i}' for i, name in enumerate(chosen)).encode() + b"}"
    same_decode([plan], rows)


ODDITIES = [
    "absent",
    "reversed",
    "twice",
    "unknown",
    "escaped",
    "indented",
    "cut",
    "more",
    "not utf-8",
    "cut inside",
]


@st.composite
def rows_alike(draw):
    """Rows of one form, most with common values; some have another value, or are odd as a whole."""
    names = [field.name for field in KINDS]
    if draw(st.booleans()):
        names = draw(st.permutations(names))
    good = {name: values.split(" || ")[0].split(" | ") for name, values in VALUES.items()}
    common = {name: draw(st.sampled_from(values)) for name, values in good.items()}
    comma, colon = draw(st.sampled_from([(",", ":"), (", ", ": "), (",", ": ")]))
    rows = []
    for _ in range(draw(st.integers(1, 40))):
        kept, values, odd = list(names), dict(common), ""
        if draw(st.integers(0, 5)) == 0:
            name = draw(st.sampled_from(names))
            values[name] = draw(st.sampled_from(VALUES[name].replace("||", "|").split(" | ")))
        if draw(st.integers(0, 7)) == 0:
            odd = draw(st.sampled_from(ODDITIES))
            name = draw(st.sampled_from(names))
            at = kept.index(name)
            kept = {
                "absent": kept[:at] + kept[at + 1 :],
                "reversed": kept[::-1],
                "twice": [*kept[: at + 1], name, *kept[at + 1 :]],
            }.get(odd, kept)
        parts = [f'"{name}"{colon}{values[name]}' for name in kept]
        if odd == "unknown":
            parts.insert(at, '"other" : {"id": [1, "é"]}')
        if odd == "escaped":
            parts[at] = parts[at].replace(name[0], f"\\u{ord(name[0]):04x}", 1)
        if odd == "indented":
            parts = [f"\n  {part}\n" for part in parts]
        row = ("{" + comma.join(parts) + "}").encode()
        cut = draw(st.integers(0, len(row))) if odd else 0
        rows.append(
            {
                "cut": row[:cut],
                "more": row + b" }",
                "not utf-8": row[:cut] + b"\xff" + row[cut:],
                "cut inside": row.replace("é".encode(), b"\xc3", 1),
            }.get(odd, row)
        )
    return rows


@given(rows_alike(), st.sampled_from(["last", "error"]), st.booleans(), st.data())
def test_rows_that_are_alike(rows, duplicate_keys, trailing, data):
    count = data.draw(st.integers(1, len(KINDS)))
    kind = pa.struct(KINDS[:count] if data.draw(st.booleans()) else KINDS[-count:])
    plan = json_plan(kind, "decode", JsonOptions(duplicate_keys=duplicate_keys))
    rows = [*rows, None, *rows] if data.draw(st.booleans()) else rows
    same_decode([plan], rows, limits=data.draw(st.sampled_from([LIMITS, Limits()])), trailing=trailing)
    if data.draw(st.booleans()):
        chosen = array.array(
            "i", data.draw(st.lists(st.integers(-1, 1), min_size=len(rows), max_size=len(rows)))
        )
        same_decode([plan, plan], rows, selector=chosen, trailing=trailing)


@st.composite
def rows_of_records(draw):
    """Rows with lists of records, of which some are odd; and lists that are longer than a block of records."""
    good, odd = VALUES["lines"].split(" || ")
    good, odd = good.split(" | "), odd.split(" | ")
    odds = draw(st.sampled_from([0, 0.01, 0.1]))
    spaced = draw(st.booleans())
    r = draw(st.randoms(use_true_random=False))
    rows = []
    for row in range(draw(st.integers(1, 80))):
        lines = r.choice(odd if r.random() < odds else good)
        if r.random() < 0.03:
            lines = f"[{','.join(map(line, range(r.choice([1, 63, 64, 65, 130]))))}]"
        if r.random() < odds:
            at = r.randrange(len(lines))
            lines = lines[:at] + r.choice('{}[]",\\é\x00') + lines[at + r.randrange(2) :]
        inner = f'{{"lines":{lines},"b":"é{row}"}}'
        document = f'{{"a":{row},"lines":{lines},"more":{inner}}}'
        rows.append((document.replace(",", ", ").replace(":", ": ") if spaced else document).encode())
    return rows


@given(rows_of_records(), st.booleans(), st.sampled_from(["last", "error"]), st.booleans())
@settings(max_examples=tries(30))
def test_lists_of_records(rows, large, duplicate_keys, fold):
    text, list_of = (pa.large_string(), pa.large_list) if large else (pa.string(), pa.list_)
    record = pa.struct([("sku", text), ("qty", pa.int32()), ("rate", pa.float64())])
    lists = pa.field("lines", list_of(record))
    more = pa.struct([lists, pa.field("b", text, False)])
    kind = pa.struct([("a", pa.int64()), lists, ("more", more)])
    plan = json_plan(kind, "decode", JsonOptions(duplicate_keys=duplicate_keys))
    if fold:
        plan = dataclasses.replace(
            plan, root=dataclasses.replace(plan.root, forms=plan.root.forms | Form.FOLD)
        )
    same_decode([plan], rows, limits=Limits())


@given(st.randoms(use_true_random=False), st.booleans(), st.booleans(), st.sampled_from([0, 0.005, 0.05]))
@settings(max_examples=tries(30))
def test_tuples(r, outer, spaced, odds):
    """Tuples of any fields, or objects with a tuple of tuples in them; some rows are odd."""
    fields = r.sample(KINDS, r.randint(1, len(KINDS)))
    plan = json_plan(pa.struct([field.with_nullable(True) for field in fields]), "decode", JsonOptions())

    def turned(node):
        children = tuple(map(turned, node.children))
        if node.op is Op.JSON_OBJECT and node.name in ("address", "place", "" if outer else None):
            children = tuple(dataclasses.replace(x, forms=x.forms & ~Form.ABSENT) for x in children)
            return dataclasses.replace(node, op=Op.JSON_TUPLE, children=children)
        return dataclasses.replace(node, children=children)

    plan = dataclasses.replace(plan, root=turned(plan.root))
    values = VALUES | {
        "address": '["s",[12345]] | ["s",null] | null | ["é",[1]] || [] | ["s",[1],2] | ["s",[]] | '
        '["s",{"zip":1}] | ["s" , [ 1 ] ] | ["s",[1] | {"street":"s"} | ["s",[1]}'
    }
    rows = []
    for _ in range(r.randint(1, 150)):
        parts = []
        for field in fields:
            good, odd = values[field.name].split(" || ")
            value = r.choice((odd if r.random() < odds else good).split(" | "))
            parts.append(value if outer else f'"{field.name}":{value}')
        if r.random() < odds:
            parts = r.choice([parts[:-1], [*parts, "1"]])
        row = ",".join(parts)
        row = f"[{row}]" if outer else "{" + row + "}"
        if r.random() < odds:
            at = r.randrange(len(row))
            row = row[:at] + r.choice('{}[]",\\é\x00 ') + row[at + r.randrange(2) :]
        if spaced:
            row = row.replace(",", ", ").replace('":', '": ')
        rows.append(None if r.random() < 0.02 else row.encode())
    same_decode([plan], rows, limits=Limits(max_depth=r.choice([64, 3, 2, 1])))


@st.composite
def rows_scattered(draw):
    """Rows of several producers, each with an order of its own, or of none; some have few fields, some are odd."""
    names = [field.name for field in KINDS]
    orders = [draw(st.permutations(names)) for _ in range(draw(st.integers(1, 3)))]
    sparse, any_order = draw(st.booleans()), draw(st.booleans())
    comma = draw(st.sampled_from([",", ", ", " , "]))
    good = {name: values.split(" || ")[0].split(" | ") for name, values in VALUES.items()}
    odd = {name: values.replace("||", "|").split(" | ") for name, values in VALUES.items()}
    r = draw(st.randoms(use_true_random=False))
    rows = []
    for _ in range(draw(st.integers(10, 100))):
        kept = list(r.choice(orders))
        if any_order:
            r.shuffle(kept)
        if sparse:
            kept = [name for name in kept if name in ("id", "note") or r.random() < 0.2]
        values = odd if r.random() < 0.1 else good
        parts = [f'"{name}":{r.choice(values[name])}' for name in kept]
        if r.random() < 0.1:
            parts.insert(
                r.randrange(len(parts) + 1),
                r.choice(
                    [
                        '"other" : {"id": [1, "é\\""]}',
                        '"n\\u0061me":"escaped"',
                        '"ID":1',
                        '"more',
                        "}",
                        *parts,
                        '"a name that is longer than those of all the fields":1',
                    ]
                ),
            )
        row = ("{" + comma.join(parts) + "}").encode()
        rows.append(row[: r.randrange(len(row))] if r.random() < 0.03 else row)
        if r.random() < 0.03:
            rows[-1] = rows[-1].replace("é".encode(), b"\xc3", 1)
    return rows


@given(rows_scattered(), st.sampled_from(["last", "error"]), st.booleans(), st.data())
def test_rows_that_are_scattered(rows, duplicate_keys, fold, data):
    kind = pa.struct(data.draw(st.sampled_from([KINDS, KINDS[:4] + KINDS[-1:], KINDS[5:]])))
    plan = json_plan(kind, "decode", JsonOptions(duplicate_keys=duplicate_keys))
    if fold:
        plan = dataclasses.replace(
            plan, root=dataclasses.replace(plan.root, forms=plan.root.forms | Form.FOLD)
        )
    same_decode([plan], rows, limits=data.draw(st.sampled_from([LIMITS, Limits()])))
    if data.draw(st.booleans()):
        # A program whose fields have other numbers.
        root = dataclasses.replace(plan.root, children=plan.root.children[::-1])
        run = data.draw(st.integers(1, 40))
        chosen = array.array("i", [-1 if row % 50 == 7 else row // run % 2 for row in range(len(rows))])
        same_decode([plan, dataclasses.replace(plan, root=root)], rows, selector=chosen)


def test_scattered_rows_that_lack_keys_among_odd_ones():
    """A row with a key twice ends a block: those before it that lack one are found all the same."""
    rnd = random.Random(3)
    plan = json_plan(pa.struct([pa.field(name, pa.int64(), False) for name in "abcdefg"]), "decode")
    rows = []
    for _ in range(1500):
        keys = rnd.sample("abcdefg", 6 if rnd.random() < 0.05 else 7)
        keys += keys[:1] if rnd.random() < 0.05 else []
        rows.append(f"{{{','.join(f'{json.dumps(key)}:{ord(key)}' for key in keys)}}}".encode())
    same_decode([plan], rows)
    whole = b'{"a":12345678}'
    same_decode(
        [json_plan(pa.struct([pa.field("a", pa.int64(), False)]), "decode")], [whole, b"{}", whole[:-1]]
    )


def same_in_every_layout(kind, rows):
    """Both implementations read good rows alike from every layout, and into large columns."""
    native, pure = (kernel(KERNEL, implementation) for implementation in ("native", "pure"))
    expected = pure.decode(pa.array(rows), [pure.Program(json_plan(kind, "decode"))])[0]
    for layout in (pa.binary(), pa.string(), pa.large_binary(), pa.binary_view(), pa.string_view()):
        values = pa.array([b"first", *rows, b"x" * 80], pa.binary()).cast(layout).slice(1, len(rows))
        decoded, faults = native.decode(values, [native.Program(json_plan(kind, "decode"))])
        assert decoded.equals(expected)
        assert faults == []
    wide = pa.struct(
        [KINDS[0], ("name", pa.large_string()), KINDS[2], ("tags", pa.large_list(pa.large_string()))]
    )
    same_decode([json_plan(wide, "decode")], rows)


def test_scattered_rows_of_every_layout():
    kind = pa.struct([*KINDS[:3], pa.field("tags", pa.list_(pa.string())), KINDS[9]])
    fields = [
        '"id":{0}',
        '"name":"n{0}é"',
        '"price":{0}.5',
        '"tags":["a","b{0}"]',
        '"address":{{"street":"s {0}"}}',
    ]
    rows = []
    for i in range(400):
        chosen = [fields[(i * 7 + at) % 5] for at in range(5)]
        chosen = [field for at, field in enumerate(chosen) if "id" in field or i % 11 != at]
        rows.append(("{" + ",".join(chosen).format(i) + "}").encode())
    same_in_every_layout(kind, rows)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("nulls", [0, 0.01, 0.5])
@pytest.mark.parametrize(("producers", "same"), [(2, 0), (4, 1), (3, 2), (2, 3), (5, 0)])
def test_rows_of_producers(producers, same, nulls):
    """Each producer has an order of keys, which the first keys may not tell; their values are of any length."""
    names = [field.name for field in KINDS]
    orders = [
        names[:same] + random.Random(each).sample(names[same:], len(names) - same)
        for each in range(producers)
    ]
    r = random.Random(producers)
    good = {name: values.split(" || ")[0].split(" | ") for name, values in VALUES.items()}
    rows = [
        written({name: r.choice(good[name]) for name in r.choice(orders)}) if r.random() >= nulls else None
        for row in range(500)
    ]
    same_decode([json_plan(pa.struct(KINDS), "decode")], rows)
    wide = [
        field.with_type(pa.large_string()) if pa.types.is_string(field.type) else field
        for field in KINDS
        if not pa.types.is_nested(field.type)
    ]
    wide.append(pa.field("tags", pa.large_list(pa.large_string())))
    same_decode([json_plan(pa.struct(wide), "decode")], rows)


def test_keys_of_objects_that_come_behind_them_too():
    """The first key of an object, which the schema has later, comes behind the object, too, as another field."""
    inner = pa.struct([("n", pa.int16()), pa.field("id", pa.string(), False)])
    for outer in (pa.int8(), pa.string(), pa.list_(pa.string()), inner):
        kind = pa.struct([("m", pa.int64()), ("id", outer), ("s", inner), ("z", pa.float64())])
        value = {pa.int8(): "111", pa.string(): '"text"', inner: '{"id":"b"}'}.get(outer, '["a","b"]')
        rows = [f'{{"s":{{"id":"a{row}","n":64}},"id":{value},"m":{row}}}'.encode() for row in range(70)]
        for count in (1, 70):
            for around in (kind, pa.struct([("e", kind)])):
                documents = [row if around == kind else b'{"e":' + row + b"}" for row in rows[:count]]
                decoded = same_decode([json_plan(around, "decode")], documents, limits=Limits())
                assert decoded.null_count == 0


def test_lists_and_blobs_of_producers():
    point = pa.struct([("x", pa.int64()), ("labels", pa.list_(pa.string())), ("is_set", pa.bool_())])
    kind = pa.struct(
        [
            ("points", pa.list_(point)),
            ("by_name", pa.map_(pa.string(), pa.list_(pa.decimal128(20, 1)))),
            ("nothing", pa.null()),
            ("data", pa.binary()),
            ("day", pa.date32()),
        ]
    )
    r = random.Random(1)
    rows = []
    for row in range(600):
        points = [
            {
                "x": r.choice([None, each]),
                "labels": ["l" * r.randrange(60)] * each,
                "is_set": r.random() < 0.5,
            }
            for each in range(r.randrange(4))
        ]
        parts = {
            "points": r.choice([points, points, None]),
            "by_name": {f"k{each}": [row / 2] * each for each in range(r.randrange(3))},
            "nothing": None,
            "data": base64.b64encode(bytes(r.randrange(100))).decode(),
            "day": "2024-05-06",
        }
        names = r.choice([list(parts), list(parts)[::-1]])
        rows.append(json.dumps({name: parts[name] for name in names}, separators=(",", ":")).encode())
    decoded = same_decode([json_plan(kind, "decode")], rows)
    assert decoded.null_count == 0


@pytest.mark.parametrize("fields", [65, pytest.param(700, marks=pytest.mark.thorough)])
def test_scattered_rows_of_many_fields(fields):
    names = [f"field_{i}" for i in range(fields)]
    plan = json_plan(pa.struct([(name, pa.int32()) for name in names]), "decode")
    rows = [
        ("{" + ",".join(f'"{names[(i * 31 + at * 17) % fields]}":{at}' for at in range(9)) + "}").encode()
        for i in range(200)
    ]
    same_decode([plan], rows)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("name", VALUES)
def test_one_row_among_alike_ones(name, few):
    kinds = [field for field in KINDS if not few or field.name in (name, "id", "note")]
    plan = json_plan(pa.struct(kinds), "decode")
    good = {field.name: VALUES[field.name].split(" | ")[0] for field in kinds}
    usual = ("{" + ",".join(f'"{each}":{value}' for each, value in good.items()) + "}").encode()
    odd = [value.encode() for value in VALUES[name].replace("||", "|").split(" | ")]
    odd += [b'"\xc3","other":"\xa9"', b'"\xff"', b'["\xc3","\xa9"]', b'{"street":"\xc3"}']
    field = f'"{name}":{good[name]}'.encode()
    rows = [usual.replace(field, f'"{name}":'.encode() + value) for value in odd]
    rows += [usual.replace(field, field + b',"id":1'), usual + b"]", usual.replace(field, b'"other":1')]
    for row in rows:
        same_decode([plan], [usual] * 3 + [row] + [usual] * 3)
    same_decode([plan], [usual] * 3 + rows[-3:], trailing=True)


def test_alike_rows_of_every_layout():
    kind = pa.struct([*KINDS[:3], pa.field("tags", pa.list_(pa.string()))])
    rows = [
        f'{{"id":{i},"name":"n{"é" * (i % 9)}","price":{i}.5,"tags":["a","b{i}"]}}'.encode()
        for i in range(300)
    ]
    same_in_every_layout(kind, rows)


@pytest.mark.parametrize("order", ["abcd", "dcba"])
def test_depth_of_rows_that_are_alike(order):
    """Lists that are read together are as deep as others."""
    values = {"a": '["x"]', "b": "[1.5,2]", "c": '{"c":[]}', "d": '[{"d":1}]'}
    kind = pa.struct(
        [
            ("a", pa.list_(pa.string())),
            ("b", pa.list_(pa.float64())),
            ("c", pa.struct([("c", pa.list_(pa.list_(pa.int8())))])),
            ("d", pa.list_(pa.struct([("d", pa.int8())]))),
        ]
    )
    rows = [written({name: values[name] for name in (order, order[row % 4 :])[row % 2]}) for row in range(80)]
    for max_depth in range(1, 4):
        same_decode([json_plan(kind, "decode")], rows, limits=Limits(max_depth=max_depth))


@given(st.lists(ANY.map(str.encode).flatmap(damaged), max_size=4))
def test_any_value_as_text(rows):
    plan = Plan("JSON", "decode", pa.string(), JsonNode(Op.JSON_TEXT, 0))
    decoded = same_decode([plan], rows)
    encoding = Plan("JSON", "encode", pa.string(), JsonNode(Op.JSON_TEXT, 0, forms=Form.NULL))
    same_encode(encoding, decoded)
    texts = pa.array([row.decode("utf-8", "replace") for row in rows], pa.string())
    same_encode(encoding, texts)
    same_encode(Plan("JSON", "encode", pa.binary(), encoding.root), pa.array(rows, pa.binary()))


@given(st.lists(TEXTS, max_size=5), st.booleans())
def test_any_text(texts, escaped):
    forms = Form.NULL | (Form.ESCAPED if escaped else Form.PLAIN)
    for kind in (pa.string(), pa.binary()):
        plan = Plan("JSON", "encode", kind, JsonNode(Op.JSON_STRING, 0, forms=forms))
        encoded = same_encode(plan, pa.array([text.encode() for text in texts], pa.binary()).cast(kind))
        assert [json.loads(value) for value in encoded.to_pylist()] == texts


@given(st.lists(st.binary(max_size=20), max_size=4))
def test_bytes_as_text(values):
    for form in (Form.PLAIN, Form.ESCAPED):
        plan = Plan("JSON", "encode", pa.binary(), JsonNode(Op.JSON_STRING, 0, forms=form))
        same_encode(plan, pa.array(values, pa.binary()))


@given(st.lists(st.one_of(st.floats(), st.floats(width=32)), max_size=8))
def test_any_float(values):
    for kind in (pa.float64(), pa.float32()):
        node = JsonNode(Op.JSON_FLOAT, 0, forms=Form.NONFINITE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            column = pa.array(np.array(values, kind.to_pandas_dtype()))
        written = same_encode(Plan("JSON", "encode", kind, node), column)
        again = same_decode([Plan("JSON", "decode", kind, node)], written.to_pylist(), limits=Limits())
        assert side_by_side.comparable(again) == side_by_side.comparable(column) or any(
            value != value for value in values
        )


def test_doubles_beside_powers():
    powers = [2.0**power for power in range(-1074, 1024)] + [
        float(f"1e{power}") for power in range(-320, 309)
    ]
    column = pa.array([near for power in powers for near in (math.nextafter(power, 0), power, -power * 1.1)])
    column = column.filter(pc.is_finite(column))
    node = JsonNode(Op.JSON_FLOAT, 0)
    written = same_encode(Plan("JSON", "encode", pa.float64(), node), column)
    again = same_decode([Plan("JSON", "decode", pa.float64(), node)], written.to_pylist(), limits=Limits())
    assert side_by_side.comparable(again) == side_by_side.comparable(column)


@given(st.data())
def test_decimals(data):
    kind = data.draw(
        st.sampled_from(
            [pa.decimal128(12, 2), pa.decimal128(38, 0), pa.decimal256(76, 30), pa.decimal128(5, -3)]
        )
    )
    bound = 10**kind.precision - 1
    numbers = data.draw(st.lists(st.one_of(st.integers(-1000, 1000), st.integers(-bound, bound)), max_size=5))
    column = pa.array([decimal.Decimal(number).scaleb(-kind.scale, WIDE) for number in numbers], kind)
    for form in (Form.PLAIN, Form.SCIENTIFIC, Form.TEXT, Form.BASE64):
        scale = kind.scale + data.draw(st.integers(-1, 1)) if form is Form.BASE64 else 0
        node = JsonNode(Op.JSON_DECIMAL, 0, forms=form, scale=scale)
        written = same_encode(Plan("JSON", "encode", kind, node), column)
        rows = [row for row in written.to_pylist() if row is not None]
        again = same_decode([Plan("JSON", "decode", kind, node)], rows, limits=Limits())
        assert [x for x in again.to_pylist() if x is not None] == [
            value
            for value, row in zip(column.to_pylist(), written.to_pylist(), strict=True)
            if row is not None
        ]


@given(st.data())
def test_integers_with_factors(data):
    kind = data.draw(
        st.sampled_from([pa.int64(), pa.timestamp("us"), pa.uint64(), pa.int8(), pa.time32("ms")])
    )
    factor = data.draw(st.sampled_from([1, 1000, 86_400_000]))
    bounds = data.draw(st.sampled_from([None, (0, 86_400_000), (-10, -2), (0, 1 << 64)]))
    forms = data.draw(st.sampled_from([Form.PLAIN, Form.TEXT]))
    node = JsonNode(Op.JSON_INTEGER, 0, factor=factor, bounds=bounds, forms=forms)
    rows = [number.encode() for number in data.draw(st.lists(NUMBERS, max_size=6))]
    decoded = same_decode([Plan("JSON", "decode", kind, node)], rows)
    for sign in (1, -1):
        writing = dataclasses.replace(node, factor=sign * factor)
        same_encode(
            Plan("JSON", "encode", kind, dataclasses.replace(writing, forms=forms | Form.NULL)),
            decoded,
        )


@pytest.mark.parametrize("kind", [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")])
def test_the_times_at_the_ends_of_64_bits(kind):
    ends = [sign * ((1 << 63) - 1 - near) for sign in (1, -1) for near in (0, 1, 999_999_999, 86_399 * 10**9)]
    column = pa.array([-1 << 63, *ends], pa.int64()).view(kind)
    written = same_encode(json_plan(kind, "encode"), column)
    assert written.null_count == (0 if kind.unit == "ns" else len(column))
    again = same_decode([json_plan(kind, "decode")], written.to_pylist(), limits=Limits())
    assert again.equals(column) or kind.unit != "ns"


def test_blocks_that_grow():
    kind = pa.struct([("a", pa.string()), ("l", pa.list_(pa.map_(pa.string(), pa.int64())))])
    rows = []
    for i in range(3000):
        entries = ",".join(f'{{"k{j}":{j},"é":2}}' for j in range(i % 7))
        rows.append(f'{{"l":[{entries}],"a":"{"x" * (i % 400)}"{"," * (i % 500 == 1)}}}'.encode())
    decoded = same_decode([json_plan(kind, "decode")], rows)
    assert decoded.null_count == 6
    same_encode(json_plan(kind, "encode"), decoded)


def test_defaults_that_need_room():
    child = JsonNode(Op.JSON_STRING, 2, "d", forms=Form.ABSENT, data=b'"' + b"x" * 300 + b'"')
    item = JsonNode(Op.JSON_OBJECT, 1, children=(child,), forms=Form.PLAIN)
    kind = pa.list_(pa.struct([("d", pa.string())]))
    plan = Plan("JSON", "decode", kind, JsonNode(Op.JSON_LIST, 0, children=(item,), forms=Form.NULL))
    rows = [b"[" + b",".join([b"{}"] * count) + b"]" for count in (0, 3, 500, 20)] * 5
    same_decode([plan], rows, limits=Limits())
    same_decode([plan], rows, limits=Limits(max_expansion=1000))


def test_defaults_count_for_a_row_as_a_whole():
    text = b'"' + b"x" * 60 + b'"'
    names = ("a", "b", "c")
    forms = Form.ABSENT | Form.NULL | Form.DEFAULT
    children = [
        JsonNode(Op.JSON_STRING, at, name, forms=forms, data=text) for at, name in enumerate(names, start=1)
    ]
    kind = pa.struct([(name, pa.string()) for name in names])
    root = JsonNode(Op.JSON_OBJECT, 0, children=tuple(children), forms=Form.PLAIN)
    rows = [b'{"a":"1","b":null,"c":"2"}'] * 20 + [b'{"a":null,"b":"1","c":null}'] * 20
    plan = Plan("JSON", "decode", kind, root)
    array = same_decode([plan], rows, limits=Limits(max_expansion=100))
    assert array.null_count == 20


def test_keys_with_quotes_in_any_order():
    """What is before the quote may have the place of the whole key in the table of keys."""
    orders = (["k1", 'q"uote'], ['q"uote', "k1"], ['q"uote'])
    kind = pa.struct([("k1", pa.int64()), ('q"uote', pa.int64())])
    for seed in range(9):
        rows = [dict.fromkeys(order, 7) for order in random.Random(seed).choices(orders, k=20)]
        data = [json.dumps(row, separators=(",", ":")).encode() for row in rows]
        decoded = same_decode([json_plan(kind, "decode", JsonOptions())], data)
        assert decoded.to_pylist() == [{"k1": row.get("k1"), 'q"uote': 7} for row in rows]
