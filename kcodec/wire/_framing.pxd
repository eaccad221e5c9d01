"""The schemas that the frames of a column name (see ``frame.pxd``), numbered in the order in which they appear."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcodec.wire.binary.frame cimport Layout
from kcodec.wire.binary.status cimport Status


cdef enum:
    NULL_ROW = -1
    BAD_FRAME = -2
    RECENT = 256      # frames whose keys are at hand, by eight bits of a hash


cdef struct FrameValue:
    # One value. `start` is NULL for a null row; memory is readable up to `limit`, at least to `end`. These are the
    # members of `Slice` in columns/rows/_rows.pxd, which stands above this: a pointer to the one is cast to the other.
    const uint8_t *start
    const uint8_t *end
    const uint8_t *limit


cdef struct Key:
    # A GUID as two words; an id as its number and a mark that no GUID's second word can be confused with.
    bint guid
    bint packed           # whether the payloads behind the frame are compressed
    uint64_t high
    uint64_t low
    int64_t first         # of its message indexes among those of all keys
    int32_t levels        # how many it has


cdef class FrameKeys:
    cdef Key *keys
    cdef int32_t *slots       # number of the key plus one
    cdef int32_t *levels      # message indexes of all keys
    cdef int32_t count
    cdef int32_t size         # slots, a power of two; keys fill at most half of them
    cdef int64_t used         # levels
    cdef int64_t room         # for levels
    cdef int indexes          # behind each frame: 0 for none, `ZIGZAG`, without zigzag, `NUMBER` or `BYTES`
    cdef Layout layout
    cdef bint is_number       # whether ids of the layout are numbers
    # Rows have few keys, whose frames need not be read each time: their first bytes, the numbers of their keys, and
    # their sizes.
    cdef uint64_t[RECENT] recent
    cdef int32_t[RECENT] numbers
    cdef int32_t[RECENT] sizes
    cdef int32_t last         # number of the key that was read last, or -1

    cdef int resize(self, int32_t size, int64_t room) except -1
    cdef int grow(self) except -1
    cdef int32_t slot(self, const Key *key, const int32_t *levels) noexcept nogil
    cdef bint equal(self, const Key *known, const Key *key, const int32_t *levels) noexcept nogil
    cdef int32_t number(self, Key *key, const int32_t *levels) noexcept nogil
    cdef object name(self, const Key *key)
    cdef Status read_any(
        self, const FrameValue *value, Key *key, int32_t *levels, int32_t *size, int32_t *head
    ) noexcept nogil
    cdef int64_t scan_heads(
        self, const FrameValue *values, int64_t count, int32_t *selector, int32_t *starts
    ) noexcept nogil
    cdef int64_t known(
        self, const uint8_t *data, const int32_t *offsets, const uint8_t *limit, int32_t *selector, int32_t *starts,
        int64_t row, int64_t rows,
    ) noexcept nogil
    cdef int64_t scan(
        self, const FrameValue *values, int64_t count, int32_t *selector, int32_t *starts
    ) noexcept nogil
