"""Tags, varints, lengths and unknown fields, one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcodec.formats.protobuf.messages.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    GROUP_END,
    GROUP_START,
    MAX_DEPTH,
    VARINT,
    canonical_unknown,
    read_length,
    read_tag,
    read_varint,
    skip_field,
    write_tag,
    write_varint,
)
from kcodec.plan.failure import RowError


def refused(function, data: str, *args, end=None):
    """Return the code and the offset of what is wrong with data that stands behind one byte."""
    raw = bytes.fromhex("00" + data)
    with pytest.raises(RowError) as caught:
        function(raw, 1, len(raw) if end is None else end, *args)
    return caught.value.code, caught.value.offset


@given(st.integers(0, 2**64 - 1), st.integers(0, 9))
def test_varints_return(value, padding):
    out = bytearray()
    write_varint(out, value)
    assert read_varint(bytes(out), 0, len(out)) == (value, len(out))
    padding = min(padding, 10 - len(out))
    if padding:
        padded = bytes(out[:-1]) + bytes([out[-1] | 0x80]) + b"\x80" * (padding - 1) + b"\0"
        assert read_varint(padded, 0, len(padded)) == (value, len(padded))


def test_varints():
    # Bits beyond 64 are dropped.
    assert read_varint(bytes.fromhex("ff" * 9 + "7f"), 0, 10) == (2**64 - 1, 10)
    assert read_varint(bytes.fromhex("80" * 9 + "02"), 0, 10) == (0, 10)
    assert refused(read_varint, "") == ("truncated", 1)
    assert refused(read_varint, "8080") == ("truncated", 1)
    assert refused(read_varint, "8000", end=2) == ("truncated", 1)
    for last in ("80", "81", "82", "ff"):
        assert refused(read_varint, "80" * 9 + last + "00") == ("varint_overlong", 1)


def test_tags():
    assert read_tag(bytes.fromhex("fdffffff0f"), 0, 5) == (2**29 - 1, FIXED32, 5)
    assert read_tag(bytes.fromhex("88808080808080808000"), 0, 10) == (1, VARINT, 10)
    for zero in ("00", "01", "05", "8000"):
        assert refused(read_tag, zero) == ("invalid_tag", 1)
    assert refused(read_tag, "0e") == refused(read_tag, "0f") == ("invalid_tag", 1)
    assert refused(read_tag, "8880808010") == ("varint_overflow", 1)


def test_lengths():
    assert read_length(b"\x02ab", 0, 3) == (2, 1)
    assert read_length(bytes.fromhex("8000"), 0, 2) == (0, 2)
    assert refused(read_length, "0261") == ("truncated", 1)
    assert refused(read_length, "026162", end=3) == ("truncated", 1)
    assert refused(read_length, "8080808008") == ("negative_length", 1)
    assert refused(read_length, "ff" * 9 + "01") == ("negative_length", 1)
    assert refused(read_length, "838080801000") == ("varint_overflow", 1)


def test_fields_are_skipped():
    def skip(data, wire_type, depth=MAX_DEPTH):
        raw = bytes.fromhex(data) + b"rest"
        return skip_field(raw, 0, len(raw), 1, wire_type, depth)

    assert skip("8001", VARINT) == 2
    assert skip("0261", BYTES) == 3
    assert skip("00" * 8, FIXED64) == 8
    assert skip("00" * 4, FIXED32) == 4
    # A group with a varint, an empty group and a string.
    assert skip("1001" + "1b1c" + "220161" + "0c", GROUP_START) == 8
    assert skip("0b" * 99 + "0c" * 100, GROUP_START) == 199
    assert skip("0c", GROUP_START, 1) == 1


def test_fields_that_cannot_be_skipped():
    assert refused(skip_field, "000000", 1, FIXED32, 9) == ("truncated", 1)
    assert refused(skip_field, "00" * 7, 1, FIXED64, 9) == ("truncated", 1)
    assert refused(skip_field, "80", 1, VARINT, 9) == ("truncated", 1)
    assert refused(skip_field, "0161", 1, BYTES, 9, end=2) == ("truncated", 1)
    assert refused(skip_field, "1001", 1, GROUP_START, 9) == ("truncated", 3)
    assert refused(skip_field, "10", 1, GROUP_START, 9) == ("truncated", 2)
    assert refused(skip_field, "100114", 1, GROUP_START, 9) == ("invalid_tag", 3)
    assert refused(skip_field, "1b0c1c", 1, GROUP_START, 9) == ("invalid_tag", 2)
    assert refused(skip_field, "0000", 1, GROUP_START, 9) == ("invalid_tag", 1)
    assert refused(skip_field, "0c", 1, GROUP_START, 0) == ("depth_limit", 1)
    assert refused(skip_field, "0b" * 100 + "0c" * 101, 1, GROUP_START, MAX_DEPTH) == ("depth_limit", 101)
    # No stack of Python's, and no time that grows with more than the bytes.
    assert refused(skip_field, "0b" * 500_000, 1, GROUP_START, 1_000_000) == ("truncated", 500_001)


def test_unknown_fields_are_sorted():
    parts = ["1001", "0d00000001", "090000000000000002", "0a0103", "0b0c", "0804", "0805"]
    wire = "".join(parts[i] for i in (0, 4, 3, 2, 5, 1, 6))
    assert canonical_unknown(bytes.fromhex(wire)).hex() == "".join(parts[i] for i in (5, 6, 1, 2, 3, 4, 0))
    # Inside groups too, and with the shortest tags, varints and lengths.
    assert canonical_unknown(bytes.fromhex("9b00" + "108100" + "8a80000161" + "1c")).hex() == "1b0a016110011c"


def test_unknown_fields_are_bounded():
    assert canonical_unknown(bytes.fromhex("0b" * 100 + "0c" * 100)).hex() == "0b" * 100 + "0c" * 100
    for data, fault in (
        ("0b" * 101 + "0c" * 101, ("depth_limit", 101)),
        ("0b14", ("invalid_tag", 1)),
        ("0c", ("invalid_tag", 0)),
        ("0b", ("truncated", 1)),
    ):
        with pytest.raises(RowError) as caught:
            canonical_unknown(bytes.fromhex(data))
        assert (caught.value.code, caught.value.offset) == fault


@st.composite
def unknown_fields(draw, depth=3):
    out = bytearray()
    for number in draw(st.lists(st.integers(1, 4), max_size=5)):
        wire_type = draw(st.sampled_from([VARINT, FIXED64, BYTES, GROUP_START, FIXED32]))
        if wire_type == GROUP_START and not depth:
            wire_type = VARINT
        write_tag(out, number, wire_type)
        if wire_type == VARINT:
            write_varint(out, draw(st.integers(0, 2**64 - 1)))
        elif wire_type == BYTES:
            data = draw(st.binary(max_size=3))
            write_varint(out, len(data))
            out += data
        elif wire_type == GROUP_START:
            out += draw(unknown_fields(depth - 1))
            write_tag(out, number, GROUP_END)
        else:
            out += bytes(8 if wire_type == FIXED64 else 4)
    return bytes(out)


@given(unknown_fields())
def test_canonical_is_a_fixed_point(data):
    made = canonical_unknown(data)
    assert canonical_unknown(made) == made
    assert sorted(made) == sorted(data)
    at = 0
    while at < len(data):
        number, wire_type, at = read_tag(data, at, len(data))
        at = skip_field(data, at, len(data), number, wire_type, MAX_DEPTH)
    assert at == len(data)
