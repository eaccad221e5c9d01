"""Protobuf messages in plain Python: the reference that the compiled twin is tested against.

A row is read into frames, one for each message, in which fields that come again are merged; the columns are filled
from these when the whole row was good.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from kcodec.columns.layout import Column, layout
from kcodec.errors import Fault
from kcodec.formats.protobuf.plan import FieldNode, MessageNode
from kcodec.formats.protobuf.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    GROUP_END,
    GROUP_START,
    MAX_DEPTH,
    VARINT,
    canonical_unknown,
    read_length,
    read_tag,
    read_varint,
    skip_field,
    write_tag,
    write_varint,
)
from kcodec.java.utf8 import decode_utf8
from kcodec.plan.failure import RowError, prefix
from kcodec.plan.node import Op
from kcodec.plan.rows_py import ColumnRow, Program, decode_rows, join_rows

__all__ = ["Program", "decode"]

_WIRE_TYPES = {
    **dict.fromkeys(("fixed64", "sfixed64", "double"), FIXED64),
    **dict.fromkeys(("fixed32", "sfixed32", "float"), FIXED32),
    **dict.fromkeys(("string", "bytes", "message", "timestamp", "duration", "raw"), BYTES),
    "group": GROUP_START,
}

#: Seconds that a Timestamp and a Duration may have: years 1 to 9999, and as many years both ways.
_SECONDS = {"timestamp": (-62135596800, 253402300799), "duration": (-315576000000, 315576000000)}

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
) -> tuple[pa.Array, list[Fault]]:
    """Decode one message per row; see `kcodec.formats.protobuf.kernel.ProtobufKernel`."""
    kind = next(program for program in programs if program is not None).plan.arrow_type
    columns = layout(kind)

    def read(program: Program, data: bytes, at: int) -> ColumnRow:
        frame = _Frame(program.plan.root)
        _Reader(data).message(at, len(data), frame, 0, min(program.limits.max_depth, MAX_DEPTH))
        with _inside(offset=len(data)):
            frame.check()
        row = _Row(columns, program.limits.max_expansion)
        with _inside(offset=len(data)):
            row.put_message(frame.node, frame)
        return row

    rows, faults = decode_rows(values, programs, read, selector=selector, starts=starts, stop=stop)
    return join_rows(kind, rows), faults


class _Frame:
    """A message as far as it is read.

    By number it holds a value, a frame, or a list of these; of maps a list of entries. Timestamps and durations are
    frames of seconds and nanoseconds. Fields that are set and have no column are None.
    """

    def __init__(self, node: Any) -> None:
        self.node: MessageNode = node
        self.fields: dict[int, FieldNode] = {field.number: field for field in node.children}
        self.values: dict[int, Any] = {}
        self.unknown = bytearray()

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
        """Check what may be right or wrong only when all is read, here and below, but for items."""
        for field in self.fields.values():
            value = self.values.get(field.number)
            if field.label == "required" and field.number not in self.values:
                raise RowError("missing_required", None, field.name)
            if isinstance(value, _Frame):
                with _inside(field.name):
                    _check(field, value)


def _check(field: FieldNode, frame: _Frame) -> None:
    if field.kind in _SECONDS:
        _time(field, frame)
    else:
        frame.check()


@contextmanager
def _inside(*steps: str, offset: int | None = None) -> Iterator[None]:
    """Add steps to the path of an error, from the inside out, and an offset if it has none."""
    try:
        yield
    except RowError as error:
        path = error.path
        for name in steps:
            path = prefix(name, path) if name else path
        raise RowError(
            error.code, offset if error.offset is None else error.offset, path, error.reason
        ) from None


class _Reader:
    """A payload that is read.

    Parameters
    ----------
    data : bytes
        The payload, and what stands before it.
    """

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
            elif field.label == "repeated" and wire_type == BYTES and _wire_type(field) != BYTES:
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
                    with _inside(offset=at):
                        _check(field, below)
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
            with _inside(offset=at):
                entry.check()
        if field.closed and entry.values.get(2, field.size) not in field.numbers:
            frame.unknown += self.data[tag:at]
        else:
            frame.set(field, entry)
        return at

    def scalar(self, at: int, end: int, field: FieldNode) -> tuple[Any, int]:
        """Read a value that is no message: an integer, the bytes of a float, of text, of bytes or of a raw message."""
        wire_type = _wire_type(field)
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
        number, after = read_varint(self.data, at, end)
        if field.kind == "enum":
            number = _signed(number, 32)
            if field.strict and not field.closed and number not in field.numbers:
                raise RowError("enum_index", at)
        elif field.kind == "bool":
            number = number != 0
        else:
            bits = 64 if field.kind.endswith("64") else 32
            number &= (1 << bits) - 1
            if field.kind.startswith("sint"):
                number = number >> 1 ^ -(number & 1)
            elif field.kind.startswith("int"):
                number = _signed(number, bits)
        return number, after


def _wire_type(field: FieldNode) -> int:
    return _WIRE_TYPES.get(field.kind, VARINT)


def _is_known(field: FieldNode, wire_type: int) -> bool:
    """Return whether a field is read from this wire type; else it is an unknown field."""
    expected = _wire_type(field)
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
        low, high = _SECONDS[field.kind]
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
    """What a message that has been read adds to each column.

    Parameters
    ----------
    columns : tuple of Column
        The columns.
    room : int
        Bytes of names that it may add.
    """

    def __init__(self, columns: tuple[Column, ...], room: int) -> None:
        super().__init__(columns)
        self.room = room

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
            # The last entry of a key counts, in the place of the first.
            entries = {entry.values.get(1, _default(key)): entry for entry in value or ()}
            self.put(field.column, len(entries))
            for entry in entries.values():
                self.put_value(key, entry.values.get(1), key.column)
                self.put_value(item, entry.values.get(2), item.column)
        elif field.label == "repeated":
            self.put(field.column, len(value or ()))
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
        elif field.kind in _SECONDS:
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
        return field.size
    if field.kind in ("string", "bytes", "raw"):
        return b""
    if field.kind in ("float", "double"):
        return bytes(8 if field.kind == "double" else 4)
    return False if field.kind == "bool" else 0
