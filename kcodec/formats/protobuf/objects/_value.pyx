"""Values of Protobuf's fields to Python objects, by the rules of `_row.pyx`; what is seldom is left to columns."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.datetime cimport import_datetime, timedelta_new
from libc.math cimport copysign
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.formats.protobuf.rows._program cimport FIXED32, FIXED64, LENGTH, VARINT
from kcodec.objects._make cimport make_datetime, make_text
from kcodec.objects._quick cimport odd
from kcodec.wire.binary.cursor cimport load_le32, load_le64, unlikely, unzigzag32, unzigzag64

import datetime
import decimal

from kcodec.plan.failure import RowError

import_datetime()

cdef object UTC = datetime.timezone.utc
cdef object Decimal = decimal.Decimal


cdef int skip(Cursor *c, int32_t wire_type) except -1:
    """Go behind a value that is no group."""
    cdef int64_t size
    if wire_type == VARINT:
        varint(c)
        return 0
    if wire_type == LENGTH:
        size = length(c)
    elif wire_type == FIXED64:
        size = 8
    elif wire_type == FIXED32:
        size = 4
    else:
        return odd()
    if unlikely(size > c.end - c.p):
        odd()
    c.p += size
    return 0


cdef class Node:
    """Reads one value, behind its tag."""

    cdef object read(self, Cursor *c):
        raise NotImplementedError


@cython.final
cdef class Number(Node):
    cdef object read(self, Cursor *c):
        cdef Kind kind = self.kind
        cdef uint64_t raw = 0
        cdef uint32_t half = 0
        cdef float single = 0
        cdef double double_ = 0
        if kind < BITS32:
            raw = varint(c)
            if kind == INT32:
                return <int32_t>raw
            if kind == INT64:
                return <int64_t>raw
            if kind == BOOL:
                return raw != 0
            if kind == UINT32:
                return <uint32_t>raw
            if kind == UINT64:
                return raw
            if kind == SINT32:
                return unzigzag32(<uint32_t>raw)
            if kind == SINT64:
                return unzigzag64(raw)
            return Decimal(raw)
        if kind < BITS64:
            if unlikely(c.end - c.p < 4):
                odd()
            half = load_le32(c.p)
            c.p += 4
            if kind == BITS32:
                return half
            if kind == SIGNED32:
                return <int32_t>half
            memcpy(&single, &half, 4)
            return <double>single
        if unlikely(c.end - c.p < 8):
            odd()
        raw = load_le64(c.p)
        c.p += 8
        if kind == BITS64:
            return raw
        if kind == SIGNED64:
            return <int64_t>raw
        if kind == DOUBLE:
            memcpy(&double_, &raw, 8)
            return double_
        return Decimal(raw)


@cython.final
cdef class Enum(Node):
    cdef object read(self, Cursor *c):
        number = <int32_t>varint(c)
        name = self.names.get(number)
        # It may be another name's number the next time.
        spend(c, self.cost)
        if name is not None:
            return name
        if self.known:
            odd()
        return str(number)


@cython.final
cdef class EnumNumber(Node):
    cdef object read(self, Cursor *c):
        number = <int32_t>varint(c)
        if self.numbers is not None and number not in self.numbers:
            odd()
        return number


@cython.final
cdef class Text(Node):
    cdef object read(self, Cursor *c):
        cdef int64_t size = length(c)
        c.p += size
        return make_text(c.p - size, size)


@cython.final
cdef class Bytes(Node):
    cdef object read(self, Cursor *c):
        cdef int64_t size = length(c)
        c.p += size
        return PyBytes_FromStringAndSize(<const char *>c.p - size, size)


@cython.final
cdef class Converted(Node):
    """A message whose bytes become one value."""

    cdef object read(self, Cursor *c):
        cdef int64_t size = length(c)
        c.p += size
        c.converted += 1
        if c.converted > FEW:
            # Columns convert many together.
            odd()
        try:
            return self.convert(PyBytes_FromStringAndSize(<const char *>c.p - size, size))
        except RowError:
            return odd()


@cython.final
cdef class Time(Node):
    """A Timestamp or a Duration, in microseconds."""

    cdef object read(self, Cursor *c):
        cdef const uint8_t *stop
        cdef const uint8_t *end = c.end
        cdef int64_t seconds = 0
        cdef int64_t nanos = 0
        cdef int64_t size
        cdef uint8_t tag
        size = length(c)
        c.end = stop = c.p + size
        while c.p < stop:
            tag = c.p[0]
            c.p += 1
            if tag == 0x08:
                seconds = <int64_t>varint(c)
            elif tag == 0x10:
                nanos = <int32_t>varint(c)
            else:
                odd()
        c.end = end
        if seconds < self.low or seconds > self.high or nanos <= -1_000_000_000 or nanos >= 1_000_000_000:
            odd()
        if nanos < 0 and (seconds > 0 or not self.is_duration) or nanos > 0 and seconds < 0 and self.is_duration:
            odd()
        if nanos % 1000 and (self.strict or nanos < 0):
            odd()
        if self.is_duration:
            return timedelta_new(
                <int>(seconds // 86_400), <int>(seconds % 86_400), <int>(nanos // 1000)
            )
        made = make_datetime(seconds * 1_000_000 + nanos // 1000, UTC)
        if unlikely(made is None):
            odd()
        return made


@cython.final
cdef class OrNull(Node):
    """A value that is None where it is the default."""

    cdef object read(self, Cursor *c):
        value = self.node.read(c)
        # The default of numbers has no sign.
        if value != self.default or isinstance(value, float) and copysign(1, value) < 0:
            return value
        return None
