"""Columns to Kafka's messages: the row loop.

Sizes of tagged fields are known only when they are written: a byte is left for them, and if they need more the field is
moved.
"""

cimport cython
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove

from kcodec.columns.written._inputs cimport Input, is_valid, start_of
from kcodec.plan._encoder cimport Encoder, Range
from kcodec.plan._failures cimport turn
from kcodec.protocol.message._program cimport (
    PUT_REQUIRED, PUT_BOOLEAN, PUT_8, PUT_16, PUT_32, PUT_64, PUT_INTEGER, PUT_UUID, PUT_SHORT_STRING,
    PUT_COMPACT_STRING, PUT_SIZED_BYTES, PUT_COMPACT_BYTES, PUT_COUNTED_ARRAY, PUT_COMPACT_ARRAY, PUT_RECORD,
    PUT_NULLABLE_RECORD, PUT_TAGGED_RECORD, PUT_CONSTANT, PUT_TAGS, PUT_UNSET, IS_FIXED, IS_FLOAT, IS_BOOLEAN,
    IS_TEXT, IS_EMPTY, IS_NULL, FAIL, NOT_A_NUMBER, UNSIGNED, MAX_STRING, TRAIL, Op,
)
from kcodec.wire.binary.cursor cimport copy32, likely, store_be32, store_be64, unlikely, write_varint
from kcodec.wire.binary.status cimport (
    INVALID_UTF8, OUT_OF_RANGE, NULL_VALUE, STRING_LENGTH, TAG_ORDER, INVALID_TAG, Status,
)
from kcodec.wire.text.utf8 cimport utf8_valid

cdef enum:
    BLOCK_ROWS = 256
    SLOP = 40           # short values are moved as 32 bytes


cdef struct Writing:
    const Input *columns
    Status status
    const Op *op
    int32_t trail_size
    int64_t trail[TRAIL]


cdef inline uint8_t *refuse(Writing *context, Status status, const Op *op) noexcept nogil:
    context.status = status
    context.op = op
    context.trail_size = 0
    return NULL


cdef inline void note(Writing *context, int64_t item) noexcept nogil:
    if context.trail_size < TRAIL:
        context.trail[context.trail_size] = item
        context.trail_size += 1


cdef inline uint8_t *refuse_item(Writing *context, Status status, const Op *op, int64_t item) noexcept nogil:
    refuse(context, status, op)
    note(context, item)
    return NULL


cdef inline void store_be16(uint8_t *out, int64_t value) noexcept nogil:
    out[0] = <uint8_t>(value >> 8)
    out[1] = <uint8_t>value


cdef int64_t load_integer(const Input *column, int64_t index) noexcept nogil:
    """Load an integer of any type; an unsigned one above the rest comes out negative."""
    if column.width == 8:
        return (<const int64_t *>column.data)[index]
    if column.width == 4:
        if column.signed:
            return (<const int32_t *>column.data)[index]
        return (<const uint32_t *>column.data)[index]
    if column.width == 2:
        if column.signed:
            return (<const int16_t *>column.data)[index]
        return (<const uint16_t *>column.data)[index]
    if column.signed:
        return (<const int8_t *>column.data)[index]
    return column.data[index]


cdef bint fits(const Op *op, const Input *column, int64_t value) noexcept nogil:
    """Return whether an integer of a column is one of an op."""
    if column.width == 8 and not column.signed and value < 0:
        return False
    if op.size == 8:
        return True
    if op.number == UNSIGNED:
        return 0 <= value < <int64_t>1 << 8 * op.size
    return -(<int64_t>1 << 8 * op.size - 1) <= value < <int64_t>1 << 8 * op.size - 1


cdef inline uint8_t *write_null(uint8_t *out, int32_t code) noexcept nogil:
    """Write a length or count that says null."""
    if code == PUT_SHORT_STRING:
        store_be16(out, -1)
        return out + 2
    if code == PUT_SIZED_BYTES or code == PUT_COUNTED_ARRAY:
        store_be32(out, 0xFFFFFFFF)
        return out + 4
    out[0] = 0
    return out + 1


