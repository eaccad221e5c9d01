"""Blocks of rows whose reader has fields more, with defaults, or fewer: what the plain twin reads, and its faults."""

import json
import random

import pyarrow as pa
import pytest
from side_by_side import same_decode

from kcodec import AvroCodec, Limits

KERNEL = "formats.avro._kernel"


def record(name, *fields):
    return {"type": "record", "name": name, "fields": list(fields)}


def field(name, kind, *default):
    return {"name": name, "type": kind, **({"default": default[0]} if default else {})}


PAIR = record("Pair", field("q", "int"), field("x", "double"))
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "Bé"]}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
WIDE = {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 2}
FIXED = {"type": "fixed", "name": "F", "size": 3}
#: Types with a default.
DEFAULTS = [
    ("boolean", True),
    ("int", -7),
    ("long", 1 << 40),
    ("float", 0.5),
    ("double", 1.5),
    ("string", "aé"),
    ("bytes", "\u0001\u00ff"),
    (FIXED, "abc"),
    (ENUM, "Bé"),
    (MONEY, "\u0001\u0000"),
    (WIDE, "\u00fe"),
    ({"type": "long", "logicalType": "timestamp-millis"}, 1),
    ({"type": "int", "logicalType": "time-millis"}, 5),
    ({"type": "string", "logicalType": "uuid"}, "2b1f43c9-2f7b-4f4c-9d53-3c1e7c0f5a6e"),
    ({"type": "array", "items": "string"}, []),
    ({"type": "array", "items": "string"}, ["x"]),
    ({"type": "map", "values": "int"}, {}),
    (PAIR, {"q": 1, "x": 2.5}),
    (record("Text", field("q", "int"), field("s", "string")), {"q": 1, "s": "ab"}),
    (record("Maybe", field("q", "int"), field("n", ["int", "null"])), {"q": 1, "n": 2}),
    (["boolean", "null"], False),
    (["null", "int"], None),
    ([PAIR, "null"], {"q": 1, "x": 2.5}),
    (["int", "string"], 3),
]
#: Types of fields that the reader drops, and values.
DROPPED = [
    (["null", "int"], [None, 5, -(1 << 31)]),
    (["int", "null"], [None, 70_000]),
    (["null", ENUM], [None, "Bé"]),
    (["null", PAIR], [None, {"q": 300, "x": 0.5}]),
    (
        ["null", record("Text", field("q", "int"), field("s", ["null", "string"]))],
        [None, {"q": 1, "s": "ab"}, {"q": 1}],
    ),
    (["null", {"type": "array", "items": ["null", "int"]}], [None, [], [1, None, 1 << 20]]),
    ({"type": "array", "items": ["null", "int"]}, [[], [None, 5], [-1] * 70]),
]


def damaged(rnd, rows):
    """Cut some of the rows, and change bytes of others."""
    rows = list(rows)
    for _ in range(rnd.choice([0, 0, 3, len(rows) // 3])):
        at = rnd.randrange(len(rows))
        row = bytearray(rows[at] or b"\0")
        row[rnd.randrange(len(row))] = rnd.choice([0, 1, 3, 0x80, 0xFF])
        rows[at] = rnd.choice([None, bytes(row), bytes(row[: rnd.randrange(len(row))])])
    return rows


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(60))
def test_fields_with_defaults(seed):
    rnd = random.Random(seed)
    shared = [field("id", "long"), field("s", "string")]
    more = [field("d", *rnd.choice(DEFAULTS))]
    where = rnd.choice(["row", "items", "nullable", "union", "record"])
    inner = [record("Inner", *shared), record("Inner", *rnd.sample([*shared, *more], 3))]
    written, read = {
        "row": inner,
        "record": [record("R", field("r", each), field("end", "int")) for each in inner],
        "items": [
            record("R", field("r", {"type": "array", "items": each}), field("end", "int")) for each in inner
        ],
        "nullable": [record("R", field("r", ["null", each]), field("end", "int")) for each in inner],
        "union": [record("R", field("r", ["null", "string", each]), field("end", "int")) for each in inner],
    }[where]

    def value():
        row = {"id": rnd.getrandbits(rnd.choice([5, 40])), "s": "é" * rnd.randint(0, 9)}
        if where == "row":
            return row
        below = {
            "record": lambda: row,
            "items": lambda: [row] * rnd.choice([0, 1, 2, 20]),
            "nullable": lambda: rnd.choice([None, row]),
            "union": lambda: rnd.choice([None, {"member1": row}, {"member0": "x"}]),
        }
        return {"r": below[where](), "end": 1}

    limits = rnd.choice([Limits(), Limits(), Limits(max_expansion=20)])
    codec = AvroCodec(json.dumps(written), json.dumps(read), limits=limits)
    writer = AvroCodec(json.dumps(written))
    rows = writer.encode(pa.array([value() for _ in range(rnd.choice([3, 60, 300]))], writer.arrow_type))
    same_decode(KERNEL, [codec.decode_plan], damaged(rnd, rows.to_pylist()), limits=limits)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", DROPPED, ids=lambda each: json.dumps(each[0])[:30])
@pytest.mark.parametrize("count", [5, 700])
def test_fields_that_are_dropped(kind, count):
    rnd = random.Random(count)
    ends = [field("id", "long")], [field("s", "string")]
    written = json.dumps(record("R", *ends[0], field("d", kind[0]), *ends[1]))
    codec = AvroCodec(written, json.dumps(record("R", *ends[0], *ends[1])))
    values = [{"id": at, "d": rnd.choice(kind[1]), "s": "x" * (at % 5)} for at in range(count)]
    rows = AvroCodec(written).encode(values).to_pylist()
    expected = [{"id": value["id"], "s": value["s"]} for value in values]
    assert codec.decode(rows).to_pylist() == expected
    for _ in range(4):
        same_decode(KERNEL, [codec.decode_plan], damaged(rnd, rows))


def test_a_default_has_the_same_value_in_each_row():
    more = [
        field(f"d{at}", *each)
        for at, each in enumerate([("int", -7), (MONEY, "\u0001\u0000"), ("boolean", True)])
    ]
    written = json.dumps(record("R", field("id", "long")))
    rows = AvroCodec(written).encode(pa.array([{"id": at} for at in range(1000)]))
    column = AvroCodec(written, json.dumps(record("R", field("id", "long"), *more))).decode(rows)
    assert {json.dumps(row, default=str) for row in column.to_pylist()} == {
        json.dumps({"id": at, "d0": -7, "d1": "2.56", "d2": True}) for at in range(1000)
    }
