"""The columns of an array to be encoded.

Slices are resolved once, here: the pointers of a column are those of its value with index 0, whatever offset the
array has, so that row loops use plain indexes.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport atoi, calloc, free
from libc.string cimport strchr, strrchr

from kcodec.columns.arrays._integrity cimport Exported
from kcodec.columns.built._c_data cimport ArrowArray, ArrowSchema
from kcodec.wire.binary.offsets cimport falls32, falls64
from kcodec.wire.text.ascii cimport is_ascii
from kcodec.wire.text.utf8 cimport utf8_valid_values32, utf8_valid_values64

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.written.inputs_py import Inputs as Columns

cdef uint8_t EMPTY = 0


cdef int32_t width_of(const char *format) noexcept nogil:
    """Return the bytes of a value of fixed width, by its type's name in the C data interface; 1 for a bool."""
    cdef char first = format[0]
    cdef const char *last
    if first == b"w":
        return atoi(format + 2)                     # w:bytes
    if first == b"d":
        last = strrchr(format, b",") + 1            # d:precision,scale or d:precision,scale,bits
        return 16 if last == strchr(format, b",") + 1 else atoi(last) // 8
    if first == b"t" and format[1] == b"i":
        return 16 if format[2] == b"n" else 8 if format[2] == b"D" else 4
    if first == b"t" and (format[1] == b"d" or format[1] == b"t"):
        return 4 if format[2] == b"D" or format[2] == b"s" or (format[1] == b"t" and format[2] == b"m") else 8
    if first == b"b" or first == b"c" or first == b"C":
        return 1
    if first == b"s" or first == b"S" or first == b"e":
        return 2
    return 4 if first == b"i" or first == b"I" or first == b"f" else 8


cdef void bind_values(Input *column, const char *format, const ArrowArray *array) noexcept nogil:
    """Bind a column that has none below it."""
    cdef char first = format[0]
    cdef const uint8_t *values = <const uint8_t *>array.buffers[1]
    if first == b"b":
        column.width = 1
        column.data = values
    elif first == b"u" or first == b"z" or first == b"U" or first == b"Z":
        column.wide = first == b"U" or first == b"Z"
        column.offsets = values + column.first * (8 if column.wide else 4)
        column.data = <const uint8_t *>array.buffers[2] if array.buffers[2] != NULL else &EMPTY
        column.limit = column.data
        if array.length:
            column.limit += start_of(column, array.offset + array.length - column.first)
    else:
        column.width = width_of(format)
        column.signed = first != b"C" and first != b"S" and first != b"I" and first != b"L"
        column.data = values + column.first * column.width
        column.limit = values + (array.offset + array.length) * column.width


cdef int32_t bind(
    Inputs inputs, int32_t at, int32_t scope, const ArrowSchema *kind, const ArrowArray *array, int64_t start
) noexcept nogil:
    """Bind a column to the values of an array from `start` on, and those below it; return the number after them."""
    cdef Input *column = &inputs.columns[at]
    cdef const char *format = kind.format
    cdef int32_t next = at + 1
    cdef int64_t child
    column.scope = scope
    column.first = array.offset + start
    inputs.reach[at].end = array.length - start
    if format[0] == b"n":
        column.all_null = True
    elif kind.dictionary == NULL:
        if array.null_count:
            column.validity = <const uint8_t *>array.buffers[0]
        if format[0] != b"+":
            if format[0] != b"v":
                bind_values(column, format, array)
                inputs.reach[at].text = format[0] == b"u" or format[0] == b"U"
        elif format[1] == b"s":
            for child in range(kind.n_children):
                next = bind(inputs, next, scope, kind.children[child], array.children[child], column.first)
        elif format[1] == b"l" or format[1] == b"L":
            column.wide = format[1] == b"L"
            column.offsets = <const uint8_t *>array.buffers[1] + column.first * (8 if column.wide else 4)
            next = bind(inputs, next, at, kind.children[0], array.children[0], 0)
        elif format[1] == b"m":
            column.offsets = <const uint8_t *>array.buffers[1] + column.first * 4
            # The struct of the entries has no number.
            kind, array = kind.children[0], array.children[0]
            for child in range(2):
                next = bind(inputs, next, at, kind.children[child], array.children[child], array.offset)
        elif format[1] == b"u":
            inputs.has_unions = True
    # Other layouts (views, run ends, dictionaries) have no plan that reads them.
    column.end = next
    return next


