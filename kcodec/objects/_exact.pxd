"""Values of exactly Python's own types, whose parts are read without running code of theirs."""

from cpython.datetime cimport (
    date_day, date_month, date_year, datetime_hour, datetime_minute, datetime_second, time_hour, time_microsecond,
    time_minute, time_second,
)
from libc.stdint cimport int64_t


cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    bint PyUnicode_CheckExact(object value)
    bint PyBytes_CheckExact(object value)
    bint PyLong_CheckExact(object value)
    bint PyFloat_CheckExact(object value)
    double PyFloat_AS_DOUBLE(object value)
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1


cdef extern from "isotime.h" nogil:
    int64_t kc_iso_days(int64_t year, int month, int day)


# Who calls these has called `import_datetime`.

cdef inline int64_t days_of(object value) noexcept:
    """Return the days since 1970 of a date or datetime."""
    return kc_iso_days(date_year(value), date_month(value), date_day(value))


cdef inline int64_t seconds_of(object value) noexcept:
    """Return the whole seconds since 1970 of a datetime, as its clock shows them."""
    return days_of(value) * 86_400 + (datetime_hour(value) * 60 + datetime_minute(value)) * 60 + datetime_second(value)


cdef inline int64_t micros_of(object value) noexcept:
    """Return the microseconds of a time of the day."""
    return ((time_hour(value) * 60 + time_minute(value)) * <int64_t>60 + time_second(value)) * 1_000_000 + (
        time_microsecond(value)
    )
