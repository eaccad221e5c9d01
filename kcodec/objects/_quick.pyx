"""What reads and writes plain values quickly, and leaves all others to columns.

So what is wrong with a value, and what is seldom, is written once, in the row loops; here is nothing but the way of
values that are right. What is quick must only take what columns would take, and make the same of it.

A quick writer takes no values but those of Python's own types, not even of their subclasses. So no code of a user runs
while it holds their parts.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, int64_t, uint8_t
from libc.stdlib cimport free

from kcodec.objects._buffer cimport Buffer, begin_buffer, put_bytes

__all__ = ["Odd", "QuickReader", "QuickWriter"]


class Odd(Exception):
    """A value is not plain."""


cdef int odd() except -1:
    raise Odd


cdef object called(object kind, dict made, bint keywords):
    return kind(**made) if keywords else kind(*made.values())


cdef class QuickReader:
    def __init__(self, columns):
        self.columns = columns
        self.told = True

    cdef object read_plain(self, const uint8_t *p, const uint8_t *end):
        raise NotImplementedError

    cdef object read(self, object data, int64_t start):
        if type(data) is not bytes or start > PyBytes_GET_SIZE(data):
            odd()
        p = <const uint8_t *>PyBytes_AS_STRING(data)
        return self.read_plain(p + start, p + PyBytes_GET_SIZE(data))

    def decode_one(self, data, int64_t start=0):
        if data is None:
            return None
        try:
            return self.read(data, start)
        except (Odd, UnicodeDecodeError):
            pass
        return self.columns.decode_one(data, start)

    def decode_list(self, list values, starts=None, stop=False):
        cdef Py_ssize_t row
        cdef list made = []
        cdef list others = []
        for row in range(len(values)):
            data = values[row]
            value = None
            if data is not None:
                try:
                    value = self.read(data, 0 if starts is None else starts[row])
                except (Odd, UnicodeDecodeError):
                    others.append(row)
            made.append(value)
        return (made, []) if not others else self.complete(values, starts, stop, made, others)

    def complete(self, list values, starts, stop, list made, list others):
        """Read by columns what was not plain."""
        places = None if starts is None else [starts[row] for row in others]
        found, faults = self.columns.decode_list([values[row] for row in others], places, stop)
        for row, value in zip(others, found):
            made[row] = value
        faults = [fault._replace(row=others[fault.row]) for fault in faults]
        return made[:faults[0].row] if faults and stop else made, faults


cdef class QuickWriter:
    def __init__(self, columns):
        self.columns = columns

    cdef int write_plain(self, Buffer *b, object value) except -1:
        raise NotImplementedError

    cdef bytes write(self, object value, bytes prefix):
        cdef Buffer b
        begin_buffer(&b)
        try:
            put_bytes(&b, PyBytes_AS_STRING(prefix), PyBytes_GET_SIZE(prefix))
            self.write_plain(&b, value)
            if b.used > INT32_MAX:
                # More than a column holds.
                odd()
            return PyBytes_FromStringAndSize(<const char *>b.data, b.used)
        finally:
            free(b.heap)

    def encode_one(self, value, bytes prefix=b""):
        if value is None:
            return None
        try:
            return self.write(value, prefix)
        except (Odd, UnicodeEncodeError):
            pass
        return self.columns.encode_one(value, prefix)

    def encode_list(self, list values, bytes prefix=b"", stop=False):
        cdef Py_ssize_t row
        cdef list made = []
        faults = []
        for row in range(len(values)):
            value = values[row]
            data = None
            if value is not None:
                try:
                    data = self.write(value, prefix)
                except (Odd, UnicodeEncodeError):
                    (data,), found = self.columns.encode_list([value], prefix)
                    faults += [fault._replace(row=row) for fault in found]
                    if found and stop:
                        break
            made.append(data)
        return made, faults