cdef class Inputs:
    """The columns of one array; keeps alive what Arrow exported of it."""

    def __cinit__(self, array, layout):
        self.exported = Exported(array)
        self.count = len(layout)
        self.length = len(array)
        self.columns = <Input *>calloc(self.count, sizeof(Input))
        self.reach = <Reach *>calloc(self.count, sizeof(Reach))
        if self.columns == NULL or self.reach == NULL:
            raise MemoryError
        bind(self, 0, -1, self.exported.kind.schema, &self.exported.array, 0)
        if self.has_unions:
            self.bind_unions(array)

    def __dealloc__(self):
        free(self.columns)
        free(self.reach)

    cdef int bind_unions(self, object array) except -1:
        """Tell which values of unions are null: they have no bits for that, but those of their members."""
        cdef int32_t at
        self.kept = []
        for at, values in enumerate(Columns(array).arrays):
            if pa.types.is_union(values.type):
                valid = pc.is_valid(values)
                self.columns[at].first = valid.offset
                self.columns[at].validity = <const uint8_t *><uintptr_t>valid.buffers()[1].address
                self.kept.append(valid)
        return 0

    cdef bint in_order(self, int64_t row, int64_t end) noexcept nogil:
        """Return whether the offsets of some rows are in order and within the data."""
        cdef int32_t at
        cdef const Input *column
        cdef const Reach *owner
        cdef int64_t first
        cdef int64_t last
        for at in range(self.count):
            column = &self.columns[at]
            first = row
            last = end
            if column.scope >= 0:
                # An owner comes before what it owns, so that its offsets have been looked at.
                owner = &self.reach[column.scope]
                first = last = 0
                if owner.last > owner.first:
                    first = start_of(&self.columns[column.scope], owner.first)
                    last = start_of(&self.columns[column.scope], owner.last)
            if first < 0 or last > self.reach[at].end:
                return False
            self.reach[at].first = first
            self.reach[at].last = last
            if column.offsets == NULL or last == first:
                continue
            if column.wide:
                if falls64(<const int64_t *>column.offsets + first, last - first):
                    return False
            elif falls32(<const int32_t *>column.offsets + first, last - first):
                return False
            if column.data != NULL and not (
                start_of(column, first) >= 0 and start_of(column, last) <= column.limit - column.data
            ):
                return False
        return True

    cdef bint is_utf8(self) noexcept nogil:
        """Return whether the text of the rows that `in_order` has looked at last is; also that beneath nulls."""
        cdef int32_t at
        cdef int64_t first
        cdef int64_t count
        cdef const uint8_t *start
        cdef const Input *column
        for at in range(self.count):
            column = &self.columns[at]
            first = self.reach[at].first
            count = self.reach[at].last - first
            if not self.reach[at].text or count <= 0:
                continue
            start = column.data + start_of(column, first)
            if is_ascii(start, start_of(column, first + count) - start_of(column, first)):
                continue
            if column.wide:
                if not utf8_valid_values64(column.data, <const int64_t *>column.offsets + first, count):
                    return False
            elif not utf8_valid_values32(column.data, <const int32_t *>column.offsets + first, count):
                return False
        return True

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
            self.span(at, row, end, &first, &last)
            total += (last - first) * costs[at]
            factor = stretch[at] if stretch != NULL else column.data != NULL
            if factor and column.offsets != NULL and last > first:
                total += (start_of(column, last) - start_of(column, first)) * factor
        return total

    cdef void span(self, int32_t at, int64_t row, int64_t end, int64_t *first, int64_t *last) noexcept nogil:
        """Find the values of a column that belong to some rows; the offsets of the last row may be unchecked yet."""
        cdef int32_t scope = self.columns[at].scope
        first[0] = row
        last[0] = end
        if scope >= 0:
            self.span(scope, row, end, first, last)
            if last[0] > first[0]:
                last[0] = min(start_of(&self.columns[scope], last[0]), self.reach[at].end)
                first[0] = start_of(&self.columns[scope], first[0])
