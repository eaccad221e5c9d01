"""Leaves of a block of documents, except texts."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block

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
    Digits
    Moment
    Leaf


cdef void read_leaves(Block *block, const Op *op, leaf_t *tag) noexcept nogil
