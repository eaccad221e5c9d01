"""Columns to JSON in plain Python: the reference that the compiled twin is tested against."""

import base64
import math
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from kcodec.columns.types.isotime_py import write_iso
from kcodec.columns.types.layout import layout
from kcodec.columns.types.plain import is_text
from kcodec.columns.written.inputs_py import Inputs
from kcodec.errors import Fault
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.formats.json.tokens import Tokens
from kcodec.java.jackson import quote
from kcodec.java.numbers import format_java_decimal, format_java_double, format_java_float
from kcodec.plan.failure import RowError, step
from kcodec.plan.rows_py import Program, encode_rows


def encode(
    array: pa.Array,
    program: Program,
    *,
    prefix: bytes = b"",
    suffix: bytes = b"",
    large: bool = False,
    stop: bool = False,
) -> tuple[pa.Array, list[Fault]]:
    """Encode one document per row, without any space; see `kcodec.formats.json.kernel.JsonKernel`."""
    writer = _DocumentInputs(program, array)
    return encode_rows(
        array, lambda row: prefix + writer.value(program.plan.root, row, "") + suffix, large=large, stop=stop
    )


class _DocumentInputs(Inputs):
    """The columns of an array, each made an array of integers, raw bytes, or decimals."""

    def __init__(self, program: Program, array: pa.Array) -> None:
        super().__init__(array)
        self.program = program
        self.kinds = [column.type for column in layout(program.plan.arrow_type)]

    def leaf(self, array: pa.Array) -> pa.Array:
        kind = array.type
        if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
            return array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        if is_text(kind):
            return array.cast(pa.large_binary())
        return array

    def is_null(self, node: JsonNode, row: int) -> bool:
        return node.column >= 0 and not self.arrays[node.column][row].is_valid

    def value(self, node: JsonNode, row: int, path: str) -> bytes:
        path = step(path, node.name)
        if self.is_null(node, row):
            if node.data and node.forms & Form.DEFAULT:
                return node.data
            if not node.forms & Form.NULL:
                raise RowError("null_value", None, path)
            return b"null"
        return _ENCODERS[node.op](self, node, row, path)

    def read(self, node: JsonNode, row: int) -> Any:
        return self.arrays[node.column][row].as_py()

    def keyed(self, node: JsonNode, row: int, path: str) -> bytes:
        escaped = bool(node.forms & Form.ESCAPED)
        return _joined(
            b"{}",
            (
                self.rest(child, row, path)
                if child.op is Op.JSON_REST
                else _quoted(child.name, escaped) + b":" + self.value(child, row, path)
                for child in node.children
                if not (child.forms & Form.ABSENT and self.is_null(child, row))
            ),
        )

    def rest(self, node: JsonNode, row: int, path: str) -> bytes:
        path = step(path, node.name)
        text = self.raw(node, row, path).strip(b" \t\n\r")
        if not text.startswith(b"{"):
            raise RowError("json_type", None, path)
        return text[1:-1].strip(b" \t\n\r")

    def positional(self, node: JsonNode, row: int, path: str) -> bytes:
        return _joined(b"[]", (self.value(child, row, path) for child in node.children))

    def listed(self, node: JsonNode, row: int, path: str) -> bytes:
        begin, end = self.offsets[node.column][row : row + 2]
        return _joined(
            b"[]", (self.value(node.children[0], i, f"{path}[{i - begin}]") for i in range(begin, end))
        )

    def mapped(self, node: JsonNode, row: int, path: str) -> bytes:
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

    def member(self, node: JsonNode, row: int, path: str) -> bytes:
        found = [child for child in node.children if not self.is_null(child, row)]
        if len(found) != 1:
            raise RowError("union_members", None, path)
        return self.value(found[0], row, path)

    def boolean(self, node: JsonNode, row: int, path: str) -> bytes:
        return _number_form(node, "true" if self.read(node, row) else "false")

    def integer(self, node: JsonNode, row: int, path: str) -> bytes:
        value = self.read(node, row)
        if node.factor < 0:
            value *= -node.factor
        elif value % node.factor and value < 1 << 63 and not node.floor:
            raise RowError("inexact", None, path)
        else:
            value //= 1 if value >= 1 << 63 else node.factor
        # What is multiplied or divided has 64 bits with a sign.
        limit = (1 << 64 if node.factor == 1 else 1 << 63) - 1
        low, high = node.bounds or (-(1 << 63), limit)
        if not max(low, -(1 << 63)) <= value <= min(high, limit):
            raise RowError("out_of_range", None, path)
        return _number_form(node, str(value))

    def floating(self, node: JsonNode, row: int, path: str) -> bytes:
        value = self.read(node, row)
        if math.isfinite(value):
            narrow = pa.types.is_float32(self.kinds[node.column])
            return _number_form(node, format_java_float(value) if narrow else format_java_double(value))
        if not node.forms & Form.NONFINITE:
            raise RowError("out_of_range", None, path)
        return b'"NaN"' if value != value else b'"Infinity"' if value > 0 else b'"-Infinity"'

    def decimal(self, node: JsonNode, row: int, path: str) -> bytes:
        number = self.read(node, row)
        if not node.forms & Form.BASE64:
            text = format_java_decimal(number, plain=not node.forms & Form.SCIENTIFIC)
            return _number_form(node, text)
        sign, parts, power = number.as_tuple()
        digits = "".join(map(str, parts)).lstrip("0")
        shift = power + node.scale
        kept = digits[: max(len(digits) + shift, 0)] if shift < 0 else digits
        if digits and (not kept or digits[len(kept) :].strip("0")):
            raise RowError("inexact", None, path)
        digit_limit = node.precision or (38 if self.kinds[node.column].bit_width == 128 else 76)
        if digits and len(kept) + max(shift, 0) > digit_limit:
            raise RowError("decimal_precision", None, path)
        value = (int(kept) * 10 ** max(shift, 0) if kept else 0) * (-1 if sign else 1)
        size = (value if value >= 0 else ~value).bit_length() // 8 + 1
        return b'"' + base64.b64encode(value.to_bytes(size, "big", signed=True)) + b'"'

    def text(self, node: JsonNode, row: int, path: str) -> bytes:
        try:
            return _quoted(self.read(node, row).decode(), bool(node.forms & Form.ESCAPED))
        except UnicodeDecodeError:
            raise RowError("invalid_utf8", None, path) from None

    def binary(self, node: JsonNode, row: int, path: str) -> bytes:
        return b'"' + base64.b64encode(self.read(node, row)) + b'"'

    def time(self, node: JsonNode, row: int, path: str) -> bytes:
        utc = bool(node.forms & Form.UTC)
        text = write_iso(self.read(node, row), self.kinds[node.column], utc=utc)
        if text is None:
            raise RowError("out_of_range", None, path)
        return b'"' + text.encode() + b'"'

    def raw(self, node: JsonNode, row: int, path: str) -> bytes:
        data: bytes = self.read(node, row)
        check = Tokens(self.program.limits, data, 0)
        try:
            data.decode()
            check.skip("")
            check.space()
        except UnicodeDecodeError:
            raise RowError("invalid_utf8", None, path) from None
        except RowError as error:
            if error.code == "lone_surrogate" and node.forms & Form.ESCAPED:
                return data
            raise RowError(error.code, None, path) from None
        if check.at < len(data):
            raise RowError("trailing_bytes", None, path)
        return data


