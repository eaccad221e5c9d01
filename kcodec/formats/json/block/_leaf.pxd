"""Leaves of a block of documents, except texts."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.json._program cimport Op
from kcodec.formats.json._quick cimport read_long_decimal, read_plain_time, read_quickly, store_decimal
from kcodec.formats.json.block._lanes cimport Block
from kcodec.wire.binary.cursor cimport likely, unlikely
from kcodec.wire.text._floats cimport json_double, json_single, powers_of_five
from kcodec.wire.text.json cimport json_long, json_quotient, json_quotient_single, json_tight, json_whole

# How a DECIMAL and an ISO_TIME are stored, and a leaf that has no loop of its own.
cdef struct Digits:
    int64_t value

cdef struct Moment:
    int64_t value

cdef struct Leaf:
    uint8_t value

ctypedef fused leaf_t:
    int32_t
    int64_t
    double
    float
    Digits
    Moment
    Leaf


cdef void read_leaves(Block *block, const Op *op, leaf_t *tag) noexcept nogil


cdef inline const uint8_t *quick_leaf(
    const Op *op, Column *column, int64_t slot, const uint8_t *p, const uint8_t *end, leaf_t *tag
) noexcept nogil:
    """Read a leaf and return the position behind it; NULL if it is not in its common form."""
    cdef int64_t value = 0
    cdef int64_t longer = 0        # so that the other one need not stand in memory
    cdef int fraction = 0
    cdef const uint8_t *at
    if leaf_t is Leaf:
        return read_quickly(op, column, slot, p, end, True, <int32_t *>NULL)
    elif leaf_t is Digits:
        at = json_tight(p, end, &value, &fraction)
        if unlikely(at == NULL) or unlikely(not store_decimal(op, column, slot, value, fraction)):
            return read_long_decimal(op, column, slot, p, end)
        return at
    elif leaf_t is Moment:
        return read_plain_time(op, column, slot, p, end)
    elif leaf_t is double:
        at = json_tight(p, end, &value, &fraction)
        # Zero may be -0.
        if likely(at != NULL) and likely(value != 0) \
                and likely(json_quotient(value, fraction, <double *>column.data + slot)):
            return at
        return json_double(p, end, powers_of_five, <double *>column.data + slot)
    elif leaf_t is float:
        at = json_tight(p, end, &value, &fraction)
        if likely(at != NULL) and likely(value != 0) \
                and likely(json_quotient_single(value, fraction, <float *>column.data + slot)):
            return at
        return json_single(p, end, powers_of_five, <float *>column.data + slot)
    else:
        at = json_whole(p, end, &value)
        if unlikely(at == NULL):
            at = json_long(p, end, &longer)
            value = longer
        if unlikely(at == NULL) or unlikely(value < op.low) or unlikely(value > op.high):
            return NULL
        (<leaf_t *>column.data)[slot] = <leaf_t>(value * op.factor)
        return at
