"""Columns to JSON: the row loop.

Documents have no space. Every value of an object or list is written with a comma in front; the first one is then
written over by the bracket.
"""

cimport cython
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc
from libc.string cimport memcpy, memmove

from kcodec.columns.written._inputs cimport Input, is_valid, start_of
from kcodec.formats.json._program cimport *
from kcodec.plan._encoder cimport Encoder
from kcodec.wire.binary.cursor cimport copy32, likely, multiply_overflows, unlikely
from kcodec.wire.binary.decimal cimport (
    decimal_put_integer, decimal_rescale, decimal_slot_text, decimal_to_bytes, decimal_to_word,
)
from kcodec.wire.binary.status cimport (
    INEXACT, INVALID_UTF8, JSON_TYPE, LONE_SURROGATE, NULL_VALUE, OK, OUT_OF_RANGE, TRAILING_BYTES, UNION_MEMBERS,
    Status,
)
from kcodec.wire.text._floats cimport put_double, put_single
from kcodec.wire.text.base64 cimport base64_encode, base64_put_word
from kcodec.wire.text.isotime cimport iso_write
from kcodec.wire.text.json cimport JsonFault, json_put_string, json_skip, json_space
from kcodec.wire.text.utf8 cimport utf8_valid

from kcodec.plan.node import MAX_DEPTH

__all__ = ["encode"]

cdef enum:
    BLOCK_ROWS = 256
    SLOP = 128          # short texts and numbers are moved in fixed steps
    LEVELS = 1001
    LONG_DIGITS = 19    # of a decimal of eight bytes, at most


cdef struct Context:
    const Input *columns
    int32_t max_depth
    int32_t level
    Status status
    const Op *op
    int64_t items[LEVELS]


cdef inline uint8_t *fail(Context *context, Status status, const Op *op) noexcept nogil:
    context.status = status
    context.op = op
    return NULL


cdef inline uint8_t *put_text(uint8_t *out, const char *text, size_t size) noexcept nogil:
    memcpy(out, text, size)
    return out + size


cdef inline uint8_t *put_quote(uint8_t *out, const Op *op) noexcept nogil:
    out[0] = 34
    return out + ((op.forms & QUOTED) >> 3)


cdef uint8_t *put_null(Context *context, const Op *op, uint8_t *out) noexcept nogil:
    if op.data != NULL and op.forms & DEFAULT:
        memcpy(out, op.data, op.data_size)
        return out + op.data_size
    if not op.forms & NULLABLE:
        return fail(context, NULL_VALUE, op)
    return put_text(out, b"null", 4)


cdef inline uint8_t *put_integer(
    Context *context, const Op *op, const Input *column, int64_t index, uint8_t *out
) noexcept nogil:
    cdef int64_t value
    cdef int64_t quotient
    cdef uint64_t magnitude
    cdef bint large = False       # from 2**63 on
    if column.width == 8:
        value = (<const int64_t *>column.data)[index]
        large = not column.signed and value < 0
    elif column.width == 4:
        value = (<const int32_t *>column.data)[index]
        if not column.signed:
            value = <uint32_t>value
    elif column.width == 2:
        value = (<const int16_t *>column.data)[index]
        if not column.signed:
            value = <uint16_t>value
    else:
        value = (<const int8_t *>column.data)[index]
        if not column.signed:
            value = <uint8_t>value
    if unlikely(op.factor != 1):
        if large:
            return fail(context, OUT_OF_RANGE, op)
        if op.factor > 0:
            quotient = value // op.factor
            if quotient * op.factor != value:
                if not op.scale:
                    return fail(context, INEXACT, op)
                quotient -= value < 0
            value = quotient
        elif multiply_overflows(value, -op.factor, &value):
            return fail(context, OUT_OF_RANGE, op)
    magnitude = <uint64_t>value
    if unlikely(large):
        if magnitude > op.highest:
            return fail(context, OUT_OF_RANGE, op)
    else:
        if unlikely(value < op.low or value > op.high):
            return fail(context, OUT_OF_RANGE, op)
        if value < 0:
            magnitude = 0 - magnitude
            out = put_quote(out, op)
            out[0] = 45
            out += 1
            out += decimal_put_integer(magnitude, <char *>out)
            return put_quote(out, op)
    out = put_quote(out, op)
    out += decimal_put_integer(magnitude, <char *>out)
    return put_quote(out, op)


