"""Base64; see base64.h."""

from libc.stdint cimport int64_t, uint8_t


cdef extern from "base64.h" nogil:
    # Text -> bytes, perhaps in its own place; how many, or -1.
    int64_t base64_decode "kc_base64_decode"(const uint8_t *text, int64_t size, uint8_t *target)
    # Bytes -> text; returns behind it.
    uint8_t *base64_encode "kc_base64_encode"(const uint8_t *data, int64_t size, uint8_t *out)
