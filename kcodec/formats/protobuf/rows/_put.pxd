"""Values to Protobuf messages."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memmove

from kcodec.columns.written._inputs cimport Input
from kcodec.formats.protobuf.rows._program cimport DURATION, Message, Op
from kcodec.wire.binary.cursor cimport likely, write_varint
from kcodec.wire.binary.status cimport Status

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


cdef Status read_number(const Op *op, const Input *column, int64_t index, int64_t *value) noexcept nogil
cdef bint is_sorted(const Op *key, const Input *keys, int64_t first, int64_t count) noexcept nogil
cdef void sort(const Op *key, const Input *keys, int64_t *order, int64_t *scratch, int64_t count) noexcept nogil
cdef bint names_member(const Writing *writing, const Op *op, int64_t index) noexcept nogil
cdef bint follows_member(
    const Writing *writing, const Message *message, const Op *op, int64_t index
) noexcept nogil
cdef uint8_t *put_items(
    Writing *writing, const Op *op, const Input *list, int64_t index, uint8_t *out
) noexcept nogil
cdef uint8_t *put_entries(
    Writing *writing, const Op *op, const Input *map, int64_t index, uint8_t *out
) noexcept nogil
cdef uint8_t *put_time(const Op *op, int64_t value, uint8_t *out) noexcept nogil
cdef uint8_t *put_message(Writing *writing, const Message *message, int64_t index, uint8_t *out) noexcept nogil


cdef inline uint8_t *put_length(uint8_t *start, uint8_t *end) noexcept nogil:
    """Put its length before what stands from `start` on; a byte before that is free for it."""
    cdef inline uint8_t length[10]
    cdef int64_t size = end - start
    cdef int64_t more
    if likely(size < 0x80):
        (start - 1)[0] = <uint8_t>size
        return end
    more = write_varint(length, size) - length
    memmove(start + more - 1, start, size)
    memcpy(start - 1, length, more)
    return end + more - 1


cdef inline int64_t split_time(const Op *op, int64_t value, int64_t *nanos) noexcept nogil:
    """Return the seconds of a time, and its nanoseconds apart."""
    cdef int64_t seconds
    cdef int64_t part
    # Divisions by constants are multiplications.
    if op.factor == 1000000:
        seconds = value // 1000000
        part = (value - seconds * 1000000) * 1000
    elif op.factor == 1000000000:
        seconds = value // 1000000000
        part = value - seconds * 1000000000
    elif op.factor == 1000:
        seconds = value // 1000
        part = (value - seconds * 1000) * 1000000
    else:
        seconds = value
        part = 0
    # C divides towards zero, as the parts of a Duration want it; those of a Timestamp count on from the second.
    if part < 0 and not op.flags & DURATION:
        seconds -= 1
        part += 1000000000
    nanos[0] = part
    return seconds
