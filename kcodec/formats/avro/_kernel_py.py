"""Avro's binary encoding in plain Python: the reference that the compiled twin is tested against.

A row is decoded into lists of its own, one for each column, which are added to the columns only when the
whole row was good: so a bad row leaves nothing behind.
"""

import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import pyarrow as pa

from kcodec.columns.types.isotime_py import bounds, read_iso, write_iso
from kcodec.columns.types.layout import Column, layout
from kcodec.columns.types.plain import is_text
from kcodec.columns.written.inputs_py import Inputs
from kcodec.errors import Fault
from kcodec.formats.avro.plans.node import AvroNode, Op
from kcodec.formats.avro.schema.defaults import varint
from kcodec.plan.failure import RowError, step
from kcodec.plan.node import MAX_DEPTH
from kcodec.plan.rows_py import ColumnRow, ItemBytes, Program, decode_rows, encode_rows, join_rows, quiet
from kcodec.wire.single import read as read_varint

__all__ = ["Program", "decode", "encode"]

_LONG_MIN = -(1 << 63)

_NUMBER = re.compile(r"([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?)(\d+))?", re.ASCII)


# Decoding -------------------------------------------------------------------------------------------


def decode(
    values: pa.Array,
    programs: Sequence[Program | None],
    *,
    selector: Any = None,
    starts: Any = None,
    trailing: bool = False,
    stop: bool = False,
) -> tuple[pa.Array, list[Fault]]:
    """Decode one datum per row; see `kcodec.formats.avro.kernel.AvroKernel`."""

    def read(
        program: Program, columns: tuple[Column, ...], items: ItemBytes, data: bytes, at: int
    ) -> ColumnRow:
        row = Row(program, columns, items, data, at)
        row.run(program.plan.root, "")
        if not trailing and row.at < len(data):
            row.fail("trailing_bytes", row.at, "")
        return row

    return decode_rows(values, programs, read, join_rows, selector=selector, starts=starts, stop=stop)


