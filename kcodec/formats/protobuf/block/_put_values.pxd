"""Values of a block of rows to Protobuf, all those of a field."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.columns.written._inputs cimport Input
from kcodec.columns.written._slots cimport Slots
from kcodec.formats.protobuf.rows._program cimport Op


cdef int64_t find_valid(
    const Slots *block, const Input *column, const int64_t *lanes, int64_t count, uint8_t *flags
) noexcept nogil
cdef bint put_values(
    Slots *block, const Op *op, const Input *column, const int64_t *lanes, int64_t count, uint8_t *flags
) noexcept nogil
