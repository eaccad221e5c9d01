"""Columns to Avro binary: the row loop.

The bytes are those of Avro Java's plain encoder: collections are one block without a byte size, decimals have the
fewest bytes. Rows are written one behind the other into one buffer, which with the offsets of the rows is already
the Arrow array. A block of rows is given room for all that its values can take before it is written, so writing
is not checked.
"""

from libc.stdint cimport INT32_MAX, INT32_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, \
    uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memmove, memset

from kcodec.columns._reader cimport Input, Inputs, is_valid, start_of
from kcodec.plan.program cimport *
from kcodec.wire.cursor cimport (
    copy32, likely, multiply_overflows, store_le32, store_le64, unlikely, zigzag64,
)
from kcodec.wire.decimal cimport (
    decimal_number, decimal_number_to_bytes, decimal_parse, decimal_rescale, decimal_resize, decimal_to_bytes,
    decimal_to_fixed,
)
from kcodec.wire.status cimport *
from kcodec.wire.utf8 cimport utf8_valid

import pyarrow as pa

from kcodec.errors import CODES, CapacityError, Fault

__all__ = ["encode"]

_CODES = list(CODES)

cdef enum:
    BLOCK_ROWS = 256
    SLOP = 40        # short values are moved as 32 bytes, decimals stored as whole words
    TRAIL = 512
    VARINT = 10      # bytes of the longest


cdef enum Answer:
    DONE
    GROW
    FAULT


cdef struct Context:
    const Op *ops
    const Input *columns
    Status status
    const Op *op
    int32_t trail_size
    int64_t item
    int64_t trail_items[TRAIL]


cdef inline uint8_t *fail(Context *context, Status status, const Op *op, int64_t item) noexcept nogil:
    context.status = status
    context.op = op
    context.item = item
    context.trail_size = 0
    return NULL


cdef inline uint8_t *write_varint(uint8_t *out, uint64_t value) noexcept nogil:
    while value >= 0x80:
        out[0] = <uint8_t>value | 0x80
        out += 1
        value >>= 7
    out[0] = <uint8_t>value
    return out + 1


cdef inline Status load_integer(const Input *column, int64_t index, int64_t *value) noexcept nogil:
    if column.width == 8:
        value[0] = (<const int64_t *>column.data)[index]
        if not column.signed and value[0] < 0:
            return OUT_OF_RANGE
    elif column.width == 4:
        value[0] = (<const int32_t *>column.data)[index]
        if not column.signed:
            value[0] = <uint32_t>value[0]
    elif column.width == 2:
        value[0] = (<const int16_t *>column.data)[index]
        if not column.signed:
            value[0] = <uint16_t>value[0]
    else:
        value[0] = (<const int8_t *>column.data)[index]
        if not column.signed:
            value[0] = <uint8_t>value[0]
    return OK


cdef int64_t read_integer(const Op *op, const Input *column, int64_t index, Status *status) noexcept nogil:
    """Read the value that goes on the wire: `op.size` bits, scaled by `op.factor`."""
    cdef int64_t value = 0
    cdef int64_t quotient
    status[0] = load_integer(column, index, &value)
    if status[0] != OK:
        return 0
    if op.factor > 1:
        quotient = value // op.factor
        if quotient * op.factor != value:
            status[0] = INEXACT
        value = quotient
    elif op.factor < 0:
        if multiply_overflows(value, -op.factor, &value):
            status[0] = OUT_OF_RANGE
    if op.size == 32 and status[0] == OK and (value > INT32_MAX or value < INT32_MIN):
        status[0] = OUT_OF_RANGE
    return value


cdef Status read_float(const Input *column, int64_t index, float *value) noexcept nogil:
    cdef double wide
    if column.width == 4:
        value[0] = (<const float *>column.data)[index]
        return OK
    wide = (<const double *>column.data)[index]
    value[0] = <float>wide
    # A NaN is not equal to itself, and keeps being one.
    return OK if <double>value[0] == wide or wide != wide else INEXACT


cdef bint fits(const Op *op, const Input *column, int64_t index) noexcept nogil:
    """Tell whether a branch of a union of two number types holds a value exactly."""
    cdef Status status
    cdef float real
    if op.code == PUT_INTEGER or op.code == PUT_INT:
        read_integer(op, column, index, &status)
        return status == OK
    if op.code == PUT_FLOAT:
        return read_float(column, index, &real) == OK
    return True


