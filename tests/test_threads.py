"""Threads share a codec: what they get is what one thread gets."""

import itertools

import pyarrow as pa
import pytest
from contracts import at_once

import kcodec

WRITER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "gone", "type": {"type": "array", "items": "string"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "tags", "type": {"type": "map", "values": ["int", "string"]}},
    ],
}
READER = {**WRITER, "fields": [field for field in WRITER["fields"] if field["name"] != "gone"]}
READER["fields"] = [*READER["fields"], {"name": "added", "type": "string", "default": "none"}]


def rows(count: int) -> list[dict]:
    return [
        {
            "id": row * 7919 - 1000,
            "name": None if row % 3 else "é" * (row % 50),
            "gone": ["x" * (row % 9)] * (row % 4),
            "state": "PAID" if row % 2 else "NEW",
            "tags": [
                (f"k{i}", {"member0": i if row % 2 else None, "member1": None if row % 2 else f"v{i}"})
                for i in range(row % 4)
            ],
        }
        for row in range(count)
    ]


@pytest.fixture
def size(impl) -> int:
    return 4000 if impl == "native" else 60


@pytest.fixture
def values(impl, size) -> pa.Array:
    codec = kcodec.AvroCodec(WRITER)
    good = codec.encode(pa.array(rows(size), codec.arrow_type)).to_pylist()
    # Tombstones, cut rows and rows of noise among them: the ways of a row that fails are shared too.
    for row in range(0, size, 13):
        good[row] = (None, good[row][:-1], b"\xff" * 12)[row % 3]
    return pa.array(good)


def test_decode(values):
    expected, faults = kcodec.AvroCodec(WRITER, READER).decode(values, errors="report")
    assert 0 < len(faults) < len(values)
    # A codec of its own, whose program is first needed by all of them at once.
    codec = kcodec.AvroCodec(WRITER, READER)
    for decoded, report in at_once(lambda _: codec.decode(values, errors="report")):
        assert decoded.equals(expected)
        assert report.equals(faults)


def test_encode_of_columns_of_many_types(impl):
    """More types than an encoder keeps programs for: they are dropped while others still run."""
    kinds = [
        pa.struct(list(zip("abcdef", types, strict=True)))
        for types in itertools.product([pa.int32(), pa.int64()], repeat=6)
    ]
    fields = [{"name": name, "type": "long"} for name in "abcdef"]
    codec = kcodec.AvroCodec({"type": "record", "name": "R", "fields": fields})
    row = dict.fromkeys("abcdef", 1)

    def every(number):
        order = kinds[number:] + kinds[:number]
        return [codec.encode(pa.array([row, None], kind)).to_pylist() for kind in order]

    for answers in at_once(every):
        assert answers == [[b"\2" * 6, None]] * len(kinds)
