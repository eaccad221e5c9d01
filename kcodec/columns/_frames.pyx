"""Confluent's frame of every row of an Arrow column: the rows that ``wire/_framing.pyx`` reads."""

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from kcodec.columns._rows cimport OFFSETS32, Rows, Slice
from kcodec.wire._framing cimport BAD_FRAME, FrameKeys, FrameValue, Key
from kcodec.wire.cursor cimport load_be32
from kcodec.wire.frame cimport GUID_SIZE, LEVELS, read_frame, write_guid, write_id, write_indexes
from kcodec.wire.status cimport OK, Status

from kcodec.columns.faults import Faults, integers
from kcodec.errors import CODES
from kcodec.wire._faults import encode_error

__all__ = ["common_frame", "decode_frames", "frame_prefix", "framed_rows"]

#: How rows fail in their frame, and in the message indexes behind it: by number, as in ``wire/status.pxd``.
_WAYS = (("", "", ""), *(("", code, reason) for code, reason in CODES.items()))
_INDEX_WAYS = (("", "", ""), *(("", code, f"message indexes: {reason}") for code, reason in CODES.items()))

cdef enum:
    BATCH = 128       # rows that are asked for at once
    SAMPLES = 16      # rows of which a column's common frame is taken


cdef struct Key:
    # A GUID as two words; an id as its number and a mark that no GUID's second word can be confused with.
    bint guid
    uint64_t high
    uint64_t low
    int64_t first         # of its message indexes among those of all keys
    int32_t levels        # how many it has


