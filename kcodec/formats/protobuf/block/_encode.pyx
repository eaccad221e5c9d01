"""Rows to Protobuf, a field at a time.

One field is written for a block of rows before the next one is, so what it is is asked once, and the next row does
not wait for the length of the one before. A message inside is written where it stands, behind a byte for its length.
Items of lists and maps are written as a block of their own: so their lengths are known, and the order of a map's keys
is that in which its entries are put into their rows.

What goes wrong is not looked into: the block is then written by rows.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from kcodec.columns.written._inputs cimport Input, is_valid, start_of
from kcodec.columns.written._slots cimport LANES, LEVELS, Slots, begin_items
from kcodec.formats.protobuf.block._put_values cimport find_valid, put_values
from kcodec.formats.protobuf.rows._program cimport (
    CHECKED, ENTRIES, ITEMS, PUT_CASE, PUT_FAIL, PUT_GROUP, PUT_MESSAGE, PUT_TEXT, REQUIRED, Message, Op,
)
from kcodec.formats.protobuf.rows._put cimport (
    Writing, follows_member, is_sorted, names_member, put_entries, put_items, put_length, put_message, sort,
)
from kcodec.formats.protobuf.rows._row cimport check_fields
from kcodec.wire.binary.cursor cimport copy32, likely, store_le64, unlikely, write_varint
from kcodec.wire.binary.status cimport OK

cdef enum:
    AHEAD = 4   # items of a list that are placed before they are counted


cdef bint put_each(
    Slots *block, Writing *writing, const Op *op, const int64_t *lanes, int64_t count
) noexcept nogil:
    """Write lists or maps one by one."""
    cdef const Input *column = &writing.columns[op.column]
    cdef int64_t at
    cdef uint8_t *out
    for at in range(count):
        out = block.out[lanes[at]]
        if op.flags & ENTRIES:
            out = put_entries(writing, op, column, block.first + lanes[at], out)
        else:
            out = put_items(writing, op, column, block.first + lanes[at], out)
        if unlikely(out == NULL):
            return False
        block.out[lanes[at]] = out
    return True


cdef bint put_inner(
    Slots *block, Writing *writing, const int64_t *costs, const Op *op, const int64_t *lanes, int64_t count,
    int32_t level, int32_t depth
) noexcept nogil:
    """Write messages or groups inside messages."""
    cdef const Message *message = &writing.messages[op.message]
    cdef uint8_t **outs = block.out
    cdef uint8_t *starts[LANES]
    cdef uint8_t *out
    cdef int64_t at
    cdef bint measured = op.code == PUT_MESSAGE
    for at in range(count):
        out = outs[lanes[at]]
        store_le64(out, op.tag)
        starts[at] = out + op.tag_size + measured
        outs[lanes[at]] = starts[at]
    if depth == MAX_INNER:
        for at in range(count):
            out = put_message(writing, message, block.first + lanes[at], starts[at])
            if unlikely(out == NULL):
                return False
            outs[lanes[at]] = out
    elif not put_fields(block, writing, costs, message, lanes, count, level, depth + 1):
        return False
    if not measured:
        for at in range(count):
            outs[lanes[at]] = write_varint(outs[lanes[at]], <uint64_t>op.number << 3 | 4)
        return True
    for at in range(count):
        outs[lanes[at]] = put_length(starts[at], outs[lanes[at]])
    return True


cdef void order_entries(
    const Slots *block, Writing *writing, const Op *op, const int64_t *lanes, int64_t count, int64_t *order
) noexcept nogil:
    """Order the entries of maps, which `order` has as they stand, by their keys."""
    cdef const Op *key = writing.ops + writing.messages[op.message].ops
    cdef const Input *map = &writing.columns[op.column]
    cdef int64_t scratch[LANES]
    cdef int64_t first
    cdef int64_t size
    cdef int64_t at
    for at in range(count):
        first = start_of(map, block.first + lanes[at])
        size = start_of(map, block.first + lanes[at] + 1) - first
        if size > 1 and not is_sorted(key, map + 1, first, size):
            sort(key, map + 1, order, scratch, size)
        order += size


cdef bint put_list(
    Slots *block, Writing *writing, const int64_t *costs, const Op *op, const int64_t *lanes, int64_t count,
    int32_t level, int32_t depth
) noexcept nogil:
    """Write lists or maps, those of messages or text as many at once as there are lanes for their items."""
    cdef const Input *column = &writing.columns[op.column]
    cdef int64_t first
    cdef int64_t number
    cdef int64_t start = 0
    cdef int64_t end
    cdef int64_t item
    if level == LEVELS or op.flags & CHECKED or op.code != PUT_TEXT and op.code != PUT_MESSAGE:
        return put_each(block, writing, op, lanes, count)
    end = start_of(column, block.first + lanes[count - 1] + 1) - start_of(column, block.first + lanes[0])
    if op.code == PUT_TEXT and end > LANES:
        # Long lists of text are no faster together.
        return put_each(block, writing, op, lanes, count)
    while start < count:
        first = start_of(column, block.first + lanes[start])
        number = 0
        end = start
        while end < count:
            item = block.first + lanes[end]
            if start_of(column, item) != first + number:
                # Something stands between them.
                return put_each(block, writing, op, lanes + start, count - start)
            if start_of(column, item + 1) - first > LANES:
                break
            number = start_of(column, item + 1) - first
            end += 1
        if end == start:
            end += 1
            if not put_each(block, writing, op, lanes + start, 1):
                return False
        elif not put_lists(block, writing, costs, op, lanes + start, end - start, first, number, level, depth):
            return False
        start = end
    return True


cdef bint put_lists(
    Slots *block, Writing *writing, const int64_t *costs, const Op *op, const int64_t *lanes, int64_t count,
    int64_t first, int64_t number, int32_t level, int32_t depth
) noexcept nogil:
    """Write lists or maps that have so many items together, which stand behind each other."""
    cdef const Input *column = &writing.columns[op.column]
    cdef Slots *items = block + 1
    cdef uint8_t **outs = block.out
    cdef bint text = op.code == PUT_TEXT
    cdef uint64_t tag = op.tag
    cdef int64_t skip = op.tag_size
    cdef int64_t at
    cdef int64_t item
    cdef int64_t size
    cdef int64_t end
    cdef uint8_t *out
    cdef const uint8_t *limit
    cdef const uint8_t *sources[LANES]
    cdef int64_t order[LANES]
    cdef int64_t sizes[LANES]
    cdef int64_t ends[LANES + 1]          # where each item ends, with tag and length, behind all before it
    cdef uint8_t *places[LANES + AHEAD]   # of each item, where the first one of all would stand
    for at in range(number):
        order[at] = first + at
        if not op.flags & ENTRIES and unlikely(not is_valid(column + 1, first + at)):
            return False
    if text:
        limit = column[1].limit
        for at in range(number):
            end = start_of(column + 1, first + at)
            sources[at] = column[1].data + end
            sizes[at] = start_of(column + 1, first + at + 1) - end
    else:
        items.first = first
        items.count = number
        if not begin_items(items, writing.columns, costs, op.column):
            return False
        if number and not put_fields(
            items, writing, costs, &writing.messages[op.message], items.lanes, number, level + 1, depth
        ):
            return False
        if op.flags & ENTRIES:
            order_entries(block, writing, op, lanes, count, order)
        limit = items.memory + items.room
        for at in range(number):
            item = order[at] - first
            sources[at] = items.memory + items.bounds[item]
            sizes[at] = items.out[item] - sources[at]
    ends[0] = 0
    for at in range(number):
        size = sizes[at]
        ends[at + 1] = ends[at] + skip + 1 + size
        while unlikely(size >= 0x80):
            ends[at + 1] += 1
            size >>= 7
    item = 0
    for at in range(count):
        out = outs[lanes[at]] - ends[item]
        size = start_of(column, block.first + lanes[at] + 1) - first - item
        # Most lists are short: these are placed without asking how many items there are.
        for end in range(AHEAD):
            places[item + end] = out
        for end in range(item + AHEAD, item + size):
            places[end] = out
        item += size
        outs[lanes[at]] = out + ends[item]
    for at in range(number):
        size = sizes[at]
        out = places[at] + ends[at]
        store_le64(out, tag)
        if likely(size < 0x80):
            out[skip] = <uint8_t>size
        else:
            write_varint(out + skip, <uint64_t>size)
        out = places[at] + ends[at + 1] - size
        if likely(limit - sources[at] >= 64):
            copy32(out, sources[at])
            copy32(out + 32, sources[at] + 32)
            if unlikely(size > 64):
                memcpy(out + 64, sources[at] + 64, size - 64)
        else:
            memcpy(out, sources[at], size)
    return True


cdef bint put_fields(
    Slots *block, Writing *writing, const int64_t *costs, const Message *message, const int64_t *lanes, int64_t count,
    int32_t level, int32_t depth
) noexcept nogil:
    """Write the fields of messages; return whether all went well."""
    cdef const Op *op = writing.ops + message.ops
    cdef const Op *stop = op + message.count
    cdef const Input *column
    cdef uint8_t flags[LANES]
    cdef int64_t chosen[LANES]
    cdef int64_t found
    cdef int64_t at
    cdef int64_t start
    cdef int64_t size
    while op != stop:
        column = &writing.columns[op.column]
        if op.code == PUT_FAIL:
            if op.column < 0 or find_valid(block, column, lanes, count, flags):
                return False
            op += 1
            continue
        found = find_valid(block, column, lanes, count, flags)
        if op.code == PUT_CASE:
            for at in range(count):
                if flags[at] and not names_member(writing, op, block.first + lanes[at]):
                    return False
            op += 1
            continue
        if unlikely(op.flags & REQUIRED) and found < count:
            return False
        if unlikely(op.oneof >= 0):
            for at in range(count):
                if flags[at] and follows_member(writing, message, op, block.first + lanes[at]):
                    return False
        if found and (op.flags & ITEMS or op.code == PUT_MESSAGE or op.code == PUT_GROUP):
            found = 0
            for at in range(count):
                chosen[found] = lanes[at]
                found += flags[at]
            if op.flags & ITEMS:
                if not put_list(block, writing, costs, op, chosen, found, level, depth):
                    return False
            elif not put_inner(block, writing, costs, op, chosen, found, level, depth):
                return False
        elif found and not put_values(block, op, column, lanes, count, flags):
            return False
        op += 1
    if message.unknown >= 0:
        column = &writing.columns[message.unknown]
        for at in range(count):
            if is_valid(column, block.first + lanes[at]):
                start = start_of(column, block.first + lanes[at])
                size = start_of(column, block.first + lanes[at] + 1) - start
                if unlikely(check_fields(column.data + start, column.data + start + size) != OK):
                    return False
                memcpy(block.out[lanes[at]], column.data + start, size)
                block.out[lanes[at]] += size
    return True
