"""Descriptors, as protoc writes them, to trees; `descriptor_bytes` has the way back."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from kcodec.errors import SchemaError
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.known import known_file
from kcodec.formats.protobuf.language.link import json_name, link
from kcodec.formats.protobuf.language.names import full_name, with_known
from kcodec.formats.protobuf.language.text import escape
from kcodec.formats.protobuf.messages.message import Message as Decoded
from kcodec.formats.protobuf.messages.message import read_message
from kcodec.plan.failure import RowError

__all__ = ["descriptor_types", "escape_bytes", "float_text", "read_descriptors"]

#: Key of the fields of a message that its type does not know.
_UNKNOWN = ""

#: Messages, fields, values of enums and options that descriptors may have in all.
MAX_PARTS = 500_000

_EDITIONS = {1000: "2023", 1001: "2024"}
_LABELS = {1: "optional", 2: "required", 3: "repeated"}


def read_descriptors(data: bytes) -> dict[str, syntax.File]:
    """Return the files of a FileDescriptorSet, or of one FileDescriptorProto, by their paths.

    The first is the main one: the last that no other imports. Other bytes, and more than 500,000 parts, are a
    `SchemaError`.
    """
    try:
        protos = _read(data, "google.protobuf.FileDescriptorSet").get("file", [])
    except RowError as error:
        if error.code == "size_limit":
            raise _too_many() from None
        protos = []
    if not protos or any(_UNKNOWN in proto for proto in protos):
        kind = "google.protobuf.FileDescriptorProto"
        try:
            protos = [_read(data, kind)]
        except RowError as error:
            if error.code == "size_limit":
                raise _too_many() from None
            raise SchemaError(f"these bytes are no {kind}: {error}") from None
    files = {proto.get("name", ""): _File(proto) for proto in protos}
    imported = {each.path for file in files.values() for each in file.tree.imports}
    main = next((path for path in reversed(files) if path not in imported), next(iter(files)))
    trees = {main: files[main].tree, **{path: file.tree for path, file in files.items()}}
    if any(file.unread for file in files.values()):
        _read_custom_options(files, trees)
    return trees


@cache
def descriptor_types() -> dict[str, MessageType]:
    """Return the types of descriptor.proto."""
    path = "google/protobuf/descriptor.proto"
    return link({path: known_file(path)}).messages


def _read(data: bytes, kind: str) -> dict[str, Any]:
    return _plain(read_message(descriptor_types()[kind], data, extensions=True, most=MAX_PARTS))


def _too_many() -> SchemaError:
    return SchemaError(f"descriptors of more than {MAX_PARTS} parts")


def _plain(message: Decoded) -> dict[str, Any]:
    """Return the fields of a message by name, options as they are; what its type does not know under `_UNKNOWN`."""
    found: dict[str, Any] = {}
    for field, value in message.fields():
        found[field.name] = [_plain_value(each) for each in value] if field.repeated else _plain_value(value)
    if message.unknown:
        found[_UNKNOWN] = bytes(message.unknown)
    return found


def _plain_value(value: Any) -> Any:
    if isinstance(value, str):
        # Texts of descriptors are not checked.
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, Decoded) and not value.type.name.endswith("Options"):
        return _plain(value)
    return value


# Trees


class _File:
    """A file's tree, and the options that only extensions of all files can name."""

    def __init__(self, proto: dict[str, Any]) -> None:
        self.counter = 0
        self.unread: list[tuple[list[syntax.Option], Decoded]] = []
        self.syntax = proto.get("syntax", "")
        if self.syntax == "editions":
            edition = proto.get("edition")
            if edition not in _EDITIONS:
                raise SchemaError(f"{proto.get('name', '')}: the edition {edition} is not known")
            self.syntax = _EDITIONS[edition]
        elif self.syntax not in ("", "proto2", "proto3"):
            raise SchemaError(f"{proto.get('name', '')}: the syntax {self.syntax!r} is not known")
        self.package = proto.get("package", "")
        public = set(proto.get("public_dependency", ()))
        weak = set(proto.get("weak_dependency", ()))
        imports = [
            syntax.Import(path, "public" if i in public else "weak" if i in weak else "", self.place())
            for i, path in enumerate(proto.get("dependency", ()))
        ]
        imports += [
            syntax.Import(path, "option", self.place()) for path in proto.get("option_dependency", ())
        ]
        self.tree = syntax.File(self.syntax, self.package, imports)
        self.tree.options = self.options(proto)
        self.tree.messages = [self.message(each, self.package) for each in proto.get("message_type", ())]
        self.tree.enums = [self.enum(each) for each in proto.get("enum_type", ())]
        self.tree.extends = self.extends(proto, self.package, [])
        self.tree.services = [self.service(each) for each in proto.get("service", ())]

    def place(self) -> int:
        self.counter += 1
        return self.counter

    def options(self, proto: dict[str, Any]) -> list[syntax.Option]:
        found = proto.get("options")
        options: list[syntax.Option] = []
        if found is not None:
            self.add_options(options, found)
            if found.unknown:
                self.unread.append((options, found))
        return options

    def add_options(self, options: list[syntax.Option], message: Decoded) -> None:
        for field, value in message.fields():
            name = f"({field.name})" if field.number in message.type.extensions else field.name
            for path, each in _option((name,), field, value):
                options.append(syntax.Option(path, each, self.place()))

    def message(self, proto: dict[str, Any], scope: str) -> syntax.Message:
        name = proto.get("name", "")
        full = full_name(scope, name)
        message = syntax.Message(name, at=self.place())
        message.visibility = _visibility(proto)
        message.options = self.options(proto)
        nested = {f".{full}.{each.get('name', '')}": each for each in proto.get("nested_type", ())}
        oneofs = [
            syntax.Oneof(each.get("name", ""), self.options(each), self.place())
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
            options = self.options(each)
            message.extensions.append(syntax.Extensions([_range(each, 1)], options, self.place()))
        message.reserved = self.reserved(proto, 1)
        return message

    def reserved(self, proto: dict[str, Any], beyond: int) -> list[syntax.Reserved]:
        """Return reserved numbers and names; ranges of messages end one beyond their last number."""
        items: list[syntax.Range | str] = [_range(each, beyond) for each in proto.get("reserved_range", ())]
        return [syntax.Reserved([each], self.place()) for each in [*items, *proto.get("reserved_name", ())]]

    def field(
        self, proto: dict[str, Any], scope: str, nested: Mapping[str, dict[str, Any]], groups: list[str]
    ) -> syntax.Field:
        name = proto.get("name", "")
        kinds = descriptor_types()["google.protobuf.FieldDescriptorProto"].by_name["type"].enum
        assert kinds is not None
        kind = kinds.names.get(proto.get("type", 0), "").removeprefix("TYPE_").lower()
        label = _LABELS.get(proto.get("label", 1), "")
        if label == "optional" and self.syntax not in ("", "proto2") and not proto.get("proto3_optional"):
            label = ""
        typed = proto.get("type_name", "")
        # To the list itself options are added that only extensions can name.
        options = self.options(proto)
        field = syntax.Field(label, typed or kind, name, proto.get("number", 0), options, at=self.place())
        if not field.type:
            raise SchemaError(f"{scope}.{name} has no type")
        stated: list[syntax.Option] = []
        if "default_value" in proto:
            value = proto["default_value"]
            quoted = syntax.Quoted((value if kind == "bytes" else escape(value),))
            stated.append(
                syntax.Option(
                    ("default",), quoted if kind in ("string", "bytes") else syntax.Word(value), field.at
                )
            )
        if proto.get("json_name", json_name(name)) != json_name(name) and "extendee" not in proto:
            value = syntax.Quoted((escape(proto["json_name"]),))
            stated.append(syntax.Option(("json_name",), value, field.at))
        options[:0] = stated
        if kind == "group":
            if typed in nested:
                groups.append(typed)
                field.group = self.message(nested[typed], scope)
                field.type = field.group.name
            else:
                encoding = ("features", "message_encoding")
                options.append(syntax.Option(encoding, syntax.Word("DELIMITED"), field.at))
        return field

    def extends(
        self,
        proto: dict[str, Any],
        scope: str,
        groups: list[str],
        nested: Mapping[str, dict[str, Any]] | None = None,
    ) -> list[syntax.Extend]:
        found: list[syntax.Extend] = []
        for each in proto.get("extension", ()):
            target = each.get("extendee", "")
            if not found or found[-1].target != target:
                found.append(syntax.Extend(target, at=self.place()))
            found[-1].fields.append(self.field(each, scope, nested or {}, groups))
        return found

    def enum(self, proto: dict[str, Any]) -> syntax.Enum:
        name = proto.get("name", "")
        enum = syntax.Enum(name, visibility=_visibility(proto), at=self.place())
        enum.options = self.options(proto)
        enum.values = [
            syntax.EnumValue(
                each.get("name", ""),
                each.get("number", 0),
                self.options(each),
                self.place(),
            )
            for each in proto.get("value", ())
        ]
        enum.reserved = self.reserved(proto, 0)
        return enum

    def service(self, proto: dict[str, Any]) -> syntax.Service:
        service = syntax.Service(proto.get("name", ""), at=self.place())
        service.options = self.options(proto)
        service.rpcs = [
            syntax.Rpc(
                each.get("name", ""),
                each.get("input_type", ""),
                each.get("output_type", ""),
                each.get("client_streaming", False),
                each.get("server_streaming", False),
                self.options(each),
                self.place(),
                "options" in each,
            )
            for each in proto.get("method", ())
        ]
        return service


def _range(proto: dict[str, Any], beyond: int) -> syntax.Range:
    first, last = proto.get("start", 0), proto.get("end", 0) - beyond
    return (first, last) if first != last else (first,)


def _visibility(proto: dict[str, Any]) -> str:
    return {1: "local", 2: "export"}.get(proto.get("visibility", 0), "")


def _option(
    path: tuple[str, ...], field: FieldType, value: Any
) -> Iterator[tuple[tuple[str, ...], syntax.Value]]:
    """Yield an option as statements: features one by one, elements of lists too."""
    if path[0] == "features":
        for inner, each in value.fields():
            yield (*path, inner.name), _value(inner, each)
    elif path[0] != "uninterpreted_option":
        for each in _elements(field, value):
            yield path, _value(field, each)


def _elements(field: FieldType, value: Any) -> Iterable[Any]:
    """Return what a repeated field holds, one at least of others; entries of maps are messages."""
    if not field.is_map:
        return value if field.repeated else [value]
    assert field.message is not None
    return [Decoded(field.message, {1: key, 2: each}) for key, each in value.items()]


def _value(field: FieldType, value: Any) -> syntax.Value:
    """Return the value of an option as a text has it."""
    if isinstance(value, Decoded):
        entries: list[tuple[str, syntax.Value]] = []
        for inner, values in value.fields():
            name = f"[{inner.name}]" if inner.number in value.type.extensions else inner.name
            found = [_value(inner, each) for each in _elements(inner, values)]
            entries.append((name, found if inner.repeated else found[0]))
        return syntax.Aggregate(entries)
    if field.enum is not None:
        return syntax.Word(field.enum.names.get(value, str(value)))
    if isinstance(value, bool):
        return syntax.Word("true" if value else "false")
    if isinstance(value, str):
        return syntax.Quoted((escape(_plain_value(value)),))
    if isinstance(value, bytes):
        return syntax.Quoted((escape_bytes(value),))
    if field.type in ("float", "double"):
        return syntax.Word(float_text(value, field.type))
    return syntax.Word(value)


def escape_bytes(data: bytes) -> str:
    r"""Return bytes as they stand between quotation marks.

    >>> print(escape_bytes(b"a\"\xff"))
    a\"\377
    """
    plain = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
    plain |= {each: f"\\{chr(each)}" for each in b"\"'\\"}
    return "".join(plain.get(each) or (chr(each) if 32 <= each < 127 else f"\\{each:03o}") for each in data)


def float_text(bits: int, kind: str) -> str:
    """Return a float or double, given its bits, with the digits that protoc gives it.

    >>> float_text(0x3DCCCCCD, "float"), float_text(0x7FF0000000000000, "double")
    ('0.1', 'inf')
    """
    size, form, least, most = (4, "<f", 6, 9) if kind == "float" else (8, "<d", 15, 17)
    data = bits.to_bytes(size, "little")
    (value,) = struct.unpack(form, data)
    text = f"{value:.{least}g}"
    return text if struct.pack(form, float(text)) == data else f"{value:.{most}g}"


def _read_custom_options(files: Mapping[str, _File], trees: Mapping[str, syntax.File]) -> None:
    """Add options that extensions name."""
    linked = link(with_known(trees))
    for file in files.values():
        for options, message in file.unread:
            kind = linked.messages.get(message.type.name)
            if kind is not None:
                file.add_options(options, read_message(kind, bytes(message.unknown), extensions=True))
