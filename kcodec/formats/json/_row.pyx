"""The row loop of JSON: documents to columns, one value after the other.

One pass over the bytes of a document (RFC 8259), without a tree of it. The fields of an object are looked for in
the order of the last ones: their keys are compared as they stand in the text, with quotes and colon, where they are
expected, and only where that fails they are looked up. Keys that no field has are read past.

A value that comes again, as its key does, is written over, and so is a row that fails.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from kcodec.columns.built._column cimport LIST, MAP, STRUCT, Column, set_null
from kcodec.columns.built._compact cimport drop_earlier_duplicates
from kcodec.formats.json._context cimport Context, fail, fail_token
from kcodec.formats.json._leaf cimport read_leaf, wrong
from kcodec.formats.json._program cimport (
    ABSENT, AN_ARRAY, AN_OBJECT, A_BOOLEAN, A_NUMBER, A_STRING, DEFAULT, ENTRIES, FOLD, ITEMS, KEEPS, NOTHING, NULLABLE,
    OBJECT, RAW, TUPLE, UNION, UNIQUE, Op, key_hash,
)
from kcodec.formats.json._quick cimport NULL_WORD, SHORT, read_quickly
from kcodec.plan._budget cimport begin_row, charge, fit_bytes, fit_item
from kcodec.wire.binary.cursor cimport likely, load_le32, load_le64, unlikely
from kcodec.wire.binary.status cimport (
    DEPTH_LIMIT, DUPLICATE_KEY, INVALID_UTF8, JSON_SYNTAX, JSON_TYPE, MISSING_KEY, NO_MEMORY, NULL_VALUE, OK,
    TRAILING_BYTES, TRUNCATED, Status,
)
from kcodec.wire.text.json cimport json_literal, json_plain, json_skip, json_space, json_string
from kcodec.wire.text.utf8 cimport utf8_valid, utf8_valid_prefix


cdef bint is_folded_key(const Op *op, const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Return whether the key of an op stands here, its letters in any case."""
    cdef int32_t at
    cdef uint8_t letter
    if op.key.folds[0] == 0 or end - p < op.key_size:
        return False
    if ((load_le64(p) ^ op.key.words[0]) & op.key.folds[0]) | ((load_le64(p + 8) ^ op.key.words[1]) & op.key.folds[1]):
        return False
    for at in range(16, op.key_size):
        letter = op.name[at]
        if (p[at] ^ letter) & (0xDF if 65 <= letter <= 90 else 0xFF):
            return False
    return True


cdef const Op *look_up(const Op *container, const uint8_t *name, int64_t size) noexcept nogil:
    cdef uint32_t place = key_hash(name, size, container.seed) & container.table_mask
    cdef const Op *op
    while container.table[place] != 0:
        op = container + container.table[place]
        if op.plain_size == size and memcmp(op.plain, name, size) == 0:
            return op
        place = (place + 1) & container.table_mask
    return NULL


cdef int64_t fold(Context *context, const uint8_t *name, int64_t size, uint8_t *upper) noexcept nogil:
    """Write the upper case of a name as Unicode has it; -1 if that is longer than all names of fields."""
    cdef int64_t at = 0
    cdef int64_t used = 0
    cdef int32_t low
    cdef int32_t high
    cdef int32_t middle
    cdef int32_t length
    cdef int32_t i
    cdef uint32_t code
    while at < size:
        if used > context.longest:
            return -1
        if name[at] < 0x80:
            upper[used] = name[at] - 32 if name[at] >= 97 and name[at] <= 122 else name[at]
            used += 1
            at += 1
            continue
        length = 2 if name[at] < 0xE0 else 3 if name[at] < 0xF0 else 4
        code = name[at] & (0x7F >> length)
        for i in range(1, length):
            code = code << 6 | (name[at + i] & 0x3F)
        low = 0
        high = context.fold_count
        while low < high:
            middle = (low + high) >> 1
            if context.folds[middle] < code:
                low = middle + 1
            else:
                high = middle
        if low < context.fold_count and context.folds[low] == code:
            memcpy(upper + used, context.fold_texts + 8 * low, 8)
            used += context.fold_texts[8 * low + 7]
        else:
            memcpy(upper + used, name + at, length)
            used += length
        at += length
    return used


