"""What reads and writes plain values quickly, and leaves all others to columns."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.objects._buffer cimport Buffer
from kcodec.objects._exact cimport (
    PyFloat_AS_DOUBLE, PyFloat_CheckExact, PyLong_AsLongLongAndOverflow, PyLong_CheckExact,
)


cdef class QuickReader:
    """Reads payloads as Python objects; see `kcodec.objects.kernel.Reader`."""

    cdef object columns       # reads what is not plain, and says what is wrong with it
    cdef readonly bint told

    cdef object read(self, object data, int64_t start)
    # Read a payload; `Odd` or UnicodeDecodeError if columns are to read it.
    cdef object read_plain(self, const uint8_t *p, const uint8_t *end)


cdef class QuickWriter:
    """Writes Python objects as payloads; see `kcodec.objects.kernel.Writer`."""

    cdef object columns       # writes what is not plain, and says what is wrong with it

    cdef bytes write(self, object value, bytes prefix)
    # Write a value that is not None; `Odd` or UnicodeEncodeError if columns are to write it.
    cdef int write_plain(self, Buffer *b, object value) except -1


# Raise what leaves a value to columns.
cdef int odd() except -1


cdef inline double real_of(object value, int64_t exact) except? -1:
    """Return what a float is, or an integer, up to the greatest of which floats are exact."""
    cdef int overflow = 0
    cdef int64_t number
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    if not PyLong_CheckExact(value):
        odd()
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or not -exact <= number <= exact:
        odd()
    return <double>number


# Call a class with the fields of a record, by their names or in their order.
cdef object called(object kind, dict made, bint keywords)
