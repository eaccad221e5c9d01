from libc.stdint cimport int32_t, int64_t, uint64_t

from kcodec.columns.built._column cimport set_null
from kcodec.formats.protobuf.rows._context cimport Context
from kcodec.formats.protobuf.rows._program cimport Message, Op
from kcodec.wire.binary.status cimport Status


cdef void fill(Context *context, const Message *message, int64_t index) noexcept nogil
cdef Status time_status(const Op *op, const int64_t *parts) noexcept nogil
cdef bint finish(Context *context, const Message *message, int64_t index) noexcept nogil


cdef inline void begin(Context *context, const Message *message, int64_t index) noexcept nogil:
    """Forget what fields a message had."""
    cdef uint64_t *seen = context.seen + message.slot
    cdef int32_t word
    for word in range(message.words + 1):
        seen[word] = 0
    if message.unknown >= 0:
        set_null(context.columns, message.unknown, index, context.wide)
