"""Values to Protobuf messages."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns._reader cimport Input
from kcodec.formats.protobuf._program cimport Message, Op
from kcodec.wire.status cimport Status

cdef enum:
    TRAIL = 512               # steps of an error's path that are kept


cdef struct Writing:
    const Op *ops
    const Message *messages
    const Input *columns
    # Memory for sorting the entries of a map, which maps inside it use behind its own.
    int64_t *order
    int64_t order_room
    int64_t order_used
    # Of a failure:
    Status status
    const Op *op
    int32_t trail_size
    int64_t trail[TRAIL]


cdef uint8_t *put_message(Writing *writing, const Message *message, int64_t index, uint8_t *out) noexcept nogil
