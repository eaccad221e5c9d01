"""Rows of columns spread among more rows, where they are."""

from libc.stdint cimport int32_t, int64_t

from kcodec.columns.built._column cimport Column

cdef enum:
    BEHIND = 8    # values behind the last one that there is room for, since eight are a step


# Put the only values of columns that are in no list or map, `count` of them, to as many rows in order, of `length`; the
# others become null, or zero and empty where null is not allowed. There is room for `length` values and BEHIND more.
cdef int scatter(
    Column *columns, int32_t column_count, const int32_t *rows, int64_t count, int64_t length, bint wide
) except -1
