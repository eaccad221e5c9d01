"""What the numbers of an enum are called."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from kcodec.columns.built._column cimport Column, offset_at, set_end
from kcodec.formats.protobuf.rows._context cimport Context
from kcodec.formats.protobuf.rows._program cimport Names, Op, Text
from kcodec.plan._budget cimport charge, fit_bytes
from kcodec.wire.binary.cursor cimport unlikely
from kcodec.wire.binary.status cimport OK, Status


cdef int32_t number_at(const Names *names, int32_t number) noexcept nogil:
    """Return the position of a number, or -1."""
    cdef int32_t low = 0
    cdef int32_t high = names.count
    cdef int32_t middle
    # Nearly all enums count from 0.
    if 0 <= number < names.count and names.numbers[number] == number:
        return number
    while low < high:
        middle = (low + high) >> 1
        if names.numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low if low < names.count and names.numbers[low] == number else -1


cdef const Text *find_name(const Names *names, int32_t number) noexcept nogil:
    """Return the name of a number, or NULL."""
    cdef int32_t at = number_at(names, number)
    return NULL if at < 0 else &names.texts[at]


cdef int64_t print_number(uint8_t *out, int32_t number) noexcept nogil:
    cdef uint8_t digits[10]
    cdef int64_t size = 0
    cdef int64_t at = 0
    cdef uint32_t rest = <uint32_t>number
    if number < 0:
        out[0] = b"-"
        at = 1
        rest = ~rest + 1
    while True:
        digits[size] = <uint8_t>(48 + rest % 10)
        size += 1
        rest //= 10
        if rest == 0:
            break
    while size:
        size -= 1
        out[at] = digits[size]
        at += 1
    return at


cdef Status put_name(Context *context, const Op *op, Column *column, int64_t index, int32_t number) noexcept nogil:
    """Store what a number of an enum is called: its digits, if it has no name."""
    cdef const Text *name = find_name(op.names, number)
    cdef uint8_t digits[DIGITS]
    cdef int64_t start = offset_at(column, index, context.wide)
    cdef int64_t size = name.size if name != NULL else print_number(digits, number)
    cdef Status status = charge(&context.budget, size)
    if unlikely(status != OK):
        return status
    status = fit_bytes(&context.budget, column, start + size)
    if unlikely(status != OK):
        return status
    memcpy(column.data + start, name.data if name != NULL else digits, size)
    set_end(column, index, start + size, context.wide)
    return OK
