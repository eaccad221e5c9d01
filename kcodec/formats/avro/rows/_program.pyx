"""Plans of Avro as flat, read-only C tables.

A record that cannot be null has no op of its own: its fields' ops stand one after the other. A nullable value is
an op before the value's, which it jumps over when there is none. Only collections own a range of ops that runs
once per item. What an op needs beside its numbers (symbols, branch tables, constants) it points to.
"""

from libc.stdint cimport int32_t, int64_t

from kcodec.plan._program cimport Program, inside, status_of
from kcodec.wire.text.isotime cimport ISO_CLOCK, ISO_DATE, ISO_FLOOR, ISO_UTC, ISO_ZONED

from itertools import groupby

import pyarrow as pa

from kcodec.columns.types.plain import SECOND_DIGITS
from kcodec.formats.avro.plans.node import Op as Step
from kcodec.plan.node import Limits

#: What is dropped as a run of bytes, or by its varint, or by its length.
_SKIPPED = {
    Step.INT: SKIP_INT, Step.LONG: SKIP_LONG, Step.ENUM: SKIP_INT,
    Step.BYTES: SKIP_STRING, Step.STRING: SKIP_STRING,
}


_STORING = (Step.PRESENT, Step.ABSENT, Step.MEMBER, Step.DEFAULT, Step.FAIL)


def least_bytes(node):
    """Return the fewest bytes that a value of a node takes; 0 only if it never takes any."""
    op = node.op
    if op in (Step.NULL, Step.ABSENT, Step.DEFAULT, Step.FAIL):
        return 0
    if op is Step.FLOAT:
        return 4
    if op is Step.DOUBLE:
        return 8
    if op is Step.FIXED:
        return node.size
    if op is Step.DECIMAL:
        return node.size or 1
    if op in (Step.RECORD, Step.PRESENT, Step.MEMBER):
        return sum(least_bytes(child) for child in node.children)
    return 1


def is_iso(node, kind):
    """Return whether a node reads or writes text for a column of dates or times."""
    return node.op is Step.STRING and pa.types.is_temporal(kind)


def is_dropped(node):
    """Return whether a node reads a value only to drop it."""
    return node.column < 0 and node.op not in _STORING and all(is_dropped(child) for child in node.children)


def read_zigzag(data):
    """Read the varint that a constant starts with; return it and what follows."""
    raw = shift = 0
    for at, byte in enumerate(data):
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), data[at + 1 :]
        shift += 7
    raise ValueError("a constant ends inside a varint")


