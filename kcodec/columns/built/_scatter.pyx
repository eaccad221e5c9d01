"""Rows of columns spread among more rows, where they are; see the .pxd.

What fields hold is moved; text, bytes and items stay where they are::

    rows     1  3             present  0  1  0  1  0
    values   7  9             become   .  7  .  9  .
    offsets  0  2  5  ab cde  become   0  0  2  2  5  5  ab cde

It is done from the last row to the first, as no value moves to a lower place: what is still to be read is where it was.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from kcodec.columns.built._column cimport BITS, BLOB, FIXED, LIST, MAP, TEXT, Column


cdef extern from "scatter.h" nogil:
    void scatter_bits "kc_scatter_bits_best"(uint8_t *data, const uint8_t *present, int64_t count, int64_t length)
    void scatter32 "kc_scatter_32_best"(uint32_t *data, const uint8_t *present, int64_t count, int64_t length)
    void scatter64 "kc_scatter_64_best"(uint64_t *data, const uint8_t *present, int64_t count, int64_t length)
    void scatter_ends32 "kc_scatter_ends_32_best"(int32_t *ends, const uint8_t *present, int64_t count, int64_t length)
    void scatter_ends64 "kc_scatter_ends_64"(int64_t *ends, const uint8_t *present, int64_t count, int64_t length)


cdef int scatter(
    Column *columns, int32_t column_count, const int32_t *rows, int64_t count, int64_t length, bint wide
) except -1:
    cdef uint8_t *present = <uint8_t *>calloc(length // 8 + 1, 1)
    cdef int64_t row
    cdef int32_t at
    if present == NULL:
        raise MemoryError
    with nogil:
        for row in range(count):
            present[rows[row] >> 3] |= <uint8_t>(1 << (rows[row] & 7))
        for at in range(column_count):
            if columns[at].scope < 0:
                scatter_column(&columns[at], present, count, length, wide)
    free(present)
    return 0


cdef void scatter_column(
    Column *column, const uint8_t *present, int64_t count, int64_t length, bint wide
) noexcept nogil:
    if column.valid_map != NULL:
        scatter_bits(column.bitmap, present, count, length)
    if column.kind == BITS:
        scatter_bits(column.bits, present, count, length)
    elif column.kind == FIXED:
        if column.width == 8:
            scatter64(<uint64_t *>column.data, present, count, length)
        elif column.width == 4:
            scatter32(<uint32_t *>column.data, present, count, length)
        else:
            scatter_any(column.data, column.width, present, count, length)
    elif column.kind == TEXT or column.kind == BLOB or column.kind == LIST or column.kind == MAP:
        if wide and column.kind != MAP:
            scatter_ends64(<int64_t *>column.offsets, present, count, length)
        else:
            scatter_ends32(<int32_t *>column.offsets, present, count, length)


cdef void scatter_any(
    uint8_t *data, int64_t width, const uint8_t *present, int64_t count, int64_t length
) noexcept nogil:
    cdef int64_t row
    for row in range(length - 1, -1, -1):
        if present[row >> 3] >> (row & 7) & 1:
            count -= 1
            if count != row:
                memcpy(data + row * width, data + count * width, width)
        else:
            memset(data + row * width, 0, width)
