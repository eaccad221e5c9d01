"""Columns of few rows, which would cost more in calls than in work.

A buffer of pyarrow's pool takes half a microsecond to make, and an array of it twice that; the values of a row take
some nanoseconds. So the columns of few rows are written into one piece of memory that is kept for the next call. What
they hold is then copied into another one of just that size, which pyarrow gets as a whole, by the Arrow C data
interface::

    ArrowArray of each column but the first | their pointers | buffers, each at a multiple of 64 bytes

It is freed with the last of the arrays.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

cimport cython

from kcodec.columns._c_data cimport ArrowArray
from kcodec.columns._column cimport BITS, BLOB, FIXED, MAP, NOTHING, STRUCT, TEXT, Column, offset_at
from kcodec.wire.cursor cimport load_le64, popcount64

import pyarrow as pa

__all__ = ["release_unused"]

cdef enum:
    ROOM = 1 << 20     # bytes of an arena
    MOST_SPARE = 4     # arenas that are kept
    ALIGNMENT = 64

#: Arenas that no call has.
cdef list spare = []


cdef inline int64_t aligned(int64_t size) noexcept nogil:
    return (size + ALIGNMENT - 1) & ~<int64_t>(ALIGNMENT - 1)


cdef class Arena:
    """Memory that the buffers of a call share."""

    def __cinit__(self):
        self.memory = <uint8_t *>malloc(ROOM + ALIGNMENT)
        if self.memory == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.memory)

    cdef uint8_t *take(self, int64_t size) noexcept nogil:
        """Return memory of so many bytes; NULL if there is not as much left."""
        cdef uint8_t *found = self.memory + self.used
        if not 0 <= size <= ROOM - self.used:
            return NULL
        self.used = min(self.used + aligned(size), ROOM)
        return found

    cdef uint8_t *resize(self, int64_t number, int64_t size) noexcept nogil:
        """Return memory for a buffer, with the bytes that it has; NULL if there is not as much left."""
        cdef Part *part = &self.parts[number]
        cdef uint8_t *found = self.take(size)
        if found != NULL:
            if part.data != NULL:
                memcpy(found, part.data, min(part.size, size))
            part.data = found
            part.size = size
        return found


cdef bint may_fit(int32_t columns, int32_t texts, int64_t rows, int64_t payload) noexcept nogil:
    """Return whether an arena has room for so many rows and bytes in columns without large values."""
    if rows > FEW or columns > ROOM // 1024 or payload > ROOM // 2:
        return False
    return columns * (BUFFERS * (<int64_t>sizeof(Part) + ALIGNMENT) + 24 * rows) + texts * (payload + 128) <= ROOM


cdef Arena arena_of(int32_t columns):
    """Return an arena with the parts of so many columns, of which `may_fit` says that they fit."""
    cdef Arena arena
    cdef int64_t size = columns * BUFFERS * <int64_t>sizeof(Part)
    with cython.critical_section(spare):
        arena = spare.pop() if spare else None
    if arena is None:
        arena = Arena()
    arena.used = <int64_t>(-<uintptr_t>arena.memory & (ALIGNMENT - 1))
    arena.parts = <Part *>arena.take(size)
    memset(arena.parts, 0, size)
    return arena


cdef int put_back(Arena arena) except -1:
    """Keep an arena for the next call."""
    with cython.critical_section(spare):
        if len(spare) < MOST_SPARE:
            spare.append(arena)
    return 0


def release_unused():
    """Free the arenas that no call has."""
    with cython.critical_section(spare):
        spare.clear()


cdef struct Copy:
    ArrowArray *node       # the next one
    const void **pointer
    uint8_t *data          # where the next buffer goes
    bint wide


cdef object hand_over(const Column *columns, bint wide, int64_t rows, object kind):
    """Return columns as an array, with a copy of what they hold."""
    cdef ArrowArray root
    cdef Copy copy
    cdef int32_t at
    # The entries of a map are a struct, which has no column.
    cdef int64_t nodes = columns[0].end
    cdef int64_t head
    cdef uint8_t *memory
    for at in range(columns[0].end):
        nodes += columns[at].kind == MAP
    # Each has its buffers, and a pointer to it.
    head = aligned(nodes * <int64_t>(sizeof(ArrowArray) + (BUFFERS + 1) * sizeof(void *)))
    memory = <uint8_t *>malloc(head + measure(columns, 0, rows, wide) + 2 * ALIGNMENT)
    if memory == NULL:
        raise MemoryError
    copy.node = <ArrowArray *>memory
    copy.pointer = <const void **>(copy.node + nodes)
    copy.data = <uint8_t *>((<uintptr_t>memory + head + ALIGNMENT) & ~<uintptr_t>(ALIGNMENT - 1))
    copy.wide = wide
    fill(&root, columns, 0, rows, &copy)
    root.release = release_all
    root.private_data = memory
    return pa.Array._import_from_c(<uintptr_t>&root, kind)


cdef int64_t used_of(const Column *column, int64_t length, bint wide) noexcept nogil:
    """Return the bytes of text, or the items of a list, up to a value."""
    return offset_at(column, length, wide) if length else 0


cdef int64_t measure(const Column *columns, int32_t at, int64_t length, bint wide) noexcept nogil:
    """Return the bytes that the buffers of a column take, and of those below it."""
    cdef const Column *column = &columns[at]
    cdef int32_t child
    cdef int64_t size = 0
    cdef int64_t used
    if column.kind == NOTHING:
        return 0
    if column.valid_map != NULL:
        size = aligned((length + 7) // 8)
    if column.kind == FIXED:
        return size + aligned(length * column.width)
    if column.kind == BITS:
        return size + aligned((length + 7) // 8)
    if column.kind != STRUCT:
        used = used_of(column, length, wide)
        size += aligned((length + 1) * (8 if wide and column.kind != MAP else 4))
        if column.kind == TEXT or column.kind == BLOB:
            return size + aligned(used)
        length = used
    child = at + 1
    while child < column.end:
        size += measure(columns, child, length, wide)
        child = columns[child].end
    return size


cdef const void *copied(Copy *copy, const void *source, int64_t size) noexcept nogil:
    """Copy a buffer, which may have no bytes."""
    cdef uint8_t *found = copy.data
    if size:
        memcpy(found, source, size)
    copy.data += aligned(size)
    return found


cdef void begin(ArrowArray *node, int64_t length, int64_t buffers, Copy *copy) noexcept nogil:
    node.length = length
    node.null_count = 0
    node.offset = 0
    node.n_buffers = buffers
    node.buffers = copy.pointer
    copy.pointer += buffers
    if buffers:
        node.buffers[0] = NULL
    node.n_children = 0
    node.children = NULL
    node.dictionary = NULL
    node.release = release_one
    node.private_data = NULL


cdef ArrowArray *child_of(ArrowArray *node, int64_t number, Copy *copy) noexcept nogil:
    node.children[number] = copy.node
    copy.node += 1
    return node.children[number]


cdef void with_children(ArrowArray *node, int64_t count, Copy *copy) noexcept nogil:
    node.n_children = count
    node.children = <ArrowArray **>copy.pointer
    copy.pointer += count


cdef void fill(ArrowArray *node, const Column *columns, int32_t at, int64_t length, Copy *copy) noexcept nogil:
    """Describe a column and those below it, with copies of their buffers."""
    cdef const Column *column = &columns[at]
    cdef ArrowArray *above = node
    cdef int64_t width = 8 if copy.wide and column.kind != MAP else 4
    cdef int64_t used
    cdef int64_t count = 0
    cdef int32_t child
    if column.kind == NOTHING:
        begin(node, length, 0, copy)
        node.null_count = length
        return
    begin(node, length, 1 if column.kind == STRUCT else 3 if column.kind == TEXT or column.kind == BLOB else 2, copy)
    if column.valid_map != NULL and length:
        node.null_count = count_zeros(column.bitmap, length)
        # Without a bitmap Arrow knows that there are no nulls, and whoever reads the array saves the check.
        if node.null_count:
            node.buffers[0] = copied(copy, column.bitmap, (length + 7) // 8)
    if column.kind == FIXED:
        node.buffers[1] = copied(copy, column.data, length * column.width)
        return
    if column.kind == BITS:
        node.buffers[1] = copied(copy, column.bits, (length + 7) // 8)
        return
    if column.kind != STRUCT:
        used = used_of(column, length, copy.wide)
        if length:
            node.buffers[1] = copied(copy, column.offsets, (length + 1) * width)
        else:
            # There is one, whether room was made for any or not.
            memset(copy.data, 0, width)
            node.buffers[1] = copy.data
            copy.data += ALIGNMENT
        if column.kind == TEXT or column.kind == BLOB:
            node.buffers[2] = copied(copy, column.data, used)
            return
        length = used
    if column.kind == MAP:
        with_children(node, 1, copy)
        above = child_of(node, 0, copy)
        begin(above, length, 1, copy)
    child = at + 1
    while child < column.end:
        count += 1
        child = columns[child].end
    with_children(above, count, copy)
    count = 0
    child = at + 1
    while child < column.end:
        fill(child_of(above, count, copy), columns, child, length, copy)
        count += 1
        child = columns[child].end


cdef void release_one(ArrowArray *array) noexcept nogil:
    array.release = NULL


cdef void release_all(ArrowArray *array) noexcept nogil:
    free(array.private_data)
    array.release = NULL


cdef int64_t count_zeros(const uint8_t *bits, int64_t length) noexcept nogil:
    cdef uint64_t word
    cdef int64_t ones = 0
    cdef int64_t at = 0
    while at + 64 <= length:
        word = load_le64(bits + (at >> 3))
        ones += 64 if ~word == 0 else popcount64(word)
        at += 64
    while at < length:
        ones += (bits[at >> 3] >> (at & 7)) & 1
        at += 1
    return length - ones
