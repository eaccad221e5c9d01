"""Varints of many payloads, one of each; see varint_lanes.h."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "varint_lanes.h" nogil:
    int64_t read_longs "kc_read_longs"(
        const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index,
        int64_t *out, int64_t factor, int64_t ahead, bint pext, uint8_t *odd, int64_t *order
    ) noexcept
    int64_t read_ints "kc_read_ints"(
        const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index,
        int32_t *out, bint pext, uint8_t *odd, int64_t *order
    ) noexcept
    int64_t read_ints_as_longs "kc_read_ints_as_longs"(
        const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index,
        int64_t *out, int64_t factor, bint pext, uint8_t *odd, int64_t *order
    ) noexcept
    int64_t read_nullable_longs "kc_read_nullable_longs"(
        const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index,
        int64_t *out, uint8_t *valid, int64_t null_branch, int64_t factor, bint pext, uint8_t *odd, int64_t *order
    ) noexcept
    int64_t read_nullable_ints "kc_read_nullable_ints"(
        const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index,
        int32_t *out, uint8_t *valid, int64_t null_branch, bint pext, uint8_t *odd, int64_t *order
    ) noexcept
