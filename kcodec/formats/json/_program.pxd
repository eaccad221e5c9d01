"""Plans of JSON as flat, read-only C tables."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcodec.plan._program cimport Program


cdef enum Code:
    OBJECT
    TUPLE
    ENTRIES             # JSON_MAP
    ITEMS               # JSON_LIST
    NOTHING
    BOOLEAN
    INTEGER
    SINGLE
    DOUBLE
    DECIMAL
    STRING
    BYTES
    ISO_TIME
    RAW
    UNION
    REST                # keys that no field of the object has
    BEHIND              # what follows the last field of an object: no key is its own


cdef enum Kind:         # of a value, by its first byte
    AN_OBJECT
    AN_ARRAY
    A_STRING
    A_BOOLEAN
    A_NUMBER
    KINDS


cdef enum Flag:         # members of `node.Form`
    NULLABLE = 1
    ABSENT = 2
    DEFAULT = 4
    QUOTED = 8          # TEXT
    BASE64 = 16
    SCALAR = 32
    NONFINITE = 64
    FOLD = 128
    UNIQUE = 256
    SCIENTIFIC = 512
    ESCAPED = 1024
    CANONICAL = 2048
    KEEPS = 4096        # objects: the first op below is REST


cdef struct Key:
    # The first 16 bytes of ``"name":`` and which of them count.
    uint64_t words[2]
    uint64_t masks[2]
    uint64_t folds[2]       # the same but for the case of letters; 0 where a key in lower case is another


cdef struct Op:
    int32_t code
    int32_t column
    int64_t place           # of the column, in bytes from the first `Column` or `Input`
    int32_t next            # how far it is to the op after this one and all that belongs to it
    int32_t forms
    # Of a field of an object:
    int32_t key_size        # of ``"name":``
    int32_t number          # which field
    Key key
    const uint8_t *name     # ``"name":``; encoding: as it is written, ``,"name":``
    const uint8_t *plain    # the name itself
    int32_t plain_size
    uint64_t bit            # of the number, if below 64
    uint64_t looked_up      # not 0: its key is not looked for where it is expected
    # Of an object:
    uint64_t all            # bits of all fields below 64
    int32_t fields
    int32_t words           # where its bits of fields from 64 on are, in `Context.words`
    # Hash of a name -> the op of a field, plus one. Of a union: how far it is to the op of each `Kind`; 0 without one
    const int32_t *table
    uint32_t table_mask
    uint32_t seed
    # Of a leaf:
    int32_t width           # bytes of a value; words of a decimal
    int32_t precision
    int32_t scale           # of the column; INTEGER: not 0 if the rest of a division is dropped
    int32_t wire_precision  # BASE64
    int32_t wire_scale
    int32_t digits          # ISO_TIME: of the unit
    int32_t form            # ISO_TIME
    bint text               # the column holds text
    int64_t factor          # ISO_TIME: what the column counts, of days
    int64_t low             # INTEGER: in the text
    int64_t high            # the same, where it is less than 2**63
    uint64_t highest        # the same, where it is not negative
    const uint8_t *data     # of the default
    int64_t data_size


cdef class JsonProgram(Program):
    cdef Op *ops
    cdef int32_t words         # 64-bit words that objects need for fields from 64 on
    cdef int32_t longest       # name of a field
    cdef int64_t scratch       # bytes that reading needs for itself
    cdef set covered           # columns that ops store into
    cdef list stretch          # encoding: column -> what a byte of its text or data becomes at most
    cdef const uint32_t *folds      # FOLD: characters beyond ASCII whose upper case differs, in order
    cdef const uint8_t *fold_texts  # and that upper case, 8 bytes each, the last its length
    cdef int32_t fold_count

    cdef uint8_t *memory(self, object data) except NULL
    cdef int32_t add(self, int32_t code, object node, object path) except -1
    cdef int compile(self, object node, tuple path, int32_t level) except -1
    cdef int set_rest(self, int32_t at, int32_t child) except -1
    cdef int set_members(self, int32_t at, object node, tuple path, int32_t level) except -1
    cdef int check(self, object node) except -1
    cdef int set_key(self, int32_t at, object name, bint escaped) except -1
    cdef int set_table(self, int32_t at, object names, list children) except -1
    cdef int set_bounds(self, int32_t at, object node, object kind) except -1
    cdef int set_leaf(self, int32_t at, object node) except -1
    cdef int set_folds(self) except -1


cdef extern from *:
    """
    #include "bits.h"
    #define KC_MASK(n) (UINT64_MAX >> (64 - 8 * (n)))
    static const uint64_t kc_key_masks[17][2] = {
        {0, 0}, {KC_MASK(1), 0}, {KC_MASK(2), 0}, {KC_MASK(3), 0}, {KC_MASK(4), 0}, {KC_MASK(5), 0},
        {KC_MASK(6), 0}, {KC_MASK(7), 0}, {KC_MASK(8), 0}, {KC_MASK(8), KC_MASK(1)}, {KC_MASK(8), KC_MASK(2)},
        {KC_MASK(8), KC_MASK(3)}, {KC_MASK(8), KC_MASK(4)}, {KC_MASK(8), KC_MASK(5)}, {KC_MASK(8), KC_MASK(6)},
        {KC_MASK(8), KC_MASK(7)}, {KC_MASK(8), KC_MASK(8)},
    };

    /* How long names are cannot be predicted. */
    static inline uint32_t kc_key_hash(const uint8_t *name, int64_t size, uint32_t seed) {
        const uint64_t *const masks = kc_key_masks[size > 16 ? 16 : size];
        uint64_t first = kc_load_le64(name) & masks[0];
        const uint64_t last = kc_load_le64(name + (size > 16 ? size - 8 : 8)) & masks[1];
        first = (first ^ seed) * UINT64_C(0x9E3779B97F4A7C15) + last + (uint64_t)size;
        first = (first ^ first >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
        return (uint32_t)(first >> 32);
    }
    """
    # Mix the length and up to 16 bytes of a name, of a longer one 8 from each end; 16 bytes are read always.
    uint32_t key_hash "kc_key_hash"(const uint8_t *name, int64_t size, uint32_t seed) noexcept nogil
