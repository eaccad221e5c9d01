"""Struct, Value and ListValue of google.protobuf as text of JSON; see the plain twin.

    Struct  0A size (0A size key 12 size Value) ...     Value  08 00 | 11 double | 1A size text | 20 bool
    List    0A size Value ...                                  2A size Struct | 32 size ListValue

What is rare is left out: fields that are unknown, come twice or in another order, a key that does, text to be escaped,
numbers that are not finite, many keys, and whatever is wrong.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from kcodec.columns.rows._binary cimport BinaryBuilder
from kcodec.columns.rows._rows cimport Rows, Slice
from kcodec.wire.binary.cursor cimport load_le64
from kcodec.wire.text._floats cimport put_double
from kcodec.wire.text.utf8 cimport utf8_valid

__all__ = ["texts"]

cdef enum:
    BLOCK_ROWS = 256
    BLOCK_BYTES = 1 << 16
    SLOP = 64                 # numbers are moved in fixed steps
    MOST_KEYS = 64            # of a Struct


cdef inline const uint8_t *sized(const uint8_t *at, const uint8_t *end, const uint8_t **stop) noexcept nogil:
    """Read a length of at most three bytes; return the position behind it, and through `stop` where its bytes end."""
    cdef int64_t size = 0
    cdef int shift = 0
    while at < end and shift < 21:
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


def texts(values, message, depth):
    """Return messages as text, and nulls for what is left out; see the plain twin."""
    cdef Rows rows = Rows(values)
    cdef BinaryBuilder output = BinaryBuilder(rows.length, True)
    cdef Slice slices[BLOCK_ROWS]
    cdef Slice *slice
    cdef int64_t levels = depth
    cdef int64_t row = 0
    cdef int64_t block
    cdef int64_t payload = 0
    cdef int64_t at
    cdef uint8_t *out
    cdef bint is_struct = message.name == "google.protobuf.Struct"
    cdef bint is_list = message.name == "google.protobuf.ListValue"
    if not is_struct and not is_list and message.name != "google.protobuf.Value":
        raise ValueError(f"{message.name} has no such text")
    while row < rows.length:
        block = rows.fill(row, slices, BLOCK_ROWS, BLOCK_BYTES, &payload)
        # Two bytes of a list's item become "null" and a comma.
        if not output.has_room(4 * payload + 8 * block + SLOP):
            output.grow(0, 4 * rows.bytes_from(row))
        with nogil:
            for at in range(block):
                slice = &slices[at]
                out = NULL
                if slice.start == NULL:
                    pass
                elif is_struct:
                    out = put_struct(slice.start, slice.end, levels, output.data + output.used)
                elif is_list:
                    out = put_list(slice.start, slice.end, levels, output.data + output.used)
                else:
                    out = put_value(slice.start, slice.end, levels, output.data + output.used)
                output.end_row(out)
        row += block
    return output.finish()
