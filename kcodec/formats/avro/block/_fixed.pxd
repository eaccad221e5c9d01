"""Values of fixed width of a block of rows, and nulls."""

from libc.stdint cimport int32_t, int64_t

from kcodec.columns.built._column cimport BITS, FIXED, Column, offset_t
from kcodec.formats.avro.block._lanes cimport Block
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._program cimport DO_ARRAY, DO_MAP, Op


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
cdef bint repeat_default(
    Context *context, const Op *op, Column *columns, const int64_t *lanes, int64_t count, const int64_t *index,
    offset_t *tag
) noexcept nogil


cdef inline bint is_fixed(const Op *op, const Column *columns) noexcept nogil:
    """Return whether a default is of values of fixed width alone: one, or a record of some."""
    cdef int32_t at
    cdef int32_t kind
    for at in range(1, op.next):
        kind = (<const Column *>(<const char *>columns + op[at].place)).kind
        if op[at].next != 1 or kind != FIXED and kind != BITS:
            return False
    return op.next > 1


cdef inline bint is_empty(const Op *op) noexcept nogil:
    """Return whether a default is a list or map without items."""
    # What has bytes has an op that reads them.
    return op.texts[0].size == 1 and op.texts[0].data[0] == 0 and (op[1].code == DO_ARRAY or op[1].code == DO_MAP)
