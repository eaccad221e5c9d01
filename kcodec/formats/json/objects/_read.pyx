"""JSON documents to Python objects, by the plans that columns are read by.

The rules are those of `_row.pyx`. What is wrong, and what is seldom, is left to columns (`kcodec.objects._quick`):
defaults, keys with escapes, numbers with an exponent for integers, fields that are missing.
"""

cimport cython
from cpython.dict cimport PyDict_Copy, PyDict_GetItem, PyDict_SetItem
from cpython.list cimport PyList_Append, PyList_GET_ITEM
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from kcodec.formats.json.objects._read_leaf cimport make_leaf
from kcodec.formats.json.objects._read_node cimport (
    LONGEST, WIDTH, Cursor, Node, behind, plain_string, spend, value_of,
)
from kcodec.objects._quick cimport QuickReader, called, odd
from kcodec.wire.binary.cursor cimport likely, unlikely
from kcodec.wire.text.json cimport JSON_MARGIN, JsonFault, json_skip, json_space
from kcodec.wire.text.utf8 cimport utf8_valid

import json
import sys

import pyarrow as pa

from kcodec.columns.types.layout import layout
from kcodec.formats.json.node import JSON_KINDS, Form, Op as Step
from kcodec.formats.json.objects._read_node import Unknown
from kcodec.objects.into import Target

__all__ = ["object_reader"]

cdef enum:
    SEEN_WORDS = 4
    MAX_FIELDS = 256          # of an object that is read here: a bit for each
    LOCAL_BYTES = 4096        # of a document that needs no memory of its own


#: What the keys of a list of pairs may be: values that Python compares as columns do.
cdef tuple _KEYS = (
    Step.JSON_BOOLEAN, Step.JSON_INTEGER, Step.JSON_FLOAT, Step.JSON_DECIMAL, Step.JSON_STRING, Step.JSON_BYTES,
    Step.JSON_TIME,
)


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
    cdef Node key
    cdef Node item
    cdef bint as_dict
    cdef bint paired          # a list of pairs, each a list

    cdef object read(self, Cursor *c):
        cdef list made = []
        cdef uint8_t byte
        cdef uint8_t last = 93 if self.paired else 125
        if c.p[0] != last - 2:
            odd()
        c.p += 1
        if behind(c) == last:
            c.p += 1
            return {} if self.as_dict else made
        while True:
            spend(c, self.item.cost + self.key.cost)
            if self.paired:
                past(c, 91)
            behind(c)
            key = self.key.read(c)
            past(c, 44 if self.paired else 58)
            PyList_Append(made, (key, value_of(self.item, c)))
            if self.paired:
                past(c, 93)
            byte = behind(c)
            c.p += 1
            if byte == last:
                break
            if byte != 44:
                odd()
        if len(made) > 1 and len({key for key, _ in made}) < len(made):
            odd()
        return dict(made) if self.as_dict else made


cdef inline int past(Cursor *c, uint8_t byte) except -1:
    """Go behind a byte, and any space before it."""
    if behind(c) != byte:
        odd()
    c.p += 1
    return 0


@cython.final
cdef class Union(Node):
    """A value of one of several types, which its first byte tells apart."""

    cdef dict members         # their nodes and names, by what JSON_KINDS has
    cdef dict blank           # all of them None; None: the value itself is made

    cdef object read(self, Cursor *c):
        cdef uint8_t byte = c.p[0]
        kind = (
            "object" if byte == 123
            else "array" if byte == 91
            else "string" if byte == 34
            else "boolean" if byte == 116 or byte == 102
            else "number"
        )
        cdef PyObject *found = PyDict_GetItem(self.members, kind)
        if found == NULL:
            odd()
        node, name = <tuple>found
        value = (<Node>node).read(c)
        if self.blank is None:
            return value
        made = PyDict_Copy(self.blank)
        PyDict_SetItem(made, name, value)
        return made


