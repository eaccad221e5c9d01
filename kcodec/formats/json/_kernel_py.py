"""JSON to columns in plain Python: the reference that the compiled twin is tested against.

A row is decoded into lists of its own, one for each column, which are added to the columns only when the whole
row was good. What a key holds is kept apart until its object ends, so that the last of several is what counts.
"""

import base64
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pyarrow as pa

from kcodec.columns.types.isotime_py import bounds, read_iso
from kcodec.columns.types.layout import Column
from kcodec.errors import Fault
from kcodec.formats.json._encode_py import encode
from kcodec.formats.json.node import JSON_KINDS, Form, JsonNode, Op
from kcodec.formats.json.tokens import Tokens
from kcodec.java.numbers import round_to_float
from kcodec.plan.failure import step
from kcodec.plan.rows_py import ColumnRow, ItemBytes, Program, decode_rows, join_rows

__all__ = ["Program", "decode", "encode"]

_NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(rb"-?(0|[1-9][0-9]*)")
# A BigDecimal that is not 0 if negative, and that has no exponent as it is not below 1E-6.
_CANONICAL = re.compile(rb"0(\.[0-9]{1,6})?|-?[1-9][0-9]*(\.[0-9]+)?")
_BASE64 = re.compile(rb"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")

#: Characters of a decimal in Base64.
_LONGEST = 1000

_KINDS = {123: "object", 91: "array", 34: "string", 116: "boolean", 102: "boolean"}

_Out = defaultdict[int, list[Any]]


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
    """Decode one document per row; see `kcodec.formats.json.kernel.JsonKernel`."""

    def read(
        program: Program, columns: tuple[Column, ...], items: ItemBytes, data: bytes, at: int
    ) -> ColumnRow:
        row = _Row(program, columns, items, data, at)
        row.document(program.plan.root, trailing)
        return row

    return decode_rows(
        values, programs, read, join_rows, selector=selector, starts=starts, ends=ends, stop=stop
    )


def _runs_on(last: int, after: int) -> bool:
    """Return whether Jackson would read a number or word beyond its last byte, into the byte behind it."""
    if last in b"0123456789":
        return after not in b" \t\n\r"
    return last in b"el" and (after > 126 or chr(after).isalnum() or after == 95)


