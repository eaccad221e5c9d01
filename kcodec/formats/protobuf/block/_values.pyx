"""Values of a block of rows, all those of a field: numbers, text and times.

Whether a field is there is branched on only where that is guessed right, because nearly all lanes have it or nearly
none. Else what stands at its place is read, and counts for nothing, and takes no bytes, if it is not the field. `flags`
says of each lane whether it was.
"""

from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.columns.built._column cimport BITS, Column, offset_at, set_end
from kcodec.formats.protobuf.block._lanes cimport Block, Lane, Lanes, reject, take
from kcodec.formats.protobuf.rows._names cimport DIGITS, find_name, print_number
from kcodec.formats.protobuf.rows._program cimport (
    CLOSED, DURATION, ENTRY_VALUE, READ_BOOL, READ_BYTES, READ_ENUM, READ_ENUM_NAME,
    READ_FIXED32_WIDE, READ_FIXED64, READ_INT64, READ_RAW, READ_SINT32, READ_SINT64, READ_TEXT, READ_TIME,
    READ_UINT32_WIDE, STRICT, TEXT_MARGIN, VARINT, FIXED32, ZERO_NULL, Op, Text,
)
from kcodec.plan._budget cimport charge
from kcodec.wire.binary.cursor cimport (
    copy32, copy_wide, ctz64, gather7_by, likely, load_le64, prefetch, prefetch_text, read_any, read_low64, unlikely,
    unzigzag32, unzigzag64,
)
from kcodec.wire.binary.status cimport OK
from kcodec.wire.text.utf8 cimport utf8_valid, utf8_valid_values32, utf8_valid_values64

cdef inline int64_t found(const Lane *lane, uint64_t tag, uint64_t mask, bint steady) noexcept nogil:
    """Return 1 if a field stands where a lane is, else 0; by branches if they will be guessed right."""
    cdef uint64_t word = load_le64(lane.at)
    if steady:
        return 1 if (word & mask) == tag and lane.at < lane.end else 0
    return ((word & mask) == tag) & (lane.at < lane.end)


cdef int64_t eighths(const Lanes *lanes, uint64_t tag, uint64_t mask) noexcept nogil:
    """Look at eight lanes, and return how many of them have a field."""
    cdef int64_t present = 0
    cdef int64_t at
    cdef const Lane *lane
    for at in range(8):
        lane = &lanes.lane[(at * lanes.count) >> 3]
        present += found(lane, tag, mask, False)
    return present


cdef inline bint is_steady(const Lanes *lanes, uint64_t tag, uint64_t mask) noexcept nogil:
    """Return whether nearly all lanes seem to have a field, or nearly none."""
    cdef int64_t present = eighths(lanes, tag, mask)
    return present <= 1 or present >= 7


cdef bint has_long(const Lanes *lanes, const Op *op, bint tagged) noexcept nogil:
    """Look at eight lanes, and return whether some have a varint of more than eight bytes, more than one."""
    cdef uint64_t tag = op.tag if tagged else 0
    cdef uint64_t mask = op.tag_mask if tagged else 0
    cdef int64_t skip = op.tag_size if tagged else 0
    cdef int64_t longer = 0
    cdef int64_t at
    cdef const Lane *lane
    for at in range(8):
        lane = &lanes.lane[(at * lanes.count) >> 3]
        longer += ((~load_le64(lane.at + skip) & 0x8080808080808080ULL) == 0) & found(lane, tag, mask, False)
    return longer > 1


cdef int64_t read_long(const uint8_t *p, const uint8_t *end, uint64_t *raw) noexcept nogil:
    """Read a varint of any length; return its bytes."""
    cdef const uint8_t *at = p
    raw[0] = 0
    return at - p if read_low64(&at, end, end, raw) == OK else NO_VALUE


