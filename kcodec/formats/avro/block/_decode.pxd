"""Blocks of rows to columns, a column at a time."""

from libc.stdint cimport int32_t

from kcodec.columns.built._builder cimport Builder
from kcodec.columns.rows._rows cimport Slice
from kcodec.formats.avro.block._lanes cimport Block
from kcodec.formats.avro.rows._program cimport Op, Text


cdef class BlockMemory:
    cdef Block *block
    cdef Text *texts


cdef bint read_block(
    Block *block, Builder builder, Slice *slices, const Op **programs, const int32_t *stops, int32_t program_count,
    const int32_t *selector, const int32_t *starts, bint trailing
) noexcept nogil
