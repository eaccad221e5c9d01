"""Fixed-width numbers."""

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from wire_columns import same

from kcodec import DecodeError
from kcodec.wire import read_fixed, write_fixed

TYPES = ["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


@cases("order", ["big", "little"])
@cases("kind", TYPES)
def test_as_numpy_reads_and_writes(impl, kind, order):
    stored = np.dtype(kind).newbyteorder(order)
    data = bytes(range(64))
    values = read_fixed(data, kind, order=order)
    assert values.dtype == np.dtype(kind)
    assert values.tobytes() == np.frombuffer(data, stored).astype(kind).tobytes()
    assert write_fixed(values, kind, order=order).tobytes() == data
    size = np.dtype(kind).itemsize
    strided = read_fixed(data, kind, order=order, offset=3, stride=size + 5, count=4)
    expected = np.ndarray(4, stored, data, 3, (size + 5,)).astype(kind)
    assert strided.tobytes() == expected.tobytes()
    into = bytearray(b"\xee" * 64)
    assert write_fixed(strided, kind, order=order, into=into, offset=3, stride=size + 5) is into
    written = np.ndarray(4, stored, bytes(into), 3, (size + 5,)).astype(kind)
    assert written.tobytes() == expected.tobytes()
    assert into[:3] == b"\xee" * 3
    assert into[3 + size : 3 + size + 5] == b"\xee" * 5


def test_nan_keeps_its_bits(impl):
    data = bytes.fromhex("7fa00001 ffc12345")
    assert write_fixed(read_fixed(data, "float32"), "float32").tobytes() == data


@cases(
    ("size", "options", "row", "offset"),
    [
        (7, {}, 1, 4),
        (3, {}, 0, 0),
        (8, {"count": 3}, 2, 8),
        (8, {"offset": 9, "count": 1}, 0, 9),
        (9, {"stride": 6, "count": 2}, 1, 6),
        (8, {"count": 10**18}, 2, 8),
    ],
)
def test_truncated(impl, size, options, row, offset):
    with pytest.raises(DecodeError) as caught:
        read_fixed(bytes(size), "int32", **options)
    assert (caught.value.row, caught.value.offset, caught.value.code) == (row, offset, "truncated")


def test_with_a_stride_the_last_needs_no_gap(impl):
    assert len(read_fixed(bytes(10), "int32", stride=6)) == 2
    assert len(read_fixed(bytes(9), "int32", stride=6)) == 1
    assert len(read_fixed(b"", "int32")) == 0


def test_arguments_out_of_range(impl):
    for options in ({"offset": -1}, {"stride": 3}, {"count": -1}, {"order": "middle"}):
        with pytest.raises(ValueError, match=r"order|out of range"):
            read_fixed(bytes(8), "int32", **options)
    with pytest.raises(ValueError, match="type"):
        read_fixed(bytes(8), "int24")
    with pytest.raises(ValueError, match="outside a buffer"):
        write_fixed([1, 2], "int32", into=bytearray(7))
    with pytest.raises(OverflowError):
        write_fixed([1, 1 << 15], "int16")
    with pytest.raises(TypeError):
        write_fixed([1.5], "int16")


@given(
    st.binary(max_size=80), st.sampled_from(TYPES), st.sampled_from(["big", "little"]), st.integers(0, 12),
    st.one_of(st.none(), st.integers(8, 20)), st.one_of(st.none(), st.integers(0, 12)),
)  # fmt: skip
def test_any_bytes(data, kind, order, offset, stride, count):
    def bits(*args, **kwargs):
        return read_fixed(*args, **kwargs).tobytes()

    same(bits, data, kind, order=order, offset=offset, stride=stride, count=count)
