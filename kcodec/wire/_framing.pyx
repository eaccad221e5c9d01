"""Confluent's frame of columns of values (see ``frame.pxd``). The Python twin is ``_framing_py``."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from kcodec.wire.column cimport (
    BAD_SLICE, Column, make_column, no_buffers, offset_at, read_buffer, release_buffers, slice_at,
    write_buffer,
)
from kcodec.wire.cursor cimport copy32, load_be32
from kcodec.wire.frame cimport (
    ID_SIZE, read_frame, read_indexes, write_guid, write_id, write_indexes,
)
from kcodec.wire.status cimport NEED_ROOM, OK, Status

from kcodec.wire._faults import bad_slice, decode_error, encode_error


cdef int split_loop(
    const Column *column, Py_ssize_t *row, const uint8_t *valid, int32_t *ids, int64_t *starts, uint8_t *guids,
    int32_t *levels, int64_t room, int64_t *level_ends
) noexcept nogil:
    cdef const uint8_t *start = NULL
    cdef const uint8_t *at
    cdef int64_t size = 0
    cdef int64_t used = level_ends[row[0]] if level_ends != NULL else 0
    cdef int32_t prefix = 0
    cdef int32_t made = 0
    cdef Status status
    while row[0] < column.rows:
        if not slice_at(column, row[0], &start, &size):
            return BAD_SLICE
        at = start
        ids[row[0]] = -1
        if valid == NULL or valid[row[0]]:
            status = read_frame(start, start + size, &prefix)
            if status != OK:
                return status
            if prefix == ID_SIZE:
                ids[row[0]] = <int32_t>load_be32(start + 1)
            elif guids == NULL:
                return NEED_ROOM
            else:
                memcpy(guids + 16 * row[0], start + 1, 16)
            at += prefix
            if level_ends != NULL:
                status = read_indexes(
                    &at, start + size, column.data + column.size, levels + used, room - used, &made, True
                )
                if status != OK:
                    return status
                used += made
        starts[row[0]] = at - column.data
        row[0] += 1
        if level_ends != NULL:
            level_ends[row[0]] = used
    return OK


cdef int join_loop(
    const Column *column, Py_ssize_t *row, const uint8_t *valid, const uint8_t *keys, int key_size, bint one_key,
    const int32_t *levels, int64_t level_count, const int64_t *level_ends, Py_ssize_t level_rows,
    uint8_t *out, int64_t room, int64_t *out_offsets
) noexcept nogil:
    cdef const uint8_t *source = NULL
    cdef const uint8_t *key
    cdef uint8_t *to
    cdef int64_t size = 0
    cdef int64_t first = 0
    cdef int64_t last = 0
    cdef int64_t index_room = 0
    cdef int64_t at = 0
    cdef Py_ssize_t which
    cdef Status status
    out_offsets[0] = 0
    while row[0] < column.rows:
        if not slice_at(column, row[0], &source, &size):
            return BAD_SLICE
        # One list of indexes is that of all rows; none are no indexes.
        if level_rows > 0:
            which = 0 if level_rows == 1 else row[0]
            first = level_ends[which]
            last = level_ends[which + 1]
            if not 0 <= first <= last <= level_count:
                return BAD_SLICE
            index_room = 5 * (last - first + 1)
        if valid == NULL or valid[row[0]]:
            if at + 1 + key_size + index_room + size > room:
                return NEED_ROOM
            key = keys if one_key else keys + row[0] * key_size
            if key_size == 4:
                at += write_id(out + at, (<const uint32_t *>key)[0])
            else:
                at += write_guid(out + at, key)
            if level_rows > 0:
                to = out + at
                status = write_indexes(&to, levels + first, last - first)
                if status != OK:
                    return status
                at = to - out
            if size <= 32 and column.data + column.size - source >= 32 and room - at >= 32:
                copy32(out + at, source)
            else:
                memcpy(out + at, source, <size_t>size)
            at += size
        row[0] += 1
        out_offsets[row[0]] = at
    return OK


cdef const uint8_t *flags(const Py_buffer *view, Py_ssize_t rows) except? NULL:
    """Return the validity bytes; NULL if there are none."""
    if view.len == 0:
        return NULL
    if view.len < rows:
        raise ValueError("valid must have an element for each row")
    return <const uint8_t *>view.buf


def split(
    data, offsets, width: int, stride: int, rows: int, first: int, valid, ids, starts, guids, levels, level_ends,
) -> int:
    """Read frames from a row on, with message indexes if `level_ends` has room for their ends.

    Return the first row whose GUID or indexes had no room, or the number of rows.
    """
    cdef Py_buffer views[8]
    cdef Column column
    cdef Py_ssize_t row = first
    cdef const uint8_t *c_valid
    cdef uint8_t *c_guids
    cdef int64_t *c_ends
    cdef int status
    no_buffers(views, sizeof(views))
    try:
        read_buffer(data, &views[0])
        read_buffer(offsets, &views[1])
        read_buffer(valid, &views[2])
        write_buffer(ids, &views[3])
        write_buffer(starts, &views[4])
        write_buffer(guids, &views[5])
        write_buffer(levels, &views[6])
        write_buffer(level_ends, &views[7])
        make_column(&column, &views[0], &views[1], width, stride, rows)
        c_valid = flags(&views[2], column.rows)
        if not 0 <= row <= column.rows:
            raise ValueError("first is out of range")
        if views[3].len // 4 < column.rows or views[4].len // 8 < column.rows:
            raise ValueError("no room for the ids")
        c_guids = <uint8_t *>views[5].buf if views[5].len // 16 >= column.rows else NULL
        c_ends = <int64_t *>views[7].buf if views[7].len // 8 > column.rows else NULL
        with nogil:
            status = split_loop(
                &column, &row, c_valid, <int32_t *>views[3].buf, <int64_t *>views[4].buf, c_guids,
                <int32_t *>views[6].buf, views[6].len // 4, c_ends
            )
        if status == BAD_SLICE:
            raise bad_slice(row)
        if status != OK and status != NEED_ROOM:
            raise decode_error(status, row, offset_at(&column, row))
        return row
    finally:
        release_buffers(views, sizeof(views))


def join(
    data, offsets, width: int, stride: int, rows: int, valid, keys, key_size: int, one_key: bool,
    levels, level_ends, level_rows: int, out, out_offsets,
) -> None:
    """Write every row behind its frame: keys are native 32-bit ids, or GUIDs of 16 bytes.

    Each row, or all if there is one, has the message indexes between two of `level_ends`.
    """
    cdef Py_buffer views[8]
    cdef Column column
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t c_level_rows = level_rows
    cdef const uint8_t *c_valid
    cdef int c_key_size = key_size
    cdef bint c_one_key = one_key
    cdef int status
    no_buffers(views, sizeof(views))
    try:
        read_buffer(data, &views[0])
        read_buffer(offsets, &views[1])
        read_buffer(valid, &views[2])
        read_buffer(keys, &views[3])
        read_buffer(levels, &views[4])
        read_buffer(level_ends, &views[5])
        write_buffer(out, &views[6])
        write_buffer(out_offsets, &views[7])
        make_column(&column, &views[0], &views[1], width, stride, rows)
        c_valid = flags(&views[2], column.rows)
        if c_key_size not in (4, 16) or views[3].len // c_key_size < (1 if c_one_key else column.rows):
            raise ValueError("too few keys")
        if views[5].len // 8 <= c_level_rows or 1 < c_level_rows < column.rows:
            raise ValueError("too few message indexes")
        if views[7].len // 8 < column.rows + 1:
            raise ValueError("no room for the offsets")
        with nogil:
            status = join_loop(
                &column, &row, c_valid, <const uint8_t *>views[3].buf, c_key_size, c_one_key,
                <const int32_t *>views[4].buf, views[4].len // 4, <const int64_t *>views[5].buf, c_level_rows,
                <uint8_t *>views[6].buf, views[6].len, <int64_t *>views[7].buf
            )
        if status == NEED_ROOM:
            raise ValueError("no room for the framed values")
        if status == BAD_SLICE:
            raise bad_slice(row)
        if status != OK:
            raise encode_error(status, row)
    finally:
        release_buffers(views, sizeof(views))