cdef const Op *find(Context *context, const Op *container, const uint8_t *p) noexcept nogil:
    """Read a key and its colon, up to `Context.after`, and give the op of its field.

    NULL if there is none, or for a failure: then the status is not OK. `Context.folded` tells whether it took
    folding to find it.
    """
    cdef const uint8_t *end = context.end
    cdef const uint8_t *name = p + 1
    cdef const uint8_t *at = json_plain(name, end, NULL)
    cdef int64_t size = at - name
    cdef const Op *op = NULL
    cdef bint strange = False     # no name of a field has this hash
    context.status = OK
    context.folded = False
    if likely(at < end and at[0] == 34):
        op = container + container.table[key_hash(name, size, container.seed) & container.table_mask]
        if likely(op != container and op.key_size == size + 3) and likely(is_key(op, p, end, 0)):
            context.after = p + op.key_size
            return op
        strange = op == container
        at += 1
    else:
        at = json_string(name, end, NULL, NULL, &context.fault)
        if at == NULL:
            fail_token(context, container)
            return NULL
        size = at - 1 - name
        if size <= 18 * context.longest:
            json_string(name, end, context.scratch, &size, &context.fault)
            name = context.scratch
    at = json_space(at, end)
    if at >= end:
        fail(context, TRUNCATED, container, end)
        return NULL
    if at[0] != 58:
        fail(context, JSON_SYNTAX, container, at)
        return NULL
    context.after = at + 1
    if size > 3 * context.longest:
        return NULL
    op = NULL if strange else look_up(container, name, size)
    if op == NULL and container.forms & FOLD:
        at = context.scratch + context.scratch_room - context.longest - 32
        size = fold(context, name, size, <uint8_t *>at)
        if size >= 0:
            op = look_up(container, at, size)
            context.folded = True
    return op


cdef inline uint64_t *bits_of(Context *context, const Op *container, const Op *op, bint folded) noexcept nogil:
    """Return the word that holds a field's bit, for fields whose bit is beyond the first word."""
    cdef int32_t words = (container.fields - 1) // 64
    return &context.words[container.words + (op.number >> 6) - 1 + (words if folded else 0)]


cdef Status mark_far(Context *context, const Op *container, const Op *op) noexcept nogil:
    """Note that a field came, for fields whose bit is beyond the first word; JSON_TYPE if its value does not count."""
    cdef uint64_t *exact = bits_of(context, container, op, False)
    cdef uint64_t *folded = bits_of(context, container, op, True)
    cdef uint64_t bit = <uint64_t>1 << (op.number & 63)
    if (exact[0] | folded[0]) & bit and container.forms & UNIQUE:
        return DUPLICATE_KEY
    if not context.folded:
        exact[0] |= bit
    elif exact[0] & bit:
        return JSON_TYPE
    else:
        folded[0] |= bit
    return OK


cdef inline bint is_leaf(const Column *column) noexcept nogil:
    return column.kind != STRUCT and column.kind != LIST and column.kind != MAP


cdef const uint8_t *fill_missing(
    Context *context, const Op *container, uint64_t seen, int64_t index, const uint8_t *p, offset_t *tag
) noexcept nogil:
    """Store defaults or nulls for the fields that did not come; `p` is behind the object."""
    cdef const Op *op = container + 1
    cdef const Op *stop = container + container.next - 1
    while op != stop:
        if op.number >= 64:
            seen = bits_of(context, container, op, False)[0] | bits_of(context, container, op, True)[0]
        if not seen & (<uint64_t>1 << (op.number & 63)):
            if not op.forms & ABSENT:
                return fail(context, MISSING_KEY, op, p - 1)
            if op.data != NULL:
                if read_default(context, op, index, p, tag) == NULL:
                    return NULL
            else:
                set_null(context.columns, op.column, index, offset_t is int64_t)
        op += op.next
    return p


cdef const uint8_t *read_default(
    Context *context, const Op *op, int64_t index, const uint8_t *p, offset_t *tag
) noexcept nogil:
    """Read the default of a value in its place; return the position `p`."""
    cdef const uint8_t *end = context.end
    cdef const uint8_t *outside = context.outside
    cdef const uint8_t *at
    cdef Status status = charge(&context.budget, op.data_size)
    if status != OK:
        return fail(context, status, op, p)
    if outside == NULL:
        context.outside = p
    context.end = op.data + op.data_size
    at = json_space(op.data, context.end)
    at = fail(context, TRUNCATED, op, at) if at >= context.end else run(context, NULL, op, index, at, tag, <items_t>0)
    context.end = end
    if at == NULL:
        return NULL
    context.outside = outside
    return p


