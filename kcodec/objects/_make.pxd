"""Python's dates, times and decimals, made of what stands in columns."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from kcodec.wire.binary.cursor cimport load_le64


cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 greatest)
    void *PyUnicode_1BYTE_DATA(object text)


cdef inline bint is_plain(const uint8_t *p, int64_t size) noexcept:
    """Return whether all of a short text is ASCII."""
    cdef uint64_t seen = 0
    cdef uint64_t word = 0
    cdef int64_t at = 0
    while at + 8 <= size:
        seen |= load_le64(p + at)
        at += 8
    if size >= 8:
        # The last eight once more, of which some have been seen.
        seen |= load_le64(p + size - 8)
    else:
        memcpy(&word, p, size)
        seen |= word
    return (seen & 0x8080808080808080ULL) == 0


cdef inline object make_plain(const uint8_t *data, int64_t size):
    """Make a text of ASCII, of at least two bytes; Python itself takes three times as long over short ones."""
    text = PyUnicode_New(size, 127)
    memcpy(PyUnicode_1BYTE_DATA(text), data, size)
    return text


cdef inline object make_text(const uint8_t *data, int64_t size):
    """Make a text of UTF-8; UnicodeDecodeError if it is none."""
    if size > 1 and is_plain(data, size):
        return make_plain(data, size)
    return PyUnicode_DecodeUTF8(<const char *>data, size, NULL)


# Days since 1970-01-01; None outside the years 1 to 9999.
cdef object make_date(int64_t days)
# Microseconds of a day.
cdef object make_time(int64_t micros)
# Microseconds since 1970-01-01, with a zone or None; None outside the years 1 to 9999.
cdef object make_datetime(int64_t micros, object zone)
# Digits, at most with a sign and a point.
cdef object make_decimal(const char *text, Py_ssize_t size)
# A number of 64 bits, with so many digits behind the point.
cdef object make_short_decimal(int64_t value, int32_t scale)
