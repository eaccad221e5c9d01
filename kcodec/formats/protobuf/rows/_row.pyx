"""Protobuf messages to columns, a row at a time.

Wire forms::

    message   fields:  tag | value
    tag       varint:  number << 3 | wire type
    value     0  varint                 int32, int64, uint32, uint64, sint32, sint64 (zigzag), bool, enum
              1  8 bytes                fixed64, sfixed64, double
              2  length | bytes         string, bytes, message, packed scalars
              3  fields | end tag (4)   group
              5  4 bytes                fixed32, sfixed32, float

Fields come in any order, any number of times. The bits of `Context.seen` say which ones a message has had; what it
never gets is filled in at its end. A message that comes twice is read on where it was left, so that both are one.
Columns hold one value for each message, so the last value of a field is simply written over the one before.

What is wrong only once all is read is left to the plain twin, as REREAD, where that may be several things in items. So
is, while text is not checked, what writes over text.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.columns.built._column cimport Column, offset_at, set_end
from kcodec.formats.protobuf.rows._context cimport MAX_DEPTH, TRAIL, Context, column_of, fail, set_valid
from kcodec.formats.protobuf.rows._fill cimport begin, fill, finish, time_status
from kcodec.formats.protobuf.rows._names cimport find_name, put_name
from kcodec.formats.protobuf.rows._program cimport (
    CHECKED, CLOSED, ENTRIES, ENTRY_VALUE, FIXED32, FIXED64, GROUP_END, GROUP_START, ITEMS, LENGTH,
    PACKABLE, PACKED, READ_BOOL, READ_BYTES, READ_DROPPED, READ_ENUM, READ_ENUM_NAME, READ_FIXED32,
    READ_FIXED32_WIDE, READ_FIXED64, READ_FIXED64_WIDE, READ_GROUP, READ_INT32, READ_INT64, READ_RAW, READ_SINT32,
    READ_SINT64, READ_TEXT, READ_TIME, READ_UINT32_WIDE, STRICT, VARINT, ZERO_NULL, Message, Op,
)
from kcodec.plan._budget cimport begin_row, charge, fit_bytes, fit_item
from kcodec.wire.binary.cursor cimport (
    copy32, likely, load_le32, load_le64, read_low64, unlikely, unzigzag32, unzigzag64, write_varint,
)
from kcodec.wire.binary.status cimport (
    DEPTH_LIMIT, ENUM_INDEX, INVALID_TAG, INVALID_UTF8, NEGATIVE_LENGTH, NO_MEMORY, OK, REREAD, TRUNCATED,
    VARINT_OVERFLOW, Status,
)
from kcodec.wire.text.utf8 cimport utf8_valid


cdef enum Found:
    FIELD          # a field of the message
    SKIPPED        # an unknown field, which has been read past
    ENDED          # the end of the group
    FAILED


cdef inline const uint8_t *read_length(
    Context *context, const Op *op, const uint8_t *p, const uint8_t *end, int64_t *length
) noexcept nogil:
    """Read a length for which there are as many bytes."""
    cdef const uint8_t *at = p
    cdef uint64_t raw
    cdef Status status
    if likely(p < end and p[0] < 0x80):
        raw = p[0]
        p += 1
    else:
        status = read_low64(&p, end, context.limit, &raw)
        if unlikely(status != OK):
            return fail(context, status, op, at)
        if raw & 0x80000000u:
            return fail(context, NEGATIVE_LENGTH, op, at)
        if raw >> 32:
            return fail(context, VARINT_OVERFLOW, op, at)
    if unlikely(<int64_t>raw > end - p):
        return fail(context, TRUNCATED, op, at)
    length[0] = <int64_t>raw
    return p


cdef const uint8_t *read_tag(
    Context *context, const Op *op, const uint8_t *p, const uint8_t *end, uint32_t *number, int32_t *wire_type
) noexcept nogil:
    cdef const uint8_t *at = p
    cdef uint64_t tag
    cdef Status status = read_low64(&p, end, context.limit, &tag)
    if status != OK:
        return fail(context, status, op, at)
    if tag >> 32:
        return fail(context, VARINT_OVERFLOW, op, at)
    number[0] = <uint32_t>tag >> 3
    wire_type[0] = tag & 7
    if number[0] == 0 or wire_type[0] > FIXED32:
        return fail(context, INVALID_TAG, op, at)
    return p


cdef const uint8_t *skip_field(
    Context *context, const Op *op, const uint8_t *p, const uint8_t *end, uint32_t number, int32_t wire_type,
    int32_t depth
) noexcept nogil:
    """Read past a field, behind whose tag `p` is; `depth` groups may be nested."""
    cdef uint32_t groups[MAX_DEPTH]
    cdef int32_t open_groups = 0
    cdef const uint8_t *at
    cdef uint64_t raw
    cdef int64_t length
    cdef Status status
    while True:
        at = p
        if wire_type == VARINT:
            status = read_low64(&p, end, context.limit, &raw)
            if status != OK:
                return fail(context, status, op, at)
        elif wire_type == LENGTH:
            p = read_length(context, op, p, end, &length)
            if p == NULL:
                return NULL
            p += length
        elif wire_type == GROUP_START:
            if open_groups >= depth:
                return fail(context, DEPTH_LIMIT, op, at)
            groups[open_groups] = number
            open_groups += 1
        elif wire_type != GROUP_END:
            length = 8 if wire_type == FIXED64 else 4
            if length > end - p:
                return fail(context, TRUNCATED, op, at)
            p += length
        if open_groups == 0:
            return p
        at = p
        p = read_tag(context, op, p, end, &number, &wire_type)
        if p == NULL:
            return NULL
        if wire_type == GROUP_END:
            open_groups -= 1
            if groups[open_groups] != number:
                return fail(context, INVALID_TAG, op, at)


cdef Status check_fields(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Check that bytes are whole fields, of any message."""
    cdef Context context
    cdef uint32_t number
    cdef int32_t wire_type
    context.limit = end
    while p < end:
        p = read_tag(&context, NULL, p, end, &number, &wire_type)
        if p == NULL:
            return context.status
        if wire_type == GROUP_END:
            return INVALID_TAG
        p = skip_field(&context, NULL, p, end, number, wire_type, MAX_DEPTH)
        if p == NULL:
            return context.status
    return OK


