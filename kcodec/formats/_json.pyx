"""JSON to columns.

Rows are read together while they are alike (kcodec/formats/_json_block.pyx), else one by one
(kcodec/formats/_json_row.pyx), which also tells what is wrong with one.

The ops of a program (kcodec/formats/_json_program.pyx) store into columns that have room for all a block of rows can
hold (kcodec/columns/_builder.pyx), so storing is never checked; only defaults yield more than they take from the
document, which is counted against `Context.room`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from kcodec.columns._builder cimport Builder, set_null
from kcodec.columns._rows cimport VIEWS, Int32Buffer, Rows, Slice
from kcodec.formats._json_block cimport LANES, Block, read_block
from kcodec.formats._json_context cimport Context, fail
from kcodec.formats._json_program cimport OBJECT, Op, Program as Compiled
from kcodec.formats._json_quick cimport SHORT
from kcodec.formats._json_row cimport items_t, run
from kcodec.wire.cursor cimport likely, unlikely
from kcodec.wire.json cimport JSON_MARGIN, json_space
from kcodec.wire.status cimport INVALID_UTF8, NEED_ROOM, NO_MEMORY, TRAILING_BYTES, TRUNCATED
from kcodec.wire.utf8 cimport utf8_valid, utf8_valid_prefix

from kcodec.errors import CODES, Fault

__all__ = ["Program", "decode", "encode"]

from kcodec.formats._json_encode import encode
from kcodec.formats._json_program import Program
from kcodec.plan.node import MAX_DEPTH

_CODES = list(CODES)

cdef enum:
    BLOCK_ROWS = LANES        # rows of a block, at most
    BLOCK_BYTES = 1 << 16     # and when its documents hold this much, it is full
    FEWEST = 8                # rows that are worth to be read together


cdef enum Answer:
    DONE
    GROW
    FAULT
    OUT_OF_MEMORY


cdef struct State:
    Context context
    int64_t row               # first of the block
    int64_t count             # rows of the block
    int64_t done              # of these
    int64_t payload           # bytes of the block
    int64_t extra             # room beyond the documents that a block gets
    int64_t expansion         # of all programs, per row
    uint8_t *copy             # of a document with nothing readable behind it
    const uint8_t *origin     # of the row in hand: offsets count from here
    int32_t program           # of the row that failed
    int64_t most              # rows that are read together next
    int64_t alone             # rows that are read one by one before that is tried again
    int64_t rest              # and the next time it does not go well
    Block block
    Slice slices[BLOCK_ROWS]


cdef Answer advance(
    State *state, Builder builder, Rows rows, const Op **programs, int32_t program_count, const int32_t *selector,
    const int32_t *starts, const int32_t *ends, const int64_t *divisor, bint trailing
) noexcept nogil:
    """Decode until something needs the GIL: all is done, a column must grow, or a row has failed."""
    cdef Context *context = &state.context
    cdef int64_t row
    cdef int64_t size
    cdef int32_t program = 0
    cdef Slice *slice
    cdef const uint8_t *p
    while True:
        if state.done == state.count:
            if state.count:
                row = state.row + state.count
                builder.pack(row)
                state.row = row
            if state.row == rows.length:
                return DONE
            state.done = 0
            state.count = rows.fill(state.row, state.slices, BLOCK_ROWS, BLOCK_BYTES, &state.payload)
        if state.done == 0:
            context.room = state.extra + state.count * state.expansion
            if not builder.has_room(state.row, state.count, state.payload, context.room, divisor):
                return GROW
        while state.done < state.count:
            if state.alone == 0:
                if read_together(
                    state, rows, programs, program_count, selector, starts, ends, builder.wide, trailing
                ):
                    continue
                state.alone = state.rest
            state.alone -= 1
            slice = &state.slices[state.done]
            row = state.row + state.done
            if selector != NULL:
                program = selector[row]
            if slice.start == NULL or program < 0 or program >= program_count or programs[program] == NULL:
                set_null(builder.columns, 0, row, builder.wide)
                state.done += 1
                continue
            size = slice.end - slice.start
            p = slice.start
            context.end = slice.end
            if starts != NULL:
                p = slice.start + starts[row]
                size = -1 if starts[row] < 0 or starts[row] > size else size
            if ends != NULL and size >= 0:
                size = -1 if ends[row] < 0 or ends[row] > size else size
                context.end = slice.start + ends[row]
            context.outside = NULL
            state.origin = slice.start
            context.expanded = 0
            context.depth = 0
            context.level = 0
            if unlikely(size < 0 or p > context.end):
                p = fail(context, TRUNCATED, NULL, slice.end)
            elif unlikely(slice.limit - context.end < JSON_MARGIN) and not move(state, &p):
                return OUT_OF_MEMORY
            elif unlikely(not utf8_valid(p, context.end - p)):
                p = fail(context, INVALID_UTF8, NULL, p + utf8_valid_prefix(p, context.end - p))
            else:
                p = document(context, programs[program], row, p, builder.wide, trailing)
            if likely(p != NULL):
                state.done += 1
                continue
            if context.status == NEED_ROOM:
                # What is done is a block of its own; the rest starts again, with more room.
                state.extra = 2 * state.extra + (1 << 12)
                state.count = state.done
                if state.done == 0:
                    state.count = 1
                    state.payload = slice.end - slice.start
                break
            if context.status == NO_MEMORY:
                return OUT_OF_MEMORY
            set_null(builder.columns, 0, row, builder.wide)
            state.program = program
            state.done += 1
            return FAULT


cdef bint read_together(
    State *state, Rows rows, const Op **programs, int32_t program_count, const int32_t *selector,
    const int32_t *starts, const int32_t *ends, bint wide, bint trailing
) noexcept nogil:
    """Read rows from the next one on together, as many as are alike; False if there are none.

    How many are tried, and how soon again, follows from how it went.
    """
    cdef Context *context = &state.context
    cdef Block *block = &state.block
    cdef const Op *root = NULL
    cdef const Slice *slice
    cdef const uint8_t *p
    cdef const uint8_t *end
    cdef int64_t row = state.row + state.done
    cdef int64_t most = min(state.count - state.done, state.most)
    cdef int64_t count = 0
    cdef int32_t program = 0
    cdef int32_t first = selector[row] if selector != NULL else 0
    if 0 <= first < program_count:
        root = programs[first]
    if root != NULL and root.code == OBJECT and context.max_number >= SHORT:
        while count < most:
            slice = &state.slices[state.done + count]
            program = selector[row + count] if selector != NULL else 0
            if slice.start == NULL or program != first:
                break
            p = slice.start
            end = slice.end
            if ends != NULL:
                if ends[row + count] < 0 or ends[row + count] > end - p:
                    break
                end = p + ends[row + count]
            if starts != NULL:
                if starts[row + count] < 0 or starts[row + count] > end - p:
                    break
                p += starts[row + count]
            if slice.limit - end < JSON_MARGIN:
                break
            block.start[count] = p
            block.end[count] = end
            count += 1
    block.context = context
    block.row = row
    block.count = count
    block.wide = wide
    block.ahead = state.payload
    block.trailing = trailing
    block.inside = rows.layout != VIEWS and count > 0 and block.start[0] - rows.data >= 16
    if count:
        read_block(block, root)
    state.done += block.count
    if block.count == most:
        state.most = min(state.most + state.most // 2, LANES)
        state.rest = 1
        return True
    state.most = max(block.count, FEWEST)
    state.rest = 1 if block.count >= FEWEST // 2 else min(2 * state.rest, 2 * LANES)
    return False


cdef bint move(State *state, const uint8_t **p) noexcept nogil:
    """Move a document to where the bytes behind it can be read; False without memory."""
    cdef int64_t size = state.context.end - p[0]
    cdef uint8_t *copy = <uint8_t *>realloc(state.copy, size + JSON_MARGIN)
    if copy == NULL:
        return False
    memcpy(copy, p[0], size)
    memset(copy + size, 0, JSON_MARGIN)
    state.copy = copy
    state.origin = copy - (p[0] - state.origin)
    state.context.end = copy + size
    p[0] = copy
    return True


cdef const uint8_t *document(
    Context *context, const Op *root, int64_t row, const uint8_t *p, bint wide, bint trailing
) noexcept nogil:
    """Read one document, and what may stand around it: a byte order mark and space."""
    cdef const uint8_t *end = context.end
    if end - p >= 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
        p += 3
    p = json_space(p, end)
    if unlikely(p >= end):
        return fail(context, TRUNCATED, root, end)
    if wide:
        p = run(context, NULL, root, row, p, <int64_t *>NULL, <items_t>0)
    else:
        p = run(context, NULL, root, row, p, <int32_t *>NULL, <items_t>0)
    if unlikely(p != NULL and p != end) and not trailing:
        p = json_space(p, end)
        if p != end:
            return fail(context, TRAILING_BYTES, NULL, p)
    return p


cdef object fault_of(State *state, Compiled program):
    """Put the facts of a failed row together."""
    cdef Context *context = &state.context
    cdef int32_t at
    code = _CODES[<int>context.status - 1]
    offset = context.at - state.origin
    row = state.row + state.done - 1
    if context.op == NULL:
        return Fault(row, offset, "", code, CODES[code])
    indexes = []
    for at in range(context.level):
        indexes.append(context.items[at])
    return Fault(row, offset, program.path(<int32_t>(context.op - program.ops), indexes), code, CODES[code])


def decode(values, programs, *, selector=None, starts=None, ends=None, trailing=False, stop=False):
    """Decode a column of JSON documents.

    Parameters
    ----------
    values : pyarrow.Array
        Binary or string of any layout; null rows stay null.
    programs : sequence of Program or None
        Programs of one Arrow type; rows that choose None are null.
    selector : buffer of int32, optional
        Per row which program; negative: none. By default the first for all.
    starts, ends : buffer of int32, optional
        Per row where the document starts and ends; by default it is all of the row.
    trailing : bool, default False
        Accept anything behind the value.
    stop : bool, default False
        Return after the first row that fails; the array then is not to be used.

    Returns
    -------
    array : pyarrow.Array
        A value per row; null for rows that failed.
    faults : list of Fault
        The rows that failed, in order. Offsets count from the first byte of the row.
    """
    cdef Rows rows = Rows(values)
    cdef Compiled program = next(each for each in programs if each is not None)
    cdef Builder builder = Builder(program.shape, rows.length)
    cdef Int32Buffer chosen = Int32Buffer(selector, rows.length, "selector")
    cdef Int32Buffer first = Int32Buffer(starts, rows.length, "starts")
    cdef Int32Buffer last = Int32Buffer(ends, rows.length, "ends")
    cdef State *state = <State *>calloc(1, sizeof(State))
    cdef int32_t count = len(programs)
    cdef const Op **ops = <const Op **>calloc(count, sizeof(Op *))
    cdef int64_t *divisor = <int64_t *>calloc(builder.count, sizeof(int64_t))
    cdef int32_t words = 0
    cdef bint accept = trailing
    cdef Answer answer
    cdef int32_t at
    faults = []
    try:
        if state == NULL or ops == NULL or divisor == NULL:
            raise MemoryError
        for at in range(builder.count):
            divisor[at] = 1 << 30
        for at in range(count):
            program = programs[at]
            if program is None:
                continue
            ops[at] = program.ops
            words = max(words, program.words)
            state.expansion = max(state.expansion, program.expansion)
            for column, least in program.divisors.items():
                divisor[column] = min(divisor[column], least)
            state.context.max_depth = min(program.limits.max_depth, MAX_DEPTH)
            state.context.max_number = program.limits.max_number_length
            state.context.max_expansion = program.limits.max_expansion
            state.context.longest = max(state.context.longest, program.longest)
            state.context.scratch_room = max(state.context.scratch_room, program.scratch)
            if program.fold_count:
                state.context.folds = program.folds
                state.context.fold_texts = program.fold_texts
                state.context.fold_count = program.fold_count
        state.context.words = <uint64_t *>calloc(words + 1, sizeof(uint64_t))
        state.context.scratch = <uint8_t *>calloc(state.context.scratch_room + 1, 1)
        if state.context.words == NULL or state.context.scratch == NULL:
            raise MemoryError
        state.context.columns = builder.columns
        state.most = LANES
        state.rest = 1
        while True:
            with nogil:
                answer = advance(
                    state, builder, rows, ops, count, chosen.data, first.data, last.data, divisor, accept
                )
            if answer == DONE:
                return builder.finish(), faults
            if answer == GROW:
                builder.grow(
                    state.row, state.count, state.payload, state.context.room, divisor, rows.bytes_from(state.row)
                )
            elif answer == FAULT:
                program = programs[state.program]
                faults.append(fault_of(state, program))
                if stop:
                    return None, faults
            else:
                raise MemoryError
    finally:
        if state != NULL:
            free(state.copy)
            free(state.context.words)
            free(state.context.scratch)
        free(state)
        free(ops)
        free(divisor)
