"""Python's dates, times and decimals, made of what stands in columns."""

from libc.stdint cimport int64_t

# Days since 1970-01-01; None outside the years 1 to 9999.
cdef object make_date(int64_t days)
# Microseconds of a day.
cdef object make_time(int64_t micros)
# Microseconds since 1970-01-01, with a zone or None; None outside the years 1 to 9999.
cdef object make_datetime(int64_t micros, object zone)
# Digits, at most with a sign and a point.
cdef object make_decimal(const char *text, Py_ssize_t size)
