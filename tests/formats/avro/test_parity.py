"""The compiled kernel answers as the plain one: values, and faults with row, offset, path and code."""

import array
import json
from functools import partial

import pyarrow as pa
import pytest
import side_by_side
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import avro_payloads, avro_readers, avro_schemas, damaged
from tries import tries

from kcodec._impl import kernel
from kcodec.errors import SchemaError
from kcodec.formats.avro.plans.encode_plan import encode_plan
from kcodec.formats.avro.plans.plan import decode_plan
from kcodec.formats.avro.schema.defaults import varint
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema.types import AvroOptions
from kcodec.plan import Limits

LIMITS = Limits(max_depth=5, max_zero_byte_items=50, max_expansion=300)


KERNEL = "formats.avro._kernel"
same_decode = partial(side_by_side.same_decode, KERNEL, limits=LIMITS)
same_encode = partial(side_by_side.same_encode, KERNEL)


@given(st.data())
def test_decode_of_any_bytes(data):
    schema = parse(data.draw(avro_schemas()))
    plan = decode_plan(schema, schema, AvroOptions(large=data.draw(st.booleans())))
    payload = avro_payloads(schema, canonical=False).flatmap(damaged)
    payloads = data.draw(st.lists(st.one_of(st.none(), payload), max_size=5))
    same_decode([plan], payloads, trailing=data.draw(st.booleans()))


@given(st.data())
def test_resolution_of_any_bytes(data):
    text = data.draw(avro_schemas())
    schema = parse(text)
    reader = parse(data.draw(avro_readers(text)))
    plan = decode_plan(schema, reader)
    payload = avro_payloads(schema, canonical=False).flatmap(damaged)
    same_decode([plan], data.draw(st.lists(st.one_of(st.none(), payload), max_size=5)))


@given(st.data())
def test_many_programs(data):
    text = data.draw(avro_schemas())
    reader = parse(text)
    writers = [reader, parse(data.draw(avro_readers(text)))]
    plans = [decode_plan(writer, reader) for writer in writers]
    payloads, selector, starts = [], array.array("i"), array.array("i")
    for _ in range(data.draw(st.integers(0, 5))):
        choice = data.draw(st.integers(-1, 1))
        prefix = data.draw(st.binary(max_size=3))
        payload = data.draw(avro_payloads(writers[choice], canonical=False).flatmap(damaged))
        payloads.append(prefix + payload)
        selector.append(choice)
        starts.append(len(prefix))
    same_decode(plans, payloads, selector=selector, starts=starts)


@given(st.data())
@settings(max_examples=tries(40))
def test_blocks_of_many_programs(data):
    text = data.draw(avro_schemas())
    reader = parse(text)
    writers = [
        reader,
        parse(data.draw(avro_readers(text))),
        parse(data.draw(avro_readers(text))),
        parse(text),
    ]
    plans = [decode_plan(writer, reader) for writer in writers]
    pool = [
        (choice, data.draw(avro_payloads(writer, canonical=False)))
        for choice, writer in enumerate(writers)
        for _ in range(3)
    ]
    if data.draw(st.booleans()):
        pool.append((0, data.draw(avro_payloads(reader).flatmap(damaged))))
    if data.draw(st.booleans()):
        pool.append((-1, b""))
    if data.draw(st.booleans()):
        pool = [each for each in pool if each[0] == 0]
    rows = data.draw(st.randoms(use_true_random=False)).choices(pool, k=data.draw(st.integers(1, 600)))
    same_decode(
        plans,
        [payload for _, payload in rows],
        limits=Limits(),
        selector=array.array("i", [c for c, _ in rows]),
    )


@pytest.mark.parametrize("unknown", [-1, 2, (1 << 31) - 1])
def test_rows_with_more_behind_them_before_one_of_no_program(unknown):
    """The last row of a block has no program that could be looked up."""
    plans = [decode_plan(parse(writer), parse("long")) for writer in ("int", "long")]
    rows = [b"\2", b"\2\0"] * 20 + [b"", b"\2"]
    same_decode(plans, rows, selector=array.array("i", [0, 1, 1, 0] * 10 + [unknown, 0]))


