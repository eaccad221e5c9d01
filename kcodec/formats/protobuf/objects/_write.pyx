"""Python objects to Protobuf's messages, by the plans that columns are written by.

The order and the rules are those of `_put.pyx`. What is wrong, and what is seldom, is left to columns
(`kcodec.objects._quick`): values that are not of a field's own type, keys that are no field, two members of a oneof,
groups.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.datetime cimport (
    PyDateTime_CheckExact, PyDelta_CheckExact, datetime_microsecond, datetime_tzinfo, import_datetime, timedelta_days,
    timedelta_microseconds, timedelta_seconds,
)
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.formats.protobuf.rows._put cimport put_length
from kcodec.objects._buffer cimport Buffer, reserve
from kcodec.objects._exact cimport (
    PyBytes_CheckExact, PyLong_AsLongLongAndOverflow, PyLong_CheckExact, PyUnicode_AsUTF8AndSize, PyUnicode_CheckExact,
    seconds_of,
)
from kcodec.objects._find cimport find
from kcodec.objects._quick cimport QuickWriter, odd, real_of
from kcodec.wire.binary.cursor cimport load_le64, store_le32, store_le64, unlikely, write_varint, zigzag64

import datetime
import decimal
import sys

import pyarrow as pa

from kcodec.columns.types.layout import layout
from kcodec.formats.protobuf.messages.wire import BYTES, wire_type_of
from kcodec.formats.protobuf.objects.kernel import message_in
from kcodec.formats.protobuf.plans.node import Op as Step
from kcodec.formats.protobuf.plans.plan import SECONDS
from kcodec.plan.failure import RowError

__all__ = ["object_writer"]

import_datetime()

cdef enum:
    ROOM = 64                 # for a tag, and what follows it but text, bytes and the fields of messages
    MAX_ONEOFS = 63           # of a message that is written here: a bit for each
    FEW = 8                   # parts of a value that are converted one by one, at most

cdef object UTC = datetime.timezone.utc
cdef object Decimal = decimal.Decimal


cdef class Node:
    """Writes the values of a field."""

    cdef uint64_t tag         # as it stands in memory
    cdef int32_t tag_size
    cdef bint always          # also the default
    cdef bint needed
    cdef uint64_t oneof       # the bit of the oneof of which it is a member

    cdef int put(self, Buffer *b, object value) except -1:
        """Write a value that is not None, behind its tag."""
        raise NotImplementedError

    cdef inline uint8_t *begin(self, Buffer *b) except NULL:
        """Write the tag; return the place behind it, where there is room for `ROOM` - 8 bytes."""
        cdef uint8_t *out = reserve(b, ROOM)
        store_le64(out, self.tag)
        b.used += self.tag_size
        return out + self.tag_size

    cdef inline int64_t open(self, Buffer *b) except -1:
        """Write the tag of what stands behind its length; return where it begins."""
        self.begin(b)
        b.used += 1
        return b.used


cdef inline int close(Buffer *b, int64_t start) except -1:
    """Write the length of what begins at a place, before it."""
    reserve(b, 10)
    b.used = put_length(b.data + start, b.data + b.used) - b.data
    return 0


cdef class Number(Node):
    """Writes numbers: as varints, or in four or eight bytes."""

    cdef int32_t width        # 0: a varint

    cdef uint64_t bits(self, object value) except? 1:
        """Return the bits that stand for a value."""
        raise NotImplementedError

    cdef int put(self, Buffer *b, object value) except -1:
        cdef uint64_t bits = self.bits(value)
        if bits or self.always:
            self.begin(b)
            self.store(b, bits)
        return 0

    cdef inline int store(self, Buffer *b, uint64_t bits) except -1:
        cdef uint8_t *out = reserve(b, 10)
        if self.width == 0:
            b.used += write_varint(out, bits) - out
            return 0
        if self.width == 4:
            store_le32(out, <uint32_t>bits)
        else:
            store_le64(out, bits)
        b.used += self.width
        return 0


@cython.final
cdef class Whole(Number):
    cdef int64_t low
    cdef int64_t high
    cdef bint beyond          # numbers of 64 bits without a sign, too
    cdef bint of_decimals     # the column is one of decimals
    cdef bint zigzag
    cdef uint64_t mask

    cdef uint64_t bits(self, object value) except? 1:
        cdef int overflow = 0
        cdef int64_t number
        if unlikely(not PyLong_CheckExact(value)):
            value = self.of_decimal(value)
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if unlikely(overflow):
            return self.great(value)
        if unlikely(number < self.low or number > self.high):
            odd()
        return zigzag64(number) if self.zigzag else <uint64_t>number & self.mask

    cdef object of_decimal(self, object value):
        # What columns of decimals give; their text has an exponent or a point if it is not just digits.
        if not self.of_decimals or type(value) is not Decimal:
            odd()
        text = str(value)
        if len(text) > 20 or not text.isdigit():
            odd()
        return int(text)

    cdef uint64_t great(self, object value) except? 1:
        if not self.beyond or not 0 <= value < 1 << 64:
            odd()
        return value


@cython.final
cdef class Truth(Number):
    cdef uint64_t bits(self, object value) except? 1:
        if unlikely(value is not True and value is not False):
            odd()
        return value is True


@cython.final
cdef class Real(Number):
    cdef int64_t exact        # integers up to this one are held exactly

    cdef uint64_t bits(self, object value) except? 1:
        cdef double real = real_of(value, self.exact)
        cdef float single
        cdef uint64_t word = 0
        cdef uint32_t half = 0
        if self.width == 8:
            memcpy(&word, &real, 8)
            return word
        single = <float>real
        if unlikely(single - single != 0):
            # Infinite, or no number.
            odd()
        memcpy(&half, &single, 4)
        return half


@cython.final
cdef class Enum(Number):
    cdef dict numbers         # by name

    cdef uint64_t bits(self, object value) except? 1:
        if unlikely(not PyUnicode_CheckExact(value)):
            odd()
        number = self.numbers.get(value)
        if unlikely(number is None):
            odd()
        return <uint64_t><int64_t>number


@cython.final
cdef class EnumNumber(Number):
    cdef frozenset numbers    # None: all are plain

    cdef uint64_t bits(self, object value) except? 1:
        cdef int overflow = 0
        cdef int64_t number
        if unlikely(not PyLong_CheckExact(value)):
            odd()
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if unlikely(overflow or number != <int32_t>number or self.numbers is not None and value not in self.numbers):
            odd()
        return <uint64_t>number


cdef class Sized(Node):
    """Writes text or bytes."""

    cdef inline int put_counted(self, Buffer *b, const char *data, Py_ssize_t size) except -1:
        cdef uint8_t *out
        if size or self.always:
            self.begin(b)
            out = reserve(b, size + 10)
            out = write_varint(out, size)
            memcpy(out, data, size)
            b.used = out + size - b.data
        return 0


@cython.final
cdef class Text(Sized):
    cdef int put(self, Buffer *b, object value) except -1:
        cdef Py_ssize_t size = 0
        cdef const char *text
        if unlikely(not PyUnicode_CheckExact(value)):
            odd()
        text = PyUnicode_AsUTF8AndSize(value, &size)
        return self.put_counted(b, text, size)


@cython.final
cdef class Bytes(Sized):
    cdef int put(self, Buffer *b, object value) except -1:
        if unlikely(not PyBytes_CheckExact(value)):
            odd()
        return self.put_counted(b, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))


@cython.final
cdef class Converted(Sized):
    """Writes a value as the bytes of a message."""

    cdef object convert

    cdef int put(self, Buffer *b, object value) except -1:
        b.converted += 1
        if b.converted > FEW:
            # Columns convert many together.
            odd()
        try:
            data = <bytes>self.convert(value)
        except RowError:
            return odd()
        return self.put_counted(b, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef class Time(Node):
    """Writes a Timestamp or a Duration."""

    cdef int put_parts(self, Buffer *b, int64_t seconds, int64_t nanos) except -1:
        cdef int64_t start = self.open(b)
        cdef uint8_t *out = b.data + start
        if seconds:
            out[0] = 0x08
            out = write_varint(out + 1, <uint64_t>seconds)
        if nanos:
            out[0] = 0x10
            out = write_varint(out + 1, <uint64_t>nanos)
        b.data[start - 1] = <uint8_t>(out - b.data - start)
        b.used = out - b.data
        return 0


@cython.final
cdef class Timestamp(Time):
    cdef int put(self, Buffer *b, object value) except -1:
        if not PyDateTime_CheckExact(value):
            odd()
        zone = datetime_tzinfo(value)
        if zone is not UTC and zone is not None:
            odd()
        return self.put_parts(b, seconds_of(value), <int64_t>datetime_microsecond(value) * 1000)


@cython.final
cdef class Duration(Time):
    cdef int64_t low          # seconds
    cdef int64_t high

    cdef int put(self, Buffer *b, object value) except -1:
        cdef int64_t seconds
        cdef int64_t nanos
        if not PyDelta_CheckExact(value):
            odd()
        seconds = <int64_t>timedelta_days(value) * 86_400 + timedelta_seconds(value)
        nanos = <int64_t>timedelta_microseconds(value) * 1000
        if seconds < 0 and nanos:
            # Both parts have one sign.
            seconds += 1
            nanos -= 1_000_000_000
        if seconds < self.low or seconds > self.high:
            odd()
        return self.put_parts(b, seconds, nanos)


@cython.final
cdef class Items(Node):
    """Writes the items of a list, each behind its tag."""

    cdef Node item

    cdef int put(self, Buffer *b, object value) except -1:
        if type(value) is not list:
            odd()
        for item in <list>value:
            if unlikely(item is None):
                odd()
            self.item.put(b, item)
        return 0


@cython.final
cdef class Packed(Node):
    """Writes a list of numbers behind one tag."""

    cdef Number item

    cdef int put(self, Buffer *b, object value) except -1:
        cdef int64_t start
        if type(value) is not list:
            odd()
        if not value:
            return 0
        start = self.open(b)
        for item in <list>value:
            self.item.store(b, self.item.bits(item))
        return close(b, start)


@cython.final
cdef class Entries(Node):
    """Writes the entries of a map in the order of their keys."""

    cdef Node key
    cdef Node item
    cdef object kind          # of the keys
    cdef object half          # integers are in the order of signed ones, of which this is the first that there is not

    cdef int put(self, Buffer *b, object value) except -1:
        cdef int64_t start
        if type(value) is dict:
            entries = list((<dict>value).items())
        elif type(value) is list:
            # What is checked here is written later, when another thread may have changed the user's.
            entries = list(<list>value)
        else:
            odd()
            return -1
        for pair in <list>entries:
            if type(pair) is not tuple or len(<tuple>pair) != 2:
                odd()
            if type((<tuple>pair)[0]) is not self.kind or (<tuple>pair)[1] is None:
                odd()
        if len(<list>entries) > 1:
            entries = sorted(entries, key=self.order)
        for pair in <list>entries:
            start = self.open(b)
            self.key.put(b, (<tuple>pair)[0])
            self.item.put(b, (<tuple>pair)[1])
            close(b, start)
        return 0

    def order(self, tuple pair):
        """Return what sorts a key: text by its UTF-16, as Java does."""
        key = pair[0]
        if self.kind is str:
            return key.encode("utf-16-be")
        return (key + self.half) % (2 * self.half) - self.half


cdef bint says(dict value, object case, tuple members) except -1:
    """Return whether the member of a oneof that is set is the one that its key names, or none is."""
    if case is not None and (type(case) is not str or case not in members):
        return False
    for member in members:
        if (value.get(member) is not None) != (member == case):
            return False
    return True


@cython.final
cdef class Message(Node):
    """Writes a dict as a message."""

    cdef list names
    cdef list nodes
    cdef list cases           # names of oneofs that are keys, with their members

    cdef int fill(self, Buffer *b, object value) except -1:
        """Write the fields."""
        cdef Py_ssize_t at
        cdef Py_ssize_t seen = 0
        cdef PyObject *found
        cdef uint64_t oneofs = 0
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
            if item is None:
                if unlikely(node.needed):
                    odd()
                continue
            if unlikely(oneofs & node.oneof):
                odd()
            oneofs |= node.oneof
            node.put(b, item)
        for name, members in self.cases:
            if find(value, name, &found):
                item = <object>found
                Py_DECREF(item)
                seen += 1
                if not says(value, item, members):
                    odd()
        if unlikely(seen != len(<dict>value)):
            odd()
        return 0

    cdef int put(self, Buffer *b, object value) except -1:
        cdef int64_t start = self.open(b)
        self.fill(b, value)
        return close(b, start)


@cython.final
cdef class Inner(Node):
    """Writes a message of one field by the value of this."""

    cdef Node field

    cdef int put(self, Buffer *b, object value) except -1:
        cdef int64_t start = self.open(b)
        self.field.put(b, value)
        return close(b, start)


@cython.final
cdef class Odd(Node):
    """Leaves all that is not None to columns."""

    cdef int put(self, Buffer *b, object value) except -1:
        return odd()


class _Unknown(Exception):
    """A plan has something that only columns have."""


cdef class _Maker:
    """Makes nodes of those of a plan."""

    cdef tuple columns
    cdef object conversion
    cdef tuple given          # the columns before values are converted to bytes

    def __init__(self, plan, conversion):
        self.columns = layout(plan.arrow_type)
        self.conversion = conversion
        self.given = () if conversion is None else layout(conversion.kind)

    cdef Message message(self, object node, object kind):
        cdef Message made = Message()
        cdef Node below
        if node.op is Step.FAIL or len(node.oneofs) > MAX_ONEOFS:
            raise _Unknown
        made.names, made.nodes, made.cases = [], [], []
        if node.unknown >= 0:
            made.names.append(sys.intern(self.columns[node.unknown].name))
            made.nodes.append(Odd())
        for field in node.children:
            if field.op is Step.FAIL and field.column < 0:
                # An error of each row.
                raise _Unknown
            if field.op is not Step.FAIL and field.kind == "case":
                made.cases.append((sys.intern(field.name), field.symbols))
                continue
            below = self.field(field, kind)
            if field.op is not Step.FAIL and field.oneof >= 0:
                below.oneof = <uint64_t>1 << <int>field.oneof
            made.names.append(sys.intern(field.name))
            made.nodes.append(below)
        return made

    cdef Node field(self, object field, object message):
        cdef Items items
        cdef Packed packed
        if field.op is Step.FAIL:
            return Odd()
        if field.label == "map":
            return self.entries(field, message_in(message, field))
        if field.label != "repeated":
            return self.value(field, message)
        if field.packed:
            packed = Packed()
            packed.item = self.value(field, message)
            return _tagged(packed, field.number, BYTES)
        items = Items()
        items.item = self.value(field, message)
        return items

    cdef Node entries(self, object field, object message):
        cdef Entries made = Entries()
        key, item = field.children[0].children
        if key.op is Step.FAIL or item.op is Step.FAIL:
            return Odd()
        made.key, made.item = self.value(key, message), self.value(item, message)
        made.kind = str if key.kind == "string" else bool if key.kind == "bool" else int
        made.half = 0x8000_0000_0000_0000 if key.kind.endswith("64") else 0x8000_0000
        return _tagged(made, field.number, BYTES)

    cdef Node value(self, object field, object message):
        """Make what writes single values of a message's field."""
        cdef Node made = self.kind(field, message)
        made.needed = field.label in ("required", "entry")
        made.always = field.presence or field.label in ("required", "repeated")
        return _tagged(made, field.number, wire_type_of(field.kind))

    cdef Node kind(self, object field, object message):
        cdef Inner inner
        kind = field.kind
        if kind == "group":
            raise _Unknown
        if kind in ("message", "raw"):
            message = message_in(message, field)
        if kind == "raw":
            return self.converted(field, message)
        if kind == "message":
            child = field.children[0]
            if child.column >= 0:
                return self.message(child, message)
            inner = Inner()
            inner.field = self.field(child.children[0], message)
            return inner
        if kind in SECONDS:
            return self.time(field)
        if kind == "string":
            return Text()
        if kind == "bytes":
            return Bytes()
        return self.number(field, self.columns[field.column + (field.label == "repeated")].type)

    cdef Node converted(self, object field, object message):
        cdef Converted made = Converted()
        if self.conversion is None:
            raise _Unknown
        stored = self.given[field.column + (field.label == "repeated")].type
        made.convert = self.conversion.convert(message, stored, 0)
        if made.convert is None:
            raise _Unknown
        return made

    cdef Node time(self, object field):
        cdef Duration made
        if field.factor != 1_000_000:
            raise _Unknown
        if field.kind == "timestamp":
            return Timestamp()
        made = Duration()
        made.low, made.high = SECONDS[field.kind]
        return made

    cdef Number number(self, object field, object stored):
        cdef Enum named
        cdef EnumNumber number
        cdef Real real
        kind = field.kind
        if kind == "bool":
            return Truth()
        if kind == "float" or kind == "double":
            real = Real()
            # A column of doubles that are written as floats must hold floats.
            if (stored.bit_width == 64) != (kind == "double"):
                raise _Unknown
            real.width = 8 if kind == "double" else 4
            real.exact = 0x20_0000_0000_0000 if kind == "double" else 0x100_0000
            return real
        if kind != "enum":
            return self.whole(field, stored)
        if pa.types.is_integer(stored):
            number = EnumNumber()
            number.numbers = frozenset(field.numbers) if field.strict else None
            return number
        named = Enum()
        named.numbers = dict(zip(field.symbols, field.numbers))
        return named

    cdef Number whole(self, object field, object stored):
        cdef Whole made = Whole()
        kind = field.kind
        bits = 64 if kind.endswith("64") else 32
        natural = kind.startswith(("uint", "fixed"))
        low, high = _range(natural and field.strict, bits)
        if natural and not field.strict:
            low = -(1 << (bits - 1))
        if not pa.types.is_decimal(stored):
            least, most = _range(not pa.types.is_signed_integer(stored), stored.bit_width)
            low, high = max(low, least), min(high, most)
        made.low, made.high = low, min(high, (1 << 63) - 1)
        made.beyond = high == (1 << 64) - 1
        made.of_decimals = pa.types.is_decimal(stored)
        made.zigzag = kind.startswith("sint")
        made.mask = (1 << (bits if natural else 64)) - 1
        made.width = bits // 8 if "fixed" in kind else 0
        return made


cdef Node _tagged(Node made, uint32_t number, uint32_t wire_type):
    cdef uint8_t *tag = <uint8_t *>&made.tag
    made.tag_size = <int32_t>(write_varint(tag, <uint64_t>number << 3 | wire_type) - tag)
    # `begin` stores it as a number.
    made.tag = load_le64(tag)
    return made


def _range(natural, bits):
    """Return the least and the greatest integer of so many bits."""
    return (0, (1 << bits) - 1) if natural else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


@cython.final
cdef class ObjectWriter(QuickWriter):
    cdef Message root

    cdef int write_plain(self, Buffer *b, object value) except -1:
        return self.root.fill(b, value)


def object_writer(plan, columns, conversion=None):
    """Return what writes the messages of a plan; see `kcodec.formats.protobuf.objects.kernel`."""
    cdef ObjectWriter made = ObjectWriter(columns)
    cdef _Maker maker = _Maker(plan, conversion)
    try:
        made.root = maker.message(plan.root, None if conversion is None else conversion.message)
    except _Unknown:
        return columns
    return made
