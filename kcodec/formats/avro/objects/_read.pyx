"""Avro binary to Python objects, by the plans that columns are read by.

Each node of a plan becomes an object that reads one value; their order, checks and errors are those of `_row.pyx`.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t

from kcodec.formats.avro.objects._read_nested cimport make_root
from kcodec.formats.avro.objects._read_node cimport Cursor, Node, begin
from kcodec.wire.binary.cursor cimport unlikely

from kcodec.errors import DecodeError
from kcodec.objects.form import ObjectForm
from kcodec.plan.failure import RowError
from kcodec.plan.node import Limits

__all__ = ["ObjectReader"]


@cython.final
cdef class ObjectReader:
    """Reads payloads of a plan as Python objects; see `kcodec.objects.kernel.Reader`."""

    cdef Node root
    cdef Cursor blank
    cdef bint trailing
    cdef readonly bint told

    def __init__(self, plan, limits=Limits(), form=ObjectForm(), *, trailing=False):
        self.root = make_root(plan, limits, form)
        self.trailing = trailing
        self.told = False
        begin(&self.blank, b"", limits)

    cdef object read(self, object data, int64_t start):
        cdef Cursor cursor = self.blank
        cdef Py_buffer view
        if type(data) is not bytes and not memoryview(data).c_contiguous:
            data = memoryview(data).tobytes()
        if type(data) is bytes:
            cursor.start = <const uint8_t *>PyBytes_AS_STRING(data)
            cursor.end = cursor.start + PyBytes_GET_SIZE(data)
            return self.read_within(&cursor, start)
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            cursor.start = <const uint8_t *>view.buf
            cursor.end = cursor.start + view.len
            return self.read_within(&cursor, start)
        finally:
            PyBuffer_Release(&view)

    cdef object read_within(self, Cursor *c, int64_t start):
        if unlikely(start < 0 or start > c.end - c.start):
            raise RowError("truncated", c.end - c.start)
        c.p = c.start + start
        value = self.root.read(c)
        if unlikely(c.p != c.end) and not self.trailing:
            raise RowError("trailing_bytes", c.p - c.start)
        return value

    def decode_one(self, data, int64_t start=0):
        if data is None:
            return None
        try:
            return self.read(data, start)
        except RowError as error:
            raise DecodeError(*error.fault(0)) from None

    def decode_list(self, list values, starts=None, stop=False):
        cdef Py_ssize_t row
        cdef list made = []
        faults = []
        for row in range(len(values)):
            data = values[row]
            value = None
            if data is not None:
                try:
                    value = self.read(data, 0 if starts is None else starts[row])
                except RowError as error:
                    faults.append(error.fault(row))
                    if stop:
                        break
            made.append(value)
        return made, faults
