"""Columns to Avro binary.

A block of rows is given room for all that its values can take before it is written, so writing is not checked. Blocks
are written column by column where that goes well, and row by row where anything fails.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from kcodec.columns._binary cimport BinaryBuilder
from kcodec.columns._reader cimport Inputs, is_valid
from kcodec.formats._avro_put cimport Context, put
from kcodec.formats._avro_put_block cimport BLOCK_ROWS, LEVELS, Block, put_rows
from kcodec.plan.program cimport *
from kcodec.wire.cursor cimport copy32, unlikely

from kcodec.errors import CODES, Fault

__all__ = ["encode"]

_CODES = list(CODES)

cdef enum:
    SAMPLE_ROWS = 1024     # what the room for all rows is guessed from
    BLOCK_BYTES = 1 << 18  # what a block written by columns may take
    SLOP = 64              # rows are moved as 64 bytes, short values as 32, decimals as whole words


cdef enum Answer:
    DONE
    GROW
    FAULT


cdef bint put_block(
    Context *context, Block *block, BinaryBuilder builder, const int64_t *costs, const Op *first, const Op *stop,
    const uint8_t *prefix, int64_t prefix_size, int64_t end
) noexcept nogil:
    """Write a block of rows by columns, if they are not too large and nothing fails."""
    cdef uint8_t *out = builder.data + builder.used
    cdef const uint8_t *source
    cdef int64_t size
    cdef int64_t lane
    cdef int64_t row = builder.row
    if builder.needed > BLOCK_BYTES:
        return False
    block.first = row
    block.count = end - row
    if not put_rows(block, context, costs, first, stop, prefix, prefix_size):
        return False
    for lane in range(block.count):
        source = block.slots + block.bounds[lane]
        size = block.out[lane] - source
        move(out, source, size)
        out += size
        if builder.offsets64 != NULL:
            builder.offsets64[row + lane + 1] = out - builder.data
        else:
            builder.offsets32[row + lane + 1] = <int32_t>(out - builder.data)
    for lane in range(block.written):
        size = row + block.lanes[lane]
        builder.valid[size >> 3] |= <uint8_t>(1 << (size & 7))
    builder.nulls += block.count - block.written
    builder.used = out - builder.data
    builder.row = end
    return True


cdef inline void move(uint8_t *out, const uint8_t *source, int64_t size) noexcept nogil:
    cdef int64_t at = 0
    while at < size:
        copy32(out + at, source + at)
        copy32(out + at + 32, source + at + 32)
        at += 64


cdef struct State:
    Context context
    Block blocks[LEVELS]
    int64_t by_rows  # rows before this one are written one by one


cdef Answer advance(
    State *state, Inputs inputs, BinaryBuilder builder, const int64_t *costs, const Op *first, const Op *stop,
    const uint8_t *prefix, int64_t prefix_size
) noexcept nogil:
    """Write rows until all are done, the output must grow, or a row has failed."""
    cdef uint8_t *out
    cdef int64_t end
    while builder.row < builder.rows:
        end = min(builder.row + BLOCK_ROWS, builder.rows)
        if not builder.has_room(
            inputs.most_bytes(costs, NULL, builder.row, end) + (end - builder.row) * prefix_size + SLOP
        ):
            return GROW
        if builder.row >= state.by_rows and put_block(
            &state.context, state.blocks, builder, costs, first, stop, prefix, prefix_size, end
        ):
            continue
        state.by_rows = end
        while builder.row < end:
            out = NULL
            if is_valid(&inputs.columns[0], builder.row):
                out = builder.data + builder.used
                memcpy(out, prefix, prefix_size)
                out = put(&state.context, first, stop, builder.row, 1, out + prefix_size)
                if unlikely(out == NULL):
                    builder.end_row(NULL)
                    return FAULT
            builder.end_row(out)
    return DONE


def encode(array, Program program, *, prefix=b"", large=False, stop=False):
    """Encode one Avro datum per row.

    Parameters
    ----------
    array : pyarrow.Array
        Of the type ``program.plan.arrow_type``.
    program : Program
        Of an encode plan.
    prefix : bytes, optional
        Put before each datum.
    large : bool, default False
        Give the result 64-bit offsets.
    stop : bool, default False
        Return after the first row that fails; the array then is not to be used.

    Returns
    -------
    array : pyarrow.BinaryArray or pyarrow.LargeBinaryArray
        A datum per row; null for null rows and for rows that failed.
    faults : list of Fault
        The rows that failed, in order.

    Raises
    ------
    kcodec.errors.CapacityError
        If the datums hold more than 2 GiB and `large` is not set.
    """
    cdef Inputs inputs = Inputs(array, program.layout)
    cdef int64_t rows = inputs.length
    cdef BinaryBuilder builder = BinaryBuilder(rows, large)
    cdef State *state = <State *>calloc(1, sizeof(State))
    cdef int64_t *costs = <int64_t *>calloc(inputs.count, sizeof(int64_t))
    cdef const uint8_t *before = prefix
    cdef int64_t before_size = len(prefix)
    cdef Answer answer
    cdef int32_t at
    # Where no column has a null that must not be there, nothing is checked.
    cdef bint checked = inputs.any_null(program.required)
    cdef const Op *first = program.ops + (program.stop if checked else 0)
    cdef const Op *last = program.ops + (program.checked_stop if checked else program.stop)
    faults = []
    try:
        if state == NULL or costs == NULL:
            raise MemoryError
        for at in range(inputs.count):
            # At least one, so that what a block takes bounds its items as well.
            costs[at] = max(<int64_t>program.costs[at], 1)
        state.context.ops = program.ops
        state.context.columns = inputs.columns
        while True:
            with nogil:
                answer = advance(state, inputs, builder, costs, first, last, before, before_size)
            if answer == DONE:
                return builder.finish(), faults
            if answer == GROW:
                builder.grow(
                    inputs.most_bytes(costs, NULL, 0, min(rows, SAMPLE_ROWS)),
                    inputs.most_bytes(costs, NULL, builder.row, rows) + (rows - builder.row) * before_size,
                )
                continue
            faults.append(fault_of(&state.context, program, builder.row - 1))
            if stop:
                return None, faults
    finally:
        if state != NULL:
            for at in range(LEVELS):
                free(state.blocks[at].slots)
        free(state)
        free(costs)


cdef object fault_of(Context *context, Program program, int64_t row):
    cdef int32_t at
    code = _CODES[<int>context.status - 1]
    indexes = []
    for at in range(context.trail_size - 1, -1, -1):
        indexes.append(context.trail_items[at])
    at = <int32_t>(context.op - program.ops)
    reason = program.reason(at, code) if context.status == context.op.status else CODES[code]
    return Fault(row, None, program.path(at, indexes), code, reason)