cdef uint8_t *put_real(
    Context *context, const Op *op, const Input *column, int64_t index, uint8_t *out
) noexcept nogil:
    cdef double value
    if op.code == DOUBLE:
        value = (<const double *>column.data)[index]
    else:
        value = (<const float *>column.data)[index]
    # The difference is NaN for what is not finite.
    if unlikely(value - value != 0):
        if not op.forms & NONFINITE:
            return fail(context, OUT_OF_RANGE, op)
        if value != value:
            return put_text(out, b'"NaN"', 5)
        return put_text(out, b'"Infinity"', 10) if value > 0 else put_text(out, b'"-Infinity"', 11)
    out = put_quote(out, op)
    if op.code == DOUBLE:
        out = put_double(value, out)
    else:
        out = put_single(<float>value, out)
    return put_quote(out, op)


cdef uint8_t *put_base64_decimal(
    Context *context, const Op *op, const uint8_t *value, uint8_t *out
) noexcept nogil:
    cdef uint8_t slot[32]
    cdef uint8_t bytes[40]
    cdef uint64_t word = 0
    cdef int size = decimal_to_word(value, op.width, &word) if op.wire_scale == op.scale else 0
    cdef Status status
    if likely(size > 0) and likely(op.wire_precision >= LONG_DIGITS):
        out[0] = 34
        out = base64_put_word(word, size, out + 1)
        out[0] = 34
        return out + 1
    status = decimal_rescale(value, op.width, op.wire_scale - op.scale, op.wire_precision, slot)
    if status != OK:
        return fail(context, status, op)
    out[0] = 34
    out = base64_encode(bytes, decimal_to_bytes(slot, op.width, bytes), out + 1)
    out[0] = 34
    return out + 1


cdef uint8_t *put_time(
    Context *context, const Op *op, const Input *column, int64_t index, uint8_t *out
) noexcept nogil:
    cdef int64_t value
    cdef int64_t days
    if column.width == 4:
        value = (<const int32_t *>column.data)[index]
    else:
        value = (<const int64_t *>column.data)[index]
        if op.factor != 1:
            days = value // op.factor
            if days * op.factor != value:
                return fail(context, OUT_OF_RANGE, op)
            value = days
    out[0] = 34
    out = iso_write(value, op.form, op.digits, out + 1)
    if out == NULL:
        return fail(context, OUT_OF_RANGE, op)
    out[0] = 34
    return out + 1


cdef uint8_t *put_raw(
    Context *context, const Op *op, const uint8_t *data, int64_t size, uint8_t *out
) noexcept nogil:
    """Write a value as it stands, once it is known to be one."""
    cdef JsonFault fault
    cdef const uint8_t *end = out + size
    cdef const uint8_t *at
    if not utf8_valid(data, size):
        return fail(context, INVALID_UTF8, op)
    memcpy(out, data, size)
    # It is checked where it is written: there may be nothing behind the data.
    at = json_skip(out, end, context.max_depth, &fault)
    if at == NULL and fault.code == LONE_SURROGATE and op.forms & ESCAPED:
        return out + size
    if at == NULL:
        return fail(context, fault.code, op)
    if json_space(at, end) != end:
        return fail(context, TRAILING_BYTES, op)
    return out + size