cdef inline void read_numbers(
    Block *block, const Lanes *lanes, const Op *op, bint tagged, bint steady, bint varint, bint long,
    uint64_t *values, uint8_t *flags
) noexcept nogil:
    cdef uint64_t tag = op.tag if tagged else 0
    cdef uint64_t mask = op.tag_mask if tagged else 0
    cdef int64_t skip = op.tag_size if tagged else 0
    cdef uint64_t bits = 0xFFFFFFFFULL if op.wire_type == FIXED32 else 0xFFFFFFFFFFFFFFFFULL
    cdef int64_t width = skip + (4 if op.wire_type == FIXED32 else 8)
    cdef int64_t ahead = block.ahead
    cdef bint pext = block.pext
    cdef int64_t count = lanes.count
    cdef Lane *lane = lanes.lane
    cdef const uint8_t *p
    cdef int64_t at
    cdef int64_t present
    cdef int64_t size
    cdef uint64_t raw
    cdef uint64_t stops
    cdef uint64_t wide
    for at in range(count):
        p = lane.at
        prefetch(p + ahead)
        present = found(lane, tag, mask, steady)
        if steady and not present:
            values[at] = 0
            flags[at] = 0
            lane += 1
            continue
        raw = load_le64(p + skip)
        stops = ~raw & 0x8080808080808080ULL
        if long:
            raw = read_any(p + skip, pext, &size) & <uint64_t>(-present)
            size = (skip + size) & -present
        elif not varint:
            raw &= bits & <uint64_t>(-present)
            size = width & -present
        elif likely(stops != 0):
            raw = gather7_by(raw & (stops ^ (stops - 1)), pext) & <uint64_t>(-present)
            size = (skip + (ctz64(stops) >> 3) + 1) & -present
        else:
            raw = 0
            size = 0
            if present:
                size = skip + read_long(p + skip, lane.end, &wide)
                raw = wide
        if unlikely(size > lane.end - p):
            reject(block, lane)
            size = lane.end - p
        values[at] = raw
        flags[at] = <uint8_t>present
        lane.at = p + size
        lane += 1


cdef inline void read_texts(
    Block *block, const Lanes *lanes, const Op *op, Column *column, bint tagged, bint steady, uint8_t *flags,
    bint wide
) noexcept nogil:
    cdef uint64_t tag = op.tag if tagged else 0
    cdef uint64_t mask = op.tag_mask if tagged else 0
    cdef int64_t skip = op.tag_size if tagged else 0
    cdef uint8_t *data = column.data
    cdef int32_t *ends = <int32_t *>column.offsets + 1
    cdef int64_t *wide_ends = <int64_t *>column.offsets + 1
    cdef int64_t used = offset_at(column, lanes.base, wide)
    cdef int64_t ahead = block.ahead
    cdef int64_t count = lanes.count
    cdef Lane *lane = lanes.lane
    cdef const uint8_t *p
    cdef int64_t at
    cdef int64_t present
    cdef int64_t size
    cdef int64_t length
    for at in range(count):
        p = lane.at
        prefetch(p + ahead)
        present = found(lane, tag, mask, steady)
        if steady and not present:
            if wide:
                wide_ends[lane.index] = used
            else:
                ends[lane.index] = <int32_t>used
            flags[at] = 0
            lane += 1
            continue
        length = p[skip] & -present
        size = (skip + 1) & -present
        if likely(length <= 32):
            copy32(data + used, p + skip + 1)
        else:
            if length >= 0x80:
                size = skip + read_size(p + skip, lane.end, &length)
                if unlikely(length == NO_VALUE):
                    size = NO_VALUE
                    length = 0
            if length <= lane.end - p - size:
                copy_wide(data + used, p + size, length)
                prefetch_text(p + ahead, length)
        size += length
        if unlikely(size > lane.end - p):
            reject(block, lane)
            size = lane.end - p
            length = 0
        used += length
        if wide:
            wide_ends[lane.index] = used
        else:
            ends[lane.index] = <int32_t>used
        flags[at] = <uint8_t>present
        lane.at = p + size
        lane += 1
    if op.flags & ZERO_NULL:
        used = offset_at(column, lanes.base, wide)
        for at in range(lanes.count):
            lane = &lanes.lane[at]
            length = offset_at(column, lane.index + 1, wide)
            column.valid[lane.index] = length != used
            used = length


