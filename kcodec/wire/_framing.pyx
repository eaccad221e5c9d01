"""Confluent's frame of columns of values (see ``frame.pxd``). The Python twin is ``_framing_py``."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from kcodec.wire.column cimport (
    BAD_SLICE, Column, make_column, no_buffers, offset_at, read_buffer, release_buffers, slice_at,
    write_buffer,
)
from kcodec.wire.cursor cimport copy32, load_be32
from kcodec.wire.frame cimport (
    ID_SIZE, LEVELS, read_frame, read_indexes, write_guid, write_id, write_indexes as write_indexes_at,
)
from kcodec.wire.status cimport NEED_ROOM, OK, Status

from kcodec.wire._faults import bad_slice, decode_error, encode_error

#: Levels of nested messages that indexes may name; no compiler nests messages that deep.
MAX_LEVELS = LEVELS


cdef int split_loop(
    const Column *column, Py_ssize_t *row, const uint8_t *valid, int32_t *ids, int64_t *starts, uint8_t *guids
) noexcept nogil:
    cdef const uint8_t *at = NULL
    cdef int64_t size = 0
    cdef int32_t prefix = 0
    cdef Status status
    while row[0] < column.rows:
        if not slice_at(column, row[0], &at, &size):
            return BAD_SLICE
        ids[row[0]] = -1
        starts[row[0]] = at - column.data
        if valid != NULL and not valid[row[0]]:
            pass
        else:
            status = read_frame(at, at + size, &prefix)
            if status != OK:
                return status
            if prefix == ID_SIZE:
                ids[row[0]] = <int32_t>load_be32(at + 1)
            elif guids == NULL:
                return NEED_ROOM
            else:
                memcpy(guids + 16 * row[0], at + 1, 16)
            starts[row[0]] += prefix
        row[0] += 1
    return OK


cdef int indexes_loop(
    const Column *column, Py_ssize_t *row, const uint8_t *valid, int64_t *starts, int32_t *values,
    int64_t room,
    int64_t *value_offsets
) noexcept nogil:
    cdef const uint8_t *start = NULL
    cdef const uint8_t *at
    cdef int64_t size = 0
    cdef int64_t used = value_offsets[row[0]]
    cdef int32_t made = 0
    cdef Status status
    while row[0] < column.rows:
        if not slice_at(column, row[0], &start, &size):
            return BAD_SLICE
        if valid == NULL or valid[row[0]]:
            at = column.data + starts[row[0]]
            if at < start or at > start + size:
                return BAD_SLICE
            status = read_indexes(
                &at, start + size, column.data + column.size, values + used, room - used, &made
            )
            if status != OK:
                return status
            starts[row[0]] = at - column.data
            used += made
        row[0] += 1
        value_offsets[row[0]] = used
    return OK


cdef int join_loop(
    const Column *column, Py_ssize_t *row, const uint8_t *valid, const uint8_t *keys, int key_size,
    bint one_key,
    const Column *indexes, uint8_t *out, int64_t room, int64_t *out_offsets
) noexcept nogil:
    cdef const uint8_t *source = NULL
    cdef const uint8_t *index = NULL
    cdef const uint8_t *key
    cdef int64_t size = 0
    cdef int64_t index_size = 0
    cdef int64_t at = 0
    cdef Py_ssize_t which
    out_offsets[0] = 0
    while row[0] < column.rows:
        if not slice_at(column, row[0], &source, &size):
            return BAD_SLICE
        if valid == NULL or valid[row[0]]:
            # One element of indexes is that of all rows; none are no indexes.
            if indexes.rows > 0:
                which = 0 if indexes.rows == 1 else row[0]
                if not slice_at(indexes, which, &index, &index_size):
                    return BAD_SLICE
            if at + 1 + key_size + index_size + size > room:
                return NEED_ROOM
            key = keys if one_key else keys + row[0] * key_size
            if key_size == 4:
                at += write_id(out + at, (<const uint32_t *>key)[0])
            else:
                at += write_guid(out + at, key)
            if index_size:
                memcpy(out + at, index, <size_t>index_size)
                at += index_size
            if size <= 32 and column.data + column.size - source >= 32 and room - at >= 32:
                copy32(out + at, source)
            else:
                memcpy(out + at, source, <size_t>size)
            at += size
        row[0] += 1
        out_offsets[row[0]] = at
    return OK


cdef int write_indexes_loop(
    const int32_t *values, int64_t count, const int64_t *offsets, Py_ssize_t rows, Py_ssize_t *row,
    uint8_t *out, int64_t *out_offsets
) noexcept nogil:
    cdef uint8_t *at = out
    cdef Status status
    out_offsets[0] = 0
    while row[0] < rows:
        if not 0 <= offsets[row[0]] <= offsets[row[0] + 1] <= count:
            return BAD_SLICE
        status = write_indexes_at(
            &at, values + offsets[row[0]], offsets[row[0] + 1] - offsets[row[0]]
        )
        if status != OK:
            return status
        row[0] += 1
        out_offsets[row[0]] = at - out
    return OK


cdef const uint8_t *flags(const Py_buffer *view, Py_ssize_t rows) except? NULL:
    """Return the validity bytes; NULL if there are none."""
    if view.len == 0:
        return NULL
    if view.len < rows:
        raise ValueError("valid must have an element for each row")
    return <const uint8_t *>view.buf


cdef object fault(int status, const Column *column, Py_ssize_t row):
    if status == BAD_SLICE:
        return bad_slice(row)
    return decode_error(status, row, offset_at(column, row))


def split(data, offsets, width: int, stride: int, rows: int, valid, ids, starts, guids) -> bool:
    """Read the prefix of every row; False if there is a GUID but no room for GUIDs."""
    cdef Py_buffer views[6]
    cdef Column column
    cdef Py_ssize_t row = 0
    cdef const uint8_t *c_valid
    cdef uint8_t *c_guids
    cdef int status
    no_buffers(views, sizeof(views))
    try:
        read_buffer(data, &views[0])
        read_buffer(offsets, &views[1])
        read_buffer(valid, &views[2])
        write_buffer(ids, &views[3])
        write_buffer(starts, &views[4])
        write_buffer(guids, &views[5])
        make_column(&column, &views[0], &views[1], width, stride, rows)
        c_valid = flags(&views[2], column.rows)
        if views[3].len // 4 < column.rows or views[4].len // 8 < column.rows:
            raise ValueError("no room for the ids")
        c_guids = <uint8_t *>views[5].buf if views[5].len // 16 >= column.rows else NULL
        with nogil:
            status = split_loop(
                &column, &row, c_valid, <int32_t *>views[3].buf, <int64_t *>views[4].buf, c_guids
            )
        if status == NEED_ROOM:
            return False
        if status != OK:
            raise fault(status, &column, row)
        return True
    finally:
        release_buffers(views, sizeof(views))


def indexes(
    data, offsets, width: int, stride: int, rows: int, first: int, valid, starts, values, value_offsets
) -> int:
    """Read message indexes where rows start, and move the starts past them; the row to go on with."""
    cdef Py_buffer views[6]
    cdef Column column
    cdef Py_ssize_t row = first
    cdef const uint8_t *c_valid
    cdef int status
    no_buffers(views, sizeof(views))
    try:
        read_buffer(data, &views[0])
        read_buffer(offsets, &views[1])
        read_buffer(valid, &views[2])
        write_buffer(starts, &views[3])
        write_buffer(values, &views[4])
        write_buffer(value_offsets, &views[5])
        make_column(&column, &views[0], &views[1], width, stride, rows)
        c_valid = flags(&views[2], column.rows)
        if not 0 <= row <= column.rows:
            raise ValueError("first is out of range")
        if views[3].len // 8 < column.rows or views[5].len // 8 < column.rows + 1:
            raise ValueError("no room for the indexes")
        with nogil:
            status = indexes_loop(
                &column, &row, c_valid, <int64_t *>views[3].buf, <int32_t *>views[4].buf, views[4].len // 4,
                <int64_t *>views[5].buf
            )
        if status != OK and status != NEED_ROOM:
            raise fault(status, &column, row)
        return row
    finally:
        release_buffers(views, sizeof(views))


def join(
    data, offsets, width: int, stride: int, rows: int, valid, keys, key_size: int, one_key: bool,
    index_data, index_offsets, index_rows: int, out, out_offsets,
) -> None:
    """Write every row behind its prefix: keys are native 32-bit ids, or GUIDs of 16 bytes."""
    cdef Py_buffer views[8]
    cdef Column column
    cdef Column index_column
    cdef Py_ssize_t row = 0
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
        read_buffer(index_data, &views[4])
        read_buffer(index_offsets, &views[5])
        write_buffer(out, &views[6])
        write_buffer(out_offsets, &views[7])
        make_column(&column, &views[0], &views[1], width, stride, rows)
        c_valid = flags(&views[2], column.rows)
        if c_key_size not in (4, 16) or views[3].len // c_key_size < (1 if c_one_key else column.rows):
            raise ValueError("too few keys")
        if index_rows == 0:
            index_column.rows = 0
        else:
            make_column(&index_column, &views[4], &views[5], 8, 0, index_rows)
            if index_column.rows != 1 and index_column.rows < column.rows:
                raise ValueError("too few message indexes")
        if views[7].len // 8 < column.rows + 1:
            raise ValueError("no room for the offsets")
        with nogil:
            status = join_loop(
                &column, &row, c_valid, <const uint8_t *>views[3].buf, c_key_size, c_one_key, &index_column,
                <uint8_t *>views[6].buf, views[6].len, <int64_t *>views[7].buf
            )
        if status == NEED_ROOM:
            raise ValueError("no room for the framed values")
        if status != OK:
            raise fault(status, &column, row)
    finally:
        release_buffers(views, sizeof(views))


def write_indexes(values, offsets, rows: int, out, out_offsets) -> int:
    """Write lists of message indexes, each between two 64-bit offsets; the bytes written."""
    cdef Py_buffer views[4]
    cdef Py_ssize_t c_rows = rows
    cdef Py_ssize_t row = 0
    cdef int status
    no_buffers(views, sizeof(views))
    try:
        read_buffer(values, &views[0])
        read_buffer(offsets, &views[1])
        write_buffer(out, &views[2])
        write_buffer(out_offsets, &views[3])
        if c_rows < 0 or views[1].len // 8 < c_rows + 1 or views[3].len // 8 < c_rows + 1:
            raise ValueError("too few offsets")
        if views[2].len // 5 < views[0].len // 4 + c_rows:
            raise ValueError("no room for the indexes")
        with nogil:
            status = write_indexes_loop(
                <const int32_t *>views[0].buf, views[0].len // 4, <const int64_t *>views[1].buf, c_rows, &row,
                <uint8_t *>views[2].buf, <int64_t *>views[3].buf
            )
        if status == BAD_SLICE:
            raise bad_slice(row)
        if status != OK:
            raise encode_error(status, row)
        return (<int64_t *>views[3].buf)[c_rows]
    finally:
        release_buffers(views, sizeof(views))
