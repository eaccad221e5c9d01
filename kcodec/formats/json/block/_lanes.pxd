"""A block of documents of JSON that is read a field at a time: where each of them is."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from kcodec.columns.built._column cimport Column
from kcodec.formats.json._context cimport Context
from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._places cimport Places
from kcodec.wire.binary.cursor cimport ctz64, likely
from kcodec.wire.binary.status cimport Status
from kcodec.wire.text.json cimport JSON_MARGIN

cdef enum:
    LANES = 64       # rows of a block, at most
    WORDS = 8        # of the bits of the fields of an object, at most
    FEW = 8          # lists and maps around a value that fails, at most
    BEFORE = 32      # bytes before a filler that may be read
    FILLER = 128     # bytes of one, at most
    STRANGERS = 64   # that are kept, by where they come; a power of two
    LONG_RUN = 16    # rows of one order before one of another, that make it worth to go on with it
    LONGEST_PAUSE = 64
    SLOWNESS = 4     # fields are found as fast wherever they are as one that is not where it is expected


cdef enum Miss:      # why a field was not found
    NOT_HERE         # the field did not come
    ODD              # the row is for the row loop
    WRONG            # the row has failed


cdef struct Expected:              # a key with what stands around it, from the bracket or comma on
    const Op *container
    uint64_t words[2]              # the first 16 bytes
    uint64_t masks[2]              # which of them count
    int64_t size
    const uint8_t *tail            # from the 17th byte on


cdef struct Stranger:              # a key that no field has, as it stands in the text, with quotes and colon
    const Op *container            # in the objects of which it came; NULL: none yet
    uint64_t words[3]
    uint64_t masks[3]
    int64_t size


cdef struct Lapse:                 # why a row has failed, as the context has it
    Status status
    const Op *op
    const uint8_t *at
    int32_t level
    int64_t items[FEW]


cdef struct Pause:                 # of what is not worth to be tried each time: how often it is left out,
    int64_t left                   # from now on
    int64_t last                   # and since it was tried last


cdef struct Block:
    Context *context
    int64_t row                    # the first
    int64_t count                  # of rows that are as expected so far
    bint drops                     # rows that fail are dropped; else the block ends before them
    uint64_t dropped               # a bit for each row of which nothing more is read: it is null
    uint64_t failed                # the same of those that have a lapse, which may be read on
    Lapse lapses[LANES]
    uint8_t filler[BEFORE + FILLER + JSON_MARGIN]    # what dropped rows stand in
    bint wide
    bint spaced                    # a space stands behind colons and commas
    int32_t depth
    bint scattered                 # keys come in any order
    int64_t sought                 # fields that were not where they were expected
    bint disordered                # a field came too late, or twice, for the rows from `count` on
    int64_t ahead                  # bytes from a row to about the same place in the next block
    bint trailing                  # anything may stand behind the documents
    bint inside                    # 16 bytes before each document may be read
    bint checks                    # documents are first looked at for whether they are UTF-8
    const uint8_t *at[LANES]       # where each row is
    const uint8_t *start[LANES]    # of its document
    const uint8_t *end[LANES]
    uint8_t checked[LANES]         # all of the document is UTF-8
    const uint8_t *begin[LANES]    # the bracket of the object that it entered last
    const uint8_t *value[LANES]    # of the field in hand; NULL: it did not come
    Expected key                   # before the field in hand
    Places places                  # of the fields of scattered documents
    const uint64_t *read           # bits of the fields of the object that are done
    const Op *root                 # the first op of the program
    const Op **follows             # per op (`place_of`): the field that came next, not the schema's; NULL: none yet
    Pause *pauses                  # per op, of objects that are read together
    const Op *later                # a field that the first row is known to have further on
    const uint8_t *later_at        # there
    Stranger strangers[STRANGERS]
    # Of a key that was not where it was expected:
    bint looked_up
    Miss miss
    const uint8_t *next
    const Op *found
    Block *records                 # those in the lists of these rows; NULL: none yet
    # Of a block of such records:
    uint8_t owner[LANES]           # the row whose list each is in
    Pause pause                    # of lists


cdef inline void prolong(Pause *pause) noexcept nogil:
    """Leave something out for longer than the last time."""
    pause.last = min(2 * pause.last + 1, LONGEST_PAUSE)
    pause.left = pause.last


cdef inline bint is_dropped(const Block *block, int64_t lane) noexcept nogil:
    return block.dropped >> lane & 1


cdef inline int64_t first_lane(const Block *block) noexcept nogil:
    """Return the first row that is not dropped; the first of all, if there is none."""
    cdef uint64_t left = ~block.dropped & (<uint64_t>-1 >> (64 - block.count))
    return ctz64(left) if likely(left) else 0


cdef inline bint is_read(const Block *block, const Op *op) noexcept nogil:
    return block.read[op.number >> 6] >> (op.number & 63) & 1


cdef inline void set_valid(Block *block, const Op *op) noexcept nogil:
    """Note that no value of a field is null, until one is."""
    cdef Column *column = &block.context.columns[op.column]
    if op.column >= 0 and column.valid != NULL:
        memset(column.valid + block.row, 1, block.count)
