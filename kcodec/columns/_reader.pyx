"""The columns of an array to be encoded.

Slices are resolved once, here: the pointers of a column are those of its value with index 0, whatever offset the
array has, so that row loops use plain indexes.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc, free

import pyarrow as pa


cdef const uint8_t *address(object buffer) except? NULL:
    return NULL if buffer is None else <const uint8_t *><uintptr_t>buffer.address


cdef int64_t size_of(object buffer) except -1:
    return 0 if buffer is None else buffer.size


cdef uint8_t EMPTY = 0


cdef class Inputs:
    """The columns of one array; holds it, so that its memory stays."""

    def __cinit__(self, array, layout):
        self.layout = layout
        self.count = len(self.layout)
        self.length = len(array)
        self.keep = []
        self.columns = <Input *>calloc(self.count, sizeof(Input))
        if self.columns == NULL:
            raise MemoryError
        self.read(array, 0, -1)

    def __dealloc__(self):
        free(self.columns)

    cdef int read(self, object array, int32_t at, int32_t scope) except -1:
        cdef Input *column = &self.columns[at]
        cdef int64_t first = array.offset
        entry = self.layout[at]
        kind = array.type
        buffers = array.buffers()
        self.keep.append(array)
        column.scope = scope
        column.end = entry.end
        column.first = first
        if pa.types.is_null(kind):
            column.all_null = True
            return 0
        if array.null_count:
            column.validity = address(buffers[0])
        if pa.types.is_struct(kind):
            for position, child in enumerate(entry.children):
                self.read(array.field(position), child, scope)
        elif pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
            column.wide = pa.types.is_large_list(kind)
            column.offsets = address(buffers[1]) + first * (8 if column.wide else 4)
            items = [array.values]
            if pa.types.is_map(kind):
                # Not `keys` and `items`: these forget where the entries start.
                items = [array.values.field(0), array.values.field(1)]
            for part, child in zip(items, entry.children):
                self.read(part, child, at)
        elif pa.types.is_boolean(kind):
            column.width = 1
            column.data = address(buffers[1])
        elif pa.types.is_fixed_size_binary(kind) or pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
            column.width = kind.bit_width // 8
            column.signed = not pa.types.is_unsigned_integer(kind)
            column.data = address(buffers[1]) + first * column.width
            column.limit = address(buffers[1]) + size_of(buffers[1])
        elif pa.types.is_string(kind) or pa.types.is_binary(kind) \
                or pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
            column.wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
            column.offsets = address(buffers[1]) + first * (8 if column.wide else 4)
            column.data = address(buffers[2]) if buffers[2] is not None else &EMPTY
            column.limit = column.data + size_of(buffers[2])
        # Other layouts (unions, views, run ends) have no plan that reads them.
        return 0

    cdef bint any_null(self, object columns) except *:
        """Return whether any of some columns has nulls."""
        cdef int32_t at
        for at in columns:
            if self.columns[at].validity != NULL or self.columns[at].all_null:
                return True
        return False

    cdef int64_t max_bytes(
        self, const int64_t *costs, const int64_t *stretch, int64_t row, int64_t end
    ) noexcept nogil:
        """Bound the bytes that rows take: `costs` per value of a column, `stretch` per byte of text (NULL: one)."""
        cdef int32_t at
        cdef int64_t total = 0
        cdef int64_t first
        cdef int64_t last
        cdef int64_t factor
        cdef const Input *column
        for at in range(self.count):
            column = &self.columns[at]
            span(self.columns, at, row, end, &first, &last)
            total += (last - first) * costs[at]
            factor = stretch[at] if stretch != NULL else column.data != NULL
            if factor and column.offsets != NULL and last > first:
                total += (start_of(column, last) - start_of(column, first)) * factor
        return total


cdef void span(
    const Input *columns, int32_t at, int64_t row, int64_t end, int64_t *first, int64_t *last
) noexcept nogil:
    """Find the values of a column that belong to the rows from `row` to `end`."""
    cdef int32_t scope = columns[at].scope
    first[0] = row
    last[0] = end
    if scope >= 0:
        span(columns, scope, row, end, first, last)
        if last[0] > first[0]:
            last[0] = start_of(&columns[scope], last[0])
            first[0] = start_of(&columns[scope], first[0])
