"""Values of fixed width of a block of rows, and nulls."""

from libc.stdint cimport int32_t, int64_t

from kcodec.columns.built._column cimport Column
from kcodec.formats.avro.block._lanes cimport Block
from kcodec.formats.avro.rows._program cimport Op


cdef void read_reals(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index, int64_t row
) noexcept nogil

cdef void read_nullables(
    Block *block, Column *column, const Op *op, int64_t width, const int64_t *lanes, int64_t count,
    const int64_t *index, int64_t row
) noexcept nogil

cdef void read_decimals(
    Block *block, Column *column, const Op *op, const int64_t *lanes, int64_t count, const int64_t *index
) noexcept nogil

cdef void set_nulls(
    Column *columns, int32_t first, const int64_t *lanes, int64_t count, const int64_t *index, bint wide
) noexcept nogil
