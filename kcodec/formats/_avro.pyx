"""Avro binary to columns: the row loop.

Wire forms::

    null                    nothing
    boolean                 00 | 01
    int, long, enum, union  zigzag varint (of the value, symbol index, branch index)
    float, double           4 | 8 bytes, little-endian
    bytes, string           long length | bytes
    fixed                   bytes
    array, map              blocks, ended by a count of 0:  long count | items
                            or, for skipping:               long -count | long bytes | items
    record                  its fields

The ops of a program (kcodec/plan/program.pyx) store into columns that have room for all a block of rows can hold
(kcodec/columns/_builder.pyx), so storing is never checked; what can yield more than it takes from the wire is
counted against `Context.room` instead. A row that fails is written over with null.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from kcodec.columns._builder cimport Builder, Column, set_null
from kcodec.columns._compact cimport drop_earlier_duplicates
from kcodec.columns._rows cimport Rows, Slice
from kcodec.formats._avro_context cimport Context, charge, charge_zero_items, fail, leave
from kcodec.formats._avro_leaf cimport read_leaf
from kcodec.formats._avro_skip cimport skip
from kcodec.plan.program cimport (
    TEXT_MARGIN, DO_ABSENT_TEXT, DO_ARRAY, DO_BOOLEAN, DO_BYTES, DO_CONSTANT, DO_DEFAULT, DO_DOUBLE, DO_ENUM, DO_FAIL,
    DO_INT, DO_INT_TO_LONG, DO_JUMP, DO_LONG, DO_MAP, DO_NULLABLE, DO_NULLABLE_DOUBLE, DO_NULLABLE_LONG,
    DO_NULLABLE_TEXT, DO_PRESENT, DO_SKIP, DO_STRING, DO_UNION, Op, Program as Compiled,
)
from kcodec.wire.cursor cimport (
    copy32, ctz64, gather7, likely, load_le64, multiply_overflows, read_length, read_short64, read_varint32,
    read_varint64, unlikely, unzigzag32, unzigzag64,
)
from kcodec.wire.status cimport (
    BLOCK_COUNT, BLOCK_SIZE, ENUM_INDEX, INVALID_BOOLEAN, INVALID_UTF8, NEED_ROOM, NEGATIVE_LENGTH,
    NO_MEMORY, OK, OUT_OF_RANGE, TRAILING_BYTES, TRUNCATED, UNION_INDEX, UNRESOLVABLE,
    Status,
)
from kcodec.wire.utf8 cimport utf8_valid

from kcodec.errors import CODES, Fault

__all__ = ["Program", "decode", "encode"]

from kcodec.formats._avro_encode import encode
from kcodec.plan.node import MAX_DEPTH
from kcodec.plan.program import Program

_CODES = list(CODES)

ctypedef fused offset_t:
    int32_t
    int64_t

cdef enum:
    BLOCK_ROWS = 512          # rows of a block, at most
    BLOCK_BYTES = 1 << 16     # and when its payloads hold this much, it is full


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


cdef inline void copy(uint8_t *target, const uint8_t *source, int64_t size, const uint8_t *limit) noexcept nogil:
    """Copy text or bytes of a moderate size 32 bytes at a time; both sides have room for that."""
    cdef int64_t at = 32
    if likely(size <= 32 and limit - source >= 32):
        copy32(target, source)
        return
    if size > 128 or limit - source < 160:
        memcpy(target, source, size)
        return
    copy32(target, source)
    while at < size:
        copy32(target + at, source + at)
        at += 32


cdef const uint8_t *run(
    Context *context, const Op *first, const Op *stop, int64_t index, int64_t count, const uint8_t *p, offset_t *tag
) noexcept nogil:
    """Run a range of ops for `count` values of a scope, the first at `index`; return the position, or NULL."""
    cdef Column *columns = context.columns
    cdef const Op *op
    cdef Column *column
    cdef const uint8_t *end = context.end
    cdef const uint8_t *limit = context.limit
    cdef const uint8_t *at
    cdef const uint8_t *start
    cdef const uint8_t *outer_end
    cdef const uint8_t *outer_limit
    cdef offset_t *offsets
    cdef int32_t *offsets32
    cdef int32_t branch
    cdef uint32_t word
    cdef uint64_t raw
    cdef uint64_t stops
    cdef int64_t value
    cdef int64_t length
    cdef int64_t items
    cdef int64_t begin
    cdef int64_t size
    cdef int64_t present
    cdef Status status
    cdef bint sized

    while count > 0:
        op = first
        while op != stop:
            column = <Column *>(<char *>columns + op.place)
            at = p
            if op.code == DO_STRING or op.code == DO_BYTES:
                offsets = <offset_t *>column.offsets + index
                if likely(limit - p >= 33) and (p[0] & 0xC1) == 0:
                    # The length is one byte and at most 31.
                    length = p[0] >> 1
                    p += 1
                    if unlikely(length > end - p):
                        return fail(context, TRUNCATED, op, at if at >= end else p, index)
                    copy32(column.data + offsets[0], p)
                else:
                    status = read_length(&p, end, &length)
                    if unlikely(status != OK):
                        return fail(context, status, op, at, index)
                    if unlikely(length < 0):
                        return fail(context, NEGATIVE_LENGTH, op, at, index)
                    if unlikely(length > end - p):
                        return fail(context, TRUNCATED, op, p, index)
                    copy(column.data + offsets[0], p, length, limit)
                if unlikely(context.checked) and op.code == DO_STRING and not utf8_valid(p, length):
                    return fail(context, INVALID_UTF8, op, p, index)
                offsets[1] = offsets[0] + <offset_t>length
                p += length
                op += 1
            elif op.code == DO_LONG:
                status = read_varint64(&p, end, limit, &raw)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                if unlikely(multiply_overflows(unzigzag64(raw), op.factor, &value)):
                    return fail(context, OUT_OF_RANGE, op, at, index)
                (<int64_t *>column.data)[index] = value
                op += 1
            elif op.code == DO_INT or op.code == DO_INT_TO_LONG:
                status = read_varint32(&p, end, limit, &word)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                if op.code == DO_INT:
                    (<int32_t *>column.data)[index] = unzigzag32(word)
                else:
                    (<int64_t *>column.data)[index] = unzigzag32(word) * op.factor
                op += 1
            elif op.code == DO_DOUBLE:
                if unlikely(end - p < 8):
                    return fail(context, TRUNCATED, op, p, index)
                (<uint64_t *>column.data)[index] = load_le64(p)
                p += 8
                op += 1
            elif op.code == DO_NULLABLE_TEXT or op.code == DO_NULLABLE_DOUBLE or op.code == DO_NULLABLE_LONG \
                    or op.code == DO_NULLABLE:
                if likely(end > p) and (p[0] & 0xFD) == 0:
                    branch = p[0] >> 1
                    present = branch ^ op.size
                    # The common forms, without a branch on what is random: whether there is a value.
                    if op.code == DO_NULLABLE_TEXT:
                        if likely(limit - p >= 34):
                            length = p[1] & -present
                            if likely((length & 0xC1) == 0):
                                length >>= 1
                                if likely(1 + present + length <= end - p):
                                    offsets = <offset_t *>column.offsets + index
                                    copy32(column.data + offsets[0], p + 2)
                                    p += 1 + present
                                    if unlikely(context.checked) and not utf8_valid(p, length):
                                        return fail(context, INVALID_UTF8, op + 1, p, index)
                                    offsets[1] = offsets[0] + <offset_t>length
                                    column.valid[index] = <uint8_t>present
                                    p += length
                                    op += op.next
                                    continue
                    elif op.code == DO_NULLABLE_DOUBLE:
                        if likely(end - p >= 9):
                            (<uint64_t *>column.data)[index] = load_le64(p + 1) & <uint64_t>(-present)
                            column.valid[index] = <uint8_t>present
                            p += 1 + (present << 3)
                            op += op.next
                            continue
                    elif op.code == DO_NULLABLE_LONG:
                        if likely(limit - p >= 9):
                            raw = load_le64(p + 1)
                            stops = ~raw & 0x8080808080808080ULL
                            if likely(stops != 0):
                                size = ((ctz64(stops) >> 3) + 1) & -present
                                value = unzigzag64(gather7(raw & (stops ^ (stops - 1)))) & -present
                                if likely(1 + size <= end - p) \
                                        and likely(not multiply_overflows(value, op.factor, &value)):
                                    (<int64_t *>column.data)[index] = value
                                    column.valid[index] = <uint8_t>present
                                    p += 1 + size
                                    op += op.next
                                    continue
                    p += 1
                else:
                    status = read_short64(&p, end, &raw)
                    if unlikely(status != OK):
                        return fail(context, status, op, at, index)
                    if unlikely(raw != 0 and raw != 2):
                        return fail(context, UNION_INDEX, op, at, index)
                    present = <int64_t>(raw >> 1) ^ op.size
                if present:
                    if column.valid != NULL:
                        column.valid[index] = 1
                    op += 1
                else:
                    set_null(columns, op.column, index, offset_t is int64_t)
                    op += op.next
            elif op.code == DO_BOOLEAN:
                if unlikely(p >= end):
                    return fail(context, TRUNCATED, op, p, index)
                if unlikely(p[0] > 1):
                    return fail(context, INVALID_BOOLEAN, op, p, index)
                column.data[index] = p[0]
                p += 1
                op += 1
            elif op.code == DO_ENUM:
                status = read_varint32(&p, end, limit, &word)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                branch = unzigzag32(word)
                if unlikely(branch < 0 or branch >= op.size):
                    return fail(context, ENUM_INDEX, op, at, index)
                start = op.texts[branch].data
                length = op.texts[branch].size
                if unlikely(start == NULL):
                    return fail(context, UNRESOLVABLE, op, at, index)
                status = charge(context, length)
                if unlikely(status != OK):
                    return fail(context, status, op, p, index)
                offsets = <offset_t *>column.offsets + index
                copy(column.data + offsets[0], start, length, start + length + TEXT_MARGIN)
                offsets[1] = offsets[0] + <offset_t>length
                op += 1
            elif op.code == DO_ARRAY or op.code == DO_MAP:
                offsets = <offset_t *>column.offsets + index
                offsets32 = <int32_t *>column.offsets + index
                begin = offsets32[0] if op.code == DO_MAP else offsets[0]
                items = begin
                while True:
                    at = p
                    status = read_length(&p, end, &length)
                    if unlikely(status != OK):
                        return fail(context, status, op, at, index)
                    if length == 0:
                        break
                    sized = length < 0
                    start = at
                    if sized:
                        if length == INT64_MIN:
                            return fail(context, BLOCK_COUNT, op, at, index)
                        length = -length
                        start = p
                        status = read_length(&p, end, &size)
                        if unlikely(status != OK):
                            return fail(context, status, op, start, index)
                        if unlikely(size < 0 or size > end - p):
                            return fail(context, BLOCK_SIZE, op, start, index)
                        size += p - end    # where the block must end, counted from the end of the payload
                    if unlikely(op.minimum == 0):
                        status = charge_zero_items(context, length)
                        if status != OK:
                            return fail(context, status, op, at, index)
                    p = run(context, op + 1, op + op.next, items, length, p, tag)
                    if unlikely(p == NULL):
                        leave(context, op, context.item - begin, index)
                        return NULL
                    if sized and p - end != size:
                        return fail(context, BLOCK_SIZE, op, start, index)
                    items += length
                if op.code == DO_MAP:
                    if items - begin > 1:
                        items = drop_earlier_duplicates(
                            context.columns, op.column, begin, items, offset_t is int64_t
                        )
                        if unlikely(items < 0):
                            return fail(context, NO_MEMORY, op, p, index)
                    offsets32[1] = <int32_t>items
                else:
                    offsets[1] = <offset_t>items
                op += op.next
            elif op.code == DO_PRESENT:
                if column.valid != NULL:
                    column.valid[index] = 1
                op += 1
            elif op.code == DO_ABSENT_TEXT:
                offsets = <offset_t *>column.offsets + index
                offsets[1] = offsets[0]
                if column.valid != NULL:
                    column.valid[index] = 0
                op += 1
            elif op.code == DO_UNION:
                status = read_short64(&p, end, &raw)
                if unlikely(status != OK):
                    return fail(context, status, op, at, index)
                if unlikely((raw & 1) or (raw >> 1) >= <uint64_t>op.size):
                    return fail(context, UNION_INDEX, op, at, index)
                op = context.ops + op.table[raw >> 1]
            elif op.code == DO_JUMP:
                op += op.next
            elif op.code == DO_SKIP:
                p = skip(context, op + 1, op + op.next, 0, 1, p)
                if unlikely(p == NULL):
                    context.item = index
                    return NULL
                op += op.next
            elif op.code == DO_CONSTANT:
                status = charge(context, op.size)
                if unlikely(status != OK):
                    return fail(context, status, op, p, index)
                length = op.texts[0].size
                offsets = <offset_t *>column.offsets + index
                copy(column.data + offsets[0], op.texts[0].data, length, op.texts[0].data + length + TEXT_MARGIN)
                offsets[1] = offsets[0] + <offset_t>length
                op += 1
            elif op.code == DO_DEFAULT:
                status = charge(context, op.size)
                if unlikely(status != OK):
                    return fail(context, status, op, p, index)
                outer_end = end
                outer_limit = limit
                context.end = op.texts[0].data + op.texts[0].size
                context.limit = context.end
                start = run(context, op + 1, op + op.next, index, 1, op.texts[0].data, tag)
                context.end = outer_end
                context.limit = outer_limit
                if unlikely(start == NULL):
                    # A constant is valid: only room can be missing, and that is found where the value would be.
                    context.at = p
                    return NULL
                op += op.next
            elif op.code == DO_FAIL:
                return fail(context, <Status>op.status, op, p, index)
            else:
                p = read_leaf(context, op, column, index, p, offset_t is int64_t)
                if unlikely(p == NULL):
                    return NULL
                op += 1
        index += 1
        count -= 1
    return p


cdef Answer advance(
    State *state, Builder builder, Rows rows, const Op **programs, const int32_t *stops, int32_t program_count,
    const int32_t *selector, const int32_t *starts, int64_t start, const int64_t *divisor, bint trailing
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
        if state.done == 0:
            context.room = state.extra + state.count * state.expansion
            if not builder.has_room(state.row, state.count, state.payload, context.room, divisor):
                return GROW
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


cdef class _Int32Buffer:
    """A buffer of one int32 per row."""

    cdef Py_buffer view
    cdef bint held

    def __cinit__(self, values, int64_t rows, name):
        PyObject_GetBuffer(values, &self.view, PyBUF_SIMPLE)
        self.held = True
        if self.view.len < rows * 4:
            raise ValueError(f"{name} has {self.view.len} bytes for {rows} rows of int32")

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)


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
    cdef State *state = <State *>calloc(1, sizeof(State))
    cdef int32_t count = len(programs)
    cdef const Op **ops = <const Op **>calloc(count, sizeof(Op *))
    cdef int32_t *stops = <int32_t *>calloc(count, sizeof(int32_t))
    cdef int64_t *divisor = <int64_t *>calloc(builder.count, sizeof(int64_t))
    cdef const int32_t *select = NULL
    cdef const int32_t *start_of = NULL
    cdef int64_t start_everywhere = start
    cdef bint accept = trailing
    cdef _Int32Buffer chosen
    cdef _Int32Buffer places
    cdef Answer answer
    cdef int32_t at
    faults = []
    try:
        if state == NULL or ops == NULL or stops == NULL or divisor == NULL:
            raise MemoryError
        if selector is not None:
            chosen = _Int32Buffer(selector, rows.length, "selector")
            select = <const int32_t *>chosen.view.buf
        if starts is not None:
            places = _Int32Buffer(starts, rows.length, "starts")
            start_of = <const int32_t *>places.view.buf
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
        while True:
            with nogil:
                answer = advance(
                    state, builder, rows, ops, stops, count, select, start_of, start_everywhere, divisor, accept
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
