"""Texts of a block of rows; see _decode.pyx.

They go into their column at once where all rows of the block come by in order. Otherwise they are noted, and copied in
order when all of them are known.
"""

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t

from kcodec.columns.built._column cimport Column, offset_t
from kcodec.formats.avro.block._lanes cimport Block, reject, take_length
from kcodec.formats.avro.rows._program cimport DO_ENUM, Op, Text
from kcodec.plan._budget cimport charge
from kcodec.wire.binary.cursor cimport (
    copy32, copy_wide, likely, prefetch, prefetch_text, read_length, read_varint32, unlikely,
)
from kcodec.wire.binary.status cimport OK

cdef Text NO_SYMBOL


cdef void place(
    Column *column, const Text *texts, int64_t first, int64_t count, offset_t *tag
) noexcept nogil:
    """Copy noted texts into their column."""
    cdef offset_t *offsets = <offset_t *>column.offsets + first
    cdef offset_t used = offsets[0]
    cdef uint8_t *data = column.data
    cdef const uint8_t *source
    cdef int64_t size
    cdef int64_t at
    for at in range(count):
        # A null has no bytes, but is copied like a text: nulls cannot be foreseen, so a branch on them costs more. The
        # next text is written over what was copied.
        source = texts[at].data if texts[at].data != NULL else <const uint8_t *>texts
        size = texts[at].size
        copy_wide(data + used, source, size)
        used += <offset_t>size
        offsets[at + 1] = used


cdef inline bint read_values(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, bint nullable, offset_t *tag
) noexcept nogil:
    cdef const uint8_t **ats = block.at
    cdef const uint8_t **ends = block.end
    cdef uint8_t *data = column.data
    cdef uint8_t *valid = column.valid
    cdef offset_t *offsets
    cdef offset_t used
    cdef Text *texts
    cdef int64_t first
    cdef const uint8_t *p
    cdef const uint8_t *q
    cdef int64_t at
    cdef int64_t lane
    cdef int64_t length
    cdef int64_t present = 1
    cdef int64_t null_branch = op.size
    cdef int64_t ahead = block.ahead
    if all_rows and block.noted[op.column] == UNTOUCHED:
        block.noted[op.column] = IN_PLACE
        offsets = <offset_t *>column.offsets + block.row
        used = offsets[0]
        for at in range(block.count):
            p = ats[at]
            if nullable:
                present = (p[0] >> 1) ^ null_branch
                if unlikely(p[0] & 0xFD) or unlikely(p == ends[at]):
                    reject(block, at)
                    offsets[at + 1] = used
                    continue
                p += 1
            else:
                prefetch(p + ahead)
            length = p[0] & -present
            if likely((length & 0xC1) == 0):
                length >>= 1
                p += present
                copy32(data + used, p)
            else:
                q = p
                if read_length(&q, ends[at], &length) != OK or length < 0:
                    length = INT64_MAX
                p = q
                if length <= ends[at] - p:
                    copy_wide(data + used, p, length)
                    prefetch_text(p + ahead, length)
            if unlikely(length > ends[at] - p):
                reject(block, at)
                offsets[at + 1] = used
                continue
            if nullable:
                valid[block.row + at] = <uint8_t>present
            used += <offset_t>length
            offsets[at + 1] = used
            ats[at] = p + length
        return True
    if of_rows and not note(block, op.column):
        return False
    texts = block.texts[op.column]
    first = block.first[op.column]
    for at in range(count):
        lane = lanes[at]
        p = ats[lane]
        if nullable:
            present = (p[0] >> 1) ^ null_branch
            if unlikely(p[0] & 0xFD) or unlikely(p == ends[lane]):
                reject(block, lane)
                continue
            p += 1
        length = take_length(&p, ends[lane], present)
        if unlikely(length < 0) or unlikely(length > ends[lane] - p):
            reject(block, lane)
            continue
        if nullable:
            valid[index[lane]] = <uint8_t>present
        texts[index[lane] - first].data = p
        texts[index[lane] - first].size = length
        ats[lane] = p + length
    return True


cdef bint read_texts(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil:
    """Read texts, or bytes; return False if those of other rows are in place."""
    return read_values(block, column, op, lanes, count, index, of_rows, all_rows, False, tag)


cdef bint read_nullable_texts(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil:
    """Read texts, or bytes, that may be null; return False as `read_texts` does."""
    return read_values(block, column, op, lanes, count, index, of_rows, all_rows, True, tag)


cdef bint read_symbols(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index,
    bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil:
    """Read symbols of an enum, or store a default that is text."""
    cdef offset_t *offsets = <offset_t *>column.offsets + block.row
    cdef offset_t used = offsets[0]
    cdef bint in_place = all_rows and count == block.count and block.noted[op.column] == UNTOUCHED
    cdef int64_t first
    cdef int64_t stored = 0
    cdef int64_t at
    cdef int64_t lane
    cdef const uint8_t *p
    cdef const Text *text = op.texts
    cdef uint32_t word
    if in_place:
        block.noted[op.column] = IN_PLACE
    elif of_rows and not note(block, op.column):
        return False
    first = block.first[op.column]
    for at in range(count):
        lane = lanes[at]
        if op.code == DO_ENUM:
            p = block.at[lane]
            text = &NO_SYMBOL
            word = 1
            if likely((p[0] & 0x81) == 0) and likely(p != block.end[lane]):
                word = p[0]
                p += 1
            elif read_varint32(&p, block.end[lane], p + 8, &word) != OK:
                word = 1
            # A negative index has the lowest bit.
            if likely((word & 1) == 0) and likely((word >> 1) < <uint32_t>op.size):
                text = &op.texts[word >> 1]
            if unlikely(text.data == NULL):
                reject(block, lane)
            block.at[lane] = p
            stored += text.size
        else:
            stored += op.size
        if unlikely(stored > block.context.budget.room):
            return False
        if in_place:
            if likely(text.size):
                copy_wide(column.data + used, text.data, text.size)
            used += <offset_t>text.size
            offsets[at + 1] = used
        else:
            block.texts[op.column][index[lane] - first] = text[0]
    return charge(&block.context.budget, stored) == OK
