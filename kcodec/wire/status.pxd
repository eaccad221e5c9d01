"""What a kernel answers. The order after OK is that of ``kcodec.errors.CODES``; a test compares the two."""

cdef enum Status:
    OK = 0
    TRUNCATED
    VARINT_OVERLONG
    VARINT_OVERFLOW
    NEGATIVE_LENGTH
    INVALID_BOOLEAN
    INVALID_UTF8
    ENUM_INDEX
    UNION_INDEX
    BLOCK_COUNT
    BLOCK_SIZE
    TRAILING_BYTES
    DECIMAL_PRECISION
    OUT_OF_RANGE
    UNRESOLVABLE
    DEPTH_LIMIT
    SIZE_LIMIT
    FRAME_TRUNCATED
    FRAME_MAGIC
    UNKNOWN_SCHEMA_ID
    SCHEMA_ERROR
    NULL_VALUE
    TYPE_MISMATCH
    INEXACT
    UNKNOWN_SYMBOL
    FIXED_SIZE
    UNION_MEMBERS
    DUPLICATE_KEY
    # Not errors of a row, so without a code:
    NEED_ROOM   # the output has no room: grow it, then run the row again
    NO_MEMORY
