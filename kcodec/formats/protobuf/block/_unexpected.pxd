from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcodec.formats.protobuf.block._lanes cimport Block, Lane, Lanes
from kcodec.formats.protobuf.rows._program cimport Message, Op

cdef enum What:
    UNKNOWN = 1     # fields that the message does not have stand before this one
    REPACKED = 2    # a list comes packed where it is expected not to be, or the other way round
    MIXED = 4       # it comes both ways


cdef const uint8_t *find_field(const uint8_t *p, const uint8_t *end, uint64_t number) noexcept nogil
cdef bint skip_rest(const Block *block, const Message *message, const Lane *lane) noexcept nogil
cdef void skip_unknown(const Block *block, const Message *message, const Op *op, const Lanes *lanes) noexcept nogil
cdef void repack(Op *op) noexcept nogil
cdef void learn(Block *block, const Message *message, const Lane *lane, bint reorder) noexcept nogil
