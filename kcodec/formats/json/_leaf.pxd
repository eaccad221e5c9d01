"""Values of JSON that are one token, in every form."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.json._context cimport Context
from kcodec.formats.json._program cimport Op


cdef const uint8_t *wrong(Context *context, const Op *op, const uint8_t *p) noexcept nogil

# Read the value at `p`, where there is one that is not null, into a column.
cdef const uint8_t *read_leaf(
    Context *context, const Op *op, Column *column, int64_t index, const uint8_t *p, bint wide
) noexcept nogil
