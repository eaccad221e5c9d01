"""The descriptor that Confluent's registry gives for a text (``format=serialized``).

It is made of the words of the text: names as written, entries of maps behind the nested messages, no groups, and
members of oneofs before the other fields. It is not what protoc makes: see
`kcodec.formats.protobuf.exported.descriptor_bytes`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcodec.formats.protobuf.descriptor import SCALARS
from kcodec.formats.protobuf.exported.descriptor_bytes import (
    field_type,
    made,
    reserved_names,
    reserved_ranges,
    written_options,
)
from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.literals import unquote
from kcodec.formats.protobuf.language.names import full_name, registry_entry_name
from kcodec.formats.protobuf.language.text import CONFLUENT
from kcodec.formats.protobuf.messages.message import Message as Encoded
from kcodec.formats.protobuf.messages.message import write_message
from kcodec.formats.protobuf.schema import ProtobufSchema

#: What ``max`` is in the ranges of an enum.
_MAX = 2**31 - 1

#: Options that the registry has no place for; nor for those whose names have dots, but extensions.
_LOST = (
    "lazy",
    "unverified_lazy",
    "weak",
    "message_set_wire_format",
    "deprecated_legacy_json_field_conflicts",
)


def serialized(schema: ProtobufSchema) -> bytes:
    """Return the bytes of the main file's FileDescriptorProto."""
    return write_message(_Serializer(schema).file())


