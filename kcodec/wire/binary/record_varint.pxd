"""Zigzag varints as the records of a batch have them."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.wire.binary.status cimport Status


cdef extern from "record_varint.h" nogil:
    # As the functions of cursor.pxd, for what is nearly always one or two bytes.
    Status record_varint32 "kc_record_varint32"(
        const uint8_t **at, const uint8_t *end, const uint8_t *limit, int32_t *value
    )
    Status record_varint64 "kc_record_varint64"(
        const uint8_t **at, const uint8_t *end, const uint8_t *limit, int64_t *value
    )
    # At most ten bytes; the place after them.
    uint8_t *write_zigzag "kc_write_zigzag"(uint8_t *out, int64_t value)
    int zigzag_size "kc_zigzag_size"(int64_t value)
