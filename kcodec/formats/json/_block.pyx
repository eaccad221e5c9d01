"""Blocks of documents to columns, a column at a time.

The row loop asks of every value which op it is, and guesses wrong after each null and each list, because what came
before is never the same; and it cannot start on a value before it knows how long the one before is. Here one op runs
for all rows of a block before the next one does: it is asked once, what is random is computed rather than branched
on, and the rows do not wait for each other.

    documents:  {"id":1,"name":"a"}    {"id":27,"name":"bc"}    {"id":3, ...
                      ^ at[0]                 ^ at[1]                 ^ at[2]    all take one step with each op

So the fields must come in one order, which is that of the schema or that of the first row. Some may be absent, others
between them that the schema does not have. Where that does not hold, it is first found where the values of each row
stand (kcodec/formats/json/_places.pyx), and they are read from there.
Values in a form that is not common are left to the row loop, one by one. A row that fails in one of them, or between
them, fails as it would there, if all before came in order: that is noted, and the row is *dropped*. The others go on,
and so that no loop has to ask which these are, it goes on with them: what it reads is a filler of the shortest values,
where they are expected. In the end its values are made null.
A row that is not as expected otherwise ends the block before it: the row loop reads it, and what is stored of it until
then is written over.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from kcodec.columns._builder cimport BITS, FIXED, LIST, Column, offset_at, offset_t, set_null
from kcodec.formats.json._context cimport Context, fail, fail_token
from kcodec.formats.json._places cimport PLACED, Place, Places, begin_places, locate
from kcodec.formats.json._program cimport (
    ABSENT, BEHIND, BOOLEAN, DECIMAL, DEFAULT, DOUBLE, FOLD, INTEGER, ITEMS, KEEPS, NULLABLE, OBJECT, STRING, Op,
)
from kcodec.formats.json._quick cimport NULL_WORD, quick_text, read_quickly, store_decimal, store_number
from kcodec.formats.json._row cimport find, is_key, items_t, read_document, run
from kcodec.wire._floats cimport json_double, json_doubles, powers_of_five
from kcodec.wire.cursor cimport ctz64, likely, load_le32, load_le64, prefetch, store_le64, unlikely
from kcodec.wire.json cimport (
    json_long, json_plain, json_plain32, json_quotient, json_skip, json_space, json_text, json_tight, json_whole,
)
from kcodec.wire.status cimport (
    INVALID_UTF8, JSON_SYNTAX, MISSING_KEY, NEED_ROOM, NO_MEMORY, OK, TRAILING_BYTES, TRUNCATED,
)
from kcodec.wire.utf8 cimport utf8_valid, utf8_valid_prefix

cdef enum:
    DISORDER = 1 << 20        # fields that are sought, for one that came too late


ctypedef fused integer_t:
    int32_t
    int64_t

cdef inline bint is_dropped(const Block *block, int64_t lane) noexcept nogil:
    return block.dropped >> lane & 1


cdef void drop(Block *block, int64_t lane) noexcept nogil:
    """Go on without a row."""
    block.dropped |= <uint64_t>1 << lane
    block.at[lane] = block.start[lane] = block.filler + BEFORE
    block.end[lane] = block.filler + BEFORE + FILLER
    block.checked[lane] = True


cdef void fill(Block *block, const Op *op) noexcept nogil:
    """Let dropped rows stand before a field, its key as it is expected."""
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
    elif op.code == ITEMS:
        memcpy(p, b"[]}", 3)
    elif op.code == OBJECT or op.code == INTEGER:
        memcpy(p, b"{}" if op.code == OBJECT else b"1}", 2)
    else:
        memcpy(p, b"1.5}", 4)
    while left:
        block.at[ctz64(left)] = block.filler + BEFORE
        left &= left - 1


cdef bint drop_failed(Block *block, int64_t lane) noexcept nogil:
    """Drop a row that has failed, for what the context says; if that cannot be, end the block before it.

    Where the keys come in any order, what comes before in the row may be wrong too.
    """
    if (block.scattered and block.depth and block.context.status != INVALID_UTF8) or not note(block, lane):
        block.count = lane
        return False
    drop(block, lane)
    return True


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


cdef void expect(Block *block, const Op *container, const Op *op, bint opening) noexcept nogil:
    """Set `Block.key` to what stands before the value of a field, from the bracket or comma on."""
    cdef Expected *key = &block.key
    cdef int32_t before = 2 if block.spaced and not opening else 1
    cdef int32_t gap = 8 * before
    key.container = container
    key.words[0] = op.key.words[0] << gap | (123 if opening else 44) | (32 << 8 if before == 2 else 0)
    key.words[1] = op.key.words[1] << gap | op.key.words[0] >> (64 - gap)
    key.masks[0] = op.key.masks[0] << gap | (0xFFFF if before == 2 else 0xFF)
    key.masks[1] = op.key.masks[1] << gap | op.key.masks[0] >> (64 - gap)
    key.size = op.key_size + before
    key.tail = op.name + 16 - before


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


cdef const uint8_t *seek_value(Block *block, const Op *op, int64_t lane) noexcept nogil:
    cdef const uint8_t *p
    if is_dropped(block, lane):
        return block.at[lane]
    p = seek(block, block.key.container, op, lane)
    block.sought += 1
    if p != NULL:
        return p
    if block.place == WRONG:
        return block.at[lane] if drop_failed(block, lane) else NULL
    if block.place == NOT_HERE and op.forms & ABSENT and op.data == NULL:
        block.at[lane] = block.next
    elif block.place == NOT_HERE and block.found == NULL and not op.forms & ABSENT and is_next(block, op):
        p = block.next
        if p == block.begin[lane]:
            p = json_space(p + 1, block.end[lane])
        fail(block.context, MISSING_KEY, op, p)
        return block.at[lane] if drop_failed(block, lane) else NULL
    else:
        # It may come later in the row.
        if block.place == NOT_HERE and block.found != NULL:
            block.sought += DISORDER
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


cdef bint is_valid(Block *block, int64_t lane) noexcept nogil:
    """Return whether all of a document is UTF-8, which every slower path relies on; else the row has failed."""
    cdef const uint8_t *p = block.start[lane]
    cdef int64_t size = block.end[lane] - p
    if not block.checked[lane]:
        block.checked[lane] = utf8_valid(p, size)
        if not block.checked[lane]:
            block.context.level = 0
            fail(block.context, INVALID_UTF8, NULL, p + utf8_valid_prefix(p, size))
    return block.checked[lane]


cdef inline bint is_read(const Block *block, const Op *op) noexcept nogil:
    return block.read[op.number >> 6] >> (op.number & 63) & 1


cdef inline const uint8_t *elsewhere(Block *block, const uint8_t *p, const Op *found) noexcept nogil:
    block.place = NOT_HERE
    block.next = p
    block.found = found
    return NULL


cdef const uint8_t *seek(Block *block, const Op *container, const Op *op, int64_t lane) noexcept nogil:
    """Find a field behind space and fields that no op has; `op` may be the one behind the last field.

    NULL if it is not there: `Block.place` tells why, and `Block.next` is where the row then stands, before the key of
    `Block.found` or at the end of the object.
    """
    cdef Context *context = block.context
    cdef const uint8_t *end = block.end[lane]
    cdef const uint8_t *p = block.at[lane]
    cdef const uint8_t *at
    cdef const Op *found
    context.end = end
    context.level = 0
    block.place = WRONG
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
        if is_key(op, at, end, op.code == BEHIND):
            return json_space(at + op.key_size, end)
        if at[0] != 34:
            return fail(context, JSON_SYNTAX, container, at)
        found = find(context, container, at)
        if context.status != OK:
            return NULL
        if found == op:
            return json_space(context.after, end)
        if found != NULL:
            if is_read(block, found):
                block.sought += DISORDER
                block.place = ODD
                return NULL
            return elsewhere(block, p, found)
        p = json_skip(context.after, end, context.max_depth - block.depth, &context.fault)
        if p == NULL:
            return fail_token(context, container)


cdef const uint8_t *read_one(Block *block, const Op *op, int64_t lane, const uint8_t *p) noexcept nogil:
    """Read a value as the row loop does; NULL if the row is odd, which ends the block."""
    cdef Context *context = block.context
    cdef int64_t row = block.row + lane
    if lane >= block.count:
        return NULL
    if p == NULL or is_dropped(block, lane):
        set_null(context.columns, op.column, row, block.wide)
        return block.at[lane]
    if not is_valid(block, lane):
        return refuse(block, op, lane)
    context.end = block.end[lane]
    context.depth = block.depth
    context.level = 0
    context.budget.expanded = 0
    context.outside = NULL
    if block.wide:
        p = run(context, NULL, op, row, p, <int64_t *>NULL, <items_t>0)
    else:
        p = run(context, NULL, op, row, p, <int32_t *>NULL, <items_t>0)
    # What is stored beyond the document counts for a row as a whole.
    if context.budget.expanded:
        block.count = lane
        return NULL
    if p == NULL:
        if context.op == NULL:
            # There is no value, but the end of the object that has the field.
            context.op = block.key.container
        return refuse(block, op, lane)
    return p


cdef const uint8_t *refuse(Block *block, const Op *op, int64_t lane) noexcept nogil:
    """Drop a row that has failed at a field; NULL if that ends the block."""
    cdef bint goes_on = block.scattered and block.depth == 1 and block.context.status != INVALID_UTF8
    if goes_on:
        # The first failure of the row counts, where the others are found later.
        if (not block.failed >> lane & 1 or block.context.at < block.lapses[lane].at) and not note(block, lane):
            block.count = lane
            return NULL
    elif not drop_failed(block, lane):
        return NULL
    set_null(block.context.columns, op.column, block.row + lane, block.wide)
    if goes_on:
        return block.start[lane] + block.places.table[op.number * PLACED + lane].stop
    return block.at[lane]


cdef void read_values(Block *block, const Op *op) noexcept nogil:
    cdef Column *column = &block.context.columns[op.column]
    cdef bint list = op.code == ITEMS and column.kind == LIST
    cdef const uint8_t *p
    cdef int64_t lane
    for lane in range(block.count):
        p = block.value[lane]
        if list and p != NULL and p[0] == 91 and p[1] == 93 and block.end[lane] - p >= 2:
            set_null(block.context.columns, op.column, block.row + lane, block.wide)
            if column.valid != NULL:
                column.valid[block.row + lane] = 1
            p += 2
        else:
            p = read_one(block, op, lane, p)
        if p == NULL:
            return
        block.at[lane] = p


cdef inline void set_valid(Block *block, const Op *op) noexcept nogil:
    """Note that no value of a field is null, until one is."""
    cdef Column *column = &block.context.columns[op.column]
    if op.column >= 0 and column.valid != NULL:
        memset(column.valid + block.row, 1, block.count)


cdef void read_leaves(Block *block, const Op *op, offset_t *tag) noexcept nogil:
    cdef Column *column = &block.context.columns[op.column]
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef int64_t lane
    set_valid(block, op)
    for lane in range(block.count):
        at = p = find_value(block, op, lane)
        if likely(p != NULL):
            at = read_quickly(op, column, block.row + lane, p, block.end[lane], True, tag)
        if unlikely(at == NULL):
            at = read_one(block, op, lane, p)
            if at == NULL:
                return
        block.at[lane] = at


cdef void read_integers(Block *block, const Op *op, integer_t *tag) noexcept nogil:
    cdef integer_t *data = <integer_t *>block.context.columns[op.column].data + block.row
    cdef int64_t low = op.low
    cdef int64_t high = op.high
    cdef int64_t factor = op.factor
    cdef int64_t value = 0
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef int64_t lane
    set_valid(block, op)
    for lane in range(block.count):
        at = p = find_value(block, op, lane)
        if likely(p != NULL):
            at = json_whole(p, block.end[lane], &value)
            if unlikely(at == NULL):
                at = json_long(p, block.end[lane], &value)
        if likely(at != NULL) and likely(value >= low) and likely(value <= high):
            data[lane] = <integer_t>(value * factor)
        else:
            at = read_one(block, op, lane, p)
            if at == NULL:
                return
        block.at[lane] = at


cdef void read_decimals(Block *block, const Op *op) noexcept nogil:
    cdef Column *column = &block.context.columns[op.column]
    cdef int64_t value = 0
    cdef int fraction = 0
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef int64_t lane
    set_valid(block, op)
    for lane in range(block.count):
        at = p = find_value(block, op, lane)
        if likely(p != NULL):
            at = json_tight(p, block.end[lane], &value, &fraction)
        if unlikely(at == NULL) or unlikely(not store_decimal(op, column, block.row + lane, value, fraction)):
            at = read_one(block, op, lane, p)
            if at == NULL:
                return
        block.at[lane] = at


cdef void read_doubles(Block *block, const Op *op) noexcept nogil:
    cdef double *data = <double *>block.context.columns[op.column].data + block.row
    cdef int64_t value = 0
    cdef int fraction = 0
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef int64_t lane
    set_valid(block, op)
    for lane in range(block.count):
        at = p = find_value(block, op, lane)
        if likely(p != NULL):
            at = json_tight(p, block.end[lane], &value, &fraction)
        # Zero may be -0.
        if unlikely(at == NULL) or unlikely(value == 0) or unlikely(not json_quotient(value, fraction, data + lane)):
            at = NULL
            if p != NULL:
                at = json_double(p, block.end[lane], powers_of_five, data + lane)
            if unlikely(at == NULL):
                at = read_one(block, op, lane, p)
            if at == NULL:
                return
        block.at[lane] = at


cdef inline bint is_inner(int8_t byte) noexcept nogil:
    """Return whether a byte of UTF-8 continues a character."""
    return byte < -64


cdef inline int64_t text_start(Block *block, const Column *column, const Column *list, int64_t lane) noexcept nogil:
    """Return where the text of a row starts, or the text of its items."""
    cdef int64_t index = block.row + lane
    if list != NULL:
        index = offset_at(list, index, block.wide)
    return offset_at(column, index, block.wide)


cdef void check_texts(Block *block, const Column *column, const Column *list, bint cut) noexcept nogil:
    """Drop the rows that are not UTF-8, if one of these texts is not.

    Together they may be although they are not: then a character is cut between two of them.
    """
    cdef int64_t begin = text_start(block, column, list, 0)
    cdef int64_t end = text_start(block, column, list, block.count)
    cdef int64_t lane
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
                size = json_plain(p + 33, end, data + used + 32) - p - 1
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


cdef inline const uint8_t *read_items(
    const Op *item, Column *items, int64_t *slot, int8_t *least, const uint8_t *p, const uint8_t *end, offset_t *tag
) noexcept nogil:
    """Read leaves and the commas between them; return the position behind, NULL if one is not in its common form."""
    while True:
        least[0] = min(least[0], <int8_t>p[1])
        if item.code == STRING:
            p = quick_text(items, slot[0], p, end, tag)
        else:
            p = read_quickly(item, items, slot[0], p, end, True, tag)
        if unlikely(p == NULL) or unlikely(p >= end):
            return NULL
        if items.valid != NULL:
            items.valid[slot[0]] = 1
        slot[0] += 1
        if p[0] != 44:
            return p
        p += 1


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
                else:
                    p = read_items(item, items, &slot, &least, p, end, tag)
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


cdef void read_objects(Block *block, const Op *op) noexcept nogil:
    """Read objects: all of them together, if every row has one."""
    cdef const uint8_t *p
    cdef int64_t lane
    find_values(block, op)
    if block.count == 0:
        return
    for lane in range(block.count):
        p = block.value[lane]
        if (p == NULL or p >= block.end[lane] or p[0] != 123) and not is_dropped(block, lane):
            read_values(block, op)
            return
    memcpy(block.at, block.value, block.count * sizeof(block.at[0]))
    set_valid(block, op)
    read_fields(block, op)


cdef void read_field(Block *block, const Op *op) noexcept nogil:
    """Read the values of a field from `Block.value` on."""
    if op.code == STRING:
        if block.wide:
            read_texts(block, op, <int64_t *>NULL)
        else:
            read_texts(block, op, <int32_t *>NULL)
    elif op.code == OBJECT and not op.forms & KEEPS:
        read_objects(block, op)
    elif op.code == INTEGER and op.width == 8 and block.inside:
        read_integers(block, op, <int64_t *>NULL)
    elif op.code == INTEGER and op.width == 4 and block.inside:
        read_integers(block, op, <int32_t *>NULL)
    elif op.code == DECIMAL and block.inside:
        read_decimals(block, op)
    elif op.code == DOUBLE and block.inside:
        read_doubles(block, op)
    elif op.code >= BOOLEAN and op.code <= DECIMAL:
        read_leaves(block, op, <int32_t *>NULL)
    elif op.code == ITEMS and op[1].code >= BOOLEAN and op[1].code <= STRING \
            and block.context.columns[op.column].kind == LIST:
        if block.wide:
            read_lists(block, op, <int64_t *>NULL)
        else:
            read_lists(block, op, <int32_t *>NULL)
    else:
        find_values(block, op)
        read_values(block, op)


cdef inline int64_t first_lane(const Block *block) noexcept nogil:
    """Return the first row that is not dropped; the first of all, if there is none."""
    cdef uint64_t left = ~block.dropped & (<uint64_t>-1 >> (64 - block.count))
    return ctz64(left) if likely(left) else 0


cdef const Op *next_field(Block *block, const Op *container, const Op *op) noexcept nogil:
    """Return the field that comes next in the first row, or `op`, the one expected, if none is found."""
    cdef Context *context = block.context
    cdef int64_t lane = first_lane(block)
    cdef const Op *behind = container + container.next - 1
    cdef const Op *next = NULL
    cdef const Op *found
    cdef const uint8_t *end = block.end[lane]
    cdef const uint8_t *p = block.at[lane]
    while op == behind or is_read(block, op):
        op = container + 1 if op == behind else op + op.next
    if is_key(op, p + 1 + (p[1] == 32), end, 0) or seek(block, container, op, lane) != NULL \
            or block.place != NOT_HERE or block.found == NULL:
        return op
    next = block.found
    p = block.next
    while p < end and (p[0] == 44 or p[0] == 123):
        p = json_space(p + 1, end)
        if p >= end or p[0] != 34:
            break
        found = find(context, container, p)
        if context.status != OK:
            break
        if found == op:
            return next
        p = json_skip(context.after, end, context.max_depth - block.depth, &context.fault)
        if p == NULL:
            break
        p = json_space(p, end)
    return op


cdef void read_fields(Block *block, const Op *container) noexcept nogil:
    """Read objects from their brackets on."""
    cdef uint64_t read[WORDS]
    cdef const Op *op = container + 1
    cdef const Op *behind = container + container.next - 1
    cdef const uint8_t *p
    cdef int64_t lane
    cdef int32_t field
    if block.depth >= block.context.max_depth or container.fields > 64 * WORDS:
        block.count = 0
        return
    block.depth += 1
    memcpy(block.begin, block.at, block.count * sizeof(block.at[0]))
    memset(read, 0, sizeof(read))
    for field in range(container.fields):
        block.read = read
        op = next_field(block, container, op)
        expect(block, container, op, field == 0)
        if block.dropped:
            fill(block, op)
        read_field(block, op)
        read[op.number >> 6] |= <uint64_t>1 << (op.number & 63)
        op += op.next
        if block.count == 0:
            return
    block.read = read
    for lane in range(block.count):
        p = block.at[lane]
        if unlikely(p >= block.end[lane] or p[0] != 125):
            if is_dropped(block, lane):
                continue
            seek(block, container, behind, lane)
            if block.place == WRONG and drop_failed(block, lane):
                continue
            if block.place != NOT_HERE:
                block.count = lane
                break
            p = block.next
            if p == block.begin[lane]:
                p = json_space(p + 1, block.end[lane])
        block.at[lane] = p + 1
    block.depth -= 1


cdef void locate_rows(Block *block, const Op *container) noexcept nogil:
    """Find the values of all rows; `Block.value` becomes where each row ends."""
    cdef Context *context = block.context
    cdef Places *places = &block.places
    cdef const Op *op
    cdef uint64_t lacking
    cdef int64_t lane
    if block.depth >= context.max_depth or not container.fields or not begin_places(places, container):
        block.count = 0
        return
    places.spaced = block.spaced
    for lane in range(block.count):
        if is_dropped(block, lane):
            continue
        context.end = block.end[lane]
        block.value[lane] = NULL
        if not container.forms & FOLD or is_valid(block, lane):
            block.value[lane] = locate(
                places, context, lane, block.start[lane], block.at[lane], context.max_depth - block.depth - 1
            )
        if block.value[lane] == NULL or (places.unknown and not is_valid(block, lane)):
            if not try_row(block, container, lane):
                return
    op = container + 1
    for _ in range(container.fields):
        if not op.forms & ABSENT or op.data != NULL:
            lacking = ~(places.came[op.number] | block.dropped)
            while lacking:
                lane = ctz64(lacking)
                lacking &= lacking - 1
                if lane < block.count and not try_row(block, container, lane):
                    return
        op += op.next


cdef bint try_row(Block *block, const Op *root, int64_t lane) noexcept nogil:
    """Drop a row that the row loop does not read either, or that is null; else end the block before it.

    What it yields is stored in the place of the first row, of which nothing is yet.
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
    if block.at[lane][0] == 123 or context.budget.expanded:
        block.count = lane
        return False
    drop(block, lane)
    return True


