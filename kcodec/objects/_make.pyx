"""Python's dates, times and decimals, made of what stands in columns."""

from cpython.datetime cimport date_new, datetime_new, import_datetime, time_new
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import decimal

import_datetime()

cdef extern from "Python.h":
    object PyObject_CallOneArg(object function, object argument)

cdef enum:
    FIRST_DAY = -719_162      # 0001-01-01
    LAST_DAY = 2_932_896      # 9999-12-31
    DAYS_TO_1970 = 719_468    # since 0000-03-01
    SHORT_TEXT = 512          # more than 64 bits and the zeros of any scale may take

cdef int64_t DAY_MICROS = 86_400_000_000

# Of a text it makes what Decimal does, no digit of which any context has to round, without looking at keywords.
cdef object _exact_decimal = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN
).create_decimal


cdef inline void _civil(int64_t days, int *year, int *month, int *day) noexcept:
    """Split days since 1970-01-01. Years are counted from March, so that a leap day is the last of its year."""
    cdef int64_t since = days + DAYS_TO_1970
    # No date is before 0000-03-01, so nothing here is negative.
    cdef int64_t era = since // 146_097
    cdef int64_t of_era = since - era * 146_097
    cdef int64_t year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    cdef int64_t of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    cdef int64_t from_march = (5 * of_year + 2) // 153
    day[0] = <int>(of_year - (153 * from_march + 2) // 5 + 1)
    month[0] = <int>(from_march + 3 if from_march < 10 else from_march - 9)
    year[0] = <int>(year_of_era + era * 400 + (month[0] <= 2))


cdef object make_date(int64_t days):
    cdef int year = 0
    cdef int month = 0
    cdef int day = 0
    if days < FIRST_DAY or days > LAST_DAY:
        return None
    _civil(days, &year, &month, &day)
    return date_new(year, month, day)


cdef object make_time(int64_t micros):
    cdef int64_t seconds = micros // 1_000_000
    return time_new(
        <int>(seconds // 3600), <int>(seconds // 60 % 60), <int>(seconds % 60), <int>(micros % 1_000_000), None
    )


cdef object make_datetime(int64_t micros, object zone):
    cdef int year = 0
    cdef int month = 0
    cdef int day = 0
    cdef int64_t days = micros // DAY_MICROS
    cdef int64_t rest = micros - days * DAY_MICROS
    cdef int64_t seconds
    if rest < 0:
        # Division is C's: towards zero.
        rest += DAY_MICROS
        days -= 1
    if days < FIRST_DAY or days > LAST_DAY:
        return None
    _civil(days, &year, &month, &day)
    seconds = rest // 1_000_000
    return datetime_new(
        year, month, day, <int>(seconds // 3600), <int>(seconds // 60 % 60), <int>(seconds % 60),
        <int>(rest % 1_000_000), zone,
    )


cdef object make_decimal(const char *text, Py_ssize_t size):
    return PyObject_CallOneArg(_exact_decimal, make_text(<const uint8_t *>text, size))


cdef object make_short_decimal(int64_t value, int32_t scale):
    cdef char text[SHORT_TEXT]
    cdef int32_t end = SHORT_TEXT
    cdef int32_t digits = 0
    cdef uint64_t left = <uint64_t>-value if value < 0 else <uint64_t>value
    while left or digits <= scale:
        if digits == scale and digits:
            end -= 1
            text[end] = b"."
        end -= 1
        text[end] = <char>(48 + left % 10)
        left //= 10
        digits += 1
    if value < 0:
        end -= 1
        text[end] = b"-"
    return make_decimal(text + end, SHORT_TEXT - end)
