"""Columns that are handed over as a copy, all in one piece of memory.

A buffer of pyarrow's pool takes half a microsecond to make, and an array of it twice that; small columns are copied in
less. So these stay with their builder, which the next call then finds with all the room that it needs, and pyarrow
gets one piece of memory of just their size, as a whole, by the Arrow C data interface::

    ArrowArray of each column but the first | their pointers | buffers, each at a multiple of 64 bytes

It is freed with the last of the arrays.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from kcodec.columns.built._c_data cimport ArrowArray
from kcodec.columns.built._column cimport BITS, BLOB, FIXED, MAP, NOTHING, STRUCT, TEXT, Column, offset_at
from kcodec.columns.built._memory cimport ALIGNMENT, Memory, aligned, hand_over, with_room
from kcodec.wire.binary.cursor cimport load_le64, popcount64

cdef enum:
    BUFFERS = 3        # of a column, at most


cdef struct Copy:
    ArrowArray *node       # the next one
    const void **pointer
    uint8_t *data          # where the next buffer goes
    bint wide


cdef object copy_of(const Column *columns, bint wide, int64_t rows, int64_t size, object kind):
    """Return a copy of columns, of whose buffers `size_of` says what they take, as an array."""
    cdef ArrowArray root
    cdef Copy copy
    cdef Memory memory
    cdef int32_t at
    # The entries of a map are a struct, which has no column.
    cdef int64_t nodes = columns[0].end
    cdef int64_t head
    for at in range(columns[0].end):
        nodes += columns[at].kind == MAP
    # Each has its buffers, and a pointer to it.
    head = aligned(nodes * <int64_t>(sizeof(ArrowArray) + (BUFFERS + 1) * sizeof(void *)))
    # A buffer of no bytes behind the last one starts within it, too.
    memory = with_room(None, head + size + ALIGNMENT)
    copy.node = <ArrowArray *>memory.data
    copy.pointer = <const void **>(copy.node + nodes)
    copy.data = memory.data + head
    copy.wide = wide
    fill(&root, columns, 0, rows, &copy)
    return hand_over(&root, memory, kind)


cdef int64_t used_of(const Column *column, int64_t length, bint wide) noexcept nogil:
    """Return the bytes of text, or the items of a list, up to a value."""
    return offset_at(column, length, wide) if length else 0


cdef int64_t size_of(const Column *columns, int32_t at, int64_t length, bint wide) noexcept nogil:
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
        size += size_of(columns, child, length, wide)
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
