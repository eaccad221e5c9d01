"""Descriptors, as protoc writes them, to trees and back."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kcodec.errors import SchemaError
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.known import known_file
from kcodec.formats.protobuf.link import json_name, link
from kcodec.formats.protobuf.names import with_known
from kcodec.formats.protobuf.syntax import (
    Aggregate,
    Enum,
    EnumValue,
    Extend,
    Extensions,
    Field,
    File,
    Import,
    Message,
    Oneof,
    Option,
    Quoted,
    Range,
    Reserved,
    Rpc,
    Service,
    Value,
    Word,
)
from kcodec.formats.protobuf.text import escape

__all__ = ["read_descriptors"]

#: How deep messages may be nested in a descriptor.
_MAX_DEPTH = 100

#: Key of the fields of a message that its type does not know.
_UNKNOWN = ""

_EDITIONS = {1000: "2023", 1001: "2024"}
_FIXED = {
    "fixed32": (4, "<I"),
    "sfixed32": (4, "<i"),
    "float": (4, "<f"),
    "fixed64": (8, "<Q"),
    "sfixed64": (8, "<q"),
    "double": (8, "<d"),
}
_LABELS = {1: "optional", 2: "required", 3: "repeated"}


def read_descriptors(data: bytes) -> dict[str, File]:
    """Return the files of a FileDescriptorSet, or of one FileDescriptorProto, by their paths.

    The first is the main one: the last that no other imports.

    Raises
    ------
    SchemaError
        If the bytes are neither.
    """
    types = _types()
    numbers = {number for number, _, _ in _wire(data, 0)}
    if numbers <= {1}:
        protos = _read(data, types["google.protobuf.FileDescriptorSet"], 0).get("file", [])
    else:
        protos = [_read(data, types["google.protobuf.FileDescriptorProto"], 0)]
    if not protos:
        raise SchemaError("the descriptor set holds no file")
    files = {proto.get("name", ""): _File(proto) for proto in protos}
    imported = {each.path for file in files.values() for each in file.tree.imports}
    main = next((path for path in reversed(files) if path not in imported), next(iter(files)))
    trees = {main: files[main].tree, **{path: file.tree for path, file in files.items()}}
    if any(file.unread for file in files.values()):
        _read_custom_options(files, trees)
    return trees


@cache
def _types() -> dict[str, MessageType]:
    path = "google/protobuf/descriptor.proto"
    return link({path: known_file(path)}).messages


# Bytes


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70 and at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise SchemaError(f"the descriptor is damaged at byte {at}")


def _wire(data: bytes, depth: int) -> Iterator[tuple[int, int, Any]]:
    """Yield number, wire type and value of each field: an int, or its bytes; groups are given as their inner bytes."""
    at = 0
    end = len(data)
    if depth > _MAX_DEPTH:
        raise SchemaError("the descriptor is nested too deeply")
    while at < end:
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield number, kind, value
            continue
        if kind == 2:
            size, at = _varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise SchemaError(f"the descriptor has a field of wire type {kind} at byte {at}")
        if not number or size > end - at:
            raise SchemaError(f"the descriptor is damaged at byte {at}")
        yield number, kind, data[at : at + size]
        at += size


def _read(data: bytes, kind: MessageType, depth: int) -> dict[str, Any]:
    """Return the fields of a message by name; those without a field in its type under `_UNKNOWN`."""
    found: dict[str, Any] = {}
    for number, wire, value in _wire(data, depth):
        field = kind.by_number.get(number) or kind.extensions.get(number)
        values = None if field is None else list(_values(field, wire, value, depth))
        if field is None or values is None:
            found.setdefault(_UNKNOWN, []).append((number, wire, value))
        elif field.repeated:
            found.setdefault(field.name, []).extend(values)
        else:
            found[field.name] = values[-1]
    return found


def _values(field: FieldType, wire: int, value: Any, depth: int) -> Iterator[Any]:
    kind = field.type
    if wire == 2 and field.message is not None:
        yield _read(value, field.message, depth + 1)
    elif wire == 2 and kind == "string":
        yield value.decode("utf-8", "replace")
    elif wire == 2 and kind == "bytes":
        yield value
    elif wire == 2 and kind in _FIXED and field.repeated:
        size, form = _FIXED[kind]
        yield from (each for (each,) in struct.iter_unpack(form, value[: len(value) // size * size]))
    elif wire == 2 and field.repeated:
        at = 0
        while at < len(value):
            each, at = _varint(value, at)
            yield _integer(field, each)
    elif wire == 0:
        yield _integer(field, value)
    elif wire in (1, 5) and kind in _FIXED and _FIXED[kind][0] == len(value):
        yield struct.unpack(_FIXED[kind][1], value)[0]
    else:
        raise SchemaError(f"the descriptor has a field {field.name} of wire type {wire}")


def _integer(field: FieldType, value: int) -> int | bool:
    kind = field.type
    if kind == "bool":
        return value != 0
    if kind in ("sint32", "sint64"):
        return value >> 1 ^ -(value & 1)
    if kind.startswith("u"):
        return value & 0xFFFFFFFF if kind == "uint32" else value
    bits = 64 if kind == "int64" else 32
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


# Trees


class _File:
    """A file's tree, and the options that only extensions of all files can name."""

    def __init__(self, proto: dict[str, Any]) -> None:
        self.counter = 0
        self.unread: list[tuple[list[Option], list[tuple[int, int, Any]], str]] = []
        syntax = proto.get("syntax", "")
        if syntax == "editions":
            edition = proto.get("edition")
            if edition not in _EDITIONS:
                raise SchemaError(f"{proto.get('name', '')}: the edition {edition} is not known")
            syntax = _EDITIONS[edition]
        elif syntax not in ("", "proto2", "proto3"):
            raise SchemaError(f"{proto.get('name', '')}: the syntax {syntax!r} is not known")
        self.syntax = syntax
        self.package = proto.get("package", "")
        public = set(proto.get("public_dependency", ()))
        weak = set(proto.get("weak_dependency", ()))
        imports = [
            Import(path, "public" if i in public else "weak" if i in weak else "", self.place())
            for i, path in enumerate(proto.get("dependency", ()))
        ]
        imports += [Import(path, "option", self.place()) for path in proto.get("option_dependency", ())]
        self.tree = File(syntax, self.package, imports)
        self.tree.options = self.options(proto, "FileOptions")
        self.tree.messages = [self.message(each, self.package) for each in proto.get("message_type", ())]
        self.tree.enums = [self.enum(each) for each in proto.get("enum_type", ())]
        self.tree.extends = self.extends(proto, self.package, [])
        self.tree.services = [self.service(each) for each in proto.get("service", ())]

    def place(self) -> int:
        self.counter += 1
        return self.counter

    def options(self, proto: dict[str, Any], kind: str) -> list[Option]:
        found = dict(proto.get("options", ()))
        unknown = found.pop(_UNKNOWN, [])
        found.pop("uninterpreted_option", None)
        message = _types()[f"google.protobuf.{kind}"]
        options = []
        for name, value in found.items():
            options += [Option(path, each, self.place()) for path, each in _option((name,), message, value)]
        if unknown:
            self.unread.append((options, unknown, kind))
        return options

    def message(self, proto: dict[str, Any], scope: str) -> Message:
        name = proto.get("name", "")
        full = f"{scope}.{name}" if scope else name
        message = Message(name, at=self.place())
        message.visibility = _visibility(proto)
        message.options = self.options(proto, "MessageOptions")
        nested = {f".{full}.{each.get('name', '')}": each for each in proto.get("nested_type", ())}
        oneofs = [
            Oneof(each.get("name", ""), self.options(each, "OneofOptions"), self.place())
            for each in proto.get("oneof_decl", ())
        ]
        fields = proto.get("field", ())
        synthetic = {each.get("oneof_index") for each in fields if each.get("proto3_optional")}
        message.oneofs = [oneof for i, oneof in enumerate(oneofs) if i not in synthetic]
        groups: list[str] = []
        for each in fields:
            field = self.field(each, full, nested, groups)
            index = each.get("oneof_index")
            if index is not None and not 0 <= index < len(oneofs):
                raise SchemaError(f"{full}.{field.name} is a member of no oneof")
            if index is not None and index not in synthetic:
                field.oneof, field.label = oneofs[index], ""
            message.fields.append(field)
        message.extends = self.extends(proto, full, groups, nested)
        message.messages = [self.message(each, full) for path, each in nested.items() if path not in groups]
        message.enums = [self.enum(each) for each in proto.get("enum_type", ())]
        for each in proto.get("extension_range", ()):
            options = self.options(each, "ExtensionRangeOptions")
            message.extensions.append(Extensions([_range(each, 1)], options, self.place()))
        message.reserved = self.reserved(proto, 1)
        return message

    def reserved(self, proto: dict[str, Any], beyond: int) -> list[Reserved]:
        """Return reserved numbers and names; ranges of messages end one beyond their last number."""
        ranges: list[Range | str] = [_range(each, beyond) for each in proto.get("reserved_range", ())]
        return [Reserved(items, self.place()) for items in (ranges, proto.get("reserved_name")) if items]

    def field(
        self, proto: dict[str, Any], scope: str, nested: Mapping[str, dict[str, Any]], groups: list[str]
    ) -> Field:
        name = proto.get("name", "")
        kinds = _types()["google.protobuf.FieldDescriptorProto"].by_name["type"].enum
        assert kinds is not None
        kind = kinds.names.get(proto.get("type", 0), "").removeprefix("TYPE_").lower()
        label = _LABELS.get(proto.get("label", 1), "")
        if label == "optional" and self.syntax not in ("", "proto2") and not proto.get("proto3_optional"):
            label = ""
        typed = proto.get("type_name", "")
        field = Field(label, typed or kind, name, proto.get("number", 0), at=self.place())
        if not field.type:
            raise SchemaError(f"{scope}.{name} has no type")
        if "default_value" in proto:
            value = proto["default_value"]
            quoted = Quoted((value if kind == "bytes" else escape(value),))
            field.options.append(
                Option(("default",), quoted if kind in ("string", "bytes") else Word(value), field.at)
            )
        if proto.get("json_name", json_name(name)) != json_name(name) and "extendee" not in proto:
            value = Quoted((escape(proto["json_name"]),))
            field.options.append(Option(("json_name",), value, field.at))
        field.options += self.options(proto, "FieldOptions")
        if kind == "group":
            if typed in nested:
                groups.append(typed)
                field.group = self.message(nested[typed], scope)
                field.type = field.group.name
            else:
                encoding = ("features", "message_encoding")
                field.options.append(Option(encoding, Word("DELIMITED"), field.at))
        return field

    def extends(
        self,
        proto: dict[str, Any],
        scope: str,
        groups: list[str],
        nested: Mapping[str, dict[str, Any]] | None = None,
    ) -> list[Extend]:
        found: list[Extend] = []
        for each in proto.get("extension", ()):
            target = each.get("extendee", "")
            if not found or found[-1].target != target:
                found.append(Extend(target, at=self.place()))
            found[-1].fields.append(self.field(each, scope, nested or {}, groups))
        return found

    def enum(self, proto: dict[str, Any]) -> Enum:
        name = proto.get("name", "")
        enum = Enum(name, visibility=_visibility(proto), at=self.place())
        enum.options = self.options(proto, "EnumOptions")
        enum.values = [
            EnumValue(
                each.get("name", ""),
                each.get("number", 0),
                self.options(each, "EnumValueOptions"),
                self.place(),
            )
            for each in proto.get("value", ())
        ]
        enum.reserved = self.reserved(proto, 0)
        return enum

    def service(self, proto: dict[str, Any]) -> Service:
        service = Service(proto.get("name", ""), at=self.place())
        service.options = self.options(proto, "ServiceOptions")
        service.rpcs = [
            Rpc(
                each.get("name", ""),
                each.get("input_type", ""),
                each.get("output_type", ""),
                each.get("client_streaming", False),
                each.get("server_streaming", False),
                self.options(each, "MethodOptions"),
                self.place(),
            )
            for each in proto.get("method", ())
        ]
        return service


