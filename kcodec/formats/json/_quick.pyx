"""Values of JSON as they mostly stand, which take longer to read than most: numbers of many digits, decimals in Base64,
and times.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.json._program cimport BASE64, DOUBLE, INTEGER, SINGLE, Op
from kcodec.wire.binary.decimal cimport decimal_from_text
from kcodec.wire.binary.status cimport OK, Status
from kcodec.wire.text._floats cimport json_double, json_single, powers_of_five
from kcodec.wire.text.base64 cimport base64_word
from kcodec.wire.text.isotime cimport iso_read
from kcodec.wire.text.json cimport json_fixed, json_long, json_plain


cdef const uint8_t *read_long_number(
    const Op *op, Column *column, int64_t slot, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    cdef int64_t value = 0
    cdef const uint8_t *at
    if op.code == INTEGER:
        at = json_long(p, end, &value)
        return at if at != NULL and store_integer(op, column, slot, value, 0) else NULL
    if op.code == DOUBLE:
        return json_double(p, end, powers_of_five, <double *>column.data + slot)
    if op.code == SINGLE:
        return json_single(p, end, powers_of_five, <float *>column.data + slot)
    return NULL


cdef const uint8_t *read_long_decimal(
    const Op *op, Column *column, int64_t slot, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    cdef uint64_t word = 0
    cdef int size
    cdef Status status
    cdef const uint8_t *at
    if p[0] != 34:
        at = json_fixed(p, end)
        if at == NULL or at - p > SHORT:
            return NULL
        status = decimal_from_text(
            <const char *>p, at - p, op.scale, op.precision, op.width, column.data + 8 * op.width * slot
        )
        return at if status == OK else NULL
    if op.forms & BASE64:
        size = base64_word(p + 1, &word)
        at = p + 2 + (size + 2) // 3 * 4
        if size == 0 or at > end:
            return NULL
        return at if store_decimal(op, column, slot, <int64_t>word >> (64 - 8 * size), op.wire_scale) else NULL
    return NULL


cdef const uint8_t *read_plain_time(
    const Op *op, Column *column, int64_t slot, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    cdef int64_t value = 0
    cdef const uint8_t *at
    if p[0] != 34:
        return NULL
    at = json_plain(p + 1, end, NULL)
    if at >= end or at[0] != 34 or iso_read(p + 1, at - p - 1, op.form, op.digits, &value) != OK:
        return NULL
    store_time(op, column, slot, value)
    return at + 1
