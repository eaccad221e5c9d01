"""From trees to resolved types: names, features of editions, defaults, extensions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Union

from kcodec.errors import SchemaError
from kcodec.formats.protobuf.descriptor import SCALARS, EnumType, FieldType, MessageType
from kcodec.formats.protobuf.parse import fail, integer, unquote, unquote_bytes
from kcodec.formats.protobuf.syntax import (
    MAX_NUMBER,
    Aggregate,
    Enum,
    Extend,
    Field,
    File,
    Message,
    Option,
    Quoted,
    Value,
    Word,
    find_option,
    is_map_entry,
)

__all__ = ["Linked", "json_name", "link"]

_Named = Union[MessageType, EnumType]

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
_VALUES = {
    "field_presence": ("EXPLICIT", "IMPLICIT", "LEGACY_REQUIRED"),
    "enum_type": ("OPEN", "CLOSED"),
    "repeated_field_encoding": ("PACKED", "EXPANDED"),
    "utf8_validation": ("VERIFY", "NONE"),
    "message_encoding": ("LENGTH_PREFIXED", "DELIMITED"),
}

#: Options of a field that attributes of `FieldType` stand for.
_ATTRIBUTES = frozenset(["default", "json_name", "packed"])

_BITS = {"32": 32, "64": 64}


@dataclass
class Linked:
    """The types of some files, by full name; those of the first file stand first."""

    messages: dict[str, MessageType] = field(default_factory=dict)
    enums: dict[str, EnumType] = field(default_factory=dict)
    extensions: dict[str, FieldType] = field(default_factory=dict)


def json_name(name: str) -> str:
    """Return the name in JSON of a field that declares none: ``_`` makes the next letter a capital.

    Examples
    --------
    >>> json_name("snake_case_name")
    'snakeCaseName'
    """
    first, *rest = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in rest)


def link(files: Mapping[str, File]) -> Linked:
    """Resolve files, of which the first is the main one, and all that they import must be among them.

    Imports that are missing are an error only if a name is missing.

    Raises
    ------
    SchemaError
        With the place of what cannot be resolved.
    """
    return _Linker(files).linked


class _Linker:
    def __init__(self, files: Mapping[str, File]) -> None:
        self.files = files
        self.linked = Linked()
        self.packages: dict[str, set[str]] = {}
        self.owners: dict[str, str] = {}
        self.visible: dict[str, set[str]] = {}
        self.file = next(iter(files.values()))
        self.path = next(iter(files))
        self.seen: set[str] = set()
        # What is resolved when all names are known.
        self.bodies: list[tuple[str, MessageType, Message, dict[str, str]]] = []
        self.extends: list[tuple[str, str, Extend, dict[str, str]]] = []
        self.field_options: list[tuple[str, str, FieldType, list[Option]]] = []
        for self.path, self.file in files.items():
            self._declare()
        for path, message, node, features in self.bodies:
            self._enter(path)
            message.fields = tuple(self._fields(message, node, features))
        for path, scope, extend, features in self.extends:
            self._enter(path)
            self._extend(scope, extend, features)
        for path, scope, owner, options in self.field_options:
            self._enter(path)
            self._read_options(scope, owner, options)

    def _enter(self, path: str) -> None:
        self.path, self.file = path, self.files[path]
        if path not in self.visible:
            self.visible[path] = {path, *self._imported(path)}
        self.seen = self.visible[path]

    def _imported(self, path: str) -> Iterator[str]:
        """Yield what a file sees: its imports, and what those import publicly, circles or not."""
        pending = [each.path for each in self.files[path].imports]
        done = {path}
        while pending:
            each = pending.pop()
            if each in done or each not in self.files:
                continue
            done.add(each)
            yield each
            pending += [more.path for more in self.files[each].imports if more.kind == "public"]

    def fail(self, at: int, message: str) -> NoReturn:
        path = self.path if len(self.files) > 1 else ""
        fail(self.file.text, at, message, path)

    # Names

    def _declare(self) -> None:
        file = self.file
        syntax = file.syntax or "proto2"
        features = self._features(_FEATURES.get(syntax, _EDITION), file.options, 0)
        package = file.package
        for message in file.messages:
            self._declare_message(package, message, features)
        for enum in file.enums:
            self._declare_enum(package, enum, features)
        for extend in file.extends:
            self._declare_extend(package, extend, features)

    def _add(self, scope: str, name: str, at: int) -> str:
        full = f"{scope}.{name}" if scope else name
        if full in self.owners:
            self.fail(at, f"{full} is declared twice")
        self.owners[full] = self.path
        return full

    def _declare_message(self, scope: str, node: Message, features: dict[str, str]) -> MessageType:
        full = self._add(scope, node.name, node.at)
        features = self._features(features, node.options, node.at)
        message = MessageType(
            full,
            map_entry=is_map_entry(node),
            message_set=find_option(node.options, "message_set_wire_format") == "true",
            syntax=self.file.syntax or "proto2",
        )
        self.linked.messages[full] = message
        self.bodies.append((self.path, message, node, features))
        for each in node.messages:
            self._declare_message(full, each, features)
        for enum in node.enums:
            self._declare_enum(full, enum, features)
        for extend in node.extends:
            self._declare_extend(full, extend, features)
        for field in node.fields:
            if field.group is not None:
                self._declare_message(full, field.group, features)
            elif field.key:
                self._declare_entry(full, field, features)
        return message

    def _declare_extend(self, scope: str, extend: Extend, features: dict[str, str]) -> None:
        self.extends.append((self.path, scope, extend, features))
        for field in extend.fields:
            if field.group is not None:
                self._declare_message(scope, field.group, features)

    def _declare_entry(self, scope: str, field: Field, features: dict[str, str]) -> None:
        """Declare the message that a map's entries are."""
        name = entry_name(field.name)
        value = Field("optional", field.type, "value", 2, at=field.at)
        key = Field("optional", field.key, "key", 1, at=field.at)
        node = Message(name, [key, value], options=[Option(("map_entry",), Word("true"))], at=field.at)
        self._declare_message(scope, node, features)

    def _declare_enum(self, scope: str, node: Enum, features: dict[str, str]) -> None:
        full = self._add(scope, node.name, node.at)
        features = self._features(features, node.options, node.at)
        values = tuple((each.name, each.number) for each in node.values)
        self.linked.enums[full] = EnumType(full, values, features["enum_type"] == "CLOSED")

    def find(self, scope: str, name: str) -> _Named | None:
        """Return the type of a name as seen from a scope: innermost first, imported files before others."""
        for visible in (self.seen, None):
            for full in _candidates(scope, name):
                if full in self.owners and (visible is None or self.owners[full] in visible):
                    return self.linked.messages.get(full) or self.linked.enums[full]
        return None

    # Features

    def _features(self, parent: dict[str, str], options: list[Option], at: int) -> dict[str, str]:
        found: dict[str, str] = {}
        for option in options:
            if option.name[0] != "features":
                continue
            if isinstance(option.value, Aggregate):
                pairs = option.value.entries
            else:
                pairs = [(".".join(option.name[1:]), option.value)]
            for name, value in pairs:
                if name not in _VALUES:
                    continue
                if value not in _VALUES[name]:
                    self.fail(option.at, f"{value} is not one of {', '.join(_VALUES[name])}")
                found[name] = str(value)
        return parent | found if found else parent

    # Fields

    def _fields(self, message: MessageType, node: Message, features: dict[str, str]) -> Iterator[FieldType]:
        numbers: dict[int, str] = {}
        names: set[str] = set()
        for each in node.fields:
            field = self._field(message.name, each, features)
            if field.name in names:
                self.fail(each.at, f"the field {field.name} is declared twice")
            if field.number in numbers:
                self.fail(each.at, f"{field.name} has the number of {numbers[field.number]}, {field.number}")
            names.add(field.name)
            numbers[field.number] = field.name
            if message.map_entry:
                # Texts of entries are checked in every syntax.
                field.utf8 = True
                field.presence = field.message is not None
            yield field

    def _field(self, scope: str, node: Field, features: dict[str, str], extension: bool = False) -> FieldType:
        syntax = self.file.syntax or "proto2"
        edition = syntax not in _FEATURES
        if not 0 < node.number <= MAX_NUMBER:
            self.fail(node.at, f"the number {node.number} of {node.name} is not from 1 to {MAX_NUMBER}")
        if node.oneof is not None:
            features = self._features(features, node.oneof.options, node.at)
        features = self._features(features, node.options, node.at)
        repeated = node.label == "repeated" or bool(node.key)
        field = FieldType(node.name, node.number, node.type, repeated=repeated)
        if node.group is not None:
            field.message = self.linked.messages[f"{scope}.{node.group.name}" if scope else node.group.name]
        elif node.key:
            field.message = self.linked.messages[f"{scope}.{entry_name(node.name)}"]
        elif node.type not in SCALARS:
            found = self.find(scope, node.type)
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
            extension
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
            elif option.name == ("json_name",) and isinstance(option.value, Quoted):
                field.json_name = unquote(option.value)
        if any(option.name[0] not in _ATTRIBUTES for option in node.options):
            self.field_options.append((self.path, scope, field, node.options))
        return field

    def _is_packed(self, field: FieldType, node: Field, features: dict[str, str]) -> bool:
        if field.message is not None or field.type in ("string", "bytes"):
            return False
        said = find_option(node.options, "packed")
        return said == "true" if said is not None else features["repeated_field_encoding"] == "PACKED"

    def _extend(self, scope: str, node: Extend, features: dict[str, str]) -> None:
        target = self.find(scope, node.target)
        if not isinstance(target, MessageType):
            self.fail(node.at, f"{node.target} is not a message that can be extended")
        for each in node.fields:
            field = self._field(scope, each, features, extension=True)
            field.name = f"{scope}.{each.name}" if scope else each.name
            field.json_name = f"[{field.name}]"
            if field.number in target.extensions:
                other = target.extensions[field.number].name
                self.fail(each.at, f"{field.name} extends {target.name} with the number of {other}")
            target.extensions[field.number] = field
            self.linked.extensions[field.name] = field

    # Values

    def _default(self, field: FieldType, option: Option) -> Any:
        """Return the declared default of a field."""
        value = option.value
        kind = field.type
        if isinstance(value, Quoted) and kind in ("string", "bytes"):
            data = unquote_bytes(value)
            return data if kind == "bytes" else data.decode("utf-8", "replace")
        if isinstance(value, Word):
            if kind == "enum" and field.enum is not None and value in field.enum.numbers:
                return str(value)
            if kind == "bool" and value in ("true", "false"):
                return value == "true"
            if kind in ("string", "bytes"):
                # As the registry prints the default of bytes.
                return value.encode() if kind == "bytes" else str(value)
            found = number(value, kind)
            if found is not None:
                return found
        self.fail(option.at, f"the default of {field.name} is not of type {field.type}")

    def _read_options(self, scope: str, field: FieldType, options: list[Option]) -> None:
        root = self.linked.messages.get("google.protobuf.FieldOptions")
        for option in options:
            if option.name[0] in _ATTRIBUTES or option.name[0] == "features":
                continue
            self._read_option(field.options, scope, root, option.name, option.value)

    def _read_option(
        self,
        found: dict[str, Any],
        scope: str,
        root: MessageType | None,
        name: tuple[str, ...],
        value: Value,
    ) -> None:
        """Add an option's values under their dotted names."""
        parts: list[str] = []
        kind: FieldType | None = None
        message = root
        for part in name:
            kind = self._member(scope, message, part)
            message = kind.message if kind is not None else None
            parts.append(f"({kind.name})" if kind is not None and part.startswith("(") else part)
        self._flatten(found, scope, ".".join(parts), kind, value)

    def _member(self, scope: str, message: MessageType | None, name: str) -> FieldType | None:
        if name[0] in "([":
            for full in _candidates(scope, name[1:-1]):
                if full in self.linked.extensions:
                    return self.linked.extensions[full]
            return None
        return message.by_name.get(name) if message is not None else None

    def _flatten(
        self, found: dict[str, Any], scope: str, path: str, kind: FieldType | None, value: Value
    ) -> None:
        if isinstance(value, Aggregate) and (kind is None or not kind.repeated):
            for name, each in value.entries:
                member = self._member(scope, kind.message if kind is not None else None, name)
                label = f"({member.name})" if member is not None and name[0] == "[" else name
                self._flatten(found, scope, f"{path}.{label}", member, each)
            return
        read = self._plain(scope, kind, value)
        if kind is not None and kind.is_map:
            entries = read if isinstance(read, list) else [read]
            found.setdefault(path, {}).update((each.get("key"), each.get("value")) for each in entries)
        elif kind is not None and kind.repeated:
            found.setdefault(path, []).extend(read if isinstance(read, list) else [read])
        else:
            found[path] = read

    def _plain(self, scope: str, kind: FieldType | None, value: Value) -> Any:
        """Return a value as Python has it, as its field says, or as it looks."""
        if isinstance(value, list):
            return [self._plain(scope, kind, each) for each in value]
        if isinstance(value, Aggregate):
            message = kind.message if kind is not None else None
            return {
                name: self._plain(scope, self._member(scope, message, name), each)
                for name, each in value.entries
            }
        if isinstance(value, Quoted):
            data = unquote_bytes(value)
            return data if kind is not None and kind.type == "bytes" else data.decode("utf-8", "replace")
        if value in ("true", "false"):
            return value == "true"
        if kind is not None and kind.type in SCALARS:
            read = number(value, kind.type)
            return str(value) if read is None else read
        if kind is not None:
            return str(value)
        read = number(value, "int64")
        read = number(value, "double") if read is None else read
        return str(value) if read is None else read