cdef const uint8_t *read_null(
    Context *context, const Op *op, int64_t index, const uint8_t *p, offset_t *tag
) noexcept nogil:
    cdef const uint8_t *at = json_literal(p, context.end, b"null", &context.fault)
    if at == NULL:
        return fail_token(context, op)
    if op.data != NULL and op.forms & DEFAULT:
        return read_default(context, op, index, at, tag)
    if not op.forms & NULLABLE and op.code != NOTHING:
        return fail(context, NULL_VALUE, op, p)
    if op.column >= 0:
        set_null(context.columns, op.column, index, offset_t is int64_t)
    return at


cdef Status keep(
    Context *context, const Op *op, int64_t index, bint first, const uint8_t *begin, const uint8_t *end, offset_t *tag
) noexcept nogil:
    """Add a key and its value to the object that is kept of an object's unknown ones; it has less text than that."""
    cdef Column *column = <Column *>(<char *>context.columns + op.place)
    cdef offset_t *offsets = <offset_t *>column.offsets + index
    cdef int64_t size = end - begin
    cdef int64_t used = offsets[0] if first else offsets[1] - 1
    cdef Status status = fit_bytes(&context.budget, column, used + size + 2)
    if status != OK:
        return status
    column.data[used] = 123 if first else 44
    memcpy(column.data + used + 1, begin, size)
    column.data[used + 1 + size] = 125
    offsets[1] = <offset_t>(used + size + 2)
    if column.valid != NULL:
        column.valid[index] = 1
    return OK


cdef const uint8_t *read_member(
    Context *context, const Op *op, int64_t index, const uint8_t *p, offset_t *tag
) noexcept nogil:
    """Read a value of a union into the member for its kind."""
    cdef Column *column = <Column *>(<char *>context.columns + op.place)
    cdef const Op *member = op + 1
    cdef const Op *stop = op + op.next
    cdef const Op *chosen
    cdef int32_t kind = A_NUMBER
    if p[0] == 123:
        kind = AN_OBJECT
    elif p[0] == 91:
        kind = AN_ARRAY
    elif p[0] == 34:
        kind = A_STRING
    elif p[0] == 116 or p[0] == 102:
        kind = A_BOOLEAN
    if op.table[kind] == 0:
        return wrong(context, op, p)
    if column.valid != NULL:
        column.valid[index] = 1
    chosen = op + op.table[kind]
    while member != stop:
        if member != chosen:
            set_null(context.columns, member.column, index, offset_t is int64_t)
        member += member.next
    return run(context, NULL, chosen, index, p, tag, <items_t>0)


