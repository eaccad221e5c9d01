"""Plans of Protobuf as flat, read-only C tables."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcodec.plan._program cimport Program


cdef enum Code:
    # Decoding: the bits that are read, and the column's form where that differs. Floats are fixed-width bits.
    READ_INT32          # the low 32 bits of a varint; uint32 too
    READ_INT64
    READ_UINT32_WIDE    # to 64 bits
    READ_UINT64_WIDE    # to a decimal of 128 bits
    READ_SINT32
    READ_SINT64
    READ_FIXED32
    READ_FIXED64
    READ_FIXED32_WIDE
    READ_FIXED64_WIDE
    READ_BOOL
    READ_ENUM
    READ_ENUM_NAME
    READ_TEXT
    READ_BYTES
    READ_RAW            # bytes, to which those of the same message are added
    READ_TIME
    READ_MESSAGE
    READ_GROUP
    READ_DROPPED
    # Encoding: what is written.
    PUT_VARINT32        # from a column of the same signed bits, which need no check
    PUT_VARINT64
    PUT_BITS32          # the same for fixed-width numbers of any kind
    PUT_BITS64
    PUT_INTEGER         # varint
    PUT_SINT            # zigzag varint
    PUT_FIXED32
    PUT_FIXED64
    PUT_BOOL
    PUT_FLOAT
    PUT_DOUBLE
    PUT_TEXT            # a length and text or bytes
    PUT_ENUM            # a number
    PUT_ENUM_NAME       # the number of a name
    PUT_TIME
    PUT_MESSAGE
    PUT_GROUP
    PUT_CASE            # nothing: the name of a member of a oneof, which must be set
    PUT_FAIL
    NO_FIELD            # behind the last field; its path is that of the message


cdef enum WireType:
    VARINT
    FIXED64
    LENGTH
    GROUP_START
    GROUP_END
    FIXED32


cdef enum Flag:
    PRESENT = 1         # without the field the column is null
    ITEMS = 2           # the column is a list or map of the values
    ENTRIES = 4         # and it is a map
    CLOSED = 8          # an enum's unknown numbers are unknown fields; of a map, its values'
    STRICT = 16         # an enum's unknown numbers are errors; so are times that are not exact
    CHECKED = 32        # text must be UTF-8
    PACKABLE = 64       # comes packed or not
    PACKED = 128        # and is expected to
    ZERO_NULL = 256     # the default is null
    DURATION = 1024     # a time that may be negative
    REQUIRED = 2048     # encoding: a null is an error, `Op.status`
    UNSIGNED = 4096     # encoding: an integer of 0 or more
    ENTRY_VALUE = 512   # the value of an entry, whose map is CLOSED


cdef enum:
    TEXT_MARGIN = 32    # bytes behind a Text that may be read
    LAST_FIELDS = 4     # NO_FIELD ops behind those of a message, so that some may be tried ahead


cdef struct Text:
    const uint8_t *data
    int64_t size


cdef struct Names:
    # An enum: numbers in ascending order, and what each is called.
    int32_t count
    const int32_t *numbers
    const Text *texts


cdef struct Members:
    # Of a oneof: the words of what has been seen that have bits of its fields, and these.
    int32_t count
    const int32_t *words
    const uint64_t *bits


cdef struct Op:
    int32_t code
    int32_t column
    int64_t place         # of the column, in bytes from the first `Column`
    int32_t next
    int32_t flags
    uint64_t tag          # the field's tag as it stands in memory,
    uint64_t tag_mask     # in these bytes
    int32_t tag_size
    uint32_t number
    int32_t wire_type
    int32_t message       # of the value; -1
    int32_t ahead         # how many ops on the next field is expected
    int32_t position      # among the fields of its message
    int32_t factor        # of a time: nanoseconds in a unit; encoding: units in a second
    int32_t bits          # encoding: of an integer
    int32_t status        # encoding: what a null, or a FAIL, is
    int32_t oneof         # of which it is a member; -1
    int32_t first         # of an enum: the number that it has by default
    int64_t low           # of a time: least seconds
    int64_t high
    const Names *names      # encoding: in the order of the names; of a case: members, and as numbers their columns
    const Members *members  # of its oneof, itself included; NULL: it is in none


cdef struct Message:
    int32_t ops           # number of the op of the first field
    int32_t count
    int32_t words         # of 64 bits that say which fields have been seen
    int32_t slot          # where these words are
    int32_t number        # of the message
    int32_t unknown       # column of unknown fields, -1
    int32_t oneofs        # number of these
    int32_t cases         # and of their columns
    bint finishing        # required fields or maps are here or below
    bint has_times        # times are
    int32_t finish_count
    const int32_t *finish_fields  # positions of maps, times, and messages with what is checked below
    uint64_t fields       # bits of all fields, if these are one word
    const int32_t *case_columns
    const Members *case_members  # by oneof
    const Text *field_names     # if it has cases
    const uint64_t *required    # bits of the required fields; NULL: none
    const int32_t *table        # by number up to `table_size`: position of the field, -1 for none
    int32_t table_size
    int32_t column              # of a message that has one of its own


cdef class ProtobufProgram(Program):
    cdef Op *ops
    cdef readonly int32_t words           # of all messages
    cdef Message *messages
    cdef list made

    cdef int32_t compile_message(self, object node, tuple path) except -1
    cdef int compile_field(self, object field, tuple path, int32_t position) except -1
    cdef const Members *members(self, list positions) except NULL
    cdef int32_t compile_put(self, object node, tuple path) except -1
    cdef int put_field(self, object field, tuple path) except -1
    cdef int32_t add_put(self, int32_t code, object field, tuple path) except -1
    cdef int link_put(self, int32_t number, object node, int32_t first) except -1
    cdef const Names *named(self, object field) except NULL
    cdef int link(self, int32_t number, object node, int32_t first) except -1
    cdef int link_finish(self, Message *message) except -1
    cdef const Names *names(self, object field) except NULL
    cdef const Text *texts(self, object texts) except NULL
    cdef const uint64_t *bits(self, object positions, int32_t words) except NULL
