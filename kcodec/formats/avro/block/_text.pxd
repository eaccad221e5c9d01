"""Texts of a block of rows."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from kcodec.columns.built._column cimport Column, offset_t
from kcodec.formats.avro.block._lanes cimport Block
from kcodec.formats.avro.rows._program cimport Op, Text


cdef enum Noted:
    UNTOUCHED
    IN_PLACE
    NOTED


cdef inline bint note(Block *block, int32_t column) noexcept nogil:
    """Prepare a column of the rows for texts in any order; texts that do not come are empty.

    Returns False if the column is written already: then it has no room for those of other rows.
    """
    if block.noted[column] == UNTOUCHED:
        memset(block.texts[column], 0, block.count * sizeof(Text))
        block.first[column] = block.row
        block.noted[column] = NOTED
    return block.noted[column] == NOTED


cdef void place(
    Column *column, const Text *texts, int64_t first, int64_t count, offset_t *tag
) noexcept nogil

cdef bint read_texts(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil

cdef bint read_nullable_texts(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil

cdef bint read_symbols(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil
