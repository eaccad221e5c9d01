"""Rows of columns spread among more rows, where they are; see the .pxd.

What fields hold is moved; text, bytes and items stay where they are::

    rows     1  3             present  0  1  0  1  0
    values   7  9             become   .  7  .  9  .
    offsets  0  2  5  ab cde  become   0  0  2  2  5  5  ab cde

It is done from the last row to the first, as no value moves to a lower place: what is still to be read is where it was.
Eight rows are a step, so some behind the last one are written to.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from kcodec.columns.built._column cimport BITS, BLOB, FIXED, LIST, MAP, TEXT, Column, offset_t


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
            scatter_values(<int64_t *>column.data, present, count, length)
        elif column.width == 4:
            scatter_values(<int32_t *>column.data, present, count, length)
        else:
            scatter_any(column.data, column.width, present, count, length)
    elif column.kind == TEXT or column.kind == BLOB or column.kind == LIST or column.kind == MAP:
        if wide and column.kind != MAP:
            scatter_offsets(<int64_t *>column.offsets, present, count, length)
        else:
            scatter_offsets(<int32_t *>column.offsets, present, count, length)


cdef void scatter_bits(uint8_t *data, const uint8_t *present, int64_t count, int64_t length) noexcept nogil:
    cdef int64_t step
    cdef int32_t bit
    cdef int32_t held
    cdef int32_t there
    cdef int32_t found
    for step in range(length // 8, -1, -1):
        for bit in range(8):
            count -= present[step] >> bit & 1
        # The byte behind may be written to already, but then holds none of the bits that are wanted.
        held = (data[count >> 3] | data[(count >> 3) + 1] << 8) >> (count & 7)
        found = 0
        for bit in range(8):
            there = present[step] >> bit & 1
            found |= (held & there) << bit
            held >>= there
        data[step] = <uint8_t>found


cdef void scatter_values(offset_t *data, const uint8_t *present, int64_t count, int64_t length) noexcept nogil:
    cdef int64_t step
    cdef int32_t bit
    cdef int32_t there
    for step in range(length // 8, -1, -1):
        for bit in range(7, -1, -1):
            there = present[step] >> bit & 1
            count -= there
            data[8 * step + bit] = data[count] & <offset_t>-there


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


cdef void scatter_offsets(offset_t *ends, const uint8_t *present, int64_t count, int64_t length) noexcept nogil:
    cdef int64_t step
    cdef int32_t bit
    for step in range(length // 8, -1, -1):
        for bit in range(7, -1, -1):
            ends[8 * step + bit + 1] = ends[count]
            count -= present[step] >> bit & 1
