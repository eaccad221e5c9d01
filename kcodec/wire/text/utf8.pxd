"""Strict UTF-8 validation: one call per value or per block of values."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "utf8.h" nogil:
    # Whether all of it is valid: no surrogates, no overlong forms, nothing above U+10FFFF, nothing cut at
    # the end.
    bint utf8_valid(const uint8_t *data, size_t size) noexcept

    # Length of the longest valid prefix.
    size_t utf8_valid_prefix(const uint8_t *data, size_t size) noexcept

    # Whether each of `count` values is valid.
    bint utf8_valid_values32(const uint8_t *data, const int32_t *offsets, int64_t count) noexcept
    bint utf8_valid_values64(const uint8_t *data, const int64_t *offsets, int64_t count) noexcept