cdef struct Key:
    const uint8_t *text       # with its quotes and colon
    const uint8_t *lower      # the same in lower case, where that names the field too
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
    cdef bint folds           # a key that is no name is the name that its upper case is
    cdef bint unique
    cdef int levels           # that may be nested in the value of another key
    cdef object call          # what is called with the fields; None: they stay a dict
    cdef bint keywords

    def __dealloc__(self):
        free(self.keys)

    cdef Py_ssize_t find(self, Cursor *c, bint *folded) except -2:
        """Go behind a key and its colon, and return the place of its field; -1 if it has none."""
        cdef int64_t size = plain_string(c)
        cdef bytes key = (c.p - 1 - size)[:size]
        cdef PyObject *place = PyDict_GetItem(self.places, key)
        if place == NULL and self.folds:
            # Which upper case other letters have is told by columns.
            if not key.isascii():
                odd()
            folded[0] = True
            place = PyDict_GetItem(self.places, key.upper())
        if behind(c) != 58:
            odd()
        c.p += 1
        return -1 if place == NULL else <object>place

    cdef int past(self, Cursor *c) except -1:
        """Go behind a value that no field has."""
        cdef JsonFault fault
        c.p = json_skip(c.p, c.end, self.levels, &fault)
        if c.p == NULL:
            odd()
        return 0

    cdef object read(self, Cursor *c):
        cdef uint64_t seen[SEEN_WORDS]
        cdef uint64_t exact[SEEN_WORDS]       # those whose key was the name itself
        cdef uint64_t bit
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t found
        cdef const Key *key
        cdef uint8_t byte
        cdef bint folded
        cdef dict made
        if unlikely(c.p[0] != 123):
            odd()
        c.p += 1
        made = PyDict_Copy(self.blank)
        memset(seen, 0, sizeof(seen))
        memset(exact, 0, sizeof(exact))
        byte = behind(c)
        if byte == 125:
            c.p += 1
        while byte != 125:
            byte = behind(c)
            folded = False
            key = &self.keys[at] if likely(at < self.count) and c.end - c.p >= self.keys[at].size else NULL
            if likely(key != NULL) and likely(memcmp(c.p, key.text, key.size) == 0):
                found = at
                c.p += key.size
            elif key != NULL and key.lower != NULL and memcmp(c.p, key.lower, key.size) == 0:
                found = at
                folded = True
                c.p += key.size
            else:
                found = self.find(c, &folded)
            bit = <uint64_t>1 << (found & 63)
            if found < 0 or folded and exact[found >> 6] & bit:
                self.past(c)
            else:
                if unlikely(self.unique and seen[found >> 6] & bit):
                    odd()
                seen[found >> 6] |= bit
                if not folded:
                    exact[found >> 6] |= bit
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
        return made if self.call is None else called(self.call, made, self.keywords)


