"""What writes one Python object as Avro."""

from libc.stdint cimport INT32_MAX, INT32_MIN, int64_t

from kcodec.objects._buffer cimport Buffer, Frame, put_number
from kcodec.wire.binary.cursor cimport unlikely

from kcodec.plan.failure import RowError

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1
    bint PyLong_CheckExact(object value)


cdef class Node:
    cdef int write(self, Buffer *b, object value) except -1:
        raise NotImplementedError

    cdef object fail(self, const Buffer *b, str code, str reason=""):
        cdef Frame *frame = b.frame
        found = []
        while frame != NULL:
            found.append(frame.item)
            frame = frame.outer
        positions = iter(found[::-1])
        path = "".join([f"[{next(positions, 0)}]" if step is None else step for step in self.path])
        raise RowError(code, None, path, reason)

    cdef object take_as(self, const Buffer *b, object take, object value):
        """Return what a value that is not of the usual type is taken as."""
        if value is None:
            self.fail(b, "null_value")
        try:
            return take(value)
        except RowError as error:
            self.fail(b, error.code, error.reason)

    cdef int64_t integer(self, const Buffer *b, object value, object take) except? -1:
        """Return an integer of 64 bits."""
        cdef int overflow = 0
        cdef int64_t number
        if unlikely(not PyLong_CheckExact(value)):
            value = self.take_as(b, take, value)
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if unlikely(overflow):
            self.fail(b, "out_of_range")
        return number

    cdef int put_within(self, Buffer *b, int64_t value, bint wide) except -1:
        if unlikely(not wide and not INT32_MIN <= value <= INT32_MAX):
            self.fail(b, "out_of_range")
        return put_number(b, value)
