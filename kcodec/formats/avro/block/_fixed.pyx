"""Values of fixed width of a block of rows, and nulls; see _decode.pyx."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.columns.built._column cimport BITS, FIXED, Column, offset_t, set_null, set_zero
from kcodec.columns.rows._rows cimport SLACK
from kcodec.formats.avro.block._lanes cimport Block, reject
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._leaf cimport read_leaf, read_small_decimal
from kcodec.formats.avro.rows._program cimport DO_FLOAT, Op
from kcodec.formats.avro.rows._row cimport run
from kcodec.plan._budget cimport charge
from kcodec.wire.binary.cursor cimport load_le32, load_le64, prefetch, unlikely
from kcodec.wire.binary.decimal cimport decimal_limit
from kcodec.wire.binary.status cimport OK


cdef inline void reals(
    Block *block, uint8_t *data, int64_t width, const int64_t *lanes, int64_t count, const int64_t *index, bint dense
) noexcept nogil:
    cdef const uint8_t **ats = block.at
    cdef const uint8_t **ends = block.end
    cdef int64_t ahead = block.ahead
    cdef const uint8_t *p
    cdef int64_t at
    cdef int64_t lane
    cdef int64_t to
    for at in range(count):
        lane = at if dense else lanes[at]
        to = at if dense else index[lane]
        p = ats[lane]
        if width == 8:
            prefetch(p + ahead)
        if unlikely(ends[lane] - p < width):
            reject(block, lane)
            continue
        if width == 8:
            (<uint64_t *>data)[to] = load_le64(p)
        else:
            (<uint32_t *>data)[to] = load_le32(p)
        ats[lane] = p + width


cdef void read_reals(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index, int64_t row
) noexcept nogil:
    """Read floats or doubles; without `lanes` all rows of the block, which begins at `row`."""
    cdef int64_t width = 4 if op.code == DO_FLOAT else 8
    cdef uint8_t *data = column.data + row * width
    if width == 4 and lanes == NULL:
        reals(block, data, 4, NULL, count, NULL, True)
    elif width == 4:
        reals(block, data, 4, lanes, count, index, False)
    elif lanes == NULL:
        reals(block, data, 8, NULL, count, NULL, True)
    else:
        reals(block, data, 8, lanes, count, index, False)


cdef inline void nullables(
    Block *block, uint8_t *data, int64_t width, uint8_t *valid, int64_t null_branch, const int64_t *lanes,
    int64_t count, const int64_t *index, bint dense
) noexcept nogil:
    cdef const uint8_t **ats = block.at
    cdef const uint8_t **ends = block.end
    cdef const uint8_t *p
    cdef uint8_t branch
    cdef bint wrong = False
    cdef int64_t at
    cdef int64_t lane
    cdef int64_t to
    cdef int64_t present
    for at in range(count):
        lane = at if dense else lanes[at]
        to = at if dense else index[lane]
        p = ats[lane]
        branch = p[0]
        present = (branch >> 1) ^ null_branch
        if width == 1:
            wrong = (p[1] & -present) > 1
        if unlikely(branch & 0xFD) or unlikely(1 + present * width > ends[lane] - p) or unlikely(wrong):
            reject(block, lane)
            continue
        if width == 8:
            (<uint64_t *>data)[to] = load_le64(p + 1) & <uint64_t>(-present)
        elif width == 4:
            (<uint32_t *>data)[to] = load_le32(p + 1) & <uint32_t>(-present)
        else:
            data[to] = p[1] & <uint8_t>(-present)
        valid[to] = <uint8_t>present
        ats[lane] = p + 1 + present * width


cdef void read_nullables(
    Block *block, Column *column, const Op *op, int64_t width, const int64_t *lanes, int64_t count,
    const int64_t *index, int64_t row
) noexcept nogil:
    """Read values of as many bytes of a union with null, without a branch on what is random: whether there is one.

    Those of one byte are booleans. Without `lanes` it is all rows of the block, which begins at `row`.
    """
    cdef uint8_t *data = column.data + row * width
    cdef uint8_t *valid = column.valid + row
    if lanes == NULL and width == 8:
        nullables(block, data, 8, valid, op.size, NULL, count, NULL, True)
    elif lanes == NULL and width == 4:
        nullables(block, data, 4, valid, op.size, NULL, count, NULL, True)
    elif lanes == NULL:
        nullables(block, data, 1, valid, op.size, NULL, count, NULL, True)
    elif width == 8:
        nullables(block, data, 8, valid, op.size, lanes, count, index, False)
    elif width == 4:
        nullables(block, data, 4, valid, op.size, lanes, count, index, False)
    else:
        nullables(block, data, 1, valid, op.size, lanes, count, index, False)


cdef void read_decimals(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index
) noexcept nogil:
    """Read decimals, mostly of a few bytes, to 128 bits."""
    cdef Context *context = block.context
    cdef uint64_t most = decimal_limit(op.precision)
    cdef int64_t at
    cdef int64_t lane
    cdef const uint8_t *p
    for at in range(count):
        lane = lanes[at]
        p = read_small_decimal(op, column, index[lane], block.at[lane], block.end[lane], most)
        if unlikely(p == NULL):
            context.end = block.end[lane]
            context.limit = block.end[lane] + SLACK
            p = read_leaf(context, op, column, index[lane], block.at[lane], False)
            if unlikely(p == NULL):
                reject(block, lane)
                continue
        block.at[lane] = p


cdef void set_nulls(
    Column *columns, int32_t first, const int64_t *lanes, int64_t count, const int64_t *index, bint wide
) noexcept nogil:
    """Make values of a column null, with all below it."""
    cdef Column *column = &columns[first]
    cdef int64_t at
    if column.valid == NULL or column.kind != FIXED and column.kind != BITS:
        for at in range(count):
            set_null(columns, first, index[lanes[at]], wide)
        return
    # A loop for each of the common widths: a null of them is two stores.
    if column.kind == BITS:
        for at in range(count):
            column.data[index[lanes[at]]] = 0
    elif column.width == 4:
        for at in range(count):
            (<int32_t *>column.data)[index[lanes[at]]] = 0
    else:
        for at in range(count):
            set_zero(column, index[lanes[at]])
    for at in range(count):
        column.valid[index[lanes[at]]] = 0


cdef bint repeat_default(
    Context *context, const Op *op, Column *columns, const int64_t *lanes, int64_t count, const int64_t *index,
    offset_t *tag
) noexcept nogil:
    """Store a default of fixed width for some rows: read for the first one, and copied for the others."""
    cdef int32_t part
    if charge(&context.budget, count * op.size) != OK:
        return False
    context.depth = 0
    context.end = context.limit = op.texts[0].data + op.texts[0].size
    if run(context, op + 1, op + op.next, index[lanes[0]], 1, op.texts[0].data, tag) == NULL:
        return False
    for part in range(1, op.next):
        repeat(<Column *>(<char *>columns + op[part].place), lanes, count, index)
    return True


cdef void repeat(Column *column, const int64_t *lanes, int64_t count, const int64_t *index) noexcept nogil:
    """Copy the value of the first of some rows to the others."""
    cdef int64_t width = 1 if column.kind == BITS else column.width
    cdef uint8_t *data = column.data
    cdef const uint8_t *value = data + index[lanes[0]] * width
    cdef uint64_t word = 0
    cdef int64_t at
    if width == 8:
        memcpy(&word, value, 8)
        for at in range(1, count):
            (<uint64_t *>data)[index[lanes[at]]] = word
    elif width == 4:
        memcpy(&word, value, 4)
        for at in range(1, count):
            (<uint32_t *>data)[index[lanes[at]]] = (<uint32_t *>&word)[0]
    elif width == 1:
        for at in range(1, count):
            data[index[lanes[at]]] = value[0]
    else:
        for at in range(1, count):
            memcpy(data + index[lanes[at]] * width, value, width)
