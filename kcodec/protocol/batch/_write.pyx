"""Records of magic 2; see the twin."""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

from kcodec.columns.rows._rows cimport Rows, Slice
from kcodec.wire.binary.record_varint cimport write_zigzag, zigzag_size
from kcodec.wire.binary.status cimport NULL_VALUE, OK, SIZE_LIMIT, Status

import pyarrow as pa

from kcodec.errors import CODES, EncodeError

__all__ = ["encode"]

cdef enum:
    HEADER = 61
    # Two sizes, two deltas, the number of headers, attributes and the record's size.
    MOST_OF_RECORD = 5 * 5 + 10 + 1
    MOST_OF_HEADER = 2 * 5


cdef struct Job:
    const int64_t *offsets  # NULL if rows are numbered
    const int64_t *timestamps   # NULL if all have the same
    const uint8_t *breaks   # NULL if batches end by their size alone
    const int32_t *edges    # of headers; NULL if there are none
    int64_t rows
    int64_t max_bytes
    int64_t row             # the bad one
    uint8_t *out
    int64_t size            # written
    int64_t *batches        # four numbers each
    int64_t batch_count


cdef inline int64_t sized(Slice *value) noexcept nogil:
    if value.start == NULL:
        return 1
    return zigzag_size(value.end - value.start) + (value.end - value.start)


cdef inline uint8_t *write(uint8_t *out, Slice *value) noexcept nogil:
    cdef int64_t size = value.end - value.start
    if value.start == NULL:
        out[0] = 1
        return out + 1
    out = write_zigzag(out, size)
    memcpy(out, value.start, size)
    return out + size


cdef inline int64_t leap(const int64_t *column, int64_t first, int64_t row) noexcept nogil:
    return <int64_t>(<uint64_t>column[row] - <uint64_t>column[first])


cdef Status run(Job *job, Rows keys, Rows values, Rows header_keys, Rows header_values) noexcept nogil:
    cdef uint8_t *out = job.out
    cdef uint8_t *start = NULL
    cdef Slice key
    cdef Slice value
    cdef Slice part
    cdef int64_t row
    cdef int64_t first = 0
    cdef int64_t item
    cdef int64_t headers = 0
    cdef int64_t last = 0
    cdef int64_t fixed_size
    cdef int64_t body
    cdef int64_t delta = 0
    cdef int64_t step
    cdef bint has_keys = keys is not None
    key.start = key.end = NULL
    for row in range(job.rows):
        job.row = row
        if has_keys:
            keys.slice(row, &key)
        values.slice(row, &value)
        fixed_size = 1 + sized(&key) + sized(&value)
        if job.edges != NULL:
            headers = job.edges[row]
            last = job.edges[row + 1]
            for item in range(headers, last):
                header_keys.slice(item, &part)
                if part.start == NULL:
                    return NULL_VALUE
                fixed_size += sized(&part)
                header_values.slice(item, &part)
                fixed_size += sized(&part)
        fixed_size += zigzag_size(last - headers)
        if row == 0 or (job.breaks != NULL and job.breaks[row]):
            out = begin(job, out, &start, first, row)
            first = row
        if job.timestamps != NULL:
            delta = leap(job.timestamps, first, row)
        step = row - first if job.offsets == NULL else leap(job.offsets, first, row)
        body = fixed_size + zigzag_size(delta) + zigzag_size(step)
        if row > first and HEADER + (out - start) + zigzag_size(body) + body > job.max_bytes:
            out = begin(job, out, &start, first, row)
            first = row
            delta = step = 0
            body = fixed_size + 2
        if HEADER + zigzag_size(body) + body > INT32_MAX:
            return SIZE_LIMIT
        out = write_zigzag(out, body)
        out[0] = 0
        out = write_zigzag(out + 1, delta)
        out = write_zigzag(out, step)
        out = write(out, &key)
        out = write(out, &value)
        out = write_zigzag(out, last - headers)
        for item in range(headers, last):
            header_keys.slice(item, &part)
            out = write(out, &part)
            header_values.slice(item, &part)
            out = write(out, &part)
    if job.rows:
        close(job, out, start, first, job.rows)
    job.size = out - job.out
    return OK


