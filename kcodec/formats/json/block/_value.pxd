"""Values of a block of documents that are not in a common form."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block


cdef const uint8_t *read_one(Block *block, const Op *op, int64_t lane, const uint8_t *p) noexcept nogil
cdef void read_values(Block *block, const Op *op) noexcept nogil
