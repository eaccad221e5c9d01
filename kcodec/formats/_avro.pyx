"""Avro binary to columns.

Rows are decoded in blocks: columns are given room for all that a block can hold, then its rows are run without a
check. A block is run column by column; where anything is out of the ordinary, it is run again row by row, which
finds what it was. A row that fails is written over with null.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from kcodec.columns._builder cimport Builder, set_null
from kcodec.columns._rows cimport Int32Buffer, Rows, Slice
from kcodec.formats._avro_block cimport BlockMemory, read_block
from kcodec.formats._avro_context cimport Context, fail
from kcodec.formats._avro_lanes cimport LANES, SLACK, Block
from kcodec.formats._avro_row cimport run
from kcodec.plan.program cimport Op, Program as Compiled
from kcodec.wire.cursor cimport likely, unlikely
from kcodec.wire.status cimport NEED_ROOM, NO_MEMORY, TRAILING_BYTES, TRUNCATED

from kcodec.errors import CODES, Fault

__all__ = ["Program", "decode", "encode"]

from kcodec.formats._avro_encode import encode
from kcodec.plan.node import MAX_DEPTH
from kcodec.plan.program import Program

_CODES = list(CODES)

cdef enum:
    BLOCK_ROWS = LANES        # rows of a block, at most
    BLOCK_BYTES = 1 << 15     # and when its payloads hold this much, it is full


cdef enum Answer:
    DONE
    GROW
    FAULT
    RECHECK
    OUT_OF_MEMORY


cdef struct State:
    Context context
    int64_t row               # first of the block
    int64_t count             # rows of the block
    int64_t done              # of these
    int64_t payload           # bytes of the block
    int64_t extra             # room beyond the payloads that a block gets
    int64_t expansion         # of all programs, per row
    int32_t program           # of the row that failed
    Slice slices[BLOCK_ROWS]


cdef Answer advance(
    State *state, Block *block, Builder builder, Rows rows, const Op **programs, const int32_t *stops,
    int32_t program_count, const int32_t *selector, const int32_t *starts, int64_t start, const int64_t *divisor,
    bint trailing
) noexcept nogil:
    """Decode until something needs the GIL: all is done, a column must grow, or a row has failed."""
    cdef Context *context = &state.context
    cdef int64_t row
    cdef int64_t begin
    cdef int32_t program = 0
    cdef Slice *slice
    cdef const uint8_t *p
    while True:
        if state.done == state.count:
            if state.count:
                row = state.row + state.count
                if not context.checked and builder.invalid_text(state.row, row) >= 0:
                    return RECHECK
                builder.pack(row)
                context.checked = False
                state.row = row
            if state.row == rows.length:
                return DONE
            state.done = 0
            state.count = rows.fill(state.row, state.slices, BLOCK_ROWS, BLOCK_BYTES, &state.payload)
            # The last rows, behind which nothing may be read, are a block of their own.
            row = state.count
            while row > 0 and state.slices[row - 1].limit - state.slices[row - 1].end < SLACK:
                row -= 1
            if row > 0:
                state.count = row
        if state.done == 0:
            context.room = state.extra + state.count * state.expansion
            if not builder.has_room(state.row, state.count, state.payload, context.room, divisor):
                return GROW
            if not context.checked and (block.failures < 8 or 4 * block.failures < block.blocks):
                block.row = state.row
                block.count = state.count
                block.blocks += 1
                if read_block(
                    block, builder, state.slices, programs, stops, program_count, selector, starts, start, trailing
                ):
                    state.done = state.count
                    continue
                block.failures += 1
                context.room = state.extra + state.count * state.expansion
        while state.done < state.count:
            slice = &state.slices[state.done]
            row = state.row + state.done
            if selector != NULL:
                program = selector[row]
            if slice.start == NULL or program < 0 or program >= program_count or programs[program] == NULL:
                set_null(builder.columns, 0, row, builder.wide)
                state.done += 1
                continue
            begin = start if starts == NULL else starts[row]
            context.ops = programs[program]
            context.end = slice.end
            context.limit = slice.limit
            context.expanded = 0
            context.zero_items = 0
            context.depth = 0
            if builder.columns[0].valid != NULL:
                builder.columns[0].valid[row] = 1
            if unlikely(begin < 0 or begin > slice.end - slice.start):
                p = fail(context, TRUNCATED, NULL, slice.end, row)
            elif builder.wide:
                p = run(
                    context, context.ops, context.ops + stops[program], row, 1, slice.start + begin, <int64_t *>NULL
                )
            else:
                p = run(
                    context, context.ops, context.ops + stops[program], row, 1, slice.start + begin, <int32_t *>NULL
                )
            if unlikely(p != NULL and p != slice.end and not trailing):
                p = fail(context, TRAILING_BYTES, NULL, p, row)
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
            if not context.checked:
                # Text is checked when a block is done: the row may have failed earlier, by its text.
                return RECHECK
            set_null(builder.columns, 0, row, builder.wide)
            state.program = program
            state.done += 1
            return FAULT


cdef object fault_of(State *state, Compiled program):
    """Put the facts of a failed row together."""
    cdef Context *context = &state.context
    cdef const Op *op = context.op
    cdef int32_t at
    code = _CODES[<int>context.status - 1]
    offset = context.at - state.slices[state.done - 1].start
    row = state.row + state.done - 1
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
    return Fault(row, offset, _join(program.path(<int32_t>(op - program.ops), indexes[::-1]), path), code, reason)


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
    cdef Rows rows = Rows(values)
    cdef Compiled program = next(each for each in programs if each is not None)
    cdef Builder builder = Builder(program.shape, rows.length)
    cdef BlockMemory memory = BlockMemory(builder)
    cdef State *state = <State *>calloc(1, sizeof(State))
    cdef int32_t count = len(programs)
    cdef const Op **ops = <const Op **>calloc(count, sizeof(Op *))
    cdef int32_t *stops = <int32_t *>calloc(count, sizeof(int32_t))
    cdef int64_t *divisor = <int64_t *>calloc(builder.count, sizeof(int64_t))
    cdef int64_t start_everywhere = start
    cdef bint accept = trailing
    cdef Int32Buffer chosen = Int32Buffer(selector, rows.length, "selector")
    cdef Int32Buffer places = Int32Buffer(starts, rows.length, "starts")
    cdef Answer answer
    cdef int32_t at
    faults = []
    try:
        if state == NULL or ops == NULL or stops == NULL or divisor == NULL:
            raise MemoryError
        for at in range(builder.count):
            divisor[at] = 1 << 30
        for at in range(count):
            program = programs[at]
            if program is None:
                continue
            ops[at] = program.ops
            stops[at] = program.stop
            state.expansion = max(state.expansion, program.expansion)
            for column, least in program.divisors.items():
                divisor[column] = min(divisor[column], least)
            state.context.max_depth = min(program.limits.max_depth, MAX_DEPTH)
            state.context.max_zero_items = program.limits.max_zero_byte_items
            state.context.max_expansion = program.limits.max_expansion
        state.context.columns = builder.columns
        memory.block.context = &state.context
        while True:
            with nogil:
                answer = advance(
                    state, memory.block, builder, rows, ops, stops, count, chosen.data, places.data, start_everywhere,
                    divisor, accept
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
            elif answer == RECHECK:
                state.context.checked = True
                state.done = 0
            else:
                raise MemoryError
    finally:
        free(state)
        free(ops)
        free(stops)
        free(divisor)
