"""From trees to descriptors, as protoc makes them: what classes and pools of google.protobuf are built from."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from kcodec.errors import SchemaError
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.descriptor_set import descriptor_types, escape_bytes, float_text
from kcodec.formats.protobuf.language.link import json_name
from kcodec.formats.protobuf.language.names import Extension, entry_of, full_name
from kcodec.formats.protobuf.language.options import Fields, OptionReader, Packed
from kcodec.formats.protobuf.messages.message import Message as Encoded
from kcodec.formats.protobuf.messages.message import default_of, write_message
from kcodec.formats.protobuf.schema import ProtobufSchema

_LABELS = {"": 1, "optional": 1, "required": 2, "repeated": 3}
_EDITIONS = {"2023": 1000, "2024": 1001}

#: One more than the highest number of an extension of a message set.
_MAX_SET = 2**31 - 1

#: What values of options are to Python, if not whole numbers.
_VALUES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "string": (str,),
    "bytes": (bytes,),
    "float": (int, float),
    "double": (int, float),
}

#: Options of a field that are no options in a descriptor.
_SPECIAL = (("default",), ("json_name",))


def write_descriptor_set(schema: ProtobufSchema) -> bytes:
    """Return the bytes of a FileDescriptorSet of all files of a schema, each after those that it imports.

    The main file is ``main.proto`` if it has no path.

    >>> schema = ProtobufSchema.parse('syntax = "proto3"; message M { int32 a = 1; }')
    >>> again = ProtobufSchema.parse(write_descriptor_set(schema))
    >>> again.path, again.message().name
    ('main.proto', 'M')
    """
    ordered: list[str] = []
    pending = [schema.path]
    while pending:
        imports = [each.path for each in schema.files[pending[-1]].imports]
        more = [
            each for each in imports if each in schema.files and each not in ordered and each not in pending
        ]
        if more:
            pending.append(more[0])
        else:
            ordered.append(pending.pop())
    files = [_File(schema, path).file(path or "main.proto") for path in ordered]
    return write_message(made("FileDescriptorSet", file=files))


def made(kind: str, **values: Any) -> Encoded:
    """Return a message of descriptor.proto; empty values, None and False are not set."""
    message = Encoded(descriptor_types()[f"google.protobuf.{kind}"])
    for name, value in values.items():
        if value or (value == 0 and value is not False):
            message.values[message.type.by_name[name].number] = value
    return message


def field_type(name: str) -> int:
    """Return the number of a field's type, such as ``"int32"`` or ``"message"``."""
    types = descriptor_types()["google.protobuf.FieldDescriptorProto"].by_name["type"].enum
    assert types is not None
    return types.numbers[f"TYPE_{name.upper()}"]


def written_options(schema: ProtobufSchema, kind: str, options: Sequence[syntax.Option]) -> Encoded:
    """Return the options of one place; names are resolved only if one is in parentheses."""
    if not any(each.name[0].startswith("(") for each in options):
        schema = ProtobufSchema.of("")
    writer = _File(schema, schema.path)
    message = descriptor_types()[f"google.protobuf.{kind}"]
    return writer.encoded(writer.reader.read(writer.tree.package, message, options), message)