TEXT_IN_RECORD = {"type": "record", "name": "I", "fields": [{"name": "text", "type": "string"}]}


@pytest.mark.parametrize(
    "kind", [TEXT_IN_RECORD, {**TEXT_IN_RECORD, "fields": [{"name": "text", "type": ["null", "string"]}]}]
)
@pytest.mark.parametrize("first", [0, 1])
def test_rows_that_get_a_record_by_default_among_rows_that_have_it(kind, first):
    """Blocks behind the first begin at a row that is far from where texts of none are noted."""
    value = {"name": "value", "type": kind, "default": {"text": "d" if kind is TEXT_IN_RECORD else None}}
    known = {"name": "known", "type": "long"}
    reader = parse({"type": "record", "name": "R", "fields": [value, known]})
    without = parse({"type": "record", "name": "R", "fields": [known]})
    payloads = [b"\6abc\2" if kind is TEXT_IN_RECORD else b"\2\6abc\2", b"\4"]
    rows = [(first + row // 3) % 2 for row in range(3000)]
    plans = [decode_plan(writer, reader) for writer in (reader, without)]
    same_decode(plans, [payloads[row] for row in rows], limits=Limits(), selector=array.array("i", rows))


@pytest.mark.parametrize("first", [0, 1])
def test_branches_that_are_one_record_of_the_reader(first):
    """A branch that lacks a record which has a default, beside one that has it."""
    value = {"name": "value", "type": TEXT_IN_RECORD, "default": {"text": "d"}}
    known = {"name": "known", "type": "long"}
    new = {"type": "record", "name": "a.R", "fields": [known, value]}
    old = {"type": "record", "name": "b.R", "fields": [known]}
    reader = parse(new)
    plan = decode_plan(parse([old, new]), reader)
    rows = [b"\0\4" if (first + row // 3) % 2 else b"\2\2\6abc" for row in range(3000)]
    same_decode([plan], rows, limits=Limits())


DECIMAL = {"type": "bytes", "logicalType": "decimal", "scale": 2}
SYMBOLS = [f"S{number}" * (number % 9 + 1) for number in range(200)]
NUMBERS = {
    "type": "record",
    "name": "Numbers",
    "fields": [
        {"name": "long", "type": "long"},
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "int", "type": "int"},
        {"name": "nullable", "type": ["null", "long"]},
        {"name": "small", "type": {**DECIMAL, "precision": 18}},
        {"name": "wide", "type": ["null", {**DECIMAL, "precision": 38}]},
        {
            "name": "fixed",
            "type": {"type": "fixed", "name": "F", "size": 5, "logicalType": "decimal", "precision": 11},
        },
        {"name": "enum", "type": {"type": "enum", "name": "E", "symbols": SYMBOLS}},
        {"name": "ints", "type": {"type": "array", "items": "int"}},
    ],
}


def zigzag(number: int, bits: int) -> bytes:
    number = (number << 1 ^ number >> bits - 1) & (1 << bits) - 1
    groups = [number >> 7 * at & 0x7F for at in range(max(1, -(-number.bit_length() // 7)))]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def numbers(turn: int) -> bytes:
    """Return a row with numbers of all lengths."""
    long = (-1) ** turn * ((1 << turn % 64) - 1) - (turn % 3 == 0)
    unscaled = long.to_bytes(9, "big", signed=True)
    # As short as may be, or padded.
    short = min(long, 10**18 - 1, key=abs) if abs(long) >= 10**18 else long
    size = short.bit_length() // 8 + 1
    small = short.to_bytes(size if turn % 5 else 12, "big", signed=True)
    int32 = max(-(1 << 31), min(long, (1 << 31) - 1))
    items = [zigzag(int32 >> at, 32) for at in range(turn % 4)]
    return b"".join(
        [
            zigzag(long, 64),
            zigzag(-long, 64) if turn % 64 < 63 else b"\0",
            zigzag(int32, 32),
            b"\0" if turn % 3 else b"\2" + zigzag(long, 64),
            zigzag(len(small), 64) + small,
            b"\0" if turn % 2 else b"\2" + zigzag(len(unscaled), 64) + unscaled,
            (int32 % 99_999).to_bytes(5, "big"),
            zigzag(turn % len(SYMBOLS), 32),
            (zigzag(len(items), 64) + b"".join(items) if items else b"") + b"\0",
        ]
    )


def numbers_plans():
    """Return plans that read all numbers, ints as longs too, and that drop all but the last."""
    writer = parse(NUMBERS)
    wider = json.loads(json.dumps(NUMBERS).replace('"type": "int"', '"type": "long"'))
    wider["fields"][-1]["type"]["items"] = "long"
    wider["fields"].append({"name": "more", "type": ["null", "string"], "default": None})
    wider["fields"].append({"name": "most", "type": ["null", "long"], "default": None})
    last = {**NUMBERS, "fields": [{"name": "none", "type": "int", "default": 1}]}
    return [decode_plan(writer, parse(reader)) for reader in (NUMBERS, wider, last)]


@pytest.mark.parametrize("rows", [1, 7, 400])
def test_numbers_of_all_lengths(rows):
    payloads = [numbers(turn) for turn in range(rows)]
    for plan in numbers_plans():
        same_decode([plan], payloads, limits=Limits())
        decoded, faults = kernel(KERNEL, "native").decode(
            pa.array(payloads), [kernel(KERNEL, "native").Program(plan, Limits())]
        )
        assert not faults
        assert decoded.null_count == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "damage",
    [b"", b"\0", b"\xff" * 11, b"\2" + b"\x80" * 9 + b"\2", b"\x20" + b"\x7f" * 16, b"\xff" * 4 + b"\x10"],
)
def test_numbers_that_are_cut_or_wrong(damage):
    """Among rows that are not: behind each there is more to read, which is not its own."""
    plans = numbers_plans()
    for row in (numbers(1), numbers(10), numbers(62)):
        for cut in range(len(row)):
            payloads = [numbers(turn) for turn in range(12)]
            payloads[cut % 11] = row[:cut] + damage
            for plan in plans:
                same_decode([plan], payloads, limits=Limits())


ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["one", "two", "three"]}},
        {"name": "at", "type": ["null", "long"]},
        {"name": "note", "type": ["null", "string"]},
        {"name": "price", "type": ["null", {**DECIMAL, "precision": 9}]},
        {
            "name": "place",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "P",
                    "fields": [{"name": "city", "type": "string"}, {"name": "zip", "type": "int"}],
                },
            ],
        },
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "by", "type": {"type": "map", "values": ["null", "double"]}},
        {"name": "nested", "type": {"type": "array", "items": {"type": "array", "items": "string"}}},
        {"name": "any", "type": ["null", "string", "long", "K"]},
        {"name": "gone", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "raw", "type": {"type": "fixed", "name": "F", "size": 3}},
        {"name": "flag", "type": "boolean"},
        {"name": "last", "type": "string"},
    ],
}
# Drops a list, and has texts and lists of its own.
READER = {
    **ORDER,
    "fields": [
        *(field for field in ORDER["fields"] if field["name"] != "gone"),
        {"name": "origin", "type": "string", "default": "none"},
        {"name": "more", "type": {"type": "array", "items": "string"}, "default": ["a", "b"]},
    ],
}