class Row(ColumnRow):
    """One row: its bytes, how far they are read, and what it adds to each column."""

    def __init__(
        self, program: Program, columns: tuple[Column, ...], items: ItemBytes, data: bytes, at: int
    ) -> None:
        super().__init__(columns)
        self.limits = program.limits
        self.items = items
        self.named = dict(program.plan.named)
        self.data = data
        self.at = at
        self.zero_byte_items = 0
        self.expansion = 0
        self.depth = 0
        #: While a default is read: where in the row it stands.
        self.outside: int | None = None

    def fail(self, code: str, offset: int, path: str, reason: str = "") -> NoReturn:
        raise RowError(code, offset if self.outside is None else self.outside, path, reason)

    def expand(self, size: int, path: str, read: int = 0) -> None:
        """Add to the budget what a value takes in columns beyond the bytes that it was read from."""
        self.expansion += size
        if self.expansion > self.limits.max_expansion:
            self.fail("size_limit", self.at - read, path)

    def varint(self, path: str, bits: int) -> int:
        value, end, code = read_varint(self.data, self.at, bits)
        if code:
            self.fail(code, self.at, path)
        self.at = end
        return (value >> 1) ^ -(value & 1)

    def take(self, size: int, path: str) -> bytes:
        if size > len(self.data) - self.at:
            self.fail("truncated", self.at, path)
        self.at += size
        return self.data[self.at - size : self.at]

    def sized(self, path: str) -> bytes:
        begin = self.at
        size = self.varint(path, 64)
        if size < 0:
            self.fail("negative_length", begin, path)
        return self.take(size, path)

    def run(self, node: AvroNode, path: str) -> None:
        path = step(path, node.name)
        if node.column < 0 and node.op in (Op.RECORD, Op.ARRAY, Op.MAP, Op.UNION):
            self.call(node, path)
        else:
            _DECODERS[node.op](self, node, path)

    def boolean(self, node: AvroNode, path: str) -> None:
        byte = self.take(1, path)[0]
        if node.column >= 0 and byte > 1:
            self.fail("invalid_boolean", self.at - 1, path)
        self.put(node.column, byte == 1)

    def number(self, node: AvroNode, path: str) -> int:
        """Return an integer in the units of its column."""
        begin = self.at
        value, rest = divmod(self.varint(path, 32 if node.op is Op.INT else 64), node.divisor)
        if rest and not node.floor:
            self.fail("inexact", begin, path)
        return value * node.factor

    def integer(self, node: AvroNode, path: str) -> None:
        begin = self.at
        value = self.number(node, path)
        if node.column < 0:
            return
        kind = self.columns[node.column].type
        if pa.types.is_float32(kind):
            self.put(node.column, struct.pack("<f", single(value)))
        elif pa.types.is_float64(kind):
            self.put(node.column, struct.pack("<d", value))
        else:
            low, high = bounds(kind)
            if not low <= value <= high:
                self.fail("out_of_range", begin, path)
            self.put(node.column, value)

    def floating(self, node: AvroNode, path: str) -> None:
        data = self.take(4 if node.op is Op.FLOAT else 8, path)
        if node.op is Op.FLOAT and node.column >= 0 and pa.types.is_float64(self.columns[node.column].type):
            data = struct.pack("<d", quiet(struct.unpack("<f", data)[0]))
        self.put(node.column, data)

    def string(self, node: AvroNode, path: str) -> None:
        data = self.sized(path)
        if node.column >= 0 and is_iso(node, self.columns[node.column].type):
            text = data.decode("ascii", "replace")
            value, code = read_iso(text, self.columns[node.column].type, utc=True, floor=node.floor)
            if code:
                self.fail(code, self.at - len(data), path)
            self.put(node.column, value)
            return
        if node.column >= 0 and is_text(self.columns[node.column].type) and not _is_utf8(data):
            self.fail("invalid_utf8", self.at - len(data), path)
        self.put(node.column, data)

    def fixed(self, node: AvroNode, path: str) -> None:
        self.put(node.column, self.take(node.size, path))

    def enum(self, node: AvroNode, path: str) -> None:
        begin = self.at
        index = self.varint(path, 32)
        if node.column < 0:
            return
        if not 0 <= index < len(node.symbols):
            self.fail("enum_index", begin, path)
        symbol = node.symbols[index]
        if symbol is None:
            self.fail("unresolvable", begin, path)
        data = symbol.encode()
        self.expand(len(data), path)
        self.put(node.column, data)

    def decimal(self, node: AvroNode, path: str) -> None:
        data = self.take(node.size, path) if node.size else self.sized(path)
        if node.column < 0:
            return
        value = self.unscaled(node, path, data)
        if is_text(self.columns[node.column].type):
            text = plain_text(value, node.scale, lambda size: self.expand(size, path, len(data)))
            self.put(node.column, text)
        else:
            self.put(node.column, value)

    def unscaled(self, node: AvroNode, path: str, data: bytes) -> int:
        """Return the number of a decimal's bytes, at the scale of its column."""
        if not data:
            self.fail("empty_decimal", self.at, path)
        value = int.from_bytes(data, "big", signed=True)
        # The digits that it may have before it is scaled.
        most = node.precision - node.shift
        if value and digits(value, most) > most:
            self.fail("decimal_precision", self.at - len(data), path)
        if node.shift > 0:
            value *= 10**node.shift
        elif node.shift < 0:
            negative = value < 0
            value, rest = divmod(abs(value), 10**-node.shift)
            if rest:
                self.fail("inexact", self.at - len(data), path)
            value = -value if negative else value
        return value

    def record(self, node: AvroNode, path: str) -> None:
        self.put(node.column, True)
        for child in node.children:
            self.run(child, path)

    def array(self, node: AvroNode, path: str) -> None:
        total = 0
        for where in self.blocks(node, path):
            self.items.count(node.column)
            self.run(node.children[0], where)
            total += 1
        self.put(node.column, total)

    def map(self, node: AvroNode, path: str) -> None:
        key, value = node.children
        entries: dict[bytes, defaultdict[int, list[Any]]] = {}
        for where in self.blocks(node, path):
            self.items.count(node.column)
            outer = self.added()
            self.run(key, where + ".key")
            self.run(value, where + ".value")
            entry, self.out = self.out, outer
            name = entry[key.column][0]
            entries.pop(name, None)
            entries[name] = entry
        for entry in entries.values():
            self.add(entry)
        self.put(node.column, len(entries))

    def blocks(self, node: AvroNode, path: str) -> Iterator[str]:
        """Read blocks of ``count items``, or ``-count size items``, until a count of 0; give items' paths."""
        empty = all(_is_empty(child) for child in node.children)
        total = 0
        while True:
            begin = self.at
            count = self.varint(path, 64)
            if count == 0:
                return
            end = None
            if count < 0:
                if count == _LONG_MIN:
                    self.fail("block_count", begin, path)
                count, size_at = -count, self.at
                size = self.varint(path, 64)
                if not 0 <= size <= len(self.data) - self.at:
                    self.fail("block_size", size_at, path)
                end = self.at + size
                if node.column < 0:
                    self.at = end
                    total += count
                    continue
            if empty:
                self.zero_byte_items += count
                if self.zero_byte_items > self.limits.max_zero_byte_items:
                    self.fail("size_limit", begin, path)
            for _ in range(count):
                yield f"{path}[{total}]"
                total += 1
            if end is not None and self.at != end:
                self.fail("block_size", size_at, path)

    def union(self, node: AvroNode, path: str) -> None:
        self.run(self.branch(node, path), path)

    def branch(self, node: AvroNode, path: str) -> AvroNode:
        begin = self.at
        index = self.varint(path, 32)
        if not 0 <= index < len(node.children):
            self.fail("union_index", begin, path)
        return node.children[index]

    def present(self, node: AvroNode, path: str) -> None:
        self.run(node.children[0], path)

    def absent(self, node: AvroNode, path: str) -> None:
        self.null(node.column)

    def member(self, node: AvroNode, path: str) -> None:
        self.put(node.column, True)
        for number, child in enumerate(self.columns[node.column].children):
            if number != node.size:
                self.null(child)
        self.run(node.children[0], path)

    def nothing(self, node: AvroNode, path: str) -> None:
        self.put(node.column, None)

    def default(self, node: AvroNode, path: str) -> None:
        """Read a constant."""
        self.expand(len(node.data), path)
        outer = self.data, self.at, self.outside
        if self.outside is None:
            self.outside = self.at
        self.data, self.at = node.data, 0
        self.run(node.children[0], path)
        self.data, self.at, self.outside = outer

    def failure(self, node: AvroNode, path: str) -> None:
        self.fail(node.code, self.at, path, node.reason)

    def call(self, node: AvroNode, path: str) -> None:
        """Drop a value of a recursive type, on a stack of its own: it may be deeper than Python can call."""
        stack = [self.drop(node, path)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                child, where = inner
                stack.append(self.drop(child, step(where, child.name)))

    def drop(self, node: AvroNode, path: str) -> Iterator[tuple[AvroNode, str]]:
        """Read a node past; give the nodes below it to read past in between."""
        if node.op is Op.CALL:
            if self.depth >= min(self.limits.max_depth, MAX_DEPTH):
                self.fail("depth_limit", self.at, path)
            self.depth += 1
            yield self.named[node.reason], path
            self.depth -= 1
        elif node.op is Op.RECORD:
            for child in node.children:
                yield child, path
        elif node.op is Op.UNION:
            yield self.branch(node, path), path
        elif node.op is Op.ARRAY:
            for where in self.blocks(node, path):
                yield node.children[0], where
        elif node.op is Op.MAP:
            for where in self.blocks(node, path):
                yield node.children[0], where + ".key"
                yield node.children[1], where + ".value"
        else:
            _DECODERS[node.op](self, node, path)


_DECODERS: dict[Op, Callable[[Row, AvroNode, str], None]] = {
    Op.NULL: Row.nothing,
    Op.BOOLEAN: Row.boolean,
    Op.INT: Row.integer,
    Op.LONG: Row.integer,
    Op.FLOAT: Row.floating,
    Op.DOUBLE: Row.floating,
    Op.BYTES: Row.string,
    Op.STRING: Row.string,
    Op.FIXED: Row.fixed,
    Op.ENUM: Row.enum,
    Op.DECIMAL: Row.decimal,
    Op.RECORD: Row.record,
    Op.ARRAY: Row.array,
    Op.MAP: Row.map,
    Op.UNION: Row.union,
    Op.PRESENT: Row.present,
    Op.ABSENT: Row.absent,
    Op.MEMBER: Row.member,
    Op.DEFAULT: Row.default,
    Op.FAIL: Row.failure,
    Op.CALL: Row.call,
}


def _is_empty(node: AvroNode) -> bool:
    """Return whether a node never takes bytes."""
    if node.op in (Op.NULL, Op.ABSENT, Op.DEFAULT, Op.FAIL):
        return True
    if node.op is Op.FIXED:
        return node.size == 0
    return node.op in (Op.RECORD, Op.PRESENT, Op.MEMBER) and all(_is_empty(child) for child in node.children)


def single(value: int) -> float:
    """Round an integer to the nearest float of 32 bits, half to even, in one step."""
    extra = abs(value).bit_length() - 24
    if extra <= 0:
        return float(value)
    low = abs(value) & (1 << extra) - 1
    kept = abs(value) >> extra
    half = 1 << (extra - 1)
    if low > half or (low == half and kept & 1):
        kept += 1
    return float(kept << extra) * (-1 if value < 0 else 1)


def is_iso(node: AvroNode, kind: pa.DataType) -> bool:
    """Return whether a node reads or writes text for a column of dates or times."""
    return bool(node.op is Op.STRING and pa.types.is_temporal(kind))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def digits(value: int, enough: int) -> int:
    """Count the decimal digits of a number, exactly where there are about `enough` of them."""
    bits = abs(value).bit_length()
    low, high = (bits - 1) * 30102 // 100000 + 1, bits * 30103 // 100000 + 1
    if high <= enough or low > enough:
        return low
    return len(_text(abs(value)))


def _text(value: int) -> str:
    """Print a number that is not negative; Python itself refuses some thousand digits and more."""
    parts = []
    while value >= 10**4000:
        value, low = divmod(value, 10**4000)
        parts.append(f"{low:04000d}")
    return str(value) + "".join(reversed(parts))


def _number(text: str) -> int:
    value = 0
    for i in range(0, len(text), 4000):
        part = text[i : i + 4000]
        value = value * 10 ** len(part) + int(part)
    return value


def plain_text(value: int, scale: int, expand: Callable[[int], None]) -> bytes:
    """Print a decimal as Java's ``toPlainString`` does, once its length is known to be allowed."""
    digits = _text(abs(value))
    expand((value < 0) + max(len(digits), scale + 1) + (scale > 0))
    digits = digits.rjust(scale + 1, "0")
    sign = "-" if value < 0 else ""
    cut = len(digits) - scale
    return f"{sign}{digits[:cut]}{'.' if scale else ''}{digits[cut:]}".encode()


# Encoding -------------------------------------------------------------------------------------------


def encode(
    array: pa.Array, program: Program, *, prefix: bytes = b"", large: bool = False, stop: bool = False
) -> tuple[pa.Array, list[Fault]]:
    """Encode one datum per row; see `kcodec.formats.avro.kernel.AvroKernel`."""
    writer = _DatumInputs(program, array)
    return encode_rows(
        array, lambda row: prefix + writer.run(program.plan.root, row, ""), large=large, stop=stop
    )


class _DatumInputs(Inputs):
    """The columns of an array, each made an array of what goes to the wire: integers, raw bytes, texts."""

    def __init__(self, program: Program, array: pa.Array) -> None:
        super().__init__(array)
        self.kinds = [column.type for column in layout(program.plan.arrow_type)]

    def leaf(self, array: pa.Array) -> pa.Array:
        kind = array.type
        if pa.types.is_date32(kind) or pa.types.is_time32(kind) or pa.types.is_float32(kind):
            return array.view(pa.int32())
        if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_float64(kind):
            return array.view(pa.int64())
        return array.cast(pa.large_binary()) if is_text(kind) else array

    def value(self, node: AvroNode, row: int, path: str) -> Any:
        value = self.arrays[node.column][row]
        if not value.is_valid:
            raise RowError("null_value", None, path)
        return value.as_py()

    def run(self, node: AvroNode, row: int, path: str) -> bytes:
        return _ENCODERS[node.op](self, node, row, step(path, node.name))

    def nothing(self, node: AvroNode, row: int, path: str) -> bytes:
        return b""

    def boolean(self, node: AvroNode, row: int, path: str) -> bytes:
        return bytes([self.value(node, row, path)])

    def integer(self, node: AvroNode, row: int, path: str) -> bytes:
        value = self.value(node, row, path)
        if node.factor < 0:
            value *= -node.factor
        elif value % node.factor and not node.floor:
            raise RowError("inexact", None, path)
        else:
            value //= node.factor
        bits = 31 if node.op is Op.INT else 63
        if not -(1 << bits) <= value < 1 << bits:
            raise RowError("out_of_range", None, path)
        return varint(value)

    def floating(self, node: AvroNode, row: int, path: str) -> bytes:
        bits = self.value(node, row, path)
        narrow = pa.types.is_float32(self.kinds[node.column])
        data = struct.pack("<i" if narrow else "<q", bits)
        if narrow == (node.op is Op.FLOAT):
            return data
        number = quiet(struct.unpack("<f" if narrow else "<d", data)[0])
        if narrow:
            return struct.pack("<d", number)
        try:
            data = struct.pack("<f", number)
        except OverflowError:
            raise RowError("inexact", None, path) from None
        if number == number and struct.unpack("<f", data)[0] != number:
            raise RowError("inexact", None, path)
        return data

    def string(self, node: AvroNode, row: int, path: str) -> bytes:
        kind = self.kinds[node.column]
        if is_iso(node, kind):
            text = write_iso(self.value(node, row, path), kind, utc=True)
            if text is None:
                raise RowError("out_of_range", None, path)
            return varint(len(text)) + text.encode()
        data: bytes = self.value(node, row, path)
        if node.op is Op.STRING and not _is_utf8(data):
            raise RowError("invalid_utf8", None, path)
        return varint(len(data)) + data

    def fixed(self, node: AvroNode, row: int, path: str) -> bytes:
        data = self.value(node, row, path)
        if len(data) != node.size:
            raise RowError("fixed_size", None, path)
        return bytes(data)

    def enum(self, node: AvroNode, row: int, path: str) -> bytes:
        symbols = [symbol.encode() for symbol in node.symbols if symbol is not None]
        data = self.value(node, row, path)
        if data not in symbols:
            raise RowError("unknown_symbol", None, path)
        return varint(symbols.index(data))

    def decimal(self, node: AvroNode, row: int, path: str) -> bytes:
        value = self.value(node, row, path)
        text = value.decode(errors="replace") if isinstance(value, bytes) else f"{Decimal(value)}"
        return decimal_bytes(node, text, path)

    def record(self, node: AvroNode, row: int, path: str) -> bytes:
        if not self.arrays[node.column][row].is_valid:
            raise RowError("null_value", None, path)
        return b"".join(self.run(child, row, path) for child in node.children)

    def items(self, node: AvroNode, row: int, path: str) -> bytes:
        if not self.arrays[node.column][row].is_valid:
            raise RowError("null_value", None, path)
        begin, end = self.offsets[node.column][row : row + 2]
        out = [varint(end - begin)] if end > begin else []
        for i in range(begin, end):
            where = f"{path}[{i - begin}]"
            if node.op is Op.ARRAY:
                out.append(self.run(node.children[0], i, where))
            else:
                out.append(self.run(node.children[0], i, where + ".key"))
                out.append(self.run(node.children[1], i, where + ".value"))
        return b"".join(out) + b"\0"

    def union(self, node: AvroNode, row: int, path: str) -> bytes:
        """Write the index of the branch whose node stands for the value, and the value."""
        valid = self.arrays[node.column][row].is_valid
        branches = [
            index
            for index, child in enumerate(node.children)
            if (child.op is Op.ABSENT and not valid)
            or (child.op is Op.PRESENT and valid)
            or (child.op is Op.MEMBER and valid and self.has_member(child, row))
        ]
        if not branches:
            raise RowError("union_members" if valid else "null_value", None, path)
        if len(branches) > 1 and node.children[branches[0]].op is Op.MEMBER:
            raise RowError("union_members", None, path)
        # Several PRESENT nodes are numbers of different width: the first that holds the value is written.
        for index in branches[:-1]:
            try:
                return varint(index) + self.run(node.children[index], row, path)
            except RowError:
                continue
        return varint(branches[-1]) + self.run(node.children[branches[-1]], row, path)

    def has_member(self, node: AvroNode, row: int) -> bool:
        return bool(self.arrays[node.column].field(node.size)[row].is_valid)

    def inner(self, node: AvroNode, row: int, path: str) -> bytes:
        return self.run(node.children[0], row, path)

    def data(self, node: AvroNode, row: int, path: str) -> bytes:
        return node.data

    def failure(self, node: AvroNode, row: int, path: str) -> NoReturn:
        raise RowError(node.code, None, path, node.reason)


_ENCODERS: dict[Op, Callable[[_DatumInputs, AvroNode, int, str], bytes]] = {
    Op.NULL: _DatumInputs.nothing,
    Op.BOOLEAN: _DatumInputs.boolean,
    Op.INT: _DatumInputs.integer,
    Op.LONG: _DatumInputs.integer,
    Op.FLOAT: _DatumInputs.floating,
    Op.DOUBLE: _DatumInputs.floating,
    Op.BYTES: _DatumInputs.string,
    Op.STRING: _DatumInputs.string,
    Op.FIXED: _DatumInputs.fixed,
    Op.ENUM: _DatumInputs.enum,
    Op.DECIMAL: _DatumInputs.decimal,
    Op.RECORD: _DatumInputs.record,
    Op.ARRAY: _DatumInputs.items,
    Op.MAP: _DatumInputs.items,
    Op.UNION: _DatumInputs.union,
    Op.PRESENT: _DatumInputs.inner,
    Op.ABSENT: _DatumInputs.nothing,
    Op.MEMBER: _DatumInputs.inner,
    Op.DEFAULT: _DatumInputs.data,
    Op.FAIL: _DatumInputs.failure,
}


def decimal_bytes(node: AvroNode, text: str, path: str) -> bytes:
    """Return what a DECIMAL node writes of a number's text."""
    negative, number, shift = _parse(text, path)
    core = number.rstrip("0")
    shift += len(number) - len(core) + node.scale
    if core and shift < 0:
        raise RowError("inexact", None, path)
    if core and len(core) + shift > node.precision:
        raise RowError("decimal_precision", None, path)
    unscaled = _number(core) * 10**shift if core else 0
    if negative:
        unscaled = -unscaled
    if node.size:
        try:
            return unscaled.to_bytes(node.size, "big", signed=True)
        except OverflowError:
            raise RowError("decimal_precision", None, path) from None
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return varint(size) + unscaled.to_bytes(size, "big", signed=True)


def _parse(text: str, path: str) -> tuple[bool, str, int]:
    """Split a number's text into its sign, its digits without leading zeros, and a power of ten."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise RowError("invalid_number", None, path)
    sign, whole, fraction, only, power_sign, power = match.groups()
    fraction = fraction or only or ""
    digits = ((whole or "") + fraction).lstrip("0")
    # A power of ten digits is beyond any precision, and beyond any count of zeros that a text could hold.
    exponent = int((power or "0").lstrip("0")[:10] or "0") * (-1 if power_sign == "-" else 1)
    return sign == "-", digits, exponent - len(fraction)