cdef uint8_t *write_decimal(
    const Op *op, const Input *column, int64_t index, uint8_t *out, Status *status
) noexcept nogil:
    cdef uint8_t slot[40]
    cdef uint8_t digits[40]
    cdef const uint8_t *value = column.data + index * column.width
    cdef int words = column.width >> 3
    cdef int64_t size
    if column.offsets != NULL:
        size = start_of(column, index)
        return write_decimal_text(op, column.data + size, start_of(column, index + 1) - size, out, status)
    if words == 2 and op.precision > 38:
        memcpy(slot, value, 16)
        store_le64(slot + 16, 0 if value[15] < 0x80 else 0xFFFFFFFFFFFFFFFFULL)
        store_le64(slot + 24, 0 if value[15] < 0x80 else 0xFFFFFFFFFFFFFFFFULL)
        value = slot
        words = 4
    # A slot holds 76 digits, though the schema may allow more.
    status[0] = decimal_rescale(value, words, op.factor, min(op.precision, 76), slot)
    if status[0] != OK:
        return out
    if op.size:
        status[0] = decimal_to_fixed(slot, words, out, op.size)
        return out + op.size
    size = decimal_to_bytes(slot, words, digits)
    out = write_varint(out, <uint64_t>size << 1)
    memcpy(out, digits, 32)
    return out + size


cdef uint8_t *write_decimal_text(
    const Op *op, const uint8_t *text, int64_t size, uint8_t *out, Status *status
) noexcept nogil:
    """Write a decimal that is too wide for a column of decimals."""
    cdef decimal_number number
    cdef size_t take
    cdef size_t zeros
    cdef size_t length
    cdef uint8_t *place = out + op.size + VARINT
    status[0] = decimal_parse(<const char *>text, size, op.scale, op.precision, &number, &take, &zeros)
    if status[0] != OK:
        return out
    # The length stands before the digits, but is known after them: they are written further on, and moved.
    length = decimal_number_to_bytes(&number, take, zeros, place)
    if op.size:
        status[0] = decimal_resize(place, length, out, op.size)
        return out + op.size
    out = write_varint(out, <uint64_t>length << 1)
    memmove(out, place, length)
    return out + length


cdef int32_t find_symbol(const Op *op, const uint8_t *text, int64_t size) noexcept nogil:
    cdef const int32_t *table = op.table
    cdef int32_t symbol = table[1 + (symbol_hash(text, size) & table[0])]
    while symbol:
        if op.texts[symbol - 1].size == size and memcmp(op.texts[symbol - 1].data, text, size) == 0:
            return symbol - 1
        symbol = table[1 + table[0] + symbol]
    return -1


