"""What protoc forbids in a text with an edition; registries store no other texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn

from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.descriptor_set import descriptor_types
from kcodec.formats.protobuf.language.link import Linked
from kcodec.formats.protobuf.language.names import Names, entry_name, full_name
from kcodec.formats.protobuf.language.options import Fields, OptionReader
from kcodec.formats.protobuf.language.styles import COLLISIONS, LEGACY, STYLE, collision, misspelling
from kcodec.formats.protobuf.language.visibility import EXPORT_TOP_LEVEL, check_visibility

#: How the options of an element are called, and the element as a target of options.
_TARGETS = {
    "File": "FILE",
    "ExtensionRange": "EXTENSION_RANGE",
    "Message": "MESSAGE",
    "Field": "FIELD",
    "Oneof": "ONEOF",
    "Enum": "ENUM",
    "EnumValue": "ENUM_ENTRY",
    "Service": "SERVICE",
    "Method": "METHOD",
}
#: What else than a field has a name.
_NAMED = {
    "Message": "message",
    "Oneof": "oneof",
    "Enum": "enum",
    "EnumValue": "enum value",
    "Service": "service",
    "Method": "method",
}
_Named = syntax.Message | syntax.Oneof | syntax.Enum | syntax.EnumValue | syntax.Service | syntax.Rpc


def check_editions(names: Names, linked: Linked) -> None:
    """Check the texts that have an edition; what is wrong is a `SchemaError` with line and column.

    That is where options and features stand, what fields make of them, how names are spelled, and which types are named
    from other files.
    """
    defaults: dict[str, str] = {}
    for path, file in names.files.items():
        if file.text and file.syntax[:2] == "20":
            features = _Checker(names, linked, path).file(file)
            if file.syntax != "2023":
                defaults[path] = features.get("default_symbol_visibility", EXPORT_TOP_LEVEL)
    check_visibility(names, defaults)


class _Checker:
    def __init__(self, names: Names, linked: Linked, path: str) -> None:
        self.names = names
        self.linked = linked
        self.path = path
        self.edition = f"EDITION_{names.files[path].syntax}"
        self.reader = OptionReader(names, linked.extensions, linked.messages)

    def fail(self, at: int, message: str) -> NoReturn:
        self.names.fail(self.path, at, message)

    def file(self, file: syntax.File) -> Fields:
        """Check a file; return its features."""
        scope = file.package
        found = self.options(scope, "File", file.options)
        features = _features(found)
        if features.get("field_presence") == "LEGACY_REQUIRED":
            self.fail(file.options[0].at, "not all fields of a file can be required")
        if found.get("java_string_check_utf8"):
            self.fail(file.options[0].at, "java_string_check_utf8 is a feature in editions, utf8_validation")
        style = features.get("enforce_naming_style", LEGACY if file.syntax == "2023" else STYLE)
        if scope:
            self.spelled(0, "package", scope, style)
        self.messages(scope, file.messages, style)
        self.enums(scope, file.enums, style)
        self.extends(scope, file.extends, style)
        for service in file.services:
            full = full_name(scope, service.name)
            own = self.named(full, "Service", service, style)
            for rpc in service.rpcs:
                self.named(full, "Method", rpc, own)
        return features

    def messages(self, scope: str, nodes: Iterable[syntax.Message], style: str) -> None:
        for node in nodes:
            full = full_name(scope, node.name)
            own = self.named(full, "Message", node, style)
            for extensions in node.extensions:
                self.options(full, "ExtensionRange", extensions.options)
            members = _members(node)
            inner = {id(each): self.named(full, "Oneof", each, own, members) for each in node.oneofs}
            for field in node.fields:
                kind = self.linked.messages[full].by_name[field.name]
                self.field(full, field, kind, inner.get(id(field.oneof), own), members)
                if field.key:
                    self.spelled(field.at, "message", entry_name(field.name), own)
            self.messages(full, node.messages, own)
            self.enums(full, node.enums, own)
            self.extends(full, node.extends, own)

    def enums(self, scope: str, nodes: Iterable[syntax.Enum], style: str) -> None:
        for node in nodes:
            full = full_name(scope, node.name)
            own = self.named(full, "Enum", node, style)
            for value in node.values:
                self.named(full, "EnumValue", value, own)
            if node.values and node.values[0].number and not self.linked.enums[full].closed:
                self.fail(node.values[0].at, f"the first value of the open enum {node.name} is not 0")

    def extends(self, scope: str, nodes: Iterable[syntax.Extend], style: str) -> None:
        for node in nodes:
            target = self.names.types[self.names.find(self.path, scope, node.target) or ""]
            assert isinstance(target, syntax.Message)
            for field in node.fields:
                kind = self.linked.extensions[full_name(scope, field.name)]
                self.field(scope, field, kind, style, _members(target), is_extension=True)

    # Names

    def named(
        self, scope: str, element: str, node: _Named, style: str, members: frozenset[str] = frozenset()
    ) -> str:
        """Check the options and the name of an element; return the style of names that it and all in it have."""
        features = _features(self.options(scope, element, node.options))
        own: str = features.get("enforce_naming_style", style)
        self.spelled(node.at, _NAMED[element], node.name, own, members)
        return own

    def spelled(
        self, at: int, kind: str, name: str, style: str, members: frozenset[str] = frozenset()
    ) -> None:
        """Check a name; `members` are those of the message of a field or a oneof."""
        wrong = None if style == LEGACY else misspelling(kind, name)
        if style == COLLISIONS and kind in ("field", "oneof"):
            wrong = wrong or collision(name, members)
        if wrong is not None:
            self.fail(at, wrong)

    # Fields

    def field(
        self,
        scope: str,
        node: syntax.Field,
        kind: FieldType,
        style: str,
        members: frozenset[str],
        *,
        is_extension: bool = False,
    ) -> None:
        """Check the options of a field, and what it is with the features of all that it stands in."""
        options = self.options(scope, "Field", node.options)
        features = _features(options)
        wrong = next(_wrong_features(node, kind, features, is_extension), None)
        if "packed" in options:
            wrong = "packed is a feature in editions, repeated_field_encoding"
        if wrong is not None:
            self.fail(node.at, f"{node.name}: {wrong}")
        self.spelled(node.at, "field", node.name, features.get("enforce_naming_style", style), members)

    # Options

    def options(self, scope: str, element: str, options: Iterable[syntax.Option]) -> Fields:
        """Return the options of an element, each of which may stand there in this edition."""
        root = descriptor_types()[f"google.protobuf.{element}Options"]
        target = f"TARGET_TYPE_{_TARGETS[element]}"
        for option in options:
            self.allowed(self.reader.read(scope, root, [option]), root, target, option.at)
        return self.reader.read(scope, root, list(options))

    def allowed(self, fields: Fields, message: MessageType, target: str, at: int) -> None:
        is_feature = message.name == "google.protobuf.FeatureSet"
        for name, value in fields.items():
            field = self.linked.extensions.get(name[1:-1]) if name[0] == "(" else message.by_name.get(name)
            if field is None:
                if is_feature and name[0] != "(":
                    self.fail(at, f"there is no feature {name}")
                continue
            targets = field.options.get("targets")
            if targets and target not in targets:
                self.fail(at, f"{name} stands at another element than {' or '.join(map(_element, targets))}")
            self.in_edition(field, name, at)
            if is_feature and field.enum is not None:
                known = [each for each, number in field.enum.values if number]
                if value not in known:
                    self.fail(at, f"{value} is not one of {', '.join(known)}")
            if name == "features" and not isinstance(value, Fields):
                self.fail(at, "features are set one by one, or in braces")
            if field.message is not None:
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, Fields):
                        self.allowed(each, field.message, target, at)

    def in_edition(self, field: FieldType, name: str, at: int) -> None:
        """Check that an option is of this edition."""
        here = _edition(self.edition)
        first = field.options.get("feature_support.edition_introduced", "")
        gone = field.options.get("feature_support.edition_removed", "")
        if _edition(first) > here:
            self.fail(at, f"there is no {name} before {first}")
        if 0 < _edition(gone) <= here:
            self.fail(at, f"there is no {name} since {gone}")


def _edition(name: object) -> int:
    """Return the number of an edition, by which they are ordered; 0 for what is none."""
    editions = descriptor_types()["google.protobuf.FileDescriptorProto"].by_name["edition"].enum
    assert editions is not None
    return editions.numbers.get(name, 0) if isinstance(name, str) else 0


def _element(target: str) -> str:
    return target.removeprefix("TARGET_TYPE_").replace("_", " ").lower()


def _features(options: Fields) -> Fields:
    """Return the features that an element has itself."""
    return options.get("features", Fields())


def _members(message: syntax.Message) -> frozenset[str]:
    fields = {each.name for each in message.fields}
    return frozenset(fields | {each.name for each in message.oneofs})


def _wrong_features(node: syntax.Field, kind: FieldType, own: Fields, is_extension: bool) -> Iterator[str]:
    """Yield what is wrong with the features of a field: `own` are those that it has itself."""
    if not kind.repeated and not kind.presence:
        if kind.default is not None:
            yield "a field without presence has no default"
        if kind.enum is not None and kind.enum.closed:
            yield "the enum of a field without presence is open"
    if is_extension and kind.required:
        yield "an extension is not required"
    if "field_presence" in own:
        if node.oneof is not None or kind.repeated or is_extension:
            yield "field_presence is not for members of oneofs, repeated fields and extensions"
        if kind.message is not None and own["field_presence"] == "IMPLICIT":
            yield "a message has presence"
    if "repeated_field_encoding" in own:
        if not kind.repeated:
            yield "repeated_field_encoding is for repeated fields"
        is_number = kind.message is None and kind.type not in ("string", "bytes")
        if own["repeated_field_encoding"] == "PACKED" and not is_number:
            yield "only numbers are packed"
    if "utf8_validation" in own and not _has_text(kind):
        yield "utf8_validation is for strings"
    if "message_encoding" in own and (kind.message is None or kind.is_map):
        yield "message_encoding is for messages"


def _has_text(kind: FieldType) -> bool:
    inner = kind.message.fields if kind.is_map and kind.message is not None else (kind,)
    return any(each.type == "string" for each in inner)
