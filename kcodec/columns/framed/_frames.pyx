"""Confluent's frame of every row of an Arrow column: the rows that ``wire/_framing.pyx`` reads."""

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp

from kcodec.columns.rows._rows cimport OFFSETS32, Rows, Slice
from kcodec.wire._framing cimport BAD_FRAME, FrameKeys, FrameValue, Key
from kcodec.wire.binary.cursor cimport load_be32
from kcodec.wire.binary.frame cimport GUID_SIZE, LEVELS, PACKED, write_guid, write_id, write_indexes
from kcodec.wire.binary.status cimport OK, Status

import pyarrow as pa

from kcodec.columns.faults import Faults, schema_ids
from kcodec.columns.framed._frames_py import REASONS, told_id
from kcodec.errors import CODES
from kcodec.wire._faults import encode_error

__all__ = ["common_frame", "decode_frames", "frame_prefix", "framed_rows"]

#: How rows fail in their frame, by number, as in ``wire/binary/status.pxd``, and behind these in the message indexes.
_WAYS = [("", "", ""), *(("", code, REASONS.get(code, reason)) for code, reason in CODES.items())]
_INDEX_WAYS = len(_WAYS)
_WAYS += [("", "", ""), *(("", code, f"message indexes: {reason}") for code, reason in CODES.items())]

cdef enum:
    BATCH = 128       # rows that are asked for at once
    SAMPLES = 16      # rows of which a column's common frame is taken

cdef enum:            # what files and compressed bytes begin with
    AVRO_FILE = 0x4F626A01
    PARQUET = 0x50415231
    GZIP = 0x1F8B08
    ZSTD = 0x28B52FFD
    HEX = 0x30303030          # digits of Confluent's frame
    BASE64 = 0x41414141       # three bytes of it


cdef int64_t scan(Rows rows, FrameKeys keys, int32_t *selector, int32_t *starts, int64_t row) noexcept nogil:
    """Read frames from a row on; return the row at which there was no room for its key, or how many there are."""
    cdef Slice[BATCH] values
    cdef bint is_plain = rows.layout == OFFSETS32 and rows.validity == NULL and rows.data != NULL
    cdef const int32_t *offsets = <const int32_t *>rows.offsets + rows.first
    cdef int64_t count
    cdef int64_t done
    cdef int64_t bytes
    while row < rows.length:
        if is_plain:
            row = keys.known(rows.data, offsets, rows.limit, selector, starts, row, rows.length)
            if row == rows.length:
                break
        count = rows.fill(row, values, BATCH, INT64_MAX, &bytes)
        done = keys.scan(<const FrameValue *>values, count, selector + row, starts + row)
        row += done
        if done < count:
            break
    return row


cdef object bad_frames(Rows rows, FrameKeys keys, const int32_t *selector, int64_t count, object layout):
    """Return the faults of the rows that have no frame, of which there are `count`."""
    cdef Slice value
    cdef Key key
    cdef int32_t[LEVELS] levels
    cdef int32_t size = 0
    cdef int32_t head = 0
    cdef int64_t row
    cdef int64_t at = 0
    cdef Status status
    buffers = [pa.allocate_buffer(count * sizeof(int64_t)) for _ in range(3)]
    cdef int64_t *numbers = <int64_t *><size_t>buffers[0].address
    cdef int64_t *offsets = <int64_t *><size_t>buffers[1].address
    cdef int64_t *kinds = <int64_t *><size_t>buffers[2].address
    cdef int64_t index_ways = _INDEX_WAYS
    ids = {}
    for row in range(rows.length):
        if selector[row] != BAD_FRAME:
            continue
        rows.slice(row, &value)
        status = keys.read_any(<const FrameValue *>&value, &key, levels, &size, &head)
        numbers[at] = row
        offsets[at] = head
        kinds[at] = <int>status + (index_ways if head else 0)
        if head:
            ids[at] = told_id(keys.name(&key), layout)
        at += 1
    columns = [pa.Array.from_buffers(pa.int64(), count, [None, buffer]) for buffer in buffers]
    return Faults(*columns, _WAYS, schema_ids([ids.get(at) for at in range(count)]) if ids else None)


def decode_frames(values, int indexes, layout=None):
    """Read the frame of each row; see `kcodec.columns.framed.frames.decode_frames`."""
    cdef Rows rows = Rows(values)
    cdef FrameKeys keys = FrameKeys(indexes, layout)
    cdef int64_t row = 0
    chosen = bytearray(rows.length * sizeof(int32_t))
    places = bytearray(rows.length * sizeof(int32_t))
    cdef int32_t *selector = <int32_t *>PyByteArray_AS_STRING(chosen)
    cdef int32_t *starts = <int32_t *>PyByteArray_AS_STRING(places)
    while True:
        with nogil:
            row = scan(rows, keys, selector, starts, row)
        if row == rows.length:
            break
        keys.grow()
    cdef int64_t bad = 0
    for row in range(rows.length):
        bad += selector[row] == BAD_FRAME
    faults = bad_frames(rows, keys, selector, bad, layout) if bad else []
    return chosen, places, keys.values(), faults, keys.packed()


