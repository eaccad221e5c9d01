"""The Confluent prefix of every row of a column.

Wire forms::

    00 | int32 big-endian schema id | payload
    01 | 16 bytes schema GUID       | payload
"""

from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free

from kcodec.columns._rows cimport Rows, Slice
from kcodec.wire.cursor cimport load_be32, load_be64

from kcodec.errors import CODES, Fault

__all__ = ["split"]

cdef enum:
    ID_SIZE = 5
    GUID_SIZE = 17
    NULL_ROW = -1
    BAD_FRAME = -2


cdef struct Key:
    # A GUID as two words; an id as its number and a mark that no GUID's second word can be confused with.
    bint guid
    uint64_t high
    uint64_t low


cdef class _Keys:
    """The distinct keys of a column, found by open addressing."""

    cdef Key *keys
    cdef int32_t *slots       # number of the key plus one
    cdef int32_t count
    cdef int32_t size         # slots, a power of two; keys fill at most half of them

    def __cinit__(self):
        self.resize(64)

    def __dealloc__(self):
        free(self.keys)
        free(self.slots)

    cdef int resize(self, int32_t size) except -1:
        cdef Key *keys = <Key *>calloc(size // 2, sizeof(Key))
        cdef int32_t *slots = <int32_t *>calloc(size, sizeof(int32_t))
        cdef int32_t number
        if keys == NULL or slots == NULL:
            free(keys)
            free(slots)
            raise MemoryError
        for number in range(self.count):
            keys[number] = self.keys[number]
        free(self.keys)
        free(self.slots)
        self.keys = keys
        self.slots = slots
        self.size = size
        for number in range(self.count):
            self.slots[self.slot(&keys[number])] = number + 1
        return 0

    cdef int32_t slot(self, const Key *key) noexcept nogil:
        """Return where a key is, or would be."""
        # Whoever writes the keys cannot know where this object is, so cannot make them collide.
        cdef uint64_t mixed = (key.high ^ <uint64_t><uintptr_t><void *>self) * 0x9E3779B97F4A7C15ULL
        mixed = (mixed ^ (mixed >> 32) ^ key.low) * 0xBF58476D1CE4E5B9ULL
        cdef int32_t at = <int32_t>(mixed >> 33) & (self.size - 1)
        cdef Key *other
        while self.slots[at]:
            other = &self.keys[self.slots[at] - 1]
            if other.guid == key.guid and other.high == key.high and other.low == key.low:
                break
            at = (at + 1) & (self.size - 1)
        return at

    cdef int32_t number(self, const Key *key) noexcept nogil:
        """Return the number of a key, added if it is new; -1 if there is no room for it."""
        cdef int32_t at = self.slot(key)
        if self.slots[at] == 0:
            if self.count == self.size // 2:
                return -1
            self.keys[self.count] = key[0]
            self.count += 1
            self.slots[at] = self.count
        return self.slots[at] - 1

    def values(self):
        """Return the keys as Python objects."""
        cdef int32_t at
        result = []
        for at in range(self.count):
            if self.keys[at].guid:
                result.append((<object>self.keys[at].high << 64 | <object>self.keys[at].low).to_bytes(16, "big"))
            else:
                result.append(self.keys[at].high)
        return result


cdef int64_t scan(
    Rows rows, _Keys keys, int32_t *selector, int32_t *starts, int64_t row
) noexcept nogil:
    """Read frames from a row on; return the row at which there was no room for its key, or how many there are."""
    cdef Slice value
    cdef Key key
    cdef Key last
    cdef int32_t number = 0
    cdef int32_t size
    last.guid = True
    last.high = 0
    last.low = 0
    number = -1
    while row < rows.length:
        rows.slice(row, &value)
        if value.start == NULL:
            selector[row] = NULL_ROW
            row += 1
            continue
        key.guid = value.end > value.start and value.start[0] == 1
        size = GUID_SIZE if key.guid else ID_SIZE
        if value.end - value.start < size or value.start[0] > 1:
            selector[row] = BAD_FRAME
            row += 1
            continue
        if key.guid:
            key.high = load_be64(value.start + 1)
            key.low = load_be64(value.start + 9)
        else:
            key.high = load_be32(value.start + 1)
            key.low = 0
        if number < 0 or key.high != last.high or key.low != last.low or key.guid != last.guid:
            number = keys.number(&key)
            if number < 0:
                return row
            last = key
        selector[row] = number
        starts[row] = size
        row += 1
    return row


def split(values):
    """Read the frame of each row; see `kcodec.columns.frames.split`."""
    cdef Rows rows = Rows(values)
    cdef _Keys keys = _Keys()
    cdef Slice value
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
        keys.resize(2 * keys.size)
    faults = []
    for row in range(rows.length):
        if selector[row] == BAD_FRAME:
            rows.slice(row, &value)
            known = value.end == value.start or value.start[0] <= 1
            code = "frame_truncated" if known else "frame_magic"
            faults.append(Fault(row, 0, "", code, CODES[code]))
    return chosen, places, keys.values(), faults
