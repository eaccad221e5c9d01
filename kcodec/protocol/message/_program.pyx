"""Plans of Kafka's messages as flat, read-only C tables.

A record has no op of its own but for one that says that it is not null; its fields' ops stand one after the other.
Arrays, records that may be null, and tags own a range of ops.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.plan._program cimport Program, inside, status_of
from kcodec.wire.binary.status cimport TRUNCATED, VARINT_OVERFLOW, VARINT_OVERLONG

import struct

import pyarrow as pa

from kcodec.plan.node import Limits
from kcodec.protocol.message.node import Op as Step
from kcodec.protocol.message.plan import UNKNOWN

#: Step -> op that reads it, op that writes it, bytes, how it looks in Python.
_FIXED = {
    Step.BOOLEAN: (GET_BOOLEAN, PUT_BOOLEAN, 1, NOT_A_NUMBER),
    Step.INT8: (GET_8, PUT_8, 1, SIGNED),
    Step.INT16: (GET_16, PUT_16, 2, SIGNED),
    Step.UINT16: (GET_16, PUT_16, 2, UNSIGNED),
    Step.INT32: (GET_32, PUT_32, 4, SIGNED),
    Step.UINT32: (GET_32, PUT_32, 4, UNSIGNED),
    Step.INT64: (GET_64, PUT_64, 8, SIGNED),
    Step.FLOAT64: (GET_64, PUT_64, 8, FLOATING),
    Step.UUID: (GET_UUID, PUT_UUID, 16, NOT_A_NUMBER),
}
#: Step -> op that reads it, op that writes it, bytes of its length.
_SIZED = {
    Step.SHORT_STRING: (GET_SHORT_STRING, PUT_SHORT_STRING, 2),
    Step.COMPACT_STRING: (GET_COMPACT_STRING, PUT_COMPACT_STRING, 1),
    Step.SIZED_BYTES: (GET_SIZED_BYTES, PUT_SIZED_BYTES, 4),
    Step.COMPACT_BYTES: (GET_COMPACT_BYTES, PUT_COMPACT_BYTES, 1),
    Step.COUNTED_ARRAY: (GET_COUNTED_ARRAY, PUT_COUNTED_ARRAY, 4),
    Step.COMPACT_ARRAY: (GET_COMPACT_ARRAY, PUT_COMPACT_ARRAY, 1),
}
_ARRAYS = (Step.COUNTED_ARRAY, Step.COMPACT_ARRAY)
_RECORDS = {
    Step.NULLABLE_RECORD: (GET_NULLABLE_RECORD, PUT_NULLABLE_RECORD),
    Step.TAGGED_RECORD: (GET_TAGGED_RECORD, PUT_TAGGED_RECORD),
}


def least_bytes(node):
    """Return the fewest bytes that a value of a node takes; 0 only if it never takes any."""
    op = node.op
    if op in _FIXED:
        return _FIXED[op][2]
    if op in _SIZED:
        return _SIZED[op][2]
    if op is Step.NULLABLE:
        return least_bytes(node.children[0])
    if op is Step.RECORD:
        return sum(map(least_bytes, node.children))
    return 1 if op in _RECORDS or op is Step.TAG_SECTION else 0


def content(data):
    """Take the length off a constant in compact form."""
    at = 0
    while data[at] >= 0x80:
        at += 1
    return data[at + 1 :]


cdef class MessageProgram(Program):
    """A plan of a message made ready to run; if lenient, it reads all that Kafka's own reader accepts."""

    def __init__(self, plan, limits=Limits(), lenient=False, *, trusts_text=True):
        Program.__init__(self, plan, limits, sizeof(Op), trusts_text)
        self.ops = <Op *>self.table
        self.lenient = lenient
        self.names = []
        self.failing = plan.root.op is Step.FAIL
        if plan.direction == "decode":
            if self.failing:
                self.get(plan.root, ())
            else:
                self.get_fields(plan.root, ())
            self.stop = self.count
        else:
            for self.checking in (False, True):
                if self.failing:
                    self.put(plan.root, ())
                else:
                    self.put_fields(plan.root, ())
                if not self.checking:
                    self.stop = self.count
            self.checked_stop = self.count

    def __reduce__(self):
        return MessageProgram, (self.plan, self.limits, self.lenient)

    cdef int32_t add(self, int32_t code, object node, tuple path, int32_t column) except -1:
        cdef int32_t at = self.new_op(code, column, path, node)
        self.ops = <Op *>self.table
        self.names.append(node.name)
        if node.code:
            self.ops[at].status = status_of(node.code)
        return at

    cdef int set_constant(self, int32_t at, object data) except -1:
        self.ops[at].data = self.constant(data, MARGIN)
        self.ops[at].data_size = len(data)
        return 0

    # Reading.

    cdef int get(self, object node, tuple path) except -1:
        cdef int32_t at
        op = node.op
        path = inside(path, node.name)
        if op is Step.NULLABLE:
            inner = node.children[0]
            if inner.op in _ARRAYS:
                self.get_array(inner, node, path, True)
            else:
                at = self.add(_SIZED[inner.op][0], node, path, node.column)
                self.ops[at].nullable = True
        elif op in _ARRAYS:
            self.get_array(node, node, path, False)
        elif op in _FIXED:
            at = self.add(_FIXED[op][0], node, path, node.column)
            self.ops[at].size = _FIXED[op][2]
            self.ops[at].number = _FIXED[op][3]
        elif op in _SIZED:
            self.add(_SIZED[op][0], node, path, node.column)
        elif op is Step.RECORD:
            at = self.add(GET_RECORD, node, path, node.column)
            self.get_fields(node, path)
            self.ops[at].next = self.count - at
        elif op in _RECORDS:
            at = self.add(_RECORDS[op][0], node, path, node.column)
            self.get(node.children[0], path)
            self.ops[at].next = self.count - at
        elif op is Step.FAIL:
            self.add(FAIL, node, path, node.column)
        else:
            self.set_default(node, path)
        return 0

    cdef int get_fields(self, object node, tuple path) except -1:
        for child in node.children:
            if child.op is Step.TAG_SECTION:
                self.get_tags(child, path)
            else:
                self.get(child, path)
        return 0

    cdef int get_array(self, object node, object named, tuple path, bint nullable) except -1:
        cdef int32_t at = self.add(_SIZED[node.op][0], named, path, node.column)
        item = node.children[0]
        least = least_bytes(item)
        self.ops[at].nullable = nullable
        self.ops[at].minimum = min(least, 1 << 30)
        self.least(node.column, least)
        self.ops[at].records = item.op is Step.RECORD
        if self.ops[at].records:
            self.get_fields(item, (*path, None))
        else:
            self.get(item, (*path, None))
        self.ops[at].next = self.count - at
        return 0

    cdef int get_tags(self, object node, tuple path) except -1:
        cdef int32_t at = self.add(GET_TAGS, node, path, node.column)
        cdef int32_t tag
        self.ops[at].size = len(node.children)
        if node.column >= 0:
            # Each takes a byte for its tag and one for its size.
            self.least(node.column, 2)
        for child in node.children:
            below = inside(path, child.name)
            tag = self.add(GET_TAG, child, below, child.column)
            self.ops[tag].size = child.size
            self.get(child.children[0], below)
            self.ops[tag].split = self.count - tag
            for default in child.children[1:]:
                self.set_default(default, below)
            self.ops[tag].next = self.count - tag
        self.ops[at].next = self.count - at
        return 0

    cdef int set_default(self, object node, tuple path) except -1:
        cdef int32_t at
        if node.op is Step.ABSENT:
            self.add(SET_NULL, node, path, node.column)
            return 0
        if node.op is Step.RECORD:
            at = self.add(SET_RECORD, node, path, node.column)
            for child in node.children:
                self.set_default(child, inside(path, child.name))
            self.ops[at].next = self.count - at
            return 0
        kind = node.children[0].op
        if kind in _ARRAYS:
            self.add(SET_EMPTY, node, path, node.column)
        elif kind in _SIZED:
            at = self.add(SET_TEXT, node, path, node.column)
            self.set_constant(at, content(node.data))
            self.ops[at].number = kind is Step.COMPACT_STRING
            self.expansion += self.ops[at].data_size
        else:
            at = self.add(SET_BOOLEAN if kind is Step.BOOLEAN else SET_FIXED, node, path, node.column)
            # As it stands in the column; a UUID has no order of bytes.
            data = node.data
            self.set_constant(at, data if kind is Step.UUID else bytes(reversed(data)))
            self.ops[at].size = len(data)
            self.ops[at].number = _FIXED[kind][3]
        return 0

    # Writing.

    cdef int put(self, object node, tuple path) except -1:
        op = node.op
        path = inside(path, node.name)
        if op is Step.FAIL:
            self.add(FAIL, node, path, node.column)
        elif op is Step.DEFAULT:
            self.set_constant(self.add(PUT_CONSTANT, node, path, -1), node.data)
        elif op is Step.NULLABLE:
            self.put_value(node.children[0], node, path, True)
        else:
            self.put_value(node, node, path, False)
        return 0

    cdef int put_fields(self, object node, tuple path) except -1:
        cdef int32_t at
        for child in node.children:
            below = inside(path, child.name)
            if child.op is Step.TAG_SECTION:
                self.put_tags(child, node.column, path)
            elif child.op is Step.UNSET:
                at = self.add(PUT_UNSET, child, below, child.column)
                for default in child.children:
                    self.is_default(default, below)
                self.ops[at].next = self.ops[at].split = self.count - at
            else:
                if child.op is Step.DEFAULT:
                    self.cost(node.column, len(child.data))
                self.put(child, path)
        return 0

    cdef int put_value(self, object node, object named, tuple path, bint nullable) except -1:
        cdef int32_t at
        op = node.op
        if not nullable and op not in _RECORDS and node.column > 0:
            self.required.add(node.column)
            if self.checking:
                self.add(PUT_REQUIRED, named, path, node.column)
        if op in _RECORDS:
            at = self.add(_RECORDS[op][1], named, path, node.column)
            self.cost(node.column, 1)
            if node.children[0].op is Step.FAIL:
                self.put(node.children[0], path)
            else:
                self.put_fields(node.children[0], path)
            self.ops[at].nullable = True
        elif op is Step.RECORD:
            at = self.add(PUT_RECORD, named, path, node.column)
            self.put_fields(node, path)
        elif op in _ARRAYS:
            at = self.add(_SIZED[op][1], named, path, node.column)
            self.cost(node.column, 5)
            item = node.children[0]
            self.ops[at].nullable = nullable
            self.ops[at].records = item.op is Step.RECORD
            if self.ops[at].records:
                self.required.add(item.column)
                if self.checking:
                    self.add(PUT_REQUIRED, item, (*path, None), item.column)
                self.put_fields(item, (*path, None))
            else:
                self.put(item, (*path, None))
        elif op in _SIZED:
            at = self.add(_SIZED[op][1], named, path, node.column)
            self.cost(node.column, 5)
            self.ops[at].nullable = nullable
            self.ops[at].checked = not self.trusts_text
        else:
            code, size = _FIXED[op][1], _FIXED[op][2]
            kind = self.layout[node.column].type
            if pa.types.is_integer(kind) and kind != _EXACT[op]:
                code = PUT_INTEGER
            at = self.add(code, named, path, node.column)
            self.cost(node.column, size)
            self.ops[at].size = size
            self.ops[at].number = _FIXED[op][3]
        self.ops[at].next = self.count - at
        self.set_constant(at, named.data)
        return 0

    cdef int put_tags(self, object node, int32_t owner, tuple path) except -1:
        cdef int32_t at = self.add(PUT_TAGS, node, path, node.column)
        cdef int32_t tag
        self.ops[at].size = len(node.children)
        self.cost(owner, 5)
        if node.column >= 0:
            self.paths[at] = inside(path, UNKNOWN)
            self.cost(self.layout[node.column].children[0], 10)
        for child in node.children:
            below = inside(path, child.name)
            tag = self.add(PUT_TAG, child, below, child.column)
            self.ops[tag].size = child.size
            self.cost(owner, 10)
            self.is_default(child.children[1], below)
            self.ops[tag].split = self.count - tag
            self.cost(owner, len(child.children[0].data))
            self.put(child.children[0], below)
            self.ops[tag].next = self.count - tag
        self.ops[at].next = self.count - at
        return 0

    cdef int is_default(self, object node, tuple path) except -1:
        cdef int32_t at
        if node.op is Step.ABSENT or node.op is Step.FAIL:
            # What is in a column of another type is no default.
            self.add(IS_NULL if node.op is Step.ABSENT else FAIL, node, path, node.column)
            return 0
        if node.op is Step.RECORD:
            at = self.add(IS_RECORD, node, path, node.column)
            for child in node.children:
                self.is_default(child, inside(path, child.name))
            self.ops[at].next = self.count - at
            return 0
        kind = node.children[0].op
        if kind in _ARRAYS:
            at = self.add(IS_EMPTY, node, path, node.column)
            self.ops[at].nullable = node.name == UNKNOWN
        elif kind in _SIZED:
            at = self.add(IS_TEXT, node, path, node.column)
            self.set_constant(at, content(node.data))
            self.ops[at].number = kind is Step.COMPACT_STRING
        elif kind is Step.BOOLEAN:
            at = self.add(IS_BOOLEAN, node, path, node.column)
            self.set_constant(at, node.data)
        else:
            at = self.add(IS_FLOAT if kind is Step.FLOAT64 else IS_FIXED, node, path, node.column)
            # A number as it stands in a column of its widest type, which is compared with columns of any.
            self.set_constant(at, node.data if kind is Step.UUID else widest(kind, node.data))
            self.ops[at].size = len(node.data)
            self.ops[at].number = _FIXED[kind][3]
        return 0


