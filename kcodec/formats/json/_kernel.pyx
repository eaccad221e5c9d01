"""JSON to columns.

Rows are read together while they are alike (kcodec/formats/json/block/_decode.pyx), else one by one
(kcodec/formats/json/_row.pyx), which also tells what is wrong with one.

The ops of a program (kcodec/formats/json/_program.pyx) store into columns that have room for all a block of rows can
hold (kcodec/columns/built/_builder.pyx), so storing is never checked; only defaults yield more than they take from the
document, which is counted against `Budget.room`.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from kcodec.columns.built._column cimport hide, set_null
from kcodec.columns.built._order cimport Copies
from kcodec.columns.rows._rows cimport LEAD, VIEWS, Slice
from kcodec.formats.json._context cimport Context, fail
from kcodec.formats.json._program cimport KEEPS, OBJECT, TUPLE, JsonProgram, Op
from kcodec.formats.json._quick cimport SHORT
from kcodec.formats.json._row cimport read_document
from kcodec.formats.json.block._decode cimport read_block
from kcodec.formats.json.block._lanes cimport LANES, LONG_RUN, SLOWNESS, Block, Lapse, Pause
from kcodec.formats.json.block._places cimport free_places
from kcodec.formats.json.block._producers cimport ALIKE, TOLD, Apart, read_apart
from kcodec.plan._budget cimport begin_block, set_limits
from kcodec.plan._decoder cimport FAULT, GO_ON, OUT_OF_MEMORY, Answer, Decoder, payload_of, program_of
from kcodec.plan._program cimport Program as Compiled
from kcodec.wire.binary.cursor cimport ctz64, unlikely
from kcodec.wire.binary.status cimport NO_MEMORY, OK, TRUNCATED, Status
from kcodec.wire.text.json cimport JSON_MARGIN

__all__ = ["Program", "decode", "encode"]

from kcodec.formats.json._encode import encode
from kcodec.formats.json._program import JsonProgram as Program
from kcodec.plan.node import MAX_DEPTH

cdef enum:
    BLOCK_BYTES = 1 << 17     # when its documents hold this much, a block is full
    FEWEST = 8                # rows that are worth to be read together
    LONGEST_SPELL = 64
    DEEPEST = 3               # keys that are looked at to tell orders apart, at most


@cython.final
cdef class JsonDecoder(Decoder):
    cdef Context context
    cdef Block block
    cdef int32_t ops          # of a program, at most
    cdef int32_t words        # that objects need for fields from 64 on
    cdef uint8_t *copy        # of a document with nothing readable behind it
    cdef const uint8_t *origin  # of the row in hand: offsets count from here
    cdef int64_t together     # rows that are read together next
    cdef int64_t single       # rows that are read one by one before that is tried again
    cdef int64_t pause        # so many, the next time it does not go well
    cdef int64_t scattered    # blocks that are read wherever their keys are; negative: in order, before the next try
    cdef int64_t spell        # so many, the next time they are not in order
    cdef int64_t run          # rows of one order that have been read
    cdef int64_t short_runs   # before one of another, one such run behind the other
    cdef int64_t depth        # keys that tell their orders apart
    cdef int64_t mixed        # of these blocks, how many are left before that is tried again
    cdef Copies copies

    def __init__(self, values, programs, selector, starts, ends, trailing):
        cdef Context *context = &self.context
        Decoder.__init__(self, values, programs, selector, starts, ends, 0, trailing)
        self.block_rows = LANES
        self.block_bytes = BLOCK_BYTES
        self.always_checked = True
        context.words = <uint64_t *>calloc(self.words + 1, sizeof(uint64_t))
        context.scratch = <uint8_t *>calloc(context.scratch_room + 1, 1)
        self.block.follows = <const Op **>calloc(self.ops + 1, sizeof(Op *))
        self.block.pauses = <Pause *>calloc(self.ops + 1, sizeof(Pause))
        if context.words == NULL or context.scratch == NULL or self.block.follows == NULL or self.block.pauses == NULL:
            raise MemoryError
        context.columns = self.builder.columns
        self.together = LANES
        self.pause = 1
        self.spell = 1
        self.depth = 1

    def __dealloc__(self):
        free_places(&self.block.places)
        free(self.block.records)
        free(self.block.follows)
        free(self.block.pauses)
        free(self.context.words)
        free(self.context.scratch)
        free(self.copy)
        free(self.copies.memory)

    cdef int prepare(self, Compiled compiled) except -1:
        cdef Context *context = &self.context
        cdef JsonProgram program = compiled
        self.in_blocks = self.in_blocks or in_blocks(<const Op *>program.table)
        self.ops = max(self.ops, program.count)
        self.words = max(self.words, program.words)
        context.max_depth = min(program.limits.max_depth, MAX_DEPTH)
        context.max_number = program.limits.max_number_length
        context.longest = max(context.longest, program.longest)
        context.scratch_room = max(context.scratch_room, program.scratch)
        if program.fold_count:
            context.folds = program.folds
            context.fold_texts = program.fold_texts
            context.fold_count = program.fold_count
        return set_limits(&context.budget, program.limits)

    cdef void begin(self, int64_t room) noexcept nogil:
        begin_block(&self.context.budget, self.builder, room, self.growing)

    cdef int64_t read_together(self) noexcept nogil:
        """Read rows together, as many as are alike.

        How many are tried, and how soon again, depends on how well it went before.
        """
        cdef Block *block = &self.block
        cdef int64_t wanted = min(self.count - self.next, self.together)
        cdef int32_t program = -1
        cdef int64_t count = 0
        cdef bint begins = False     # that keys are read in any order
        cdef const Op *root = NULL
        if self.single:
            self.single -= 1
            return 0
        block.row = self.row + self.next
        # With `stop` the first failing row ends the call, so rows are read in order and none is dropped.
        block.drops = not self.stop
        block.dropped = 0
        # The block loops read numbers below SHORT characters without a look at the limit, so it must not be lower.
        if self.context.max_number >= SHORT:
            if self.selector.data == NULL and not self.bounded:
                count = self.gather(wanted, &program)
            else:
                count = self.gather_chosen(wanted, &program)
        block.context = &self.context
        block.count = count
        block.wide = self.builder.wide
        block.ahead = self.payload
        block.trailing = self.trailing
        block.inside = self.rows.layout != VIEWS and begins_inside(block, self.rows.data)
        if count and program < 0:
            # All of them are null.
            for count in range(count):
                set_null(self.builder.columns, 0, block.row + count, block.wide)
            return block.count
        if count:
            root = <const Op *>self.tables[program]
            if block.root != root:
                memset(block.follows, 0, self.ops * sizeof(Op *))
                memset(block.pauses, 0, self.ops * sizeof(Pause))
            if self.scattered > 0 and root.code == OBJECT and self.is_read_apart(root):
                self.scattered -= 1
            else:
                begins = self.read_alike(root, count)
            if unlikely(block.dropped | block.failed) and not self.end_dropped(program):
                return -1
        if block.count == wanted:
            self.together = min(self.together + self.together // 2, LANES)
            self.pause = 1
            return wanted
        if begins and block.count < count:
            return block.count
        # The rows differ soon: try fewer next time, and read some one by one before that, more after each bad try.
        self.together = max(block.count, FEWEST)
        self.pause = 1 if block.count >= FEWEST // 2 else min(2 * self.pause, 2 * LANES)
        self.single = self.pause - 1 if block.count == 0 else self.pause
        return block.count

    cdef bint read_alike(self, const Op *root, int64_t count) noexcept nogil:
        """Read a block; return whether keys are read in any order from now on.

        Finding their places first costs a pass, but then any order is read; each such spell is longer than the last,
        until a block in order ends it.
        """
        cdef Block *block = &self.block
        block.scattered = self.scattered > 0 and root.code == OBJECT
        read_block(block, root)
        if block.scattered and block.places.strange > count * root.fields:
            # Where few keys are read, the others are stepped over in less time.
            self.scattered = -LONGEST_SPELL
        elif block.scattered:
            self.scattered -= 1
        elif self.scattered < 0:
            self.scattered += 1
        elif SLOWNESS * block.sought > count * root.fields or self.is_disordered():
            self.scattered = self.spell
            self.spell = min(2 * self.spell, LONGEST_SPELL)
            return True
        else:
            self.spell = 1
        return False

    cdef bint is_disordered(self) noexcept nogil:
        """Count rows of one order; return whether few of them have come before one of another, twice in turn."""
        self.run += self.block.count
        if not self.block.disordered:
            return False
        self.short_runs = self.short_runs + 1 if self.run < LONG_RUN else 0
        self.run = 0
        return self.short_runs > 1

    cdef bint is_read_apart(self, const Op *root) noexcept nogil:
        """Read a block by the orders of its keys, unless that has failed too often lately."""
        cdef Apart found
        if self.mixed:
            self.mixed -= 1
            return False
        self.block.scattered = False
        found = read_apart(&self.block, root, self.depth, &self.copies)
        if found == ALIKE and self.depth < DEEPEST:
            self.depth += 1
        elif found != TOLD:
            self.depth = 1
            self.mixed = LONGEST_SPELL
        return found == TOLD

    cdef int64_t gather(self, int64_t wanted, int32_t *program) noexcept nogil:
        """Set the documents of a block of rows that all have the first program; return how many.

        `program` remains -1 if all of them are null.
        """
        cdef Block *block = &self.block
        cdef const Slice *slice = &self.slices[self.next]
        cdef int64_t count
        if self.tables[0] == NULL or not in_blocks(<const Op *>self.tables[0]):
            return self.gather_chosen(wanted, program)
        for count in range(wanted):
            if unlikely(slice.start == NULL):
                block.dropped |= <uint64_t>1 << count
            elif unlikely(slice.limit - slice.end < JSON_MARGIN):
                wanted = count
                break
            block.start[count] = slice.start
            block.end[count] = slice.end
            slice += 1
        if wanted and ~block.dropped << (LANES - wanted):
            program[0] = 0
        return wanted

    cdef int64_t gather_chosen(self, int64_t wanted, int32_t *program) noexcept nogil:
        """Set the documents of a block of rows that have one program; return how many."""
        cdef Block *block = &self.block
        cdef const Slice *slice
        cdef int32_t chosen
        cdef int64_t count = 0
        while count < wanted:
            chosen = program_of(self, self.next + count)
            if chosen < 0:
                block.dropped |= <uint64_t>1 << count
                count += 1
                continue
            if program[0] < 0 and in_blocks(<const Op *>self.tables[chosen]):
                program[0] = chosen
            if chosen != program[0] and (program[0] < 0 or self.tables[chosen] != self.tables[program[0]]):
                break
            slice = &self.slices[self.next + count]
            if self.bounded:
                block.start[count] = self.bounded_payload(block.row + count, slice, &block.end[count])
                if block.start[count] == NULL:
                    break
            else:
                block.start[count] = slice.start
                block.end[count] = slice.end
            if slice.limit - block.end[count] < JSON_MARGIN:
                break
            count += 1
        return count

    cdef bint end_dropped(self, int32_t program) noexcept nogil:
        """Make rows null that were dropped, and note why they failed; False without memory."""
        cdef Block *block = &self.block
        cdef uint64_t left = block.dropped | block.failed
        cdef const uint8_t *start
        cdef Lapse *lapse
        cdef int64_t lane
        while left:
            lane = ctz64(left)
            left &= left - 1
            if lane >= block.count:
                break
            hide(self.builder.columns, block.row + lane)
            if block.failed >> lane & 1:
                lapse = &block.lapses[lane]
                start = self.slices[self.next + lane].start
                if not self.note(
                    block.row + lane, lapse.at - start, program, lapse.status, lapse.op, lapse.level, lapse.items
                ):
                    return False
        return True

    cdef bint note(
        self, int64_t row, int64_t offset, int32_t program, Status status, const Op *op, int32_t level, int64_t *items
    ) noexcept nogil:
        cdef int32_t number = <int32_t>(op - <const Op *>self.tables[program]) if op != NULL else -1
        return self.failures.note(row, offset, program, number, status, items, level if op != NULL else 0)

    cdef Answer fail_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        cdef Context *context = &self.context
        if self.stop:
            return FAULT
        if not self.note(
            row, context.at - self.origin, program, context.status, context.op, context.level, context.items
        ):
            return OUT_OF_MEMORY
        return GO_ON

    cdef Status read_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        cdef Context *context = &self.context
        cdef const uint8_t *p
        self.origin = slice.start
        p = payload_of(self, row, slice, &context.end)
        if unlikely(p == NULL):
            p = fail(context, TRUNCATED, NULL, slice.end)
        elif unlikely(slice.limit - context.end < JSON_MARGIN) and not self.move(&p):
            return NO_MEMORY
        else:
            p = read_document(context, <const Op *>self.tables[program], row, p, self.builder.wide, self.trailing)
        return OK if p != NULL else context.status

    cdef bint move(self, const uint8_t **p) noexcept nogil:
        """Move a document to where the bytes behind it can be read; False without memory."""
        cdef int64_t size = self.context.end - p[0]
        cdef uint8_t *copy = <uint8_t *>realloc(self.copy, size + JSON_MARGIN)
        if copy == NULL:
            return False
        memcpy(copy, p[0], size)
        memset(copy + size, 0, JSON_MARGIN)
        self.copy = copy
        self.origin = copy - (p[0] - self.origin)
        self.context.end = copy + size
        p[0] = copy
        return True

    cdef object fault(self, int64_t row, const Slice *slice, int32_t chosen):
        cdef Context *context = &self.context
        cdef JsonProgram program = self.compiled[chosen]
        cdef int32_t failed = -1
        path = ""
        if context.op != NULL:
            failed = <int32_t>(context.op - program.ops)
            path = program.path(failed, [context.items[each] for each in range(context.level)])
        return program.fault(row, context.at - self.origin, context.status, failed, path)


cdef inline bint begins_inside(const Block *block, const uint8_t *data) noexcept nogil:
    """Return whether the 16 bytes before the first document are readable memory.

    There are as many before those of the last rows, which stand elsewhere.
    """
    cdef uint64_t left = ~block.dropped & (<uint64_t>-1 >> (64 - block.count)) if block.count else 0
    return left and not 0 <= block.start[ctz64(left)] - data < LEAD


cdef inline bint in_blocks(const Op *root) noexcept nogil:
    return root.code == TUPLE or (root.code == OBJECT and not root.forms & KEEPS)


def decode(values, programs, *, selector=None, starts=None, ends=None, trailing=False, stop=False):
    """Decode one document per row; see `kcodec.formats.json.kernel.JsonKernel`."""
    cdef JsonDecoder decoder = JsonDecoder(values, programs, selector, starts, ends, trailing)
    return decoder.decode(stop)
