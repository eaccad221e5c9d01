"""Kafka's messages in plain Python: the reference that the compiled twin is tested against.

A message becomes a dict, and a column of dicts an Arrow array.
"""

import struct
from collections.abc import Sequence
from typing import Any, NoReturn

import pyarrow as pa

from kcodec.columns.arrays.nested import cast_leaf
from kcodec.columns.types.layout import Column
from kcodec.columns.types.plain import is_list, is_text
from kcodec.errors import Fault, near
from kcodec.java.utf8 import decode_utf8
from kcodec.plan import rows_py
from kcodec.plan.failure import RowError, step
from kcodec.plan.node import Limits, Plan
from kcodec.protocol.message.node import KafkaNode, Op
from kcodec.protocol.message.plan import UNKNOWN, unknown_entries
from kcodec.wire.single import write as write_varint

__all__ = ["Program", "decode", "decode_one", "encode", "encode_one", "version_selector"]

_MAX_STRING = 0x7FFF

_NUMBERS = {
    Op.INT8: struct.Struct(">b"),
    Op.INT16: struct.Struct(">h"),
    Op.INT32: struct.Struct(">i"),
    Op.INT64: struct.Struct(">q"),
    Op.UINT16: struct.Struct(">H"),
    Op.UINT32: struct.Struct(">I"),
    Op.FLOAT64: struct.Struct(">d"),
}
_STRINGS = (Op.SHORT_STRING, Op.COMPACT_STRING)
_BYTES = (Op.SIZED_BYTES, Op.COMPACT_BYTES)
_ARRAYS = (Op.COUNTED_ARRAY, Op.COMPACT_ARRAY)
_COMPACT = (Op.COMPACT_STRING, Op.COMPACT_BYTES, Op.COMPACT_ARRAY)


class Program(rows_py.Program):
    """A plan made ready to run; if lenient, it reads all that Kafka's own reader accepts."""

    def __init__(self, plan: Plan, limits: Limits = Limits(), lenient: bool = False) -> None:  # noqa: B008
        super().__init__(plan, limits)
        self._lenient = lenient

    @property
    def lenient(self) -> bool:
        """Whether all is read that Kafka's own reader accepts."""
        return self._lenient


# Decoding -------------------------------------------------------------------------------------------


def decode(
    values: pa.Array,
    programs: Sequence[Program | None],
    *,
    selector: Any = None,
    starts: Any = None,
    start: int = 0,
    trailing: bool = False,
    stop: bool = False,
) -> tuple[pa.Array, list[Fault]]:
    """Decode one message per row; see `kcodec.protocol.message.kernel.MessageKernel`."""

    def read(
        program: Program, columns: tuple[Column, ...], items: rows_py.ItemBytes, data: bytes, at: int
    ) -> Any:
        return _read(data, program, at, trailing, items=items)

    return rows_py.decode_rows(
        values,
        programs,
        read,
        lambda kind, messages: pa.array(messages, kind),
        selector=selector,
        starts=starts,
        start=start,
        stop=stop,
    )


def decode_one(
    data: bytes, program: Program, *, start: int = 0, trailing: bool = False
) -> tuple[Any, Fault | None]:
    """Decode one message to a dict; see `kcodec.protocol.message.kernel.MessageKernel`."""
    payload = bytes(memoryview(data))
    try:
        if not 0 <= start <= len(payload):
            raise RowError("truncated", len(payload))
        return _read(payload, program, start, trailing, sparse=True), None
    except RowError as error:
        return None, error.fault(0)


def version_selector(values: pa.Array, versions: Sequence[int], at: int, key: int | None = None) -> Any:
    """Find which version each row names; see `kcodec.protocol.message.kernel.MessageKernel`."""
    places = []
    for value in rows_py.payloads(values):
        if value is None or len(value) < at + 2:
            places.append(0)
        elif key not in (None, int.from_bytes(value[:2], "big", signed=True)):
            places.append(len(versions) + 1)
        else:
            version = int.from_bytes(value[at : at + 2], "big", signed=True)
            places.append(versions.index(version) if version in versions else len(versions))
    return struct.pack(f"{len(places)}i", *places)


