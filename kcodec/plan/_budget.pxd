"""What a row may yield beyond what its payload holds, such as defaults, symbols and items of no bytes.

A block of rows mostly has room for all that it can yield. Where that would be too much, `Budget.growing` is the builder
of its columns, and what is read asks for its room: text and bytes by `fit_bytes`, an item by `fit_item`.
"""

from libc.stdint cimport INT64_MAX, int64_t

from kcodec.columns.built._builder cimport Builder, more_bytes, more_items
from kcodec.columns.built._column cimport SLOP, Column
from kcodec.wire.binary.cursor cimport likely, unlikely
from kcodec.wire.binary.status cimport NEED_ROOM, OK, SIZE_LIMIT, Status


cdef struct Budget:
    int64_t room              # what may still be stored in the block
    int64_t expanded          # by the row in hand
    int64_t zero_items        # of the row in hand
    int64_t max_expansion
    int64_t max_zero_items
    void *growing             # NULL: the columns have room for the block


cdef inline int set_limits(Budget *budget, object limits) except -1:
    budget.max_expansion = limits.max_expansion
    budget.max_zero_items = limits.max_zero_byte_items
    return 0


cdef inline void begin_block(Budget *budget, Builder builder, int64_t room, bint growing) noexcept nogil:
    """Prepare for a block, which may store so much beyond its payloads, or whose columns grow as they are read."""
    budget.room = INT64_MAX if growing else room
    budget.growing = <void *>builder if growing else NULL


cdef inline void begin_row(Budget *budget) noexcept nogil:
    budget.expanded = 0
    budget.zero_items = 0


cdef inline Status charge(Budget *budget, int64_t amount) noexcept nogil:
    """Count what is stored beyond what the payload holds."""
    budget.expanded += amount
    if unlikely(budget.expanded > budget.max_expansion):
        return SIZE_LIMIT
    budget.room -= amount
    return NEED_ROOM if unlikely(budget.room < 0) else OK


cdef inline Status charge_zero_items(Budget *budget, int64_t count) noexcept nogil:
    """Count items that take no bytes; they still take room in their columns."""
    if count > budget.max_zero_items - budget.zero_items:
        return SIZE_LIMIT
    budget.zero_items += count
    budget.room -= count
    return NEED_ROOM if budget.room < 0 else OK


cdef inline Status fit_bytes(Budget *budget, const Column *column, int64_t end) noexcept nogil:
    """See to it that the data of a column has room up to `end`."""
    if likely(budget.growing == NULL) or end + SLOP <= column.bytes_room:
        return OK
    return more_bytes(budget.growing, column, end + SLOP)


cdef inline Status fit_item(Budget *budget, const Column *column, int64_t item) noexcept nogil:
    """See to it that all columns below a list or map have room for an item."""
    if likely(budget.growing == NULL) or item < column.below_room:
        return OK
    return more_items(budget.growing, column, item + 1)
