"""Record batches; see the twin for the layout, and for what is checked in which order.

Fixed-width columns of all records of one call stand in one buffer. Keys and values are views, 16 bytes each, of the
buffer that was scanned or of the one compressed batches have been expanded to, so that none is copied. Headers are
rare: the row loop only counts them and remembers where they start, and a second loop copies them into columns of their
exact size.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from kcodec.protocol._arrow_c cimport ArrowArray
from kcodec.wire.crc32 cimport crc32, crc32_init
from kcodec.wire.crc32c cimport crc32c
from kcodec.wire.cursor cimport (
    likely, load_be32, load_be64, load_le32, load_le64, pack8, read_varint32, store_le32, store_le64, unlikely,
    unzigzag32,
)
from kcodec.wire.record_varint cimport record_varint32, record_varint64
from kcodec.wire.status cimport (
    BLOCK_COUNT, BLOCK_SIZE, COMPRESSION, CRC_MISMATCH, INVALID_BATCH, INVALID_UTF8, NEGATIVE_LENGTH, NO_MEMORY,
    NULL_VALUE, OK, TRAILING_BYTES, TRUNCATED, Status,
)
from kcodec.wire.utf8 cimport utf8_valid

import numpy as np
import pyarrow as pa

from kcodec.errors import CODES
from kcodec.protocol.batch_schema import BATCH_HEADER, CONTROL_TYPES, RECORDS

__all__ = ["Batches", "records", "scan"]

cdef extern from "Python.h":
    int Py_IsInitialized() nogil

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
    ALIGNMENT = 64

cdef enum Stop:
    MORE
    END
    PARTIAL
    ZEROS
    DAMAGED

# Columns of the record table, then what stands below them.
cdef enum:
    OFFSET
    TIMESTAMP
    TIMESTAMP_TYPE
    KEY
    VALUE
    HEADERS
    LEADER_EPOCH
    PRODUCER_ID
    PRODUCER_EPOCH
    SEQUENCE
    IS_TRANSACTIONAL
    CONTROL_TYPE
    BATCH
    COLUMNS
    HEADER_ITEM = COLUMNS
    HEADER_KEY
    HEADER_VALUE
    CONTROL_NAMES
    ROOT
    ARRAYS

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

cdef struct Columns:
    int64_t *offset
    int64_t *timestamp
    uint8_t *key
    uint8_t *value
    int64_t *producer_id
    int32_t *leader_epoch
    int32_t *sequence
    int32_t *batch
    int32_t *headers        # one more than rows
    int16_t *producer_epoch
    int8_t *timestamp_type
    int8_t *control
    uint8_t *transactional  # bits
    uint8_t *bitmaps[4]     # bits: timestamp, key, value, control
    uint8_t *valid[4]       # bytes, the same
    const uint8_t **places  # where the headers of a row start, if it has any
    int64_t header_count
    int64_t header_keys     # bytes
    int64_t header_values

# Places in `Columns.bitmaps` and `Columns.valid`.
cdef enum:
    VALID_TIMESTAMP
    VALID_KEY
    VALID_VALUE
    VALID_CONTROL

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
            grown = <Batch *>realloc(self.batches, (2 * self.room + 16) * sizeof(Batch))
            if grown == NULL:
                return NULL
            self.batches = grown
            self.room = 2 * self.room + 16
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
    cdef int32_t base_sequence = batch.base_sequence
    cdef bint append = batch.attributes & LOG_APPEND
    cdef bint control = batch.attributes & CONTROL
    cdef int64_t *offsets = columns.offset
    cdef int64_t *timestamps = columns.timestamp
    cdef int32_t *sequences = columns.sequence
    cdef int32_t *header_offsets = columns.headers
    cdef uint8_t *keys = columns.key
    cdef uint8_t *values = columns.value
    cdef uint8_t *valid_timestamp = columns.valid[VALID_TIMESTAMP]
    cdef uint8_t *valid_key = columns.valid[VALID_KEY]
    cdef uint8_t *valid_value = columns.valid[VALID_VALUE]
    cdef int64_t header_count = columns.header_count
    cdef int64_t header_keys = columns.header_keys
    cdef int64_t header_values = columns.header_values
    cdef int64_t wide
    cdef int32_t size
    cdef int64_t timestamp
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
        timestamp = wrapped(base_timestamp, wide)
        status = record_varint32(&at, stop, limit, &delta)
        if unlikely(status != OK):
            break
        offsets[row] = wrapped(base_offset, delta)
        timestamps[row] = timestamp
        valid_timestamp[row] = timestamp != -1
        sequences[row] = sequence_of(base_sequence, delta)

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
        if control:
            columns.control[row] = UNKNOWN_CONTROL
            if size >= 4 and at[2] == 0 and at[3] < UNKNOWN_CONTROL:
                columns.control[row] = at[3]
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
    if append:
        for row in range(first, last):
            timestamps[row] = batch.max_timestamp
        memset(valid_timestamp + first, batch.max_timestamp != -1, last - first)
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
        if batch.magic and batch.attributes & LOG_APPEND:
            parts.timestamp = batch.max_timestamp
        columns.offset[row] = wrapped(shift, <int64_t>load_be64(source + at))
        columns.timestamp[row] = parts.timestamp
        columns.sequence[row] = -1
        columns.valid[VALID_TIMESTAMP][row] = parts.timestamp != -1
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


cdef void fill_constants(Batch *batch, int32_t number, Columns *columns, int64_t first, int64_t last) noexcept nogil:
    cdef int64_t row
    cdef bint modern = batch.magic == 2
    for row in range(first, last):
        columns.leader_epoch[row] = batch.leader_epoch
    for row in range(first, last):
        columns.producer_id[row] = batch.producer_id
    for row in range(first, last):
        columns.producer_epoch[row] = batch.producer_epoch
    for row in range(first, last):
        columns.batch[row] = number
    memset(columns.timestamp_type + first, type_of(batch), last - first)
    memset(columns.valid[VALID_CONTROL] + first, modern and batch.attributes & CONTROL != 0, last - first)
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
    const uint8_t *expanded, int64_t expanded_size, int64_t number, Columns *columns, int64_t *windows,
    int32_t *window_count
) noexcept nogil:
    """Read the records of all wanted batches; return how many there are.

    The data is shown to views in windows, whose starts are returned: offsets of views have 31 bits.
    """
    cdef Py_ssize_t each
    cdef Batch *batch
    cdef const uint8_t *source
    cdef const uint8_t *limit
    cdef const uint8_t *base
    cdef int64_t row = 0
    cdef int32_t piece
    cdef Status status
    columns.headers[0] = 0
    window_count[0] = 0
    for each in range(first, last):
        batch = &batches.batches[each]
        if not batch.wanted or batch.status != OK:
            continue
        if batch.expanded:
            source = expanded
            limit = expanded + expanded_size
            base = expanded
            piece = 0
        else:
            source = data
            limit = data + data_size
            if window_count[0] == 0 or batch.end - windows[window_count[0] - 1] > INT32_MAX:
                windows[window_count[0]] = batch.position
                window_count[0] += 1
            base = data + windows[window_count[0] - 1]
            piece = window_count[0]
        if batch.magic == 2:
            status = row_loop(batch, source, limit, base, piece, columns, row)
        else:
            status = legacy_loop(batch, source, limit, base, piece, columns, row)
        if status != OK:
            batch.status = status
            if batch.expanded:
                batch.fault_at = batch.position + (HEADER if batch.magic == 2 else MESSAGE_HEADER)
            continue
        fill_constants(batch, <int32_t>(number + each), columns, row, row + batch.count)
        row += batch.count
    return row


cdef int64_t pack(uint8_t *bits, uint8_t *valid, int64_t rows) noexcept nogil:
    """Pack bytes that are 0 or 1 into bits, and count the zeros. There is room for 8 rows more."""
    cdef int64_t row
    cdef int64_t ones = 0
    for row in range(rows):
        ones += valid[row]
    if ones < rows:
        memset(valid + rows, 0, 8)
        for row in range(0, rows, 8):
            bits[row >> 3] = pack8(valid + row)
    return rows - ones


cdef void copy_headers(
    Columns *columns, int64_t rows, int32_t *key_offsets, uint8_t *keys, int32_t *value_offsets, uint8_t *values,
    uint8_t *valid
) noexcept nogil:
    """Copy what the row loop has checked."""
    cdef int64_t row
    cdef int64_t item = 0
    cdef int64_t last
    cdef int32_t key_bytes = 0
    cdef int32_t value_bytes = 0
    cdef const uint8_t *at
    cdef uint32_t raw = 0
    cdef int32_t size
    key_offsets[0] = 0
    value_offsets[0] = 0
    for row in range(rows):
        last = columns.headers[row + 1]
        if item == last:
            continue
        at = columns.places[row]
        while item < last:
            # The length is within the row, so that there is no end to look for.
            read_varint32(&at, at + 5, at + 5, &raw)
            size = unzigzag32(raw)
            memcpy(keys + key_bytes, at, size)
            at += size
            key_bytes += size
            read_varint32(&at, at + 5, at + 5, &raw)
            size = unzigzag32(raw)
            valid[item] = size >= 0
            if size > 0:
                memcpy(values + value_bytes, at, size)
                at += size
                value_bytes += size
            item += 1
            key_offsets[item] = key_bytes
            value_offsets[item] = value_bytes


cdef class Area:
    """A buffer of pyarrow's pool that is handed out in aligned pieces."""

    cdef readonly object buffer
    cdef uint8_t *next

    def __cinit__(self, size: int):
        self.buffer = pa.allocate_buffer(size)
        self.next = <uint8_t *><uintptr_t>self.buffer.address

    cdef void *take(self, int64_t size) noexcept:
        cdef uint8_t *start = self.next
        self.next += rounded(size)
        return start


