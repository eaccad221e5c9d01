"""Output columns that grow in pyarrow's memory pool; see the .pxd for how they are kept.

Before each block of rows, room is made for all that its payloads can yield in any column. Row loops therefore store
without a check. That is room for the same bytes in each column, so it is for blocks and types for which it is little
(`Builder.missing`); where it is not, the row loop asks for every text and item (`kcodec.plan._budget`), and a column
grows by what it takes itself. Validity and booleans are bytes while a block is decoded, and packed into
bits when it is done; text is checked for UTF-8 then too, all of a block at once.
"""

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove

from kcodec.columns.built._column cimport (
    BITS, BLOB, FIXED, LIST, MAP, NOTHING, SLOP, STRUCT, TEXT, Column, Kind, offset_at,
)
from kcodec.columns.built._copy cimport DEEP, copy_of, count_zeros, size_of
from kcodec.columns.built._memory cimport Kept, Memory, keep_in, with_room
from kcodec.wire.binary.cursor cimport pack8, pack_bytes
from kcodec.wire.binary.status cimport NO_MEMORY, OK, SIZE_LIMIT, Status
from kcodec.wire.text.utf8 cimport utf8_valid_values32, utf8_valid_values64

cimport cython

import pyarrow as pa

from kcodec.columns.types.layout import item_bytes, layout as layout_of
from kcodec.errors import CapacityError

__all__ = ["release_unused"]

cdef enum:
    NARROW = 512       # columns that caches can be kept from mixing up
    FEW_UNPACKED = 512  # values whose byte maps wait for those of the next block
    FEW_ITEMS = 4      # that a list has room for, at least
    BITMAP = 0         # numbers of the buffers of a column
    OFFSETS = 1
    DATA = 2
    BEHIND = 8         # bytes behind the last one of texts, so that eight can be loaded wherever one is
    SMALL = 1 << 16        # bytes of a column that are copied in less time than it takes to hand them over
    MOST_COPIED = 4 << 20  # of all columns
    MOST_ROOM = 40 << 20   # bytes that kept builders have
    MOST_SPARE = 64        # builders that are kept

#: Builders that no call has, the oldest first.
cdef list spare = []


cdef Kind kind_of(object kind) except *:
    if pa.types.is_null(kind):
        return NOTHING
    if pa.types.is_boolean(kind):
        return BITS
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return TEXT
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return BLOB
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return LIST
    if pa.types.is_map(kind):
        return MAP
    if pa.types.is_struct(kind):
        return STRUCT
    return FIXED


cdef class Shape:
    """The columns of one Arrow type: what every `Builder` of that type starts from."""

    def __cinit__(self, arrow_type):
        cdef Column *column
        cdef list depths = []
        cdef int32_t depth
        self.layout = layout_of(arrow_type)
        self.count = len(self.layout)
        self.columns = <Column *>calloc(self.count, sizeof(Column))
        if self.columns == NULL:
            raise MemoryError
        for entry in self.layout:
            kind = entry.type
            if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_large_list(kind):
                self.wide = True
            column = &self.columns[entry.index]
            column.kind = kind_of(kind)
            # The entries of a map are a level of their own.
            depth = (<int32_t>depths[entry.parent] if entry.parent >= 0 else 0) + (2 if column.kind == MAP else 1)
            depths.append(depth)
            self.depth = max(self.depth, depth)
            column.end = entry.end
            column.scope = -1
            if entry.parent >= 0:
                column.scope = self.columns[entry.parent].scope
                if self.columns[entry.parent].kind == LIST or self.columns[entry.parent].kind == MAP:
                    column.scope = entry.parent
            if column.kind == FIXED:
                column.width = kind.byte_width
            if column.kind != NOTHING and (entry.nullable or entry.parent < 0):
                column.valid_map = <uint8_t *>1  # marks that there is one; allocated when room is made
        for at, size in item_bytes(self.layout).items():
            self.columns[at].width = size

    def __dealloc__(self):
        free(self.columns)


