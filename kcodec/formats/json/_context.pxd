"""What the row loops of JSON share while they decode: the document in hand, and how they fail."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.json._program cimport Op
from kcodec.plan._budget cimport Budget
from kcodec.wire.binary.status cimport Status
from kcodec.wire.text.json cimport JsonFault

cdef enum:
    LEVELS = 1001             # lists and maps inside each other, at most


cdef struct Context:
    Column *columns
    const uint8_t *end        # of the document; JSON_MARGIN bytes behind it may be read
    const uint8_t *outside    # while a default is read: where in the document it stands
    Budget budget
    int64_t max_number        # characters
    int32_t depth
    int32_t max_depth
    int32_t level             # lists and maps that are gone into
    uint64_t *words           # bits of fields from 64 on
    # Of the key that was looked up:
    const uint8_t *after
    bint folded
    uint8_t *scratch
    int64_t scratch_room
    int64_t longest           # name
    const uint32_t *folds
    const uint8_t *fold_texts
    int32_t fold_count
    # Of the string that was read:
    int64_t length
    # Of a failure:
    JsonFault fault
    Status status
    const Op *op              # NULL: of the row as a whole
    const uint8_t *at
    int64_t items[LEVELS]     # per level: which item


cdef inline const uint8_t *fail(Context *context, Status status, const Op *op, const uint8_t *at) noexcept nogil:
    context.status = status
    context.op = op
    context.at = at if context.outside == NULL else context.outside
    return NULL


cdef inline const uint8_t *fail_token(Context *context, const Op *op) noexcept nogil:
    """Fail as the token did that was to be read."""
    return fail(context, context.fault.code, op, context.fault.at)
