"""UTF-8 validation of a column. The Python twin is ``_utf8_py``."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.wire.buffers.column cimport (
    Column, no_buffers, offset_at, read_column, release_buffers, slice_at,
)
from kcodec.wire.text.utf8 cimport utf8_valid

from kcodec.wire._faults import bad_slice, decode_error


cdef bint all_valid(const Column *column) noexcept nogil:
    """Check all text at once: valid as a whole, and no element starts inside a sequence."""
    cdef const uint8_t *start = NULL
    cdef int64_t size = 0
    cdef Py_ssize_t row
    for row in range(column.rows):
        if not slice_at(column, row, &start, &size) or size > 0 and start[0] & 0xC0 == 0x80:
            return False
    if column.rows == 0:
        return True
    size = offset_at(column, column.rows) - offset_at(column, 0)
    return utf8_valid(column.data + offset_at(column, 0), <size_t>size)


cdef Py_ssize_t first_invalid(const Column *column, bint *outside) noexcept nogil:
    cdef const uint8_t *start = NULL
    cdef int64_t size = 0
    cdef Py_ssize_t row
    for row in range(column.rows):
        outside[0] = not slice_at(column, row, &start, &size)
        if outside[0] or not utf8_valid(start, <size_t>size):
            return row
    return column.rows


def validate(source) -> None:
    """Raise the error of the first element that is not valid UTF-8."""
    cdef Py_buffer views[2]
    cdef Column column
    cdef Py_ssize_t row
    cdef bint outside = False
    no_buffers(views, sizeof(views))
    try:
        read_column(source, &column, views)
        with nogil:
            row = column.rows if all_valid(&column) else first_invalid(&column, &outside)
        if outside:
            raise bad_slice(row)
        if row < column.rows:
            raise decode_error("invalid_utf8", row, offset_at(&column, row))
    finally:
        release_buffers(views, sizeof(views))
