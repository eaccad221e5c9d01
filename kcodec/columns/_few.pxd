"""Columns of few rows, which would cost more in calls than in work."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns._column cimport Column

cdef enum:
    FEW = 64                  # rows, at most
    DEEP = 60                 # arrays within each other: pyarrow takes 64
    BUFFERS = 3               # of a column, at most


cdef struct Part:
    uint8_t *data
    int64_t size


cdef class Arena:
    cdef uint8_t *memory
    cdef int64_t used
    cdef Part *parts          # per column and buffer, what it has

    cdef uint8_t *take(self, int64_t size) noexcept nogil
    cdef uint8_t *resize(self, int64_t number, int64_t size) noexcept nogil


cdef bint may_fit(int32_t columns, int32_t texts, int64_t rows, int64_t payload) noexcept nogil
cdef Arena arena_of(int32_t columns)
cdef int put_back(Arena arena) except -1
cdef object hand_over(const Column *columns, bint wide, int64_t rows, object kind)
cdef int64_t count_zeros(const uint8_t *bits, int64_t length) noexcept nogil
