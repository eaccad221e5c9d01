"""Keys of a block of documents: where they are expected, and where else they are found."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from kcodec.formats.json._context cimport Context, fail, fail_token
from kcodec.formats.json._program cimport ABSENT, BEHIND, FOLD, TUPLE, Op
from kcodec.formats.json._row cimport find, is_folded_key, is_key_of
from kcodec.formats.json.block._drop cimport drop_failed, is_valid
from kcodec.formats.json.block._lanes cimport (
    NOT_HERE, ODD, STRANGERS, WRONG, Block, Expected, Stranger, first_lane, is_dropped, is_read,
)
from kcodec.wire.binary.cursor cimport load_le64
from kcodec.wire.binary.status cimport JSON_SYNTAX, MISSING_KEY, OK, TRUNCATED
from kcodec.wire.text.json cimport json_skip, json_space

cdef void expect(Block *block, const Op *container, const Op *op, bint opening) noexcept nogil:
    """Set `Block.key` to what stands before the value of a field, from the bracket or comma on."""
    cdef Expected *key = &block.key
    cdef int32_t before = 2 if block.spaced and not opening else 1
    cdef int32_t gap = 8 * before
    cdef bint folds = container.forms & FOLD and op.key.folds[0] != 0
    cdef const uint64_t *masks = &op.key.folds[0] if folds else &op.key.masks[0]
    cdef int64_t lane
    key.container = container
    key.words[0] = op.key.words[0] << gap | (123 if opening else 44) | (32 << 8 if before == 2 else 0)
    key.words[1] = op.key.words[1] << gap | op.key.words[0] >> (64 - gap)
    key.masks[0] = masks[0] << gap | (0xFFFF if before == 2 else 0xFF)
    key.masks[1] = masks[1] << gap | masks[0] >> (64 - gap)
    key.size = op.key_size + before
    key.tail = op.name + 16 - before
    if folds and key.size > 16:
        lane = first_lane(block)
        if is_folded_key(op, block.at[lane] + before, block.end[lane]):
            # Others mostly have the case of the first row.
            key.tail = block.at[lane] + 16


cdef void expect_item(Block *block, const Op *container, bint opening) noexcept nogil:
    """Set `Block.key` to what stands before a value of a tuple: the bracket, or the comma."""
    memset(&block.key, 0, sizeof(block.key))
    block.key.container = container
    block.key.words[0] = 91 if opening else 44
    block.key.masks[0] = 0xFF
    block.key.size = 1


cdef bint is_spaced(const Op *container, const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Return whether a space stands behind the first key of an object and its colon, or the first comma of a tuple."""
    cdef uint8_t mark = 44 if container.code == TUPLE else 58
    while p < end and p[0] != mark:
        p += 1
    return end - p > 1 and p[1] == 32


cdef const uint8_t *seek_value(Block *block, const Op *op, int64_t lane) noexcept nogil:
    cdef const uint8_t *p = block.at[lane]
    cdef const uint8_t *end = block.end[lane]
    if is_dropped(block, lane):
        return p
    if block.key.container.code == TUPLE:
        block.count = lane
        return NULL
    # Of two producers, one may put a space behind colons and commas.
    if end - p > 2 and p[0] == (123 if p == block.begin[lane] else 44):
        p += 1 + (p[1] == 32)
        if is_key_of(block.key.container, op, p, end):
            p += op.key_size
            return p + (p[0] == 32)
        p = block.at[lane]
    # Many documents end before fields that may be absent.
    if p[0] == 125 and p != block.begin[lane] and p < end and op.forms & ABSENT and op.data == NULL:
        return NULL
    p = seek(block, block.key.container, op, lane)
    block.sought += block.looked_up
    if p != NULL:
        return p
    if block.miss == WRONG:
        return block.at[lane] if drop_failed(block, lane) else NULL
    if block.miss == NOT_HERE and op.forms & ABSENT and op.data == NULL:
        block.at[lane] = block.next
    elif block.miss == NOT_HERE and block.found == NULL and not op.forms & ABSENT and is_next(block, op):
        p = block.next
        if p == block.begin[lane]:
            p = json_space(p + 1, block.end[lane])
        fail(block.context, MISSING_KEY, op, p)
        return block.at[lane] if drop_failed(block, lane) else NULL
    else:
        # It may come later in the row.
        if block.miss == NOT_HERE and block.found != NULL:
            block.disordered = True
        block.count = lane
    return NULL


cdef bint is_next(Block *block, const Op *op) noexcept nogil:
    """Return whether all fields before one in the schema have been read."""
    cdef int32_t word
    for word in range(op.number >> 6):
        if ~block.read[word]:
            return False
    return not ~block.read[op.number >> 6] << (63 - (op.number & 63)) << 1


cdef void find_values(Block *block, const Op *op) noexcept nogil:
    """Set `Block.value`."""
    cdef int64_t lane
    for lane in range(block.count):
        block.value[lane] = find_value(block, op, lane)
        if lane >= block.count:
            return