_EXACT = {
    Step.INT8: pa.int8(),
    Step.INT16: pa.int16(),
    Step.INT32: pa.int32(),
    Step.INT64: pa.int64(),
    Step.UINT16: pa.uint16(),
    Step.UINT32: pa.uint32(),
}

_FORMS = {
    Step.INT8: ">b", Step.INT16: ">h", Step.INT32: ">i", Step.INT64: ">q", Step.UINT16: ">H", Step.UINT32: ">I",
}


def widest(kind, data):
    """Write a constant as the int64 or double of this machine."""
    if kind is Step.FLOAT64:
        return struct.pack("=d", *struct.unpack(">d", data))
    return struct.pack("=q", *struct.unpack(_FORMS[kind], data))


# Wire ---------------------------------------------------------------------------------------------------


cdef const uint8_t *read_uvarint(Context *context, const Op *op, const uint8_t *p) noexcept nogil:
    """Read 32 bits, seven a byte, into `context.word`; return the position behind them, or NULL."""
    cdef const uint8_t *at = p
    cdef uint64_t value = 0
    cdef int shift = 0
    while True:
        if at >= context.end:
            return fail(context, TRUNCATED, op, p)
        value |= <uint64_t>(at[0] & 0x7F) << shift
        shift += 7
        at += 1
        if (at - 1)[0] < 0x80:
            break
        if shift == 35:
            return fail(context, VARINT_OVERLONG, op, p)
    if value >> 32 and not context.lenient:
        return fail(context, VARINT_OVERFLOW, op, p)
    context.word = <uint32_t>value
    return at


