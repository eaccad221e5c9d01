"""Rows of a block that have failed: why, and what is read in their place.

No loop asks which rows are left: it reads a filler for the others, the shortest value that its op expects.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from kcodec.formats.json._context cimport Context, fail
from kcodec.formats.json._program cimport BOOLEAN, INTEGER, ITEMS, OBJECT, STRING, TUPLE, Op
from kcodec.formats.json._row cimport read_document
from kcodec.formats.json.block._lanes cimport BEFORE, FEW, FILLER, Block, Expected, Lapse
from kcodec.wire.binary.cursor cimport ctz64, store_le64
from kcodec.wire.binary.status cimport INVALID_UTF8, NEED_ROOM, NO_MEMORY
from kcodec.wire.text.utf8 cimport utf8_valid, utf8_valid_prefix


cdef void drop(Block *block, int64_t lane) noexcept nogil:
    """Go on without a row."""
    block.dropped |= <uint64_t>1 << lane
    block.at[lane] = block.start[lane] = block.filler + BEFORE
    block.end[lane] = block.filler + BEFORE + FILLER
    block.checked[lane] = True


cdef void fill(Block *block, const Op *op) noexcept nogil:
    """Move dropped rows to a filler before the field, with the key that is expected there."""
    cdef const Expected *key = &block.key
    cdef uint64_t left = block.dropped
    cdef uint8_t *p = block.filler + BEFORE
    store_le64(p, key.words[0])
    store_le64(p + 8, key.words[1])
    if key.size > 16:
        memcpy(p + 16, key.tail, min(key.size, FILLER // 2) - 16)
    p += min(key.size, FILLER // 2)
    if block.spaced and key.size:
        p[0] = 32
        p += 1
    # Where it is not what the column takes, a null is stored.
    if op.code == STRING:
        memcpy(p, b'""}', 3)
    elif op.code == BOOLEAN:
        memcpy(p, b"false}", 6)
    elif op.code == ITEMS or op.code == TUPLE:
        memcpy(p, b"[]}", 3)
    elif op.code == OBJECT or op.code == INTEGER:
        memcpy(p, b"{}" if op.code == OBJECT else b"1}", 2)
    else:
        memcpy(p, b"1.5}", 4)
    while left:
        block.at[ctz64(left)] = block.filler + BEFORE
        left &= left - 1


cdef bint note(Block *block, int64_t lane) noexcept nogil:
    """Note why a row has failed."""
    cdef Context *context = block.context
    cdef Lapse *lapse = &block.lapses[lane]
    if not block.drops or context.level > FEW or context.status == NEED_ROOM or context.status == NO_MEMORY:
        return False
    block.failed |= <uint64_t>1 << lane
    lapse.status = context.status
    lapse.op = context.op
    lapse.at = context.at
    lapse.level = context.level
    memcpy(lapse.items, context.items, context.level * sizeof(lapse.items[0]))
    return True


cdef bint drop_failed(Block *block, int64_t lane) noexcept nogil:
    """Drop a row that has failed with the context's error; if that is not possible, end the block before the row.

    Where the keys come in any order, something earlier in the row may be wrong, too.
    """
    if (block.scattered and block.depth and block.context.status != INVALID_UTF8) or not note(block, lane):
        block.count = lane
        return False
    drop(block, lane)
    return True


cdef bint check(Block *block, int64_t lane) noexcept nogil:
    """Look whether a document is UTF-8, once."""
    cdef const uint8_t *p = block.start[lane]
    cdef int64_t size = block.end[lane] - p
    block.checked[lane] = utf8_valid(p, size)
    if not block.checked[lane]:
        block.context.level = 0
        fail(block.context, INVALID_UTF8, NULL, p + utf8_valid_prefix(p, size))
    return block.checked[lane]


cdef bint try_row(Block *block, const Op *root, int64_t lane) noexcept nogil:
    """Drop a row that is null or that the row loop cannot read either; else end the block before it.

    To find out, the row is read into the place of the first row, which has no values yet.
    """
    cdef Context *context = block.context
    cdef int64_t room = context.budget.room
    cdef const uint8_t *p
    if not block.drops:
        block.count = lane
        return False
    context.end = block.end[lane]
    p = read_document(context, root, block.row, block.start[lane], block.wide, block.trailing)
    context.budget.room = room
    if p == NULL:
        return drop_failed(block, lane)
    if block.at[lane][0] == (91 if root.code == TUPLE else 123) or context.budget.expanded:
        block.count = lane
        return False
    drop(block, lane)
    return True