cdef inline void close(Job *job, uint8_t *out, uint8_t *start, int64_t first, int64_t row) noexcept nogil:
    cdef int64_t *batch = job.batches + 4 * job.batch_count
    batch[0] = first
    batch[1] = row
    batch[2] = start - job.out
    batch[3] = out - job.out
    job.batch_count += 1


cdef inline uint8_t *begin(Job *job, uint8_t *out, uint8_t **start, int64_t first, int64_t row) noexcept nogil:
    """End the batch before this row, if there is one, and leave room for the header of the next."""
    if row:
        close(job, out, start[0], first, row)
    memset(out, 0, HEADER)
    start[0] = out + HEADER
    return out + HEADER


cdef int check_rows(bint are_all_there) except -1:
    if not are_all_there:
        raise ValueError("columns of different lengths")
    return 0


def encode(keys, values, headers, offsets, timestamps, breaks, max_bytes: int):
    """Write the records of batches, each with room before it for the header of its batch; see the twin."""
    cdef Rows key_rows = None if keys is None else Rows(keys)
    cdef Rows value_rows = Rows(values)
    cdef Rows header_keys = None
    cdef Rows header_values = None
    cdef Job job
    cdef Status status
    cdef int64_t i
    cdef int64_t max_size
    memset(&job, 0, sizeof(Job))
    job.rows = value_rows.length
    job.max_bytes = max_bytes
    max_size = value_rows.bytes_from(0) + job.rows * (HEADER + MOST_OF_RECORD)
    if keys is not None:
        check_rows(key_rows.length == job.rows)
        max_size += key_rows.bytes_from(0)
    if offsets is not None:
        offsets = pa.py_buffer(offsets)
        check_rows(offsets.size // 8 >= job.rows)
        job.offsets = <const int64_t *><uintptr_t>offsets.address
    if timestamps is not None:
        timestamps = pa.py_buffer(timestamps)
        check_rows(timestamps.size // 8 >= job.rows)
        job.timestamps = <const int64_t *><uintptr_t>timestamps.address
    if breaks is not None:
        breaks = pa.py_buffer(breaks)
        check_rows(breaks.size >= job.rows)
        job.breaks = <const uint8_t *><uintptr_t>breaks.address
    if headers is not None:
        edges, names, contents = headers
        edges = pa.py_buffer(edges)
        header_keys = Rows(names)
        header_values = Rows(contents)
        job.edges = <const int32_t *><uintptr_t>edges.address
        check_rows(edges.size // 4 > job.rows)
        for i in range(job.rows):
            if not 0 <= job.edges[i] <= job.edges[i + 1] <= min(header_keys.length, header_values.length):
                raise ValueError("headers of a row outside the headers")
        max_size += header_keys.bytes_from(0) + header_values.bytes_from(0) + header_keys.length * MOST_OF_HEADER
    out = pa.allocate_buffer(max_size, resizable=True)
    numbers = pa.allocate_buffer(4 * sizeof(int64_t) * max(job.rows, 1))
    job.out = <uint8_t *><uintptr_t>out.address
    job.batches = <int64_t *><uintptr_t>numbers.address
    with nogil:
        status = run(&job, key_rows, value_rows, header_keys, header_values)
    if status == NULL_VALUE:
        raise EncodeError(job.row, None, "headers.key", "null_value", CODES["null_value"])
    if status == SIZE_LIMIT:
        raise EncodeError(job.row, None, "", "size_limit", CODES["size_limit"])
    out.resize(job.size, shrink_to_fit=True)
    return out.slice(0), [
        (job.batches[4 * i], job.batches[4 * i + 1], job.batches[4 * i + 2], job.batches[4 * i + 3])
        for i in range(job.batch_count)
    ]
