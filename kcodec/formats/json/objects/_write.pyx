"""Python objects to JSON documents, by the plans that columns are written by.

The forms are those of `_encode.pyx`. What is wrong, and what is seldom, is left to columns (`kcodec.objects._quick`):
values that are not of a column's own type, unknown keys, unions, tuples, JSON that is kept as text, numbers that are
not finite.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.datetime cimport (
    PyDateTime_CheckExact, PyDate_CheckExact, PyTime_CheckExact, datetime_microsecond, datetime_tzinfo,
    import_datetime, time_tzinfo,
)
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from kcodec.objects._buffer cimport Buffer, put_bytes, reserve
from kcodec.objects._exact cimport (
    PyBytes_CheckExact, PyLong_AsLongLongAndOverflow, PyLong_CheckExact, PyUnicode_AsUTF8AndSize, PyUnicode_CheckExact,
    days_of, micros_of, seconds_of,
)
from kcodec.objects._find cimport find
from kcodec.objects._quick cimport QuickWriter, odd, real_of
from kcodec.wire.binary.cursor cimport multiply_overflows, unlikely
from kcodec.wire.binary.decimal cimport (
    decimal_from_text, decimal_put_integer, decimal_slot_text, decimal_text_room, decimal_to_bytes, decimal_to_word,
)
from kcodec.wire.binary.status cimport OK
from kcodec.wire.text._floats cimport put_double, put_single
from kcodec.wire.text.base64 cimport base64_encode, base64_put_word
from kcodec.wire.text.isotime cimport ISO_CLOCK, ISO_DATE, ISO_LOCAL, ISO_UTC, ISO_ZONED, iso_write
from kcodec.wire.text.json cimport json_put_string

import datetime
import decimal
import sys

import pyarrow as pa

from kcodec.columns.types.layout import layout
from kcodec.columns.types.plain import PER_SECOND, SECOND_DIGITS
from kcodec.formats.json.node import JSON_KINDS, Form, Op as Step
from kcodec.java.jackson import quote
from kcodec.java.numbers import integer_bounds
from kcodec.objects.units import micros_each

__all__ = ["object_writer"]

import_datetime()

cdef enum:
    ROOM = 64                 # for a number or a time
    SHORT = 64                # bytes of text that is copied before it is written, so that some behind it may be read
    LONG = 1 << 20            # bytes of text that is left to columns: it may become six times as long

cdef enum Null:
    NULL_ODD
    NULL_WRITTEN
    NULL_OMITTED              # with its key

cdef frozenset _KINDS = frozenset([*JSON_KINDS.values(), "integer"])
cdef object UTC = datetime.timezone.utc
cdef object Decimal = decimal.Decimal


cdef class Node:
    """Writes the values of a column."""

    cdef Null null
    cdef bint quoted          # a number or boolean stands in quotes

    cdef int put(self, Buffer *b, object value) except -1:
        """Write a value that is not None."""
        raise NotImplementedError

    cdef inline int put_any(self, Buffer *b, object value) except -1:
        """Write a value, or null."""
        if value is not None:
            return self.put(b, value)
        if unlikely(self.null == NULL_ODD):
            odd()
        return put_bytes(b, <const char *>b"null", 4)

    cdef inline uint8_t *begin(self, Buffer *b) except NULL:
        """Return where a number goes, behind its quote."""
        cdef uint8_t *out = reserve(b, ROOM)
        out[0] = 34
        return out + self.quoted

    cdef int put_number(self, Buffer *b, int64_t number) except -1:
        cdef uint8_t *out = self.begin(b)
        out[0] = 45
        out += number < 0
        out += decimal_put_integer(0 - <uint64_t>number if number < 0 else <uint64_t>number, <char *>out)
        return self.end(b, out)

    cdef inline int end(self, Buffer *b, uint8_t *out) except -1:
        """Note that a number ends here, but for its quote."""
        out[0] = 34
        b.used = out + self.quoted - b.data
        return 0


cdef inline int put_char(Buffer *b, char character) except -1:
    reserve(b, 1)[0] = character
    b.used += 1
    return 0


@cython.final
cdef class Text(Node):
    cdef bint escaped

    cdef int put(self, Buffer *b, object value) except -1:
        cdef uint8_t local[2 * SHORT]
        cdef Py_ssize_t size = 0
        cdef const uint8_t *at
        cdef const uint8_t *limit
        cdef uint8_t *out
        if unlikely(not PyUnicode_CheckExact(value)):
            odd()
        at = <const uint8_t *>PyUnicode_AsUTF8AndSize(value, &size)
        limit = at + size
        if size <= SHORT:
            memcpy(local, at, size)
            at = local
            limit = at + 2 * SHORT
        elif size > LONG:
            odd()
        out = reserve(b, 6 * size + 40)
        b.used = json_put_string(at, size, limit, out, self.escaped) - b.data
        return 0


@cython.final
cdef class Whole(Node):
    cdef int64_t low
    cdef int64_t high
    cdef bint beyond          # numbers of 64 bits without a sign, too

    cdef int put(self, Buffer *b, object value) except -1:
        cdef int overflow = 0
        cdef int64_t number
        cdef uint64_t magnitude = 0
        cdef uint8_t *out
        if unlikely(not PyLong_CheckExact(value)):
            odd()
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if unlikely(overflow):
            if not self.beyond or not 0 <= value < 1 << 64:
                odd()
            magnitude = value
            out = self.begin(b)
            return self.end(b, out + decimal_put_integer(magnitude, <char *>out))
        if unlikely(number < self.low or number > self.high):
            odd()
        return self.put_number(b, number)


@cython.final
cdef class Real(Node):
    cdef bint single
    cdef int64_t exact        # integers up to this one are held exactly

    cdef int put(self, Buffer *b, object value) except -1:
        cdef double real = real_of(value, self.exact)
        cdef float narrow
        cdef uint8_t *out = self.begin(b)
        if self.single:
            narrow = <float>real
            if unlikely(narrow - narrow != 0):
                odd()
            return self.end(b, put_single(narrow, out))
        if unlikely(real - real != 0):
            odd()
        return self.end(b, put_double(real, out))


@cython.final
cdef class Truth(Node):
    cdef int put(self, Buffer *b, object value) except -1:
        cdef uint8_t *out = self.begin(b)
        if value is True:
            memcpy(out, <const char *>b"true", 4)
            return self.end(b, out + 4)
        if unlikely(value is not False):
            odd()
        memcpy(out, <const char *>b"false", 5)
        return self.end(b, out + 5)


@cython.final
cdef class DecimalNumber(Node):
    cdef int32_t words
    cdef int32_t scale
    cdef int32_t precision
    cdef bint plain
    cdef bint encoded         # unscaled bytes in Base64

    cdef int put(self, Buffer *b, object value) except -1:
        cdef uint8_t slot[32]
        cdef Py_ssize_t size = 0
        cdef const char *text
        cdef uint8_t *out
        if unlikely(type(value) is not Decimal):
            odd()
        value = str(value)
        text = PyUnicode_AsUTF8AndSize(value, &size)
        if decimal_from_text(text, size, self.scale, self.precision, self.words, slot) != OK:
            odd()
        if self.encoded:
            return self.put_encoded(b, slot)
        reserve(b, ROOM + decimal_text_room(8 * self.words, self.scale, self.plain))
        out = self.begin(b)
        out += decimal_slot_text(slot, self.words, self.scale, self.plain, <char *>out)
        return self.end(b, out)

    cdef int put_encoded(self, Buffer *b, const uint8_t *slot) except -1:
        cdef uint8_t bytes[40]
        cdef uint64_t word = 0
        cdef int size = decimal_to_word(slot, self.words, &word)
        cdef uint8_t *out = reserve(b, ROOM)
        out[0] = 34
        if size:
            out = base64_put_word(word, size, out + 1)
        else:
            out = base64_encode(bytes, decimal_to_bytes(slot, self.words, bytes), out + 1)
        out[0] = 34
        b.used = out + 1 - b.data
        return 0


@cython.final
cdef class Bytes(Node):
    cdef Py_ssize_t size      # -1: any

    cdef int put(self, Buffer *b, object value) except -1:
        cdef Py_ssize_t size
        cdef uint8_t *out
        if unlikely(not PyBytes_CheckExact(value)):
            odd()
        size = PyBytes_GET_SIZE(value)
        if unlikely(self.size >= 0 and size != self.size):
            odd()
        out = reserve(b, 4 * ((size + 2) // 3) + 8)
        out[0] = 34
        out = base64_encode(<const uint8_t *>PyBytes_AS_STRING(value), size, out + 1)
        out[0] = 34
        b.used = out + 1 - b.data
        return 0


@cython.final
cdef class Time(Node):
    """Writes dates and times in ISO 8601, or as numbers."""

    cdef int form
    cdef int kind
    cdef int digits           # of a second
    cdef int64_t micros       # of a unit of the column
    cdef int64_t each         # microseconds of a number; negative: a microsecond is so many of them
    cdef int64_t low
    cdef int64_t high
    cdef bint counted         # a number is written
    cdef bint floor           # the rest of that is dropped

    cdef int put(self, Buffer *b, object value) except -1:
        cdef int64_t number
        cdef uint8_t *out
        if self.kind == ISO_DATE:
            if not PyDate_CheckExact(value):
                odd()
            number = days_of(value)
        else:
            number = self.clock(value) if self.kind == ISO_CLOCK else self.moment(value)
            if unlikely(number % self.micros):
                odd()
            number = self.number(number) if self.counted else number // self.micros
        if self.counted:
            if unlikely(number < self.low or number > self.high):
                odd()
            return self.put_number(b, number)
        out = reserve(b, ROOM)
        out[0] = 34
        out = iso_write(number, self.form, self.digits, out + 1)
        if unlikely(out == NULL):
            odd()
        out[0] = 34
        b.used = out + 1 - b.data
        return 0

    cdef inline int64_t number(self, int64_t micros) except? -1:
        cdef int64_t rest = 0
        if unlikely(self.digits == 9 and multiply_overflows(micros, 1000, &rest)):
            # The column does not hold it, whatever is written.
            odd()
        if self.each < 0:
            if unlikely(multiply_overflows(micros, -self.each, &micros)):
                odd()
            return micros
        rest = micros % self.each
        if rest < 0:
            rest += self.each
        if unlikely(rest and not self.floor):
            odd()
        return (micros - rest) // self.each

    cdef int64_t clock(self, object value) except? -1:
        if not PyTime_CheckExact(value) or time_tzinfo(value) is not None:
            odd()
        return micros_of(value)

    cdef int64_t moment(self, object value) except? -1:
        if not PyDateTime_CheckExact(value):
            odd()
        zone = datetime_tzinfo(value)
        if zone is not None and (zone is not UTC or self.kind == ISO_LOCAL):
            odd()
        return seconds_of(value) * 1_000_000 + datetime_microsecond(value)


@cython.final
cdef class Items(Node):
    cdef Node item

    cdef int put(self, Buffer *b, object value) except -1:
        cdef bint following = False
        if type(value) is not list:
            odd()
        put_char(b, 91)
        for item in <list>value:
            if following:
                put_char(b, 44)
            self.item.put_any(b, item)
            following = True
        return put_char(b, 93)


@cython.final
cdef class Entries(Node):
    """Writes a map as an object, or as a list of pairs, each a list."""

    cdef Node key
    cdef Node item
    cdef bint paired

    cdef int put(self, Buffer *b, object value) except -1:
        cdef bint following = False
        if type(value) is dict:
            value = list((<dict>value).items())
        elif type(value) is not list:
            odd()
        put_char(b, 91 if self.paired else 123)
        for pair in <list>value:
            if type(pair) is not tuple or len(<tuple>pair) != 2 or (<tuple>pair)[0] is None:
                odd()
            if following:
                put_char(b, 44)
            if self.paired:
                put_char(b, 91)
            self.key.put(b, (<tuple>pair)[0])
            put_char(b, 44 if self.paired else 58)
            self.item.put_any(b, (<tuple>pair)[1])
            if self.paired:
                put_char(b, 93)
            following = True
        return put_char(b, 93 if self.paired else 125)


@cython.final
cdef class Object(Node):
    cdef list names
    cdef list keys            # as they are written, with the comma before and the colon behind
    cdef list nodes
    cdef bint fills           # a missing key is null
    cdef bint alone           # a missing key is not written, whatever a null is
    cdef bint whole           # no key may be missing

    cdef int put(self, Buffer *b, object value) except -1:
        cdef Py_ssize_t at
        cdef Py_ssize_t seen = 0
        cdef int64_t start = b.used
        cdef PyObject *found
        cdef Node node
        if type(value) is not dict:
            odd()
        for at in range(len(self.nodes)):
            node = <Node>PyList_GET_ITEM(self.nodes, at)
            item = None
            if find(value, <object>PyList_GET_ITEM(self.names, at), &found):
                item = <object>found
                Py_DECREF(item)
                seen += 1
            elif not self.fills and (self.alone and not self.whole or node.null == NULL_OMITTED):
                continue
            elif unlikely(not self.fills):
                odd()
            if item is None and node.null == NULL_OMITTED:
                continue
            key = <object>PyList_GET_ITEM(self.keys, at)
            put_bytes(b, PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
            node.put_any(b, item)
        if unlikely(seen != len(<dict>value)) or not seen and not self.fills:
            odd()
        if b.used == start:
            put_char(b, 123)
        else:
            # Over the first comma.
            b.data[start] = 123
        return put_char(b, 125)


@cython.final
cdef class Odd(Node):
    """Leaves all that is not None to columns."""

    cdef int put(self, Buffer *b, object value) except -1:
        return odd()


cdef class _Maker:
    """Makes nodes of those of a plan."""

    cdef tuple columns
    cdef bint fills

    def __init__(self, plan, fills):
        self.columns = layout(plan.arrow_type)
        self.fills = fills

    cdef Node node(self, object node, bint alone):
        """Make what writes a column; `alone` if no other value of the row has its type."""
        cdef Node made = self.kind(node, alone)
        forms = node.forms
        made.quoted = bool(forms & Form.TEXT)
        made.null = (
            NULL_ODD if node.data else NULL_OMITTED if forms & Form.ABSENT else NULL_WRITTEN if forms & Form.NULL
            else NULL_ODD
        )
        return made

    cdef Node kind(self, object node, bint alone):
        cdef Items items
        cdef Entries entries
        cdef Text text
        cdef Bytes data
        cdef DecimalNumber number
        cdef Time time
        op = node.op
        if op is Step.JSON_OBJECT and node.column >= 0:
            return self.object(node, alone)
        if op is Step.JSON_LIST and node.children[0].column >= 0:
            items = Items()
            items.item = self.node(node.children[0], False)
            return items
        if op is Step.JSON_MAP or self.is_paired(node):
            entries = Entries()
            entries.paired = op is not Step.JSON_MAP
            key, item = node.children[0].children if entries.paired else node.children
            entries.key, entries.item = self.node(key, False), self.node(item, False)
            return entries
        if op is Step.JSON_BOOLEAN:
            return Truth()
        if node.column < 0:
            return Odd()
        stored = self.columns[node.column].type
        if op is Step.JSON_STRING:
            text = Text()
            text.escaped = bool(node.forms & Form.ESCAPED)
            return text
        if op is Step.JSON_INTEGER and pa.types.is_integer(stored) and node.factor == 1:
            return self.whole(node, stored)
        if op is Step.JSON_INTEGER and is_counted(stored, node.factor):
            time = self.time(node, stored)
            time.counted = True
            return time
        if op is Step.JSON_FLOAT:
            return self.real(stored)
        if op is Step.JSON_DECIMAL and stored.scale >= 0:
            number = DecimalNumber()
            number.encoded = bool(node.forms & Form.BASE64)
            if number.encoded and (node.scale != stored.scale or (node.precision or 76) < stored.precision):
                return Odd()
            number.words, number.scale, number.precision = stored.byte_width // 8, stored.scale, stored.precision
            number.plain = not node.forms & Form.SCIENTIFIC
            return number
        if op is Step.JSON_BYTES:
            data = Bytes()
            data.size = stored.byte_width if pa.types.is_fixed_size_binary(stored) else -1
            return data
        if op is Step.JSON_TIME and is_time(stored):
            return self.time(node, stored)
        return Odd()

    cdef bint is_paired(self, object node):
        """Return whether a node writes a map as a list of pairs."""
        if node.op is not Step.JSON_LIST or node.children[0].op is not Step.JSON_TUPLE or node.column < 0:
            return False
        return pa.types.is_map(self.columns[node.column].type)

    cdef Node object(self, object node, bint alone):
        cdef Object made = Object()
        made.names = [sys.intern(child.name) for child in node.children]
        made.keys = [
            f",{quote(child.name, escape_surrogates=bool(child.forms & Form.ESCAPED))}:".encode()
            for child in node.children
        ]
        made.nodes = [Odd() if child.op is Step.JSON_REST else self.node(child, alone) for child in node.children]
        made.fills = self.fills
        made.alone = alone
        # With fewer fields such a struct may be taken for the members of a union.
        made.whole = not _KINDS.isdisjoint(made.names)
        return made

    cdef Node whole(self, object node, object stored):
        cdef Whole made = Whole()
        bits = stored.bit_width
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if not pa.types.is_signed_integer(stored):
            low, high = 0, (1 << bits) - 1
        if node.bounds:
            low, high = max(low, node.bounds[0]), min(high, node.bounds[1])
        made.low, made.high = low, min(high, 0x7FFF_FFFF_FFFF_FFFF)
        made.beyond = high == 0xFFFF_FFFF_FFFF_FFFF
        return made

    cdef Node real(self, object stored):
        cdef Real made = Real()
        made.single = pa.types.is_float32(stored)
        made.exact = 0x100_0000 if made.single else 0x20_0000_0000_0000
        return made

    cdef Time time(self, object node, object stored):
        cdef Time made = Time()
        if pa.types.is_date(stored):
            made.kind = ISO_DATE
        else:
            made.kind = ISO_CLOCK
            made.digits = SECOND_DIGITS[stored.unit]
            made.micros = max(1_000_000 // PER_SECOND[stored.unit], 1)
            made.each = micros_each(PER_SECOND[stored.unit], node.factor)
            if pa.types.is_timestamp(stored):
                made.kind = ISO_ZONED if stored.tz else ISO_LOCAL
        low, high = integer_bounds(64)
        made.low, made.high = low, high
        if node.bounds:
            made.low, made.high = (min(max(each, low), high) for each in node.bounds)
        made.floor = node.floor
        made.form = made.kind
        if node.forms & Form.UTC:
            made.form = (ISO_ZONED if made.kind == ISO_LOCAL else made.kind) | ISO_UTC
        return made


cdef bint is_time(object stored):
    """Return whether a column holds dates or times as Python has them."""
    types = pa.types
    if types.is_timestamp(stored) or types.is_time(stored):
        return stored.unit != "ns"
    return types.is_date32(stored)


cdef bint is_counted(object stored, object factor):
    """Return whether a column holds dates or times of which numbers are written, of units up to a second."""
    types = pa.types
    if types.is_timestamp(stored) or types.is_time(stored):
        return factor <= PER_SECOND[stored.unit]
    return types.is_date32(stored) and factor == 1


@cython.final
cdef class ObjectWriter(QuickWriter):
    cdef Node root
    cdef bytes before
    cdef bytes behind

    cdef int write_plain(self, Buffer *b, object value) except -1:
        put_bytes(b, PyBytes_AS_STRING(self.before), PyBytes_GET_SIZE(self.before))
        self.root.put(b, value)
        return put_bytes(b, PyBytes_AS_STRING(self.behind), PyBytes_GET_SIZE(self.behind))


def object_writer(plan, columns, *, fills, before=b"", behind=b""):
    """Return what writes the documents of a plan; see `kcodec.formats.json.objects.kernel`."""
    cdef ObjectWriter made = ObjectWriter(columns)
    cdef _Maker maker = _Maker(plan, fills)
    made.root = maker.node(plan.root, True)
    made.before, made.behind = before, behind
    return made