cdef void check_texts(Block *block, const Lanes *lanes, const Column *column, bint wide) noexcept nogil:
    """Find the rows of texts that are not UTF-8."""
    cdef int64_t start = offset_at(column, lanes.base, wide)
    cdef int64_t end
    cdef int64_t at
    if all_valid(lanes, column, start, wide):
        return
    for at in range(lanes.count):
        end = offset_at(column, lanes.lane[at].index + 1, wide)
        if not utf8_valid(column.data + start, end - start):
            reject(block, &lanes.lane[at])
            block.foul[lanes.lane[at].row] = 1
        start = end


cdef bint all_valid(const Lanes *lanes, const Column *column, int64_t start, bint wide) noexcept nogil:
    cdef const uint8_t *data = column.data
    cdef bint inside = False
    cdef int64_t end
    cdef int64_t at
    if lanes.dense and wide:
        return utf8_valid_values64(data, <int64_t *>column.offsets + lanes.base, lanes.count)
    if lanes.dense:
        return utf8_valid_values32(data, <int32_t *>column.offsets + lanes.base, lanes.count)
    # Between these there are ends that are not right yet.
    end = offset_at(column, lanes.lane[lanes.count - 1].index + 1, wide)
    if not utf8_valid(data + start, end - start):
        return False
    for at in range(lanes.count):
        end = offset_at(column, lanes.lane[at].index + 1, wide)
        inside |= end > start and (data[start] & 0xC0) == 0x80
        start = end
    return not inside


cdef inline uint64_t read_part(const uint8_t **at, const uint8_t *stop, uint8_t tag, bint pext) noexcept nogil:
    """Read a varint behind its tag, if it is there, else 0; one that is too long ends behind `stop`."""
    cdef const uint8_t *p = at[0]
    cdef int64_t has = (p < stop) & (p[0] == tag)
    cdef uint64_t raw = load_le64(p + 1)
    cdef uint64_t stops = ~raw & 0x8080808080808080ULL
    cdef int64_t size
    if likely(stops != 0):
        at[0] = p + ((2 + (ctz64(stops) >> 3)) & -has)
        return gather7_by(raw & (stops ^ (stops - 1)), pext) & <uint64_t>(-has)
    if not has:
        return 0
    size = 1 + read_long(p + 1, stop, &raw)
    at[0] = p + size if size <= stop - p else stop + 1
    return raw


cdef void read_times(
    Block *block, const Lanes *lanes, const Op *op, bint tagged, uint64_t *values, uint8_t *flags
) noexcept nogil:
    """Read Timestamps or Durations: seconds (1) and nanoseconds (2), either of which may be left out."""
    cdef uint64_t tag = op.tag if tagged else 0
    cdef uint64_t mask = op.tag_mask if tagged else 0
    cdef int64_t skip = op.tag_size if tagged else 0
    cdef int64_t units = 1000000000 // op.factor
    # What may be wrong with a time is for the row loop to say.
    cdef int64_t low = INT64_MIN // units + 3
    cdef int64_t high = INT64_MAX // units - 3
    cdef bint strict = (op.flags & STRICT) != 0
    cdef int64_t ahead = block.ahead
    cdef bint pext = block.pext
    cdef int64_t count = lanes.count
    cdef Lane *lane = lanes.lane
    cdef const uint8_t *p
    cdef const uint8_t *stop
    cdef int64_t at
    cdef int64_t present
    cdef int64_t seconds
    cdef int64_t nanos
    cdef int64_t value
    if strict:
        low = max(low, op.low)
        high = min(high, op.high)
    for at in range(count):
        p = lane.at
        prefetch(p + ahead)
        present = found(lane, tag, mask, False)
        stop = p + ((skip + 1 + p[skip]) & -present)
        if unlikely(stop > lane.end) or unlikely(p[skip] & -present & 0x80):
            reject(block, lane)
            stop = lane.end
            present = 0
        lane.at = stop
        flags[at] = <uint8_t>present
        p += skip + 1
        seconds = <int64_t>read_part(&p, stop, 0x08, pext)
        nanos = <int32_t>read_part(&p, stop, 0x10, pext)
        value = nanos if op.factor == 1 else nanos // 1000
        if unlikely(present and p != stop) or unlikely(seconds < low) or unlikely(seconds > high):
            reject(block, lane)
            seconds = 0
        elif strict:
            if (
                unlikely(nanos <= -1000000000) or unlikely(nanos >= 1000000000)
                or unlikely(op.factor != 1 and value * 1000 != nanos)
                or unlikely(nanos < 0 and (seconds > 0 or not op.flags & DURATION))
                or unlikely(nanos > 0 and seconds < 0 and op.flags & DURATION)
            ):
                reject(block, lane)
        values[at] = <uint64_t>(seconds * units + value)
        lane += 1