cdef const uint8_t *run(
    Context *context, const Op *container, const Op *op, int64_t index, const uint8_t *p, offset_t *tag,
    values_t which
) noexcept nogil:
    """Read the values of a container, from its bracket past the one that closes it; without one, the value of `op`.

    The container's own value has the number `index` in its scope. Return the position behind, or NULL.
    """
    cdef Column *columns = context.columns
    cdef const uint8_t *end = context.end
    cdef int32_t kind = OBJECT if values_t is fields_t else NOTHING if container == NULL else container.code
    cdef const Op *expected = NULL
    cdef const Op *stop = NULL
    cdef Column *column
    cdef const uint8_t *at
    cdef const uint8_t *begun     # the key of a field
    cdef uint64_t exact = 0
    cdef uint64_t folded = 0
    cdef int64_t slot = index
    cdef int64_t begin = 0
    cdef uint8_t closer = 0
    cdef bint keyed = False       # the next value of a map is a key
    cdef bint unique = False
    # A number that is all of a document ends where it does, which no quick one may.
    cdef bint quick = context.max_number >= SHORT and (values_t is fields_t or container != NULL)
    cdef Status status

    if values_t is fields_t or container != NULL:
        if unlikely(context.depth >= context.max_depth):
            return fail(context, DEPTH_LIMIT, container, p)
        context.depth += 1
        closer = p[0] + 2
        unique = container.forms & UNIQUE
        expected = op = container + 1
        stop = container + container.next
        if values_t is fields_t:
            if unlikely(container.fields > 64):
                memset(&context.words[container.words], 0, 16 * ((container.fields - 1) // 64))
        elif kind == ITEMS or kind == ENTRIES:
            column = <Column *>(<char *>columns + container.place)
            if column.kind == MAP:
                begin = (<int32_t *>column.offsets)[index]
            else:
                begin = (<offset_t *>column.offsets)[index]
            slot = begin
            keyed = kind == ENTRIES
            context.items[context.level] = 0
            context.level += 1
        p = json_space(p + 1, end)
        if unlikely(p >= end):
            return fail(context, TRUNCATED, container, end)
        if p[0] == closer:
            if values_t is items_t:
                if kind == TUPLE and expected != stop:
                    return fail(context, JSON_TYPE, container, p)
            return leave(context, container, 0, index, begin, slot, p + 1, tag)
        if values_t is items_t:
            if kind != TUPLE:
                status = fit_item(&context.budget, column, slot)
                if unlikely(status != OK):
                    return fail(context, status, container, p)

    while True:
        if values_t is fields_t:
            if likely(is_key(expected, p, end, expected.looked_up)):
                op = expected
                exact |= op.bit
                expected = op + op.next
                p += op.key_size
            elif container.forms & FOLD and expected != stop and expected.bit & ~exact and not unique \
                    and is_folded_key(expected, p, end):
                op = expected
                folded |= op.bit
                expected = op + op.next
                p += op.key_size
            else:
                at = json_space(p, end)
                if at != p:
                    p = at
                    continue
                if unlikely(p >= end):
                    return fail(context, TRUNCATED, container, end)
                if unlikely(p[0] != 34):
                    return fail(context, JSON_SYNTAX, container, p)
                begun = p
                op = find(context, container, p)
                if unlikely(context.status != OK):
                    return NULL
                if op != NULL:
                    expected = op + op.next
                    if unlikely(op.bit == 0):
                        status = mark_far(context, container, op)
                    elif unlikely(unique and (exact | folded) & op.bit):
                        status = DUPLICATE_KEY
                    elif likely(not context.folded):
                        exact |= op.bit
                        status = OK
                    elif exact & op.bit:
                        status = JSON_TYPE
                    else:
                        folded |= op.bit
                        status = OK
                    if unlikely(status == DUPLICATE_KEY):
                        return fail(context, DUPLICATE_KEY, container, p)
                    if unlikely(status != OK):
                        op = NULL
                p = context.after
                if op == NULL:
                    p = json_skip(p, end, context.max_depth - context.depth, &context.fault)
                    if unlikely(p == NULL):
                        return fail_token(context, container)
                    if container.forms & KEEPS:
                        status = keep(context, container + 1, slot, not exact & 1, begun, p, tag)
                        if unlikely(status != OK):
                            return fail(context, status, container, begun)
                        exact |= 1
        elif keyed:
            if unlikely(p >= end):
                return fail(context, TRUNCATED, container, end)
            if unlikely(p[0] != 34):
                return fail(context, JSON_SYNTAX, container, p)
        elif kind == TUPLE:
            if unlikely(expected == stop):
                return fail(context, JSON_TYPE, container, p)
            op = expected
            expected = op + op.next

        if likely(op != NULL):
            if unlikely(p >= end or p[0] <= 32):
                at = p
                p = json_space(p, end)
                if p >= end:
                    return fail(context, TRUNCATED, op if at <= end else container, end)
            column = <Column *>(<char *>columns + op.place)
            if p[0] == 110 and (op.code != RAW or op.forms & NULLABLE):
                if likely(end - p >= 4) and likely(load_le32(p) == NULL_WORD) and likely(
                    op.forms & (NULLABLE | DEFAULT) == NULLABLE
                ):
                    set_null(columns, op.column, slot, offset_t is int64_t)
                    p += 4
                else:
                    p = read_null(context, op, slot, p, tag)
                    if unlikely(p == NULL):
                        return NULL
            elif unlikely(op.code == UNION):
                p = read_member(context, op, slot, p, tag)
                if p == NULL:
                    return NULL
            elif op.code == OBJECT or op.code == TUPLE or op.code == ITEMS or op.code == ENTRIES:
                if unlikely(p[0] != (123 if op.code == OBJECT or op.code == ENTRIES else 91)):
                    return wrong(context, op, p)
                if op.column >= 0 and column.valid != NULL:
                    column.valid[slot] = 1
                if op.code == OBJECT:
                    p = run(context, op, NULL, slot, p, tag, <fields_t>0)
                else:
                    p = run(context, op, NULL, slot, p, tag, <items_t>0)
                if unlikely(p == NULL):
                    return NULL
            else:
                # A text that asks for room goes the long way.
                at = NULL
                if likely(context.budget.growing == NULL):
                    at = read_quickly(op, column, slot, p, end, quick, tag)
                if unlikely(at == NULL):
                    at = read_leaf(context, op, column, slot, p, offset_t is int64_t)
                    if unlikely(at == NULL):
                        return NULL
                p = at
                if column.valid != NULL:
                    column.valid[slot] = 1

        if values_t is items_t:
            if container == NULL:
                return p
        if unlikely(p >= end or p[0] <= 32):
            p = json_space(p, end)
            if p >= end:
                return fail(context, TRUNCATED, container, end)
        if values_t is items_t:
            if keyed:
                if unlikely(p[0] != 58):
                    return fail(context, JSON_SYNTAX, container, p)
                keyed = False
                op += op.next
                p += 1
                continue
            if kind != TUPLE:
                slot += 1
        if p[0] == 44:
            p += 1
            if values_t is items_t:
                if kind == ENTRIES:
                    keyed = True
                    op = container + 1
                if kind != TUPLE:
                    context.items[context.level - 1] = slot - begin
                    status = fit_item(&context.budget, <Column *>(<char *>columns + container.place), slot)
                    if unlikely(status != OK):
                        return fail(context, status, container, p)
                if unlikely(p >= end or p[0] <= 32):
                    p = json_space(p, end)
        elif likely(p[0] == closer):
            p += 1
            if values_t is fields_t:
                if likely((exact | folded) == container.all and container.fields <= 64):
                    context.depth -= 1
                    return p
                exact |= folded
            elif kind == TUPLE and unlikely(expected != stop):
                return fail(context, JSON_TYPE, container, p - 1)
            return leave(context, container, exact, index, begin, slot, p, tag)
        else:
            return fail(context, JSON_SYNTAX, container, p)


cdef const uint8_t *read_document(
    Context *context, const Op *root, int64_t row, const uint8_t *p, bint wide, bint trailing
) noexcept nogil:
    cdef const uint8_t *end = context.end
    context.outside = NULL
    begin_row(&context.budget)
    context.depth = 0
    context.level = 0
    if unlikely(not utf8_valid(p, end - p)):
        return fail(context, INVALID_UTF8, NULL, p + utf8_valid_prefix(p, end - p))
    if end - p >= 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
        p += 3
    p = json_space(p, end)
    if unlikely(p >= end):
        return fail(context, TRUNCATED, root, end)
    if wide:
        p = run(context, NULL, root, row, p, <int64_t *>NULL, <items_t>0)
    else:
        p = run(context, NULL, root, row, p, <int32_t *>NULL, <items_t>0)
    if unlikely(p != NULL and p != end):
        if trailing:
            if runs_on(p[-1], p[0]):
                return fail(context, TRAILING_BYTES, NULL, p)
        else:
            p = json_space(p, end)
            if p != end:
                return fail(context, TRAILING_BYTES, NULL, p)
    return p


cdef bint runs_on(uint8_t last, uint8_t after) noexcept nogil:
    """Return whether Jackson would read a number or word beyond its last byte, into the byte behind it."""
    if 48 <= last <= 57:
        return not (after == 32 or after == 9 or after == 10 or after == 13)
    if last != 101 and last != 108:
        return False
    return after > 126 or 48 <= after <= 57 or 65 <= after <= 90 or 97 <= after <= 122 or after == 95


cdef const uint8_t *leave(
    Context *context, const Op *container, uint64_t seen, int64_t index, int64_t begin, int64_t end,
    const uint8_t *p, offset_t *tag
) noexcept nogil:
    """Complete the value of a container: fields that did not come, the end of its items. `p` is behind it."""
    cdef Column *column = <Column *>(<char *>context.columns + container.place)
    cdef int64_t kept = end
    context.depth -= 1
    if container.code == OBJECT:
        return fill_missing(context, container, seen, index, p, tag)
    if container.code == TUPLE:
        return p
    context.level -= 1
    if column.kind != MAP:
        (<offset_t *>column.offsets)[index + 1] = <offset_t>end
        return p
    if end - begin > 1 and is_leaf(&context.columns[container.column + 1]):
        kept = drop_earlier_duplicates(
            context.columns, container.column, index, begin, end, True, offset_t is int64_t
        )
        if unlikely(kept < 0):
            return fail(context, NO_MEMORY, container, p)
        if unlikely(kept < end and container.forms & UNIQUE):
            return fail(context, DUPLICATE_KEY, container, p)
    (<int32_t *>column.offsets)[index + 1] = <int32_t>kept
    return p
