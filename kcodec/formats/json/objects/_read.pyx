"""JSON documents to Python objects, by the plans that columns are read by.

The rules are those of `_row.pyx`. What is wrong, and what is seldom, is left to columns (`kcodec.objects._quick`):
defaults, keys with escapes or in another case, numbers with an exponent for integers, fields that are missing.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Copy, PyDict_GetItem, PyDict_SetItem
from cpython.list cimport PyList_Append, PyList_GET_ITEM
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from kcodec.objects._make cimport make_date, make_datetime, make_short_decimal, make_text, make_time
from kcodec.objects._quick cimport QuickReader, odd
from kcodec.wire._floats cimport json_double, powers_of_five, read_double, read_single
from kcodec.wire.base64 cimport base64_decode
from kcodec.wire.cursor cimport likely, load_le32, unlikely
from kcodec.wire.isotime cimport ISO_CLOCK, ISO_DATE, ISO_FLOOR, ISO_LOCAL, ISO_UTC, ISO_ZONED, iso_read
from kcodec.wire.json cimport (
    JSON_MARGIN, JsonFault, json_long, json_number, json_plain, json_short, json_skip, json_skip_string, json_space,
    json_string, json_truth, pow10,
)
from kcodec.wire.status cimport OK
from kcodec.wire.utf8 cimport utf8_valid

import datetime
import json
import sys

import pyarrow as pa

from kcodec.columns.layout import layout
from kcodec.plan.node import Form, Op as Step

__all__ = ["object_reader"]

cdef enum:
    SEEN_WORDS = 4
    MAX_FIELDS = 256          # of an object that is read here: a bit for each
    #: What a value counts as expansion: more than the width of any column, so that the limits of columns are kept.
    WIDTH = 32
    LONGEST = 40              # characters of a number
    LOCAL_BYTES = 4096        # of a document that needs no memory of its own
    NULL_WORD = 0x6C6C756E    # "null"

cdef object UTC = datetime.timezone.utc
cdef object _ONE = 1
cdef dict _MICROS = {"s": 1_000_000, "ms": 1000, "us": 1}
cdef dict _DIGITS = {"s": 0, "ms": 3, "us": 6}


cdef struct Cursor:
    const uint8_t *p
    const uint8_t *end
    int64_t spent             # what the document counts as expansion, as far as it is read
    int64_t limit


cdef inline int spend(Cursor *c, int64_t cost) except -1:
    c.spent += cost
    if unlikely(c.spent > c.limit):
        odd()
    return 0


cdef class Node:
    """Reads one value, at its first byte."""

    cdef bint nullable
    cdef int64_t cost

    cdef object read(self, Cursor *c):
        raise NotImplementedError


cdef inline object value_of(Node node, Cursor *c):
    """Read a value behind any space."""
    if unlikely(c.p >= c.end or c.p[0] <= 32):
        c.p = json_space(c.p, c.end)
        if c.p >= c.end:
            odd()
    if c.p[0] == 110:
        if not node.nullable or c.end - c.p < 4 or load_le32(c.p) != NULL_WORD:
            odd()
        c.p += 4
        return None
    return node.read(c)


cdef inline uint8_t behind(Cursor *c) except? 0:
    """Go behind any space; return the byte there, which there must be."""
    if unlikely(c.p >= c.end or c.p[0] <= 32):
        c.p = json_space(c.p, c.end)
        if c.p >= c.end:
            odd()
    return c.p[0]


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


@cython.final
cdef class Integer(Node):
    cdef int64_t low
    cdef int64_t high

    cdef object read(self, Cursor *c):
        cdef int64_t value = 0
        cdef int fraction = 0
        cdef const uint8_t *at = json_short(c.p, c.end, &value, &fraction)
        if unlikely(at == NULL):
            at = json_long(c.p, c.end, &value)
        if unlikely(at == NULL or fraction or value < self.low or value > self.high):
            odd()
        c.p = at
        return value


@cython.final
cdef class Real(Node):
    cdef bint single

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
        if unlikely(not finite):
            odd()
        c.p = at
        return value


@cython.final
cdef class Decimal(Node):
    cdef int32_t scale
    cdef int32_t precision    # at most 18
    cdef bint quoted          # numbers may stand in a string

    cdef object read(self, Cursor *c):
        cdef int64_t value = 0
        cdef int fraction = 0
        cdef bint in_string = self.quoted and c.p[0] == 34
        cdef const uint8_t *at = json_short(c.p + in_string, c.end, &value, &fraction)
        cdef int32_t shift = self.scale - fraction
        cdef int32_t room = self.precision - shift
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


cdef int64_t plain_string(Cursor *c) except -1:
    """Go behind a string without escapes; return its size."""
    cdef const uint8_t *first = c.p + 1
    cdef const uint8_t *at
    if c.p[0] != 34:
        odd()
    at = json_plain(first, c.end, NULL)
    if at >= c.end or at[0] != 34:
        odd()
    c.p = at + 1
    return at - first


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


@cython.final
cdef class Array(Node):
    cdef Node item

    cdef object read(self, Cursor *c):
        cdef list made = []
        cdef uint8_t byte
        if c.p[0] != 91:
            odd()
        c.p += 1
        if behind(c) == 93:
            c.p += 1
            return made
        while True:
            spend(c, self.item.cost)
            PyList_Append(made, value_of(self.item, c))
            byte = behind(c)
            c.p += 1
            if byte == 93:
                return made
            if byte != 44:
                odd()


@cython.final
cdef class Map(Node):
    cdef Text key
    cdef Node item

    cdef object read(self, Cursor *c):
        cdef list made = []
        cdef uint8_t byte
        if c.p[0] != 123:
            odd()
        c.p += 1
        if behind(c) == 125:
            c.p += 1
            return made
        while True:
            spend(c, self.item.cost + WIDTH)
            behind(c)
            key = self.key.read(c)
            if behind(c) != 58:
                odd()
            c.p += 1
            PyList_Append(made, (key, value_of(self.item, c)))
            byte = behind(c)
            c.p += 1
            if byte == 125:
                break
            if byte != 44:
                odd()
        if len(made) > 1 and len({key for key, _ in made}) < len(made):
            odd()
        return made


cdef struct Key:
    const uint8_t *text       # with its quotes and colon
    int64_t size


@cython.final
cdef class Object(Node):
    cdef Key *keys
    cdef list kept            # the texts of these
    cdef Py_ssize_t count
    cdef list nodes
    cdef list names
    cdef dict places          # of the fields, by the bytes of their keys
    cdef dict blank           # the fields, all of them None
    cdef list needed          # positions of those that must come
    cdef bint folds           # other keys may be fields too
    cdef bint unique
    cdef int levels           # that may be nested in the value of another key

    def __dealloc__(self):
        free(self.keys)

    cdef Py_ssize_t find(self, Cursor *c) except -2:
        """Go behind a key and its colon, and return the place of its field; -1 if it has none."""
        cdef int64_t size
        if c.p[0] != 34:
            odd()
        size = plain_string(c)
        cdef PyObject *place = PyDict_GetItem(self.places, (c.p - 1 - size)[:size])
        if behind(c) != 58:
            odd()
        c.p += 1
        return -1 if place == NULL else <object>place

    cdef object read(self, Cursor *c):
        cdef uint64_t seen[SEEN_WORDS]
        cdef uint64_t bit
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t found
        cdef uint8_t byte
        cdef JsonFault fault
        cdef dict made
        if unlikely(c.p[0] != 123):
            odd()
        c.p += 1
        made = PyDict_Copy(self.blank)
        seen[0] = seen[1] = seen[2] = seen[3] = 0
        byte = behind(c)
        if byte == 125:
            c.p += 1
        while byte != 125:
            byte = behind(c)
            if likely(at < self.count and c.end - c.p >= self.keys[at].size) and likely(
                memcmp(c.p, self.keys[at].text, self.keys[at].size) == 0
            ):
                found = at
                c.p += self.keys[at].size
            else:
                found = self.find(c)
            if found < 0:
                if self.folds:
                    odd()
                c.p = json_skip(c.p, c.end, self.levels, &fault)
                if c.p == NULL:
                    odd()
            else:
                bit = <uint64_t>1 << (found & 63)
                if unlikely(self.unique and seen[found >> 6] & bit):
                    odd()
                seen[found >> 6] |= bit
                value = value_of(<Node>PyList_GET_ITEM(self.nodes, found), c)
                PyDict_SetItem(made, <object>PyList_GET_ITEM(self.names, found), value)
                at = found + 1
            byte = behind(c)
            c.p += 1
            if unlikely(byte != 44 and byte != 125):
                odd()
        for found in self.needed:
            if not seen[found >> 6] >> (found & 63) & 1:
                odd()
        return made


class _Unknown(Exception):
    """A plan has something that only columns have."""


cdef class _Maker:
    """Makes nodes of those of a plan."""

    cdef tuple columns
    cdef int levels           # that may follow

    def __init__(self, plan, limits):
        self.columns = layout(plan.arrow_type)
        self.levels = min(limits.max_depth, 1000)

    cdef Node make(self, object node):
        cdef Node made
        if node.column < 0 or node.forms & Form.CANONICAL:
            raise _Unknown
        kind = self.columns[node.column].type
        op = node.op
        if op is Step.JSON_OBJECT or op is Step.JSON_LIST or op is Step.JSON_MAP:
            if self.levels == 0:
                raise _Unknown
            self.levels -= 1
            made = self.object(node) if op is Step.JSON_OBJECT else self.items(node, kind)
            self.levels += 1
        else:
            made = self.leaf(node, kind)
            made.cost = WIDTH
        made.nullable = bool(node.forms & Form.NULL) and not node.forms & Form.DEFAULT or op is Step.JSON_NULL
        return made

    cdef Node object(self, object node):
        cdef Object made = Object()
        children = node.children
        if len(children) > MAX_FIELDS:
            raise _Unknown
        made.keys = <Key *>calloc(max(len(children), 1), sizeof(Key))
        if made.keys == NULL:
            raise MemoryError
        made.count = len(children)
        made.kept, made.nodes, made.names, made.needed, made.places = [], [], [], [], {}
        made.folds = bool(node.forms & Form.FOLD)
        made.unique = bool(node.forms & Form.UNIQUE)
        made.levels = self.levels
        made.cost = WIDTH
        for at, child in enumerate(children):
            value = self.make(child)
            key = (json.dumps(child.name, ensure_ascii=False) + ":").encode()
            made.kept.append(key)
            made.keys[at].text = key
            made.keys[at].size = len(key)
            made.nodes.append(value)
            made.names.append(sys.intern(self.columns[child.column].name))
            made.places[child.name.encode()] = at
            made.cost += (<Node>value).cost
            if not child.forms & Form.ABSENT or child.data:
                made.needed.append(at)
        fields = [self.columns[child].name for child in self.columns[node.column].children]
        if sorted(fields) != sorted(made.names):
            raise _Unknown
        made.blank = dict.fromkeys(map(sys.intern, fields))
        return made

    cdef Node items(self, object node, object kind):
        cdef Array array = Array()
        cdef Map entries = Map()
        if node.op is Step.JSON_LIST:
            if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
                raise _Unknown
            array.item = self.make(node.children[0])
            array.cost = WIDTH
            return array
        key, item = node.children
        if key.op is not Step.JSON_STRING or node.forms & Form.UNIQUE:
            raise _Unknown
        entries.key = Text()
        entries.item = self.make(item)
        entries.cost = WIDTH
        return entries

    cdef Node leaf(self, object node, object kind):
        cdef Raw raw = Raw()
        op = node.op
        if op is Step.JSON_NULL:
            return Nothing()
        if op is Step.JSON_BOOLEAN:
            return Boolean()
        if op is Step.JSON_INTEGER:
            return self.integer(node, kind)
        if op is Step.JSON_FLOAT:
            return self.real(kind)
        if op is Step.JSON_DECIMAL:
            return self.decimal(node, kind)
        if op is Step.JSON_STRING:
            return Text()
        if op is Step.JSON_BYTES and not pa.types.is_fixed_size_binary(kind):
            return Bytes()
        if op is Step.JSON_TIME:
            return self.moment(node, kind)
        if op is Step.JSON_TEXT:
            raw.levels = self.levels
            raw.binary = not (pa.types.is_string(kind) or pa.types.is_large_string(kind))
            return raw
        raise _Unknown

    cdef Node integer(self, object node, object kind):
        cdef Integer made = Integer()
        if not pa.types.is_integer(kind) or node.factor != 1:
            raise _Unknown
        # Not numbers of C, which these do not fit.
        bits = kind.bit_width - pa.types.is_signed_integer(kind)
        low, high = 0 if pa.types.is_unsigned_integer(kind) else -(_ONE << bits), (_ONE << bits) - 1
        if node.bounds:
            low, high = max(low, node.bounds[0]), min(high, node.bounds[1])
        made.low, made.high = low, min(high, (_ONE << 63) - 1)
        return made

    cdef Node real(self, object kind):
        cdef Real made = Real()
        made.single = pa.types.is_float32(kind)
        return made

    cdef Node decimal(self, object node, object kind):
        cdef Decimal made = Decimal()
        if kind.scale < 0 or kind.scale > 18 or node.forms & Form.BASE64:
            raise _Unknown
        made.scale = kind.scale
        made.precision = min(kind.precision, 18)
        made.quoted = bool(node.forms & Form.TEXT)
        return made

    cdef Node moment(self, object node, object kind):
        cdef Moment made = Moment()
        made.form = (ISO_UTC if node.forms & Form.UTC else 0) | (ISO_FLOOR if node.floor else 0)
        if pa.types.is_date32(kind):
            made.form |= ISO_DATE
            return made
        if pa.types.is_date(kind) or kind.unit == "ns":
            raise _Unknown
        made.digits = _DIGITS[kind.unit]
        made.micros = _MICROS[kind.unit]
        if pa.types.is_time(kind):
            made.form |= ISO_CLOCK
            return made
        if kind.tz not in (None, "UTC"):
            raise _Unknown
        made.zone = None if kind.tz is None else UTC
        made.form |= ISO_ZONED if kind.tz or node.forms & Form.UTC else ISO_LOCAL
        return made


@cython.final
cdef class ObjectReader(QuickReader):
    cdef Node root
    cdef int64_t limit

    cdef object read_plain(self, const uint8_t *p, const uint8_t *end):
        cdef uint8_t local[LOCAL_BYTES + 2 * JSON_MARGIN]
        cdef int64_t size = end - p
        if size <= LOCAL_BYTES:
            return self.read_copy(local, p, size)
        room = <uint8_t *>malloc(size + 2 * JSON_MARGIN)
        if room == NULL:
            raise MemoryError
        try:
            return self.read_copy(room, p, size)
        finally:
            free(room)

    cdef object read_copy(self, uint8_t *room, const uint8_t *p, int64_t size):
        """Read a document where bytes before and behind it may be read too."""
        cdef Cursor c
        memset(room, 0, JSON_MARGIN)
        memcpy(room + JSON_MARGIN, p, size)
        memset(room + JSON_MARGIN + size, 0, JSON_MARGIN)
        c.p = room + JSON_MARGIN
        c.end = c.p + size
        c.spent = self.root.cost
        c.limit = self.limit
        if unlikely(c.spent > c.limit or not utf8_valid(c.p, size)):
            odd()
        value = value_of(self.root, &c)
        if unlikely(c.p != c.end):
            c.p = json_space(c.p, c.end)
            if c.p != c.end:
                odd()
        return value


def object_reader(plan, limits, columns):
    """Return what reads the documents of a plan; see `kcodec.formats.json.objects.kernel`."""
    cdef ObjectReader made = ObjectReader(columns)
    cdef _Maker maker = _Maker(plan, limits)
    if limits.max_number_length < LONGEST:
        return columns
    try:
        made.root = maker.make(plan.root)
    except _Unknown:
        return columns
    made.limit = limits.max_expansion
    return made
