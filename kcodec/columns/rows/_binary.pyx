"""A binary array that grows row by row; and conversions between binary arrays and Python lists of bytes.

Rows stand one behind the other in one buffer, which with the offsets of the rows is already the Arrow array. Before
each block of rows, the writer asks for room for all that the block can take, so writing needs no checks.

All that an array has is one piece of memory, since a buffer of pyarrow's pool takes half a microsecond to make, and a
call may be of one row::

    pointers to the three | offsets | a bit a row: whether it is not null | data, each at a multiple of 64 bytes
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from kcodec.columns.built._c_data cimport ArrowArray
from kcodec.columns.built._memory cimport aligned, hand_over, with_room
from kcodec.columns.rows._rows cimport Rows, Slice
from kcodec.wire.binary.cursor cimport prefetch

import pyarrow as pa

from kcodec.errors import CapacityError


__all__ = ["binary_array", "bytes_list"]

PLAIN = pa.binary()
LARGE = pa.large_binary()

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define KC_FREE_THREADED 1
    #else
    #define KC_FREE_THREADED 0
    #endif
    """
    bint FREE_THREADED "KC_FREE_THREADED"
    # Of values that no reference is taken to.
    PyObject **PySequence_Fast_ITEMS(list values)
    bint PyBytes_Check(PyObject *value)
    int64_t PyBytes_GET_SIZE(PyObject *value)
    const char *PyBytes_AS_STRING(PyObject *value)

cdef enum:
    AHEAD = 24         # values that are asked for before they are looked at
    BLOCK = 256        # values that stay in the cache from one look at them to the next
    HEAD = 64          # bytes of the pointers to an array's buffers
    LEFT = 1024        # bytes behind an array that cost less than to have fewer