def text(value: str) -> bytes:
    data = value.encode()
    return zigzag(len(data), 64) + data


def items(values: list[bytes]) -> bytes:
    return (zigzag(len(values), 64) + b"".join(values) if values else b"") + b"\0"


def order(turn: int) -> bytes:
    """Return a row with values, nulls, and lists of several lengths."""
    some = [text(f"{turn}-{at}" * (1 + at % 2 * 5)) for at in range(turn % 4)]
    return b"".join(
        [
            zigzag(turn * 1_000_003, 64),
            text("é" * (turn % 21)),
            zigzag(turn % 3, 32),
            b"\0" if turn % 2 else b"\2" + zigzag(-(1 << turn % 63), 64),
            b"\0" if turn % 3 else b"\2" + text("note" * (turn % 13)),
            b"\0" if turn % 5 else b"\2\4" + (turn % 30_000).to_bytes(2, "big"),
            b"\0" if turn % 4 == 1 else b"\2" + text("city") + zigzag(-turn, 32),
            items(some),
            items([each + (b"\0" if at % 2 else b"\2" + bytes(8)) for at, each in enumerate(some)]),
            items([items(some[:at]) for at in range(turn % 3)]),
            [b"\0", b"\2" + text("any"), b"\4" + zigzag(turn, 64), b"\6" + zigzag(turn % 3, 32)][turn % 4],
            items([b"\0" if at % 2 else b"\2" + each for at, each in enumerate(some)]),
            b"raw",
            bytes([turn % 2]),
            text("last" * (turn % 10)),
        ]
    )


