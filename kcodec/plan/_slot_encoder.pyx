"""Encoders that write blocks of rows column by column where that goes well, and row by row where anything fails."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from kcodec.columns.written._slots cimport BLOCK_ROWS, LEVELS, MAX_BYTES, Slots, append_rows, begin_rows, empty_slots
from kcodec.plan._encoder cimport Encoder

cdef enum:
    FEW_ROWS = 8  # that are worth a block
    LARGE = 300   # bytes of a column's value, on average
    SLOP = 128  # rows are moved as 128 bytes, short values as 32, tags and decimals as whole words


cdef class SlotEncoder(Encoder):
    """Encodes one array by one program of its type, each value behind a prefix; with 64-bit offsets if it is large."""

    def __init__(self, array, program, prefix, large):
        cdef int32_t at
        Encoder.__init__(self, array, [program], None, large)
        self.prefix = prefix
        self.before = self.prefix
        self.around = len(prefix)
        self.slop = SLOP
        self.block_rows = BLOCK_ROWS
        for at in range(self.inputs.count):
            # At least one, so that what a block takes bounds its items as well.
            self.costs[at] = max(self.costs[at], 1)
        if self.inputs.length < FEW_ROWS:
            self.one_by_one = self.inputs.length
            return
        # To clear all of it would take longer than to write a few rows.
        self.blocks = <Slots *>malloc(LEVELS * sizeof(Slots))
        if self.blocks == NULL:
            raise MemoryError
        for at in range(LEVELS):
            empty_slots(&self.blocks[at])

    def __dealloc__(self):
        cdef int32_t at
        for at in range(LEVELS if self.blocks != NULL else 0):
            free(self.blocks[at].memory)
        free(self.blocks)

    cdef bint put_rows(self, int64_t end) noexcept nogil:
        """Write rows, fewer at a time where they are large, as long as nothing fails."""
        cdef Slots *block = self.blocks
        cdef int64_t count = end - self.builder.row
        # To move what is large once more takes longer than to go from column to column for each row.
        if self.builder.needed > count * self.inputs.count * LARGE:
            return False
        if self.builder.needed > MAX_BYTES:
            count = count * MAX_BYTES // self.builder.needed
            if count < FEW_ROWS:
                return False
        while self.builder.row < end:
            block.first = self.builder.row
            block.count = min(count, end - block.first)
            if not begin_rows(block, self.inputs.columns, self.costs, self.before, self.around):
                return False
            if not self.put_block(block):
                return False
            append_rows(self.builder, block)
        return True

    cdef bint put_block(self, Slots *block) noexcept nogil:
        """Write the slots of a block; return whether all went well."""
        return False