cdef uint8_t *put(
    Writing *context, const Op *first, const Op *stop, int64_t index, int64_t count, uint8_t *out
) noexcept nogil:
    """Run a range of ops for `count` values of a scope, the first at `index`; return the position, or NULL."""
    cdef const Input *columns = context.columns
    cdef const Op *op
    cdef const Input *column
    cdef const uint8_t *source
    cdef int64_t item
    cdef int64_t length
    cdef int64_t begin
    for item in range(index, index + count):
        op = first
        while op != stop:
            column = <const Input *>(<const char *>columns + op.place)
            if op.code == PUT_32:
                store_be32(out, (<const uint32_t *>column.data)[item])
                out += 4
                op += 1
            elif op.code == PUT_64:
                store_be64(out, (<const uint64_t *>column.data)[item])
                out += 8
                op += 1
            elif op.code == PUT_16:
                store_be16(out, (<const int16_t *>column.data)[item])
                out += 2
                op += 1
            elif op.code == PUT_COMPACT_STRING or op.code == PUT_SHORT_STRING \
                    or op.code == PUT_COMPACT_BYTES or op.code == PUT_SIZED_BYTES:
                if op.nullable and not is_valid(column, item):
                    out = write_null(out, op.code)
                    op += 1
                    continue
                begin = start_of(column, item)
                length = start_of(column, item + 1) - begin
                source = column.data + begin
                if op.code == PUT_COMPACT_STRING or op.code == PUT_SHORT_STRING:
                    if unlikely(length > MAX_STRING):
                        return refuse_item(context, STRING_LENGTH, op, item - index)
                    if unlikely(op.checked) and not utf8_valid(source, length):
                        return refuse_item(context, INVALID_UTF8, op, item - index)
                elif unlikely(length >= INT32_MAX):
                    return refuse_item(context, OUT_OF_RANGE, op, item - index)
                if op.code == PUT_SHORT_STRING:
                    store_be16(out, length)
                    out += 2
                elif op.code == PUT_SIZED_BYTES:
                    store_be32(out, <uint32_t>length)
                    out += 4
                elif likely(length < 0x7F):
                    out[0] = <uint8_t>(length + 1)
                    out += 1
                else:
                    out = write_varint(out, length + 1)
                if likely(length <= 32) and likely(column.limit - source >= 32):
                    copy32(out, source)
                else:
                    memcpy(out, source, length)
                out += length
                op += 1
            elif op.code == PUT_TAGS:
                if op.size == 0 and op.column < 0:
                    out[0] = 0
                    out += 1
                else:
                    out = put_tags(context, op, item, out)
                    if unlikely(out == NULL):
                        note(context, item - index)
                        return NULL
                op += op.next
            elif op.code == PUT_COMPACT_ARRAY or op.code == PUT_COUNTED_ARRAY:
                if op.nullable and not is_valid(column, item):
                    out = write_null(out, op.code)
                    op += op.next
                    continue
                begin = start_of(column, item)
                length = start_of(column, item + 1) - begin
                if unlikely(length >= INT32_MAX):
                    return refuse_item(context, OUT_OF_RANGE, op, item - index)
                if op.code == PUT_COUNTED_ARRAY:
                    store_be32(out, <uint32_t>length)
                    out += 4
                elif likely(length < 0x7F):
                    out[0] = <uint8_t>(length + 1)
                    out += 1
                else:
                    out = write_varint(out, length + 1)
                if op[1].code == PUT_32 and not op.records:
                    put_array32(out, <const uint32_t *>columns[op[1].column].data + begin, length)
                    out += 4 * length
                else:
                    out = put(context, op + 1, op + op.next, begin, length, out)
                    if unlikely(out == NULL):
                        note(context, item - index)
                        return NULL
                op += op.next
            elif op.code == PUT_BOOLEAN:
                begin = item + column.first
                out[0] = (column.data[begin >> 3] >> (begin & 7)) & 1
                out += 1
                op += 1
            elif op.code == PUT_8:
                out[0] = column.data[item]
                out += 1
                op += 1
            elif op.code == PUT_RECORD:
                op += 1
            elif op.code == PUT_CONSTANT:
                memcpy(out, op.data, op.data_size)
                out += op.data_size
                op += 1
            elif op.code == PUT_UUID:
                memcpy(out, column.data + 16 * item, 16)
                out += 16
                op += 1
            elif op.code == PUT_REQUIRED:
                if unlikely(not is_valid(column, item)):
                    return refuse_item(context, NULL_VALUE, op, item - index)
                op += 1
            elif op.code == PUT_NULLABLE_RECORD or op.code == PUT_TAGGED_RECORD:
                if is_valid(column, item):
                    out[0] = 1
                    op += 1
                else:
                    out[0] = 0xFF if op.code == PUT_NULLABLE_RECORD else 0
                    op += op.next
                out += 1
            elif op.code == PUT_INTEGER:
                length = load_integer(column, item)
                if unlikely(not fits(op, column, length)):
                    return refuse_item(context, OUT_OF_RANGE, op, item - index)
                begin = 8 * op.size
                while begin > 0:
                    begin -= 8
                    out[0] = <uint8_t>(length >> begin)
                    out += 1
                op += 1
            elif op.code == PUT_UNSET:
                if unlikely(not at_default(columns, op + 1, op + op.split, item)):
                    return refuse_item(context, <Status>op.status, op, item - index)
                op += op.next
            else:  # an error by plan
                return refuse_item(context, <Status>op.status, op, item - index)
    return out


cdef inline void put_array32(uint8_t *out, const uint32_t *source, int64_t count) noexcept nogil:
    cdef int64_t at
    for at in range(count):
        store_be32(out + 4 * at, source[at])


