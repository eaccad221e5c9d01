"""Plans of Protobuf as flat, read-only C tables.

The ops of a message are its fields in the order of their numbers, in which nearly all payloads have them. A field is
found by comparing the bytes of the expected tag, then those of a few fields on, then by its number.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from kcodec.plan._program cimport Program, inside, status_of
from kcodec.wire.binary.cursor cimport load_le64, write_varint

import pyarrow as pa

from kcodec.formats.protobuf.plans.node import Op as Step
from kcodec.formats.protobuf.plans.plan import SECONDS, UNKNOWN_FIELDS
from kcodec.plan.node import Limits

cdef enum:
    MAX_TABLE = 1 << 12   # numbers that a message's table reaches to, at most

_VARINTS = {
    "int32": READ_INT32, "uint32": READ_INT32, "sint32": READ_SINT32, "int64": READ_INT64, "uint64": READ_INT64,
    "sint64": READ_SINT64, "bool": READ_BOOL, "enum": READ_ENUM,
}
_FIXED32 = ("fixed32", "sfixed32", "float")
_FIXED64 = ("fixed64", "sfixed64", "double")
_LENGTHS = {
    "string": READ_TEXT, "bytes": READ_BYTES, "raw": READ_RAW, "timestamp": READ_TIME, "duration": READ_TIME,
    "message": READ_MESSAGE,
}
#: Forms for columns wider than the value: unsigned numbers as signed ones.
_WIDE = {
    "uint32": READ_UINT32_WIDE, "uint64": READ_UINT64_WIDE,
    "fixed32": READ_FIXED32_WIDE, "fixed64": READ_FIXED64_WIDE,
}
#: Values that are written as they stand in a column.
_PLAIN = {
    ("int32", pa.int32()): PUT_VARINT32, ("enum", pa.int32()): PUT_VARINT32, ("int64", pa.int64()): PUT_VARINT64,
    ("sfixed32", pa.int32()): PUT_BITS32, ("fixed32", pa.uint32()): PUT_BITS32, ("float", pa.float32()): PUT_BITS32,
    ("sfixed64", pa.int64()): PUT_BITS64, ("fixed64", pa.uint64()): PUT_BITS64, ("double", pa.float64()): PUT_BITS64,
}


cdef void set_tag(Op *op, uint32_t number, int32_t wire_type) noexcept nogil:
    """Set the number of a field, and its tag as it stands in memory."""
    op.tag = 0
    cdef uint8_t *end = write_varint(<uint8_t *>&op.tag, <uint64_t>number << 3 | wire_type)
    op.number = number
    op.tag_size = <int32_t>(end - <uint8_t *>&op.tag)
    op.tag = load_le64(&op.tag)
    op.tag_mask = (<uint64_t>1 << 8 * op.tag_size) - 1


cdef class ProtobufProgram(Program):
    """A plan of Protobuf made ready to run."""

    def __init__(self, plan, limits=Limits(), *, trusts_text=True):
        Program.__init__(self, plan, limits, sizeof(Op), trusts_text)
        self.ops = <Op *>self.table
        self.made = []
        root = plan.root
        if plan.direction == "decode":
            self.compile_message(root, ())
        else:
            self.compile_put(root, ())
        self.messages = <Message *>calloc(len(self.made), sizeof(Message))
        if self.messages == NULL:
            raise MemoryError
        for number, (node, first) in enumerate(self.made):
            if plan.direction == "decode":
                self.link(number, node, first)
            else:
                self.link_put(number, node, first)
        # Messages come before those inside them.
        for number in range(len(self.made) - 1, -1, -1) if plan.direction == "decode" else ():
            self.link_finish(&self.messages[number])
        self.stop = self.count

    def __dealloc__(self):
        free(self.messages)

    cdef int32_t compile_message(self, object node, tuple path) except -1:
        """Compile a message; return its number."""
        cdef int32_t first = self.count
        cdef int32_t number = len(self.made)
        cdef int32_t position
        self.made.append((node, first))
        for position, field in enumerate(node.children):
            self.compile_field(field, path, position)
        for _ in range(LAST_FIELDS):
            self.new_op(NO_FIELD, -1, path, None)
            self.ops = <Op *>self.table
            self.ops[self.count - 1].tag = 1
            self.ops[self.count - 1].message = -1
        for position, field in enumerate(node.children):
            if field.column >= 0 and field.children:
                inner = inside(path, field.name)
                if field.label in ("repeated", "map"):
                    inner = (*inner, None)
                below = self.compile_message(field.children[0], inner)
                self.ops[first + position].message = below
                if field.label == "map" and field.closed:
                    # The value is the field of number 2.
                    self.ops[self.made[below][1] + 1].flags |= ENTRY_VALUE
        return number

    cdef int compile_field(self, object field, tuple path, int32_t position) except -1:
        cdef int32_t at
        cdef Op *op
        cdef int64_t least = 1
        kind, column = field.kind, field.column
        repeated = field.label in ("repeated", "map")
        path = inside(path, field.name)
        if repeated and column >= 0:
            path = (*path, None)
        wire_type = VARINT
        code = _VARINTS.get(kind, READ_DROPPED)
        if kind in _FIXED32:
            wire_type, code = FIXED32, READ_FIXED32
        elif kind in _FIXED64:
            wire_type, code = FIXED64, READ_FIXED64
        elif kind in _LENGTHS:
            wire_type, code = LENGTH, _LENGTHS[kind]
        elif kind == "group":
            wire_type, code = GROUP_START, READ_GROUP
        if column >= 0:
            value = self.layout[column + (field.label == "repeated")].type
            if kind in _WIDE and value in (pa.int64(), pa.decimal128(20, 0)) and value.bit_width > (
                64 if kind.endswith("64") else 32
            ):
                code = _WIDE[kind]
            elif kind == "enum" and not pa.types.is_integer(value):
                code = READ_ENUM_NAME
        else:
            code = READ_DROPPED
        packable = field.label == "repeated" and wire_type in (VARINT, FIXED32, FIXED64)
        expected = LENGTH if packable and field.packed else wire_type
        at = self.new_op(code, column, path, None)
        self.ops = <Op *>self.table
        op = &self.ops[at]
        set_tag(op, field.number, expected)
        op.wire_type = wire_type
        op.message = -1
        op.position = position
        op.oneof = field.oneof
        op.ahead = 0 if repeated and not (packable and field.packed) else 1
        op.factor = field.factor
        op.first = field.default if kind == "enum" else 0
        for flag, is_set in (
            (PRESENT, field.presence), (ITEMS, repeated), (ENTRIES, field.label == "map"), (CLOSED, field.closed),
            (STRICT, field.strict), (CHECKED, field.utf8), (PACKABLE, packable),
            (PACKED, packable and field.packed), (DURATION, kind == "duration"), (ZERO_NULL, field.nulls),
        ):
            if is_set:
                op.flags |= flag
        if kind in SECONDS:
            op.low, op.high = SECONDS[kind]
        if kind == "enum" and column >= 0:
            op.names = self.names(field)
            if code == READ_ENUM_NAME:
                self.expansion += max(11, *(len(name.encode()) for name in field.symbols), 0)
        if repeated and column >= 0:
            if packable:
                least = 4 if wire_type == FIXED32 else 8 if wire_type == FIXED64 else 1
            else:
                least = op.tag_size + (1 if wire_type != GROUP_START else op.tag_size)
            self.least(column, least)
        return 0

    cdef int32_t compile_put(self, object node, tuple path) except -1:
        """Compile a message that is written; return its number."""
        cdef int32_t number = len(self.made)
        cdef int32_t first = self.count
        self.made.append((node, first))
        if node.op is Step.FAIL:
            self.add_put(PUT_FAIL, node, inside(path, node.name))
            return number
        for field in node.children:
            self.put_field(field, path)
        # Where unknown fields are written that are none.
        self.new_op(NO_FIELD, -1, inside(path, UNKNOWN_FIELDS), None)
        self.ops = <Op *>self.table
        for position, field in enumerate(node.children):
            if field.op is not Step.FAIL and field.children:
                inner = inside(path, field.name)
                if field.label in ("repeated", "map"):
                    inner = (*inner, None)
                below = self.compile_put(field.children[0], inner)
                self.ops[first + position].message = below
        return number

    cdef int32_t add_put(self, int32_t code, object field, tuple path) except -1:
        cdef int32_t at = self.new_op(code, field.column, path, field)
        self.ops = <Op *>self.table
        self.ops[at].message = -1
        self.ops[at].oneof = -1
        if field.op is Step.FAIL:
            self.ops[at].status = status_of(field.code)
        return at

    cdef int put_field(self, object field, tuple path) except -1:
        cdef int32_t at
        cdef Op *op
        path = inside(path, field.name)
        if field.op is Step.FAIL:
            self.add_put(PUT_FAIL, field, path)
            return 0
        kind = field.kind
        if kind == "case":
            at = self.add_put(PUT_CASE, field, path)
            self.ops[at].names = self.named(field)
            return 0
        repeated = field.label in ("repeated", "map")
        column = field.column + (field.label == "repeated")
        value = self.layout[column].type
        is_text = pa.types.is_string(value) or pa.types.is_large_string(value)
        if kind in ("message", "group"):
            code = PUT_GROUP if kind == "group" else PUT_MESSAGE
        elif kind in SECONDS:
            code = PUT_TIME
        elif kind in ("string", "bytes", "raw"):
            code = PUT_TEXT
        elif kind == "enum":
            code = PUT_ENUM if pa.types.is_integer(value) else PUT_ENUM_NAME
        elif kind in ("float", "double"):
            code = PUT_FLOAT if kind == "float" else PUT_DOUBLE
        elif kind == "bool":
            code = PUT_BOOL
        elif "fixed" in kind:
            code = PUT_FIXED64 if kind.endswith("64") else PUT_FIXED32
        else:
            code = PUT_SINT if kind.startswith("sint") else PUT_INTEGER
        code = _PLAIN.get((kind, value), code) if not (kind == "enum" and field.strict) else code
        at = self.add_put(code, field, (*path, None) if repeated else path)
        op = &self.ops[at]
        op.wire_type = (
            GROUP_START if code == PUT_GROUP else LENGTH if code in (PUT_TIME, PUT_TEXT, PUT_MESSAGE)
            else FIXED64 if code in (PUT_FIXED64, PUT_DOUBLE, PUT_BITS64)
            else FIXED32 if code in (PUT_FIXED32, PUT_FLOAT, PUT_BITS32) else VARINT
        )
        set_tag(op, field.number, LENGTH if field.packed else op.wire_type)
        op.factor = field.factor
        op.bits = 64 if kind.endswith("64") else 32
        op.oneof = field.oneof
        if field.label in ("required", "entry"):
            op.status = status_of("missing_required" if field.label == "required" else "null_value")
        for flag, is_set in (
            (PRESENT, field.presence or field.label == "required"), (ITEMS, repeated), (ENTRIES, field.label == "map"),
            (STRICT, field.strict), (PACKED, field.packed), (DURATION, kind == "duration"),
            (REQUIRED, field.label in ("required", "entry")),
            (UNSIGNED, kind.startswith("uint") or kind.startswith("fixed")),
            (CHECKED, kind == "string" and not (is_text and self.trusts_text)),
        ):
            if is_set:
                op.flags |= flag
        if kind in SECONDS:
            op.low, op.high = SECONDS[kind]
        if kind == "enum":
            op.names = self.named(field)
        # A tag, a length of five bytes, and at most 19 bytes of a value or the end of a group.
        self.cost(column if field.label != "map" else column + 1, 2 * op.tag_size + 24)
        if repeated:
            self.cost(field.column, op.tag_size + 5)
        return 0

    cdef const Names *named(self, object field) except NULL:
        """Return the numbers of an enum in the order of the names, or for a column of numbers in their own."""
        cdef Names *names = <Names *>self.constant(b"", sizeof(Names))
        cdef int32_t *numbers
        cdef int32_t at
        column = field.column + (field.label == "repeated")
        pairs = [(symbol.encode(), number) for symbol, number in zip(field.symbols, field.numbers)]
        pairs.sort(key=(lambda pair: pair[1]) if pa.types.is_integer(self.layout[column].type) else None)
        numbers = <int32_t *>self.constant(b"", 4 * len(pairs))
        for at, (_, number) in enumerate(pairs):
            numbers[at] = number
        names.count = len(pairs)
        names.numbers = numbers
        names.texts = self.texts([symbol.decode() for symbol, _ in pairs])
        return names

    cdef int link_put(self, int32_t number, object node, int32_t first) except -1:
        cdef Message *message = &self.messages[number]
        message.number = number
        message.ops = first
        message.column = node.column
        message.unknown = -1
        if node.op is Step.FAIL:
            message.count = 1
            return 0
        message.count = len(node.children)
        message.unknown = node.unknown
        return 0

    cdef int link(self, int32_t number, object node, int32_t first) except -1:
        """Fill in the table of a message."""
        cdef Message *message = &self.messages[number]
        cdef int32_t *table
        cdef int32_t at
        cdef Members *cases
        cdef const Members *members
        message.number = number
        message.ops = first
        message.count = len(node.children)
        message.words = (message.count + 63) // 64
        message.slot = self.words
        # Behind the bits stands what the last unknown field was.
        self.words += message.words + 1
        message.unknown = node.unknown
        message.column = node.column
        message.oneofs = len(node.oneofs)
        message.cases = len(node.cases)
        places = {field.number: position for position, field in enumerate(node.children)}
        by_oneof = {}
        for position, field in enumerate(node.children):
            if field.oneof >= 0:
                by_oneof.setdefault(field.oneof, []).append(position)
        for positions in by_oneof.values():
            members = self.members(positions)
            for position in positions:
                self.ops[first + position].members = members
        if node.cases and max(node.cases) >= 0:
            message.case_columns = <const int32_t *>self.constant(
                b"".join(column.to_bytes(4, "little", signed=True) for column in node.cases), 0
            )
            cases = <Members *>self.constant(b"", sizeof(Members) * message.cases)
            for oneof, positions in by_oneof.items():
                cases[<int32_t>oneof] = self.ops[first + <int32_t>positions[0]].members[0]
            message.case_members = cases
            message.field_names = self.texts([field.name for field in node.children])
            self.expansion += sum(
                max(len(node.children[position].name.encode()) for position in positions)
                for positions in by_oneof.values()
            )
        else:
            message.cases = 0
        required = [position for position, field in enumerate(node.children) if field.label == "required"]
        if required:
            message.required = self.bits(required, message.words)
        message.fields = (<uint64_t>1 << message.count) - 1 if message.count < 64 else <uint64_t>-1
        message.table_size = min(max(places, default=0) + 1, MAX_TABLE)
        table = <int32_t *>self.constant(b"", 4 * message.table_size)
        for at in range(message.table_size):
            table[at] = places.get(at, -1)
        message.table = table
        return 0

    cdef int link_finish(self, Message *message) except -1:
        """Note the fields that a message is checked for when it ends."""
        cdef int32_t at
        cdef const Op *op
        positions = []
        message.finishing = message.required != NULL
        for at in range(message.count):
            op = &self.ops[message.ops + at]
            if op.column < 0 or op.flags & ITEMS and not op.flags & ENTRIES:
                continue
            if op.flags & ENTRIES:
                message.finishing = True
            elif op.code == READ_TIME:
                message.has_times = True
            elif op.message >= 0 and (
                self.messages[op.message].finishing or self.messages[op.message].has_times
            ):
                message.finishing |= self.messages[op.message].finishing
                message.has_times |= self.messages[op.message].has_times
            else:
                continue
            positions.append(at)
        message.finish_count = len(positions)
        message.finish_fields = <const int32_t *>self.constant(
            b"".join(position.to_bytes(4, "little") for position in positions), 0
        )
        return 0

    cdef const Names *names(self, object field) except NULL:
        cdef Names *names = <Names *>self.constant(b"", sizeof(Names))
        cdef int32_t *numbers
        cdef int32_t at
        pairs = sorted(zip(field.numbers, field.symbols))
        numbers = <int32_t *>self.constant(b"", 4 * len(pairs))
        for at, (number, _) in enumerate(pairs):
            numbers[at] = number
        names.count = len(pairs)
        names.numbers = numbers
        names.texts = self.texts([symbol for _, symbol in pairs])
        return names

    cdef const Text *texts(self, object texts) except NULL:
        cdef Text *found = <Text *>self.constant(b"", sizeof(Text) * len(texts))
        cdef int32_t at
        for at, text in enumerate(texts):
            found[at].data = self.constant(text.encode(), TEXT_MARGIN)
            found[at].size = len(text.encode())
        return found

    cdef const Members *members(self, list positions) except NULL:
        """Return the fields of a oneof: as many words as have any of them, for a message may have very many fields."""
        cdef Members *found = <Members *>self.constant(b"", sizeof(Members))
        bits = {}
        for position in positions:
            bits[position >> 6] = bits.get(position >> 6, 0) | 1 << (position & 63)
        found.count = len(bits)
        found.words = <const int32_t *>self.constant(b"".join(word.to_bytes(4, "little") for word in bits), 0)
        found.bits = <const uint64_t *>self.constant(b"".join(each.to_bytes(8, "little") for each in bits.values()), 0)
        return found

    cdef const uint64_t *bits(self, object positions, int32_t words) except NULL:
        cdef uint64_t *bits = <uint64_t *>self.constant(b"", 8 * max(words, 1))
        for position in positions:
            bits[position >> 6] |= <uint64_t>1 << (position & 63)
        return bits