cdef uint8_t *put_rest(
    Context *context, const Op *op, const Input *column, int64_t index, uint8_t *out
) noexcept nogil:
    """Write an object's unknown members, kept as the text of an object, behind a comma and without brackets."""
    cdef int64_t begin = start_of(column, index)
    cdef uint8_t *end = put_raw(context, op, column.data + begin, start_of(column, index + 1) - begin, out)
    cdef const uint8_t *first
    cdef const uint8_t *last
    if end == NULL:
        return NULL
    first = json_space(out, end)
    last = end - 1
    if first[0] != 123:
        return fail(context, JSON_TYPE, op)
    while last[0] != 125:
        last -= 1
    first = json_space(first + 1, last)
    while last > first and last[-1] <= 32:
        last -= 1
    if first == last:
        return out
    memmove(out + 1, first, last - first)
    out[0] = 44
    return out + 1 + (last - first)


cdef uint8_t *put_member(Context *context, const Op *op, int64_t index, uint8_t *out) noexcept nogil:
    """Write the one member of a union that is set."""
    cdef const Op *member = op + 1
    cdef const Op *stop = op + op.next
    cdef const Op *chosen = NULL
    while member != stop:
        if is_valid(<const Input *>(<const char *>context.columns + member.place), index):
            if chosen != NULL:
                return fail(context, UNION_MEMBERS, op)
            chosen = member
        member += member.next
    if chosen == NULL:
        return fail(context, UNION_MEMBERS, op)
    return put(context, NULL, chosen, index, 1, out)


cdef uint8_t *put(
    Context *context, const Op *container, const Op *op, int64_t index, int64_t count, uint8_t *out
) noexcept nogil:
    """Write the values of a container; without one, that of `op`.

    A struct's values all stand at `index`; those of a list or map are `count`, the first at `index`. Return the
    position behind, or NULL.
    """
    cdef int32_t kind = NOTHING if container == NULL else container.code
    cdef uint8_t *first = out
    cdef const Op *stop
    cdef const Input *column
    cdef const uint8_t *source
    cdef int64_t begin
    cdef int64_t size
    cdef int64_t end = index + count
    cdef bint keyed = False       # this value of a map is a key

    if container != NULL:
        op = container + 1
        stop = container + container.next
        if kind == ITEMS or kind == ENTRIES:
            context.items[context.level] = 0
            context.level += 1
            keyed = kind == ENTRIES
            if count == 0:
                op = stop
    else:
        stop = op + op.next
    while op != stop:
        column = <const Input *>(<const char *>context.columns + op.place)
        if unlikely(op.code == REST):
            if is_valid(column, index):
                out = put_rest(context, op, column, index, out)
                if out == NULL:
                    return NULL
            op += op.next
            continue
        if kind == OBJECT:
            if op.forms & ABSENT and op.column >= 0 and not is_valid(column, index):
                op += op.next
                continue
            if likely(op.key_size <= 32):
                copy32(out, op.name)
            else:
                memcpy(out, op.name, op.key_size)
            out += op.key_size
        elif kind == ENTRIES and not keyed:
            out[0] = 58
            out += 1
        elif kind != NOTHING:
            out[0] = 44
            out += 1

        if op.column >= 0 and not is_valid(column, index):
            out = put_null(context, op, out)
        elif op.code == STRING:
            begin = start_of(column, index)
            size = start_of(column, index + 1) - begin
            source = column.data + begin
            if not op.text and unlikely(not utf8_valid(source, size)):
                return fail(context, INVALID_UTF8, op)
            out = json_put_string(source, size, column.limit, out, op.forms & ESCAPED)
        elif op.code == INTEGER:
            out = put_integer(context, op, column, index, out)
        elif op.code == DECIMAL:
            source = column.data + index * column.width
            if unlikely(op.forms & BASE64):
                out = put_base64_decimal(context, op, source, out)
            else:
                out = put_quote(out, op)
                out += decimal_slot_text(source, op.width, op.scale, not op.forms & SCIENTIFIC, <char *>out)
                out = put_quote(out, op)
        elif op.code == DOUBLE or op.code == SINGLE:
            out = put_real(context, op, column, index, out)
        elif op.code == BOOLEAN:
            out = put_quote(out, op)
            begin = index + column.first
            if (column.data[begin >> 3] >> (begin & 7)) & 1:
                out = put_text(out, b"true", 4)
            else:
                out = put_text(out, b"false", 5)
            out = put_quote(out, op)
        elif op.code == OBJECT or op.code == TUPLE:
            out = put(context, op, NULL, index, 1, out)
        elif op.code == ITEMS or op.code == ENTRIES:
            begin = start_of(column, index)
            out = put(context, op, NULL, begin, start_of(column, index + 1) - begin, out)
        elif op.code == ISO_TIME:
            out = put_time(context, op, column, index, out)
        elif op.code == BYTES:
            if column.offsets == NULL:
                source = column.data + index * column.width
                size = column.width
            else:
                begin = start_of(column, index)
                source = column.data + begin
                size = start_of(column, index + 1) - begin
            out[0] = 34
            out = base64_encode(source, size, out + 1)
            out[0] = 34
            out += 1
        elif op.code == RAW:
            begin = start_of(column, index)
            out = put_raw(context, op, column.data + begin, start_of(column, index + 1) - begin, out)
        elif op.code == UNION:
            out = put_member(context, op, index, out)
        else:
            out = put_text(out, b"null", 4)
        if unlikely(out == NULL):
            return NULL

        if kind == ITEMS:
            index += 1
            context.items[context.level - 1] += 1
            if index == end:
                break
        elif kind == ENTRIES:
            if keyed:
                op += op.next
            else:
                index += 1
                context.items[context.level - 1] += 1
                if index == end:
                    break
                op = container + 1
            keyed = not keyed
        else:
            op += op.next
    if container == NULL:
        return out
    if kind == ITEMS or kind == ENTRIES:
        context.level -= 1
    if out == first:
        out += 1
    first[0] = 123 if kind == OBJECT or kind == ENTRIES else 91
    out[0] = first[0] + 2
    return out + 1