def _range(proto: dict[str, Any], beyond: int) -> Range:
    first, last = proto.get("start", 0), proto.get("end", 0) - beyond
    return (first, last) if first != last else (first,)


def _visibility(proto: dict[str, Any]) -> str:
    return {1: "local", 2: "export"}.get(proto.get("visibility", 0), "")


def _option(
    path: tuple[str, ...], message: MessageType, value: Any
) -> Iterator[tuple[tuple[str, ...], Value]]:
    """Yield an option as statements: features one by one, elements of lists too."""
    field = message.by_name[path[-1]]
    if path[0] == "features" and field.message is not None:
        for name, each in value.items():
            if name != _UNKNOWN:
                yield from _option((*path, name), field.message, each)
    elif field.repeated:
        for each in value:
            yield path, _value(field, each)
    else:
        yield path, _value(field, value)


def _value(field: FieldType, value: Any) -> Value:
    """Return the value of an option as a text has it."""
    if field.message is not None:
        entries: list[tuple[str, Value]] = []
        for name, each in value.items():
            member = field.message.by_name.get(name)
            if name == _UNKNOWN:
                continue
            if member is None:
                member = next(each for each in field.message.extensions.values() if each.name == name)
                name = f"[{name}]"
            entries += [(name, _value(member, one)) for one in (each if member.repeated else [each])]
        return Aggregate(entries)
    if field.enum is not None:
        return Word(field.enum.names.get(value, str(value)))
    if isinstance(value, bool):
        return Word("true" if value else "false")
    if isinstance(value, str):
        return Quoted((escape(value),))
    if isinstance(value, bytes):
        return Quoted(
            (
                "".join(
                    chr(each) if 32 <= each < 127 and each not in b"\"'\\" else f"\\{each:03o}"
                    for each in value
                ),
            )
        )
    return Word(value)


def _read_custom_options(files: Mapping[str, _File], trees: Mapping[str, File]) -> None:
    """Add options that extensions name."""
    linked = link(with_known(trees))
    for file in files.values():
        for options, unknown, kind in file.unread:
            message = linked.messages.get(f"google.protobuf.{kind}")
            if message is None:
                continue
            for number, wire, value in unknown:
                field = message.extensions.get(number)
                if field is None:
                    continue
                for each in _values(field, wire, value, 0):
                    options.append(Option((f"({field.name})",), _value(field, each), file.place()))
