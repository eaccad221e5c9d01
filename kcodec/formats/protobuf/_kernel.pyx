"""Protobuf messages to columns.

A block of rows is read field by field. Of rows in which something is out of the ordinary, the first field that is so
is read again, into columns of their own: mostly that tells what is wrong, and the row becomes null. If it is right
after all, the rows around it are read together again, and it by itself. Rows that only the plain twin can answer for
(`kcodec.formats.protobuf.rows._row`) are read again by it.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memset

from kcodec.columns.built._builder cimport Builder
from kcodec.columns.rows._rows cimport Slice
from kcodec.formats.protobuf.block._decode cimport drop_odd, read_block
from kcodec.formats.protobuf.block._lanes cimport LANES, MEMORY, Block, Met
from kcodec.formats.protobuf.block._unexpected cimport find_field
from kcodec.formats.protobuf.rows._context cimport MAX_DEPTH, Context, fail
from kcodec.formats.protobuf.rows._program cimport Message, Op, ProtobufProgram
from kcodec.formats.protobuf.rows._row cimport read_root
from kcodec.plan._budget cimport begin_block, begin_row, set_limits
from kcodec.plan._decoder cimport (
    FAULT, GO_ON, MAX_ROOM, OUT_OF_MEMORY, Answer, Decoder, payload_of, program_of,
)
from kcodec.plan._failures cimport turn
from kcodec.plan._program cimport Program as Compiled
from kcodec.wire.binary.cursor cimport has_pext, unlikely
from kcodec.wire.binary.status cimport NEED_ROOM, NO_MEMORY, OK, REREAD, SIZE_LIMIT, TRUNCATED, Status

__all__ = ["Program", "decode", "encode"]

from array import array

import pyarrow as pa

from kcodec.columns.arrays.nested import replace_rows
from kcodec.columns.faults import joined
from kcodec.errors import CapacityError
from kcodec.formats.protobuf import _kernel_py
from kcodec.formats.protobuf._encode import encode
from kcodec.formats.protobuf.rows._program import ProtobufProgram as Program

cdef enum:
    FEW_ROWS = 4              # fewer rows than these,
    FEW_BYTES = 1 << 12       # if they hold less than that, are read one by one
    MAX_LESSONS = 8           # blocks that are read again for what was learned from them; fewer in short columns
    MAX_PAUSE = 64            # blocks that are read one by one after bad ones, at most
    BLOCK_BYTES = 1 << 16     # when its payloads hold this much, a block is full


@cython.final
cdef class ProtobufDecoder(Decoder):
    cdef Context context
    cdef Block block
    cdef int64_t most               # rows that are read together
    cdef int64_t pause              # blocks that are read one by one after one that was not as expected,
    cdef int64_t left               # and those of them that are left
    cdef const Message **messages   # per program
    cdef Builder aside              # columns that rows are read into to see what is wrong with them,
    cdef int64_t aside_payload      # with room for so many bytes
    cdef int64_t aside_room         # and so much beyond these
    cdef list again                 # rows that are for the plain twin, with their programs, bytes and starts
    cdef list read                  # those of them that it has read, among all
    cdef list found                 # and what it has found there

    def __init__(self, values, programs, selector, starts, picked):
        cdef ProtobufProgram program
        cdef int64_t words = 0
        cdef int32_t ops = 0
        cdef int32_t at
        Decoder.__init__(self, values, programs, selector, starts, None, 0, True, picked)
        self.again = []
        self.read = []
        self.found = []
        self.in_blocks = True
        self.aside_payload = -1
        # Blocks check theirs themselves.
        self.always_checked = True
        self.block_rows = LANES
        self.unsliced = self.reads_alike()
        self.block.context = &self.context
        self.block.pext = has_pext()
        self.most = LANES
        self.block_bytes = BLOCK_BYTES
        self.context.columns = self.builder.columns
        self.context.wide = self.builder.wide
        self.messages = <const Message **>calloc(self.programs, sizeof(void *))
        self.block.known = <Met **>calloc(self.programs, sizeof(void *))
        if self.messages == NULL or self.block.known == NULL:
            raise MemoryError
        for at in range(self.programs):
            program = self.compiled[at]
            if program is not None:
                self.messages[at] = program.messages
                words = max(words, program.words)
                ops = max(ops, program.count)
        self.block.ops = ops
        self.context.seen = <uint64_t *>calloc(words + 1, sizeof(uint64_t))
        self.context.times = <int64_t *>calloc(2 * ops, sizeof(int64_t))
        if self.context.seen == NULL or self.context.times == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef int32_t at
        if self.block.known != NULL:
            for at in range(self.programs):
                free(self.block.known[at])
        free(self.block.known)
        free(self.block.memory)
        free(self.context.seen)
        free(self.context.times)
        free(self.messages)

    cdef int prepare(self, Compiled program) except -1:
        self.context.max_depth = min(program.limits.max_depth, MAX_DEPTH)
        return set_limits(&self.context.budget, program.limits)

    cdef void begin(self, int64_t room) noexcept nogil:
        begin_block(&self.context.budget, self.builder, room, self.growing)
        self.context.checked = self.checked

    cdef int64_t read_together(self) noexcept nogil:
        """Read rows up to the next one that is known as odd."""
        cdef int64_t row
        cdef int64_t room
        cdef int64_t odd
        cdef const uint8_t *odd_row
        cdef int64_t noted = self.failures.count
        cdef int64_t count = self.count - self.next
        if self.next == 0:
            memset(self.block.odd, 0, LANES)
            memset(self.block.foul, 0, LANES)
            # `left` counts down a pause after bad blocks. `most` was halved by a block that found no room; it doubles
            # again here.
            self.left -= self.left > 0
            self.most = min(2 * self.most, LANES)
        if self.left:
            return 0
        # Behind the last rows of a column nothing may be read.
        count = self.with_slack(self.next, count)
        while True:
            count = min(count, self.most)
            odd_row = <const uint8_t *>memchr(self.block.odd + self.next, 1, count)
            if odd_row != NULL:
                count = odd_row - self.block.odd - self.next
            if count == 0 or count < FEW_ROWS and self.payload < FEW_BYTES:
                return 0
            if self.block.memory == NULL:
                self.block.memory = <uint8_t *>malloc(MEMORY)
                if self.block.memory == NULL:
                    return 0
            room = self.context.budget.room
            if not read_block(&self.block, self, self.messages, self.next, count):
                # The attempt must not use up the budget of the rows, and fewer rows need less room.
                self.context.budget.room = room
                self.most = max(count // 2, 1)
                return 0
            if not self.block.failed:
                self.pause = 0
                return count
            if self.block.learned and self.block.lessons < min(MAX_LESSONS, 2 + (self.rows.length >> 10)):
                self.block.lessons += 1
                self.context.budget.room = room
                memset(self.block.odd + self.next, 0, count)
                memset(self.block.foul + self.next, 0, count)
                continue
            # With `stop` only the first failing row counts, which the row loop finds exactly.
            if not self.stop and self.note_odd(count):
                drop_odd(&self.block, self.builder.columns, self.row, self.next, count)
                self.pause = 0
                return count
            self.failures.count = noted
            self.context.budget.room = room
            # All rows but the odd ones can be read together.
            odd = 0
            for row in range(count):
                odd += self.block.odd[self.next + row]
            if 16 * odd > count:
                # So many odd rows leave runs too short to be worth it: the row loop takes over, for longer after each
                # bad block.
                self.pause = min(2 * self.pause + 1, MAX_PAUSE)
                self.left = self.pause
                return 0

    cdef bint note_odd(self, int64_t count) noexcept nogil:
        """Note what is wrong with the odd rows of a block; return whether all are known to fail."""
        cdef int64_t room = self.context.budget.room
        cdef int64_t row
        cdef bint known = True
        if not self.sliced:
            self.slice_rows()
        for row in range(self.next, self.next + count):
            if self.block.odd[row] and not self.fails(row):
                known = False
                break
        self.context.columns = self.builder.columns
        self.context.budget.room = room
        return known

    cdef bint fails(self, int64_t at) noexcept nogil:
        """Note what is wrong with a row; return whether it is known to fail."""
        cdef Context *context = &self.context
        cdef const Slice *slice = &self.slices[at]
        cdef int32_t field = self.block.field[at]
        cdef int32_t program = program_of(self, at)
        cdef int64_t room = self.extra + self.expansion
        cdef const Message *root
        cdef const uint8_t *end
        cdef const uint8_t *p
        cdef Status status
        if field < 0 or program < 0:
            return False
        p = payload_of(self, self.row + at, slice, &end)
        if (end - p > self.aside_payload or room > self.aside_room) and not self.make_room(end - p, room):
            return False
        context.columns = self.aside.columns
        context.ops = <const Op *>self.tables[program]
        context.messages = self.messages[program]
        context.limit = slice.limit
        root = context.messages
        # What stands before has been read. If the first thing that is read now fails, nothing depends on that.
        p = find_field(p, end, context.ops[root.ops + field].number) if field < root.count else self.block.rest[at]
        status = self.read_aside(p, end, room)
        # Without a place, or in items, it is what is wrong with the whole, of which only the rest was read.
        if context.at == NULL or context.tells_items or not (is_final(status) and is_first(context, field)):
            p = payload_of(self, self.row + at, slice, &end)
            status = self.read_aside(p, end, room)
        return is_final(status) and self.note(self.row + at, slice, program)

    cdef Status read_aside(self, const uint8_t *p, const uint8_t *end, int64_t room) noexcept nogil:
        self.context.budget.room = room
        begin_row(&self.context.budget)
        if self.aside.columns[0].valid != NULL:
            self.aside.columns[0].valid[0] = 1
        return OK if read_root(&self.context, 0, p, end) != NULL else self.context.status

    cdef bint make_room(self, int64_t payload, int64_t room) noexcept with gil:
        """Make room aside for a row; return False if that is too much."""
        cdef Compiled program
        try:
            # Most calls meet no odd row, so the columns aside are made for the first one.
            if self.aside is None:
                program = next(each for each in self.compiled if each is not None)
                self.aside = Builder(program.shape, 1)
            payload = max(payload, FEW_BYTES)
            if self.aside.missing(1, payload, room, self.divisor) > MAX_ROOM:
                return False
            if not self.aside.has_room(0, 1, payload, room, self.divisor):
                self.aside.grow(0, 1, payload, room, self.divisor, payload)
        except (MemoryError, CapacityError):
            return False
        self.aside_payload = payload
        self.aside_room = room
        return True

    cdef bint note(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        """Record the last failure, as the context describes it; return whether there is memory."""
        cdef Context *context = &self.context
        cdef int32_t op = <int32_t>(context.op - context.ops) if context.op != NULL else -1
        turn(context.trail, context.trail_size)
        return self.failures.note(
            row, self.offset(slice), program, op, context.status, context.trail, context.trail_size
        )

    cdef int64_t offset(self, const Slice *slice) noexcept nogil:
        """Return where a row has failed."""
        return (self.context.at if self.context.at != NULL else slice.end) - slice.start

    cdef Status read_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        cdef Context *context = &self.context
        cdef const uint8_t *end
        cdef const uint8_t *p = payload_of(self, row, slice, &end)
        context.ops = <const Op *>self.tables[program]
        context.messages = self.messages[program]
        # Where columns grow, values go the long way, on which they ask for room.
        context.limit = slice.start if self.growing else slice.limit
        begin_row(&context.budget)
        if self.builder.columns[0].valid != NULL:
            self.builder.columns[0].valid[row] = 1
        if unlikely(p == NULL):
            fail(context, TRUNCATED, NULL, slice.end)
            return TRUNCATED
        p = read_root(context, row, p, end)
        return OK if p != NULL else context.status

    cdef Answer fail_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        if self.stop or not is_final(self.context.status):
            return FAULT
        return GO_ON if self.note(row, slice, program) else OUT_OF_MEMORY

    cdef object fault(self, int64_t row, const Slice *slice, int32_t chosen):
        cdef Context *context = &self.context
        cdef Compiled program = self.compiled[chosen]
        cdef const uint8_t *end
        cdef const uint8_t *p
        cdef int32_t at
        if context.status == REREAD:
            p = payload_of(self, row, slice, &end)
            self.again.append((row, chosen, slice.start[:end - slice.start], p - slice.start))
            # With `stop` it is asked at once, whether this is the first row that fails.
            return next(iter(self.read_again()), None) if self.stop else None
        if context.status == SIZE_LIMIT:
            # It is the row as a whole that yields too much.
            return program.fault(row, slice.end - slice.start, context.status, -1, "")
        op = <int32_t>(context.op - context.ops) if context.op != NULL else -1
        items = [context.trail[at] for at in range(context.trail_size - 1, -1, -1)]
        return program.fault(
            row, self.offset(slice), context.status, op, program.path(op, items) if op >= 0 else ""
        )

    cdef list read_again(self):
        """Have the plain twin read what is for it; return the rows that failed.

        Which of several things is wrong first has rules of its own at the end of a message, which are written there
        alone.
        """
        cdef Compiled program
        rows, chosen, data, starts = zip(*self.again)
        self.again = []
        plain = []
        for program in self.compiled:
            plain.append(None if program is None else _kernel_py.Program(program.plan, program.limits))
        values, faults = _kernel_py.decode(
            pa.array(data, pa.large_binary()), plain, selector=array("i", chosen), starts=array("i", starts)
        )
        failed = {fault.row for fault in faults}
        kept = [at for at in range(len(rows)) if at not in failed]
        if kept:
            self.read += [rows[at] if self.rows.places == NULL else self.rows.places[rows[at]] for at in kept]
            self.found.append(values.take(pa.array(kept, pa.int64())))
        return [fault._replace(row=rows[fault.row]) for fault in faults]


cdef bint is_final(Status status) noexcept nogil:
    """Return whether a row that ends with a status has failed for certain, whatever the twin or more room gives."""
    return status != OK and status != REREAD and status != NEED_ROOM and status != NO_MEMORY and status != SIZE_LIMIT


cdef bint is_first(const Context *context, int32_t field) noexcept nogil:
    """Return whether a payload has failed in its first field, which is this one; or behind all fields."""
    cdef const Message *root = context.messages
    cdef const uint64_t *seen = context.seen + root.slot
    cdef int32_t word
    cdef uint64_t others
    if field == root.count and context.trail_size:
        return False
    for word in range(root.words):
        others = seen[word]
        if field >> 6 == word:
            others &= ~(<uint64_t>1 << (field & 63))
        if others:
            return False
    return True


def decode(values, programs, *, selector=None, starts=None, trailing=False, stop=False, picked=None):
    """Decode one message per row; see `kcodec.formats.protobuf.kernel.ProtobufKernel`."""
    cdef ProtobufDecoder decoder = ProtobufDecoder(values, programs, selector, starts, picked)
    column, faults = decoder.decode(stop)
    if column is None:
        return None, faults
    if decoder.again:
        faults = joined([faults, decoder.among_all(decoder.behind_prefix(decoder.read_again()))])
    if decoder.read:
        column = replace_rows(column, decoder.read, pa.concat_arrays(decoder.found))
    return column, faults