@cython.final
cdef class JsonEncoder(Encoder):
    cdef bytes prefix
    cdef bytes suffix
    cdef const uint8_t *before
    cdef const uint8_t *behind
    cdef int64_t before_size
    cdef int64_t behind_size
    cdef Context context

    def __init__(self, array, JsonProgram program, prefix, suffix, large):
        cdef int32_t at
        Encoder.__init__(self, array, [program], None, large)
        self.stretch = <int64_t *>calloc(self.inputs.count, sizeof(int64_t))
        if self.stretch == NULL:
            raise MemoryError
        for at in range(self.inputs.count):
            self.stretch[at] = program.stretch[at]
        self.prefix = prefix
        self.suffix = suffix
        self.before = self.prefix
        self.behind = self.suffix
        self.before_size = len(prefix)
        self.behind_size = len(suffix)
        self.around = self.before_size + self.behind_size
        self.slop = SLOP
        self.block_rows = BLOCK_ROWS
        self.trusting = True
        self.context.columns = self.inputs.columns
        self.context.max_depth = min(program.limits.max_depth, MAX_DEPTH)

    cdef uint8_t *put_row(self, int64_t row, uint8_t *out, int32_t program) noexcept nogil:
        memcpy(out, self.before, self.before_size)
        self.context.level = 0
        out = put(&self.context, NULL, <const Op *>self.ranges[0].first, row, 1, out + self.before_size)
        if unlikely(out == NULL):
            return NULL
        memcpy(out, self.behind, self.behind_size)
        return out + self.behind_size

    cdef bint note(self, int64_t row, int32_t program) noexcept nogil:
        cdef Context *context = &self.context
        cdef int32_t op = <int32_t>(context.op - <const Op *>self.ranges[0].table)
        return self.failures.note(row, 0, 0, op, context.status, context.items, context.level)


def encode(array, JsonProgram program, *, prefix=b"", suffix=b"", large=False, stop=False):
    """Encode one document per row, without any space; see `kcodec.formats.json.kernel.JsonKernel`."""
    cdef JsonEncoder encoder = JsonEncoder(array, program, prefix, suffix, large)
    return encoder.encode(stop)
