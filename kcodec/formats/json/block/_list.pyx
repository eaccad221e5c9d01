"""Lists of a block of documents, whose items are leaves."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from kcodec.columns.built._column cimport Column, offset_t
from kcodec.formats.json._program cimport DECIMAL, DOUBLE, INTEGER, ISO_TIME, SINGLE, STRING, Op
from kcodec.formats.json._quick cimport quick_text
from kcodec.formats.json.block._key cimport find_value
from kcodec.formats.json.block._lanes cimport Block, set_valid
from kcodec.formats.json.block._leaf cimport Digits, Leaf, Moment, leaf_t, quick_leaf
from kcodec.formats.json.block._text cimport check_texts, is_inner
from kcodec.formats.json.block._value cimport read_one
from kcodec.wire.binary.cursor cimport likely, unlikely
from kcodec.wire.text._floats cimport json_doubles, powers_of_five


cdef inline bint goes_on(Column *items, int64_t *slot, const uint8_t **p, const uint8_t *end) noexcept nogil:
    """Count the item before a position, and go behind the comma there; False if there is none.

    The position becomes NULL if it was that of an item which is not in its common form.
    """
    if unlikely(p[0] == NULL) or unlikely(p[0] >= end):
        p[0] = NULL
        return False
    if items.valid != NULL:
        items.valid[slot[0]] = 1
    slot[0] += 1
    if p[0][0] != 44:
        return False
    p[0] += 1
    return True


cdef inline const uint8_t *read_items(
    const Op *item, Column *items, int64_t *slot, const uint8_t *p, const uint8_t *end, leaf_t *tag
) noexcept nogil:
    """Read leaves and the commas between them; return the position behind, NULL if one is not in its common form."""
    p = quick_leaf(item, items, slot[0], p, end, tag)
    while goes_on(items, slot, &p, end):
        p = quick_leaf(item, items, slot[0], p, end, tag)
    return p


cdef inline const uint8_t *read_texts(
    Column *items, int64_t *slot, int8_t *least, const uint8_t *p, const uint8_t *end, offset_t *tag
) noexcept nogil:
    """The same for texts; `least` becomes the least of their first bytes."""
    least[0] = min(least[0], <int8_t>p[1])
    p = quick_text(items, slot[0], p, end, tag)
    while goes_on(items, slot, &p, end):
        least[0] = min(least[0], <int8_t>p[1])
        p = quick_text(items, slot[0], p, end, tag)
    return p


cdef void read_lists(Block *block, const Op *op, offset_t *tag) noexcept nogil:
    """Read lists of leaves, row by row."""
    cdef const Op *item = op + 1
    cdef Column *column = &block.context.columns[op.column]
    cdef Column *items = &block.context.columns[item.column]
    cdef offset_t *offsets = <offset_t *>column.offsets + block.row
    cdef const uint8_t *value
    cdef const uint8_t *p
    cdef const uint8_t *end
    cdef int64_t lane
    cdef int64_t slot
    cdef int64_t count = 0
    cdef int8_t least = 0      # of the first bytes of texts
    set_valid(block, op)
    for lane in range(block.count):
        value = p = find_value(block, op, lane)
        end = block.end[lane]
        slot = offsets[lane]
        if p != NULL and p[0] == 91 and end - p >= 2:
            p += 1
            if p[0] != 93:
                if item.code == DOUBLE:
                    p = json_doubles(p, end, powers_of_five, <double *>items.data + slot, &count)
                    slot += count
                    if p != NULL and items.valid != NULL:
                        memset(items.valid + offsets[lane], 1, count)
                elif item.code == STRING:
                    p = read_texts(items, &slot, &least, p, end, tag)
                elif item.code == INTEGER and item.width == 8 and block.inside:
                    p = read_items(item, items, &slot, p, end, <int64_t *>NULL)
                elif item.code == INTEGER and item.width == 4 and block.inside:
                    p = read_items(item, items, &slot, p, end, <int32_t *>NULL)
                elif item.code == SINGLE and block.inside:
                    p = read_items(item, items, &slot, p, end, <float *>NULL)
                elif item.code == DECIMAL and block.inside:
                    p = read_items(item, items, &slot, p, end, <Digits *>NULL)
                elif item.code == ISO_TIME:
                    p = read_items(item, items, &slot, p, end, <Moment *>NULL)
                else:
                    p = read_items(item, items, &slot, p, end, <Leaf *>NULL)
            if likely(p != NULL) and likely(p < end) and likely(p[0] == 93):
                offsets[lane + 1] = <offset_t>slot
                block.at[lane] = p + 1
                continue
        p = read_one(block, op, lane, value)
        if p == NULL:
            break
        block.at[lane] = p
    if item.code == STRING:
        check_texts(block, items, column, is_inner(least))
