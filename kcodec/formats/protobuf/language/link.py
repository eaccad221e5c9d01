"""From trees to resolved types: names, features of editions, defaults, extensions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from kcodec.formats.protobuf.descriptor import SCALARS, EnumType, FieldType, MessageType
from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.literals import unquote_bytes
from kcodec.formats.protobuf.language.names import Names, entry_name, entry_of, full_name
from kcodec.formats.protobuf.language.options import OptionReader, flattened, number

#: What a file starts with, by syntax.
_FEATURES = {
    "proto2": {
        "field_presence": "EXPLICIT",
        "enum_type": "CLOSED",
        "repeated_field_encoding": "EXPANDED",
        "utf8_validation": "NONE",
        "message_encoding": "LENGTH_PREFIXED",
    },
    "proto3": {
        "field_presence": "IMPLICIT",
        "enum_type": "OPEN",
        "repeated_field_encoding": "PACKED",
        "utf8_validation": "VERIFY",
        "message_encoding": "LENGTH_PREFIXED",
    },
}
_EDITION = _FEATURES["proto3"] | {"field_presence": "EXPLICIT"}
#: Values of features, with their numbers, which stand for them in aggregates.
_VALUES = {
    "field_presence": {"EXPLICIT": 1, "IMPLICIT": 2, "LEGACY_REQUIRED": 3},
    "enum_type": {"OPEN": 1, "CLOSED": 2},
    "repeated_field_encoding": {"PACKED": 1, "EXPANDED": 2},
    "utf8_validation": {"VERIFY": 2, "NONE": 3},
    "message_encoding": {"LENGTH_PREFIXED": 1, "DELIMITED": 2},
}

#: Options of a field that attributes of `FieldType` stand for.
_ATTRIBUTES = frozenset(["default", "json_name", "packed", "features"])


@dataclass
class Linked:
    """The types of some files, by full name; those of the first file stand first."""

    messages: dict[str, MessageType] = field(default_factory=dict)
    enums: dict[str, EnumType] = field(default_factory=dict)
    extensions: dict[str, FieldType] = field(default_factory=dict)


def json_name(name: str) -> str:
    """Return the name in JSON of a field that declares none: ``_`` makes the next letter a capital.

    >>> json_name("snake_case_name")
    'snakeCaseName'
    """
    first, *rest = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in rest)


def link(files: Mapping[str, syntax.File] | Names) -> Linked:
    """Resolve files, the main one first; `SchemaError` with the place of what cannot be resolved.

    Imports that are missing are an error only if a name is missing.
    """
    return _Linker(files if isinstance(files, Names) else Names(files)).linked


class _Linker:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.linked = Linked()
        self.features: dict[str, dict[str, str]] = {}
        self.field_options: list[tuple[str, FieldType, list[syntax.Option]]] = []
        self.path = ""
        self.made: list[str] = []
        self._make_missing()
        # It grows: a name that is looked for may be that of a known file.
        for path in self.made:
            self._fill_types(path)
        reader = OptionReader(self.names, self.linked.extensions, self.linked.messages)
        root = self.linked.messages.get("google.protobuf.FieldOptions")
        for scope, owner, options in self.field_options:
            owner.options.update(flattened(reader.read(scope, root, options)))

    def fail(self, at: int, message: str) -> NoReturn:
        self.names.fail(self.path, at, message)

    # Types

    def _make_missing(self) -> None:
        here = self.path
        for path in self.names.files:
            if path not in self.made:
                self._make_types(path)
        self.path = here

    def _make_types(self, path: str) -> None:
        """Make the types of a file, without their fields."""
        self.made.append(path)
        self.path = path
        file = self.names.files[path]
        if file.misnamed is not None:
            self.fail(*file.misnamed)
        features = self._features(_FEATURES.get(file.syntax or "proto2", _EDITION), file.options)
        self.features[path] = features
        self._make_messages(file.package, file.messages, features)
        self._make_enums(file.package, file.enums, features)
        self._make_groups(file.package, file.extends, features)

    def _make_messages(self, scope: str, nodes: Iterable[syntax.Message], features: dict[str, str]) -> None:
        for node in nodes:
            full = full_name(scope, node.name)
            own = self.features[full] = self._features(features, node.options)
            self.linked.messages[full] = MessageType(
                full,
                # Without a key or a value, as Confluent's registry stores them too, they are messages like others.
                map_entry=syntax.is_map_entry(node) and {1, 2} <= {each.number for each in node.fields},
                message_set=syntax.find_option(node.options, "message_set_wire_format") == "true",
                syntax=self._syntax,
            )
            nested = [each for member in node.fields if (each := member.group or entry_of(member))]
            self._make_messages(full, [*node.messages, *nested], own)
            self._make_enums(full, node.enums, own)
            self._make_groups(full, node.extends, own)

    def _make_enums(self, scope: str, nodes: Iterable[syntax.Enum], features: dict[str, str]) -> None:
        for node in nodes:
            full = full_name(scope, node.name)
            closed = self._features(features, node.options)["enum_type"] == "CLOSED"
            values = tuple((each.name, each.number) for each in node.values)
            self.linked.enums[full] = EnumType(full, values, closed)

    def _make_groups(self, scope: str, extends: Iterable[syntax.Extend], features: dict[str, str]) -> None:
        groups = [each.group for extend in extends for each in extend.fields if each.group]
        self._make_messages(scope, groups, features)

    @property
    def _syntax(self) -> str:
        return self.names.files[self.path].syntax or "proto2"

    def _fill_types(self, path: str) -> None:
        """Give the messages of a file their fields."""
        self.path = path
        file = self.names.files[path]
        for full, node in list(self.names.types.items()):
            if self.names.paths[full] == path and isinstance(node, syntax.Message):
                message = self.linked.messages[full]
                message.fields = tuple(self._fields(message, node, self.features[full]))
                for extend in node.extends:
                    self._extend(full, extend, self.features[full])
        for extend in file.extends:
            self._extend(file.package, extend, self.features[path])

    def _find(self, scope: str, name: str) -> MessageType | EnumType | None:
        full = self.names.find(self.path, scope, name)
        if full is None:
            return None
        if full not in self.features and full not in self.linked.enums:
            self._make_missing()
        return self.linked.messages.get(full) or self.linked.enums[full]

    # Features

    def _features(self, parent: dict[str, str], options: list[syntax.Option]) -> dict[str, str]:
        found: dict[str, str] = {}
        for option in options:
            if option.name[0] != "features":
                continue
            if isinstance(option.value, syntax.Aggregate):
                pairs = option.value.entries
            else:
                pairs = [(".".join(option.name[1:]), option.value)]
            for name, value in pairs:
                known = _VALUES.get(name, {})
                word = value if isinstance(value, syntax.Word) else ""
                if isinstance(option.value, syntax.Aggregate):
                    word = next((each for each, number in known.items() if str(number) == word), word)
                if known and word not in known:
                    self.fail(option.at, f"{value} is not one of {', '.join(known)}")
                found[name] = word
        return parent | found if found else parent

    # Fields

    def _fields(
        self, message: MessageType, node: syntax.Message, features: dict[str, str]
    ) -> Iterator[FieldType]:
        numbers: dict[int, str] = {}
        names: set[str] = set()
        inner = {id(each): self._features(features, each.options) for each in node.oneofs}
        for each in node.fields:
            field = self._field(message.name, each, inner.get(id(each.oneof), features))
            if field.name in names:
                self.fail(each.at, f"the field {field.name} is declared twice")
            if field.number in numbers:
                self.fail(each.at, f"{field.name} has the number of {numbers[field.number]}, {field.number}")
            names.add(field.name)
            numbers[field.number] = field.name
            if message.map_entry:
                # Texts of entries are checked in every syntax, and messages in them are delimited in none.
                field.utf8 = True
                if each.group is None and field.message is not None:
                    field.type = "message"
                field.presence = field.message is not None
            yield field

    def _field(
        self, scope: str, node: syntax.Field, features: dict[str, str], target: MessageType | None = None
    ) -> FieldType:
        """Return a field, or an extension of a target."""
        edition = self._syntax not in _FEATURES
        highest = syntax.MAX_NUMBER if target is None or not target.message_set else 2**31 - 2
        if not 0 < node.number <= highest:
            self.fail(node.at, f"the number {node.number} of {node.name} is not from 1 to {highest}")
        features = self._features(features, node.options)
        repeated = node.label == "repeated" or bool(node.key)
        field = FieldType(node.name, node.number, node.type, repeated=repeated)
        if node.group is not None:
            field.message = self.linked.messages[full_name(scope, node.group.name)]
        elif node.key:
            field.message = self.linked.messages[f"{scope}.{entry_name(node.name)}"]
        elif node.type not in SCALARS:
            found = self._find(scope, node.type)
            if found is None:
                self.fail(node.at, f"{node.name} has the unknown type {node.type}")
            if isinstance(found, EnumType):
                field.enum, field.type = found, "enum"
            else:
                field.message = found
        if field.message is not None:
            delimited = features["message_encoding"] == "DELIMITED" and not field.is_map
            field.type = "group" if delimited or node.group is not None else "message"
        field.required = node.label == "required" or (
            edition and features["field_presence"] == "LEGACY_REQUIRED" and not repeated
        )
        field.oneof = node.oneof.name if node.oneof is not None else ""
        field.presence = not repeated and (
            target is not None
            or field.message is not None
            or node.oneof is not None
            or bool(node.label)
            or features["field_presence"] != "IMPLICIT"
        )
        field.packed = repeated and self._is_packed(field, node, features)
        field.utf8 = features["utf8_validation"] == "VERIFY"
        field.json_name = json_name(node.name)
        for option in node.options:
            if option.name == ("default",):
                field.default = self._default(field, option)
            elif option.name == ("json_name",) and isinstance(option.value, syntax.Quoted):
                field.json_name = unquote_bytes(option.value).decode("utf-8", "replace")
        options = [each for each in node.options if each.name[0] not in _ATTRIBUTES]
        if options:
            self.field_options.append((scope, field, options))
        return field

    def _is_packed(self, field: FieldType, node: syntax.Field, features: dict[str, str]) -> bool:
        if field.message is not None or field.type in ("string", "bytes"):
            return False
        said = syntax.find_option(node.options, "packed")
        return said == "true" if said is not None else features["repeated_field_encoding"] == "PACKED"

    def _extend(self, scope: str, node: syntax.Extend, features: dict[str, str]) -> None:
        target = self._find(scope, node.target)
        if not isinstance(target, MessageType):
            self.fail(node.at, f"{node.target} is not a message that can be extended")
        for each in node.fields:
            if each.key:
                self.fail(each.at, f"the map {each.name} is an extension")
            field = self._field(scope, each, features, target)
            field.name = full_name(scope, each.name)
            field.json_name = f"[{field.name}]"
            other = target.extensions.setdefault(field.number, field).name
            # Files that know nothing of each other may give one number to two: protoc only warns of it.
            if other != field.name and self.names.extensions[other].path == self.path:
                self.fail(each.at, f"{field.name} extends {target.name} with the number of {other}")
            self.linked.extensions[field.name] = field

    # Values

    def _default(self, field: FieldType, option: syntax.Option) -> Any:
        """Return the declared default of a field."""
        found = _default(field, option.value)
        if found is None:
            self.fail(option.at, f"the default of {field.name} is not of type {field.type}")
        return found


def _default(field: FieldType, value: syntax.Value) -> Any:
    kind = field.type
    if isinstance(value, syntax.Quoted):
        if kind not in ("string", "bytes"):
            return None
        data = unquote_bytes(value)
        return data if kind == "bytes" else data.decode("utf-8", "replace")
    if not isinstance(value, syntax.Word):
        return None
    if field.enum is not None:
        return str(value) if value in field.enum.numbers else None
    if kind == "bool":
        return {"true": True, "false": False}.get(value)
    if kind in ("string", "bytes"):
        # The registry prints the default of bytes without quotation marks.
        return value.encode() if kind == "bytes" else str(value)
    return number(value, kind)
