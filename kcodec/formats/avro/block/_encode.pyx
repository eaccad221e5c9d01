"""Rows to Avro binary, a column at a time.

A row loop asks of every value which op it is, and guesses wrong after each list and null, because what came before
is never the same. Here one op runs for a block of rows: it is asked once, nothing is guessed, and the next row does
not wait for the length of the one before. Each row is written into a slot of its own (`kcodec.columns.written._slots`);
the caller puts the rows together.

Lists are written row by row where they stand. What goes wrong is not looked into: the block is then written by rows.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.columns.built._column cimport offset_t
from kcodec.columns.written._inputs cimport Input, start_of
from kcodec.columns.written._slots cimport LANES, LEVELS, Slots, begin_items
from kcodec.formats.avro.block._entries cimport is_plain, put_plain
from kcodec.formats.avro.rows._program cimport *
from kcodec.formats.avro.rows._put cimport Context, choose, find_symbol, put, read_integer, write_decimal
from kcodec.wire.binary.cursor cimport (
    copy32, has_pext, likely, load_le64, put_varint, store_le32, store_le64, unlikely, write_varint, zigzag64,
)
from kcodec.wire.binary.status cimport OK, Status

cdef enum:
    AHEAD = 4   # items of a list that are placed before they are counted
    SIMPLE = 3  # ops of a list whose items are one value, or of a map: the row loop writes these as quickly


cdef bint put_rows(
    Slots *block, Context *context, const int64_t *costs, const Op *first, const Op *stop
) noexcept nogil:
    """Write a block of rows into their slots; return whether all went well."""
    return run(block, context, costs, first, stop, block.lanes, block.written, 1)


cdef bint put_items(
    Slots *block, Context *context, const int64_t *costs, const Op *op, const int64_t *lanes, int64_t count,
    int32_t level
) noexcept nogil:
    """Write the items of some lists as a block of their own, and put them where their lists stand."""
    cdef const Input *column = &context.columns[op.column]
    cdef Slots *items = block + 1
    cdef uint8_t **outs = block.out
    cdef uint8_t *base
    cdef uint8_t *place
    cdef const uint8_t *source
    cdef int64_t at
    cdef int64_t item
    cdef int64_t end
    cdef int64_t size
    cdef int64_t length
    cdef int32_t ends[LANES + 1]
    cdef uint8_t *places[LANES + AHEAD]
    if is_plain(context, op):
        put_plain(block, context, op, lanes, count)
        return True
    if level == LEVELS or op.next <= SIMPLE:
        return put_each(block, context, op, lanes, count)
    items.first = item = start_of(column, block.first + lanes[0])
    for at in range(count):
        if start_of(column, block.first + lanes[at]) != item:
            return put_each(block, context, op, lanes, count)
        item = start_of(column, block.first + lanes[at] + 1)
    items.count = item - items.first
    if items.count > LANES:
        return put_each(block, context, op, lanes, count)
    if not begin_items(items, context.columns, costs, op.column):
        return False
    if not run(items, context, costs, op + 1, op + op.next, items.lanes, items.count, level + 1):
        return False
    ends[0] = 0
    for at in range(items.count):
        ends[at + 1] = <int32_t>(ends[at] + (items.out[at] - (items.memory + items.bounds[at])))
    item = 0
    for at in range(count):
        place = outs[lanes[at]]
        length = start_of(column, block.first + lanes[at] + 1) - items.first - item
        if length < 64:
            # Of no items this is the end of the list.
            place[0] = <uint8_t>(length << 1)
            base = place + (length > 0) - ends[item]
        else:
            base = write_varint(place, <uint64_t>length << 1) - ends[item]
        # Most lists are short: these are stored without asking how many they are.
        for end in range(AHEAD):
            places[item + end] = base + ends[min(item + end, items.count)]
        for end in range(item + AHEAD, item + length):
            places[end] = base + ends[end]
        item += length
        outs[lanes[at]] = base + ends[item] + 1
    for at in range(items.count):
        source = items.memory + items.bounds[at]
        size = ends[at + 1] - ends[at]
        copy32(places[at], source)
        copy32(places[at] + 32, source + 32)
        if unlikely(size > 64):
            memcpy(places[at] + 64, source + 64, size - 64)
    for at in range(count):
        (outs[lanes[at]] - 1)[0] = 0
    return True


cdef bint put_each(Slots *block, Context *context, const Op *op, const int64_t *lanes, int64_t count) noexcept nogil:
    """Write values of one op one by one."""
    cdef int64_t at
    cdef uint8_t *out
    for at in range(count):
        out = put(context, op, op + op.next, block.first + lanes[at], 1, block.out[lanes[at]])
        if unlikely(out == NULL):
            return False
        block.out[lanes[at]] = out
    return True


cdef bint run(
    Slots *block, Context *context, const int64_t *costs, const Op *op, const Op *stop, const int64_t *lanes,
    int64_t count, int32_t level
) noexcept nogil:
    """Run ops, up to `stop` or the end of a branch, for some rows of the block; return whether all went well."""
    # Most ops write all rows: they need not ask which.
    if lanes == <const int64_t *>block.lanes and count == block.count:
        return run_lanes(block, context, costs, op, stop, lanes, count, level, True)
    return run_lanes(block, context, costs, op, stop, lanes, count, level, False)


cdef inline bint run_lanes(
    Slots *block, Context *context, const int64_t *costs, const Op *op, const Op *stop, const int64_t *lanes,
    int64_t count, int32_t level, bint dense
) noexcept nogil:
    """Do the same; `dense`: for all rows, in order."""
    cdef const Input *column
    cdef uint8_t **outs = block.out
    cdef uint8_t *out
    cdef const uint8_t *data
    cdef const uint8_t *bits
    cdef const int64_t *longs
    cdef const int32_t *ints
    cdef int64_t chosen[LANES]
    cdef int32_t branches[LANES]
    cdef int64_t chosen_count
    cdef int64_t at
    cdef int64_t lane
    cdef int32_t branch
    cdef int64_t null_branch
    cdef int64_t row = block.first
    cdef int64_t present
    cdef int64_t value
    cdef int64_t begin
    cdef Status status
    cdef bint pext = has_pext()
    if count == 0:
        return True
    while op != stop and op.code != DO_JUMP:
        column = <const Input *>(<const char *>context.columns + op.place)
        # What is stored might be these as well, for all the compiler knows; it would load them again each time.
        data = column.data
        bits = column.validity
        begin = row + column.first
        present = not column.all_null
        null_branch = op.size
        if op.code == PUT_TEXT:
            if column.wide:
                put_texts(block, column, <const int64_t *>column.offsets + row, lanes, count, dense)
            else:
                put_texts(block, column, <const int32_t *>column.offsets + row, lanes, count, dense)
        elif op.code == PUT_LONG:
            longs = <const int64_t *>column.data + row
            for at in range(count):
                lane = at if dense else lanes[at]
                outs[lane] = put_varint(outs[lane], zigzag64(longs[lane]), pext)
        elif op.code == PUT_INT:
            ints = <const int32_t *>column.data + row
            for at in range(count):
                lane = at if dense else lanes[at]
                outs[lane] = put_varint(outs[lane], zigzag64(ints[lane]), pext)
        elif op.code == PUT_DOUBLE and column.width == 8:
            longs = <const int64_t *>column.data + row
            for at in range(count):
                lane = at if dense else lanes[at]
                out = outs[lane]
                store_le64(out, longs[lane])
                outs[lane] = out + 8
        elif is_float(op, column):
            ints = <const int32_t *>column.data + row
            for at in range(count):
                lane = at if dense else lanes[at]
                out = outs[lane]
                store_le32(out, ints[lane])
                outs[lane] = out + 4
        elif op.code == PUT_BOOLEAN:
            for at in range(count):
                lane = at if dense else lanes[at]
                out = outs[lane]
                out[0] = <uint8_t>bit(data, begin + lane)
                outs[lane] = out + 1
        elif op.code == PUT_NULLABLE_TEXT and not column.all_null:
            if column.wide:
                put_nullable_texts(block, op, column, <const int64_t *>column.offsets + row, lanes, count, dense)
            else:
                put_nullable_texts(block, op, column, <const int32_t *>column.offsets + row, lanes, count, dense)
            op += op.next
            continue
        elif op.code == PUT_NULLABLE_DOUBLE and not column.all_null:
            put_nullables(block, op, column, 8, lanes, count, dense)
            op += op.next
            continue
        elif op.code == PUT_NULLABLE and has_value(op) and is_float(op + 1, column) and not column.all_null:
            put_nullables(block, op, column, 4, lanes, count, dense)
            op += op.next
            continue
        elif op.code == PUT_NULLABLE and has_value(op) and op[1].code == PUT_BOOLEAN and not column.all_null:
            put_nullables(block, op, column, 1, lanes, count, dense)
            op += op.next
            continue
        elif op.code == PUT_NULLABLE or op.code == PUT_NULLABLE_TEXT or op.code == PUT_NULLABLE_DOUBLE:
            chosen_count = 0
            for at in range(count):
                lane = at if dense else lanes[at]
                value = present if bits == NULL else bit(bits, begin + lane)
                out = outs[lane]
                out[0] = <uint8_t>((value ^ null_branch) << 1)
                outs[lane] = out + 1
                chosen[chosen_count] = lane
                chosen_count += value
            # Where none is null, all rows go on as they were.
            if not run(
                block, context, costs, op + 1, op + op.next, lanes if chosen_count == count else chosen, chosen_count,
                level
            ):
                return False
            op += op.next
            continue
        elif op.code == PUT_ENUM:
            for at in range(count):
                lane = at if dense else lanes[at]
                begin = start_of(column, row + lane)
                branch = symbol_of(op, column, begin, start_of(column, row + lane + 1) - begin)
                if unlikely(branch < 0):
                    return False
                outs[lane] = write_varint(outs[lane], <uint64_t>branch << 1)
        elif op.code == PUT_INTEGER and op.factor == 1000 and column.width == 8 and column.signed and op.size == 64:
            # Microseconds to milliseconds: a division by a constant is a multiplication.
            longs = <const int64_t *>data + row
            for at in range(count):
                lane = at if dense else lanes[at]
                value = longs[lane] // 1000
                if unlikely(value * 1000 != longs[lane]):
                    if not op.scale:
                        return False
                    value -= longs[lane] < 0
                outs[lane] = put_varint(outs[lane], zigzag64(value), pext)
        elif op.code == PUT_INTEGER:
            for at in range(count):
                lane = at if dense else lanes[at]
                value = read_integer(op, column, row + lane, &status)
                if unlikely(status != OK):
                    return False
                outs[lane] = put_varint(outs[lane], zigzag64(value), pext)
        elif op.code == PUT_DECIMAL:
            for at in range(count):
                lane = at if dense else lanes[at]
                outs[lane] = write_decimal(op, column, row + lane, outs[lane], &status)
                if unlikely(status != OK):
                    return False
        elif op.code == PUT_UNION:
            for at in range(count):
                lane = at if dense else lanes[at]
                branches[at] = choose(context, op, column, row + lane)
                if unlikely(branches[at] < 0):
                    return False
                outs[lane] = write_varint(outs[lane], <uint64_t>branches[at] << 1)
            for branch in range(op.size):
                chosen_count = 0
                for at in range(count):
                    chosen[chosen_count] = lanes[at]
                    chosen_count += branches[at] == branch
                if not run(
                    block, context, costs, context.ops + op.table[3 * branch + 2], NULL, chosen, chosen_count, level
                ):
                    return False
            op += op.next
            continue
        elif op.code == PUT_ARRAY or op.code == PUT_MAP:
            if not put_items(block, context, costs, op, lanes, count, level):
                return False
            op += op.next
            continue
        else:
            if not put_each(block, context, op, lanes, count):
                return False
            op += op.next
            continue
        op += 1
    return True


cdef inline void put_texts(
    Slots *block, const Input *column, const offset_t *offsets, const int64_t *lanes, int64_t count, bint dense
) noexcept nogil:
    """Write text or bytes, given the offsets of the first row of the block."""
    cdef uint8_t **outs = block.out
    cdef const uint8_t *data = column.data
    cdef const uint8_t *limit = column.limit
    cdef const uint8_t *source
    cdef uint8_t *out
    cdef int64_t length
    cdef int64_t lane
    cdef int64_t at
    for at in range(count):
        lane = at if dense else lanes[at]
        out = outs[lane]
        length = offsets[lane + 1] - offsets[lane]
        source = data + offsets[lane]
        if likely(length < 32) and likely(limit - source >= 32):
            out[0] = <uint8_t>(length << 1)
            copy32(out + 1, source)
            outs[lane] = out + 1 + length
        else:
            outs[lane] = put_text(out, source, length)


cdef inline void put_nullable_texts(
    Slots *block, const Op *op, const Input *column, const offset_t *offsets, const int64_t *lanes, int64_t count,
    bint dense
) noexcept nogil:
    """Write text or bytes of a union with null, some of which are there."""
    cdef uint8_t **outs = block.out
    cdef const uint8_t *bits = column.validity
    cdef const uint8_t *data = column.data
    cdef const uint8_t *limit = column.limit
    cdef int64_t begin = block.first + column.first
    cdef int64_t null_branch = op.size
    cdef const uint8_t *source
    cdef uint8_t *out
    cdef int64_t length
    cdef int64_t value = 1
    cdef int64_t lane
    cdef int64_t at
    for at in range(count):
        lane = at if dense else lanes[at]
        out = outs[lane]
        if bits != NULL:
            value = bit(bits, begin + lane)
        out[0] = <uint8_t>((value ^ null_branch) << 1)
        length = offsets[lane + 1] - offsets[lane]
        source = data + offsets[lane]
        if likely(length < 32) and likely(limit - source >= 32):
            out[1] = <uint8_t>(length << 1)
            copy32(out + 2, source)
            outs[lane] = out + 1 + ((1 + length) & -value)
        elif value:
            outs[lane] = put_text(out + 1, source, length)
        else:
            outs[lane] = out + 1


cdef inline void put_nullables(
    Slots *block, const Op *op, const Input *column, int64_t width, const int64_t *lanes, int64_t count, bint dense
) noexcept nogil:
    """Write values of as many bytes of a union with null, those of one byte booleans, some of which are there."""
    cdef uint8_t **outs = block.out
    cdef const uint8_t *bits = column.validity
    cdef const uint8_t *data = column.data
    cdef int64_t row = block.first
    cdef int64_t begin = row + column.first
    cdef int64_t null_branch = op.size
    cdef uint8_t *out
    cdef int64_t value = 1
    cdef int64_t lane
    cdef int64_t at
    for at in range(count):
        lane = at if dense else lanes[at]
        out = outs[lane]
        if bits != NULL:
            value = bit(bits, begin + lane)
        out[0] = <uint8_t>((value ^ null_branch) << 1)
        if width == 8:
            store_le64(out + 1, (<const uint64_t *>data)[row + lane])
        elif width == 4:
            store_le32(out + 1, (<const uint32_t *>data)[row + lane])
        else:
            out[1] = <uint8_t>bit(data, begin + lane)
        outs[lane] = out + 1 + (width & -value)


cdef uint8_t *put_text(uint8_t *out, const uint8_t *source, int64_t length) noexcept nogil:
    out = write_varint(out, <uint64_t>length << 1)
    memcpy(out, source, length)
    return out + length


cdef inline bint has_value(const Op *op) noexcept nogil:
    """Return whether what may be null is a value of one op, and not a record, say, of one field."""
    return op.next == 2 and op[1].place == op.place


cdef inline bint is_float(const Op *op, const Input *column) noexcept nogil:
    return op.code == PUT_FLOAT and column.width == 4


cdef inline int64_t bit(const uint8_t *bits, int64_t at) noexcept nogil:
    return (bits[at >> 3] >> (at & 7)) & 1


cdef inline int32_t symbol_of(const Op *op, const Input *column, int64_t begin, int64_t size) noexcept nogil:
    """Find a symbol by its words, whatever its length: lengths differ from row to row."""
    cdef const int32_t *table = op.table
    cdef const uint8_t *text = column.data + begin
    cdef const uint8_t *known
    cdef uint64_t first
    cdef uint64_t second
    cdef int32_t symbol
    if unlikely(size > 16) or unlikely(column.limit - text < 16) or unlikely(size == 0):
        return find_symbol(op, text, size)
    first = ~<uint64_t>0 >> (64 - 8 * min(size, 8))
    second = (<uint64_t>1 << (8 * max(size - 8, 0) & 63)) - 1 if size < 16 else ~<uint64_t>0
    symbol = table[1 + (symbol_hash(text, size) & table[0])]
    while symbol:
        known = op.texts[symbol - 1].data
        if (
            ((load_le64(known) ^ load_le64(text)) & first)
            | ((load_le64(known + 8) ^ load_le64(text + 8)) & second)
            | <uint64_t>(op.texts[symbol - 1].size ^ size)
        ) == 0:
            return symbol - 1
        symbol = table[1 + table[0] + symbol]
    return -1
