"""Protobuf's messages to Python objects, by the plans that columns are read by.

The wire format is told in `_row.pyx`, whose order and rules these are. What is wrong, and what is seldom, is left to
columns (`kcodec.objects._quick`): messages that come in several parts, two members of a oneof, groups, keys of a map
that come twice, text that is not UTF-8, numbers that an enum does not have where that matters.
"""

cimport cython
from cpython.dict cimport PyDict_Copy, PyDict_GetItem, PyDict_SetItem
from cpython.list cimport PyList_Append, PyList_GET_ITEM
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from kcodec.formats.protobuf.objects._value cimport (
    BITS32, BITS64, BOOL, DOUBLE, FEW, INT32, INT64, SIGNED32, SIGNED64, SINGLE, SINT32, SINT64, UINT32, UINT64, WIDE,
    WIDE_BITS, Bytes, Converted, Cursor, Enum, EnumNumber, Node, Number, OrNull, Text, Time, length, skip, spend,
    varint,
)
from kcodec.formats.protobuf.rows._program cimport FIXED32, FIXED64, LENGTH, VARINT
from kcodec.objects._quick cimport QuickReader, called, odd
from kcodec.wire.binary.cursor cimport likely, unlikely

import sys
from decimal import Decimal

import pyarrow as pa

from kcodec.columns.types.layout import layout
from kcodec.formats.protobuf.objects.kernel import message_in
from kcodec.formats.protobuf.plans.plan import SECONDS
from kcodec.objects.into import Target
from kcodec.plan.node import MAX_DEPTH

__all__ = ["object_reader"]

cdef enum:
    SEEN_WORDS = 4
    MAX_FIELDS = 256          # of a message that is read here: a bit for each
    #: What a value counts as expansion: more than the width of any column, so that the limits of columns are kept.
    WIDTH = 32


cdef struct Field:
    uint32_t number
    int32_t wire_type
    int32_t oneof             # -1: of none
    bint packable
    bint repeated
    bint whole                # it must not come in several parts
    bint needed               # it must come


