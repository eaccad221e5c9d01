"""Texts of a block of documents."""

from libc.stdint cimport int8_t, int64_t, uint8_t
from libc.string cimport memchr, memset

from kcodec.columns.built._column cimport Column, offset_at, offset_t
from kcodec.formats.json._program cimport DEFAULT, NULLABLE, Op
from kcodec.formats.json._quick cimport NULL_WORD
from kcodec.formats.json.block._drop cimport drop_failed, is_valid
from kcodec.formats.json.block._key cimport find_value
from kcodec.formats.json.block._lanes cimport Block
from kcodec.formats.json.block._value cimport read_one
from kcodec.wire.binary.cursor cimport likely, load_le32, prefetch_text, unlikely
from kcodec.wire.text.json cimport json_plain32, json_plain_long, json_text
from kcodec.wire.text.utf8 cimport utf8_valid


cdef inline int64_t text_start(Block *block, const Column *column, const Column *list, int64_t lane) noexcept nogil:
    """Return where the text of a row starts, or the text of its items."""
    cdef int64_t index = block.row + lane
    if list != NULL:
        index = offset_at(list, index, block.wide)
    return offset_at(column, index, block.wide)


cdef void check_texts(Block *block, const Column *column, const Column *list, bint cut) noexcept nogil:
    """Drop the rows that are not UTF-8, if one of these texts is not.

    All texts joined may be UTF-8 although single ones are not: a character may be cut between two of them. Those of
    documents that are known to be UTF-8 are.
    """
    cdef int64_t begin = text_start(block, column, list, 0)
    cdef int64_t end = text_start(block, column, list, block.count)
    cdef int64_t lane
    if memchr(block.checked, False, block.count) == NULL:
        return
    if likely(not cut) and likely(utf8_valid(column.data + begin, end - begin)):
        return
    for lane in range(block.count):
        if not is_valid(block, lane):
            if not drop_failed(block, lane):
                return
            # It stays where it is, beneath a null, but as text.
            begin = text_start(block, column, list, lane)
            memset(column.data + begin, 63, text_start(block, column, list, lane + 1) - begin)


cdef void read_texts(Block *block, const Op *op, offset_t *tag) noexcept nogil:
    """Read strings; whether one is null, and where it ends in its first 32 bytes, is computed."""
    cdef Column *column = &block.context.columns[op.column]
    cdef offset_t *offsets = <offset_t *>column.offsets + block.row
    cdef uint8_t *valid = column.valid + block.row if column.valid != NULL else NULL
    cdef uint8_t *data = column.data
    cdef offset_t used = offsets[0]
    cdef int8_t least = 0      # of the first bytes of texts
    cdef int64_t nullable = op.forms & (NULLABLE | DEFAULT) == NULLABLE
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef const uint8_t *end
    cdef int64_t lane
    cdef int64_t size
    cdef int64_t more = 0      # text from the first escape on
    cdef int64_t null
    for lane in range(block.count):
        p = find_value(block, op, lane)
        end = block.end[lane]
        if likely(p != NULL):
            null = nullable & (load_le32(p) == NULL_WORD)
            size = json_plain32(p + 1, data + used)
            if unlikely(size == 32) and p + 33 < end:
                size = json_plain_long(p + 33, end, data + used + 32) - p - 1
                prefetch_text(p + block.ahead, size)
            size &= null - 1
            if likely(not ((p[0] ^ 34) | (p[size + 1] ^ 34)) & (null - 1)) and likely(p + size + 2 + 2 * null <= end):
                least = min(least, <int8_t>p[1])
                used += <offset_t>size
                offsets[lane + 1] = used
                if valid != NULL:
                    valid[lane] = <uint8_t>(1 - null)
                block.at[lane] = p + size + 2 + 2 * null
                continue
            at = NULL
            if p[0] == 34 and p[size + 1] == 92 and p + size + 1 < end:
                at = json_text(p + 1 + size, end, data + used + size, &more)
            if at != NULL:
                prefetch_text(p + block.ahead, size + more)
                least = min(least, <int8_t>p[1])
                used += <offset_t>(size + more)
                offsets[lane + 1] = used
                if valid != NULL:
                    valid[lane] = 1
                block.at[lane] = at
                continue
        p = read_one(block, op, lane, p)
        if p == NULL:
            break
        used = offsets[lane + 1]
        block.at[lane] = p
    check_texts(block, column, NULL, is_inner(least))