cdef class Builder(Kept):
    """The columns of one shape, for a known number of rows."""

    def __cinit__(self, Shape shape, int64_t rows):
        self.shape = shape
        self.layout = shape.layout
        self.count = shape.count
        self.wide = shape.wide
        # First, as columns that are there are taken for filled when this is freed.
        self.lengths = <int64_t *>malloc(self.count * sizeof(int64_t))
        if self.lengths == NULL:
            raise MemoryError
        self.columns = <Column *>malloc(self.count * sizeof(Column))
        if self.columns == NULL:
            raise MemoryError
        memcpy(self.columns, shape.columns, self.count * sizeof(Column))
        self.spread = 31 if self.count <= NARROW else 0
        self.buffers = [[None, None, None] for _ in range(self.count)]
        self.begin(rows)

    cdef int begin(self, int64_t rows) except -1:
        """Prepare for so many rows; the columns keep the room that they have."""
        cdef Column *column
        cdef Column *above
        cdef int32_t at
        self.rows = rows
        self.measured = -1
        for at in range(self.count):
            column = &self.columns[at]
            column.first = 0
            if column.valid_map != NULL and column.scratch_room:
                column.valid = column.valid_map
            if column.kind == BITS:
                column.data = column.data_map
            column.counted = column.counted_row = 0
            if column.scope >= 0 and (column.valid_map != NULL or column.kind == BITS):
                # Items were counted from where the byte maps started then, which is now at the first one again.
                above = &self.columns[column.scope]
                above.below_room = min(above.below_room, max(column.scratch_room - 1, 0))
            if column.scope < 0 and max(rows, 1) > column.items_room:
                self.grow_items(at, rows)
        return 0

    def __dealloc__(self):
        cdef int32_t at
        if self.columns != NULL:
            for at in range(self.count):
                if self.columns[at].scratch_room:
                    free(self.columns[at].valid_map)
                free(self.columns[at].data_map)
            free(self.columns)
        free(self.lengths)

    cdef int64_t length(self, int32_t column, int64_t row) noexcept nogil:
        """Return the number of values of a column after so many rows."""
        cdef int32_t scope = self.columns[column].scope
        if scope < 0:
            return row
        if self.columns[scope].items_room == 0:
            return 0
        return offset_at(&self.columns[scope], self.length(scope, row), self.wide)

    cdef void measure(self, int64_t row) noexcept nogil:
        """Set `lengths` to the number of values of each column after so many rows, all of which are finished."""
        cdef const Column *above
        cdef int32_t at
        if row == self.measured:
            return
        self.measured = row
        for at in range(self.count):
            self.lengths[at] = row
            if self.columns[at].scope >= 0:
                above = &self.columns[self.columns[at].scope]
                self.lengths[at] = 0
                if above.items_room:
                    self.lengths[at] = offset_at(above, self.lengths[self.columns[at].scope], self.wide)

    cdef int64_t bytes_used(self, int32_t column, int64_t length) noexcept nogil:
        if self.columns[column].items_room == 0:
            return 0
        return offset_at(&self.columns[column], length, self.wide)

    cdef bint has_room(
        self, int64_t row, int64_t block, int64_t payload, int64_t extra, const int64_t *divisor
    ) noexcept nogil:
        """Return whether a block fits, given its first row, its number of rows, and the bytes of its payloads.

        `extra` is the bytes and items that it may yield beyond what its payloads hold. `divisor` has, per list or map,
        the fewest bytes of one of its items. NULL: texts and items ask for their room.
        """
        cdef int32_t at
        cdef Column *column
        cdef int64_t length
        cdef int64_t items
        self.measure(row)
        for at in range(self.count):
            column = &self.columns[at]
            length = self.lengths[at]
            if column.scope < 0:
                items = row + block
            elif divisor == NULL:
                continue
            else:
                items = length + payload // divisor[column.scope] + extra + 1
                if items > column.items_room:
                    return False
            # And for one more: a row that failed is read again behind the block.
            if (column.valid_map != NULL or column.kind == BITS) and items - column.first >= column.scratch_room:
                return False
            if divisor != NULL and (column.kind == TEXT or column.kind == BLOB):
                if self.bytes_used(at, length) + payload + extra + SLOP > column.bytes_room:
                    return False
        return True

    cdef bint has_items(self) noexcept nogil:
        """Return whether there are lists or maps."""
        cdef int32_t at
        for at in range(self.count):
            if self.columns[at].scope >= 0:
                return True
        return False

    cdef int64_t missing(
        self, int64_t block, int64_t payload, int64_t extra, const int64_t *divisor
    ) noexcept nogil:
        """Return how much room `grow` would make for a block in all columns together, of bytes and items."""
        cdef int64_t total = 0
        cdef int32_t at
        cdef const Column *column
        for at in range(self.count):
            column = &self.columns[at]
            if (column.kind == LIST or column.kind == MAP) and divisor[at] <= payload + extra:
                total += (payload // divisor[at] + extra + 1) * column.width
            elif column.kind == TEXT or column.kind == BLOB:
                total += payload + extra + SLOP
        return total

    cdef int grow(
        self, int64_t row, int64_t block, int64_t payload, int64_t extra, const int64_t *divisor, int64_t ahead
    ) except -1:
        """Make room for a block and, estimated by what the rows so far took, for the following rows.

        `ahead` are the bytes of all payloads from `row` on.
        """
        cdef int32_t at
        cdef Column *column
        cdef int64_t length
        cdef int64_t items
        cdef int64_t bytes
        cdef int64_t used
        cdef int64_t needed
        cdef int64_t max_offset
        for at in range(self.count):
            column = &self.columns[at]
            length = self.length(at, row)
            items = row + block
            if column.scope >= 0:
                if divisor == NULL:
                    continue
                items = length + payload // divisor[column.scope] + extra + 1
                if items > column.items_room:
                    # Offsets of a map have 32 bits always.
                    max_offset = INT64_MAX if self.wide and self.columns[column.scope].kind != MAP else INT32_MAX
                    if items > max_offset:
                        raise self.too_large(at, "items")
                    # No more room than offsets reach, so that a block that does not fit is noticed here.
                    items = max(items, self.predict(length, row, items, ahead // divisor[column.scope]))
                    self.grow_items(at, min(items, max_offset))
                    items = length + payload // divisor[column.scope] + extra + 1
            if (column.valid_map != NULL or column.kind == BITS) and items - column.first >= column.scratch_room:
                self.grow_scratch(at, items - column.first + (items - column.first) // 2 + 8)
            if divisor != NULL and (column.kind == TEXT or column.kind == BLOB):
                used = self.bytes_used(at, length)
                needed = used + payload + extra + SLOP
                if needed > column.bytes_room:
                    max_offset = INT64_MAX if self.wide else INT32_MAX
                    if needed > max_offset:
                        raise self.too_large(at, "bytes")
                    bytes = min(max(needed, self.predict(used, row, needed, ahead)), max_offset)
                    column.data = self.resize(at, DATA, bytes + BEHIND)
                    # Behind it, as columns may be used on where there was no memory.
                    column.bytes_room = bytes
        return 0

    cdef int64_t predict(self, int64_t used, int64_t row, int64_t needed, int64_t ahead):
        """Estimate what all rows take from the finished ones, bounded by what their bytes can hold.

        Symbols, defaults and the like are in no row's bytes: with them, the room grows by half at least.
        """
        cdef int64_t guess
        if row == 0:
            return 0
        # Growing copies the whole column. Two percent and two blocks more than the average make a second growth
        # unlikely.
        guess = <int64_t>(<double>used / <double>row * <double>self.rows * 1.02) + 2 * (needed - used)
        return min(guess, needed + max(ahead, used // 2))

    cdef object too_large(self, int32_t at, what):
        name = self.layout[at].name or "the column"
        return CapacityError(
            f"{name}: more than 2 GiB of {what} in one call; pass large=True for 64-bit offsets, or fewer rows"
        )

    cdef uint8_t *resize(self, int32_t at, int which, int64_t size) except NULL:
        cdef int64_t margin = self.margin(at, which)
        cdef list mine = self.buffers[at]
        cdef Memory memory = mine[which]
        if memory is not None:
            self.room -= memory.room
        memory = with_room(memory, size + margin)
        self.room += memory.room
        mine[which] = memory
        return memory.data + margin

    cdef int64_t margin(self, int32_t at, int which) noexcept nogil:
        """Shift each buffer by some cache lines of its own, unless there are too many for that to help."""
        return 64 * ((3 * at + which) & self.spread)

    cdef object trimmed(self, int32_t at, int which, Memory memory, int64_t size):
        return memory.lend(self.margin(at, which), size)

    cdef int grow_items(self, int32_t at, int64_t items) except -1:
        """Make room for so many values of a column, without the bytes of text and blobs."""
        cdef Column *column = &self.columns[at]
        cdef bint fresh = column.items_room == 0
        cdef int64_t width
        # A column of no rows has its first offset, and that is room.
        items = max(items, 1)
        if column.kind == FIXED:
            column.data = self.resize(at, DATA, items * column.width + 8)
        elif column.kind == BITS:
            column.bits = self.resize(at, DATA, items // 8 + 8)
        elif column.kind == TEXT or column.kind == BLOB or column.kind == LIST or column.kind == MAP:
            width = 8 if self.wide and column.kind != MAP else 4
            column.offsets = self.resize(at, OFFSETS, (items + 1) * width)
            if fresh:
                (<int32_t *>column.offsets)[0] = 0
                if width == 8:
                    (<int64_t *>column.offsets)[0] = 0
        if column.valid_map != NULL:
            column.bitmap = self.resize(at, BITMAP, items // 8 + 8)
        column.items_room = items
        return 0

    cdef int grow_scratch(self, int32_t at, int64_t items) except -1:
        cdef Column *column = &self.columns[at]
        cdef uint8_t *memory
        # The map of validity comes last: it is freed only where `scratch_room` says that there is one.
        if column.kind == BITS:
            memory = <uint8_t *>realloc(column.data_map, items)
            if memory == NULL:
                raise MemoryError
            column.data_map = memory
            column.data = memory - column.first
        if column.valid_map != NULL:
            memory = <uint8_t *>realloc(column.valid_map if column.scratch_room else NULL, items)
            if memory == NULL:
                raise MemoryError
            column.valid_map = memory
            column.valid = memory - column.first
            self.room += items - column.scratch_room
        if column.kind == BITS:
            self.room += items - column.scratch_room
        column.scratch_room = items
        return 0

    cdef void begin_row(self, int64_t row, int64_t max_bytes) noexcept nogil:
        """Prepare for a row that asks for its room, and whose items may take so many bytes."""
        self.row = row
        self.row_bytes = 0
        self.max_row_bytes = max_bytes

    cdef int64_t items_bytes(self, int64_t row) noexcept nogil:
        """Return what the items of a row take, but for their text, by `item_bytes`."""
        cdef int64_t total = 0
        cdef int32_t at
        cdef const Column *column
        for at in range(self.count):
            column = &self.columns[at]
            if (column.kind == LIST or column.kind == MAP) and column.items_room:
                total += column.width * (
                    offset_at(column, self.length(at, row + 1), self.wide)
                    - offset_at(column, self.length(at, row), self.wide)
                )
        return total

    cdef Status add_bytes(self, int32_t at, int64_t needed):
        """Make room for so many bytes of text or blobs, and for more to come."""
        cdef Column *column = &self.columns[at]
        cdef int64_t most = INT64_MAX if self.wide else INT32_MAX
        cdef int64_t bytes = min(max(needed, 2 * column.bytes_room), most)
        try:
            if needed > most:
                raise self.too_large(at, "bytes")
            column.data = self.resize(at, DATA, bytes + BEHIND)
            column.bytes_room = bytes
        except (CapacityError, MemoryError) as error:
            self.problem = error
            return NO_MEMORY
        return OK

    cdef Status add_items(self, int32_t at, int64_t needed):
        """Make room for so many items of a list or map, and for more to come.

        SIZE_LIMIT says that the row in hand has more items than it may.
        """
        cdef Column *above = &self.columns[at]
        cdef Column *column
        cdef int64_t items = max(needed, FEW_ITEMS)
        # The first item of the row; the map of one that failed is as it was.
        cdef int64_t first = self.length(at + 1, self.row)
        cdef int64_t most = INT64_MAX if self.wide and above.kind != MAP else INT32_MAX
        cdef int32_t below
        if above.counted_row != self.row:
            above.counted_row = self.row
            above.counted = 0
        self.row_bytes += (needed - first) * above.width - above.counted
        above.counted = (needed - first) * above.width
        if self.row_bytes > self.max_row_bytes:
            return SIZE_LIMIT
        try:
            if needed > most:
                raise self.too_large(at, "items")
            items = min(max(items, 2 * above.below_room), most)
            for below in range(at + 1, above.end):
                column = &self.columns[below]
                if column.scope != at:
                    continue
                if items > column.items_room:
                    self.grow_items(below, items)
                if (column.valid_map != NULL or column.kind == BITS) and items - column.first >= column.scratch_room:
                    self.grow_scratch(below, items - column.first + 8)
        except (CapacityError, MemoryError) as error:
            self.problem = error
            return NO_MEMORY
        above.below_room = items
        return OK

    cdef int32_t invalid_text(self, int64_t first_row, int64_t row) noexcept nogil:
        """Check the text of a block; return the first column that is not UTF-8 throughout, or -1."""
        cdef int32_t at
        for at in range(self.count):
            if not self.valid_text(at, first_row, row):
                return at
        return -1

    cdef bint valid_text(self, int32_t at, int64_t first_row, int64_t row) noexcept nogil:
        """Return whether the values of some rows in a column are UTF-8; True for columns that need not be."""
        cdef Column *column = &self.columns[at]
        cdef int64_t first
        cdef int64_t count
        if column.kind != TEXT or column.items_room == 0:
            return True
        first = self.length(at, first_row)
        count = self.length(at, row) - first
        if self.wide:
            return utf8_valid_values64(column.data, <int64_t *>column.offsets + first, count)
        return utf8_valid_values32(column.data, <int32_t *>column.offsets + first, count)

    cdef void pack(self, int64_t row, bint last) noexcept nogil:
        """Pack the byte maps of a finished block into bits; those of few values only with the last block."""
        cdef int32_t at
        cdef Column *column
        cdef int64_t length
        self.measure(row)
        for at in range(self.count):
            column = &self.columns[at]
            length = self.lengths[at]
            if column.scratch_room == 0 or (length - column.first < FEW_UNPACKED and not last):
                continue
            if column.valid_map != NULL:
                pack_map(column.valid_map, column.bitmap, column.first, length)
            if column.kind == BITS:
                pack_map(column.data_map, column.bits, column.first, length)
            # The last byte of bits may be incomplete. Its values stay in the map, so that the next block packs all of
            # it.
            column.first = length & ~<int64_t>7
            if column.valid_map != NULL:
                column.valid = column.valid_map - column.first
            if column.kind == BITS:
                column.data = column.data_map - column.first

    cdef object finish(self):
        """Hand the columns over as an array: a copy of small ones, else their buffers, trimmed to what they hold."""
        cdef int64_t size
        if self.shape.depth <= DEEP:
            size = size_of(self.columns, 0, self.rows, self.wide)
            if size <= min(self.count * SMALL, MOST_COPIED):
                made = copy_of(self.columns, self.wide, self.rows, size, self.layout[0].type)
                keep_in(spare, self, MOST_ROOM, MOST_SPARE)
                return made
        return self.array(0, self.rows)

    cdef object array(self, int32_t at, int64_t length):
        cdef Column *column = &self.columns[at]
        cdef int64_t nulls = 0
        cdef int64_t width
        entry = self.layout[at]
        kind = entry.type
        if column.kind == NOTHING:
            return pa.nulls(length)
        if column.items_room == 0:
            # Of a list, pyarrow would first load pandas.
            return pa.nulls(0, kind)
        bitmap, offsets, data = self.buffers[at]
        self.buffers[at] = None
        if bitmap is not None:
            # Without a bitmap Arrow knows that there are no nulls, and whoever reads the array saves the check.
            nulls = count_zeros(column.bitmap, length)
            if nulls:
                bitmap = self.trimmed(at, BITMAP, bitmap, (length + 7) // 8)
            else:
                bitmap = None
        if column.kind == STRUCT:
            children = [self.array(child, length) for child in entry.children]
            return pa.Array.from_buffers(kind, length, [bitmap], nulls, 0, children)
        if column.kind == FIXED or column.kind == BITS:
            data = self.trimmed(
                at, DATA, data, (length + 7) // 8 if column.kind == BITS else length * column.width
            )
            return pa.Array.from_buffers(kind, length, [bitmap, data], nulls)
        used = offset_at(column, length, self.wide)
        width = 8 if self.wide and column.kind != MAP else 4
        offsets = self.trimmed(at, OFFSETS, offsets, (length + 1) * width)
        if column.kind == TEXT or column.kind == BLOB:
            if data is None:
                data = pa.py_buffer(b"")
            else:
                data = self.trimmed(at, DATA, data, used)
            return pa.Array.from_buffers(kind, length, [bitmap, offsets, data], nulls)
        children = [self.array(child, used) for child in entry.children]
        if column.kind == MAP:
            entries = pa.struct([kind.key_field, kind.item_field])
            children = [pa.Array.from_buffers(entries, used, [None], 0, 0, children)]
        return pa.Array.from_buffers(kind, length, [bitmap, offsets], nulls, 0, children)


cdef Builder builder_of(Shape shape, int64_t rows):
    """Return a builder, one that is kept if there is any."""
    cdef Builder builder
    cdef int64_t at
    with cython.critical_section(spare):
        for at in range(len(spare) - 1, -1, -1):
            builder = spare[at]
            # Columns of a few bytes a row are copied even if there are many rows.
            if builder.shape is shape and (rows * 8 <= SMALL or rows <= builder.columns[0].items_room):
                del spare[at]
                builder.begin(rows)
                return builder
    return Builder(shape, rows)


def release_unused():
    """Free the memory of builders that no call has."""
    with cython.critical_section(spare):
        spare.clear()


cdef Status more_bytes(void *builder, const Column *column, int64_t needed) noexcept with gil:
    """Make room in one of the builder's columns, see `Builder.add_bytes`."""
    return (<Builder>builder).add_bytes(<int32_t>(column - (<Builder>builder).columns), needed)


cdef Status more_items(void *builder, const Column *column, int64_t needed) noexcept with gil:
    """Make room below one of the builder's columns, see `Builder.add_items`."""
    return (<Builder>builder).add_items(<int32_t>(column - (<Builder>builder).columns), needed)


cdef void pack_map(uint8_t *source, uint8_t *bits, int64_t first, int64_t length) noexcept nogil:
    """Pack the byte map of values `first` (a multiple of 8) to `length`; a last, partial group stays unpacked, too."""
    cdef int64_t at
    cdef int64_t whole = (length & ~<int64_t>7) - first
    cdef int64_t tail = length & 7
    pack_bytes(bits + (first >> 3), source, whole)
    if tail:
        memmove(source, source + whole, tail)
        for at in range(tail, 8):
            source[at] = 0
        bits[(first + whole) >> 3] = pack8(source)
