"""Columns to Avro binary.

Blocks of rows are written column by column where that goes well, and row by row where anything fails.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from kcodec.columns._binary cimport BinaryBuilder
from kcodec.formats.avro._put cimport Context, put
from kcodec.formats.avro._put_block cimport BLOCK_ROWS, LEVELS, Block, put_rows as put_block
from kcodec.plan._encoder cimport Encoder
from kcodec.formats.avro._program cimport AvroProgram, Op
from kcodec.wire.cursor cimport copy32

__all__ = ["encode"]

cdef enum:
    BLOCK_BYTES = 1 << 18  # what a block written by columns may take
    SLOP = 64              # rows are moved as 64 bytes, short values as 32, decimals as whole words


cdef inline void move(uint8_t *out, const uint8_t *source, int64_t size) noexcept nogil:
    cdef int64_t at = 0
    while at < size:
        copy32(out + at, source + at)
        copy32(out + at + 32, source + at + 32)
        at += 64


cdef void append(BinaryBuilder builder, const Block *block) noexcept nogil:
    """Move the rows of a block from their slots to the end of the output."""
    cdef uint8_t *out = builder.data + builder.used
    cdef const uint8_t *source
    cdef int64_t size
    cdef int64_t row
    cdef int64_t lane
    for lane in range(block.count):
        source = block.slots + block.bounds[lane]
        size = block.out[lane] - source
        move(out, source, size)
        out += size
        if builder.offsets64 != NULL:
            builder.offsets64[builder.row + lane + 1] = out - builder.data
        else:
            builder.offsets32[builder.row + lane + 1] = <int32_t>(out - builder.data)
    for lane in range(block.written):
        row = builder.row + block.lanes[lane]
        builder.valid[row >> 3] |= <uint8_t>(1 << (row & 7))
    builder.nulls += block.count - block.written
    builder.used = out - builder.data
    builder.row += block.count


@cython.final
cdef class AvroEncoder(Encoder):
    cdef bytes prefix
    cdef const uint8_t *before
    cdef Context context
    cdef Block blocks[LEVELS]

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
            free(self.blocks[at].slots)

    cdef bint put_rows(self, int64_t end) noexcept nogil:
        """Write a block of rows by columns, if they are not too large and nothing fails."""
        cdef Block *block = self.blocks
        if self.builder.needed > BLOCK_BYTES:
            return False
        block.first = self.builder.row
        block.count = end - block.first
        if not put_block(
            block, &self.context, self.costs, <const Op *>self.ranges[0].first, <const Op *>self.ranges[0].stop,
            self.before, self.around
        ):
            return False
        append(self.builder, block)
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
