"""What reads the values of Protobuf's fields as Python objects."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcodec.objects._quick cimport odd
from kcodec.wire.binary.cursor cimport likely, read_low64, unlikely
from kcodec.wire.binary.status cimport OK


cdef enum:
    FEW = 8                   # parts or values that are converted one by one, at most

cdef enum Kind:
    BOOL
    INT32
    INT64
    UINT32
    UINT64
    SINT32
    SINT64
    WIDE                      # an unsigned number as a decimal
    BITS32
    SIGNED32
    SINGLE
    BITS64
    SIGNED64
    DOUBLE
    WIDE_BITS


cdef struct Cursor:
    const uint8_t *p
    const uint8_t *end
    int64_t spent             # what the value counts as expansion, as far as it is read
    int64_t limit
    int32_t converted         # parts that Python converts, one by one


cdef inline uint64_t varint(Cursor *c) except? 1:
    cdef uint64_t raw = 0
    if likely(c.p < c.end) and likely(c.p[0] < 0x80):
        raw = c.p[0]
        c.p += 1
    elif unlikely(read_low64(&c.p, c.end, c.end, &raw) != OK):
        odd()
    return raw


cdef inline int64_t length(Cursor *c) except -1:
    """Read a length for which there are as many bytes."""
    cdef uint64_t raw = varint(c)
    if unlikely(raw > <uint64_t>(c.end - c.p)):
        odd()
    return <int64_t>raw


cdef inline int spend(Cursor *c, int64_t cost) except -1:
    c.spent += cost
    if unlikely(c.spent > c.limit):
        odd()
    return 0


# Go behind a value that is no group.
cdef int skip(Cursor *c, int32_t wire_type) except -1


cdef class Node:
    cdef int64_t cost

    cdef object read(self, Cursor *c)


@cython.final
cdef class Number(Node):
    cdef Kind kind


@cython.final
cdef class Enum(Node):
    cdef dict names           # None: the numbers themselves
    cdef bint known           # other numbers are not plain


@cython.final
cdef class EnumNumber(Node):
    cdef frozenset numbers    # None: all are plain


@cython.final
cdef class Text(Node):
    pass


@cython.final
cdef class Bytes(Node):
    pass


@cython.final
cdef class Converted(Node):
    cdef object convert


@cython.final
cdef class Time(Node):
    cdef int64_t low          # seconds
    cdef int64_t high
    cdef bint is_duration
    cdef bint strict


@cython.final
cdef class OrNull(Node):
    cdef Node node
    cdef object default
