from libc.stdint cimport int64_t, uint8_t

from kcodec.columns.built._column cimport offset_t
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._program cimport Op


cdef int64_t read_items(
    Context *context, const Op *first, const Op *stop, int64_t index, int64_t count, const uint8_t **at, offset_t *tag
) noexcept nogil