cdef const uint8_t *put_unknown(
    Context *context, const Message *message, int64_t index, const uint8_t *tag, const uint8_t *p, uint32_t number,
    int32_t wire_type
) noexcept nogil:
    """Keep an unknown field, if the message has a column for them and they come in canonical order."""
    cdef Column *column
    cdef uint64_t *last
    cdef uint64_t order
    cdef int64_t end
    cdef int64_t tag_size = 1
    cdef const uint8_t *at
    cdef Status status
    if message.unknown < 0:
        return p
    column = column_of(context, message.unknown)
    last = context.seen + message.slot + message.words
    # Within a number varints, 32 bits, 64 bits, lengths; what holds varints must have them as short as they can be.
    order = <uint64_t>number << 3
    at = tag
    while at[0] >= 0x80:
        at += 1
    if at[0] == 0 or wire_type == GROUP_START:
        return fail(context, REREAD, NULL, tag)
    at += 1
    if wire_type == VARINT or wire_type == LENGTH:
        tag_size = 0
        while at[0] >= 0x80:
            at += 1
            tag_size += 1
        if (at[0] == 0 and tag_size) or tag_size == 9 and at[0] > 1:
            return fail(context, REREAD, NULL, tag)
    if wire_type == FIXED32:
        order |= 1
    elif wire_type == FIXED64:
        order |= 2
    elif wire_type == LENGTH:
        order |= 3
    if order < last[0]:
        return fail(context, REREAD, NULL, tag)
    last[0] = order
    set_valid(column, index)
    end = offset_at(column, index + 1, context.wide)
    status = fit_bytes(&context.budget, column, end + (p - tag))
    if status != OK:
        return fail(context, status, NULL, tag)
    memcpy(column.data + end, tag, p - tag)
    set_end(column, index, end + (p - tag), context.wide)
    return p


