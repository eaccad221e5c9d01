from libc.stdint cimport int64_t, uint8_t, uint64_t

from kcodec.columns._column cimport Column
from kcodec.formats.protobuf._program cimport Op, Text
from kcodec.formats.protobuf.block._lanes cimport Block, Lanes

cdef enum:
    NO_VALUE = 0x10000000000    # more bytes than there ever are


cdef int64_t read_long(const uint8_t *p, const uint8_t *end, uint64_t *raw) noexcept nogil
cdef bint read_values(
    Block *block, const Lanes *lanes, const Op *op, Column *column, bint tagged, uint8_t *flags
) noexcept nogil
cdef bint put_texts(
    Block *block, const Lanes *lanes, Column *column, const Text **texts, bint nullable
) noexcept nogil
