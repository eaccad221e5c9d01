"""Lists too long to be read in step: their items, and the keys of maps, are read in loops of their own."""

import io
import json
import random
from decimal import Decimal
from functools import partial

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import side_by_side
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from kcodec.formats.avro.plans.encode_plan import encode_plan
from kcodec.formats.avro.plans.plan import decode_plan
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema.types import AvroOptions
from kcodec.plan import Limits

KERNEL = "formats.avro._kernel"
same_decode = partial(side_by_side.same_decode, KERNEL, limits=Limits())
same_encode = partial(side_by_side.same_encode, KERNEL, limits=Limits())

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}
DRAWN = random.Random(5)
VALUES = {
    "long": lambda: DRAWN.choice([1, -1]) * DRAWN.getrandbits(DRAWN.randint(0, 63)),
    "int": lambda: DRAWN.choice([1, -1]) * DRAWN.getrandbits(DRAWN.randint(0, 31)),
    "double": DRAWN.random,
    "float": lambda: DRAWN.randint(-1000, 1000) / 8,
    "boolean": lambda: DRAWN.random() < 0.5,
    "string": lambda: "é" * DRAWN.choice([0, 3, 15, 16, 40, 200]),
    "bytes": lambda: DRAWN.randbytes(DRAWN.choice([0, 3, 31, 32, 33, 150])),
    "decimal": lambda: Decimal(DRAWN.randint(-(10**20) + 1, 10**20 - 1) // 10 ** DRAWN.randint(0, 19)).scaleb(
        -2
    ),
    "null": lambda: None,
}


def payload(schema, value) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(schema), value)
    return file.getvalue()


def record(kind: str, container: str, last: str = "string") -> dict:
    """Return a record of a list or map of a kind, between other fields."""
    inner = DECIMAL if kind == "decimal" else kind
    items = {"type": container, "items" if container == "array" else "values": inner}
    fields = {"id": "long", "some": items, "last": last}
    return {
        "type": "record",
        "name": "R",
        "fields": [{"name": name, "type": each} for name, each in fields.items()],
    }


def rows(kind: str, container: str, sizes) -> list[bytes]:
    schema = record(kind, container)
    found = []
    for number, size in enumerate(sizes):
        values = [VALUES[kind]() for _ in range(size)]
        some = values if container == "array" else {f"key{at}": value for at, value in enumerate(values)}
        found.append(payload(schema, {"id": number, "some": some, "last": "end" * (number % 3)}))
    return found


@cases(
    "kind, container",
    [(kind, container) for kind in VALUES for container in ("array", "map")],
)
def test_long_lists_of_each_kind(kind, container):
    payloads = rows(kind, container, [0, 1, 2, 63, 64, 65, 200, 30, 31])
    for reader in (record(kind, container), record("long" if kind == "int" else kind, container)):
        plan = decode_plan(parse(record(kind, container)), parse(reader), AvroOptions())
        decoded = same_decode([plan], payloads)
        assert decoded.null_count == 0


@cases("kind, container", [(kind, container) for kind in VALUES for container in ("array", "map")])
def test_lists_of_each_kind_are_written(kind, container):
    payloads = rows(kind, container, [0, 1, 2, 3, 63, 64, 65, 200, *range(70)])
    schema = parse(record(kind, container))
    column = same_decode([decode_plan(schema, schema, AvroOptions())], payloads)
    for begin, end in ((0, len(payloads)), (3, 60), (70, len(payloads))):
        part = column.slice(begin, end - begin)
        written = same_encode(encode_plan(schema, part.type, AvroOptions()), part)
        assert written.to_pylist() == payloads[begin:end]
    every_third = [at % 3 == 0 for at in range(len(payloads))]
    some = pc.if_else(pa.array(every_third), column, pa.scalar(None, column.type))
    written = same_encode(encode_plan(schema, some.type, AvroOptions()), some)
    assert written.to_pylist() == [
        each if kept else None for each, kept in zip(payloads, every_third, strict=True)
    ]


