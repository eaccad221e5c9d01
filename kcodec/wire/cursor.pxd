"""Bounds-checked reads of varints.

A varint is 7 bits a byte, the lowest group first; the top bit says that another byte follows. Zigzag maps
0, -1, 1, -2 ... to 0, 1, 2, 3 ...

``end`` is where the value's bytes end, ``limit`` where the memory behind it ends (``limit >= end``): up to there
eight bytes may be loaded at once, even if the varint is shorter. A failed read leaves the position untouched.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcodec.wire.status cimport OK, TRUNCATED, VARINT_OVERFLOW, Status


cdef extern from "bits.h" nogil:
    bint likely "KC_LIKELY"(bint condition)
    bint unlikely "KC_UNLIKELY"(bint condition)
    int ctz64 "kc_ctz64"(uint64_t word)
    int popcount64 "KC_POPCOUNT64"(uint64_t word)
    uint32_t load_le32 "kc_load_le32"(const void *source)
    uint64_t load_le64 "kc_load_le64"(const void *source)
    uint32_t load_be32 "kc_load_be32"(const void *source)
    uint64_t load_be64 "kc_load_be64"(const void *source)
    void store_le32 "kc_store_le32"(void *target, uint32_t value)
    void store_le64 "kc_store_le64"(void *target, uint64_t value)
    void store_be32 "kc_store_be32"(void *target, uint32_t value)
    void store_be64 "kc_store_be64"(void *target, uint64_t value)
    bint multiply_overflows "kc_mul64"(int64_t a, int64_t b, int64_t *product)
    void copy32 "kc_copy32"(void *target, const void *source)
    uint8_t pack8 "kc_pack8"(const uint8_t *source)


cdef extern from "varint.h" nogil:
    # Byte by byte: near the end of memory, and the longest forms.
    Status read_varint64_bytes "kc_varint64_bytes"(const uint8_t **at, const uint8_t *end, uint64_t *value)
    Status read_varint32_bytes "kc_varint32_bytes"(const uint8_t **at, const uint8_t *end, uint32_t *value)


cdef inline int32_t unzigzag32(uint32_t value) noexcept nogil:
    return <int32_t>((value >> 1) ^ (~(value & 1) + 1))


cdef inline int64_t unzigzag64(uint64_t value) noexcept nogil:
    return <int64_t>((value >> 1) ^ (~(value & 1) + 1))


cdef inline uint32_t zigzag32(int32_t value) noexcept nogil:
    return (<uint32_t>value << 1) ^ <uint32_t>(value >> 31)


cdef inline uint64_t zigzag64(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline uint64_t gather7(uint64_t word) noexcept nogil:
    """Put the low seven bits of eight bytes next to each other."""
    word = ((word & 0x7F007F007F007F00ULL) >> 1) | (word & 0x007F007F007F007FULL)
    word = ((word & 0x3FFF00003FFF0000ULL) >> 2) | (word & 0x00003FFF00003FFFULL)
    return ((word & 0x0FFFFFFF00000000ULL) >> 4) | (word & 0x000000000FFFFFFFULL)


cdef inline Status read_varint64(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint64_t *value
) noexcept nogil:
    """Read an unsigned varint of 64 bits: at most ten bytes, the tenth at most 1."""
    cdef const uint8_t *p = at[0]
    cdef uint64_t word
    cdef uint64_t stops
    cdef int size
    if likely(p < end) and p[0] < 0x80:
        value[0] = p[0]
        at[0] = p + 1
        return OK
    if limit - p >= 8:
        word = load_le64(p)
        stops = ~word & 0x8080808080808080ULL
        if likely(stops != 0):
            size = (ctz64(stops) >> 3) + 1
            if unlikely(size > end - p):
                return TRUNCATED
            # Bits up to the stop bit, which is 0 itself.
            value[0] = gather7(word & (stops ^ (stops - 1)))
            at[0] = p + size
            return OK
    return read_varint64_bytes(at, end, value)


cdef inline Status read_varint32(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint32_t *value
) noexcept nogil:
    """Read an unsigned varint of 32 bits: at most five bytes, the fifth at most 15."""
    cdef const uint8_t *p = at[0]
    cdef uint64_t word
    cdef uint64_t stops
    cdef int size
    if likely(p < end) and p[0] < 0x80:
        value[0] = p[0]
        at[0] = p + 1
        return OK
    if limit - p >= 8:
        word = load_le64(p)
        stops = ~word & 0x8080808080ULL
        if likely(stops != 0):
            size = (ctz64(stops) >> 3) + 1
            if unlikely(size > end - p):
                return TRUNCATED
            word = gather7(word & (stops ^ (stops - 1)))
            if unlikely(word > 0xFFFFFFFFULL):
                return VARINT_OVERFLOW
            value[0] = <uint32_t>word
            at[0] = p + size
            return OK
    return read_varint32_bytes(at, end, value)
