"""Blocks of values to Avro binary, a column at a time."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns._reader cimport Input
from kcodec.formats.avro._put cimport Context
from kcodec.formats.avro._program cimport Op

cdef enum:
    BLOCK_ROWS = 64
    LANES = 512      # values of a block
    LEVELS = 4       # rows, the items of their lists, the items of these


cdef struct Block:
    int64_t first              # index of the first value
    int64_t count
    uint8_t *slots             # room for all values
    int64_t room
    int32_t bounds[LANES + 1]  # where the slot of each value starts
    uint8_t *out[LANES]        # where the next byte of each value goes
    int64_t lanes[LANES]       # the values that are written
    int64_t written            # how many they are


cdef bint put_rows(
    Block *block, Context *context, const int64_t *costs, const Op *first, const Op *stop, const uint8_t *prefix,
    int64_t prefix_size
) noexcept nogil
