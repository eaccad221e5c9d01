"""Values that are dropped: only their structure is read.

Lengths, counts, union indexes and varints are checked, what they hold is not. A block of a collection that says
how many bytes it has is jumped over.
"""

from libc.stdint cimport INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t

from kcodec.formats.avro.rows._context cimport Context, fail, leave
from kcodec.formats.avro.rows._program cimport (
    DO_JUMP, DO_UNION, SKIP_ARRAY, SKIP_BYTES, SKIP_INT, SKIP_LONG, SKIP_NULLABLE, SKIP_NULLABLE_BYTES,
    SKIP_NULLABLE_LONG, SKIP_NULLABLE_STRING, SKIP_STRING, Op,
)
from kcodec.wire.binary.cursor cimport (
    ctz64, likely, load_le64, read_branch, read_length, read_varint32, read_varint64, unlikely,
)
from kcodec.wire.binary.status cimport (
    BLOCK_COUNT, BLOCK_SIZE, DEPTH_LIMIT, NEGATIVE_LENGTH, OK, SIZE_LIMIT, TRUNCATED, UNION_INDEX, Status,
)


cdef const uint8_t *skip(
    Context *context, const Op *op, const Op *stop, int64_t index, int64_t count, const uint8_t *p
) noexcept nogil:
    """Run the ops from `op` to `stop` for `count` items, the first being item `index`."""
    cdef const Op *first = op
    cdef const uint8_t *end = context.end
    cdef const uint8_t *limit = context.limit
    cdef const uint8_t *at
    cdef uint32_t word
    cdef uint64_t raw
    cdef int64_t length
    cdef int64_t items
    cdef int64_t present
    cdef Status status
    while count > 0:
        op = first
        while op != stop:
            at = p
            if op.code == SKIP_STRING:
                status = read_length(&p, end, &length)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                if unlikely(length < 0):
                    return fail(context, NEGATIVE_LENGTH, op, at, index)
                if unlikely(length > end - p):
                    return fail(context, TRUNCATED, op, p, index)
                p += length
                op += 1
            elif op.code == SKIP_BYTES:
                if unlikely(op.size > end - p):
                    return fail(context, TRUNCATED, op, p, index)
                p += op.size
                op += 1
            elif op.code == SKIP_LONG:
                raw = ~load_le64(p) & 0x8080808080808080ULL if likely(limit - p >= 8) else 0
                if likely(raw != 0) and likely((ctz64(raw) >> 3) < end - p):
                    p += (ctz64(raw) >> 3) + 1
                else:
                    status = read_varint64(&p, end, limit, &raw)
                    if unlikely(status != OK):
                        return fail(context, status, op, at, index)
                op += 1
            elif op.code == SKIP_INT:
                status = read_varint32(&p, end, limit, &word)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                op += 1
            elif op.code == SKIP_NULLABLE or op.code == SKIP_NULLABLE_BYTES or op.code == SKIP_NULLABLE_LONG \
                    or op.code == SKIP_NULLABLE_STRING:
                if likely(p < end) and (p[0] & 0xFD) == 0:
                    # The common forms, without a branch on what is random: whether there is a value.
                    present = (p[0] >> 1) ^ op.size
                    if op.code == SKIP_NULLABLE_BYTES:
                        if likely(end - p > op.factor):
                            p += 1 + (op.factor & -present)
                            op += op.next
                            continue
                    elif op.code == SKIP_NULLABLE_LONG:
                        raw = ~load_le64(p + 1) & 0x8080808080808080ULL if likely(limit - p >= 9) else 0
                        if likely(raw != 0):
                            length = ((ctz64(raw) >> 3) + 1) & -present
                            if likely(length < end - p):
                                p += 1 + length
                                op += op.next
                                continue
                    elif op.code == SKIP_NULLABLE_STRING:
                        if likely(limit - p >= 2):
                            length = p[1] & -present
                            if likely((length & 0x81) == 0):
                                length = (length >> 1) + present
                                if likely(length < end - p):
                                    p += 1 + length
                                    op += op.next
                                    continue
                    raw = p[0]
                    p += 1
                else:
                    status = read_branch(&p, end, &raw)
                    if unlikely(status != OK):
                        return fail(context, status, op, at, index)
                    if unlikely(raw != 0 and raw != 2):
                        return fail(context, UNION_INDEX, op, at, index)
                op += op.next if <int64_t>(raw >> 1) == op.size else 1
            elif op.code == SKIP_ARRAY:
                items = 0
                while True:
                    at = p
                    status = read_length(&p, end, &length)
                    if unlikely(status != OK):
                        return fail(context, status, op, at, index)
                    if length == 0:
                        break
                    if length < 0:
                        if length == INT64_MIN:
                            return fail(context, BLOCK_COUNT, op, at, index)
                        items -= length
                        at = p
                        status = read_length(&p, end, &length)
                        if unlikely(status != OK):
                            return fail(context, status, op, at, index)
                        if unlikely(length < 0 or length > end - p):
                            return fail(context, BLOCK_SIZE, op, at, index)
                        p += length
                        continue
                    if op.minimum == 0:
                        if length > context.budget.max_zero_items - context.budget.zero_items:
                            return fail(context, SIZE_LIMIT, op, at, index)
                        context.budget.zero_items += length
                    p = skip(context, op + 1, op + op.next, items, length, p)
                    if unlikely(p == NULL):
                        leave(context, op, context.item, index)
                        return NULL
                    items += length
                op += op.next
            elif op.code == DO_UNION:
                status = read_branch(&p, end, &raw)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                if unlikely((raw & 1) or (raw >> 1) >= <uint64_t>op.size):
                    return fail(context, UNION_INDEX, op, at, index)
                op = context.ops + op.table[raw >> 1]
            elif op.code == DO_JUMP:
                op += op.next
            else:  # CALL
                if context.depth >= context.max_depth:
                    return fail(context, DEPTH_LIMIT, op, p, index)
                context.depth += 1
                p = skip(context, context.ops + op.size, context.ops + op.scale, 0, 1, p)
                if unlikely(p == NULL):
                    leave(context, op, -1, index)
                    return NULL
                context.depth -= 1
                op += 1
        index += 1
        count -= 1
    return p
