"""Arrow columns to Python objects.

Each column of a type becomes an object that makes one value. What is rare (unions, run ends, views, intervals,
nanoseconds, extension types) is left to pyarrow, value by value.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Copy, PyDict_SetItem
from cpython.list cimport PyList_GET_ITEM, PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from kcodec.columns.arrays._integrity cimport Exported
from kcodec.columns.built._c_data cimport ArrowArray, ArrowSchema
from kcodec.objects._make cimport make_date, make_datetime, make_decimal, make_text, make_time
from kcodec.wire.binary.cursor cimport multiply_overflows, unlikely
from kcodec.wire.binary.decimal cimport decimal_slot_text

import datetime

import pyarrow as pa

__all__ = ["rows"]

cdef enum:
    SLOT_TEXT = 512           # more than the text of a decimal may take

cdef object UTC = datetime.timezone.utc
cdef int64_t DAY_MICROS = 86_400_000_000
cdef int64_t DAY_MILLIS = 86_400_000
#: What pyarrow raises too.
cdef str _NO_YEAR = "date value out of range"


cdef class Column:
    """Makes the values of a column."""

    cdef const uint8_t *validity      # a bit a value; NULL if none is null
    cdef int64_t first                # bit of the value with index 0
    cdef const uint8_t *data

    cdef object value(self, int64_t at):
        """Make a value that is not null."""
        return None


cdef inline object value_at(Column column, int64_t at):
    cdef int64_t bit = column.first + at
    if column.validity != NULL and not (column.validity[bit >> 3] >> (bit & 7)) & 1:
        return None
    return column.value(at)


@cython.final
cdef class Boolean(Column):
    cdef object value(self, int64_t at):
        at += self.first
        return (self.data[at >> 3] >> (at & 7)) & 1 == 1


@cython.final
cdef class Number(Column):
    cdef char code                    # of the type, in the C data interface

    cdef object value(self, int64_t at):
        if self.code == b"l":
            return (<const int64_t *>self.data)[at]
        if self.code == b"i":
            return (<const int32_t *>self.data)[at]
        if self.code == b"g":
            return (<const double *>self.data)[at]
        if self.code == b"f":
            return <double>(<const float *>self.data)[at]
        if self.code == b"c":
            return (<const int8_t *>self.data)[at]
        if self.code == b"C":
            return self.data[at]
        if self.code == b"s":
            return (<const int16_t *>self.data)[at]
        if self.code == b"S":
            return (<const uint16_t *>self.data)[at]
        if self.code == b"I":
            return (<const uint32_t *>self.data)[at]
        return (<const uint64_t *>self.data)[at]


cdef class Sized(Column):
    """Values between two offsets."""

    cdef const void *offsets          # of the value with index 0
    cdef bint wide

    cdef int64_t start(self, int64_t at) noexcept:
        if self.wide:
            return (<const int64_t *>self.offsets)[at]
        return (<const int32_t *>self.offsets)[at]


@cython.final
cdef class Text(Sized):
    cdef object value(self, int64_t at):
        cdef int64_t start = self.start(at)
        cdef int64_t size = self.start(at + 1) - start
        return make_text(self.data + start, size)


@cython.final
cdef class Bytes(Sized):
    cdef object value(self, int64_t at):
        cdef int64_t start = self.start(at)
        return PyBytes_FromStringAndSize(<const char *>self.data + start, self.start(at + 1) - start)


@cython.final
cdef class Fixed(Column):
    cdef int32_t size

    cdef object value(self, int64_t at):
        return PyBytes_FromStringAndSize(<const char *>self.data + at * self.size, self.size)


@cython.final
cdef class Decimal(Column):
    cdef int32_t size
    cdef int32_t scale

    cdef object value(self, int64_t at):
        cdef char text[SLOT_TEXT]
        cdef const uint8_t *slot = self.data + at * self.size
        return make_decimal(text, decimal_slot_text(slot, self.size // 8, self.scale, True, text))


@cython.final
cdef class Date(Column):
    cdef bint millis

    cdef object value(self, int64_t at):
        cdef int64_t days
        if self.millis:
            days = (<const int64_t *>self.data)[at]
            days = days // DAY_MILLIS - (days % DAY_MILLIS < 0)
        else:
            days = (<const int32_t *>self.data)[at]
        made = make_date(days)
        if unlikely(made is None):
            raise OverflowError(_NO_YEAR)
        return made


cdef class Clock(Column):
    """Numbers of a unit of time."""

    cdef bint wide
    cdef int64_t micros               # of a unit

    cdef int64_t number(self, int64_t at) except? -1:
        cdef int64_t made = (<const int64_t *>self.data)[at] if self.wide else (<const int32_t *>self.data)[at]
        if unlikely(multiply_overflows(made, self.micros, &made)):
            raise OverflowError(_NO_YEAR)
        return made


@cython.final
cdef class Time(Clock):
    cdef object value(self, int64_t at):
        # Of a day, whatever the number is, as pyarrow has it.
        cdef int64_t micros = self.number(at) % DAY_MICROS
        return make_time(micros + DAY_MICROS if micros < 0 else micros)


@cython.final
cdef class Timestamp(Clock):
    cdef object zone                  # None for times without one
    cdef bint shifted                 # it is not UTC

    cdef object value(self, int64_t at):
        made = make_datetime(self.number(at), self.zone if not self.shifted else UTC)
        if unlikely(made is None):
            raise OverflowError(_NO_YEAR)
        return made.astimezone(self.zone) if self.shifted else made


@cython.final
cdef class Entry(Column):
    """Indices of a dictionary."""

    cdef Column indices
    cdef list values

    cdef object value(self, int64_t at):
        return self.values[<object>self.indices.value(at)]


@cython.final
cdef class Struct(Column):
    cdef dict blank                   # the keys, in their order
    cdef list names
    cdef list columns

    cdef object value(self, int64_t at):
        cdef Py_ssize_t i
        # Beside the columns' own bits, a child starts where its parent does.
        made = PyDict_Copy(self.blank)
        for i in range(len(self.columns)):
            PyDict_SetItem(
                made, <object>PyList_GET_ITEM(self.names, i), value_at(<Column>PyList_GET_ITEM(self.columns, i), at)
            )
        return made


cdef list _list(Column item, int64_t start, int64_t end):
    cdef int64_t at
    cdef list made = PyList_New(end - start)
    for at in range(start, end):
        value = value_at(item, at)
        Py_INCREF(value)
        PyList_SET_ITEM(made, at - start, value)
    return made


@cython.final
cdef class List(Sized):
    cdef Column item

    cdef object value(self, int64_t at):
        return _list(self.item, self.start(at), self.start(at + 1))


@cython.final
cdef class FixedList(Column):
    cdef Column item
    cdef int64_t size

    cdef object value(self, int64_t at):
        at = (self.first + at) * self.size
        return _list(self.item, at, at + self.size)


@cython.final
cdef class Map(Sized):
    cdef Column key
    cdef Column item

    cdef object value(self, int64_t at):
        cdef int64_t start = self.start(at)
        cdef int64_t end = self.start(at + 1)
        cdef list made = PyList_New(end - start)
        cdef int64_t i
        for i in range(start, end):
            pair = (value_at(self.key, i), value_at(self.item, i))
            Py_INCREF(pair)
            PyList_SET_ITEM(made, i - start, pair)
        return made


@cython.final
cdef class Other(Column):
    """Values that pyarrow makes."""

    cdef object array

    cdef object value(self, int64_t at):
        return self.array[at].as_py()


cdef Column _other(object root, tuple steps):
    """Return the column that some steps below an array lead to; its nulls are known to pyarrow."""
    cdef Other column = Other()
    for step in steps:
        root = root.values if step is None else root.field(step)
    column.array = root
    return column


cdef Sized _sized(Sized column, const ArrowArray *array, bint wide):
    column.wide = wide
    column.offsets = <const uint8_t *>array.buffers[1] + column.first * (8 if wide else 4)
    return column


cdef Column _column(
    object kind, const ArrowSchema *schema, const ArrowArray *array, int64_t start, object root, tuple steps
):
    """Return what makes the values of an array from `start` on; `steps` lead to it from the root."""
    cdef const char *format = schema.format
    cdef Column column = None
    cdef int64_t first = array.offset + start
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _other(root, steps)
    if schema.dictionary != NULL:
        column = _dictionary(kind, schema, array, start)
    elif format[0] == b"n":
        return Column()
    elif format[0] == b"b":
        column = Boolean()
    elif format[0] == b"+":
        column = _nested(kind, schema, array, first, root, steps)
    elif types.is_floating(kind) and not types.is_float16(kind) or types.is_integer(kind):
        column = Number()
        (<Number>column).code = format[0]
    elif format[0] == b"u" or format[0] == b"U":
        column = Text()
    elif format[0] == b"z" or format[0] == b"Z":
        column = Bytes()
    elif format[0] == b"w":
        column = Fixed()
        (<Fixed>column).size = kind.byte_width
    elif format[0] == b"d" and kind.scale >= 0 and kind.bit_width >= 128:
        column = Decimal()
        (<Decimal>column).scale = kind.scale
        (<Decimal>column).size = kind.bit_width // 8
    elif types.is_date(kind):
        column = Date()
        (<Date>column).millis = types.is_date64(kind)
    elif (types.is_time(kind) or types.is_timestamp(kind)) and kind.unit != "ns":
        column = Time() if types.is_time(kind) else _timestamp(kind.tz)
        (<Clock>column).wide = not types.is_time32(kind)
        (<Clock>column).micros = {"s": 1_000_000, "ms": 1000, "us": 1}[kind.unit]
    if column is None:
        return _other(root, steps)
    column.first = first
    if array.null_count:
        column.validity = <const uint8_t *>array.buffers[0]
    if format[0] != b"+" and schema.dictionary == NULL:
        _bind(column, kind, format, array)
    return column


cdef Column _timestamp(object zone):
    cdef Timestamp column = Timestamp()
    column.shifted = zone is not None and zone != "UTC"
    if zone is not None:
        column.zone = pa.lib.string_to_tzinfo(zone) if column.shifted else UTC
    return column


cdef int _bind(Column column, object kind, const char *format, const ArrowArray *array) except -1:
    """Tell a column without others below it where its values are."""
    cdef bint wide = format[0] == b"U" or format[0] == b"Z"
    cdef int64_t width
    if isinstance(column, Sized):
        _sized(<Sized>column, array, wide)
        column.data = <const uint8_t *>array.buffers[2]
    else:
        column.data = <const uint8_t *>array.buffers[1]
        if format[0] != b"b":
            width = kind.bit_width // 8
            column.data += column.first * width
    return 0


cdef Column _dictionary(object kind, const ArrowSchema *schema, const ArrowArray *array, int64_t start):
    """Return a column of indices; None if the values are more than plain ones, as each row has objects of its own."""
    cdef Entry column = Entry()
    cdef Column values
    cdef int64_t width = kind.index_type.bit_width // 8
    if kind.value_type.num_fields or isinstance(kind.value_type, pa.BaseExtensionType):
        return None
    values = _column(kind.value_type, schema.dictionary, array.dictionary, 0, None, ())
    if isinstance(values, Other):
        return None
    column.values = _list(values, 0, array.dictionary.length)
    column.indices = Number()
    (<Number>column.indices).code = schema.format[0]
    column.indices.data = <const uint8_t *>array.buffers[1]
    column.indices.data += (array.offset + start) * width
    return column


cdef Column _nested(
    object kind, const ArrowSchema *schema, const ArrowArray *array, int64_t first, object root, tuple steps
):
    """Return a column with others below it; None if it is one that pyarrow reads."""
    cdef const char *format = schema.format
    cdef const ArrowArray *entries
    cdef Column column
    if format[1] == b"s":
        column = Struct()
        (<Struct>column).names = [field.name for field in kind]
        (<Struct>column).blank = dict.fromkeys((<Struct>column).names)
        if len((<Struct>column).blank) != kind.num_fields:
            raise ValueError("rows of a struct become dicts, but two of its fields have the same name")
        (<Struct>column).columns = [
            _column(kind.field(i).type, schema.children[i], array.children[i], first, root, (*steps, i))
            for i in range(kind.num_fields)
        ]
        return column
    if format[1] == b"l" or format[1] == b"L":
        column = List()
        (<List>column).item = _column(
            kind.value_type, schema.children[0], array.children[0], 0, root, (*steps, None)
        )
    elif format[1] == b"w":
        column = FixedList()
        (<FixedList>column).size = kind.list_size
        (<FixedList>column).item = _column(
            kind.value_type, schema.children[0], array.children[0], 0, root, (*steps, None)
        )
        return column
    elif format[1] == b"m":
        entries = array.children[0]
        column = Map()
        (<Map>column).key = _column(
            kind.key_type, schema.children[0].children[0], entries.children[0], entries.offset, root, (*steps, None, 0)
        )
        (<Map>column).item = _column(
            kind.item_type, schema.children[0].children[1], entries.children[1], entries.offset, root, (*steps, None, 1)
        )
    else:
        return None
    column.first = first
    return _sized(<Sized>column, array, format[1] == b"L")


def rows(array):
    """Return the values of a checked array as a list of Python objects."""
    cdef Exported exported = Exported(array)
    return _list(_column(array.type, exported.kind.schema, &exported.array, 0, array, ()), 0, len(array))
