from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcodec.formats.protobuf.block._lanes cimport Block, Lane, Lanes
from kcodec.formats.protobuf.rows._program cimport Message, Op

cdef enum Met:
    UNKNOWN = 1     # fields that the message does not have stand before this one
    REPACKED = 2    # a list comes packed where it is expected not to be, or the other way round


cdef const uint8_t *skip_field(const uint8_t *p, const uint8_t *end, uint64_t *tag) noexcept nogil
cdef bint skip_newer(const Lane *lane, uint64_t last) noexcept nogil
cdef const uint8_t *find_field(const uint8_t *p, const uint8_t *end, uint64_t number) noexcept nogil
cdef void skip_unknown(const Op *op, const Lanes *lanes, uint64_t before) noexcept nogil
cdef void repack(Op *op) noexcept nogil
cdef void learn(Block *block, const Message *message, const Lane *lane) noexcept nogil
