"""Values of a block of documents that are not in a common form."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.built._column cimport LIST, Column, set_null
from kcodec.formats.json._context cimport Context
from kcodec.formats.json._program cimport ITEMS, TUPLE, Op
from kcodec.formats.json._row cimport items_t, run
from kcodec.formats.json.block._drop cimport drop_failed, is_valid, note
from kcodec.formats.json.block._lanes cimport Block
from kcodec.formats.json.block._places cimport PLACED
from kcodec.wire.binary.status cimport INVALID_UTF8


cdef inline bint is_in_tuple(const Block *block) noexcept nogil:
    return block.key.container != NULL and block.key.container.code == TUPLE


cdef const uint8_t *read_one(Block *block, const Op *op, int64_t lane, const uint8_t *p) noexcept nogil:
    """Read a value as the row loop does; NULL if the row is odd, which ends the block."""
    cdef Context *context = block.context
    cdef int64_t row = block.row + lane
    if lane >= block.count:
        return NULL
    if p == block.end[lane] + 1 and p[-1] == 32:
        # The row ends behind the key, and the space belongs to what stands behind it.
        p = block.end[lane]
    if is_absent(block, lane, p):
        set_null(context.columns, op.column, row, block.wide)
        return block.at[lane]
    if is_null(op, p, block.end[lane]):
        set_null(context.columns, op.column, row, block.wide)
        return p + 4
    if not is_valid(block, lane):
        return refuse(block, op, lane)
    context.end = block.end[lane]
    context.depth = block.depth
    context.level = 0
    context.budget.expanded = 0
    context.outside = NULL
    if block.wide:
        p = run(context, NULL, op, row, p, <int64_t *>NULL, <items_t>0)
    else:
        p = run(context, NULL, op, row, p, <int32_t *>NULL, <items_t>0)
    # What is stored beyond the document counts for a row as a whole.
    if context.budget.expanded:
        block.count = lane
        return NULL
    if p == NULL:
        if is_in_tuple(block) and (context.at >= context.end or context.at[0] == 93):
            # It may have ended too early, which is told of the tuple.
            block.count = lane
            return NULL
        if context.op == NULL:
            # There is no value, but the end of the object that has the field.
            context.op = block.key.container
        return refuse(block, op, lane)
    return p


cdef const uint8_t *refuse(Block *block, const Op *op, int64_t lane) noexcept nogil:
    """Drop a row that has failed at a field; NULL if that ends the block."""
    cdef bint goes_on = block.scattered and block.depth == 1 and block.context.status != INVALID_UTF8
    if goes_on:
        # The first failure of the row counts, where the others are found later.
        if (not block.failed >> lane & 1 or block.context.at < block.lapses[lane].at) and not note(block, lane):
            block.count = lane
            return NULL
    elif not drop_failed(block, lane):
        return NULL
    set_null(block.context.columns, op.column, block.row + lane, block.wide)
    if goes_on:
        return block.start[lane] + block.places.table[op.number * PLACED + lane].stop
    return block.at[lane]


cdef void read_values(Block *block, const Op *op) noexcept nogil:
    cdef Column *column = &block.context.columns[op.column]
    cdef bint list = op.code == ITEMS and column.kind == LIST and block.depth < block.context.max_depth
    cdef const uint8_t *p
    cdef int64_t lane
    for lane in range(block.count):
        p = block.value[lane]
        if list and p != NULL and p[0] == 91 and p[1] == 93 and block.end[lane] - p >= 2:
            set_null(block.context.columns, op.column, block.row + lane, block.wide)
            if column.valid != NULL:
                column.valid[block.row + lane] = 1
            p += 2
        else:
            p = read_one(block, op, lane, p)
        if p == NULL:
            return
        block.at[lane] = p
