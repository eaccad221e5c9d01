"""Memory of pyarrow's pool that is kept for the next call."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.columns.built._c_data cimport ArrowArray

cdef enum:
    ALIGNMENT = 64   # of a buffer


cdef inline int64_t aligned(int64_t size) noexcept nogil:
    return (size + ALIGNMENT - 1) & ~<int64_t>(ALIGNMENT - 1)


cdef class Kept:
    cdef int64_t room        # bytes that it takes


cdef class Memory(Kept):
    cdef object buffer       # of the pool
    cdef uint8_t *data
    cdef int64_t asked       # bytes that it was last taken for
    cdef int64_t first       # what an array has of them
    cdef int64_t size

    cdef int resize(self, int64_t room, bint shrink) except -1
    cdef object lend(self, int64_t first, int64_t size)


cdef Memory with_room(Memory memory, int64_t room)
cdef object hand_over(ArrowArray *array, Memory memory, object kind)
cdef int keep(Memory memory) except -1
cdef int keep_in(list others, Kept piece, int64_t most, int64_t pieces) except -1