def common_frame(values, int indexes, layout=None):
    """Return the frame that a column's rows seem to have; see `kcodec.columns.framed.frames.common_frame`."""
    cdef Rows rows = Rows(values)
    cdef Slice value
    cdef FrameKeys keys = FrameKeys(indexes, layout)
    cdef Key key
    cdef int32_t[LEVELS] levels
    cdef int32_t size = 0
    cdef int32_t head = 0
    cdef int64_t row = 0
    cdef const uint8_t *prefix = NULL
    cdef Status status
    while row < rows.length:
        rows.slice(row, &value)
        if prefix == NULL:
            row += 1
            if value.start == NULL:
                continue
            status = keys.read_any(<const FrameValue *>&value, &key, levels, &size, &head)
            if status != OK or key.packed:
                return None
            prefix = value.start
        elif value.start != NULL and (value.end - value.start < size or memcmp(value.start, prefix, size) != 0):
            return None
        else:
            row += 1 + rows.length // SAMPLES
    if prefix == NULL:
        return None
    keys.number(&key, levels)
    return prefix[:size], keys.values()[0]


def framed_rows(values, const int64_t[::1] numbers) -> list:
    """Find rows that look framed; see `kcodec.columns.framed.frames.framed_rows`."""
    cdef Rows rows = Rows(values)
    cdef Slice value
    cdef const uint8_t *start
    cdef int64_t at
    cdef int64_t size
    cdef uint32_t magic
    found = []
    for at in range(numbers.shape[0]):
        rows.slice(numbers[at], &value)
        start = value.start
        size = value.end - start if start != NULL else 0
        if size < 6:
            continue
        if start[0] == 0 and 0 < load_be32(start + 1) < 1 << 24:
            found.append((at, "CONFLUENT", load_be32(start + 1)))
        elif start[0] == 0 and size >= 9 and load_be32(start + 1) == 0 and load_be32(start + 5):
            found.append((at, "APICURIO", load_be32(start + 5)))
        elif start[0] == 3 and size >= 18 and (start[1] == 0 or start[1] == PACKED):
            found.append((at, "GLUE", PyBytes_FromStringAndSize(<const char *>start + 2, 16)))
        elif start[0] == 0xC3 and start[1] == 1 and size >= 10:
            found.append((at, "SINGLE_OBJECT", PyBytes_FromStringAndSize(<const char *>start + 2, 8)))
        else:
            magic = load_be32(start)
            if magic == AVRO_FILE:
                found.append((at, "AVRO_FILE", b""))
            elif magic == PARQUET:
                found.append((at, "PARQUET", b""))
            elif magic >> 8 == GZIP:
                found.append((at, "GZIP", b""))
            elif magic == ZSTD:
                found.append((at, "ZSTD", b""))
            elif magic == HEX and size >= 10 and start[4] == b"0" and start[5] == b"0":
                found.append((at, "HEX", b""))
            elif magic == BASE64 and size >= 8:
                found.append((at, "BASE64", b""))
            elif start[0] == b"{" and (start[1] == b'"' or start[1] == b" " or start[1] == b"\n" or start[1] == b"\r"):
                found.append((at, "JSON", b""))
    return found


def frame_prefix(key, indexes) -> bytes:
    """Return what a payload stands behind; see `kcodec.columns.framed.frames.frame_prefix`."""
    cdef int32_t[LEVELS] levels
    cdef Py_ssize_t count = len(indexes)
    cdef Py_ssize_t i
    cdef Status status
    out = bytearray(GUID_SIZE + 5 * (min(count, LEVELS) + 1))
    cdef uint8_t *first = <uint8_t *>PyByteArray_AS_STRING(out)
    cdef uint8_t *at = first
    if isinstance(key, int):
        at += write_id(at, key)
    elif len(key) != 16:
        raise ValueError("a GUID has 16 bytes")
    else:
        at += write_guid(at, <const uint8_t *>PyBytes_AS_STRING(key))
    if count:
        for i in range(min(count, LEVELS)):
            levels[i] = indexes[i]
        status = write_indexes(&at, levels, count)
        if status != OK:
            raise encode_error(<int>status, 0)
    return bytes(out[:at - first])
