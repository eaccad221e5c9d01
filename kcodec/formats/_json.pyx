"""JSON to columns: the row loop.

One pass over the bytes of a document (RFC 8259), without a tree of it. The fields of an object are looked for in
the order of the last ones: their keys are compared as they stand in the text, with quotes and colon, where they are
expected, and only where that fails they are looked up. What no field is named like is read past.

The ops of a program (kcodec/formats/_json_program.pyx) store into columns that have room for all a block of rows can
hold (kcodec/columns/_builder.pyx), so storing is never checked; only defaults yield more than they take from the
document, which is counted against `Context.room`. A value that comes again, as its key does, is written over, and so
is a row that fails.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy, memset

from kcodec.columns._builder cimport LIST, MAP, STRUCT, Builder, Column, set_null
from kcodec.columns._compact cimport drop_earlier_duplicates
from kcodec.columns._rows cimport Rows, Slice
from kcodec.formats._json_context cimport Context, charge, fail, fail_token
from kcodec.formats._json_leaf cimport read_leaf, wrong
from kcodec.formats._json_program cimport (
    ABSENT, BOOLEAN, DECIMAL, DEFAULT, DOUBLE, ENTRIES, FOLD, INTEGER, ITEMS, NOTHING, NULLABLE, OBJECT, RAW,
    STRING, TUPLE, UNIQUE, Op, Program as Compiled, key_hash,
)
from kcodec.wire.cursor cimport likely, load_le32, load_le64, store_le64, unlikely
from kcodec.wire.json cimport (
    JSON_MARGIN, json_literal, json_plain, json_quotient, json_quotient_single, json_short, json_skip, json_space,
    json_string, pow10,
)
from kcodec.wire.status cimport (
    DEPTH_LIMIT, DUPLICATE_KEY, INVALID_UTF8, JSON_SYNTAX, JSON_TYPE, MISSING_KEY, NEED_ROOM, NO_MEMORY, NULL_VALUE,
    OK, OUT_OF_RANGE, TRAILING_BYTES, TRUNCATED, Status,
)
from kcodec.wire.utf8 cimport utf8_valid, utf8_valid_prefix

from kcodec.errors import CODES, Fault

__all__ = ["Program", "decode", "encode"]

from kcodec.formats._json_encode import encode
from kcodec.formats._json_program import Program
from kcodec.plan.node import MAX_DEPTH

_CODES = list(CODES)

ctypedef fused offset_t:
    int32_t
    int64_t

# What `run` goes through: objects have a loop of their own, which knows nothing of items.
ctypedef char fields_t
ctypedef short items_t

ctypedef fused values_t:
    fields_t
    items_t

cdef enum:
    BLOCK_ROWS = 512          # rows of a block, at most
    BLOCK_BYTES = 1 << 16     # and when its documents hold this much, it is full
    SHORT = 32                # characters that `json_short` never reads
    NULL_WORD = 0x6C6C756E    # "null"

cdef uint64_t[2] WORDS
WORDS[0] = 0x65736C6166   # "false"
WORDS[1] = 0x65757274     # "true"


cdef enum Answer:
    DONE
    GROW
    FAULT
    OUT_OF_MEMORY


cdef struct State:
    Context context
    int64_t row               # first of the block
    int64_t count             # rows of the block
    int64_t done              # of these
    int64_t payload           # bytes of the block
    int64_t extra             # room beyond the documents that a block gets
    int64_t expansion         # of all programs, per row
    bint checked              # all of the block is UTF-8
    uint8_t *copy             # of a document with nothing readable behind it
    const uint8_t *origin     # of the row in hand: offsets count from here
    int32_t program           # of the row that failed
    Slice slices[BLOCK_ROWS]


cdef inline bint is_key(const Op *op, const uint8_t *p, const uint8_t *end, uint64_t never) noexcept nogil:
    """Tell whether the key of an op stands here, which may go beyond the end; False if `never` is not 0."""
    cdef uint64_t first = (load_le64(p) ^ op.key.words[0]) & op.key.masks[0]
    cdef uint64_t second = (load_le64(p + 8) ^ op.key.words[1]) & op.key.masks[1]
    if first | second | never:
        return False
    return op.key_size <= 16 or (op.key_size <= end - p and memcmp(p, op.name, op.key_size) == 0)


cdef bint is_folded_key(const Op *op, const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Tell whether the key of an op stands here, its letters in any case."""
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
    context.status = OK
    context.folded = False
    if likely(at < end and at[0] == 34):
        op = container + container.table[key_hash(name, size, container.seed) & container.table_mask]
        if likely(op != container and op.key_size == size + 3) and likely(is_key(op, p, end, 0)):
            context.after = p + op.key_size
            return op
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
    op = look_up(container, name, size)
    if op == NULL and container.forms & FOLD:
        at = context.scratch + context.scratch_room - context.longest - 32
        size = fold(context, name, size, <uint8_t *>at)
        if size >= 0:
            op = look_up(container, at, size)
            context.folded = True
    return op


