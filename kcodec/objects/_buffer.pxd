"""Bytes that grow: what one value is written to."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

from kcodec.wire.binary.cursor cimport unlikely, write_varint, zigzag64


cdef enum:
    LOCAL_BYTES = 1024        # what most values take at most


cdef struct Frame:
    # Which item of a collection the value in hand is in.
    Frame *outer
    int64_t item


cdef struct Buffer:
    uint8_t *data
    int64_t used
    int64_t room
    uint8_t *heap             # NULL while the bytes stand in `local`
    Frame *frame
    int32_t converted         # parts of the value that Python converts, one by one
    uint8_t local[LOCAL_BYTES]


cdef inline uint8_t *reserve(Buffer *b, int64_t size) except NULL:
    """Make room for some bytes; return where they go."""
    cdef uint8_t *grown
    cdef int64_t room
    if unlikely(size > b.room - b.used):
        room = 2 * b.room + size
        grown = <uint8_t *>realloc(b.heap, room)
        if grown == NULL:
            raise MemoryError
        if b.heap == NULL:
            memcpy(grown, b.local, b.used)
        b.heap = b.data = grown
        b.room = room
    return b.data + b.used


cdef inline void begin_buffer(Buffer *b) noexcept:
    b.data = b.local
    b.used = 0
    b.room = LOCAL_BYTES
    b.heap = NULL
    b.frame = NULL
    b.converted = 0


cdef inline int put_number(Buffer *b, int64_t value) except -1:
    """Put a zigzag varint."""
    cdef uint8_t *out = reserve(b, 10)
    b.used += write_varint(out, zigzag64(value)) - out
    return 0


cdef inline int put_bytes(Buffer *b, const void *data, int64_t size) except -1:
    memcpy(reserve(b, size), data, size)
    b.used += size
    return 0


cdef inline int put_sized(Buffer *b, const void *data, int64_t size) except -1:
    """Put bytes behind their length."""
    cdef uint8_t *out = reserve(b, size + 10)
    cdef uint8_t *at = write_varint(out, <uint64_t>size << 1)
    memcpy(at, data, size)
    b.used += at - out + size
    return 0