cdef class _Keys:
    """The distinct keys of a column, found by open addressing."""

    cdef Key *keys
    cdef int32_t *slots       # number of the key plus one
    cdef int32_t *levels      # message indexes of all keys
    cdef int32_t count
    cdef int32_t size         # slots, a power of two; keys fill at most half of them
    cdef int64_t used         # levels
    cdef int64_t room         # for levels

    def __cinit__(self, bint indexes):
        self.resize(64, 2 * LEVELS if indexes else 0)

    def __dealloc__(self):
        free(self.keys)
        free(self.slots)
        free(self.levels)

    cdef int resize(self, int32_t size, int64_t room) except -1:
        cdef Key *keys = <Key *>calloc(size // 2, sizeof(Key))
        cdef int32_t *slots = <int32_t *>calloc(size, sizeof(int32_t))
        cdef int32_t *levels = <int32_t *>calloc(room + 1, sizeof(int32_t))
        cdef int32_t number
        if keys == NULL or slots == NULL or levels == NULL:
            free(keys)
            free(slots)
            free(levels)
            raise MemoryError
        if self.count:
            memcpy(keys, self.keys, self.count * sizeof(Key))
        if self.used:
            memcpy(levels, self.levels, <size_t>self.used * sizeof(int32_t))
        free(self.keys)
        free(self.slots)
        free(self.levels)
        self.keys = keys
        self.slots = slots
        self.levels = levels
        self.size = size
        self.room = room
        for number in range(self.count):
            self.slots[self.slot(&keys[number], levels + keys[number].first)] = number + 1
        return 0

    cdef int32_t slot(self, const Key *key, const int32_t *levels) noexcept nogil:
        """Return where a key is, or would be."""
        # Whoever writes the keys cannot know where this object is, so cannot make them collide.
        cdef uint64_t mixed = (key.high ^ <uint64_t><uintptr_t><void *>self) * 0x9E3779B97F4A7C15ULL
        cdef int32_t i
        mixed = (mixed ^ (mixed >> 32) ^ key.low) * 0xBF58476D1CE4E5B9ULL
        for i in range(key.levels):
            mixed = (mixed ^ (mixed >> 32) ^ <uint64_t>levels[i]) * 0x9E3779B97F4A7C15ULL
        cdef int32_t at = <int32_t>(mixed >> 33) & (self.size - 1)
        while self.slots[at] and not self.equal(&self.keys[self.slots[at] - 1], key, levels):
            at = (at + 1) & (self.size - 1)
        return at

    cdef bint equal(self, const Key *known, const Key *key, const int32_t *levels) noexcept nogil:
        return (
            known.guid == key.guid and known.high == key.high and known.low == key.low
            and known.levels == key.levels
            and memcmp(self.levels + known.first, levels, <size_t>key.levels * sizeof(int32_t)) == 0
        )

    cdef int32_t number(self, Key *key, const int32_t *levels) noexcept nogil:
        """Return the number of a key, added if it is new; -1 if there is no room for it."""
        cdef int32_t at = self.slot(key, levels)
        if self.slots[at] == 0:
            if self.count == self.size // 2 or self.room - self.used < key.levels:
                return -1
            key.first = self.used
            memcpy(self.levels + self.used, levels, <size_t>key.levels * sizeof(int32_t))
            self.used += key.levels
            self.keys[self.count] = key[0]
            self.count += 1
            self.slots[at] = self.count
        return self.slots[at] - 1

    def values(self, bint indexes):
        """Return the keys as Python objects."""
        cdef Key *key
        cdef int32_t at
        cdef int64_t i
        result = []
        for at in range(self.count):
            key = &self.keys[at]
            name = (<object>key.high << 64 | <object>key.low).to_bytes(16, "big") if key.guid else key.high
            if indexes:
                name = name, tuple([self.levels[i] for i in range(key.first, key.first + key.levels)])
            result.append(name)
        return result


cdef Status read_row(const Slice *value, int indexes, Key *key, int32_t *levels, int32_t *size) noexcept nogil:
    """Read one frame: its key, its message indexes, and how many bytes it has."""
    cdef const uint8_t *at
    cdef Status status = read_frame(value.start, value.end, size)
    if status != OK:
        return status
    key.guid = size[0] == GUID_SIZE
    if key.guid:
        key.high = load_be64(value.start + 1)
        key.low = load_be64(value.start + 9)
    else:
        key.high = load_be32(value.start + 1)
        key.low = 0
    key.levels = 0
    if indexes:
        at = value.start + size[0]
        status = read_indexes(&at, value.end, value.limit, levels, LEVELS, &key.levels, indexes == ZIGZAG)
        size[0] = <int32_t>(at - value.start)
    return status


cdef inline uint64_t leading(const uint8_t *start, bint indexes) noexcept nogil:
    """Return the shape of most frames: a zero, an id, and for message indexes 00, or 02 and one byte."""
    cdef uint64_t word = load_le64(start)
    if not indexes:
        return word & 0xFFFFFFFFFFULL
    return word & (0xFFFFFFFFFFFFULL if (word >> 40 & 0xFF) == 0 else 0xFFFFFFFFFFFFFFULL)


cdef int64_t alike(
    Rows rows, bint indexes, uint64_t bits, int32_t number, int32_t size, int32_t *selector, int32_t *starts,
    int64_t row,
) noexcept nogil:
    """Step over rows that have the same frame; return the first row with another one."""
    cdef const int32_t *offsets = <const int32_t *>rows.offsets + rows.first
    cdef const uint8_t *at
    while row < rows.length:
        at = rows.data + offsets[row]
        if row + AHEAD < rows.length:
            prefetch(rows.data + offsets[row + AHEAD])
        if rows.limit - at < 8 or offsets[row + 1] - offsets[row] < size or leading(at, indexes) != bits:
            break
        selector[row] = number
        starts[row] = size
        row += 1
    return row


cdef int64_t scan(
    Rows rows, _Keys keys, int indexes, int32_t *selector, int32_t *starts, int64_t row
) noexcept nogil:
    """Read frames from a row on; return the row at which there was no room for its key, or how many there are."""
    cdef Slice[BATCH] values
    cdef bint is_plain = rows.layout == OFFSETS32 and rows.validity == NULL and rows.data != NULL
    cdef const int32_t *offsets = <const int32_t *>rows.offsets + rows.first
    cdef int64_t count
    cdef int64_t done
    cdef int64_t bytes
    while row < rows.length:
        if is_plain:
            row = keys.alike(rows.data, offsets, rows.limit, selector, starts, row, rows.length)
            if row == rows.length:
                break
        count = rows.fill(row, values, BATCH, INT64_MAX, &bytes)
        done = keys.scan(<const FrameValue *>values, count, selector + row, starts + row)
        row += done
        if done < count:
            break
    return row


def decode_frames(values, int indexes):
    """Read the frame of each row; see `kcodec.columns.frames.decode_frames`."""
    cdef Rows rows = Rows(values)
    cdef _Keys keys = _Keys(indexes != 0)
    cdef Slice value
    cdef Key key
    cdef int32_t[LEVELS] levels
    cdef int32_t size = 0
    cdef int64_t row = 0
    chosen = bytearray(rows.length * sizeof(int32_t))
    places = bytearray(rows.length * sizeof(int32_t))
    cdef int32_t *selector = <int32_t *>PyByteArray_AS_STRING(chosen)
    cdef int32_t *starts = <int32_t *>PyByteArray_AS_STRING(places)
    while True:
        with nogil:
            row = scan(rows, keys, indexes, selector, starts, row)
        if row == rows.length:
            break
        keys.grow()
    found = []
    ids = []
    cdef Status status
    for row in range(rows.length):
        if selector[row] == BAD_FRAME:
            rows.slice(row, &value)
            status = read_row(&value, indexes, &key, levels, &size)
            if read_frame(value.start, value.end, &size) != OK:
                found.append((row, 0, _WAYS[<int>status]))
                ids.append(None)
            else:
                found.append((row, size, _INDEX_WAYS[<int>status]))
                ids.append(None if value.start[0] else load_be32(value.start + 1))
    faults = Faults.told_apart(found).with_ids(integers(ids)) if found else []
    return chosen, places, keys.values(indexes != 0), faults


def common_frame(values, int indexes):
    """Return the frame that a column's rows seem to have; see `kcodec.columns.frames.common_frame`."""
    cdef Rows rows = Rows(values)
    cdef Slice value
    cdef FrameKeys keys = FrameKeys(indexes)
    cdef Key key
    cdef int32_t[LEVELS] levels
    cdef int32_t size = 0
    cdef int64_t row = 0
    cdef const uint8_t *prefix = NULL
    while row < rows.length:
        rows.slice(row, &value)
        if prefix == NULL:
            row += 1
            if value.start == NULL:
                continue
            if keys.read(<const FrameValue *>&value, &key, levels, &size) != OK:
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
    """Find rows that look framed; see `kcodec.columns.frames.framed_rows`."""
    cdef Rows rows = Rows(values)
    cdef Slice value
    cdef int64_t at
    found = []
    for at in range(numbers.shape[0]):
        rows.slice(numbers[at], &value)
        if value.start == NULL or value.end - value.start < 6 or value.start[0] != 0:
            continue
        if 0 < load_be32(value.start + 1) < 1 << 24:
            found.append((at, load_be32(value.start + 1)))
    return found


def frame_prefix(key, indexes) -> bytes:
    """Return the bytes in front of a payload; see `kcodec.columns.frames.frame_prefix`."""
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
