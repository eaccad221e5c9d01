"""Rows of a column that are read apart from others, and their results among nulls; see ``partition.py``.

What fields hold is spread over more rows; text, bytes and items stay where they are::

    rows     1  3                        ranks    0  0  1  1  2  2
    values   7  9                        spread   .  7  .  9  .
    offsets  0  2  5    ab cde           spread   0  0  2  2  5  5    ab cde
"""

from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from kcodec.columns.built._column cimport offset_t
from kcodec.columns.built._memory cimport Memory, with_room
from kcodec.columns.rows._rows cimport Int32Buffer, ascend
from kcodec.wire.binary.cursor cimport load_le64, unpack8

import pyarrow as pa

from kcodec.columns.rows import _partition_py
from kcodec.columns.types.plain import is_list

__all__ = ["partition", "scatter"]

# What a value of fixed width is copied as.
ctypedef fused value_t:
    uint8_t
    int16_t
    int32_t
    int64_t


def partition(selector, numbers, int count):
    """Return the rows of each part; see `kcodec.columns.rows.partition.partition`."""
    cdef int64_t length = len(memoryview(selector).cast("B")) // 4
    cdef Int32Buffer chosen = Int32Buffer(selector, length, "selector")
    cdef int32_t programs = len(numbers)
    cdef int32_t at
    # Behind the parts is one for what is in none.
    cdef int32_t *part = <int32_t *>malloc(max(programs, 1) * sizeof(int32_t))
    cdef int64_t *counts = <int64_t *>calloc(count + 1, sizeof(int64_t))
    cdef int32_t **ends = <int32_t **>malloc((count + 1) * sizeof(int32_t *))
    try:
        if part == NULL or counts == NULL or ends == NULL:
            raise MemoryError
        for at, number in enumerate(numbers):
            part[at] = number if 0 <= number < count else count
        with nogil:
            count_parts(chosen.data, length, part, programs, counts, count)
        parts = [bytearray(counts[at] * sizeof(int32_t)) for at in range(count)]
        rest = bytearray(counts[count] * sizeof(int32_t))
        for at, rows in enumerate([*parts, rest]):
            ends[at] = <int32_t *>PyByteArray_AS_STRING(rows)
        with nogil:
            list_parts(chosen.data, length, part, programs, ends, count)
    finally:
        free(part)
        free(counts)
        free(ends)
    return parts


cdef inline int32_t part_of(int32_t chosen, const int32_t *part, int32_t programs, int32_t count) noexcept nogil:
    return part[chosen] if 0 <= chosen < programs else count


cdef void count_parts(
    const int32_t *chosen, int64_t length, const int32_t *part, int32_t programs, int64_t *counts, int32_t count
) noexcept nogil:
    cdef int64_t row
    for row in range(length):
        counts[part_of(chosen[row], part, programs, count)] += 1


cdef void list_parts(
    const int32_t *chosen, int64_t length, const int32_t *part, int32_t programs, int32_t **ends, int32_t count
) noexcept nogil:
    cdef int64_t row
    cdef int32_t at
    for row in range(length):
        at = part_of(chosen[row], part, programs, count)
        ends[at][0] = <int32_t>row
        ends[at] += 1


