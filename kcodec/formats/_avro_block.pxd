"""Blocks of rows to columns, a column at a time."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns._builder cimport Builder
from kcodec.columns._rows cimport Slice
from kcodec.formats._avro_context cimport Context
from kcodec.plan.program cimport Op, Text

cdef enum:
    LANES = 256      # rows of a block, at most
    LONG_LISTS = 12  # with more items than this, on average, a row is better off on its own
    ITEMS = 3072     # LANES lists
    SLACK = 40       # bytes that must be readable behind each payload
    PROGRAMS = 16    # programs of a block, at most


cdef struct Block:
    Context *context
    int64_t row                    # the first
    int64_t count
    const uint8_t *at[LANES]       # where each row is
    const uint8_t *end[LANES]
    int64_t rows[LANES]            # index of each
    int64_t lanes[LANES]           # those that have a payload
    int64_t items[LANES]           # index of the item in hand
    int64_t begins[LANES + 1]      # where the items of each row start
    # Per column, what is to be copied into it: texts that do not come in order are noted first.
    Text **texts
    int64_t *first                 # index of the first one
    uint8_t *noted
    int64_t ahead                  # bytes from a row to about the same place in the next block
    int32_t depth
    int64_t failures               # blocks that were not as expected
    int64_t blocks                 # and all of them


cdef class BlockMemory:
    cdef Block *block
    cdef Text *texts


cdef bint read_block(
    Block *block, Builder builder, Slice *slices, const Op **programs, const int32_t *stops, int32_t program_count,
    const int32_t *selector, const int32_t *starts, int64_t start, bint trailing
) noexcept nogil