cdef inline uint64_t *bits_of(Context *context, const Op *container, const Op *op, bint folded) noexcept nogil:
    """Give the word of a field's bits, where its number is beyond the first word."""
    cdef int32_t words = (container.fields - 1) // 64
    return &context.words[container.words + (op.number >> 6) - 1 + (words if folded else 0)]


cdef Status mark_far(Context *context, const Op *container, const Op *op) noexcept nogil:
    """Note that a field came whose number is beyond the first word; JSON_TYPE if that does not count."""
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
    """Give the fields that did not come what they then are; `p` is behind the object."""
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
    cdef Status status = charge(context, op.data_size)
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
    cdef offset_t *offsets
    cdef uint64_t exact = 0
    cdef uint64_t folded = 0
    cdef uint64_t raw = 0
    cdef int64_t value
    cdef int64_t slot = index
    cdef int64_t begin = 0
    cdef int fraction = 0
    cdef int shift
    cdef int room
    cdef double real
    cdef float single
    cdef uint8_t closer = 0
    cdef uint8_t truth
    cdef bint negative
    cdef bint keyed = False       # the next value of a map is a key
    cdef bint unique = False
    cdef bint quick = context.max_number >= SHORT
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
                at = NULL
                if op.code == STRING:
                    if likely(p[0] == 34):
                        offsets = <offset_t *>column.offsets + slot
                        at = json_plain(p + 1, end, column.data + offsets[0])
                        if likely(at < end and at[0] == 34):
                            offsets[1] = offsets[0] + <offset_t>(at - p - 1)
                            at += 1
                        else:
                            at = NULL
                elif op.code <= DECIMAL and op.code >= INTEGER:
                    negative = p[0] == 45
                    if quick:
                        at = json_short(p + negative, end, &raw, &fraction)
                    if at == NULL:
                        pass
                    elif op.code == INTEGER:
                        value = -<int64_t>raw if negative else <int64_t>raw
                        if unlikely(fraction != 0):
                            at = NULL
                        elif unlikely(value < op.low or value > op.high):
                            return fail(context, OUT_OF_RANGE, op, p)
                        else:
                            value *= op.factor
                            if op.width == 8:
                                (<int64_t *>column.data)[slot] = value
                            elif op.width == 4:
                                (<int32_t *>column.data)[slot] = <int32_t>value
                            elif op.width == 2:
                                (<int16_t *>column.data)[slot] = <int16_t>value
                            else:
                                (<int8_t *>column.data)[slot] = <int8_t>value
                    elif op.code == DECIMAL:
                        shift = op.scale - fraction
                        room = min(op.precision, 18) - shift
                        if likely(shift >= 0 and room >= 0) and likely(raw < pow10[room]):
                            value = <int64_t>(raw * pow10[shift])
                            if negative:
                                value = -value
                            raw = <uint64_t>(value >> 63)
                            if op.width == 2:
                                store_le64(column.data + 16 * slot, <uint64_t>value)
                                store_le64(column.data + 16 * slot + 8, raw)
                            else:
                                store_le64(column.data + 32 * slot, <uint64_t>value)
                                store_le64(column.data + 32 * slot + 8, raw)
                                store_le64(column.data + 32 * slot + 16, raw)
                                store_le64(column.data + 32 * slot + 24, raw)
                        else:
                            at = NULL
                    elif op.code == DOUBLE:
                        if likely(json_quotient(raw, fraction, &real)) and likely(raw or not negative):
                            (<double *>column.data)[slot] = -real if negative else real
                        else:
                            at = NULL
                    elif likely(json_quotient_single(raw, fraction, &single)) and likely(raw or not negative):
                        (<float *>column.data)[slot] = -single if negative else single
                    else:
                        at = NULL
                elif op.code == BOOLEAN:
                    # Which of the two cannot be predicted: a bit of the first letter chooses what is compared.
                    truth = (p[0] >> 4) & 1
                    if likely(end - p >= 5) and likely((load_le64(p) ^ WORDS[truth]) << (24 + 8 * truth) == 0):
                        column.data[slot] = truth
                        at = p + 5 - truth
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
        kept = drop_earlier_duplicates(context.columns, container.column, begin, end, offset_t is int64_t)
        if unlikely(kept < 0):
            return fail(context, NO_MEMORY, container, p)
        if unlikely(kept < end and container.forms & UNIQUE):
            return fail(context, DUPLICATE_KEY, container, p)
    (<int32_t *>column.offsets)[index + 1] = <int32_t>kept
    return p