cdef void put_values(
    Block *block, const Lanes *lanes, const Op *op, Column *column, uint64_t *values, const uint8_t *flags
) noexcept nogil:
    """Store numbers in the form that their column has."""
    cdef int64_t count = lanes.count
    cdef int64_t at
    cdef int64_t index
    cdef uint64_t absent = 0
    cdef uint8_t *data
    if op.code == READ_ENUM:
        absent = <uint32_t>op.first
        for at in range(count):
            values[at] = <uint32_t>values[at] if flags[at] else absent
        if op.flags & (CLOSED | STRICT | ENTRY_VALUE):
            for at in range(count):
                if unlikely(flags[at] and find_name(op.names, <int32_t>values[at]) == NULL):
                    reject(block, &lanes.lane[at])
    elif op.code == READ_SINT32:
        for at in range(count):
            values[at] = <uint32_t>unzigzag32(<uint32_t>values[at])
    elif op.code == READ_SINT64:
        for at in range(count):
            values[at] = <uint64_t>unzigzag64(values[at])
    elif op.code == READ_BOOL:
        for at in range(count):
            values[at] = values[at] != 0
    elif op.code == READ_UINT32_WIDE or op.code == READ_FIXED32_WIDE or column.width == 4:
        for at in range(count):
            values[at] = <uint32_t>values[at]
    if column.kind == BITS:
        data = column.data
        if lanes.dense:
            data += lanes.base
            for at in range(count):
                data[at] = <uint8_t>values[at]
        else:
            for at in range(count):
                data[lanes.lane[at].index] = <uint8_t>values[at]
    elif column.width == 4:
        data = column.data + 4 * lanes.base
        if lanes.dense:
            for at in range(count):
                (<uint32_t *>data)[at] = <uint32_t>values[at]
        else:
            for at in range(count):
                (<uint32_t *>column.data)[lanes.lane[at].index] = <uint32_t>values[at]
    elif column.width == 8:
        if not lanes.dense:
            for at in range(count):
                (<uint64_t *>column.data)[lanes.lane[at].index] = values[at]
        elif values != <uint64_t *>column.data + lanes.base:
            memcpy(column.data + 8 * lanes.base, values, 8 * count)
    else:
        for at in range(count):
            index = lanes.base + at if lanes.dense else lanes.lane[at].index
            (<uint64_t *>column.data)[2 * index] = values[at]
            (<uint64_t *>column.data)[2 * index + 1] = 0
    if op.flags & ZERO_NULL:
        for at in range(count):
            column.valid[lanes.lane[at].index] = values[at] != absent


