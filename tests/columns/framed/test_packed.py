"""Payloads that are compressed one by one, on both implementations of their frames."""

import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcodec._impl import IMPLEMENTATIONS, kernel
from kcodec.columns.framed.frames import decode_frames
from kcodec.columns.framed.packed import packed, unpacked
from kcodec.frames import GLUE, GLUE_ZLIB

HEAD = bytes(range(16))


def row(payload, mark=5):
    return b"\x03" + bytes([mark]) + HEAD + payload


def unpack(rows, limit=1 << 20):
    values = pa.array(rows, pa.binary())
    made, faults = unpacked(values, decode_frames(values, frame=GLUE), GLUE, limit)
    return made.to_pylist(), [(fault.row, fault.offset, fault.code, fault.schema_id) for fault in faults]


@pytest.mark.usefixtures("impl")
def test_payloads_as_they_were():
    rows = [row(zlib.compress(b"a" * 900)), None, row(b"plain", 0), row(zlib.compress(b"") + b"rest")]
    assert unpack(rows) == ([row(b"a" * 900, 0), None, row(b"plain", 0), row(b"", 0)], [])


@pytest.mark.usefixtures("impl")
def test_damaged_payloads_cost_their_own_rows():
    whole = zlib.compress(b"text" * 100)
    told = "00010203-0405-0607-0809-0a0b0c0d0e0f"
    made, faults = unpack([row(whole[:-1]), row(b""), row(b"not zlib"), row(whole), row(whole[:5])])
    assert made == [None, None, None, row(b"text" * 100, 0), None]
    assert faults == [(at, 18, "compression", told) for at in (0, 1, 2, 4)]


@pytest.mark.usefixtures("impl")
def test_a_bomb_is_not_unpacked():
    bomb = zlib.compress(bytes(1 << 22))
    made, faults = unpack([row(bomb), row(zlib.compress(bytes(100)))])
    assert made == [None, row(bytes(100), 0)]
    assert [fault[2] for fault in faults] == ["size_limit"]
    # What is allowed comes on top of the compressed bytes.
    fits = len(bomb) + (1 << 22) - len(bomb)
    assert unpack([row(bomb)], fits - len(bomb))[1] == []
    assert unpack([row(bomb)], fits - len(bomb) - 1)[1] != []


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize("room", [-60, -len(zlib.compress(bytes(1000))) - 1, 0, 99])
def test_an_array_has_room_for_so_much(monkeypatch, room):
    rows = [row(zlib.compress(bytes(1000))), row(b"plain", 0), row(zlib.compress(bytes(300)))]
    # Also where all that is compressed is more than an array has: that must not count as room without an end.
    monkeypatch.setattr("kcodec.columns.framed.packed._MAX_BYTES", sum(map(len, rows)) + room)
    made, faults = unpack(rows)
    assert made == [None, row(b"plain", 0), None]
    assert [(fault[0], fault[2]) for fault in faults] == [(0, "size_limit"), (2, "size_limit")]


@given(st.lists(st.none() | st.binary(max_size=50), max_size=8))
def test_written_and_read(payloads):
    values = pa.array([None if each is None else row(each) for each in payloads], pa.binary())
    written = packed(values, GLUE_ZLIB)
    for impl in IMPLEMENTATIONS:
        frames = kernel("columns.framed._frames", impl).decode_frames(written, 0, GLUE.layout)
        assert frames[4] == [True] * (len(frames[2]))
    frames = decode_frames(written, frame=GLUE)
    made, faults = unpacked(written, frames, GLUE, 1 << 20)
    assert (made.to_pylist(), faults) == ([None if each is None else row(each, 0) for each in payloads], [])
