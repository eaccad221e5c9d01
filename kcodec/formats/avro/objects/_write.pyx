"""Python objects to Avro binary, by the plan that columns of the schema's own type are written with.

Values of the usual types are looked at here; for others `kcodec.objects.taken` says what they are.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.datetime cimport (
    PyDateTime_CheckExact, PyDate_CheckExact, PyTime_CheckExact, date_day, date_month, date_year, datetime_day,
    datetime_hour, datetime_microsecond, datetime_minute, datetime_month, datetime_second, datetime_tzinfo,
    datetime_year, import_datetime, time_hour, time_microsecond, time_minute, time_second,
)
from cpython.dict cimport PyDict_GetItemWithError
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from kcodec.plan._program cimport inside
from kcodec.wire.cursor cimport multiply_overflows, store_le32, store_le64, unlikely, write_varint, zigzag64
from kcodec.wire.decimal cimport (
    decimal_bytes_room, decimal_number, decimal_number_to_bytes, decimal_parse, decimal_resize,
)
from kcodec.wire.status cimport DECIMAL_PRECISION, INEXACT, OK, Status

import datetime
import decimal
import math
import sys

import pyarrow as pa

from kcodec.columns.isotime_py import write_iso
from kcodec.columns.layout import layout
from kcodec.columns.types import PER_SECOND
from kcodec.errors import EncodeError, near
from kcodec.formats.avro._program import is_iso
from kcodec.formats.avro.defaults import varint
from kcodec.objects import taken
from kcodec.objects.units import micros_each
from kcodec.objects.form import ObjectForm
from kcodec.plan.failure import RowError
from kcodec.plan.node import Limits, Op as Step

__all__ = ["ObjectWriter"]

import_datetime()

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1
    bint PyUnicode_CheckExact(object value)
    bint PyLong_CheckExact(object value)
    bint PyFloat_CheckExact(object value)
    double PyFloat_AS_DOUBLE(object value)

cdef extern from "isotime.h" nogil:
    int64_t kc_iso_days(int64_t year, int month, int day)

cdef enum:
    LOCAL_BYTES = 1024        # what most values take at most

cdef object UTC = datetime.timezone.utc


cdef struct Frame:
    # Which item of a collection the value in hand is in.
    Frame *outer
    int64_t item


cdef struct Buffer:
    uint8_t *data
    int64_t used
    int64_t room
    uint8_t *heap             # NULL while the bytes stand in `local`
    Frame *frame
    uint8_t local[LOCAL_BYTES]


cdef uint8_t *reserve(Buffer *b, int64_t size) except NULL:
    """Make room for some bytes; return where they go."""
    cdef uint8_t *grown
    cdef int64_t room
    if unlikely(size > b.room - b.used):
        room = 2 * b.room + size
        grown = <uint8_t *>realloc(b.heap, room)
        if grown == NULL:
            raise MemoryError
        if b.heap == NULL:
            memcpy(grown, b.local, b.used)
        b.heap = b.data = grown
        b.room = room
    return b.data + b.used


cdef inline int put_number(Buffer *b, int64_t value) except -1:
    """Put a zigzag varint."""
    cdef uint8_t *out = reserve(b, 10)
    b.used += write_varint(out, zigzag64(value)) - out
    return 0


cdef inline int put_bytes(Buffer *b, const void *data, int64_t size) except -1:
    memcpy(reserve(b, size), data, size)
    b.used += size
    return 0


cdef inline int put_sized(Buffer *b, const void *data, int64_t size) except -1:
    """Put bytes behind their length."""
    cdef uint8_t *out = reserve(b, size + 10)
    cdef uint8_t *at = write_varint(out, <uint64_t>size << 1)
    memcpy(at, data, size)
    b.used += at - out + size
    return 0


cdef class Node:
    """Writes one value."""

    cdef tuple path           # steps, None where the position of an item goes
    cdef object natural       # the type of Python whose values it takes first in a union

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
            return put_number(b, kc_iso_days(date_year(value), date_month(value), date_day(value)))
        return self.put_within(b, self.integer(b, self.take_as(b, taken.days, value), None), self.wide)


cdef class Clock(Node):
    """Writes a time of day or a timestamp."""

    cdef bint wide
    cdef bint floor
    cdef int64_t factor       # columns hold so many times what is written; see `plan.node.Node`
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
    cdef int64_t day          # of the column: its first value that is not a time of day

    cdef int write(self, Buffer *b, object value) except -1:
        cdef int64_t number
        if PyTime_CheckExact(value):
            number = (time_hour(value) * 60 + time_minute(value)) * 60 + time_second(value)
            number = self.scaled(b, number * 1_000_000 + time_microsecond(value), self.micros)
        elif PyLong_CheckExact(value):
            number = self.integer(b, value, None)
            if not 0 <= number < self.day:
                self.fail(b, "out_of_range")
            number = self.scaled(b, number, self.factor)
        else:
            number = self.scaled(b, self.integer(b, self.take_as(b, taken.micros_of_day, value), None), self.micros)
        return self.put_within(b, number, self.wide)


@cython.final
cdef class Timestamp(Clock):
    cdef int write(self, Buffer *b, object value) except -1:
        cdef int64_t number
        if PyDateTime_CheckExact(value) and (datetime_tzinfo(value) is UTC or datetime_tzinfo(value) is None):
            number = kc_iso_days(datetime_year(value), datetime_month(value), datetime_day(value)) * 86_400
            number += (datetime_hour(value) * 60 + datetime_minute(value)) * 60 + datetime_second(value)
            number = self.scaled(b, number * 1_000_000 + datetime_microsecond(value), self.micros)
        elif PyLong_CheckExact(value):
            number = self.scaled(b, self.integer(b, value, None), self.factor)
        else:
            number = self.scaled(b, self.integer(b, self.take_as(b, taken.micros, value), None), self.micros)
        return self.put_within(b, number, self.wide)


@cython.final
cdef class IsoText(Node):
    """Writes a date or time as text."""

    cdef object take
    cdef object kind
    cdef int64_t micros       # of a unit of the column; 0: a date; negative: a microsecond is so many units

    cdef int write(self, Buffer *b, object value) except -1:
        number = self.take_as(b, self.take, value)
        if self.micros < 0:
            number *= -self.micros
        elif self.micros:
            # Of columns too, what is finer than their unit makes them finer.
            number, rest = divmod(number, self.micros)
            if rest:
                self.fail(b, "inexact")
        text = write_iso(number, self.kind, utc=True)
        if text is None:
            self.fail(b, "out_of_range")
        data = text.encode()
        return put_sized(b, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


@cython.final
cdef class Record(Node):
    cdef list nodes
    cdef list names
    cdef list defaults        # bytes of what may be missing, else None

    cdef int write(self, Buffer *b, object value) except -1:
        cdef Py_ssize_t at
        cdef Py_ssize_t seen = 0
        cdef PyObject *found
        if not isinstance(value, dict):
            value = self.take_as(b, taken.fields, value)
        for at in range(len(self.nodes)):
            found = PyDict_GetItemWithError(value, <object>PyList_GET_ITEM(self.names, at))
            if found != NULL:
                seen += 1
                (<Node>PyList_GET_ITEM(self.nodes, at)).write(b, <object>found)
            else:
                self.missing(b, at, value)
        if unlikely(seen != len(<dict>value)):
            self.stranger(b, value)
        return 0

    cdef int missing(self, Buffer *b, Py_ssize_t at, dict value) except -1:
        data = self.defaults[at]
        if data is None:
            # It may only be spelt wrong.
            self.stranger(b, value)
            (<Node>self.nodes[at]).fail(b, "missing_key", "the field is missing, and has no default")
        return put_bytes(b, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    cdef int stranger(self, const Buffer *b, dict value) except -1:
        """Name a key that no field has."""
        for name in value:
            if name not in self.names:
                self.fail(b, "unknown_field", f"the record has no field {name!r}{near(str(name), self.names)}")
        return 0


@cython.final
cdef class Array(Node):
    cdef Node item

    cdef int write(self, Buffer *b, object value) except -1:
        cdef Frame frame
        if type(value) is not list:
            value = self.take_as(b, taken.items, value)
        frame.outer = b.frame
        frame.item = 0
        if len(value):
            put_number(b, len(value))
            b.frame = &frame
            for item in value:
                self.item.write(b, item)
                frame.item += 1
            b.frame = frame.outer
        return put_number(b, 0)


@cython.final
cdef class Map(Node):
    cdef Node key
    cdef Node value

    cdef int write(self, Buffer *b, object value) except -1:
        cdef Frame frame
        entries = self.take_as(b, taken.entries, value)
        frame.outer = b.frame
        frame.item = 0
        if entries:
            put_number(b, len(entries))
            b.frame = &frame
            for key, item in entries:
                self.key.write(b, key)
                self.value.write(b, item)
                frame.item += 1
            b.frame = frame.outer
        return put_number(b, 0)


@cython.final
cdef class Nullable(Node):
    cdef Node item
    cdef int32_t null

    cdef int write(self, Buffer *b, object value) except -1:
        if value is None:
            return put_number(b, self.null)
        put_number(b, 1 - self.null)
        return self.item.write(b, value)


cdef class Union(Node):
    """Writes one of several branches."""

    cdef list branches        # None: null
    cdef list numbers         # of those that are not null

    cdef int write_null(self, Buffer *b) except -1:
        if None not in self.branches:
            self.fail(b, "null_value")
        return put_number(b, self.branches.index(None))

    cdef int write_first(self, Buffer *b, object value, list numbers) except -1:
        """Write the first branch that takes a value; with the last one's error if none does."""
        cdef int64_t used = b.used
        cdef Frame *frame = b.frame
        for number in numbers:
            try:
                put_number(b, number)
                return (<Node>self.branches[number]).write(b, value)
            except RowError:
                if number == numbers[len(numbers) - 1]:
                    raise
                b.used = used
                b.frame = frame
        return 0


