"""Values of a block of documents that are not in a common form."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.formats.json._program cimport DEFAULT, NULLABLE, Op
from kcodec.formats.json._quick cimport NULL_WORD
from kcodec.formats.json.block._lanes cimport Block, is_dropped
from kcodec.wire.binary.cursor cimport load_le32


cdef const uint8_t *read_one(Block *block, const Op *op, int64_t lane, const uint8_t *p) noexcept nogil
cdef void read_values(Block *block, const Op *op) noexcept nogil


cdef inline bint is_absent(const Block *block, int64_t lane, const uint8_t *p) noexcept nogil:
    """Return whether nothing is read of a row for the field in hand."""
    return p == NULL or is_dropped(block, lane)


cdef inline bint is_null(const Op *op, const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Return whether a null stands where one is stored as such."""
    return op.forms & (NULLABLE | DEFAULT) == NULLABLE and load_le32(p) == NULL_WORD and end - p >= 4
