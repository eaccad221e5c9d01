from libc.stdint cimport int64_t, uint8_t, uint64_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.protobuf.block._lanes cimport Block, Lanes
from kcodec.formats.protobuf.rows._program cimport Op, Text
from kcodec.wire.binary.cursor cimport ctz64, likely, load_le64

cdef enum:
    NO_VALUE = 0x10000000000    # more bytes than there ever are


cdef int64_t eighths(const Lanes *lanes, uint64_t tag, uint64_t mask) noexcept nogil
cdef int64_t read_long(const uint8_t *p, const uint8_t *end, uint64_t *raw) noexcept nogil
cdef bint read_values(
    Block *block, const Lanes *lanes, const Op *op, Column *column, bint tagged, uint8_t *flags
) noexcept nogil
cdef bint put_texts(
    Block *block, const Lanes *lanes, Column *column, const Text **texts, bint nullable
) noexcept nogil
cdef void put_values(
    Block *block, const Lanes *lanes, const Op *op, Column *column, uint64_t *values, const uint8_t *flags
) noexcept nogil


cdef inline int64_t size_of(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Return the bytes of a varint."""
    cdef uint64_t raw
    cdef uint64_t stops = ~load_le64(p) & 0x8080808080808080ULL
    cdef int64_t size
    if likely(stops != 0):
        return (ctz64(stops) >> 3) + 1
    # What is below 0 has ten bytes.
    if likely(end - p >= 10):
        size = 9 if p[8] < 0x80 else 10
        return size if p[size - 1] < 0x80 else NO_VALUE
    return read_long(p, end, &raw)


cdef inline int64_t read_size(const uint8_t *p, const uint8_t *end, int64_t *size) noexcept nogil:
    """Read a length of more than one byte, and return how many; it is NO_VALUE if there is none."""
    cdef uint64_t raw
    cdef int64_t head
    if likely(p[1] < 0x80):
        size[0] = p[0] & 0x7F | <int64_t>p[1] << 7
        return 2
    head = read_long(p, end, &raw)
    size[0] = <int64_t>raw if raw >> 31 == 0 else NO_VALUE
    return head
