"""Protobuf messages in plain Python: the reference that the compiled twin is tested against.

A row is read into frames, one for each message, in which fields that come again are merged; the columns are filled
from these when the whole row was good.
"""

import array as arrays
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from kcodec.columns.types.layout import Column
from kcodec.columns.types.plain import is_text
from kcodec.columns.written.inputs_py import Inputs
from kcodec.errors import Fault
from kcodec.formats.protobuf.messages.wire import (
    BYTES,
    FIXED64,
    GROUP_END,
    GROUP_START,
    MAX_DEPTH,
    VARINT,
    canonical_unknown,
    check_fields,
    from_varint,
    number_bytes,
    read_length,
    read_tag,
    read_varint,
    skip_field,
    wire_type_of,
    write_tag,
    write_varint,
)
from kcodec.formats.protobuf.plans.node import FieldNode, MessageNode, Op
from kcodec.formats.protobuf.plans.plan import SECONDS, UNKNOWN_FIELDS
from kcodec.java.utf8 import decode_utf8
from kcodec.plan.failure import RowError, prefix
from kcodec.plan.rows_py import ColumnRow, ItemBytes, Program, decode_rows, encode_rows, join_rows, quiet

__all__ = ["Program", "decode", "encode"]

_TIME = MessageNode(
    Op.MESSAGE,
    children=(
        FieldNode(Op.FIELD, 0, number=1, kind="int64"),
        FieldNode(Op.FIELD, 0, number=2, kind="int32"),
    ),
)


# Decoding -------------------------------------------------------------------------------------------


def decode(
    values: pa.Array,
    programs: Sequence[Program | None],
    *,
    selector: Any = None,
    starts: Any = None,
    trailing: bool = False,
    stop: bool = False,
    picked: Any = None,
) -> tuple[pa.Array, list[Fault]]:
    """Decode one message per row; see `kcodec.formats.protobuf.kernel.ProtobufKernel`."""
    if picked is not None:
        selector = arrays.array("i", [-1]) * len(values)
        for row in memoryview(picked).cast("B").cast("i"):
            selector[row] = 0

    def read(
        program: Program, columns: tuple[Column, ...], items: ItemBytes, data: bytes, at: int
    ) -> ColumnRow:
        frame = _Frame(program.plan.root)
        _PayloadReader(data).message(at, len(data), frame, 0, min(program.limits.max_depth, MAX_DEPTH))
        with _inside(offset=len(data)):
            frame.check()
        row = _Row(columns, program.limits.max_expansion, items)
        with _inside(offset=len(data)):
            row.put_message(frame.node, frame)
        return row

    return decode_rows(values, programs, read, join_rows, selector=selector, starts=starts, stop=stop)


class _Frame:
    """A message as far as it is read.

    By number it holds a value, a frame, or a list of these; of maps a list of entries. Timestamps and durations are
    frames of seconds and nanoseconds. Fields that are set and have no column are None. `end` is the byte behind an
    item.
    """

    def __init__(self, node: Any) -> None:
        self.node: MessageNode = node
        self.fields: dict[int, FieldNode] = {field.number: field for field in node.children}
        self.values: dict[int, Any] = {}
        self.unknown = bytearray()
        self.end: int | None = None

    def set(self, field: FieldNode, value: Any) -> None:
        """Set a field, and so no other of its oneof; one that is repeated has one more item."""
        if field.oneof >= 0:
            for other in self.fields.values():
                if other.oneof == field.oneof and other is not field:
                    self.values.pop(other.number, None)
        if field.label in ("repeated", "map") and field.column >= 0:
            self.values.setdefault(field.number, []).append(value)
        else:
            self.values[field.number] = value

    def below(self, field: FieldNode) -> "_Frame":
        """Return the frame that a message of a field is read into."""
        node = field.children[0] if field.children else _TIME
        found = self.values.get(field.number)
        # What comes again is merged, but for items.
        return found if isinstance(found, _Frame) else _Frame(node)

    def check(self) -> None:
        """Check what can only be checked once all is read, here and in messages below."""
        for field in self.fields.values():
            value = self.values.get(field.number)
            if field.label == "required" and field.number not in self.values:
                raise RowError("missing_required", None, field.name)
            if isinstance(value, _Frame):
                with _inside(field.name):
                    _check(field, value)
            elif isinstance(value, list):
                kept = _last(field, value).values() if field.label == "map" else range(len(value))
                for index in kept:
                    if isinstance(value[index], _Frame):
                        with _inside(f"[{index}]", field.name, offset=value[index].end):
                            _check(field, value[index])


