"""Protobuf messages to columns.

A block of rows is read field by field; rows in which something is out of the ordinary are read again one by one.
Rows that only the plain twin can answer for (`kcodec.formats.protobuf._row`) are read again by it.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from kcodec.columns._rows cimport Slice
from kcodec.formats.protobuf._block cimport read_block
from kcodec.formats.protobuf._context cimport MAX_DEPTH, Context, fail
from kcodec.formats.protobuf._lanes cimport LANES, MEMORY, SLACK, Block
from kcodec.formats.protobuf._program cimport Message, Op, ProtobufProgram
from kcodec.formats.protobuf._row cimport read_root
from kcodec.plan._budget cimport begin_row, set_limits
from kcodec.plan._decoder cimport Decoder, payload_of
from kcodec.plan._program cimport Program as Compiled
from kcodec.wire.cursor cimport has_pext, unlikely
from kcodec.wire.status cimport OK, REREAD, SIZE_LIMIT, TRUNCATED, Status

__all__ = ["Program", "decode", "encode"]

import pyarrow as pa

from kcodec.columns.nested import replace_rows
from kcodec.formats.protobuf import _kernel_py
from kcodec.formats.protobuf._encode import encode
from kcodec.formats.protobuf._program import ProtobufProgram as Program

cdef enum:
    FEW_ROWS = 4              # fewer, if they are
    FEW_BYTES = 1 << 12       # as short, are better off one by one
    MAX_PAUSE = 64            # blocks
    BLOCK_BYTES = 1 << 16     # when its payloads hold this much, a block is full


@cython.final
cdef class ProtobufDecoder(Decoder):
    cdef Context context
    cdef Block block
    cdef int64_t most               # rows that are read together
    cdef int64_t pause              # blocks that are read one by one after one that was not as expected,
    cdef int64_t left               # and those of them that are left
    cdef const Message **messages   # per program
    cdef list again            # rows that the plain twin has read
    cdef list found            # and what it has found there

    def __init__(self, values, programs, selector, starts):
        cdef ProtobufProgram program
        cdef int64_t words = 0
        cdef int64_t ops = 0
        cdef int32_t at
        Decoder.__init__(self, values, programs, selector, starts, None, 0, True)
        self.again = []
        self.found = []
        self.in_blocks = True
        self.block_rows = LANES
        self.block.context = &self.context
        self.block.pext = has_pext()
        self.most = LANES
        self.block_bytes = BLOCK_BYTES
        self.context.columns = self.builder.columns
        self.context.wide = self.builder.wide
        self.messages = <const Message **>calloc(self.programs, sizeof(void *))
        if self.messages == NULL:
            raise MemoryError
        for at in range(self.programs):
            program = self.compiled[at]
            if program is not None:
                self.messages[at] = program.messages
                words = max(words, program.words)
                ops = max(ops, program.count)
        self.context.seen = <uint64_t *>calloc(words + 1, sizeof(uint64_t))
        self.context.times = <int64_t *>calloc(2 * ops, sizeof(int64_t))
        if self.context.seen == NULL or self.context.times == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.block.memory)
        free(self.context.seen)
        free(self.context.times)
        free(self.messages)

    cdef int prepare(self, Compiled program) except -1:
        self.context.max_depth = min(program.limits.max_depth, MAX_DEPTH)
        return set_limits(&self.context.budget, program.limits)

    cdef void begin(self, int64_t room) noexcept nogil:
        self.context.budget.room = room
        self.context.checked = self.checked

    cdef int64_t read_together(self) noexcept nogil:
        """Read rows up to the next one that is known as odd."""
        cdef int64_t row
        cdef int64_t room
        cdef int64_t odd
        cdef int64_t count = self.count - self.next
        if self.checked:
            return 0
        if self.next == 0:
            memset(self.block.odd, 0, LANES)
            self.left -= self.left > 0
            self.most = min(2 * self.most, LANES)
        if self.left:
            return 0
        # Behind the last rows of a column nothing may be read.
        while count and self.slices[self.next + count - 1].limit - self.slices[self.next + count - 1].end < SLACK:
            count -= 1
        while True:
            count = min(count, self.most)
            for row in range(count):
                if self.block.odd[self.next + row]:
                    count = row
                    break
            if count == 0 or count < FEW_ROWS and self.payload < FEW_BYTES:
                return 0
            if self.block.memory == NULL:
                self.block.memory = <uint8_t *>malloc(MEMORY)
                if self.block.memory == NULL:
                    return 0
            room = self.context.budget.room
            if read_block(&self.block, self, self.messages, self.next, count):
                self.pause = 0
                return count
            self.context.budget.room = room
            if not self.block.failed:
                self.most = max(count // 2, 1)
                return 0
            # All rows but the odd ones can be read together.
            odd = 0
            for row in range(count):
                odd += self.block.odd[self.next + row]
            if 16 * odd > count:
                self.pause = min(2 * self.pause + 1, MAX_PAUSE)
                self.left = self.pause
                return 0

    cdef Status read_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        cdef Context *context = &self.context
        cdef const uint8_t *end
        cdef const uint8_t *p = payload_of(self, row, slice, &end)
        context.ops = <const Op *>self.tables[program]
        context.messages = self.messages[program]
        context.limit = slice.limit
        begin_row(&context.budget)
        if self.builder.columns[0].valid != NULL:
            self.builder.columns[0].valid[row] = 1
        if unlikely(p == NULL):
            fail(context, TRUNCATED, NULL, slice.end)
            return TRUNCATED
        p = read_root(context, row, p, end)
        return OK if p != NULL else context.status

    cdef object fault(self, int64_t row, const Slice *slice, int32_t chosen):
        cdef Context *context = &self.context
        cdef Compiled program = self.compiled[chosen]
        cdef const uint8_t *end
        cdef const uint8_t *p
        if context.status == REREAD:
            p = payload_of(self, row, slice, &end)
            start = p - slice.start
            plain = _kernel_py.Program(program.plan, program.limits)
            data = pa.array([slice.start[:end - slice.start]], pa.large_binary())
            starts = None if start == 0 else memoryview(int(start).to_bytes(4, "little"))
            value, faults = _kernel_py.decode(data, [plain], starts=starts)
            if faults:
                return faults[0]._replace(row=row)
            self.again.append(row)
            self.found.append(value)
            return None
        if context.status == SIZE_LIMIT:
            # It is the row as a whole that yields too much.
            return program.fault(row, slice.end - slice.start, context.status, -1, "")
        indexes = [context.trail[at] for at in range(context.trail_size)]
        op = <int32_t>(context.op - context.ops) if context.op != NULL else -1
        path = program.path(op, indexes[::-1]) if context.op != NULL else ""
        offset = context.at - slice.start if context.at != NULL else slice.end - slice.start
        return program.fault(row, offset, context.status, op, path)


def decode(values, programs, *, selector=None, starts=None, trailing=False, stop=False):
    """Decode one message per row; see `kcodec.formats.protobuf.kernel.ProtobufKernel`."""
    cdef ProtobufDecoder decoder = ProtobufDecoder(values, programs, selector, starts)
    array, faults = decoder.decode(stop)
    if decoder.again and array is not None:
        array = replace_rows(array, decoder.again, pa.concat_arrays(decoder.found))
    return array, faults
