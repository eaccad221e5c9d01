"""Values of a block of rows to Protobuf, all those of a field: numbers, text and times.

Whether a row has the field is not branched on: it is written, and takes no bytes if the row has none. `flags` says of
each lane whether it has. A number is stored with its tag before it and as many bytes as the longest that it can be.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from kcodec.columns.written._inputs cimport Input, start_of
from kcodec.columns.written._slots cimport LANES, Slots
from kcodec.formats.protobuf.rows._program cimport (
    CHECKED, FIXED32, PRESENT, PUT_BITS32, PUT_BITS64, PUT_BOOL, PUT_DOUBLE, PUT_FLOAT, PUT_TEXT, PUT_TIME,
    PUT_VARINT32, PUT_VARINT64, VARINT, Op,
)
from kcodec.formats.protobuf.rows._put cimport put_time, read_number, split_time
from kcodec.wire.binary.cursor cimport (
    copy_wide, likely, has_pext, popcount64, store_le64, unlikely, unpack8, varint_word, write_any, write_varint,
)
from kcodec.wire.binary.status cimport OK
from kcodec.wire.text.utf8 cimport utf8_valid


cdef enum Form:
    FIXED         # as many bytes as the wire type has
    ONE_BYTE      # varints of all values: one byte,
    EIGHT_BYTES   # at most eight,
    ANY           # or any number of them


cdef inline bint is_dense(const int64_t *lanes, int64_t count) noexcept nogil:
    """Return whether lanes, which ascend, are all up to the last of them."""
    return lanes[count - 1] == count - 1


cdef int64_t find_valid(
    const Slots *block, const Input *column, const int64_t *lanes, int64_t count, uint8_t *flags
) noexcept nogil:
    """Find the lanes that are not null; return how many they are."""
    cdef const uint8_t *validity = column.validity
    cdef int64_t first = column.first + block.first
    cdef int64_t at
    cdef int64_t index
    cdef int64_t begin = 0
    cdef int64_t found = 0
    if validity == NULL:
        memset(flags, not column.all_null, count)
        return 0 if column.all_null else count
    if first & 7 == 0 and is_dense(lanes, count):
        while begin + 8 <= count:
            unpack8(flags + begin, validity[(first + begin) >> 3])
            found += popcount64(validity[(first + begin) >> 3])
            begin += 8
    for at in range(begin, count):
        index = first + lanes[at]
        flags[at] = (validity[index >> 3] >> (index & 7)) & 1
        found += flags[at]
    return found


cdef const int64_t *read_numbers(
    const Slots *block, const Op *op, const Input *column, const int64_t *lanes, int64_t count, const uint8_t *flags,
    int64_t *values
) noexcept nogil:
    """Return the numbers to be written, 0 for null, which may be put into `values`; NULL if one cannot be."""
    cdef int64_t first = block.first
    cdef const int64_t *longs = <const int64_t *>column.data + first
    cdef const int32_t *ints = <const int32_t *>column.data + first
    cdef const uint8_t *bits = column.data
    cdef int64_t at
    cdef int64_t index
    cdef bint dense = is_dense(lanes, count)
    if op.code == PUT_VARINT64 or op.code == PUT_BITS64 or op.code == PUT_DOUBLE and column.width == 8:
        if column.validity == NULL and dense:
            return longs
        for at in range(count):
            values[at] = longs[lanes[at]] & -<int64_t>flags[at]
    elif op.code == PUT_VARINT32 or op.code == PUT_BITS32 or op.code == PUT_FLOAT and column.width == 4:
        if dense:
            for at in range(count):
                values[at] = ints[at] & -<int64_t>flags[at]
            return values
        for at in range(count):
            values[at] = ints[lanes[at]] & -<int64_t>flags[at]
    elif op.code == PUT_BOOL:
        first += column.first
        if dense:
            for at in range(count):
                values[at] = (bits[(first + at) >> 3] >> ((first + at) & 7)) & flags[at]
            return values
        for at in range(count):
            index = first + lanes[at]
            values[at] = (bits[index >> 3] >> (index & 7)) & flags[at]
    else:
        for at in range(count):
            values[at] = 0
            if flags[at] and unlikely(read_number(op, column, first + lanes[at], &values[at]) != OK):
                return NULL
    return values


cdef inline void numbers(
    Slots *block, const Op *op, const int64_t *lanes, int64_t count, const int64_t *values, const uint8_t *flags,
    Form form, bint pext, bint dense
) noexcept nogil:
    """Write numbers behind their tags, in a loop for each form that is known when this is compiled."""
    cdef uint8_t **outs = block.out
    cdef uint8_t *out
    cdef uint64_t tag = op.tag
    cdef int64_t skip = op.tag_size
    cdef uint64_t word
    cdef int64_t size = 4 if op.wire_type == FIXED32 else 8
    cdef int64_t at
    cdef int64_t lane
    for at in range(count):
        lane = at if dense else lanes[at]
        out = outs[lane]
        if form == ONE_BYTE:
            store_le64(out, tag | <uint64_t>values[at] << 8 * skip)
            size = 1
        else:
            store_le64(out, tag)
            if form == FIXED:
                store_le64(out + skip, <uint64_t>values[at])
            elif form == EIGHT_BYTES:
                word = varint_word(<uint64_t>values[at], &size, pext)
                store_le64(out + skip, word)
            else:
                # Of both signs, say: whether a number is long is not to be guessed.
                size = write_any(out + skip, <uint64_t>values[at], pext) - (out + skip)
        outs[lane] = out + ((skip + size) & -<int64_t>flags[at])


cdef void put_numbers(
    Slots *block, const Op *op, const int64_t *lanes, int64_t count, const int64_t *values, const uint8_t *flags
) noexcept nogil:
    cdef uint64_t all_bits = 0
    cdef bint dense = is_dense(lanes, count)
    cdef bint pext = has_pext()
    cdef int64_t at
    if op.wire_type != VARINT and dense:
        numbers(block, op, lanes, count, values, flags, FIXED, False, True)
        return
    if op.wire_type != VARINT:
        numbers(block, op, lanes, count, values, flags, FIXED, False, False)
        return
    for at in range(count):
        all_bits |= <uint64_t>values[at]
    if all_bits < 0x80 and dense:
        numbers(block, op, lanes, count, values, flags, ONE_BYTE, False, True)
    elif all_bits < 0x80:
        numbers(block, op, lanes, count, values, flags, ONE_BYTE, False, False)
    elif all_bits >> 56:
        numbers(block, op, lanes, count, values, flags, ANY, pext, False)
    elif dense and pext:
        numbers(block, op, lanes, count, values, flags, EIGHT_BYTES, True, True)
    else:
        numbers(block, op, lanes, count, values, flags, EIGHT_BYTES, pext, False)


cdef bint put_times(
    Slots *block, const Op *op, const Input *column, const int64_t *lanes, int64_t count, const uint8_t *flags
) noexcept nogil:
    cdef uint8_t **outs = block.out
    cdef uint8_t *out
    cdef uint8_t *body
    cdef const int64_t *times = <const int64_t *>column.data + block.first
    cdef uint64_t tag = op.tag
    cdef int64_t skip = op.tag_size + 1
    cdef int64_t low = max(op.low, 0)
    cdef int64_t high = op.high
    cdef int64_t seconds
    cdef int64_t nanos
    cdef int64_t size
    cdef int64_t at
    cdef uint64_t word
    cdef bint pext = has_pext()
    for at in range(count):
        if not flags[at]:
            continue
        out = outs[lanes[at]]
        store_le64(out, tag)
        body = out + skip
        seconds = split_time(op, times[lanes[at]], &nanos)
        if unlikely(seconds < low) or unlikely(seconds > high) or unlikely(nanos < 0):
            # The varint of a negative number takes ten bytes.
            body = put_time(op, times[lanes[at]], body - 1)
            if body == NULL:
                return False
            outs[lanes[at]] = body
            continue
        body[0] = 0x08
        word = varint_word(<uint64_t>seconds, &size, pext)
        store_le64(body + 1, word)
        body += (1 + size) & -<int64_t>(seconds != 0)
        body[0] = 0x10
        word = varint_word(<uint64_t>nanos, &size, pext)
        store_le64(body + 1, word)
        body += (1 + size) & -<int64_t>(nanos != 0)
        out[skip - 1] = <uint8_t>(body - out - skip)
        outs[lanes[at]] = body
    return True


cdef inline void put_texts(
    Slots *block, const Op *op, const Input *column, const int64_t *lanes, int64_t count, const uint8_t *flags,
    bint wide, bint dense
) noexcept nogil:
    cdef uint8_t **outs = block.out
    cdef uint8_t *out
    cdef const uint8_t *data = column.data
    cdef const uint8_t *source
    cdef const int32_t *offsets = <const int32_t *>column.offsets + (0 if wide else block.first)
    cdef const int64_t *wide_offsets = <const int64_t *>column.offsets + (block.first if wide else 0)
    cdef uint64_t tag = op.tag
    cdef int64_t skip = op.tag_size
    cdef int64_t always = -1 if op.flags & PRESENT else 0
    cdef int64_t most = 0x80
    cdef int64_t size
    cdef int64_t at
    cdef int64_t lane
    if column.limit - data < start_of(column, block.first + lanes[count - 1] + 1) + 32:
        # Moves of 32 bytes would read too far.
        most = 0
    for at in range(count):
        lane = at if dense else lanes[at]
        out = outs[lane]
        if wide:
            source = data + wide_offsets[lane]
            size = wide_offsets[lane + 1] - wide_offsets[lane]
        else:
            source = data + offsets[lane]
            size = offsets[lane + 1] - offsets[lane]
        store_le64(out, tag)
        if likely(size < most):
            out[skip] = <uint8_t>size
            copy_wide(out + skip + 1, source, size)
            outs[lane] = out + ((skip + 1 + size) & -<int64_t>flags[at] & (always | -size >> 63))
        elif flags[at] and always | size:
            out = write_varint(out + skip, <uint64_t>size)
            memcpy(out, source, size)
            outs[lane] = out + size


cdef bint is_text(
    const Slots *block, const Input *column, const int64_t *lanes, int64_t count, const uint8_t *flags
) noexcept nogil:
    """Return whether all bytes that are flagged are UTF-8."""
    cdef int64_t start
    cdef int64_t at
    for at in range(count):
        start = start_of(column, block.first + lanes[at])
        if flags[at] and not utf8_valid(
            column.data + start, start_of(column, block.first + lanes[at] + 1) - start
        ):
            return False
    return True


cdef bint put_values(
    Slots *block, const Op *op, const Input *column, const int64_t *lanes, int64_t count, uint8_t *flags
) noexcept nogil:
    """Write the values of a field that are flagged; return whether all of them can be."""
    cdef int64_t room[LANES]
    cdef const int64_t *values
    cdef int64_t at
    if op.code == PUT_TEXT:
        if op.flags & CHECKED and not is_text(block, column, lanes, count, flags):
            return False
        if column.wide:
            put_texts(block, op, column, lanes, count, flags, True, False)
        elif is_dense(lanes, count):
            put_texts(block, op, column, lanes, count, flags, False, True)
        else:
            put_texts(block, op, column, lanes, count, flags, False, False)
        return True
    if op.code == PUT_TIME:
        return put_times(block, op, column, lanes, count, flags)
    values = read_numbers(block, op, column, lanes, count, flags, room)
    if values == NULL:
        return False
    if not op.flags & PRESENT:
        for at in range(count):
            flags[at] = values[at] != 0
    put_numbers(block, op, lanes, count, values, flags)
    return True