cdef inline const uint8_t *elsewhere(Block *block, const uint8_t *p, const Op *found) noexcept nogil:
    block.miss = NOT_HERE
    block.next = p
    block.found = found
    return NULL


cdef inline bint stands(const Stranger *stranger, const Op *container, const uint8_t *at) noexcept nogil:
    """Return whether a key that no field has stands here again."""
    if stranger.container != container:
        return False
    return not ((load_le64(at) ^ stranger.words[0]) & stranger.masks[0]
                | (load_le64(at + 8) ^ stranger.words[1]) & stranger.masks[1]
                | (load_le64(at + 16) ^ stranger.words[2]) & stranger.masks[2])


cdef void remember(Stranger *stranger, const Op *container, const uint8_t *at, int64_t size) noexcept nogil:
    """Keep a key that no field has, so that it need not be looked up where the next row has it, too."""
    if size > <int64_t>sizeof(stranger.words):
        return
    stranger.container = container
    stranger.size = size
    memcpy(stranger.words, at, sizeof(stranger.words))
    memset(stranger.masks, 0, sizeof(stranger.masks))
    memset(stranger.masks, 0xFF, size)


cdef const uint8_t *seek(Block *block, const Op *container, const Op *op, int64_t lane) noexcept nogil:
    """Find a field behind space and fields that no op has; `op` may be the one behind the last field.

    NULL if it is not there: `Block.miss` tells why, and `Block.next` is where the row then stands, before the key of
    `Block.found` or at the end of the object.
    """
    cdef Context *context = block.context
    cdef const uint8_t *end = block.end[lane]
    cdef const uint8_t *p = block.at[lane]
    cdef const uint8_t *at
    cdef const uint8_t *colon
    cdef const Op *found
    cdef Stranger *stranger
    cdef int64_t passed = op - container
    context.end = end
    context.level = 0
    block.miss = WRONG
    block.looked_up = False
    if not is_valid(block, lane):
        return NULL
    while True:
        p = json_space(p, end)
        if p >= end:
            return fail(context, TRUNCATED, container, end)
        if p[0] == 125 and p != block.begin[lane]:
            return elsewhere(block, p, NULL)
        if p[0] != (123 if p == block.begin[lane] else 44):
            return fail(context, JSON_SYNTAX, container, p)
        at = json_space(p + 1, end)
        if at >= end:
            return fail(context, TRUNCATED, container, end)
        if at[0] == 125 and p == block.begin[lane]:
            return elsewhere(block, p, NULL)
        if op.code != BEHIND and is_key_of(container, op, at, end):
            return json_space(at + op.key_size, end)
        if op.code != BEHIND and end - at > op.key_size and memcmp(at, op.name, op.key_size - 1) == 0:
            # Some encoders put space before a colon, too.
            colon = json_space(at + op.key_size - 1, end)
            if colon < end and colon[0] == 58:
                return json_space(colon + 1, end)
        if at[0] != 34:
            return fail(context, JSON_SYNTAX, container, at)
        stranger = &block.strangers[passed & (STRANGERS - 1)]
        passed += 1
        if stands(stranger, container, at):
            context.after = at + stranger.size
        else:
            block.looked_up = True
            found = find(context, container, at)
            if context.status != OK:
                return NULL
            if found == op:
                return json_space(context.after, end)
            if found != NULL:
                if is_read(block, found):
                    block.disordered = True
                    block.miss = ODD
                    return NULL
                return elsewhere(block, p, found)
            remember(stranger, container, at, context.after - at)
        p = json_skip(context.after, end, context.max_depth - block.depth, &context.fault)
        if p == NULL:
            return fail_token(context, container)


cdef const Op *seek_field(Block *block, const Op *container, const Op *last, const Op *op, int64_t lane) noexcept nogil:
    """Return the field that comes next in a row, or `op`, which is not at its expected place, if there is none.

    A field found before `op` is expected behind the last one from then on.
    """
    cdef Context *context = block.context
    cdef const Op *next = NULL
    cdef const Op *found
    cdef const uint8_t *end = block.end[lane]
    cdef const uint8_t *p
    if seek(block, container, op, lane) != NULL or block.miss != NOT_HERE or block.found == NULL:
        return op
    next = block.found
    p = block.next
    if op == block.later and p < block.later_at and block.later_at < end:
        block.follows[place_of(block, container, last)] = next
        return next
    while p < end and (p[0] == 44 or p[0] == 123):
        p = json_space(p + 1, end)
        if p >= end or p[0] != 34:
            break
        found = find(context, container, p)
        if context.status != OK:
            break
        if found == op:
            block.later = op
            block.later_at = p
            block.follows[place_of(block, container, last)] = next
            return next
        p = json_skip(context.after, end, context.max_depth - block.depth, &context.fault)
        if p == NULL:
            break
        p = json_space(p, end)
    return op
