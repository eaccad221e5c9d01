from libc.stdint cimport int64_t

from kcodec.formats.protobuf._lanes cimport Block
from kcodec.formats.protobuf._program cimport Message
from kcodec.plan._decoder cimport Decoder


cdef bint read_block(
    Block *block, Decoder decoder, const Message **messages, int64_t first, int64_t count
) noexcept nogil
