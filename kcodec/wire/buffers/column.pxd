"""A column of byte slices, as kernels see it: data with offsets, or with one size for all."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset


cdef enum:
    # Returned by a kernel besides Status: the slice reaches outside the data.
    BAD_SLICE = -1


cdef struct Column:
    const uint8_t *data
    int64_t size             # of the data
    const uint8_t *offsets   # rows + 1 of them
    int width                # bytes of an offset: 4, 8, or 0 where every slice has `stride` bytes
    int64_t stride
    Py_ssize_t rows


cdef inline int64_t offset_at(const Column *column, Py_ssize_t row) noexcept nogil:
    if column.width == 4:
        return (<const int32_t *>column.offsets)[row]
    if column.width == 8:
        return (<const int64_t *>column.offsets)[row]
    return row * column.stride


cdef inline bint slice_at(
    const Column *column, Py_ssize_t row, const uint8_t **start, int64_t *size
) noexcept nogil:
    """Find the bytes of one slice; return False if it is not within the data."""
    cdef int64_t first = offset_at(column, row)
    cdef int64_t last = offset_at(column, row + 1)
    start[0] = column.data + first
    size[0] = last - first
    return 0 <= first <= last <= column.size


cdef inline void no_buffers(Py_buffer *views, size_t size) noexcept:
    """Make an array of Py_buffer, of that many bytes, safe to release before all of it is filled."""
    memset(views, 0, size)


cdef inline void release_buffers(Py_buffer *views, size_t size) noexcept:
    cdef size_t i
    for i in range(size // sizeof(Py_buffer)):
        PyBuffer_Release(&views[i])


cdef inline int read_buffer(object source, Py_buffer *view) except -1:
    return PyObject_GetBuffer(source, view, PyBUF_SIMPLE)


cdef inline int write_buffer(object target, Py_buffer *view) except -1:
    return PyObject_GetBuffer(target, view, PyBUF_SIMPLE | PyBUF_WRITABLE)


cdef inline int read_column(object given, Column *column, Py_buffer *views) except -1:
    """Take over a `kcodec.wire.slices.BytesColumn`, whose two buffers go to the first two of some views."""
    data, offsets, width, stride, rows = given
    read_buffer(data, &views[0])
    read_buffer(offsets, &views[1])
    column.width = width
    column.stride = stride
    column.rows = rows
    if column.width not in (0, 4, 8) or column.rows < 0 or column.stride < 0:
        raise ValueError("width, stride or rows of a column out of range")
    if column.width == 0:
        if column.stride > 0 and column.rows > views[0].len // column.stride:
            raise ValueError(f"{rows} values of {stride} bytes do not fit in {views[0].len} bytes")
    elif views[1].len // column.width < column.rows + 1:
        raise ValueError(f"{rows} rows need {rows + 1} offsets")
    column.data = <const uint8_t *>views[0].buf
    column.size = views[0].len
    column.offsets = <const uint8_t *>views[1].buf
    return 0
