"""Values of JSON as they mostly stand: short, without escapes.

Anything else, right or wrong, is left to `kcodec.formats.json._leaf.read_leaf`.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from kcodec.columns.built._column cimport Column, offset_t
from kcodec.formats.json._program cimport BOOLEAN, DECIMAL, DOUBLE, INTEGER, STRING, Op
from kcodec.wire.binary.cursor cimport likely, store_le64, unlikely
from kcodec.wire.text.json cimport json_plain, json_quotient, json_quotient_single, json_short, json_truth, pow10

cdef enum:
    SHORT = 32                # characters that none of these numbers has
    NULL_WORD = 0x6C6C756E    # "null"


# Read a number of more digits than most, or a decimal of as many or in Base64. These are no part of `read_quickly`,
# which would save registers for them each time.
cdef const uint8_t *read_long_number(
    const Op *op, Column *column, int64_t slot, const uint8_t *p, const uint8_t *end
) noexcept nogil
cdef const uint8_t *read_long_decimal(
    const Op *op, Column *column, int64_t slot, const uint8_t *p, const uint8_t *end
) noexcept nogil

cdef const uint8_t *read_plain_time(
    const Op *op, Column *column, int64_t slot, const uint8_t *p, const uint8_t *end
) noexcept nogil


cdef inline void store_time(const Op *op, Column *column, int64_t slot, int64_t value) noexcept nogil:
    if op.width == 4:
        (<int32_t *>column.data)[slot] = <int32_t>value
    else:
        (<int64_t *>column.data)[slot] = value * op.factor


cdef inline const uint8_t *quick_text(
    Column *column, int64_t slot, const uint8_t *p, const uint8_t *end, offset_t *tag
) noexcept nogil:
    cdef offset_t *offsets = <offset_t *>column.offsets + slot
    cdef const uint8_t *at
    if unlikely(p[0] != 34):
        return NULL
    at = json_plain(p + 1, end, column.data + offsets[0])
    if unlikely(at >= end) or unlikely(at[0] != 34):
        return NULL
    offsets[1] = offsets[0] + <offset_t>(at - p - 1)
    return at + 1


cdef inline bint store_integer(const Op *op, Column *column, int64_t slot, int64_t value, int fraction) noexcept nogil:
    """Store a number; False if it is not in the range of the column or has a fraction."""
    if unlikely(fraction != 0) or unlikely(value < op.low or value > op.high):
        return False
    value *= op.factor
    if op.width == 8:
        (<int64_t *>column.data)[slot] = value
    elif op.width == 4:
        (<int32_t *>column.data)[slot] = <int32_t>value
    elif op.width == 2:
        (<int16_t *>column.data)[slot] = <int16_t>value
    else:
        (<int8_t *>column.data)[slot] = <int8_t>value
    return True


cdef inline bint store_decimal(const Op *op, Column *column, int64_t slot, int64_t value, int fraction) noexcept nogil:
    """Store a number at the scale of the column; False if it has more digits, or may have."""
    cdef int shift = op.scale - fraction
    cdef int room = min(op.precision, 18) - shift
    cdef uint64_t high
    cdef uint64_t size = 0 - <uint64_t>value if value < 0 else <uint64_t>value
    if unlikely(shift < 0 or room < 0) or unlikely(size >= pow10[room]):
        return False
    value *= <int64_t>pow10[shift]
    high = <uint64_t>(value >> 63)
    if op.width == 2:
        store_le64(column.data + 16 * slot, <uint64_t>value)
        store_le64(column.data + 16 * slot + 8, high)
    else:
        store_le64(column.data + 32 * slot, <uint64_t>value)
        store_le64(column.data + 32 * slot + 8, high)
        store_le64(column.data + 32 * slot + 16, high)
        store_le64(column.data + 32 * slot + 24, high)
    return True


cdef inline bint store_real(
    int32_t code, Column *column, int64_t slot, int64_t value, int fraction, bint negative
) noexcept nogil:
    """Store the nearest double or single; False if that takes more than one division, or is -0."""
    if unlikely(value == 0 and negative):
        return False
    if code == DOUBLE:
        return json_quotient(value, fraction, <double *>column.data + slot)
    return json_quotient_single(value, fraction, <float *>column.data + slot)


cdef inline bint store_number(
    int32_t code, const Op *op, Column *column, int64_t slot, int64_t value, int fraction, bint negative
) noexcept nogil:
    if code == INTEGER:
        return store_integer(op, column, slot, value, fraction)
    if code == DECIMAL:
        return store_decimal(op, column, slot, value, fraction)
    return store_real(code, column, slot, value, fraction, negative)


cdef inline const uint8_t *read_quickly(
    const Op *op, Column *column, int64_t slot, const uint8_t *p, const uint8_t *end, bint short_numbers, offset_t *tag
) noexcept nogil:
    """Read a leaf and return the position behind it; NULL if it is not in its common form."""
    cdef int64_t value = 0
    cdef int fraction = 0
    cdef const uint8_t *at
    if op.code == STRING:
        return quick_text(column, slot, p, end, tag)
    if op.code == BOOLEAN:
        return json_truth(p, end, column.data + slot)
    if op.code > DECIMAL or op.code < INTEGER or not short_numbers:
        return NULL
    at = json_short(p, end, &value, &fraction)
    if likely(at != NULL) and likely(store_number(op.code, op, column, slot, value, fraction, p[0] == 45)):
        return at
    if op.code == DECIMAL:
        return read_long_decimal(op, column, slot, p, end)
    return read_long_number(op, column, slot, p, end)