cdef class Message(Node):
    """Reads fields into a dict, up to the end."""

    cdef Field *fields
    cdef Py_ssize_t count
    cdef list nodes           # None: dropped
    cdef list names
    cdef dict blank           # the fields in the order of the columns
    cdef list lists           # positions of lists and maps
    cdef list maps            # names
    cdef list needed          # positions
    cdef list cases           # of oneofs: names, and their members by position
    cdef bint keeps           # unknown fields have a column
    cdef bint as_dicts        # what maps become, else lists of pairs
    cdef object call          # what is called with the fields; None: they stay a dict
    cdef bint keywords

    def __dealloc__(self):
        free(self.fields)

    cdef inline Py_ssize_t find(self, uint32_t number, Py_ssize_t at) noexcept:
        """Find a field, at or behind a position for most; -1 if there is none."""
        cdef Py_ssize_t low = 0
        cdef Py_ssize_t high = self.count
        cdef Py_ssize_t middle
        if likely(at < self.count) and likely(self.fields[at].number == number):
            return at
        while low < high:
            middle = (low + high) >> 1
            if self.fields[middle].number < number:
                low = middle + 1
            else:
                high = middle
        return low if low < self.count and self.fields[low].number == number else -1

    cdef dict fill(self, Cursor *c):
        """Read the fields up to the end."""
        cdef uint64_t seen[SEEN_WORDS]
        cdef uint64_t oneofs = 0
        cdef uint64_t bit
        cdef uint64_t *word
        cdef uint64_t tag
        cdef const Field *field
        cdef int32_t wire_type
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t found
        cdef Py_ssize_t position
        cdef dict made = PyDict_Copy(self.blank)
        spend(c, self.cost)
        seen[0] = seen[1] = seen[2] = seen[3] = 0
        while c.p < c.end:
            tag = varint(c)
            wire_type = tag & 7
            if unlikely(tag >> 32 or tag < 8):
                odd()
            found = self.find(<uint32_t>tag >> 3, at)
            if found < 0:
                self.pass_over(c, wire_type)
                continue
            field = &self.fields[found]
            if unlikely(wire_type != field.wire_type) and not (wire_type == LENGTH and field.packable):
                self.pass_over(c, wire_type)
                continue
            word = &seen[found >> 6]
            bit = <uint64_t>1 << (found & 63)
            if field.oneof >= 0:
                if oneofs >> field.oneof & 1 and not word[0] & bit:
                    odd()
                oneofs |= <uint64_t>1 << field.oneof
            node = <object>PyList_GET_ITEM(self.nodes, found)
            if node is None:
                self.pass_over(c, wire_type)
            elif field.repeated:
                self.add(c, made, found, wire_type != field.wire_type or wire_type == LENGTH and field.packable,
                         (word[0] & bit) != 0)
            else:
                if unlikely(field.whole) and word[0] & bit:
                    odd()
                PyDict_SetItem(made, <object>PyList_GET_ITEM(self.names, found), (<Node>node).read(c))
            word[0] |= bit
            # Lists mostly go on, and nothing is lost if this one does not.
            at = found + (not field.repeated)
        for position in self.lists:
            if not seen[position >> 6] >> (position & 63) & 1:
                PyDict_SetItem(made, self.names[position], [])
        for position in self.needed:
            if not seen[position >> 6] >> (position & 63) & 1:
                odd()
        for name, members in self.cases:
            for position, member in <list>members:
                if seen[position >> 6] >> (position & 63) & 1:
                    PyDict_SetItem(made, name, member)
        for name in self.maps:
            entries = <list>made[name]
            if len(entries) > 1 and len({key for key, _ in entries}) < len(entries):
                odd()
            if self.as_dicts:
                made[name] = dict(entries)
        return made

    cdef int pass_over(self, Cursor *c, int32_t wire_type) except -1:
        """Read past an unknown field; one that is kept is no plain one."""
        if self.keeps:
            odd()
        skip(c, wire_type)
        return 0

    cdef int add(self, Cursor *c, dict made, Py_ssize_t at, bint packed, bint again) except -1:
        """Read an item of a list or an entry of a map, or a packed run."""
        cdef Node node = <Node>PyList_GET_ITEM(self.nodes, at)
        cdef list items
        cdef const uint8_t *end = c.end
        cdef int64_t size
        name = <object>PyList_GET_ITEM(self.names, at)
        if again:
            items = <list>PyDict_GetItem(made, name)
        else:
            items = []
            PyDict_SetItem(made, name, items)
        if not packed:
            spend(c, node.cost)
            PyList_Append(items, node.read(c))
            return 0
        size = length(c)
        c.end = c.p + size
        while c.p < c.end:
            spend(c, node.cost)
            PyList_Append(items, node.read(c))
        c.end = end
        return 0

    cdef dict within(self, Cursor *c):
        """Read the fields of a message that stands behind its length."""
        cdef const uint8_t *end = c.end
        cdef int64_t size = length(c)
        c.end = c.p + size
        made = self.fill(c)
        c.end = end
        return made

    cdef object finished(self, dict made):
        return made if self.call is None else called(self.call, made, self.keywords)

    cdef object read(self, Cursor *c):
        return self.finished(self.within(c))


@cython.final
cdef class Entry(Message):
    """An entry of a map, as a pair."""

    cdef object read(self, Cursor *c):
        made = self.within(c)
        return made["key"], made["value"]


@cython.final
cdef class Inner(Message):
    """A message of one field that stands for it."""

    cdef object read(self, Cursor *c):
        return self.within(c)[""]


class _Unknown(Exception):
    """A plan has something that only columns have."""