cdef inline int java_character(const uint8_t *data, int64_t left, bint *good) noexcept nogil:
    """Return how many bytes Java's decoder consumes at once, and whether they are a character."""
    cdef uint8_t first = data[0]
    cdef int size
    cdef int follow = 1
    cdef bint wrong
    good[0] = first < 0x80
    if first < 0xC2 or first > 0xF7:
        return 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    while follow < size and follow < left and (data[follow] & 0xC0) == 0x80:
        follow += 1
    wrong = left > 1 and (
        (first == 0xE0 and data[1] < 0xA0) or (first == 0xF0 and data[1] < 0x90) or (first == 0xF4 and data[1] > 0x8F)
    )
    if first > 0xF4 or wrong:
        return 1
    if follow < size:
        return follow
    # A surrogate is well-formed for Java, but no character.
    good[0] = not (first == 0xED and data[1] >= 0xA0)
    return size


cdef int64_t java_text(const uint8_t *data, int64_t size, uint8_t *out) noexcept nogil:
    """Copy text as Java decodes it, with U+FFFD for what is not UTF-8; return its bytes. NULL: only count them."""
    cdef int64_t at = 0
    cdef int64_t written = 0
    cdef int step
    cdef bint good
    while at < size:
        step = java_character(data + at, size - at, &good)
        if good:
            if out != NULL:
                memcpy(out + written, data + at, step)
            written += step
        else:
            if out != NULL:
                memcpy(out + written, <const uint8_t *>b"\xef\xbf\xbd", 3)
            written += 3
        at += step
    return written