def order_plans():
    writer = parse(ORDER)
    return [
        decode_plan(writer, reader, AvroOptions(large=large))
        for reader in (writer, parse(READER))
        for large in (False, True)
    ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("plan", [0, 3])
@pytest.mark.parametrize("damage", [b"", b"\xff" * 12])
def test_a_bad_row_among_others(plan, damage):
    """Damaged anywhere, at any position; the row in front and the one behind have lists and texts."""
    plan = order_plans()[plan]
    row = order(15)
    for cut in range(len(row) + 1):
        payloads = [order(turn) for turn in range(9)]
        payloads[cut % 9] = row[:cut] + damage + row[cut + len(damage) :]
        payloads[(cut * 5 + 3) % 9] = row + damage
        same_decode([plan], payloads, limits=Limits())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
@pytest.mark.parametrize("share", [2, 10, 100])
def test_bad_rows_of_blocks(kind, share):
    """A share of the rows, each bad in another place, and nulls."""
    payloads = [order(turn) for turn in range(700)]
    for turn in range(0, 700, share):
        row = payloads[turn]
        at = turn * 7 % len(row)
        payloads[turn] = [
            row[:at],
            row + b"\0",
            row[:at] + b"\xff" + row[at + 1 :],
            row[:-1] + b"\xff",
            None,
        ][turn % 5]
    for plan in order_plans()[:3]:
        same_decode([plan], payloads, limits=Limits(), kind=kind)


@cases("kept", range(1, 63, max(62 // tries(50), 1)))
def test_bad_rows_of_blocks_whose_fields_are_dropped(kept):
    """Each choice of fields, cut in each place, or with bytes behind that a field may take for its own."""
    kinds = ["string", ["null", "long"], {"type": "array", "items": "string"}, "boolean", "int", "long"]
    fields = [{"name": f"f{at}", "type": kind} for at, kind in enumerate(kinds)]
    writer = parse({"type": "record", "name": "R", "fields": fields})
    chosen = [field for at, field in enumerate(fields) if kept >> at & 1]
    plan = decode_plan(writer, parse({"type": "record", "name": "R", "fields": chosen}))
    good = text("a") + b"\2\4" + items([text("b")]) + b"\1\2\4"
    for cut in range(len(good)):
        for behind in (b"\0", b"\0\0"):
            same_decode(
                [plan], [good, good[:cut], good, good + behind, good, good + behind, good], limits=Limits()
            )


@pytest.mark.parametrize("kind", ["array", "map"])
@pytest.mark.parametrize("nullable", [False, True])
def test_items_of_blocks_that_have_no_list(kind, nullable):
    """What is not there has an end too, next to that of an item which may not be read yet."""
    absent = {"type": kind, "items": "int", "values": "int"}
    written, read = ("null", ["null", absent]) if nullable else ("int", [absent, "int"])
    item = {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]}
    writer, reader = (
        {"type": "array", "items": {**item, "fields": [*item["fields"], {"name": "y", "type": y}]}}
        for y in (written, read)
    )
    plan = decode_plan(parse(writer), parse(reader))
    row = b"\x02" if nullable else b"\x02\x04"
    payloads = [varint(count) + row * count + b"\0" * (count > 0) for count in range(9)] * 40
    same_decode([plan], payloads)


def test_unusual_rows_of_blocks():
    """Rows that are not bad, though they are not read together: sized lists, keys twice, long forms of branches."""
    schema = parse(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "a", "type": ["null", "string"]},
                {"name": "b", "type": {"type": "array", "items": "string"}},
                {"name": "c", "type": {"type": "map", "values": "int"}},
                {"name": "d", "type": "string"},
            ],
        }
    )
    usual = b"\2" + text("abc") + items([text("x"), text("yz")]) + items([text("k") + b"\2"]) + text("end")
    unusual = [
        b"\x82\0" + usual[1:],
        b"\x80\0" + usual[5:],
        b"\0\3\4\2x\2y\0\0" + text("end"),
        b"\0\0" + items([text("k") + b"\2", text("l") + b"\4", text("k") + b"\6"]) + text("end"),
        b"\0" + items([text(str(at)) for at in range(70)]) + b"\0" + text("end"),
    ]
    plan = decode_plan(schema, schema)
    for odd in unusual:
        for place in range(6):
            payloads = [usual + b"\0", *[usual] * 8, usual[:7], *[usual] * 300]
            payloads[place] = odd
            payloads[4 * place + 9] = odd
            same_decode([plan], payloads, limits=Limits())


