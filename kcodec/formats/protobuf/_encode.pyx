"""Columns to Protobuf messages.

Blocks of rows are written field by field where that goes well, and row by row where anything fails.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from kcodec.columns.written._slots cimport Slots
from kcodec.formats.protobuf.block._encode cimport put_fields
from kcodec.formats.protobuf.rows._program cimport ProtobufProgram
from kcodec.formats.protobuf.rows._put cimport Writing, put_message
from kcodec.plan._failures cimport turn
from kcodec.plan._slot_encoder cimport SlotEncoder
from kcodec.wire.binary.status cimport NO_MEMORY

__all__ = ["encode"]


@cython.final
cdef class ProtobufEncoder(SlotEncoder):
    cdef Writing writing

    def __init__(self, array, ProtobufProgram program, prefix, large):
        SlotEncoder.__init__(self, array, program, prefix, large)
        self.trusting = True
        self.writing.columns = self.inputs.columns

    cdef int use(self, list programs) except -1:
        cdef ProtobufProgram program = programs[0]
        SlotEncoder.use(self, programs)
        self.writing.ops = program.ops
        self.writing.messages = program.messages
        return 0

    def __dealloc__(self):
        free(self.writing.order)

    cdef bint put_block(self, Slots *block) noexcept nogil:
        return not block.written or put_fields(
            block, &self.writing, self.costs, self.writing.messages, block.lanes, block.written, 1, 0
        )

    cdef uint8_t *put_row(self, int64_t row, uint8_t *out, int32_t program) noexcept nogil:
        memcpy(out, self.before, self.around)
        return put_message(&self.writing, &self.writing.messages[0], row, out + self.around)

    cdef bint note(self, int64_t row, int32_t program) noexcept nogil:
        cdef Writing *writing = &self.writing
        cdef int32_t op = <int32_t>(writing.op - writing.ops)
        if writing.status == NO_MEMORY:
            return False
        turn(writing.trail, writing.trail_size)
        return self.failures.note(row, 0, 0, op, writing.status, writing.trail, writing.trail_size)


def encode(array, ProtobufProgram program, *, prefix=b"", large=False, stop=False):
    """Encode one message per row; see `kcodec.formats.protobuf.kernel.ProtobufKernel`."""
    cdef ProtobufEncoder encoder = ProtobufEncoder(array, program, prefix, large)
    return encoder.encode(stop)
