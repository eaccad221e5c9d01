"""Packed varints."""

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from wire_columns import same

from kcodec import DecodeError, EncodeError
from kcodec._impl import kernel
from kcodec.wire import decode_varints, encode_varints


def varint(value: int) -> bytes:
    groups = []
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


@cases("bits", [32, 64])
@cases("zigzag", [False, True])
def test_every_length_at_its_edges(impl, bits, zigzag):
    edges = sorted({(1 << k) + step for k in range(bits) for step in (-1, 0)} | {(1 << bits) - 1})
    numbers = [n >> 1 ^ -(n & 1) for n in edges] if zigzag else edges
    packed = b"".join(map(varint, edges))
    kind = np.dtype(f"{'i' if zigzag else 'u'}{bits // 8}")
    for tail in (b"", b"\x80" * 16):
        values, end = decode_varints(packed + tail, len(edges), bits=bits, zigzag=zigzag)
        assert (values.tolist(), values.dtype, end) == (numbers, kind, len(packed))
    assert decode_varints(packed, bits=bits, zigzag=zigzag)[0].tolist() == numbers
    assert encode_varints(np.array(numbers, kind), bits=bits, zigzag=zigzag).tobytes() == packed


@cases("tail", [b"", b"\x00" * 16])
@cases(
    ("bits", "bad", "code"),
    [
        (32, b"\x80" * 5 + b"\x00", "varint_overlong"),
        (64, b"\x80" * 10 + b"\x00", "varint_overlong"),
        (32, b"\xff\xff\xff\xff\x10", "varint_overflow"),
        (32, b"\x80\x80\x80\x80\x7f", "varint_overflow"),
        (64, b"\xff" * 9 + b"\x02", "varint_overflow"),
    ],
)
def test_malformed(impl, bits, bad, code, tail):
    with pytest.raises(DecodeError) as caught:
        decode_varints(b"\x01\xac\x02" + bad + tail, bits=bits)
    assert (caught.value.row, caught.value.offset, caught.value.code) == (2, 3, code)


@pytest.mark.parametrize("bits", [32, 64])
def test_padded_forms_are_read(impl, bits):
    most = 5 if bits == 32 else 10
    for length in range(1, most):
        padded = b"\x81" + b"\x80" * (length - 1) + b"\x00"
        assert decode_varints(padded + b"\x05", bits=bits)[0].tolist() == [1, 5]


@cases(("data", "count", "row", "offset"), [
    (b"\x01\x80", None, 1, 1), (b"\x80\x80", None, 0, 0), (b"\x01\x02", 3, 2, 2), (b"", 1, 0, 0),
    (b"\x01\x80", 10**18, 1, 1), (b"\x01", 10**18, 1, 1),
])  # fmt: skip
def test_truncated(impl, data, count, row, offset):
    for bits in (32, 64):
        with pytest.raises(DecodeError) as caught:
            decode_varints(data, count, bits=bits)
        assert (caught.value.row, caught.value.offset, caught.value.code) == (row, offset, "truncated")


def test_part_of_a_buffer(impl):
    values, end = decode_varints(memoryview(b"\xff\x01\x02\x03"), 2, start=1)
    assert (values.tolist(), end) == ([1, 2], 3)
    assert decode_varints(b"\x01", 0)[1] == 0
    assert decode_varints(b"", start=0)[0].tolist() == []
    for start in (-1, 2):
        with pytest.raises(ValueError, match="start"):
            decode_varints(b"\x01", start=start)
    with pytest.raises(ValueError, match="count"):
        decode_varints(b"\x01", -1)
    with pytest.raises(ValueError, match="bits"):
        decode_varints(b"\x01", bits=16)


@cases(
    ("values", "bits", "zigzag"),
    [
        ([1, -1], 64, False),
        ([1, 1 << 32], 32, False),
        ([1, 1 << 31], 32, True),
        ([1, -(1 << 31) - 1], 32, True),
        (np.array([1, 1 << 63], np.uint64), 64, True),
    ],
)
def test_values_outside_the_type(impl, values, bits, zigzag):
    with pytest.raises(EncodeError) as caught:
        encode_varints(values, bits=bits, zigzag=zigzag)
    assert (caught.value.row, caught.value.code) == (1, "out_of_range")


def test_what_values_may_be(impl):
    assert encode_varints([]).tolist() == []
    assert encode_varints(np.arange(6, dtype=np.int8)[::2]).tolist() == [0, 2, 4]
    for bad in ([1.0], [[1]]):
        with pytest.raises(TypeError):
            encode_varints(bad)


bits_and_zigzag = st.tuples(st.sampled_from([32, 64]), st.booleans())


@given(st.data(), bits_and_zigzag)
def test_round_trip(data, kind):
    bits, zigzag = kind
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if zigzag else (0, (1 << bits) - 1)
    numbers = data.draw(st.lists(st.integers(low, high)))
    dtype = np.dtype(f"{'i' if zigzag else 'u'}{bits // 8}")
    (_, packed), error = same(encode_varints, np.array(numbers, dtype), bits=bits, zigzag=zigzag)
    assert error is None
    ((_, values), end), _ = same(decode_varints, bytes(packed), bits=bits, zigzag=zigzag)
    assert (values, end) == (numbers, len(packed))


@given(st.binary(max_size=60), st.one_of(st.none(), st.integers(0, 70)), bits_and_zigzag, st.integers(0, 5))
def test_any_bytes(data, count, kind, start):
    same(decode_varints, data, count, bits=kind[0], zigzag=kind[1], start=start)


@given(st.integers(0, (1 << 64) - 1))
def test_groups_of_seven_bits_in_each_way_that_the_processor_has(word):
    expected = kernel("wire.buffers._varint", "pure").gather(word, False)
    for fast in (False, True):
        assert kernel("wire.buffers._varint", "native").gather(word, fast) == expected
