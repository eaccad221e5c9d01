"""Bounds-checked reads of varints (see varint.h), loads and stores.

``end`` is where the value's bytes end, ``limit`` where the memory behind it ends. A failed read leaves the position
untouched. Zigzag maps 0, -1, 1, -2 ... to 0, 1, 2, 3 ...
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.wire.binary.status cimport Status


cdef extern from "bits.h" nogil:
    bint likely "KC_LIKELY"(bint condition)
    bint unlikely "KC_UNLIKELY"(bint condition)
    int ctz64 "kc_ctz64"(uint64_t word)
    int top64 "kc_top64"(uint64_t word)
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
    uint64_t equal8 "kc_equal8"(uint64_t a, uint64_t b)
    uint8_t pack8 "kc_pack8"(const uint8_t *source)
    void pack_bytes "kc_pack"(uint8_t *bits, const uint8_t *source, int64_t count)
    void unpack8 "kc_unpack8"(uint8_t *target, uint8_t bits)
    # Ask for memory that will be read soon; any address will do.
    void prefetch "KC_PREFETCH"(const void *address)
    # The same for a text, but for its first 64 bytes.
    void prefetch_text "kc_prefetch_text"(const uint8_t *at, int64_t size)


cdef extern from "varint.h" nogil:
    # At most ten bytes, the tenth at most 1.
    Status read_varint64 "kc_read_varint64"(
        const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint64_t *value
    )
    # The low 64 bits of at most ten bytes.
    Status read_low64 "kc_read_low64"(
        const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint64_t *value
    )
    # At most five bytes, the fifth at most 15.
    Status read_varint32 "kc_read_varint32"(
        const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint32_t *value
    )
    # As read_varint32 and read_varint64 (zigzag), for what is nearly always one byte.
    Status read_branch "kc_read_branch"(const uint8_t **at, const uint8_t *end, uint64_t *index)
    Status read_length "kc_read_length"(const uint8_t **at, const uint8_t *end, int64_t *length)
    # Put the low seven bits of eight bytes next to each other.
    uint64_t gather7 "kc_gather7"(uint64_t word)
    # The same by an instruction, if the second argument says that the processor has a fast one.
    uint64_t gather7_by "kc_gather7_by"(uint64_t word, bint pext)
    bint has_pext "kc_has_pext"()
    # The low 64 bits of a varint of at most ten bytes, without a branch: reads 16. Longer: the size is enormous.
    uint64_t read_any "kc_read_any"(const uint8_t *p, bint pext, int64_t *size)
    # The bytes of a varint of at most 56 bits, the first lowest; `pext` is as for `gather7_by`.
    uint64_t varint_word "kc_varint_word"(uint64_t value, int64_t *size, bint pext)
    # Write a varint of any length without a branch; 16 bytes are written.
    uint8_t *write_any "kc_write_any"(uint8_t *out, uint64_t value, bint pext)


cdef inline int32_t unzigzag32(uint32_t value) noexcept nogil:
    return <int32_t>((value >> 1) ^ (~(value & 1) + 1))


cdef inline int64_t unzigzag64(uint64_t value) noexcept nogil:
    return <int64_t>((value >> 1) ^ (~(value & 1) + 1))


cdef inline uint32_t zigzag32(int32_t value) noexcept nogil:
    return (<uint32_t>value << 1) ^ <uint32_t>(value >> 31)


cdef inline uint64_t zigzag64(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline uint8_t *write_varint(uint8_t *out, uint64_t value) noexcept nogil:
    while value >= 0x80:
        out[0] = <uint8_t>value | 0x80
        out += 1
        value >>= 7
    out[0] = <uint8_t>value
    return out + 1


cdef inline uint8_t *put_varint(uint8_t *out, uint64_t value, bint pext) noexcept nogil:
    """Write a varint without a branch on its size; eight bytes may be written. `pext` is as for `gather7_by`."""
    cdef int64_t size
    if unlikely(value >> 56):
        return write_varint(out, value)
    store_le64(out, varint_word(value, &size, pext))
    return out + size


cdef inline void copy_wide(uint8_t *target, const uint8_t *source, int64_t size) noexcept nogil:
    """Copy text or bytes 32 bytes at a time: so much may be read behind them, and written."""
    cdef int64_t middle
    copy32(target, source)
    if unlikely(size > 32):
        if size > 128:
            memcpy(target, source, size)
            return
        # Some bytes twice, rather than to guess how often.
        middle = size - 64 if size > 64 else 0
        copy32(target + 32, source + 32)
        copy32(target + middle, source + middle)
        copy32(target + size - 32, source + size - 32)


cdef inline void copy_within(uint8_t *target, const uint8_t *source, int64_t size, const uint8_t *limit) noexcept nogil:
    """Copy text or bytes that a limit of what may be read is close behind; 32 bytes may be written behind them."""
    if likely(limit - source >= size + 32):
        copy_wide(target, source, size)
    else:
        memcpy(target, source, size)
