"""Avro binary to columns.

A block of rows is run column by column; where anything is out of the ordinary, it is run again row by row, which
finds what it was.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from kcodec.columns._rows cimport Slice
from kcodec.formats.avro._block cimport BlockMemory, read_block
from kcodec.formats.avro._context cimport Context, fail
from kcodec.formats.avro._lanes cimport LANES, SLACK, Block
from kcodec.formats.avro._row cimport run
from kcodec.plan._decoder cimport Decoder
from kcodec.formats.avro._program cimport Op, Program as Compiled
from kcodec.wire.cursor cimport unlikely
from kcodec.wire.status cimport OK, TRAILING_BYTES, TRUNCATED, Status

from kcodec.errors import CODES, Fault

__all__ = ["Program", "decode", "encode"]

from kcodec.formats.avro._encode import encode
from kcodec.plan.node import MAX_DEPTH
from kcodec.formats.avro._program import Program

_CODES = list(CODES)

cdef enum:
    BLOCK_BYTES = 1 << 15     # when its payloads hold this much, a block is full


@cython.final
cdef class AvroDecoder(Decoder):
    cdef const Op **ops       # of each program
    cdef int32_t *stops
    cdef int64_t start
    cdef Context context
    cdef BlockMemory memory

    def __init__(self, values, programs, selector, starts, start, trailing):
        cdef Compiled program
        cdef int32_t at
        Decoder.__init__(self, values, programs, selector, starts, trailing)
        self.block_rows = LANES
        self.block_bytes = BLOCK_BYTES
        self.ops = <const Op **>calloc(self.programs, sizeof(Op *))
        self.stops = <int32_t *>calloc(self.programs, sizeof(int32_t))
        if self.ops == NULL or self.stops == NULL:
            raise MemoryError
        for at in range(self.programs):
            program = self.compiled[at]
            if program is not None:
                self.ops[at] = program.ops
                self.stops[at] = program.stop
                self.context.max_depth = min(program.limits.max_depth, MAX_DEPTH)
                self.context.max_zero_items = program.limits.max_zero_byte_items
                self.context.max_expansion = program.limits.max_expansion
        self.start = start
        self.memory = BlockMemory(self.builder)
        self.memory.block.context = &self.context
        self.context.columns = self.builder.columns

    def __dealloc__(self):
        free(self.ops)
        free(self.stops)

    cdef void begin(self, int64_t room) noexcept nogil:
        self.context.room = room
        self.context.checked = self.checked

    cdef int64_t read_together(self) noexcept nogil:
        cdef Block *block = self.memory.block
        if self.done or self.checked or (block.failures >= 8 and 4 * block.failures >= block.blocks):
            return 0
        # Not the last rows of a column, behind which nothing may be read.
        block.count = self.count
        while block.count and self.slices[block.count - 1].limit - self.slices[block.count - 1].end < SLACK:
            block.count -= 1
        if block.count == 0:
            return 0
        block.row = self.row
        block.blocks += 1
        if read_block(
            block, self.builder, self.slices, self.ops, self.stops, self.programs, self.selector.data,
            self.starts.data, self.start, self.trailing
        ):
            return block.count
        block.failures += 1
        self.context.room = self.room()
        return 0

    cdef Status read_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        cdef Context *context = &self.context
        cdef int64_t begin = self.start if self.starts.data == NULL else self.starts.data[row]
        cdef const uint8_t *p
        context.ops = self.ops[program]
        context.end = slice.end
        context.limit = slice.limit
        context.expanded = 0
        context.zero_items = 0
        context.depth = 0
        if self.builder.columns[0].valid != NULL:
            self.builder.columns[0].valid[row] = 1
        if unlikely(begin < 0 or begin > slice.end - slice.start):
            p = fail(context, TRUNCATED, NULL, slice.end, row)
        elif self.builder.wide:
            p = run(
                context, context.ops, context.ops + self.stops[program], row, 1, slice.start + begin, <int64_t *>NULL
            )
        else:
            p = run(
                context, context.ops, context.ops + self.stops[program], row, 1, slice.start + begin, <int32_t *>NULL
            )
        if unlikely(p != NULL and p != slice.end and not self.trailing):
            p = fail(context, TRAILING_BYTES, NULL, p, row)
        return OK if p != NULL else context.status

    cdef object fault(self, int64_t row, const Slice *slice, int32_t chosen):
        cdef Context *context = &self.context
        cdef Compiled program = self.compiled[chosen]
        cdef const Op *op = context.op
        cdef int32_t at
        code = _CODES[<int>context.status - 1]
        offset = context.at - slice.start
        if op == NULL:
            return Fault(row, offset, "", code, CODES[code])
        reason = program.reason(<int32_t>(op - program.ops), code) if context.status == op.status else CODES[code]
        path = ""
        indexes = []
        for at in range(context.trail_size):
            if context.trail_items[at] >= 0:
                indexes.append(context.trail_items[at])
            else:
                path = _join(program.path(<int32_t>(op - program.ops), indexes[::-1]), path)
                op = context.trail_ops[at]
                indexes = []
        path = _join(program.path(<int32_t>(op - program.ops), indexes[::-1]), path)
        return Fault(row, offset, path, code, reason)


def _join(outer, inner):
    return f"{outer}.{inner}" if outer and inner and inner[0] not in "[." else outer + inner


def decode(values, programs, *, selector=None, starts=None, start=0, trailing=False, stop=False):
    """Decode a column of Avro datums.

    Parameters
    ----------
    values : pyarrow.Array
        Binary or string of any layout; null rows stay null.
    programs : sequence of Program or None
        Programs of one Arrow type; rows that choose None are null.
    selector : buffer of int32, optional
        Per row which program; negative: none. By default the first for all.
    starts : buffer of int32, optional
        Per row where the payload starts.
    start : int, default 0
        Where it starts, without `starts`.
    trailing : bool, default False
        Accept bytes after the value.
    stop : bool, default False
        Return after the first row that fails; the array then is not to be used.

    Returns
    -------
    array : pyarrow.Array
        A value per row; null for rows that failed.
    faults : list of Fault
        The rows that failed, in order.
    """
    cdef AvroDecoder decoder = AvroDecoder(values, programs, selector, starts, start, trailing)
    return decoder.decode(stop)
