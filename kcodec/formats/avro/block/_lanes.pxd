"""A block of rows of Avro that is read a column at a time."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memmove

from kcodec.columns.rows._rows cimport SLACK
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._program cimport Text
from kcodec.wire.binary.cursor cimport likely, read_length
from kcodec.wire.binary.status cimport OK

cdef enum:
    LANES = 256      # rows of a block, at most
    LONG_LISTS = 12  # with more items than this, on average, a row is better off on its own
    ITEMS = 3072     # LANES lists
    DEPTH = 32       # levels of nulls and unions
    PROGRAMS = 16    # programs of a block, at most
    NOTHING = 256    # bytes of 0


cdef struct Block:
    Context *context
    int64_t row                    # the first
    int64_t count
    bint placed                    # `at` and `end` say where all rows are: each has a value, and SLACK bytes behind it
    const uint8_t *at[LANES]       # where each row is
    const uint8_t *end[LANES]
    int64_t rows[LANES]            # index of each
    int64_t lanes[LANES]           # those that are read,
    bint whole                     # which are 0, 1, 2, ... so far
    uint8_t odd[LANES]             # those that are not as expected
    int64_t rejected               # how many they are
    int64_t order[LANES + 1]       # and which, as they were found
    const uint8_t *before[LANES]   # where each row was before the op in hand, if that takes several steps
    int32_t failed[LANES]          # of odd ones, which op of their program tells why, and where it begins; -1: any may
    const uint8_t *failed_at[LANES]
    # Where all other rows are: loops over every row find no text there.
    uint8_t nothing[NOTHING + SLACK]
    int64_t items[LANES]           # index of the item in hand
    # Per column, what is to be copied into it: texts that do not come in order are noted first.
    Text **texts
    int64_t *first                 # index of the first one
    uint8_t *noted
    int64_t ahead                  # bytes from a row to about the same place in the next block
    int32_t depth
    int32_t *alike                 # per program, the first that does the same
    int32_t *met                   # and the last block that had rows of it,
    int32_t *slots                 # and its number among the programs of that block
    int32_t turn                   # number of the block
    bint pext                      # which way varints are read
    int64_t failures               # blocks that had to be read again
    int64_t blocks                 # and all of them


cdef inline void reject(Block *block, int64_t lane) noexcept nogil:
    """Mark a row as odd, perhaps more than once; `without_odd` then leaves it out."""
    block.order[block.rejected] = lane
    block.rejected += 1 - block.odd[lane]
    block.odd[lane] = 1


cdef inline int64_t take_length(const uint8_t **at, const uint8_t *end, int64_t present) noexcept nogil:
    """Read the length of text or bytes if `present` is 1; return one below 0 if there is none.

    Nothing branches on `present`: what is null is hard to guess.
    """
    cdef const uint8_t *p = at[0]
    cdef int64_t length = p[0] & -present
    if likely((length & 0x81) == 0):
        at[0] = p + present
        return length >> 1
    if read_length(&p, end, &length) != OK:
        return -1
    at[0] = p
    return length


cdef inline void leave_out(Block *block, int64_t lane) noexcept nogil:
    block.at[lane] = block.nothing
    block.end[lane] = block.nothing + NOTHING


cdef inline int64_t without_odd(Block *block, int64_t *lanes, int64_t count, int64_t since) noexcept nogil:
    """Remove rejected rows, except the first so many rejected, from some lanes; return how many lanes are left."""
    cdef int64_t turn
    cdef int64_t lane
    cdef int64_t at
    cdef int64_t left
    cdef int64_t half
    for turn in range(since, block.rejected):
        lane = block.order[turn]
        leave_out(block, lane)
        # The last lane that is not behind it, without a branch.
        at = 0
        left = count
        while left > 1:
            half = left >> 1
            at += half & -<int64_t>(lanes[at + half] <= lane)
            left -= half
        if count and lanes[at] == lane:
            count -= 1
            memmove(lanes + at, lanes + at + 1, (count - at) * sizeof(int64_t))
    return count