cdef class Places:
    """Where rows are among more rows."""

    cdef Int32Buffer held
    cdef const int32_t *rows
    cdef int64_t count
    cdef int64_t length
    cdef Memory ranks_memory
    cdef int32_t *ranks          # of all rows, and of the end: how many are before them
    cdef object present          # a bit for each

    def __init__(self, rows, int64_t length):
        cdef Memory bits
        self.count = len(memoryview(rows).cast("B")) // 4
        self.held = Int32Buffer(rows, self.count, "rows")
        self.rows = self.held.data
        self.length = length
        if not ascend(self.rows, self.count, length):
            raise ValueError("the rows are not in order, or not there")
        self.ranks_memory = with_room(None, (length + 1 + 7) * sizeof(int32_t))
        self.ranks = <int32_t *>self.ranks_memory.data
        bits = with_room(None, (length + 7) // 8 + 1)
        with nogil:
            memset(bits.data, 0, (length + 7) // 8)
            fill_ranks(self.ranks, bits.data, self.rows, self.count, length)
        self.present = bits.lend(0, (length + 7) // 8)


cdef void fill_ranks(
    int32_t *ranks, uint8_t *bits, const int32_t *rows, int64_t count, int64_t length
) noexcept nogil:
    cdef int64_t row
    cdef int64_t at
    cdef int32_t rank = 0
    cdef uint8_t each[8]
    cdef uint64_t before
    for row in range(count):
        bits[rows[row] >> 3] |= <uint8_t>(1 << (rows[row] & 7))
    # There is room for eight at a time; behind the last row nothing is added.
    row = 0
    while row < length:
        # A byte for each bit; then in each the sum of those below it.
        unpack8(each, bits[row >> 3])
        before = load_le64(each) * 0x0101010101010101ULL
        ranks[row] = rank
        for at in range(1, 8):
            ranks[row + at] = rank + <int32_t>(before >> (8 * at - 8) & 0xFF)
        rank += <int32_t>(before >> 56)
        row += 8
    ranks[length] = rank


def scatter(array, rows, int64_t length):
    """Return the values of an array in some of more rows; see `kcodec.columns.rows.partition.scatter`."""
    cdef Places places = Places(rows, length)
    if places.count != len(array):
        raise ValueError(f"{len(array)} values do not go to {places.count} rows")
    if length == places.count:
        return array
    if not is_known(array.type):
        return _partition_py.scatter(array, rows, length)
    return spread(array, places, True)


cdef bint is_known(object kind) except -1:
    """Return whether the values of a type can be spread; those of views, dictionaries and extensions cannot."""
    cdef int64_t bits
    types = pa.types
    if types.is_struct(kind):
        return all(is_known(field.type) for field in kind)
    if is_list(kind) or types.is_map(kind) or has_text(kind) or types.is_null(kind):
        return True
    if not (types.is_primitive(kind) or types.is_decimal(kind)):
        return False
    bits = kind.bit_width
    return bits == 1 or bits & 7 == 0


cdef bint has_text(object kind) except -1:
    types = pa.types
    return types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind) or types.is_large_binary(kind)


cdef object spread(object array, Places places, bint nullable):
    """Return an array with nulls between its values, or with zeros and what is empty where it is not nullable."""
    kind = array.type
    cdef int64_t length = places.length
    cdef int64_t first = array.offset
    cdef int64_t nulls = 0
    cdef int64_t width
    types = pa.types
    if types.is_null(kind):
        return pa.nulls(length)
    buffers = array.buffers()[:3]
    bitmap = None
    if nullable or array.null_count:
        bitmap, nulls = places.present, length - places.count + array.null_count
        if array.null_count:
            bitmap = spread_bits(buffers[0], first, places)
    if types.is_struct(kind):
        children = [
            spread(array.field(number), places, kind.field(number).nullable) for number in range(kind.num_fields)
        ]
        return pa.Array.from_buffers(kind, length, [bitmap], nulls, 0, children)
    if is_list(kind) or types.is_map(kind) or has_text(kind):
        if types.is_large_list(kind) or types.is_large_string(kind) or types.is_large_binary(kind):
            offsets = spread_offsets(buffers[1], first, places, <int64_t>0)
        else:
            offsets = spread_offsets(buffers[1], first, places, <int32_t>0)
        if has_text(kind):
            return pa.Array.from_buffers(kind, length, [bitmap, offsets, buffers[2]], nulls)
        return pa.Array.from_buffers(kind, length, [bitmap, offsets], nulls, 0, [array.values])
    if types.is_boolean(kind):
        return pa.Array.from_buffers(kind, length, [bitmap, spread_bits(buffers[1], first, places)], nulls)
    width = kind.bit_width // 8
    if width == 8:
        data = spread_values(buffers[1], first, 1, places, <int64_t>0)
    elif width & 3 == 0:
        data = spread_values(buffers[1], first, width >> 2, places, <int32_t>0)
    elif width == 2:
        data = spread_values(buffers[1], first, 1, places, <int16_t>0)
    else:
        data = spread_values(buffers[1], first, width, places, <uint8_t>0)
    return pa.Array.from_buffers(kind, length, [bitmap, data], nulls)


cdef const uint8_t *address(object buffer) except? NULL:
    return NULL if buffer is None else <const uint8_t *><uintptr_t>buffer.address


cdef object spread_bits(object buffer, int64_t first, Places places):
    cdef int64_t size = (places.length + 7) // 8
    cdef Memory memory = with_room(None, size + 1)
    cdef const uint8_t *source = address(buffer)
    cdef int64_t at
    cdef int32_t row
    with nogil:
        memset(memory.data, 0, size)
        for at in range(places.count):
            row = places.rows[at]
            memory.data[row >> 3] |= <uint8_t>((source[(first + at) >> 3] >> ((first + at) & 7) & 1) << (row & 7))
    return memory.lend(0, size)


cdef object spread_values(object buffer, int64_t first, int64_t words, Places places, value_t tag):
    """Spread values of one width, each of so many words."""
    cdef int64_t size = places.length * words * sizeof(value_t)
    cdef Memory memory = with_room(None, size + 1)
    cdef value_t *data = <value_t *>memory.data
    cdef const value_t *source = <const value_t *>address(buffer) + first * words
    cdef const int32_t *rows = places.rows
    cdef int64_t count = places.count
    cdef int64_t at
    with nogil:
        memset(data, 0, size)
        if words == 1:
            for at in range(count):
                data[rows[at]] = source[at]
        else:
            for at in range(count):
                memcpy(data + rows[at] * words, source + at * words, words * sizeof(value_t))
    return memory.lend(0, size)


cdef object spread_offsets(object buffer, int64_t first, Places places, offset_t tag):
    cdef int64_t size = (places.length + 1) * sizeof(offset_t)
    cdef Memory memory = with_room(None, size)
    cdef offset_t *data = <offset_t *>memory.data
    cdef const offset_t *source = <const offset_t *>address(buffer) + first
    cdef const int32_t *ranks = places.ranks
    cdef int64_t length = places.length
    cdef int64_t at
    if buffer is None:
        # An array of no values has no offsets.
        memset(data, 0, size)
        return memory.lend(0, size)
    with nogil:
        for at in range(length + 1):
            data[at] = source[ranks[at]]
    return memory.lend(0, size)
