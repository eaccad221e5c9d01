"""What a row may yield beyond what its payload holds, such as defaults, symbols and items of no bytes."""

from libc.stdint cimport int64_t

from kcodec.wire.cursor cimport unlikely
from kcodec.wire.status cimport NEED_ROOM, OK, SIZE_LIMIT, Status


cdef struct Budget:
    int64_t room              # what may still be stored in the block
    int64_t expanded          # by the row in hand
    int64_t zero_items        # of the row in hand
    int64_t max_expansion
    int64_t max_zero_items


cdef inline int set_limits(Budget *budget, object limits) except -1:
    budget.max_expansion = limits.max_expansion
    budget.max_zero_items = limits.max_zero_byte_items
    return 0


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