cdef class AvroProgram(Program):
    """A plan of Avro made ready to run."""

    def __init__(self, plan, limits=Limits(), *, trusts_text=True):
        cdef int32_t op
        Program.__init__(self, plan, limits, sizeof(Op), trusts_text)
        self.ops = <Op *>self.table
        self.entries = {}
        self.calls = []
        if plan.direction == "decode":
            self.compile(plan.root, ())
            self.stop = self.count
            for name, node in plan.named:
                first = self.count
                self.compile_dropped(node, ())
                self.entries[name] = (first, self.count)
            for op, name in self.calls:
                self.ops[op].size, self.ops[op].scale = self.entries[name]
        else:
            self.compile_put(plan.root, (), 0, True)
            self.stop = self.count
            self.checking = True
            self.compile_put(plan.root, (), 0, True)
            self.checked_stop = self.count

    cdef int32_t add(self, int32_t code, object path, int32_t column=-1, object node=None) except -1:
        cdef int32_t at = self.new_op(code, column, path, node)
        self.ops = <Op *>self.table
        self.ops[at].factor = 1
        self.ops[at].minimum = 1
        return at

    cdef void *memory(self, int64_t size) except NULL:
        """Return memory that lives as long as the program."""
        return self.constant(b"", size)

    cdef const Text *text_table(self, object values) except NULL:
        cdef Text *texts = <Text *>self.memory(len(values) * sizeof(Text))
        cdef int64_t at
        for at, value in enumerate(values):
            texts[at].data = NULL
            texts[at].size = 0
            if value is not None:
                texts[at].data = self.constant(value, TEXT_MARGIN)
                texts[at].size = len(value)
        return texts

    cdef int compile(self, object node, tuple path) except -1:
        cdef int32_t at
        op = node.op
        path = inside(path, node.name)
        if is_dropped(node):
            self.compile_skipped([node], path if node.name == "" else path[:len(path) - 1])
        elif op is Step.RECORD:
            for dropped, group in groupby(node.children, is_dropped):
                if dropped:
                    self.compile_skipped(group, path)
                else:
                    for child in group:
                        self.compile(child, path)
        elif op is Step.PRESENT:
            self.add(DO_PRESENT, path, node.column)
            self.compile(node.children[0], path)
        elif op is Step.ABSENT:
            self.add(self.absent_code(node.column), path, node.column)
        elif op is Step.MEMBER:
            at = self.add(DO_MEMBER, path, node.column)
            self.ops[at].size = self.layout[node.column].children[node.size]
            self.compile(node.children[0], path)
        elif op is Step.DEFAULT:
            self.expansion += len(node.data)
            self.compile_default(node.children[0], node.data, len(node.data), path)
        elif op is Step.FAIL:
            self.compile_fail(node, path)
        elif op is Step.UNION:
            self.compile_union(node, path)
        elif op is Step.ARRAY or op is Step.MAP:
            self.compile_items(node, path)
        elif op is not Step.NULL:
            self.compile_leaf(node, path)
        return 0

    cdef int compile_fail(self, object node, tuple path) except -1:
        cdef int32_t at = self.add(DO_FAIL, path, node.column, node)
        self.ops[at].status = status_of(node.code)
        return 0

    cdef int compile_skipped(self, object nodes, tuple path) except -1:
        """Compile values that are dropped, one behind the other."""
        cdef int32_t at = self.add(DO_SKIP, path)
        for node in nodes:
            self.compile_dropped(node, path)
        self.ops[at].next = self.count - at
        return 0

    cdef int compile_default(self, object node, object data, int64_t charge, tuple path) except -1:
        """Compile a constant; the usual ones, nulls and texts, need not be read each time."""
        cdef int32_t at
        if node.op is Step.UNION:
            branch, data = read_zigzag(data)
            self.compile_default(node.children[branch], data, charge, path)
        elif node.op is Step.ABSENT:
            self.add(self.absent_code(node.column), path, node.column)
        elif node.op is Step.PRESENT:
            self.add(DO_PRESENT, path, node.column)
            self.compile_default(node.children[0], data, charge, path)
        elif node.op in (Step.STRING, Step.BYTES) and not is_iso(node, self.layout[node.column].type):
            at = self.add(DO_CONSTANT, path, node.column)
            self.ops[at].texts = self.text_table([read_zigzag(data)[1]])
            self.ops[at].size = charge
        elif node.op is Step.ENUM and node.symbols[read_zigzag(data)[0]] is not None:
            at = self.add(DO_CONSTANT, path, node.column)
            symbol = node.symbols[read_zigzag(data)[0]].encode()
            self.ops[at].texts = self.text_table([symbol])
            # The symbol of an enum counts, too.
            self.ops[at].size = charge + len(symbol)
            self.expansion += len(symbol)
        else:
            at = self.add(DO_DEFAULT, path, node.column)
            self.ops[at].texts = self.text_table([data])
            self.ops[at].size = charge
            self.compile(node, path)
            self.ops[at].next = self.count - at
        return 0

    cdef int compile_union(self, object node, tuple path) except -1:
        cdef int32_t at
        cdef int32_t branch
        cdef int32_t *table
        branches = node.children
        steps = [child.op for child in branches]
        if len(branches) == 2 and {*steps} == {Step.ABSENT, Step.PRESENT}:
            at = self.add(DO_NULLABLE, path, node.column)
            self.ops[at].size = steps.index(Step.ABSENT)
            value = branches[1 - self.ops[at].size]
            self.ops[at].column = value.column
            self.ops[at].place = <int64_t>value.column * self.column_bytes
            self.compile(value.children[0], path)
            self.fold_nullable(at)
            self.ops[at].next = self.count - at
            return 0
        at = self.add(DO_UNION, path)
        self.ops[at].size = len(branches)
        table = <int32_t *>self.memory(len(branches) * sizeof(int32_t))
        self.ops[at].table = table
        jumps = []
        dropped = is_dropped(node)
        for branch in range(len(branches)):
            table[branch] = self.count
            if dropped:
                self.compile_dropped(branches[branch], path)
            else:
                self.compile(branches[branch], path)
            jumps.append(self.add(DO_JUMP, path))
        for branch in jumps:
            self.ops[branch].next = self.count - branch
        self.ops[at].next = self.count - at
        return 0

    cdef int32_t absent_code(self, int32_t column) except -1:
        kind = self.layout[column].type
        for test in (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary):
            if test(kind):
                return DO_ABSENT_TEXT
        return DO_ABSENT

    cdef int fold_nullable(self, int32_t at) except -1:
        """Fold a nullable's value into the op when it is one op of a common kind."""
        cdef int32_t code
        if self.count != at + 2 or self.ops[at + 1].column != self.ops[at].column:
            return 0
        code = self.ops[at + 1].code
        if code == DO_STRING or code == DO_BYTES:
            self.ops[at].code = DO_NULLABLE_TEXT
        elif code == DO_DOUBLE:
            self.ops[at].code = DO_NULLABLE_DOUBLE
        elif code == DO_LONG:
            self.ops[at].code = DO_NULLABLE_LONG
            self.ops[at].factor = self.ops[at + 1].factor
        return 0

    cdef int compile_items(self, object node, tuple path) except -1:
        cdef int32_t at
        least = sum(least_bytes(child) for child in node.children)
        at = self.add(DO_ARRAY if node.op is Step.ARRAY else DO_MAP, path, node.column)
        self.ops[at].minimum = min(least, 1 << 30)
        self.least(node.column, least)
        if node.op is Step.ARRAY:
            self.compile(node.children[0], (*path, None))
        else:
            self.compile(node.children[0], (*path, None, ".key"))
            self.compile(node.children[1], (*path, None, ".value"))
        self.ops[at].next = self.count - at
        return 0

    cdef int compile_leaf(self, object node, tuple path) except -1:
        cdef int32_t at
        cdef int32_t code
        op = node.op
        kind = self.layout[node.column].type
        if op is Step.BOOLEAN:
            code = DO_BOOLEAN
        elif op is Step.INT:
            if pa.types.is_float32(kind):
                code = DO_INT_TO_FLOAT
            elif pa.types.is_float64(kind):
                code = DO_INT_TO_DOUBLE
            elif node.factor > 1 and (pa.types.is_time(kind) or node.factor > 1000):
                # In DO_INT_TO_LONG no product leaves 64 bits.
                code = DO_INT_CONVERTED
            elif pa.types.is_time(kind):
                code = DO_INT_TO_TIME
            else:
                code = DO_INT if kind.bit_width == 32 else DO_INT_TO_LONG
        elif op is Step.LONG:
            if pa.types.is_float32(kind):
                code = DO_LONG_TO_FLOAT
            elif pa.types.is_float64(kind):
                code = DO_LONG_TO_DOUBLE
            elif node.divisor > 1 or (node.factor > 1 and pa.types.is_time(kind)):
                code = DO_LONG_CONVERTED
            elif pa.types.is_time(kind):
                code = DO_LONG_TO_TIME
            else:
                code = DO_LONG
        elif op is Step.FLOAT:
            code = DO_FLOAT if kind.bit_width == 32 else DO_FLOAT_TO_DOUBLE
        elif op is Step.DOUBLE:
            code = DO_DOUBLE
        elif is_iso(node, kind):
            code = DO_ISO
        elif op is Step.BYTES or op is Step.STRING:
            code = DO_STRING if pa.types.is_string(kind) or pa.types.is_large_string(kind) else DO_BYTES
        elif op is Step.FIXED:
            code = DO_FIXED
        elif op is Step.ENUM:
            code = DO_ENUM
        elif op is Step.DECIMAL:
            if not pa.types.is_decimal(kind):
                code = DO_DECIMAL_TEXT
            else:
                code = DO_DECIMAL_SCALED if node.shift else DO_DECIMAL
        else:
            raise ValueError(f"{op} is not an op of one value")
        at = self.add(code, path, node.column)
        self.ops[at].size = node.size
        self.ops[at].factor = node.factor
        self.ops[at].precision = node.precision
        self.ops[at].scale = node.scale
        if op is Step.ENUM:
            texts = [None if symbol is None else symbol.encode() for symbol in node.symbols]
            self.ops[at].texts = self.text_table(texts)
            self.ops[at].size = len(texts)
            self.expansion += max((len(text) for text in texts if text), default=0)
        elif code == DO_INT_TO_TIME or code == DO_LONG_TO_TIME:
            # The first value that is not a time of day.
            self.ops[at].factor = 86_400 * 10 ** SECOND_DIGITS[kind.unit]
        elif code == DO_INT_CONVERTED or code == DO_LONG_CONVERTED:
            self.ops[at].precision = node.divisor
            self.ops[at].scale = node.floor
            self.ops[at].size = 10 ** SECOND_DIGITS[kind.unit] if pa.types.is_time(kind) else 0
        elif code == DO_ISO:
            self.set_iso(at, kind)
            self.ops[at].precision |= ISO_FLOOR if node.floor else 0
        elif op is Step.DECIMAL:
            self.ops[at].factor = node.shift
            if code == DO_DECIMAL_TEXT:
                self.expansion += node.precision + max(node.scale, node.scale - node.shift) + 4
        return 0

    cdef int set_iso(self, int32_t at, object kind) except -1:
        form = ISO_DATE if pa.types.is_date(kind) else ISO_CLOCK if pa.types.is_time(kind) else ISO_ZONED
        self.ops[at].precision = form | ISO_UTC
        self.ops[at].scale = 0 if form == ISO_DATE else SECOND_DIGITS[kind.unit]
        return 0

    cdef int compile_dropped(self, object node, tuple path) except -1:
        cdef int32_t at
        op = node.op
        steps = [child.op for child in node.children]
        path = inside(path, node.name)
        if op is Step.RECORD:
            for child in node.children:
                self.compile_dropped(child, path)
        elif op is Step.UNION and len(steps) == 2 and Step.NULL in steps:
            at = self.add(SKIP_NULLABLE, path)
            self.ops[at].size = steps.index(Step.NULL)
            self.compile_dropped(node.children[1 - self.ops[at].size], path)
            self.ops[at].next = self.count - at
            if self.count == at + 2 and self.ops[at + 1].code == SKIP_BYTES:
                self.ops[at].code = SKIP_NULLABLE_BYTES
                self.ops[at].factor = self.ops[at + 1].size
            elif self.count == at + 2 and self.ops[at + 1].code == SKIP_LONG:
                self.ops[at].code = SKIP_NULLABLE_LONG
            elif self.count == at + 2 and self.ops[at + 1].code == SKIP_STRING:
                self.ops[at].code = SKIP_NULLABLE_STRING
        elif op is Step.UNION:
            self.compile_union(node, path)
        elif op is Step.ARRAY or op is Step.MAP:
            at = self.add(SKIP_ARRAY, path)
            self.ops[at].minimum = min(sum(least_bytes(child) for child in node.children), 1 << 30)
            self.compile_dropped(node.children[0], (*path, None, ".key") if op is Step.MAP else (*path, None))
            if op is Step.MAP:
                self.compile_dropped(node.children[1], (*path, None, ".value"))
            self.ops[at].next = self.count - at
        elif op is Step.CALL:
            self.calls.append((self.add(CALL, path), node.reason))
        elif op in _SKIPPED:
            self.add(_SKIPPED[op], path)
        elif op is Step.DECIMAL and node.size == 0:
            self.add(SKIP_STRING, path)
        elif op is not Step.NULL:
            at = self.add(SKIP_BYTES, path)
            self.ops[at].size = least_bytes(node)
        return 0

    cdef int compile_put(self, object node, tuple path, int32_t owner, bint present) except -1:
        """Compile a node that writes; `owner` is the column whose values count those of the node."""
        cdef int32_t at
        op = node.op
        path = inside(path, node.name)
        if node.column >= 0 and op is not Step.UNION and op is not Step.NULL and not present:
            self.required.add(node.column)
            if self.checking:
                self.add(PUT_REQUIRED, path, node.column)
        if op is Step.RECORD:
            for child in node.children:
                self.compile_put(child, path, node.column, False)
        elif op is Step.UNION:
            self.put_union(node, path)
        elif op is Step.ARRAY or op is Step.MAP:
            at = self.add(PUT_ARRAY if op is Step.ARRAY else PUT_MAP, path, node.column)
            self.cost(node.column, 11)
            if op is Step.ARRAY:
                self.compile_put(node.children[0], (*path, None), node.children[0].column, False)
            else:
                self.compile_put(node.children[0], (*path, None, ".key"), node.children[0].column, False)
                self.compile_put(node.children[1], (*path, None, ".value"), node.children[1].column, False)
            self.ops[at].next = self.count - at
        elif op is Step.DEFAULT:
            at = self.add(PUT_DEFAULT, path)
            self.ops[at].texts = self.text_table([node.data])
            self.cost(owner, len(node.data))
        elif op is Step.FAIL:
            self.compile_fail(node, path)
        elif op is not Step.NULL:
            self.put_leaf(node, path)
        return 0

    cdef int put_union(self, object node, tuple path) except -1:
        cdef int32_t at
        cdef int32_t branch
        cdef int32_t *table
        branches = node.children
        steps = [child.op for child in branches]
        self.cost(node.column, 5)
        kind = self.layout[node.column].type
        if len(branches) == 2 and {*steps} == {Step.ABSENT, Step.PRESENT}:
            at = self.add(PUT_NULLABLE, path, node.column)
            self.ops[at].size = steps.index(Step.ABSENT)
            self.compile_put(branches[1 - self.ops[at].size].children[0], path, node.column, True)
            self.ops[at].next = self.count - at
            if self.count == at + 2 and self.ops[at + 1].column == node.column:
                if self.ops[at + 1].code == PUT_TEXT:
                    self.ops[at].code = PUT_NULLABLE_TEXT
                elif self.ops[at + 1].code == PUT_DOUBLE and kind.bit_width == 64:
                    self.ops[at].code = PUT_NULLABLE_DOUBLE
            return 0
        at = self.add(PUT_UNION, path, node.column)
        self.ops[at].size = len(branches)
        table = <int32_t *>self.memory(3 * len(branches) * sizeof(int32_t))
        self.ops[at].table = table
        jumps = []
        for branch in range(len(branches)):
            child = branches[branch]
            table[3 * branch] = IF_ABSENT if child.op is Step.ABSENT \
                else IF_MEMBER if child.op is Step.MEMBER else IF_PRESENT
            column = self.layout[node.column].children[child.size] if child.op is Step.MEMBER else node.column
            table[3 * branch + 1] = column
            table[3 * branch + 2] = self.count
            if child.children:
                self.compile_put(child.children[0], path, column, True)
            jumps.append(self.add(DO_JUMP, path))
        for branch in jumps:
            self.ops[branch].next = self.count - branch
        self.ops[at].next = self.count - at
        return 0

    cdef int put_leaf(self, object node, tuple path) except -1:
        cdef int32_t at
        cdef int32_t code
        op = node.op
        kind = self.layout[node.column].type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        cost = 10
        if op is Step.INT or op is Step.LONG:
            bits = 32 if op is Step.INT else 64
            plain = node.factor == 1 and kind.bit_width == bits and not pa.types.is_unsigned_integer(kind)
            code = PUT_INTEGER if not plain else PUT_INT if op is Step.INT else PUT_LONG
        elif op is Step.BOOLEAN:
            code = PUT_BOOLEAN
        elif op is Step.FLOAT:
            code = PUT_FLOAT
        elif op is Step.DOUBLE:
            code = PUT_DOUBLE
        elif is_iso(node, kind):
            code = PUT_ISO
            cost = 36
        elif op is Step.STRING or op is Step.BYTES:
            if op is Step.STRING and not (is_text and self.trusts_text):
                code = PUT_STRING
            else:
                code = PUT_BYTES if pa.types.is_fixed_size_binary(kind) else PUT_TEXT
            cost += kind.byte_width if pa.types.is_fixed_size_binary(kind) else 0
        elif op is Step.FIXED:
            code = PUT_FIXED
            cost = node.size
        elif op is Step.ENUM:
            code = PUT_ENUM
        elif op is Step.DECIMAL:
            code = PUT_DECIMAL
            cost = node.size + 50 + (0 if pa.types.is_decimal(kind) else 2 * node.precision)
        else:
            raise ValueError(f"{op} is not an op of one value")
        at = self.add(code, path, node.column)
        self.cost(node.column, cost)
        self.ops[at].size = node.size
        self.ops[at].factor = node.factor
        self.ops[at].precision = node.precision
        self.ops[at].scale = node.scale
        if code == PUT_INTEGER:
            self.ops[at].size = bits
            self.ops[at].scale = node.floor
        elif code == PUT_ENUM:
            self.ops[at].size = len(node.symbols)
            self.ops[at].texts = self.text_table([symbol.encode() for symbol in node.symbols])
            self.ops[at].table = self.symbol_table(self.ops[at].texts, self.ops[at].size)
        elif code == PUT_ISO:
            self.set_iso(at, kind)
        elif code == PUT_DECIMAL and not is_text:
            # Digits to put behind the column's unscaled value.
            self.ops[at].factor = node.scale - (kind.scale if pa.types.is_decimal(kind) else 0)
        return 0

    cdef const int32_t *symbol_table(self, const Text *texts, int32_t count) except NULL:
        cdef int32_t size = 4
        cdef int32_t bucket
        cdef int32_t symbol
        cdef int32_t *table
        while size < 2 * count:
            size *= 2
        table = <int32_t *>self.memory((1 + size + count) * sizeof(int32_t))
        for bucket in range(1 + size + count):
            table[bucket] = 0
        table[0] = size - 1
        for symbol in range(count):
            bucket = 1 + (symbol_hash(texts[symbol].data, texts[symbol].size) & (size - 1))
            table[1 + size + symbol] = table[bucket]
            table[bucket] = symbol + 1
        return table