cdef inline int64_t rounded(int64_t size) noexcept nogil:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


cdef struct Exported:
    # Everything that the arrays of one result point to, but for their data.
    ArrowArray arrays[ARRAYS]
    ArrowArray *children[ARRAYS]
    const void *buffers[4 * ARRAYS]
    void *owner             # a tuple of what holds the data
    int64_t piece_sizes[1]  # and more, then the buffers of the two columns of views


cdef void release_child(ArrowArray *array) noexcept nogil:
    array.release = NULL


cdef void release_root(ArrowArray *array) noexcept nogil:
    cdef Exported *exported = <Exported *>array.private_data
    array.release = NULL
    if Py_IsInitialized():
        with gil:
            Py_DECREF(<object>exported.owner)
    free(exported)


def records(batches: Batches, first: int, last: int, data, expanded, number: int):
    """Read the records of the wanted ones among some batches; see the twin."""
    cdef Batches found = batches
    cdef Py_ssize_t start = first
    cdef Py_ssize_t stop = last
    cdef Py_ssize_t each
    cdef int64_t rows = 0
    cdef int64_t number_of_first = number
    cdef const uint8_t *source = <const uint8_t *><uintptr_t>data.address
    cdef const uint8_t *opened = <const uint8_t *><uintptr_t>expanded.address
    cdef int64_t source_size = data.size
    cdef int64_t opened_size = expanded.size
    cdef Batch *batch
    cdef Columns columns
    cdef int64_t *windows
    cdef int32_t window_count = 0
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
    cdef Area area = Area(rounded_sizes(rows))
    lay_out(&columns, area, rows)
    cdef uint8_t *scratch = <uint8_t *>malloc(4 * (rows + 8) + 8 * rows + (stop - start + 1) * sizeof(int64_t))
    if scratch == NULL:
        raise MemoryError
    windows = <int64_t *>scratch
    columns.places = <const uint8_t **>(windows + (stop - start + 1))
    for i in range(4):
        columns.valid[i] = <uint8_t *>(columns.places + rows) + i * (rows + 8)
    try:
        with nogil:
            rows = decode(
                found, start, stop, source, source_size, opened, opened_size, number_of_first, &columns, windows,
                &window_count
            )
        result = export(&columns, rows, area, data, expanded, source, opened, windows, window_count)
    finally:
        free(scratch)
    faults = []
    for each in range(start, stop):
        batch = &found.batches[each]
        if batch.wanted and batch.status != OK:
            faults.append((each, batch.fault_at, batch.done, CODE_NAMES[batch.status]))
    return result, faults


