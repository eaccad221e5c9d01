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
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from kcodec.wire.binary.cursor cimport load_le64

import pyarrow as pa

# By type: to ask what a type is takes as long as to read a row.
cdef dict LAYOUTS = {
    pa.string(): OFFSETS32, pa.binary(): OFFSETS32, pa.large_string(): OFFSETS64, pa.large_binary(): OFFSETS64,
    pa.string_view(): VIEWS, pa.binary_view(): VIEWS,
}


cdef const uint8_t *address(object buffer) except? NULL:
    return NULL if buffer is None else <const uint8_t *><uintptr_t>buffer.address


cdef int64_t size_of(object buffer) except -1:
    return 0 if buffer is None else buffer.size


cdef class Rows:
    """The rows of one binary-like array, or some of them; holds the array, so that its memory stays."""

    def __cinit__(self, array, picked=None):
        cdef Int32Buffer held
        kind = array.type
        buffers = array.buffers()
        self.array = array
        self.length = len(array)
        self.first = array.offset
        self.validity = address(buffers[0]) if array.null_count else NULL
        self.layout = LAYOUTS.get(kind, FIXED_WIDTH)
        if self.layout == FIXED_WIDTH:
            self.width = kind.byte_width
            self.data = address(buffers[1])
            self.limit = self.data + size_of(buffers[1])
        elif self.layout == VIEWS:
            self.data = address(buffers[1])
            self.limit = self.data + size_of(buffers[1])
            self.pieces = <const uint8_t **>malloc(2 * len(buffers) * sizeof(uint8_t *))
            if self.pieces == NULL:
                raise MemoryError
            self.limits = self.pieces + len(buffers)
            for number, piece in enumerate(buffers[2:]):
                self.pieces[number] = address(piece)
                self.limits[number] = self.pieces[number] + size_of(piece)
        else:
            self.offsets = address(buffers[1])
            self.data = address(buffers[2])
            self.limit = self.data + size_of(buffers[2])
        if picked is not None:
            self.held = held = Int32Buffer(picked, 0, "picked")
            if not ascend(held.data, held.view.len // 4, self.length):
                raise ValueError("the rows are not in order, or not there")
            self.places = self.picked = held.data
            self.length = held.view.len // 4

    def __dealloc__(self):
        free(self.pieces)
        free(self.moved)

    cdef bytes leave_nulls(self):
        """Leave null rows out, and return the places of the others.

        None if the array has another number of them than it says, or more rows than can be told.
        """
        cdef int64_t present = self.length - <int64_t>self.array.null_count
        cdef bytes rows
        cdef int32_t *places
        cdef int64_t count = 0
        cdef int64_t row
        if self.length > INT32_MAX:
            return None
        rows = PyBytes_FromStringAndSize(NULL, present * sizeof(int32_t))
        places = <int32_t *>PyBytes_AS_STRING(rows)
        for row in range(self.first, self.first + self.length):
            if self.validity[row >> 3] >> (row & 7) & 1:
                if count == present:
                    return None
                places[count] = <int32_t>(row - self.first)
                count += 1
        if count < present:
            return None
        self.held = rows
        self.places = self.picked = places
        self.length = count
        self.validity = NULL
        if self.layout == OFFSETS32 and self.data != NULL:
            self.close_up()
        return rows

    cdef int close_up(self) except -1:
        """Have offsets of the picked rows alone, if their values stand one behind the other."""
        cdef const int32_t *offsets = <const int32_t *>self.offsets + self.first
        cdef bytes ends = PyBytes_FromStringAndSize(NULL, (self.length + 1) * sizeof(int32_t))
        cdef int32_t *dense = <int32_t *>PyBytes_AS_STRING(ends)
        cdef int64_t between = 0
        cdef int64_t row
        dense[0] = offsets[self.picked[0]] if self.length else 0
        for row in range(self.length):
            between |= offsets[self.picked[row]] - dense[row]
            dense[row + 1] = offsets[self.picked[row] + 1]
        if not between:
            self.dense = ends
            self.offsets = dense
            self.first = 0
            self.picked = NULL
        return 0

    cdef void slice(self, int64_t row, Slice *out) noexcept nogil:
        cdef const int32_t *offsets32
        cdef const int64_t *offsets64
        cdef const uint8_t *view
        cdef int32_t size
        row = self.first + (row if self.picked == NULL else self.picked[row])
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
                out.limit = self.limit
            else:
                out.start = self.pieces[(<const int32_t *>view)[2]] + (<const int32_t *>view)[3]
                out.limit = self.limits[(<const int32_t *>view)[2]]
            out.end = out.start + size
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
        cdef int64_t first = self.first + row
        cdef int64_t last = self.first + self.length - 1
        if row == self.length:
            return 0
        if self.picked != NULL:
            # With those of the rows between them.
            first = self.first + self.picked[row]
            last = self.first + self.picked[self.length - 1]
        if self.layout == OFFSETS32:
            return (<const int32_t *>self.offsets)[last + 1] - (<const int32_t *>self.offsets)[first]
        if self.layout == OFFSETS64:
            return (<const int64_t *>self.offsets)[last + 1] - (<const int64_t *>self.offsets)[first]
        if self.layout == FIXED_WIDTH:
            return (self.length - row) * self.width
        while row < self.length:
            self.slice(row, &value)
            total += value.end - value.start
            row += 1
        return total

    cdef int64_t adjacent(self, int64_t row, int64_t max_rows, int64_t max_bytes, int64_t *total) noexcept nogil:
        """Return how many rows `fill` would take, if offsets alone say where they are; otherwise 0.

        Each then has a value that begins at its offset in `data`, and SLACK bytes behind that of the last one.
        """
        cdef const int32_t *offsets = <const int32_t *>self.offsets + self.first + row
        cdef int64_t count = min(max_rows, self.length - row)
        if self.layout != OFFSETS32 or self.validity != NULL or self.data == NULL or self.picked != NULL:
            return 0
        if offsets[count] - offsets[0] > max_bytes:
            count = fitting(offsets, count, max_bytes)
        if self.limit - (self.data + offsets[count]) < SLACK:
            return 0
        total[0] = offsets[count] - offsets[0]
        return count

    cdef void place(
        self, int64_t row, int64_t count, int64_t skip, const uint8_t **at, const uint8_t **end
    ) noexcept nogil:
        """Tell where adjacent rows are, but for so many bytes that each begins with."""
        cdef const int32_t *offsets = <const int32_t *>self.offsets + self.first + row
        cdef const uint8_t *data = self.data
        cdef int64_t lane
        for lane in range(count):
            at[lane] = data + skip + offsets[lane]
            end[lane] = data + offsets[lane + 1]

    cdef bint have_prefix(
        self, int64_t row, int64_t count, int64_t size, uint64_t word, uint64_t mask
    ) noexcept nogil:
        """Return whether adjacent rows all start with some bytes, eight at most: those of `word` that `mask` has."""
        cdef const int32_t *offsets = <const int32_t *>self.offsets + self.first + row
        cdef const uint8_t *data = self.data
        cdef uint64_t others = 0
        cdef int64_t short = 0
        cdef int64_t at
        for at in range(count):
            others |= load_le64(data + offsets[at]) ^ word
            short |= offsets[at + 1] - offsets[at] - size
        return others & mask == 0 and short >= 0

    cdef int64_t fill(
        self, int64_t row, Slice *out, int64_t max_rows, int64_t max_bytes, int64_t *total
    ) noexcept nogil:
        """Take at most `max_rows` rows from `row` on; beyond the first row, at most `max_bytes` bytes of them.

        Returns their number; `total` is set to their bytes.
        """
        cdef const int32_t *offsets = <const int32_t *>self.offsets + self.first + row
        cdef const int32_t *picked = self.picked
        cdef int64_t count = 0
        cdef int64_t bytes = 0
        cdef int64_t size
        cdef int64_t at
        cdef const uint8_t *data = self.data
        cdef const uint8_t *limit = self.limit
        max_rows = min(max_rows, self.length - row)
        if self.layout == OFFSETS32 and self.validity == NULL and self.data != NULL and picked != NULL:
            offsets -= row
            picked += row
            for count in range(max_rows):
                size = offsets[picked[count] + 1] - offsets[picked[count]]
                if count and bytes + size > max_bytes:
                    break
                bytes += size
                out[count].start = self.data + offsets[picked[count]]
                out[count].end = out[count].start + size
                out[count].limit = self.limit
            else:
                count = max_rows
        elif self.layout == OFFSETS32 and self.validity == NULL and self.data != NULL:
            count = max_rows if offsets[max_rows] - offsets[0] <= max_bytes else fitting(offsets, max_rows, max_bytes)
            bytes = offsets[count] - offsets[0]
            for at in range(count):
                out[at].start = data + offsets[at]
                out[at].end = data + offsets[at + 1]
                out[at].limit = limit
        else:
            while count < max_rows:
                self.slice(row + count, &out[count])
                size = out[count].end - out[count].start
                if count and bytes + size > max_bytes:
                    break
                bytes += size
                count += 1
        self.move_last(out, count)
        total[0] = bytes
        return count

    cdef void move_last(self, Slice *out, int64_t count) noexcept nogil:
        """Give the last of some rows bytes to read behind them: small columns are read as fast as large ones then."""
        cdef int64_t first = count
        cdef int64_t size = 0
        cdef uint8_t *to
        while first and (out[first - 1].start == NULL or out[first - 1].limit - out[first - 1].end < SLACK):
            first -= 1
            size += out[first].end - out[first].start
            if size > MOVED:
                size -= out[first].end - out[first].start
                first += 1
                break
        if first == count:
            return
        if self.moved == NULL or size > self.moved_room:
            # At first only what is needed: nearly all columns have one such block, and many of these one row.
            self.moved_room = size if self.moved == NULL else MOVED
            free(self.moved)
            self.moved = <uint8_t *>calloc(LEAD + self.moved_room + SLACK, 1)
            if self.moved == NULL:
                return
        to = self.moved + LEAD
        for first in range(first, count):
            if out[first].start == NULL:
                continue
            size = out[first].end - out[first].start
            # A column may be of empty rows only: calls for nothing would take a fifth of its time.
            if size:
                memcpy(to, out[first].start, size)
            out[first].start = to
            to += size
            out[first].end = to
            out[first].limit = self.moved + LEAD + self.moved_room + SLACK


cdef int64_t fitting(const int32_t *offsets, int64_t rows, int64_t max_bytes) noexcept nogil:
    """Return how many of the first rows hold at most so many bytes together; the first one may hold more."""
    cdef int64_t fit = 1
    cdef int64_t middle
    while fit < rows:
        middle = (fit + rows + 1) // 2
        if offsets[middle] - offsets[0] <= max_bytes:
            fit = middle
        else:
            rows = middle - 1
    return fit


cdef bint ascend(const int32_t *rows, int64_t count, int64_t length) noexcept nogil:
    """Return whether rows of so many stand in order, none twice."""
    cdef int32_t wrong = 0
    cdef int64_t at
    if count == 0:
        return True
    # What decides nothing on the way can be done for several at once.
    for at in range(1, count):
        wrong |= rows[at - 1] >= rows[at]
    return not wrong and rows[0] >= 0 and rows[count - 1] < length


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
