"""A binary array that grows row by row."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.built._memory cimport Memory


cdef class BinaryBuilder:
    cdef Memory memory       # of the array's pointers, offsets, bits and data; None before room is asked for
    cdef int64_t valid_at    # where in it the bits are
    cdef int64_t data_at
    cdef int64_t width       # bytes of an offset
    cdef uint8_t *data
    cdef uint8_t *valid      # a bit a row
    cdef int32_t *offsets32  # one of both
    cdef int64_t *offsets64
    cdef int64_t rows
    cdef int64_t row         # the next one
    cdef int64_t nulls
    cdef int64_t used
    cdef int64_t room        # for data
    cdef int64_t needed      # by the rows that `has_room` was asked for last

    cdef bint has_room(self, int64_t needed) noexcept nogil
    cdef int grow(self, int64_t sample, int64_t ahead) except -1
    cdef int check_offsets(self) except -1
    cdef int resize(self, int64_t room) except -1
    cdef void end_row(self, uint8_t *out) noexcept nogil
    cdef object finish(self)
