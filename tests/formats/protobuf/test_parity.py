"""The compiled kernel answers as the plain one: values, and faults with row, offset, path and code."""

import array
import math
import random
from functools import partial
from unittest import mock

import pyarrow as pa
import pytest
import side_by_side
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from protobuf_vectors import ROWS, SCHEMAS
from random_messages import damaged, payload, schema_text, spoiled
from tries import tries

import kcodec
from kcodec._impl import kernel
from kcodec.formats.protobuf.plans.encode_plan import encode_plan
from kcodec.formats.protobuf.plans.plan import decode_plan
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.formats.protobuf.types import ProtobufOptions
from kcodec.plan import Limits

same_decode = partial(side_by_side.same_decode, "formats.protobuf._kernel")
same_encode = partial(side_by_side.same_encode, "formats.protobuf._kernel")

OPTIONS = [
    {},
    {"unknown_fields": "keep", "unsigned": "native", "well_known": ()},
    {
        "oneofs": "case",
        "enums": "number",
        "unknown_enums": "error",
        "unsigned": "signed",
        "absent": "null",
        "large": True,
    },
    {"unit": "ns", "round": "truncate", "unknown_enums": "error", "absent": "null"},
]


def plan_of(message, options, fields=None):
    return decode_plan(message, ProtobufOptions(**options, fields=fields, recursive_depth=2))[0]


