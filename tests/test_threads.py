"""Threads share a codec: what they get is what one thread gets."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

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
THREADS = 8


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


def at_once(work) -> list:
    """Run something in all threads, none before the last has started."""
    barrier = threading.Barrier(THREADS)

    def one(number):
        barrier.wait()
        return [work(number) for _ in range(3)]

    with ThreadPoolExecutor(THREADS) as pool:
        return [result for results in pool.map(one, range(THREADS)) for result in results]


def test_decode(values):
    expected, faults = kcodec.AvroCodec(WRITER, READER).decode(values, errors="report")
    assert 0 < len(faults) < len(values)
    # A codec of its own, whose program is first needed by all of them at once.
    codec = kcodec.AvroCodec(WRITER, READER)
    for decoded, report in at_once(lambda _: codec.decode(values, errors="report")):
        assert decoded.equals(expected)
        assert report.equals(faults)


def test_decode_of_different_slices(values, size):
    codec = kcodec.AvroCodec(WRITER, READER)
    expected = codec.decode(values, errors="null")
    step = size // THREADS

    def part(number):
        return number, codec.decode(values.slice(number * step, step), errors="null")

    for number, decoded in at_once(part):
        assert decoded.equals(expected.slice(number * step, step))


def test_the_first_fault_is_raised_in_every_thread(values):
    codec = kcodec.AvroCodec(WRITER)

    def first(_):
        with pytest.raises(kcodec.DecodeError) as raised:
            codec.decode(values)
        return raised.value.args

    assert len(set(at_once(first))) == 1


def test_encode(impl, size):
    codec = kcodec.AvroCodec(WRITER)
    column = pa.array(rows(size), codec.arrow_type)
    expected = kcodec.AvroCodec(WRITER).encode(column)
    for encoded in at_once(lambda _: codec.encode(column)):
        assert encoded.equals(expected)


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


def test_there_and_back(impl, size):
    codec = kcodec.AvroCodec(WRITER)
    column = pa.array(rows(size), codec.arrow_type)
    for again in at_once(lambda _: codec.decode(codec.encode(column))):
        assert again.equals(column)
