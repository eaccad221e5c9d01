"""Delimited text as lists in JSON, and back::

    a,"b, c",,7             ["a","b, c",null,7]

The row loop of JSON reads and writes the columns of the lists. Both ways a row is taken in one pass from left to
right; the output is given room for all that a block of rows can become before the block.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcmp, memcpy, memmove

from kcodec.columns.rows._binary cimport BinaryBuilder
from kcodec.columns.rows._rows cimport Rows, Slice
from kcodec.wire.binary.cursor cimport ctz64, equal8, likely, load_le64, unlikely
from kcodec.wire.text.delimited cimport DelimitedMarks, delimited_marks, is_of_number
from kcodec.wire.text.json cimport JSON_MARGIN, JsonFault, json_plain, json_put_string, json_string
from kcodec.wire.text.utf8 cimport utf8_valid, utf8_valid_prefix

__all__ = ["from_json", "to_json"]

cdef enum:
    BLOCK_ROWS = 512
    BLOCK_BYTES = 1 << 16
    SLOP = 64                 # text is moved in steps of 16 bytes
    MOST = 4                  # bytes of a delimiter

cdef uint64_t COMMAS = 0x2C2C2C2C2C2C2C2CULL
cdef uint64_t BRACKETS = 0x5D5D5D5D5D5D5D5DULL


cdef struct Delimiter:
    uint8_t text[MOST]
    int32_t size
    uint64_t starts           # its first byte, eight times
    bint in_numbers           # or in booleans


cdef int set_delimiter(Delimiter *delimiter, object text) except -1:
    cdef bytes data = text.encode()
    if not 0 < len(data) <= MOST:
        raise ValueError("a delimiter is one character")
    memcpy(delimiter.text, <const uint8_t *>data, len(data))
    delimiter.size = len(data)
    delimiter.starts = delimiter.text[0] * 0x0101010101010101ULL
    delimiter.in_numbers = is_of_number(delimiter.text[0]) or 97 <= delimiter.text[0] <= 122
    return 0


cdef inline bint is_delimiter(const Delimiter *delimiter, const uint8_t *at, const uint8_t *end) noexcept nogil:
    return at[0] == delimiter.text[0] and (
        delimiter.size == 1 or (end - at >= delimiter.size and memcmp(at, delimiter.text, delimiter.size) == 0)
    )


cdef inline const uint8_t *cell_end(const Slice *slice, const uint8_t *at, const Delimiter *delimiter) noexcept nogil:
    """Return where a cell without quotes ends: at a delimiter or a line end, or with the record."""
    cdef uint64_t word
    cdef uint64_t found
    while at < slice.end:
        if slice.limit - at >= 8:
            word = load_le64(at)
            found = equal8(word, delimiter.starts) | equal8(word, 0x0A0A0A0A0A0A0A0AULL) \
                | equal8(word, 0x0D0D0D0D0D0D0D0DULL)
            if found == 0:
                at += 8
                continue
            at += ctz64(found) >> 3
            if at >= slice.end:
                break
        if at[0] == 10 or at[0] == 13 or is_delimiter(delimiter, at, slice.end):
            return at
        at += 1
    return slice.end


cdef inline bint is_boolean(const uint8_t *at, int64_t size) noexcept nogil:
    return (size == 4 and memcmp(at, b"true", 4) == 0) or (size == 5 and memcmp(at, b"false", 5) == 0)


cdef uint8_t *put_cell(
    const uint8_t *at, int64_t size, const uint8_t *limit, uint8_t kind, uint8_t *out
) noexcept nogil:
    cdef int64_t i
    if size == 0:
        memcpy(out, b"null", 4)
        return out + 4
    if kind == 110:
        for i in range(size):
            if not is_of_number(at[i]):
                break
            out[i] = at[i]
        else:
            return out + size
    elif kind == 98:
        if is_boolean(at, size):
            memcpy(out, at, size)
            return out + size
    return json_put_string(at, size, limit, out, False)


cdef inline uint8_t *put_plain_cell(
    const uint8_t *at, int64_t size, const uint8_t *limit, uint8_t kind, bint is_number, uint8_t *out
) noexcept nogil:
    """Write a cell of text that has nothing to escape."""
    cdef bint quoted = True
    if size == 0:
        memcpy(out, b"null", 4)
        return out + 4
    if kind == 110:
        quoted = not is_number
    elif kind == 98:
        quoted = not is_boolean(at, size)
    out[0] = 34
    out += quoted
    if likely(limit - at >= 16):
        memcpy(out, at, 16)
        if unlikely(size > 16):
            memcpy(out + 16, at + 16, size - 16)
    else:
        memcpy(out, at, size)
    out += size
    out[0] = 34
    return out + quoted


cdef uint8_t *put_plain_list(
    const Slice *slice, uint8_t delimiter, const uint8_t *kinds, int64_t count, uint8_t *out
) noexcept nogil:
    """Write a record as a list, if it is one of text without quotes, escapes and line ends; NULL if not."""
    cdef DelimitedMarks marks
    cdef uint8_t last[64]
    cdef const uint8_t *at = slice.start
    cdef const uint8_t *begin = at
    cdef const uint8_t *end
    cdef int64_t cell = 0
    cdef uint64_t wide = 0
    cdef uint64_t words = 0       # what the cell in hand has had of them
    cdef uint64_t within
    cdef uint64_t below
    if at == slice.end:
        return NULL
    out[0] = 91
    out += 1
    while at < slice.end:
        within = <uint64_t>-1 >> (64 - min(slice.end - at, 64))
        if likely(slice.limit - at >= 64):
            marks = delimited_marks(at, delimiter)
        else:
            memcpy(last, at, slice.end - at)
            marks = delimited_marks(last, delimiter)
        if unlikely(marks.odd & within):
            return NULL
        wide |= marks.wide & within
        marks.delimiters &= within
        marks.words &= within
        while marks.delimiters:
            if unlikely(cell == count - 1):
                return NULL
            below = marks.delimiters ^ (marks.delimiters - 1)
            end = at + ctz64(marks.delimiters)
            words |= marks.words & (below >> 1)
            out = put_plain_cell(begin, end - begin, slice.limit, kinds[cell], words == 0, out)
            out[0] = 44
            out += 1
            begin = end + 1
            cell += 1
            words = 0
            marks.words &= ~below
            marks.delimiters &= ~below
        words |= marks.words
        at += 64
    if cell != count - 1 or (unlikely(wide) and not utf8_valid(slice.start, slice.end - slice.start)):
        return NULL
    out = put_plain_cell(begin, slice.end - begin, slice.limit, kinds[cell], words == 0, out)
    out[0] = 93
    return out + 1


cdef uint8_t *put_list(
    const Slice *slice, const Delimiter *delimiter, const uint8_t *kinds, int64_t count, uint8_t *scratch, uint8_t *out
) noexcept nogil:
    """Write a record as a list; NULL if it is odd. The scratch holds as many bytes as the record."""
    cdef const uint8_t *at = slice.start
    cdef const uint8_t *end = slice.end
    cdef const uint8_t *begin
    cdef int64_t cell = 0
    cdef int64_t size
    if at == end or at[0] == 10 or at[0] == 13 or not utf8_valid(at, end - at):
        return NULL
    while True:
        if cell == count:
            return NULL
        out[0] = 44 if cell else 91
        out += 1
        if at < end and at[0] == 34:
            at += 1
            size = 0
            while True:
                if at == end:
                    return NULL
                if at[0] == 34:
                    at += 1
                    if at == end or at[0] != 34:
                        break
                scratch[size] = at[0]
                size += 1
                at += 1
            out = put_cell(scratch, size, scratch + size, kinds[cell], out)
            if at < end and at[0] != 10 and at[0] != 13 and not is_delimiter(delimiter, at, end):
                return NULL
        else:
            begin = at
            at = cell_end(slice, at, delimiter)
            out = put_cell(begin, at - begin, slice.limit, kinds[cell], out)
        cell += 1
        if at == end or at[0] == 10 or at[0] == 13:
            break
        at += delimiter.size
    if cell != count:
        return NULL
    if at < end and at[0] == 13:
        at += 1
    if at < end and at[0] == 10:
        at += 1
    if at != end:
        return NULL
    out[0] = 93
    return out + 1


cdef tuple odd_row(int64_t row, const Slice *slice, const Delimiter *delimiter, int64_t count):
    """Return what is odd about a row; see the plain twin."""
    cdef int64_t size = slice.end - slice.start
    cdef int64_t valid = utf8_valid_prefix(slice.start, size)
    cdef const uint8_t *at = slice.start
    cdef int64_t cells = 1
    cdef int64_t first = 0
    if valid < size:
        return row, valid, None
    if size == 0 or at[0] == 10 or at[0] == 13:
        return row, None, None
    while True:
        if at < slice.end and at[0] == 34:
            at = quotes_end(at, slice.end)
            if at == NULL or (at < slice.end and at[0] != 10 and at[0] != 13
                              and not is_delimiter(delimiter, at, slice.end)):
                return row, None, None
        else:
            at = cell_end(slice, at, delimiter)
        if at == slice.end:
            first = first or cells
            return row, None, first if first != count else None
        if at[0] == 10 or at[0] == 13:
            first = first or cells
            at += 1
        else:
            at += delimiter.size
        cells += 1


cdef const uint8_t *quotes_end(const uint8_t *at, const uint8_t *end) noexcept nogil:
    """Return the position behind a cell that begins with quotes; NULL if they are not closed."""
    while True:
        at = <const uint8_t *>memchr(at + 1, 34, end - at - 1)
        if at == NULL:
            return NULL
        at += 1
        if at == end or at[0] != 34:
            return at


def to_json(values, delimiter, kinds, large=False):
    """Turn records into lists; see the plain twin."""
    cdef Rows rows = Rows(values)
    cdef BinaryBuilder output = BinaryBuilder(rows.length, large)
    cdef bytes held = kinds
    cdef const uint8_t *kind_of = held
    cdef int64_t count = len(held)
    cdef Delimiter mark
    cdef Slice slices[BLOCK_ROWS]
    cdef int64_t row = 0
    cdef int64_t block
    cdef int64_t payload = 0
    cdef int64_t at
    cdef int64_t longest = 0
    cdef uint8_t *scratch = NULL
    cdef uint8_t *out
    set_delimiter(&mark, delimiter)
    odd = []
    try:
        while row < rows.length:
            block = rows.fill(row, slices, BLOCK_ROWS, BLOCK_BYTES, &payload)
            # A byte becomes six at most, and a cell, of which the delimiter is one, five more.
            if not output.has_room(11 * payload + 8 * block + SLOP):
                output.grow(0, 11 * rows.bytes_from(row))
            if payload > longest or scratch == NULL:
                free(scratch)
                longest = 2 * payload
                scratch = <uint8_t *>malloc(longest + SLOP)
                if scratch == NULL:
                    raise MemoryError
            with nogil:
                for at in range(block):
                    out = NULL
                    if slices[at].start != NULL:
                        if mark.size == 1:
                            out = put_plain_list(
                                &slices[at], mark.text[0], kind_of, count, output.data + output.used
                            )
                        if out == NULL:
                            out = put_list(&slices[at], &mark, kind_of, count, scratch, output.data + output.used)
                    output.end_row(out)
            for at in range(block):
                if slices[at].start != NULL and not (output.valid[(row + at) >> 3] >> ((row + at) & 7)) & 1:
                    odd.append(odd_row(row + at, &slices[at], &mark, count))
            row += block
        return output.finish(), odd
    finally:
        free(scratch)


cdef inline bint holds(const uint8_t *text, int64_t size, const Delimiter *delimiter) noexcept nogil:
    """Return whether a delimiter is in a text, behind which 8 bytes may be read."""
    cdef const uint8_t *at = text
    cdef const uint8_t *end = text + size
    cdef uint64_t found
    while at < end:
        found = equal8(load_le64(at), delimiter.starts)
        if end - at < 8:
            found &= ~(<uint64_t>-1 << (8 * (end - at)))
        if found == 0:
            at += 8
            continue
        at += ctz64(found) >> 3
        if is_delimiter(delimiter, at, end):
            return True
        at += 1
    return False


cdef inline uint8_t *finish_plain(uint8_t *text, int64_t size, bint first, const Delimiter *delimiter) noexcept nogil:
    """Put quotes around a text without quotes and line ends, if it needs them; return the position behind.

    Commons-csv compares characters, and those beyond ASCII are greater than any within it.
    """
    cdef uint8_t start
    if size == 0:
        if not first:
            return text
        text[0] = text[1] = 34
        return text + 2
    start = text[0]
    if start > 35 and text[size - 1] > 32 and not holds(text, size, delimiter):
        if not first or 48 <= start <= 57 or 65 <= start <= 90 or 97 <= start <= 122:
            return text + size
    memmove(text + 1, text, size)
    text[0] = text[size + 1] = 34
    return text + size + 2


cdef uint8_t *finish_escaped(uint8_t *text, int64_t size, bint first, const Delimiter *delimiter) noexcept nogil:
    """The same for any text."""
    cdef int64_t quotes = 0
    cdef int64_t at
    cdef uint8_t *source
    cdef uint8_t *target
    cdef bint lines = False
    for at in range(size):
        quotes += text[at] == 34
        lines |= text[at] == 10 or text[at] == 13
    if not quotes and not lines:
        return finish_plain(text, size, first, delimiter)
    source = text + size - 1
    target = source + quotes + 1
    while source >= text:
        target[0] = source[0]
        if source[0] == 34:
            target -= 1
            target[0] = 34
        target -= 1
        source -= 1
    text[0] = 34
    text[size + quotes + 1] = 34
    return text + size + quotes + 2


cdef inline const uint8_t *number_end(const uint8_t *at) noexcept nogil:
    """Return where a number or boolean of a list ends: before a comma or the bracket."""
    cdef uint64_t word = load_le64(at)
    cdef uint64_t found = equal8(word, COMMAS) | equal8(word, BRACKETS)
    while found == 0:
        at += 8
        word = load_le64(at)
        found = equal8(word, COMMAS) | equal8(word, BRACKETS)
    return at + (ctz64(found) >> 3)


cdef uint8_t *put_record(
    const Slice *slice, const Delimiter *delimiter, uint8_t *scratch, uint8_t *out
) noexcept nogil:
    """Write a list as a record. The scratch holds as many bytes as the list, and JSON_MARGIN."""
    cdef const uint8_t *at = slice.start
    cdef const uint8_t *end = slice.end
    cdef const uint8_t *stop
    cdef JsonFault fault
    cdef int64_t size = 0
    cdef bint first = True
    if slice.limit - end < JSON_MARGIN:
        memcpy(scratch, at, end - at)
        end = scratch + (end - at)
        at = scratch
    # A list without values does not come here: there is a column at least.
    at += 1
    while True:
        if at[0] == 34:
            stop = json_plain(at + 1, end, out)
            if stop[0] == 34:
                out = finish_plain(out, stop - at - 1, first, delimiter)
                at = stop + 1
            else:
                at = json_string(at + 1, end, out, &size, &fault)
                out = finish_escaped(out, size, first, delimiter)
        elif at[0] == 110:
            at += 4
        else:
            stop = number_end(at)
            size = stop - at
            memcpy(out, at, 16)
            if unlikely(size > 16):
                memcpy(out + 16, at + 16, size - 16)
            if delimiter.in_numbers or first:
                out = finish_plain(out, size, first, delimiter)
            else:
                out += size
            at = stop
        if at[0] == 93:
            return out
        at += 1
        memcpy(out, delimiter.text, MOST)
        out += delimiter.size
        first = False


def from_json(values, delimiter, large=False):
    """Turn lists into records; see the plain twin."""
    cdef Rows rows = Rows(values)
    cdef BinaryBuilder output = BinaryBuilder(rows.length, large)
    cdef Delimiter mark
    cdef Slice slices[BLOCK_ROWS]
    cdef int64_t row = 0
    cdef int64_t block
    cdef int64_t payload = 0
    cdef int64_t at
    cdef int64_t longest = 0
    cdef uint8_t *scratch = NULL
    cdef uint8_t *out
    set_delimiter(&mark, delimiter)
    try:
        while row < rows.length:
            block = rows.fill(row, slices, BLOCK_ROWS, BLOCK_BYTES, &payload)
            # A number may get quotes, and a comma become four bytes.
            if not output.has_room(4 * payload + SLOP):
                output.grow(0, 4 * rows.bytes_from(row))
            if payload > longest or scratch == NULL:
                free(scratch)
                longest = 2 * payload
                scratch = <uint8_t *>calloc(longest + JSON_MARGIN, 1)
                if scratch == NULL:
                    raise MemoryError
            with nogil:
                for at in range(block):
                    out = NULL
                    if slices[at].start != NULL:
                        out = put_record(&slices[at], &mark, scratch, output.data + output.used)
                    output.end_row(out)
            row += block
        return output.finish()
    finally:
        free(scratch)