def _read(
    data: bytes,
    program: Program,
    start: int,
    trailing: bool,
    sparse: bool = False,
    items: rows_py.ItemBytes | None = None,
) -> Any:
    reader = _MessageBytes(data, start, program, sparse, items)
    value = reader.value(program.plan.root, "")
    if not trailing and reader.at < len(data):
        reader.fail("trailing_bytes", reader.at, "")
    return value


class _MessageBytes:
    """One row: its bytes, and how far they are read."""

    def __init__(
        self,
        data: bytes,
        at: int,
        program: Program,
        sparse: bool = False,
        items: rows_py.ItemBytes | None = None,
    ) -> None:
        self.data = data
        self.at = at
        self.limits = program.limits
        self.lenient = program.lenient
        #: Leave out that there are no unknown tags.
        self.sparse = sparse
        self.items = items
        self.zero_byte_items = 0
        self.expansion = 0

    def fail(self, code: str, offset: int, path: str, reason: str = "") -> NoReturn:
        raise RowError(code, offset, path, reason)

    def take(self, size: int, path: str) -> bytes:
        if size > len(self.data) - self.at:
            self.fail("truncated", self.at, path)
        self.at += size
        return self.data[self.at - size : self.at]

    def uvarint(self, path: str) -> int:
        begin, value = self.at, 0
        for i in range(5):
            if self.at >= len(self.data):
                self.fail("truncated", begin, path)
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                break
        else:
            self.fail("varint_overlong", begin, path)
        if value >> 32 and not self.lenient:
            self.fail("varint_overflow", begin, path)
        return value & 0xFFFFFFFF

    def length(self, node: KafkaNode, path: str) -> int:
        """Read a length or count; -1 for null. Java's arithmetic has 32 bits, and all below 0 is null."""
        begin = self.at
        if node.op in _COMPACT:
            length = self.uvarint(path) - 1
            if self.lenient and length > 0x7FFFFFFF:
                return -1
        else:
            size = 2 if node.op is Op.SHORT_STRING else 4
            length = int.from_bytes(self.take(size, path), "big", signed=True)
            if length < -1 and not self.lenient:
                self.fail("negative_length", begin, path)
        return max(length, -1)

    def value(self, node: KafkaNode, path: str) -> Any:
        path = step(path, node.name)
        op = node.op
        if op in _NUMBERS:
            return _NUMBERS[op].unpack(self.take(_NUMBERS[op].size, path))[0]
        if op is Op.BOOLEAN:
            byte = self.take(1, path)[0]
            if byte > 1 and not self.lenient:
                self.fail("invalid_boolean", self.at - 1, path)
            return byte != 0
        if op is Op.UUID:
            return self.take(16, path)
        if op is Op.NULLABLE:
            return self.sized(node.children[0], path, True)
        if op in _STRINGS or op in _BYTES or op in _ARRAYS:
            return self.sized(node, path, False)
        if op is Op.RECORD:
            return self.record(node, path)
        if op is Op.NULLABLE_RECORD or op is Op.TAGGED_RECORD:
            return self.value(node.children[0], path) if self.marker(op, path) else None
        if op is Op.DEFAULT:
            if node.children[0].op in _STRINGS:
                self.expand(len(node.data) - (1 if node.children[0].op is Op.COMPACT_STRING else 2), path)
            return _constant(node)
        if op is Op.ABSENT:
            return None
        assert op is Op.FAIL, op
        return self.fail(node.code, self.at, path, node.reason)

    def sized(self, node: KafkaNode, path: str, nullable: bool) -> Any:
        """Read what starts with its length or count."""
        begin = self.at
        length = self.length(node, path)
        if length < 0:
            if not nullable:
                self.fail("null_value", begin, path)
            return None
        if node.op in _ARRAYS:
            return self.array(node, length, begin, path)
        if node.op in _STRINGS and length > _MAX_STRING:
            self.fail("string_length", begin, path)
        data = self.take(length, path)
        if node.op in _BYTES:
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            if not self.lenient:
                self.fail("invalid_utf8", self.at - length, path)
        text = decode_utf8(data)
        self.expand(max(len(text.encode()) - length, 0), path)
        return text

    def expand(self, size: int, path: str) -> None:
        self.expansion += size
        if self.expansion > self.limits.max_expansion:
            self.fail("size_limit", self.at, path)

    def array(self, node: KafkaNode, count: int, begin: int, path: str) -> list[Any]:
        item = node.children[0]
        empty = _takes_no_bytes(item)
        # Kafka's reader refuses what its writer writes of items without bytes.
        if count > len(self.data) - self.at and (self.lenient or not empty):
            self.fail("truncated", begin, path)
        if empty:
            self.zero_byte_items += count
            if self.zero_byte_items > self.limits.max_zero_byte_items:
                self.fail("size_limit", begin, path)
        if self.items is not None and node.column >= 0:
            self.items.count(node.column, count)
        return [self.value(item, f"{path}[{i}]") for i in range(count)]

    def marker(self, op: Op, path: str) -> bool:
        """Read whether a struct is there."""
        begin = self.at
        if op is Op.NULLABLE_RECORD:
            mark = int.from_bytes(self.take(1, path), "big", signed=True)
            known = mark in (-1, 1)
            present = mark >= 0
        else:
            mark = self.uvarint(path)
            known = mark <= 1
            present = 0 < mark <= 0x7FFFFFFF
        if not known and not self.lenient:
            self.fail("invalid_marker", begin, path)
        return present

    def record(self, node: KafkaNode, path: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for child in node.children:
            if child.op is Op.TAG_SECTION:
                values |= self.tags(child, path)
            elif child.op is Op.FAIL:
                self.value(child, path)
            elif child.name != UNKNOWN or not self.sparse:
                values[child.name] = self.value(child, path)
        return values

    def tags(self, node: KafkaNode, path: str) -> dict[str, Any]:
        """Read a tag section: ``count | (tag | size | value)*``, all but values uvarints."""
        known = {child.size: child for child in node.children}
        values: dict[str, Any] = {}
        unknown = []
        for field in node.children:
            if len(field.children) > 1:
                values[field.name] = self.value(field.children[1], step(path, field.name))
        begin = self.at
        count = self.uvarint(path)
        if self.lenient:
            count = 0 if count > 0x7FFFFFFF else count
        elif 2 * count > len(self.data) - self.at:
            self.fail("truncated", begin, path)
        last = -1
        for _ in range(count):
            begin = self.at
            tag = self.uvarint(path)
            if tag <= last and not self.lenient:
                self.fail("tag_order", begin, path)
            last = tag
            begin = self.at
            size = self.uvarint(path)
            if tag not in known:
                unknown.append({"tag": tag, "data": self.take(size, path)})
                continue
            field = known[tag]
            inside = step(path, field.name)
            if size > len(self.data) - self.at and not self.lenient:
                self.fail("truncated", self.at, inside)
            start = self.at
            values[field.name] = self.value(field.children[0], inside)
            if self.at - start != size and not self.lenient:
                self.fail("tag_size", begin, inside)
        if node.column >= 0 and (unknown or not self.sparse):
            values[UNKNOWN] = unknown
        return values


def _takes_no_bytes(node: KafkaNode) -> bool:
    if node.op is Op.RECORD:
        return all(map(_takes_no_bytes, node.children))
    return node.op in (Op.DEFAULT, Op.ABSENT, Op.FAIL)


def _constant(node: KafkaNode) -> Any:
    return _MessageBytes(node.data, 0, Program(Plan("", "", pa.null(), node))).value(node.children[0], "")


# Encoding -------------------------------------------------------------------------------------------


def encode(
    array: pa.Array,
    programs: Sequence[Program | None],
    *,
    selector: Any = None,
    large: bool = False,
    stop: bool = False,
) -> tuple[pa.Array, list[Fault]]:
    """Encode one message per row; see `kcodec.protocol.message.kernel.MessageKernel`."""
    selected = None if selector is None else memoryview(selector).cast("B").cast("i")
    messages: list[bytes | None] = []
    faults: list[Fault] = []
    for number, value in enumerate(_objects(array)):
        index = 0 if selected is None else selected[number]
        program = programs[index] if 0 <= index < len(programs) else None
        data = None
        if value is not None and program is not None:
            try:
                data = _write(value, program)
            except RowError as error:
                faults.append(error.fault(number))
                if stop:
                    break
        messages.append(data)
    return pa.array(messages, pa.large_binary() if large else pa.binary()), faults


def _objects(array: pa.Array) -> list[Any]:
    """Return the values of an array; one that Python does not have fails its own row.

    What is not UTF-8 is text that cannot be encoded. Two columns of one name, and times that Python does not have, are
    what no message takes.
    """
    try:
        return list(array.to_pylist())
    except (ValueError, OverflowError):
        kind = array.type
    if is_text(kind):
        data = cast_leaf(array, pa.large_binary()).to_pylist()
        return [None if each is None else each.decode(errors="surrogateescape") for each in data]
    valid = array.is_valid().to_pylist()
    if pa.types.is_struct(kind):
        columns = {kind[at].name: _objects(array.field(at)) for at in range(kind.num_fields)}
        return [
            {name: values[row] for name, values in columns.items()} if there else None
            for row, there in enumerate(valid)
        ]
    if not is_list(kind):
        return [each if there else None for each, there in zip(array, valid, strict=True)]
    items = _objects(array.values)
    ends = array.offsets.to_pylist()
    return [items[ends[row] : ends[row + 1]] if there else None for row, there in enumerate(valid)]


def encode_one(value: Any, program: Program) -> tuple[bytes | None, Fault | None]:
    """Encode one message from a dict; see `kcodec.protocol.message.kernel.MessageKernel`."""
    if program.plan.root.op is Op.RECORD and not isinstance(value, dict):
        return None, Fault(0, None, "", "type_mismatch", "a message is a dict")
    try:
        return _write(value, program), None
    except RowError as error:
        return None, error.fault(0)


def _write(value: Any, program: Program) -> bytes:
    out = bytearray()
    _MessageRows().value(program.plan.root, value, out, "")
    return bytes(out)


class _MessageRows:
    def fail(self, code: str, path: str, reason: str = "") -> NoReturn:
        raise RowError(code, None, path, reason)

    def value(self, node: KafkaNode, value: Any, out: bytearray, path: str) -> None:
        path = step(path, node.name)
        op = node.op
        if op is Op.NULLABLE:
            self.sized(node.children[0], value, out, path)
        elif op is Op.NULLABLE_RECORD or op is Op.TAGGED_RECORD:
            if value is None:
                out += b"\xff" if op is Op.NULLABLE_RECORD else b"\x00"
            else:
                out += b"\x01"
                self.value(node.children[0], value, out, path)
        elif op is Op.FAIL:
            self.fail(node.code, path, node.reason)
        elif op is Op.DEFAULT:
            out += node.data
        elif value is None:
            self.fail("null_value", path)
        elif op in _NUMBERS:
            self.number(op, value, out, path)
        elif op is Op.BOOLEAN:
            if not isinstance(value, bool):
                self.fail("type_mismatch", path)
            out.append(value)
        elif op is Op.UUID:
            data = getattr(value, "bytes", value)
            if not isinstance(data, bytes):
                self.fail("type_mismatch", path)
            if len(data) != 16:
                self.fail("fixed_size", path)
            out += data
        elif op is Op.RECORD:
            self.record(node, value, out, path)
        else:
            self.sized(node, value, out, path)

    def number(self, op: Op, value: Any, out: bytearray, path: str) -> None:
        expected = (int, float) if op is Op.FLOAT64 else int
        if not isinstance(value, expected) or isinstance(value, bool):
            self.fail("type_mismatch", path)
        try:
            out += _NUMBERS[op].pack(value)
        except (struct.error, OverflowError):
            self.fail("out_of_range", path)

    def sized(self, node: KafkaNode, value: Any, out: bytearray, path: str) -> None:
        """Write what starts with its length or count."""
        op = node.op
        if value is None:
            self.length(op, -1, out)
        elif op in _ARRAYS:
            if not isinstance(value, (list, tuple)):
                self.fail("type_mismatch", path)
            self.length(op, len(value), out)
            for i, item in enumerate(value):
                self.value(node.children[0], item, out, f"{path}[{i}]")
        elif op in _STRINGS:
            if not isinstance(value, str):
                self.fail("type_mismatch", path)
            try:
                data = value.encode()
            except UnicodeEncodeError:
                self.fail("invalid_utf8", path)
            if len(data) > _MAX_STRING:
                self.fail("string_length", path)
            self.length(op, len(data), out)
            out += data
        else:
            if not isinstance(value, (bytes, bytearray, memoryview)):
                self.fail("type_mismatch", path)
            data = bytes(value)
            self.length(op, len(data), out)
            out += data

    def length(self, op: Op, length: int, out: bytearray) -> None:
        if op in _COMPACT:
            out += write_varint(length + 1)
        else:
            out += length.to_bytes(2 if op is Op.SHORT_STRING else 4, "big", signed=True)

    def record(self, node: KafkaNode, value: Any, out: bytearray, path: str) -> None:
        if not isinstance(value, dict):
            self.fail("type_mismatch", path)
        names = {UNKNOWN}
        for child in node.children:
            names.add(child.name)
            if child.op is Op.TAG_SECTION:
                names |= {tag.name for tag in child.children}
                self.tags(child, value, out, path)
            elif child.op is Op.UNSET:
                if child.children and child.name in value and not _is_default(child, value[child.name]):
                    self.fail(child.code, step(path, child.name), child.reason)
            elif child.op is not Op.DEFAULT and child.name in value:
                self.value(child, value[child.name], out, path)
            elif child.code:
                self.fail(child.code, step(path, child.name), child.reason)
            else:
                out += child.data
        for name in value:
            if name not in names:
                self.fail("type_mismatch", path, f"the message has no field {name}{near(str(name), names)}")

    def tags(self, node: KafkaNode, value: dict[str, Any], out: bytearray, path: str) -> None:
        """Write what is not at its default and the unknown tags, in the order of tags."""
        entries: list[bytes] = []
        last = -1
        entries_left = unknown_entries(value.get(UNKNOWN)) if node.column >= 0 else []
        if isinstance(entries_left, str):
            self.fail(entries_left, step(path, UNKNOWN))

        def unknown(below: int) -> None:
            nonlocal last
            while entries_left and entries_left[0][0] <= below:
                tag, data = entries_left.pop(0)
                if tag == below:
                    self.fail("invalid_tag", step(path, UNKNOWN))
                if tag <= last:
                    self.fail("tag_order", step(path, UNKNOWN))
                last = tag
                entries.append(write_varint(tag) + write_varint(len(data)) + data)

        for tag in node.children:
            unknown(tag.size)
            if tag.name in value and not _is_default(tag.children[1], value[tag.name]):
                data = bytearray()
                self.value(tag.children[0], value[tag.name], data, step(path, tag.name))
                entries.append(write_varint(tag.size) + write_varint(len(data)) + data)
        unknown(1 << 32)
        out += write_varint(len(entries))
        for entry in entries:
            out += entry


def _is_default(node: KafkaNode, value: Any) -> bool:
    if node.op is Op.UNSET:
        return _is_default(node.children[0], value)
    if node.op is Op.ABSENT:
        return value is None
    if node.op is Op.FAIL:
        return False
    if value is None:
        # Columns of unknown tags are null where other rows have some.
        return node.name == UNKNOWN
    if node.op is Op.RECORD:
        return isinstance(value, dict) and all(
            _is_default(child, value[child.name]) for child in node.children if child.name in value
        )
    if node.children[0].op in _ARRAYS:
        return isinstance(value, (list, tuple)) and not value
    expected = _constant(node)
    # Arrays of NumPy compare item by item.
    return (getattr(value, "bytes", value) == expected) is True
