"""Keys of a block of documents: where they are expected, and where else they are found."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from kcodec.formats.json._program cimport Op
from kcodec.formats.json._row cimport is_key_of
from kcodec.formats.json.block._lanes cimport Block, Expected, first_lane, is_read
from kcodec.wire.binary.cursor cimport load_le64, prefetch, unlikely


cdef void expect(Block *block, const Op *container, const Op *op, bint opening) noexcept nogil
cdef void expect_item(Block *block, const Op *container, bint opening) noexcept nogil
cdef bint is_spaced(const Op *container, const uint8_t *p, const uint8_t *end) noexcept nogil
cdef const Op *seek_field(Block *block, const Op *container, const Op *last, const Op *op, int64_t lane) noexcept nogil
cdef const uint8_t *seek(Block *block, const Op *container, const Op *op, int64_t lane) noexcept nogil
cdef const uint8_t *seek_value(Block *block, const Op *op, int64_t lane) noexcept nogil
cdef void find_values(Block *block, const Op *op) noexcept nogil


cdef inline const uint8_t *find_value(Block *block, const Op *op, int64_t lane) noexcept nogil:
    """Find the value of a field; NULL if it did not come, or if the row is odd, which ends the block.

    It may seem to be up to 17 bytes behind the end of its row.
    """
    cdef const Expected *key = &block.key
    cdef const uint8_t *p = block.at[lane]
    if unlikely((load_le64(p) ^ key.words[0]) & key.masks[0] | (load_le64(p + 8) ^ key.words[1]) & key.masks[1]):
        return seek_value(block, op, lane)
    if unlikely(key.size > 16) and (key.size > block.end[lane] - p or memcmp(p + 16, key.tail, key.size - 16) != 0):
        return seek_value(block, op, lane)
    prefetch(p + block.ahead)
    p += key.size
    if block.spaced:
        p += p[0] == 32
    return p


cdef inline int64_t place_of(const Block *block, const Op *container, const Op *last) noexcept nogil:
    """Return where `Block.follows` has the field behind the last one, or the first of a container.

    That of the container itself is what comes behind it, in the object that it is in.
    """
    return (container + container.next - 1 if last == container else last) - block.root


cdef inline const Op *next_field(Block *block, const Op *container, const Op *last) noexcept nogil:
    """Return the field behind the last one, or the first of a container, in the first row.

    If none is found, that is the one behind it in the schema.
    """
    cdef const Op *behind = container + container.next - 1
    cdef const Op *op = container + 1 if last == container else last + last.next
    cdef const Op *guess = block.follows[place_of(block, container, last)]
    cdef int64_t lane = first_lane(block)
    cdef const uint8_t *p = block.at[lane]
    while op == behind or is_read(block, op):
        op = container + 1 if op == behind else op + op.next
    p += 1 + (p[1] == 32)
    if is_key_of(container, op, p, block.end[lane]):
        return op
    if guess != NULL and is_key_of(container, guess, p, block.end[lane]) and not is_read(block, guess):
        return guess
    return seek_field(block, container, last, op, lane)
