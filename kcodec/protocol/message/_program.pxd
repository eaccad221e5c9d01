"""Plans of Kafka's messages as flat, read-only C tables, and what their row loops share."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from kcodec.columns.built._column cimport Column
from kcodec.plan._budget cimport Budget
from kcodec.plan._program cimport Program
from kcodec.wire.binary.status cimport Status


cdef enum Code:
    # Reading.
    GET_BOOLEAN
    GET_8
    GET_16
    GET_32
    GET_64              # and float64
    GET_UUID
    GET_SHORT_STRING
    GET_COMPACT_STRING
    GET_SIZED_BYTES
    GET_COMPACT_BYTES
    GET_COUNTED_ARRAY
    GET_COMPACT_ARRAY
    GET_RECORD          # that cannot be null; its fields follow
    GET_NULLABLE_RECORD
    GET_TAGGED_RECORD
    GET_TAGS            # `size` ops GET_TAG follow
    GET_TAG             # `size` is the tag; its value's ops follow, then at `split` those of its default
    SET_FIXED           # a constant of `size` bytes
    SET_BOOLEAN
    SET_TEXT            # and bytes
    SET_EMPTY           # of an array
    SET_NULL
    SET_RECORD          # its fields follow
    # Writing.
    PUT_REQUIRED        # the column must not be null
    PUT_BOOLEAN
    PUT_8
    PUT_16
    PUT_32
    PUT_64
    PUT_INTEGER         # from any integer, as `size` bytes
    PUT_UUID
    PUT_SHORT_STRING
    PUT_COMPACT_STRING
    PUT_SIZED_BYTES
    PUT_COMPACT_BYTES
    PUT_COUNTED_ARRAY
    PUT_COMPACT_ARRAY
    PUT_RECORD
    PUT_NULLABLE_RECORD
    PUT_TAGGED_RECORD
    PUT_CONSTANT
    PUT_TAGS            # `size` ops PUT_TAG follow
    PUT_TAG             # `size` is the tag; ops IS_ follow, then at `split` those of its value
    PUT_UNSET           # ops IS_ follow, up to `split`
    IS_FIXED            # the column is at the constant
    IS_FLOAT
    IS_BOOLEAN
    IS_TEXT
    IS_EMPTY
    IS_NULL
    IS_RECORD
    # Both.
    FAIL


cdef enum Number:
    # How a value of an op looks in Python.
    NOT_A_NUMBER
    SIGNED
    UNSIGNED
    FLOATING


cdef enum:
    MARGIN = 160          # bytes behind each constant that may be read
    MAX_STRING = 0x7FFF
    TRAIL = 64            # steps of an error's path that are kept


cdef struct Op:
    int32_t code
    int32_t column
    int64_t place            # of the column, in bytes from the first
    int32_t next             # how far it is to the op after this one and all that belongs to it
    int32_t split            # GET_TAG, PUT_TAG: how far to the second range; arrays: the same as `next`
    int32_t size             # bytes of a value, tag, number of tags
    int32_t minimum          # arrays: bytes that an item takes at least
    int32_t number           # a `Number`
    int32_t status           # FAIL, PUT_UNSET
    bint nullable
    bint records             # arrays: the items are records, whose fields follow
    bint checked             # writing text: it may be anything but UTF-8
    const uint8_t *data      # the constant; when writing, what stands for a key that is not there
    int64_t data_size


cdef class MessageProgram(Program):
    cdef readonly bint lenient
    cdef Op *ops
    cdef bint failing            # the root is an error
    cdef list names              # per op: its key in dicts

    cdef int32_t add(self, int32_t code, object node, tuple path, int32_t column) except -1
    cdef int set_constant(self, int32_t at, object data) except -1
    cdef int get(self, object node, tuple path) except -1
    cdef int get_fields(self, object node, tuple path) except -1
    cdef int get_array(self, object node, object named, tuple path, bint nullable) except -1
    cdef int get_tags(self, object node, tuple path) except -1
    cdef int set_default(self, object node, tuple path) except -1
    cdef int put(self, object node, tuple path) except -1
    cdef int put_fields(self, object node, tuple path) except -1
    cdef int put_value(self, object node, object named, tuple path, bint nullable) except -1
    cdef int put_tags(self, object node, int32_t owner, tuple path) except -1
    cdef int is_default(self, object node, tuple path) except -1


cdef struct Context:
    const Op *ops
    Column *columns
    const uint8_t *end        # of the payload
    const uint8_t *limit      # of the memory that may be read
    Budget budget
    uint32_t word             # the uvarint that was read last
    bint lenient
    bint checked              # check UTF-8 per value, to find the guilty one
    # Of a failure:
    Status status
    const Op *op              # NULL: of the row as a whole
    const uint8_t *at
    int32_t trail_size
    int64_t trail[TRAIL]      # positions in arrays, innermost first


cdef inline const uint8_t *fail(Context *context, Status status, const Op *op, const uint8_t *at) noexcept nogil:
    context.status = status
    context.op = op
    context.at = at
    context.trail_size = 0
    return NULL


cdef inline void leave(Context *context, int64_t item) noexcept nogil:
    """Note, while a failure is passed outwards, in which item of an array it happened."""
    if context.trail_size < TRAIL:
        context.trail[context.trail_size] = item
        context.trail_size += 1


cdef const uint8_t *read_uvarint(Context *context, const Op *op, const uint8_t *p) noexcept nogil
cdef int64_t java_text(const uint8_t *data, int64_t size, uint8_t *out) noexcept nogil
