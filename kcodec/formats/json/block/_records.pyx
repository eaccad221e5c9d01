"""Objects in the lists of a block of documents, which are a block of their own.

    documents:  {"lines":[{"a":1},{"a":2}]}    {"lines":[]}    {"lines":[{"a":3}, ...
    records:              at[0]   at[1]                                  at[2]

Where each of them ends is found by its brackets alone, before anything of it is read: whatever is not what it seems
does not end there. A list with a record that is odd is left to the row loop, which also tells what is wrong with it.
So are those behind it, the more of them the more often that happens.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc
from libc.string cimport memcpy

from kcodec.columns.built._column cimport LIST, Column, set_end
from kcodec.formats.json._program cimport ITEMS, KEEPS, OBJECT, Op
from kcodec.formats.json.block._key cimport is_spaced
from kcodec.formats.json.block._lanes cimport LANES, SLOWNESS, Block, prolong, set_valid
from kcodec.formats.json.block._value cimport is_absent, is_null, read_one
from kcodec.wire.binary.cursor cimport unlikely
from kcodec.wire.text.json cimport json_objects, json_space

cdef Block *records_of(Block *block) noexcept nogil:
    """Return the block for records in the lists of a block of rows, with none in it; NULL without memory."""
    cdef Block *records = block.records
    if records == NULL:
        records = block.records = <Block *>calloc(1, sizeof(Block))
        if records == NULL:
            return NULL
    records.context = block.context
    records.root = block.root
    records.follows = block.follows
    records.pauses = block.pauses
    records.wide = block.wide
    records.inside = block.inside
    records.ahead = block.ahead
    records.count = 0
    return records


cdef bint are_records(const Block *block, const Op *op) noexcept nogil:
    """Return whether the values of a field are lists of objects in which there are no such lists.

    Where these are inside each other, to find their ends takes longer than is gained: again and again, or all at once.
    """
    cdef const Op *at = op + 2
    if op.code != ITEMS or op[1].code != OBJECT or op[1].forms & KEEPS or block.depth >= block.context.max_depth:
        return False
    while at < op + op.next:
        if at.code == ITEMS and at[1].code == OBJECT:
            return False
        at += 1
    return block.context.columns[op.column].kind == LIST


cdef int64_t gather(Block *block, const Op *op, int64_t *lane, const uint8_t **at) noexcept nogil:
    """Take the next records of lists, from that of the row `lane` on, and there from `at` if this is not NULL.

    Both are where to go on when the block of records is full. Return the row whose list has to be read by itself,
    behind all of these; -1 if there is none yet.
    """
    cdef Block *records = block.records
    cdef Column *column = &block.context.columns[op.column]
    cdef const uint8_t *p
    cdef const uint8_t *end
    cdef int64_t taken
    while lane[0] < block.count and records.count < LANES:
        p = at[0]
        end = block.end[lane[0]]
        if p == NULL:
            p = block.value[lane[0]]
            if is_absent(block, lane[0], p) or is_null(op, p, end):
                block.at[lane[0]] = read_one(block, op, lane[0], p)
                lane[0] += 1
                continue
            if p >= end or p[0] != 91:
                return lane[0]
            p = json_space(p + 1, end)
            if unlikely(records.pause.left) and p < end and p[0] != 93:
                records.pause.left -= 1
                return lane[0]
        taken = records.count
        if p < end and p[0] == 123:
            p = take_records(block, lane[0], p)
        elif p >= end or p[0] != 93:
            p = NULL
        if p != NULL and p[0] == 93:
            set_end(column, block.row + lane[0], records.row + records.count, block.wide)
            block.at[lane[0]] = p + 1
            lane[0] += 1
            p = NULL
        elif p == NULL or records.count < LANES:
            records.count = taken
            prolong(&records.pause)
            return lane[0]
        at[0] = p
    return -1


cdef const uint8_t *take_records(const Block *block, int64_t lane, const uint8_t *p) noexcept nogil:
    """Take records of a row's list, from `p` on, as many as there is room for.

    Return where the next one starts or the list ends; NULL if it is odd.
    """
    cdef Block *records = block.records
    cdef const uint8_t *end = block.end[lane]
    cdef uint8_t checked = block.checked[lane]
    cdef int64_t at = records.count
    records.count += json_objects(p, end, records.start + at, records.end + at, LANES - at)
    for at in range(at, records.count):
        if unlikely(p != records.start[at]):
            return NULL
        records.owner[at] = <uint8_t>lane
        records.checked[at] = checked
        p = json_space(records.end[at], end)
        if p < end and p[0] == 44:
            p = json_space(p + 1, end)
            if unlikely(p >= end or p[0] != 123):
                return NULL
        elif p >= end or p[0] != 93:
            return NULL
    return p


cdef void begin_records(const Block *block, const Op *item) noexcept nogil:
    """Prepare the block of records that were taken to be read."""
    cdef Block *records = block.records
    memcpy(records.at, records.start, records.count * sizeof(records.at[0]))
    records.depth = block.depth + 1
    records.spaced = is_spaced(item, records.at[0], records.end[0])
    records.sought = 0
    records.disordered = False
    records.later = NULL
    set_valid(records, item)


cdef int64_t end_records(Block *block, const Op *item, int64_t count) noexcept nogil:
    """Return the first row whose list has a record that was not read as far as it goes; -1 if there is none."""
    cdef Block *records = block.records
    cdef int64_t at
    for at in range(records.count):
        if unlikely(records.at[at] != records.end[at]):
            records.count = at
            break
    if unlikely(records.count < count):
        prolong(&records.pause)
        return records.owner[records.count]
    if unlikely(records.disordered or SLOWNESS * records.sought > count * item.fields):
        prolong(&records.pause)
    else:
        records.pause.last = 0
    return -1
