from libc.stdint cimport int64_t, uint8_t

from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._program cimport Op


cdef const uint8_t *skip(
    Context *context, const Op *op, const Op *stop, int64_t index, int64_t count, const uint8_t *p
) noexcept nogil
