"""Texts of a block of rows."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from kcodec.columns._builder cimport Column, offset_t
from kcodec.formats.avro._lanes cimport Block
from kcodec.formats.avro._program cimport Op, Text
from kcodec.wire.cursor cimport copy32, unlikely


cdef enum Noted:
    UNTOUCHED
    IN_PLACE
    NOTED


cdef inline void note(Block *block, int32_t column) noexcept nogil:
    """Prepare a column of the rows for texts that come in no order; those that do not come are empty."""
    if block.noted[column] == UNTOUCHED:
        memset(block.texts[column], 0, block.count * sizeof(Text))
        block.first[column] = block.row
        block.noted[column] = NOTED


cdef inline void move(uint8_t *target, const uint8_t *source, int64_t size) noexcept nogil:
    """Copy 32 bytes at a time: so much may be read behind any text, and written."""
    cdef int64_t at = 32
    copy32(target, source)
    if unlikely(size > 32):
        if size > 128:
            memcpy(target, source, size)
            return
        while at < size:
            copy32(target + at, source + at)
            at += 32


cdef void place(
    Column *column, const Text *texts, int64_t first, int64_t count, offset_t *tag
) noexcept nogil

cdef void read_texts(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil

cdef void read_nullable_texts(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil

cdef bint read_symbols(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil
