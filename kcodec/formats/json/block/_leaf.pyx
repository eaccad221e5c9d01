"""Leaves of a block of documents, except texts."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.built._column cimport Column, clear_value
from kcodec.formats.json._program cimport DEFAULT, NULLABLE, Op
from kcodec.formats.json._quick cimport NULL_WORD, read_long_decimal, read_plain_time, read_quickly, store_decimal
from kcodec.formats.json.block._key cimport find_value
from kcodec.formats.json.block._lanes cimport Block, set_valid
from kcodec.formats.json.block._value cimport read_one
from kcodec.wire.binary.cursor cimport likely, load_le32, unlikely
from kcodec.wire.text._floats cimport json_double, powers_of_five
from kcodec.wire.text.json cimport json_long, json_quotient, json_tight, json_whole


cdef inline const uint8_t *quick_leaf(
    const Op *op, Column *column, int64_t slot, const uint8_t *p, const uint8_t *end, leaf_t *tag
) noexcept nogil:
    """Read a leaf and return the position behind it; NULL if it is not in its common form."""
    cdef int64_t value = 0
    cdef int64_t longer = 0        # so that the other one need not stand in memory
    cdef int fraction = 0
    cdef const uint8_t *at
    if leaf_t is Leaf:
        return read_quickly(op, column, slot, p, end, True, <int32_t *>NULL)
    elif leaf_t is Digits:
        at = json_tight(p, end, &value, &fraction)
        if unlikely(at == NULL) or unlikely(not store_decimal(op, column, slot, value, fraction)):
            return read_long_decimal(op, column, slot, p, end)
        return at
    elif leaf_t is Moment:
        return read_plain_time(op, column, slot, p, end)
    elif leaf_t is double:
        at = json_tight(p, end, &value, &fraction)
        # Zero may be -0.
        if likely(at != NULL) and likely(value != 0) \
                and likely(json_quotient(value, fraction, <double *>column.data + slot)):
            return at
        return json_double(p, end, powers_of_five, <double *>column.data + slot)
    else:
        at = json_whole(p, end, &value)
        if unlikely(at == NULL):
            at = json_long(p, end, &longer)
            value = longer
        if unlikely(at == NULL) or unlikely(value < op.low) or unlikely(value > op.high):
            return NULL
        (<leaf_t *>column.data)[slot] = <leaf_t>(value * op.factor)
        return at


cdef void read_leaves(Block *block, const Op *op, leaf_t *tag) noexcept nogil:
    # Copies, of which no store of a value can change what the loop has in registers.
    cdef Op leaf = op[0]
    cdef Column column = block.context.columns[op.column]
    cdef int64_t row = block.row
    cdef bint nullable = op.forms & (NULLABLE | DEFAULT) == NULLABLE
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef int64_t lane
    set_valid(block, op)
    for lane in range(block.count):
        at = p = find_value(block, op, lane)
        if likely(p != NULL):
            if nullable and load_le32(p) == NULL_WORD and p + 4 <= block.end[lane]:
                clear_value(&column, row + lane)
                block.at[lane] = p + 4
                continue
            at = quick_leaf(&leaf, &column, row + lane, p, block.end[lane], tag)
        if unlikely(at == NULL):
            at = read_one(block, op, lane, p)
            if at == NULL:
                return
        block.at[lane] = at
