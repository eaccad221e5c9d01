"""Floating-point numbers from and to text, correctly rounded, by C++17's `from_chars` and `to_chars`."""

from libc.stdint cimport uint8_t


# Text in JSON's grammar -> the nearest number; False if that is infinite.
cdef bint read_double(const uint8_t *at, const uint8_t *end, double *value) noexcept nogil
cdef bint read_single(const uint8_t *at, const uint8_t *end, float *value) noexcept nogil

# Number -> text as Java's toString writes it since JDK 19, at most 26 bytes; returns behind it.
cdef uint8_t *put_double(double value, uint8_t *out) noexcept nogil
cdef uint8_t *put_single(float value, uint8_t *out) noexcept nogil