cdef uint8_t *put(
    Context *context, const Op *first, const Op *stop, int64_t index, int64_t count, uint8_t *out
) noexcept nogil:
    """Run a range of ops for `count` values of a scope, the first at `index`; return the position, or NULL."""
    cdef const Input *columns = context.columns
    cdef const Op *op
    cdef const Input *column
    cdef const uint8_t *source
    cdef const int32_t *offsets
    cdef int32_t branch
    cdef int64_t value
    cdef int64_t length
    cdef int64_t begin
    cdef float real
    cdef double wide
    cdef uint32_t word
    cdef Status status
    while count > 0:
        op = first
        while op != stop:
            column = <const Input *>(<const char *>columns + op.place)
            if op.code == PUT_TEXT:
                offsets = <const int32_t *>column.offsets + index
                length = offsets[1] - offsets[0]
                source = column.data + offsets[0]
                if likely(length < 32) and likely(column.limit - source >= 32):
                    out[0] = <uint8_t>(length << 1)
                    copy32(out + 1, source)
                    out += 1
                else:
                    out = write_varint(out, <uint64_t>length << 1)
                    memcpy(out, source, length)
                out += length
                op += 1
            elif op.code == PUT_BYTES or op.code == PUT_STRING:
                begin = start_of(column, index)
                length = start_of(column, index + 1) - begin
                source = column.data + begin
                if op.code == PUT_STRING and not utf8_valid(source, length):
                    return fail(context, INVALID_UTF8, op, index)
                out = write_varint(out, <uint64_t>length << 1)
                memcpy(out, source, length)
                out += length
                op += 1
            elif op.code == PUT_LONG:
                out = write_varint(out, zigzag64((<const int64_t *>column.data)[index]))
                op += 1
            elif op.code == PUT_INT:
                out = write_varint(out, zigzag64((<const int32_t *>column.data)[index]))
                op += 1
            elif op.code == PUT_NULLABLE or op.code == PUT_NULLABLE_TEXT or op.code == PUT_NULLABLE_DOUBLE:
                # The common forms, without a branch on what is random: whether there is a value.
                if op.code == PUT_NULLABLE_TEXT:
                    offsets = <const int32_t *>column.offsets + index
                    source = column.data + offsets[0]
                    length = offsets[1] - offsets[0]
                    if likely(length < 32) and likely(column.limit - source >= 32):
                        value = is_valid(column, index)
                        out[0] = <uint8_t>((value ^ op.size) << 1)
                        out[1] = <uint8_t>(length << 1)
                        copy32(out + 2, source)
                        out += 1 + ((1 + length) & -value)
                        op += op.next
                        continue
                elif op.code == PUT_NULLABLE_DOUBLE:
                    value = is_valid(column, index)
                    out[0] = <uint8_t>((value ^ op.size) << 1)
                    store_le64(out + 1, (<const uint64_t *>column.data)[index])
                    out += 1 + ((<int64_t>8) & -value)
                    op += op.next
                    continue
                if is_valid(column, index):
                    out[0] = <uint8_t>(2 - 2 * op.size)
                    op += 1
                else:
                    out[0] = <uint8_t>(2 * op.size)
                    op += op.next
                out += 1
            elif op.code == PUT_DOUBLE:
                if column.width == 8:
                    store_le64(out, (<const uint64_t *>column.data)[index])
                else:
                    wide = (<const float *>column.data)[index]
                    memcpy(&value, &wide, 8)
                    store_le64(out, value)
                out += 8
                op += 1
            elif op.code == PUT_ENUM:
                begin = start_of(column, index)
                branch = find_symbol(op, column.data + begin, start_of(column, index + 1) - begin)
                if unlikely(branch < 0):
                    return fail(context, UNKNOWN_SYMBOL, op, index)
                out = write_varint(out, <uint64_t>branch << 1)
                op += 1
            elif op.code == PUT_DECIMAL:
                out = write_decimal(op, column, index, out, &context.status)
                if unlikely(context.status != OK):
                    return fail(context, context.status, op, index)
                op += 1
            elif op.code == PUT_BOOLEAN:
                value = index + column.first
                out[0] = (column.data[value >> 3] >> (value & 7)) & 1
                out += 1
                op += 1
            elif op.code == PUT_ARRAY or op.code == PUT_MAP:
                begin = start_of(column, index)
                length = start_of(column, index + 1) - begin
                if length:
                    out = write_varint(out, <uint64_t>length << 1)
                    out = put(context, op + 1, op + op.next, begin, length, out)
                    if unlikely(out == NULL):
                        if context.trail_size < TRAIL:
                            context.trail_items[context.trail_size] = context.item - begin
                            context.trail_size += 1
                        context.item = index
                        return NULL
                out[0] = 0
                out += 1
                op += op.next
            elif op.code == PUT_INTEGER:
                value = read_integer(op, column, index, &context.status)
                if unlikely(context.status != OK):
                    return fail(context, context.status, op, index)
                out = write_varint(out, zigzag64(value))
                op += 1
            elif op.code == PUT_FLOAT:
                status = read_float(column, index, &real)
                if unlikely(status != OK):
                    return fail(context, status, op, index)
                memcpy(&word, &real, 4)
                store_le32(out, word)
                out += 4
                op += 1
            elif op.code == PUT_FIXED:
                if column.offsets == NULL:
                    source = column.data + index * column.width
                    length = column.width
                else:
                    begin = start_of(column, index)
                    source = column.data + begin
                    length = start_of(column, index + 1) - begin
                if unlikely(length != op.size):
                    return fail(context, FIXED_SIZE, op, index)
                memcpy(out, source, length)
                out += length
                op += 1
            elif op.code == PUT_UNION:
                branch = choose(context, op, column, index)
                if unlikely(context.status != OK):
                    return fail(context, context.status, op, index)
                out = write_varint(out, <uint64_t>branch << 1)
                op = context.ops + op.table[3 * branch + 2]
            elif op.code == DO_JUMP:
                op += op.next
            elif op.code == PUT_REQUIRED:
                if not is_valid(column, index):
                    return fail(context, NULL_VALUE, op, index)
                op += 1
            elif op.code == PUT_DEFAULT:
                memcpy(out, op.texts[0].data, op.texts[0].size)
                out += op.texts[0].size
                op += 1
            else:  # DO_FAIL
                return fail(context, <Status>op.status, op, index)
        index += 1
        count -= 1
    return out


cdef int32_t choose(
    Context *context, const Op *op, const Input *column, int64_t index
) noexcept nogil:
    """Choose the branch of a union that holds a value."""
    cdef bint present = is_valid(column, index)
    cdef int32_t branch
    cdef int32_t chosen = -1
    cdef const int32_t *entry
    cdef const Op *body
    context.status = OK
    for branch in range(op.size):
        entry = &op.table[3 * branch]
        if entry[0] == IF_ABSENT:
            if not present:
                return branch
        elif not present:
            continue
        elif entry[0] == IF_MEMBER:
            if is_valid(&context.columns[entry[1]], index):
                if chosen >= 0:
                    context.status = UNION_MEMBERS
                    return -1
                chosen = branch
        else:
            # Numbers of different width: the first that holds the value.
            body = &context.ops[entry[2]]
            chosen = branch
            if fits(body, &context.columns[body.column], index):
                return branch
    if chosen < 0:
        context.status = UNION_MEMBERS if present else NULL_VALUE
    return chosen


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


cdef Answer advance(
    Context *context, Inputs inputs, Output *output, const int64_t *costs, const Op *first, const Op *stop,
    const uint8_t *prefix, int64_t prefix_size
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
        if context == NULL or costs == NULL:
            raise MemoryError
        for at in range(inputs.count):
            costs[at] = program.costs[at]
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
                answer = advance(context, inputs, &output, costs, first, last, before, before_size)
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
                # A few large rows are no guide to the rest.
                guess = <int64_t>(1.02 * output.used / output.row * rows) + 2 * output.needed
                room = max(room, min(guess, 8 * room))
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
