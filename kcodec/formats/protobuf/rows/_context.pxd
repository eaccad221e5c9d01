"""What the row loops of Protobuf share while they decode: the payload in hand, and how they fail."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.protobuf.rows._program cimport Message, Op
from kcodec.plan._budget cimport Budget
from kcodec.wire.binary.status cimport Status

cdef enum:
    MAX_DEPTH = 100           # messages, groups and entries inside the outermost message
    TRAIL = 128               # steps of an error's path that are kept: one for each of these at most


cdef struct Context:
    const Op *ops
    const Message *messages
    Column *columns
    bint wide
    const uint8_t *limit      # of the memory that may be read
    uint64_t *seen            # of each message, the fields that it has
    int64_t *times            # of each op of a time, seconds and nanoseconds
    Budget budget
    int32_t max_depth
    bint checked              # check UTF-8 per value, to find the guilty one
    int32_t number            # of a closed enum, which it does not declare
    bint unknown_entry        # the value of the entry in hand is a number that its enum does not declare
    bint has_bad_time         # a time was wrong, which may have come again since
    const Op *bad_item        # what was wrong once an item had ended: of all items; NULL: nothing
    bint is_replaced          # a member of a oneof, or a value of a map, which may have been what was wrong
    bint tells_items          # the payload is read again, to fail at the first item that is wrong
    # Of a failure:
    Status status
    const Op *op
    const uint8_t *at
    int32_t trail_size
    int64_t trail[TRAIL]


cdef inline const uint8_t *fail(Context *context, Status status, const Op *op, const uint8_t *at) noexcept nogil:
    context.status = status
    context.op = op
    context.at = at
    context.trail_size = 0
    return NULL


cdef inline Column *column_of(const Context *context, int32_t column) noexcept nogil:
    return &context.columns[column]


cdef inline void set_valid(Column *column, int64_t index) noexcept nogil:
    if column.valid != NULL:
        column.valid[index] = 1
