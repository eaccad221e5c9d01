from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.protobuf.rows._context cimport Context
from kcodec.formats.protobuf.rows._program cimport Names, Op, Text
from kcodec.wire.binary.status cimport Status

cdef enum:
    DIGITS = 11    # of a number of 32 bits with its sign, at most


cdef int64_t print_number(uint8_t *out, int32_t number) noexcept nogil
cdef int32_t number_at(const Names *names, int32_t number) noexcept nogil
cdef const Text *find_name(const Names *names, int32_t number) noexcept nogil
cdef Status put_name(Context *context, const Op *op, Column *column, int64_t index, int32_t number) noexcept nogil
