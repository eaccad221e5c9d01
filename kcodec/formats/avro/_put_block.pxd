"""Blocks of values to Avro binary, a column at a time."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.columns._slots cimport Slots
from kcodec.formats.avro._put cimport Context
from kcodec.formats.avro._program cimport Op

cdef enum:
    BLOCK_ROWS = 64
    LEVELS = 4       # rows, the items of their lists, the items of these


cdef bint put_rows(
    Slots *block, Context *context, const int64_t *costs, const Op *first, const Op *stop, const uint8_t *prefix,
    int64_t prefix_size
) noexcept nogil
