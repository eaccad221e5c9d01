"""Output columns that grow in pyarrow's memory pool.

The columns of one call are an array of `Column`, numbered as in `kcodec.columns.types.layout`. A *scope* is the run of
values that share an index: the rows are one scope, the items of a list are another. A column does not count its
values: fixed-width values are stored at their index, and of everything else the offsets say where it ends. So a
value that fails half-way leaves nothing to undo; the next one is written over it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.built._column cimport Column
from kcodec.columns.built._memory cimport Kept, Memory
from kcodec.wire.binary.status cimport Status


cdef class Shape:
    cdef Column *columns          # as they are before the first row
    cdef readonly int32_t count
    cdef readonly bint wide       # 64-bit offsets (but for maps)
    cdef readonly object layout
    cdef int32_t depth            # of arrays within each other


cdef class Builder(Kept):
    cdef Column *columns
    cdef int64_t *lengths         # how many values each column has
    cdef int64_t measured         # after so many rows
    cdef readonly int32_t count
    cdef readonly bint wide
    cdef int64_t rows
    cdef Shape shape
    cdef object layout
    cdef list buffers             # per column the Memory of [bitmap, offsets, data]: `room`, with the byte maps
    cdef int32_t spread           # by how many cache lines buffers are shifted, at most
    # Where columns get their room value by value:
    cdef int64_t row              # the row in hand,
    cdef int64_t row_bytes        # what is counted of its items,
    cdef int64_t max_row_bytes    # and how much that may be
    cdef object problem           # why there is no room

    cdef int begin(self, int64_t rows) except -1
    cdef int64_t length(self, int32_t column, int64_t row) noexcept nogil
    cdef void measure(self, int64_t row) noexcept nogil
    cdef int64_t bytes_used(self, int32_t column, int64_t length) noexcept nogil
    cdef bint has_room(
        self, int64_t row, int64_t block, int64_t payload, int64_t extra, const int64_t *divisor
    ) noexcept nogil
    cdef bint has_items(self) noexcept nogil
    cdef int64_t missing(
        self, int64_t block, int64_t payload, int64_t extra, const int64_t *divisor
    ) noexcept nogil
    cdef int grow(
        self, int64_t row, int64_t block, int64_t payload, int64_t extra, const int64_t *divisor, int64_t ahead
    ) except -1
    cdef int64_t predict(self, int64_t used, int64_t row, int64_t needed, int64_t ahead)
    cdef object too_large(self, int32_t at, object what)
    cdef uint8_t *resize(self, int32_t at, int which, int64_t size) except NULL
    cdef int64_t margin(self, int32_t at, int which) noexcept nogil
    cdef object trimmed(self, int32_t at, int which, Memory memory, int64_t size)
    cdef int grow_items(self, int32_t at, int64_t items) except -1
    cdef int grow_scratch(self, int32_t at, int64_t items) except -1
    cdef void begin_row(self, int64_t row, int64_t max_bytes) noexcept nogil
    cdef int64_t items_bytes(self, int64_t row) noexcept nogil
    cdef Status add_bytes(self, int32_t at, int64_t needed)
    cdef Status add_items(self, int32_t at, int64_t needed)
    cdef int32_t invalid_text(self, int64_t first_row, int64_t row) noexcept nogil
    cdef bint valid_text(self, int32_t at, int64_t first_row, int64_t row) noexcept nogil
    cdef void pack(self, int64_t row, bint last) noexcept nogil
    cdef object finish(self)
    cdef object array(self, int32_t at, int64_t length)


cdef Builder builder_of(Shape shape, int64_t rows)
cdef Status more_bytes(void *builder, const Column *column, int64_t needed) noexcept with gil
cdef Status more_items(void *builder, const Column *column, int64_t needed) noexcept with gil
