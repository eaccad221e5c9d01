"""Blocks of Protobuf messages to columns, a field at a time.

A row loop asks of every tag which field it is of. Here one field is read for all rows of a block before the next one
is, in the order of their numbers, in which most encoders write them: it is asked once, and whether a row has the field
is computed rather than branched on.

    payloads:  | row 0 .... | row 1 .......... | row 2 ... |
                    ^ at         ^ at             ^ at          all are asked for the same tag

Messages inside are read the same way: those of all rows that have one are lanes of their own, and so are all items of
a list or map, of all rows behind each other, as they are stored. So text is always copied in order. Messages that most
rows have are read as if all had one, of no bytes where there is none, and those are made null afterwards. Columns of
messages that few rows have are cleared first; the ends of the texts and lists that never came are put right when all
others are known.

What is not as expected, and is the same in many rows (fields that the writer knows alone, lists packed or not, fields
in another order) is noted when it is first met, and the block read again with that in mind.

Nothing is reported from here. A row that is not as expected (fields in another order, or twice; members of a oneof
one after the other; whatever is wrong) is marked as odd, and the row loop reads it. The others are read to their end:
if all that is odd turns out to be wrong, those rows become null over what they have stored, and all are done.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from kcodec.columns.built._column cimport (
    BITS, BLOB, FIXED, LIST, MAP, TEXT, Column, clear_value, hide, offset_at, set_end,
)
from kcodec.columns.built._compact cimport empty_rows, has_duplicates, may_repeat
from kcodec.columns.rows._rows cimport SLACK, Slice
from kcodec.formats.protobuf.block._lanes cimport LANES, MEMORY, Block, Lane, Lanes, reject, take
from kcodec.formats.protobuf.block._packed cimport copy_packed, find_packed, read_packed_values
from kcodec.formats.protobuf.block._unexpected cimport (
    MIXED, REPACKED, UNKNOWN, learn, repack, skip_rest, skip_unknown,
)
from kcodec.formats.protobuf.block._values cimport (
    NO_VALUE, eighths, put_texts, read_long, read_size, read_values, size_of,
)
from kcodec.formats.protobuf.rows._program cimport (
    ENTRIES, FIXED32, GROUP_START, ITEMS, LENGTH, PACKED, PRESENT, READ_DROPPED, READ_ENUM, READ_ENUM_NAME,
    READ_FIXED32, READ_FIXED64, READ_GROUP, READ_MESSAGE, READ_TIME, VARINT, Message, Op, Text,
)
from kcodec.plan._budget cimport begin_row
from kcodec.plan._decoder cimport Decoder, payload_of, program_of
from kcodec.wire.binary.cursor cimport ctz64, gather7, likely, load_le64, unlikely

cdef void clear(Column *columns, int32_t first, int64_t base, int64_t count, bint wide) noexcept nogil:
    """Make some values of a column null or empty, with all below it; `close_gaps` completes it."""
    cdef int32_t at = first
    cdef int32_t end = columns[first].end
    cdef Column *column
    while at < end:
        column = &columns[at]
        at += 1
        if column.valid != NULL:
            memset(column.valid + base, 0, count)
        if column.kind == FIXED:
            memset(column.data + base * column.width, 0, count * column.width)
        elif column.kind == BITS:
            memset(column.data + base, 0, count)
        elif column.kind == TEXT or column.kind == BLOB or column.kind == LIST or column.kind == MAP:
            if wide and column.kind != MAP:
                memset(<int64_t *>column.offsets + base + 1, 0, 8 * count)
            else:
                memset(<int32_t *>column.offsets + base + 1, 0, 4 * count)
            at = column.end


cdef void close_gaps(Column *columns, int32_t first, int64_t base, int64_t count, bint wide) noexcept nogil:
    """Make texts and lists that have not come since `clear` empty: they end where the ones before them do."""
    cdef int32_t at = first
    cdef int32_t end = columns[first].end
    cdef int64_t index
    cdef int64_t *offsets
    cdef int32_t *offsets32
    cdef Column *column
    while at < end:
        column = &columns[at]
        at += 1
        if column.kind == TEXT or column.kind == BLOB or column.kind == LIST or column.kind == MAP:
            if wide and column.kind != MAP:
                offsets = <int64_t *>column.offsets + base
                for index in range(count):
                    offsets[index + 1] = max(offsets[index + 1], offsets[index])
            else:
                offsets32 = <int32_t *>column.offsets + base
                for index in range(count):
                    offsets32[index + 1] = max(offsets32[index + 1], offsets32[index])
            at = column.end


cdef void set_valid(Column *column, const Lanes *lanes) noexcept nogil:
    cdef int64_t at
    if column.valid == NULL:
        return
    if lanes.dense:
        memset(column.valid + lanes.base, 1, lanes.count)
    else:
        for at in range(lanes.count):
            column.valid[lanes.lane[at].index] = 1


cdef void fill(Lanes *lanes, int64_t first, uint8_t *present, int64_t count) noexcept nogil:
    """Give those of some rows that have no payload one of no bytes, and note which have one."""
    cdef Lane *lane = lanes.lane
    cdef int64_t found = lanes.count
    cdef int64_t at = count
    while at > 0:
        at -= 1
        present[at] = found > 0 and lane[found - 1].row == first + at
        if present[at]:
            found -= 1
            lane[at] = lane[found]
        else:
            # Where the one before it ends, or the first one starts.
            lane[at].at = lane[found - 1].end if found else lane[at + 1].at
            lane[at].end = lane[at].at
            lane[at].index = lanes.base + at
            lane[at].row = first + at
    lanes.count = count


cdef bint hide_absent(
    Block *block, int32_t first, int64_t base, const uint8_t *present, int64_t count
) noexcept nogil:
    """Make messages null that were read from no bytes, with all below them; return whether there is room to do so."""
    cdef Column *columns = block.context.columns
    cdef int64_t mark = block.used
    cdef int64_t *absent = <int64_t *>take(block, count * sizeof(int64_t))
    cdef int64_t absent_count = 0
    cdef int32_t at = first
    cdef int32_t next
    cdef int64_t number
    if absent == NULL:
        return False
    for number in range(count):
        absent[absent_count] = base + number
        absent_count += not present[number]
    while at < columns[first].end and absent_count:
        next = at + 1
        for number in range(absent_count):
            if clear_value(&columns[at], absent[number]):
                next = columns[at].end
        at = next
    block.used = mark
    return True


cdef bint read_message(
    Block *block, const Message *message, const Lanes *lanes, int32_t depth
) noexcept nogil:
    """Read messages of one type, each to its end; return whether there is room for all that takes."""
    cdef int64_t mark = block.used
    cdef int32_t *chosen = NULL
    cdef const Op *op
    cdef Op repacked
    cdef int32_t at
    cdef int32_t field
    cdef uint8_t what = 0
    if lanes.count == 0:
        return True
    if message.oneofs:
        # Of each oneof, which member each lane has: its position and 1.
        chosen = <int32_t *>take(block, message.oneofs * lanes.count * sizeof(int32_t))
        if chosen == NULL:
            return False
        memset(chosen, 0, message.oneofs * lanes.count * sizeof(int32_t))
    for at in range(message.count):
        field = at if block.met == NULL else at + block.met[message.ops + at].shift
        op = block.context.ops + message.ops + field
        if message.number == 0:
            block.root = field
        if block.met != NULL:
            what = block.met[message.ops + field].what
            if what & UNKNOWN:
                skip_unknown(block, message, op, lanes)
            if what & REPACKED:
                repacked = op[0]
                repack(&repacked)
            if what & MIXED and op.code != READ_DROPPED:
                if not read_mixed(block, op, &repacked, lanes):
                    return False
                continue
            if what & MIXED and not read_field(block, message, op, lanes, chosen, depth):
                return False
            if what & REPACKED:
                op = &repacked
        if not read_field(block, message, op, lanes, chosen, depth):
            return False
    end_message(block, message, lanes)
    if message.unknown >= 0:
        put_no_text(block, lanes, &block.context.columns[message.unknown])
    for at in range(message.cases):
        if not put_case(block, message, lanes, at, chosen + at * lanes.count):
            return False
    block.used = mark
    return True


cdef void end_message(Block *block, const Message *message, const Lanes *lanes) noexcept nogil:
    """Leave to the row loop what is not at its end, and learn from it."""
    cdef Lane *lane
    cdef Lane *longest = NULL
    cdef int64_t at
    cdef int64_t left = 0
    for at in range(lanes.count):
        lane = &lanes.lane[at]
        if likely(lane.at == lane.end) or message.unknown < 0 and skip_rest(block, message, lane):
            continue
        reject_rest(block, message, lane)
        left += 1
        # Where many rows are damaged, to look at each would take long.
        if left <= 4:
            learn(block, message, lane, False)
        if longest == NULL or lane.end - lane.at > longest.end - longest.at:
            longest = lane
    # One row is as it is; what many have is how their encoder writes, and the longest tells the most of that.
    if 4 * left > lanes.count:
        learn(block, message, longest, True)


cdef inline void reject_rest(Block *block, const Message *message, const Lane *lane) noexcept nogil:
    """Leave a row to the row loop, because another field than the one that is due stands where it is read."""
    cdef int32_t field = block.root
    if message.number == 0:
        # What is behind the first place that is odd has been read for nothing.
        if not block.odd[lane.row]:
            block.rest[lane.row] = lane.at
        block.root = message.count
    reject(block, lane)
    block.root = field


cdef void put_no_text(Block *block, const Lanes *lanes, Column *column) noexcept nogil:
    cdef int64_t used = offset_at(column, lanes.base, block.context.wide)
    cdef int64_t at
    for at in range(lanes.count):
        column.valid[lanes.lane[at].index] = 0
        set_end(column, lanes.lane[at].index, used, block.context.wide)


cdef bint put_case(
    Block *block, const Message *message, const Lanes *lanes, int32_t oneof, const int32_t *chosen
) noexcept nogil:
    """Store which member of a oneof messages have."""
    cdef int64_t mark = block.used
    cdef const Text **texts = <const Text **>take(block, lanes.count * sizeof(Text *))
    cdef int64_t at
    cdef bint done
    if texts == NULL:
        return False
    for at in range(lanes.count):
        texts[at] = &message.field_names[chosen[at] - 1] if chosen[at] else NULL
    done = put_texts(block, lanes, &block.context.columns[message.case_columns[oneof]], texts, True)
    block.used = mark
    return done


cdef bint read_field(
    Block *block, const Message *message, const Op *op, const Lanes *lanes, int32_t *chosen, int32_t depth
) noexcept nogil:
    """Read a field of messages, those that have it."""
    cdef int64_t mark = block.used
    cdef Column *column = <Column *>(<char *>block.context.columns + op.place)
    cdef bint nullable = op.column >= 0 and op.flags & PRESENT and column.valid != NULL
    cdef uint8_t *flags
    cdef int64_t at
    cdef bint done = True
    if op.flags & ITEMS and op.code != READ_DROPPED:
        done = read_items(block, op, column, lanes, depth)
        block.used = mark
        return done
    if nullable and lanes.dense:
        flags = column.valid + lanes.base
    else:
        flags = <uint8_t *>take(block, lanes.count)
        if flags == NULL:
            return False
    if op.code == READ_DROPPED:
        skip_values(block, op, lanes, flags)
    elif op.code == READ_GROUP or depth == 0 and (op.code == READ_MESSAGE or op.code == READ_TIME):
        # If one comes, it is left over.
        if lanes.dense:
            clear(block.context.columns, op.column, lanes.base, lanes.count, block.context.wide)
            close_gaps(block.context.columns, op.column, lanes.base, lanes.count, block.context.wide)
        memset(flags, 0, lanes.count)
    elif op.code == READ_MESSAGE:
        done = read_inner(block, op, column, lanes, flags, depth)
    else:
        done = read_values(block, lanes, op, column, True, flags)
    if nullable and not lanes.dense:
        for at in range(lanes.count):
            column.valid[lanes.lane[at].index] = flags[at]
    if message.required != NULL and message.required[op.position >> 6] >> (op.position & 63) & 1:
        for at in range(lanes.count):
            if unlikely(not flags[at]):
                reject_rest(block, message, &lanes.lane[at])
    if op.oneof >= 0:
        chosen += op.oneof * lanes.count
        for at in range(lanes.count):
            if flags[at]:
                if unlikely(chosen[at]):
                    reject(block, &lanes.lane[at])
                chosen[at] = op.position + 1
    block.used = mark
    return done


cdef bint read_inner(
    Block *block, const Op *op, Column *column, const Lanes *lanes, uint8_t *flags, int32_t depth
) noexcept nogil:
    """Read messages inside messages, at most one in each."""
    cdef bint wide = block.context.wide
    cdef uint64_t tag = op.tag
    cdef uint64_t mask = op.tag_mask
    cdef int64_t skip = op.tag_size
    cdef Lanes inner
    cdef Lane *lane
    cdef const uint8_t *p
    cdef int64_t at
    cdef int64_t present
    cdef int64_t size
    cdef int64_t count = 0
    cdef int64_t absent = 0
    cdef uint64_t raw
    cdef uint64_t stops
    cdef const Message *message = &block.context.messages[op.message]
    cdef bint optional = (op.flags & PRESENT) != 0
    # A message that requires a field cannot be read from no bytes.
    cdef bint filled = optional and lanes.dense and message.required == NULL and eighths(lanes, tag, mask) >= 6
    cdef bint always = filled or not optional
    inner.lane = <Lane *>take(block, lanes.count * sizeof(Lane))
    if inner.lane == NULL:
        return False
    for at in range(lanes.count):
        lane = &lanes.lane[at]
        p = lane.at
        present = ((load_le64(p) & mask) == tag) & (p < lane.end)
        raw = load_le64(p + skip)
        stops = ~raw & 0x8080808080808080ULL
        # No bytes at all are a message without fields.
        size = 0
        if likely(stops != 0):
            raw = gather7(raw & (stops ^ (stops - 1))) & <uint64_t>(-present)
            size = (skip + (ctz64(stops) >> 3) + 1) & -present
        elif present:
            raw = NO_VALUE
        else:
            raw = 0
        if unlikely(raw > <uint64_t>(lane.end - p)) or unlikely(size + <int64_t>raw > lane.end - p):
            reject(block, lane)
            raw = 0
            size = lane.end - p
        flags[at] = <uint8_t>present
        p += size
        inner.lane[count].at = p
        p += raw
        inner.lane[count].end = p
        inner.lane[count].index = lane.index
        inner.lane[count].row = lane.row
        count += present | always
        absent += not present
        lane.at = p
    inner.count = count
    inner.base = lanes.base
    inner.dense = lanes.dense
    if count == lanes.count:
        if not filled:
            set_valid(column, &inner)
        if not read_message(block, message, &inner, depth - 1):
            return False
        return not filled or absent == 0 or hide_absent(block, op.column, lanes.base, flags, count)
    inner.dense = False
    if lanes.dense:
        clear(block.context.columns, op.column, lanes.base, lanes.count, wide)
    set_valid(column, &inner)
    if not read_message(block, message, &inner, depth - 1):
        return False
    if lanes.dense:
        close_gaps(block.context.columns, op.column, lanes.base, lanes.count, wide)
    return True


cdef bint read_items(
    Block *block, const Op *op, Column *column, const Lanes *lanes, int32_t depth
) noexcept nogil:
    """Read lists or maps, with all their items."""
    cdef Lanes items
    cdef uint8_t *flags
    cdef bint wide = block.context.wide
    cdef int64_t at
    if op.code == READ_GROUP or depth == 0 and (op.code == READ_MESSAGE or op.code == READ_TIME):
        # If one comes, it is left over.
        for at in range(lanes.count):
            set_end(column, lanes.lane[at].index, offset_at(column, lanes.base, wide), wide)
        return True
    if op.flags & PACKED and (op.code == READ_FIXED32 or op.code == READ_FIXED64):
        copy_packed(block, op, column, lanes)
        return True
    if op.flags & PACKED and op.wire_type == VARINT and op.code != READ_ENUM and op.code != READ_ENUM_NAME:
        return read_packed_values(block, op, column, lanes, &items)
    if op.flags & PACKED:
        if not find_packed(block, op, NULL, column, lanes, &items):
            return False
    elif not find_items(block, op, column, lanes, &items):
        return False
    if op.code == READ_MESSAGE:
        if not op.flags & ENTRIES:
            set_valid(column + 1, &items)
        if not read_message(block, &block.context.messages[op.message], &items, depth - 1):
            return False
    else:
        flags = <uint8_t *>take(block, items.count)
        if flags == NULL or not read_values(block, &items, op, column + 1, False, flags):
            return False
    return not op.flags & ENTRIES or differ(block, column, lanes)


cdef bint read_mixed(Block *block, const Op *op, const Op *repacked, const Lanes *lanes) noexcept nogil:
    """Read lists some of which are packed, and others not."""
    cdef int64_t mark = block.used
    cdef Column *column = <Column *>(<char *>block.context.columns + op.place)
    cdef const Op *packed = op if op.flags & PACKED else repacked
    cdef Lanes items
    cdef uint8_t *flags
    cdef bint done = False
    if find_packed(block, packed, repacked if packed == op else op, column, lanes, &items):
        flags = <uint8_t *>take(block, items.count)
        done = flags != NULL and read_values(block, &items, op, column + 1, False, flags)
    block.used = mark
    return done


cdef bint differ(Block *block, Column *column, const Lanes *lanes) noexcept nogil:
    """Leave maps in which a key comes twice to the row loop."""
    cdef bint wide = block.context.wide
    cdef int64_t first = offset_at(column, lanes.base, wide)
    cdef int64_t last
    cdef int64_t at
    cdef int repeated
    if lanes.dense and not may_repeat(column, lanes.base, lanes.count, wide):
        return True
    for at in range(lanes.count):
        last = offset_at(column, lanes.lane[at].index + 1, wide)
        if last - first > 1:
            repeated = has_duplicates(column + 1, first, last, wide)
            if repeated < 0:
                return False
            if repeated:
                # If the row is wrong as well, this map stays where it is: no other one may be compared with it.
                column.model = INT64_MAX
                reject(block, &lanes.lane[at])
        first = last
    return True


cdef bint find_items(
    Block *block, const Op *op, Column *column, const Lanes *lanes, Lanes *items
) noexcept nogil:
    """Find the items of lists or maps, each behind a tag of its own; return whether there is room for them."""
    cdef bint wide = block.context.wide
    cdef int64_t base = offset_at(column, lanes.base, wide)
    cdef uint64_t tag = op.tag
    cdef uint64_t mask = op.tag_mask
    cdef int64_t skip = op.tag_size
    cdef int32_t wire_type = op.wire_type
    cdef bint inside = op.code == READ_MESSAGE
    cdef Lane *item = <Lane *>(block.memory + block.used)
    cdef int64_t room = (MEMORY - block.used) // <int64_t>sizeof(Lane)
    cdef int64_t count = 0
    cdef Lane *lane
    cdef const uint8_t *p
    cdef const uint8_t *end
    cdef int64_t at
    cdef int64_t head
    cdef int64_t size
    for at in range(lanes.count):
        lane = &lanes.lane[at]
        p = lane.at
        end = lane.end
        while (load_le64(p) & mask) == tag and p < end:
            p += skip
            head = 0
            if wire_type == LENGTH:
                head = 1
                size = p[0]
                if size >= 0x80:
                    head = read_size(p, end, &size)
            elif wire_type == VARINT:
                size = size_of(p, end)
            else:
                size = 4 if wire_type == FIXED32 else 8
            if unlikely(head + size > end - p):
                reject(block, lane)
                p = end
                break
            if unlikely(count == room):
                return False
            item.at = p + head if inside else p
            p += head + size
            item.end = p
            item.index = base + count
            item.row = lane.row
            item += 1
            count += 1
        lane.at = p
        set_end(column, lane.index, base + count, wide)
    items.lane = <Lane *>take(block, count * sizeof(Lane))
    items.count = count
    items.base = base
    items.dense = True
    return items.lane != NULL


cdef void skip_values(Block *block, const Op *op, const Lanes *lanes, uint8_t *flags) noexcept nogil:
    """Read past a field that has no column."""
    cdef uint64_t tag = op.tag
    cdef uint64_t mask = op.tag_mask
    cdef int64_t skip = op.tag_size
    cdef int32_t wire_type = LENGTH if op.flags & PACKED else op.wire_type
    cdef bint again = (op.flags & ITEMS) != 0
    cdef Lane *lane
    cdef const uint8_t *p
    cdef int64_t at
    cdef int64_t size
    cdef uint64_t raw
    memset(flags, 0, lanes.count)
    if wire_type == GROUP_START:
        return
    for at in range(lanes.count):
        lane = &lanes.lane[at]
        p = lane.at
        while (load_le64(p) & mask) == tag and p < lane.end:
            if wire_type == LENGTH:
                size = skip + 1 + p[skip]
                if p[skip] >= 0x80:
                    size = skip + read_long(p + skip, lane.end, &raw)
                    size += <int64_t>raw if raw >> 31 == 0 else NO_VALUE
            elif wire_type == VARINT:
                size = skip + size_of(p + skip, lane.end)
            else:
                size = skip + (4 if wire_type == FIXED32 else 8)
            if unlikely(size > lane.end - p):
                reject(block, lane)
                p = lane.end
                break
            p += size
            flags[at] = 1
            if not again:
                break
        lane.at = p


cdef bint read_block(
    Block *block, Decoder decoder, const Message **messages, int64_t first, int64_t count
) noexcept nogil:
    """Read rows of the block, from its row `first` on; return whether there is room for all that takes.

    If `Block.failed` is set then, some are odd.
    """
    cdef Column *columns = decoder.builder.columns
    cdef bint wide = decoder.builder.wide
    cdef int64_t base = decoder.row + first
    cdef int32_t program = -1
    cdef uint8_t *present = NULL
    cdef Lanes lanes
    block.used = 0
    block.failed = False
    block.learned = False
    block.root = -1
    begin_row(&block.context.budget)
    lanes.lane = <Lane *>take(block, count * sizeof(Lane))
    lanes.base = base
    lanes.count = find_rows(block, decoder, lanes.lane, first, count, &program)
    lanes.dense = lanes.count == count
    if 3 * count <= 4 * lanes.count < 4 * count and messages[program].required == NULL:
        present = <uint8_t *>take(block, count)
        if present == NULL:
            return False
        fill(&lanes, first, present, count)
        lanes.dense = True
    if not lanes.dense:
        clear(columns, 0, base, count, wide)
    set_valid(columns, &lanes)
    if lanes.count:
        # Payloads mostly stand behind each other, and those of the next block where these end.
        block.ahead = lanes.lane[lanes.count - 1].end - lanes.lane[0].at
        block.context.ops = <const Op *>decoder.tables[program]
        block.context.messages = messages[program]
        block.program = program
        block.met = block.known[program]
        if not read_message(block, messages[program], &lanes, block.context.max_depth):
            return False
    if present != NULL:
        return hide_absent(block, 0, base, present, count)
    if not lanes.dense:
        close_gaps(columns, 0, base, count, wide)
    return True


cdef void drop_odd(Block *block, Column *columns, int64_t base, int64_t first, int64_t count) noexcept nogil:
    """Make odd rows null; `base` is the index of the first row of the block."""
    cdef int64_t foul[LANES]
    cdef int64_t foul_count = 0
    cdef int64_t row
    for row in range(count):
        if block.odd[first + row]:
            hide(columns, base + first + row)
            foul[foul_count] = row
            foul_count += block.foul[first + row]
    if foul_count:
        empty_rows(columns, base + first, count, foul, foul_count, block.context.wide)


cdef int64_t find_rows(
    Block *block, Decoder decoder, Lane *lane, int64_t first, int64_t count, int32_t *program
) noexcept nogil:
    """Find the payloads that are read by the program of the first of them; return their number."""
    cdef const Slice *slice
    cdef const int32_t *starts = decoder.starts.data
    cdef int64_t row
    cdef int64_t found = 0
    cdef int32_t chosen
    cdef int32_t start
    cdef const uint8_t *data
    cdef const int32_t *offsets
    cdef int64_t skip = decoder.start + decoder.prefix_size
    if not decoder.sliced:
        program[0] = 0
        data = decoder.rows.data
        offsets = <const int32_t *>decoder.rows.offsets + decoder.rows.first + decoder.row
        for row in range(first, first + count):
            lane.row = row
            lane.index = decoder.row + row
            lane.at = data + offsets[row] + skip
            lane.end = data + offsets[row + 1]
            if unlikely(lane.at > lane.end):
                reject(block, lane)
                continue
            lane += 1
            found += 1
        return found
    # Where one program reads whole rows, nothing is asked for each of them, which takes half the instructions.
    if decoder.reads_alike():
        program[0] = 0
        for row in range(first, first + count):
            slice = &decoder.slices[row]
            if unlikely(slice.start == NULL):
                continue
            lane.row = row
            lane.index = decoder.row + row
            lane.at = slice.start + decoder.start
            lane.end = slice.end
            if unlikely(lane.at > lane.end) or unlikely(slice.limit - slice.end < SLACK):
                reject(block, lane)
                continue
            lane += 1
            found += 1
        return found
    if starts != NULL and decoder.ends.data == NULL and decoder.selector.data == NULL and decoder.tables[0] != NULL:
        # These are all of one message, each behind a frame of its own length.
        program[0] = 0
        starts += decoder.row
        for row in range(first, first + count):
            slice = &decoder.slices[row]
            if unlikely(slice.start == NULL):
                continue
            start = starts[row]
            lane.row = row
            lane.index = decoder.row + row
            lane.at = slice.start + start
            lane.end = slice.end
            if unlikely(start < 0 or start > slice.end - slice.start or slice.limit - slice.end < SLACK):
                reject(block, lane)
                continue
            lane += 1
            found += 1
        return found
    for row in range(first, first + count):
        chosen = program_of(decoder, row)
        if chosen < 0:
            continue
        if program[0] < 0:
            program[0] = chosen
        slice = &decoder.slices[row]
        lane.row = row
        lane.index = decoder.row + row
        lane.at = payload_of(decoder, lane.index, slice, &lane.end)
        if unlikely(lane.at == NULL or chosen != program[0] or slice.limit - slice.end < SLACK):
            reject(block, lane)
            continue
        lane += 1
        found += 1
    return found