cdef Answer advance(
    State *state, Builder builder, Rows rows, const Op **programs, int32_t program_count, const int32_t *selector,
    const int32_t *starts, const int32_t *ends, const int64_t *divisor, bint trailing
) noexcept nogil:
    """Decode until something needs the GIL: all is done, a column must grow, or a row has failed."""
    cdef Context *context = &state.context
    cdef int64_t row
    cdef int64_t size
    cdef int32_t program = 0
    cdef Slice *slice
    cdef const uint8_t *p
    cdef bint whole = starts == NULL and ends == NULL
    while True:
        if state.done == state.count:
            if state.count:
                row = state.row + state.count
                builder.pack(row)
                state.row = row
            if state.row == rows.length:
                return DONE
            state.done = 0
            state.count = rows.fill(state.row, state.slices, BLOCK_ROWS, BLOCK_BYTES, &state.payload)
            state.checked = whole and all_valid(state.slices, state.count)
        if state.done == 0:
            context.room = state.extra + state.count * state.expansion
            if not builder.has_room(state.row, state.count, state.payload, context.room, divisor):
                return GROW
        while state.done < state.count:
            slice = &state.slices[state.done]
            row = state.row + state.done
            if selector != NULL:
                program = selector[row]
            if slice.start == NULL or program < 0 or program >= program_count or programs[program] == NULL:
                set_null(builder.columns, 0, row, builder.wide)
                state.done += 1
                continue
            size = slice.end - slice.start
            p = slice.start
            context.end = slice.end
            if starts != NULL:
                p = slice.start + starts[row]
                size = -1 if starts[row] < 0 or starts[row] > size else size
            if ends != NULL and size >= 0:
                size = -1 if ends[row] < 0 or ends[row] > size else size
                context.end = slice.start + ends[row]
            context.outside = NULL
            state.origin = slice.start
            context.expanded = 0
            context.depth = 0
            context.level = 0
            if unlikely(size < 0 or p > context.end):
                p = fail(context, TRUNCATED, NULL, slice.end)
            elif unlikely(slice.limit - context.end < JSON_MARGIN) and not move(state, &p):
                return OUT_OF_MEMORY
            elif unlikely(not state.checked and not utf8_valid(p, context.end - p)):
                p = fail(context, INVALID_UTF8, NULL, p + utf8_valid_prefix(p, context.end - p))
            else:
                p = document(context, programs[program], row, p, builder.wide, trailing)
            if likely(p != NULL):
                state.done += 1
                continue
            if context.status == NEED_ROOM:
                # What is done is a block of its own; the rest starts again, with more room.
                state.extra = 2 * state.extra + (1 << 12)
                state.count = state.done
                if state.done == 0:
                    state.count = 1
                    state.payload = slice.end - slice.start
                break
            if context.status == NO_MEMORY:
                return OUT_OF_MEMORY
            set_null(builder.columns, 0, row, builder.wide)
            state.program = program
            state.done += 1
            return FAULT


cdef bint all_valid(const Slice *slices, int64_t count) noexcept nogil:
    """Check the UTF-8 of all rows of a block at once, where each starts at the end of the last."""
    cdef const uint8_t *start = NULL
    cdef const uint8_t *end = NULL
    cdef int64_t at
    for at in range(count):
        if slices[at].start == NULL:
            continue
        if start == NULL:
            start = slices[at].start
        elif slices[at].start != end:
            return False
        end = slices[at].end
        # Both sides of a cut are valid if it is not inside a character.
        if slices[at].start != end and (slices[at].start[0] & 0xC0) == 0x80:
            return False
    return utf8_valid(start, end - start)


cdef bint move(State *state, const uint8_t **p) noexcept nogil:
    """Move a document to where the bytes behind it can be read; False without memory."""
    cdef int64_t size = state.context.end - p[0]
    cdef uint8_t *copy = <uint8_t *>realloc(state.copy, size + JSON_MARGIN)
    if copy == NULL:
        return False
    memcpy(copy, p[0], size)
    memset(copy + size, 0, JSON_MARGIN)
    state.copy = copy
    state.origin = copy - (p[0] - state.origin)
    state.context.end = copy + size
    p[0] = copy
    return True


cdef const uint8_t *document(
    Context *context, const Op *root, int64_t row, const uint8_t *p, bint wide, bint trailing
) noexcept nogil:
    """Read one document, and what may stand around it: a byte order mark and space."""
    cdef const uint8_t *end = context.end
    if end - p >= 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
        p += 3
    p = json_space(p, end)
    if unlikely(p >= end):
        return fail(context, TRUNCATED, root, end)
    if wide:
        p = run(context, NULL, root, row, p, <int64_t *>NULL, <items_t>0)
    else:
        p = run(context, NULL, root, row, p, <int32_t *>NULL, <items_t>0)
    if unlikely(p != NULL and p != end) and not trailing:
        p = json_space(p, end)
        if p != end:
            return fail(context, TRAILING_BYTES, NULL, p)
    return p


