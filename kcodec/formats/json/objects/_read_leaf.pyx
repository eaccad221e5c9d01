"""Values of JSON without others in them to Python objects; what is odd is left to columns."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

from kcodec.formats.json.objects._read_node cimport LONGEST, Cursor, Node, plain_string
from kcodec.objects._make cimport make_date, make_datetime, make_short_decimal, make_text, make_time
from kcodec.objects._quick cimport odd
from kcodec.wire.binary.cursor cimport likely, unlikely
from kcodec.wire.binary.status cimport OK
from kcodec.wire.text._floats cimport json_double, powers_of_five, read_double, read_single
from kcodec.wire.text.base64 cimport base64_decode
from kcodec.wire.text.isotime cimport ISO_CLOCK, ISO_DATE, ISO_FLOOR, ISO_LOCAL, ISO_UTC, ISO_ZONED, iso_read
from kcodec.wire.text.json cimport (
    JSON_MARGIN, JsonFault, json_long, json_number, json_plain, json_short, json_skip, json_skip_string, json_string,
    json_truth, pow10,
)

import datetime

import pyarrow as pa

from kcodec.columns.types.plain import SECOND_DIGITS
from kcodec.formats.json.node import Form, Op as Step
from kcodec.formats.json.objects._read_node import Unknown

__all__ = []

cdef enum:
    BASE64_LETTERS = 12       # of a decimal of 64 bits

cdef object UTC = datetime.timezone.utc
cdef object _ONE = 1
cdef dict _MICROS = {"s": 1_000_000, "ms": 1000, "us": 1}


@cython.final
cdef class Nothing(Node):
    cdef object read(self, Cursor *c):
        odd()


@cython.final
cdef class Boolean(Node):
    cdef object read(self, Cursor *c):
        cdef uint8_t truth = 0
        if c.p[0] != 116 and c.p[0] != 102:
            odd()
        c.p = json_truth(c.p, c.end, &truth)
        if c.p == NULL:
            odd()
        return truth == 1


cdef class Integer(Node):
    cdef int64_t low
    cdef int64_t high

    cdef inline int64_t number(self, Cursor *c) except? -1:
        cdef int64_t value = 0
        cdef int fraction = 0
        cdef const uint8_t *at = json_short(c.p, c.end, &value, &fraction)
        if unlikely(at == NULL):
            at = json_long(c.p, c.end, &value)
        if unlikely(at == NULL or fraction or value < self.low or value > self.high):
            odd()
        c.p = at
        return value

    cdef object read(self, Cursor *c):
        return self.number(c)


@cython.final
cdef class Days(Integer):
    """A date as the number of its day since 1970-01-01."""

    cdef object read(self, Cursor *c):
        made = make_date(self.number(c))
        if unlikely(made is None):
            odd()
        return made


@cython.final
cdef class Ticks(Integer):
    """A time of day or a timestamp as a number."""

    cdef int64_t parts        # of one, of which a microsecond is one or a thousand
    cdef bint is_nanos
    cdef bint is_clock
    cdef object zone

    cdef object read(self, Cursor *c):
        cdef int64_t value = self.number(c) * self.parts
        if self.is_nanos:
            if unlikely(value % 1000):
                odd()
            value //= 1000
        if self.is_clock:
            return make_time(value)
        made = make_datetime(value, self.zone)
        if unlikely(made is None):
            odd()
        return made


@cython.final
cdef class Real(Node):
    cdef bint single
    cdef bint canonical       # a zero may be written as none is to be

    cdef object read(self, Cursor *c):
        cdef double value = 0
        cdef float single = 0
        cdef const uint8_t *at = NULL
        cdef JsonFault fault
        cdef bint finite = True
        if c.p[0] != 45 and not 48 <= c.p[0] <= 57:
            odd()
        if not self.single:
            at = json_double(c.p, c.end, powers_of_five, &value)
        if at == NULL:
            at = json_number(c.p, c.end, &fault)
            if at == NULL or at - c.p > LONGEST:
                odd()
            if self.single:
                finite = read_single(c.p, at, &single)
                value = single
            else:
                finite = read_double(c.p, at, &value)
        if unlikely(not finite or value == 0 and self.canonical):
            odd()
        c.p = at
        return value


@cython.final
cdef class Decimal(Node):
    cdef int32_t scale
    cdef int32_t precision    # at most 18
    cdef bint quoted          # numbers may stand in a string
    cdef bint encoded         # a string is the Base64 of unscaled bytes

    cdef object from_base64(self, Cursor *c):
        cdef int64_t size = plain_string(c)
        cdef uint8_t data[BASE64_LETTERS + JSON_MARGIN]
        cdef int64_t at
        cdef int64_t value
        if size > BASE64_LETTERS:
            odd()
        size = base64_decode(c.p - 1 - size, size, data)
        if size <= 0 or size > 8:
            odd()
        value = <int8_t>data[0]
        for at in range(1, size):
            value = <int64_t>(<uint64_t>value << 8 | data[at])
        if <uint64_t>(0 - <uint64_t>value if value < 0 else <uint64_t>value) >= pow10[self.precision]:
            odd()
        return make_short_decimal(value, self.scale)

    cdef object read(self, Cursor *c):
        cdef int64_t value = 0
        cdef int fraction = 0
        cdef bint in_string = self.quoted and c.p[0] == 34
        cdef const uint8_t *at = json_short(c.p + in_string, c.end, &value, &fraction)
        cdef int32_t shift = self.scale - fraction
        cdef int32_t room = self.precision - shift
        if self.encoded and c.p[0] == 34:
            return self.from_base64(c)
        if unlikely(at == NULL or shift < 0 or room < 0 or in_string and at[0] != 34):
            odd()
        if unlikely(<uint64_t>(-value if value < 0 else value) >= pow10[room]):
            odd()
        c.p = at + in_string
        return make_short_decimal(value * <int64_t>pow10[shift], self.scale)


cdef object escaped(Cursor *c, const uint8_t *stop):
    """Make the text of a string with escapes that ends at a position, behind its quote."""
    cdef JsonFault fault
    cdef int64_t size = 0
    cdef uint8_t *text = <uint8_t *>malloc(stop - c.p + JSON_MARGIN)
    if text == NULL:
        raise MemoryError
    try:
        if json_string(c.p + 1, c.end, text, &size, &fault) == NULL:
            odd()
        return make_text(text, size)
    finally:
        free(text)


@cython.final
cdef class Text(Node):
    cdef object read(self, Cursor *c):
        cdef const uint8_t *first = c.p + 1
        cdef const uint8_t *at
        cdef JsonFault fault
        if unlikely(c.p[0] != 34):
            odd()
        at = json_plain(first, c.end, NULL)
        if likely(at < c.end and at[0] == 34):
            c.p = at + 1
            return make_text(first, at - first)
        at = json_skip_string(first, c.end, &fault)
        if at == NULL:
            odd()
        made = escaped(c, at)
        c.p = at
        return made


@cython.final
cdef class Bytes(Node):
    cdef object read(self, Cursor *c):
        cdef int64_t size = plain_string(c)
        cdef int64_t found
        cdef uint8_t *data = <uint8_t *>malloc(size + JSON_MARGIN)
        if data == NULL:
            raise MemoryError
        try:
            found = base64_decode(c.p - 1 - size, size, data)
            if found < 0:
                odd()
            return PyBytes_FromStringAndSize(<const char *>data, found)
        finally:
            free(data)


@cython.final
cdef class Moment(Node):
    """A date, a time of day or a timestamp in text."""

    cdef int form
    cdef int digits
    cdef int64_t micros       # of a unit
    cdef object zone

    cdef object read(self, Cursor *c):
        cdef int64_t size = plain_string(c)
        cdef int64_t value = 0
        if iso_read(c.p - 1 - size, size, self.form, self.digits, &value) != OK:
            odd()
        if self.form & 7 == ISO_DATE:
            made = make_date(value)
        elif self.form & 7 == ISO_CLOCK:
            made = make_time(value * self.micros)
        else:
            # The years of ISO's text have no more microseconds than 64 bits hold.
            made = make_datetime(value * self.micros, self.zone)
        if made is None:
            odd()
        return made


@cython.final
cdef class Raw(Node):
    """The text of a value, whatever it is."""

    cdef int levels           # that may be nested in it
    cdef bint binary

    cdef object read(self, Cursor *c):
        cdef const uint8_t *first = c.p
        cdef JsonFault fault
        c.p = json_skip(first, c.end, self.levels, &fault)
        if c.p == NULL:
            odd()
        if self.binary:
            return PyBytes_FromStringAndSize(<const char *>first, c.p - first)
        return make_text(first, c.p - first)


cdef Node make_leaf(object node, object kind, int levels):
    """Make what reads a value that has no others in it."""
    cdef Raw raw = Raw()
    op = node.op
    if op is Step.JSON_NULL:
        return Nothing()
    if op is Step.JSON_BOOLEAN:
        return Boolean()
    if op is Step.JSON_INTEGER:
        return integer(node, kind)
    if op is Step.JSON_FLOAT:
        return real(node, kind)
    if op is Step.JSON_DECIMAL:
        return decimal(node, kind)
    if op is Step.JSON_STRING:
        return Text()
    if op is Step.JSON_BYTES and not pa.types.is_fixed_size_binary(kind):
        return Bytes()
    if op is Step.JSON_TIME:
        return moment(node, kind)
    if op is Step.JSON_TEXT:
        raw.levels = levels
        raw.binary = not (pa.types.is_string(kind) or pa.types.is_large_string(kind))
        return raw
    raise Unknown


cdef Node integer(object node, object kind):
    cdef Integer made
    cdef Ticks ticks = Ticks()
    # Not numbers of C, which these do not fit.
    factor = node.factor
    bits = kind.bit_width - 1 + pa.types.is_unsigned_integer(kind)
    low, high = 0 if pa.types.is_unsigned_integer(kind) else -(_ONE << bits), (_ONE << bits) - 1
    if pa.types.is_integer(kind) and factor == 1:
        made = Integer()
    elif pa.types.is_date32(kind) and factor == 1:
        made = Days()
    elif pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        if pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC"):
            raise Unknown
        ticks.is_nanos = kind.unit == "ns"
        ticks.is_clock = pa.types.is_time(kind)
        if ticks.is_clock:
            low, high = 0, 86400 * 10 ** SECOND_DIGITS[kind.unit] - 1
        elif kind.tz is not None:
            ticks.zone = UTC
        low, high = -(-low // factor), high // factor
        factor *= _MICROS.get(kind.unit, 1)
        ticks.parts = factor
        if not ticks.is_nanos:
            # What is beyond is in no year that Python has.
            low, high = max(low, -(_ONE << 62) // factor), min(high, (_ONE << 62) // factor)
        made = ticks
    else:
        raise Unknown
    if node.bounds:
        low, high = max(low, node.bounds[0]), min(high, node.bounds[1])
    made.low, made.high = low, min(high, (_ONE << 63) - 1)
    return made


cdef Node real(object node, object kind):
    cdef Real made = Real()
    made.canonical = bool(node.forms & Form.CANONICAL)
    made.single = pa.types.is_float32(kind)
    return made


cdef Node decimal(object node, object kind):
    cdef Decimal made = Decimal()
    encoded = bool(node.forms & Form.BASE64)
    if kind.scale < 0 or kind.scale > 18 or encoded and node.scale != kind.scale:
        raise Unknown
    made.encoded = encoded
    made.scale = kind.scale
    made.precision = min(kind.precision, 18)
    made.quoted = bool(node.forms & Form.TEXT)
    return made


cdef Node moment(object node, object kind):
    cdef Moment made = Moment()
    made.form = (ISO_UTC if node.forms & Form.UTC else 0) | (ISO_FLOOR if node.floor else 0)
    if pa.types.is_date32(kind):
        made.form |= ISO_DATE
        return made
    if pa.types.is_date(kind) or kind.unit == "ns":
        raise Unknown
    made.digits = SECOND_DIGITS[kind.unit]
    made.micros = _MICROS[kind.unit]
    if pa.types.is_time(kind):
        made.form |= ISO_CLOCK
        return made
    if kind.tz not in (None, "UTC"):
        raise Unknown
    made.zone = None if kind.tz is None else UTC
    made.form |= ISO_ZONED if kind.tz or node.forms & Form.UTC else ISO_LOCAL
    return made
