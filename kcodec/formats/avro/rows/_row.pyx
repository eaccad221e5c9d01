"""Avro binary to columns, a row at a time: every op, and the facts of what fails.

Wire forms::

    null                    nothing
    boolean                 00 | 01
    int, long, enum, union  zigzag varint (of the value, symbol index, branch index)
    float, double           4 | 8 bytes, little-endian
    bytes, string           long length | bytes
    fixed                   bytes
    array, map              blocks, ended by a count of 0:  long count | items
                            or, for skipping:               long -count | long bytes | items
    record                  its fields

The ops of a program (_program.pyx) store into columns that have room for all a block of rows can hold
(kcodec/columns/built/_builder.pyx), so storing is never checked; what can yield more than it takes from the wire is
counted against `Budget.room` instead. Where columns grow as they are read, nothing may be read behind values
(`Context.limit`), so that none of them is copied before there is room.
"""

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcodec.columns.built._column cimport Column, set_null
from kcodec.columns.built._compact cimport FOUL, drop_earlier_duplicates
from kcodec.formats.avro.rows._context cimport Context, fail, leave
from kcodec.formats.avro.rows._items cimport read_items
from kcodec.formats.avro.rows._leaf cimport read_leaf
from kcodec.formats.avro.rows._program cimport (
    TEXT_MARGIN, DO_ABSENT_TEXT, DO_ARRAY, DO_BOOLEAN, DO_BYTES, DO_CONSTANT, DO_DEFAULT, DO_DOUBLE, DO_ENUM, DO_FAIL,
    DO_FLOAT, DO_INT, DO_INT_TO_LONG, DO_JUMP, DO_LONG, DO_MAP, DO_NULLABLE, DO_NULLABLE_DOUBLE, DO_NULLABLE_LONG,
    DO_NULLABLE_TEXT, DO_PRESENT, DO_SKIP, DO_STRING, DO_UNION, Op,
)
from kcodec.formats.avro.rows._skip cimport skip
from kcodec.plan._budget cimport charge, charge_zero_items, fit_bytes, fit_item
from kcodec.wire.binary.cursor cimport (
    copy32, copy_within, ctz64, gather7, likely, load_le32, load_le64, multiply_overflows, read_branch, read_length,
    read_varint32, read_varint64, unlikely, unzigzag32, unzigzag64,
)
from kcodec.wire.binary.status cimport (
    BLOCK_COUNT, BLOCK_SIZE, ENUM_INDEX, INVALID_BOOLEAN, INVALID_UTF8, NEGATIVE_LENGTH, NO_MEMORY, OK,
    OUT_OF_RANGE, TRUNCATED, UNION_INDEX, UNRESOLVABLE, Status,
)
from kcodec.wire.text.utf8 cimport utf8_valid