@cases("kind, container", [(kind, container) for kind in VALUES for container in ("array", "map")])
def test_lists_that_are_cut(kind, container):
    # The list comes last, so that what is cut is in it.
    schema = record(kind, container)
    schema["fields"].pop()
    whole = rows(kind, container, [21, 22])[0][:-1]
    plan = decode_plan(parse(schema), parse(schema), AvroOptions())
    step = max(1, len(whole) // 60)
    same_decode([plan], [whole, *(whole[:size] for size in range(0, len(whole), step)), whole])


@cases(
    "wrong",
    [
        b"\xff" * 10 + b"\1",
        b"\x80" * 9 + b"\2",
        b"\xff" * 4 + b"\x10",
        b"\x80" * 12 + b"\0",
        b"\2",
        b"\3",
    ],
)
def test_wrong_items_among_others(wrong):
    for kind in ("long", "int", "boolean", "string", "decimal"):
        schema = record(kind, "array", "null")
        good = b"\0" if kind != "decimal" else b"\2\1"
        plan = decode_plan(parse(schema), parse(schema), AvroOptions())
        payloads = [b"\0" + b"\x50" + good * at + wrong + good * (39 - at) + b"\0" for at in (0, 1, 17, 39)]
        same_decode([plan], [*payloads, b"\0\x50" + good * 40 + b"\0"])


def test_items_without_bytes_at_the_end():
    """There is nothing to do for them, and no next thing to be looked at: .ci/sanitize tells if it is."""
    for inner in ("null", {"type": "record", "name": "Empty", "fields": []}):
        schema = {"type": "array", "items": inner}
        plan = decode_plan(parse(schema), parse(schema), AvroOptions())
        same_decode([plan], [b"\x50\0", b"\x02\0", b"\0", b"\x50"])


def test_items_without_bytes_before_text():
    inner = {"type": "record", "name": "Empty", "fields": []}
    schema = record("null", "array")
    schema["fields"][1]["type"] = {"type": "array", "items": inner}
    plan = decode_plan(parse(schema), parse(schema), AvroOptions())
    same_decode([plan], [b"\0\x50\0\6abc", b"\0\x02\0\0", b"\0\0\6abc"])


@given(st.lists(st.lists(st.sampled_from("abcdefghijklmnop"), max_size=24), max_size=40), st.booleans())
def test_maps_whose_keys_come_again(maps, large):
    schema = json.loads(json.dumps(record("int", "map", "null")))
    plan = decode_plan(parse(schema), parse(schema), AvroOptions(large=large))
    entries = [b"".join(b"\x08key" + key.encode() + b"\2" for key in keys) for keys in maps]
    payloads = [
        b"\0" + (bytes([2 * len(keys)]) + each if keys else b"") + b"\0"
        for keys, each in zip(maps, entries, strict=True)
    ]
    same_decode([plan], payloads)


@cases("rows, nested", [(rows, nested) for rows in (1, 9, 70) for nested in (False, True)])
def test_entries_that_come_again_and_are_not_text(rows, nested):
    """What is wrong in an entry is told though another one counts, with other bad rows or without."""
    values = {"type": "map", "values": "string"} if nested else "string"
    schema = {"type": "map", "values": values}
    plan = decode_plan(parse(schema), parse(schema), AvroOptions())

    def row(*entries: bytes) -> bytes:
        return bytes([2 * len(entries)]) + b"".join(entries) + b"\0"

    def entry(key: bytes, text: bytes) -> bytes:
        value = bytes([2 * len(text)]) + text
        return bytes([2 * len(key)]) + key + (b"\2\2k" + value + b"\0" if nested else value)

    good = row(entry(b"a", b"x"), entry(b"b", b"y"))
    again = row(entry(b"a", b"x"), entry(b"a", b"y"))
    foul = row(entry(b"a", b"\xff"), entry(b"a", b"y"))
    for payloads in ([foul], [foul, good, again], [again, foul, foul], [foul, good[:-1]]):
        decoded = same_decode([plan], [*payloads, *[good] * rows])
        assert decoded[payloads.index(foul)].as_py() is None


@pytest.mark.parametrize("damage", [b"\0", b"\xff" * 11])
def test_keys_of_maps_around_a_bad_row(damage):
    schema = record("int", "map", "int")
    plan = decode_plan(parse(schema), parse(schema), AvroOptions())

    def row(keys: str, end: bytes = b"\2") -> bytes:
        entries = b"".join(b"\2" + key.encode() + b"\2" for key in keys)
        return b"\0" + bytes([2 * len(keys)]) + entries + b"\0" + end

    known = "abcdefghijklmnopqrst"
    payloads = [
        row(known),
        row(known[:15]),
        row(known[:14] + "a"),
        row(known, damage),
        *[row("a")] * 25,
        row("b" * 20),
        row(known[:5] * 3),
        row(known),
    ]
    same_decode([plan], payloads * 12)
