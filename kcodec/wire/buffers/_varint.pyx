"""Packed varints to arrays of integers and back. The Python twin is ``_varint_py``."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcodec.wire.binary.cursor cimport (
    gather7_by, has_pext, read_varint32, read_varint64, unzigzag32, unzigzag64, write_varint, zigzag64,
)
from kcodec.wire.binary.status cimport OK, OUT_OF_RANGE, TRUNCATED, Status
from kcodec.wire.buffers.column cimport no_buffers, read_buffer, release_buffers, write_buffer

from kcodec.wire._faults import decode_error, encode_error


ctypedef fused Word:
    uint32_t
    uint64_t


cdef Status decode_all(
    const uint8_t **at, const uint8_t *end, Py_ssize_t *row, Py_ssize_t count, Py_ssize_t room, bint zigzag,
    Word *out
) noexcept nogil:
    cdef Word value = 0
    cdef Status status
    while row[0] < count:
        # There is a place for every byte of input: without one the input has ended.
        if row[0] >= room:
            return TRUNCATED
        if Word is uint32_t:
            status = read_varint32(at, end, end, &value)
        else:
            status = read_varint64(at, end, end, &value)
        if status != OK:
            return status
        if Word is uint32_t:
            out[row[0]] = <uint32_t>unzigzag32(value) if zigzag else value
        else:
            out[row[0]] = <uint64_t>unzigzag64(value) if zigzag else value
        row[0] += 1
    return OK


cdef Status encode64(
    const uint64_t *values, Py_ssize_t *row, Py_ssize_t count, bint is_signed, bint zigzag, int bits,
    uint8_t **out
) noexcept nogil:
    cdef uint64_t value
    cdef int64_t number
    while row[0] < count:
        value = values[row[0]]
        if zigzag:
            if not is_signed and value >> 63:
                return OUT_OF_RANGE
            number = <int64_t>value
            if bits == 32 and number != <int32_t>number:
                return OUT_OF_RANGE
            value = zigzag64(number)
        elif is_signed and value >> 63 or bits == 32 and value >> 32:
            return OUT_OF_RANGE
        out[0] = write_varint(out[0], value)
        row[0] += 1
    return OK


def count_ends(data) -> int:
    """Count the bytes that end a varint."""
    cdef Py_buffer views[1]
    cdef const uint8_t *at
    cdef Py_ssize_t size
    cdef Py_ssize_t i
    cdef Py_ssize_t ends = 0
    no_buffers(views, sizeof(views))
    try:
        read_buffer(data, &views[0])
        at = <const uint8_t *>views[0].buf
        size = views[0].len
        with nogil:
            for i in range(size):
                ends += at[i] < 0x80
        return ends
    finally:
        release_buffers(views, sizeof(views))


def decode(data, start: int, count: int, bits: int, zigzag: bool, out) -> int:
    """Decode ``count`` varints from byte ``start`` on; the byte after the last."""
    cdef Py_buffer views[2]
    cdef const uint8_t *first
    cdef const uint8_t *at
    cdef const uint8_t *end
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t wanted = count
    cdef Py_ssize_t begin = start
    cdef bint c_zigzag = zigzag
    cdef bint narrow = bits == 32
    cdef Py_ssize_t room
    cdef Status status
    no_buffers(views, sizeof(views))
    try:
        read_buffer(data, &views[0])
        write_buffer(out, &views[1])
        if not 0 <= begin <= views[0].len or wanted < 0:
            raise ValueError("start or count out of range")
        first = <const uint8_t *>views[0].buf
        at = first + begin
        end = first + views[0].len
        room = views[1].len // (4 if narrow else 8)
        if room < min(wanted, end - at):
            raise ValueError("no room for the values")
        with nogil:
            if narrow:
                status = decode_all(&at, end, &row, wanted, room, c_zigzag, <uint32_t *>views[1].buf)
            else:
                status = decode_all(&at, end, &row, wanted, room, c_zigzag, <uint64_t *>views[1].buf)
        if status != OK:
            raise decode_error(<int>status, row, at - first)
        return at - first
    finally:
        release_buffers(views, sizeof(views))


def encode(values, count: int, is_signed: bool, zigzag: bool, bits: int, out) -> int:
    """Encode 64-bit integers; return the bytes written, at most ten (with 32 bits five) each."""
    cdef Py_buffer views[2]
    cdef uint8_t *at
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t c_count = count
    cdef bint c_signed = is_signed
    cdef bint c_zigzag = zigzag
    cdef int c_bits = bits
    cdef int max_bytes
    cdef Status status
    no_buffers(views, sizeof(views))
    try:
        read_buffer(values, &views[0])
        write_buffer(out, &views[1])
        max_bytes = 5 if c_bits == 32 else 10
        if c_count < 0 or views[0].len // 8 < c_count or views[1].len // max_bytes < c_count:
            raise ValueError("no room for the varints")
        at = <uint8_t *>views[1].buf
        with nogil:
            status = encode64(<const uint64_t *>views[0].buf, &row, c_count, c_signed, c_zigzag, c_bits, &at)
        if status != OK:
            raise encode_error(<int>status, row)
        return at - <uint8_t *>views[1].buf
    finally:
        release_buffers(views, sizeof(views))


def gather(word: int, fast: bool) -> int:
    """Put the seven low bits of each byte next to each other; `fast`: as blocks of rows are read on this processor."""
    return gather7_by(<uint64_t>word, fast and has_pext())
