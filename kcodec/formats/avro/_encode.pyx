"""Columns to Avro binary.

Blocks of rows are written column by column where that goes well, and row by row where anything fails.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from kcodec.columns.written._slots cimport Slots
from kcodec.formats.avro.block._encode cimport put_rows
from kcodec.formats.avro.rows._program cimport AvroProgram, Op
from kcodec.formats.avro.rows._put cimport Context, put
from kcodec.plan._failures cimport turn
from kcodec.plan._slot_encoder cimport SlotEncoder

__all__ = ["encode"]


@cython.final
cdef class AvroEncoder(SlotEncoder):
    cdef Context context

    def __init__(self, array, AvroProgram program, prefix, large):
        SlotEncoder.__init__(self, array, program, prefix, large)
        self.trusting = True
        self.context.columns = self.inputs.columns

    cdef int use(self, list programs) except -1:
        SlotEncoder.use(self, programs)
        self.context.ops = (<AvroProgram>programs[0]).ops
        return 0

    cdef bint put_block(self, Slots *block) noexcept nogil:
        cdef const Op *first = <const Op *>self.ranges[0].first
        return put_rows(block, &self.context, self.costs, first, <const Op *>self.ranges[0].stop)

    cdef uint8_t *put_row(self, int64_t row, uint8_t *out, int32_t program) noexcept nogil:
        memcpy(out, self.before, self.around)
        return put(
            &self.context, <const Op *>self.ranges[0].first, <const Op *>self.ranges[0].stop, row, 1, out + self.around
        )

    cdef bint note(self, int64_t row, int32_t program) noexcept nogil:
        cdef Context *context = &self.context
        cdef int32_t op = <int32_t>(context.op - context.ops)
        turn(context.trail_items, context.trail_size)
        return self.failures.note(row, 0, 0, op, context.status, context.trail_items, context.trail_size)


def encode(array, AvroProgram program, *, prefix=b"", large=False, stop=False):
    """Encode one datum per row; see `kcodec.formats.avro.kernel.AvroKernel`."""
    cdef AvroEncoder encoder = AvroEncoder(array, program, prefix, large)
    return encoder.encode(stop)
