"""Values of JSON that are one token, in every form; the row loop itself reads the common ones."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.math cimport INFINITY, NAN
from libc.string cimport memcmp, memcpy

from kcodec.columns.built._column cimport Column, offset_at, set_end
from kcodec.formats.json._context cimport Context, fail, fail_token
from kcodec.formats.json._program cimport *
from kcodec.formats.json._quick cimport read_plain_time, store_time
from kcodec.plan._budget cimport fit_bytes
from kcodec.wire.binary.cursor cimport likely, load_le64
from kcodec.wire.binary.decimal cimport decimal_from_bytes, decimal_from_text, decimal_rescale
from kcodec.wire.binary.status cimport (
    EMPTY_DECIMAL, FIXED_SIZE, INEXACT, INVALID_BASE64, INVALID_NUMBER, INVALID_TIME, JSON_SYNTAX, JSON_TYPE,
    NUMBER_LENGTH, OK, OUT_OF_RANGE, Status,
)
from kcodec.wire.text._floats cimport read_double, read_single
from kcodec.wire.text.base64 cimport base64_decode
from kcodec.wire.text.isotime cimport iso_read
from kcodec.wire.text.json cimport json_literal, json_number, json_skip, json_skip_string, json_string

cdef enum:
    LONGEST = 1000   # characters of a decimal in Base64
    MOMENT = 300     # of a date or time, escapes included


cdef const uint8_t *wrong(Context *context, const Op *op, const uint8_t *p) noexcept nogil:
    """Fail at a value of another type, or at something that is not a value."""
    cdef uint8_t byte = p[0]
    if byte == 123 or byte == 91 or byte == 34 or byte == 45 or 48 <= byte <= 57 or byte == 116 or byte == 102 \
            or byte == 110:
        return fail(context, JSON_TYPE, op, p)
    return fail(context, JSON_SYNTAX, op, p)


cdef bint is_digit(uint8_t byte) noexcept nogil:
    return byte >= 48 and byte <= 57


cdef bint is_integer(const uint8_t *at, const uint8_t *end) noexcept nogil:
    """Return whether a number has only digits."""
    if at[0] == 45:
        at += 1
    while at < end and is_digit(at[0]):
        at += 1
    return at == end


cdef bint is_canonical(const uint8_t *at, const uint8_t *end) noexcept nogil:
    """Return whether BigDecimal prints a number as it is written: it is not -0, and neither has an exponent."""
    cdef const uint8_t *first = at + (at[0] == 45)
    cdef const uint8_t *point = first
    while point < end and is_digit(point[0]):
        point += 1
    if first[0] == 48 and (first != at or end - point > 7):
        return False
    if point < end and point[0] == 46:
        point += 1
    while point < end and is_digit(point[0]):
        point += 1
    return point == end


cdef const uint8_t *numeric(
    Context *context, const Op *op, const uint8_t *p, const uint8_t **start, const uint8_t **stop
) noexcept nogil:
    """Find a number, perhaps in a string; return the position behind."""
    cdef const uint8_t *at
    start[0] = p
    if p[0] == 45 or is_digit(p[0]):
        at = json_number(p, context.end, &context.fault)
        if at == NULL:
            return fail_token(context, op)
        stop[0] = at
    elif p[0] == 34 and op.forms & QUOTED:
        at = json_skip_string(p + 1, context.end, &context.fault)
        if at == NULL:
            return fail_token(context, op)
        start[0] = p + 1
        stop[0] = at - 1
    else:
        return wrong(context, op, p)
    if stop[0] - start[0] > context.max_number:
        return fail(context, NUMBER_LENGTH, op, p)
    if start[0] != p:
        # What ends before the string does, or is cut off, is no number.
        if json_number(start[0], stop[0], &context.fault) != stop[0] \
                or (op.code == INTEGER and not is_integer(start[0], stop[0])):
            return fail(context, INVALID_NUMBER, op, p)
    return at


cdef inline bint is_short_integer(const uint8_t *at, const uint8_t *stop, int64_t *value) noexcept nogil:
    """Read a number that is known to be one, if it has at most 18 digits and nothing else, and is not -0."""
    cdef bint negative = at[0] == 45
    cdef int64_t number = 0
    at += negative
    if stop - at > 18 or (negative and at[0] == 48):
        return False
    while at < stop:
        if not is_digit(at[0]):
            return False
        number = 10 * number + (at[0] - 48)
        at += 1
    value[0] = -number if negative else number
    return True


cdef const uint8_t *read_integer(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p
) noexcept nogil:
    cdef uint8_t slot[16]
    cdef const uint8_t *start = NULL
    cdef const uint8_t *stop = NULL
    cdef const uint8_t *at = numeric(context, op, p, &start, &stop)
    cdef Status status
    cdef uint64_t low
    cdef int64_t high
    cdef int64_t value = 0
    if at == NULL:
        return NULL
    if is_short_integer(start, stop, &value) and op.low <= value <= op.high:
        store_integer(op, column, index, value)
        return at
    if op.forms & CANONICAL and not is_integer(start, stop):
        return fail(context, JSON_TYPE, op, p)
    status = decimal_from_text(<const char *>start, stop - start, 0, 38, 2, slot)
    if status == INEXACT:
        return fail(context, INEXACT, op, p)
    low = load_le64(slot)
    high = <int64_t>load_le64(slot + 8)
    value = <int64_t>low
    if status != OK or (high != 0 and high != -1):
        return fail(context, OUT_OF_RANGE, op, p)
    if (value < 0) == (high < 0):
        if value < op.low or value > op.high:
            return fail(context, OUT_OF_RANGE, op, p)
    elif high < 0 or low > op.highest:
        return fail(context, OUT_OF_RANGE, op, p)
    store_integer(op, column, index, value)
    return at


cdef const uint8_t *read_real(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p
) noexcept nogil:
    cdef const uint8_t *start = NULL
    cdef const uint8_t *stop = NULL
    cdef const uint8_t *at
    cdef double value = 0
    cdef float single = 0
    cdef bint finite
    if p[0] == 34 and op.forms & NONFINITE:
        at = json_skip_string(p + 1, context.end, &context.fault)
        if at == NULL:
            return fail_token(context, op)
        if at - p == 5 and memcmp(p + 1, b"NaN", 3) == 0:
            value = NAN
        elif at - p == 10 and memcmp(p + 1, b"Infinity", 8) == 0:
            value = INFINITY
        elif at - p == 11 and memcmp(p + 1, b"-Infinity", 9) == 0:
            value = -INFINITY
        else:
            at = NULL
        if at != NULL:
            if op.code == DOUBLE:
                (<double *>column.data)[index] = value
            else:
                (<float *>column.data)[index] = <float>value
            return at
    at = numeric(context, op, p, &start, &stop)
    if at == NULL:
        return NULL
    if op.code == DOUBLE:
        finite = read_double(start, stop, &value)
        (<double *>column.data)[index] = value
    else:
        finite = read_single(start, stop, &single)
        value = single
        (<float *>column.data)[index] = single
    if not finite:
        return fail(context, OUT_OF_RANGE, op, p)
    if value == 0 and op.forms & CANONICAL and start == p and not is_canonical(p, at):
        return fail(context, JSON_TYPE, op, p)
    return at


cdef const uint8_t *read_decimal(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p
) noexcept nogil:
    cdef uint8_t *slot = column.data + index * 8 * op.width
    cdef uint8_t wide[32]
    cdef uint8_t text[LONGEST + 16]
    cdef const uint8_t *start = NULL
    cdef const uint8_t *stop = NULL
    cdef const uint8_t *at
    cdef int64_t size = 0
    cdef Status status
    if p[0] == 34 and op.forms & BASE64:
        at = json_skip_string(p + 1, context.end, &context.fault)
        if at == NULL:
            return fail_token(context, op)
        if at - p - 2 > min(context.max_number, LONGEST):
            return fail(context, NUMBER_LENGTH, op, p)
        json_string(p + 1, context.end, text, &size, &context.fault)
        size = base64_decode(text, size, text)
        if size <= 0:
            return fail(context, EMPTY_DECIMAL if size == 0 else INVALID_BASE64, op, p)
        status = decimal_from_bytes(text, size, 38 if op.width == 2 else 76, op.width, wide)
        if status == OK:
            status = decimal_rescale(wide, op.width, op.scale - op.wire_scale, op.precision, slot)
        return at if status == OK else fail(context, status, op, p)
    at = numeric(context, op, p, &start, &stop)
    if at == NULL:
        return NULL
    status = decimal_from_text(<const char *>start, stop - start, op.scale, op.precision, op.width, slot)
    return at if status == OK else fail(context, status, op, p)


cdef void store_integer(const Op *op, Column *column, int64_t index, int64_t value) noexcept nogil:
    value *= op.factor
    if op.width == 8:
        (<int64_t *>column.data)[index] = value
    elif op.width == 4:
        (<int32_t *>column.data)[index] = <int32_t>value
    elif op.width == 2:
        (<int16_t *>column.data)[index] = <int16_t>value
    else:
        (<int8_t *>column.data)[index] = <int8_t>value


cdef bint fits(
    Context *context, const Op *op, const Column *column, int64_t start, const uint8_t *p, const uint8_t *at
) noexcept nogil:
    """See to it that a column has room for the bytes from `p` to `at`."""
    cdef Status status = fit_bytes(&context.budget, column, start + (at - p))
    if status != OK:
        fail(context, status, op, p)
    return status == OK


cdef bint string_fits(
    Context *context, const Op *op, const Column *column, int64_t start, const uint8_t *p
) noexcept nogil:
    """See to it that a column has room for the string at `p`, where it grows as it is read."""
    cdef const uint8_t *at
    if context.budget.growing == NULL:
        return True
    at = json_string(p + 1, context.end, NULL, NULL, &context.fault)
    if at == NULL:
        fail_token(context, op)
        return False
    return fits(context, op, column, start, p, at)


cdef const uint8_t *read_text(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, bint wide
) noexcept nogil:
    cdef int64_t start = offset_at(column, index, wide)
    cdef const uint8_t *at
    if p[0] == 34:
        if not string_fits(context, op, column, start, p):
            return NULL
        at = json_string(
            p + 1, context.end, column.data + start, &context.length, &context.fault
        )
        if at == NULL:
            return fail_token(context, op)
        set_end(column, index, start + context.length, wide)
        return at
    if not op.forms & SCALAR:
        return wrong(context, op, p)
    if p[0] == 116 or p[0] == 102:
        at = json_literal(p, context.end, b"true" if p[0] == 116 else b"false", &context.fault)
        if at == NULL:
            return fail_token(context, op)
    elif p[0] == 45 or is_digit(p[0]):
        at = json_number(p, context.end, &context.fault)
        if at == NULL:
            return fail_token(context, op)
        if at - p > context.max_number:
            return fail(context, NUMBER_LENGTH, op, p)
        if op.forms & CANONICAL and not is_canonical(p, at):
            return fail(context, JSON_TYPE, op, p)
    else:
        return wrong(context, op, p)
    if not fits(context, op, column, start, p, at):
        return NULL
    memcpy(column.data + start, p, at - p)
    set_end(column, index, start + (at - p), wide)
    return at


cdef const uint8_t *read_bytes(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, bint wide
) noexcept nogil:
    cdef uint8_t *target
    cdef int64_t start = 0
    cdef int64_t size = 0
    cdef const uint8_t *at
    if p[0] != 34:
        return wrong(context, op, p)
    if op.width >= 0:
        return read_fixed(context, op, column, index, p)
    start = offset_at(column, index, wide)
    if not string_fits(context, op, column, start, p):
        return NULL
    target = column.data + start
    at = json_string(p + 1, context.end, target, &size, &context.fault)
    if at == NULL:
        return fail_token(context, op)
    size = base64_decode(target, size, target)
    if size < 0:
        return fail(context, INVALID_BASE64, op, p)
    set_end(column, index, start + size, wide)
    return at


cdef const uint8_t *read_fixed(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p
) noexcept nogil:
    cdef int64_t letters = (op.width + 2) // 3 * 4
    cdef int64_t size = 0
    cdef const uint8_t *at = json_skip_string(p + 1, context.end, &context.fault)
    if at == NULL:
        return fail_token(context, op)
    # An escape has at most six characters, of Base64 at most six for a letter.
    if at - p - 2 > 6 * letters:
        return fail(context, FIXED_SIZE, op, p)
    json_string(p + 1, context.end, context.scratch, &size, &context.fault)
    if size != letters:
        return fail(context, FIXED_SIZE, op, p)
    size = base64_decode(context.scratch, size, context.scratch)
    if size < 0:
        return fail(context, INVALID_BASE64, op, p)
    if size != op.width:
        return fail(context, FIXED_SIZE, op, p)
    memcpy(column.data + index * op.width, context.scratch, size)
    return at


cdef const uint8_t *read_boolean(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p
) noexcept nogil:
    cdef const uint8_t *at
    if p[0] == 116 or p[0] == 102:
        at = json_literal(p, context.end, b"true" if p[0] == 116 else b"false", &context.fault)
        if at == NULL:
            return fail_token(context, op)
        column.data[index] = p[0] == 116
        return at
    if p[0] != 34 or not op.forms & QUOTED:
        return wrong(context, op, p)
    at = json_skip_string(p + 1, context.end, &context.fault)
    if at == NULL:
        return fail_token(context, op)
    if at - p == 6 and memcmp(p + 1, b"true", 4) == 0:
        column.data[index] = 1
    elif at - p == 7 and memcmp(p + 1, b"false", 5) == 0:
        column.data[index] = 0
    else:
        return fail(context, JSON_TYPE, op, p)
    return at


cdef const uint8_t *read_time(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p
) noexcept nogil:
    cdef uint8_t text[MOMENT + 16]
    cdef int64_t size = 0
    cdef int64_t value = 0
    cdef const uint8_t *at
    cdef Status status
    if p[0] != 34:
        return wrong(context, op, p)
    at = read_plain_time(op, column, index, p, context.end)
    if likely(at != NULL):
        return at
    at = json_skip_string(p + 1, context.end, &context.fault)
    if at == NULL:
        return fail_token(context, op)
    if at - p - 2 > MOMENT:
        return fail(context, INVALID_TIME, op, p)
    json_string(p + 1, context.end, text, &size, &context.fault)
    status = iso_read(text, size, op.form, op.digits, &value)
    if status != OK:
        return fail(context, status, op, p)
    store_time(op, column, index, value)
    return at


cdef const uint8_t *read_raw(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, bint wide
) noexcept nogil:
    cdef int64_t start = offset_at(column, index, wide)
    cdef const uint8_t *at = json_skip(
        p, context.end, context.max_depth - context.depth, &context.fault
    )
    if at == NULL:
        return fail_token(context, op)
    if not fits(context, op, column, start, p, at):
        return NULL
    memcpy(column.data + start, p, at - p)
    set_end(column, index, start + (at - p), wide)
    return at


cdef const uint8_t *read_leaf(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, bint wide
) noexcept nogil:
    if op.code == INTEGER:
        return read_integer(context, op, column, index, p)
    if op.code == SINGLE or op.code == DOUBLE:
        return read_real(context, op, column, index, p)
    if op.code == DECIMAL:
        return read_decimal(context, op, column, index, p)
    if op.code == STRING:
        return read_text(context, op, column, index, p, wide)
    if op.code == BYTES:
        return read_bytes(context, op, column, index, p, wide)
    if op.code == BOOLEAN:
        return read_boolean(context, op, column, index, p)
    if op.code == ISO_TIME:
        return read_time(context, op, column, index, p)
    if op.code == RAW:
        return read_raw(context, op, column, index, p, wide)
    return wrong(context, op, p)
