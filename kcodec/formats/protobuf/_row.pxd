from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from kcodec.formats.protobuf._context cimport Context
from kcodec.formats.protobuf._program cimport Message, Names, Text


cdef const uint8_t *read_root(
    Context *context, int64_t index, const uint8_t *p, const uint8_t *end
) noexcept nogil


cdef const Text *find_name(const Names *names, int32_t number) noexcept nogil