def entry_name(field: str) -> str:
    """Return the name of the message that the entries of a map field are, without its scope.

    Examples
    --------
    >>> entry_name("map_field")
    'MapFieldEntry'
    """
    return "".join(each[:1].upper() + each[1:] for each in field.split("_")) + "Entry"


def number(word: str, kind: str) -> int | float | None:
    """Return a number as a scalar type has it; None if it is none or out of its range."""
    found = integer(word)
    if kind in ("float", "double"):
        if found is not None:
            return float(found)
        if word.lstrip("-") in ("inf", "nan", "infinity"):
            return float(word)
        try:
            read = float(word.rstrip("fF")) if word[-1:].isascii() and "_" not in word else math.nan
        except ValueError:
            return None
        return None if math.isnan(read) else read
    if found is None or kind in ("string", "bytes", "bool"):
        return None
    bits = 64 if kind.endswith("64") else 32
    if kind.startswith(("uint", "fixed")):
        return found if 0 <= found < 2**bits else None
    return found if -(2 ** (bits - 1)) <= found < 2 ** (bits - 1) else None


def _candidates(scope: str, name: str) -> Iterator[str]:
    """Yield the full names that a name may mean, innermost scope first."""
    if name.startswith("."):
        yield name[1:]
        return
    while scope:
        yield f"{scope}.{name}"
        scope = scope.rpartition(".")[0]
    yield name
