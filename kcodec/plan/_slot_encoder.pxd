"""Encoders that write blocks of rows column by column, each row into a slot of its own."""

from libc.stdint cimport uint8_t

from kcodec.columns.written._slots cimport Slots
from kcodec.plan._encoder cimport Encoder


cdef class SlotEncoder(Encoder):
    cdef bytes prefix
    cdef const uint8_t *before     # the prefix, which every row begins with
    cdef Slots *blocks             # of so many levels

    # What formats do.
    cdef bint put_block(self, Slots *block) noexcept nogil
