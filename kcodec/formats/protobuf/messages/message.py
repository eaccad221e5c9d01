"""Single messages: read from bytes and written as protobuf-java does, by their types alone.

This is the way of one message at a time, for its JSON form; columns have a row loop of their own.
"""

import dataclasses
import struct
import sys
from collections.abc import Iterator
from typing import Any

from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.messages.wire import (
    BYTES,
    FIXED32,
    GROUP_END,
    GROUP_START,
    MAX_DEPTH,
    VARINT,
    canonical_unknown,
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
from kcodec.plan.failure import RowError

#: Numbers of the fields of an item of a message set, which is group 1.
_ITEM, _ITEM_TYPE, _ITEM_MESSAGE = 1, 2, 3


@dataclasses.dataclass(slots=True)
class Message:
    """A message.

    >>> point = MessageType("Point", (FieldType("x", 1, "sint32"), FieldType("tag", 2, "string", repeated=True)))
    >>> message = read_message(point, bytes.fromhex("12016108031800"))
    >>> message.values, message.unknown.hex()
    ({2: ['a'], 1: -2}, '1800')
    >>> write_message(message).hex()
    '08031201611800'
    """

    #: What it is.
    type: MessageType
    #: What is set, by field number: int (unsigned for unsigned types), bool, str, bytes, the bits of floats and doubles
    #: as int, the number of enums, `Message`; lists of these for repeated fields, and a dict for maps. Text that is not
    #: checked keeps bytes that are not UTF-8 as ``surrogateescape`` does. Fields without presence may be here with
    #: their default; `fields` leaves them out.
    values: dict[int, Any] = dataclasses.field(default_factory=dict)
    #: The unknown fields, as they were written.
    unknown: bytearray = dataclasses.field(default_factory=bytearray)
    _members: dict[str, int] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def set(self, field: FieldType, value: Any) -> None:
        """Set a field, and no other member of its oneof."""
        if field.oneof:
            member = self._members.get(field.oneof)
            if member is not None and member != field.number:
                del self.values[member]
            self._members[field.oneof] = field.number
        self.values[field.number] = value

    def add(self, field: FieldType, value: Any) -> None:
        """Add an item to a repeated field, or set another one."""
        if field.repeated:
            self.values.setdefault(field.number, []).append(value)
        else:
            self.set(field, value)

    def member(self, oneof: str) -> FieldType | None:
        """Return the member of a oneof that is set."""
        number = self._members.get(oneof)
        return None if number is None else self.type.by_number[number]

    def fields(self) -> Iterator[tuple[FieldType, Any]]:
        """Yield what is set, by number: no empty lists and maps, no defaults of fields without presence."""
        for number in sorted(self.values):
            field = self.type.by_number.get(number) or self.type.extensions[number]
            value = self.values[number]
            if value or (field.presence and not field.repeated):
                yield field, value


def default_of(field: FieldType) -> Any:
    """Return the value of a field that is not set, in the form of `Message.values`; None for messages."""
    declared = field.default
    if field.message:
        return None
    if field.enum:
        return field.enum.values[0][1] if declared is None else field.enum.numbers[declared]
    if declared is None:
        return {"string": "", "bytes": b"", "bool": False}.get(field.type, 0)
    if field.type in ("float", "double"):
        return int.from_bytes(struct.pack("<f" if field.type == "float" else "<d", declared), "little")
    return declared


def read_message(
    type: MessageType,
    data: bytes,
    *,
    extensions: bool = False,
    depth: int = MAX_DEPTH,
    most: int = sys.maxsize,
) -> Message:
    """Return the message that the bytes hold.

    With `extensions`, those that its types know are no unknown fields; `depth` messages may stand in each other in it,
    and `most` in all.
    """
    message = Message(type)
    if depth < 0:
        raise RowError("depth_limit", 0)
    _MessageMerger(data, extensions, most).merge(message, 0, len(data), depth)
    missing = missing_fields(message)
    if missing:
        raise RowError(
            "missing_required", None, missing[0], f"required fields are not set: {', '.join(missing)}"
        )
    return message


def missing_fields(message: Message) -> list[str]:
    """Return the paths of required fields that are not set, in the message and all in it."""
    missing = [
        each.name for each in message.type.fields if each.required and each.number not in message.values
    ]
    for each, value in message.fields():
        if each.message is None:
            continue
        name = f"({each.name})" if each.number in message.type.extensions else each.name
        if each.is_map:
            inner = [(f"{name}[{at}].value", item) for at, item in enumerate(value.values())]
        elif each.repeated:
            inner = [(f"{name}[{at}]", item) for at, item in enumerate(value)]
        else:
            inner = [(name, value)]
        for path, item in inner:
            if isinstance(item, Message):
                missing += [f"{path}.{below}" for below in missing_fields(item)]
    return missing


class _MessageMerger:
    """One row. `depth` is always how many messages and groups may still open, `left` how many may follow at all."""

    def __init__(self, data: bytes, extensions: bool, left: int) -> None:
        self.data = data
        self.extensions = extensions
        self.left = left

    def merge(self, message: Message, at: int, end: int, depth: int, group: int = 0) -> int:
        """Merge the fields up to the end, or to the end tag of the group of this number, into a message."""
        fields, data = message.type.by_number, self.data
        while at < end or group:
            tag = at
            number, wire_type, at = read_tag(data, at, end)
            if wire_type == GROUP_END:
                if number != group:
                    raise RowError("invalid_tag", tag)
                return at
            field = fields.get(number)
            if field is None and self.extensions:
                field = message.type.extensions.get(number)
            if message.type.message_set and number == _ITEM and wire_type == GROUP_START:
                at = self.item(message, at, end, depth)
                continue
            after = None if field is None else self.field(message, field, wire_type, at, end, depth)
            if after is None:
                after = skip_field(data, at, end, number, wire_type, depth)
                message.unknown += data[tag:after]
            at = after
        return at

    def field(
        self, message: Message, field: FieldType, wire_type: int, at: int, end: int, depth: int
    ) -> int | None:
        """Set a field; return the byte after it, None if it has not the wire type of its own."""
        wanted = wire_type_of(field.type)
        packed = wire_type == BYTES and field.repeated and wanted not in (BYTES, GROUP_START)
        if wire_type != wanted and not packed:
            return None
        try:
            if packed:
                length, at = read_length(self.data, at, end)
                end = at + length
                while at < end:
                    at = self.scalar(message, field, at, end)
                return at
            if field.message:
                return self.message(message, field, at, end, depth)
            return self.scalar(message, field, at, end)
        except RowError as error:
            at_item = f"[{len(message.values.get(field.number, ()))}]" if field.repeated else ""
            raise error.within(field.name + at_item) from None

    def message(self, owner: Message, field: FieldType, at: int, end: int, depth: int) -> int:
        """Read a message, a group or an entry of a map."""
        assert field.message is not None
        group = field.number if field.type == "group" else 0
        if not group:
            length, at = read_length(self.data, at, end)
            end = at + length
        self.left -= 1
        if not depth or self.left < 0:
            raise RowError("size_limit" if depth else "depth_limit", at)
        inner = None if field.repeated else owner.values.get(field.number)
        inner = inner or Message(field.message)
        after = self.merge(inner, at, end, depth - 1, group)
        if field.is_map:
            self.entry(owner, field, inner, self.data[at:after])
        else:
            owner.add(field, inner)
        return after

    def entry(self, owner: Message, field: FieldType, entry: Message, data: bytes) -> None:
        """Put an entry into a map, or, with a value that its closed enum does not have, into the unknown fields."""
        key, value = entry.type.by_number[1], entry.type.by_number[2]
        if 2 not in entry.values:
            entry.values[2] = Message(value.message) if value.message else default_of(value)
        if value.enum and value.enum.closed and entry.values[2] not in value.enum.names:
            _write_bytes(owner.unknown, field.number, data)
        else:
            owner.values.setdefault(field.number, {})[entry.values.get(1, default_of(key))] = entry.values[2]

    def scalar(self, owner: Message, field: FieldType, at: int, end: int) -> int:
        """Read a value that is not a message."""
        is_entry = owner.type.map_entry
        value, after = self.value(field, field.utf8 or is_entry, at, end)
        if field.enum and field.enum.closed and value not in field.enum.names and not is_entry:
            write_tag(owner.unknown, field.number, VARINT)
            write_varint(owner.unknown, value & 0xFFFFFFFFFFFFFFFF)
        else:
            owner.add(field, value)
        return after

    def value(self, field: FieldType, utf8: bool, at: int, end: int) -> tuple[Any, int]:
        kind = field.type
        wire_type = wire_type_of(kind)
        if wire_type == VARINT:
            number, after = read_varint(self.data, at, end)
            return from_varint(kind, number), after
        if wire_type == BYTES:
            length, at = read_length(self.data, at, end)
            data = bytes(self.data[at : at + length])
            if kind == "bytes":
                return data, at + length
            try:
                return data.decode("utf-8", "strict" if utf8 else "surrogateescape"), at + length
            except UnicodeDecodeError:
                raise RowError("invalid_utf8", at) from None
        size = 4 if wire_type == FIXED32 else 8
        if size > end - at:
            raise RowError("truncated", at)
        data = self.data[at : at + size]
        return int.from_bytes(data, "little", signed=kind.startswith("sfixed")), at + size

    def item(self, owner: Message, at: int, end: int, depth: int) -> int:
        """Read an item of a message set: an extension's number and its message, in any order."""
        kind, start, stop = 0, -1, -1
        while True:
            tag = at
            number, wire_type, at = read_tag(self.data, at, end)
            if wire_type == GROUP_END:
                if number != _ITEM:
                    raise RowError("invalid_tag", tag)
                break
            if (number, wire_type) == (_ITEM_TYPE, VARINT):
                kind, at = read_varint(self.data, at, end)
                kind &= 0xFFFFFFFF
            elif (number, wire_type) == (_ITEM_MESSAGE, BYTES):
                length, start = read_length(self.data, at, end)
                stop = at = start + length
            else:
                at = skip_field(self.data, at, end, number, wire_type, depth)
        if not kind or start < 0:
            return at
        if kind >> 31:
            # To Java it is negative, and no number of a field.
            raise RowError("invalid_tag", start)
        field = owner.type.extensions.get(kind) if self.extensions else None
        if field is None or field.message is None:
            _write_item(owner.unknown, kind, bytes(self.data[start:stop]))
            return at
        if not depth:
            raise RowError("depth_limit", start)
        inner = owner.values.get(kind) or Message(field.message)
        self.merge(inner, start, stop, depth - 1)
        owner.set(field, inner)
        return at


def write_message(message: Message) -> bytes:
    """Return the bytes that protobuf-java writes in its deterministic order."""
    out = bytearray()
    for field, value in message.fields():
        if message.type.message_set:
            _write_item(out, field.number, write_message(value))
        elif field.is_map:
            _write_map(out, field, value)
        elif field.packed and field.repeated:
            run = bytearray()
            for item in value:
                run += number_bytes(field.type, item)
            _write_bytes(out, field.number, run)
        else:
            for item in value if field.repeated else (value,):
                _write_field(out, field, item)
    unknown = bytes(message.unknown)
    return bytes(out) + (_canonical_items if message.type.message_set else canonical_unknown)(unknown)


def _write_map(out: bytearray, field: FieldType, entries: dict[Any, Any]) -> None:
    assert field.message is not None
    key_field, value_field = field.message.by_number[1], field.message.by_number[2]
    kind = key_field.type
    # Text in the order of its UTF-16 units, integers as signed numbers.
    bits = 64 if kind.endswith("64") else 32
    if kind == "string":
        keys = sorted(entries, key=lambda key: key.encode("utf-16-be"))
    else:
        keys = sorted(entries, key=lambda key: key - (key >> bits - 1 << bits) if key > 0 else key)
    for key in keys:
        entry = bytearray()
        _write_field(entry, key_field, key)
        _write_field(entry, value_field, entries[key])
        _write_bytes(out, field.number, entry)


def _write_field(out: bytearray, field: FieldType, value: Any) -> None:
    wire_type = wire_type_of(field.type)
    if field.type == "group":
        write_tag(out, field.number, GROUP_START)
        out += write_message(value)
        write_tag(out, field.number, GROUP_END)
    elif wire_type == BYTES:
        if isinstance(value, Message):
            value = write_message(value)
        elif isinstance(value, str):
            value = value.encode("utf-8", "surrogateescape")
        _write_bytes(out, field.number, value)
    else:
        write_tag(out, field.number, wire_type)
        out += number_bytes(field.type, value)


def _write_bytes(out: bytearray, number: int, data: bytes | bytearray) -> None:
    write_tag(out, number, BYTES)
    write_varint(out, len(data))
    out += data


def _write_item(out: bytearray, kind: int, data: bytes) -> None:
    write_tag(out, _ITEM, GROUP_START)
    write_tag(out, _ITEM_TYPE, VARINT)
    write_varint(out, kind)
    _write_bytes(out, _ITEM_MESSAGE, data)
    write_tag(out, _ITEM, GROUP_END)


def _canonical_items(data: bytes) -> bytes:
    """Return unknown fields of a message set as items, sorted; what is not a message is left out, as Java does."""
    items: list[tuple[int, bytes]] = []
    at = 0
    while at < len(data):
        number, wire_type, at = read_tag(data, at, len(data))
        after = skip_field(data, at, len(data), number, wire_type, MAX_DEPTH)
        if number == _ITEM and wire_type == GROUP_START:
            kind, at = read_varint(data, read_tag(data, at, after)[2], after)
            length, at = read_length(data, read_tag(data, at, after)[2], after)
            items.append((kind, data[at : at + length]))
        elif wire_type == BYTES:
            items.append((number, data[read_length(data, at, after)[1] : after]))
        at = after
    out = bytearray()
    for kind, payload in sorted(items, key=lambda item: item[0]):
        _write_item(out, kind, payload)
    return bytes(out)