cdef bint at_default(const Input *columns, const Op *op, const Op *stop, int64_t item) noexcept nogil:
    """Return whether columns hold the constants of a range of ops."""
    cdef const Input *column
    cdef int64_t begin
    cdef int64_t size
    cdef int64_t number
    cdef double real
    cdef double wanted
    while op != stop:
        column = <const Input *>(<const char *>columns + op.place)
        if op.code == IS_NULL:
            if is_valid(column, item):
                return False
            op += 1
            continue
        if op.code == FAIL:
            return False
        if not is_valid(column, item):
            if not op.nullable:
                return False
        elif op.code == IS_TEXT:
            begin = start_of(column, item)
            size = start_of(column, item + 1) - begin
            if size != op.data_size or memcmp(column.data + begin, op.data, size) != 0:
                return False
        elif op.code == IS_EMPTY:
            if start_of(column, item + 1) != start_of(column, item):
                return False
        elif op.code == IS_BOOLEAN:
            begin = item + column.first
            if ((column.data[begin >> 3] >> (begin & 7)) & 1) != op.data[0]:
                return False
        elif op.code == IS_FLOAT:
            real = (<const double *>column.data)[item]
            memcpy(&wanted, op.data, 8)
            if real != wanted:
                return False
        elif op.code == IS_FIXED:
            if op.number == NOT_A_NUMBER:
                if memcmp(column.data + 16 * item, op.data, 16) != 0:
                    return False
            else:
                memcpy(&number, op.data, 8)
                if load_integer(column, item) != number:
                    return False
        op += 1
    return True


cdef uint8_t *close_size(uint8_t *place, uint8_t *out, int64_t value) noexcept nogil:
    """Write a uvarint at a place where one byte was left for it; return the end of what follows it."""
    cdef int64_t more = 0
    cdef int64_t remaining_bits = value >> 7
    while remaining_bits:
        more += 1
        remaining_bits >>= 7
    if more:
        memmove(place + 1 + more, place + 1, out - place - 1)
    write_varint(place, value)
    return out + more


cdef uint8_t *put_tags(Writing *context, const Op *op, int64_t item, uint8_t *out) noexcept nogil:
    """Write a tag section: fields that are not at their default, and unknown tags, by tag."""
    cdef const Input *columns = context.columns
    cdef const Op *known = op + 1
    cdef const Op *stop = op + op.next
    cdef uint8_t *section = out
    cdef uint8_t *size_place
    cdef const Input *data = NULL
    cdef const uint32_t *tags = NULL
    cdef int64_t unknown = 0
    cdef int64_t unknown_end = 0
    cdef int64_t count = 0
    cdef int64_t last = -1
    cdef int64_t begin
    cdef int64_t size
    if op.column >= 0 and is_valid(&columns[op.column], item):
        unknown = start_of(&columns[op.column], item)
        unknown_end = start_of(&columns[op.column], item + 1)
        tags = <const uint32_t *>columns[op.column + 2].data
        data = &columns[op.column + 3]
    out += 1
    while True:
        while unknown < unknown_end and (known == stop or tags[unknown] <= <uint32_t>known.size):
            if not (
                is_valid(&columns[op.column + 1], unknown) and is_valid(&columns[op.column + 2], unknown)
                and is_valid(data, unknown)
            ):
                return refuse(context, NULL_VALUE, op)
            if known != stop and tags[unknown] == <uint32_t>known.size:
                return refuse(context, INVALID_TAG, op)
            if tags[unknown] <= last:
                return refuse(context, TAG_ORDER, op)
            last = tags[unknown]
            begin = start_of(data, unknown)
            size = start_of(data, unknown + 1) - begin
            if size >= INT32_MAX:
                return refuse(context, OUT_OF_RANGE, op)
            out = write_varint(write_varint(out, last), size)
            memcpy(out, data.data + begin, size)
            out += size
            unknown += 1
            count += 1
        if known == stop:
            break
        if not at_default(columns, known + 1, known + known.split, item):
            size_place = write_varint(out, known.size)
            out = put(context, known + known.split, known + known.next, item, 1, size_place + 1)
            if unlikely(out == NULL):
                # A tag is no array: its value is where the section is.
                context.trail_size -= 1
                return NULL
            out = close_size(size_place, out, out - size_place - 1)
            count += 1
        known += known.next
    return close_size(section, out, count)


@cython.final
cdef class MessageEncoder(Encoder):
    cdef Writing context

    def __init__(self, array, programs, selector, large):
        Encoder.__init__(self, array, programs, selector, large)
        self.slop = SLOP
        self.block_rows = BLOCK_ROWS
        self.trusting = True
        self.context.columns = self.inputs.columns

    cdef uint8_t *put_row(self, int64_t row, uint8_t *out, int32_t program) noexcept nogil:
        cdef const Range *ops = &self.ranges[program]
        return put(&self.context, <const Op *>ops.first, <const Op *>ops.stop, row, 1, out)

    cdef bint note(self, int64_t row, int32_t program) noexcept nogil:
        cdef Writing *context = &self.context
        cdef int32_t op = <int32_t>(context.op - <const Op *>self.ranges[program].table)
        # The outermost scope are the rows.
        cdef int32_t level = max(context.trail_size - 1, 0)
        turn(context.trail, level)
        return self.failures.note(row, 0, program, op, context.status, context.trail, level)


def encode(array, programs, *, selector=None, large=False, stop=False):
    """Encode one message per row; see `kcodec.protocol.message.kernel.MessageKernel`."""
    cdef MessageEncoder encoder = MessageEncoder(array, programs, selector, large)
    return encoder.encode(stop)