class _File:
    def __init__(self, schema: ProtobufSchema, path: str) -> None:
        self.schema = schema
        self.tree: syntax.File = schema.files[path]
        self.syntax = self.tree.syntax or "proto2"
        self.reader = OptionReader(schema.names, schema.extensions, schema.messages)

    def file(self, name: str) -> Encoded:
        tree, scope = self.tree, self.tree.package
        imports: list[syntax.Import] = [each for each in tree.imports if each.kind != "option"]
        groups = _groups(tree.extends)
        return made(
            "FileDescriptorProto",
            name=name,
            package=scope,
            dependency=[each.path for each in imports],
            public_dependency=[i for i, each in enumerate(imports) if each.kind == "public"],
            weak_dependency=[i for i, each in enumerate(imports) if each.kind == "weak"],
            option_dependency=[each.path for each in tree.imports if each.kind == "option"],
            message_type=self.messages(scope, [*tree.messages, *groups]),
            enum_type=[self.enum(scope, each) for each in tree.enums],
            extension=self.extensions(scope, tree.extends),
            service=[self.service(scope, each) for each in tree.services],
            options=self.options("FileOptions", scope, tree.options),
            syntax={"proto2": "", "proto3": "proto3"}.get(self.syntax, "editions"),
            edition=_EDITIONS.get(self.syntax),
        )

    def messages(self, scope: str, nodes: Iterable[syntax.Message]) -> list[Encoded]:
        """Return messages in the order in which they were declared, groups and maps included."""
        return [self.message(scope, each) for each in sorted(nodes, key=lambda each: each.at)]

    def message(self, scope: str, node: syntax.Message) -> Encoded:
        full = full_name(scope, node.name)
        inner = [body for field in node.fields if (body := field.group or entry_of(field))]
        oneofs = [
            made(
                "OneofDescriptorProto",
                name=each.name,
                options=self.options("OneofOptions", full, each.options),
            )
            for each in node.oneofs
        ]
        taken = {each.name for each in node.fields} | {each.name for each in node.oneofs}
        types, is_set = self.schema.messages[full].by_name, self.schema.messages[full].message_set
        indexes = {id(each): i for i, each in enumerate(node.oneofs)}
        fields = []
        for each in node.fields:
            index = indexes.get(id(each.oneof))
            if self.is_optional(each):
                index = len(oneofs)
                unique = each.name if each.name[0] == "_" else f"_{each.name}"
                while unique in taken:
                    unique = f"X{unique}"
                taken.add(unique)
                oneofs.append(made("OneofDescriptorProto", name=unique))
            fields.append(self.field(full, each, types[each.name], index))
        ranges = [
            made(
                "DescriptorProto.ExtensionRange",
                start=numbers[0],
                end=numbers[-1] + 1 if numbers[-1] != syntax.MAX_NUMBER or not is_set else _MAX_SET,
                options=self.options("ExtensionRangeOptions", full, each.options),
            )
            for each in node.extensions
            for numbers in each.ranges
        ]
        return made(
            "DescriptorProto",
            name=node.name,
            field=fields,
            nested_type=self.messages(full, [*node.messages, *inner, *_groups(node.extends)]),
            enum_type=[self.enum(full, each) for each in node.enums],
            extension_range=ranges,
            extension=self.extensions(full, node.extends),
            options=self.options("MessageOptions", full, node.options),
            oneof_decl=oneofs,
            reserved_range=reserved_ranges("DescriptorProto.ReservedRange", node.reserved, 1),
            reserved_name=reserved_names(node.reserved),
            visibility=_visibility(node.visibility),
        )

    def is_optional(self, field: syntax.Field) -> bool:
        return self.syntax == "proto3" and field.label == "optional" and field.oneof is None

    def field(
        self, scope: str, node: syntax.Field, kind: FieldType, oneof: int | None, extendee: str | None = None
    ) -> Encoded:
        named = kind.message or kind.enum
        # Only groups of texts are groups: what editions delimit is a message with a feature.
        name = "group" if node.group is not None else "message" if kind.message is not None else kind.type
        proto = {
            "name": node.name,
            "number": node.number,
            "label": 3 if node.key else _LABELS[node.label],
            "type": field_type(name),
            "type_name": f".{named.name}" if named is not None else "",
            "extendee": extendee,
            "oneof_index": oneof,
            "options": self.options(
                "FieldOptions", scope, [each for each in node.options if each.name not in _SPECIAL]
            ),
            "proto3_optional": self.is_optional(node),
        }
        field = made("FieldDescriptorProto", **proto)
        # It is set even where it is empty.
        name = kind.name_in_json if extendee is None else json_name(node.name)
        field.values[field.type.by_name["json_name"].number] = name
        if kind.default is not None:
            field.values[field.type.by_name["default_value"].number] = _default(kind)
        return field

    def extensions(self, scope: str, nodes: Iterable[syntax.Extend]) -> list[Encoded]:
        found = []
        for each in nodes:
            for field in each.fields:
                full = full_name(scope, field.name)
                declared: Extension = self.schema.names.extensions[full]
                target = self.schema.names.find(declared.path, scope, each.target)
                found.append(self.field(scope, field, self.schema.extensions[full], None, f".{target}"))
        return found

    def enum(self, scope: str, node: syntax.Enum) -> Encoded:
        full = full_name(scope, node.name)
        values = [
            made(
                "EnumValueDescriptorProto",
                name=each.name,
                number=each.number,
                options=self.options("EnumValueOptions", full, each.options),
            )
            for each in node.values
        ]
        return made(
            "EnumDescriptorProto",
            name=node.name,
            value=values,
            options=self.options("EnumOptions", full, node.options),
            reserved_range=reserved_ranges("EnumDescriptorProto.EnumReservedRange", node.reserved, 0),
            reserved_name=reserved_names(node.reserved),
            visibility=_visibility(node.visibility),
        )

    def service(self, scope: str, node: syntax.Service) -> Encoded:
        full = full_name(scope, node.name)
        methods = [
            made(
                "MethodDescriptorProto",
                name=each.name,
                input_type=self.type_name(full, each.request),
                output_type=self.type_name(full, each.response),
                options=self.options("MethodOptions", full, each.options)
                or (made("MethodOptions") if each.has_body else None),
                client_streaming=each.request_stream,
                server_streaming=each.response_stream,
            )
            for each in node.rpcs
        ]
        options = self.options("ServiceOptions", full, node.options)
        return made("ServiceDescriptorProto", name=node.name, method=methods, options=options)

    def type_name(self, scope: str, name: str) -> str:
        path = next(path for path, file in self.schema.files.items() if file is self.tree)
        return f".{self.schema.names.find(path, scope, name) or name}"

    # Options

    def options(self, kind: str, scope: str, options: Sequence[syntax.Option]) -> Encoded | None:
        if not options:
            return None
        message = descriptor_types()[f"google.protobuf.{kind}"]
        encoded = self.encoded(self.reader.read(scope, message, options), message)
        return encoded if encoded.values else None

    def encoded(self, fields: Fields, message: MessageType) -> Encoded:
        """Return options as a message; options without a field, or whose number is another field's, are left out."""
        # A type of its own: extensions are those of this schema.
        found = Encoded(replace(message, extensions={}))
        for name, value in fields.items():
            field = self.schema.extensions.get(name[1:-1]) if name[0] == "(" else message.by_name.get(name)
            if field is None or field.options.get("retention") == "RETENTION_SOURCE":
                continue
            if name[0] == "(":
                if field.number in message.by_number:
                    continue
                found.type.extensions[field.number] = field
            found.values[field.number] = self.value(field, value)
        return found

    def value(self, field: FieldType, value: Any) -> Any:
        if field.is_map:
            assert field.message is not None
            key, item = field.message.by_number[1], field.message.by_number[2]
            return {
                self.one(key, each): self.absent(item) if one is None else self.one(item, one)
                for each, one in value.items()
            }
        if field.repeated:
            return [self.one(field, each) for each in value]
        return self.one(field, value)

    def absent(self, field: FieldType) -> Any:
        """Return the value of an entry that lacks it."""
        return Encoded(field.message) if field.message is not None else default_of(field)

    def one(self, field: FieldType, value: Any) -> Any:
        if isinstance(value, Packed):
            message = self.schema.messages.get(value.type)
            if message is None:
                raise SchemaError(f"an option holds a message of the type {value.type}, which is not known")
            return write_message(self.encoded(value.fields, message))
        if field.message is not None and isinstance(value, Fields):
            return self.encoded(value, field.message)
        if field.enum is not None and isinstance(value, str):
            value = field.enum.numbers.get(value)
        if field.message is not None or type(value) not in _VALUES.get(field.type, (int,)):
            raise SchemaError(f"the value of the option {field.name} is not of type {field.type}")
        return _bits(field.type, value) if field.type in ("float", "double") else value


def _groups(extends: Iterable[syntax.Extend]) -> list[syntax.Message]:
    return [field.group for extend in extends for field in extend.fields if field.group is not None]


def reserved_ranges(kind: str, reserved: Iterable[syntax.Reserved], beyond: int) -> list[Encoded]:
    """Return the numbers of ``reserved`` statements; a range ends so many `beyond` its last number."""
    numbers: list[syntax.Range] = [
        item for each in reserved for item in each.items if not isinstance(item, str)
    ]
    return [made(kind, start=each[0], end=each[-1] + beyond) for each in numbers]


def reserved_names(reserved: Iterable[syntax.Reserved]) -> list[str]:
    """Return the names of ``reserved`` statements."""
    return [item for each in reserved for item in each.items if isinstance(item, str)]


def _visibility(word: str) -> int | None:
    return {"local": 1, "export": 2}.get(word)


def _default(field: FieldType) -> str:
    value = field.default
    if isinstance(value, bytes):
        return escape_bytes(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return float_text(_bits(field.type, value), field.type) if isinstance(value, float) else str(value)


def _bits(kind: str, value: float) -> int:
    try:
        data = struct.pack("<f" if kind == "float" else "<d", value)
    except OverflowError:
        data = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return int.from_bytes(data, "little")
