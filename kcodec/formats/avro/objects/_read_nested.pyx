"""Avro's records, collections and unions as Python objects."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.dict cimport PyDict_Copy, PyDict_DelItem, PyDict_SetItem
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM, PyList_SetItem
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free

from kcodec.formats.avro.objects._read_leaf cimport make_leaf
from kcodec.formats.avro.objects._read_node cimport Cursor, Frame, Node, begin, where
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._paths cimport failed_path
from kcodec.formats.avro.rows._program cimport AvroProgram, Op as SkipOp
from kcodec.formats.avro.rows._skip cimport skip
from kcodec.plan._budget cimport charge_zero_items
from kcodec.plan._program cimport inside
from kcodec.wire.binary.cursor cimport likely, read_branch, read_length, unlikely
from kcodec.wire.binary.status cimport BLOCK_COUNT, BLOCK_SIZE, NEGATIVE_LENGTH, OK, UNION_INDEX, Status

import datetime
import decimal
import sys
from itertools import groupby

import pyarrow as pa

from kcodec.columns.types.layout import layout
from kcodec.errors import CODES
from kcodec.formats.avro.plans.node import AvroNode, Op as Step
from kcodec.formats.avro.rows._program import is_dropped, least_bytes
from kcodec.objects.into import Target
from kcodec.plan.failure import RowError
from kcodec.plan.node import MAX_DEPTH, Plan

cdef extern from "Python.h":
    PyObject **PySequence_Fast_ITEMS(object sequence)
    object PyObject_Vectorcall(object function, PyObject *const *arguments, size_t count, PyObject *names)
    void PyObject_GC_Track(void *made)
    void PyObject_GC_UnTrack(void *made)
    int set_item "PyDict_SetItem"(dict made, PyObject *name, object value) except -1

cdef list _CODES = list(CODES)
#: Of these values no two need be told from each other.
_UNCHANGING = (
    type(None), bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.time,
)


cdef enum:
    FIRST_ITEMS = 64          # of a list that room is made for at once


cdef struct Field:
    # Both are kept by lists of the record.
    PyObject *node
    PyObject *name            # NULL for what is dropped


@cython.final
cdef class Record(Node):
    cdef list nodes           # in the order of the wire
    cdef list names           # of each, None for what is dropped
    cdef dict blank           # the fields in the order of the columns, all None
    cdef Field *fields
    cdef Field *end

    def __dealloc__(self):
        free(self.fields)

    cdef int arrange(self) except -1:
        """Put nodes and names where a loop finds them without asking lists."""
        cdef Py_ssize_t at
        self.fields = <Field *>calloc(len(self.nodes) + 1, sizeof(Field))
        if self.fields == NULL:
            raise MemoryError
        self.end = self.fields + len(self.nodes)
        for at in range(len(self.nodes)):
            self.fields[at].node = PyList_GET_ITEM(self.nodes, at)
            if self.names[at] is not None:
                self.fields[at].name = PyList_GET_ITEM(self.names, at)
        return 0

    cdef object read(self, Cursor *c):
        cdef dict made = PyDict_Copy(self.blank)
        cdef const Field *field = self.fields
        while field != self.end:
            value = (<Node>field.node).read(c)
            # What is None there already needs no place looked for.
            if value is not None and likely(field.name != NULL):
                set_item(made, field.name, value)
            field += 1
        return made


@cython.final
cdef class Made(Node):
    """A record that a class is called with the fields of."""

    cdef list nodes
    cdef list places          # of each node's value among the arguments, -1 for what is dropped
    cdef list blank
    cdef object call
    cdef object keywords      # names of the arguments; None if they stand at the class's own places

    cdef object read(self, Cursor *c):
        cdef list arguments = self.blank[:]
        cdef Py_ssize_t at
        cdef Py_ssize_t place
        for at in range(len(self.nodes)):
            value = (<Node>PyList_GET_ITEM(self.nodes, at)).read(c)
            place = self.places[at]
            if place >= 0:
                Py_INCREF(value)
                PyList_SetItem(arguments, place, value)
        if self.keywords is None:
            return PyObject_Vectorcall(self.call, PySequence_Fast_ITEMS(arguments), len(arguments), NULL)
        return PyObject_Vectorcall(self.call, PySequence_Fast_ITEMS(arguments), 0, <PyObject *>self.keywords)


cdef class Items(Node):
    """Blocks of items, up to an empty one."""

    cdef bint empty           # items take no bytes

    cdef int64_t block(self, Cursor *c, int64_t *end) except -1:
        """Begin a block; return how many items it has, and where it must end, counted from the end of the bytes."""
        cdef const uint8_t *at = c.p
        cdef int64_t count = 0
        cdef int64_t size = 0
        cdef Status status
        end[0] = 1
        if likely(c.p < c.end) and likely((c.p[0] & 0x81) == 0) and likely(not self.empty):
            c.p += 1
            return at[0] >> 1
        status = read_length(&c.p, c.end, &count)
        if unlikely(status != OK):
            self.fail(c, status, at)
        if count < 0:
            if count == INT64_MIN:
                self.fail(c, BLOCK_COUNT, at)
            count = -count
            status = self.block_size(c, &size)
            end[0] = size
        if unlikely(self.empty) and count:
            status = charge_zero_items(&c.budget, count)
            if unlikely(status != OK):
                self.fail(c, status, at)
        return count

    cdef Status block_size(self, Cursor *c, int64_t *end) except NEGATIVE_LENGTH:
        cdef const uint8_t *at = c.p
        cdef int64_t size = 0
        cdef Status status = read_length(&c.p, c.end, &size)
        if status != OK:
            self.fail(c, status, at)
        if size < 0 or size > c.end - c.p:
            self.fail(c, BLOCK_SIZE, at)
        end[0] = size + (c.p - c.end)
        return OK


@cython.final
cdef class Array(Items):
    cdef Node item

    cdef object read(self, Cursor *c):
        cdef list made = None
        cdef Frame frame
        cdef int64_t count
        cdef int64_t end = 1
        cdef const uint8_t *at
        frame.outer = c.frame
        frame.item = 0
        while True:
            at = c.p
            count = self.block(c, &end)
            if count == 0:
                return [] if made is None else made
            c.frame = &frame
            if made is None:
                made = PyList_New(min(count, FIRST_ITEMS))
                # Nobody is to find it as long as there is nothing at its places.
                PyObject_GC_UnTrack(<void *>made)
                while frame.item < PyList_GET_SIZE(made):
                    value = self.item.read(c)
                    Py_INCREF(value)
                    PyList_SET_ITEM(made, frame.item, value)
                    frame.item += 1
                PyObject_GC_Track(<void *>made)
                count -= frame.item
            while count:
                made.append(self.item.read(c))
                frame.item += 1
                count -= 1
            c.frame = frame.outer
            if end <= 0 and c.p - c.end != end:
                self.fail(c, BLOCK_SIZE, _behind_varint(at))


@cython.final
cdef class Map(Items):
    cdef Node key
    cdef Node value
    cdef bint pairs

    cdef object read(self, Cursor *c):
        cdef dict made
        cdef Frame frame
        cdef int64_t count
        cdef int64_t end = 1
        cdef Py_ssize_t known = 0
        cdef const uint8_t *at
        if likely(c.p < c.end) and c.p[0] == 0:
            c.p += 1
            return [] if self.pairs else {}
        made = {}
        frame.outer = c.frame
        frame.item = 0
        while True:
            at = c.p
            count = self.block(c, &end)
            if count == 0:
                return list(made.items()) if self.pairs else made
            c.frame = &frame
            while count:
                key = self.key.read(c)
                value = self.value.read(c)
                PyDict_SetItem(made, key, value)
                if unlikely(len(made) == known):
                    # The last entry of a key counts, where it stands.
                    PyDict_DelItem(made, key)
                    PyDict_SetItem(made, key, value)
                known = len(made)
                frame.item += 1
                count -= 1
            c.frame = frame.outer
            if end <= 0 and c.p - c.end != end:
                self.fail(c, BLOCK_SIZE, _behind_varint(at))


cdef const uint8_t *_behind_varint(const uint8_t *p) noexcept:
    """Return where a varint ends that has been read."""
    while p[0] & 0x80:
        p += 1
    return p + 1


@cython.final
cdef class Nullable(Node):
    cdef Node item
    cdef int32_t null         # the branch without a value

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at = c.p
        cdef uint64_t raw = 0
        cdef Status status
        if likely(c.p < c.end) and likely((c.p[0] & 0xFD) == 0):
            raw = c.p[0]
            c.p += 1
        else:
            status = read_branch(&c.p, c.end, &raw)
            if status != OK:
                self.fail(c, status, at)
            if raw != 0 and raw != 2:
                self.fail(c, UNION_INDEX, at)
        if <int32_t>(raw >> 1) == self.null:
            return None
        return self.item.read(c)


@cython.final
cdef class Union(Node):
    cdef list branches

    cdef object read(self, Cursor *c):
        cdef const uint8_t *at = c.p
        cdef uint64_t raw = 0
        cdef Status status = read_branch(&c.p, c.end, &raw)
        if unlikely(status != OK):
            self.fail(c, status, at)
        if unlikely((raw & 1) or (raw >> 1) >= <uint64_t>len(self.branches)):
            self.fail(c, UNION_INDEX, at)
        return (<Node>PyList_GET_ITEM(self.branches, <Py_ssize_t>(raw >> 1))).read(c)


@cython.final
cdef class Member(Node):
    cdef Node item
    cdef str name
    cdef dict blank

    cdef object read(self, Cursor *c):
        cdef dict made = PyDict_Copy(self.blank)
        PyDict_SetItem(made, self.name, self.item.read(c))
        return made


@cython.final
cdef class Constant(Node):
    """A default that never changes, so that one object is enough."""

    cdef object value
    cdef int64_t cost

    cdef object read(self, Cursor *c):
        self.spend(c, self.cost, c.p)
        return self.value


@cython.final
cdef class Default(Node):
    cdef Node item
    cdef bytes data

    cdef object read(self, Cursor *c):
        cdef const uint8_t *p = c.p
        cdef const uint8_t *end = c.end
        cdef const uint8_t *outside = c.outside
        self.spend(c, len(self.data), p)
        if outside == NULL:
            c.outside = p
        c.p = <const uint8_t *>PyBytes_AS_STRING(self.data)
        c.end = c.p + len(self.data)
        value = self.item.read(c)
        c.p = p
        c.end = end
        c.outside = outside
        return value


@cython.final
cdef class Fail(Node):
    cdef str code
    cdef str reason

    cdef object read(self, Cursor *c):
        at = (c.p if c.outside == NULL else c.outside) - c.start
        raise RowError(self.code, at, where(c, self.path), self.reason)


@cython.final
cdef class Skip(Node):
    """Values that are dropped, which the program of columns goes over."""

    cdef AvroProgram program
    cdef int32_t max_depth

    cdef object read(self, Cursor *c):
        cdef Context context
        cdef const SkipOp *op = self.program.ops
        context.ops = op
        context.end = context.limit = c.end
        context.budget = c.budget
        context.depth = 0
        context.max_depth = self.max_depth
        context.trail_size = 0
        cdef const uint8_t *p = skip(&context, op + 1, op + op.next, 0, 1, c.p)
        if unlikely(p == NULL):
            path = _joined(where(c, self.path), failed_path(&context, self.program))
            raise RowError(_CODES[<int>context.status - 1], context.at - c.start, path)
        c.budget = context.budget
        c.p = p
        return None


cdef str _joined(str outer, str inner):
    return f"{outer}.{inner}" if outer and inner and inner[0] not in "[." else outer + inner


cdef class _Maker:
    """Makes nodes of those of a plan."""

    cdef object plan
    cdef object limits
    cdef object form
    cdef tuple columns

    def __init__(self, plan, limits, form):
        self.plan = plan
        self.limits = limits
        self.form = form
        self.columns = layout(plan.arrow_type)

    cdef Node placed(self, Node made, tuple path):
        made.path = path
        return made

    cdef Node make(self, object node, tuple path, object into):
        """Make a node; `into` is what records at it or below are made into."""
        op = node.op
        path = inside(path, node.name)
        if is_dropped(node):
            return self.skipped([node], path if node.name == "" else path[:len(path) - 1])
        if op is Step.RECORD:
            return self.record(node, path, into)
        if op is Step.ARRAY or op is Step.MAP:
            return self.items(node, path, into)
        if op is Step.UNION:
            return self.union(node, path, into)
        if op is Step.PRESENT:
            return self.make(node.children[0], path, into)
        if op is Step.MEMBER:
            return self.member(node, path, into)
        if op is Step.DEFAULT:
            return self.default(node, path, into)
        if op is Step.FAIL:
            return self.failing(node, path)
        return self.placed(make_leaf(node, self.columns, self.form.floor), path)

    cdef Node failing(self, object node, tuple path):
        cdef Fail made = Fail()
        made.code = node.code
        made.reason = node.reason
        return self.placed(made, path)

    cdef Node skipped(self, object nodes, tuple path):
        cdef Skip made = Skip()
        root = AvroNode(Step.RECORD, -1, "", tuple(nodes))
        named = self.plan.named if _calls(root) else ()
        made.program = AvroProgram(Plan("AVRO", "decode", pa.struct([]), root, named), self.limits)
        made.max_depth = min(self.limits.max_depth, MAX_DEPTH)
        return self.placed(made, path)

    cdef Node record(self, object node, tuple path, object into):
        cdef Record made = Record()
        names = [self.columns[child].name for child in self.columns[node.column].children]
        nodes = []
        found = []
        for dropped, group in groupby(node.children, is_dropped):
            if dropped:
                nodes.append(self.skipped(group, path))
                found.append(None)
                continue
            for child in group:
                name = sys.intern(self.columns[child.column].name) if child.column >= 0 else None
                nodes.append(self.make(child, path, None if into is None else into.inside(child.name)))
                found.append(name)
        if into is not None:
            return self.instance(nodes, found, names, path, into)
        made.nodes = nodes
        made.names = found
        made.blank = dict.fromkeys(map(sys.intern, names))
        made.arrange()
        return self.placed(made, path)

    cdef Node instance(self, list nodes, list found, list names, tuple path, object into):
        cdef Made made = Made()
        made.nodes = nodes
        made.places = [-1 if name is None else names.index(name) for name in found]
        made.blank = [None] * len(names)
        made.call, made.keywords = into.called_with(names)
        return self.placed(made, path)

    cdef Node items(self, object node, tuple path, object into):
        cdef Array array
        cdef Map made
        if node.op is Step.ARRAY:
            array = Array()
            array.item = self.make(node.children[0], (*path, None), into)
            array.empty = least_bytes(node.children[0]) == 0
            return self.placed(array, path)
        made = Map()
        made.key = self.make(node.children[0], (*path, None, ".key"), None)
        made.value = self.make(node.children[1], (*path, None, ".value"), into)
        made.pairs = self.form.maps == "pairs"
        return self.placed(made, path)

    cdef Node union(self, object node, tuple path, object into):
        cdef Nullable nullable
        cdef Union made
        steps = [child.op for child in node.children]
        if len(steps) == 2 and {*steps} == {Step.ABSENT, Step.PRESENT}:
            nullable = Nullable()
            nullable.null = steps.index(Step.ABSENT)
            nullable.item = self.make(node.children[1 - nullable.null], path, into)
            return self.placed(nullable, path)
        made = Union()
        made.branches = [self.make(child, path, into) for child in node.children]
        return self.placed(made, path)

    cdef Node member(self, object node, tuple path, object into):
        cdef Member made = Member()
        made.item = self.make(node.children[0], path, into)
        if self.form.unions == "value":
            return made.item
        names = [sys.intern(self.columns[child].name) for child in self.columns[node.column].children]
        made.name = names[node.size]
        made.blank = dict.fromkeys(names)
        return self.placed(made, path)

    cdef Node default(self, object node, tuple path, object into):
        cdef Default made = Default()
        cdef Constant constant = Constant()
        cdef Cursor cursor
        made.item = self.make(node.children[0], path, into)
        made.data = node.data
        self.placed(made, path)
        begin(&cursor, b"", self.limits)
        try:
            constant.value = made.read(&cursor)
        except RowError:
            # Of the rows that reach it.
            return made
        if not isinstance(constant.value, _UNCHANGING):
            return made
        constant.cost = cursor.budget.expanded
        return self.placed(constant, path)


def _calls(node):
    """Return whether a node calls a named one."""
    return node.op is Step.CALL or any(map(_calls, node.children))


cdef Node make_root(object plan, object limits, object form):
    cdef _Maker maker = _Maker(plan, limits, form)
    return maker.make(plan.root, (), None if form.into is None else Target(form.into))
