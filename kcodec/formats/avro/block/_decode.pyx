"""Blocks of rows to columns, a column at a time.

A row loop asks of every value which op it is, and guesses wrong after each list and null, because what came before
is never the same; and it cannot start on a value before it knows how long the one before is. Here one op runs for
all rows of a block before the next one does: it is asked once, what is random is computed rather than branched on,
and the rows do not wait for each other.

    payloads:  | row 0 .... | row 1 .......... | row 2 ... |
                    ^ at[0]       ^ at[1]           ^ at[2]     all take one step with each op

Lists take their items in step too: the first items of all rows, then the second ones. Fixed-width values are stored
where they belong. Text is copied at once if all rows of the block have it, in order; what belongs to items, or to a
branch that only some rows take, is noted, and copied in order when all of it is known.

Nothing is reported from here. A row that is not as expected is marked as odd and left out from there on, and what it
has stored is taken out in the end; the row loop finds out what it is (_kernel.pyx). Where that is too much to undo, the
attempt ends, and the row loop runs the block again. So what has been stored until then does no harm.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from kcodec.columns.built._builder cimport Builder
from kcodec.columns.built._column cimport BLOB, LIST, MAP, TEXT, Column, offset_at, offset_t
from kcodec.columns.built._compact cimport drop_earlier_duplicates, empty_column, may_repeat, set_offset
from kcodec.columns.rows._rows cimport SLACK, Slice
from kcodec.formats.avro.block._fixed cimport (
    is_empty, is_fixed, read_decimals, read_nullables, read_reals, repeat_default, set_nulls,
)
from kcodec.formats.avro.block._lanes cimport (
    DEPTH, ITEMS, LANES, PROGRAMS, Block, leave_out, reject, without_odd,
)
from kcodec.formats.avro.block._programs cimport has_list, same_ops
from kcodec.formats.avro.block._skip cimport end_lists, short_lists, sized_lists, skip_lanes
from kcodec.formats.avro.block._text cimport (
    IN_PLACE, NOTED, UNTOUCHED, note, place, read_nullable_texts, read_symbols, read_texts,
)
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._leaf cimport read_leaf
from kcodec.formats.avro.rows._program cimport *
from kcodec.formats.avro.rows._row cimport run
from kcodec.plan._budget cimport begin_row, charge
from kcodec.wire.binary.cursor cimport has_pext, likely, read_branch, unlikely
from kcodec.wire.binary.status cimport NEED_ROOM, NO_MEMORY, OK, SIZE_LIMIT
from kcodec.wire.binary.varint_lanes cimport (
    read_ints, read_ints_as_longs, read_longs, read_nullable_ints, read_nullable_longs,
)


cdef enum:
    MAX_TEXTS = 1 << 20       # that may be noted in a block, of all columns together


cdef class BlockMemory:
    """What `read_block` works with, for one call; without `texts` there are too many columns for that."""

    def __cinit__(self, Builder builder):
        cdef int32_t at
        cdef int64_t size = 0
        cdef Block *block
        self.block = block = <Block *>calloc(1, sizeof(Block))
        if block == NULL:
            raise MemoryError
        block.texts = <Text **>calloc(builder.count, sizeof(Text *))
        block.first = <int64_t *>calloc(builder.count, sizeof(int64_t))
        block.noted = <uint8_t *>calloc(builder.count, 1)
        block.pext = has_pext()
        for at in range(builder.count):
            if builder.columns[at].kind == TEXT or builder.columns[at].kind == BLOB:
                size += LANES if builder.columns[at].scope < 0 else ITEMS
        if block.texts == NULL or block.first == NULL or block.noted == NULL:
            raise MemoryError
        if size > MAX_TEXTS:
            return
        self.texts = <Text *>malloc(size * sizeof(Text) + 1)
        if self.texts == NULL:
            raise MemoryError
        size = 0
        for at in range(builder.count):
            if builder.columns[at].kind == TEXT or builder.columns[at].kind == BLOB:
                block.texts[at] = self.texts + size
                size += LANES if builder.columns[at].scope < 0 else ITEMS

    def __dealloc__(self):
        if self.block != NULL:
            free(self.block.texts)
            free(self.block.first)
            free(self.block.noted)
            free(self.block.alike)
        free(self.block)
        free(self.texts)


cdef bint read_block(
    Block *block, Builder builder, Slice *slices, const Op **programs, const int32_t *stops, int32_t program_count,
    const int32_t *selector, const int32_t *starts, bint trailing
) noexcept nogil:
    """Decode `block.count` rows from `block.row` on, leaving out odd ones; return False if that is not possible."""
    if builder.wide:
        return read_all(
            block, builder, slices, programs, stops, program_count, selector, starts, trailing, <int64_t *>NULL
        )
    return read_all(
        block, builder, slices, programs, stops, program_count, selector, starts, trailing, <int32_t *>NULL
    )


cdef bint read_all(
    Block *block, Builder builder, Slice *slices, const Op **programs, const int32_t *stops, int32_t program_count,
    const int32_t *selector, const int32_t *starts, bint trailing, offset_t *tag
) noexcept nogil:
    cdef Context *context = block.context
    cdef Column *columns = builder.columns
    cdef Column *column
    cdef int32_t used[PROGRAMS]
    cdef int32_t chosen[LANES]          # per row, which of the programs used
    cdef int64_t lanes[PROGRAMS][LANES]
    cdef int64_t counts[PROGRAMS]
    cdef int64_t absent[LANES]
    cdef int64_t absent_count = 0
    cdef const Op *heads[PROGRAMS]
    cdef const Op *op
    cdef int32_t used_count = 0
    cdef int32_t program = 0
    cdef int32_t at
    cdef const Slice *slice
    cdef int64_t lane
    cdef int64_t begin
    cdef int64_t count = 0
    cdef bint at_end
    cdef uint64_t left = 0
    cdef int64_t row = block.row
    begin_row(&context.budget)
    block.depth = 0
    block.whole = block.whole and block.rejected == 0
    block.rejected = 0
    block.turn += 1
    memset(block.odd, 0, block.count)
    memset(block.noted, UNTOUCHED, builder.count)
    for lane in range(block.count):
        block.rows[lane] = row + lane
    if columns[0].valid != NULL:
        # Null rows are marked at the end, which spares the loops a branch for each row.
        memset(columns[0].valid + block.row, 1, block.count)
    if selector == NULL and starts == NULL and program_count and programs[0] != NULL:
        used[0] = 0
        count = block.count
        for lane in range(0 if block.whole else LANES):
            block.lanes[lane] = lane
        block.whole = block.placed
        if not block.placed:
            count = 0
            for lane in range(block.count):
                slice = &slices[lane]
                block.at[lane] = slice.start
                block.end[lane] = slice.end
                block.lanes[count] = lane
                if slice.start == NULL:
                    leave_out(block, lane)
                    absent[absent_count] = lane
                    absent_count += 1
                elif slice.limit - slice.end < SLACK:
                    return False
                else:
                    count += 1
        used_count = count > 0
    else:
        block.whole = False
        for lane in range(block.count):
            # Rows of several programs come in any order: a branch on which one it is would be foreseen wrongly.
            program = -1 if slices[lane].start == NULL else 0 if selector == NULL else selector[block.row + lane]
            if likely(0 <= program < program_count):
                # Programs that do the same count as one: each further one would be another pass over the block.
                program = block.alike[program]
            else:
                program = -1
            if unlikely(program < 0 or programs[program] == NULL):
                leave_out(block, lane)
                absent[absent_count] = lane
                absent_count += 1
                continue
            if unlikely(block.met[program] != block.turn):
                if used_count == PROGRAMS:
                    return False
                block.met[program] = block.turn
                block.slots[program] = used_count
                used[used_count] = program
                used_count += 1
            chosen[lane] = block.slots[program]
            begin = 0 if starts == NULL else starts[block.row + lane]
            if slices[lane].limit - slices[lane].end < SLACK:
                return False
            if begin < 0 or begin > slices[lane].end - slices[lane].start:
                reject(block, lane)
                leave_out(block, lane)
                block.failed[lane] = -1
                continue
            block.at[lane] = slices[lane].start + begin
            block.end[lane] = slices[lane].end
            block.lanes[count] = lane
            count += 1
    if count:
        # Payloads mostly stand behind each other, and those of the next block where these end.
        block.ahead = block.end[block.lanes[count - 1]] - block.at[block.lanes[0]]
    if used_count == 1:
        program = used[0]
        count = run_lanes(
            block, columns, programs[program], programs[program] + stops[program], programs[program], block.lanes,
            count, block.rows, True, True, tag
        )
        if count < 0:
            return False
    elif used_count > 1:
        # What all programs do runs for all rows at once, and where they differ each for its rows up to the next list:
        # lists can be read for all rows only.
        for at in range(used_count):
            heads[at] = programs[used[at]]
        while True:
            op = heads[0]
            while all_same(heads, used, programs, stops, used_count):
                for at in range(used_count):
                    heads[at] += heads[at].next
            if op != heads[0]:
                count = run_lanes(
                    block, columns, op, heads[0], programs[used[0]], block.lanes, count, block.rows, True, True, tag
                )
                if count < 0:
                    return False
            memset(counts, 0, used_count * sizeof(int64_t))
            for lane in range(count):
                at = chosen[block.lanes[lane]]
                lanes[at][counts[at]] = block.lanes[lane]
                counts[at] += 1
            at_end = True
            for at in range(used_count):
                op = heads[at]
                while op != programs[used[at]] + stops[used[at]] and not has_list(op):
                    op += op.next
                at_end = at_end and op == programs[used[at]] + stops[used[at]]
                if op == heads[at]:
                    continue
                if run_lanes(
                    block, columns, heads[at], op, programs[used[at]], lanes[at], counts[at], block.rows, True, False,
                    tag
                ) < 0:
                    return False
                heads[at] = op
            count = without_odd(block, block.lanes, count, 0)
            if at_end:
                break
            if not all_same(heads, used, programs, stops, used_count):
                return False
    if not trailing and count == block.count:
        # Mostly all rows have been read to their ends.
        for lane in range(count):
            left |= <uint64_t>(block.at[lane] - block.end[lane])
    if not trailing and (left or count != block.count):
        for at in range(count):
            lane = block.lanes[at]
            if unlikely(block.at[lane] != block.end[lane]):
                reject(block, lane)
                # Of several programs it is none in particular, and that of the last row may be unknown.
                block.failed[lane] = stops[program] if used_count == 1 else -1
                block.failed_at[lane] = block.at[lane]
    if used_count > 1:
        # A list was read as that of another row's program.
        for at in range(block.rejected):
            block.failed[block.order[at]] = -1
    at = 0
    while at < builder.count:
        column = &columns[at]
        if column.kind == TEXT or column.kind == BLOB:
            if block.noted[at] == UNTOUCHED:
                note(block, at)
            if block.noted[at] == NOTED:
                place(column, block.texts[at], block.row, block.count, tag)
        elif column.kind == LIST or column.kind == MAP:
            if block.noted[at] == UNTOUCHED:
                no_items(column, block.row, block.count, tag)
            at = column.end
            continue
        at += 1
    set_nulls(columns, 0, absent, absent_count, block.rows, offset_t is int64_t)
    return True


cdef bint all_same(
    const Op **heads, const int32_t *used, const Op **programs, const int32_t *stops, int32_t count
) noexcept nogil:
    """Return whether all programs do the same next."""
    cdef int32_t at
    if heads[0] == programs[used[0]] + stops[used[0]]:
        return False
    for at in range(1, count):
        if heads[at] == programs[used[at]] + stops[used[at]] or not same_ops(heads[0], heads[at]):
            return False
    return True


cdef void no_items(Column *column, int64_t row, int64_t count, offset_t *tag) noexcept nogil:
    cdef int64_t at
    for at in range(count):
        if column.kind == MAP:
            (<int32_t *>column.offsets)[row + at + 1] = (<int32_t *>column.offsets)[row]
        else:
            (<offset_t *>column.offsets)[row + at + 1] = (<offset_t *>column.offsets)[row]


cdef bint in_order(Block *block, const Column *columns, const Op *op) noexcept nogil:
    """Return whether rows can be visited in order from here on, for the texts and lists of an op."""
    cdef int32_t at
    cdef int32_t kind
    for at in range(columns[op.column].end - op.column):
        kind = columns[op.column + at].kind
        if kind == TEXT or kind == BLOB or kind == LIST or kind == MAP:
            if block.noted[op.column + at] != UNTOUCHED:
                return False
            block.noted[op.column + at] = IN_PLACE
    return True


cdef inline bint takes_steps(const Op *op) noexcept nogil:
    """Return whether an op takes several steps, so that a row may be rejected half-way."""
    return op.next > 1 or op.code == DO_ENUM or op.code == DO_UNION


cdef inline int32_t value_of(const Op *op) noexcept nogil:
    """Return the only op of what may be null; -1 if that is more, or a record, say, of one field."""
    return op[1].code if op.next == 2 and op[1].place == op.place else -1


cdef int64_t run_lanes(
    Block *block, Column *columns, const Op *op, const Op *stop, const Op *ops, int64_t *lanes, int64_t count,
    const int64_t *index, bint of_rows, bint all_rows, offset_t *tag
) noexcept nogil:
    """Run ops, up to `stop` or the end of a branch, for some rows of the block, each at its index.

    Returns how many lanes are left, which then stand first; -1 ends the attempt. `of_rows`: values belong to
    rows, not to items; `all_rows`: all rows that are read are among the lanes.
    """
    cdef Context *context = block.context
    cdef const uint8_t **ats = block.at
    cdef const uint8_t **ends = block.end
    cdef Column *column
    cdef uint8_t *data
    cdef uint8_t *valid
    cdef const uint8_t *p
    cdef const uint8_t *q
    cdef uint8_t head
    cdef int64_t present_lanes[LANES]
    cdef int64_t absent_lanes[LANES]
    cdef int32_t branches[LANES]
    cdef int64_t chosen_count
    cdef int64_t absent_count
    cdef int64_t at
    cdef int64_t lane
    cdef int64_t present
    cdef int64_t null_branch
    cdef int64_t ahead = block.ahead
    cdef int64_t row
    cdef const int64_t *some           # NULL: these are all rows of the block
    cdef uint64_t raw
    cdef int32_t branch
    cdef int64_t rejected = block.rejected
    if block.depth == DEPTH:
        return -1
    block.depth += 1
    while count and op != stop and op.code != DO_JUMP:
        column = <Column *>(<char *>columns + op.place)
        data = column.data
        valid = column.valid
        some = lanes
        row = 0
        if of_rows and count == block.count:
            some = NULL
            row = block.row
        if block.depth == 1 and takes_steps(op):
            memcpy(block.before, block.at, block.count * sizeof(uint8_t *))
        if op.code == DO_STRING or op.code == DO_BYTES:
            if not read_texts(block, column, op, lanes, count, index, of_rows, all_rows, tag):
                return -1
        elif op.code == DO_LONG:
            block.rejected += read_longs(
                ats, ends, some, count, index, <int64_t *>data + row, op.factor, ahead, block.pext, block.odd,
                block.order + block.rejected
            )
        elif op.code == DO_INT:
            block.rejected += read_ints(
                ats, ends, some, count, index, <int32_t *>data + row, block.pext, block.odd,
                block.order + block.rejected
            )
        elif op.code == DO_INT_TO_LONG:
            block.rejected += read_ints_as_longs(
                ats, ends, some, count, index, <int64_t *>data + row, op.factor, block.pext, block.odd,
                block.order + block.rejected
            )
        elif op.code == DO_DOUBLE or op.code == DO_FLOAT:
            read_reals(block, column, op, some, count, index, row)
        elif op.code == DO_BOOLEAN:
            for at in range(count):
                lane = lanes[at]
                p = ats[lane]
                if unlikely(p == ends[lane]) or unlikely(p[0] > 1):
                    reject(block, lane)
                    continue
                data[index[lane]] = p[0]
                ats[lane] = p + 1
        elif op.code == DO_NULLABLE_DOUBLE:
            read_nullables(block, column, op, 8, some, count, index, row)
        elif op.code == DO_NULLABLE_LONG:
            block.rejected += read_nullable_longs(
                ats, ends, some, count, index, <int64_t *>data + row, valid + row, op.size, op.factor, block.pext,
                block.odd, block.order + block.rejected
            )
        elif op.code == DO_NULLABLE_TEXT:
            if not read_nullable_texts(block, column, op, lanes, count, index, of_rows, all_rows, tag):
                return -1
        elif op.code == DO_NULLABLE and value_of(op) == DO_INT and valid != NULL:
            block.rejected += read_nullable_ints(
                ats, ends, some, count, index, <int32_t *>data + row, valid + row, op.size, block.pext, block.odd,
                block.order + block.rejected
            )
        elif op.code == DO_NULLABLE and value_of(op) == DO_FLOAT and valid != NULL:
            read_nullables(block, column, op, 4, some, count, index, row)
        elif op.code == DO_NULLABLE and value_of(op) == DO_BOOLEAN and valid != NULL:
            read_nullables(block, column, op, 1, some, count, index, row)
        elif op.code == DO_NULLABLE:
            null_branch = op.size
            chosen_count = 0
            absent_count = 0
            for at in range(count):
                lane = lanes[at]
                p = ats[lane]
                head = p[0]
                present = (head >> 1) ^ null_branch
                if unlikely(head & 0xFD) or unlikely(p == ends[lane]):
                    reject(block, lane)
                    continue
                ats[lane] = p + 1
                present_lanes[chosen_count] = lane
                absent_lanes[absent_count] = lane
                chosen_count += present
                absent_count += 1 - present
                if valid != NULL:
                    valid[index[lane]] = <uint8_t>present
            set_nulls(columns, op.column, absent_lanes, absent_count, index, offset_t is int64_t)
            if run_lanes(
                block, columns, op + 1, op + op.next, ops, present_lanes, chosen_count, index, of_rows,
                all_rows and chosen_count == count, tag
            ) < 0:
                return -1
        elif op.code == DO_ENUM or op.code == DO_CONSTANT:
            if not read_symbols(block, column, op, lanes, count, index, of_rows, all_rows, tag):
                return -1
        elif op.code == DO_DECIMAL and column.width == 16 and op.size <= 8:
            read_decimals(block, column, op, lanes, count, index)
        elif op.code == DO_ARRAY or op.code == DO_MAP:
            if not of_rows or not read_lists(block, columns, op, ops, lanes, count, tag):
                return -1
        elif op.code == DO_PRESENT:
            if valid != NULL:
                for at in range(count):
                    valid[index[lanes[at]]] = 1
        elif op.code == DO_UNION:
            for at in range(count):
                lane = lanes[at]
                q = ats[lane]
                if unlikely(read_branch(&q, ends[lane], &raw) != OK) or unlikely(
                    (raw & 1) or (raw >> 1) >= <uint64_t>op.size
                ):
                    reject(block, lane)
                    raw = 2 * op.size
                ats[lane] = q
                branches[at] = <int32_t>(raw >> 1)
            for branch in range(op.size):
                chosen_count = 0
                for at in range(count):
                    present_lanes[chosen_count] = lanes[at]
                    chosen_count += branches[at] == branch
                if run_lanes(
                    block, columns, ops + op.table[branch], NULL, ops, present_lanes, chosen_count, index, of_rows,
                    all_rows and chosen_count == count, tag
                ) < 0:
                    return -1
        elif op.code == DO_SKIP:
            context.ops = ops
            count = skip_lanes(block, op + 1, op + op.next, lanes, count)
            if count < 0:
                return -1
        elif op.code == DO_DEFAULT and is_fixed(op, columns):
            context.ops = ops
            if not repeat_default(context, op, columns, lanes, count, index, tag):
                return -1
        elif op.code == DO_DEFAULT:
            if not of_rows or not in_order(block, columns, op):
                return -1
            if is_empty(op):
                if charge(&context.budget, count * op.size) != OK:
                    return -1
                for at in range(block.count):
                    put_nothing(columns, op.column, block.row + at, offset_t is int64_t)
            elif not run_each(block, columns, op, ops, lanes, count, tag):
                return -1
        elif op.code == DO_FAIL:
            # The columns below would hold items of which nothing is written.
            if not of_rows:
                return -1
            for at in range(count):
                reject(block, lanes[at])
        elif op.code == DO_DECIMAL_TEXT:
            return -1
        elif op.code == DO_ABSENT or op.code == DO_ABSENT_TEXT:
            if op.code == DO_ABSENT_TEXT and of_rows:
                note(block, op.column)
            set_nulls(columns, op.column, lanes, count, index, offset_t is int64_t)
        else:
            for at in range(count):
                lane = lanes[at]
                context.end = ends[lane]
                context.limit = ends[lane] + SLACK
                p = read_leaf(context, op, column, index[lane], ats[lane], offset_t is int64_t)
                if unlikely(p == NULL):
                    reject(block, lane)
                    continue
                ats[lane] = p
        if unlikely(block.rejected != rejected):
            if block.depth == 1:
                keep_place(block, op, ops, rejected)
            count = without_odd(block, lanes, count, rejected)
            rejected = block.rejected
        op += op.next
    block.depth -= 1
    return count


cdef void keep_place(Block *block, const Op *op, const Op *ops, int64_t since) noexcept nogil:
    """Note the op that rejected rows, except the first so many rows, and where its bytes begin."""
    cdef bint stepped = takes_steps(op)
    cdef int64_t turn
    cdef int64_t lane
    for turn in range(since, block.rejected):
        lane = block.order[turn]
        block.failed[lane] = <int32_t>(op - ops)
        block.failed_at[lane] = block.before[lane] if stepped else block.at[lane]


cdef bint read_lists(
    Block *block, Column *columns, const Op *op, const Op *ops, int64_t *lanes, int64_t count, offset_t *tag
) noexcept nogil:
    """Read the lists, or maps, of some rows; return False if they cannot be read together."""
    cdef Column *column = <Column *>(<char *>columns + op.place)
    cdef const uint8_t **ats = block.at
    cdef const uint8_t **ends = block.end
    cdef int64_t *items = block.items
    cdef int64_t counts[LANES]
    cdef const uint8_t *stops[LANES]
    cdef int64_t active[LANES]
    cdef int64_t at
    cdef int64_t lane
    cdef int64_t chosen_count
    cdef int64_t length
    cdef int64_t total
    cdef int64_t begin
    cdef int64_t step = 0
    cdef int64_t rejected = block.rejected
    cdef int32_t child
    cdef bint nested = False
    cdef bint some_absent = False
    cdef bint sized = False
    if block.noted[op.column] != UNTOUCHED:
        return False
    block.noted[op.column] = IN_PLACE
    begin = (<int32_t *>column.offsets)[block.row] if op.code == DO_MAP else (<offset_t *>column.offsets)[block.row]
    if count != block.count:
        memset(counts, 0, block.count * sizeof(int64_t))
    for child in range(op.column + 1, column.end):
        # Where one ends is counted from the item before, also where there is none.
        if columns[child].kind == LIST or columns[child].kind == MAP:
            nested = True
    for at in range(1, op.next):
        if op[at].code == DO_DEFAULT and not is_fixed(op + at, columns):
            nested = True
        elif (
            op[at].code == DO_NULLABLE or op[at].code == DO_UNION or op[at].code == DO_MEMBER
            or op[at].code == DO_ABSENT or op[at].code == DO_ABSENT_TEXT
        ):
            some_absent = True
    if nested or op.minimum == 0:
        return run_each(block, columns, op, ops, lanes, count, tag)
    if not short_lists(block, lanes, count, counts):
        if not sized_lists(block, lanes, count, counts, stops):
            return run_each(block, columns, op, ops, lanes, count, tag)
        sized = True
    for at in range(count):
        lane = lanes[at]
        # Room was made for what the payloads can hold, and not more.
        if unlikely(counts[lane] * op.minimum > ends[lane] - ats[lane]):
            counts[lane] = 0
            reject(block, lane)
    length = begin
    for lane in range(block.count):
        items[lane] = length
        length += counts[lane]
        if op.code == DO_MAP:
            (<int32_t *>column.offsets)[block.row + lane + 1] = <int32_t>length
        else:
            (<offset_t *>column.offsets)[block.row + lane + 1] = <offset_t>length
    total = length - begin
    chosen_count = 0
    for at in range(count):
        lane = lanes[at]
        ats[lane] += 1
        active[chosen_count] = lane
        chosen_count += counts[lane] > 0
    for child in range(op.column + 1, column.end):
        if columns[child].kind == TEXT or columns[child].kind == BLOB:
            block.first[child] = begin
            if some_absent:
                memset(block.texts[child], 0, total * sizeof(Text))
    while chosen_count:
        length = run_lanes(
            block, columns, op + 1, op + op.next, ops, active, chosen_count, items, False, False, tag
        )
        if length < 0:
            return False
        step += 1
        chosen_count = 0
        for at in range(length):
            lane = active[at]
            items[lane] += 1
            active[chosen_count] = lane
            chosen_count += counts[lane] > step
    end_lists(block, lanes, count, counts, stops if sized else NULL)
    for child in range(op.column + 1, column.end):
        if columns[child].kind == TEXT or columns[child].kind == BLOB:
            if unlikely(block.rejected != rejected):
                for at in range(count):
                    lane = lanes[at]
                    if block.odd[lane]:
                        # From the item in hand on there are none.
                        length = offset_at(column, block.row + lane + 1, offset_t is int64_t) - items[lane]
                        memset(&block.texts[child][items[lane] - begin], 0, length * sizeof(Text))
            place(&columns[child], block.texts[child], begin, total, tag)
    if unlikely(block.rejected != rejected):
        # Their items are written in part.
        chosen_count = 0
        for at in range(count):
            active[chosen_count] = lanes[at]
            chosen_count += block.odd[lanes[at]]
        empty_column(columns, op.column, block.row, block.count, active, chosen_count, offset_t is int64_t)
    if op.code == DO_MAP and may_repeat(column, block.row, block.count, offset_t is int64_t):
        for at in range(count):
            lane = lanes[at]
            if counts[lane] > 1 and not block.odd[lane]:
                begin = (<int32_t *>column.offsets)[block.row + lane]
                length = drop_earlier_duplicates(
                    columns, op.column, block.row + lane, begin, begin + counts[lane], False, offset_t is int64_t
                )
                if length != begin + counts[lane]:
                    return False
    return True


cdef bint run_each(
    Block *block, Column *columns, const Op *op, const Op *ops, const int64_t *lanes, int64_t count, offset_t *tag
) noexcept nogil:
    """Run an op row by row, in order; rows that are not among the lanes have no text and no items there."""
    cdef Context *context = block.context
    cdef int64_t lane
    cdef int64_t at = 0
    cdef const uint8_t *p
    context.ops = ops
    for lane in range(block.count):
        if at < count and lanes[at] == lane:
            at += 1
            context.depth = 0
            context.end = block.end[lane]
            context.limit = block.end[lane] + SLACK
            p = run(context, op, op + op.next, block.row + lane, 1, block.at[lane], tag)
            if likely(p != NULL):
                block.at[lane] = p
                continue
            # What is counted here is what all rows take.
            if context.status == SIZE_LIMIT or context.status == NEED_ROOM or context.status == NO_MEMORY:
                return False
            reject(block, lane)
        put_nothing(columns, op.column, block.row + lane, offset_t is int64_t)
    return True


cdef void put_nothing(Column *columns, int32_t at, int64_t index, bint wide) noexcept nogil:
    """Make the texts and lists of a column, and of columns below it, empty at an index."""
    cdef int32_t end = columns[at].end
    while at < end:
        if columns[at].offsets != NULL:
            set_offset(&columns[at], index + 1, offset_at(&columns[at], index, wide), wide)
            at = columns[at].end
        else:
            at += 1
