"""Lists and maps whose blocks say how many bytes they have, as Go's hamba/avro writes all of them."""

import json
import random

import pytest
from side_by_side import same_decode

from kcodec import AvroCodec

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "s", "type": "string"}, {"name": "q", "type": "int"}],
}
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "lines", "type": {"type": "array", "items": LINE}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "marks", "type": {"type": "map", "values": ["null", "int"]}},
        {"name": "maybe", "type": ["null", {"type": "array", "items": "double"}]},
        {"name": "note", "type": "string"},
    ],
}


def long(number):
    out = bytearray()
    rest = (number << 1) ^ (number >> 63)
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def text(value):
    return long(len(value)) + value.encode()


def blocks(drawn, items, sized):
    """Items in one block, or sometimes in two, with their size or without."""
    at = drawn.choice([len(items)] * 9 + [drawn.randint(0, len(items))])
    out = b""
    for part in (items[:at], items[at:]):
        body = b"".join(part)
        if part and drawn.random() < sized:
            out += long(-len(part)) + long(len(body)) + body
        elif part:
            out += long(len(part)) + body
    return out + b"\0"


def row(drawn, sized, most):
    def several(make):
        return blocks(drawn, [make(at) for at in range(drawn.randint(0, most))], sized)

    maybe = drawn.random() < 0.5
    return b"".join(
        [
            long(drawn.getrandbits(30)),
            several(lambda at: text("s" * drawn.choice([0, 3, 40])) + long(drawn.getrandbits(10))),
            several(lambda at: text("é" * drawn.choice([1, 20]))),
            several(lambda at: text(f"k{at % 5}") + drawn.choice([b"\0", b"\2" + long(at)])),
            b"\2" + several(lambda at: bytes(8)) if maybe else b"\0",
            text("note"),
        ]
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("sized", [0, 0.5, 1])
@pytest.mark.parametrize("reader", [None, {**SCHEMA, "fields": SCHEMA["fields"][::5]}])
def test_sized_lists(sized, reader):
    """As the twin reads them: short and long, of one block and of two, whole and with any byte changed."""
    drawn = random.Random(7)
    plan = AvroCodec(json.dumps(SCHEMA), reader_schema=reader and json.dumps(reader)).decode_plan
    for most in (1, 4, 30):
        rows = [row(drawn, sized, most) for _ in range(300)]
        same_decode("formats.avro._kernel", [plan], rows)
        for _ in range(30):
            at = drawn.randrange(len(rows))
            data = bytearray(rows[at])
            data[drawn.randrange(min(len(data), 12))] = drawn.choice([0, 1, 2, 3, 0x7F, 0x80, 0xFF])
            bad = [*rows[:20], bytes(data), rows[at][: drawn.randrange(len(rows[at]))], *rows[:5]]
            same_decode("formats.avro._kernel", [plan], bad)