cdef const uint8_t *run(
    Context *context, const Op *first, const Op *stop, int64_t index, int64_t count, const uint8_t *p, offset_t *tag
) noexcept nogil:
    """Run a range of ops for `count` values of a scope, the first at `index`; return the position, or NULL."""
    cdef Column *columns = context.columns
    cdef const Op *op
    cdef Column *column
    cdef const uint8_t *end = context.end
    cdef const uint8_t *limit = context.limit
    cdef const uint8_t *at
    cdef const uint8_t *start
    cdef const uint8_t *outer_end
    cdef const uint8_t *outer_limit
    cdef offset_t *offsets
    cdef int32_t *offsets32
    cdef int32_t branch
    cdef uint32_t word
    cdef uint64_t raw
    cdef uint64_t stops
    cdef int64_t value
    cdef int64_t length
    cdef int64_t items
    cdef int64_t begin
    cdef int64_t size
    cdef int64_t present
    cdef Status status
    cdef bint sized

    if count > 1 and likely(context.budget.growing == NULL) and not context.checked:
        at = p
        length = read_items(context, first, stop, index, count, &at, tag)
        p = at
        index += length
        count -= length
    while count > 0:
        op = first
        while op != stop:
            column = <Column *>(<char *>columns + op.place)
            at = p
            if op.code == DO_STRING or op.code == DO_BYTES:
                offsets = <offset_t *>column.offsets + index
                if likely(limit - p >= 33) and (p[0] & 0xC1) == 0:
                    # The length is one byte and at most 31.
                    length = p[0] >> 1
                    p += 1
                    if unlikely(length > end - p):
                        return fail(context, TRUNCATED, op, at if at >= end else p, index)
                    copy32(column.data + offsets[0], p)
                else:
                    status = read_length(&p, end, &length)
                    if unlikely(status != OK):
                        return fail(context, status, op, at, index)
                    if unlikely(length < 0):
                        return fail(context, NEGATIVE_LENGTH, op, at, index)
                    if unlikely(length > end - p):
                        return fail(context, TRUNCATED, op, p, index)
                    status = fit_bytes(&context.budget, column, offsets[0] + length)
                    if unlikely(status != OK):
                        return fail(context, status, op, p, index)
                    copy_within(column.data + offsets[0], p, length, limit)
                if unlikely(context.checked) and op.code == DO_STRING and not utf8_valid(p, length):
                    return fail(context, INVALID_UTF8, op, p, index)
                offsets[1] = offsets[0] + <offset_t>length
                p += length
                op += 1
            elif op.code == DO_LONG:
                status = read_varint64(&p, end, limit, &raw)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                if unlikely(multiply_overflows(unzigzag64(raw), op.factor, &value)):
                    return fail(context, OUT_OF_RANGE, op, at, index)
                (<int64_t *>column.data)[index] = value
                op += 1
            elif op.code == DO_INT or op.code == DO_INT_TO_LONG:
                status = read_varint32(&p, end, limit, &word)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                if op.code == DO_INT:
                    (<int32_t *>column.data)[index] = unzigzag32(word)
                else:
                    (<int64_t *>column.data)[index] = unzigzag32(word) * op.factor
                op += 1
            elif op.code == DO_DOUBLE:
                if unlikely(end - p < 8):
                    return fail(context, TRUNCATED, op, p, index)
                (<uint64_t *>column.data)[index] = load_le64(p)
                p += 8
                op += 1
            elif op.code == DO_FLOAT:
                if unlikely(end - p < 4):
                    return fail(context, TRUNCATED, op, p, index)
                (<uint32_t *>column.data)[index] = load_le32(p)
                p += 4
                op += 1
            elif op.code == DO_NULLABLE_TEXT or op.code == DO_NULLABLE_DOUBLE or op.code == DO_NULLABLE_LONG \
                    or op.code == DO_NULLABLE:
                if likely(end > p) and (p[0] & 0xFD) == 0:
                    branch = p[0] >> 1
                    present = branch ^ op.size
                    # The common forms, without a branch on what is random: whether there is a value.
                    if op.code == DO_NULLABLE_TEXT:
                        if likely(limit - p >= 34):
                            length = p[1] & -present
                            if likely((length & 0xC1) == 0):
                                length >>= 1
                                if likely(1 + present + length <= end - p):
                                    offsets = <offset_t *>column.offsets + index
                                    copy32(column.data + offsets[0], p + 2)
                                    p += 1 + present
                                    if unlikely(context.checked) and op[1].code == DO_STRING \
                                            and not utf8_valid(p, length):
                                        return fail(context, INVALID_UTF8, op + 1, p, index)
                                    offsets[1] = offsets[0] + <offset_t>length
                                    column.valid[index] = <uint8_t>present
                                    p += length
                                    op += op.next
                                    continue
                    elif op.code == DO_NULLABLE_DOUBLE:
                        if likely(end - p >= 9):
                            (<uint64_t *>column.data)[index] = load_le64(p + 1) & <uint64_t>(-present)
                            column.valid[index] = <uint8_t>present
                            p += 1 + (present << 3)
                            op += op.next
                            continue
                    elif op.code == DO_NULLABLE_LONG:
                        if likely(limit - p >= 9):
                            raw = load_le64(p + 1)
                            stops = ~raw & 0x8080808080808080ULL
                            if likely(stops != 0):
                                size = ((ctz64(stops) >> 3) + 1) & -present
                                value = unzigzag64(gather7(raw & (stops ^ (stops - 1)))) & -present
                                if likely(1 + size <= end - p) \
                                        and likely(not multiply_overflows(value, op.factor, &value)):
                                    (<int64_t *>column.data)[index] = value
                                    column.valid[index] = <uint8_t>present
                                    p += 1 + size
                                    op += op.next
                                    continue
                    p += 1
                else:
                    status = read_branch(&p, end, &raw)
                    if unlikely(status != OK):
                        return fail(context, status, op, at, index)
                    if unlikely(raw != 0 and raw != 2):
                        return fail(context, UNION_INDEX, op, at, index)
                    present = <int64_t>(raw >> 1) ^ op.size
                if present:
                    if column.valid != NULL:
                        column.valid[index] = 1
                    op += 1
                else:
                    set_null(columns, op.column, index, offset_t is int64_t)
                    op += op.next
            elif op.code == DO_BOOLEAN:
                if unlikely(p >= end):
                    return fail(context, TRUNCATED, op, p, index)
                if unlikely(p[0] > 1):
                    return fail(context, INVALID_BOOLEAN, op, p, index)
                column.data[index] = p[0]
                p += 1
                op += 1
            elif op.code == DO_ENUM:
                status = read_varint32(&p, end, limit, &word)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                branch = unzigzag32(word)
                if unlikely(branch < 0 or branch >= op.size):
                    return fail(context, ENUM_INDEX, op, at, index)
                start = op.texts[branch].data
                length = op.texts[branch].size
                if unlikely(start == NULL):
                    return fail(context, UNRESOLVABLE, op, at, index)
                status = charge(&context.budget, length)
                if unlikely(status != OK):
                    return fail(context, status, op, p, index)
                offsets = <offset_t *>column.offsets + index
                status = fit_bytes(&context.budget, column, offsets[0] + length)
                if unlikely(status != OK):
                    return fail(context, status, op, p, index)
                copy_within(column.data + offsets[0], start, length, start + length + TEXT_MARGIN)
                offsets[1] = offsets[0] + <offset_t>length
                op += 1
            elif op.code == DO_ARRAY or op.code == DO_MAP:
                offsets = <offset_t *>column.offsets + index
                offsets32 = <int32_t *>column.offsets + index
                begin = offsets32[0] if op.code == DO_MAP else offsets[0]
                items = begin
                while True:
                    at = p
                    status = read_length(&p, end, &length)
                    if unlikely(status != OK):
                        return fail(context, status, op, at, index)
                    if length == 0:
                        break
                    sized = length < 0
                    start = at
                    if sized:
                        if length == INT64_MIN:
                            return fail(context, BLOCK_COUNT, op, at, index)
                        length = -length
                        start = p
                        status = read_length(&p, end, &size)
                        if unlikely(status != OK):
                            return fail(context, status, op, start, index)
                        if unlikely(size < 0 or size > end - p):
                            return fail(context, BLOCK_SIZE, op, start, index)
                        size += p - end    # where the block must end, counted from the end of the payload
                    if unlikely(op.minimum == 0):
                        status = charge_zero_items(&context.budget, length)
                        if status != OK:
                            return fail(context, status, op, at, index)
                    if likely(context.budget.growing == NULL):
                        p = run(context, op + 1, op + op.next, items, length, p, tag)
                    else:
                        p = run_growing(context, op, items, length, p, tag)
                    if unlikely(p == NULL):
                        leave(context, op, context.item - begin, index)
                        return NULL
                    if sized and p - end != size:
                        return fail(context, BLOCK_SIZE, op, start, index)
                    items += length
                if op.code == DO_MAP:
                    if items - begin > 1:
                        items = drop_earlier_duplicates(
                            context.columns, op.column, index, begin, items, context.checked, offset_t is int64_t
                        )
                        if unlikely(items < 0):
                            # What is wrong is found where the row is read again with each text checked.
                            return fail(context, INVALID_UTF8 if items == FOUL else NO_MEMORY, op, p, index)
                    offsets32[1] = <int32_t>items
                else:
                    offsets[1] = <offset_t>items
                op += op.next
            elif op.code == DO_PRESENT:
                if column.valid != NULL:
                    column.valid[index] = 1
                op += 1
            elif op.code == DO_ABSENT_TEXT:
                offsets = <offset_t *>column.offsets + index
                offsets[1] = offsets[0]
                if column.valid != NULL:
                    column.valid[index] = 0
                op += 1
            elif op.code == DO_UNION:
                status = read_branch(&p, end, &raw)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                if unlikely((raw & 1) or (raw >> 1) >= <uint64_t>op.size):
                    return fail(context, UNION_INDEX, op, at, index)
                op = context.ops + op.table[raw >> 1]
            elif op.code == DO_JUMP:
                op += op.next
            elif op.code == DO_SKIP:
                p = skip(context, op + 1, op + op.next, 0, 1, p)
                if unlikely(p == NULL):
                    context.item = index
                    return NULL
                op += op.next
            elif op.code == DO_CONSTANT:
                status = charge(&context.budget, op.size)
                if unlikely(status != OK):
                    return fail(context, status, op, p, index)
                length = op.texts[0].size
                offsets = <offset_t *>column.offsets + index
                status = fit_bytes(&context.budget, column, offsets[0] + length)
                if unlikely(status != OK):
                    return fail(context, status, op, p, index)
                copy_within(column.data + offsets[0], op.texts[0].data, length, op.texts[0].data + length + TEXT_MARGIN)
                offsets[1] = offsets[0] + <offset_t>length
                op += 1
            elif op.code == DO_DEFAULT:
                status = charge(&context.budget, op.size)
                if unlikely(status != OK):
                    return fail(context, status, op, p, index)
                outer_end = end
                outer_limit = limit
                context.end = op.texts[0].data + op.texts[0].size
                context.limit = context.end if context.budget.growing == NULL else op.texts[0].data
                start = run(context, op + 1, op + op.next, index, 1, op.texts[0].data, tag)
                context.end = outer_end
                context.limit = outer_limit
                if unlikely(start == NULL):
                    # A constant is valid: only room can be missing, and that is found where the value would be.
                    context.at = p
                    return NULL
                op += op.next
            elif op.code == DO_FAIL:
                return fail(context, <Status>op.status, op, p, index)
            else:
                p = read_leaf(context, op, column, index, p, offset_t is int64_t)
                if unlikely(p == NULL):
                    return NULL
                op += 1
        index += 1
        count -= 1
    return p


cdef const uint8_t *run_growing(
    Context *context, const Op *op, int64_t items, int64_t count, const uint8_t *p, offset_t *tag
) noexcept nogil:
    """Read items of an array or map, each when its columns have room for it."""
    cdef const Column *column = &context.columns[op.column]
    cdef int64_t some
    cdef Status status
    while count > 0:
        status = fit_item(&context.budget, column, items)
        if status != OK:
            fail(context, status, op, p, items)
            return NULL
        some = min(count, column.below_room - items)
        p = run(context, op + 1, op + op.next, items, some, p, tag)
        if p == NULL:
            return NULL
        items += some
        count -= some
    return p
