"""The columns of an array to be encoded, as C structs; numbered as in ``kcodec.columns.types.layout``."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.arrays._integrity cimport Exported


cdef struct Input:
    const uint8_t *validity  # a bit a value; NULL if none is null
    int64_t first            # bit of the value with index 0
    const uint8_t *data      # of the value with index 0; text: where offsets count from
    const void *offsets      # of the value with index 0
    const uint8_t *limit     # end of data
    int32_t width            # bytes of a fixed-width value; 1 for bool, whose values are bits
    bint wide                # 64-bit offsets
    bint signed
    bint all_null
    int32_t scope            # the list or map whose items these are, -1: the rows
    int32_t end


cdef struct Reach:
    int64_t end              # how many values there are
    int64_t first            # those whose offsets were looked at last
    int64_t last
    bint text                # and not bytes


cdef class Inputs:
    cdef Input *columns
    cdef readonly int32_t count
    cdef readonly int64_t length
    cdef Exported exported
    cdef Reach *reach
    cdef bint has_unions
    cdef object kept         # what columns point into beside what Arrow has handed over

    cdef int bind_unions(self, object array) except -1
    cdef bint in_order(self, int64_t row, int64_t end) noexcept nogil
    cdef void span(self, int32_t at, int64_t row, int64_t end, int64_t *first, int64_t *last) noexcept nogil
    cdef bint is_utf8(self) noexcept nogil
    cdef bint any_null(self, object columns) except *
    cdef int64_t max_bytes(
        self, const int64_t *costs, const int64_t *stretch, int64_t row, int64_t end
    ) noexcept nogil


cdef inline int64_t start_of(const Input *column, int64_t index) noexcept nogil:
    if column.wide:
        return (<const int64_t *>column.offsets)[index]
    return (<const int32_t *>column.offsets)[index]


cdef inline bint is_valid(const Input *column, int64_t index) noexcept nogil:
    if column.validity == NULL:
        return not column.all_null
    index += column.first
    return (column.validity[index >> 3] >> (index & 7)) & 1