cdef class _Maker:
    """Makes nodes of those of a plan."""

    cdef tuple columns
    cdef int levels           # that may follow
    cdef object form

    def __init__(self, plan, limits, form):
        self.columns = layout(plan.arrow_type)
        self.levels = min(limits.max_depth, 1000)
        self.form = form

    cdef Node make(self, object node, object into):
        """Make a node; `into` is what objects at it or below are made into."""
        cdef Node made
        if node.column < 0:
            raise Unknown
        kind = self.columns[node.column].type
        op = node.op
        if op is Step.JSON_OBJECT or op is Step.JSON_LIST or op is Step.JSON_MAP:
            if self.levels == 0:
                raise Unknown
            self.levels -= 1
            made = self.object(node, into) if op is Step.JSON_OBJECT else self.items(node, kind, into)
            self.levels += 1
        elif op is Step.JSON_UNION:
            made = self.union(node, into)
        else:
            made = make_leaf(node, kind, self.levels)
            made.cost = WIDTH
        made.nullable = bool(node.forms & Form.NULL) and not node.forms & Form.DEFAULT or op is Step.JSON_NULL
        return made

    cdef Node object(self, object node, object into):
        cdef Object made = Object()
        children = node.children
        if len(children) > MAX_FIELDS:
            raise Unknown
        made.keys = <Key *>calloc(max(len(children), 1), sizeof(Key))
        if made.keys == NULL:
            raise MemoryError
        made.count = len(children)
        made.kept, made.nodes, made.names, made.needed, made.places = [], [], [], [], {}
        made.folds = bool(node.forms & Form.FOLD)
        made.unique = bool(node.forms & Form.UNIQUE)
        made.levels = self.levels
        made.cost = WIDTH
        names = {child.name for child in children}
        for at, child in enumerate(children):
            value = self.make(child, None if into is None else into.inside(self.columns[child.column].name))
            key = (json.dumps(child.name, ensure_ascii=False) + ":").encode()
            made.kept.append(key)
            made.keys[at].text = key
            made.keys[at].size = len(key)
            lower = key.lower()
            if made.folds and key.isascii() and lower.upper() == key and child.name.lower() not in names:
                made.kept.append(lower)
                made.keys[at].lower = lower
            made.nodes.append(value)
            made.names.append(sys.intern(self.columns[child.column].name))
            made.places[child.name.encode()] = at
            made.cost += (<Node>value).cost
            if not child.forms & Form.ABSENT or child.data:
                made.needed.append(at)
        fields = [self.columns[child].name for child in self.columns[node.column].children]
        if sorted(fields) != sorted(made.names):
            raise Unknown
        made.blank = dict.fromkeys(map(sys.intern, fields))
        if into is not None:
            made.call, keywords = into.called_with(fields)
            made.keywords = keywords is not None
        return made

    cdef Node union(self, object node, object into):
        cdef Union made = Union()
        made.cost = WIDTH
        made.members = {}
        made.blank = None if self.form.unions == "value" else {}
        for child in node.children:
            value = self.make(child, into)
            name = sys.intern(self.columns[child.column].name)
            made.members[JSON_KINDS.get(child.op, child.name)] = value, name
            made.cost += (<Node>value).cost
            if made.blank is not None:
                made.blank[name] = None
        return made

    cdef Node items(self, object node, object kind, object into):
        cdef Array array = Array()
        cdef Map entries = Map()
        first = node.children[0]
        if node.op is Step.JSON_LIST and not (pa.types.is_map(kind) and first.op is Step.JSON_TUPLE):
            if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
                raise Unknown
            array.item = self.make(first, into)
            array.cost = WIDTH
            return array
        entries.paired = node.op is Step.JSON_LIST
        key, item = first.children if entries.paired else node.children
        if key.op not in (_KEYS if entries.paired else (Step.JSON_STRING,)) or node.forms & Form.UNIQUE:
            raise Unknown
        if self.levels < entries.paired:
            raise Unknown
        self.levels -= entries.paired
        entries.key = self.make(key, None)
        entries.item = self.make(item, into)
        self.levels += entries.paired
        entries.as_dict = self.form.maps == "dict"
        entries.cost = WIDTH
        return entries


@cython.final
cdef class ObjectReader(QuickReader):
    cdef Node root
    cdef int64_t limit

    cdef object read_plain(self, const uint8_t *p, const uint8_t *end):
        cdef uint8_t local[LOCAL_BYTES + 2 * JSON_MARGIN + 1]
        cdef int64_t size = end - p
        if size <= LOCAL_BYTES:
            return self.read_copy(local, p, size)
        room = <uint8_t *>malloc(size + 2 * JSON_MARGIN + 1)
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
        # Behind a number something has to stand, as where it is within a value.
        room[JSON_MARGIN + size] = 32
        memset(room + JSON_MARGIN + size + 1, 0, JSON_MARGIN)
        c.p = room + JSON_MARGIN
        c.end = c.p + size + 1
        c.spent = self.root.cost
        c.limit = self.limit
        if unlikely(c.spent > c.limit or not utf8_valid(c.p, size)):
            odd()
        value = value_of(self.root, &c)
        if unlikely(c.p + 1 != c.end):
            c.p = json_space(c.p, c.end)
            if c.p != c.end:
                odd()
        return value


def object_reader(plan, limits, columns, form):
    """Return what reads the documents of a plan; see `kcodec.formats.json.objects.kernel`."""
    cdef ObjectReader made = ObjectReader(columns)
    cdef _Maker maker = _Maker(plan, limits, form)
    if limits.max_number_length < LONGEST:
        return columns
    try:
        made.root = maker.make(plan.root, None if form.into is None else Target(form.into))
    except Unknown:
        return columns
    made.limit = limits.max_expansion
    return made
