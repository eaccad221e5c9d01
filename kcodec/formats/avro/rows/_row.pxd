"""The row loop of Avro's reader."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.columns.built._column cimport offset_t
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._program cimport Op


cdef const uint8_t *run(
    Context *context, const Op *first, const Op *stop, int64_t index, int64_t count, const uint8_t *p, offset_t *tag
) noexcept nogil
