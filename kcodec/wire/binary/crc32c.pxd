"""CRC-32C of one buffer, with the processor's instruction where it has one."""

from libc.stdint cimport uint8_t, uint32_t


cdef extern from "crc32c.h" nogil:
    # CRC-32C of data that continues data whose CRC-32C is ``before``; 0 where nothing is before.
    uint32_t crc32c "kc_crc32c"(uint32_t before, const uint8_t *data, size_t size) noexcept

    # The same without the instruction, before the inversions at both ends.
    uint32_t crc32c_bytes "kc_crc32c_bytes"(uint32_t sum, const uint8_t *data, size_t size) noexcept