cdef void read_some(Block *block, const Op *op, uint64_t came, offset_t *tag) noexcept nogil:
    """Read a field that not all rows have."""
    cdef const Place *places = &block.places.table[op.number * PLACED]
    cdef Column *column = &block.context.columns[op.column]
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef const uint8_t *end
    cdef int64_t lane
    cdef int64_t value = 0
    cdef int64_t size
    cdef int fraction = 0
    cdef int64_t next = 0          # the first row that nothing is stored of yet
    cdef int8_t least = 0
    cdef offset_t *offsets = <offset_t *>column.offsets + block.row
    cdef uint64_t left = came
    if column.valid != NULL:
        memset(column.valid + block.row, 0, block.count)
    if column.kind == FIXED:
        memset(column.data + block.row * column.width, 0, block.count * column.width)
    elif column.kind == BITS:
        memset(column.data + block.row, 0, block.count)
    while left:
        lane = ctz64(left)
        left &= left - 1
        p = block.start[lane] + places[lane].start
        end = block.end[lane]
        at = NULL
        if op.code == STRING:
            for next in range(next, lane):
                offsets[next + 1] = offsets[next]
            next = lane + 1
            least = min(least, <int8_t>p[1])
            size = json_plain32(p + 1, column.data + offsets[lane])
            if likely(p[0] == 34) and likely(size < 32) and likely(p[size + 1] == 34) and likely(p + size + 2 <= end):
                offsets[lane + 1] = offsets[lane] + <offset_t>size
                at = p + size + 2
        elif op.code != BOOLEAN and block.inside:
            at = json_tight(p, end, &value, &fraction)
            if at != NULL and not store_number(op.code, op, column, block.row + lane, value, fraction, p[0] == 45):
                at = NULL
        if unlikely(at == NULL):
            at = read_quickly(op, column, block.row + lane, p, end, True, tag)
        if likely(at != NULL):
            if column.valid != NULL:
                column.valid[block.row + lane] = 1
        else:
            at = read_one(block, op, lane, p)
        if unlikely(at != block.start[lane] + places[lane].stop):
            block.count = lane
            break
    if op.code == STRING:
        for next in range(next, block.count):
            offsets[next + 1] = offsets[next]
        check_texts(block, column, NULL, is_inner(least))


