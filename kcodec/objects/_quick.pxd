"""What reads plain values quickly, and leaves all others to columns."""

from libc.stdint cimport int64_t, uint8_t


cdef class QuickReader:
    """Reads payloads as Python objects; see `kcodec.objects.kernel.Reader`."""

    cdef object columns       # reads what is not plain, and says what is wrong with it
    cdef readonly bint told

    cdef object read(self, object data, int64_t start)
    # Read a payload; `Odd` or UnicodeDecodeError if columns are to read it.
    cdef object read_plain(self, const uint8_t *p, const uint8_t *end)


# Raise what leaves a value to columns.
cdef int odd() except -1
# Call a class with the fields of a record, by their names or in their order.
cdef object called(object kind, dict made, bint keywords)
