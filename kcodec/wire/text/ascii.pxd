"""Whether bytes are all ASCII."""

from libc.stdint cimport uint8_t


cdef extern from "ascii.h" nogil:
    bint is_ascii "kc_is_ascii"(const uint8_t *data, size_t size) noexcept
