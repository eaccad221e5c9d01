from libc.stdint cimport int64_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.protobuf.block._lanes cimport Block
from kcodec.formats.protobuf.rows._program cimport Message
from kcodec.plan._decoder cimport Decoder


cdef bint read_block(
    Block *block, Decoder decoder, const Message **messages, int64_t first, int64_t count
) noexcept nogil
cdef void drop_odd(Block *block, Column *columns, int64_t base, int64_t first, int64_t count) noexcept nogil
