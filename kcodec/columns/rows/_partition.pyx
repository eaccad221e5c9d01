"""Rows of a column that are read apart from others; see ``partition.py``."""

from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

from kcodec.columns.rows._rows cimport Int32Buffer

__all__ = ["partition"]

cdef enum:
    STRIPES = 4    # of rows that are taken in turn


def partition(selector, numbers, int count):
    """Return the rows of each part; see `kcodec.columns.rows.partition.partition`."""
    cdef int64_t length = len(memoryview(selector).cast("B")) // 4
    cdef Int32Buffer chosen = Int32Buffer(selector, length, "selector")
    cdef int32_t programs = len(numbers)
    cdef int32_t parts = count + 1
    cdef int32_t at
    cdef int64_t start = 0
    # What is in none of the parts is in one behind them.
    cdef int32_t *part = <int32_t *>malloc((programs + 1) * sizeof(int32_t))
    cdef int32_t *listed
    cdef int64_t *places = <int64_t *>calloc(STRIPES * parts, sizeof(int64_t))
    try:
        if part == NULL or places == NULL:
            raise MemoryError
        for at, number in enumerate(numbers):
            part[at] = number if 0 <= number < count else count
        part[programs] = count
        rows = bytearray(length * sizeof(int32_t))
        listed = <int32_t *>PyByteArray_AS_STRING(rows)
        with nogil:
            list_rows(chosen.data, length, part, programs, places, parts, listed)
        found = []
        for at in range(count):
            # The last stripe's rows of a part end where the part does.
            found.append(memoryview(rows)[4 * start:4 * places[(STRIPES - 1) * parts + at]])
            start = places[(STRIPES - 1) * parts + at]
    finally:
        free(part)
        free(places)
    return found


cdef void list_rows(
    const int32_t *chosen,
    int64_t length,
    const int32_t *part,
    int32_t programs,
    int64_t *places,
    int32_t parts,
    int32_t *rows,
) noexcept nogil:
    """Put rows in order of their parts: count those of each, then store each row at the next place of its part.

    A count that is raised again at once waits for what was stored before. So rows are taken from several stripes of the
    column in turn, each with its own counts.
    """
    cdef int64_t stripe = length // STRIPES
    cdef int64_t row
    cdef int64_t at
    cdef int64_t place = 0
    cdef int64_t counted
    cdef int32_t number
    for row in range(stripe):
        for at in range(STRIPES):
            places[at * parts + part_of(chosen[at * stripe + row], part, programs)] += 1
    for row in range(STRIPES * stripe, length):
        places[(STRIPES - 1) * parts + part_of(chosen[row], part, programs)] += 1
    for number in range(parts):
        for at in range(STRIPES):
            counted = places[at * parts + number]
            places[at * parts + number] = place
            place += counted
    for row in range(stripe):
        for at in range(STRIPES):
            put_row(at * stripe + row, chosen, part, programs, places + at * parts, rows)
    for row in range(STRIPES * stripe, length):
        put_row(row, chosen, part, programs, places + (STRIPES - 1) * parts, rows)


cdef inline void put_row(
    int64_t row, const int32_t *chosen, const int32_t *part, int32_t programs, int64_t *places, int32_t *rows
) noexcept nogil:
    cdef int64_t *place = &places[part_of(chosen[row], part, programs)]
    rows[place[0]] = <int32_t>row
    place[0] += 1


cdef inline int32_t part_of(int32_t chosen, const int32_t *part, int32_t programs) noexcept nogil:
    return part[min(<uint32_t>chosen, <uint32_t>programs)]
