"""Room for the bytes of a block of values, each in a slot of its own.

What is written a column at a time goes to all rows of a block in turn. Each has a slot as large as it can get, and
some bytes more, because moves of a fixed size run over the end of what is written; then rows are put together.

    slots:  | row 0 .... | row 1 .......... | row 2 ... |
              ^ out[0]     ^ out[1]           ^ out[2]        all take one step with each column
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from kcodec.columns.rows._binary cimport BinaryBuilder
from kcodec.columns.written._inputs cimport Input, is_valid, start_of
from kcodec.wire.binary.cursor cimport copy32

cdef enum:
    SLOP = 96   # bytes behind a value that moves of a fixed size may write
    MOVED = 128  # as many bytes as short rows are moved


cdef int64_t position(const Input *columns, int32_t scope, int32_t outer, int64_t index) noexcept nogil:
    """Return the first item of a value of the scope `outer`, through lists in lists."""
    if scope == outer:
        return index
    return start_of(&columns[scope], position(columns, columns[scope].scope, outer, index))


cdef void add_lengths(int32_t *bounds, const int32_t *offsets, int64_t count) noexcept nogil:
    cdef int64_t at
    for at in range(count):
        bounds[at] += offsets[at + 1] - offsets[at]


cdef void add_items(int32_t *bounds, const int32_t *offsets, int32_t cost, int64_t count) noexcept nogil:
    cdef int64_t at
    for at in range(count):
        bounds[at] += (offsets[at + 1] - offsets[at]) * cost


cdef void add_item_lengths(
    int32_t *bounds, const int32_t *offsets, const int32_t *lengths, int64_t count
) noexcept nogil:
    cdef int64_t at
    cdef int32_t here = lengths[offsets[0]]
    for at in range(count):
        bounds[at] -= here
        here = lengths[offsets[at + 1]]
        bounds[at] += here


cdef bint make_room(Slots *slots, int64_t total) noexcept nogil:
    cdef uint8_t *memory
    # An empty row in the last slot is moved as others are.
    cdef int64_t needed = total + MOVED - SLOP
    if needed > slots.room:
        memory = <uint8_t *>realloc(slots.memory, 2 * needed)
        if memory == NULL:
            return False
        slots.memory = memory
        slots.room = 2 * needed
    return True


cdef void write_all(Slots *slots) noexcept nogil:
    """Choose all values as those that are written."""
    cdef int64_t lane
    if not slots.whole:
        for lane in range(LANES):
            slots.lanes[lane] = lane
    slots.whole = True
    slots.written = slots.count


cdef bint make_slots(
    Slots *slots, const Input *columns, const int64_t *costs, int32_t scope, int64_t extra
) noexcept nogil:
    """Reserve room for all that each value of a block can take."""
    cdef const Input *column
    cdef const Input *owner
    cdef int32_t *bounds = slots.bounds
    cdef int64_t row = slots.first
    cdef int64_t count = slots.count
    cdef int64_t fixed = extra + SLOP
    cdef int64_t item
    cdef int64_t next_item
    cdef int32_t total = 0
    cdef int32_t here
    cdef int32_t at
    cdef int32_t below
    cdef int32_t begin = max(scope, 0)
    cdef int32_t end = columns[begin].end
    cdef int64_t lane
    cdef bint text
    cdef bint alike = True
    for at in range(begin, end):
        if columns[at].scope == scope:
            fixed += costs[at]
        alike = alike and (at == scope or columns[at].scope == scope and columns[at].offsets == NULL)
    if alike:
        if slots.step != fixed:
            slots.step = fixed
            for lane in range(LANES):
                bounds[lane] = <int32_t>(lane * fixed)
        return make_room(slots, count * fixed)
    slots.step = 0
    for lane in range(count):
        bounds[lane] = <int32_t>fixed
    for at in range(begin, end):
        column = &columns[at]
        text = column.offsets != NULL and column.data != NULL
        if at == scope:
            continue
        if column.scope == scope:
            if text and not column.wide:
                add_lengths(bounds, <const int32_t *>column.offsets + row, count)
            elif text:
                for lane in range(count):
                    bounds[lane] += <int32_t>(start_of(column, row + lane + 1) - start_of(column, row + lane))
            continue
        owner = &columns[column.scope]
        if owner.scope == scope and not owner.wide and not column.wide:
            if text:
                add_item_lengths(
                    bounds, <const int32_t *>owner.offsets + row, <const int32_t *>column.offsets, count
                )
            if at == column.scope + 1:
                # Items of one list are counted once.
                fixed = SLOP
                for below in range(at, owner.end):
                    if columns[below].scope == column.scope:
                        fixed += costs[below]
                add_items(bounds, <const int32_t *>owner.offsets + row, <int32_t>fixed, count)
            continue
        item = position(columns, column.scope, scope, row)
        for lane in range(count):
            next_item = position(columns, column.scope, scope, row + lane + 1)
            bounds[lane] += <int32_t>((next_item - item) * (costs[at] + SLOP))
            if text:
                bounds[lane] += <int32_t>(start_of(column, next_item) - start_of(column, item))
            item = next_item
    for lane in range(count):
        here = bounds[lane]
        bounds[lane] = total
        total += here
    return make_room(slots, total)


cdef bint begin_rows(
    Slots *slots, const Input *columns, const int64_t *costs, const uint8_t *prefix, int64_t prefix_size
) noexcept nogil:
    """Begin all rows of a block that are not null with a prefix; return whether there is memory."""
    cdef const Input *root = columns
    cdef uint8_t *memory
    cdef uint8_t **outs = slots.out
    cdef const int32_t *bounds = slots.bounds
    cdef uint64_t start = 0
    cdef int64_t count = slots.count
    cdef int64_t written = 0
    cdef int64_t lane
    memcpy(&start, prefix, min(prefix_size, 8))
    if not make_slots(slots, columns, costs, -1, prefix_size):
        return False
    memory = slots.memory
    for lane in range(count if prefix_size else 0):
        # A frame is shorter; to copy as many bytes as a variable says is a call.
        memcpy(memory + bounds[lane], &start, 8)
        if prefix_size > 8:
            memcpy(memory + bounds[lane], prefix, prefix_size)
    if root.validity == NULL and not root.all_null:
        for lane in range(count):
            outs[lane] = memory + prefix_size + bounds[lane]
        write_all(slots)
        return True
    slots.whole = False
    for lane in range(count):
        # A null row has no bytes, and no frame.
        outs[lane] = memory + bounds[lane]
        if is_valid(root, slots.first + lane):
            outs[lane] += prefix_size
            slots.lanes[written] = lane
            written += 1
    slots.written = written
    return True


cdef bint begin_items(Slots *slots, const Input *columns, const int64_t *costs, int32_t scope) noexcept nogil:
    """Begin the items of lists or maps; return whether there is memory."""
    cdef int64_t lane
    if not make_slots(slots, columns, costs, scope, 0):
        return False
    for lane in range(slots.count):
        slots.out[lane] = slots.memory + slots.bounds[lane]
    write_all(slots)
    return True


cdef void append_rows(BinaryBuilder builder, const Slots *slots) noexcept nogil:
    """Move the rows of a block from their slots to the end of the output."""
    cdef const uint8_t *memory = slots.memory
    cdef int32_t most = 0
    cdef int32_t size
    cdef int64_t lane
    if 0 < slots.step <= SLOP + 32:
        most = <int32_t>(slots.step - SLOP)
    else:
        for lane in range(slots.count):
            size = <int32_t>(slots.out[lane] - memory) - slots.bounds[lane]
            most = max(most, size)
    if most <= 16:
        append_all(builder, slots, 16)
    elif most <= 32:
        append_all(builder, slots, 32)
    elif most <= 64:
        append_all(builder, slots, 64)
    elif most <= MOVED:
        append_all(builder, slots, MOVED)
    else:
        append_all(builder, slots, 0)
    set_valid(builder.valid, builder.row, slots)
    builder.nulls += slots.count - slots.written
    builder.row += slots.count


cdef inline void append_all(BinaryBuilder builder, const Slots *slots, int64_t most) noexcept nogil:
    """Do so for rows of at most so many bytes, 16, 32, 64 or MOVED; 0: of any size."""
    # What is stored might be these as well, for all the compiler knows; it would load them again for each row.
    cdef uint8_t *data = builder.data
    cdef int32_t *offsets32 = builder.offsets32
    cdef int64_t *offsets64 = builder.offsets64
    cdef const uint8_t *memory = slots.memory
    cdef uint8_t *out = data + builder.used
    cdef const uint8_t *source
    cdef int64_t first = builder.row
    cdef int64_t size
    cdef int64_t lane
    cdef int64_t part
    for lane in range(slots.count):
        source = memory + slots.bounds[lane]
        size = slots.out[lane] - source
        if most == 16:
            memcpy(out, source, 16)
        elif most:
            # Rather than to guess how often, for each row.
            for part in range(0, most, 32):
                copy32(out + part, source + part)
        else:
            move(out, source, size)
        out += size
        if offsets64 != NULL:
            offsets64[first + lane + 1] = out - data
        else:
            offsets32[first + lane + 1] = <int32_t>(out - data)
    builder.used = out - data


cdef inline void set_valid(uint8_t *valid, int64_t first, const Slots *slots) noexcept nogil:
    """Set the bits of the rows that are written; `first` is that of the block."""
    cdef int64_t at = 0
    cdef int64_t row
    if slots.written == slots.count and first & 7 == 0:
        at = slots.count & ~<int64_t>7
        memset(valid + (first >> 3), 0xff, at >> 3)
    for at in range(at, slots.written):
        row = first + slots.lanes[at]
        valid[row >> 3] |= <uint8_t>(1 << (row & 7))
