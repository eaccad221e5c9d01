"""Avro's values that have no others below them, as Python objects."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from kcodec.formats.avro.objects._read_node cimport Cursor, Node
from kcodec.objects._make cimport (
    is_plain, make_date, make_datetime, make_decimal, make_plain, make_short_decimal, make_text, make_time,
)
from kcodec.wire.binary.cursor cimport likely, load_le32, load_le64, multiply_overflows, unlikely
from kcodec.wire.binary.decimal cimport (
    decimal_from_bytes, decimal_limit, decimal_slot_text, decimal_text_room, decimal_to_text,
)
from kcodec.wire.binary.status cimport (
    DECIMAL_PRECISION, EMPTY_DECIMAL, ENUM_INDEX, INEXACT, INVALID_BOOLEAN, INVALID_UTF8, OK, OUT_OF_RANGE,
    UNRESOLVABLE, Status,
)
from kcodec.wire.text.isotime cimport ISO_CLOCK, ISO_DATE, ISO_FLOOR, ISO_UTC, ISO_ZONED, iso_read

import datetime
import sys

import pyarrow as pa

from kcodec.columns.types.plain import SECOND_DIGITS
from kcodec.formats.avro.plans.node import Op as Step
from kcodec.formats.avro.rows._program import is_iso

cdef extern from "Python.h":
    object PyLong_FromLongLong(long long value)
    object PyFloat_FromDouble(double value)

cdef enum:
    SLOT_BYTES = 32           # of a decimal256
    SLOT_TEXT = 512           # more than its text may take

cdef object UTC = datetime.timezone.utc
#: Units of columns: what a microsecond is of them, or they of it.
cdef dict _MICROS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}
cdef str _NO_YEAR = "the year is not one of 1 to 9999, which Python's dates and times have"
cdef str _NANOSECONDS = "Python's times have no nanoseconds; round=\"truncate\" drops them"


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


@cython.final
cdef class Text(Node):
    cdef object read(self, Cursor *c):
        cdef int64_t length = self.sized(c)
        if length > 1 and is_plain(c.p - length, length):
            return make_plain(c.p - length, length)
        return self.checked(c, length)

    cdef object checked(self, const Cursor *c, int64_t length):
        try:
            return make_text(c.p - length, length)
        except UnicodeDecodeError:
            self.fail(c, INVALID_UTF8, c.p - length)


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
            self.fail(c, EMPTY_DECIMAL, at)
        if length <= 8:
            value = -1 if at[0] & 0x80 else 0
            for i in range(length):
                value = <int64_t>((<uint64_t>value << 8) | at[i])
            if unlikely(<uint64_t>(-value if value < 0 else value) > self.limit):
                self.fail(c, DECIMAL_PRECISION, at)
            return make_short_decimal(value, self.scale)
        status = decimal_from_bytes(at, length, self.precision, SLOT_BYTES // 8, slot)
        if unlikely(status != OK):
            self.fail(c, status, at)
        return make_decimal(text, decimal_slot_text(slot, SLOT_BYTES // 8, self.scale, True, text))


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
            self.fail(c, EMPTY_DECIMAL, at)
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


cdef Node make_leaf(object node, tuple columns, bint floor):
    op = node.op
    if op is Step.ABSENT or op is Step.NULL:
        return Null()
    kind = columns[node.column].type
    if op is Step.BOOLEAN:
        return Boolean()
    if op is Step.INT or op is Step.LONG:
        return _integer(node, kind, floor)
    if op is Step.FLOAT:
        return Float()
    if op is Step.DOUBLE:
        return Double()
    if op is Step.FIXED:
        return _fixed(node)
    if op is Step.ENUM:
        return _enum(node)
    if op is Step.DECIMAL:
        return _decimal_node(node, kind)
    if is_iso(node, kind):
        return _iso(node, kind, floor)
    if op is Step.BYTES or op is Step.STRING:
        return Text() if pa.types.is_string(kind) or pa.types.is_large_string(kind) else Bytes()
    raise ValueError(f"{op} is not an op of one value")


cdef Node _fixed(object node):
    cdef Fixed made = Fixed()
    made.size = node.size
    return made


cdef Node _enum(object node):
    cdef Enum made = Enum()
    made.symbols = tuple([None if symbol is None else sys.intern(symbol) for symbol in node.symbols])
    made.sizes = tuple([0 if symbol is None else len(symbol.encode()) for symbol in node.symbols])
    return made


cdef Node _decimal_node(object node, object kind):
    cdef Decimal made = Decimal()
    cdef DecimalText text = DecimalText()
    if not pa.types.is_decimal(kind):
        text.size, text.precision, text.scale = node.size, node.precision, node.scale
        return text
    made.size, made.precision, made.scale = node.size, node.precision, node.scale
    made.limit = decimal_limit(node.precision)
    return made


cdef Node _integer(object node, object kind, bint floor):
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
        return _clock(time, kind, floor)
    if pa.types.is_timestamp(kind):
        timestamp.wide = wide
        timestamp.factor = node.factor
        timestamp.zone = None if kind.tz is None else UTC
        return _clock(timestamp, kind, floor)
    made.wide, made.factor = wide, node.factor
    return made


cdef Clock _clock(Clock made, object kind, bint floor):
    made.micros = _MICROS[kind.unit]
    made.nanos = kind.unit == "ns"
    made.floor = floor
    return made


cdef Node _iso(object node, object kind, bint floor):
    cdef IsoText made = IsoText()
    form = ISO_DATE if pa.types.is_date(kind) else ISO_CLOCK if pa.types.is_time(kind) else ISO_ZONED
    made.form = form | ISO_UTC | (ISO_FLOOR if node.floor else 0)
    if form == ISO_DATE:
        return made
    made.digits = SECOND_DIGITS[kind.unit]
    made.zone = UTC if form == ISO_ZONED and kind.tz is not None else None
    return _clock(made, kind, floor)
