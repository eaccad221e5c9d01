"""Dates, times and timestamps of ISO 8601; see isotime.h for their forms."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.wire.binary.status cimport Status


cdef extern from "isotime.h" nogil:
    enum:
        ISO_DATE "KC_ISO_DATE"
        ISO_CLOCK "KC_ISO_CLOCK"
        ISO_LOCAL "KC_ISO_LOCAL"
        ISO_ZONED "KC_ISO_ZONED"
        ISO_UTC "KC_ISO_UTC"
        ISO_FLOOR "KC_ISO_FLOOR"

    # Text -> days of a date, else units of ``10**-digits`` seconds; INVALID_TIME, INEXACT, OUT_OF_RANGE.
    Status iso_read "kc_iso_read"(
        const uint8_t *at, int64_t size, int form, int digits, int64_t *value
    ) noexcept

    # At most 32 bytes; NULL for a year that does not have four digits, and for a time outside one day.
    uint8_t *iso_write "kc_iso_write"(int64_t value, int form, int digits, uint8_t *out) noexcept