@given(st.data())
@settings(max_examples=tries(40))
def test_bad_rows_of_any_schema(data):
    text = data.draw(avro_schemas())
    writer = parse(text)
    reader = parse(data.draw(st.one_of(st.just(text), avro_readers(text))))
    plan = decode_plan(writer, reader, AvroOptions(large=data.draw(st.booleans())))
    good = data.draw(st.lists(avro_payloads(writer), min_size=1, max_size=4))
    bad = data.draw(st.lists(avro_payloads(writer).flatmap(damaged), min_size=1, max_size=4))
    share = data.draw(st.sampled_from([0.02, 0.1, 0.5]))
    random = data.draw(st.randoms(use_true_random=False))
    rows = [
        random.choice(bad if random.random() < share else good) for _ in range(data.draw(st.integers(2, 600)))
    ]
    same_decode([plan], rows, limits=Limits(), trailing=data.draw(st.booleans()))


@given(st.data())
@settings(max_examples=tries(30))
def test_blocks_of_rows_with_several_faults(data):
    """The first fault of each row is told, whichever of its fields a block reads first."""
    schema = parse(data.draw(avro_schemas()))
    plan = decode_plan(schema, schema, AvroOptions(large=data.draw(st.booleans())))
    payload = avro_payloads(schema)
    bad = payload.flatmap(damaged).flatmap(damaged).flatmap(damaged)
    some = data.draw(st.lists(st.one_of(payload, bad, bad), min_size=2, max_size=8))
    random = data.draw(st.randoms(use_true_random=False))
    rows = random.choices(some, k=data.draw(st.sampled_from([8, 13, 70])))
    same_decode([plan], rows, limits=Limits())