cdef const uint8_t *read_time(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, const uint8_t *end, bint again,
    int32_t depth
) noexcept nogil:
    """Read a Timestamp or a Duration, whose bytes end at `end`."""
    cdef int64_t *parts = context.times + 2 * (op - context.ops)
    cdef uint64_t raw
    cdef uint32_t number
    cdef int32_t wire_type
    cdef const uint8_t *at
    cdef Status status
    if not again:
        parts[0] = 0
        parts[1] = 0
    while p < end:
        at = p
        if p[0] == 0x08 or p[0] == 0x10:
            number = p[0] >> 3
            p += 1
            wire_type = VARINT
        else:
            p = read_tag(context, op, p, end, &number, &wire_type)
            if p == NULL:
                return NULL
            if wire_type == GROUP_END:
                return fail(context, INVALID_TAG, op, at)
        if wire_type != VARINT or number > 2:
            p = skip_field(context, op, p, end, number, wire_type, depth)
            if p == NULL:
                return NULL
            continue
        at = p
        status = read_low64(&p, end, context.limit, &raw)
        if unlikely(status != OK):
            return fail(context, status, op, at)
        if number == 1:
            parts[0] = <int64_t>raw
        else:
            parts[1] = <int32_t>raw
    if unlikely(time_status(op, parts) != OK):
        if op.flags & ITEMS:
            return p if pass_item(context, time_status(op, parts), op, p) else NULL
        # It may come again, which goes on with this one.
        context.has_bad_time = True
        return p
    (<int64_t *>column.data)[index] = parts[0] * (1000000000 // op.factor) + parts[1] // op.factor
    return p


cdef inline const uint8_t *read_leaf(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, const uint8_t *end, bint *aside
) noexcept nogil:
    """Read a value that is no message; return the position behind, or NULL.

    `aside` is set if it is no value of its closed enum, but an unknown field: `Context.number`.
    """
    cdef const uint8_t *at = p
    cdef uint64_t raw
    cdef int64_t length
    cdef int64_t start
    cdef Status status
    if op.code == READ_TEXT or op.code == READ_BYTES:
        if likely(context.limit - p >= 33 and p[0] <= 32):
            length = p[0]
            p += 1
            start = offset_at(column, index, context.wide)
            copy32(column.data + start, p)
            if unlikely(length > end - p):
                return fail(context, TRUNCATED, op, at)
        else:
            p = read_length(context, op, p, end, &length)
            if unlikely(p == NULL):
                return NULL
            start = offset_at(column, index, context.wide)
            status = fit_bytes(&context.budget, column, start + length)
            if unlikely(status != OK):
                return fail(context, status, op, at)
            memcpy(column.data + start, p, length)
        if unlikely(context.checked) and op.code == READ_TEXT and not utf8_valid(p, length):
            return fail(context, INVALID_UTF8 if op.flags & CHECKED else REREAD, op, p)
        set_end(column, index, start + length, context.wide)
        if unlikely(op.flags & ZERO_NULL) and length == 0:
            column.valid[index] = 0
        return p + length
    elif op.code == READ_FIXED64 or op.code == READ_FIXED64_WIDE:
        if unlikely(end - p < 8):
            return fail(context, TRUNCATED, op, p)
        raw = load_le64(p)
        p += 8
    elif op.code == READ_FIXED32 or op.code == READ_FIXED32_WIDE:
        if unlikely(end - p < 4):
            return fail(context, TRUNCATED, op, p)
        raw = load_le32(p)
        p += 4
    else:
        status = read_low64(&p, end, context.limit, &raw)
        if unlikely(status != OK):
            return fail(context, status, op, at)
    if op.code == READ_FIXED64 or op.code == READ_INT64:
        (<uint64_t *>column.data)[index] = raw
    elif op.code == READ_FIXED32 or op.code == READ_INT32:
        (<uint32_t *>column.data)[index] = <uint32_t>raw
    elif op.code == READ_BOOL:
        column.data[index] = raw != 0
    elif op.code == READ_ENUM or op.code == READ_ENUM_NAME:
        raw = <uint32_t>raw
        if op.flags & (CLOSED | STRICT | ENTRY_VALUE):
            if find_name(op.names, <int32_t>raw) == NULL:
                if op.flags & CLOSED:
                    aside[0] = True
                    context.number = <int32_t>raw
                    return p
                if not op.flags & ENTRY_VALUE:
                    return fail(context, ENUM_INDEX, op, at)
                context.unknown_entry = True
            else:
                context.unknown_entry = False
        if op.code == READ_ENUM:
            (<int32_t *>column.data)[index] = <int32_t>raw
        else:
            status = put_name(context, op, column, index, <int32_t>raw)
            if unlikely(status != OK):
                return fail(context, status, op, at)
    elif op.code == READ_SINT32:
        raw = <uint64_t>unzigzag32(<uint32_t>raw)
        (<int32_t *>column.data)[index] = <int32_t>raw
    elif op.code == READ_SINT64:
        (<int64_t *>column.data)[index] = unzigzag64(raw)
    elif op.code == READ_UINT32_WIDE or op.code == READ_FIXED32_WIDE:
        raw = <uint32_t>raw
        (<uint64_t *>column.data)[index] = raw
    else:
        (<uint64_t *>column.data)[2 * index] = raw
        (<uint64_t *>column.data)[2 * index + 1] = 0
    if unlikely(op.flags & ZERO_NULL):
        if (<uint32_t>raw if column.width == 4 else raw) == (<uint32_t>op.first if op.names != NULL else 0):
            column.valid[index] = 0
    return p


cdef const uint8_t *set_aside(
    Context *context, const Message *message, int64_t index, const Op *op, const uint8_t *p
) noexcept nogil:
    """Make a number that a closed enum does not declare an unknown field."""
    cdef uint8_t field[16]
    cdef uint8_t *out = write_varint(field, <uint64_t>op.number << 3)
    cdef Status status
    if message.unknown < 0:
        return p
    out = write_varint(out, <uint64_t><int64_t>context.number)
    status = charge(&context.budget, out - field)
    if status != OK:
        return fail(context, status, op, p)
    if put_unknown(context, message, index, field, out, op.number, VARINT) == NULL:
        return NULL
    return p


cdef Found find_field(
    Context *context, const Message *message, int64_t index, const uint8_t **at, const uint8_t *end, uint32_t group,
    int32_t depth, const Op **op, int32_t *found_type
) noexcept nogil:
    """Find the field of the next tag, whatever it is; read past it if it is none of the message."""
    cdef const Op *last = context.ops + message.ops + message.count
    cdef const uint8_t *tag = at[0]
    cdef const uint8_t *p
    cdef uint32_t number
    cdef int32_t wire_type
    cdef int32_t position
    p = read_tag(context, last, tag, end, &number, &wire_type)
    if p == NULL:
        return FAILED
    if wire_type == GROUP_END:
        if number != group:
            fail(context, INVALID_TAG, last, tag)
            return FAILED
        at[0] = p
        return ENDED
    position = -1
    if number < <uint32_t>message.table_size:
        position = message.table[number]
    elif message.count:
        position = place_of(context.ops + message.ops, message.count, number)
    if position >= 0:
        op[0] = context.ops + message.ops + position
        if wire_type == op[0].wire_type or (wire_type == LENGTH and op[0].flags & PACKABLE):
            at[0] = p
            found_type[0] = wire_type
            return FIELD
    p = skip_field(context, last, p, end, number, wire_type, depth)
    if p == NULL or put_unknown(context, message, index, tag, p, number, wire_type) == NULL:
        return FAILED
    at[0] = p
    return SKIPPED


cdef int32_t place_of(const Op *ops, int32_t count, uint32_t number) noexcept nogil:
    cdef int32_t low = 0
    cdef int32_t high = count
    cdef int32_t middle
    while low < high:
        middle = (low + high) >> 1
        if ops[middle].number < number:
            low = middle + 1
        else:
            high = middle
    return low if low < count and ops[low].number == number else -1


cdef const uint8_t *read_message(
    Context *context, const Message *message, int64_t index, const uint8_t *p, const uint8_t *end, uint32_t group,
    int32_t depth
) noexcept nogil:
    """Read fields up to the end, or that of the group of this number; return the position behind, or NULL.

    The message is the value with an index in its columns, and may have had fields before.
    """
    cdef const Op *op = context.ops + message.ops
    cdef uint64_t *seen = context.seen + message.slot
    cdef const uint8_t *tag
    cdef Column *column
    cdef uint64_t word
    cdef uint64_t bit
    cdef int32_t at
    cdef int32_t place
    cdef int32_t wire_type = 0
    cdef Found found
    cdef bint aside
    while p < end or group:
        tag = p
        found = FAILED
        if likely(context.limit - p >= 8):
            word = load_le64(p)
            if (word & op.tag_mask) == op.tag:
                found = FIELD
            elif (word & op[1].tag_mask) == op[1].tag:
                op += 1
                found = FIELD
            elif (word & op[2].tag_mask) == op[2].tag:
                op += 2
                found = FIELD
            p += op.tag_size
        if likely(found == FIELD and p <= end):
            wire_type = LENGTH if op.flags & PACKED else op.wire_type
        else:
            p = tag
            found = find_field(context, message, index, &p, end, group, depth, &op, &wire_type)
            if found == FAILED:
                return NULL
            if found == ENDED:
                break
            if found == SKIPPED:
                continue
        column = <Column *>(<char *>context.columns + op.place)
        bit = <uint64_t>1 << (op.position & 63)
        if op.flags & ITEMS:
            if op.code == READ_DROPPED:
                p = skip_field(context, op, p, end, op.number, wire_type, depth)
                if unlikely(p == NULL):
                    return NULL
            else:
                if not seen[op.position >> 6] & bit:
                    set_end(column, index, offset_at(column, index, context.wide), context.wide)
                p = read_items(context, message, op, column, index, tag, p, end, wire_type, depth)
                if unlikely(p == NULL):
                    return NULL
        elif op.code < READ_RAW:
            if unlikely(op.code == READ_TEXT and seen[op.position >> 6] & bit and not context.checked):
                # The text before is written over, so it must be checked now.
                return fail(context, REREAD, op, p)
            aside = False
            set_valid(column, index)
            p = read_leaf(context, op, column, index, p, end, &aside)
            if unlikely(p == NULL):
                return NULL
            if unlikely(aside):
                # What the field was before stays.
                if column.valid != NULL and not seen[op.position >> 6] & bit:
                    column.valid[index] = 0
                p = set_aside(context, message, index, op, p)
                if p == NULL:
                    return NULL
                op += op.ahead
                continue
        elif op.code == READ_DROPPED:
            p = skip_field(context, op, p, end, op.number, wire_type, depth)
            if unlikely(p == NULL):
                return NULL
        else:
            p = read_below(
                context, op, column, index, p, end, (seen[op.position >> 6] & bit) != 0, depth
            )
            if unlikely(p == NULL):
                return NULL
        if op.members != NULL:
            for place in range(op.members.count):
                at = op.members.words[place]
                word = seen[at] & op.members.bits[place]
                if at == op.position >> 6:
                    word &= ~bit
                if unlikely(word != 0):
                    if not context.checked:
                        return fail(context, REREAD, op, p)
                    # What is not seen is made null at the end.
                    seen[at] &= ~word
                    context.is_replaced = True
        seen[op.position >> 6] |= bit
        op += op.ahead
    if seen[0] != message.fields or message.words > 1 or message.cases:
        fill(context, message, index)
        if unlikely(context.status != OK):
            return NULL
    return p


cdef const uint8_t *read_items(
    Context *context, const Message *message, const Op *op, Column *column, int64_t index, const uint8_t *tag,
    const uint8_t *p, const uint8_t *end, int32_t wire_type, int32_t depth
) noexcept nogil:
    """Read an item of a list or an entry of a map, or a packed run."""
    cdef Column *items = &context.columns[op.column + 1]
    cdef int64_t item = offset_at(column, index + 1, context.wide)
    cdef int64_t start = offset_at(column, index, context.wide)
    cdef int64_t length
    cdef int64_t width
    cdef const uint8_t *stop
    cdef bint aside = False
    cdef Status status
    if wire_type == LENGTH and op.flags & PACKABLE:
        p = read_length(context, op, p, end, &length)
        if unlikely(p == NULL):
            return leave(context, item - start)
        stop = p + length
        if op.code == READ_FIXED32 or op.code == READ_FIXED64:
            width = 4 if op.code == READ_FIXED32 else 8
            if length >= width:
                status = fit_item(&context.budget, column, item + length // width - 1)
                if unlikely(status != OK):
                    return fail(context, status, op, p)
                # What is left of a run that is cut short fails below. For an empty one there may be no memory yet.
                memcpy(items.data + item * width, p, length // width * width)
                item += length // width
                p += length // width * width
        while p < stop:
            status = fit_item(&context.budget, column, item)
            if unlikely(status != OK):
                return fail(context, status, op, p)
            p = read_leaf(context, op, items, item, p, stop, &aside)
            if unlikely(p == NULL):
                return leave(context, item - start)
            if unlikely(aside):
                aside = False
                p = set_aside(context, message, index, op, p)
                if p == NULL:
                    return NULL
            else:
                item += 1
        set_end(column, index, item, context.wide)
        return p
    if op.flags & ENTRIES:
        context.unknown_entry = False
    status = fit_item(&context.budget, column, item)
    if unlikely(status != OK):
        return fail(context, status, op, p)
    set_valid(items, item)
    if op.code < READ_RAW:
        p = read_leaf(context, op, items, item, p, end, &aside)
    elif op.flags & ENTRIES:
        p = read_below(context, op, NULL, item, p, end, False, depth)
    else:
        p = read_below(context, op, items, item, p, end, False, depth)
    if unlikely(p == NULL):
        return leave(context, item - start)
    if unlikely(aside):
        return set_aside(context, message, index, op, p)
    if op.message >= 0 and (context.messages[op.message].finishing or context.has_bad_time):
        if not finish(context, &context.messages[op.message], item):
            if context.status == NO_MEMORY or not pass_item(context, context.status, context.op, p):
                return leave(context, item - start)
    if unlikely(op.flags & ENTRIES and op.flags & CLOSED and context.unknown_entry):
        if not context.checked:
            return fail(context, REREAD, op, p)
        return put_unknown(context, message, index, tag, p, op.number, LENGTH)
    set_end(column, index, item + 1, context.wide)
    return p


cdef bint pass_item(Context *context, Status status, const Op *op, const uint8_t *at) noexcept nogil:
    """Return whether to read on behind an item that is wrong: what cannot be read further on comes first.

    All at the end of the message come in the order of its fields, not in that of its bytes, so it is for the twin to
    say what is first, unless the same is wrong in all items.
    """
    if context.tells_items:
        fail(context, status, op, at)
        return False
    if status == REREAD or context.bad_item != NULL and context.bad_item != op:
        fail(context, REREAD, op, at)
        return False
    context.status = OK
    context.bad_item = op
    return True


cdef const uint8_t *leave(Context *context, int64_t item) noexcept nogil:
    """Note, while a failure is passed outwards, in which item of a list or map it happened."""
    if context.trail_size < TRAIL:
        context.trail[context.trail_size] = item
        context.trail_size += 1
    return NULL


cdef const uint8_t *read_below(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, const uint8_t *end, bint again,
    int32_t depth
) noexcept nogil:
    """Read a message, group, time or raw message as the value with an index; `again`: it goes on with one."""
    cdef const Message *message
    cdef int64_t length
    cdef int64_t start
    cdef Status status
    if column != NULL:
        set_valid(column, index)
    if op.code == READ_RAW:
        p = read_length(context, op, p, end, &length)
        if unlikely(p == NULL):
            return NULL
        start = offset_at(column, index + again, context.wide)
        status = fit_bytes(&context.budget, column, start + length)
        if unlikely(status != OK):
            return fail(context, status, op, p)
        memcpy(column.data + start, p, length)
        set_end(column, index, start + length, context.wide)
        return p + length
    if unlikely(depth == 0):
        return fail(context, DEPTH_LIMIT, op, p)
    if op.code != READ_GROUP:
        p = read_length(context, op, p, end, &length)
        if unlikely(p == NULL):
            return NULL
        end = p + length
        if op.code == READ_TIME:
            return read_time(context, op, column, index, p, end, again, depth - 1)
    message = &context.messages[op.message]
    if not again:
        begin(context, message, index)
    return read_message(context, message, index, p, end, op.number if op.code == READ_GROUP else 0, depth - 1)


cdef const uint8_t *read_root(
    Context *context, int64_t index, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    """Read a payload."""
    cdef const uint8_t *start = p
    context.tells_items = False
    p = read_whole(context, index, p, end)
    if p == NULL or context.bad_item == NULL:
        return p
    if context.is_replaced:
        return fail(context, REREAD, NULL, p)
    context.tells_items = True
    begin_row(&context.budget)
    return read_whole(context, index, start, end)


cdef const uint8_t *read_whole(
    Context *context, int64_t index, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    cdef const Message *root = &context.messages[0]
    context.status = OK
    context.has_bad_time = False
    context.bad_item = NULL
    context.is_replaced = False
    begin(context, root, index)
    p = read_message(context, root, index, p, end, 0, context.max_depth)
    if p != NULL and (root.finishing or context.has_bad_time) and not finish(context, root, index):
        return NULL if context.bad_item == NULL else fail(context, REREAD, NULL, end)
    return p