def _last(field: FieldNode, entries: list[_Frame]) -> dict[Any, int]:
    """Return the last entry of a map for each key: its value counts, at the place of the first."""
    entry: Any = field.children[0]
    default = _default(entry.children[0])
    return {each.values.get(1, default): index for index, each in enumerate(entries)}


def _check(field: FieldNode, frame: _Frame) -> None:
    if field.kind in SECONDS:
        _time(field, frame)
    else:
        frame.check()


@contextmanager
def _inside(*steps: str, offset: int | None = None) -> Iterator[None]:
    """Add steps to the path of an error, the innermost first, and an offset if it has none."""
    try:
        yield
    except RowError as error:
        path = error.path
        for name in steps:
            path = prefix(name, path) if name else path
        raise RowError(
            error.code, offset if error.offset is None else error.offset, path, error.reason
        ) from None


class _PayloadReader:
    """A payload that is read, with what stands before it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def message(self, at: int, end: int, frame: _Frame, group: int, depth: int) -> int:
        """Read fields up to the end, or that of the group of this number; return the byte after it."""
        while at < end or group:
            tag = at
            number, wire_type, at = read_tag(self.data, at, end)
            if wire_type == GROUP_END:
                if number != group:
                    raise RowError("invalid_tag", tag)
                return at
            field = frame.fields.get(number)
            if field is None or not _is_known(field, wire_type):
                at = skip_field(self.data, at, end, number, wire_type, depth)
                frame.unknown += self.data[tag:at]
            elif field.column < 0:
                with _inside(field.name):
                    at = skip_field(self.data, at, end, number, wire_type, depth)
                frame.set(field, None)
            elif field.label == "map":
                at = self.entry(tag, at, end, frame, field, depth)
            elif field.label == "repeated" and wire_type == BYTES and wire_type_of(field.kind) != BYTES:
                at = self.packed(at, end, frame, field)
            else:
                at = self.value(at, end, frame, field, depth)
        return at

    def value(self, at: int, end: int, frame: _Frame, field: FieldNode, depth: int) -> int:
        """Read a value of a field that is not packed."""
        index = ""
        if field.label == "repeated":
            index = f"[{len(frame.values.get(field.number, ()))}]"
        with _inside(index, field.name):
            if field.kind in ("message", "group", "timestamp", "duration"):
                below = frame.below(field)
                if not depth:
                    raise RowError("depth_limit", at)
                if field.kind == "group":
                    at = self.message(at, end, below, field.number, depth - 1)
                else:
                    length, at = read_length(self.data, at, end)
                    at = self.message(at, at + length, below, 0, depth - 1)
                if field.label == "repeated":
                    below.end = at
                frame.set(field, below)
                return at
            value, at = self.scalar(at, end, field)
        if field.closed and value not in field.numbers:
            _set_aside(frame, field, value)
        elif field.kind == "raw" and field.label != "repeated":
            frame.set(field, frame.values.get(field.number, b"") + value)
        else:
            frame.set(field, value)
        return at

    def packed(self, at: int, end: int, frame: _Frame, field: FieldNode) -> int:
        """Read a packed run."""
        with _inside(f"[{len(frame.values.get(field.number, ()))}]", field.name):
            length, at = read_length(self.data, at, end)
        stop = at + length
        while at < stop:
            at = self.value(at, stop, frame, field, 0)
        return at

    def entry(self, tag: int, at: int, end: int, frame: _Frame, field: FieldNode, depth: int) -> int:
        """Read an entry of a map."""
        with _inside(f"[{len(frame.values.get(field.number, ()))}]", field.name):
            if not depth:
                raise RowError("depth_limit", at)
            length, at = read_length(self.data, at, end)
            entry = _Frame(field.children[0])
            at = self.message(at, at + length, entry, 0, depth - 1)
            value = entry.fields[2]
            if value.kind in ("message", "group") and value.column >= 0:
                # One that is not there is an empty message, which may lack what is required.
                entry.values.setdefault(2, _Frame(value.children[0]))
            entry.end = at
        if field.closed and 2 in entry.values and entry.values[2] not in field.numbers:
            frame.unknown += self.data[tag:at]
        else:
            frame.set(field, entry)
        return at

    def scalar(self, at: int, end: int, field: FieldNode) -> tuple[Any, int]:
        """Read a value that is no message: an integer, the bytes of a float, of text, of bytes or of a raw message."""
        wire_type = wire_type_of(field.kind)
        if wire_type == BYTES:
            length, at = read_length(self.data, at, end)
            value = self.data[at : at + length]
            if field.kind == "string":
                value = _text(field, value, at)
            return value, at + length
        if wire_type != VARINT:
            size = 8 if wire_type == FIXED64 else 4
            if size > end - at:
                raise RowError("truncated", at)
            value = self.data[at : at + size]
            if field.kind in ("float", "double"):
                return value, at + size
            return int.from_bytes(value, "little", signed=field.kind.startswith("s")), at + size
        raw, after = read_varint(self.data, at, end)
        number = from_varint(field.kind, raw)
        if field.kind == "enum" and field.strict and not field.closed and number not in field.numbers:
            raise RowError("enum_index", at)
        return number, after


def _is_known(field: FieldNode, wire_type: int) -> bool:
    """Return whether a field is read from this wire type; else it is an unknown field."""
    expected = wire_type_of(field.kind)
    packable = field.label == "repeated" and expected not in (BYTES, GROUP_START)
    return wire_type == expected or (packable and wire_type == BYTES)


def _signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (number >> (bits - 1) << bits)


def _set_aside(frame: _Frame, field: FieldNode, number: int) -> None:
    """Make the number of a closed enum that is not declared an unknown field."""
    write_tag(frame.unknown, field.number, VARINT)
    write_varint(frame.unknown, number & (1 << 64) - 1)


def _text(field: FieldNode, data: bytes, at: int) -> bytes:
    if not field.utf8:
        return decode_utf8(data).encode()
    try:
        data.decode()
    except UnicodeDecodeError:
        raise RowError("invalid_utf8", at) from None
    return data


def _time(field: FieldNode, frame: _Frame) -> int:
    """Return a Timestamp or Duration in nanoseconds, or in microseconds, as `field.factor` says."""
    seconds, nanos = frame.values.get(1, 0), frame.values.get(2, 0)
    if field.strict:
        low, high = SECONDS[field.kind]
        apart = field.kind == "duration" and seconds * nanos < 0
        if not low <= seconds <= high or not -(10**9) < nanos < 10**9 or apart:
            raise RowError("out_of_range")
        if nanos < 0 and field.kind == "timestamp":
            raise RowError("out_of_range")
        if nanos % field.factor:
            raise RowError("inexact")
    # Towards zero, as Java divides.
    part = nanos // field.factor if nanos >= 0 else -(-nanos // field.factor)
    value: int = seconds * (10**9 // field.factor) + part
    if not -(1 << 63) <= value < 1 << 63:
        raise RowError("out_of_range")
    return value


class _Row(ColumnRow):
    """What a message that has been read adds to each column; names are at most `room` bytes."""

    def __init__(self, columns: tuple[Column, ...], room: int, items: ItemBytes) -> None:
        super().__init__(columns)
        self.room = room
        self.items = items

    def name(self, text: str) -> bytes:
        self.room -= len(text.encode())
        if self.room < 0:
            raise RowError("size_limit")
        return text.encode()

    def put_message(self, node: Any, frame: _Frame) -> None:
        self.put(node.column, True)
        for field in node.children:
            if field.column >= 0:
                self.put_field(field, frame.values.get(field.number))
        if node.unknown >= 0:
            self.put(node.unknown, canonical_unknown(bytes(frame.unknown)) or None)
        for number, column in enumerate(node.cases):
            members = [
                field.name
                for field in node.children
                if field.oneof == number and field.number in frame.values
            ]
            self.put(column, self.name(members[0]) if members and column >= 0 else None)

    def put_field(self, field: FieldNode, value: Any) -> None:
        if field.label == "map":
            entry_node: Any = field.children[0]
            key, item = entry_node.children
            entries = [value[index] for index in _last(field, value).values()] if value else []
            self.put(field.column, len(entries))
            self.items.count(field.column, len(entries))
            for entry in entries:
                self.put_value(key, entry.values.get(1), key.column)
                self.put_value(item, entry.values.get(2), item.column)
        elif field.label == "repeated":
            self.put(field.column, len(value or ()))
            self.items.count(field.column, len(value or ()))
            for each in value or ():
                self.put_value(field, each, field.column + 1)
        elif value is None and field.presence:
            self.null(field.column)
        else:
            self.put_value(field, value, field.column)

    def put_value(self, field: FieldNode, value: Any, column: int) -> None:
        """Put a value, or the default for None."""
        if field.kind in ("message", "group"):
            node = field.children[0]
            self.put_message(node, value or _Frame(node))
        elif field.kind in SECONDS:
            self.put(column, _time(field, value or _Frame(_TIME)))
        else:
            stored = self.stored(field, value, self.columns[column].type)
            self.put(column, None if field.nulls and value in (None, _default(field)) else stored)

    def stored(self, field: FieldNode, value: Any, kind: pa.DataType) -> Any:
        if value is None:
            value = _default(field)
        if field.kind == "enum" and not pa.types.is_integer(kind):
            names = dict(zip(field.numbers, field.symbols, strict=True))
            return self.name(str(names.get(value, value)))
        if isinstance(value, bool):
            return value
        # Unsigned numbers stand in memory as the signed ones of the same bits.
        return _signed(value, kind.bit_width) if isinstance(value, int) else value


def _default(field: FieldNode) -> Any:
    if field.kind == "enum":
        return field.default
    if field.kind in ("string", "bytes", "raw"):
        return b""
    if field.kind in ("float", "double"):
        return bytes(8 if field.kind == "double" else 4)
    return False if field.kind == "bool" else 0


# Encoding -------------------------------------------------------------------------------------------


def encode(
    array: pa.Array, program: Program, *, prefix: bytes = b"", large: bool = False, stop: bool = False
) -> tuple[pa.Array, list[Fault]]:
    """Encode one message per row; see `kcodec.formats.protobuf.kernel.ProtobufKernel`."""
    writer = _PayloadInputs(array)
    return encode_rows(
        array, lambda row: prefix + writer.message(program.plan.root, row), large=large, stop=stop
    )


class _PayloadInputs(Inputs):
    """The columns of an array, each made an array of what goes to the wire: integers, bits of floats, bytes."""

    def leaf(self, array: pa.Array) -> pa.Array:
        kind = array.type
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_float64(kind):
            return array.view(pa.int64())
        if pa.types.is_float32(kind):
            return array.view(pa.int32())
        if is_text(kind):
            return array.cast(pa.large_binary())
        return array

    def message(self, node: Any, row: int) -> bytes:
        if node.op is Op.FAIL:
            raise RowError(node.code, None, node.name, node.reason)
        out = bytearray()
        set_members: set[int] = set()
        for field in node.children:
            if field.op is Op.FAIL:
                if field.column < 0 or self.arrays[field.column][row].is_valid:
                    raise RowError(field.code, None, field.name, field.reason)
                continue
            if field.kind == "case":
                self.check_case(field, row)
                continue
            if field.oneof >= 0 and self.arrays[field.column][row].is_valid:
                if field.oneof in set_members:
                    raise RowError("union_members", None, field.name)
                set_members.add(field.oneof)
            with _inside(field.name):
                self.field(out, field, row)
        if node.unknown >= 0 and self.arrays[node.unknown][row].is_valid:
            unknown = self.arrays[node.unknown][row].as_py()
            try:
                check_fields(unknown)
            except RowError as error:
                raise RowError(error.code, None, UNKNOWN_FIELDS) from None
            out += unknown
        return bytes(out)

    def check_case(self, field: FieldNode, row: int) -> None:
        """Raise unless the text, if there is one, is the name of a member that is set."""
        text = self.arrays[field.column][row].as_py()
        if text is None:
            return
        # Names have no characters that could be replaced.
        name = text.decode(errors="replace")
        column = dict(zip(field.symbols, field.numbers, strict=True)).get(name, -1)
        if column < 0 or not self.arrays[column][row].is_valid:
            raise RowError(field.code, None, field.name, field.reason)

    def field(self, out: bytearray, field: FieldNode, row: int) -> None:
        if not self.arrays[field.column][row].is_valid:
            if field.label in ("required", "entry"):
                raise RowError("missing_required" if field.label == "required" else "null_value")
        elif field.label == "map":
            self.entries(out, field, row)
        elif field.label == "repeated":
            self.items(out, field, row)
        else:
            data = self.value(field, field.column, row)
            if field.presence or field.label == "required" or not self.is_default(field, row):
                _put(out, field, data)

    def items(self, out: bytearray, field: FieldNode, row: int) -> None:
        begin, end = self.offsets[field.column][row : row + 2]
        packed = bytearray()
        for item in range(begin, end):
            with _inside(f"[{item - begin}]"):
                if not self.arrays[field.column + 1][item].is_valid:
                    raise RowError("null_value")
                data = self.value(field, field.column + 1, item)
            if field.packed:
                packed += data
            else:
                _put(out, field, data)
        if packed:
            write_tag(out, field.number, BYTES)
            write_varint(out, len(packed))
            out += packed

    def entries(self, out: bytearray, field: FieldNode, row: int) -> None:
        begin, end = self.offsets[field.column][row : row + 2]
        entry: Any = field.children[0]
        for item in sorted(range(begin, end), key=lambda item: self.key(entry.children[0], item)):
            with _inside(f"[{item - begin}]"):
                data = self.message(entry, item)
            _put(out, field, data)

    def key(self, field: Any, item: int) -> Any:
        """Return what sorts a key: integers as signed ones, text by UTF-16."""
        if field.op is Op.FAIL:
            return 0
        value = self.arrays[field.column][item].as_py()
        if isinstance(value, bytes):
            return value.decode("utf-8", "surrogateescape").encode("utf-16-be", "surrogatepass")
        return _signed(int(value), 64 if field.kind.endswith("64") else 32)

    def is_default(self, field: FieldNode, row: int) -> bool:
        """Return whether a value without presence, which is no message, is not written."""
        value = self.arrays[field.column][row].as_py()
        if field.kind == "enum":
            return self.number(field, value) == 0
        return not value

    def value(self, field: FieldNode, column: int, row: int) -> bytes:
        """Return a value as it stands behind its tag, and behind its length if it has one."""
        if field.kind in ("message", "group"):
            return self.message(field.children[0], row)
        value = self.arrays[column][row].as_py()
        if field.kind in SECONDS:
            return _time_bytes(field, value)
        if field.kind in ("string", "bytes", "raw"):
            if field.kind == "string":
                _check_text(value)
            return bytes(value)
        if field.kind in ("float", "double"):
            return _float(field.kind, value, narrow=pa.types.is_int32(self.arrays[column].type))
        if field.kind == "enum":
            return number_bytes("enum", self.number(field, value))
        number = int(value)
        if field.kind != "bool":
            bits = 64 if field.kind.endswith("64") else 32
            unsigned = field.kind.startswith(("uint", "fixed"))
            low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
            if unsigned and not field.strict:
                low = -(1 << bits - 1)
            if not low <= number <= high:
                raise RowError("out_of_range")
        return number_bytes(field.kind, number)

    def number(self, field: FieldNode, value: Any) -> int:
        """Return the number of an enum's name, or of itself."""
        numbers = dict(zip(field.symbols, field.numbers, strict=True))
        if isinstance(value, bytes):
            _check_text(value)
            name = value.decode()
            if name in numbers:
                return numbers[name]
            if field.strict or not re.fullmatch(r"0|-?[1-9][0-9]{0,9}", name):
                raise RowError("unknown_symbol")
            value = int(name)
        if not -(1 << 31) <= value < 1 << 31:
            raise RowError("out_of_range")
        if field.strict and value not in field.numbers:
            raise RowError("unknown_symbol")
        return int(value)