class _Row(Tokens, ColumnRow):
    """One row: its bytes, how far they are read, and what it adds to each column."""

    def __init__(
        self, program: Program, columns: tuple[Column, ...], counted: ItemBytes, data: bytes, at: int
    ) -> None:
        Tokens.__init__(self, program.limits, data, at)
        ColumnRow.__init__(self, columns)
        self.counted = counted
        self.expansion = 0

    def document(self, root: JsonNode, trailing: bool) -> None:
        try:
            self.data[self.at :].decode()
        except UnicodeDecodeError as error:
            self.fail("invalid_utf8", self.at + error.start, "")
        if self.data.startswith(b"\xef\xbb\xbf", self.at):
            self.at += 3
        self.value(root, "")
        if trailing and self.at < len(self.data) and _runs_on(self.data[self.at - 1], self.data[self.at]):
            self.fail("trailing_bytes", self.at, "")
        self.space()
        if self.at < len(self.data) and not trailing:
            self.fail("trailing_bytes", self.at, "")

    def value(self, node: JsonNode, path: str) -> None:
        path = step(path, node.name)
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

    def default(self, node: JsonNode, path: str) -> None:
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

    def into(self, node: JsonNode, path: str) -> _Out:
        """Read a value and give what it adds to the columns."""
        outer = self.added()
        self.value(node, path)
        added, self.out = self.out, outer
        return added

    def keyed(self, node: JsonNode, path: str) -> None:
        if self.byte(path) != 123:
            self.wrong(path)
        children = [child for child in node.children if child.op is not Op.JSON_REST]
        names = [child.name for child in children]
        others: list[bytes] = []
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
                others.append(self.data[begin : self.at])
                continue
            if key == name:
                exact.add(name)
            found[name] = self.into(children[names.index(name)], path)
        self.put(node.column, True)
        for child in node.children:
            if child.op is Op.JSON_REST:
                self.put(child.column, b"{" + b",".join(others) + b"}" if others else None)
            elif child.name in found:
                self.add(found[child.name])
            elif not child.forms & Form.ABSENT:
                self.fail("missing_key", self.at - 1, step(path, child.name))
            elif child.data:
                self.default(child, step(path, child.name))
            else:
                self.null(child.column)

    def positional(self, node: JsonNode, path: str) -> None:
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

    def listed(self, node: JsonNode, path: str) -> None:
        if self.byte(path) != 91:
            self.wrong(path)
        items = []
        for i in self.items(b"]", path):
            self.counted.count(node.column)
            items.append(self.into(node.children[0], f"{path}[{i}]"))
        self.collection(node, items, path)

    def mapped(self, node: JsonNode, path: str) -> None:
        if self.byte(path) != 123:
            self.wrong(path)
        items = []
        for i in self.items(b"}", path):
            self.counted.count(node.column)
            if self.byte(path) != 34:
                self.fail("json_syntax", self.at, path)
            entry = self.into(node.children[0], f"{path}[{i}].key")
            self.expect(b":", path)
            value = self.into(node.children[1], f"{path}[{i}].value")
            items.append(entry)
            entry.update(value)
        self.collection(node, items, path)

    def collection(self, node: JsonNode, items: Sequence[_Out], path: str) -> None:
        key = node.column + 1
        if pa.types.is_map(self.columns[node.column].type) and not self.columns[key].children:
            last = {item[key][0]: i for i, item in enumerate(items)}
            if len(last) < len(items) and node.forms & Form.UNIQUE:
                self.fail("duplicate_key", self.at, path)
            items = [item for i, item in enumerate(items) if last[item[key][0]] == i]
        for item in items:
            self.add(item)
        self.put(node.column, len(items))

    def member(self, node: JsonNode, path: str) -> None:
        kind = _KINDS.get(self.byte(path), "number")
        found = [child for child in node.children if JSON_KINDS.get(child.op, child.name) == kind]
        if not found:
            self.wrong(path)
        self.put(node.column, True)
        for child in node.children:
            if child is found[0]:
                self.value(child, path)
            else:
                self.null(child.column)

    def boolean(self, node: JsonNode, path: str) -> None:
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

    def numeric(self, node: JsonNode, path: str, grammar: re.Pattern[bytes] = _NUMBER) -> bytes:
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

    def integer(self, node: JsonNode, path: str) -> None:
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
        low, high = bounds(kind)
        if node.bounds and not node.bounds[0] <= value <= node.bounds[1]:
            self.fail("out_of_range", begin, path)
        value *= node.factor
        if not low <= value <= high:
            self.fail("out_of_range", begin, path)
        self.put(node.column, value.to_bytes(kind.bit_width // 8, "little", signed=low < 0))

    def floating(self, node: JsonNode, path: str) -> None:
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
            value = round_to_float(text.decode()) if narrow else float(text)
            if value in (float("inf"), float("-inf")):
                self.fail("out_of_range", begin, path)
            plain = _CANONICAL.fullmatch(text) or self.data[begin] == 34
            if node.forms & Form.CANONICAL and value == 0 and not plain:
                self.fail("json_type", begin, path)
        self.put(node.column, struct.pack("<f" if narrow else "<d", value))

    def decimal(self, node: JsonNode, path: str) -> None:
        begin = self.at
        kind = self.columns[node.column].type
        if self.byte(path) == 34 and node.forms & Form.BASE64:
            self.string(path)
            if self.at - begin - 2 > min(self.limits.max_number_length, _LONGEST):
                self.fail("number_length", begin, path)
            self.at = begin
            data = self.base64(path)
            if not data:
                self.fail("empty_decimal", begin, path)
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

    def text(self, node: JsonNode, path: str) -> None:
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

    def binary(self, node: JsonNode, path: str) -> None:
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

    def time(self, node: JsonNode, path: str) -> None:
        begin = self.at
        if self.byte(path) != 34:
            self.wrong(path)
        text = self.string(path).decode()
        kind = self.columns[node.column].type
        value, code = read_iso(text, kind, utc=bool(node.forms & Form.UTC), floor=node.floor)
        if code:
            self.fail(code, begin, path)
        self.put(node.column, value)

    def raw(self, node: JsonNode, path: str) -> None:
        begin = self.at
        self.skip(path)
        self.put(node.column, self.data[begin : self.at])

    def nothing(self, node: JsonNode, path: str) -> None:
        self.wrong(path)


_DECODERS: dict[Op, Callable[[_Row, JsonNode, str], None]] = {
    Op.JSON_OBJECT: _Row.keyed,
    Op.JSON_TUPLE: _Row.positional,
    Op.JSON_LIST: _Row.listed,
    Op.JSON_MAP: _Row.mapped,
    Op.JSON_UNION: _Row.member,
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
