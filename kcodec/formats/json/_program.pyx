"""Plans of JSON as flat, read-only C tables.

An op is followed by the ops of what is below it: the fields of an object in their order, the item of a list, key
and value of a map. A field's op holds its key as it stands in the text, quotes and colon included; an object's op
has a hash table of its keys, without collisions where a seed for that was found.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from kcodec.plan._program cimport Program, inside
from kcodec.wire.text.isotime cimport ISO_CLOCK, ISO_DATE, ISO_FLOOR, ISO_LOCAL, ISO_UTC, ISO_ZONED
from kcodec.wire.text.json cimport JSON_MARGIN

import collections
import functools
import struct
import sys

import pyarrow as pa

from kcodec.columns.types.plain import SECOND_DIGITS
from kcodec.formats.json.node import JSON_KINDS, Form, JsonNode, Op as Step
from kcodec.plan.node import MAX_DEPTH, Limits

_CODES = {
    Step.JSON_OBJECT: OBJECT, Step.JSON_TUPLE: TUPLE, Step.JSON_LIST: ITEMS, Step.JSON_MAP: ENTRIES,
    Step.JSON_NULL: NOTHING, Step.JSON_BOOLEAN: BOOLEAN, Step.JSON_INTEGER: INTEGER, Step.JSON_FLOAT: DOUBLE,
    Step.JSON_DECIMAL: DECIMAL, Step.JSON_STRING: STRING, Step.JSON_BYTES: BYTES, Step.JSON_TIME: ISO_TIME,
    Step.JSON_TEXT: RAW, Step.JSON_UNION: UNION, Step.JSON_REST: REST,
}

_KIND_NUMBERS = {"object": AN_OBJECT, "array": AN_ARRAY, "string": A_STRING, "boolean": A_BOOLEAN, "number": A_NUMBER}

_FLAGS = {
    Form.NULL: NULLABLE, Form.ABSENT: ABSENT, Form.DEFAULT: DEFAULT, Form.TEXT: QUOTED, Form.BASE64: BASE64,
    Form.SCALAR: SCALAR, Form.NONFINITE: NONFINITE, Form.FOLD: FOLD, Form.UNIQUE: UNIQUE,
    Form.SCIENTIFIC: SCIENTIFIC, Form.ESCAPED: ESCAPED, Form.CANONICAL: CANONICAL,
}


@functools.cache
def _bits(forms):
    """Return the bits of an op for the forms of a node; flags of Python take long to look at."""
    bits = 0
    for form, flag in _FLAGS.items():
        if forms & form:
            bits |= flag
    return bits


_BEHIND = JsonNode(Step.JSON_NULL)

_TEXTS = ("string", "large_string", "binary", "large_binary")

#: Types of the columns that values go to.
_KINDS = {
    Step.JSON_OBJECT: ("struct",),
    Step.JSON_TUPLE: ("struct",),
    Step.JSON_UNION: ("struct",),
    Step.JSON_LIST: ("list", "large_list", "map"),
    Step.JSON_MAP: ("map",),
    Step.JSON_NULL: ("null",),
    Step.JSON_BOOLEAN: ("boolean",),
    Step.JSON_INTEGER: ("integer", "date", "time", "timestamp", "duration"),
    Step.JSON_FLOAT: ("float32", "float64"),
    Step.JSON_DECIMAL: ("decimal128", "decimal256"),
    Step.JSON_STRING: _TEXTS,
    Step.JSON_BYTES: ("binary", "large_binary", "fixed_size_binary"),
    Step.JSON_TIME: ("date", "time", "timestamp"),
    Step.JSON_TEXT: _TEXTS,
    Step.JSON_REST: _TEXTS,
}


#: Bytes that a value takes at most when it is written, but for text and binary data, which come on top.
_COSTS = {BOOLEAN: 8, INTEGER: 24, SINGLE: 48, DOUBLE: 48, STRING: 40, BYTES: 8, ISO_TIME: 36}

_NAMED = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 34: '"', 92: "\\"}


def _written(name, pairs):
    """Write a name as a string of JSON: what `json.h` does for values."""
    parts = []
    for char in name:
        code = ord(char)
        if code in _NAMED:
            parts.append("\\" + _NAMED[code])
        elif code < 0x20:
            parts.append(f"\\u{code:04X}")
        elif code > 0xFFFF and pairs:
            parts.append("\\u%04X\\u%04X" % struct.unpack(">HH", char.encode("utf-16-be")))
        else:
            parts.append(char)
    return '"' + "".join(parts) + '"'


def _is_wide(kind):
    """Return whether a column has no offsets of 32 bits; those of a map do not count."""
    return not (pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_list(kind))


@functools.cache
def _folds():
    """List the characters beyond ASCII that have another upper case, each with it."""
    folds, texts = [], []
    for code in range(0x80, sys.maxunicode + 1):
        upper = chr(code).upper()
        if upper != chr(code):
            data = upper.encode()
            folds.append(code)
            texts.append(data.ljust(7, b"\0") + bytes([len(data)]))
    return struct.pack(f"={len(folds)}I", *folds), b"".join(texts)


cdef class JsonProgram(Program):
    """A plan of JSON made ready to run."""

    def __init__(self, plan, limits=Limits(), *, trusts_text=True):
        Program.__init__(self, plan, limits, sizeof(Op), trusts_text)
        self.ops = <Op *>self.table
        if self.shape is not None and self.shape.wide and any(not _is_wide(entry.type) for entry in self.layout):
            raise ValueError("columns have 64-bit offsets all, or none of them")
        self.stretch = [0] * len(self.layout)
        self.covered = set()
        self.compile(plan.root, (), 0)
        self.stop = self.count
        if plan.direction == "decode" and self.covered != set(range(len(self.layout))):
            raise ValueError("a plan gives values to each column of its type")

    cdef uint8_t *memory(self, object data) except NULL:
        return self.constant(data, JSON_MARGIN)

    cdef int32_t add(self, int32_t code, object node, object path) except -1:
        cdef int32_t at = self.new_op(code, node.column, path, node)
        cdef Op *op
        self.ops = <Op *>self.table
        op = &self.ops[at]
        op.factor = 1
        op.forms = _bits(node.forms)
        if node.data:
            op.data = self.memory(node.data)
            op.data_size = len(node.data)
            self.expansion += len(node.data)
            if node.column >= 0:
                self.cost(node.column, len(node.data))
        return at

    cdef int compile(self, object node, tuple path, int32_t level) except -1:
        cdef int32_t at
        cdef int32_t number
        cdef int32_t child
        if level > MAX_DEPTH:
            raise ValueError(f"a plan is nested deeper than {MAX_DEPTH} levels")
        path = inside(path, node.name)
        code = _CODES[node.op]
        self.check(node)
        at = self.add(code, node, path)
        # Brackets and the comma behind; `null`.
        cost = 8
        if code == ITEMS or code == ENTRIES:
            self.least(node.column, 2 if code == ITEMS else 5)
            if code == ITEMS:
                self.compile(node.children[0], (*path, None), level + 1)
            else:
                self.compile(node.children[0], (*path, None, ".key"), level + 1)
                self.compile(node.children[1], (*path, None, ".value"), level + 1)
        elif code == UNION:
            self.set_members(at, node, path, level)
        elif code == OBJECT or code == TUPLE:
            children = []
            for number, child_node in enumerate(node.children):
                child = self.count
                children.append(child)
                self.compile(child_node, path, level + 1)
                self.ops[child].number = number
                if self.ops[child].code == REST:
                    self.set_rest(at, child)
                elif code == OBJECT:
                    self.set_key(child, child_node.name, node.forms & Form.ESCAPED)
                    if child_node.column >= 0:
                        self.cost(child_node.column, self.ops[child].key_size)
                if number < 64:
                    self.ops[child].bit = <uint64_t>1 << number
                    self.ops[at].all |= self.ops[child].bit
                if number >= 64 or node.forms & Form.UNIQUE:
                    self.ops[child].looked_up = 1
            if code == OBJECT and self.plan.direction == "decode":
                self.ops[self.add(BEHIND, _BEHIND, path)].looked_up = 1
            self.ops[at].fields = len(children)
            self.ops[at].words = self.words
            if code == OBJECT:
                self.words += 2 * (max(len(children) - 1, 0) // 64)
                keyed = [
                    (each.name.encode(), child)
                    for each, child in zip(node.children, children) if each.op is not Step.JSON_REST
                ]
                self.set_table(at, [name for name, _ in keyed], [child for _, child in keyed])
                if node.forms & Form.FOLD:
                    self.set_folds()
                    uppers = collections.Counter(each.name.upper() for each in node.children)
                    for number, child in enumerate(children):
                        if uppers[node.children[number].name.upper()] > 1:
                            # In another case the key may be that of another field.
                            memset(self.ops[child].key.folds, 0, sizeof(self.ops[child].key.folds))
        else:
            self.set_leaf(at, node)
            cost += _COSTS.get(self.ops[at].code, 0)
            kind = self.layout[node.column].type
            if code == DECIMAL:
                cost += (140 if self.ops[at].width == 2 else 340) + abs(kind.scale)
            elif code == BYTES and pa.types.is_fixed_size_binary(kind):
                cost += kind.byte_width // 3 * 4 + 8
            if node.column >= 0:
                self.stretch[node.column] = {STRING: 6, BYTES: 2, RAW: 1, REST: 1}.get(code, 0)
        # What writes no column of its own, such as the entry of a map, is paid for by the column that its items
        # belong to: each of these has room for all of it.
        column = node.column if node.column >= 0 else max(node.children[0].column if node.children else 0, 0)
        self.cost(column, cost)
        self.ops[at].next = self.count - at
        return 0

    cdef int set_rest(self, int32_t at, int32_t child) except -1:
        if self.ops[at].code != OBJECT or (self.plan.direction == "decode" and child != at + 1):
            raise ValueError("what an object holds beside its fields is read as its first child")
        self.ops[at].forms |= KEEPS
        self.ops[child].looked_up = 1
        return 0

    cdef int set_members(self, int32_t at, object node, tuple path, int32_t level) except -1:
        cdef int32_t places[KINDS]
        memset(places, 0, sizeof(places))
        for child in node.children:
            if child.column < 0:
                raise ValueError(f"{node.name}: a member of a union has no column")
            if self.plan.direction == "decode":
                kind = _KIND_NUMBERS[JSON_KINDS.get(child.op, child.name)]
                if places[kind]:
                    raise ValueError(f"{node.name}: two members of a union are of one kind")
                places[kind] = self.count - at
            self.compile(child, path, level + 1)
        self.ops[at].table = <const int32_t *>self.memory(<bytes>(<char *>places)[:sizeof(places)])
        return 0

    cdef int check(self, object node) except -1:
        """Refuse a plan that would store where there is no room."""
        types = pa.types
        name = f"{node.name}: {node.op.value}"
        if node.data.strip() == b"null":
            raise ValueError(f"{name}: null is not a default")
        if node.column < 0:
            if node.op not in (Step.JSON_OBJECT, Step.JSON_TUPLE) or node.forms & (Form.NULL | Form.ABSENT):
                raise ValueError(f"{name} has no column")
            return 0
        if node.column >= len(self.layout):
            raise ValueError(f"{name}: there is no column {node.column}")
        self.covered.add(node.column)
        entry = self.layout[node.column]
        if self.plan.direction == "decode" and node.forms & (Form.NULL | Form.ABSENT) and not node.data \
                and not entry.nullable and entry.parent >= 0:
            raise ValueError(f"{name}: column {node.column} cannot be null")
        if not any(getattr(types, f"is_{kind}")(entry.type) for kind in _KINDS[node.op]):
            raise ValueError(f"{name} does not fit a column of {entry.type}")
        return 0

    cdef int set_key(self, int32_t at, object name, bint escaped) except -1:
        cdef Op *op = &self.ops[at]
        cdef uint8_t *text
        data = (_written(name, escaped) + ":").encode()
        plain = name.encode()
        self.longest = max(self.longest, len(plain))
        # An escape of six characters is at least a byte, and upper case at least a third of what it stands for.
        self.scratch = max(self.scratch, 20 * self.longest + 3 * JSON_MARGIN)
        op.plain = self.memory(plain)
        op.plain_size = len(plain)
        if self.plan.direction == "encode":
            data = b"," + data
        op.key_size = len(data)
        text = self.memory(data)
        op.name = text
        memcpy(op.key.words, text, 16)
        memset(op.key.masks, 0, 16)
        memset(op.key.masks, 0xFF, min(16, op.key_size))
        memset(op.key.folds, 0, 16)
        if data == b'"' + plain + b'":' and name.isascii() and name == name.upper():
            folds = bytes(0xDF if 65 <= byte <= 90 else 0xFF for byte in data[:16]).ljust(16, b"\0")
            memcpy(op.key.folds, <const uint8_t *>folds, 16)
        return 0

    cdef int set_table(self, int32_t at, object names, list children) except -1:
        """Find a seed by which no two names share a place; if there is none, they stand one behind the other."""
        cdef Op *op = &self.ops[at]
        cdef uint32_t seed = 0
        cdef uint32_t size = 2
        cdef uint32_t place
        cdef const uint8_t *text
        # Keys that no field has are then mostly known by an empty place.
        while size < min(8 * len(names), 2 * len(names) + 256):
            size *= 2
        # The hash reads 16 bytes of each.
        names = [(name.ljust(16), len(name)) for name in names]
        # Room is cheaper than places that are shared; but of very many names, some always share one.
        for attempt in range(16 * 6 if len(names) < 1000 else 1):
            seed = attempt
            if attempt and attempt % 16 == 0:
                size *= 2
            taken = {key_hash(name, length, seed) & (size - 1) for name, length in names}
            if len(taken) == len(names):
                break
        table = [0] * size
        for (name, length), child in zip(names, children):
            text = name
            place = key_hash(text, length, seed) & (size - 1)
            while table[place]:
                place = (place + 1) & (size - 1)
            table[place] = child - at
        op.table = <const int32_t *>self.memory(struct.pack(f"={size}i", *table))
        op.table_mask = size - 1
        op.seed = seed
        return 0

    cdef int set_bounds(self, int32_t at, object node, object kind) except -1:
        """Turn the bounds of the column and those of the text into bounds of the text."""
        cdef Op *op = &self.ops[at]
        # Not numbers of C, which these do not fit.
        cdef object one = 1
        factor = node.factor
        if self.plan.direction == "encode":
            low, high = node.bounds or (-(one << 63), (one << (64 if factor == 1 else 63)) - 1)
        else:
            if pa.types.is_time(kind):
                low, high = 0, 86400 * 10 ** SECOND_DIGITS[kind.unit] - 1
            elif pa.types.is_unsigned_integer(kind):
                low, high = 0, (one << kind.bit_width) - 1
            else:
                low, high = -(one << (kind.bit_width - 1)), (one << (kind.bit_width - 1)) - 1
            low, high = -(-low // factor), high // factor
            if node.bounds:
                low, high = max(low, node.bounds[0]), min(high, node.bounds[1])
        op.factor = factor
        op.low = min(max(low, -(one << 63)), (one << 63) - 1)
        op.high = max(min(high, (one << 63) - 1), -(one << 63))
        op.highest = min(max(high, 0), (one << 64) - 1)
        return 0

    cdef int set_leaf(self, int32_t at, object node) except -1:
        cdef Op *op = &self.ops[at]
        kind = self.layout[node.column].type if node.column >= 0 else pa.null()
        op.text = self.trusts_text and (pa.types.is_string(kind) or pa.types.is_large_string(kind))
        if op.code == INTEGER:
            op.width = kind.bit_width // 8
            op.scale = node.floor
            self.set_bounds(at, node, kind)
        elif op.code == DOUBLE:
            if pa.types.is_float32(kind):
                op.code = SINGLE
        elif op.code == DECIMAL:
            op.width = kind.byte_width // 8
            op.precision = kind.precision
            op.scale = kind.scale
            op.wire_scale = node.scale
            op.wire_precision = min(node.precision or 76, 38 if op.width == 2 else 76)
        elif op.code == BYTES:
            op.width = kind.byte_width if pa.types.is_fixed_size_binary(kind) else -1
            self.scratch = max(self.scratch, 6 * 4 * ((op.width + 2) // 3) + JSON_MARGIN)
        elif op.code == ISO_TIME:
            if pa.types.is_date(kind):
                op.form = ISO_DATE
                op.width = kind.bit_width // 8
            else:
                op.width = kind.bit_width // 8
                op.digits = SECOND_DIGITS[kind.unit]
                op.form = ISO_CLOCK
                if pa.types.is_timestamp(kind):
                    op.form = ISO_ZONED if kind.tz or node.forms & Form.UTC else ISO_LOCAL
            op.factor = 86_400_000 if pa.types.is_date64(kind) else 1
            op.form |= (ISO_UTC if node.forms & Form.UTC else 0) | (ISO_FLOOR if node.floor else 0)
        return 0

    cdef int set_folds(self) except -1:
        folds, texts = _folds()
        self.folds = <const uint32_t *>self.memory(folds)
        self.fold_texts = self.memory(texts)
        self.fold_count = len(texts) // 8
        return 0