cdef void read_scattered(Block *block, const Op *container) noexcept nogil:
    """Read objects from their brackets on, whose keys come in any order, and not all in each."""
    cdef const Op *op = container + 1
    cdef const uint8_t *ends[LANES]
    cdef const Place *places
    cdef uint64_t all
    cdef uint64_t came
    cdef uint64_t dropped
    cdef int64_t lane
    locate_rows(block, container)
    memcpy(ends, block.value, block.count * sizeof(ends[0]))
    memset(&block.key, 0, sizeof(block.key))
    block.depth += 1
    for _ in range(container.fields):
        if block.count == 0:
            return
        places = &block.places.table[op.number * PLACED]
        all = <uint64_t>-1 >> (64 - block.count)
        came = block.places.came[op.number] & all & ~block.dropped
        dropped = block.dropped & all
        if came | dropped == all:
            for lane in range(block.count):
                block.at[lane] = block.start[lane] + places[lane].start
            # Nothing stands before a value that is where it is looked for.
            memset(&block.key, 0, sizeof(block.key))
            if dropped:
                fill(block, op)
            read_field(block, op)
            for lane in range(block.count):
                if unlikely(block.at[lane] != block.start[lane] + places[lane].stop) and not is_dropped(block, lane):
                    block.count = lane
                    break
        elif op.code >= BOOLEAN and op.code <= STRING:
            if block.wide:
                read_some(block, op, came, <int64_t *>NULL)
            else:
                read_some(block, op, came, <int32_t *>NULL)
        else:
            for lane in range(block.count):
                if not came >> lane & 1:
                    read_one(block, op, lane, NULL)
                elif read_one(block, op, lane, block.start[lane] + places[lane].start) \
                        != block.start[lane] + places[lane].stop:
                    block.count = lane
                    break
        op += op.next
    memcpy(block.at, ends, block.count * sizeof(ends[0]))
    block.depth -= 1


