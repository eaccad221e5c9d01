"""Confluent's frame of one value: what names the schema of its payload.

    00  4 bytes  schema id, big-endian      payload
    01  16 bytes GUID                       payload
    and for Protobuf before the payload: zigzag varint count, that many zigzag message indexes; 00 is short for [0]
    (confluent-kafka up to 1.7 wrote them as varints without zigzag)

Other frames are a prefix, a byte of compression where there is one, and an id (``kcodec.frames``). Behind them Protobuf
has a varint, the number of its message (Glue), or a message in the form of a varint and as many bytes (Apicurio).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from kcodec.wire.binary.cursor cimport read_varint32, store_be32, unzigzag32, write_varint, zigzag32
from kcodec.wire.binary.status cimport (
    COMPRESSION, FRAME_MAGIC, FRAME_TRUNCATED, NEED_ROOM, NEGATIVE_LENGTH, OK, OUT_OF_RANGE, SIZE_LIMIT, TRUNCATED,
    Status,
)


cdef enum:
    ID_SIZE = 5
    GUID_SIZE = 17
    LEVELS = 1024   # of message indexes; no compiler nests messages that deep
    ZIGZAG = 1      # how message indexes are written, if there are any; `Indexes` in columns/framed/frames.py
    NUMBER = 3      # instead of indexes: one number
    BYTES = 4       # instead of indexes: bytes behind their count
    PREFIX = 8      # bytes that a frame may begin with
    PACKED = 5      # Glue's byte of compression for zlib


cdef struct Layout:
    # What stands before a payload where it is not Confluent's frame: `id_size` is 0 if it is.
    uint8_t[PREFIX] prefix
    int32_t prefix_size
    bint packs            # whether a byte of compression follows
    int32_t id_size       # 4, 8 or 16


cdef inline Status read_head(
    const Layout *layout, const uint8_t *at, const uint8_t *end, int32_t *size
) noexcept nogil:
    """Find out how many bytes a frame has that is not Confluent's."""
    cdef int64_t left = end - at
    if memcmp(at, layout.prefix, <size_t>(left if left < layout.prefix_size else layout.prefix_size)) != 0:
        return FRAME_MAGIC
    size[0] = layout.prefix_size + layout.packs + layout.id_size
    if left < size[0]:
        return FRAME_TRUNCATED
    if layout.packs and at[layout.prefix_size] != 0 and at[layout.prefix_size] != PACKED:
        return COMPRESSION
    return OK


cdef inline Status read_named(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, int32_t *levels, int32_t *made, bint is_bytes
) noexcept nogil:
    """Read the number of a message, or the bytes that name one, as levels: there is room for `LEVELS`."""
    cdef uint32_t raw = 0
    cdef uint32_t i
    cdef Status status = read_varint32(at, end, limit, &raw)
    if status != OK:
        return FRAME_TRUNCATED if status == TRUNCATED else status
    made[0] = 1
    if not is_bytes:
        levels[0] = <int32_t>raw
        return OK if levels[0] >= 0 else OUT_OF_RANGE
    if raw > LEVELS:
        return SIZE_LIMIT
    if end - at[0] < <int64_t>raw:
        return FRAME_TRUNCATED
    made[0] = <int32_t>raw
    for i in range(raw):
        levels[i] = at[0][i]
    at[0] += raw
    return OK


cdef inline Status read_frame(const uint8_t *at, const uint8_t *end, int32_t *size) noexcept nogil:
    """Find out how many bytes name the schema: `ID_SIZE` or `GUID_SIZE`."""
    if at == end:
        return FRAME_TRUNCATED
    if at[0] > 1:
        return FRAME_MAGIC
    size[0] = GUID_SIZE if at[0] else ID_SIZE
    return OK if end - at >= size[0] else FRAME_TRUNCATED


cdef inline Status read_indexes(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, int32_t *levels, int64_t room, int32_t *made,
    bint zigzag,
) noexcept nogil:
    """Read message indexes, at least one; `NEED_ROOM` if there are more than `room`."""
    cdef uint32_t raw = 0
    cdef int32_t count
    cdef int32_t i
    cdef Status status = read_varint32(at, end, limit, &raw)
    if status != OK:
        return FRAME_TRUNCATED if status == TRUNCATED else status
    count = unzigzag32(raw) if zigzag else <int32_t>raw
    if count < 0:
        return NEGATIVE_LENGTH
    if count > LEVELS:
        return SIZE_LIMIT
    if count > room or room < 1:
        return NEED_ROOM
    made[0] = count
    if count == 0:
        levels[0] = 0
        made[0] = 1
    for i in range(count):
        status = read_varint32(at, end, limit, &raw)
        if status != OK:
            return FRAME_TRUNCATED if status == TRUNCATED else status
        levels[i] = unzigzag32(raw) if zigzag else <int32_t>raw
        if levels[i] < 0:
            return OUT_OF_RANGE
    return OK


cdef inline int write_id(uint8_t *out, uint32_t schema_id) noexcept nogil:
    out[0] = 0
    store_be32(out + 1, schema_id)
    return ID_SIZE


cdef inline int write_guid(uint8_t *out, const uint8_t *guid) noexcept nogil:
    out[0] = 1
    memcpy(out + 1, guid, 16)
    return GUID_SIZE


cdef inline Status write_indexes(uint8_t **out, const int32_t *levels, int64_t count) noexcept nogil:
    """Write message indexes: at most five bytes for their count and for each of them."""
    cdef int64_t i
    if count > LEVELS:
        return SIZE_LIMIT
    if count == 0 or count == 1 and levels[0] == 0:
        out[0][0] = 0
        out[0] += 1
        return OK
    out[0] = write_varint(out[0], zigzag32(<int32_t>count))
    for i in range(count):
        if levels[i] < 0:
            return OUT_OF_RANGE
        out[0] = write_varint(out[0], zigzag32(levels[i]))
    return OK
