"""An input column as rows of bytes, whatever its layout."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t


cdef enum:
    SLACK = 64           # bytes that kernels of blocks want to read behind a value, whatever they hold
    LEAD = 16            # and before one
    MOVED = 8 << 10      # bytes of values that are moved to where there are as many


cdef enum Layout:
    OFFSETS32
    OFFSETS64
    VIEWS
    FIXED_WIDTH


cdef struct Slice:
    # One value. `start` is NULL for a null row; memory is readable up to `limit`, at least to `end`.
    const uint8_t *start
    const uint8_t *end
    const uint8_t *limit


cdef class Rows:
    cdef readonly int64_t length
    cdef object array
    cdef Layout layout
    cdef int64_t first
    cdef int64_t width
    cdef const uint8_t *validity
    cdef const void *offsets
    cdef const uint8_t *data
    cdef const uint8_t *limit
    cdef const uint8_t **pieces
    cdef const uint8_t **limits      # where these end
    cdef uint8_t *moved
    cdef int64_t moved_room
    cdef const int32_t *places       # the rows of the array that these are, in order; NULL: all
    cdef const int32_t *picked       # the same, NULL too if `offsets` are those of these rows alone
    cdef object held                 # what these point into
    cdef bytes dense

    cdef bytes leave_nulls(self)
    cdef int close_up(self) except -1
    cdef void slice(self, int64_t row, Slice *out) noexcept nogil
    cdef void move_last(self, Slice *out, int64_t count) noexcept nogil
    cdef int64_t bytes_from(self, int64_t row) noexcept nogil
    cdef int64_t adjacent(self, int64_t row, int64_t max_rows, int64_t max_bytes, int64_t *total) noexcept nogil
    cdef void place(
        self, int64_t row, int64_t count, int64_t skip, const uint8_t **at, const uint8_t **end
    ) noexcept nogil
    cdef bint have_prefix(
        self, int64_t row, int64_t count, int64_t size, uint64_t word, uint64_t mask
    ) noexcept nogil
    cdef int64_t fill(
        self, int64_t row, Slice *out, int64_t max_rows, int64_t max_bytes, int64_t *total
    ) noexcept nogil


cdef class Int32Buffer:
    cdef const int32_t *data  # one per row; NULL for None
    cdef Py_buffer view
    cdef bint has_view
