"""Avro binary to columns.

A block of rows is run column by column. Rows that are not as expected come out of that empty. Each is then read on its
own, behind the block, where the next row will be written over it: nearly always it fails, and its facts are known. If
it can be read after all, the rows behind it are read again.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc
from libc.string cimport memchr

from kcodec.columns.built._compact cimport empty_rows
from kcodec.columns.rows._rows cimport Slice
from kcodec.formats.avro.block._decode cimport BlockMemory, read_block
from kcodec.formats.avro.block._lanes cimport LANES, Block, reject
from kcodec.formats.avro.block._programs cimport find_alike
from kcodec.formats.avro.rows._context cimport Context, fail
from kcodec.formats.avro.rows._paths cimport failed_path
from kcodec.formats.avro.rows._program cimport AvroProgram, Op
from kcodec.formats.avro.rows._row cimport run
from kcodec.plan._budget cimport begin_block, begin_row, set_limits
from kcodec.plan._decoder cimport FAULT, GO_ON, OUT_OF_MEMORY, Answer, Decoder, payload_of
from kcodec.plan._failures cimport turn
from kcodec.plan._program cimport Program as Compiled
from kcodec.wire.binary.cursor cimport unlikely
from kcodec.wire.binary.status cimport OK, TRAILING_BYTES, TRUNCATED, Status

__all__ = ["Program", "decode", "encode"]

from kcodec.formats.avro._encode import encode
from kcodec.formats.avro.rows._program import AvroProgram as Program
from kcodec.plan.node import MAX_DEPTH

cdef enum:
    FEW_ROWS = 4              # of a column, that are read one by one
    BLOCK_BYTES = 1 << 16     # when its payloads hold this much, a block is full


@cython.final
cdef class AvroDecoder(Decoder):
    cdef Context context
    cdef BlockMemory memory
    cdef bint calls           # paths may go through several ops

    def __init__(self, values, programs, selector, starts, trailing):
        Decoder.__init__(self, values, programs, selector, starts, None, 0, trailing)
        self.block_rows = LANES
        self.unsliced = self.reads_alike()
        self.block_bytes = BLOCK_BYTES
        self.context.columns = self.builder.columns
        if self.rows.length < FEW_ROWS:
            # To make the memory of a block takes longer.
            return
        self.memory = BlockMemory(self.builder)
        self.in_blocks = self.memory.texts != NULL
        self.memory.block.context = &self.context
        self.memory.block.alike = <int32_t *>calloc(3 * self.programs, sizeof(int32_t))
        if self.memory.block.alike == NULL:
            raise MemoryError
        self.memory.block.met = self.memory.block.alike + self.programs
        self.memory.block.slots = self.memory.block.met + self.programs
        find_alike(self.memory.block.alike, <const Op **>self.tables, self.stops, self.programs)

    cdef int prepare(self, Compiled program) except -1:
        self.calls = self.calls or len((<AvroProgram>program).calls) > 0
        self.context.max_depth = min(program.limits.max_depth, MAX_DEPTH)
        return set_limits(&self.context.budget, program.limits)

    cdef void begin(self, int64_t room) noexcept nogil:
        begin_block(&self.context.budget, self.builder, room, self.growing)
        self.context.checked = self.checked
        self.together = 0

    cdef int64_t read_together(self) noexcept nogil:
        """Read the rows of a block up to the first odd one; later calls continue from one odd row to the next."""
        cdef const uint8_t *odd = self.memory.block.odd
        cdef const uint8_t *found
        if self.next == 0 and not self.checked:
            self.begin_together()
        if self.next >= self.together:
            return 0
        found = <const uint8_t *>memchr(odd + self.next, 1, self.together - self.next)
        return self.together - self.next if found == NULL else found - odd - self.next

    cdef void begin_together(self) noexcept nogil:
        """Read the rows of the block, the odd ones as empty."""
        cdef Block *block = self.memory.block
        # A block that fails is read twice. Where every fourth does, the row loop alone takes less time.
        if block.failures >= 8 and 4 * block.failures >= block.blocks:
            return
        # Not the last rows of a column, behind which nothing may be read, and no row again.
        block.row = self.row
        block.count = self.with_slack(0, min(self.count, self.rows.length - 1 - self.row))
        if block.count == 0:
            return
        block.blocks += 1
        block.placed = not self.sliced
        if block.placed:
            self.rows.place(self.row, block.count, self.prefix_size, block.at, block.end)
        if not read_block(
            block, self.builder, self.slices, <const Op **>self.tables, self.stops, self.programs, self.selector.data,
            self.starts.data, self.trailing
        ):
            block.failures += 1
            self.context.budget.room = self.room()
            return
        self.reject_text()
        if unlikely(block.rejected):
            self.empty_unknown()
        self.together = block.count
        # From here on every text of the block is UTF-8, or its row is odd. An odd row is read again with each text
        # checked, so that its first fault is the one that is reported.
        self.checked = self.context.checked = True

    cdef void empty_unknown(self) noexcept nogil:
        """Remove from the columns what rows hold that will be read again from their beginning."""
        cdef Block *block = self.memory.block
        cdef int64_t rows[LANES]
        cdef int64_t count = 0
        cdef int64_t row
        for row in range(block.count):
            if block.odd[row] and block.failed[row] < 0:
                rows[count] = row
                count += 1
        if count:
            empty_rows(self.builder.columns, self.row, block.count, rows, count, self.builder.wide)

    cdef void reject_text(self) noexcept nogil:
        """Reject the rows of the block that have text which is not UTF-8."""
        cdef Block *block = self.memory.block
        cdef int64_t row
        cdef int32_t at
        for at in range(self.builder.count):
            if unlikely(not self.builder.valid_text(at, self.row, self.row + block.count)):
                for row in range(block.count):
                    if not self.builder.valid_text(at, self.row + row, self.row + row + 1):
                        reject(block, row)
                        block.failed[row] = -1

    cdef Status read_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        cdef Status status
        if self.next < self.together:
            status = self.read_at(self.row + self.together, slice, program)
            if status != OK:
                return status
            # The row is good after all. The block loops stored it without its text and items, so the rows behind it
            # move: they are read again.
            self.memory.block.failures += 1
            self.together = 0
        return self.read_at(row, slice, program)

    cdef Status read_at(self, int64_t index, const Slice *slice, int32_t program) noexcept nogil:
        """Read the row in hand to an index."""
        cdef Context *context = &self.context
        cdef const uint8_t *p = payload_of(self, self.row + self.next, slice, &context.end)
        cdef const Op *op = <const Op *>self.tables[program]
        cdef const Op *stop = op + self.stops[program]
        context.ops = op
        if self.next < self.together and self.memory.block.failed[self.next] >= 0:
            op += self.memory.block.failed[self.next]
            p = self.memory.block.failed_at[self.next]
        # Where columns grow, values go the long way, on which they ask for room.
        context.limit = slice.start if self.growing else slice.limit
        context.depth = 0
        begin_row(&context.budget)
        if self.builder.columns[0].valid != NULL:
            self.builder.columns[0].valid[index] = 1
        if unlikely(p == NULL):
            p = fail(context, TRUNCATED, NULL, slice.end, index)
        elif self.builder.wide:
            p = run(context, op, stop, index, 1, p, <int64_t *>NULL)
        else:
            p = run(context, op, stop, index, 1, p, <int32_t *>NULL)
        if unlikely(p != NULL and p != slice.end and not self.trailing):
            p = fail(context, TRAILING_BYTES, NULL, p, index)
        return OK if p != NULL else context.status

    cdef Answer fail_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        cdef Context *context = &self.context
        cdef int32_t op = <int32_t>(context.op - context.ops) if context.op != NULL else -1
        if self.stop or self.calls:
            return FAULT
        turn(context.trail_items, context.trail_size)
        if not self.failures.note(
            row, context.at - slice.start, program, op, context.status, context.trail_items, context.trail_size
        ):
            return OUT_OF_MEMORY
        return GO_ON

    cdef object fault(self, int64_t row, const Slice *slice, int32_t chosen):
        cdef Context *context = &self.context
        cdef Compiled program = self.compiled[chosen]
        cdef const Op *op = context.op
        cdef int32_t failed = -1 if op == NULL else <int32_t>(op - context.ops)
        path = failed_path(context, program)
        return program.fault(row, context.at - slice.start, context.status, failed, path)


def decode(values, programs, *, selector=None, starts=None, trailing=False, stop=False):
    """Decode one datum per row; see `kcodec.formats.avro.kernel.AvroKernel`."""
    cdef AvroDecoder decoder = AvroDecoder(values, programs, selector, starts, trailing)
    return decoder.decode(stop)
