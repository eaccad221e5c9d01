"""Record batches; see the twin for the layout, and for what is checked in which order.

Fixed-width columns of all records of one call stand in one buffer. Keys and values are views, 16 bytes each, of the
buffer that was scanned or of the one compressed batches have been expanded to, so that none is copied. Headers are
rare: the row loop only counts them and remembers where they start, and a second loop copies them into columns of their
exact size.
"""

from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from kcodec.protocol.batch._columns cimport (
    VALID_CONTROL, VALID_KEY, VALID_TIMESTAMP, VALID_VALUE, Area, Columns, Pieces, export, lay_out,
)
from kcodec.protocol.batch._scan cimport (
    CONTROL, HEADER, LOG_APPEND, LOG_OVERHEAD, MESSAGE_HEADER, SMALLEST, SMALLEST_RECORD, TRANSACTIONAL, Batch,
    Batches as Found, Message, message,
)
from kcodec.wire.binary.crc32 cimport crc32, crc32_init
from kcodec.wire.binary.cursor cimport (
    likely, load_be32, load_be64, load_le32, load_le64, store_le32, store_le64, unlikely,
)
from kcodec.wire.binary.record_varint cimport record_varint32, record_varint64
from kcodec.wire.binary.status cimport (
    BLOCK_COUNT, BLOCK_SIZE, COMPRESSION, CRC_MISMATCH, INVALID_BATCH, INVALID_UTF8, NEGATIVE_LENGTH, OK,
    TRAILING_BYTES, TRUNCATED, Status,
)
from kcodec.wire.text.utf8 cimport utf8_valid

from kcodec.errors import CODES
from kcodec.protocol.batch._scan import Batches, scan

__all__ = ["Batches", "records", "scan"]

cdef enum:
    UNKNOWN_CONTROL = 7

cdef list CODE_NAMES = ["", *CODES]

crc32_init()


cdef inline int64_t wrapped(int64_t a, int64_t b) noexcept nogil:
    """Add as Java does, without the overflow that C leaves undefined."""
    return <int64_t>(<uint64_t>a + <uint64_t>b)


cdef inline int32_t sequence_of(int32_t base, int32_t delta) noexcept nogil:
    if base < 0:
        return -1
    cdef uint32_t total = <uint32_t>base + <uint32_t>delta
    return <int32_t>(total & 0x7FFFFFFF) if delta >= 0 else <int32_t>(total + (<uint32_t>1 << 31))


cdef inline int8_t type_of(const Batch *batch) noexcept nogil:
    return (batch.attributes >> 3) & 1 if batch.magic else -1


cdef inline void put_view(
    uint8_t *out, const uint8_t *start, int64_t size, const uint8_t *limit, const uint8_t *base, int32_t piece
) noexcept nogil:
    """Write a view: int32 size, then up to 12 bytes; or the first 4, int32 which buffer, int32 offset."""
    cdef uint64_t low
    cdef uint64_t high
    cdef int32_t *words = <int32_t *>out
    if size > 12:
        words[0] = <int32_t>size
        memcpy(out + 4, start, 4)
        words[2] = piece
        words[3] = <int32_t>(start - base)
        return
    words[0] = <int32_t>size
    if likely(limit - start >= 12):
        low = load_le64(start)
        high = load_le32(start + 8)
        if size < 8:
            low &= (<uint64_t>1 << (8 * size)) - 1
            high = 0
        else:
            high &= (<uint64_t>1 << (8 * (size - 8))) - 1
        store_le64(out + 4, low)
        store_le32(out + 12, <uint32_t>high)
    else:
        memset(out + 4, 0, 12)
        memcpy(out + 4, start, size)


cdef inline Status nullable_size(
    const uint8_t **at, const uint8_t *stop, const uint8_t *limit, int32_t *size
) noexcept nogil:
    """Read the size of what must end at `stop`; -1 for null."""
    cdef Status status = record_varint32(at, stop, limit, size)
    if unlikely(status != OK):
        return status
    if unlikely(size[0] < -1):
        return NEGATIVE_LENGTH
    return TRUNCATED if unlikely(size[0] > stop - at[0]) else OK


