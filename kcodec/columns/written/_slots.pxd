"""Room for the bytes of a block of values, each in a slot of its own."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.rows._binary cimport BinaryBuilder
from kcodec.columns.written._inputs cimport Input
from kcodec.wire.binary.cursor cimport copy32

cdef enum:
    BLOCK_ROWS = 64
    LEVELS = 4               # blocks in blocks: rows, the items of their lists, the items of these
    LANES = 512              # values of a block, at most
    MAX_BYTES = 1 << 18      # that a block of rows may take, at most


cdef struct Slots:
    int64_t first              # index of the first value
    int64_t count
    uint8_t *memory            # room for all values
    int64_t room
    int32_t bounds[LANES + 1]  # where the slot of each value starts;
    int64_t step               # they are all as large as this, also those of further values; 0: they differ
    uint8_t *out[LANES]        # where the next byte of each value goes
    int64_t lanes[LANES]       # the values that are written,
    int64_t written            # how many they are
    bint whole                 # and whether they, and all further ones, are 0, 1, 2, ...


cdef inline void empty_slots(Slots *slots) noexcept nogil:
    """Give slots the state that their first block expects."""
    slots.memory = NULL
    slots.room = 0
    slots.step = 0
    slots.whole = False


cdef bint begin_rows(
    Slots *slots, const Input *columns, const int64_t *costs, const uint8_t *prefix, int64_t prefix_size
) noexcept nogil
cdef bint begin_items(Slots *slots, const Input *columns, const int64_t *costs, int32_t scope) noexcept nogil
cdef void append_rows(BinaryBuilder builder, const Slots *slots) noexcept nogil


cdef inline void move(uint8_t *out, const uint8_t *source, int64_t size) noexcept nogil:
    """Copy 64 bytes at a time: up to that many may be read and written behind a value."""
    cdef int64_t at = 0
    while at < size:
        copy32(out + at, source + at)
        copy32(out + at + 32, source + at + 32)
        at += 64
