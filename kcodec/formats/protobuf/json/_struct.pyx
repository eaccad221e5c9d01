"""Struct, Value and ListValue of google.protobuf as text of JSON, and back; see the plain twin.

    Struct  0A size (0A size key 12 size Value) ...     Value  08 00 | 11 double | 1A size text | 20 bool
    List    0A size Value ...                                  2A size Struct | 32 size ListValue

What is rare is left out: fields that are unknown, come twice or in another order, a key that does, text with escapes,
numbers that are long or not finite, many keys, and whatever is wrong. In the messages entries stand in the order of
their keys.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy, memmove, memset

from kcodec.columns.rows._binary cimport BinaryBuilder
from kcodec.columns.rows._rows cimport Rows, Slice
from kcodec.wire.binary.cursor cimport load_le64, store_le64, write_varint
from kcodec.wire.text._floats cimport put_double, read_double
from kcodec.wire.text.json cimport (
    JSON_MARGIN, JsonFault, json_literal, json_number, json_plain, json_space,
)
from kcodec.wire.text.utf8 cimport utf8_valid

from kcodec.plan import Limits

__all__ = ["messages", "texts"]

cdef enum:
    BLOCK_ROWS = 256
    BLOCK_BYTES = 1 << 16
    MOST_ROOM = 1 << 28       # bytes that are kept ready for a row
    SLOP = 1024               # numbers are moved in fixed steps, and sizes come behind what they are of
    MOST_KEYS = 64            # of a Struct
    SIZE = 5                  # bytes of room for the size of what is written first
    BEYOND = 0xEE             # from this byte on the order of UTF-8 is not that of UTF-16, which Java's keys have

cdef int64_t LONGEST_NUMBER = Limits().max_number_length


cdef inline const uint8_t *sized(const uint8_t *at, const uint8_t *end, const uint8_t **stop) noexcept nogil:
    """Read a length of at most four bytes; return the position behind it, and through `stop` where its bytes end."""
    cdef int64_t size = 0
    cdef int shift = 0
    while at < end and shift < 28:
        size |= <int64_t>(at[0] & 0x7F) << shift
        shift += 7
        at += 1
        if at[-1] < 0x80:
            stop[0] = at + size
            return at if size <= end - at else NULL
    return NULL


cdef inline bint is_escaped(uint8_t byte) noexcept nogil:
    return byte < 32 or byte == 34 or byte == 92 or byte == 60 or byte == 62 or byte == 38 or byte == 61 or byte == 39


cdef uint8_t *put_text(const uint8_t *at, const uint8_t *end, uint8_t *out) noexcept nogil:
    if not utf8_valid(at, end - at):
        return NULL
    out[0] = 34
    out += 1
    while at < end:
        # Line and paragraph separators, E2 80 A8 and A9, are escaped, too.
        if is_escaped(at[0]) or (at[0] == 0xE2 and at[1] == 0x80 and at[2] & 0xFE == 0xA8):
            return NULL
        out[0] = at[0]
        out += 1
        at += 1
    out[0] = 34
    return out + 1


cdef uint8_t *put_value(const uint8_t *at, const uint8_t *end, int64_t depth, uint8_t *out) noexcept nogil:
    cdef const uint8_t *stop = NULL
    cdef uint8_t tag
    cdef uint64_t bits
    if at == end:
        memcpy(out, b"null", 4)
        return out + 4
    tag = at[0]
    at += 1
    if tag == 0x11:
        if end - at != 8:
            return NULL
        bits = load_le64(at)
        return put_double((<double *>&bits)[0], out) if ~bits & 0x7FF0000000000000ULL else NULL
    if tag == 0x08 or tag == 0x20:
        if end - at != 1 or at[0] > (tag == 0x20):
            return NULL
        if tag == 0x20 and not at[0]:
            memcpy(out, b"false", 5)
            return out + 5
        memcpy(out, b"true" if at[0] else b"null", 4)
        return out + 4
    at = sized(at, end, &stop)
    if at == NULL or stop != end:
        return NULL
    if tag == 0x1A:
        return put_text(at, end, out)
    if tag == 0x2A:
        return put_struct(at, end, depth - 1, out)
    return put_list(at, end, depth - 1, out) if tag == 0x32 else NULL


cdef uint8_t *put_list(const uint8_t *at, const uint8_t *end, int64_t depth, uint8_t *out) noexcept nogil:
    cdef const uint8_t *stop = NULL
    cdef uint8_t *first = out
    if depth < 1:
        return NULL
    out[0] = 91
    out += 1
    while at < end:
        at = sized(at + 1, end, &stop) if at[0] == 0x0A else NULL
        if at == NULL:
            return NULL
        if out != first + 1:
            out[0] = 44
            out += 1
        out = put_value(at, stop, depth - 1, out)
        if out == NULL:
            return NULL
        at = stop
    out[0] = 93
    return out + 1


cdef uint8_t *put_struct(const uint8_t *at, const uint8_t *end, int64_t depth, uint8_t *out) noexcept nogil:
    cdef const uint8_t *keys[MOST_KEYS]
    cdef int64_t sizes[MOST_KEYS]
    cdef const uint8_t *entry = NULL
    cdef const uint8_t *stop = NULL
    cdef int64_t count = 0
    cdef int64_t each
    # The entry is a message, which counts.
    if depth < 2:
        return NULL
    out[0] = 123
    out += 1
    while at < end:
        at = sized(at + 1, end, &entry) if at[0] == 0x0A else NULL
        if at == NULL or count == MOST_KEYS or at == entry or at[0] != 0x0A:
            return NULL
        at = sized(at + 1, entry, &stop)
        if at == NULL:
            return NULL
        for each in range(count):
            if sizes[each] == stop - at and memcmp(keys[each], at, stop - at) == 0:
                return NULL
        keys[count] = at
        sizes[count] = stop - at
        if count:
            out[0] = 44
            out += 1
        count += 1
        out = put_text(at, stop, out)
        if out == NULL or stop == entry or stop[0] != 0x12:
            return NULL
        out[0] = 58
        at = sized(stop + 1, entry, &stop)
        if at == NULL or stop != entry:
            return NULL
        out = put_value(at, stop, depth - 2, out + 1)
        if out == NULL:
            return NULL
        at = entry
    out[0] = 125
    return out + 1


cdef struct Entry:
    const uint8_t *key
    int64_t key_size
    const uint8_t *start      # of what is written for it
    int64_t size


cdef struct Text:
    const uint8_t *at
    const uint8_t *end


cdef inline uint8_t *end_sized(uint8_t *start, uint8_t *out) noexcept nogil:
    """Put its size before what was written behind the room for it; return the position behind."""
    cdef int64_t size = out - start - SIZE
    cdef uint8_t *content = write_varint(start, size)
    memmove(content, start + SIZE, size)
    return content + size


cdef inline bint steps_over(Text *text, uint8_t byte) noexcept nogil:
    """Step over space, a byte and space behind it; False if another one stands there."""
    text.at = json_space(text.at, text.end)
    if text.at >= text.end or text.at[0] != byte:
        return False
    text.at = json_space(text.at + 1, text.end)
    return True


cdef inline bint closes(Text *text, uint8_t bracket) noexcept nogil:
    """Step over space and a bracket; False if something else stands there."""
    text.at = json_space(text.at, text.end)
    if text.at >= text.end or text.at[0] != bracket:
        return False
    text.at += 1
    return True


cdef uint8_t *read_value(Text *text, int64_t depth, uint8_t *out) noexcept nogil:
    cdef const uint8_t *at = text.at
    cdef const uint8_t *stop
    cdef JsonFault fault
    cdef uint8_t *content
    cdef double number = 0
    if at >= text.end:
        return NULL
    if at[0] == 34:
        stop = json_plain(at + 1, text.end, NULL)
        if stop >= text.end or stop[0] != 34:
            return NULL
        out[0] = 0x1A
        out = write_varint(out + 1, stop - at - 1)
        memcpy(out, at + 1, stop - at - 1)
        text.at = stop + 1
        return out + (stop - at - 1)
    if at[0] == 123 or at[0] == 91:
        out[0] = 0x2A if at[0] == 123 else 0x32
        if at[0] == 123:
            content = read_struct(text, depth - 1, out + 1 + SIZE)
        else:
            content = read_list(text, depth - 1, out + 1 + SIZE)
        return NULL if content == NULL else end_sized(out + 1, content)
    if at[0] == 110 or at[0] == 116 or at[0] == 102:
        text.at = json_literal(
            at, text.end, b"null" if at[0] == 110 else b"true" if at[0] == 116 else b"false", &fault
        )
        out[0] = 0x08 if at[0] == 110 else 0x20
        out[1] = at[0] == 116
        return NULL if text.at == NULL else out + 2
    if not 48 <= at[0] <= 57 and at[0] != 45:
        return NULL
    text.at = json_number(at, text.end, &fault)
    if text.at == NULL or text.at - at > LONGEST_NUMBER:
        return NULL
    if not read_double(at, text.at, &number) or (number == 0 and at[0] == 45):
        return NULL
    out[0] = 0x11
    store_le64(out + 1, (<uint64_t *>&number)[0])
    return out + 9


cdef uint8_t *read_list(Text *text, int64_t depth, uint8_t *out) noexcept nogil:
    cdef uint8_t *start
    if depth < 1 or not steps_over(text, 91):
        return NULL
    if closes(text, 93):
        return out
    while True:
        out[0] = 0x0A
        start = out + 1
        out = read_value(text, depth - 1, start + SIZE)
        if out == NULL:
            return NULL
        out = end_sized(start, out)
        if closes(text, 93):
            return out
        if not steps_over(text, 44):
            return NULL


cdef uint8_t *read_struct(Text *text, int64_t depth, uint8_t *out) noexcept nogil:
    cdef Entry entries[MOST_KEYS]
    cdef Entry *entry
    cdef int64_t count = 0
    cdef uint8_t *start = out
    cdef uint8_t *content
    cdef uint8_t *value
    if depth < 2 or not steps_over(text, 123):
        return NULL
    if closes(text, 125):
        return out
    while count < MOST_KEYS:
        entry = &entries[count]
        count += 1
        if text.at >= text.end or text.at[0] != 34:
            return NULL
        entry.key = text.at + 1
        text.at = json_plain(entry.key, text.end, NULL)
        entry.key_size = text.at - entry.key
        if text.at >= text.end or text.at[0] != 34:
            return NULL
        text.at += 1
        if not steps_over(text, 58):
            return NULL
        entry.start = out
        out[0] = 0x0A
        content = out + 1 + SIZE
        content[0] = 0x0A
        content = write_varint(content + 1, entry.key_size)
        memcpy(content, entry.key, entry.key_size)
        content += entry.key_size
        content[0] = 0x12
        value = content + 1
        content = read_value(text, depth - 2, value + SIZE)
        if content == NULL:
            return NULL
        out = end_sized(out + 1, end_sized(value, content))
        entry.size = out - entry.start
        if closes(text, 125):
            return in_order(entries, count, start, out)
        if not steps_over(text, 44):
            return NULL
    return NULL


cdef uint8_t *in_order(Entry *entries, int64_t count, uint8_t *start, uint8_t *out) noexcept nogil:
    """Put entries in the order of their keys; NULL if two have the same one. Behind them is room for all again."""
    cdef Entry entry
    cdef int64_t at
    cdef int64_t place
    cdef int64_t byte
    cdef int order
    cdef bint moved = False
    cdef uint8_t *copy = out
    for at in range(count):
        entry = entries[at]
        for byte in range(entry.key_size):
            if entry.key[byte] >= BEYOND:
                return NULL
        place = at
        while place:
            order = memcmp(entries[place - 1].key, entry.key, min(entries[place - 1].key_size, entry.key_size))
            if order == 0 and entries[place - 1].key_size == entry.key_size:
                return NULL
            if order < 0 or (order == 0 and entries[place - 1].key_size < entry.key_size):
                break
            entries[place] = entries[place - 1]
            place -= 1
        entries[place] = entry
        moved |= place != at
    if moved:
        for at in range(count):
            memcpy(copy, entries[at].start, entries[at].size)
            copy += entries[at].size
        memcpy(start, out, out - start)
    return out


cdef enum Kind:
    STRUCT
    VALUE
    LIST


cdef int kind_of(object message) except -1:
    cdef object name = message.name
    if name == "google.protobuf.Struct":
        return STRUCT
    if name == "google.protobuf.ListValue":
        return LIST
    if name != "google.protobuf.Value":
        raise ValueError(f"{name} has no such text")
    return VALUE


cdef uint8_t *put_message(const Slice *slice, int kind, int64_t depth, uint8_t *out) noexcept nogil:
    """Write the message of a text."""
    cdef Text text
    text.at = json_space(slice.start, slice.end)
    text.end = slice.end
    if not utf8_valid(slice.start, slice.end - slice.start):
        return NULL
    if kind == STRUCT:
        out = read_struct(&text, depth, out)
    elif kind == LIST:
        out = read_list(&text, depth, out)
    else:
        out = read_value(&text, depth, out)
    return out if out != NULL and json_space(text.at, text.end) == text.end else NULL


cdef uint8_t *put_document(const Slice *slice, int kind, int64_t depth, uint8_t *out) noexcept nogil:
    """Write the text of a message."""
    if kind == STRUCT:
        return put_struct(slice.start, slice.end, depth, out)
    if kind == LIST:
        return put_list(slice.start, slice.end, depth, out)
    return put_value(slice.start, slice.end, depth, out)


cdef bint has_margin(Slice *slice, uint8_t **copy) noexcept nogil:
    """Move a text behind which nothing can be read to where that is possible; False without memory."""
    cdef int64_t size = slice.end - slice.start
    cdef uint8_t *moved
    if slice.limit - slice.end >= JSON_MARGIN:
        return True
    moved = <uint8_t *>realloc(copy[0], size + JSON_MARGIN)
    if moved == NULL:
        return False
    memcpy(moved, slice.start, size)
    memset(moved + size, 0, JSON_MARGIN)
    copy[0] = moved
    slice.start = moved
    slice.end = moved + size
    return True


cdef object converted(object values, object message, int64_t depth, bint reads):
    cdef Rows rows = Rows(values)
    cdef BinaryBuilder output = BinaryBuilder(rows.length, True)
    cdef Slice slices[BLOCK_ROWS]
    cdef int kind = kind_of(message)
    # A digit and its comma become eleven bytes, twice while entries are put in order; an empty item of a list `null,`.
    cdef int64_t factor = 12 if reads else 4
    cdef int64_t row = 0
    cdef int64_t block
    cdef int64_t payload = 0
    cdef int64_t at
    cdef uint8_t *out
    cdef uint8_t *copy = NULL
    try:
        while row < rows.length:
            block = rows.fill(row, slices, BLOCK_ROWS, BLOCK_BYTES, &payload)
            if not output.has_room(min(factor * payload, factor * BLOCK_BYTES + MOST_ROOM) + 8 * block + SLOP):
                output.grow(0, factor * rows.bytes_from(row))
            with nogil:
                for at in range(block):
                    out = NULL
                    if slices[at].start == NULL or factor * (slices[at].end - slices[at].start) > MOST_ROOM:
                        pass
                    elif not reads:
                        out = put_document(&slices[at], kind, depth, output.data + output.used)
                    elif has_margin(&slices[at], &copy):
                        out = put_message(&slices[at], kind, depth, output.data + output.used)
                    output.end_row(out)
            row += block
        return output.finish()
    finally:
        free(copy)


def texts(values, message, depth):
    """Return messages as text, and nulls for what is left out; see the plain twin."""
    return converted(values, message, depth, False)


def messages(values, message, depth):
    """Return texts as messages, and nulls for what is left out; see the plain twin."""
    return converted(values, message, depth, True)
