"""What the row loops of Avro share while they decode: the payload in hand, and how they fail."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.avro.rows._program cimport Op
from kcodec.plan._budget cimport Budget
from kcodec.wire.binary.status cimport Status

cdef enum:
    TRAIL = 512               # steps of an error's path that are kept


cdef struct Context:
    const Op *ops
    Column *columns
    const uint8_t *end        # of the payload
    const uint8_t *limit      # of the memory that may be read
    Budget budget
    int32_t depth
    int32_t max_depth
    bint checked              # check UTF-8 per value, to find the guilty one
    # Of a failure:
    Status status
    const Op *op              # NULL: of the row as a whole
    const uint8_t *at
    int64_t item
    int32_t trail_size
    const Op *trail_ops[TRAIL]
    int64_t trail_items[TRAIL]


cdef inline const uint8_t *fail(
    Context *context, Status status, const Op *op, const uint8_t *at, int64_t item
) noexcept nogil:
    context.status = status
    context.op = op
    context.at = at
    context.item = item
    context.trail_size = 0
    return NULL


cdef inline void leave(Context *context, const Op *op, int64_t item, int64_t outer) noexcept nogil:
    """Note, while a failure is passed outwards, in which item of a collection it happened; -1 for a CALL."""
    if context.trail_size < TRAIL:
        context.trail_ops[context.trail_size] = op
        context.trail_items[context.trail_size] = item
        context.trail_size += 1
    context.item = outer
