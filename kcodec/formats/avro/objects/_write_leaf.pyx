"""Python objects without others below them, as Avro."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.datetime cimport (
    PyDateTime_CheckExact, PyDate_CheckExact, PyTime_CheckExact, datetime_microsecond, datetime_tzinfo,
    import_datetime,
)
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from kcodec.formats.avro.objects._write_node cimport Node
from kcodec.objects._buffer cimport Buffer, put_bytes, put_number, put_sized, reserve
from kcodec.objects._exact cimport (
    PyFloat_AS_DOUBLE, PyFloat_CheckExact, PyLong_CheckExact, PyUnicode_AsUTF8AndSize, PyUnicode_CheckExact, days_of,
    micros_of, seconds_of,
)
from kcodec.wire.binary.cursor cimport multiply_overflows, store_le32, store_le64, unlikely
from kcodec.wire.binary.decimal cimport (
    decimal_bytes_room, decimal_number, decimal_number_to_bytes, decimal_parse, decimal_resize,
)
from kcodec.wire.binary.status cimport DECIMAL_PRECISION, INEXACT, OK, Status
from kcodec.wire.text.isotime cimport ISO_CLOCK, ISO_DATE, ISO_UTC, ISO_ZONED, iso_write

import datetime
import decimal
import math

import pyarrow as pa

from kcodec.columns.types.plain import PER_SECOND, SECOND_DIGITS
from kcodec.formats.avro.plans.node import Op as Step
from kcodec.formats.avro.rows._program import is_iso
from kcodec.formats.avro.schema.defaults import varint
from kcodec.objects import taken
from kcodec.objects.units import micros_each

import_datetime()

cdef object UTC = datetime.timezone.utc
cdef int64_t MICROS_OF_DAY = 86_400_000_000


@cython.final
cdef class Null(Node):
    cdef int write(self, Buffer *b, object value) except -1:
        if value is not None:
            self.fail(b, "type_mismatch", f"a {type(value).__name__} is no null")
        return 0


@cython.final
cdef class Boolean(Node):
    cdef int write(self, Buffer *b, object value) except -1:
        if value is not True and value is not False:
            value = self.take_as(b, taken.truth, value)
        reserve(b, 1)[0] = value is True
        b.used += 1
        return 0


@cython.final
cdef class Integer(Node):
    cdef bint wide

    cdef int write(self, Buffer *b, object value) except -1:
        return self.put_within(b, self.integer(b, value, taken.whole), self.wide)


@cython.final
cdef class Real(Node):
    cdef bint wide
    cdef bint exact           # a float must hold what a column of doubles does

    cdef int write(self, Buffer *b, object value) except -1:
        cdef double number
        cdef float single
        cdef uint64_t word = 0
        cdef uint32_t half = 0
        if not PyFloat_CheckExact(value):
            value = self.take_as(b, taken.real, value)
        number = PyFloat_AS_DOUBLE(value)
        if self.wide:
            memcpy(&word, &number, 8)
            store_le64(reserve(b, 8), word)
            b.used += 8
            return 0
        single = <float>number
        if unlikely(math.isinf(single) and not math.isinf(number)):
            self.fail(b, "out_of_range")
        if self.exact and single != number and not math.isnan(number):
            self.fail(b, "inexact")
        memcpy(&half, &single, 4)
        store_le32(reserve(b, 4), half)
        b.used += 4
        return 0


@cython.final
cdef class Text(Node):
    cdef int write(self, Buffer *b, object value) except -1:
        cdef Py_ssize_t size = 0
        cdef const char *text = NULL
        if unlikely(not PyUnicode_CheckExact(value)):
            value = self.take_as(b, taken.utf8, value)
            return put_sized(b, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
        try:
            text = PyUnicode_AsUTF8AndSize(value, &size)
        except UnicodeEncodeError:
            self.fail(b, "invalid_utf8")
        return put_sized(b, text, size)


@cython.final
cdef class Bytes(Node):
    cdef int write(self, Buffer *b, object value) except -1:
        if type(value) is not bytes:
            value = self.take_as(b, taken.octets, value)
        return put_sized(b, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))


@cython.final
cdef class Fixed(Node):
    cdef int64_t size

    cdef int write(self, Buffer *b, object value) except -1:
        if type(value) is not bytes:
            value = self.take_as(b, taken.octets, value)
        if PyBytes_GET_SIZE(value) != self.size:
            self.fail(b, "fixed_size")
        return put_bytes(b, PyBytes_AS_STRING(value), self.size)


@cython.final
cdef class Enum(Node):
    cdef dict symbols         # the bytes of each

    cdef int write(self, Buffer *b, object value) except -1:
        cdef PyObject *found
        if not PyUnicode_CheckExact(value):
            value = self.take_as(b, taken.utf8, value).decode()
        found = PyDict_GetItemWithError(self.symbols, value)
        if found == NULL:
            self.fail(b, "unknown_symbol")
        return put_bytes(b, PyBytes_AS_STRING(<object>found), PyBytes_GET_SIZE(<object>found))


@cython.final
cdef class Decimal(Node):
    cdef int64_t size         # 0: behind a length
    cdef int32_t scale
    cdef int64_t precision

    cdef int write(self, Buffer *b, object value) except -1:
        cdef Py_ssize_t size = 0
        cdef const char *text
        cdef decimal_number number
        cdef size_t take = 0
        cdef size_t zeros = 0
        cdef uint8_t *place
        cdef Status status
        value = self.take_as(b, taken.decimal_text, value)
        text = PyUnicode_AsUTF8AndSize(value, &size)
        status = decimal_parse(text, size, self.scale, self.precision, &number, &take, &zeros)
        if status != OK:
            self.fail(b, "inexact" if status == INEXACT else "decimal_precision")
        place = <uint8_t *>malloc(decimal_bytes_room(take + zeros))
        if place == NULL:
            raise MemoryError
        try:
            size = decimal_number_to_bytes(&number, take, zeros, place)
            if not self.size:
                return put_sized(b, place, size)
            if decimal_resize(place, size, reserve(b, self.size), self.size) == DECIMAL_PRECISION:
                self.fail(b, "decimal_precision")
            b.used += self.size
            return 0
        finally:
            free(place)


@cython.final
cdef class Date(Node):
    cdef bint wide

    cdef int write(self, Buffer *b, object value) except -1:
        if PyDate_CheckExact(value):
            return put_number(b, days_of(value))
        return self.put_within(b, self.integer(b, self.take_as(b, taken.days, value), None), self.wide)


cdef class Clock(Node):
    """Writes a time of day or a timestamp."""

    cdef bint wide
    cdef bint floor
    cdef int64_t micros       # of what is written; negative: that is so many times a microsecond

    cdef int64_t scaled(self, const Buffer *b, int64_t value, int64_t factor) except? -1:
        cdef int64_t rest
        if factor < 0:
            if unlikely(multiply_overflows(value, -factor, &value)):
                self.fail(b, "out_of_range")
            return value
        rest = value % factor
        if rest < 0:
            rest += factor
        if unlikely(rest and not self.floor):
            self.fail(b, "inexact")
        return (value - rest) // factor


@cython.final
cdef class Time(Clock):
    cdef int64_t day          # the first number that is not a time of day

    cdef int write(self, Buffer *b, object value) except -1:
        cdef int64_t number
        if PyTime_CheckExact(value):
            number = self.scaled(b, micros_of(value), self.micros)
        elif PyLong_CheckExact(value):
            number = self.integer(b, value, None)
            if not 0 <= number < self.day:
                self.fail(b, "out_of_range")
        else:
            number = self.scaled(b, self.integer(b, self.take_as(b, taken.micros_of_day, value), None), self.micros)
        return self.put_within(b, number, self.wide)


@cython.final
cdef class Timestamp(Clock):
    cdef object take

    cdef int write(self, Buffer *b, object value) except -1:
        cdef int64_t number
        if PyDateTime_CheckExact(value) and (datetime_tzinfo(value) is UTC or datetime_tzinfo(value) is None):
            number = self.scaled(b, seconds_of(value) * 1_000_000 + datetime_microsecond(value), self.micros)
        elif PyLong_CheckExact(value):
            number = self.integer(b, value, None)
        else:
            number = self.scaled(b, self.integer(b, self.take_as(b, self.take, value), None), self.micros)
        return self.put_within(b, number, self.wide)


@cython.final
cdef class IsoText(Node):
    """Writes a date or time as text."""

    cdef object take
    cdef int form
    cdef int digits           # of a second
    cdef int64_t micros       # of a unit of the column; 0: a date; negative: a microsecond is so many units

    cdef int write(self, Buffer *b, object value) except -1:
        cdef uint8_t text[32]
        cdef uint8_t *end = NULL
        cdef int64_t number = self.number(b, value)
        if self.micros < 0:
            if multiply_overflows(number, -self.micros, &number):
                self.fail(b, "out_of_range")
        elif self.micros:
            # Of columns too, what is finer than their unit makes them finer.
            if number % self.micros:
                self.fail(b, "inexact")
            number //= self.micros
        end = iso_write(number, self.form, self.digits, text)
        if end == NULL:
            self.fail(b, "out_of_range")
        return put_sized(b, text, end - text)

    cdef int64_t number(self, const Buffer *b, object value) except? -1:
        if self.form == ISO_DATE | ISO_UTC:
            if PyDate_CheckExact(value):
                return days_of(value)
        elif self.form == ISO_CLOCK | ISO_UTC:
            if PyTime_CheckExact(value):
                return micros_of(value)
        elif PyDateTime_CheckExact(value) and (datetime_tzinfo(value) is UTC or datetime_tzinfo(value) is None):
            return seconds_of(value) * 1_000_000 + datetime_microsecond(value)
        return self.integer(b, self.take_as(b, self.take, value), None)


@cython.final
cdef class Fail(Node):
    cdef str code
    cdef str reason

    cdef int write(self, Buffer *b, object value) except -1:
        self.fail(b, self.code, self.reason)


cdef Node make_leaf(object node, tuple columns, bint floor):
    cdef Fail failing
    cdef Fixed fixed
    cdef Enum symbols
    op = node.op
    if op is Step.FAIL:
        failing = Fail()
        failing.code, failing.reason = node.code, node.reason
        return failing
    kind = columns[node.column].type
    if op is Step.INT or op is Step.LONG:
        return _integer(node, kind, floor)
    if op is Step.FLOAT or op is Step.DOUBLE:
        return _real(op is Step.DOUBLE, kind.bit_width == 64)
    if op is Step.FIXED:
        fixed = Fixed()
        fixed.natural = bytes
        fixed.size = node.size
        return fixed
    if op is Step.ENUM:
        symbols = Enum()
        symbols.natural = str
        symbols.symbols = {symbol: varint(number) for number, symbol in enumerate(node.symbols)}
        return symbols
    if op is Step.DECIMAL:
        return _decimal_node(node)
    if is_iso(node, kind):
        return _iso(kind)
    return _plain({Step.NULL: Null, Step.BOOLEAN: Boolean, Step.STRING: Text, Step.BYTES: Bytes}[op])


cdef Node _plain(object kind):
    cdef Node made = kind()
    made.natural = {Boolean: bool, Text: str, Bytes: bytes}.get(kind)
    return made


cdef Node _real(bint wide, bint exact):
    cdef Real made = Real()
    made.natural = float
    made.exact = exact
    made.wide = wide
    return made


cdef Node _decimal_node(object node):
    cdef Decimal made = Decimal()
    made.natural = decimal.Decimal
    made.size, made.scale, made.precision = node.size, node.scale, node.precision
    return made


cdef Node _integer(object node, object kind, bint floor):
    cdef Integer made = Integer()
    cdef Date date = Date()
    cdef Time time = Time()
    cdef Timestamp moment = Timestamp()
    cdef bint wide = node.op is Step.LONG
    if pa.types.is_date(kind):
        date.natural, date.wide = datetime.date, wide
        return date
    if pa.types.is_time(kind):
        time.natural = datetime.time
        _clock(time, node, kind, floor)
        time.day = MICROS_OF_DAY // time.micros if time.micros > 0 else MICROS_OF_DAY * -time.micros
        return time
    if pa.types.is_timestamp(kind):
        moment.take = taken.local_micros if kind.tz is None else taken.micros
        return _clock(moment, node, kind, floor)
    made.natural, made.wide = int, wide
    return made


cdef Node _clock(Clock made, object node, object kind, bint floor):
    made.natural = made.natural or datetime.datetime
    made.wide = node.op is Step.LONG
    made.floor = floor
    made.micros = micros_each(PER_SECOND[kind.unit], node.factor)
    return made


cdef Node _iso(object kind):
    cdef IsoText made = IsoText()
    made.form = ISO_DATE | ISO_UTC
    made.take = taken.days
    made.natural = datetime.date
    if not pa.types.is_date(kind):
        is_time = pa.types.is_time(kind)
        made.form = (ISO_CLOCK if is_time else ISO_ZONED) | ISO_UTC
        made.digits = SECOND_DIGITS[kind.unit]
        made.take = (
            taken.micros_of_day if is_time else taken.local_micros if kind.tz is None else taken.micros
        )
        made.natural = datetime.time if is_time else datetime.datetime
        made.micros = micros_each(PER_SECOND[kind.unit], 1)
    return made