@cython.final
cdef class Members(Union):
    """A union as a dict of its members, of which one is not None."""

    cdef dict places          # the branch of each

    cdef int write(self, Buffer *b, object value) except -1:
        if value is None:
            return self.write_null(b)
        value = value if isinstance(value, dict) else self.take_as(b, taken.fields, value)
        found = -1
        chosen = None
        for name, member in value.items():
            if name not in self.places:
                hint = near(str(name), self.places)
                self.fail(b, "unknown_field", f"the union has no member {name!r}{hint}")
            if member is not None:
                if found >= 0:
                    self.fail(b, "union_members")
                found = self.places[name]
                chosen = member
        if found < 0:
            self.fail(b, "union_members")
        put_number(b, found)
        return (<Node>self.branches[found]).write(b, chosen)


@cython.final
cdef class Numbers(Union):
    """A union of numbers of different width, which the first that holds a value is written as."""

    cdef int write(self, Buffer *b, object value) except -1:
        if value is None:
            return self.write_null(b)
        return self.write_first(b, value, self.numbers)


@cython.final
cdef class Value(Union):
    """A union as the value itself: of the first branch whose own type it has, else of the first that takes it."""

    cdef int write(self, Buffer *b, object value) except -1:
        if value is None:
            return self.write_null(b)
        kind = type(value)
        natural = [number for number in self.numbers if (<Node>self.branches[number]).natural is kind]
        return self.write_first(b, value, [*natural, *[each for each in self.numbers if each not in natural]])


