"""The batches of a buffer, found by their headers; see `_kernel_py` for the layout, and for what is checked in which
order.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uintptr_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from kcodec.wire.binary.crc32 cimport crc32, crc32_init
from kcodec.wire.binary.crc32c cimport crc32c
from kcodec.wire.binary.cursor cimport load_be32, load_be64, load_le64
from kcodec.wire.binary.status cimport (
    BLOCK_COUNT, BLOCK_SIZE, COMPRESSION, CRC_MISMATCH, INVALID_BATCH, NEGATIVE_LENGTH, NO_MEMORY, NULL_VALUE, OK,
    TRUNCATED, Status,
)

import numpy as np

from kcodec.errors import CODES
from kcodec.protocol.batch.schema import BATCH_HEADER

__all__ = ["Batches", "scan"]

cdef list CODE_NAMES = ["", *CODES]
cdef list HEADER_FIELDS = [name for name, _ in BATCH_HEADER]

crc32_init()


cdef inline int16_t load16(const uint8_t *place) noexcept nogil:
    return <int16_t>((<uint16_t>place[0] << 8) | place[1])


cdef inline void fail(Batch *batch, int32_t status, int64_t at) noexcept nogil:
    if batch.status == OK:
        batch.status = status
        batch.fault_at = at
        batch.good_records = -1


cdef class Batches:
    """The batches that one scan found; see the twin."""

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
        """Record where the expanded records of a batch stand."""
        cdef Batch *batch = self.at(number)
        batch.start = start
        batch.end = end
        batch.expanded = True

    def fail(self, number: int, code: str) -> None:
        """Record that a batch could not be expanded."""
        cdef Batch *batch = self.at(number)
        fail(batch, CODE_NAMES.index(code), batch.start)

    def large(self, first: int, last: int, most: int):
        """List the batches that are read in parts: number, whether it was expanded, position, start, records."""
        cdef Py_ssize_t number
        cdef int32_t limit = most
        cdef Batch *batch
        found = []
        for number in range(first, last):
            batch = &self.batches[number]
            if batch.count > limit and batch.wanted and batch.status == OK and batch.magic == 2:
                # Others are refused for their count.
                if batch.count <= (batch.end - batch.start) // SMALLEST_RECORD:
                    found.append((number, bool(batch.expanded), batch.position, batch.start, batch.count))
        return found

    def part(self, number: int, start: int, count: int, partial: bool) -> None:
        """Have only some records of a batch be read, behind which there may be more."""
        cdef Batch *batch = self.at(number)
        batch.start = start
        batch.count = count
        batch.partial = partial

    def reached(self, number: int) -> int:
        """Return where the records end that were read of a batch."""
        return self.at(number).fault_at

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
    Batches batches, const uint8_t *data, int64_t size, int64_t start, int64_t window, bint check
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
        if at - start >= window:
            return OK
        if left >= LOG_OVERHEAD and all_zero(data + at, LOG_OVERHEAD) and all_zero(data + at, left):
            batches.reason = ZEROS
            return OK
        if left < LOG_OVERHEAD:
            batches.reason = PARTIAL
            return OK
        length = <int32_t>load_be32(data + at + 8)
        if length < SMALLEST:
            batches.reason = DAMAGED
            batches.stop_at = at + 8
            return OK
        if left < LOG_OVERHEAD + 5:
            batches.reason = PARTIAL
            return OK
        magic = <int8_t>data[at + 16]
        if magic < 0 or magic > 2:
            batches.reason = DAMAGED
            batches.stop_at = at + 16
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
        batch.base_timestamp = -1
        batch.max_timestamp = -1
        batch.producer_id = -1
        batch.producer_epoch = -1
        batch.base_sequence = -1
        batch.leader_epoch = -1
        if magic == 2:
            modern(batch, data, check)
        else:
            legacy(batch, data, check)
        at += batch.size


cdef void modern(Batch *batch, const uint8_t *data, bint check) noexcept nogil:
    cdef const uint8_t *header = data + batch.position
    batch.offset = <int64_t>load_be64(header)
    batch.crc = load_be32(header + 17)
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


def scan(data, start: int, window: int, check_crc: bool) -> Batches:
    """Find the batches of a buffer; see the twin."""
    cdef Batches batches = Batches()
    cdef const uint8_t *address = <const uint8_t *><uintptr_t>data.address
    cdef int64_t size = data.size
    cdef int64_t first = start
    cdef int64_t bytes_to_scan = window
    cdef bint check = check_crc
    cdef Status status
    if not 0 <= first <= size:
        raise ValueError("start is outside the buffer")
    with nogil:
        status = find(batches, address, size, first, bytes_to_scan, check)
    if status == NO_MEMORY:
        raise MemoryError
    return batches
