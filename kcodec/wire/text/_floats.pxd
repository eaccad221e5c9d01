"""Floating-point numbers from and to text, correctly rounded: by real.h what is common, by C++17 all of it."""

from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef extern from "real.h" nogil:
    # A number of JSON in one of its common forms -> the nearest one, and the position behind; NULL for any other. At
    # least 64 bytes behind `end` may be read.
    const uint8_t *json_double "kc_json_double"(
        const uint8_t *at, const uint8_t *end, const uint64_t *powers, double *value
    )
    const uint8_t *json_single "kc_json_single"(
        const uint8_t *at, const uint8_t *end, const uint64_t *powers, float *value
    )
    # Numbers of a list up to its bracket, and how many; NULL if one is in another form.
    const uint8_t *json_doubles "kc_json_doubles"(
        const uint8_t *at, const uint8_t *end, const uint64_t *powers, double *values, int64_t *count
    )

# What these take.
cdef const uint64_t *powers_of_five


# Text in JSON's grammar -> the nearest number; False if that is infinite.
cdef bint read_double(const uint8_t *at, const uint8_t *end, double *value) noexcept nogil
cdef bint read_single(const uint8_t *at, const uint8_t *end, float *value) noexcept nogil

# Number -> text as Java's toString writes it since JDK 19, at most 26 bytes; returns behind it.
cdef uint8_t *put_double(double value, uint8_t *out) noexcept nogil
cdef uint8_t *put_single(float value, uint8_t *out) noexcept nogil
