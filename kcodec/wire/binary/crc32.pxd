"""CRC-32 of one buffer."""

from libc.stdint cimport uint8_t, uint32_t


cdef extern from "crc32.h" nogil:
    # To be called once by each module that sums.
    void crc32_init "kc_crc32_init"() noexcept

    uint32_t crc32 "kc_crc32"(const uint8_t *data, size_t size) noexcept
