"""Avro binary to Python objects, by the plans that columns are read by.

Each node of a plan becomes an object that reads one value; their order, checks and errors are those of `_row.pyx`.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Copy, PyDict_DelItem, PyDict_SetItem
from cpython.list cimport PyList_GET_ITEM, PyList_SetItem
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from kcodec.formats.avro._context cimport Context
from kcodec.formats.avro._paths cimport failed_path
from kcodec.formats.avro._program cimport AvroProgram, Op as SkipOp
from kcodec.formats.avro._skip cimport skip
from kcodec.objects._make cimport make_date, make_datetime, make_decimal, make_time
from kcodec.plan._budget cimport Budget, charge, charge_zero_items, set_limits
from kcodec.plan._program cimport inside
from kcodec.wire.cursor cimport (
    likely, load_le32, load_le64, multiply_overflows, read_branch, read_length, read_varint32, read_varint64, unlikely,
    unzigzag32, unzigzag64,
)
from kcodec.wire.decimal cimport (
    decimal_from_bytes, decimal_limit, decimal_slot_text, decimal_text_room, decimal_to_text,
)
from kcodec.wire.isotime cimport (
    ISO_CLOCK, ISO_DATE, ISO_FLOOR, ISO_UTC, ISO_ZONED, iso_read,
)
from kcodec.wire.status cimport (
    BLOCK_COUNT, BLOCK_SIZE, ENUM_INDEX, INEXACT, INVALID_BOOLEAN, INVALID_UTF8, NEGATIVE_LENGTH, OK, OUT_OF_RANGE,
    TRUNCATED, UNION_INDEX, UNRESOLVABLE, DECIMAL_PRECISION, Status,
)

import datetime
import decimal
import sys
from itertools import groupby

import pyarrow as pa

from kcodec.columns.layout import layout
from kcodec.errors import CODES, DecodeError
from kcodec.formats.avro._program import is_dropped, is_iso, least_bytes
from kcodec.objects.form import ObjectForm
from kcodec.objects.into import target
from kcodec.plan.failure import RowError
from kcodec.plan.node import MAX_DEPTH, Limits, Node as PlanNode, Op as Step, Plan

__all__ = ["ObjectReader"]

cdef extern from "Python.h":
    PyObject *PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 greatest)
    void *PyUnicode_1BYTE_DATA(object text)
    object PyLong_FromLongLong(long long value)
    object PyFloat_FromDouble(double value)
    PyObject **PySequence_Fast_ITEMS(object sequence)
    object PyObject_Vectorcall(object function, PyObject *const *arguments, size_t count, PyObject *names)
    int PyErr_ExceptionMatches(object exception)
    void PyErr_Clear()

cdef enum:
    SLOT_BYTES = 32           # of a decimal256
    SLOT_TEXT = 512           # more than its text may take

cdef list _CODES = list(CODES)
cdef object UTC = datetime.timezone.utc
#: Units of columns: what a microsecond is of them, or they of it.
cdef dict _MICROS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}
cdef str _NO_YEAR = "the year is not one of 1 to 9999, which Python's dates and times have"
cdef str _NANOSECONDS = "Python's times have no nanoseconds; round=\"truncate\" drops them"


cdef struct Frame:
    # Which item of a collection the value in hand is in.
    Frame *outer
    int64_t item


cdef struct Cursor:
    const uint8_t *p
    const uint8_t *start      # of the whole value, which offsets count from
    const uint8_t *end
    const uint8_t *outside    # while a default is read: where in the value it stands
    Frame *frame
    Budget budget


cdef list _indexes(const Cursor *c):
    cdef Frame *frame = c.frame
    found = []
    while frame != NULL:
        found.append(frame.item)
        frame = frame.outer
    found.reverse()
    return found


cdef str _rendered(tuple path, list indexes):
    positions = iter(indexes)
    return "".join([f"[{next(positions, 0)}]" if step is None else step for step in path])


cdef class Node:
    """Reads one value."""

    cdef tuple path           # steps, None where the position of an item goes

    cdef object read(self, Cursor *c):
        raise NotImplementedError

    cdef object fail(self, const Cursor *c, Status status, const uint8_t *at, str reason=""):
        at = at if c.outside == NULL else c.outside
        raise RowError(_CODES[<int>status - 1], at - c.start, _rendered(self.path, _indexes(c)), reason)

    cdef int take(self, Cursor *c, int64_t size) except -1:
        """Go behind some bytes, which there must be."""
        if unlikely(size > c.end - c.p):
            self.fail(c, TRUNCATED, c.p)
        c.p += size
        return 0

    cdef int64_t sized(self, Cursor *c) except -1:
        """Go behind bytes that stand behind their length, and return it."""
        cdef const uint8_t *at = c.p
        cdef int64_t length = 0
        cdef Status status
        if likely(c.p < c.end) and likely((c.p[0] & 0x81) == 0):
            length = c.p[0] >> 1
            c.p += 1
        else:
            status = read_length(&c.p, c.end, &length)
            if unlikely(status != OK):
                self.fail(c, status, at)
            if unlikely(length < 0):
                self.fail(c, NEGATIVE_LENGTH, at)
        if unlikely(length > c.end - c.p):
            self.fail(c, TRUNCATED, c.p)
        c.p += length
        return length

    cdef int64_t number(self, Cursor *c, bint wide) except? -1:
        """Read a zigzag varint of 64 or 32 bits."""
        cdef const uint8_t *at = c.p
        cdef uint64_t raw = 0
        cdef uint32_t word = 0
        cdef Status status
        if wide:
            status = read_varint64(&c.p, c.end, c.end, &raw)
            if unlikely(status != OK):
                self.fail(c, status, at)
            return unzigzag64(raw)
        status = read_varint32(&c.p, c.end, c.end, &word)
        if unlikely(status != OK):
            self.fail(c, status, at)
        return unzigzag32(word)

    cdef int spend(self, Cursor *c, int64_t amount, const uint8_t *at) except -1:
        """Count what is made of no bytes of the value."""
        cdef Status status = charge(&c.budget, amount)
        if unlikely(status != OK):
            self.fail(c, status, at)
        return 0


@cython.final
cdef class Null(Node):
    cdef object read(self, Cursor *c):
        return None


@cython.final
cdef class Boolean(Node):
    cdef object read(self, Cursor *c):
        self.take(c, 1)
        if unlikely((c.p - 1)[0] > 1):
            self.fail(c, INVALID_BOOLEAN, c.p - 1)
        return (c.p - 1)[0] == 1


@cython.final
cdef class Integer(Node):
    cdef bint wide
    cdef int64_t factor

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at = c.p
        cdef int64_t value
        if likely(c.p < c.end) and c.p[0] < 0x80 and self.factor == 1:
            c.p += 1
            return (at[0] >> 1) ^ -(at[0] & 1)
        value = self.number(c, self.wide)
        if unlikely(multiply_overflows(value, self.factor, &value)):
            self.fail(c, OUT_OF_RANGE, at)
        return PyLong_FromLongLong(value)


@cython.final
cdef class IntegerToFloat(Node):
    cdef bint wide
    cdef bint single

    cdef object read(self, Cursor *c):
        cdef int64_t value = self.number(c, self.wide)
        if self.single:
            return PyFloat_FromDouble(<float>value)
        return PyFloat_FromDouble(<double>value)


@cython.final
cdef class Float(Node):
    cdef object read(self, Cursor *c):
        cdef float value = 0
        cdef uint32_t word
        self.take(c, 4)
        word = load_le32(c.p - 4)
        memcpy(&value, &word, 4)
        return PyFloat_FromDouble(value)


@cython.final
cdef class Double(Node):
    cdef object read(self, Cursor *c):
        cdef double value = 0
        cdef uint64_t word
        self.take(c, 8)
        word = load_le64(c.p - 8)
        memcpy(&value, &word, 8)
        return PyFloat_FromDouble(value)


@cython.final
cdef class Bytes(Node):
    cdef object read(self, Cursor *c):
        cdef int64_t length = self.sized(c)
        return PyBytes_FromStringAndSize(<const char *>c.p - length, length)


cdef inline bint _is_ascii(const uint8_t *p, int64_t size) noexcept:
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


@cython.final
cdef class Text(Node):
    cdef object read(self, Cursor *c):
        cdef int64_t length = self.sized(c)
        cdef PyObject *text
        if length > 1 and _is_ascii(c.p - length, length):
            # Python looks for that too, but takes three times as long over short texts.
            short = PyUnicode_New(length, 127)
            memcpy(PyUnicode_1BYTE_DATA(short), c.p - length, length)
            return short
        text = PyUnicode_DecodeUTF8(<const char *>c.p - length, length, NULL)
        if unlikely(text == NULL):
            self.refuse(c, c.p - length)
        made = <object>text
        Py_DECREF(made)
        return made

    cdef object refuse(self, const Cursor *c, const uint8_t *at):
        if not PyErr_ExceptionMatches(UnicodeDecodeError):
            raise MemoryError
        PyErr_Clear()
        self.fail(c, INVALID_UTF8, at)


@cython.final
cdef class Fixed(Node):
    cdef int64_t size

    cdef object read(self, Cursor *c):
        self.take(c, self.size)
        return PyBytes_FromStringAndSize(<const char *>c.p - self.size, self.size)


@cython.final
cdef class Enum(Node):
    cdef tuple symbols        # None: the reader has no such symbol
    cdef tuple sizes          # what each counts as expansion, as its bytes in a column do

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at = c.p
        cdef int64_t index = self.number(c, False)
        if unlikely(index < 0 or index >= len(self.symbols)):
            self.fail(c, ENUM_INDEX, at)
        symbol = self.symbols[index]
        if unlikely(symbol is None):
            self.fail(c, UNRESOLVABLE, at)
        self.spend(c, self.sizes[index], c.p)
        return symbol


@cython.final
cdef class Decimal(Node):
    cdef int64_t size         # 0: behind a length
    cdef int32_t precision
    cdef int32_t scale
    cdef uint64_t limit       # what precision allows, of a number of eight bytes

    cdef object read(self, Cursor *c):
        cdef char text[SLOT_TEXT]
        cdef uint8_t slot[SLOT_BYTES]
        cdef const uint8_t *at
        cdef int64_t length
        cdef int64_t value
        cdef int64_t i
        cdef Status status
        if self.size:
            self.take(c, self.size)
            length = self.size
        else:
            length = self.sized(c)
        at = c.p - length
        # No bytes are no number.
        if unlikely(length == 0):
            self.fail(c, TRUNCATED, at)
        if length <= 8:
            value = -1 if at[0] & 0x80 else 0
            for i in range(length):
                value = <int64_t>((<uint64_t>value << 8) | at[i])
            return self.short(c, value, at)
        status = decimal_from_bytes(at, length, self.precision, SLOT_BYTES // 8, slot)
        if unlikely(status != OK):
            self.fail(c, status, at)
        return make_decimal(text, decimal_slot_text(slot, SLOT_BYTES // 8, self.scale, True, text))

    cdef object short(self, const Cursor *c, int64_t value, const uint8_t *at):
        """Make a number that 64 bits hold."""
        cdef char text[SLOT_TEXT]
        cdef int32_t end = SLOT_TEXT
        cdef int32_t digits = 0
        cdef uint64_t left = <uint64_t>-value if value < 0 else <uint64_t>value
        if unlikely(left > self.limit):
            self.fail(c, DECIMAL_PRECISION, at)
        while left or digits <= self.scale:
            if digits == self.scale and digits:
                end -= 1
                text[end] = b"."
            end -= 1
            text[end] = <char>(48 + left % 10)
            left //= 10
            digits += 1
        if value < 0:
            end -= 1
            text[end] = b"-"
        return make_decimal(text + end, SLOT_TEXT - end)


@cython.final
cdef class DecimalText(Node):
    """A decimal of more digits than columns of decimals have."""

    cdef int64_t size
    cdef int32_t precision
    cdef int32_t scale

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at
        cdef char *text
        cdef size_t written = 0
        cdef int64_t length
        cdef Status status
        if self.size:
            self.take(c, self.size)
            length = self.size
        else:
            length = self.sized(c)
        at = c.p - length
        if unlikely(length == 0):
            self.fail(c, TRUNCATED, at)
        text = <char *>malloc(decimal_text_room(length, self.scale, True))
        if text == NULL:
            raise MemoryError
        try:
            status = decimal_to_text(at, length, self.scale, True, self.precision, text, &written)
            if status != OK:
                self.fail(c, status, at)
            self.spend(c, written, at)
            return text[:written].decode("ascii")
        finally:
            free(text)


@cython.final
cdef class Date(Node):
    cdef bint wide

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at = c.p
        value = make_date(self.number(c, self.wide))
        if unlikely(value is None):
            self.fail(c, OUT_OF_RANGE, at, _NO_YEAR)
        return value


cdef class Clock(Node):
    """Reads a time of day or a timestamp: a number of a unit."""

    cdef int64_t factor       # of what is read, in units
    cdef int64_t micros       # of a unit
    cdef bint nanos           # a unit is a nanosecond
    cdef bint floor

    cdef int64_t to_micros(self, const Cursor *c, int64_t value, const uint8_t *at) except? -1:
        cdef int64_t rest
        if not self.nanos:
            if unlikely(multiply_overflows(value, self.micros, &value)):
                self.fail(c, OUT_OF_RANGE, at, _NO_YEAR)
            return value
        rest = value % 1000
        if rest < 0:
            rest += 1000
        if rest and not self.floor:
            self.fail(c, INEXACT, at, _NANOSECONDS)
        return (value - rest) // 1000


@cython.final
cdef class Time(Clock):
    cdef bint wide
    cdef int64_t day          # its first value that is not a time of day

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at = c.p
        cdef int64_t value = self.number(c, self.wide)
        if unlikely(value < 0 or value >= self.day):
            self.fail(c, OUT_OF_RANGE, at)
        return make_time(self.to_micros(c, value, at))


@cython.final
cdef class Timestamp(Clock):
    cdef bint wide
    cdef object zone

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at = c.p
        cdef int64_t value = self.number(c, self.wide)
        if unlikely(multiply_overflows(value, self.factor, &value)):
            self.fail(c, OUT_OF_RANGE, at)
        made = make_datetime(self.to_micros(c, value, at), self.zone)
        if unlikely(made is None):
            self.fail(c, OUT_OF_RANGE, at, _NO_YEAR)
        return made


@cython.final
cdef class IsoText(Clock):
    """Text of a date or time."""

    cdef int form
    cdef int digits
    cdef object zone

    cdef object read(self, Cursor *c):
        cdef int64_t length = self.sized(c)
        cdef const uint8_t *at = c.p - length
        cdef int64_t value = 0
        cdef Status status = iso_read(at, length, self.form, self.digits, &value)
        if unlikely(status != OK):
            self.fail(c, status, at)
        if self.form & 7 == ISO_DATE:
            return make_date(value)
        value = self.to_micros(c, value, at)
        made = make_time(value) if self.form & 7 == ISO_CLOCK else make_datetime(value, self.zone)
        if unlikely(made is None):
            # An offset can lead out of the years that the text has.
            self.fail(c, OUT_OF_RANGE, at, _NO_YEAR)
        return made


@cython.final
cdef class Record(Node):
    cdef list nodes           # in the order of the wire
    cdef list names           # of each, None for what is dropped
    cdef dict blank           # the fields in the order of the columns, all None

    cdef object read(self, Cursor *c):
        cdef dict made = PyDict_Copy(self.blank)
        cdef Py_ssize_t at
        for at in range(len(self.nodes)):
            value = (<Node>PyList_GET_ITEM(self.nodes, at)).read(c)
            name = <object>PyList_GET_ITEM(self.names, at)
            if name is not None:
                PyDict_SetItem(made, name, value)
        return made


@cython.final
cdef class Made(Node):
    """A record that a class is called with the fields of."""

    cdef list nodes
    cdef list places          # of each node's value among the arguments, -1 for what is dropped
    cdef list blank
    cdef object call
    cdef object keywords      # names of the arguments; None if they stand at the class's own places

    cdef object read(self, Cursor *c):
        cdef list arguments = self.blank[:]
        cdef Py_ssize_t at
        cdef Py_ssize_t place
        for at in range(len(self.nodes)):
            value = (<Node>PyList_GET_ITEM(self.nodes, at)).read(c)
            place = self.places[at]
            if place >= 0:
                Py_INCREF(value)
                PyList_SetItem(arguments, place, value)
        if self.keywords is None:
            return PyObject_Vectorcall(self.call, PySequence_Fast_ITEMS(arguments), len(arguments), NULL)
        return PyObject_Vectorcall(self.call, PySequence_Fast_ITEMS(arguments), 0, <PyObject *>self.keywords)


cdef class Items(Node):
    """Blocks of items, up to an empty one."""

    cdef bint empty           # items take no bytes

    cdef int64_t block(self, Cursor *c, int64_t *end) except -1:
        """Begin a block; return how many items it has, and where it must end, counted from the end of the bytes."""
        cdef const uint8_t *at = c.p
        cdef int64_t count = 0
        cdef int64_t size = 0
        cdef Status status = read_length(&c.p, c.end, &count)
        end[0] = 1
        if unlikely(status != OK):
            self.fail(c, status, at)
        if count < 0:
            if count == INT64_MIN:
                self.fail(c, BLOCK_COUNT, at)
            count = -count
            status = self.block_size(c, &size)
            end[0] = size
        if unlikely(self.empty) and count:
            status = charge_zero_items(&c.budget, count)
            if unlikely(status != OK):
                self.fail(c, status, at)
        return count

    cdef Status block_size(self, Cursor *c, int64_t *end) except NEGATIVE_LENGTH:
        cdef const uint8_t *at = c.p
        cdef int64_t size = 0
        cdef Status status = read_length(&c.p, c.end, &size)
        if status != OK:
            self.fail(c, status, at)
        if size < 0 or size > c.end - c.p:
            self.fail(c, BLOCK_SIZE, at)
        end[0] = size + (c.p - c.end)
        return OK


@cython.final
cdef class Array(Items):
    cdef Node item

    cdef object read(self, Cursor *c):
        cdef list made = []
        cdef Frame frame
        cdef int64_t count
        cdef int64_t end = 1
        cdef const uint8_t *at
        frame.outer = c.frame
        frame.item = 0
        while True:
            at = c.p
            count = self.block(c, &end)
            if count == 0:
                return made
            c.frame = &frame
            while count:
                made.append(self.item.read(c))
                frame.item += 1
                count -= 1
            c.frame = frame.outer
            if end <= 0 and c.p - c.end != end:
                self.fail(c, BLOCK_SIZE, _behind_varint(at))


@cython.final
cdef class Map(Items):
    cdef Node key
    cdef Node value
    cdef bint pairs

    cdef object read(self, Cursor *c):
        cdef dict made = {}
        cdef Frame frame
        cdef int64_t count
        cdef int64_t end = 1
        cdef Py_ssize_t known = 0
        cdef const uint8_t *at
        frame.outer = c.frame
        frame.item = 0
        while True:
            at = c.p
            count = self.block(c, &end)
            if count == 0:
                return list(made.items()) if self.pairs else made
            c.frame = &frame
            while count:
                key = self.key.read(c)
                value = self.value.read(c)
                PyDict_SetItem(made, key, value)
                if unlikely(len(made) == known):
                    # The last entry of a key counts, where it stands.
                    PyDict_DelItem(made, key)
                    PyDict_SetItem(made, key, value)
                known = len(made)
                frame.item += 1
                count -= 1
            c.frame = frame.outer
            if end <= 0 and c.p - c.end != end:
                self.fail(c, BLOCK_SIZE, _behind_varint(at))


cdef const uint8_t *_behind_varint(const uint8_t *p) noexcept:
    """Return where a varint ends that has been read."""
    while p[0] & 0x80:
        p += 1
    return p + 1


@cython.final
cdef class Nullable(Node):
    cdef Node item
    cdef int32_t null         # the branch without a value

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at = c.p
        cdef uint64_t raw = 0
        cdef Status status
        if likely(c.p < c.end) and likely((c.p[0] & 0xFD) == 0):
            raw = c.p[0]
            c.p += 1
        else:
            status = read_branch(&c.p, c.end, &raw)
            if status != OK:
                self.fail(c, status, at)
            if raw != 0 and raw != 2:
                self.fail(c, UNION_INDEX, at)
        if <int32_t>(raw >> 1) == self.null:
            return None
        return self.item.read(c)


@cython.final
cdef class Union(Node):
    cdef list branches

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at = c.p
        cdef uint64_t raw = 0
        cdef Status status = read_branch(&c.p, c.end, &raw)
        if unlikely(status != OK):
            self.fail(c, status, at)
        if unlikely((raw & 1) or (raw >> 1) >= <uint64_t>len(self.branches)):
            self.fail(c, UNION_INDEX, at)
        return (<Node>PyList_GET_ITEM(self.branches, <Py_ssize_t>(raw >> 1))).read(c)


@cython.final
cdef class Member(Node):
    cdef Node item
    cdef str name
    cdef dict blank

    cdef object read(self, Cursor *c):
        cdef dict made = PyDict_Copy(self.blank)
        PyDict_SetItem(made, self.name, self.item.read(c))
        return made


@cython.final
cdef class Constant(Node):
    """A default that never changes, so that one object is enough."""

    cdef object value
    cdef int64_t cost

    cdef object read(self, Cursor *c):
        self.spend(c, self.cost, c.p)
        return self.value


@cython.final
cdef class Default(Node):
    cdef Node item
    cdef bytes data

    cdef object read(self, Cursor *c):
        cdef const uint8_t *p = c.p
        cdef const uint8_t *end = c.end
        cdef const uint8_t *outside = c.outside
        self.spend(c, len(self.data), p)
        if outside == NULL:
            c.outside = p
        c.p = <const uint8_t *>PyBytes_AS_STRING(self.data)
        c.end = c.p + len(self.data)
        value = self.item.read(c)
        c.p = p
        c.end = end
        c.outside = outside
        return value


@cython.final
cdef class Fail(Node):
    cdef str code
    cdef str reason

    cdef object read(self, Cursor *c):
        at = (c.p if c.outside == NULL else c.outside) - c.start
        raise RowError(self.code, at, _rendered(self.path, _indexes(c)), self.reason)


@cython.final
cdef class Skip(Node):
    """Values that are dropped, which the program of columns goes over."""

    cdef AvroProgram program
    cdef int32_t max_depth

    cdef object read(self, Cursor *c):
        cdef Context context
        cdef const SkipOp *op = self.program.ops
        context.ops = op
        context.end = context.limit = c.end
        context.budget = c.budget
        context.depth = 0
        context.max_depth = self.max_depth
        context.trail_size = 0
        cdef const uint8_t *p = skip(&context, op + 1, op + op.next, 0, 1, c.p)
        if unlikely(p == NULL):
            path = _joined(_rendered(self.path, _indexes(c)), failed_path(&context, self.program))
            raise RowError(_CODES[<int>context.status - 1], context.at - c.start, path)
        c.budget = context.budget
        c.p = p
        return None


cdef str _joined(str outer, str inner):
    return f"{outer}.{inner}" if outer and inner and inner[0] not in "[." else outer + inner


cdef class _Maker:
    """Makes nodes of those of a plan."""

    cdef object plan
    cdef object limits
    cdef object form
    cdef tuple columns

    def __init__(self, plan, limits, form):
        self.plan = plan
        self.limits = limits
        self.form = form
        self.columns = layout(plan.arrow_type)

    cdef Node placed(self, Node made, tuple path):
        made.path = path
        return made

    cdef Node make(self, object node, tuple path, object into):
        """Make a node; `into` is what records at it or below are made into."""
        op = node.op
        path = inside(path, node.name)
        if is_dropped(node):
            return self.skipped([node], path if node.name == "" else path[:len(path) - 1])
        if op is Step.RECORD:
            return self.record(node, path, into)
        if op is Step.ARRAY or op is Step.MAP:
            return self.items(node, path, into)
        if op is Step.UNION:
            return self.union(node, path, into)
        if op is Step.PRESENT:
            return self.make(node.children[0], path, into)
        if op is Step.ABSENT or op is Step.NULL:
            return self.placed(Null(), path)
        if op is Step.MEMBER:
            return self.member(node, path, into)
        if op is Step.DEFAULT:
            return self.default(node, path, into)
        if op is Step.FAIL:
            return self.failing(node, path)
        return self.placed(self.leaf(node), path)

    cdef Node failing(self, object node, tuple path):
        cdef Fail made = Fail()
        made.code = node.code
        made.reason = node.reason
        return self.placed(made, path)

    cdef Node skipped(self, object nodes, tuple path):
        cdef Skip made = Skip()
        root = PlanNode(Step.RECORD, -1, "", tuple(nodes))
        named = self.plan.named if _calls(root) else ()
        made.program = AvroProgram(Plan("AVRO", "decode", pa.struct([]), root, named), self.limits)
        made.max_depth = min(self.limits.max_depth, MAX_DEPTH)
        return self.placed(made, path)

    cdef Node record(self, object node, tuple path, object into):
        cdef Record made = Record()
        names = [self.columns[child].name for child in self.columns[node.column].children]
        nodes = []
        found = []
        for dropped, group in groupby(node.children, is_dropped):
            if dropped:
                nodes.append(self.skipped(group, path))
                found.append(None)
                continue
            for child in group:
                name = sys.intern(self.columns[child.column].name) if child.column >= 0 else None
                nodes.append(self.make(child, path, None if into is None else into.inside(child.name)))
                found.append(name)
        if into is not None:
            return self.instance(nodes, found, names, path, into)
        made.nodes = nodes
        made.names = found
        made.blank = dict.fromkeys(map(sys.intern, names))
        return self.placed(made, path)

    cdef Node instance(self, list nodes, list found, list names, tuple path, object into):
        cdef Made made = Made()
        made.nodes = nodes
        made.places = [-1 if name is None else names.index(name) for name in found]
        made.blank = [None] * len(names)
        made.call, made.keywords = into.called_with(names)
        return self.placed(made, path)

    cdef Node items(self, object node, tuple path, object into):
        cdef Array array
        cdef Map made
        if node.op is Step.ARRAY:
            array = Array()
            array.item = self.make(node.children[0], (*path, None), into)
            array.empty = least_bytes(node.children[0]) == 0
            return self.placed(array, path)
        made = Map()
        made.key = self.make(node.children[0], (*path, None, ".key"), None)
        made.value = self.make(node.children[1], (*path, None, ".value"), into)
        made.pairs = self.form.maps == "pairs"
        return self.placed(made, path)

    cdef Node union(self, object node, tuple path, object into):
        cdef Nullable nullable
        cdef Union made
        steps = [child.op for child in node.children]
        if len(steps) == 2 and {*steps} == {Step.ABSENT, Step.PRESENT}:
            nullable = Nullable()
            nullable.null = steps.index(Step.ABSENT)
            nullable.item = self.make(node.children[1 - nullable.null], path, into)
            return self.placed(nullable, path)
        made = Union()
        made.branches = [self.make(child, path, into) for child in node.children]
        return self.placed(made, path)

    cdef Node member(self, object node, tuple path, object into):
        cdef Member made = Member()
        made.item = self.make(node.children[0], path, into)
        if self.form.unions == "value":
            return made.item
        names = [sys.intern(self.columns[child].name) for child in self.columns[node.column].children]
        made.name = names[node.size]
        made.blank = dict.fromkeys(names)
        return self.placed(made, path)

    cdef Node default(self, object node, tuple path, object into):
        cdef Default made = Default()
        cdef Constant constant = Constant()
        cdef Cursor cursor
        made.item = self.make(node.children[0], path, into)
        made.data = node.data
        self.placed(made, path)
        _begin(&cursor, b"", 0, self.limits)
        try:
            constant.value = made.read(&cursor)
        except RowError:
            # Of the rows that reach it.
            return made
        if not isinstance(constant.value, _UNCHANGING):
            return made
        constant.cost = cursor.budget.expanded
        return self.placed(constant, path)

    cdef Node leaf(self, object node):
        op = node.op
        kind = self.columns[node.column].type
        if op is Step.BOOLEAN:
            return Boolean()
        if op is Step.INT or op is Step.LONG:
            return self.integer(node, kind)
        if op is Step.FLOAT:
            return Float()
        if op is Step.DOUBLE:
            return Double()
        if op is Step.FIXED:
            return self.fixed(node)
        if op is Step.ENUM:
            return self.enum(node)
        if op is Step.DECIMAL:
            return self.decimal_node(node, kind)
        if is_iso(node, kind):
            return self.iso(node, kind)
        if op is Step.BYTES or op is Step.STRING:
            return Text() if pa.types.is_string(kind) or pa.types.is_large_string(kind) else Bytes()
        raise ValueError(f"{op} is not an op of one value")

    cdef Node fixed(self, object node):
        cdef Fixed made = Fixed()
        made.size = node.size
        return made

    cdef Node enum(self, object node):
        cdef Enum made = Enum()
        made.symbols = tuple([None if symbol is None else sys.intern(symbol) for symbol in node.symbols])
        made.sizes = tuple([0 if symbol is None else len(symbol.encode()) for symbol in node.symbols])
        return made

    cdef Node decimal_node(self, object node, object kind):
        cdef Decimal made = Decimal()
        cdef DecimalText text = DecimalText()
        if not pa.types.is_decimal(kind):
            text.size, text.precision, text.scale = node.size, node.precision, node.scale
            return text
        made.size, made.precision, made.scale = node.size, node.precision, node.scale
        made.limit = decimal_limit(node.precision)
        return made

    cdef Node integer(self, object node, object kind):
        cdef Integer made = Integer()
        cdef IntegerToFloat real = IntegerToFloat()
        cdef Date date = Date()
        cdef Time time = Time()
        cdef Timestamp timestamp = Timestamp()
        cdef bint wide = node.op is Step.LONG
        if pa.types.is_floating(kind):
            real.wide, real.single = wide, kind.bit_width == 32
            return real
        if pa.types.is_date(kind):
            date.wide = wide
            return date
        if pa.types.is_time(kind):
            time.wide = wide
            time.day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
            return self.clock(time, kind)
        if pa.types.is_timestamp(kind):
            timestamp.wide = wide
            timestamp.factor = node.factor
            timestamp.zone = None if kind.tz is None else UTC
            return self.clock(timestamp, kind)
        made.wide, made.factor = wide, node.factor
        return made

    cdef Clock clock(self, Clock made, object kind):
        made.micros = _MICROS[kind.unit]
        made.nanos = kind.unit == "ns"
        made.floor = self.form.floor
        return made

    cdef Node iso(self, object node, object kind):
        cdef IsoText made = IsoText()
        form = ISO_DATE if pa.types.is_date(kind) else ISO_CLOCK if pa.types.is_time(kind) else ISO_ZONED
        made.form = form | ISO_UTC | (ISO_FLOOR if node.floor else 0)
        if form == ISO_DATE:
            return made
        made.digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[kind.unit]
        made.zone = UTC if form == ISO_ZONED and kind.tz is not None else None
        return self.clock(made, kind)


#: Of these values no two need be told from each other.
_UNCHANGING = (
    type(None), bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.time,
)


def _calls(node):
    """Return whether a node calls a named one."""
    return node.op is Step.CALL or any(map(_calls, node.children))


cdef int _begin(Cursor *c, bytes data, int64_t start, object limits) except -1:
    c.start = <const uint8_t *>PyBytes_AS_STRING(data)
    c.p = c.start + start
    c.end = c.start + PyBytes_GET_SIZE(data)
    c.outside = NULL
    c.frame = NULL
    set_limits(&c.budget, limits)
    c.budget.room = INT64_MAX
    c.budget.expanded = 0
    c.budget.zero_items = 0
    return 0


@cython.final
cdef class ObjectReader:
    """Reads payloads of a plan as Python objects; see `kcodec.objects.kernel.Reader`."""

    cdef Node root
    cdef Cursor blank
    cdef bint trailing

    def __init__(self, plan, limits=Limits(), form=ObjectForm(), *, trailing=False):
        into = None if form.into is None else target(form.into)
        self.root = _Maker(plan, limits, form).make(plan.root, (), into)
        self.trailing = trailing
        _begin(&self.blank, b"", 0, limits)

    cdef object read(self, object data, int64_t start):
        cdef Cursor cursor = self.blank
        cdef Py_buffer view
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
