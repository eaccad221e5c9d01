"""Dropping values of a block of rows, and counting the items of its lists."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.formats.avro.block._lanes cimport Block
from kcodec.formats.avro.rows._program cimport Op


cdef bint short_lists(Block *block, const int64_t *lanes, int64_t count, int64_t *counts) noexcept nogil
cdef bint sized_lists(
    Block *block, const int64_t *lanes, int64_t count, int64_t *counts, const uint8_t **stops
) noexcept nogil
cdef void end_lists(
    Block *block, const int64_t *lanes, int64_t count, const int64_t *counts, const uint8_t **stops
) noexcept nogil
cdef int64_t skip_lanes(Block *block, const Op *op, const Op *stop, int64_t *lanes, int64_t count) noexcept nogil
