"""A column as the row loops store into it; its room is made by `kcodec.columns.built._builder`."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

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
    int64_t model         # MAP: index of a map whose keys others begin with; any one before theirs is right


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
