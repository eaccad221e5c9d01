"""Blocks of messages that are read a field at a time."""

import random

import numpy as np
import pyarrow as pa
import pytest
from cases import cases
from side_by_side import on_both, same_decode
from tries import tries

from kcodec import ProtobufCodec
from kcodec.formats.protobuf.codec import ProtobufReader, ProtobufWriter
from kcodec.formats.protobuf.messages.wire import write_varint
from kcodec.formats.protobuf.plans.plan import decode_plan
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.formats.protobuf.types import ProtobufOptions
from kcodec.plan import Limits


def packed(numbers):
    """A list of numbers as it is packed, each in the form given."""
    run = b"".join(numbers)
    size = bytearray()
    write_varint(size, len(run))
    return b"\x0a" + bytes(size) + run


LONGEST = b"\xff" * 9 + b"\x01"
NUMBERS = [
    b"\x00",
    b"\x7f",
    b"\x80\x01",
    b"\xff" * 7 + b"\x7f",
    b"\xff" * 8 + b"\x7f",
    LONGEST,
    b"\xff" * 9 + b"\x7e",
]


@pytest.mark.parametrize("kind", ["int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool"])
def test_packed_numbers_of_all_lengths(kind):
    """Runs longer than what is looked at together, and what is wrong in them, in the first row or the last."""
    drawn = random.Random(45)
    text = f'syntax = "proto3"; message M {{ repeated {kind} n = 1; {kind} m = 2; }}'
    plan, _ = decode_plan(ProtobufSchema.parse(text).message("M"), ProtobufOptions())
    rows = [packed(drawn.choices(NUMBERS, k=count)) for count in [*range(12), 40, 200] for _ in range(3)]
    rows += [b"\x10" + number for number in NUMBERS]
    wrong = [packed([b"\x80"]), packed([b"\xff" * 10 + b"\x00"]), packed([b"\x01", b"\xff" * 70 + b"\x00"])]
    wrong += [b"\x10" + b"\xff" * 10 + b"\x00", b"\x10\x80"]
    for values in (rows, *([bad, *rows, bad, *rows[:9]] for bad in wrong)):
        same_decode("formats.protobuf._kernel", [plan], values)


WRITTEN = {
    "int64": NUMBERS[:-1],
    "uint32": NUMBERS[:4],
    "sint64": NUMBERS[:-1],
    "bool": NUMBERS[:2],
    "fixed32": [b"abcd", bytes(4)],
    "double": [b"12345678", bytes(8)],
    "E": [b"\0", b"\1", b"\7", LONGEST],
}


@cases("packed_first", [True, False])
@cases("kind", WRITTEN)
def test_lists_that_are_packed_or_not(kind, packed_first):
    """Writers of both kinds, in shares of all sizes, and of items in both forms; some rows are cut."""
    drawn = random.Random(kind)
    text = f"""syntax = "proto3"; enum E {{ A = 0; B = 1; }}
        message M {{ repeated {kind} n = 1 [packed = {str(packed_first).lower()}]; string s = 2; }}"""
    message = ProtobufSchema.parse(text).message("M")
    wire_type = {"fixed32": b"\x0d", "double": b"\x09"}.get(kind, b"\x08")

    def row(share):
        numbers = drawn.choices(WRITTEN[kind], k=drawn.choice([0, 1, 3, 20]))
        half = len(numbers) // 2 if drawn.random() < 0.1 else 0
        runs = packed(numbers[:half]) + b"".join(wire_type + number for number in numbers[half:])
        if drawn.random() < share:
            runs = packed(numbers)
        made = runs + b"\x12\1s"
        return made[:-5] if drawn.random() < 0.003 else made

    rows = min(300, tries(600))
    for options in (ProtobufOptions(), ProtobufOptions(enums="number"), ProtobufOptions(fields=["s"])):
        plan, _ = decode_plan(message, options)
        for share in (0, 0.02, 0.5, 0.98):
            same_decode("formats.protobuf._kernel", [plan], [row(share) for _ in range(rows)])


