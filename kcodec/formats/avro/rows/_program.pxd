"""Plans of Avro as flat, read-only C tables."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.plan._program cimport Program


cdef enum Code:
    # Decoding: what is on the wire, and the column's form where that differs.
    DO_BOOLEAN
    DO_INT
    DO_INT_TO_LONG
    DO_INT_TO_FLOAT
    DO_INT_TO_DOUBLE
    DO_INT_TO_TIME
    DO_LONG
    DO_LONG_TO_FLOAT
    DO_LONG_TO_DOUBLE
    DO_LONG_TO_TIME
    DO_INT_CONVERTED    # a date or time in another unit; `size`: of a time of day, ticks of the column in a second
    DO_LONG_CONVERTED   # the same, after a division by `precision`; `scale` is not 0 if its rest is dropped
    DO_FLOAT
    DO_FLOAT_TO_DOUBLE
    DO_DOUBLE
    DO_BYTES
    DO_STRING
    DO_FIXED
    DO_ENUM
    DO_DECIMAL
    DO_DECIMAL_TEXT     # `factor`: digits to put behind the unscaled value; negative: to take away
    DO_DECIMAL_SCALED   # the same, to a slot
    DO_ISO              # text of a date or time; `precision` is its form, `scale` the digits of the unit
    DO_ARRAY
    DO_MAP
    DO_UNION
    DO_NULLABLE         # a union of null and one other; `size` is the null branch
    DO_NULLABLE_TEXT    # the same with the value's own op folded in
    DO_NULLABLE_DOUBLE
    DO_NULLABLE_LONG
    DO_PRESENT
    DO_ABSENT
    DO_ABSENT_TEXT      # of a column of text or bytes
    DO_MEMBER
    DO_DEFAULT
    DO_CONSTANT         # a default that is text or bytes; `size` is what it counts as expansion
    DO_FAIL
    DO_JUMP
    DO_SKIP             # the ops that belong to it only drop
    # Dropping.
    SKIP_BYTES          # `size` bytes
    SKIP_INT
    SKIP_LONG
    SKIP_STRING
    SKIP_ARRAY          # and maps
    SKIP_NULLABLE
    SKIP_NULLABLE_BYTES   # the same with the value's own op folded in
    SKIP_NULLABLE_LONG
    SKIP_NULLABLE_STRING
    CALL
    # Encoding.
    PUT_REQUIRED        # the column must not be null
    PUT_BOOLEAN
    PUT_INT             # from int32 as it is
    PUT_LONG            # from int64 as it is
    PUT_INTEGER         # from any integer; `size` bits on the wire, `factor`
    PUT_FLOAT
    PUT_DOUBLE
    PUT_TEXT            # text or bytes
    PUT_BYTES           # bytes, from a column where all have one size
    PUT_STRING          # from bytes, which must be UTF-8
    PUT_FIXED
    PUT_ENUM            # `table`: mask, heads of buckets, next of each symbol (all plus one)
    PUT_DECIMAL
    PUT_ISO             # as DO_ISO
    PUT_ARRAY
    PUT_MAP
    PUT_NULLABLE        # `size` is the null branch
    PUT_NULLABLE_TEXT   # the same with the value's own op folded in
    PUT_NULLABLE_DOUBLE
    PUT_UNION           # `table`: per branch its `Branch`, column and first op
    PUT_DEFAULT


cdef enum Branch:
    IF_ABSENT
    IF_PRESENT
    IF_MEMBER


cdef inline int32_t symbol_hash(const uint8_t *data, int64_t size) noexcept nogil:
    if size == 0:
        return 0
    return <int32_t>((size * 31 + data[0]) * 31 + data[size - 1])


cdef enum:
    TEXT_MARGIN = 160   # bytes behind each Text that may be read


cdef struct Text:
    const uint8_t *data
    int64_t size


cdef struct Op:
    int32_t code
    int32_t column
    int64_t place         # of the column, in bytes from the first `Column`
    int32_t next          # how far it is to the op after this one and all that belongs to it
    int32_t size          # bytes of a fixed, branches of a union, member of a union, null branch; see Code
    int64_t factor        # columns hold the wire's value times this
    int32_t precision
    int32_t scale         # PUT_INTEGER: not 0 if the rest of a division is dropped
    int32_t status        # DO_FAIL
    int32_t minimum       # bytes that one item of an array takes at least
    const Text *texts     # symbols of an enum (data NULL: none); DO_DEFAULT: the bytes
    const int32_t *table  # DO_UNION: the op where each branch starts


cdef class AvroProgram(Program):
    cdef Op *ops
    cdef dict entries                   # CALL targets: name -> first op
    cdef list calls                     # ops to be patched

    cdef void *memory(self, int64_t size) except NULL
    cdef const Text *text_table(self, object values) except NULL
    cdef int32_t absent_code(self, int32_t column) except -1
    cdef int fold_nullable(self, int32_t at) except -1
    cdef int compile_put(self, object node, tuple path, int32_t owner, bint present) except -1
    cdef int put_union(self, object node, tuple path) except -1
    cdef int set_iso(self, int32_t at, object kind) except -1
    cdef int put_leaf(self, object node, tuple path) except -1
    cdef const int32_t *symbol_table(self, const Text *texts, int32_t count) except NULL
    cdef int32_t add(self, int32_t code, object path, int32_t column=*, object node=*) except -1
    cdef int compile(self, object node, tuple path) except -1
    cdef int compile_union(self, object node, tuple path) except -1
    cdef int compile_items(self, object node, tuple path) except -1
    cdef int compile_leaf(self, object node, tuple path) except -1
    cdef int compile_skipped(self, object nodes, tuple path) except -1
    cdef int compile_default(self, object node, object data, int64_t charge, tuple path) except -1
    cdef int compile_dropped(self, object node, tuple path) except -1
    cdef int compile_fail(self, object node, tuple path) except -1