def binary_array(values, others=False):
    """Return the array of a list or tuple of bytes and None; None if something else is in it, or more than 2 GiB.

    With `others`, bytearrays, memoryviews and text count as the bytes that they hold. `pyarrow.array` does the same in
    five to ten times the time, and first loads pandas where that is installed.
    """
    # Decoders that copy a few thousand values at a time to where they stay in the cache take 0.94 of the time on large
    # lists, since reading the values is what takes long: too little for rows of a second kind.
    cdef list rows = values if type(values) is list else list(values)
    cdef list block
    cdef int64_t count = len(rows)
    cdef int64_t row = 0
    cdef int64_t end
    cdef int64_t used = 0
    cdef int64_t size
    cdef int64_t at
    cdef uint8_t *data
    cdef uint8_t *valid
    cdef int32_t *offsets
    cdef PyObject **items
    cdef BinaryBuilder output = BinaryBuilder(count, False)
    while row < count:
        block = rows
        at = row
        # Another thread may have changed the list. Without the GIL it may do so at any time, so a copy is read there.
        end = min(row + BLOCK, count, <int64_t>len(rows))
        size = -1 if FREE_THREADED else bytes_of(PySequence_Fast_ITEMS(rows) + row, end - row)
        if size < 0:
            block = rows[row:end]
            at = 0
            for number, value in enumerate(block):
                if value is not None and not isinstance(value, bytes):
                    if not others or not isinstance(value, (bytearray, memoryview, str)):
                        return None
                    block[number] = value.encode() if isinstance(value, str) else bytes(value)
            end = row + len(block)
            size = bytes_of(PySequence_Fast_ITEMS(block), end - row)
        if end <= row:
            break
        if used + size > INT32_MAX:
            return None
        if used + size > output.room:
            # Some more than the values so far tell, since what is too much costs nothing.
            output.resize(<int64_t>(1.1 * (used + size) / end * count) + size)
            if row == 0:
                memset(output.valid, 0xff, (count + 7) // 8)
        data, valid, offsets = output.data, output.valid, output.offsets32
        items = PySequence_Fast_ITEMS(block) + at
        for at in range(end - row):
            if items[at] == <PyObject *>None:
                output.nulls += 1
                valid[row >> 3] &= <uint8_t>~(1 << (row & 7))
            else:
                size = PyBytes_GET_SIZE(items[at])
                memcpy(data + used, PyBytes_AS_STRING(items[at]), size)
                used += size
            row += 1
            offsets[row] = <int32_t>used
    output.rows = row
    output.used = used
    return output.finish()


cdef int64_t bytes_of(PyObject **items, int64_t count) noexcept:
    """Return how many bytes some values hold together; -1 if one of them is neither bytes nor None.

    No reference is taken: that would write to each value, and costs as much as reading it.
    """
    cdef int64_t size = 0
    cdef int64_t at
    for at in range(count):
        if at + AHEAD < count:
            prefetch(items[at + AHEAD])
        if PyBytes_Check(items[at]):
            size += PyBytes_GET_SIZE(items[at])
            # Where most values end, or go on.
            prefetch(PyBytes_AS_STRING(items[at]) + 40)
        elif items[at] != <PyObject *>None:
            return -1
    return size


def bytes_list(array):
    """Return the values of a binary array of any layout as a list of bytes and None."""
    cdef Rows rows = Rows(array)
    cdef Slice value
    cdef int64_t row
    cdef list found = [None] * rows.length
    for row in range(rows.length):
        rows.slice(row, &value)
        if value.start != NULL:
            found[row] = PyBytes_FromStringAndSize(<const char *>value.start, value.end - value.start)
    return found


cdef class BinaryBuilder:
    """Make a binary array of a number of rows, in the memory pool of pyarrow."""

    def __cinit__(self, int64_t rows, bint large):
        self.rows = rows
        self.width = 8 if large else 4
        self.valid_at = HEAD + aligned((rows + 1) * self.width)
        self.data_at = self.valid_at + aligned((rows + 7) // 8)
        # Not even for a row of no bytes.
        self.room = -1

    cdef bint has_room(self, int64_t needed) noexcept nogil:
        """Return whether the next rows have room; if not, `grow` makes it."""
        self.needed = needed
        return self.used + needed <= self.room

    cdef int grow(self, int64_t sample, int64_t ahead) except -1:
        """Make room for what is needed now, and for the following rows by what the rows so far took.

        The first time, `sample` is the guess for the following rows; they never need more than `ahead` bytes.
        """
        cdef int64_t room = self.used + self.needed
        self.check_offsets()
        if self.row:
            sample = <int64_t>(1.02 * self.used / self.row * self.rows) + 2 * self.needed - room
        room += max(0, min(sample, ahead))
        if self.width == 4:
            # What the next rows take at most may be behind what offsets reach, though they take less.
            room = max(self.used + self.needed, min(room, INT32_MAX))
        return self.resize(room)

    cdef int check_offsets(self) except -1:
        """Raise if the rows so far take more than offsets reach."""
        if self.width == 4 and self.used > INT32_MAX:
            raise CapacityError("more than 2 GiB in one call; pass large=True for 64-bit offsets, or fewer rows")
        return 0

    cdef int resize(self, int64_t room) except -1:
        """Make memory for so many bytes of data."""
        cdef bint fresh = self.memory is None
        self.memory = with_room(self.memory, self.data_at + room)
        self.room = room
        self.data = self.memory.data + self.data_at
        self.valid = self.memory.data + self.valid_at
        if self.width == 8:
            self.offsets64 = <int64_t *>(self.memory.data + HEAD)
        else:
            self.offsets32 = <int32_t *>(self.memory.data + HEAD)
        if fresh:
            memset(self.memory.data + HEAD, 0, self.width)
            memset(self.valid, 0, (self.rows + 7) // 8)
        return 0

    cdef void end_row(self, uint8_t *out) noexcept nogil:
        """Record where the next row ends; NULL marks a null row."""
        if out == NULL:
            self.nulls += 1
        else:
            self.used = out - self.data
            self.valid[self.row >> 3] |= <uint8_t>(1 << (self.row & 7))
        self.row += 1
        if self.offsets64 != NULL:
            self.offsets64[self.row] = self.used
        else:
            self.offsets32[self.row] = <int32_t>self.used

    cdef object finish(self):
        """Return the array."""
        cdef ArrowArray array
        self.check_offsets()
        if self.memory is None:
            self.resize(0)
        if self.memory.room > self.data_at + self.used + LEFT:
            self.memory.resize(self.data_at + self.used, True)
        array.length = self.rows
        array.null_count = self.nulls
        array.offset = 0
        array.n_buffers = 3
        array.buffers = <const void **>self.memory.data
        array.buffers[0] = self.memory.data + self.valid_at if self.nulls else NULL
        array.buffers[1] = self.memory.data + HEAD
        array.buffers[2] = self.memory.data + self.data_at
        array.n_children = 0
        array.children = NULL
        array.dictionary = NULL
        return hand_over(&array, self.memory, LARGE if self.width == 8 else PLAIN)