cdef void read_block(Block *block, const Op *root) noexcept nogil:
    cdef const uint8_t *p
    cdef const uint8_t *end
    cdef int64_t lane
    block.depth = 0
    block.failed = 0
    memset(block.checked, 0, block.count * sizeof(block.checked[0]))
    if block.dropped:
        block.filler[BEFORE] = 123
        for lane in range(block.count):
            if is_dropped(block, lane):
                drop(block, lane)
    for lane in range(block.count):
        p = block.start[lane]
        end = block.end[lane]
        if unlikely(p >= end or p[0] != 123):
            if end - p >= 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
                p += 3
            p = json_space(p, end)
            block.at[lane] = p
            if (p >= end or p[0] != 123) and not try_row(block, root, lane):
                break
        else:
            block.at[lane] = p
    if block.count == 0:
        return
    lane = first_lane(block)
    block.spaced = is_spaced(block.at[lane], block.end[lane])
    block.sought = 0
    set_valid(block, root)
    if block.scattered:
        read_scattered(block, root)
    else:
        read_fields(block, root)
    for lane in range(block.count):
        p = block.at[lane]
        end = block.end[lane]
        if unlikely(p != end) and not (block.dropped | block.failed) >> lane & 1:
            if is_valid(block, lane):
                p = json_space(p, end)
                if p == end or block.trailing:
                    continue
                fail(block.context, TRAILING_BYTES, NULL, p)
                block.context.level = 0
            if not drop_failed(block, lane):
                break


cdef bint is_spaced(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Return whether a space stands behind the first key of an object and its colon."""
    while p < end and p[0] != 58:
        p += 1
    return end - p > 1 and p[1] == 32