@pytest.mark.parametrize("kind", ["float", "sfixed64"])
def test_empty_runs_of_columns_that_grow(kind):
    """There is no memory yet that nothing could be copied to: .ci/sanitize tells if it is done all the same."""
    text = f'syntax = "proto3"; message M {{ repeated N n = 1; }} message N {{ repeated {kind} l = 1; }}'
    plan = decode_plan(ProtobufSchema.parse(text).message("M"), ProtobufOptions())[0]
    rows = [b"\x0a\2\x0a\0", b"\x0a\4\x0a\0\x0a\0" * 2, b"", b"\x0a\3\x0a\1a"]
    for first in rows:
        same_decode("formats.protobuf._kernel", [plan], [first, *rows], limits=Limits(max_expansion=300))


def test_rows_that_are_picked(impl):
    """Only these are read, behind what each starts with; the others are null."""
    text = 'syntax = "proto3"; message M { int64 n = 1; string s = 2; }'
    drawn = random.Random(7)
    rows = [None if drawn.random() < 0.1 else b"x" * (i % 3) + b"\x08" + bytes([i % 100]) for i in range(900)]
    rows[40] = b"x" + b"\x08"
    starts = np.array([i % 3 for i in range(900)], np.int32)
    picked = np.array(sorted({40, *drawn.sample(range(900), 500)}), np.int32)
    read = {*picked.tolist()} - {40}
    expected = [None if rows[i] is None or i not in read else i % 100 for i in range(900)]
    reader = ProtobufReader(ProtobufSchema.parse(text).message("M"))
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        array, faults = reader.decode(pa.array(rows, kind), starts=starts, picked=picked)
        assert [None if row is None else row["n"] for row in array.to_pylist()] == expected
        assert [(fault.row, fault.offset) for fault in faults] == [(40, 2)]


@cases("large", [False, True])
@cases("seed", range(12))
def test_picked_rows_stand_where_they_did(impl, seed, large):
    """Columns of every kind, null or not, in calls of all sizes: as where the other rows are told to be null."""
    drawn = random.Random(seed)
    text = """syntax = "proto3"; import "google/protobuf/timestamp.proto"; enum E { A = 0; B = 1; }
        message I { string a = 1; optional bool b = 2; repeated E below = 3; }
        message M { double d = 1; bool o = 2; optional bool p = 3; int32 i = 4; optional int64 l = 5; string s = 6;
            optional bytes y = 7; repeated I r = 8; map<string, int32> m = 9; I n = 10; E e = 12;
            google.protobuf.Timestamp t = 11; oneof either { string x = 13; int32 z = 14; }
            repeated sint64 packed = 15; }"""
    reader = ProtobufReader(ProtobufSchema.parse(text).message("M"), options=ProtobufOptions(large=large))
    count = drawn.choice([1, 7, 8, 9, 64, 300, 3000])
    payloads = payloads_of_every_kind(reader, drawn)
    # Of a key that comes twice the twin is asked.
    rows = drawn.choices([*payloads, *payloads, None, None, b"\x0a\xff", 2 * b"\x4a\5\x0a\1k\x10\1"], k=count)
    values = pa.array(rows, pa.binary())
    picked = np.array(sorted(drawn.sample(range(count), drawn.randint(0, count))), np.int32)
    selector = np.full(count, -1, np.int32)
    selector[picked] = 0
    array, faults = reader.decode(values, picked=picked)
    expected, found = reader.decode(values, selector=selector)
    array.validate(full=True)
    assert array.equals(expected)
    assert array.null_count == expected.null_count
    assert list(faults) == list(found)


def payloads_of_every_kind(reader, drawn):
    """Payloads with some of the fields of that message."""
    inner = {"a": "a" * 40, "b": False, "below": ["B"]}
    whole = {
        "d": 1.5, "o": True, "p": False, "i": 4, "l": -5, "s": "text", "y": b"bytes", "r": [inner, {"a": "é"}],
        "m": [("k", 1)], "n": {"below": ["A", "B"]}, "t": 10**18, "e": "B", "x": "x", "packed": [1, -2],
    }  # fmt: skip
    some = [{k: v for k, v in whole.items() if drawn.random() < 0.5} for _ in range(20)]
    writer = ProtobufWriter(reader.message, options=reader.options)
    return writer.encode(pa.array([{}, whole, *some], reader.arrow_type))[0].to_pylist()