cdef class _Int32Buffer:
    """A buffer of one int32 per row; NULL for None."""

    cdef Py_buffer view
    cdef bint held
    cdef const int32_t *data

    def __cinit__(self, values, int64_t rows, name):
        if values is None:
            return
        PyObject_GetBuffer(values, &self.view, PyBUF_SIMPLE)
        self.held = True
        self.data = <const int32_t *>self.view.buf
        if self.view.len < rows * 4:
            raise ValueError(f"{name} has {self.view.len} bytes for {rows} rows of int32")

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)


cdef object fault_of(State *state, Compiled program):
    """Put the facts of a failed row together."""
    cdef Context *context = &state.context
    cdef int32_t at
    code = _CODES[<int>context.status - 1]
    offset = context.at - state.origin
    row = state.row + state.done - 1
    if context.op == NULL:
        return Fault(row, offset, "", code, CODES[code])
    indexes = []
    for at in range(context.level):
        indexes.append(context.items[at])
    return Fault(row, offset, program.path(<int32_t>(context.op - program.ops), indexes), code, CODES[code])


def decode(values, programs, *, selector=None, starts=None, ends=None, trailing=False, stop=False):
    """Decode a column of JSON documents.

    Parameters
    ----------
    values : pyarrow.Array
        Binary or string of any layout; null rows stay null.
    programs : sequence of Program or None
        Programs of one Arrow type; rows that choose None are null.
    selector : buffer of int32, optional
        Per row which program; negative: none. By default the first for all.
    starts, ends : buffer of int32, optional
        Per row where the document starts and ends; by default it is all of the row.
    trailing : bool, default False
        Accept anything behind the value.
    stop : bool, default False
        Return after the first row that fails; the array then is not to be used.

    Returns
    -------
    array : pyarrow.Array
        A value per row; null for rows that failed.
    faults : list of Fault
        The rows that failed, in order. Offsets count from the first byte of the row.
    """
    cdef Rows rows = Rows(values)
    cdef Compiled program = next(each for each in programs if each is not None)
    cdef Builder builder = Builder(program.shape, rows.length)
    cdef _Int32Buffer chosen = _Int32Buffer(selector, rows.length, "selector")
    cdef _Int32Buffer first = _Int32Buffer(starts, rows.length, "starts")
    cdef _Int32Buffer last = _Int32Buffer(ends, rows.length, "ends")
    cdef State *state = <State *>calloc(1, sizeof(State))
    cdef int32_t count = len(programs)
    cdef const Op **ops = <const Op **>calloc(count, sizeof(Op *))
    cdef int64_t *divisor = <int64_t *>calloc(builder.count, sizeof(int64_t))
    cdef int32_t words = 0
    cdef bint accept = trailing
    cdef Answer answer
    cdef int32_t at
    faults = []
    try:
        if state == NULL or ops == NULL or divisor == NULL:
            raise MemoryError
        for at in range(builder.count):
            divisor[at] = 1 << 30
        for at in range(count):
            program = programs[at]
            if program is None:
                continue
            ops[at] = program.ops
            words = max(words, program.words)
            state.expansion = max(state.expansion, program.expansion)
            for column, least in program.divisors.items():
                divisor[column] = min(divisor[column], least)
            state.context.max_depth = min(program.limits.max_depth, MAX_DEPTH)
            state.context.max_number = program.limits.max_number_length
            state.context.max_expansion = program.limits.max_expansion
            state.context.longest = max(state.context.longest, program.longest)
            state.context.scratch_room = max(state.context.scratch_room, program.scratch)
            if program.fold_count:
                state.context.folds = program.folds
                state.context.fold_texts = program.fold_texts
                state.context.fold_count = program.fold_count
        state.context.words = <uint64_t *>calloc(words + 1, sizeof(uint64_t))
        state.context.scratch = <uint8_t *>calloc(state.context.scratch_room + 1, 1)
        if state.context.words == NULL or state.context.scratch == NULL:
            raise MemoryError
        state.context.columns = builder.columns
        while True:
            with nogil:
                answer = advance(
                    state, builder, rows, ops, count, chosen.data, first.data, last.data, divisor, accept
                )
            if answer == DONE:
                return builder.finish(), faults
            if answer == GROW:
                builder.grow(
                    state.row, state.count, state.payload, state.context.room, divisor, rows.bytes_from(state.row)
                )
            elif answer == FAULT:
                program = programs[state.program]
                faults.append(fault_of(state, program))
                if stop:
                    return None, faults
            else:
                raise MemoryError
    finally:
        if state != NULL:
            free(state.copy)
            free(state.context.words)
            free(state.context.scratch)
        free(state)
        free(ops)
        free(divisor)
