"""The end of a message: missing fields are filled in, and what can only be checked at the end is checked."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from kcodec.columns.built._column cimport BITS, BLOB, Column, offset_at, set_end, set_null
from kcodec.columns.built._compact cimport has_duplicates, replace_duplicates
from kcodec.formats.protobuf.rows._context cimport Context, column_of, fail, set_valid
from kcodec.formats.protobuf.rows._names cimport put_name
from kcodec.formats.protobuf.rows._program cimport (
    DURATION, ENTRIES, ITEMS, PRESENT, READ_ENUM, READ_ENUM_NAME, READ_TEXT, READ_TIME, STRICT, ZERO_NULL, Message, Op,
    Text,
)
from kcodec.plan._budget cimport charge, fit_bytes
from kcodec.wire.binary.cursor cimport ctz64
from kcodec.wire.binary.status cimport INEXACT, MISSING_REQUIRED, NO_MEMORY, OK, OUT_OF_RANGE, REREAD, Status


cdef void fill(Context *context, const Message *message, int64_t index) noexcept nogil:
    """Store the values of fields that a message never had; `Context.status` says whether that went well."""
    cdef const Op *first = context.ops + message.ops
    cdef const Op *op
    cdef const uint64_t *seen = context.seen + message.slot
    cdef Column *column
    cdef uint64_t absent
    cdef int32_t word
    cdef int32_t count
    cdef Status status
    for word in range(message.words):
        count = message.count - 64 * word
        absent = ~seen[word]
        if count < 64:
            absent &= (<uint64_t>1 << count) - 1
        while absent:
            op = first + 64 * word + ctz64(absent)
            absent &= absent - 1
            if op.column < 0:
                continue
            column = <Column *>(<char *>context.columns + op.place)
            if op.flags & (PRESENT | ITEMS) or column.kind == BLOB or op.code == READ_TEXT:
                set_empty(context, op, column, index)
            elif op.code == READ_ENUM:
                (<int32_t *>column.data)[index] = op.first
            elif op.code == READ_ENUM_NAME:
                status = put_name(context, op, column, index, op.first)
                if status != OK:
                    fail(context, status, op, NULL)
                    return
            elif op.message >= 0:
                # The message that an entry of a map has by default.
                begin(context, &context.messages[op.message], index)
                fill(context, &context.messages[op.message], index)
                if context.status != OK:
                    return
            elif column.kind == BITS:
                column.data[index] = 0
            else:
                memset(column.data + index * column.width, 0, column.width)
            if op.flags & ZERO_NULL:
                column.valid[index] = 0
    if message.cases:
        put_cases(context, message, index)


cdef inline void set_empty(Context *context, const Op *op, Column *column, int64_t index) noexcept nogil:
    """Make a value null, or empty."""
    if op.flags & PRESENT:
        set_null(context.columns, op.column, index, context.wide)
    else:
        set_end(column, index, offset_at(column, index, context.wide), context.wide)


cdef void put_cases(Context *context, const Message *message, int64_t index) noexcept nogil:
    """Store which member each oneof has."""
    cdef const uint64_t *seen = context.seen + message.slot
    cdef int32_t oneof
    cdef int32_t at
    cdef int32_t word
    cdef uint64_t member
    cdef Column *column
    cdef const Text *name
    cdef int64_t start
    cdef Status status
    for oneof in range(message.cases):
        set_null(context.columns, message.case_columns[oneof], index, context.wide)
        for at in range(message.case_members[oneof].count):
            word = message.case_members[oneof].words[at]
            member = seen[word] & message.case_members[oneof].bits[at]
            if member:
                column = column_of(context, message.case_columns[oneof])
                name = &message.field_names[64 * word + ctz64(member)]
                start = offset_at(column, index, context.wide)
                status = charge(&context.budget, name.size)
                if status == OK:
                    status = fit_bytes(&context.budget, column, start + name.size)
                if status != OK:
                    fail(context, status, context.ops + message.ops + message.count, NULL)
                    return
                memcpy(column.data + start, name.data, name.size)
                set_end(column, index, start + name.size, context.wide)
                set_valid(column, index)


cdef Status time_status(const Op *op, const int64_t *parts) noexcept nogil:
    """Return whether seconds and nanoseconds are a time of a field; REREAD if that takes more than 64 bits."""
    cdef int64_t seconds = parts[0]
    cdef int64_t nanos = parts[1]
    cdef int64_t most = INT64_MAX // (1000000000 // op.factor)
    if op.flags & STRICT:
        if seconds < op.low or seconds > op.high or nanos <= -1000000000 or nanos >= 1000000000:
            return OUT_OF_RANGE
        if nanos < 0 and (seconds > 0 or not op.flags & DURATION):
            return OUT_OF_RANGE
        if nanos > 0 and seconds < 0 and op.flags & DURATION:
            return OUT_OF_RANGE
        if op.factor == 1000 and nanos % 1000 != 0:
            return INEXACT
    # Nanoseconds have 32 bits, so they are three seconds at most.
    if seconds > most - 3 or seconds < -most + 3:
        return REREAD if seconds <= most + 3 and seconds >= -most - 3 else OUT_OF_RANGE
    return OK


cdef bint finish(Context *context, const Message *message, int64_t index) noexcept nogil:
    """Return whether required fields are there and times right, here and in messages that are not items.

    Otherwise the context tells of the first field that is not. Keys of maps are made to differ.
    """
    cdef const uint64_t *seen = context.seen + message.slot
    cdef const Op *first_op = context.ops + message.ops
    cdef const Op *op
    cdef Column *column
    cdef int32_t word
    cdef int32_t at
    cdef int32_t missing = message.count
    cdef int64_t first
    cdef int64_t last
    cdef int found
    cdef Status status
    if message.required != NULL:
        for word in range(message.words):
            if message.required[word] & ~seen[word]:
                missing = 64 * word + <int32_t>ctz64(message.required[word] & ~seen[word])
                break
    for at in range(message.finish_count):
        op = first_op + message.finish_fields[at]
        if op.position > missing:
            break
        if not seen[op.position >> 6] >> (op.position & 63) & 1 and op.flags & (PRESENT | ENTRIES):
            # Only the message that an entry of a map has by default is there all the same.
            continue
        if op.flags & ENTRIES:
            column = &context.columns[op.column]
            first = offset_at(column, index, context.wide)
            last = offset_at(column, index + 1, context.wide)
            found = has_duplicates(column + 1, first, last, context.wide) if last - first > 1 else 0
            if found > 0:
                context.is_replaced = True
                # As in Java's maps: a value that comes later is put where the key was first.
                last = replace_duplicates(context.columns, op.column, first, last, context.wide)
                set_end(column, index, last, context.wide)
            if found < 0 or last < 0:
                context.status = NO_MEMORY
                return False
        elif op.code == READ_TIME:
            if context.has_bad_time:
                status = time_status(op, context.times + 2 * (op - context.ops))
                if status != OK:
                    fail(context, status, op, NULL)
                    return False
        elif not finish(context, &context.messages[op.message], index):
            return False
    if missing < message.count:
        fail(context, MISSING_REQUIRED, first_op + missing, NULL)
        return False
    return True
