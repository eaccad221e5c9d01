from libc.stdint cimport int64_t, uint8_t

from kcodec.formats.protobuf.rows._context cimport Context
from kcodec.wire.binary.status cimport Status


cdef const uint8_t *read_root(
    Context *context, int64_t index, const uint8_t *p, const uint8_t *end
) noexcept nogil

cdef Status check_fields(const uint8_t *p, const uint8_t *end) noexcept nogil
