"""Objects in the lists of a block of documents."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block


cdef bint are_records(const Block *block, const Op *op) noexcept nogil
cdef Block *records_of(Block *block) noexcept nogil
cdef int64_t gather(Block *block, const Op *op, int64_t *lane, const uint8_t **at) noexcept nogil
cdef void begin_records(const Block *block, const Op *item) noexcept nogil
cdef int64_t end_records(Block *block, const Op *item, int64_t count) noexcept nogil
