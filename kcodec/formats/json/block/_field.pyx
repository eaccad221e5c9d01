"""Fields of a block of documents, which come in one order: that of the schema, or that of the first row."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from kcodec.columns.built._column cimport LIST, Column, offset_at, set_null
from kcodec.formats.json._program cimport (
    BEHIND, BOOLEAN, DECIMAL, DOUBLE, INTEGER, ISO_TIME, ITEMS, KEEPS, OBJECT, SINGLE, STRING, TUPLE, Op,
)
from kcodec.formats.json.block._drop cimport drop, drop_failed, fill
from kcodec.formats.json.block._key cimport expect, expect_item, find_values, next_field, seek
from kcodec.formats.json.block._lanes cimport (
    LANES, LONG_RUN, NOT_HERE, WORDS, WRONG, Block, Pause, is_dropped, prolong, set_valid,
)
from kcodec.formats.json.block._leaf cimport Digits, Leaf, Moment, read_leaves
from kcodec.formats.json.block._list cimport read_lists
from kcodec.formats.json.block._records cimport are_records, begin_records, end_records, gather, records_of
from kcodec.formats.json.block._text cimport read_texts
from kcodec.formats.json.block._value cimport is_null, read_one, read_values
from kcodec.wire.binary.cursor cimport ctz64, unlikely
from kcodec.wire.text.json cimport json_space


cdef struct Left:                  # where a row is, of which nothing is read for a while
    const uint8_t *at
    const uint8_t *start
    const uint8_t *end
    const uint8_t *begin
    uint8_t checked


cdef void read_objects(Block *block, const Op *op) noexcept nogil:
    """Read objects or tuples: all of them together, if they are alike, or if most are and the others null."""
    cdef uint8_t bracket = 91 if op.code == TUPLE else 123
    cdef uint64_t lacking = 0
    cdef Pause *pause = &block.pauses[op - block.root]
    cdef bint disordered
    cdef int64_t left
    cdef const uint8_t *p
    cdef int64_t lane
    find_values(block, op)
    if block.count == 0:
        return
    if unlikely(pause.left):
        pause.left -= 1
        read_values(block, op)
        return
    left = 3 * block.count // 8
    for lane in range(block.count):
        p = block.value[lane]
        if (p == NULL or p >= block.end[lane] or p[0] != bracket) and not is_dropped(block, lane):
            left -= 1
            if left < 0 or (p != NULL and not is_null(op, p, block.end[lane])):
                read_values(block, op)
                return
            lacking |= <uint64_t>1 << lane
    disordered = block.disordered
    block.disordered = False
    if lacking:
        read_some_objects(block, op, lacking)
    else:
        read_all_objects(block, op)
    if not block.disordered:
        pause.last = 0
    elif block.count < LONG_RUN:
        prolong(pause)
    block.disordered = disordered


cdef void read_all_objects(Block *block, const Op *op) noexcept nogil:
    memcpy(block.at, block.value, block.count * sizeof(block.at[0]))
    set_valid(block, op)
    if op.code == TUPLE:
        read_tuples(block, op)
    else:
        read_fields(block, op)


cdef void read_some_objects(Block *block, const Op *op, uint64_t lacking) noexcept nogil:
    """Read objects or tuples that some rows lack: meanwhile these are as if they were dropped."""
    cdef Left left_out[LANES]
    cdef Left *one
    cdef uint64_t left = lacking
    cdef int64_t lane
    while left:
        lane = ctz64(left)
        left &= left - 1
        one = &left_out[lane]
        one.at = block.value[lane] + 4 if block.value[lane] != NULL else block.at[lane]
        one.start = block.start[lane]
        one.end = block.end[lane]
        one.begin = block.begin[lane]
        one.checked = block.checked[lane]
        drop(block, lane)
        block.value[lane] = block.at[lane]
    read_all_objects(block, op)
    block.dropped &= ~lacking
    while lacking:
        lane = ctz64(lacking)
        lacking &= lacking - 1
        one = &left_out[lane]
        block.at[lane] = one.at
        block.start[lane] = one.start
        block.end[lane] = one.end
        block.begin[lane] = one.begin
        block.checked[lane] = one.checked
        set_null(block.context.columns, op.column, block.row + lane, block.wide)


cdef inline bint is_struct(const Op *op) noexcept nogil:
    return op.code == TUPLE or (op.code == OBJECT and not op.forms & KEEPS)


cdef inline bint has_loop(const Op *op) noexcept nogil:
    return op.code == ISO_TIME or (op.code >= BOOLEAN and op.code <= STRING)


cdef inline bint are_leaves(const Block *block, const Op *op) noexcept nogil:
    """Return whether the values of a field are lists of leaves."""
    if op.code != ITEMS or not has_loop(op + 1):
        return False
    return block.context.columns[op.column].kind == LIST and block.depth < block.context.max_depth


cdef bint checks_first(const Block *block, const Op *root) noexcept nogil:
    """Return whether it saves work to look first whether whole documents are UTF-8.

    The row loop expects that, so that texts of programs of which it reads some fields are not checked again then.
    """
    cdef const Op *op = root
    while op < root + root.next:
        if op.code == STRING:
            return takes_rows(block, root)
        op += 1
    return False


cdef bint takes_rows(const Block *block, const Op *container) noexcept nogil:
    """Return whether there are fields that are left to the row loop."""
    cdef const Op *op = container + 1
    cdef const Op *stop = container + container.next
    while op < stop and op.code != BEHIND:
        if is_struct(op):
            if takes_rows(block, op):
                return True
        elif not (has_loop(op) or are_leaves(block, op) or are_records(block, op)):
            return True
        op += op.next
    return False


cdef void read_field(Block *block, const Op *op) noexcept nogil:
    """Read the values of a field from `Block.value` on."""
    if op.code == STRING:
        if block.wide:
            read_texts(block, op, <int64_t *>NULL)
        else:
            read_texts(block, op, <int32_t *>NULL)
    elif is_struct(op):
        read_objects(block, op)
    elif op.code == INTEGER and op.width == 8 and block.inside:
        read_leaves(block, op, <int64_t *>NULL)
    elif op.code == INTEGER and op.width == 4 and block.inside:
        read_leaves(block, op, <int32_t *>NULL)
    elif op.code == DECIMAL and block.inside:
        read_leaves(block, op, <Digits *>NULL)
    elif op.code == DOUBLE and block.inside:
        read_leaves(block, op, <double *>NULL)
    elif op.code == SINGLE and block.inside:
        read_leaves(block, op, <float *>NULL)
    elif op.code == ISO_TIME:
        read_leaves(block, op, <Moment *>NULL)
    elif op.code >= BOOLEAN and op.code <= DECIMAL:
        read_leaves(block, op, <Leaf *>NULL)
    elif are_leaves(block, op):
        if block.wide:
            read_lists(block, op, <int64_t *>NULL)
        else:
            read_lists(block, op, <int32_t *>NULL)
    elif are_records(block, op):
        read_records(block, op)
    else:
        find_values(block, op)
        read_values(block, op)


cdef void read_records(Block *block, const Op *op) noexcept nogil:
    """Read lists of objects: these are read together, whichever rows they are in."""
    cdef Column *column = &block.context.columns[op.column]
    cdef Block *records = records_of(block)
    cdef const uint8_t *at = NULL
    cdef int64_t lane = 0
    cdef int64_t count
    cdef int64_t odd
    cdef int64_t first
    find_values(block, op)
    if block.count == 0 or records == NULL:
        read_values(block, op)
        return
    set_valid(block, op)
    records.row = offset_at(column, block.row, block.wide)
    while True:
        odd = gather(block, op, &lane, &at)
        count = records.count
        if count:
            begin_records(block, op + 1)
            read_fields(records, op + 1)
            first = end_records(block, op + 1, count)
            if first >= 0:
                odd = first
        records.row += count
        records.count = 0
        if odd >= 0:
            at = read_one(block, op, odd, block.value[odd])
            if at == NULL:
                return
            block.at[odd] = at
            lane = odd + 1
            at = NULL
            records.row = offset_at(column, block.row + lane, block.wide)
        elif lane == block.count:
            return


cdef void read_tuples(Block *block, const Op *container) noexcept nogil:
    """Read lists with a value for each op of a container, from their brackets on."""
    cdef const Op *op = container + 1
    cdef const uint8_t *p
    cdef int64_t lane
    cdef int32_t item
    if block.depth >= block.context.max_depth:
        block.count = 0
        return
    block.depth += 1
    for item in range(container.fields):
        expect_item(block, container, item == 0)
        if block.dropped:
            fill(block, op)
        read_field(block, op)
        if block.count == 0:
            return
        op += op.next
    for lane in range(block.count):
        p = block.at[lane]
        if unlikely(p >= block.end[lane] or p[0] != 93) and not is_dropped(block, lane):
            block.count = lane
            break
        block.at[lane] = p + 1
    block.depth -= 1


cdef void read_fields(Block *block, const Op *container) noexcept nogil:
    """Read objects from their brackets on."""
    cdef uint64_t read[WORDS]
    cdef const Op *op = container
    cdef const Op *behind = container + container.next - 1
    cdef const uint8_t *p
    cdef int64_t lane
    cdef int32_t field
    if block.depth >= block.context.max_depth or container.fields > 64 * WORDS:
        block.count = 0
        return
    block.depth += 1
    memcpy(block.begin, block.at, block.count * sizeof(block.at[0]))
    memset(read, 0, sizeof(read))
    for field in range(container.fields):
        block.read = read
        op = next_field(block, container, op)
        expect(block, container, op, field == 0)
        if block.dropped:
            fill(block, op)
        read_field(block, op)
        read[op.number >> 6] |= <uint64_t>1 << (op.number & 63)
        if block.count == 0:
            return
    block.read = read
    for lane in range(block.count):
        p = block.at[lane]
        if unlikely(p >= block.end[lane] or p[0] != 125):
            if is_dropped(block, lane):
                continue
            seek(block, container, behind, lane)
            if block.miss == WRONG and drop_failed(block, lane):
                continue
            if block.miss != NOT_HERE:
                block.count = lane
                break
            p = block.next
            if p == block.begin[lane]:
                p = json_space(p + 1, block.end[lane])
        block.at[lane] = p + 1
    block.depth -= 1
