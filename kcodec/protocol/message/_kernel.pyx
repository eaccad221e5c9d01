"""Kafka's messages to columns: the row loop.

Wire forms, numbers big-endian::

    bool, int8 .. int64, uint16, uint32, float64    1 to 8 bytes
    uuid                                            16 bytes
                            legacy                  compact
    string                  int16 length | UTF-8    uvarint length + 1 | UTF-8
    bytes, records          int32 length | bytes    uvarint length + 1 | bytes
    array                   int32 count | items     uvarint count + 1 | items
    null of these           a length of -1          0
    struct                  its fields, and in flexible versions its tags
    nullable struct         int8 -1 | int8 1, struct; as a tagged field: uvarint 0 | uvarint 1, struct
    tags                    uvarint count | (uvarint tag | uvarint bytes | value) ..., by tag

The ops of a program (kcodec/protocol/message/_program.pyx) store into columns that have room for all that a block of
rows can hold (kcodec/columns/built/_builder.pyx), so storing is never checked; what can yield more than it takes from
the wire is counted against `Budget.room` instead. A row that fails is written over with null.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from kcodec.columns.built._column cimport Column, offset_t, set_null
from kcodec.columns.rows._rows cimport Rows, Slice
from kcodec.plan._budget cimport (
    begin_block, begin_row, charge, charge_zero_items, fit_bytes, fit_item, set_limits,
)
from kcodec.plan._decoder cimport MAX_ROWS, Decoder, payload_of
from kcodec.plan._program cimport Program as Compiled
from kcodec.protocol.message._program cimport (
    GET_BOOLEAN, GET_8, GET_16, GET_32, GET_64, GET_UUID, GET_SHORT_STRING, GET_COMPACT_STRING,
    GET_SIZED_BYTES, GET_COMPACT_BYTES, GET_COUNTED_ARRAY, GET_COMPACT_ARRAY, GET_RECORD, GET_NULLABLE_RECORD,
    GET_TAGGED_RECORD, GET_TAGS, SET_FIXED, SET_BOOLEAN, SET_EMPTY, SET_NULL, SET_RECORD, FAIL, MAX_STRING,
    Context, MessageProgram, Op, fail, leave, java_text, read_uvarint,
)
from kcodec.wire.binary.cursor cimport copy_within, likely, load_be32, load_be64, unlikely
from kcodec.wire.binary.status cimport (
    OK, TRUNCATED, NEGATIVE_LENGTH, INVALID_BOOLEAN, INVALID_UTF8, TRAILING_BYTES, NULL_VALUE, STRING_LENGTH,
    INVALID_MARKER, TAG_ORDER, TAG_SIZE, Status,
)
from kcodec.wire.text.utf8 cimport utf8_valid

__all__ = ["Program", "decode", "decode_one", "encode", "encode_one", "version_selector"]

from kcodec.protocol.message._encode import encode
from kcodec.protocol.message._object import decode_one
from kcodec.protocol.message._object_encode import encode_one
from kcodec.protocol.message._program import MessageProgram as Program

cdef enum:
    BLOCK_BYTES = 1 << 16     # when its payloads hold this much, a block is full
    ANY = 1 << 30             # no int16


cdef inline uint32_t load_be16(const uint8_t *p) noexcept nogil:
    return (<uint32_t>p[0] << 8) | p[1]


cdef inline const uint8_t *read_length(
    Context *context, const Op *op, const uint8_t *p, int64_t item, int64_t *length
) noexcept nogil:
    """Read the length of text, bytes or an array, -1 of null; return the position behind it, or NULL."""
    cdef const uint8_t *end = context.end
    cdef const uint8_t *at = p
    if op.code == GET_SHORT_STRING:
        if unlikely(end - p < 2):
            return fail_item(context, TRUNCATED, op, p, item)
        length[0] = <int16_t>load_be16(p)
        p += 2
    elif op.code == GET_SIZED_BYTES or op.code == GET_COUNTED_ARRAY:
        if unlikely(end - p < 4):
            return fail_item(context, TRUNCATED, op, p, item)
        length[0] = <int32_t>load_be32(p)
        p += 4
    elif likely(p < end) and p[0] < 0x80:
        length[0] = <int64_t>p[0] - 1
        p += 1
    else:
        p = read_uvarint(context, op, p)
        if unlikely(p == NULL):
            leave(context, item)
            return NULL
        # Java's has 32 bits, and all below 0 is null.
        length[0] = <int64_t>context.word - 1
        if context.lenient and length[0] > INT32_MAX:
            length[0] = -1
    if unlikely(length[0] < 0):
        if length[0] < -1 and not context.lenient:
            return fail_item(context, NEGATIVE_LENGTH, op, at, item)
        if not op.nullable:
            return fail_item(context, NULL_VALUE, op, at, item)
    return p


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
    cdef offset_t *offsets
    cdef int64_t length
    cdef int64_t items
    cdef int64_t item
    cdef Status status

    for item in range(index, index + count):
        op = first
        while op != stop:
            column = <Column *>(<char *>columns + op.place)
            at = p
            if op.code == GET_32:
                if unlikely(end - p < 4):
                    return fail_item(context, TRUNCATED, op, p, item - index)
                (<uint32_t *>column.data)[item] = load_be32(p)
                p += 4
                op += 1
            elif op.code == GET_64:
                if unlikely(end - p < 8):
                    return fail_item(context, TRUNCATED, op, p, item - index)
                (<uint64_t *>column.data)[item] = load_be64(p)
                p += 8
                op += 1
            elif op.code == GET_16:
                if unlikely(end - p < 2):
                    return fail_item(context, TRUNCATED, op, p, item - index)
                (<uint16_t *>column.data)[item] = <uint16_t>load_be16(p)
                p += 2
                op += 1
            elif op.code == GET_COMPACT_STRING or op.code == GET_SHORT_STRING \
                    or op.code == GET_COMPACT_BYTES or op.code == GET_SIZED_BYTES:
                p = read_length(context, op, p, item - index, &length)
                if unlikely(p == NULL):
                    return NULL
                offsets = <offset_t *>column.offsets + item
                if unlikely(length < 0):
                    offsets[1] = offsets[0]
                    column.valid[item] = 0
                    op += 1
                    continue
                if op.code == GET_COMPACT_STRING and unlikely(length > MAX_STRING):
                    return fail_item(context, STRING_LENGTH, op, at, item - index)
                if unlikely(length > end - p):
                    return fail_item(context, TRUNCATED, op, p, item - index)
                if column.valid != NULL:
                    column.valid[item] = 1
                if unlikely(context.checked or context.lenient) \
                        and (op.code == GET_COMPACT_STRING or op.code == GET_SHORT_STRING) \
                        and not utf8_valid(p, length):
                    if not context.lenient:
                        return fail_item(context, INVALID_UTF8, op, p, item - index)
                    items = java_text(p, length, NULL)
                    status = charge(&context.budget, max(items - length, 0))
                    if status == OK:
                        status = fit_bytes(&context.budget, column, offsets[0] + items)
                    if unlikely(status != OK):
                        return fail_item(context, status, op, p + length, item - index)
                    java_text(p, length, column.data + offsets[0])
                    offsets[1] = offsets[0] + <offset_t>items
                else:
                    status = fit_bytes(&context.budget, column, offsets[0] + length)
                    if unlikely(status != OK):
                        return fail_item(context, status, op, p, item - index)
                    copy_within(column.data + offsets[0], p, length, limit)
                    offsets[1] = offsets[0] + <offset_t>length
                p += length
                op += 1
            elif op.code == GET_TAGS:
                if likely(p < end) and likely(p[0] == 0) and op.size == 0 and op.column < 0:
                    p += 1
                    op += 1
                else:
                    p = read_tags(context, op, item, p, <offset_t *>NULL)
                    if unlikely(p == NULL):
                        leave(context, item - index)
                        return NULL
                    op += op.next
            elif op.code == GET_COMPACT_ARRAY or op.code == GET_COUNTED_ARRAY:
                p = read_length(context, op, p, item - index, &length)
                if unlikely(p == NULL):
                    return NULL
                offsets = <offset_t *>column.offsets + item
                if unlikely(length < 0):
                    offsets[1] = offsets[0]
                    column.valid[item] = 0
                    op += op.next
                    continue
                # Kafka's reader refuses what its writer writes of items without bytes.
                if unlikely(length > end - p) and (op.minimum or context.lenient):
                    return fail_item(context, TRUNCATED, op, at, item - index)
                if unlikely(op.minimum == 0):
                    status = charge_zero_items(&context.budget, length)
                    if status != OK:
                        return fail_item(context, status, op, at, item - index)
                if column.valid != NULL:
                    column.valid[item] = 1
                items = offsets[0]
                if unlikely(context.budget.growing != NULL):
                    p = run_growing(context, op, items, length, p, tag)
                    if unlikely(p == NULL):
                        leave(context, item - index)
                        return NULL
                    offsets[1] = <offset_t>(items + length)
                    op += op.next
                    continue
                column = <Column *>(<char *>columns + op[1].place)
                if not op.records and op[1].code == GET_32 and likely(length * 4 <= end - p):
                    get_array32(<uint32_t *>column.data + items, p, length)
                    p += 4 * length
                elif not op.records and op[1].code == GET_64 and likely(length * 8 <= end - p):
                    get_array64(<uint64_t *>column.data + items, p, length)
                    p += 8 * length
                else:
                    p = run(context, op + 1, op + op.next, items, length, p, tag)
                    if unlikely(p == NULL):
                        leave(context, item - index)
                        return NULL
                offsets[1] = <offset_t>(items + length)
                op += op.next
            elif op.code == GET_BOOLEAN:
                if unlikely(p >= end):
                    return fail_item(context, TRUNCATED, op, p, item - index)
                if unlikely(p[0] > 1) and not context.lenient:
                    return fail_item(context, INVALID_BOOLEAN, op, p, item - index)
                column.data[item] = p[0] != 0
                p += 1
                op += 1
            elif op.code == GET_8:
                if unlikely(p >= end):
                    return fail_item(context, TRUNCATED, op, p, item - index)
                column.data[item] = p[0]
                p += 1
                op += 1
            elif op.code == GET_UUID:
                if unlikely(end - p < 16):
                    return fail_item(context, TRUNCATED, op, p, item - index)
                memcpy(column.data + 16 * item, p, 16)
                p += 16
                op += 1
            elif op.code == GET_RECORD or op.code == SET_RECORD:
                if column.valid != NULL:
                    column.valid[item] = 1
                op += 1
            elif op.code == GET_NULLABLE_RECORD or op.code == GET_TAGGED_RECORD:
                if op.code == GET_NULLABLE_RECORD:
                    if unlikely(p >= end):
                        return fail_item(context, TRUNCATED, op, p, item - index)
                    length = <int8_t>p[0]
                    p += 1
                    if unlikely(length != 1 and length != -1) and not context.lenient:
                        return fail_item(context, INVALID_MARKER, op, at, item - index)
                    length = length >= 0
                else:
                    p = read_uvarint(context, op, p)
                    if unlikely(p == NULL):
                        leave(context, item - index)
                        return NULL
                    length = <int32_t>context.word
                    if unlikely(context.word > 1) and not context.lenient:
                        return fail_item(context, INVALID_MARKER, op, at, item - index)
                    length = length > 0
                if length:
                    op += 1    # GET_RECORD makes it valid
                else:
                    set_null(columns, op.column, item, offset_t is int64_t)
                    op += op.next
            elif op.code == FAIL:
                return fail_item(context, <Status>op.status, op, p, item - index)
            else:
                status = set_default(context, op, item, <offset_t *>NULL)
                if unlikely(status != OK):
                    return fail_item(context, status, op, p, item - index)
                op += 1
    return p


cdef const uint8_t *run_growing(
    Context *context, const Op *op, int64_t items, int64_t count, const uint8_t *p, offset_t *tag
) noexcept nogil:
    """Read items of an array, each when its columns have room for it."""
    cdef const Column *column = <Column *>(<char *>context.columns + op.place)
    cdef int64_t done = 0
    cdef int64_t some
    cdef Status status
    while done < count:
        status = fit_item(&context.budget, column, items + done)
        if status != OK:
            return fail(context, status, op, p)
        some = min(count - done, column.below_room - items - done)
        p = run(context, op + 1, op + op.next, items + done, some, p, tag)
        if p == NULL:
            # `run` has noted which of its own items failed, as the outermost one so far.
            context.trail[context.trail_size - 1] += done
            return NULL
        done += some
    return p


cdef inline const uint8_t *fail_item(
    Context *context, Status status, const Op *op, const uint8_t *at, int64_t item
) noexcept nogil:
    fail(context, status, op, at)
    leave(context, item)
    return NULL


cdef inline void get_array32(uint32_t *target, const uint8_t *source, int64_t count) noexcept nogil:
    cdef int64_t at
    for at in range(count):
        target[at] = load_be32(source + 4 * at)


cdef inline void get_array64(uint64_t *target, const uint8_t *source, int64_t count) noexcept nogil:
    cdef int64_t at
    for at in range(count):
        target[at] = load_be64(source + 8 * at)


cdef Status set_default(Context *context, const Op *op, int64_t item, offset_t *tag) noexcept nogil:
    """Store a constant."""
    cdef Column *column = <Column *>(<char *>context.columns + op.place)
    cdef offset_t *offsets = <offset_t *>column.offsets + item
    cdef Status status
    if op.code == SET_NULL:
        set_null(context.columns, op.column, item, offset_t is int64_t)
        return OK
    if column.valid != NULL:
        column.valid[item] = 1
    if op.code == SET_FIXED:
        memcpy(column.data + item * op.size, op.data, op.size)
    elif op.code == SET_BOOLEAN:
        column.data[item] = op.data[0]
    elif op.code == SET_EMPTY:
        offsets[1] = offsets[0]
    else:  # SET_TEXT
        if op.data_size:
            status = charge(&context.budget, op.data_size)
            if status == OK:
                status = fit_bytes(&context.budget, column, offsets[0] + op.data_size)
            if unlikely(status != OK):
                return status
            memcpy(column.data + offsets[0], op.data, op.data_size)
        offsets[1] = offsets[0] + <offset_t>op.data_size
    return OK


cdef const uint8_t *read_tags(
    Context *context, const Op *op, int64_t item, const uint8_t *p, offset_t *tag
) noexcept nogil:
    """Read a tag section. Every known tag first gets its default, which is written over if it is there."""
    cdef Column *columns = context.columns
    cdef const uint8_t *at = p
    cdef const uint8_t *start
    cdef const Op *known
    cdef const Op *stop = op + op.next
    cdef offset_t *offsets = NULL
    cdef offset_t *data_offsets
    cdef int64_t unknown = 0
    cdef int64_t count
    cdef int64_t last = -1
    cdef int64_t number
    cdef int64_t size
    cdef Status status
    known = op + 1
    while known != stop:
        if known.split != known.next and run(context, known + known.split, known + known.next, item, 1, p, tag) == NULL:
            context.trail_size = 0
            return NULL
        known += known.next
    if op.column >= 0:
        offsets = <offset_t *>(<Column *>(<char *>columns + op.place)).offsets + item
        unknown = offsets[0]
    p = read_uvarint(context, op, p)
    if unlikely(p == NULL):
        return NULL
    count = context.word
    if context.lenient:
        count = max(<int32_t>context.word, 0)
    elif unlikely(2 * count > context.end - p):
        return fail(context, TRUNCATED, op, at)
    while count > 0:
        count -= 1
        at = p
        p = read_uvarint(context, op, p)
        if unlikely(p == NULL):
            return NULL
        number = context.word
        if unlikely(number <= last) and not context.lenient:
            return fail(context, TAG_ORDER, op, at)
        last = number
        at = p
        p = read_uvarint(context, op, p)
        if unlikely(p == NULL):
            return NULL
        size = context.word
        known = op + 1
        while known != stop and known.size != number:
            known += known.next
        if unlikely(size > context.end - p) and (known == stop or not context.lenient):
            return fail(context, TRUNCATED, op if known == stop else known, p)
        if known != stop:
            start = p
            p = run(context, known + 1, known + known.split, item, 1, p, tag)
            if unlikely(p == NULL):
                # A tag is no array: its value is where the section is.
                context.trail_size -= 1
                return NULL
            if unlikely(p - start != size) and not context.lenient:
                return fail(context, TAG_SIZE, known, at)
            continue
        if offsets != NULL:
            status = fit_item(&context.budget, <Column *>(<char *>columns + op.place), unknown)
            if unlikely(status != OK):
                return fail(context, status, op, p)
            (<uint32_t *>columns[op.column + 2].data)[unknown] = <uint32_t>number
            data_offsets = <offset_t *>columns[op.column + 3].offsets + unknown
            status = fit_bytes(&context.budget, &columns[op.column + 3], data_offsets[0] + size)
            if unlikely(status != OK):
                return fail(context, status, op, p)
            copy_within(columns[op.column + 3].data + data_offsets[0], p, size, context.limit)
            data_offsets[1] = data_offsets[0] + <offset_t>size
            unknown += 1
        p += size
    if offsets != NULL:
        offsets[1] = <offset_t>unknown
    return p


@cython.final
cdef class MessageDecoder(Decoder):
    cdef Context context

    def __init__(self, values, programs, selector, starts, start, trailing):
        Decoder.__init__(self, values, programs, selector, starts, None, start, trailing)
        self.block_rows = MAX_ROWS
        self.block_bytes = BLOCK_BYTES
        self.context.columns = self.builder.columns

    cdef int prepare(self, Compiled compiled) except -1:
        cdef MessageProgram program = compiled
        self.always_checked = program.lenient
        self.context.lenient = program.lenient
        return set_limits(&self.context.budget, program.limits)

    cdef void begin(self, int64_t room) noexcept nogil:
        begin_block(&self.context.budget, self.builder, room, self.growing)
        self.context.checked = self.checked

    cdef Status read_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        cdef Context *context = &self.context
        cdef const uint8_t *p = payload_of(self, row, slice, &context.end)
        context.ops = <const Op *>self.tables[program]
        context.limit = slice.limit
        begin_row(&context.budget)
        if self.builder.columns[0].valid != NULL:
            self.builder.columns[0].valid[row] = 1
        if unlikely(p == NULL):
            p = fail_item(context, TRUNCATED, NULL, slice.end, 0)
        elif self.builder.wide:
            p = run(context, context.ops, context.ops + self.stops[program], row, 1, p, <int64_t *>NULL)
        else:
            p = run(context, context.ops, context.ops + self.stops[program], row, 1, p, <int32_t *>NULL)
        if unlikely(p != NULL and p != slice.end and not self.trailing):
            p = fail_item(context, TRAILING_BYTES, NULL, p, 0)
        return OK if p != NULL else context.status

    cdef object fault(self, int64_t row, const Slice *slice, int32_t chosen):
        cdef Context *context = &self.context
        cdef Compiled program = self.compiled[chosen]
        cdef int32_t failed = -1
        path = ""
        if context.op != NULL:
            failed = <int32_t>(context.op - context.ops)
            # The outermost scope are the rows.
            path = program.path(failed, [context.trail[each] for each in range(context.trail_size - 2, -1, -1)])
        return program.fault(row, context.at - slice.start, context.status, failed, path)


def decode(values, programs, *, selector=None, starts=None, start=0, trailing=False, stop=False):
    """Decode one message per row; see `kcodec.protocol.message.kernel.MessageKernel`."""
    cdef MessageDecoder decoder = MessageDecoder(values, programs, selector, starts, start, trailing)
    return decoder.decode(stop)


def version_selector(values, versions, at, key=None):
    """Find which version each row names; see the twin."""
    cdef Rows rows = Rows(values)
    cdef int64_t place = at
    cdef int64_t row
    cdef int32_t wanted = ANY if key is None else key
    cdef int32_t count = len(versions)
    cdef int32_t index
    cdef int32_t version
    cdef Slice slice
    cdef int32_t *known = <int32_t *>calloc(count + 1, sizeof(int32_t))
    cdef int32_t *out
    result = bytearray(4 * rows.length)
    out = <int32_t *>PyByteArray_AS_STRING(result)
    try:
        if known == NULL:
            raise MemoryError
        for index in range(count):
            known[index] = versions[index]
        with nogil:
            for row in range(rows.length):
                rows.slice(row, &slice)
                out[row] = 0
                if slice.start == NULL or slice.end - slice.start < place + 2:
                    pass
                elif wanted != ANY and <int16_t>load_be16(slice.start) != wanted:
                    out[row] = count + 1
                else:
                    version = <int16_t>load_be16(slice.start + place)
                    # They mostly come one after the other.
                    index = version - known[0]
                    if index < 0 or index >= count or known[index] != version:
                        index = 0
                        while index < count and known[index] != version:
                            index += 1
                    out[row] = index
        return result
    finally:
        free(known)
