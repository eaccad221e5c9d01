"""Output columns that grow in pyarrow's memory pool.

The columns of one call are an array of `Column`, numbered as in `kcodec.columns.layout`. A *scope* is the run of
values that share an index: the rows are one scope, the items of a list are another. A column does not count its
values: fixed-width values are stored at their index, and of everything else the offsets say where it ends. So a
value that fails half-way leaves nothing to undo; the next one is written over it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from kcodec.columns._memory cimport Memory
from kcodec.wire.status cimport Status

cdef enum:
    SLOP = 64          # values are moved in steps of up to 64 bytes, whatever their length


# Width of the offsets of text, bytes and lists.
ctypedef fused offset_t:
    int32_t
    int64_t


cdef enum Kind:
    NOTHING      # null: no memory
    BITS         # bool: a byte a value while building
    FIXED        # `width` bytes a value
    TEXT         # offsets and data, UTF-8
    BLOB         # offsets and data
    LIST         # offsets; children are a scope of their own
    MAP          # the same with 32-bit offsets always, key and value
    STRUCT


cdef struct Column:
    int32_t kind
    int32_t width         # of a value of FIXED; of LIST and MAP what an item takes, but for text and items of its own
    int32_t end           # the column after the last one below this one
    int32_t scope         # the list or map whose items it belongs to, -1 for the rows
    uint8_t *data         # values, or bytes of TEXT and BLOB; BITS: as `valid`
    void *offsets         # int32_t or int64_t
    uint8_t *valid        # a byte a value, of the block in hand; NULL if the column cannot be null
    # What follows is not for row loops.
    int64_t items_room    # values that data, offsets and bitmap have room for
    int64_t bytes_room    # bytes that TEXT and BLOB have room for
    int64_t scratch_room  # values that the byte maps have room for
    int64_t first         # where the byte maps start; they are biased so that [index] is right
    uint8_t *valid_map
    uint8_t *data_map
    uint8_t *bitmap
    uint8_t *bits
    int64_t below_room    # LIST and MAP: items that all columns of its scope have room for, where these are asked
    int64_t counted       # and what is counted of them, in bytes,
    int64_t counted_row   # for this row


cdef class Shape:
    cdef Column *columns          # as they are before the first row
    cdef readonly int32_t count
    cdef readonly bint wide       # 64-bit offsets (but for maps)
    cdef readonly object layout


cdef class Builder:
    cdef Column *columns
    cdef readonly int32_t count
    cdef readonly bint wide
    cdef int64_t rows
    cdef object layout
    cdef list buffers             # per column the Memory of [bitmap, offsets, data]
    cdef int32_t spread           # by how many cache lines buffers are shifted, at most
    # Where columns get their room value by value:
    cdef int64_t row              # the row in hand,
    cdef int64_t row_bytes        # what is counted of its items,
    cdef int64_t max_row_bytes    # and how much that may be
    cdef object problem           # why there is no room

    cdef int64_t length(self, int32_t column, int64_t row) noexcept nogil
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
    cdef void pack(self, int64_t row) noexcept nogil
    cdef object finish(self)
    cdef object array(self, int32_t at, int64_t length)


cdef Status more_bytes(void *builder, const Column *column, int64_t needed) noexcept with gil
cdef Status more_items(void *builder, const Column *column, int64_t needed) noexcept with gil


cdef inline int64_t offset_at(const Column *column, int64_t index, bint wide) noexcept nogil:
    if wide and column.kind != MAP:
        return (<int64_t *>column.offsets)[index]
    return (<int32_t *>column.offsets)[index]


cdef inline void set_zero(Column *column, int64_t index) noexcept nogil:
    """Store zeros as a value of fixed width; the common widths without a call."""
    cdef uint8_t *value = column.data + index * column.width
    if column.width == 8:
        (<uint64_t *>value)[0] = 0
    elif column.width == 4:
        (<int32_t *>value)[0] = 0
    elif column.width == 16:
        (<uint64_t *>value)[0] = 0
        (<uint64_t *>value)[1] = 0
    else:
        memset(value, 0, column.width)


cdef inline void set_end(Column *column, int64_t index, int64_t end, bint wide) noexcept nogil:
    """Note where the value at an index ends: text, bytes, a list or a map."""
    if wide and column.kind != MAP:
        (<int64_t *>column.offsets)[index + 1] = end
    else:
        (<int32_t *>column.offsets)[index + 1] = <int32_t>end


cdef inline bint clear_value(Column *column, int64_t index) noexcept nogil:
    """Make a value null, or zero where null is not allowed; return whether it has an end, which is not changed."""
    if column.valid != NULL:
        column.valid[index] = 0
    if column.kind == FIXED:
        set_zero(column, index)
    elif column.kind == BITS:
        column.data[index] = 0
    else:
        return column.kind == TEXT or column.kind == BLOB or column.kind == LIST or column.kind == MAP
    return False


cdef inline void hide(Column *columns, int64_t row) noexcept nogil:
    """Make a row null whose values, and those of rows behind it, are stored already; its text and items stay there."""
    cdef int32_t end = columns[0].end
    cdef int32_t at = 0
    while at < end:
        at = columns[at].end if clear_value(&columns[at], row) else at + 1


cdef inline void set_null(Column *columns, int32_t at, int64_t index, bint wide) noexcept nogil:
    """Make the value at an index, and all fields below it, null; a column that cannot be null gets the empty value."""
    cdef int32_t end = columns[at].end
    cdef Column *column
    while at < end:
        column = &columns[at]
        at += 1
        if clear_value(column, index):
            set_end(column, index, offset_at(column, index, wide), wide)
            at = column.end
