"""Record batches; see the twin for the layout, and for what is checked in which order.

Fixed-width columns of all records of one call stand in one buffer. Keys and values are views, 16 bytes each, of the
buffer that was scanned or of the one compressed batches have been expanded to, so that none is copied. Headers are
rare: the row loop only counts them and remembers where they start, and a second loop copies them into columns of their
exact size.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from kcodec.protocol._batch_columns cimport (
    VALID_CONTROL, VALID_KEY, VALID_TIMESTAMP, VALID_VALUE, Area, Columns, Pieces, export, lay_out,
)
from kcodec.wire.crc32 cimport crc32, crc32_init
from kcodec.wire.crc32c cimport crc32c
from kcodec.wire.cursor cimport (
    likely, load_be32, load_be64, load_le32, load_le64, store_le32, store_le64, unlikely,
)
from kcodec.wire.record_varint cimport record_varint32, record_varint64
from kcodec.wire.status cimport (
    BLOCK_COUNT, BLOCK_SIZE, COMPRESSION, CRC_MISMATCH, INVALID_BATCH, INVALID_UTF8, NEGATIVE_LENGTH, NO_MEMORY,
    NULL_VALUE, OK, TRAILING_BYTES, TRUNCATED, Status,
)
from kcodec.wire.utf8 cimport utf8_valid

import numpy as np

from kcodec.errors import CODES
from kcodec.protocol.batch_schema import BATCH_HEADER

__all__ = ["Batches", "records", "scan"]

cdef enum:
    LOG_OVERHEAD = 12
    SMALLEST = 14
    SMALLEST_RECORD = 7
    HEADER = 61
    MESSAGE_HEADER = 18
    LOG_APPEND = 8
    TRANSACTIONAL = 16
    CONTROL = 32
    UNKNOWN_CONTROL = 7

cdef enum Stop:
    MORE
    END
    PARTIAL
    ZEROS
    DAMAGED

cdef struct Batch:
    int64_t position
    int64_t offset
    int64_t start           # of the records, or of the message set that a message holds
    int64_t end
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int64_t fault_at
    int32_t size
    int32_t leader_epoch
    int32_t last_delta
    int32_t base_sequence
    int32_t count
    int32_t status
    uint32_t crc
    int32_t done            # records before the bad one
    int16_t producer_epoch
    uint8_t magic
    uint8_t attributes
    int8_t crc_valid        # -1: not compared
    bint expanded
    bint wanted

cdef list CODE_NAMES = ["", *CODES]
cdef list HEADER_FIELDS = [name for name, _ in BATCH_HEADER]

crc32_init()


cdef inline int16_t load16(const uint8_t *place) noexcept nogil:
    return <int16_t>((<uint16_t>place[0] << 8) | place[1])


cdef inline int64_t wrapped(int64_t a, int64_t b) noexcept nogil:
    """Add as Java does, without the overflow that C leaves undefined."""
    return <int64_t>(<uint64_t>a + <uint64_t>b)


cdef inline int32_t sequence_of(int32_t base, int32_t delta) noexcept nogil:
    if base < 0:
        return -1
    return <int32_t>((<uint32_t>base + <uint32_t>delta) & 0x7FFFFFFF)


cdef inline void fail(Batch *batch, int32_t status, int64_t at) noexcept nogil:
    if batch.status == OK:
        batch.status = status
        batch.fault_at = at
        batch.done = -1


cdef class Batches:
    """The batches that one scan found; see the twin."""

    cdef Batch *batches
    cdef Py_ssize_t room
    cdef Py_ssize_t length
    cdef Stop reason
    cdef readonly int64_t end
    cdef readonly int64_t stop_at

    def __dealloc__(self):
        free(self.batches)

    def __len__(self):
        return self.length

    @property
    def stop(self):
        if self.reason == DAMAGED:
            return CODE_NAMES[INVALID_BATCH]
        return ("", "end", "partial", "zeros")[<int>self.reason]

    cdef Batch *append(self) noexcept nogil:
        cdef Batch *grown
        if self.length == self.room:
            grown = <Batch *>realloc(self.batches, (2 * self.room + 4) * sizeof(Batch))
            if grown == NULL:
                return NULL
            self.batches = grown
            self.room = 2 * self.room + 4
        self.length += 1
        return &self.batches[self.length - 1]

    cdef Batch *at(self, Py_ssize_t number) except NULL:
        if not 0 <= number < self.length:
            raise IndexError(number)
        return &self.batches[number]

    def select(self, control: str, keep=None) -> None:
        """Choose which batches are wanted: by their kind (``skip``, ``keep``, ``only``), and one byte a batch."""
        cdef Py_ssize_t number
        cdef bint is_control
        cdef bint both = control == "keep"
        cdef bint only = control == "only"
        cdef Batch *batch
        for number in range(self.length):
            batch = &self.batches[number]
            is_control = batch.magic == 2 and batch.attributes & CONTROL
            batch.wanted = both or is_control == only
            if batch.wanted and keep is not None:
                batch.wanted = keep[number] != 0

    def compressed(self):
        """List what is to be expanded: number of the batch, codec, magic, start and end."""
        cdef Py_ssize_t number
        cdef Batch *batch
        found = []
        for number in range(self.length):
            batch = &self.batches[number]
            if batch.wanted and batch.status == OK and batch.attributes & 7:
                found.append((number, batch.attributes & 7, batch.magic, batch.start, batch.end))
        return found

    def expand(self, number: int, start: int, end: int) -> None:
        """Say where the expanded records of a batch stand."""
        cdef Batch *batch = self.at(number)
        batch.start = start
        batch.end = end
        batch.expanded = True

    def fail(self, number: int, code: str) -> None:
        """Say that a batch could not be expanded."""
        cdef Batch *batch = self.at(number)
        fail(batch, CODE_NAMES.index(code), batch.start)

    def headers(self):
        """Return the headers as a NumPy array of the fields of `BATCH_HEADER`."""
        return np.frombuffer(
            PyBytes_FromStringAndSize(<char *>self.batches, self.length * sizeof(Batch)), PLACES
        )[HEADER_FIELDS]


# Where the fields of a header stand in the struct.
cdef Batch SAMPLE
PLACES = np.dtype({
    "names": HEADER_FIELDS,
    "formats": [np.dtype(kind).newbyteorder("=") for _, kind in BATCH_HEADER],
    "offsets": [
        <char *>&SAMPLE.position - <char *>&SAMPLE,
        <char *>&SAMPLE.size - <char *>&SAMPLE,
        <char *>&SAMPLE.magic - <char *>&SAMPLE,
        <char *>&SAMPLE.attributes - <char *>&SAMPLE,
        <char *>&SAMPLE.offset - <char *>&SAMPLE,
        <char *>&SAMPLE.last_delta - <char *>&SAMPLE,
        <char *>&SAMPLE.base_timestamp - <char *>&SAMPLE,
        <char *>&SAMPLE.max_timestamp - <char *>&SAMPLE,
        <char *>&SAMPLE.leader_epoch - <char *>&SAMPLE,
        <char *>&SAMPLE.producer_id - <char *>&SAMPLE,
        <char *>&SAMPLE.producer_epoch - <char *>&SAMPLE,
        <char *>&SAMPLE.base_sequence - <char *>&SAMPLE,
        <char *>&SAMPLE.count - <char *>&SAMPLE,
        <char *>&SAMPLE.crc - <char *>&SAMPLE,
        <char *>&SAMPLE.crc_valid - <char *>&SAMPLE,
    ],
    "itemsize": sizeof(Batch),
})


cdef inline int8_t type_of(const Batch *batch) noexcept nogil:
    return (batch.attributes >> 3) & 1 if batch.magic else -1


cdef bint all_zero(const uint8_t *data, int64_t size) noexcept nogil:
    cdef int64_t i = 0
    while i + 8 <= size:
        if load_le64(data + i):
            return False
        i += 8
    while i < size:
        if data[i]:
            return False
        i += 1
    return True


cdef Status find(
    Batches batches, const uint8_t *data, int64_t size, int64_t start, int64_t most, bint check
) noexcept nogil:
    cdef int64_t at = start
    cdef int64_t left
    cdef int32_t length
    cdef int8_t magic
    cdef Batch *batch
    while True:
        batches.end = at
        left = size - at
        if left == 0:
            batches.reason = END
            return OK
        if at - start >= most:
            return OK
        if left >= LOG_OVERHEAD and all_zero(data + at, LOG_OVERHEAD) and all_zero(data + at, left):
            batches.reason = ZEROS
            return OK
        if left < LOG_OVERHEAD + 5:
            batches.reason = PARTIAL
            return OK
        length = <int32_t>load_be32(data + at + 8)
        magic = <int8_t>data[at + 16]
        if length < SMALLEST or magic < 0 or magic > 2:
            batches.reason = DAMAGED
            batches.stop_at = at + 8 if length < SMALLEST else at + 16
            return OK
        if length > left - LOG_OVERHEAD:
            batches.reason = PARTIAL
            return OK
        batch = batches.append()
        if batch == NULL:
            return NO_MEMORY
        memset(batch, 0, sizeof(Batch))
        batch.position = at
        batch.size = LOG_OVERHEAD + length
        batch.magic = magic
        batch.crc_valid = -1
        batch.wanted = True
        if magic == 2:
            modern(batch, data, check)
        else:
            legacy(batch, data, check)
        at += batch.size


cdef void modern(Batch *batch, const uint8_t *data, bint check) noexcept nogil:
    cdef const uint8_t *header = data + batch.position
    batch.offset = <int64_t>load_be64(header)
    batch.crc = load_be32(header + 17)
    batch.base_timestamp = -1
    batch.max_timestamp = -1
    batch.producer_id = -1
    batch.producer_epoch = -1
    batch.base_sequence = -1
    batch.leader_epoch = -1
    batch.start = batch.position
    batch.end = batch.position
    if batch.size < HEADER:
        fail(batch, INVALID_BATCH, batch.position + 8)
        return
    batch.start = batch.position + HEADER
    batch.end = batch.position + batch.size
    batch.leader_epoch = <int32_t>load_be32(header + 12)
    batch.attributes = header[22]
    batch.last_delta = <int32_t>load_be32(header + 23)
    batch.base_timestamp = <int64_t>load_be64(header + 27)
    batch.max_timestamp = <int64_t>load_be64(header + 35)
    batch.producer_id = <int64_t>load_be64(header + 43)
    batch.producer_epoch = load16(header + 51)
    batch.base_sequence = <int32_t>load_be32(header + 53)
    batch.count = <int32_t>load_be32(header + 57)
    if check:
        batch.crc_valid = crc32c(0, header + 21, batch.size - 21) == batch.crc
    if batch.crc_valid == 0:
        fail(batch, CRC_MISMATCH, batch.position + 17)
    elif batch.count < 0:
        fail(batch, BLOCK_COUNT, batch.position + 57)
    elif batch.attributes & 7 > 4:
        fail(batch, COMPRESSION, batch.position + 21)


cdef struct Message:
    int64_t timestamp
    int64_t key
    int32_t key_size        # -1: null
    int64_t value
    int32_t value_size
    int64_t fault_at


cdef Status message(const uint8_t *data, int64_t at, int64_t end, Message *out) noexcept nogil:
    """Read where the parts of a message are that takes up all of its place, at least its header."""
    cdef int64_t place = at + MESSAGE_HEADER
    cdef int32_t size
    cdef int part
    out.timestamp = -1
    out.fault_at = place
    if data[at + 16] == 1:
        if end - place < 8:
            return TRUNCATED
        out.timestamp = <int64_t>load_be64(data + place)
        place += 8
    for part in range(2):
        out.fault_at = place
        if end - place < 4:
            return TRUNCATED
        size = <int32_t>load_be32(data + place)
        if size < -1:
            return NEGATIVE_LENGTH
        place += 4
        out.fault_at = place
        if size > end - place:
            return TRUNCATED
        if part:
            out.value = place
            out.value_size = size
        else:
            out.key = place
            out.key_size = size
        if size > 0:
            place += size
    out.fault_at = place
    return OK if place == end else BLOCK_SIZE


cdef void legacy(Batch *batch, const uint8_t *data, bint check) noexcept nogil:
    cdef const uint8_t *header = data + batch.position
    cdef Message parts
    cdef Status status
    batch.offset = <int64_t>load_be64(header)
    batch.crc = load_be32(header + 12)
    batch.attributes = header[17]
    batch.start = batch.position + MESSAGE_HEADER
    batch.end = batch.position + batch.size
    batch.count = 1
    batch.base_timestamp = -1
    batch.max_timestamp = -1
    batch.producer_id = -1
    batch.producer_epoch = -1
    batch.base_sequence = -1
    batch.leader_epoch = -1
    if check:
        batch.crc_valid = crc32(header + 16, batch.size - 16) == batch.crc
    if batch.crc_valid == 0:
        fail(batch, CRC_MISMATCH, batch.position + 12)
        return
    status = message(data, batch.position, batch.end, &parts)
    if status != OK:
        fail(batch, status, parts.fault_at)
        return
    batch.base_timestamp = parts.timestamp
    batch.max_timestamp = parts.timestamp
    if batch.attributes & 7 > 3:
        fail(batch, COMPRESSION, batch.position + 17)
    elif batch.attributes & 7:
        if parts.value_size < 0:
            fail(batch, NULL_VALUE, batch.end)
        batch.start = parts.value


def scan(data, start: int, most: int, check_crc: bool) -> Batches:
    """Find the batches of a buffer; see the twin."""
    cdef Batches batches = Batches()
    cdef const uint8_t *address = <const uint8_t *><uintptr_t>data.address
    cdef int64_t size = data.size
    cdef int64_t first = start
    cdef int64_t room = most
    cdef bint check = check_crc
    cdef Status status
    if not 0 <= first <= size:
        raise ValueError("start is outside the buffer")
    with nogil:
        status = find(batches, address, size, first, room, check)
    if status == NO_MEMORY:
        raise MemoryError
    return batches


# --------------------------------------------------------------------------------------------------- records

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
    batch.done = 0
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

        status = record_varint32(&at, stop, limit, &size)
        if unlikely(status != OK):
            break
        if unlikely(size < -1):
            status = NEGATIVE_LENGTH
            break
        if unlikely(size > stop - at):
            status = TRUNCATED
            break
        valid_key[row] = size >= 0
        if size < 0:
            size = 0
        put_view(keys + 16 * row, at, size, limit, base, piece)
        at += size

        status = record_varint32(&at, stop, limit, &size)
        if unlikely(status != OK):
            break
        if unlikely(size < -1):
            status = NEGATIVE_LENGTH
            break
        if unlikely(size > stop - at):
            status = TRUNCATED
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
                status = record_varint32(&at, stop, limit, &size)
                if unlikely(status != OK):
                    break
                if unlikely(size < 0):
                    status = NEGATIVE_LENGTH
                    break
                if unlikely(size > stop - at):
                    status = TRUNCATED
                    break
                part = at
                at += size
                if unlikely(not utf8_valid(part, size)):
                    status = INVALID_UTF8
                    break
                header_keys += size
                status = record_varint32(&at, stop, limit, &size)
                if unlikely(status != OK):
                    break
                if unlikely(size < -1):
                    status = NEGATIVE_LENGTH
                    break
                if unlikely(size > stop - at):
                    status = TRUNCATED
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
    batch.done = <int32_t>(row - first)
    if status != OK:
        return status
    if at != end:
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
    if not batch.attributes & 7:
        at = batch.position
    elif batch.magic == 1 and batch.offset:
        while at < batch.end:
            last = <int64_t>load_be64(source + at)
            at += LOG_OVERHEAD + <int32_t>load_be32(source + at + 8)
        shift = <int64_t>(<uint64_t>batch.offset - <uint64_t>last)
        at = batch.start
    while at < batch.end:
        end = at + LOG_OVERHEAD + <int32_t>load_be32(source + at + 8)
        batch.done = <int32_t>(row - first)
        if source[at + 16] != batch.magic:
            batch.fault_at = at + 16
            return INVALID_BATCH
        if batch.attributes & 7 and source[at + 17] & 7:
            batch.fault_at = at + 17
            return COMPRESSION
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
    batch.done = 0
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
    Batches batches, Py_ssize_t first, Py_ssize_t last, const uint8_t *data, int64_t data_size,
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


def records(batches: Batches, first: int, last: int, data, expanded, number: int, views: bool):
    """Read the records of the wanted ones among some batches; see the twin."""
    cdef Batches found = batches
    cdef Py_ssize_t start = first
    cdef Py_ssize_t stop = last
    cdef Py_ssize_t most_pieces = last - first + 1
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
    if not 0 <= start <= stop <= found.length:
        raise IndexError("no such batches")
    for each in range(start, stop):
        batch = &found.batches[each]
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
    cdef uint8_t *scratch = <uint8_t *>malloc(2 * most_pieces * sizeof(void *) + 8 * rows + 4 * (rows + 8))
    if scratch == NULL:
        raise MemoryError
    pieces.start = <const uint8_t **>scratch
    pieces.size = <int64_t *>(pieces.start + most_pieces)
    columns.places = <const uint8_t **>(pieces.size + most_pieces)
    for i in range(4):
        columns.valid[i] = <uint8_t *>(columns.places + rows) + i * (rows + 8)
    try:
        with nogil:
            rows = decode(
                found, start, stop, source, source_size, opened, opened_size, number_of_first, &columns, &pieces
            )
        result = export(&columns, rows, area, data, expanded, &pieces, views)
    finally:
        free(scratch)
    faults = []
    for each in range(start, stop):
        batch = &found.batches[each]
        if batch.wanted and batch.status != OK:
            faults.append((each, batch.fault_at, batch.done, CODE_NAMES[batch.status]))
    return result, faults
