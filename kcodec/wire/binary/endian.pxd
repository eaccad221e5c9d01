"""Moves of fixed-width values that may turn their bytes around."""

from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memcpy


cdef extern from "bits.h" nogil:
    uint16_t swap16 "KC_BSWAP16"(uint16_t value)
    unsigned int swap32 "KC_BSWAP32"(unsigned int value)
    unsigned long long swap64 "KC_BSWAP64"(unsigned long long value)


cdef inline void move16(uint8_t *target, const uint8_t *source, bint swap) noexcept nogil:
    cdef uint16_t value
    memcpy(&value, source, 2)
    if swap:
        value = swap16(value)
    memcpy(target, &value, 2)


cdef inline void move32(uint8_t *target, const uint8_t *source, bint swap) noexcept nogil:
    cdef unsigned int value
    memcpy(&value, source, 4)
    if swap:
        value = swap32(value)
    memcpy(target, &value, 4)


cdef inline void move64(uint8_t *target, const uint8_t *source, bint swap) noexcept nogil:
    cdef unsigned long long value
    memcpy(&value, source, 8)
    if swap:
        value = swap64(value)
    memcpy(target, &value, 8)
