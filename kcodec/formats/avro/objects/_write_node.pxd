"""What writes one Python object as Avro."""

from libc.stdint cimport int64_t

from kcodec.objects._buffer cimport Buffer


cdef class Node:
    """Writes one value."""

    cdef tuple path           # steps, None where the position of an item goes
    cdef object natural       # the type of Python whose values it takes first in a union

    cdef int write(self, Buffer *b, object value) except -1
    cdef object fail(self, const Buffer *b, str code, str reason=*)
    cdef object take_as(self, const Buffer *b, object take, object value)
    cdef int64_t integer(self, const Buffer *b, object value, object take) except? -1
    cdef int put_within(self, Buffer *b, int64_t value, bint wide) except -1
