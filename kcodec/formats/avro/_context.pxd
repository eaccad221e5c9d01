"""What the row loops of Avro share while they decode: the payload in hand, and how they fail."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns._builder cimport Column
from kcodec.formats.avro._program cimport Op
from kcodec.wire.cursor cimport unlikely
from kcodec.wire.status cimport NEED_ROOM, OK, SIZE_LIMIT, Status

cdef enum:
    TRAIL = 512               # steps of an error's path that are kept


cdef struct Context:
    const Op *ops
    Column *columns
    const uint8_t *end        # of the payload
    const uint8_t *limit      # of the memory that may be read
    int64_t room              # what may still be stored beyond what the payloads hold
    int64_t expanded          # by the row in hand
    int64_t zero_items
    int64_t max_expansion
    int64_t max_zero_items
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
    """Note on the way out of a failure which item of a collection it was in; -1: a CALL."""
    if context.trail_size < TRAIL:
        context.trail_ops[context.trail_size] = op
        context.trail_items[context.trail_size] = item
        context.trail_size += 1
    context.item = outer


cdef inline Status charge(Context *context, int64_t amount) noexcept nogil:
    """Count what is stored beyond what the payload holds."""
    context.expanded += amount
    if unlikely(context.expanded > context.max_expansion):
        return SIZE_LIMIT
    context.room -= amount
    return NEED_ROOM if unlikely(context.room < 0) else OK


cdef inline Status charge_zero_items(Context *context, int64_t count) noexcept nogil:
    """Count items that take no bytes; they still take room in their columns."""
    if count > context.max_zero_items - context.zero_items:
        return SIZE_LIMIT
    context.zero_items += count
    context.room -= count
    return NEED_ROOM if context.room < 0 else OK
