from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from kcodec.formats.protobuf.rows._context cimport Context
from kcodec.formats.protobuf.rows._program cimport Op
from kcodec.wire.binary.status cimport Status


cdef const uint8_t *read_root(
    Context *context, int64_t index, const uint8_t *p, const uint8_t *end
) noexcept nogil

cdef Status check_fields(const uint8_t *p, const uint8_t *end) noexcept nogil
cdef int32_t place_of(const Op *ops, int32_t count, uint32_t number) noexcept nogil
