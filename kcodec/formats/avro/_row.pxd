"""The row loop of Avro's reader, and how text is copied."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from kcodec.columns._builder cimport offset_t
from kcodec.formats.avro._context cimport Context
from kcodec.formats.avro._program cimport Op
from kcodec.wire.cursor cimport copy32, likely


cdef inline void copy(uint8_t *target, const uint8_t *source, int64_t size, const uint8_t *limit) noexcept nogil:
    """Copy text or bytes of a moderate size 32 bytes at a time; both sides have room for that."""
    cdef int64_t at = 32
    if likely(size <= 32 and limit - source >= 32):
        copy32(target, source)
        return
    if size > 128 or limit - source < 160:
        memcpy(target, source, size)
        return
    copy32(target, source)
    while at < size:
        copy32(target + at, source + at)
        at += 32


cdef const uint8_t *run(
    Context *context, const Op *first, const Op *stop, int64_t index, int64_t count, const uint8_t *p, offset_t *tag
) noexcept nogil
