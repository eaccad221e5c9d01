"""Columns to Protobuf messages.

Blocks of rows are written field by field where that goes well, and row by row where anything fails.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from kcodec.columns._slots cimport MAX_BYTES, Slots, append_rows, begin_rows
from kcodec.formats.protobuf._program cimport ProtobufProgram
from kcodec.formats.protobuf._put cimport Writing, put_message
from kcodec.formats.protobuf._put_block cimport BLOCK_ROWS, LEVELS, put_fields
from kcodec.plan._encoder cimport Encoder
from kcodec.wire.status cimport NO_MEMORY

__all__ = ["encode"]

cdef enum:
    SLOP = 64   # rows are moved as 64 bytes, short values as 32, tags as eight


@cython.final
cdef class ProtobufEncoder(Encoder):
    cdef bytes prefix
    cdef const uint8_t *before
    cdef Writing writing
    cdef Slots blocks[LEVELS]

    def __init__(self, array, ProtobufProgram program, prefix, large):
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
        self.writing.ops = program.ops
        self.writing.messages = program.messages
        self.writing.columns = self.inputs.columns

    def __dealloc__(self):
        cdef int32_t at
        free(self.writing.order)
        for at in range(LEVELS):
            free(self.blocks[at].memory)

    cdef bint put_rows(self, int64_t end) noexcept nogil:
        """Write a block of rows by fields, if they are not too large and nothing fails."""
        cdef Slots *block = self.blocks
        if self.builder.needed > MAX_BYTES:
            return False
        block.first = self.builder.row
        block.count = end - block.first
        if not begin_rows(block, self.inputs.columns, self.costs, self.before, self.around):
            return False
        if block.written and not put_fields(
            block, &self.writing, self.costs, self.writing.messages, block.lanes, block.written, 1, 0
        ):
            return False
        append_rows(self.builder, block)
        return True

    cdef uint8_t *put_row(self, int64_t row, uint8_t *out, int32_t program) noexcept nogil:
        memcpy(out, self.before, self.around)
        return put_message(&self.writing, &self.writing.messages[0], row, out + self.around)

    cdef object fault(self, int64_t row, int32_t chosen):
        cdef ProtobufProgram program = self.compiled[0]
        cdef Writing *writing = &self.writing
        cdef int32_t op = <int32_t>(writing.op - program.ops)
        if writing.status == NO_MEMORY:
            raise MemoryError
        indexes = [writing.trail[at] for at in range(writing.trail_size - 1, -1, -1)]
        return program.fault(row, None, writing.status, op, program.path(op, indexes))


def encode(array, ProtobufProgram program, *, prefix=b"", large=False, stop=False):
    """Encode one message per row; see `kcodec.formats.protobuf.kernel.ProtobufKernel`."""
    cdef ProtobufEncoder encoder = ProtobufEncoder(array, program, prefix, large)
    return encoder.encode(stop)
