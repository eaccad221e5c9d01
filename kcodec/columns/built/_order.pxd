"""Values of columns that are being built, put into another order."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.columns.built._column cimport Column


cdef struct Copies:
    uint8_t *memory        # where values stand meanwhile; NULL at first, to be freed
    int64_t room


# Reorder values, `count` from `first` on, of the columns `at` to `end`, and all below them: the new one at a place
# comes from `source`, counted from the first. False without memory, and then they are in no order.
cdef bint reorder(
    Column *columns, int at, int end, int64_t first, const int64_t *source, int64_t count, bint wide, Copies *copies
) noexcept nogil
