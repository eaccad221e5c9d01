"""Values that take more than a move: numbers promoted or checked, decimals, and the nulls of whole columns.

They stand apart from the row loop so that what it does for every value stays in registers.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from kcodec.columns.built._column cimport Column, offset_at, set_null
from kcodec.formats.avro.rows._context cimport Context, fail
from kcodec.formats.avro.rows._program cimport (
    DO_DECIMAL, DO_DECIMAL_SCALED, DO_DECIMAL_TEXT, DO_FIXED, DO_FLOAT_TO_DOUBLE, DO_INT_CONVERTED,
    DO_INT_TO_DOUBLE, DO_INT_TO_FLOAT, DO_INT_TO_TIME, DO_ISO, DO_LONG_CONVERTED, DO_LONG_TO_DOUBLE, DO_LONG_TO_FLOAT,
    DO_LONG_TO_TIME, DO_MEMBER, Op,
)
from kcodec.plan._budget cimport charge, fit_bytes
from kcodec.wire.binary.cursor cimport (
    likely, load_le32, multiply_overflows, read_length, read_varint32, read_varint64, unlikely, unzigzag32, unzigzag64,
)
from kcodec.wire.binary.decimal cimport (
    decimal_from_bytes, decimal_from_text, decimal_rescale, decimal_text_room, decimal_to_text,
)
from kcodec.wire.binary.status cimport (
    DECIMAL_PRECISION, EMPTY_DECIMAL, INEXACT, NEED_ROOM, NEGATIVE_LENGTH, OK, OUT_OF_RANGE, TRUNCATED, Status,
)
from kcodec.wire.text.isotime cimport iso_read

cdef enum:
    MAX_DIGITS = 76      # of an Arrow decimal
    # Bytes of a decimal that a scale more than `logical_types.MAX_SHIFT` smaller may leave 76 digits of: 1,076 digits.
    MAX_WIDE_BYTES = 450
    WIDE_TEXT = 4096     # more than their `decimal_text_room`


cdef const uint8_t *read_leaf(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, bint wide
) noexcept nogil:
    """Run one op on the value at an index; return the position behind it, or NULL."""
    cdef const uint8_t *end = context.end
    cdef const uint8_t *limit = context.limit
    cdef const uint8_t *at = p
    cdef uint32_t word
    cdef uint64_t raw
    cdef int64_t value
    cdef int64_t length
    cdef int64_t size
    cdef float real
    cdef Status status
    if op.code == DO_DECIMAL or op.code == DO_DECIMAL_TEXT or op.code == DO_DECIMAL_SCALED:
        length = op.size
        if length == 0:
            status = read_length(&p, end, &length)
            if unlikely(status != OK):
                return fail(context, status, op, at, index)
            if unlikely(length < 0):
                return fail(context, NEGATIVE_LENGTH, op, at, index)
        if unlikely(length == 0):
            return fail(context, EMPTY_DECIMAL, op, p, index)
        if unlikely(length > end - p):
            return fail(context, TRUNCATED, op, p, index)
        if op.code == DO_DECIMAL:
            status = decimal_from_bytes(
                p, length, op.precision, column.width >> 3, column.data + index * column.width
            )
            if unlikely(status != OK):
                return fail(context, status, op, p, index)
        elif op.code == DO_DECIMAL_SCALED:
            status = put_scaled_decimal(op, p, length, column.width >> 3, column.data + index * column.width)
            if unlikely(status != OK):
                return fail(context, status, op, p, index)
        else:
            value = offset_at(column, index, wide)
            status = fit_bytes(&context.budget, column, value + text_room(op, length))
            if unlikely(status != OK):
                return fail(context, status, op, p, index)
            status = put_decimal_text(context, op, p, length, column.data + value, &size)
            if unlikely(status != OK):
                return fail(context, status, op, p, index)
            if wide:
                (<int64_t *>column.offsets)[index + 1] = value + size
            else:
                (<int32_t *>column.offsets)[index + 1] = <int32_t>(value + size)
        p += length
    elif op.code == DO_FLOAT_TO_DOUBLE:
        if unlikely(end - p < 4):
            return fail(context, TRUNCATED, op, p, index)
        word = load_le32(p)
        memcpy(&real, &word, 4)
        (<double *>column.data)[index] = real
        p += 4
    elif op.code == DO_FIXED:
        if unlikely(op.size > end - p):
            return fail(context, TRUNCATED, op, p, index)
        memcpy(column.data + index * column.width, p, op.size)
        p += op.size
    elif op.code == DO_INT_TO_TIME or op.code == DO_INT_TO_FLOAT \
            or op.code == DO_INT_TO_DOUBLE:
        status = read_varint32(&p, end, limit, &word)
        if unlikely(status != OK):
            return fail(context, status, op, at, index)
        value = unzigzag32(word)
        if op.code == DO_INT_TO_FLOAT:
            (<float *>column.data)[index] = <float>value
        elif op.code == DO_INT_TO_DOUBLE:
            (<double *>column.data)[index] = <double>value
        elif op.code == DO_INT_TO_TIME:
            if unlikely(value < 0 or value >= op.factor):
                return fail(context, OUT_OF_RANGE, op, at, index)
            if column.width == 4:
                (<int32_t *>column.data)[index] = <int32_t>value
            else:
                (<int64_t *>column.data)[index] = value
    elif op.code == DO_LONG_TO_TIME or op.code == DO_LONG_TO_FLOAT or op.code == DO_LONG_TO_DOUBLE:
        status = read_varint64(&p, end, limit, &raw)
        if unlikely(status != OK):
            return fail(context, status, op, at, index)
        value = unzigzag64(raw)
        if op.code == DO_LONG_TO_TIME:
            if unlikely(value < 0 or value >= op.factor):
                return fail(context, OUT_OF_RANGE, op, at, index)
            (<int64_t *>column.data)[index] = value
        elif op.code == DO_LONG_TO_FLOAT:
            (<float *>column.data)[index] = <float>value
        elif op.code == DO_LONG_TO_DOUBLE:
            (<double *>column.data)[index] = <double>value
    elif op.code == DO_INT_CONVERTED or op.code == DO_LONG_CONVERTED:
        if op.code == DO_INT_CONVERTED:
            status = read_varint32(&p, end, limit, &word)
            value = unzigzag32(word)
        else:
            status = read_varint64(&p, end, limit, &raw)
            value = unzigzag64(raw)
        if likely(status == OK):
            status = convert_time(op, value, <int64_t *>column.data + index)
        if unlikely(status != OK):
            return fail(context, status, op, at, index)
    elif op.code == DO_ISO:
        status = read_length(&p, end, &length)
        if unlikely(status != OK):
            return fail(context, status, op, at, index)
        if unlikely(length < 0):
            return fail(context, NEGATIVE_LENGTH, op, at, index)
        if unlikely(length > end - p):
            return fail(context, TRUNCATED, op, p, index)
        status = iso_read(p, length, op.precision, op.scale, &value)
        if unlikely(status != OK):
            return fail(context, status, op, p, index)
        if column.width == 4:
            (<int32_t *>column.data)[index] = <int32_t>value
        else:
            (<int64_t *>column.data)[index] = value
        p += length
    elif op.code == DO_MEMBER:
        set_null(context.columns, op.column, index, wide)
        if column.valid != NULL:
            column.valid[index] = 1
        column = &context.columns[op.size]
        if column.valid != NULL:
            column.valid[index] = 1
    else:  # DO_ABSENT
        set_null(context.columns, op.column, index, wide)
    return p


cdef Status convert_time(const Op *op, int64_t value, int64_t *out) noexcept nogil:
    """Store a date or time in the unit of the column."""
    cdef int64_t divisor = op.precision
    cdef int64_t quotient = value / divisor
    cdef int64_t rest = value - quotient * divisor
    if rest != 0 and not op.scale:
        return INEXACT
    if multiply_overflows(quotient - (rest < 0), op.factor, out):
        return OUT_OF_RANGE
    if op.size and not 0 <= out[0] < 86_400 * <int64_t>op.size:
        return OUT_OF_RANGE
    return OK


cdef Status put_scaled_decimal(
    const Op *op, const uint8_t *data, int64_t size, int words, uint8_t *slot
) noexcept nogil:
    """Store a decimal at the scale of the column."""
    cdef uint8_t value[32]
    cdef char text[WIDE_TEXT]
    cdef size_t length
    # Digits that the value may have before it is scaled.
    cdef int64_t most = op.precision - op.factor
    cdef int value_words = 2 if words == 2 and most <= 38 else 4
    cdef Status status = decimal_from_bytes(data, size, <int>max(0, min(most, MAX_DIGITS)), value_words, value)
    if likely(status == OK):
        status = decimal_rescale(value, value_words, op.factor, op.precision, value)
        if likely(status == OK):
            memcpy(slot, value, 8 * words)
        return status
    if most <= MAX_DIGITS:
        return status
    # Its last digits may all be zeros.
    while size > 1 and (data[0] == 0 and data[1] < 0x80 or data[0] == 0xFF and data[1] >= 0x80):
        data += 1
        size -= 1
    if size > MAX_WIDE_BYTES:
        return DECIMAL_PRECISION
    status = decimal_to_text(data, size, 0, True, most, text, &length)
    if status != OK:
        return status
    return decimal_from_text(text, length, <int32_t>op.factor, op.precision, words, slot)


cdef inline int64_t text_room(const Op *op, int64_t size) noexcept nogil:
    """Return what must be free for a decimal as text, at the writer's scale and at the reader's."""
    cdef int32_t scale = <int32_t>(op.scale - op.factor)
    return <int64_t>decimal_text_room(size, max(scale, op.scale) + 1, True)


cdef Status put_decimal_text(
    Context *context, const Op *op, const uint8_t *data, int64_t size, uint8_t *out, int64_t *length
) noexcept nogil:
    cdef size_t written
    cdef int64_t shift = op.factor
    cdef int32_t scale = <int32_t>(op.scale - shift)
    cdef int64_t most = op.precision - shift
    cdef Status status
    if text_room(op, size) > context.budget.room:
        return NEED_ROOM
    status = decimal_to_text(data, size, scale, True, max(most, 1), <char *>out, &written)
    if status != OK:
        return status
    if shift > 0:
        if most < 1 and (written > 1 or out[0] != c"0"):
            return DECIMAL_PRECISION
        if scale == 0:
            out[written] = c"."
            written += 1
        memset(out + written, c"0", shift)
        written += shift
    elif shift < 0:
        while shift < 0:
            written -= 1
            if out[written] != c"0":
                return INEXACT
            shift += 1
        # The point goes too if nothing is left behind it.
        written -= op.scale == 0
    length[0] = written
    return charge(&context.budget, written)