cdef bint put_names(
    Block *block, const Lanes *lanes, const Op *op, Column *column, const uint64_t *values, const uint8_t *flags
) noexcept nogil:
    """Store what numbers of an enum are called; newer ones, of an enum that is open, are called by their digits."""
    cdef const Text **texts = <const Text **>take(block, lanes.count * sizeof(Text *))
    cdef const Text *name
    cdef bint closed = (op.flags & (CLOSED | STRICT | ENTRY_VALUE)) != 0
    cdef Text *printed = NULL
    cdef uint8_t *digits = NULL
    cdef int64_t at
    cdef int32_t number
    if texts == NULL:
        return False
    for at in range(lanes.count):
        number = <int32_t>values[at] if flags[at] else op.first
        name = find_name(op.names, number)
        if unlikely(name == NULL) and closed:
            reject(block, &lanes.lane[at])
        elif unlikely(name == NULL):
            if printed == NULL:
                printed = <Text *>take(block, lanes.count * sizeof(Text))
                digits = <uint8_t *>take(block, lanes.count * DIGITS + TEXT_MARGIN)
                if printed == NULL or digits == NULL:
                    return False
            printed[at].data = digits + DIGITS * at
            printed[at].size = print_number(digits + DIGITS * at, number)
            name = &printed[at]
        texts[at] = name
        if op.flags & ZERO_NULL:
            column.valid[lanes.lane[at].index] = number != op.first
    return put_texts(block, lanes, column, texts, False)


cdef bint put_texts(
    Block *block, const Lanes *lanes, Column *column, const Text **texts, bint nullable
) noexcept nogil:
    """Store texts of the program, where there are any; return whether there is room."""
    cdef bint wide = block.context.wide
    cdef int64_t start = offset_at(column, lanes.base, wide)
    cdef int64_t room = block.context.budget.room
    cdef int64_t used = start
    cdef int64_t index
    cdef int64_t at
    for at in range(lanes.count):
        index = lanes.lane[at].index
        if likely(texts[at] != NULL):
            if unlikely(used - start + texts[at].size > room):
                return False
            copy_wide(column.data + used, texts[at].data, texts[at].size)
            used += texts[at].size
        if nullable:
            column.valid[index] = texts[at] != NULL
        set_end(column, index, used, wide)
    return charge(&block.context.budget, used - start) == OK


cdef bint read_values(
    Block *block, const Lanes *lanes, const Op *op, Column *column, bint tagged, uint8_t *flags
) noexcept nogil:
    """Read values that are no messages into their column; return whether there is room for all that takes."""
    cdef uint64_t *values
    cdef bint steady
    if lanes.count == 0:
        return True
    steady = not tagged or is_steady(lanes, op.tag, op.tag_mask)
    if op.code == READ_TEXT or op.code == READ_BYTES or op.code == READ_RAW:
        # Of one width or the other, the loop has one branch less.
        if block.context.wide:
            read_texts(block, lanes, op, column, tagged, steady, flags, True)
        elif steady:
            read_texts(block, lanes, op, column, tagged, True, flags, False)
        else:
            read_texts(block, lanes, op, column, tagged, False, flags, False)
        if op.code == READ_TEXT:
            check_texts(block, lanes, column, block.context.wide)
        return True
    if lanes.dense and (
        op.code == READ_INT64 or op.code == READ_FIXED64 or op.code == READ_SINT64 or op.code == READ_TIME
    ):
        values = <uint64_t *>column.data + lanes.base
    else:
        values = <uint64_t *>take(block, lanes.count * sizeof(uint64_t))
        if values == NULL:
            return False
    if op.code == READ_TIME:
        read_times(block, lanes, op, tagged, values, flags)
    elif op.wire_type != VARINT and steady:
        read_numbers(block, lanes, op, tagged, True, False, False, values, flags)
    elif op.wire_type != VARINT:
        read_numbers(block, lanes, op, tagged, False, False, False, values, flags)
    elif has_long(lanes, op, tagged):
        read_numbers(block, lanes, op, tagged, False, True, True, values, flags)
    elif steady:
        read_numbers(block, lanes, op, tagged, True, True, False, values, flags)
    else:
        read_numbers(block, lanes, op, tagged, False, True, False, values, flags)
    if op.code == READ_ENUM_NAME:
        return put_names(block, lanes, op, column, values, flags)
    put_values(block, lanes, op, column, values, flags)
    return True
