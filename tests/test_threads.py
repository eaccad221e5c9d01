"""Threads share a codec, or the work of one call: what they get is what one thread gets."""

import itertools
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from side_by_side import at_once

import kcodec
from kcodec._threads import map_in_threads

PACKAGE = Path(__file__).parents[1] / "kcodec"

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


class TestMapInThreads:
    def test_results_in_order(self):
        assert map_in_threads(lambda n: n * n, range(100), 4) == [n * n for n in range(100)]
        assert map_in_threads(abs, [], 4) == []
        assert map_in_threads(abs, [-1], 1) == [1]

    def test_threads_run_at_once(self):
        barrier = threading.Barrier(3, timeout=30)
        assert len(set(map_in_threads(lambda _: barrier.wait(), range(3), 3))) == 3

    def test_the_first_failure_is_raised_and_ends_the_work(self):
        begun = []
        failed = threading.Event()

        def work(number):
            begun.append(number)
            if number == 1:
                # After that of a later item.
                failed.wait(30)
                raise ValueError(number)
            if number == 2:
                failed.set()
                raise KeyError(number)

        with pytest.raises(ValueError, match="1"):
            map_in_threads(work, range(1000), 3)
        assert len(begun) < 1000

    def test_threads_that_share_their_own_work(self):
        def work(number):
            return sum(map_in_threads(lambda n: n + number, range(10), 2))

        assert map_in_threads(work, range(10), 2) == [45 + 10 * number for number in range(10)]

    def test_many_callers(self):
        def work(number):
            return number, map_in_threads(str, range(number, number + 50), 3)

        for number, answers in at_once(work):
            assert answers == list(map(str, range(number, number + 50)))

    def test_no_thread_can_be_started(self, monkeypatch):
        def refuse(self):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr("kcodec._threads._pool", None)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert map_in_threads(abs, [-1, -2], 2) == [1, 2]
        monkeypatch.setattr("kcodec._threads._pool", None)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
    def test_forked_children_have_threads_of_their_own(self):
        code = (
            "import os, warnings\n"
            "from kcodec._threads import map_in_threads\n"
            "warnings.simplefilter('ignore')\n"
            "assert map_in_threads(abs, [-1, -2, -3], 3) == [1, 2, 3]\n"
            "child = os.fork()\n"
            "assert map_in_threads(abs, [-1, -2, -3], 3) == [1, 2, 3]\n"
            "if not child: os._exit(7)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.stdout == "7\n", done.stderr


def test_few_rows_are_not_shared(impl, monkeypatch):
    monkeypatch.setattr("kcodec.codec.map_in_threads", None)
    codec = kcodec.AvroCodec('"long"')
    column = codec.decode([b"\2", None], use_threads=True)
    assert isinstance(column, pa.ChunkedArray)
    assert codec.encode(column, use_threads=True).to_pylist() == [b"\2", None]


def test_a_column_that_does_not_fit_into_one_array(monkeypatch):
    """The parts of threads are arrays of their own, so each has its own offsets."""
    monkeypatch.setattr(pa, "cpu_count", lambda: 2)
    codec = kcodec.AvroCodec('"bytes"')
    values = pa.array([b"\4ab"] * 20_001)
    column = codec.decode(values, use_threads=True)
    assert [len(chunk) for chunk in column.chunks] == [10_001, 10_000]
    assert column.combine_chunks().equals(codec.decode(values))


def test_no_variable_of_c_is_shared():
    """Without the interpreter's lock, only variables of Python may be bound again by several threads."""
    shared = [
        (source.name, name)
        for source in PACKAGE.rglob("*.pyx")
        for name in re.findall(r"^ +global (\w+)", source.read_text(), re.MULTILINE)
        if re.search(rf"^cdef [^\n(]*\b{name}\b", source.read_text(), re.MULTILINE)
    ]
    assert shared == []