cdef class _Maker:
    """Makes nodes of those of a plan."""

    cdef tuple columns
    cdef object conversion
    cdef tuple converted      # the columns once bytes are converted
    cdef int levels           # that may follow the outermost message
    cdef int depth            # that may follow
    cdef object form

    def __init__(self, plan, limits, form, conversion):
        self.columns = layout(plan.arrow_type)
        self.conversion = conversion
        self.converted = () if conversion is None else layout(conversion.kind)
        self.levels = self.depth = min(limits.max_depth, MAX_DEPTH)
        self.form = form

    cdef Message message(self, object node, Message made, object into, object kind):
        """Make what reads a message of a type; `into` is what it is made into, or those below it that stand for it."""
        cdef Field *target
        fields = node.children
        if len(fields) > MAX_FIELDS or max([field.oneof for field in fields], default=0) > 63:
            raise _Unknown
        made.fields = <Field *>calloc(max(len(fields), 1), sizeof(Field))
        if made.fields == NULL:
            raise MemoryError
        made.count = len(fields)
        made.nodes, made.names, made.lists, made.maps, made.needed, made.cases = [], [], [], [], [], []
        made.keeps = node.unknown >= 0
        defaults = {}
        made.cost = WIDTH
        for at, field in enumerate(fields):
            target = &made.fields[at]
            target.number = field.number
            target.oneof = field.oneof
            target.repeated = field.label in ("repeated", "map")
            name = field.name
            if field.column >= 0 and not isinstance(made, (Entry, Inner)):
                name = self.columns[field.column].name
            name = sys.intern(name)
            made.names.append(name)
            below = into
            if into is not None and not isinstance(made, (Entry, Inner)):
                below = into.inside(name)
            value = self.field(field, target, below, kind)
            made.nodes.append(value)
            if value is None:
                continue
            # Empty lists and maps count once more for what holds them.
            made.cost += WIDTH + (<Node>value).cost
            if target.repeated:
                defaults[name] = None
                made.lists.append(at)
                if field.label == "map":
                    made.maps.append(name)
                continue
            target.whole = bool(field.children) or isinstance(value, (Converted, Time))
            defaults[name] = None if field.presence or field.nulls else self.absent(field, value)
            if field.label == "required" or not field.presence and target.whole:
                made.needed.append(at)
        for oneof, case in enumerate(node.cases):
            if case >= 0:
                name = sys.intern(self.columns[case].name)
                members = [(at, field.name) for at, field in enumerate(fields) if field.oneof == oneof]
                made.cases.append((name, members))
                defaults[name] = None
        if made.keeps:
            defaults[self.columns[node.unknown].name] = None
        if node.column >= 0:
            names = [self.columns[child].name for child in self.columns[node.column].children]
        else:
            names = list(defaults)
        made.blank = {sys.intern(name): defaults[name] for name in names}
        made.as_dicts = self.form.maps == "dict"
        if into is not None and not isinstance(made, (Entry, Inner)):
            made.call, keywords = into.called_with(names)
            made.keywords = keywords is not None
        return made

    cdef object field(self, object field, Field *target, object into, object message):
        """Make what reads a field of a message; None if it is dropped."""
        kind = field.kind
        if kind == "group":
            raise _Unknown
        target.wire_type = (
            LENGTH if kind in ("string", "bytes", "raw", "timestamp", "duration", "message")
            else FIXED32 if kind in ("fixed32", "sfixed32", "float")
            else FIXED64 if kind in ("fixed64", "sfixed64", "double")
            else VARINT
        )
        target.packable = field.label == "repeated" and target.wire_type != LENGTH
        if field.column < 0:
            return None
        if kind == "message":
            return self.below(field, into, message_in(message, field))
        stored = self.columns[field.column + (field.label == "repeated")].type
        if kind in ("timestamp", "duration"):
            return self.time(field, kind, stored)
        if kind == "raw":
            return self.counted(self.value(field, message_in(message, field)))
        return self.or_null(field, self.scalar(field, kind, stored))

    cdef Node scalar(self, object field, object kind, object stored):
        if kind == "string":
            return self.counted(Text())
        if kind == "bytes":
            return self.counted(Bytes())
        if kind == "enum":
            return self.enum(field, stored)
        return self.number(kind, stored)

    cdef Node or_null(self, object field, Node value):
        cdef OrNull made
        if not field.nulls:
            return value
        made = OrNull()
        made.node = value
        made.default = self.absent(field, value)
        made.cost = value.cost
        return made

    cdef Node counted(self, Node made):
        made.cost = WIDTH
        return made

    cdef Node value(self, object field, object message):
        cdef Converted made = Converted()
        if self.conversion is None:
            raise _Unknown
        stored = self.converted[field.column + (field.label == "repeated")].type
        made.convert = self.conversion.convert(message, stored, self.levels - self.depth)
        if made.convert is None:
            raise _Unknown
        return made

    cdef Node below(self, object field, object into, object message):
        child = field.children[0]
        if field.label == "map" and field.closed or self.depth == 0:
            raise _Unknown
        self.depth -= 1
        if field.label == "map":
            made = self.message(child, Entry(), into, message)
        elif child.column < 0:
            made = self.message(child, Inner(), into, message)
        else:
            made = self.message(child, Message(), into, message)
        self.depth += 1
        return made

    cdef Node time(self, object field, object kind, object stored):
        cdef Time made = Time()
        if stored.unit != "us" or self.depth == 0:
            raise _Unknown
        made.low, made.high = SECONDS[kind]
        made.is_duration = kind == "duration"
        made.strict = field.strict
        return self.counted(made)

    cdef Node enum(self, object field, object stored):
        cdef Enum made = Enum()
        cdef EnumNumber number = EnumNumber()
        known = field.closed or field.strict
        if pa.types.is_integer(stored):
            number.numbers = frozenset(field.numbers) if known else None
            return self.counted(number)
        made.names = dict(zip(field.numbers, map(sys.intern, field.symbols)))
        made.known = known
        made.cost = max([len(name.encode()) for name in field.symbols] + [WIDTH])
        return made

    cdef Node number(self, object kind, object stored):
        cdef Number made = Number()
        signed = pa.types.is_signed_integer(stored) and stored.bit_width == (64 if kind.endswith("64") else 32)
        if kind == "uint32":
            made.kind = INT32 if signed else UINT32
        elif kind == "uint64":
            made.kind = WIDE if pa.types.is_decimal(stored) else INT64 if signed else UINT64
        elif kind == "fixed32":
            made.kind = SIGNED32 if signed else BITS32
        elif kind == "fixed64":
            made.kind = WIDE_BITS if pa.types.is_decimal(stored) else SIGNED64 if signed else BITS64
        else:
            made.kind = {
                "bool": BOOL, "int32": INT32, "int64": INT64, "sint32": SINT32, "sint64": SINT64, "sfixed32": SIGNED32,
                "float": SINGLE, "sfixed64": SIGNED64, "double": DOUBLE,
            }[kind]
        return self.counted(made)

    cdef object absent(self, object field, object value):
        """Return what a field without presence is where it does not come."""
        if isinstance(value, Enum):
            return (<Enum>value).names.get(field.default, str(field.default))
        if isinstance(value, EnumNumber):
            return field.default
        if isinstance(value, Text):
            return ""
        if isinstance(value, Bytes):
            return b""
        if not isinstance(value, Number):
            return None
        kind = (<Number>value).kind
        if kind == BOOL:
            return False
        if kind == SINGLE or kind == DOUBLE:
            return 0.0
        return Decimal(0) if kind == WIDE or kind == WIDE_BITS else 0


@cython.final
cdef class ObjectReader(QuickReader):
    cdef Message root
    cdef int64_t limit
    cdef bint converts

    def decode_list(self, list values, starts=None, stop=False):
        if self.converts and len(values) > FEW:
            return self.columns.decode_list(values, starts, stop)
        return QuickReader.decode_list(self, values, starts, stop)

    cdef object read_plain(self, const uint8_t *p, const uint8_t *end):
        cdef Cursor c
        c.p = p
        c.end = end
        c.spent = 0
        c.limit = self.limit
        c.converted = 0
        return self.root.finished(self.root.fill(&c))


def object_reader(plan, limits, columns, form, conversion=None):
    """Return what reads the messages of a plan; see `kcodec.formats.protobuf.objects.kernel`."""
    cdef ObjectReader made = ObjectReader(columns)
    cdef _Maker maker = _Maker(plan, limits, form, conversion)
    try:
        made.root = maker.message(
            plan.root, Message(), None if form.into is None else Target(form.into),
            None if conversion is None else conversion.message,
        )
    except _Unknown:
        return columns
    made.limit = limits.max_expansion
    made.converts = conversion is not None and plan.arrow_type != conversion.kind
    return made