def test_long_lists_maps_and_rows_are_written():
    """More items in a block of rows than it has lanes, numbers of all lengths, keys in any order, and large rows."""
    text = 'syntax = "proto3"; message I { string a = 1; sint64 b = 2; } message M { int64 n = 1; repeated bool f = 2; '
    text += "repeated int32 i = 3; repeated int64 l = 4; map<string, string> t = 5; map<int32, I> m = 6; "
    text += "repeated I s = 7; repeated string u = 8; bytes z = 9; map<uint64, bool> w = 10; }"
    drawn = random.Random(3)

    def number(bits):
        return drawn.choice([-1, 1]) * drawn.getrandbits(drawn.randrange(bits))

    def inner():
        return {"a": "a" * drawn.choice([0, 5, 140]), "b": number(63)}

    def by_key(rows):
        return [row and {**row, **{name: dict(row[name]) for name in "tmw"}} for row in rows]

    def row(most, size):
        count = drawn.randint(0, most)
        keys = [f"{drawn.choice('aé')}{'k' * drawn.choice([1, 9])}{key}" for key in range(count)]
        drawn.shuffle(keys)
        return {
            "n": number(63),
            "f": [drawn.random() < 0.5 for _ in range(count)],
            "i": [number(31) for _ in range(count)],
            "l": [number(63) for _ in range(count)],
            "t": [(key, key * 20) for key in keys],
            "m": [(key, inner()) for key in drawn.sample(range(-999, 999), count)],
            "s": [inner() for _ in range(count)],
            "u": keys,
            "z": bytes(size),
            "w": [(key << 60, True) for key in drawn.sample(range(16), min(count, 16))],
        }

    codec = ProtobufCodec(text, "M")
    for most, size, count in ((0, 0, 70), (4, 30, 200), (30, 100, 130), (40, 20_000, 70), (700, 0, 3)):
        rows = [row(most, size) if drawn.random() < 0.95 else None for _ in range(count)]
        array = pa.array(rows, codec.arrow_type)
        values = on_both(lambda array=array: codec.encode(array).to_pylist())
        assert by_key(codec.decode(values).to_pylist()) == by_key(rows)


def sized(number, data):
    """A field of bytes: its tag, the length, the bytes."""
    size = bytearray()
    write_varint(size, len(data))
    return bytes([number << 3 | 2, *size]) + data


def entries(keys):
    return b"".join(sized(2, sized(1, key.encode())) for key in keys)


@pytest.mark.parametrize("inside", [False, True])
def test_keys_that_come_again_behind_a_bad_row_that_has_the_same(inside):
    """A row that is wrong for another reason keeps its maps behind a null; those of later rows have the same keys."""
    schema = 'syntax = "proto3"; message I { repeated int32 p = 1; map<string, int32> m = 2; string z = 3; }'
    message = ProtobufSchema.parse(schema + "message M { repeated I is = 1; string z = 3; }").message(
        "M" if inside else "I"
    )
    again, few, most = "abcdefabcdef", "a", "abcdefgh"

    def row(*maps):
        return b"".join(sized(1, entries(keys)) for keys in maps)

    if inside:
        # The items of a row whose text is not UTF-8 go, and those behind it move to their places.
        foul = row(*[few] * 40) + b"\x1a\1\xff"
        wrong = sized(1, b"\x17") + row(*[again] * 120)
        rows = [foul, *[row(few)] * 254, row(most), wrong, *[row(few)] * 255, *[row(again)] * 256]
    else:
        rows = [b"\x0a\1\xff" + entries(again), *[entries(few)] * 255, *[entries(again)] * 256]
    plan = decode_plan(message, ProtobufOptions())[0]
    decoded = same_decode("formats.protobuf._kernel", [plan], [*rows, row(few)])
    assert decoded.null_count == (2 if inside else 1)