@given(st.integers(0, 1 << 32))
@settings(max_examples=tries(40))
def test_blocks(seed):
    rnd = random.Random(seed)
    message = ProtobufSchema.parse(schema_text(rnd)).message("p.M0")
    density = rnd.choice((0.2, 0.7, 0.95, 1))
    good = [payload(rnd, message, density) for _ in range(rnd.choice((1, 5, 30)))]
    rows = rnd.choices(good, k=rnd.choice((3, 20, 300)))
    for _ in range(rnd.choice((0, 0, 1, 3, len(rows) // 2))):
        rows[rnd.randrange(len(rows))] = rnd.choice((None, damaged(rnd, rnd.choice(good), good)))
    share = rnd.choice((0, 0, 0.02, 0.2, 0.4))
    rows = [None if rnd.random() < share else row for row in rows]
    names = [field.name for field in message.fields]
    fields = rnd.sample(names, rnd.randint(1, len(names))) if names and rnd.random() < 0.3 else None
    plan = plan_of(message, rnd.choice(OPTIONS), fields)
    options = {}
    if rnd.random() < 0.3:
        starts = [rnd.randint(0, 6) for _ in rows]
        options["starts"] = array.array("i", starts)
        rows = [row and bytes(start) + row for start, row in zip(starts, rows, strict=True)]
    if rnd.random() < 0.3:
        options["selector"] = array.array("i", rnd.choices((0, 0, 1, -1), k=len(rows)))
    same_decode([plan, plan], rows, **options)


def test_a_fault_behind_a_required_field_that_lacks():
    """Of a row that has nothing of what is due, the first byte that is wrong is told, not one behind it."""
    message = ProtobufSchema.parse(
        'syntax = "proto2"; message M { required fixed32 a = 1; required N n = 2; optional int32 i = 3; }'
        "message N { optional string t = 1; }"
    ).message("M")
    good = bytes.fromhex("0d010000001200")
    plan = plan_of(message, {})
    for row in ("12010000000d00", "12020a050000", "1802ff", "0d0100000018020a"):
        same_decode([plan], [bytes.fromhex(row)] + [good] * 20)
    module = kernel("formats.protobuf._kernel", "native")
    column = pa.array([good] * 9 + [bytes.fromhex("12010000000d00")] + [good] * 20, pa.binary())
    (fault,) = module.decode(column, [module.Program(plan, Limits())])[1]
    assert fault[:4] == (9, 2, "n", "invalid_tag")


@given(st.integers(0, 1 << 32))
@settings(max_examples=tries(30))
def test_blocks_of_bad_rows(seed):
    """Each row has faults in several places, of which the first is told."""
    rnd = random.Random(seed)
    message = ProtobufSchema.parse(schema_text(rnd, (1, 6))).message("p.M0")
    good = [payload(rnd, message, rnd.choice((0.2, 0.7, 0.95))) for _ in range(6)]
    rows = rnd.choices(good, k=rnd.choice((8, 12, 40)))
    for at in range(len(rows)):
        for _ in range(rnd.choice((0, 1, 1, 2, 3))):
            rows[at] = damaged(rnd, rows[at], good)
    same_decode([plan_of(message, rnd.choice(OPTIONS))], rows)


@given(st.integers(0, 1 << 32))
@settings(max_examples=tries(40))
def test_blocks_are_written(seed):
    rnd = random.Random(seed)
    message = ProtobufSchema.parse(schema_text(rnd)).message("p.M0")
    options = ProtobufOptions(**rnd.choice(OPTIONS), recursive_depth=2)
    payloads = [payload(rnd, message, rnd.choice((0.2, 0.7, 0.95, 1))) for _ in range(rnd.choice((1, 5, 30)))]
    plan = decode_plan(message, options)[0]
    module = kernel("formats.protobuf._kernel", "pure")
    column, _ = module.decode(pa.array(payloads, pa.binary()), [module.Program(plan, Limits())])
    values = column.to_pylist()
    rows = rnd.choices(values, k=rnd.choice((1, 20, 300)))
    for _ in range(rnd.choice((0, 0, 1, 3, len(rows) // 2))):
        one, other = rnd.choice(values), rnd.choice(values)
        if one and other and rnd.random() < 0.3:
            # Members of a oneof from both.
            one = {name: each if other[name] is None else other[name] for name, each in one.items()}
        rows[rnd.randrange(len(rows))] = spoiled(rnd, one) if rnd.random() < 0.7 else one
    first = rnd.choice((0, 0, 1, 8, 13))
    column = pa.array([rnd.choice(values)] * first + rows, plan.arrow_type).slice(first)
    prefix = rnd.choice((b"", b"\0\0\0\0\7\0"))
    same_encode(encode_plan(message, column.type, options), column, prefix=prefix, large=rnd.random() < 0.2)


@pytest.mark.thorough
def test_lists_that_are_longer_than_blocks_of_items():
    message = ProtobufSchema.parse(
        'syntax = "proto3"; message M { repeated N l = 1; repeated string t = 2; map<string, N> m = 3; N n = 4; }'
        "message N { repeated string t = 1; repeated N l = 2; N n = 3; int64 i = 4; }"
    ).message("M")
    options = ProtobufOptions(recursive_depth=7)
    kind = decode_plan(message, options)[0].arrow_type
    deep = None
    for level in range(7):
        deep = {"t": ["a" * 40 * level] * level, "l": [{"i": level}] * level, "n": deep, "i": -level}
    rows = [
        {
            "l": [{"t": ["x"] * (count % 7), "i": count}] * count,
            "t": ["ä" * at for at in range(count)],
            "n": deep,
        }
        | {"m": [(f"{(at * 7919) % 1000}-key", {"i": at}) for at in range(count % 50)]}
        for count in (0, 1, 2, 3, 700, 0, 5, 130, 200, 300, 1, 1, 0)
    ]
    same_encode(encode_plan(message, kind, options), pa.array(rows * 4, kind))


@cases(("schema", "message"), dict.fromkeys((row["schema"], row["message"]) for row in ROWS))
def test_rows_of_the_vectors(schema, message):
    rnd = random.Random(schema + message)
    rows = [bytes.fromhex(row["row"]) for row in ROWS if (row["schema"], row["message"]) == (schema, message)]
    rows += [damaged(rnd, row, rows) for row in rows]
    for options in OPTIONS:
        plan = plan_of(SCHEMAS[schema].message(message), options)
        same_decode([plan], [*rows, None])


def test_a_few_odd_rows_among_many():
    # Fields in another order, merged messages, unknown fields in between, a member of a oneof after another.
    schema = ProtobufSchema.parse(
        'syntax = "proto3"; message M { int32 a = 1; N n = 3; repeated N l = 4; oneof o { string s = 5; N m = 6; } }'
        "message N { string t = 1; repeated sint64 p = 2; map<string, N> q = 3; }"
    )
    good = bytes.fromhex("08011a050a0361626322041202030422091a070a016112020a002a0178")
    rows = [good] * 300
    for row, odd in (
        (0, good[2:] + good[:2]),
        (17, good + good),
        (18, good[:2] + b"\x10\x05" + good[2:]),
        (19, good + b"\x38\x05"),
        (100, good[:-3] + b"\x32\x00\x2a\x01x"),
        (200, good[:-1]),
        (201, b""),
        (255, None),
        (256, good[:-1] + b"\xff"),
        (299, good[:2] * 9),
    ):
        rows[row] = odd
    for options in OPTIONS:
        decoded = same_decode([plan_of(schema.message("M"), options)], rows)
        assert decoded.null_count == 3
        assert decoded[1].as_py() == decoded[298].as_py() == decoded[0].as_py()


@pytest.mark.thorough
def test_lists_longer_than_a_block_has_room_for():
    schema = ProtobufSchema.parse(
        'syntax = "proto3"; message M { repeated N l = 1; repeated int32 p = 2; repeated bool u = 3 [packed = false]; }'
        "message N { repeated string t = 1; }"
    )
    rows = [
        b"\x0a\x02\x0a\0" * count + b"\x12\x82\x80\0" + bytes(2) + b"\x18\x01" * count
        for count in (0, 3, 1, 30_000, 0, 2000, 2000, 2000, 1)
    ]
    decoded = same_decode([plan_of(schema.message("M"), {})], rows)
    assert len(decoded[3].as_py()["l"]) == len(decoded[3].as_py()["u"]) == 30_000


ORDERS = """
syntax = "proto3";
enum E { NONE = 0; SOME = 1; }
message M {
  int64 id = 1; string name = 2; optional string note = 3; double price = 4; N first = 5; repeated string tags = 6;
  map<string, N> by = 7; repeated N lines = 8; repeated sint32 sizes = 9; oneof way { string road = 10; N ship = 11; }
  E kind = 12; bool gift = 13; bytes raw = 14; string last = 20;
}
message N { string text = 1; int32 number = 2; repeated string words = 3; repeated fixed64 bits = 4; N below = 5; }
"""


def order(message, turn: int) -> bytes:
    return payload(random.Random(turn), message, (0.3, 0.7, 1)[turn % 3])


def spoil(data: bytes, turn: int) -> bytes:
    """Return a row that is bad: cut, not UTF-8, with a wrong wire type, a long varint, garbage behind it."""
    at = turn % (len(data) + 1)
    return (
        data[:at],
        bytes(byte | 0x80 if 97 <= byte <= 122 else byte for byte in data[:at]) + data[at:],
        data[:at] + b"\x0f" + data[at:],
        data[:at] + b"\x80" * 11 + data[at:],
        data + b"\0",
        data + b"\xa2\x01\x05abc",
        b"\x12\x01\xff" + data,
        data + b"\x32\x01a\x32\x02\xc3\x28",
        data[:at] + data,
    )[turn % 9]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "share", "options"),
    [(pa.binary(), 40, 0), (pa.large_binary(), 3, 2), (pa.binary_view(), 9, 1)],
    ids=["few", "many", "some"],
)
def test_bad_rows_of_blocks(kind, share, options):
    """One row of so many is bad, each in another place; at the ends of blocks and behind each other, too."""
    message = ProtobufSchema.parse(ORDERS).message("M")
    rows = [order(message, turn) for turn in range(290)]
    for turn, row in enumerate((0, 1, 2, 254, 255, 256, 257, 289, *range(7, 250, share))):
        rows[row] = spoil(rows[row], 7 * turn + row)
    rows[33] = None
    same_decode([plan_of(message, OPTIONS[options])], rows, kind=kind)


def test_a_bad_row_at_every_place_of_a_block():
    message = ProtobufSchema.parse(ORDERS).message("M")
    good = [order(message, turn) for turn in range(9)]
    plan = plan_of(message, {})
    for place in range(9):
        rows = good.copy()
        rows[place] = spoil(good[place], 5 * place)
        same_decode([plan], rows)


def test_entries_of_closed_enums_without_a_value():
    message = ProtobufSchema.parse(
        'syntax = "proto2"; enum E { A = 1; B = 2; } message M { map<int32, E> m = 1; }'
    ).message("M")
    rows = [bytes.fromhex("0a020801"), bytes.fromhex("0a0408011002"), bytes.fromhex("0a0408011003")]
    decoded = same_decode([plan_of(message, {})], rows)
    assert [row["m"] for row in decoded.to_pylist()] == [[(1, "A")], [(1, "B")], []]


@pytest.mark.parametrize("rows", [1, 30])
@pytest.mark.parametrize(
    ("below", "path"),
    [
        ("required int32 a = 1;", "m[1].value.a"),
        ("optional int32 b = 1; required N n = 2;", "m[1].value.n"),
        ("optional int32 b = 1; optional N n = 2;", ""),
    ],
)
def test_entries_without_a_message_whose_fields_are_required(below, path, rows):
    message = ProtobufSchema.parse(
        'syntax = "proto2"; message M { map<int32, V> m = 1; } message N { required int32 c = 1; }'
        f"message V {{ {below} }}"
    ).message("M")
    good = bytes.fromhex("0a0a08011206080112020801")
    column = [good] * rows + [good + bytes.fromhex("0a020802")] + [good] * rows
    plan = plan_of(message, {})
    same_decode([plan], column)
    module = kernel("formats.protobuf._kernel", "native")
    faults = module.decode(pa.array(column), [module.Program(plan, Limits())])[1]
    wanted = [(rows, "missing_required", path, len(good) + 4)] if path else []
    assert [(fault.row, fault.code, fault.path, fault.offset) for fault in faults] == wanted


@pytest.mark.parametrize("rows", [1, 30])
def test_what_stands_before_a_required_field_that_is_missing(rows):
    message = ProtobufSchema.parse(
        'syntax = "proto2"; message N { optional int32 a = 1; } message M { optional N n = 1; required int32 c = 3; }'
    ).message("M")
    good = b"\x0a\0\x18\1"
    plan = plan_of(message, {})
    for bad, code, offset in (
        # Neither a field of the number 0 is passed over, nor a message that comes again.
        (b"\x02\2\x08\0\x0f", "invalid_tag", 0),
        (b"\x0a\0\x0a\1\x08\x0f", "truncated", 5),
        (b"\x0a\0\x0a\0\x0f", "invalid_tag", 4),
        (b"\x0a\0", "missing_required", 2),
    ):
        column = [good] * rows + [bad] + [good] * rows
        decoded = same_decode([plan], column)
        assert decoded.null_count == 1
        module = kernel("formats.protobuf._kernel", "native")
        [fault] = module.decode(pa.array(column), [module.Program(plan, Limits())])[1]
        assert (fault.row, fault.code, fault.offset) == (rows, code, offset)


@pytest.mark.parametrize("rows", [1, 30])
def test_times_that_are_wrong_are_told_without_the_twin(rows):
    message = ProtobufSchema.parse(
        """syntax = "proto2"; import "google/protobuf/timestamp.proto";
        message N { optional google.protobuf.Timestamp at = 1; repeated google.protobuf.Timestamp more = 2; }
        message M { optional N n = 1; oneof x { google.protobuf.Timestamp t = 2; int32 i = 3; } required int32 c = 4;
        repeated N ns = 5; }"""
    ).message("M")
    program = kernel("formats.protobuf._kernel", "native")
    plan = plan_of(message, {})
    exact, fine = b"\x0a\2\x08\1", b"\x0a\2\x10\1"
    end = b"\x20\1"
    for bad, code, path in (
        (b"\x0a\4" + fine + end, "inexact", "n.at"),
        (b"\x0a\x0d\x0a\x0b\x08" + b"\x80" * 9 + b"\1" + end, "out_of_range", "n.at"),
        (b"\x12\2\x10\1" + end, "inexact", "t"),
        # The time comes again: its parts are of both.
        (b"\x0a\4" + fine + b"\x0a\4" + exact + end, "inexact", "n.at"),
        (b"\x0a\4" + fine + b"\x0a\5\x0a\3\x10\xe8\7" + end, "", ""),
        # Another member of its oneof comes.
        (b"\x12\2\x10\1\x18\1" + end, "", ""),
        # What is not there, and what cannot be read, come first in their turn.
        (b"\x0a\4" + fine, "inexact", "n.at"),
        (b"\x0a\4" + fine + b"\x0f", "invalid_tag", ""),
        (b"\x0a\4" + exact, "missing_required", "c"),
        (b"\x0a\4" + fine + b"\x2a\4" + exact + end, "inexact", "n.at"),
        (b"\x0a\4" + exact + b"\x2a\4" + fine + end, "inexact", "ns[0].at"),
        (b"\x0a\4\x12\2\x10\1" + end, "inexact", "n.more[0]"),
    ):
        column = [end] * rows + [bad] + [end] * rows
        same_decode([plan], column)
        faults = program.decode(pa.array(column), [program.Program(plan, Limits())])[1]
        assert [(fault.row, fault.code, fault.path) for fault in faults] == [(rows, code, path)] * bool(code)


def test_items_that_are_wrong_are_told_without_the_twin(monkeypatch):
    message = ProtobufSchema.parse(
        """syntax = "proto2"; import "google/protobuf/timestamp.proto";
        message I { required int32 x = 1; optional google.protobuf.Timestamp at = 2; repeated I2 is = 3; }
        message I2 { required int32 y = 1; }
        message M { repeated I is = 1; repeated google.protobuf.Timestamp ts = 2; map<int32, I2> m = 3;
        oneof o { I2 a = 4; int32 b = 5; } optional google.protobuf.Timestamp t = 6; }"""
    ).message("M")
    program = kernel("formats.protobuf._kernel", "native")
    twin = kernel("formats.protobuf._kernel", "pure")
    plan = plan_of(message, {})
    good, lacks, fine = b"\x0a\2\x08\1", b"\x0a\0", b"\x12\2\x10\1"
    for bad, code, path, offset, is_left in (
        (good + lacks + good, "missing_required", "is[1].x", 6, False),
        (lacks + lacks, "missing_required", "is[0].x", 2, False),
        (b"\x0a\6\x08\1" + fine, "inexact", "is[0].at", 8, False),
        (good + b"\x0a\4\x08\1\x1a\0", "missing_required", "is[1].is[0].y", 10, False),
        (b"\x12\0" + fine, "inexact", "ts[1]", 6, False),
        (b"\x1a\4\x08\1\x12\0", "missing_required", "m[0].value.y", 6, False),
        (lacks + b"\x0f", "invalid_tag", "", 2, False),
        # Of several things the first is that of the first field, for which the twin reads all.
        (fine + lacks, "missing_required", "is[0].x", 6, True),
        (b"\x32\2\x10\1" + lacks, "missing_required", "is[0].x", 6, True),
        (b"\x1a\4\x08\1\x12\0" + b"\x1a\6\x08\1\x12\2\x08\1", "", "", None, True),
        (lacks + b"\x22\2\x08\1\x28\1", "missing_required", "is[0].x", 2, True),
    ):
        column = [good] * 3 + [bad] + [good] * 3
        same_decode([plan], column)
        with monkeypatch.context() as patch:
            asked = mock.Mock(wraps=twin.decode)
            patch.setattr(twin, "decode", asked)
            faults = program.decode(pa.array(column), [program.Program(plan, Limits())])[1]
        assert [tuple(fault)[:4] for fault in faults] == [(3, offset, path, code)] * bool(code)
        assert asked.called == is_left


MAPS = """syntax = "proto3"; import "google/protobuf/timestamp.proto";
message M { map<KEY, string> s = 1; map<KEY, V> v = 2; map<KEY, E> e = 3;
map<KEY, google.protobuf.Timestamp> t = 4; I i = 5; repeated I is = 6; string z = 7; }
message I { map<KEY, V> v = 1; string z = 2; }
message V { repeated string s = 1; map<KEY, bytes> b = 2; optional bool o = 3; oneof x { int32 n = 4; double d = 5; } }
enum E { A = 0; LONG_NAME = 1; }"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", ["string", "int32", "bool", "sfixed64"])
@given(seed=st.integers(0, 1 << 32), options=st.sampled_from(OPTIONS))
@settings(max_examples=tries(15))
def test_maps_with_equal_keys(key, seed, options):
    """The last value of a key counts, in the place of the first, in maps of any size and within each other."""
    rnd = random.Random(seed)
    message = ProtobufSchema.parse(MAPS.replace("KEY", key)).message("M")
    keys = {"string": [b"", b"a", b"b", b"long key " * 4], "bool": [0, 1]}.get(key, [0, 1, 2, 1 << 30])

    def sized(number, data):
        return bytes([number << 3 | 2, *varint(len(data))]) + data

    def entries(number, value):
        most = rnd.choice((0, 1, 3, 8, 9, 40))
        return b"".join(sized(number, entry(value)) for _ in range(rnd.randint(0, most)))

    def entry(value):
        found = rnd.choice(keys)
        if isinstance(found, bytes):
            data = sized(1, found)
        else:
            data = b"\x09" + found.to_bytes(8, "little") if key == "sfixed64" else bytes([8, *varint(found)])
        return data * rnd.randint(0, 2) + value()

    def varint(number):
        while number > 127:
            yield number & 127 | 128
            number >>= 7
        yield number

    def text():
        return rnd.choice((b"", b"x", b"text" * 9, "é".encode() * 20))

    def plain():
        return b"".join(sized(1, text()) for _ in range(rnd.randint(0, 3))) + entries(
            2, lambda: sized(2, text())
        )

    def inner():
        return entries(1, lambda: sized(2, plain() + rnd.choice((b"", b"\x18\1", b"\x20\5")))) + sized(
            2, text()
        )

    rows = [
        entries(1, lambda: sized(2, text()))
        + entries(2, lambda: sized(2, plain()))
        + entries(3, lambda: bytes([16, rnd.randint(0, 2)]))
        + entries(4, lambda: sized(2, bytes([8, rnd.randint(0, 99)])))
        + b"".join(sized(number, inner()) for number in (5, 6, 6))
        + sized(7, text())
        for _ in range(rnd.choice((1, 12)))
    ]
    same_decode([plan_of(message, options)], rows)


def test_maps_with_equal_keys_are_read_by_the_compiled_kernel(monkeypatch):
    """The plain twin, which takes a hundred times as long, is not asked for them."""
    message = ProtobufSchema.parse('syntax = "proto3"; message M { map<int32, string> m = 1; }').message("M")
    native = kernel("formats.protobuf._kernel", "native")
    plan = plan_of(message, {})
    monkeypatch.delattr("kcodec.formats.protobuf._kernel_py.decode")
    rows = pa.array([bytes.fromhex("0a050801120161 0a050802120162 0a050801120163")] * 20)
    decoded, faults = native.decode(rows, [native.Program(plan, Limits())])
    assert (decoded.to_pylist(), faults) == ([{"m": [(1, "c"), (2, "b")]}] * 20, [])


PROTO3 = """syntax = "proto3";
enum E { A = 0; B = 1; }
message M { double d = 1; float f = 2; E e = 3; map<int32, E> m = 4; repeated double ds = 5; }"""
PROTO2 = """syntax = "proto2";
enum E { A = 1; B = 2; }
message M { optional E e = 3; required int32 needed = 9; }"""
INEXACT, RANGE, SYMBOL = "inexact", "out_of_range", "unknown_symbol"


@cases(
    ("text", "name", "kind", "values", "wanted"),
    [
        # A float is a double as it is; a double is a float if nothing is lost.
        (PROTO3, "d", pa.float32(), [1.5, math.inf, None], ["09000000000000f83f", "09000000000000f07f", ""]),
        (PROTO3, "ds", pa.list_(pa.float32()), [[1.5], []], ["2a08000000000000f83f", ""]),
        (PROTO3, "f", pa.float64(), [1.5, math.inf, 0.1, 1e300], ["150000c03f", "150000807f", INEXACT, INEXACT]),
        (PROTO3, "f", pa.float64(), [math.nan, None], ["150000c07f", ""]),
        # The numbers of an enum; a closed one has no others.
        (PROTO3, "e", pa.int32(), [0, 1, 7, -1], ["", "1801", "1807", "18ffffffffffffffffff01"]),
        (PROTO3, "e", pa.int64(), [1, 1 << 31, -(1 << 31) - 1], ["1801", RANGE, RANGE]),
        (PROTO3, "e", pa.string(), ["B", "7", "01", "C"], ["1801", "1807", SYMBOL, SYMBOL]),
        (PROTO3, "m", pa.map_(pa.int32(), pa.int32()), [[(2, 1), (1, 0)]], ["22040801100022040802" + "1001"]),
        (PROTO3, "m", pa.map_(pa.float64(), pa.int32()), [[(1.5, 0)], [(2.0, 1), (1.0, 5)]], ["type_mismatch"] * 2),
        (PROTO2, "e", pa.int32(), [1, 7], ["missing_required", SYMBOL]),
        (PROTO2, "needed", pa.int64(), [1, None, 1 << 31], ["4801", "missing_required", RANGE]),
    ],
)  # fmt: skip
def test_columns_of_other_types(impl, text, name, kind, values, wanted):
    codec = kcodec.ProtobufCodec(text, message="M")
    column = pa.StructArray.from_arrays([pa.array(values, kind)], [name])
    encoded, report = codec.encode(column, errors="report")
    codes = dict(zip(report["row"].to_pylist(), report["code"].to_pylist(), strict=True))
    assert [codes.get(row) or each.hex() for row, each in enumerate(encoded.to_pylist())] == wanted
