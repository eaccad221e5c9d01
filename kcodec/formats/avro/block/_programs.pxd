"""Programs of one block of rows: which of them do the same, all or in part."""

from libc.stdint cimport int32_t

from kcodec.formats.avro.rows._program cimport Op


cdef bint has_list(const Op *op) noexcept nogil
cdef bint same_ops(const Op *a, const Op *b) noexcept nogil
cdef void find_alike(int32_t *alike, const Op **programs, const int32_t *stops, int32_t count) noexcept nogil
