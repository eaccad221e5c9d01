"""Numbers of JSON that have more digits than most, without an exponent or with one."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.json._program cimport DOUBLE, INTEGER, SINGLE, Op
from kcodec.wire.text._floats cimport json_double, json_single, powers_of_five
from kcodec.wire.text.json cimport json_long


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
