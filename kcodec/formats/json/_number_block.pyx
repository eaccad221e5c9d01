"""Numbers of a block of documents."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.columns._builder cimport Column
from kcodec.formats.json._key_block cimport find_value
from kcodec.formats.json._lanes cimport Block, set_valid
from kcodec.formats.json._program cimport Op
from kcodec.formats.json._quick cimport store_decimal
from kcodec.formats.json._value_block cimport read_one
from kcodec.wire._floats cimport json_double, powers_of_five
from kcodec.wire.cursor cimport likely, unlikely
from kcodec.wire.json cimport json_long, json_quotient, json_tight, json_whole


cdef void read_integers(Block *block, const Op *op, integer_t *tag) noexcept nogil:
    cdef integer_t *data = <integer_t *>block.context.columns[op.column].data + block.row
    cdef int64_t low = op.low
    cdef int64_t high = op.high
    cdef int64_t factor = op.factor
    cdef int64_t value = 0
    cdef int64_t longer = 0        # so that the other one need not stand in memory
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef int64_t lane
    set_valid(block, op)
    for lane in range(block.count):
        at = p = find_value(block, op, lane)
        if likely(p != NULL):
            at = json_whole(p, block.end[lane], &value)
            if unlikely(at == NULL):
                at = json_long(p, block.end[lane], &longer)
                value = longer
        if likely(at != NULL) and likely(value >= low) and likely(value <= high):
            data[lane] = <integer_t>(value * factor)
        else:
            at = read_one(block, op, lane, p)
            if at == NULL:
                return
        block.at[lane] = at


cdef void read_decimals(Block *block, const Op *op) noexcept nogil:
    cdef Column *column = &block.context.columns[op.column]
    cdef int64_t value = 0
    cdef int fraction = 0
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef int64_t lane
    set_valid(block, op)
    for lane in range(block.count):
        at = p = find_value(block, op, lane)
        if likely(p != NULL):
            at = json_tight(p, block.end[lane], &value, &fraction)
        if unlikely(at == NULL) or unlikely(not store_decimal(op, column, block.row + lane, value, fraction)):
            at = read_one(block, op, lane, p)
            if at == NULL:
                return
        block.at[lane] = at


cdef void read_doubles(Block *block, const Op *op) noexcept nogil:
    cdef double *data = <double *>block.context.columns[op.column].data + block.row
    cdef int64_t value = 0
    cdef int fraction = 0
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef int64_t lane
    set_valid(block, op)
    for lane in range(block.count):
        at = p = find_value(block, op, lane)
        if likely(p != NULL):
            at = json_tight(p, block.end[lane], &value, &fraction)
        # Zero may be -0.
        if unlikely(at == NULL) or unlikely(value == 0) or unlikely(not json_quotient(value, fraction, data + lane)):
            at = NULL
            if p != NULL:
                at = json_double(p, block.end[lane], powers_of_five, data + lane)
            if unlikely(at == NULL):
                at = read_one(block, op, lane, p)
            if at == NULL:
                return
        block.at[lane] = at
