"""Columns to Avro binary.

Rows are written one behind the other into one buffer, which with the offsets of the rows is already the Arrow
array. A block of rows is given room for all that its values can take before it is written, so writing is not
checked. Blocks are written column by column where that goes well, and row by row where anything fails.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from kcodec.columns._reader cimport Input, Inputs, is_valid, start_of
from kcodec.formats._avro_put cimport Context, put
from kcodec.formats._avro_put_block cimport BLOCK_ROWS, LEVELS, Block, put_rows
from kcodec.plan.program cimport *
from kcodec.wire.cursor cimport copy32, unlikely

import pyarrow as pa

from kcodec.errors import CODES, CapacityError, Fault

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


cdef int64_t most_bytes(Inputs inputs, const int64_t *costs, int64_t row, int64_t end) noexcept nogil:
    """Bound what some rows can take."""
    cdef int32_t at
    cdef int64_t total = 0
    cdef int64_t first
    cdef int64_t last
    cdef const Input *column
    for at in range(inputs.count):
        column = &inputs.columns[at]
        span(inputs.columns, at, row, end, &first, &last)
        total += (last - first) * costs[at]
        if column.offsets != NULL and column.data != NULL and last > first:
            total += start_of(column, last) - start_of(column, first)
    return total


cdef void span(
    const Input *columns, int32_t at, int64_t row, int64_t end, int64_t *first, int64_t *last
) noexcept nogil:
    """Tell which values of a column belong to some rows."""
    cdef int32_t scope = columns[at].scope
    first[0] = row
    last[0] = end
    if scope >= 0:
        span(columns, scope, row, end, first, last)
        if last[0] > first[0]:
            last[0] = start_of(&columns[scope], last[0])
            first[0] = start_of(&columns[scope], first[0])


cdef struct Output:
    uint8_t *data
    int64_t room
    int64_t used
    int32_t *offsets32
    int64_t *offsets64
    uint8_t *validity
    int64_t row
    int64_t needed
    int64_t by_rows  # rows before this one are written one by one


cdef bint put_block(
    Context *context, Block *block, Inputs inputs, Output *output, const int64_t *costs, const Op *first,
    const Op *stop, const uint8_t *prefix, int64_t prefix_size, int64_t end
) noexcept nogil:
    """Write a block of rows by columns, if they are not too large and nothing fails."""
    cdef uint8_t *out = output.data + output.used
    cdef const uint8_t *source
    cdef int64_t size
    cdef int64_t lane
    if output.needed > BLOCK_BYTES:
        return False
    block.first = output.row
    block.count = end - output.row
    if not put_rows(block, context, costs, first, stop, prefix, prefix_size):
        return False
    for lane in range(block.count):
        source = block.slots + block.bounds[lane]
        size = block.out[lane] - source
        move(out, source, size)
        out += size
        if output.offsets64 != NULL:
            output.offsets64[output.row + lane + 1] = out - output.data
        else:
            output.offsets32[output.row + lane + 1] = <int32_t>(out - output.data)
    for lane in range(block.written):
        size = output.row + block.lanes[lane]
        output.validity[size >> 3] |= <uint8_t>(1 << (size & 7))
    output.used = out - output.data
    output.row = end
    return True


cdef inline void move(uint8_t *out, const uint8_t *source, int64_t size) noexcept nogil:
    cdef int64_t at = 0
    while at < size:
        copy32(out + at, source + at)
        copy32(out + at + 32, source + at + 32)
        at += 64


cdef Answer advance(
    Context *context, Block *block, Inputs inputs, Output *output, const int64_t *costs, const Op *first,
    const Op *stop, const uint8_t *prefix, int64_t prefix_size
) noexcept nogil:
    """Write rows until all are done, the output must grow, or a row has failed."""
    cdef uint8_t *out
    cdef uint8_t *start
    cdef int64_t end
    while output.row < inputs.length:
        end = min(output.row + BLOCK_ROWS, inputs.length)
        output.needed = most_bytes(inputs, costs, output.row, end) + (end - output.row) * prefix_size + SLOP
        if output.used + output.needed > output.room:
            return GROW
        if output.row >= output.by_rows and put_block(
            context, block, inputs, output, costs, first, stop, prefix, prefix_size, end
        ):
            continue
        output.by_rows = end
        while output.row < end:
            out = start = output.data + output.used
            if is_valid(&inputs.columns[0], output.row):
                memcpy(out, prefix, prefix_size)
                out = put(context, first, stop, output.row, 1, out + prefix_size)
                output.validity[output.row >> 3] |= <uint8_t>(1 << (output.row & 7))
            if unlikely(out == NULL):
                output.validity[output.row >> 3] &= <uint8_t>~(1 << (output.row & 7))
            else:
                output.used += out - start
            output.row += 1
            if output.offsets64 != NULL:
                output.offsets64[output.row] = output.used
            else:
                output.offsets32[output.row] = <int32_t>output.used
            if unlikely(out == NULL):
                return FAULT
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
    cdef Context *context = <Context *>calloc(1, sizeof(Context))
    cdef Block *block = <Block *>calloc(LEVELS, sizeof(Block))
    cdef Output output
    cdef int64_t *costs = <int64_t *>calloc(inputs.count, sizeof(int64_t))
    cdef const uint8_t *before = prefix
    cdef int64_t before_size = len(prefix)
    cdef int64_t rows = inputs.length
    cdef int64_t room
    cdef int64_t guess
    cdef Answer answer
    cdef int32_t at
    # Where no column has a null that must not be there, nothing is checked.
    cdef bint checked = any_null(inputs, program.required)
    cdef const Op *first = program.ops + (program.stop if checked else 0)
    cdef const Op *last = program.ops + (program.checked_stop if checked else program.stop)
    faults = []
    try:
        if context == NULL or block == NULL or costs == NULL:
            raise MemoryError
        for at in range(inputs.count):
            # At least one, so that what a block takes bounds its items as well.
            costs[at] = max(<int64_t>program.costs[at], 1)
        context.ops = program.ops
        context.columns = inputs.columns
        data = pa.allocate_buffer(0, resizable=True)
        offsets = pa.allocate_buffer((rows + 1) * (8 if large else 4), resizable=True)
        validity = pa.allocate_buffer((rows + 7) // 8, resizable=True)
        memset(&output, 0, sizeof(output))
        output.validity = <uint8_t *><uintptr_t>validity.address
        memset(output.validity, 0, (rows + 7) // 8)
        if large:
            output.offsets64 = <int64_t *><uintptr_t>offsets.address
            output.offsets64[0] = 0
        else:
            output.offsets32 = <int32_t *><uintptr_t>offsets.address
            output.offsets32[0] = 0
        while True:
            with nogil:
                answer = advance(context, block, inputs, &output, costs, first, last, before, before_size)
            if answer == DONE:
                break
            if answer == FAULT:
                faults.append(fault_of(context, program, output.row - 1))
                if stop:
                    return None, faults
                continue
            room = output.used + output.needed
            if not large and room > INT32_MAX:
                raise CapacityError(
                    "more than 2 GiB in one call; pass large=True for 64-bit offsets, or fewer rows"
                )
            if output.row:
                guess = <int64_t>(1.02 * output.used / output.row * rows) + 2 * output.needed
            else:
                guess = room + most_bytes(inputs, costs, 0, min(rows, SAMPLE_ROWS))
            # A few large rows are no guide to the rest, which takes no more than this.
            room = max(room, min(guess, room + most_bytes(inputs, costs, output.row, rows)))
            if not large:
                # No more room than offsets reach: what does not fit must come by here.
                room = min(room, INT32_MAX)
            data.resize(room, False)
            output.data = <uint8_t *><uintptr_t>data.address
            output.room = room
        data.resize(output.used, True)
        kind = pa.large_binary() if large else pa.binary()
        nulls = rows - ones(output.validity, rows)
        return pa.Array.from_buffers(kind, rows, [validity if nulls else None, offsets, data], nulls), faults
    finally:
        free(context)
        if block != NULL:
            for at in range(LEVELS):
                free(block[at].slots)
        free(block)
        free(costs)


cdef bint any_null(Inputs inputs, object columns) except *:
    cdef int32_t at
    for at in columns:
        if inputs.columns[at].validity != NULL or inputs.columns[at].all_null:
            return True
    return False


cdef int64_t ones(const uint8_t *bits, int64_t count) noexcept nogil:
    cdef int64_t total = 0
    cdef int64_t at
    for at in range(count):
        total += (bits[at >> 3] >> (at & 7)) & 1
    return total


cdef object fault_of(Context *context, Program program, int64_t row):
    cdef int32_t at
    code = _CODES[<int>context.status - 1]
    indexes = []
    for at in range(context.trail_size - 1, -1, -1):
        indexes.append(context.trail_items[at])
    at = <int32_t>(context.op - program.ops)
    reason = program.reason(at, code) if context.status == context.op.status else CODES[code]
    return Fault(row, None, program.path(at, indexes), code, reason)
