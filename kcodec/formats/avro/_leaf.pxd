from libc.stdint cimport int64_t, uint8_t

from kcodec.columns._column cimport Column
from kcodec.formats.avro._context cimport Context
from kcodec.formats.avro._program cimport Op


cdef const uint8_t *read_leaf(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, bint wide
) noexcept nogil
