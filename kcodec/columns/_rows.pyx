"""An input column as rows of bytes, whatever its layout.

Arrow keeps a column of bytes in one of four ways::

    binary, string              validity | int32 offsets, one more than rows | data
    large_binary, large_string  validity | int64 offsets, one more than rows | data
    binary_view, string_view    validity | 16 bytes a row | data, data, ...
                                up to 12 bytes:  int32 length, the bytes
                                longer:          int32 length, 4 bytes, int32 which data, int32 offset
    fixed_size_binary           validity | data, the same width for every row

A slice of a column shares its buffers and starts at a row of its own.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport free, malloc

import pyarrow as pa


cdef const uint8_t *address(object buffer) except? NULL:
    return NULL if buffer is None else <const uint8_t *><uintptr_t>buffer.address


cdef int64_t size_of(object buffer) except -1:
    return 0 if buffer is None else buffer.size


cdef class Rows:
    """The rows of one binary-like array; holds the array, so that its memory stays."""

    def __cinit__(self, array):
        kind = array.type
        buffers = array.buffers()
        self.array = array
        self.length = len(array)
        self.first = array.offset
        self.validity = address(buffers[0]) if array.null_count else NULL
        if pa.types.is_fixed_size_binary(kind):
            self.layout = FIXED_WIDTH
            self.width = kind.byte_width
            self.data = address(buffers[1])
            self.limit = self.data + size_of(buffers[1])
        elif pa.types.is_binary_view(kind) or pa.types.is_string_view(kind):
            self.layout = VIEWS
            self.data = address(buffers[1])
            self.pieces = <const uint8_t **>malloc((len(buffers) or 1) * sizeof(uint8_t *))
            if self.pieces == NULL:
                raise MemoryError
            for number, piece in enumerate(buffers[2:]):
                self.pieces[number] = address(piece)
        else:
            self.layout = OFFSETS64 if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind) \
                else OFFSETS32
            self.offsets = address(buffers[1])
            self.data = address(buffers[2])
            self.limit = self.data + size_of(buffers[2])

    def __dealloc__(self):
        free(self.pieces)

    cdef void slice(self, int64_t row, Slice *out) noexcept nogil:
        cdef const int32_t *offsets32
        cdef const int64_t *offsets64
        cdef const uint8_t *view
        cdef int32_t size
        row += self.first
        if self.validity != NULL and not (self.validity[row >> 3] >> (row & 7)) & 1:
            out.start = NULL
            out.end = NULL
            return
        if self.layout == OFFSETS32:
            offsets32 = <const int32_t *>self.offsets
            out.start = self.data + offsets32[row]
            out.end = self.data + offsets32[row + 1]
        elif self.layout == OFFSETS64:
            offsets64 = <const int64_t *>self.offsets
            out.start = self.data + offsets64[row]
            out.end = self.data + offsets64[row + 1]
        elif self.layout == FIXED_WIDTH:
            out.start = self.data + row * self.width
            out.end = out.start + self.width
        else:
            view = self.data + row * 16
            size = (<const int32_t *>view)[0]
            if size <= 12:
                out.start = view + 4
            else:
                out.start = self.pieces[(<const int32_t *>view)[2]] + (<const int32_t *>view)[3]
            out.end = out.start + size
            out.limit = out.end
            return
        out.limit = self.limit
        if out.start == NULL:
            # An array without a data buffer holds empty values only; NULL would mean a null row.
            out.start = <const uint8_t *>&EMPTY
            out.end = out.start
            out.limit = out.start

    cdef int64_t bytes_from(self, int64_t row) noexcept nogil:
        """Return the bytes of the rows from `row` on, perhaps with those that stand behind null rows."""
        cdef Slice value
        cdef int64_t total = 0
        if row == self.length:
            return 0
        if self.layout == OFFSETS32:
            return (<const int32_t *>self.offsets)[self.first + self.length] \
                - (<const int32_t *>self.offsets)[self.first + row]
        if self.layout == OFFSETS64:
            return (<const int64_t *>self.offsets)[self.first + self.length] \
                - (<const int64_t *>self.offsets)[self.first + row]
        if self.layout == FIXED_WIDTH:
            return (self.length - row) * self.width
        while row < self.length:
            self.slice(row, &value)
            total += value.end - value.start
            row += 1
        return total

    cdef int64_t fill(
        self, int64_t row, Slice *out, int64_t max_rows, int64_t max_bytes, int64_t *total
    ) noexcept nogil:
        """Take at most `max_rows` rows from `row` on; beyond the first row, at most `max_bytes` bytes of them.

        Returns their number; `total` is set to their bytes.
        """
        cdef const int32_t *offsets = <const int32_t *>self.offsets + self.first + row
        cdef int64_t count = 0
        cdef int64_t bytes = 0
        cdef int64_t size
        max_rows = min(max_rows, self.length - row)
        if self.layout == OFFSETS32 and self.validity == NULL and self.data != NULL:
            while count < max_rows:
                size = offsets[count + 1] - offsets[count]
                if count and bytes + size > max_bytes:
                    break
                out[count].start = self.data + offsets[count]
                out[count].end = out[count].start + size
                out[count].limit = self.limit
                bytes += size
                count += 1
        else:
            while count < max_rows:
                self.slice(row + count, &out[count])
                size = out[count].end - out[count].start
                if count and bytes + size > max_bytes:
                    break
                bytes += size
                count += 1
        total[0] = bytes
        return count


cdef uint8_t EMPTY = 0


cdef class Int32Buffer:
    """Hold a buffer of one int32 per row."""

    def __cinit__(self, values, int64_t rows, name):
        if values is None:
            return
        PyObject_GetBuffer(values, &self.view, PyBUF_SIMPLE)
        self.has_view = True
        self.data = <const int32_t *>self.view.buf
        if self.view.len < rows * 4:
            raise ValueError(f"{name} has {self.view.len} bytes for {rows} rows of int32")

    def __dealloc__(self):
        if self.has_view:
            PyBuffer_Release(&self.view)
