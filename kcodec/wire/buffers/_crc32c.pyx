"""CRC-32C of buffers and of many slices. The Python twin is ``_crc32c_py``."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from kcodec.wire.binary.crc32c cimport crc32c, crc32c_bytes
from kcodec.wire.buffers.column cimport (
    Column, no_buffers, read_buffer, read_column, release_buffers, slice_at, write_buffer,
)

from kcodec.wire._faults import bad_slice


cdef Py_ssize_t sums(const Column *column, uint32_t *out) noexcept nogil:
    """Sum up every slice; return the number of rows, or the row whose slice is not within the data."""
    cdef const uint8_t *start = NULL
    cdef int64_t size = 0
    cdef Py_ssize_t row
    for row in range(column.rows):
        if not slice_at(column, row, &start, &size):
            return row
        out[row] = crc32c(0, start, <size_t>size)
    return column.rows


def of_buffer(data, before: int, table: bool = False) -> int:
    """Sum up one buffer; ``table`` leaves the processor's instruction aside."""
    cdef Py_buffer views[1]
    cdef uint32_t value = before
    cdef bint c_table = table
    no_buffers(views, sizeof(views))
    try:
        read_buffer(data, &views[0])
        with nogil:
            if c_table:
                value = ~crc32c_bytes(~value, <const uint8_t *>views[0].buf, <size_t>views[0].len)
            else:
                value = crc32c(value, <const uint8_t *>views[0].buf, <size_t>views[0].len)
        return value
    finally:
        release_buffers(views, sizeof(views))


def of_slices(source, out) -> None:
    """Sum up every slice of a column into 32-bit integers."""
    cdef Py_buffer views[3]
    cdef Column column
    cdef Py_ssize_t row
    no_buffers(views, sizeof(views))
    try:
        read_column(source, &column, views)
        write_buffer(out, &views[2])
        if views[2].len // 4 < column.rows:
            raise ValueError("no room for the sums")
        with nogil:
            row = sums(&column, <uint32_t *>views[2].buf)
        if row < column.rows:
            raise bad_slice(row)
    finally:
        release_buffers(views, sizeof(views))
