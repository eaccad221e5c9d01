"""Numbers of a block of documents."""

from libc.stdint cimport int32_t, int64_t

from kcodec.formats.json._lanes cimport Block
from kcodec.formats.json._program cimport Op

ctypedef fused integer_t:
    int32_t
    int64_t


cdef void read_integers(Block *block, const Op *op, integer_t *tag) noexcept nogil
cdef void read_decimals(Block *block, const Op *op) noexcept nogil
cdef void read_doubles(Block *block, const Op *op) noexcept nogil
