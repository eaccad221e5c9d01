"""Columns to Avro binary.

Blocks of rows are written column by column where that goes well, and row by row where anything fails.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from kcodec.columns._slots cimport MAX_BYTES, Slots, append_rows
from kcodec.formats.avro._put cimport Context, put
from kcodec.formats.avro._put_block cimport BLOCK_ROWS, LEVELS, put_rows as put_block
from kcodec.plan._encoder cimport Encoder
from kcodec.formats.avro._program cimport AvroProgram, Op

__all__ = ["encode"]

cdef enum:
    SLOP = 64   # rows are moved as 64 bytes, short values as 32, decimals as whole words


@cython.final
cdef class AvroEncoder(Encoder):
    cdef bytes prefix
    cdef const uint8_t *before
    cdef Context context
    cdef Slots blocks[LEVELS]

    def __init__(self, array, AvroProgram program, prefix, large):
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
        self.context.ops = program.ops
        self.context.columns = self.inputs.columns

    def __dealloc__(self):
        cdef int32_t at
        for at in range(LEVELS):
            free(self.blocks[at].memory)

    cdef bint put_rows(self, int64_t end) noexcept nogil:
        """Write a block of rows by columns, if they are not too large and nothing fails."""
        cdef Slots *block = self.blocks
        if self.builder.needed > MAX_BYTES:
            return False
        block.first = self.builder.row
        block.count = end - block.first
        if not put_block(
            block, &self.context, self.costs, <const Op *>self.ranges[0].first, <const Op *>self.ranges[0].stop,
            self.before, self.around
        ):
            return False
        append_rows(self.builder, block)
        return True

    cdef uint8_t *put_row(self, int64_t row, uint8_t *out, int32_t program) noexcept nogil:
        memcpy(out, self.before, self.around)
        return put(
            &self.context, <const Op *>self.ranges[0].first, <const Op *>self.ranges[0].stop, row, 1, out + self.around
        )

    cdef object fault(self, int64_t row, int32_t chosen):
        cdef Context *context = &self.context
        cdef AvroProgram program = self.compiled[0]
        cdef int32_t at = <int32_t>(context.op - program.ops)
        indexes = [context.trail_items[each] for each in range(context.trail_size - 1, -1, -1)]
        return program.fault(row, None, context.status, at, program.path(at, indexes))


def encode(array, AvroProgram program, *, prefix=b"", large=False, stop=False):
    """Encode one datum per row; see `kcodec.formats.avro.kernel.AvroKernel`."""
    cdef AvroEncoder encoder = AvroEncoder(array, program, prefix, large)
    return encoder.encode(stop)
