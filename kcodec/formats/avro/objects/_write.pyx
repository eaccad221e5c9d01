"""Python objects to Avro binary, by the plan that columns of the schema's own type are written with.

Values of the usual types are looked at here; for others `kcodec.objects.taken` says what they are.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from kcodec.formats.avro.objects._write_leaf cimport make_leaf
from kcodec.formats.avro.objects._write_node cimport Node
from kcodec.objects._buffer cimport Buffer, Frame, begin_buffer, put_bytes, put_number
from kcodec.plan._program cimport inside
from kcodec.wire.binary.cursor cimport unlikely

import sys
from functools import partial

from kcodec.columns.types.layout import layout
from kcodec.errors import EncodeError, near
from kcodec.formats.avro.plans.node import Op as Step
from kcodec.objects import taken
from kcodec.objects.form import ObjectForm
from kcodec.plan.failure import RowError
from kcodec.plan.node import Limits

__all__ = ["ObjectWriter"]


@cython.final
cdef class Record(Node):
    cdef list nodes
    cdef list names
    cdef list defaults        # bytes of what may be missing, else why it may not

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
        if type(data) is str:
            # It may only be spelt wrong.
            self.stranger(b, value)
            (<Node>self.nodes[at]).fail(b, "missing_key", data)
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
        cdef Py_ssize_t count
        if type(value) is not list:
            value = self.take_as(b, taken.items, value)
        frame.outer = b.frame
        frame.item = 0
        count = len(value)
        if count:
            put_number(b, count)
            b.frame = &frame
            for item in value:
                self.item.write(b, item)
                frame.item += 1
            b.frame = frame.outer
            if unlikely(frame.item != count):
                raise RuntimeError("a list changed its size while it was written")
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
        if not numbers:
            self.fail(b, "type_mismatch", f"a {type(value).__name__} is no null")
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
        value = value if isinstance(value, dict) else self.take_as(b, partial(taken.members, self.places), value)
        found = -1
        chosen = None
        for name, member in value.items():
            if name not in self.places:
                self.fail(b, "unknown_field", taken.no_member(name, self.places))
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


cdef object default(object node):
    """Return the bytes that are written where an object lacks a field, or why it may not."""
    if node.op is not Step.DEFAULT:
        return "the field is missing, and has no default"
    return node.reason or node.data


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
        made = make_leaf(node, self.columns, self.form.floor)
        made.path = path
        return made

    cdef Node record(self, object node, tuple path):
        cdef Record made = Record()
        made.path = path
        made.natural = dict
        made.nodes = [self.make(child, path) for child in node.children]
        made.names = [sys.intern(child.name) for child in node.children]
        made.defaults = [default(child) for child in node.children]
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


@cython.final
cdef class ObjectWriter:
    """Writes Python objects as payloads; see `kcodec.objects.kernel.Writer`."""

    cdef Node root

    def __init__(self, plan, limits=Limits(), form=ObjectForm()):
        self.root = _Maker(plan, form).make(plan.root, ())

    cdef object write(self, object value, bytes prefix):
        cdef Buffer b
        begin_buffer(&b)
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
