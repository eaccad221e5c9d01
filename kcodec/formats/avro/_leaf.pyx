"""Values that take more than a move: numbers promoted or checked, decimals, and the nulls of whole columns.

They stand apart from the row loop so that what it does for every value stays in registers.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.columns._builder cimport Column, offset_at, set_null
from kcodec.formats.avro._context cimport Context, fail
from kcodec.formats.avro._program cimport (
    DO_DECIMAL, DO_DECIMAL_TEXT, DO_FIXED, DO_FLOAT, DO_FLOAT_TO_DOUBLE, DO_INT_TO_DOUBLE, DO_INT_TO_FLOAT,
    DO_INT_TO_TIME, DO_ISO, DO_LONG_TO_DOUBLE, DO_LONG_TO_FLOAT, DO_LONG_TO_TIME, DO_MEMBER, Op,
)
from kcodec.plan._budget cimport charge
from kcodec.wire.cursor cimport load_le32, read_length, read_varint32, read_varint64, unlikely, unzigzag32, unzigzag64
from kcodec.wire.decimal cimport decimal_from_bytes, decimal_text_room, decimal_to_text
from kcodec.wire.isotime cimport iso_read
from kcodec.wire.status cimport EMPTY_DECIMAL, NEED_ROOM, NEGATIVE_LENGTH, OK, OUT_OF_RANGE, TRUNCATED, Status


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
    if op.code == DO_DECIMAL or op.code == DO_DECIMAL_TEXT:
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
        else:
            value = offset_at(column, index, wide)
            status = put_decimal_text(context, op, p, length, column.data + value, &size)
            if unlikely(status != OK):
                return fail(context, status, op, p, index)
            if wide:
                (<int64_t *>column.offsets)[index + 1] = value + size
            else:
                (<int32_t *>column.offsets)[index + 1] = <int32_t>(value + size)
        p += length
    elif op.code == DO_FLOAT:
        if unlikely(end - p < 4):
            return fail(context, TRUNCATED, op, p, index)
        (<uint32_t *>column.data)[index] = load_le32(p)
        p += 4
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


cdef Status put_decimal_text(
    Context *context, const Op *op, const uint8_t *data, int64_t size, uint8_t *out, int64_t *length
) noexcept nogil:
    cdef size_t written
    cdef Status status
    if <int64_t>decimal_text_room(size, op.scale, True) > context.budget.room:
        return NEED_ROOM
    status = decimal_to_text(data, size, op.scale, True, op.precision, <char *>out, &written)
    if status != OK:
        return status
    length[0] = written
    return charge(&context.budget, written)