cdef int64_t rounded_sizes(int64_t rows) noexcept nogil:
    return (
        3 * rounded(8 * rows) + 2 * rounded(16 * rows) + 4 * rounded(4 * rows + 4) + rounded(2 * rows)
        + 2 * rounded(rows) + 5 * rounded((rows + 15) // 8)
    )


cdef void lay_out(Columns *columns, Area area, int64_t rows) noexcept:
    cdef int i
    memset(columns, 0, sizeof(Columns))
    columns.offset = <int64_t *>area.take(8 * rows)
    columns.timestamp = <int64_t *>area.take(8 * rows)
    columns.producer_id = <int64_t *>area.take(8 * rows)
    columns.key = <uint8_t *>area.take(16 * rows)
    columns.value = <uint8_t *>area.take(16 * rows)
    columns.leader_epoch = <int32_t *>area.take(4 * rows + 4)
    columns.sequence = <int32_t *>area.take(4 * rows + 4)
    columns.batch = <int32_t *>area.take(4 * rows + 4)
    columns.headers = <int32_t *>area.take(4 * rows + 4)
    columns.producer_epoch = <int16_t *>area.take(2 * rows)
    columns.timestamp_type = <int8_t *>area.take(rows)
    columns.control = <int8_t *>area.take(rows)
    columns.transactional = <uint8_t *>area.take((rows + 15) // 8)
    for i in range(4):
        columns.bitmaps[i] = <uint8_t *>area.take((rows + 15) // 8)


cdef object export(
    Columns *columns, int64_t rows, Area area, object data, object expanded, const uint8_t *source,
    const uint8_t *opened, const int64_t *windows, int32_t window_count
):
    """Hand the columns over as one record batch."""
    cdef int32_t pieces = 1 + window_count
    cdef int64_t items = columns.header_count
    cdef Area below = Area(
        2 * rounded(4 * items + 4) + rounded(columns.header_keys) + rounded(columns.header_values)
        + rounded((items + 15) // 8) + rounded(items + 8)
    )
    cdef int32_t *key_offsets = <int32_t *>below.take(4 * items + 4)
    cdef int32_t *value_offsets = <int32_t *>below.take(4 * items + 4)
    cdef uint8_t *keys = <uint8_t *>below.take(columns.header_keys)
    cdef uint8_t *values = <uint8_t *>below.take(columns.header_values)
    cdef uint8_t *bitmap = <uint8_t *>below.take((items + 15) // 8)
    cdef uint8_t *valid = <uint8_t *>below.take(items + 8)
    cdef int64_t nulls[5]
    cdef int i
    with nogil:
        copy_headers(columns, rows, key_offsets, keys, value_offsets, values, valid)
        for i in range(4):
            nulls[i] = pack(columns.bitmaps[i], columns.valid[i], rows)
        nulls[4] = pack(bitmap, valid, items)
    cdef Exported *exported = <Exported *>calloc(
        1, sizeof(Exported) + pieces * sizeof(int64_t) + 2 * (pieces + 3) * sizeof(void *)
    )
    if exported == NULL:
        raise MemoryError
    owner = (area.buffer, below.buffer, data, expanded)
    Py_INCREF(owner)
    exported.owner = <void *>owner
    cdef ArrowArray *arrays = exported.arrays
    cdef const void **piece_buffers = <const void **>(exported.piece_sizes + pieces)
    exported.piece_sizes[0] = expanded.size
    for i in range(window_count):
        exported.piece_sizes[1 + i] = min(<int64_t>data.size - windows[i], <int64_t>INT32_MAX)
    for i in range(ARRAYS):
        fixed(exported, i, rows, NULL)
    fixed(exported, OFFSET, rows, columns.offset)
    fixed(exported, TIMESTAMP, rows, columns.timestamp)
    fixed(exported, TIMESTAMP_TYPE, rows, columns.timestamp_type)
    fixed(exported, LEADER_EPOCH, rows, columns.leader_epoch)
    fixed(exported, PRODUCER_ID, rows, columns.producer_id)
    fixed(exported, PRODUCER_EPOCH, rows, columns.producer_epoch)
    fixed(exported, SEQUENCE, rows, columns.sequence)
    fixed(exported, IS_TRANSACTIONAL, rows, columns.transactional)
    fixed(exported, CONTROL_TYPE, rows, columns.control)
    fixed(exported, BATCH, rows, columns.batch)
    nullable(&arrays[TIMESTAMP], columns.bitmaps[VALID_TIMESTAMP], nulls[VALID_TIMESTAMP])
    nullable(&arrays[CONTROL_TYPE], columns.bitmaps[VALID_CONTROL], nulls[VALID_CONTROL])
    for i in range(2):
        arrays[KEY + i].buffers = piece_buffers + i * (pieces + 3)
        arrays[KEY + i].n_buffers = pieces + 3
        arrays[KEY + i].buffers[1] = columns.value if i else columns.key
        arrays[KEY + i].buffers[pieces + 2] = exported.piece_sizes
        nullable(&arrays[KEY + i], columns.bitmaps[VALID_KEY + i], nulls[VALID_KEY + i])
        arrays[KEY + i].buffers[2] = opened
    for i in range(window_count):
        arrays[KEY].buffers[3 + i] = source + windows[i]
        arrays[VALUE].buffers[3 + i] = source + windows[i]
    fixed(exported, HEADERS, rows, columns.headers)
    parent(exported, HEADERS, HEADER_ITEM, 1)
    fixed(exported, HEADER_ITEM, items, NULL)
    arrays[HEADER_ITEM].n_buffers = 1
    parent(exported, HEADER_ITEM, HEADER_KEY, 2)
    variable(exported, HEADER_KEY, items, key_offsets, keys)
    variable(exported, HEADER_VALUE, items, value_offsets, values)
    nullable(&arrays[HEADER_VALUE], bitmap, nulls[4])
    variable(exported, CONTROL_NAMES, UNKNOWN_CONTROL + 1, NAME_OFFSETS, NAMES)
    arrays[CONTROL_TYPE].dictionary = &arrays[CONTROL_NAMES]
    arrays[ROOT].n_buffers = 1
    parent(exported, ROOT, OFFSET, COLUMNS)
    arrays[ROOT].private_data = exported
    arrays[ROOT].release = release_root
    return pa.RecordBatch._import_from_c(<uintptr_t>&arrays[ROOT], RECORDS)


cdef void fixed(Exported *exported, int at, int64_t length, const void *data) noexcept:
    cdef ArrowArray *array = &exported.arrays[at]
    array.length = length
    array.n_buffers = 2
    array.buffers = &exported.buffers[4 * at]
    array.buffers[1] = data
    array.release = release_child
    exported.children[at] = array


cdef void variable(Exported *exported, int at, int64_t length, const void *offsets, const void *data) noexcept:
    fixed(exported, at, length, offsets)
    exported.arrays[at].n_buffers = 3
    exported.arrays[at].buffers[2] = data


cdef void parent(Exported *exported, int at, int first, int count) noexcept:
    exported.arrays[at].n_children = count
    exported.arrays[at].children = &exported.children[first]


cdef void nullable(ArrowArray *array, const void *bitmap, int64_t nulls) noexcept:
    array.null_count = nulls
    array.buffers[0] = bitmap if nulls else NULL


cdef int32_t NAME_OFFSETS[UNKNOWN_CONTROL + 2]
cdef bytes NAME_BYTES = "".join(CONTROL_TYPES).encode()
cdef const char *NAMES = NAME_BYTES


def _lay_out_names() -> None:
    for number, name in enumerate(CONTROL_TYPES):
        NAME_OFFSETS[number + 1] = NAME_OFFSETS[number] + <int32_t>len(name)


_lay_out_names()