#: Without that of nulls, whose column has nothing else.
_ENCODERS: dict[Op, Callable[[_DocumentInputs, JsonNode, int, str], bytes]] = {
    Op.JSON_OBJECT: _DocumentInputs.keyed,
    Op.JSON_TUPLE: _DocumentInputs.positional,
    Op.JSON_LIST: _DocumentInputs.listed,
    Op.JSON_MAP: _DocumentInputs.mapped,
    Op.JSON_UNION: _DocumentInputs.member,
    Op.JSON_BOOLEAN: _DocumentInputs.boolean,
    Op.JSON_INTEGER: _DocumentInputs.integer,
    Op.JSON_FLOAT: _DocumentInputs.floating,
    Op.JSON_DECIMAL: _DocumentInputs.decimal,
    Op.JSON_STRING: _DocumentInputs.text,
    Op.JSON_BYTES: _DocumentInputs.binary,
    Op.JSON_TIME: _DocumentInputs.time,
    Op.JSON_TEXT: _DocumentInputs.raw,
}


def _joined(brackets: bytes, items: Iterator[bytes]) -> bytes:
    return brackets[:1] + b",".join(filter(None, items)) + brackets[1:]


def _number_form(node: JsonNode, text: str) -> bytes:
    return f'"{text}"'.encode() if node.forms & Form.TEXT else text.encode()


def _quoted(text: str, escaped: bool) -> bytes:
    return quote(text, escape_surrogates=escaped).encode()
