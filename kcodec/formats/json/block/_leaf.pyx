"""Leaves of a block of documents, except texts."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.columns.built._column cimport Column, clear_value
from kcodec.formats.json._program cimport DEFAULT, NULLABLE, Op
from kcodec.formats.json._quick cimport NULL_WORD
from kcodec.formats.json.block._key cimport find_value
from kcodec.formats.json.block._lanes cimport Block, set_valid
from kcodec.formats.json.block._value cimport read_one
from kcodec.wire.binary.cursor cimport likely, load_le32, unlikely


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
