"""Why rows failed, noted without the GIL."""

from libc.stdint cimport int32_t, int64_t

from kcodec.wire.binary.status cimport Status

cdef enum:
    RECENT = 64


cdef struct Kind:              # of failures: what is told of them beside the row and the byte
    int32_t program
    int32_t op                 # that failed; -1: the row as a whole
    Status status
    int32_t level              # lists and maps that it stands in
    int64_t *items             # and the item of each


cdef struct Failure:
    int64_t row
    int64_t offset
    int64_t kind


cdef class Failures:
    cdef Failure *failures
    cdef Kind *kinds
    cdef int64_t count
    cdef int64_t room
    cdef int64_t kind_count
    cdef int64_t kind_room
    cdef int64_t recent[RECENT]    # by a hash: a kind that came before

    # Note a row that failed, behind those before it, with the items that it was in, the outermost first; False without
    # memory.
    cdef bint note(
        self, int64_t row, int64_t offset, int32_t program, int32_t op, Status status, int64_t *items, int32_t level
    ) noexcept nogil
    cdef int64_t number(self, const Kind *kind) noexcept nogil
    cdef object faults(self, list programs, int64_t before)


cdef inline void turn(int64_t *items, int32_t level) noexcept nogil:
    """Reverse items that were noted from the innermost outwards, so that they are in the order of a path."""
    cdef int32_t at
    cdef int64_t item
    for at in range(level >> 1):
        item = items[at]
        items[at] = items[level - 1 - at]
        items[level - 1 - at] = item
