"""Murmur2 over a column; see the twin."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uintptr_t

from kcodec.columns.rows._rows cimport Rows, Slice
from kcodec.wire.binary.cursor cimport load_le32

import numpy as np

__all__ = ["hash_rows"]

cdef enum:
    M = 0x5bd1e995


cdef inline uint32_t murmur2(const uint8_t *at, const uint8_t *end) noexcept nogil:
    cdef int64_t left = end - at
    cdef uint32_t total = <uint32_t>0x9747b28c ^ <uint32_t>left
    cdef uint32_t word
    while left >= 4:
        word = load_le32(at) * <uint32_t>M
        word = (word ^ (word >> 24)) * <uint32_t>M
        total = (total * <uint32_t>M) ^ word
        at += 4
        left -= 4
    if left:
        if left > 2:
            total ^= <uint32_t>at[2] << 16
        if left > 1:
            total ^= <uint32_t>at[1] << 8
        total = (total ^ at[0]) * <uint32_t>M
    total = (total ^ (total >> 13)) * <uint32_t>M
    return total ^ (total >> 15)


cdef void run(Rows rows, uint32_t *out) noexcept nogil:
    cdef int64_t row
    cdef Slice key
    for row in range(rows.length):
        rows.slice(row, &key)
        out[row] = 0 if key.start == NULL else murmur2(key.start, key.end)


def hash_rows(keys):
    """Return the hash of each row as an unsigned number of 32 bits in a NumPy array; 0 for null."""
    cdef Rows rows = Rows(keys)
    found = np.empty(rows.length, np.uint32)
    cdef uint32_t *out = <uint32_t *><uintptr_t>found.ctypes.data
    with nogil:
        run(rows, out)
    return found
