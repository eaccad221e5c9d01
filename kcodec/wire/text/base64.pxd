"""Base64; see base64.h."""

from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef extern from "base64.h" nogil:
    # Text -> bytes, perhaps in its own place; how many, or -1.
    int64_t base64_decode "kc_base64_decode"(const uint8_t *text, int64_t size, uint8_t *target)
    # Bytes -> text; returns behind it.
    # A string of few letters -> the upper end of a word; how many bytes, or 0. One to eight bytes of a word -> text.
    int base64_word "kc_base64_word"(const uint8_t *text, uint64_t *word)
    uint8_t *base64_put_word "kc_base64_put_word"(uint64_t word, int size, uint8_t *out)
    uint8_t *base64_encode "kc_base64_encode"(const uint8_t *data, int64_t size, uint8_t *out)
