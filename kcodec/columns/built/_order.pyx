"""Values of columns that are being built, put into another order.

Rows that are read in an order other than theirs are stored in it first:

    source   0  2  1                     row 1 was read last
    offsets  0  1  4  6    a bbb cc
             0  1  3  6    a cc bbb
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcpy

from kcodec.columns.built._column cimport BITS, BLOB, FIXED, LIST, MAP, TEXT, Column, offset_t
from kcodec.wire.binary.cursor cimport likely, unlikely

cdef enum:
    STEP = 32          # bytes of text that are copied at once; as many may be read and written behind it

# What a value is copied as.
ctypedef fused value_t:
    uint8_t
    int32_t
    int64_t


cdef bint reorder(
    Column *columns, int at, int end, int64_t first, const int64_t *source, int64_t count, bint wide, Copies *copies
) noexcept nogil:
    cdef Column *column
    cdef bint done = True
    while done and at < end:
        column = &columns[at]
        at += 1
        if column.valid != NULL and memchr(column.valid + first, 0, count) != NULL:
            done = move(column.valid + first, 1, source, count, copies, <uint8_t>0)
        if column.kind == BITS:
            done = done and move(column.data + first, 1, source, count, copies, <uint8_t>0)
        elif column.kind == FIXED and column.width == 8:
            done = done and move(column.data + first * 8, 1, source, count, copies, <int64_t>0)
        elif column.kind == FIXED and column.width & 3:
            done = done and move(
                column.data + first * column.width, column.width, source, count, copies, <uint8_t>0
            )
        elif column.kind == FIXED:
            done = done and move(
                column.data + first * column.width, column.width >> 2, source, count, copies, <int32_t>0
            )
        elif column.kind == TEXT or column.kind == BLOB:
            if wide:
                done = done and move_texts(column, first, source, count, copies, <int64_t>0)
            else:
                done = done and move_texts(column, first, source, count, copies, <int32_t>0)
        elif column.kind == LIST or column.kind == MAP:
            if wide and column.kind == LIST:
                done = done and move_lists(columns, at, first, source, count, wide, copies, <int64_t>0)
            else:
                done = done and move_lists(columns, at, first, source, count, wide, copies, <int32_t>0)
            at = column.end
    return done


cdef bint has_room(Copies *copies, int64_t size) noexcept nogil:
    cdef uint8_t *memory
    if unlikely(size > copies.room):
        memory = <uint8_t *>realloc(copies.memory, 2 * size)
        if memory == NULL:
            return False
        copies.memory = memory
        copies.room = 2 * size
    return True


cdef bint move(
    uint8_t *values, int64_t words, const int64_t *source, int64_t count, Copies *copies, value_t tag
) noexcept nogil:
    """Reorder values of one width, each of so many words."""
    cdef value_t *new = <value_t *>values
    cdef const value_t *old
    cdef int64_t at
    cdef int64_t word
    if not has_room(copies, count * words * sizeof(value_t)):
        return False
    memcpy(copies.memory, values, count * words * sizeof(value_t))
    old = <const value_t *>copies.memory
    if words == 1:
        for at in range(count):
            new[at] = old[source[at]]
    else:
        for at in range(count):
            for word in range(words):
                new[at * words + word] = old[source[at] * words + word]
    return True


cdef bint move_texts(
    Column *column, int64_t first, const int64_t *source, int64_t count, Copies *copies, offset_t tag
) noexcept nogil:
    cdef offset_t *ends = <offset_t *>column.offsets + first
    cdef const offset_t *old
    cdef const uint8_t *data = column.data
    cdef uint8_t *text
    cdef int64_t begin = ends[0]
    cdef int64_t all = ends[count] - begin
    cdef int64_t at
    cdef int64_t next = 0
    cdef int64_t size
    if all == 0:
        # There may be no data at all, where columns get their room value by value.
        return True
    if not has_room(copies, (count + 1) * sizeof(offset_t) + all + STEP):
        return False
    memcpy(copies.memory, ends, (count + 1) * sizeof(offset_t))
    old = <const offset_t *>copies.memory
    text = copies.memory + (count + 1) * sizeof(offset_t)
    for at in range(count):
        size = old[source[at] + 1] - old[source[at]]
        if likely(size <= STEP):
            memcpy(text + next, data + old[source[at]], STEP)
        else:
            memcpy(text + next, data + old[source[at]], size)
        next += size
        ends[at + 1] = <offset_t>(begin + next)
    memcpy(column.data + begin, text, all)
    return True


cdef bint move_lists(
    Column *columns, int at, int64_t first, const int64_t *source, int64_t count, bint wide, Copies *copies,
    offset_t tag
) noexcept nogil:
    """Reorder lists or maps, of which `at` is the first column of the items."""
    cdef offset_t *ends = <offset_t *>columns[at - 1].offsets + first
    cdef int64_t begin = ends[0]
    cdef int64_t items = ends[count] - begin
    cdef int64_t *sources = <int64_t *>malloc((items + 1) * sizeof(int64_t))
    cdef const offset_t *old
    cdef int64_t item
    cdef int64_t next = 0
    cdef int64_t row
    cdef bint done = sources != NULL and has_room(copies, (count + 1) * sizeof(offset_t))
    if done:
        memcpy(copies.memory, ends, (count + 1) * sizeof(offset_t))
        old = <const offset_t *>copies.memory
        for row in range(count):
            for item in range(old[source[row]], old[source[row] + 1]):
                sources[next] = item - begin
                next += 1
            ends[row + 1] = <offset_t>(begin + next)
        done = items == 0 or reorder(columns, at, columns[at - 1].end, begin, sources, items, wide, copies)
    free(sources)
    return done
