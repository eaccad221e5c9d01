"""Values that take more than a move."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._program cimport Op
from kcodec.wire.binary.cursor cimport load_be64, unlikely


cdef const uint8_t *read_leaf(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, bint wide
) noexcept nogil


cdef inline const uint8_t *read_small_decimal(
    const Op *op, Column *column, int64_t index, const uint8_t *p, const uint8_t *end, uint64_t most
) noexcept nogil:
    """Read a decimal of at most eight bytes to 128 bits; return the position behind it, or NULL for all others.

    `most` is the largest magnitude of its precision. Nine bytes from `p` on may be read.
    """
    cdef int64_t *slot = <int64_t *>column.data + 2 * index
    cdef int64_t size = op.size if op.size else p[0] >> 1
    cdef int64_t value
    cdef int64_t sign
    if unlikely(op.size == 0 and p[0] & 1) or unlikely(<uint64_t>(size - 1) >= 8):
        return NULL
    p += op.size == 0
    value = <int64_t>load_be64(p) >> (64 - 8 * size)
    p += size
    sign = value >> 63
    if unlikely(p > end) or unlikely(<uint64_t>(value ^ sign) - <uint64_t>sign > most):
        return NULL
    slot[0] = value
    slot[1] = sign
    return p
