"""Lists and maps of single values to Avro binary."""

from libc.stdint cimport int64_t

from kcodec.columns.written._slots cimport Slots
from kcodec.formats.avro.rows._program cimport Op
from kcodec.formats.avro.rows._put cimport Context


cdef bint is_plain(const Context *context, const Op *op) noexcept nogil
cdef void put_plain(
    Slots *block, const Context *context, const Op *op, const int64_t *lanes, int64_t count
) noexcept nogil
