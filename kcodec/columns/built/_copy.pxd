"""Columns that are handed over as a copy, all in one piece of memory."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.built._column cimport Column

cdef enum:
    DEEP = 60          # arrays within each other: pyarrow takes 64


cdef int64_t size_of(const Column *columns, int32_t at, int64_t length, bint wide) noexcept nogil
cdef object copy_of(const Column *columns, bint wide, int64_t rows, int64_t size, object kind)
cdef int64_t count_zeros(const uint8_t *bits, int64_t length) noexcept nogil