cdef Status row_loop(
    Batch *batch, const uint8_t *source, const uint8_t *limit, const uint8_t *base, int32_t piece, Columns *columns,
    int64_t first
) noexcept nogil:
    """Read the records of a batch of magic 2 into the rows from `first` on."""
    cdef const uint8_t *at = source + batch.start
    cdef const uint8_t *end = source + batch.end
    cdef const uint8_t *stop
    cdef const uint8_t *part
    cdef int64_t row = first
    cdef int64_t last
    cdef int64_t base_offset = batch.offset
    cdef int64_t base_timestamp = batch.base_timestamp
    cdef int64_t *offsets = columns.offset
    cdef int64_t *timestamps = columns.timestamp
    cdef int32_t *header_offsets = columns.headers
    cdef uint8_t *keys = columns.key
    cdef uint8_t *values = columns.value
    cdef uint8_t *valid_key = columns.valid[VALID_KEY]
    cdef uint8_t *valid_value = columns.valid[VALID_VALUE]
    cdef int64_t header_count = columns.header_count
    cdef int64_t header_keys = columns.header_keys
    cdef int64_t header_values = columns.header_values
    cdef int64_t wide
    cdef int32_t size
    cdef int32_t delta
    cdef int32_t count
    cdef Status status = OK
    batch.good_records = 0
    batch.fault_at = batch.position + 57
    if batch.count > (end - at) // SMALLEST_RECORD:
        return BLOCK_COUNT
    last = first + batch.count
    while row < last:
        status = record_varint32(&at, end, limit, &size)
        if unlikely(status != OK):
            break
        if unlikely(size < 0):
            status = NEGATIVE_LENGTH
            break
        if unlikely(size > end - at or size < 1):
            status = TRUNCATED
            break
        stop = at + size
        at += 1
        status = record_varint64(&at, stop, limit, &wide)
        if unlikely(status != OK):
            break
        status = record_varint32(&at, stop, limit, &delta)
        if unlikely(status != OK):
            break
        offsets[row] = wrapped(base_offset, delta)
        timestamps[row] = wrapped(base_timestamp, wide)

        status = nullable_size(&at, stop, limit, &size)
        if unlikely(status != OK):
            break
        valid_key[row] = size >= 0
        if size < 0:
            size = 0
        put_view(keys + 16 * row, at, size, limit, base, piece)
        at += size

        status = nullable_size(&at, stop, limit, &size)
        if unlikely(status != OK):
            break
        valid_value[row] = size >= 0
        if size < 0:
            size = 0
        put_view(values + 16 * row, at, size, limit, base, piece)
        at += size

        if likely(stop - at == 1 and at[0] == 0):
            row += 1
            at = stop
            header_offsets[row] = <int32_t>header_count
            continue
        status = record_varint32(&at, stop, limit, &count)
        if unlikely(status != OK):
            break
        if count:
            if unlikely(count < 0):
                status = NEGATIVE_LENGTH
                break
            if unlikely(count > (stop - at) // 2):
                status = BLOCK_COUNT
                break
            columns.places[row] = at
            for _ in range(count):
                status = nullable_size(&at, stop, limit, &size)
                if unlikely(status != OK):
                    break
                if unlikely(size < 0):
                    status = NEGATIVE_LENGTH
                    break
                part = at
                at += size
                if unlikely(not utf8_valid(part, size)):
                    status = INVALID_UTF8
                    break
                header_keys += size
                status = nullable_size(&at, stop, limit, &size)
                if unlikely(status != OK):
                    break
                if size > 0:
                    at += size
                    header_values += size
            if unlikely(status != OK):
                break
            header_count += count
        if unlikely(at != stop):
            status = BLOCK_SIZE
            break
        row += 1
        header_offsets[row] = <int32_t>header_count
    batch.fault_at = at - source
    batch.good_records = <int32_t>(row - first)
    if status != OK:
        return status
    if at != end and not batch.partial:
        return TRAILING_BYTES
    columns.header_count = header_count
    columns.header_keys = header_keys
    columns.header_values = header_values
    return OK


cdef Status legacy_loop(
    Batch *batch, const uint8_t *source, const uint8_t *limit, const uint8_t *base, int32_t piece, Columns *columns,
    int64_t first
) noexcept nogil:
    """Read a message, or those in it, into the rows from `first` on."""
    cdef Message parts
    cdef Status status
    cdef int64_t at = batch.start
    cdef int64_t end
    cdef int64_t row = first
    cdef int64_t shift = 0
    cdef int64_t last = 0
    cdef int64_t last_at = 0
    if not batch.attributes & 7:
        at = batch.position
    elif batch.magic == 1 and batch.offset:
        while at < batch.end:
            last = <int64_t>load_be64(source + at)
            last_at = at
            at += LOG_OVERHEAD + <int32_t>load_be32(source + at + 8)
        if batch.offset < last:
            batch.good_records = 0
            batch.fault_at = last_at
            return INVALID_BATCH
        shift = <int64_t>(<uint64_t>batch.offset - <uint64_t>last)
        at = batch.start
    while at < batch.end:
        end = at + LOG_OVERHEAD + <int32_t>load_be32(source + at + 8)
        batch.good_records = <int32_t>(row - first)
        if source[at + 16] != batch.magic:
            batch.fault_at = at + 16
            return INVALID_BATCH
        if batch.attributes & 7 and source[at + 17] & 7:
            batch.fault_at = at + 17
            return COMPRESSION
        # That of a message that is not within another one is known to be right.
        if batch.attributes & 7 and batch.crc_valid == 1:
            if crc32(source + at + 16, <size_t>(end - at - 16)) != load_be32(source + at + 12):
                batch.fault_at = at + 12
                return CRC_MISMATCH
        status = message(source, at, end, &parts)
        if status != OK:
            batch.fault_at = parts.fault_at
            return status
        columns.offset[row] = wrapped(shift, <int64_t>load_be64(source + at))
        columns.timestamp[row] = parts.timestamp
        columns.valid[VALID_KEY][row] = parts.key_size >= 0
        columns.valid[VALID_VALUE][row] = parts.value_size >= 0
        put_view(columns.key + 16 * row, source + parts.key, max(parts.key_size, 0), limit, base, piece)
        put_view(columns.value + 16 * row, source + parts.value, max(parts.value_size, 0), limit, base, piece)
        row += 1
        columns.headers[row] = <int32_t>columns.header_count
        at = end
    return OK


cdef Status count_messages(Batch *batch, const uint8_t *source) noexcept nogil:
    """Count the messages of a set, and see that each has its header."""
    cdef int64_t at = batch.start
    cdef int32_t length
    batch.count = 0
    batch.good_records = 0
    batch.fault_at = at
    if at == batch.end:
        return BLOCK_COUNT
    while at < batch.end:
        batch.fault_at = at
        if batch.end - at < LOG_OVERHEAD:
            return TRUNCATED
        length = <int32_t>load_be32(source + at + 8)
        if length < SMALLEST:
            batch.fault_at = at + 8
            return INVALID_BATCH
        if length > batch.end - at - LOG_OVERHEAD:
            return TRUNCATED
        at += LOG_OVERHEAD + length
        batch.count += 1
    return OK


cdef inline int8_t control_type(const uint8_t *view) noexcept nogil:
    """Read the type in a key, int16 version | int16 type, of which a view holds at least the first 4 bytes."""
    if (<const int32_t *>view)[0] < 4 or view[6] or view[7] >= UNKNOWN_CONTROL:
        return UNKNOWN_CONTROL
    return view[7]


cdef void fill_in(Batch *batch, int32_t number, Columns *columns, int64_t first, int64_t last) noexcept nogil:
    """Fill what follows from the header of a batch and from what the row loop has read: one column at a time."""
    cdef int64_t row
    cdef bint modern = batch.magic == 2
    cdef bint control = modern and batch.attributes & CONTROL != 0
    cdef int64_t *timestamps = columns.timestamp
    cdef int64_t *offsets = columns.offset
    cdef int32_t *sequences = columns.sequence
    cdef uint8_t *valid = columns.valid[VALID_TIMESTAMP]
    cdef int64_t latest = batch.max_timestamp
    cdef int64_t base_offset = batch.offset
    cdef int32_t base_sequence = batch.base_sequence
    cdef int32_t *leader_epochs = columns.leader_epoch
    cdef int32_t leader_epoch = batch.leader_epoch
    cdef int64_t *producers = columns.producer_id
    cdef int64_t producer = batch.producer_id
    cdef int16_t *producer_epochs = columns.producer_epoch
    cdef int16_t producer_epoch = batch.producer_epoch
    cdef int32_t *batches = columns.batch
    if batch.magic and batch.attributes & LOG_APPEND:
        for row in range(first, last):
            timestamps[row] = latest
    for row in range(first, last):
        valid[row] = timestamps[row] != -1
    if base_sequence < 0:
        for row in range(first, last):
            sequences[row] = -1
    else:
        for row in range(first, last):
            sequences[row] = sequence_of(base_sequence, <int32_t>(<uint64_t>offsets[row] - <uint64_t>base_offset))
    for row in range(first, last):
        leader_epochs[row] = leader_epoch
    for row in range(first, last):
        producers[row] = producer
    for row in range(first, last):
        producer_epochs[row] = producer_epoch
    for row in range(first, last):
        batches[row] = number
    memset(columns.timestamp_type + first, type_of(batch), last - first)
    memset(columns.valid[VALID_CONTROL] + first, control, last - first)
    if control:
        for row in range(first, last):
            columns.control[row] = control_type(columns.key + 16 * row)
    fill_bits(columns.transactional, first, last, modern and batch.attributes & TRANSACTIONAL != 0)


cdef void fill_bits(uint8_t *bits, int64_t first, int64_t last, bint value) noexcept nogil:
    """Set bits; those after them may be anything."""
    cdef int64_t at = first
    while at < last and at & 7:
        if value:
            bits[at >> 3] |= <uint8_t>(1 << (at & 7))
        else:
            bits[at >> 3] &= <uint8_t>~(1 << (at & 7))
        at += 1
    if at < last:
        memset(bits + (at >> 3), 255 if value else 0, (last - at + 7) >> 3)


cdef int64_t decode(
    Found batches, Py_ssize_t first, Py_ssize_t last, const uint8_t *data, int64_t data_size,
    const uint8_t *expanded, int64_t expanded_size, int64_t number, Columns *columns, Pieces *pieces
) noexcept nogil:
    """Read the records of all wanted batches; return how many there are.

    Views are of what was expanded, and of windows of the data: their offsets have 31 bits.
    """
    cdef Py_ssize_t each
    cdef Batch *batch
    cdef const uint8_t *source
    cdef const uint8_t *limit
    cdef int32_t piece
    cdef int64_t row = 0
    cdef Status status
    columns.headers[0] = 0
    pieces.start[0] = expanded
    pieces.size[0] = expanded_size
    pieces.count = 1
    for each in range(first, last):
        batch = &batches.batches[each]
        if not batch.wanted or batch.status != OK:
            continue
        if batch.expanded:
            source = expanded
            limit = expanded + expanded_size
            piece = 0
        else:
            source = data
            limit = data + data_size
            piece = pieces.count - 1
            if piece == 0 or data + batch.end - pieces.start[piece] > INT32_MAX:
                piece += 1
                pieces.start[piece] = data + batch.position
                pieces.size[piece] = min(data_size - batch.position, <int64_t>INT32_MAX)
                pieces.count += 1
        if batch.magic == 2:
            status = row_loop(batch, source, limit, pieces.start[piece], piece, columns, row)
        else:
            status = legacy_loop(batch, source, limit, pieces.start[piece], piece, columns, row)
        if status != OK:
            batch.status = status
            if batch.expanded:
                batch.fault_at = batch.position + (HEADER if batch.magic == 2 else MESSAGE_HEADER)
            continue
        fill_in(batch, <int32_t>(number + each), columns, row, row + batch.count)
        row += batch.count
    return row


def records(batches: Found, first: int, last: int, data, expanded, number: int, views: bool):
    """Read the records of the wanted ones among some batches; see the twin."""
    cdef Py_ssize_t start = first
    cdef Py_ssize_t stop = last
    cdef Py_ssize_t max_pieces = last - first + 1
    cdef Py_ssize_t each
    cdef int64_t rows = 0
    cdef int64_t number_of_first = number
    cdef const uint8_t *source = <const uint8_t *><uintptr_t>data.address
    cdef const uint8_t *opened = <const uint8_t *><uintptr_t>expanded.address
    cdef int64_t source_size = data.size
    cdef int64_t opened_size = expanded.size
    cdef Batch *batch
    cdef Columns columns
    cdef Pieces pieces
    cdef Status status
    cdef int i
    if not 0 <= start <= stop <= batches.length:
        raise IndexError("no such batches")
    for each in range(start, stop):
        batch = &batches.batches[each]
        if batch.wanted and batch.status == OK:
            if batch.end > (opened_size if batch.expanded else source_size):
                raise ValueError("the buffer is not that of the batches")
            if batch.magic == 2:
                # A count that the bytes cannot hold is refused before the first record.
                if batch.count <= (batch.end - batch.start) // SMALLEST_RECORD:
                    rows += batch.count
            else:
                if batch.attributes & 7:
                    status = count_messages(batch, opened)
                    if status != OK:
                        batch.status = status
                        batch.fault_at = batch.position + MESSAGE_HEADER
                        continue
                rows += batch.count
    cdef Area area = lay_out(&columns, rows)
    cdef uint8_t *scratch = <uint8_t *>malloc(2 * max_pieces * sizeof(void *) + 8 * rows + 4 * (rows + 8))
    if scratch == NULL:
        raise MemoryError
    pieces.start = <const uint8_t **>scratch
    pieces.size = <int64_t *>(pieces.start + max_pieces)
    columns.places = <const uint8_t **>(pieces.size + max_pieces)
    for i in range(4):
        columns.valid[i] = <uint8_t *>(columns.places + rows) + i * (rows + 8)
    try:
        with nogil:
            rows = decode(
                batches, start, stop, source, source_size, opened, opened_size, number_of_first, &columns, &pieces
            )
        result = export(&columns, rows, area, data, expanded, &pieces, views)
    finally:
        free(scratch)
    faults = []
    for each in range(start, stop):
        batch = &batches.batches[each]
        if batch.wanted and batch.status != OK:
            faults.append((each, batch.fault_at, batch.good_records, CODE_NAMES[batch.status]))
    return result, faults
