"""CRC-32C: the examples of RFC 3720, and the instruction against the table."""

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from wire_columns import column, same

from kcodec._impl import kernel
from kcodec.wire import crc32c, crc32c_slices

RFC3720 = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
    (b"", 0),
    (b"123456789", 0xE3069283),
]


@cases(("data", "expected"), RFC3720)
def test_examples(impl, data, expected):
    assert crc32c(data) == expected
    assert crc32c_slices(*column([b"x", data])).tolist()[1] == expected
    half = len(data) // 2
    assert crc32c(data[half:], crc32c(data[:half])) == expected


@cases("length", [0, 1, 7, 8, 9, 511, 1535, 1536, 1537, 3072, 5000])
def test_long_inputs(length):
    data = np.random.default_rng(length).bytes(length + 3)
    for start in range(3):
        value = kernel("wire.buffers._crc32c", "pure").of_buffer(data[start:], 0)
        native = kernel("wire.buffers._crc32c", "native")
        assert native.of_buffer(memoryview(data)[start:], 0) == value
        assert native.of_buffer(data[start:], 0, table=True) == value


def test_arguments(impl):
    assert crc32c_slices(b"abcd", size=2).tolist() == [crc32c(b"ab"), crc32c(b"cd")]
    with pytest.raises(ValueError, match="offsets"):
        crc32c_slices(b"a", [0, 2])
    for before in (-1, 1 << 32):
        with pytest.raises(OverflowError):
            crc32c(b"", before)


@given(st.lists(st.binary(max_size=50)))
def test_any_bytes(values):
    same(crc32c_slices, *column(values))
