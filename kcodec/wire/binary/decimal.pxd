"""Decimals, value by value: unscaled bytes, slots of Arrow decimals, text.

Unscaled bytes are big-endian two's complement of any length; no bytes at all are 0, padded forms are read.
A slot is the 16 or 32 bytes of an Arrow decimal128 or decimal256: ``words`` is 2 or 4, ``precision`` at most
38 or 76 there. Everything is exact. Answers besides OK: DECIMAL_PRECISION (more digits than ``precision``),
INEXACT (digits would be lost), TYPE_MISMATCH (text that is not a number).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcodec.wire.binary.status cimport Status


cdef extern from "decimal.h" nogil:
    # A number read from text.
    ctypedef struct decimal_number "kc_decimal_number":
        bint negative

    # Slot -> the fewest bytes; how many. 8 * words bytes are free behind target, and may be overwritten.
    # At the upper end of a word; 0 if there are more than eight.
    int decimal_to_word "kc_decimal_to_word"(const uint8_t *slot, int words, uint64_t *word) noexcept
    size_t decimal_to_bytes "kc_decimal_to_bytes"(const uint8_t *slot, int words, uint8_t *target) noexcept

    # Bytes that must be free behind ``out`` in `decimal_to_text`: more than the text itself takes.
    size_t decimal_text_room "kc_decimal_text_room"(size_t size, int32_t scale, bint plain) noexcept

    # Bytes that must be free behind ``target`` in `decimal_number_to_bytes`, for take + zeros digits.
    size_t decimal_bytes_room "kc_decimal_bytes_room"(size_t digits) noexcept

    # Aligned number -> the fewest bytes; how many.
    size_t decimal_number_to_bytes "kc_decimal_number_to_bytes"(
        const decimal_number *number, size_t take, size_t zeros, uint8_t *target
    ) noexcept

    # Slot -> text; its length. `decimal_text_room` is free for 8 * words bytes.
    size_t decimal_slot_text "kc_decimal_slot_text"(
        const uint8_t *slot, int words, int32_t scale, bint plain, char *out
    ) noexcept

    # Digits of an integer, moved as 24 bytes; their number.
    size_t decimal_put_integer "kc_decimal_put_integer"(uint64_t magnitude, char *out) noexcept

    # Bytes -> slot; DECIMAL_PRECISION.
    Status decimal_from_bytes "kc_decimal_from_bytes"(
        const uint8_t *source, size_t size, int precision, int words, uint8_t *slot
    ) noexcept

    # Slot -> exactly ``wanted`` bytes; DECIMAL_PRECISION if it needs more.
    Status decimal_to_fixed "kc_decimal_to_fixed"(
        const uint8_t *slot, int words, uint8_t *target, size_t wanted
    ) noexcept

    # The largest magnitude of so many digits that 64 bits hold.
    uint64_t decimal_limit "kc_decimal_limit"(int precision) noexcept

    # Bytes -> exactly ``wanted`` bytes of the same value; DECIMAL_PRECISION if it needs more.
    Status decimal_resize "kc_decimal_resize"(
        const uint8_t *source, size_t size, uint8_t *target, size_t wanted
    ) noexcept

    # Slot times ``10**digits`` (which may be negative) -> slot; INEXACT, else DECIMAL_PRECISION.
    Status decimal_rescale "kc_decimal_rescale"(
        const uint8_t *source, int words, int64_t digits, int precision, uint8_t *slot
    ) noexcept

    # Bytes -> text as Java's BigDecimal prints it; DECIMAL_PRECISION.
    Status decimal_to_text "kc_decimal_text"(
        const uint8_t *source, size_t size, int32_t scale, bint plain, int64_t precision, char *out,
        size_t *length
    ) noexcept

    # Plain or scientific text -> slot; TYPE_MISMATCH, INEXACT, DECIMAL_PRECISION.
    Status decimal_from_text "kc_decimal_slot_from_text"(
        const char *text, size_t size, int32_t scale, int precision, int words, uint8_t *slot
    ) noexcept

    # Read text for `decimal_number_to_bytes`; TYPE_MISMATCH, INEXACT, DECIMAL_PRECISION.
    Status decimal_parse "kc_decimal_parse"(
        const char *text, size_t size, int32_t scale, int64_t precision, decimal_number *number,
        size_t *take, size_t *zeros
    ) noexcept
