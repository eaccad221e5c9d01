"""Blocks of values to Avro binary, a column at a time."""

from libc.stdint cimport int64_t

from kcodec.columns.written._slots cimport Slots
from kcodec.formats.avro.rows._program cimport Op
from kcodec.formats.avro.rows._put cimport Context


cdef bint put_rows(
    Slots *block, Context *context, const int64_t *costs, const Op *first, const Op *stop
) noexcept nogil