class _Serializer:
    def __init__(self, schema: ProtobufSchema) -> None:
        self.schema = schema

    def file(self) -> Encoded:
        tree = self.schema.main
        scope = tree.package
        imports = list(dict.fromkeys(each.path for each in tree.imports if not each.kind))
        public = list(dict.fromkeys(each.path for each in tree.imports if each.kind == "public"))
        return made(
            "FileDescriptorProto",
            name="default",
            package=tree.package,
            dependency=imports + public,
            public_dependency=[len(imports) + i for i in range(len(public))],
            message_type=[self.message(scope, each) for each in tree.messages],
            enum_type=[self.enum(each) for each in tree.enums],
            extension=self.extensions(scope, tree.extends),
            service=[self.service(each) for each in tree.services],
            options=self.options("FileOptions", tree.options),
            syntax=tree.syntax,
        )

    def message(self, scope: str, node: syntax.Message) -> Encoded:
        full = full_name(scope, node.name)
        plain = [each for each in node.fields if each.group is None]
        names = [each.name for each in node.oneofs]
        fields = [
            self.field(full, each, i)
            for i, members in enumerate(syntax.members_of(node))
            for each in members
            if each.group is None
        ]
        for each in plain:
            if each.oneof is None:
                is_optional = self.is_optional(each)
                fields.append(self.field(full, each, len(names) if is_optional else None))
                names += [f"_{each.name}"] * is_optional
        empty = made("OneofOptions")
        return made(
            "DescriptorProto",
            name=node.name,
            field=fields,
            nested_type=[
                *(self.message(full, each) for each in node.messages),
                *(self.entry(full, each) for each in plain if each.key),
            ],
            enum_type=[self.enum(each) for each in node.enums],
            extension_range=[
                made(
                    "DescriptorProto.ExtensionRange",
                    start=numbers[0],
                    end=numbers[-1] + 1,
                    options=made("ExtensionRangeOptions"),
                )
                for each in node.extensions
                for numbers in each.ranges
            ],
            extension=self.extensions(full, node.extends),
            options=self.options("MessageOptions", node.options),
            oneof_decl=[made("OneofDescriptorProto", name=name, options=empty) for name in names],
            reserved_range=reserved_ranges("DescriptorProto.ReservedRange", node.reserved, 1),
            reserved_name=reserved_names(node.reserved),
        )

    def is_optional(self, field: syntax.Field) -> bool:
        return self.schema.main.syntax == "proto3" and field.label == "optional" and field.oneof is None

    def entry(self, scope: str, node: syntax.Field) -> Encoded:
        name = registry_entry_name(node.name)
        key, value = syntax.Field("", node.key, "key", 1), syntax.Field("", node.type, "value", 2)
        return made(
            "DescriptorProto",
            name=name,
            field=[self.field(f"{scope}.{name}", each, None) for each in (key, value)],
            options=self.options("MessageOptions", [syntax.Option(("map_entry",), syntax.Word("true"))]),
        )

    def field(
        self, scope: str, node: syntax.Field, oneof: int | None, extendee: str | None = None
    ) -> Encoded:
        kinds = self.kind(scope, node)
        label = {"optional": 1, "required": 2, "repeated": 3}.get(node.label)
        label = 1 if node.oneof is not None else 3 if node.key else label
        field = made(
            "FieldDescriptorProto",
            name=node.name,
            number=node.number,
            label=label,
            type=kinds,
            type_name=registry_entry_name(node.name)
            if node.key
            else ""
            if node.type in SCALARS
            else node.type,
            extendee=extendee,
            oneof_index=oneof,
            options=self.options("FieldOptions", node.options),
            proto3_optional=extendee is None and self.is_optional(node),
        )
        for option in node.options:
            if option.name in (("default",), ("json_name",)):
                raw = unquote(option.value) if isinstance(option.value, syntax.Quoted) else str(option.value)
                name = "default_value" if option.name == ("default",) else "json_name"
                # It is set even where it is empty.
                field.values[field.type.by_name[name].number] = raw
        return field

    def kind(self, scope: str, node: syntax.Field) -> int | None:
        """Return the number of a field's type; maps have none, unless a type is called as their entries are."""
        name = registry_entry_name(node.name) if node.key else node.type
        if name not in SCALARS:
            full = self.schema.names.find(self.schema.path, scope, name)
            if full is None:
                return None
            name = "enum" if isinstance(self.schema.names.types[full], syntax.Enum) else "message"
        return field_type(name)

    def extensions(self, scope: str, nodes: Iterable[syntax.Extend]) -> list[Encoded]:
        return [
            self.field(scope, field, None, each.target)
            for each in nodes
            for field in each.fields
            if field.group is None
        ]

    def enum(self, node: syntax.Enum) -> Encoded:
        return made(
            "EnumDescriptorProto",
            name=node.name,
            value=[
                made(
                    "EnumValueDescriptorProto",
                    name=each.name,
                    number=each.number,
                    options=self.options("EnumValueOptions", each.options),
                )
                for each in node.values
            ],
            options=self.options("EnumOptions", node.options),
            reserved_range=reserved_ranges(
                "EnumDescriptorProto.EnumReservedRange", map(_capped, node.reserved), 0
            ),
            reserved_name=reserved_names(node.reserved),
        )

    def service(self, node: syntax.Service) -> Encoded:
        methods = []
        for each in node.rpcs:
            method = made(
                "MethodDescriptorProto",
                name=each.name,
                input_type=each.request,
                output_type=each.response,
                options=self.options("MethodOptions", each.options),
            )
            method.values[5], method.values[6] = each.request_stream, each.response_stream
            methods.append(method)
        options = self.options("ServiceOptions", node.options)
        return made("ServiceDescriptorProto", name=node.name, method=methods, options=options)

    def options(self, kind: str, options: list[syntax.Option]) -> Encoded | None:
        """Return the options that descriptor.proto itself knows, and Confluent's own."""
        kept = [
            each
            for each in options
            if each.name not in (("default",), ("json_name",)) and _is_kept(each.name)
        ]
        written = written_options(self.schema, kind, kept)
        return written if written.values else None


def _capped(reserved: syntax.Reserved) -> syntax.Reserved:
    """Return numbers of an enum as the registry has them: ``max`` is that of fields to it."""
    items = [
        (each[0], syntax.MAX_NUMBER) if not isinstance(each, str) and each[1:] == (_MAX,) else each
        for each in reserved.items
    ]
    return syntax.Reserved(items, reserved.at)


def _is_kept(name: tuple[str, ...]) -> bool:
    if name[0][0] == "(":
        return name[0].startswith(CONFLUENT)
    return len(name) == 1 and name[0] not in _LOST
