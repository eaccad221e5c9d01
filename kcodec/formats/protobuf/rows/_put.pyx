"""Values to Protobuf messages, a row at a time: the bytes that protobuf-java writes in deterministic order.

Fields are written by number, the entries of maps by key, unknown fields last. The length of a message is written when
the message stands: it is moved up if the length takes more than one byte. There is room for all that is written.
"""

from libc.stdint cimport (
    INT32_MAX, INT32_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.stdlib cimport realloc
from libc.string cimport memcmp, memcpy

from kcodec.columns.built._column cimport offset_t
from kcodec.columns.written._inputs cimport Input, is_valid, start_of
from kcodec.formats.protobuf.rows._names cimport number_at
from kcodec.formats.protobuf.rows._program cimport (
    CHECKED, ENTRIES, FIXED32, ITEMS, PACKED, PRESENT, PUT_BITS32, PUT_BITS64, PUT_BOOL, PUT_CASE, PUT_DOUBLE,
    PUT_ENUM, PUT_ENUM_NAME, PUT_FAIL, PUT_FLOAT, PUT_GROUP, PUT_MESSAGE, PUT_SINT, PUT_TEXT,
    PUT_TIME, PUT_VARINT32, PUT_VARINT64, REQUIRED, STRICT, UNSIGNED, VARINT, Message, Names, Op, Text,
)
from kcodec.formats.protobuf.rows._row cimport check_fields
from kcodec.wire.binary.cursor cimport (
    copy32, copy_within, has_pext, likely, load_be64, store_le32, store_le64, unlikely, write_any, write_varint,
    zigzag64,
)
from kcodec.wire.binary.status cimport (
    INEXACT, INVALID_UTF8, NO_MEMORY, NULL_VALUE, OK, OUT_OF_RANGE, UNION_MEMBERS, UNKNOWN_SYMBOL, Status,
)
from kcodec.wire.text.utf8 cimport utf8_valid


cdef enum:
    FEW = 8       # items are sorted by insertion,
    RANKED = 32   # or by how many come before each


cdef uint8_t *fail(Writing *writing, Status status, const Op *op) noexcept nogil:
    writing.status = status
    writing.op = op
    writing.trail_size = 0
    return NULL


cdef uint8_t *leave(Writing *writing, int64_t item) noexcept nogil:
    """Note, while a failure is passed outwards, in which item of a list or map it happened."""
    if writing.trail_size < TRAIL:
        writing.trail[writing.trail_size] = item
        writing.trail_size += 1
    return NULL


cdef inline int64_t load_integer(const Input *column, int64_t index, bint *beyond) noexcept nogil:
    """Read an integer of any width; `beyond`: it is 2**63 or more (and wrapped), or needs more than 64 bits."""
    cdef int64_t value
    beyond[0] = False
    if column.width == 8:
        value = (<const int64_t *>column.data)[index]
        beyond[0] = not column.signed and value < 0
    elif column.width == 4:
        value = (<const int32_t *>column.data)[index]
        if not column.signed:
            value = <uint32_t>value
    elif column.width == 2:
        value = (<const int16_t *>column.data)[index]
        if not column.signed:
            value = <uint16_t>value
    elif column.width == 1:
        value = (<const int8_t *>column.data)[index]
        if not column.signed:
            value = <uint8_t>value
    else:
        value = (<const int64_t *>column.data)[2 * index]
        beyond[0] = (<const int64_t *>column.data)[2 * index + 1] != value >> 63
    return value


cdef bint read_integer(const Op *op, const Input *column, int64_t index, int64_t *value) noexcept nogil:
    """Read the bits of an integer; False if it is out of range."""
    cdef bint beyond
    cdef int64_t number = load_integer(column, index, &beyond)
    value[0] = number
    if beyond:
        if not op.flags & UNSIGNED or op.bits == 32:
            return False
        return column.width == 8 or (<const int64_t *>column.data)[2 * index + 1] == 0
    if op.bits == 64:
        return number >= 0 or not op.flags & UNSIGNED or not op.flags & STRICT
    if not op.flags & UNSIGNED:
        return INT32_MIN <= number <= INT32_MAX
    if number < 0:
        value[0] = <uint32_t>number
        return not op.flags & STRICT and number >= INT32_MIN
    return number <= <int64_t>0xFFFFFFFF


cdef int64_t name_at(const Names *names, const uint8_t *data, int64_t size) noexcept nogil:
    """Return the position of a name, or -1."""
    cdef int64_t low = 0
    cdef int64_t high = names.count
    cdef int64_t middle
    cdef int order
    cdef const Text *text
    while low < high:
        middle = (low + high) >> 1
        text = &names.texts[middle]
        order = memcmp(text.data, data, min(text.size, size))
        if order == 0 and text.size == size:
            return middle
        if order < 0 or (order == 0 and text.size < size):
            low = middle + 1
        else:
            high = middle
    return -1


cdef bint parse_number(const uint8_t *data, int64_t size, int64_t *value) noexcept nogil:
    """Read what an enum's number is printed as."""
    cdef int64_t at = 0
    cdef int64_t number = 0
    cdef bint negative = size > 0 and data[0] == b"-"
    if negative:
        at = 1
    if size - at < 1 or size - at > 10 or (data[at] == b"0" and (size - at > 1 or negative)):
        return False
    while at < size:
        if data[at] < b"0" or data[at] > b"9":
            return False
        number = 10 * number + data[at] - 48
        at += 1
    value[0] = -number if negative else number
    return True


cdef Status read_enum(const Op *op, const Input *column, int64_t index, int64_t *number) noexcept nogil:
    cdef const uint8_t *data
    cdef int64_t size
    cdef int64_t at
    cdef bint beyond
    if op.code == PUT_ENUM:
        number[0] = load_integer(column, index, &beyond)
        if beyond or not INT32_MIN <= number[0] <= INT32_MAX:
            return OUT_OF_RANGE
        return OK if not op.flags & STRICT or number_at(op.names, <int32_t>number[0]) >= 0 else UNKNOWN_SYMBOL
    at = start_of(column, index)
    data = column.data + at
    size = start_of(column, index + 1) - at
    at = name_at(op.names, data, size)
    if likely(at >= 0):
        number[0] = op.names.numbers[at]
        return OK
    if op.flags & STRICT or not parse_number(data, size, number):
        return UNKNOWN_SYMBOL
    return OK if INT32_MIN <= number[0] <= INT32_MAX else OUT_OF_RANGE


cdef inline uint8_t *put_tag(const Op *op, uint8_t *out) noexcept nogil:
    # There is room for more than a tag takes.
    store_le64(out, op.tag)
    return out + op.tag_size


cdef uint8_t *put_time(const Op *op, int64_t value, uint8_t *out) noexcept nogil:
    """Write a time behind its length; return NULL if it is out of range."""
    cdef uint8_t *start = out + 1
    cdef int64_t nanos
    cdef int64_t seconds = split_time(op, value, &nanos)
    if seconds < op.low or seconds > op.high:
        return NULL
    out = start
    if seconds:
        out[0] = 0x08
        out = write_varint(out + 1, <uint64_t>seconds)
    if nanos:
        out[0] = 0x10
        out = write_varint(out + 1, <uint64_t>nanos)
    (start - 1)[0] = <uint8_t>(out - start)
    return out


cdef inline uint8_t *put_text(const Op *op, const Input *column, int64_t index, uint8_t *out) noexcept nogil:
    """Write text or bytes behind tag and length."""
    cdef int64_t start = start_of(column, index)
    cdef int64_t size = start_of(column, index + 1) - start
    cdef const uint8_t *data = column.data + start
    store_le64(out, op.tag)
    out += op.tag_size
    if likely(size <= 32 and column.limit - data >= 32):
        out[0] = <uint8_t>size
        copy32(out + 1, data)
        return out + 1 + size
    out = write_varint(out, size)
    memcpy(out, data, size)
    return out + size


cdef Status read_number(const Op *op, const Input *column, int64_t index, int64_t *value) noexcept nogil:
    """Read the bits of a number as they are written, or what is wrong with it."""
    cdef double real
    cdef float single
    cdef uint32_t bits
    if op.code == PUT_FLOAT or op.code == PUT_DOUBLE:
        if column.width == (4 if op.code == PUT_FLOAT else 8):
            memcpy(value, column.data + index * column.width, column.width)
            if column.width == 4:
                value[0] = <uint32_t>value[0]
        elif column.width == 4:
            memcpy(&single, column.data + 4 * index, 4)
            real = single
            memcpy(value, &real, 8)
        else:
            memcpy(&real, column.data + 8 * index, 8)
            single = <float>real
            if real == real and single != real:
                return INEXACT
            memcpy(&bits, &single, 4)
            value[0] = bits
    elif op.code == PUT_ENUM or op.code == PUT_ENUM_NAME:
        return read_enum(op, column, index, value)
    elif op.code == PUT_VARINT64 or op.code == PUT_BITS64:
        value[0] = (<const int64_t *>column.data)[index]
    elif op.code == PUT_VARINT32 or op.code == PUT_BITS32:
        value[0] = (<const int32_t *>column.data)[index]
    elif op.code == PUT_BOOL:
        value[0] = column.data[(column.first + index) >> 3] >> ((column.first + index) & 7) & 1
    elif not read_integer(op, column, index, value):
        return OUT_OF_RANGE
    elif op.code == PUT_SINT:
        value[0] = <int64_t>zigzag64(value[0])
    return OK


cdef uint8_t *put_value(
    Writing *writing, const Op *op, const Input *column, int64_t index, uint8_t *out, bint tagged, bint always
) noexcept nogil:
    """Write a value that is not null, behind its tag; nothing if it is the default, but for `always`."""
    cdef int64_t value
    cdef int64_t size
    cdef uint8_t *start
    cdef Status status
    if op.code == PUT_TEXT:
        value = start_of(column, index)
        size = start_of(column, index + 1) - value
        if unlikely(op.flags & CHECKED) and not utf8_valid(column.data + value, size):
            return fail(writing, INVALID_UTF8, op)
        return put_text(op, column, index, out) if size or always else out
    if op.code == PUT_MESSAGE:
        out = put_tag(op, out)
        start = out + 1
        out = put_message(writing, &writing.messages[op.message], index, start)
        return NULL if unlikely(out == NULL) else put_length(start, out)
    if op.code == PUT_TIME:
        out = put_time(op, (<const int64_t *>column.data)[index], put_tag(op, out))
        return fail(writing, OUT_OF_RANGE, op) if unlikely(out == NULL) else out
    if op.code == PUT_GROUP:
        out = put_tag(op, out)
        out = put_message(writing, &writing.messages[op.message], index, out)
        return NULL if unlikely(out == NULL) else write_varint(out, <uint64_t>op.number << 3 | 4)
    status = read_number(op, column, index, &value)
    if unlikely(status != OK):
        return fail(writing, status, op)
    if value == 0 and not always:
        return out
    if tagged:
        out = put_tag(op, out)
    if op.wire_type == VARINT:
        return write_varint(out, <uint64_t>value)
    if op.wire_type == FIXED32:
        store_le32(out, <uint32_t>value)
        return out + 4
    store_le64(out, <uint64_t>value)
    return out + 8


cdef uint8_t *put_plain(
    const Op *op, const Input *items, int64_t first, int64_t last, uint8_t *out
) noexcept nogil:
    """Write items that can neither fail nor be null, in a loop of their own; return NULL for all others."""
    cdef int64_t item
    cdef bint pext = has_pext()
    if op.flags & PACKED:
        if op.code == PUT_BITS64 or op.code == PUT_BITS32 or items.width == 8 and op.code == PUT_DOUBLE \
                or items.width == 4 and op.code == PUT_FLOAT:
            memcpy(out, items.data + first * items.width, (last - first) * items.width)
            return out + (last - first) * items.width
        if op.code == PUT_VARINT64:
            for item in range(first, last):
                out = write_any(out, (<const uint64_t *>items.data)[item], pext)
            return out
        if op.code == PUT_VARINT32:
            for item in range(first, last):
                out = write_any(out, <uint64_t><int64_t>(<const int32_t *>items.data)[item], pext)
            return out
        if op.code == PUT_BOOL:
            for item in range(items.first + first, items.first + last):
                out[0] = items.data[item >> 3] >> (item & 7) & 1
                out += 1
            return out
    elif op.code == PUT_TEXT and not op.flags & CHECKED:
        if items.wide:
            return put_texts(op, items, <const int64_t *>items.offsets + first, last - first, out)
        return put_texts(op, items, <const int32_t *>items.offsets + first, last - first, out)
    return NULL


cdef uint8_t *put_texts(
    const Op *op, const Input *items, const offset_t *offsets, int64_t count, uint8_t *out
) noexcept nogil:
    """Write texts behind tags and lengths; what does not change is kept in registers, as stores might change it."""
    cdef const uint8_t *data = items.data
    cdef const uint8_t *limit = items.limit
    cdef const uint8_t *source
    cdef uint64_t tag = op.tag
    cdef int64_t tag_size = op.tag_size
    cdef int64_t end = offsets[0]
    cdef int64_t size
    cdef int64_t at
    for at in range(count):
        source = data + end
        size = offsets[at + 1] - end
        end += size
        store_le64(out, tag)
        out += tag_size
        if likely(size < 0x80):
            out[0] = <uint8_t>size
            out += 1
        else:
            out = write_varint(out, <uint64_t>size)
        copy_within(out, source, size, limit)
        out += size
    return out


cdef uint8_t *put_items(
    Writing *writing, const Op *op, const Input *list, int64_t index, uint8_t *out
) noexcept nogil:
    cdef const Input *items = list + 1
    cdef int64_t first = start_of(list, index)
    cdef int64_t last = start_of(list, index + 1)
    cdef int64_t item
    cdef uint8_t *start = NULL
    cdef uint8_t *end
    if first == last:
        return out
    if op.flags & PACKED:
        out = put_tag(op, out)
        start = out + 1
        out = start
    if items.validity == NULL and not items.all_null:
        end = put_plain(op, items, first, last, out)
        if end != NULL:
            return end if start == NULL else put_length(start, end)
    for item in range(first, last):
        if unlikely(not is_valid(items, item)):
            fail(writing, NULL_VALUE, op)
            return leave(writing, item - first)
        if op.code == PUT_MESSAGE:
            out = put_tag(op, out) + 1
            end = put_message(writing, &writing.messages[op.message], item, out)
            if unlikely(end == NULL):
                return leave(writing, item - first)
            out = put_length(out, end)
            continue
        out = put_value(writing, op, items, item, out, start == NULL, True)
        if unlikely(out == NULL):
            return leave(writing, item - first)
    return out if start == NULL else put_length(start, out)


cdef inline uint64_t first_bytes(const uint8_t *data, int64_t size) noexcept nogil:
    """Return up to eight bytes as a number that orders them, with zeros behind them."""
    return load_be64(data) & ~(~<uint64_t>0 >> 8 * size if size < 8 else 0)


cdef bint precedes(const Op *key, const Input *keys, int64_t left, int64_t right) noexcept nogil:
    """Return whether a key is written before another: integers as signed ones, text by its UTF-16."""
    cdef int64_t a
    cdef int64_t b
    cdef int64_t first
    cdef int64_t second
    cdef int64_t size
    cdef int64_t other
    cdef int64_t at = 0
    cdef uint64_t here
    cdef uint64_t there
    cdef bint beyond
    if key.code == PUT_TEXT:
        first = start_of(keys, left)
        second = start_of(keys, right)
        size = start_of(keys, left + 1) - first
        other = start_of(keys, right + 1) - second
        if likely(keys.limit - keys.data >= max(first, second) + 8):
            # Most keys of ASCII differ in their first bytes.
            here = first_bytes(keys.data + first, size)
            there = first_bytes(keys.data + second, other)
            if here != there and (here | there) & 0x8080808080808080ULL == 0:
                return here < there
        while at < size and at < other and keys.data[first + at] == keys.data[second + at]:
            at += 1
        if at == size or at == other:
            return size < other
        a = keys.data[first + at]
        b = keys.data[second + at]
        # Surrogates, of what takes four bytes, come before U+E000, which takes three.
        if a >= 0xEE and b >= 0xEE:
            return (a + 0x10 & 0xFF) < (b + 0x10 & 0xFF)
        return a < b
    if key.code == PUT_BOOL:
        a = keys.data[(keys.first + left) >> 3] >> ((keys.first + left) & 7) & 1
        b = keys.data[(keys.first + right) >> 3] >> ((keys.first + right) & 7) & 1
        return a < b
    a = load_integer(keys, left, &beyond)
    b = load_integer(keys, right, &beyond)
    if key.bits == 32:
        return <int32_t>a < <int32_t>b
    return a < b


cdef bint is_sorted(const Op *key, const Input *keys, int64_t first, int64_t count) noexcept nogil:
    """Return whether some items that follow each other stand in the order of their keys."""
    cdef int64_t at
    for at in range(first + 1, first + count):
        if precedes(key, keys, at, at - 1):
            return False
    return True


cdef bint sort_by_rank(const Op *key, const Input *keys, int64_t *order, int64_t count) noexcept nogil:
    """Sort items whose keys are integers, or texts of ASCII that differ in their first bytes; return whether they are.

    To count for each key how many come before it takes more steps than to merge them, but no guesses.
    """
    cdef uint64_t words[RANKED]
    cdef int64_t items[RANKED]
    cdef int64_t ranks[RANKED]
    cdef uint64_t all_bits = 0
    cdef uint64_t word
    cdef uint64_t sign = 0x80000000ULL if key.bits == 32 else 0x8000000000000000ULL
    cdef int64_t start
    cdef int64_t at
    cdef int64_t other
    cdef int64_t after
    cdef int64_t rank
    cdef bint beyond
    cdef bint equal = False
    if key.code == PUT_BOOL:
        return False
    for at in range(count):
        items[at] = order[at]
        ranks[at] = 0
        if key.code == PUT_TEXT:
            start = start_of(keys, order[at])
            if unlikely(keys.limit - keys.data < start + 8):
                return False
            words[at] = first_bytes(keys.data + start, start_of(keys, order[at] + 1) - start)
            all_bits |= words[at]
        else:
            word = <uint64_t>load_integer(keys, order[at], &beyond)
            words[at] = (<uint32_t>word if key.bits == 32 else word) ^ sign
    if key.code == PUT_TEXT and all_bits & 0x8080808080808080ULL:
        return False
    for at in range(1, count):
        word = words[at]
        rank = 0
        for other in range(at):
            after = words[other] > word
            equal |= words[other] == word
            ranks[other] += after
            rank += 1 - after
        ranks[at] = rank
    if equal:
        return False
    for at in range(count):
        order[ranks[at]] = items[at]
    return True


cdef void sort(const Op *key, const Input *keys, int64_t *order, int64_t *scratch, int64_t count) noexcept nogil:
    """Sort items by their keys; those of equal keys stay as they are."""
    cdef int64_t item
    cdef int64_t width = 1
    cdef int64_t start
    cdef int64_t left
    cdef int64_t right
    cdef int64_t middle
    cdef int64_t stop
    cdef int64_t at
    if count <= RANKED and sort_by_rank(key, keys, order, count):
        return
    if count <= FEW:
        for at in range(1, count):
            item = order[at]
            left = at
            while left and precedes(key, keys, item, order[left - 1]):
                order[left] = order[left - 1]
                left -= 1
            order[left] = item
        return
    while width < count:
        start = 0
        while start < count:
            middle = min(start + width, count)
            stop = min(start + 2 * width, count)
            left = start
            right = middle
            for at in range(start, stop):
                if left < middle and (right == stop or not precedes(key, keys, order[right], order[left])):
                    scratch[at] = order[left]
                    left += 1
                else:
                    scratch[at] = order[right]
                    right += 1
            start = stop
        memcpy(order, scratch, count * sizeof(int64_t))
        width *= 2


cdef uint8_t *put_entries(
    Writing *writing, const Op *op, const Input *map, int64_t index, uint8_t *out
) noexcept nogil:
    cdef const Message *entry = &writing.messages[op.message]
    cdef const Op *key = writing.ops + entry.ops
    cdef int64_t first = start_of(map, index)
    cdef int64_t count = start_of(map, index + 1) - first
    cdef int64_t used = writing.order_used
    cdef int64_t at
    cdef int64_t item
    cdef uint8_t *start
    cdef void *grown
    cdef bint sorted = key.code == PUT_FAIL or is_sorted(key, map + 1, first, count)
    if not sorted:
        if used + 2 * count > writing.order_room:
            grown = realloc(writing.order, 2 * (used + 2 * count) * sizeof(int64_t))
            if grown == NULL:
                return fail(writing, NO_MEMORY, op)
            writing.order = <int64_t *>grown
            writing.order_room = 2 * (used + 2 * count)
        for at in range(count):
            writing.order[used + at] = first + at
        sort(key, map + 1, writing.order + used, writing.order + used + count, count)
        writing.order_used = used + count
    for at in range(count):
        item = first + at if sorted else writing.order[used + at]
        out = put_tag(op, out)
        start = out + 1
        out = put_message(writing, entry, item, start)
        if unlikely(out == NULL):
            writing.order_used = used
            return leave(writing, item - first)
        out = put_length(start, out)
    writing.order_used = used
    return out


cdef bint names_member(const Writing *writing, const Op *op, int64_t index) noexcept nogil:
    """Return whether a text that is not null is the name of a member that is set."""
    cdef const Input *column = &writing.columns[op.column]
    cdef int64_t start = start_of(column, index)
    cdef int64_t at = name_at(op.names, column.data + start, start_of(column, index + 1) - start)
    return at >= 0 and op.names.numbers[at] >= 0 and is_valid(&writing.columns[op.names.numbers[at]], index)


cdef bint follows_member(
    const Writing *writing, const Message *message, const Op *op, int64_t index
) noexcept nogil:
    """Return whether a member of the same oneof before this one is set."""
    cdef const Op *other = writing.ops + message.ops
    while other != op:
        if other.oneof == op.oneof and other.code != PUT_FAIL and is_valid(&writing.columns[other.column], index):
            return True
        other += 1
    return False


cdef uint8_t *put_message(Writing *writing, const Message *message, int64_t index, uint8_t *out) noexcept nogil:
    """Write the fields of a message; return the position behind, or NULL."""
    cdef const Op *op = writing.ops + message.ops
    cdef const Op *stop = op + message.count
    cdef const Input *column
    cdef int64_t start
    cdef int64_t size
    cdef Status status
    while op != stop:
        column = &writing.columns[op.column]
        if op.code == PUT_FAIL:
            if op.column < 0 or is_valid(column, index):
                return fail(writing, <Status>op.status, op)
        elif not is_valid(column, index):
            if unlikely(op.flags & REQUIRED):
                return fail(writing, <Status>op.status, op)
        elif op.code == PUT_CASE:
            if unlikely(not names_member(writing, op, index)):
                return fail(writing, UNION_MEMBERS, op)
        else:
            if op.oneof >= 0 and unlikely(follows_member(writing, message, op, index)):
                return fail(writing, UNION_MEMBERS, op)
            if op.flags & ENTRIES:
                out = put_entries(writing, op, column, index, out)
            elif op.flags & ITEMS:
                out = put_items(writing, op, column, index, out)
            else:
                out = put_value(writing, op, column, index, out, True, op.flags & PRESENT)
            if unlikely(out == NULL):
                return NULL
        op += 1
    if message.unknown >= 0 and is_valid(&writing.columns[message.unknown], index):
        column = &writing.columns[message.unknown]
        start = start_of(column, index)
        size = start_of(column, index + 1) - start
        status = check_fields(column.data + start, column.data + start + size)
        if unlikely(status != OK):
            return fail(writing, status, stop)
        memcpy(out, column.data + start, size)
        out += size
    return out