@cases(
    "kind", ["boolean", "float", "int", "double", "long", "string", {"type": "int", "logicalType": "date"}]
)
def test_records_of_one_value_that_may_be_null(kind):
    """They are not read and written as that value: the null is one of the record's column, not of the value's."""
    value = {"boolean": b"\1", "float": bytes(4), "double": bytes(8), "string": text("a")}.get(
        str(kind), b"\2"
    )
    inner = {"type": "record", "name": "I", "fields": [{"name": "v", "type": kind}]}
    either = {**inner, "name": "J", "fields": [{"name": "v", "type": ["null", kind]}]}
    schema = parse(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "a", "type": ["null", inner]},
                {"name": "b", "type": [either, "null"]},
                {"name": "c", "type": ["null", kind]},
            ],
        }
    )
    plan = decode_plan(schema, schema)
    there = b"\2" + value
    payloads = [
        a + b + c for a in (b"\0", there) for b in (b"\2", b"\0\0", b"\0" + there) for c in (b"\0", there)
    ]
    decoded = same_decode([plan], [*payloads * 30, payloads[-1][:-1], b"\2"], limits=Limits())
    assert same_encode(encode_plan(schema, plan.arrow_type), decoded).to_pylist()[:12] == payloads


@given(st.data())
@settings(max_examples=tries(40))
def test_encode_in_blocks(data):
    schema = parse(data.draw(avro_schemas()))
    plan = decode_plan(schema, schema)
    pool = data.draw(st.lists(st.one_of(st.none(), avro_payloads(schema)), min_size=1, max_size=6))
    rows = data.draw(st.randoms(use_true_random=False)).choices(pool, k=data.draw(st.integers(1, 200)))
    native = kernel(KERNEL, "native")
    decoded, _ = native.decode(pa.array(rows, pa.binary()), [native.Program(plan, Limits())])
    same_encode(encode_plan(schema, plan.arrow_type), decoded, prefix=b"\0\0\0\0\1")


@given(st.data())
def test_recursive_values_that_are_dropped(data):
    node = {
        "type": "record",
        "name": "N",
        "fields": [
            {"name": "v", "type": "string"},
            {"name": "next", "type": ["null", "N"]},
            {"name": "kids", "type": {"type": "array", "items": "N"}},
            {"name": "by", "type": {"type": "map", "values": "N"}},
        ],
    }
    fields = [{"name": "gone", "type": node}, {"name": "z", "type": "int"}]
    writer = parse({"type": "record", "name": "R", "fields": fields})
    plan = decode_plan(writer, parse({"type": "record", "name": "R", "fields": fields[1:]}))
    leaf = b"\x02a\x00\x00\x00"
    value = st.recursive(
        st.just(leaf),
        lambda inner: st.one_of(
            inner.map(lambda one: b"\x02a\x02" + one + b"\x00\x00"),
            inner.map(lambda one: b"\x02a\x00\x04" + one + one + b"\x00\x00"),
            inner.map(lambda one: b"\x02a\x00\x00\x02\x02k" + one + b"\x00"),
        ),
        max_leaves=8,
    )
    payload = value.map(lambda one: one + b"\x02").flatmap(damaged)
    same_decode([plan], data.draw(st.lists(payload, max_size=4)))


@given(st.data())
def test_encode_of_decoded_columns(data):
    schema = parse(data.draw(avro_schemas()))
    plan = decode_plan(schema, schema)
    payloads = data.draw(st.lists(st.one_of(st.none(), avro_payloads(schema)), max_size=5))
    decoded = same_decode([plan], payloads, limits=Limits())
    cut = data.draw(st.integers(0, len(payloads)))
    encode = encode_plan(schema, plan.arrow_type)
    same_encode(encode, decoded.slice(cut), prefix=data.draw(st.binary(max_size=6)))


@given(st.data())
def test_encode_as_another_schema(data):
    text = data.draw(avro_schemas())
    schema = parse(text)
    plan = decode_plan(schema, schema)
    payloads = data.draw(st.lists(avro_payloads(schema), max_size=4))
    decoded = same_decode([plan], payloads, limits=Limits())
    other = parse(data.draw(avro_readers(text)))
    same_encode(encode_plan(other, plan.arrow_type), decoded)


