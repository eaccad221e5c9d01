"""What reads one value of Avro as a Python object, and where it reads."""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from kcodec.plan._budget cimport Budget, charge
from kcodec.wire.binary.cursor cimport (
    likely, read_length, read_varint32, read_varint64, unlikely, unzigzag32, unzigzag64,
)
from kcodec.wire.binary.status cimport NEGATIVE_LENGTH, OK, TRUNCATED, Status


cdef struct Frame:
    # Which item of a collection the value in hand is in.
    Frame *outer
    int64_t item


cdef struct Cursor:
    const uint8_t *p
    const uint8_t *start      # of the whole value, which offsets count from
    const uint8_t *end
    const uint8_t *outside    # while a default is read: where in the value it stands
    Frame *frame
    Budget budget


cdef class Node:
    """Reads one value."""

    cdef tuple path           # steps, None where the position of an item goes

    cdef object read(self, Cursor *c)
    cdef object fail(self, const Cursor *c, Status status, const uint8_t *at, str reason=*)

    @cython.final
    cdef inline int take(self, Cursor *c, int64_t size) except -1:
        """Go behind some bytes, which there must be."""
        if unlikely(size > c.end - c.p):
            self.fail(c, TRUNCATED, c.p)
        c.p += size
        return 0

    @cython.final
    cdef inline int64_t sized(self, Cursor *c) except -1:
        """Go behind bytes that stand behind their length, and return it."""
        cdef const uint8_t *at = c.p
        cdef int64_t length = 0
        cdef Status status
        if likely(c.p < c.end) and likely((c.p[0] & 0x81) == 0):
            length = c.p[0] >> 1
            c.p += 1
        else:
            status = read_length(&c.p, c.end, &length)
            if unlikely(status != OK):
                self.fail(c, status, at)
            if unlikely(length < 0):
                self.fail(c, NEGATIVE_LENGTH, at)
        if unlikely(length > c.end - c.p):
            self.fail(c, TRUNCATED, c.p)
        c.p += length
        return length

    @cython.final
    cdef inline int64_t number(self, Cursor *c, bint wide) except? -1:
        """Read a zigzag varint of 64 or 32 bits."""
        cdef const uint8_t *at = c.p
        cdef uint64_t raw = 0
        cdef uint32_t word = 0
        cdef Status status
        if wide:
            status = read_varint64(&c.p, c.end, c.end, &raw)
            if unlikely(status != OK):
                self.fail(c, status, at)
            return unzigzag64(raw)
        status = read_varint32(&c.p, c.end, c.end, &word)
        if unlikely(status != OK):
            self.fail(c, status, at)
        return unzigzag32(word)

    @cython.final
    cdef inline int spend(self, Cursor *c, int64_t amount, const uint8_t *at) except -1:
        """Count what is made of no bytes of the value."""
        cdef Status status = charge(&c.budget, amount)
        if unlikely(status != OK):
            self.fail(c, status, at)
        return 0


# The place of the value in hand, in messages.
cdef str where(const Cursor *c, tuple path)
# Begin to read bytes.
cdef int begin(Cursor *c, bytes data, object limits) except -1