def _put(out: bytearray, field: FieldNode, data: bytes) -> None:
    wire_type = wire_type_of(field.kind)
    write_tag(out, field.number, wire_type)
    if wire_type == BYTES:
        write_varint(out, len(data))
    out += data
    if wire_type == GROUP_START:
        write_tag(out, field.number, GROUP_END)


def _check_text(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError:
        raise RowError("invalid_utf8") from None


def _float(kind: str, bits: int, *, narrow: bool) -> bytes:
    """Return a float or double, given the bits of a float or of a double."""
    data = struct.pack("<i" if narrow else "<q", bits)
    if narrow == (kind == "float"):
        return data
    value = quiet(struct.unpack("<f" if narrow else "<d", data)[0])
    if narrow:
        return struct.pack("<d", value)
    try:
        data = struct.pack("<f", value)
    except OverflowError:
        raise RowError("inexact") from None
    if value == value and struct.unpack("<f", data)[0] != value:
        raise RowError("inexact")
    return data


def _time_bytes(field: FieldNode, value: int) -> bytes:
    """Return a Timestamp or Duration of so many units, of which `field.factor` make a second."""
    seconds, part = divmod(value, field.factor)
    if field.kind == "duration" and seconds < 0 and part:
        # Both parts of a Duration have one sign.
        seconds, part = seconds + 1, part - field.factor
    low, high = SECONDS[field.kind]
    if not low <= seconds <= high:
        raise RowError("out_of_range")
    out = bytearray()
    for number, each in ((1, seconds), (2, part * (10**9 // field.factor))):
        if each:
            write_tag(out, number, VARINT)
            write_varint(out, each & (1 << 64) - 1)
    return bytes(out)
