"""Removing values from columns: map entries whose key comes again later, and everything that some rows hold."""

from libc.stdint cimport int32_t, int64_t

from kcodec.columns.built._column cimport Column

cdef enum:
    FOUL = -2   # entries that come again have text that is not UTF-8


cdef void set_offset(Column *column, int64_t index, int64_t value, bint wide) noexcept nogil

cdef void move_items(
    Column *columns, int32_t scope, int64_t start, int64_t end, int64_t to, bint wide
) noexcept nogil

cdef int has_duplicates(const Column *keys, int64_t first, int64_t last, bint wide) noexcept nogil

cdef int64_t drop_earlier_duplicates(
    Column *columns, int32_t map_column, int64_t index, int64_t first, int64_t last, bint checked, bint wide
) noexcept nogil

cdef int64_t replace_duplicates(
    Column *columns, int32_t map_column, int64_t first, int64_t last, bint wide
) noexcept nogil

cdef bint may_repeat(Column *map_column, int64_t first, int64_t count, bint wide) noexcept nogil

cdef void empty_column(
    Column *columns, int32_t at, int64_t first, int64_t count, const int64_t *dropped, int64_t dropped_count, bint wide
) noexcept nogil

cdef void empty_rows(
    Column *columns, int64_t first, int64_t count, const int64_t *dropped, int64_t dropped_count, bint wide
) noexcept nogil
