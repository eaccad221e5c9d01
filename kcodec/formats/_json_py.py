"""JSON in plain Python: the reference that the compiled twin is tested against.

A row is decoded into lists of its own, one for each column, which are added to the columns only when the whole
row was good. What a key holds is kept apart until its object ends, so that the last of several is what counts.
"""

import base64
import datetime
import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NoReturn

import pyarrow as pa

from kcodec.columns.layout import Column, layout
from kcodec.columns.lists import from_lists
from kcodec.errors import CODES, Fault
from kcodec.plan.node import MAX_DEPTH, Form, Limits, Node, Op, Plan

__all__ = ["Program", "decode", "encode"]

_SPACE = b" \t\n\r"
_DIGITS = b"0123456789"
_ESCAPES = {34: '"', 92: "\\", 47: "/", 98: "\b", 102: "\f", 110: "\n", 114: "\r", 116: "\t"}
_NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(rb"-?(0|[1-9][0-9]*)")
# A BigDecimal that is not 0 if negative, and that has no exponent as it is not below 1E-6.
_CANONICAL = re.compile(rb"0(\.[0-9]{1,6})?|-?[1-9][0-9]*(\.[0-9]+)?")
_BASE64 = re.compile(rb"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_DATE = r"(\d{4})-(\d\d)-(\d\d)"
_CLOCK = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
_ZONE = r"(?:[Zz]|([+-])(\d\d):?(\d\d))"
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_LAST = datetime.date.max.toordinal()

#: Characters of a decimal in Base64.
_LONGEST = 1000

_Out = list[list[Any]]


class Program:
    """A plan made ready to run.

    Parameters
    ----------
    plan : Plan
        What to do.
    limits : Limits, optional
        What a row may cost.
    """

    def __init__(self, plan: Plan, limits: Limits = Limits()) -> None:  # noqa: B008
        self._plan = plan
        self._limits = limits

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self._plan

    @property
    def limits(self) -> Limits:
        """The limits."""
        return self._limits


class _BadRow(Exception):
    """What is wrong with the row at hand."""

    def __init__(self, code: str, offset: int | None, path: str) -> None:
        super().__init__(code)
        self.code = code
        self.offset = offset
        self.path = path
        self.reason = CODES[code]


def _step(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


# Decoding -------------------------------------------------------------------------------------------


def decode(
    values: pa.Array,
    programs: Sequence[Program | None],
    *,
    selector: Any = None,
    starts: Any = None,
    ends: Any = None,
    trailing: bool = False,
    stop: bool = False,
) -> tuple[pa.Array, list[Fault]]:
    """Decode one JSON document per row.

    Parameters
    ----------
    values : pyarrow.Array
        Binary or string of any kind.
    programs : sequence of Program or None
        Programs of the same Arrow type.
    selector : buffer of int32, optional
        Which program reads a row; a negative number, or a program that is None, leaves the row null. By
        default the first program reads all.
    starts, ends : buffer of int32, optional
        Where in its row each document starts and ends; by default the row is the document.
    trailing : bool
        Whether anything may follow the value.
    stop : bool
        Whether to return after the first fault; the array is then not meaningful.

    Returns
    -------
    tuple of (pyarrow.Array, list of Fault)
        A row with a fault is null. Offsets count from the first byte of the row.
    """
    kind = next(program for program in programs if program is not None).plan.arrow_type
    columns = layout(kind)
    chosen, first, last = (
        None if each is None else memoryview(each).cast("B").cast("i") for each in (selector, starts, ends)
    )
    done: _Out = [[] for _ in columns]
    faults: list[Fault] = []
    for number, value in enumerate(_payloads(values)):
        index = 0 if chosen is None else chosen[number]
        program = programs[index] if 0 <= index < len(programs) else None
        out = None
        if value is not None and program is not None:
            start = 0 if first is None else first[number]
            end = len(value) if last is None else last[number]
            try:
                if not 0 <= start <= end <= len(value):
                    raise _BadRow("truncated", len(value), "")
                row = _Row(program, columns, value[:end], start)
                row.document(program.plan.root, trailing)
                out = row.out
            except _BadRow as bad:
                faults.append(Fault(number, bad.offset, bad.path, bad.code, bad.reason))
                if stop:
                    break
        if out is None:
            empty = _Row(None, columns, b"", 0)
            empty.null(0)
            out = empty.out
        for column, added in zip(done, out, strict=True):
            column += added
    return from_lists(columns, done), faults


def _payloads(values: pa.Array) -> list[bytes | None]:
    if pa.types.is_fixed_size_binary(values.type) or pa.types.is_binary(values.type):
        return list(values.to_pylist())
    return list(values.cast(pa.large_binary()).to_pylist())


class _Row:
    """One row: its bytes, how far they are read, and what it adds to each column."""

    def __init__(self, program: Program | None, columns: tuple[Column, ...], data: bytes, at: int) -> None:
        self.limits = program.limits if program else Limits()
        self.columns = columns
        self.data = data
        self.at = at
        self.out: _Out = [[] for _ in columns]
        self.expansion = 0
        self.depth = 0
        #: While a default is read: where in the row it stands.
        self.outside: int | None = None

    def fail(self, code: str, offset: int, path: str) -> NoReturn:
        raise _BadRow(code, offset if self.outside is None else self.outside, path)

    def put(self, column: int, value: Any) -> None:
        if column >= 0:
            self.out[column].append(value)

    def null(self, column: int) -> None:
        """Make a column null, with all that has as many rows as it."""
        self.out[column].append(None)
        if pa.types.is_struct(self.columns[column].type):
            for child in self.columns[column].children:
                self.null(child)

    def document(self, root: Node, trailing: bool) -> None:
        try:
            self.data[self.at :].decode()
        except UnicodeDecodeError as error:
            self.fail("invalid_utf8", self.at + error.start, "")
        if self.data.startswith(b"\xef\xbb\xbf", self.at):
            self.at += 3
        self.value(root, "")
        self.space()
        if self.at < len(self.data) and not trailing:
            self.fail("trailing_bytes", self.at, "")

    # Tokens: what is cut off by the end is `truncated` there, a byte that cannot stand is `json_syntax`.

    def space(self) -> None:
        while self.at < len(self.data) and self.data[self.at] in _SPACE:
            self.at += 1

    def byte(self, path: str) -> int:
        if self.at >= len(self.data):
            self.fail("truncated", len(self.data), path)
        return self.data[self.at]

    def next(self, path: str) -> int:
        self.space()
        return self.byte(path)

    def expect(self, byte: bytes, path: str) -> None:
        if self.next(path) != byte[0]:
            self.fail("json_syntax", self.at, path)
        self.at += 1

    def literal(self, word: bytes, path: str) -> None:
        found = self.data[self.at : self.at + len(word)]
        if found != word:
            cut = len(found) < len(word) and word.startswith(found)
            self.fail("truncated" if cut else "json_syntax", len(self.data) if cut else self.at, path)
        self.at += len(word)

    def digits(self, path: str) -> None:
        if self.byte(path) not in _DIGITS:
            self.fail("json_syntax", self.at, path)
        while self.at < len(self.data) and self.data[self.at] in _DIGITS:
            self.at += 1

    def number(self, path: str) -> bytes:
        begin = self.at
        self.at += self.data[begin : begin + 1] == b"-"
        if self.byte(path) == 48:
            self.at += 1
        else:
            self.digits(path)
        if self.data[self.at : self.at + 1] == b".":
            self.at += 1
            self.digits(path)
        if self.data[self.at : self.at + 1] in (b"e", b"E"):
            self.at += 1
            self.at += self.data[self.at : self.at + 1] in (b"+", b"-")
            self.digits(path)
        return self.data[begin : self.at]

    def string(self, path: str) -> bytes:
        """Read a string from its first quote past its last one; return its text as UTF-8."""
        self.at += 1
        parts = []
        while True:
            begin = self.at
            while self.byte(path) not in b'"\\' and self.data[self.at] >= 0x20:
                self.at += 1
            parts.append(self.data[begin : self.at])
            byte = self.data[self.at]
            if byte == 34:
                self.at += 1
                return b"".join(parts)
            if byte != 92:
                self.fail("json_syntax", self.at, path)
            parts.append(self.escape(path).encode())

    def escape(self, path: str) -> str:
        begin = self.at
        self.at += 1
        kind = self.byte(path)
        self.at += 1
        if kind in _ESCAPES:
            return _ESCAPES[kind]
        if kind != 117:
            self.fail("json_syntax", begin, path)
        unit = self.hexadecimal(begin, path)
        if 0xD800 <= unit < 0xDC00:
            second = self.at
            for byte in b"\\u":
                if self.byte(path) != byte:
                    self.fail("lone_surrogate", begin, path)
                self.at += 1
            low = self.hexadecimal(second, path)
            if not 0xDC00 <= low < 0xE000:
                self.fail("lone_surrogate", begin, path)
            unit = 0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00
        elif 0xDC00 <= unit < 0xE000:
            self.fail("lone_surrogate", begin, path)
        return chr(unit)

    def hexadecimal(self, begin: int, path: str) -> int:
        value = 0
        for _ in range(4):
            byte = self.byte(path)
            if byte not in b"0123456789abcdefABCDEF":
                self.fail("json_syntax", begin, path)
            value = 16 * value + int(chr(byte), 16)
            self.at += 1
        return value

    def enter(self, path: str) -> None:
        if self.depth >= min(self.limits.max_depth, MAX_DEPTH):
            self.fail("depth_limit", self.at, path)
        self.depth += 1
        self.at += 1

    def items(self, close: bytes, path: str) -> Iterator[int]:
        """Go into ``[`` or ``{``, give the number of each item where it starts, and leave."""
        self.enter(path)
        count = 0
        if self.next(path) != close[0]:
            yield count
            while self.next(path) != close[0]:
                self.expect(b",", path)
                self.space()
                count += 1
                yield count
        self.at += 1
        self.depth -= 1

    def key(self, path: str) -> bytes:
        """Read a key and its colon."""
        if self.next(path) != 34:
            self.fail("json_syntax", self.at, path)
        key = self.string(path)
        self.expect(b":", path)
        return key

    def skip(self, path: str) -> None:
        """Read any value past; without recursion, as it may be deeper than Python can call."""
        depth = self.depth
        closers: list[int] = []
        while True:
            byte = self.next(path)
            if byte in b"{[":
                self.enter(path)
                closers.append(byte + 2)
                if self.next(path) != closers[-1]:
                    if byte == 123:
                        self.key(path)
                    continue
            elif byte == 34:
                self.string(path)
            elif byte in b"-0123456789":
                self.number(path)
            else:
                self.literal({116: b"true", 102: b"false", 110: b"null"}.get(byte, b"?"), path)
            while closers and self.next(path) == closers[-1]:
                self.at += 1
                closers.pop()
            self.depth = depth + len(closers)
            if not closers:
                return
            self.expect(b",", path)
            if closers[-1] == 125:
                self.key(path)

    # Values.

    def value(self, node: Node, path: str) -> None:
        path = _step(path, node.name)
        byte = self.next(path)
        begin = self.at
        if byte == 110 and (node.op is not Op.JSON_TEXT or node.forms & Form.NULL):
            self.literal(b"null", path)
            if node.data and node.forms & Form.DEFAULT:
                self.default(node, path)
            elif node.forms & Form.NULL or node.op is Op.JSON_NULL:
                if node.column >= 0:
                    self.null(node.column)
            else:
                self.fail("null_value", begin, path)
        else:
            _DECODERS[node.op](self, node, path)

    def default(self, node: Node, path: str) -> None:
        """Read the default in place of what is missing."""
        self.expansion += len(node.data)
        if self.expansion > self.limits.max_expansion:
            self.fail("size_limit", self.at, path)
        outer = self.data, self.at, self.outside
        if self.outside is None:
            self.outside = self.at
        self.data, self.at = node.data, 0
        self.space()
        _DECODERS[node.op](self, node, path)
        self.data, self.at, self.outside = outer

    def wrong(self, path: str) -> NoReturn:
        """Refuse the value that starts here."""
        known = self.data[self.at] in b'{["-0123456789tfn'
        self.fail("json_type" if known else "json_syntax", self.at, path)

    def into(self, node: Node, path: str) -> _Out:
        """Read a value and give what it adds to the columns."""
        outer, self.out = self.out, [[] for _ in self.columns]
        self.value(node, path)
        added, self.out = self.out, outer
        return added

    def add(self, added: _Out) -> None:
        for column, values in zip(self.out, added, strict=True):
            column += values

    def keyed(self, node: Node, path: str) -> None:
        if self.byte(path) != 123:
            self.wrong(path)
        names = [child.name for child in node.children]
        found: dict[str, _Out] = {}
        exact: set[str] = set()
        for _ in self.items(b"}", path):
            begin = self.at
            key = self.key(path).decode()
            name = key
            if name not in names and node.forms & Form.FOLD:
                name = key.upper()
            if name in found and node.forms & Form.UNIQUE:
                self.fail("duplicate_key", begin, path)
            if name not in names or (name in exact and key != name):
                self.skip(path)
                continue
            if key == name:
                exact.add(name)
            found[name] = self.into(node.children[names.index(name)], path)
        self.put(node.column, True)
        for child in node.children:
            if child.name in found:
                self.add(found[child.name])
            elif not child.forms & Form.ABSENT:
                self.fail("missing_key", self.at - 1, _step(path, child.name))
            elif child.data:
                self.default(child, _step(path, child.name))
            else:
                self.null(child.column)

    def positional(self, node: Node, path: str) -> None:
        if self.byte(path) != 91:
            self.wrong(path)
        self.put(node.column, True)
        count = 0
        for count in self.items(b"]", path):
            if count == len(node.children):
                self.fail("json_type", self.at, path)
            self.value(node.children[count], path)
            count += 1
        if count != len(node.children):
            self.fail("json_type", self.at - 1, path)

    def listed(self, node: Node, path: str) -> None:
        if self.byte(path) != 91:
            self.wrong(path)
        items = [self.into(node.children[0], f"{path}[{i}]") for i in self.items(b"]", path)]
        self.collection(node, items, path)

    def mapped(self, node: Node, path: str) -> None:
        if self.byte(path) != 123:
            self.wrong(path)
        items = []
        for i in self.items(b"}", path):
            if self.byte(path) != 34:
                self.fail("json_syntax", self.at, path)
            entry = self.into(node.children[0], f"{path}[{i}].key")
            self.expect(b":", path)
            value = self.into(node.children[1], f"{path}[{i}].value")
            items.append([key + rest for key, rest in zip(entry, value, strict=True)])
        self.collection(node, items, path)

    def collection(self, node: Node, items: Sequence[_Out], path: str) -> None:
        key = node.column + 1
        if pa.types.is_map(self.columns[node.column].type) and not self.columns[key].children:
            last = {item[key][0]: i for i, item in enumerate(items)}
            if len(last) < len(items) and node.forms & Form.UNIQUE:
                self.fail("duplicate_key", self.at, path)
            items = [item for i, item in enumerate(items) if last[item[key][0]] == i]
        for item in items:
            self.add(item)
        self.put(node.column, len(items))

    def boolean(self, node: Node, path: str) -> None:
        begin = self.at
        quoted = self.byte(path) == 34 and bool(node.forms & Form.TEXT)
        if quoted:
            self.string(path)
            text = self.data[begin + 1 : self.at - 1]
            if text not in (b"true", b"false"):
                self.fail("json_type", begin, path)
            self.put(node.column, text == b"true")
        elif self.byte(path) in b"tf":
            self.literal(b"true" if self.byte(path) == 116 else b"false", path)
            self.put(node.column, self.data[begin] == 116)
        else:
            self.wrong(path)

    def numeric(self, node: Node, path: str, grammar: re.Pattern[bytes] = _NUMBER) -> bytes:
        """Read a number, perhaps in a string."""
        begin = self.at
        if self.byte(path) in b"-0123456789":
            text = self.number(path)
        elif self.byte(path) == 34 and node.forms & Form.TEXT:
            self.string(path)
            text = self.data[begin + 1 : self.at - 1]
        else:
            self.wrong(path)
        if len(text) > self.limits.max_number_length:
            self.fail("number_length", begin, path)
        if self.data[begin] == 34 and not grammar.fullmatch(text):
            self.fail("invalid_number", begin, path)
        return text

    def integer(self, node: Node, path: str) -> None:
        begin = self.at
        text = self.numeric(node, path, _INTEGER)
        if node.forms & Form.CANONICAL and not text.lstrip(b"-").isdigit():
            self.fail("json_type", begin, path)
        negative, digits, power = _parts(text)
        kept = digits[: max(len(digits) + power, 0)] if power < 0 else digits
        if digits[len(kept) :].strip("0"):
            self.fail("inexact", begin, path)
        if len(kept) + max(power, 0) > 38 and kept:
            self.fail("out_of_range", begin, path)
        value = int(kept or "0") * 10 ** max(power, 0) if kept else 0
        value = -value if negative else value
        kind = self.columns[node.column].type
        low, high = _bounds(kind)
        if node.bounds and not node.bounds[0] <= value <= node.bounds[1]:
            self.fail("out_of_range", begin, path)
        value *= node.factor
        if not low <= value <= high:
            self.fail("out_of_range", begin, path)
        self.put(node.column, value.to_bytes(kind.bit_width // 8, "little", signed=low < 0))

    def floating(self, node: Node, path: str) -> None:
        begin = self.at
        narrow = pa.types.is_float32(self.columns[node.column].type)
        text = b""
        if self.byte(path) == 34 and node.forms & Form.NONFINITE:
            self.string(path)
            text = self.data[begin + 1 : self.at - 1]
            if text not in (b"NaN", b"Infinity", b"-Infinity"):
                text, self.at = b"", begin
        if text:
            value = float(text)
        else:
            text = self.numeric(node, path)
            value = _single(text) if narrow else float(text)
            if value in (float("inf"), float("-inf")):
                self.fail("out_of_range", begin, path)
            if node.forms & Form.CANONICAL and self.data[begin] == 45 and value == 0:
                self.fail("json_type", begin, path)
        self.put(node.column, struct.pack("<f" if narrow else "<d", value))

    def decimal(self, node: Node, path: str) -> None:
        begin = self.at
        kind = self.columns[node.column].type
        if self.byte(path) == 34 and node.forms & Form.BASE64:
            self.string(path)
            if self.at - begin - 2 > min(self.limits.max_number_length, _LONGEST):
                self.fail("number_length", begin, path)
            self.at = begin
            data = self.base64(path)
            if not data:
                self.fail("invalid_base64", begin, path)
            value = int.from_bytes(data, "big", signed=True)
            if abs(value) >= 10 ** (38 if kind.bit_width == 128 else 76):
                self.fail("decimal_precision", begin, path)
            negative, digits, power = value < 0, str(abs(value)).lstrip("0"), -node.scale
        else:
            negative, digits, power = _parts(self.numeric(node, path))
        shift = power + kind.scale
        kept = digits[: max(len(digits) + shift, 0)] if shift < 0 else digits
        if digits and (not kept or digits[len(kept) :].strip("0")):
            self.fail("inexact", begin, path)
        if digits and len(kept) + max(shift, 0) > kind.precision:
            self.fail("decimal_precision", begin, path)
        value = int(kept) * 10 ** max(shift, 0) if kept else 0
        self.put(node.column, -value if negative else value)

    def base64(self, path: str) -> bytes:
        begin = self.at
        text = self.string(path)
        if not _BASE64.fullmatch(text):
            self.fail("invalid_base64", begin, path)
        return base64.b64decode(text)

    def text(self, node: Node, path: str) -> None:
        begin, byte = self.at, self.byte(path)
        if byte == 34:
            self.put(node.column, self.string(path))
            return
        if not node.forms & Form.SCALAR or byte not in b"-0123456789tf":
            self.wrong(path)
        if byte in b"tf":
            self.literal(b"true" if byte == 116 else b"false", path)
        else:
            number = self.number(path)
            if len(number) > self.limits.max_number_length:
                self.fail("number_length", begin, path)
            if node.forms & Form.CANONICAL and not _CANONICAL.fullmatch(number):
                self.fail("json_type", begin, path)
        self.put(node.column, self.data[begin : self.at])

    def binary(self, node: Node, path: str) -> None:
        begin = self.at
        if self.byte(path) != 34:
            self.wrong(path)
        kind = self.columns[node.column].type
        if pa.types.is_fixed_size_binary(kind):
            if len(self.string(path)) != (kind.byte_width + 2) // 3 * 4:
                self.fail("fixed_size", begin, path)
            self.at = begin
        data = self.base64(path)
        if pa.types.is_fixed_size_binary(kind) and len(data) != kind.byte_width:
            self.fail("fixed_size", begin, path)
        self.put(node.column, data)

    def time(self, node: Node, path: str) -> None:
        begin = self.at
        if self.byte(path) != 34:
            self.wrong(path)
        text = self.string(path).decode()
        kind = self.columns[node.column].type
        value = _instant(text, kind)
        if value is None:
            self.fail("invalid_time", begin, path)
        if value.denominator != 1:
            self.fail("inexact", begin, path)
        low, high = _bounds(kind)
        if not low <= value <= high:
            self.fail("out_of_range", begin, path)
        self.put(node.column, int(value))

    def raw(self, node: Node, path: str) -> None:
        begin = self.at
        self.skip(path)
        self.put(node.column, self.data[begin : self.at])

    def nothing(self, node: Node, path: str) -> None:
        self.wrong(path)


_DECODERS: dict[Op, Callable[[_Row, Node, str], None]] = {
    Op.JSON_OBJECT: _Row.keyed,
    Op.JSON_TUPLE: _Row.positional,
    Op.JSON_LIST: _Row.listed,
    Op.JSON_MAP: _Row.mapped,
    Op.JSON_NULL: _Row.nothing,
    Op.JSON_BOOLEAN: _Row.boolean,
    Op.JSON_INTEGER: _Row.integer,
    Op.JSON_FLOAT: _Row.floating,
    Op.JSON_DECIMAL: _Row.decimal,
    Op.JSON_STRING: _Row.text,
    Op.JSON_BYTES: _Row.binary,
    Op.JSON_TIME: _Row.time,
    Op.JSON_TEXT: _Row.raw,
}


def _parts(number: bytes) -> tuple[bool, str, int]:
    """Split a number into its sign, its digits without leading zeros, and a power of ten."""
    mantissa, _, exponent = number.decode().lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    return mantissa.startswith("-"), (whole + fraction).lstrip("0"), int(exponent or "0") - len(fraction)


def _single(number: bytes) -> float:
    """Round a number to the nearest float of 32 bits, half to even, in one step; or to infinity."""
    wide = float(number)
    if wide == 0 or wide in (float("inf"), float("-inf")):
        return wide
    exact = Fraction(number.decode())
    _, exponent = math.frexp(wide)
    unit = Fraction(2) ** max(exponent - 24, -149)
    value = float(round(abs(exact) / unit) * unit)
    return math.copysign(value if value < 2.0**128 else float("inf"), wide)


def _bounds(kind: pa.DataType) -> tuple[int, int]:
    """Give the least and the greatest integer that a column holds."""
    if pa.types.is_time(kind):
        return 0, 86400 * _UNITS[kind.unit] - 1
    if pa.types.is_unsigned_integer(kind):
        return 0, (1 << kind.bit_width) - 1
    return -(1 << (kind.bit_width - 1)), (1 << (kind.bit_width - 1)) - 1


def _instant(text: str, kind: pa.DataType) -> Fraction | None:
    """Read a date, time or timestamp in the unit of its column; None if it is not one."""
    if pa.types.is_date(kind):
        pattern = _DATE
    elif pa.types.is_time(kind):
        pattern = _CLOCK
    else:
        pattern = f"{_DATE}[Tt ]{_CLOCK}" + (_ZONE if kind.tz else "")
    match = re.compile(pattern, re.ASCII).fullmatch(text)
    if match is None:
        return None
    parts = list(match.groups())
    days = 0
    if not pa.types.is_time(kind):
        try:
            days = datetime.date(*map(int, parts[:3])).toordinal() - _EPOCH
        except ValueError:
            return None
        if pa.types.is_date(kind):
            return Fraction(days * (1 if kind.bit_width == 32 else 86_400_000))
        parts = parts[3:]
    hour, minute, second = map(int, parts[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    seconds = days * 86400 + hour * 3600 + minute * 60 + second + Fraction("0." + (parts[3] or "0"))
    if parts[4:] and parts[4]:
        if int(parts[5]) > 23 or int(parts[6]) > 59:
            return None
        seconds -= (int(parts[5]) * 60 + int(parts[6])) * (60 if parts[4] == "+" else -60)
    return seconds * _UNITS[kind.unit]


# Encoding -------------------------------------------------------------------------------------------


def encode(
    array: pa.Array,
    program: Program,
    *,
    prefix: bytes = b"",
    suffix: bytes = b"",
    large: bool = False,
    stop: bool = False,
) -> tuple[pa.Array, list[Fault]]:
    """Encode one JSON document per row, without any space.

    Parameters
    ----------
    array : pyarrow.Array
        Of the program's Arrow type.
    program : Program
        What to do.
    prefix, suffix : bytes
        Put before and behind each document.
    large : bool
        Whether the result has 64-bit offsets.
    stop : bool
        Whether to return after the first fault; the array is then not meaningful.

    Returns
    -------
    tuple of (pyarrow.Array, list of Fault)
        A binary array; a row with a fault is null.
    """
    writer = _Writer(program, array)
    result: list[bytes | None] = []
    faults: list[Fault] = []
    for row in range(len(array)):
        data = None
        if not pa.types.is_null(array.type) and array[row].is_valid:
            try:
                data = prefix + writer.value(program.plan.root, row, "") + suffix
            except _BadRow as bad:
                faults.append(Fault(row, None, bad.path, bad.code, bad.reason))
                if stop:
                    break
        result.append(data)
    return pa.array(result, pa.large_binary() if large else pa.binary()), faults


class _Writer:
    """The columns of an array, each made an array of integers, raw bytes, or decimals."""

    def __init__(self, program: Program, array: pa.Array) -> None:
        self.program = program
        self.kinds = [column.type for column in layout(program.plan.arrow_type)]
        self.arrays: list[pa.Array] = []
        self.offsets: list[Any] = []
        self.add(array)

    def add(self, array: pa.Array) -> None:
        kind, number = array.type, len(self.arrays)
        self.arrays.append(array)
        self.offsets.append(None)
        if pa.types.is_struct(kind):
            for i in range(kind.num_fields):
                self.add(array.field(i))
        elif pa.types.is_map(kind):
            self.offsets[number] = array.offsets.to_pylist()
            # Not `keys` and `items`: these forget where the entries start.
            self.add(array.values.field(0))
            self.add(array.values.field(1))
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            self.offsets[number] = array.offsets.to_pylist()
            self.add(array.values)
        elif pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
            self.arrays[number] = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            self.arrays[number] = array.cast(pa.large_binary())

    def is_null(self, node: Node, row: int) -> bool:
        return node.column >= 0 and not self.arrays[node.column][row].is_valid

    def value(self, node: Node, row: int, path: str) -> bytes:
        path = _step(path, node.name)
        if self.is_null(node, row):
            if node.data and node.forms & Form.DEFAULT:
                return node.data
            if not node.forms & Form.NULL and node.op is not Op.JSON_NULL:
                raise _BadRow("null_value", None, path)
            return b"null"
        return _ENCODERS[node.op](self, node, row, path)

    def read(self, node: Node, row: int) -> Any:
        return self.arrays[node.column][row].as_py()

    def keyed(self, node: Node, row: int, path: str) -> bytes:
        escaped = bool(node.forms & Form.ESCAPED)
        return _joined(
            b"{}",
            (
                _quoted(child.name, escaped) + b":" + self.value(child, row, path)
                for child in node.children
                if not (child.forms & Form.ABSENT and self.is_null(child, row))
            ),
        )

    def positional(self, node: Node, row: int, path: str) -> bytes:
        return _joined(b"[]", (self.value(child, row, path) for child in node.children))

    def listed(self, node: Node, row: int, path: str) -> bytes:
        begin, end = self.offsets[node.column][row : row + 2]
        return _joined(
            b"[]", (self.value(node.children[0], i, f"{path}[{i - begin}]") for i in range(begin, end))
        )

    def mapped(self, node: Node, row: int, path: str) -> bytes:
        key, value = node.children
        begin, end = self.offsets[node.column][row : row + 2]
        return _joined(
            b"{}",
            (
                self.value(key, i, f"{path}[{i - begin}].key")
                + b":"
                + self.value(value, i, f"{path}[{i - begin}].value")
                for i in range(begin, end)
            ),
        )

    def nothing(self, node: Node, row: int, path: str) -> bytes:
        return b"null"

    def boolean(self, node: Node, row: int, path: str) -> bytes:
        return _number_form(node, "true" if self.read(node, row) else "false")

    def integer(self, node: Node, row: int, path: str) -> bytes:
        value = self.read(node, row)
        if node.factor < 0:
            value *= -node.factor
        elif value % node.factor and value < 1 << 63:
            raise _BadRow("inexact", None, path)
        else:
            value //= 1 if value >= 1 << 63 else node.factor
        # What is multiplied or divided has 64 bits with a sign.
        most = (1 << 64 if node.factor == 1 else 1 << 63) - 1
        low, high = node.bounds or (-(1 << 63), most)
        if not max(low, -(1 << 63)) <= value <= min(high, most):
            raise _BadRow("out_of_range", None, path)
        return _number_form(node, str(value))

    def floating(self, node: Node, row: int, path: str) -> bytes:
        value = self.read(node, row)
        if math.isfinite(value):
            return _number_form(node, _java(value, pa.types.is_float32(self.kinds[node.column])))
        if not node.forms & Form.NONFINITE:
            raise _BadRow("out_of_range", None, path)
        return b'"NaN"' if value != value else b'"Infinity"' if value > 0 else b'"-Infinity"'

    def decimal(self, node: Node, row: int, path: str) -> bytes:
        sign, parts, power = self.read(node, row).as_tuple()
        digits = "".join(map(str, parts)).lstrip("0")
        if not node.forms & Form.BASE64:
            return _number_form(
                node, "-" * (sign and bool(digits)) + _layout(digits or "0", -power, node.forms)
            )
        shift = power + node.scale
        kept = digits[: max(len(digits) + shift, 0)] if shift < 0 else digits
        if digits and (not kept or digits[len(kept) :].strip("0")):
            raise _BadRow("inexact", None, path)
        most = node.precision or (38 if self.kinds[node.column].bit_width == 128 else 76)
        if digits and len(kept) + max(shift, 0) > most:
            raise _BadRow("decimal_precision", None, path)
        value = (int(kept) * 10 ** max(shift, 0) if kept else 0) * (-1 if sign else 1)
        size = (value if value >= 0 else ~value).bit_length() // 8 + 1
        return b'"' + base64.b64encode(value.to_bytes(size, "big", signed=True)) + b'"'

    def text(self, node: Node, row: int, path: str) -> bytes:
        try:
            return _quoted(self.read(node, row).decode(), bool(node.forms & Form.ESCAPED))
        except UnicodeDecodeError:
            raise _BadRow("invalid_utf8", None, path) from None

    def binary(self, node: Node, row: int, path: str) -> bytes:
        return b'"' + base64.b64encode(self.read(node, row)) + b'"'

    def time(self, node: Node, row: int, path: str) -> bytes:
        text = _iso(self.read(node, row), self.kinds[node.column])
        if text is None:
            raise _BadRow("out_of_range", None, path)
        return b'"' + text.encode() + b'"'

    def raw(self, node: Node, row: int, path: str) -> bytes:
        data: bytes = self.read(node, row)
        check = _Row(self.program, (), data, 0)
        try:
            data.decode()
            check.skip("")
            check.space()
        except UnicodeDecodeError:
            raise _BadRow("invalid_utf8", None, path) from None
        except _BadRow as bad:
            raise _BadRow(bad.code, None, path) from None
        if check.at < len(data):
            raise _BadRow("trailing_bytes", None, path)
        return data


_ENCODERS: dict[Op, Callable[[_Writer, Node, int, str], bytes]] = {
    Op.JSON_OBJECT: _Writer.keyed,
    Op.JSON_TUPLE: _Writer.positional,
    Op.JSON_LIST: _Writer.listed,
    Op.JSON_MAP: _Writer.mapped,
    Op.JSON_NULL: _Writer.nothing,
    Op.JSON_BOOLEAN: _Writer.boolean,
    Op.JSON_INTEGER: _Writer.integer,
    Op.JSON_FLOAT: _Writer.floating,
    Op.JSON_DECIMAL: _Writer.decimal,
    Op.JSON_STRING: _Writer.text,
    Op.JSON_BYTES: _Writer.binary,
    Op.JSON_TIME: _Writer.time,
    Op.JSON_TEXT: _Writer.raw,
}


def _joined(brackets: bytes, items: Iterator[bytes]) -> bytes:
    return brackets[:1] + b",".join(items) + brackets[1:]


def _number_form(node: Node, text: str) -> bytes:
    return f'"{text}"'.encode() if node.forms & Form.TEXT else text.encode()


def _quoted(text: str, escaped: bool) -> bytes:
    """Write a string as Jackson does; with pairs of surrogates or without."""
    names = {ord(text): chr(code) for code, text in _ESCAPES.items() if text != "/"}
    out = ['"']
    for char in text:
        code = ord(char)
        if code in names:
            out.append("\\" + names[code])
        elif code < 0x20:
            out.append(f"\\u{code:04X}")
        elif code > 0xFFFF and escaped:
            code -= 0x10000
            out.append(f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}")
        else:
            out.append(char)
    return ("".join(out) + '"').encode()


def _layout(digits: str, scale: int, forms: Form) -> str:
    """Place the point as ``BigDecimal.toString`` does, or as ``toPlainString`` does."""
    adjusted = len(digits) - 1 - scale
    if forms & Form.SCIENTIFIC and (scale < 0 or adjusted < -6):
        return f"{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}E{adjusted:+d}"
    if scale <= 0:
        return digits + "0" * (-scale if digits != "0" else 0)
    digits = digits.rjust(scale + 1, "0")
    return f"{digits[:-scale]}.{digits[-scale:]}"


def _java(value: float, narrow: bool) -> str:
    """Write a number as Java's ``toString`` does since JDK 19: the closest of the shortest, of 2 digits or more."""
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    value = abs(value)
    if value == 0:
        return sign + "0.0"
    for size in range(2, 18):
        mantissa, _, power = f"{value:.{size - 1}e}".partition("e")
        near = int(mantissa.replace(".", ""))
        exponent = int(power) - size + 1
        texts = [f"{each}e{exponent}" for each in (near, near - 1, near + 1)]
        texts = [text for text in texts if (_single(text.encode()) if narrow else float(text)) == value]
        if texts:
            break
    digits, _, power = min(texts, key=lambda text: abs(Fraction(text) - Fraction(value))).partition("e")
    exponent = len(digits) - 1 + int(power)
    digits = digits.rstrip("0")
    if -3 <= exponent < 7:
        digits = "0" * -exponent + digits.ljust(exponent + 2, "0")
        cut = max(exponent, 0) + 1
        return f"{sign}{digits[:cut]}.{digits[cut:]}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _iso(value: int, kind: pa.DataType) -> str | None:
    """Write a date, time or timestamp, with all digits of its unit; None if its year has not four digits."""
    if pa.types.is_date(kind):
        days, rest = (value, 0) if kind.bit_width == 32 else divmod(value, 86_400_000)
        return None if rest or not 1 <= days + _EPOCH <= _LAST else _day(days)
    unit = _UNITS[kind.unit]
    seconds, rest = divmod(value, unit)
    days, seconds = divmod(seconds, 86400)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    clock += f".{rest:0{len(str(unit)) - 1}}" if unit > 1 else ""
    if pa.types.is_time(kind):
        return None if days else clock
    return f"{_day(days)}T{clock}{'Z' if kind.tz else ''}" if 1 <= days + _EPOCH <= _LAST else None


def _day(days: int) -> str:
    return datetime.date.fromordinal(days + _EPOCH).isoformat()
