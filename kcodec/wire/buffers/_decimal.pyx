"""Columns of decimals: unscaled bytes, text, Arrow slots. The Python twin is ``_decimal_py``."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from kcodec.wire.binary.decimal cimport (
    decimal_bytes_room, decimal_from_bytes, decimal_number, decimal_number_to_bytes, decimal_parse,
    decimal_rescale, decimal_resize, decimal_text_room, decimal_to_bytes, decimal_to_fixed, decimal_to_text,
)
from kcodec.wire.binary.status cimport NEED_ROOM, OK
from kcodec.wire.buffers.column cimport (
    BAD_SLICE, Column, no_buffers, offset_at, read_buffer, read_column, release_buffers, slice_at,
    write_buffer,
)

from kcodec.wire._faults import bad_slice, decode_error, encode_error


cdef int text_loop(
    const Column *column, Py_ssize_t *row, int32_t scale, bint plain, int64_t precision,
    char *out, int64_t room, int64_t *out_offsets
) noexcept nogil:
    cdef const uint8_t *source = NULL
    cdef int64_t size = 0
    cdef size_t length = 0
    cdef int64_t at = out_offsets[row[0]]
    cdef int status
    while row[0] < column.rows:
        if not slice_at(column, row[0], &source, &size):
            return BAD_SLICE
        if at + <int64_t>decimal_text_room(<size_t>size, scale, plain) > room:
            return NEED_ROOM
        status = decimal_to_text(source, <size_t>size, scale, plain, precision, out + at, &length)
        if status != OK:
            return status
        at += <int64_t>length
        row[0] += 1
        out_offsets[row[0]] = at
    return OK


cdef int bytes_loop(
    const Column *column, Py_ssize_t *row, int32_t scale, int64_t precision, int64_t wanted,
    uint8_t *out, int64_t room, int64_t *out_offsets
) noexcept nogil:
    cdef const uint8_t *source = NULL
    cdef int64_t size = 0
    cdef int64_t at = out_offsets[row[0]]
    cdef int64_t need
    cdef decimal_number number
    cdef size_t take = 0
    cdef size_t zeros = 0
    cdef size_t made
    cdef int status
    while row[0] < column.rows:
        if not slice_at(column, row[0], &source, &size):
            return BAD_SLICE
        status = decimal_parse(<const char *>source, <size_t>size, scale, precision, &number, &take, &zeros)
        if status != OK:
            return status
        need = <int64_t>decimal_bytes_room(take + zeros)
        if wanted >= 0:
            need += wanted
        if at + need > room:
            return NEED_ROOM
        if wanted < 0:
            at += <int64_t>decimal_number_to_bytes(&number, take, zeros, out + at)
        else:
            # Made behind its place, then widened into it.
            made = decimal_number_to_bytes(&number, take, zeros, out + at + wanted)
            status = decimal_resize(out + at + wanted, made, out + at, <size_t>wanted)
            if status != OK:
                return status
            at += wanted
        row[0] += 1
        out_offsets[row[0]] = at
    return OK


cdef int slots_loop(
    const Column *column, Py_ssize_t *row, int precision, int words, int64_t rescale, uint8_t *out
) noexcept nogil:
    cdef const uint8_t *source = NULL
    cdef int64_t size = 0
    cdef uint8_t wide[32]
    cdef int status
    while row[0] < column.rows:
        if not slice_at(column, row[0], &source, &size):
            return BAD_SLICE
        if rescale == 0:
            status = decimal_from_bytes(source, <size_t>size, precision, words, out)
        else:
            status = decimal_from_bytes(source, <size_t>size, 76, 4, wide)
            if status == OK:
                status = decimal_rescale(wide, 4, rescale, precision, wide)
            if status == OK:
                memcpy(out, wide, 8 * words)
        if status != OK:
            return status
        out += 8 * words
        row[0] += 1
    return OK


cdef int unscaled_loop(
    const uint8_t *slot, int words, Py_ssize_t rows, Py_ssize_t *row, int64_t rescale, int64_t wanted,
    uint8_t *out, int64_t *out_offsets
) noexcept nogil:
    cdef uint8_t wide[32]
    cdef int64_t at = 0
    cdef int used
    cdef int status = OK
    cdef int i
    cdef const uint8_t *value
    out_offsets[0] = 0
    while row[0] < rows:
        value = slot
        used = words
        if rescale != 0:
            memcpy(wide, slot, 8 * words)
            for i in range(8 * words, 32):
                wide[i] = 0xFF if slot[8 * words - 1] >= 0x80 else 0
            status = decimal_rescale(wide, 4, rescale, 76, wide)
            if status != OK:
                return status
            value = wide
            used = 4
        if wanted < 0:
            at += <int64_t>decimal_to_bytes(value, used, out + at)
        else:
            status = decimal_to_fixed(value, used, out + at, <size_t>wanted)
            if status != OK:
                return status
            at += wanted
        slot += 8 * words
        row[0] += 1
        out_offsets[row[0]] = at
    return OK


cdef object fault(int status, const Column *column, Py_ssize_t row):
    if status == BAD_SLICE:
        return bad_slice(row)
    return decode_error(status, row, offset_at(column, row))


cdef int check_offsets_room(const Py_buffer *offsets, Py_ssize_t rows, Py_ssize_t first) except -1:
    if not 0 <= first <= rows or offsets.len // 8 < rows + 1:
        raise ValueError("no room for the offsets")
    return 0


cdef Py_ssize_t convert(
    source, Py_ssize_t row, int32_t scale, bint to_text, bint plain, int64_t precision, int64_t wanted, out, out_offsets
) except -1:
    """Do what `to_text` and `from_text` have in common."""
    cdef Py_buffer views[4]
    cdef Column column
    cdef int status
    no_buffers(views, sizeof(views))
    try:
        read_column(source, &column, views)
        write_buffer(out, &views[2])
        write_buffer(out_offsets, &views[3])
        check_offsets_room(&views[3], column.rows, row)
        with nogil:
            if to_text:
                status = text_loop(
                    &column, &row, scale, plain, precision, <char *>views[2].buf, views[2].len,
                    <int64_t *>views[3].buf
                )
            else:
                status = bytes_loop(
                    &column, &row, scale, precision, wanted, <uint8_t *>views[2].buf, views[2].len,
                    <int64_t *>views[3].buf
                )
        if status != OK and status != NEED_ROOM:
            raise fault(status, &column, row)
        return row
    finally:
        release_buffers(views, sizeof(views))


def to_text(source, first: int, scale: int, plain: bool, precision: int, out, out_offsets) -> int:
    """Write the text of rows ``first`` and on, while there is room; return the row to go on with."""
    return convert(source, first, scale, True, plain, precision, 0, out, out_offsets)


def from_text(source, first: int, scale: int, precision: int, size: int, out, out_offsets) -> int:
    """Write the unscaled bytes of rows ``first`` and on, while there is room; return the row to go on with."""
    return convert(source, first, scale, False, False, precision, size, out, out_offsets)


def to_slots(source, precision: int, words: int, rescale: int, out) -> None:
    """Write the Arrow slots of a column of unscaled bytes."""
    cdef Py_buffer views[3]
    cdef Column column
    cdef Py_ssize_t row = 0
    cdef int status
    cdef int c_precision = precision
    cdef int c_words = words
    cdef int64_t c_rescale = rescale
    if words not in (2, 4) or not 1 <= precision <= 19 * words:
        raise ValueError("words or precision out of range")
    no_buffers(views, sizeof(views))
    try:
        read_column(source, &column, views)
        write_buffer(out, &views[2])
        if views[2].len // (8 * c_words) < column.rows:
            raise ValueError("no room for the slots")
        with nogil:
            status = slots_loop(&column, &row, c_precision, c_words, c_rescale, <uint8_t *>views[2].buf)
        if status != OK:
            raise fault(status, &column, row)
    finally:
        release_buffers(views, sizeof(views))


def from_slots(slots, words: int, rows: int, rescale: int, size: int, out, out_offsets) -> None:
    """Write the unscaled bytes of Arrow slots: the fewest, or exactly ``size`` of them unless it is negative."""
    cdef Py_buffer views[3]
    cdef Py_ssize_t c_rows = rows
    cdef Py_ssize_t row = 0
    cdef int status
    cdef int c_words = words
    cdef int64_t c_rescale = rescale
    cdef int64_t wanted = size
    if words not in (2, 4) or rows < 0:
        raise ValueError("words or rows out of range")
    no_buffers(views, sizeof(views))
    try:
        read_buffer(slots, &views[0])
        write_buffer(out, &views[1])
        write_buffer(out_offsets, &views[2])
        check_offsets_room(&views[2], c_rows, 0)
        if views[0].len // (8 * c_words) < c_rows or c_rows and views[1].len // max(wanted, 32) < c_rows:
            raise ValueError("no room for the values")
        with nogil:
            status = unscaled_loop(
                <const uint8_t *>views[0].buf, c_words, c_rows, &row, c_rescale, wanted,
                <uint8_t *>views[1].buf, <int64_t *>views[2].buf
            )
        if status != OK:
            raise encode_error(<int>status, row)
    finally:
        release_buffers(views, sizeof(views))