@cython.final
cdef class Fail(Node):
    cdef str code
    cdef str reason

    cdef int write(self, Buffer *b, object value) except -1:
        self.fail(b, self.code, self.reason)


cdef class _Maker:
    """Makes nodes of those of a plan."""

    cdef tuple columns
    cdef object form

    def __init__(self, plan, form):
        self.columns = layout(plan.arrow_type)
        self.form = form

    cdef Node make(self, object node, tuple path):
        path = inside(path, node.name)
        op = node.op
        if op is Step.RECORD:
            return self.record(node, path)
        if op is Step.ARRAY or op is Step.MAP:
            return self.items(node, path)
        if op is Step.UNION:
            return self.union(node, path)
        if op in (Step.PRESENT, Step.MEMBER, Step.DEFAULT):
            return self.make(node.children[0], path)
        made = self.leaf(node)
        made.path = path
        return made

    cdef Node record(self, object node, tuple path):
        cdef Record made = Record()
        made.path = path
        made.natural = dict
        made.nodes = [self.make(child, path) for child in node.children]
        made.names = [sys.intern(child.name) for child in node.children]
        made.defaults = [child.data if child.op is Step.DEFAULT else None for child in node.children]
        return made

    cdef Node items(self, object node, tuple path):
        cdef Array array
        cdef Map made
        if node.op is Step.ARRAY:
            array = Array()
            array.path = path
            array.natural = list
            array.item = self.make(node.children[0], (*path, None))
            return array
        made = Map()
        made.path = path
        made.natural = dict
        made.key = self.make(node.children[0], (*path, None, ".key"))
        made.value = self.make(node.children[1], (*path, None, ".value"))
        return made

    cdef Node union(self, object node, tuple path):
        cdef Nullable nullable
        cdef Members members
        cdef Union made
        steps = [child.op for child in node.children]
        if len(steps) == 2 and {*steps} == {Step.ABSENT, Step.PRESENT}:
            nullable = Nullable()
            nullable.path = path
            nullable.null = steps.index(Step.ABSENT)
            nullable.item = self.make(node.children[1 - nullable.null], path)
            nullable.natural = nullable.item.natural
            return nullable
        branches = [None if child.op is Step.ABSENT else self.make(child, path) for child in node.children]
        if Step.MEMBER not in steps:
            made = Numbers()
        elif self.form.unions == "value":
            made = Value()
        else:
            made = members = Members()
            names = [self.columns[child].name for child in self.columns[node.column].children]
            members.places = {
                names[child.size]: number for number, child in enumerate(node.children) if child.op is Step.MEMBER
            }
        made.path = path
        made.branches = branches
        made.numbers = [number for number, branch in enumerate(branches) if branch is not None]
        return made

    cdef Node leaf(self, object node):
        cdef Fail failing
        cdef Fixed fixed
        cdef Enum symbols
        op = node.op
        if op is Step.FAIL:
            failing = Fail()
            failing.code, failing.reason = node.code, node.reason
            return failing
        kind = self.columns[node.column].type
        if op is Step.INT or op is Step.LONG:
            return self.integer(node, kind)
        if op is Step.FLOAT or op is Step.DOUBLE:
            return self.real(op is Step.DOUBLE, kind.bit_width == 64)
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
            return self.decimal_node(node)
        if is_iso(node, kind):
            return self.iso(kind)
        return self.plain({Step.NULL: Null, Step.BOOLEAN: Boolean, Step.STRING: Text, Step.BYTES: Bytes}[op])

    cdef Node plain(self, object kind):
        cdef Node made = kind()
        made.natural = {Boolean: bool, Text: str, Bytes: bytes}.get(kind)
        return made

    cdef Node real(self, bint wide, bint exact):
        cdef Real made = Real()
        made.natural = float
        made.exact = exact
        made.wide = wide
        return made

    cdef Node decimal_node(self, object node):
        cdef Decimal made = Decimal()
        made.natural = decimal.Decimal
        made.size, made.scale, made.precision = node.size, node.scale, node.precision
        return made

    cdef Node integer(self, object node, object kind):
        cdef Integer made = Integer()
        cdef Date date = Date()
        cdef Time time = Time()
        cdef bint wide = node.op is Step.LONG
        if pa.types.is_date(kind):
            date.natural, date.wide = datetime.date, wide
            return date
        if pa.types.is_time(kind):
            time.natural = datetime.time
            time.day = 86_400 * PER_SECOND[kind.unit]
            return self.clock(time, node, kind)
        if pa.types.is_timestamp(kind):
            return self.clock(Timestamp(), node, kind)
        made.natural, made.wide = int, wide
        return made

    cdef Node clock(self, Clock made, object node, object kind):
        made.natural = made.natural or datetime.datetime
        made.wide = node.op is Step.LONG
        made.floor = self.form.floor
        made.factor = node.factor
        made.micros = micros_each(PER_SECOND[kind.unit], node.factor)
        return made

    cdef Node iso(self, object kind):
        cdef IsoText made = IsoText()
        made.kind = kind
        made.take = taken.days
        made.natural = datetime.date
        if not pa.types.is_date(kind):
            is_time = pa.types.is_time(kind)
            made.take = taken.micros_of_day if is_time else taken.micros
            made.natural = datetime.time if is_time else datetime.datetime
            made.micros = micros_each(PER_SECOND[kind.unit], 1)
        return made


@cython.final
cdef class ObjectWriter:
    """Writes Python objects as payloads; see `kcodec.objects.kernel.Writer`."""

    cdef Node root

    def __init__(self, plan, limits=Limits(), form=ObjectForm()):
        self.root = _Maker(plan, form).make(plan.root, ())

    cdef object write(self, object value, bytes prefix):
        cdef Buffer b
        b.data = b.local
        b.used = 0
        b.room = LOCAL_BYTES
        b.heap = NULL
        b.frame = NULL
        try:
            put_bytes(&b, PyBytes_AS_STRING(prefix), PyBytes_GET_SIZE(prefix))
            self.root.write(&b, value)
            return PyBytes_FromStringAndSize(<const char *>b.data, b.used)
        finally:
            free(b.heap)

    def encode_one(self, value, bytes prefix=b""):
        if value is None:
            return None
        try:
            return self.write(value, prefix)
        except RowError as error:
            raise EncodeError(*error.fault(0)) from None

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
                except RowError as error:
                    faults.append(error.fault(row))
                    if stop:
                        break
            made.append(data)
        return made, faults