def columns():
    import decimal

    big = decimal.Decimal("12345678901234567890.5")
    return [
        pa.array([1, -1, 127], pa.int8()),
        pa.array([1, 200, 255], pa.uint8()),
        pa.array([1, -(1 << 15)], pa.int16()),
        pa.array([1, (1 << 32) - 1], pa.uint32()),
        pa.array([1, 1 << 31, -(1 << 40)], pa.int64()),
        pa.array([1, 1 << 63], pa.uint64()),
        pa.array([0.1, 0.5, 1e40, float("nan"), float("inf"), -0.0], pa.float64()),
        pa.array([0.5, float("nan")], pa.float32()),
        pa.array([0, 86_400_000, 1, -86_400_000], pa.timestamp("ms")),
        pa.array([0, 1_000_000, 1, -1_000_001, (1 << 63) - 1], pa.timestamp("us", "UTC")),
        pa.array([0, 1 << 62], pa.timestamp("s", "UTC")),
        pa.array([0, 1, 10**9], pa.timestamp("ns")),
        pa.array([0, 1, -7000], pa.date32()),
        pa.array([0, 86_399], pa.time32("s")),
        pa.array([0, 1000, 1], pa.time64("us")),
        pa.array([0, 1000, 1_000_000], pa.time64("ns")),
        pa.array(
            ["A", "B", "", "1.5", "-1e3", "12345678901", "1e99999999999", "0.001", "+.5", "x", "1.", "é"]
        ),
        pa.array(["A", "1.5"], pa.large_string()),
        pa.array([b"A", b"\xff", b"12345"], pa.binary()),
        pa.array([b"12345", b"abcde"], pa.binary(5)),
        pa.array([decimal.Decimal("1.50"), decimal.Decimal("-99.99"), None], pa.decimal128(4, 2)),
        pa.array([big, -big, decimal.Decimal(0)], pa.decimal128(38, 3)),
        pa.array([big, decimal.Decimal(10) ** 60], pa.decimal256(76, 3)),
        pa.array([True, False, None]),
        pa.nulls(2),
        pa.array(
            [
                {"member0": 1, "member1": None},
                {"member0": None, "member1": "x"},
                {},
                {"member0": 1, "member1": "x"},
                None,
            ]
        ),
        pa.array([[1, None], [], None, [3]]),
        pa.array([[("a", 1), ("b", None)], [], None], pa.map_(pa.string(), pa.int64())),
        pa.array([{"f0": 1}, {"f0": None}, None]),
    ]


SCHEMAS = [
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
    {"type": "fixed", "name": "F", "size": 5},
    {"type": "enum", "name": "E", "symbols": ["A", "B"]},
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "timestamp-nanos"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 5},
    {"type": "bytes", "logicalType": "decimal", "precision": 90, "scale": 1},
    {"type": "fixed", "name": "D", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 1},
    {"type": "array", "items": "int"},
    {"type": "array", "items": ["null", "long"]},
    {"type": "map", "values": ["null", "int"]},
    {"type": "map", "values": "int"},
    ["int", "string"],
    ["int", "long"],
    ["null", "float", "double"],
    {"type": "record", "name": "R", "fields": [{"name": "f0", "type": "int"}]},
    {
        "type": "record",
        "name": "R",
        "fields": [{"name": "f0", "type": ["int", "null"]}, {"name": "f1", "type": "string", "default": "d"}],
    },
]


@cases("schema", SCHEMAS, ids=str)
@cases("nullable", [False, True])
def test_every_column_as_every_schema(schema, nullable):
    if nullable:
        if schema == "null" or isinstance(schema, list):
            return
        schema = ["null", schema]
    for column in columns():
        same_encode(encode_plan(parse(schema), column.type), column)
        same_encode(encode_plan(parse(schema), column.type), column.slice(1), large=True)


def test_both_have_the_same_names():
    assert set(kernel(KERNEL, "pure").__all__) <= set(dir(kernel(KERNEL, "native")))


def test_refusals_are_of_the_schema():
    with pytest.raises(SchemaError):
        decode_plan(parse("int"), parse({"type": "bytes", "logicalType": "decimal", "precision": 77}))
