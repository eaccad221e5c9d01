"""Varints that stand behind each other; see varint_run.h."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t


cdef extern from "varint_run.h" nogil:
    # The low 64 bits of all varints up to `stop`, behind which 64 bytes are read; their number, -1 if they are wrong.
    int64_t read_packed "kc_read_packed"(const uint8_t *p, const uint8_t *stop, bint pext, uint64_t *values) noexcept
    int64_t read_long_run "kc_read_long_run"(
        const uint8_t **at, const uint8_t *end, const uint8_t *limit, int64_t count, int64_t *out, int64_t factor,
        bint pext
    ) noexcept
    int64_t read_int_run "kc_read_int_run"(
        const uint8_t **at, const uint8_t *end, const uint8_t *limit, int64_t count, int32_t *out, bint pext
    ) noexcept
    int64_t read_int_as_long_run "kc_read_int_as_long_run"(
        const uint8_t **at, const uint8_t *end, const uint8_t *limit, int64_t count, int64_t *out, int64_t factor,
        bint pext
    ) noexcept
