"""What was changed in a .proto text, told in words: all that a reader of the two texts would find.

A registry looks at less (`evolution`): not at the width of an integer, at labels of fields that have none on one side,
at options. What it finds is told under its names; what it passes over has names of its own here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kcodec.formats.language import Difference
from kcodec.formats.protobuf.changes.evolution import Side, changes, paired
from kcodec.formats.protobuf.descriptor import SCALARS
from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.names import full_name
from kcodec.formats.protobuf.language.text import option_text

#: What a registry calls a change of a field, and what it is called here.
_ASPECTS = {
    "FIELD_KIND_CHANGED": "FIELD_TYPE_CHANGED",
    "FIELD_SCALAR_KIND_CHANGED": "FIELD_TYPE_CHANGED",
    "FIELD_NAMED_TYPE_CHANGED": "FIELD_TYPE_CHANGED",
    "FIELD_NUMERIC_LABEL_CHANGED": "FIELD_LABEL_CHANGED",
    "FIELD_STRING_OR_BYTES_LABEL_CHANGED": "FIELD_LABEL_CHANGED",
    "ONEOF_FIELD_MOVED_TO_TOP_LEVEL": "FIELD_MOVED",
}

#: Characters of an option's value that are told.
_MAX_VALUE = 60

#: A file's path and a full name, within which names are looked up.
_Scope = tuple[str, str]


def all_changes(old: Side, new: Side) -> list[Difference]:
    """Return what changed between two schemas, with words in `message`; what their imports declare is the registry's.

    >>> from kcodec.formats.protobuf.language.names import Names
    >>> from kcodec.formats.protobuf.language.parse import parse
    >>> texts = ("message M { int32 a = 1; }", "message M { int64 b = 1 [deprecated = true]; }")
    >>> old, new = (Side(Names({"": parse('syntax = "proto3"; ' + text)}), "") for text in texts)
    >>> for each in all_changes(old, new):
    ...     print(each.path, each.type, each.message)
    #/M/1 FIELD_NAME_CHANGED a → b
    #/M/1 FIELD_TYPE_CHANGED b: int32 → int64
    #/M/1 OPTION_ADDED b: deprecated = true
    """
    written = list(_Texts(old, new).files())
    words = {(each.type, each.path): each.message for each in written}
    known, told = [], set()
    for each in changes(old, new):
        key = _ASPECTS.get(each.type, each.type), each.path
        told.add(key)
        known.append(each._replace(message=words.get(key, "")))
    return known + [each for each in written if (each.type, each.path) not in told]


class _Texts:
    """Two files, walked together: messages and enums by name, fields by number."""

    def __init__(self, old: Side, new: Side) -> None:
        self.old = old
        self.new = new

    def files(self) -> Iterator[Difference]:
        old, new = self.old.main, self.new.main
        before, after = old.syntax or "proto2", new.syntax or "proto2"
        if before != after:
            yield Difference("SYNTAX_CHANGED", "#/", f"{before} → {after}")
        if old.package != new.package:
            yield Difference("PACKAGE_CHANGED", "#/", f"{old.package or 'none'} → {new.package or 'none'}")
        yield from _sets("IMPORT", "#/", _imports(old), _imports(new))
        yield from _options("the file", "#/", old.options, new.options)
        yield from self.bodies(old, new, (self.old.path, old.package), (self.new.path, new.package), "#")
        for name, left, right in paired(old.services, new.services):
            place = f"#/{name}"
            if left is None or right is None:
                yield Difference("SERVICE_ADDED" if left is None else "SERVICE_REMOVED", place, name)
            else:
                yield from _services(left, right, place)

    def bodies(
        self,
        old: syntax.File | syntax.Message,
        new: syntax.File | syntax.Message,
        old_scope: _Scope,
        new_scope: _Scope,
        path: str,
    ) -> Iterator[Difference]:
        for name, before, after in paired(old.messages, new.messages):
            place = f"{path}/{name}"
            if before is None or after is None:
                yield Difference("MESSAGE_ADDED" if before is None else "MESSAGE_REMOVED", place, name)
            else:
                scopes = (
                    (old_scope[0], full_name(old_scope[1], name)),
                    (
                        new_scope[0],
                        full_name(new_scope[1], name),
                    ),
                )
                yield from self.messages(before, after, *scopes, place)
        for name, before_enum, after_enum in paired(old.enums, new.enums):
            place = f"{path}/{name}"
            if before_enum is None or after_enum is None:
                yield Difference("ENUM_ADDED" if before_enum is None else "ENUM_REMOVED", place, name)
            else:
                yield from _enums(before_enum, after_enum, place)
        yield from self.extends(old.extends, new.extends, old_scope, new_scope, path)

    def extends(
        self,
        old: Sequence[syntax.Extend],
        new: Sequence[syntax.Extend],
        old_scope: _Scope,
        new_scope: _Scope,
        path: str,
    ) -> Iterator[Difference]:
        """Compare extensions by what they extend, which has numbers of its own."""
        before, after = _extended(old), _extended(new)
        for target in dict.fromkeys([*before, *after]):
            place = f"{path}/extend {target}"
            yield from self.fields(before.get(target, []), after.get(target, []), old_scope, new_scope, place)

    def messages(
        self, old: syntax.Message, new: syntax.Message, old_scope: _Scope, new_scope: _Scope, path: str
    ) -> Iterator[Difference]:
        yield from self.fields(old.fields, new.fields, old_scope, new_scope, path)
        before, after = ({each.name: each for each in side.oneofs} for side in (old, new))
        for name in dict.fromkeys([*before, *after]):
            place = f"{path}/{name}"
            if name in before and name in after:
                yield from _options(name, place, before[name].options, after[name].options)
            else:
                yield Difference("ONEOF_ADDED" if name in after else "ONEOF_REMOVED", place, name)
        yield from _options(old.name, path, old.options, new.options)
        yield from _sets("RESERVED", path, _reserved(old.reserved), _reserved(new.reserved))
        yield from _sets("EXTENSIONS", path, _ranges(old), _ranges(new))
        yield from self.bodies(old, new, old_scope, new_scope, path)

    def fields(
        self,
        old: Sequence[syntax.Field],
        new: Sequence[syntax.Field],
        old_scope: _Scope,
        new_scope: _Scope,
        path: str,
    ) -> Iterator[Difference]:
        before, after = ({each.number: each for each in side} for side in (old, new))
        for number in dict.fromkeys([*before, *after]):
            left, right = before.get(number), after.get(number)
            if left is None or right is None:
                field = left or right
                assert field is not None
                required = "REQUIRED_" if field.label == "required" else ""
                kind = "ONEOF_FIELD" if field.oneof is not None else f"{required}FIELD"
                how = "ADDED" if left is None else "REMOVED"
                yield Difference(f"{kind}_{how}", _place(path, field), field.name)
            else:
                yield from self.field(left, right, old_scope, new_scope, _place(path, right))

    def field(
        self, old: syntax.Field, new: syntax.Field, old_scope: _Scope, new_scope: _Scope, path: str
    ) -> Iterator[Difference]:
        if old.name != new.name:
            yield Difference("FIELD_NAME_CHANGED", path, f"{old.name} → {new.name}")
        before, after = _type(self.old, old_scope, old), _type(self.new, new_scope, new)
        if before != after:
            yield Difference("FIELD_TYPE_CHANGED", path, f"{new.name}: {before} → {after}")
        left, right = _oneof(old.oneof), _oneof(new.oneof)
        if left != right:
            yield Difference("FIELD_MOVED", path, f"{new.name}: {left} → {right}")
        elif _label(old) != _label(new):
            yield Difference("FIELD_LABEL_CHANGED", path, f"{new.name}: {_label(old)} → {_label(new)}")
        yield from _options(new.name, path, old.options, new.options)
        if old.group is not None and new.group is not None:
            scopes = (
                (old_scope[0], full_name(old_scope[1], old.type)),
                (
                    new_scope[0],
                    full_name(new_scope[1], new.type),
                ),
            )
            yield from self.messages(old.group, new.group, *scopes, path)


def _place(path: str, field: syntax.Field) -> str:
    return f"{path}/{field.number}" if field.oneof is None else f"{path}/{field.oneof.name}/{field.number}"


def _label(field: syntax.Field) -> str:
    return "map" if field.key else field.label or "singular"


def _oneof(oneof: syntax.Oneof | None) -> str:
    return "no oneof" if oneof is None else f"oneof {oneof.name}"


def _type(side: Side, scope: _Scope, field: syntax.Field) -> str:
    """Return a field's type with full names, so that another spelling of one is no change."""
    name = _full(side, scope, field.type)
    entry = side.names.types.get(name)
    if field.key:
        return f"map<{field.key}, {name}>"
    if isinstance(entry, syntax.Message) and syntax.is_map_entry(entry):
        parts = {each.number: each for each in entry.fields}
        if 1 in parts and 2 in parts:
            value = _full(side, (side.names.paths[name], name), parts[2].type)
            return f"map<{parts[1].type}, {value}>"
    return f"group {field.type}" if field.group is not None else name


def _full(side: Side, scope: _Scope, name: str) -> str:
    return name if name in SCALARS else side.names.find(*scope, name) or name


def _enums(old: syntax.Enum, new: syntax.Enum, path: str) -> Iterator[Difference]:
    before, after = _values(old), _values(new)
    for number in dict.fromkeys([*before, *after]):
        place = f"{path}/{number}"
        left, right = before.get(number, []), after.get(number, [])
        names = [", ".join(each.name for each in side) for side in (left, right)]
        if not left or not right:
            yield Difference(f"ENUM_CONST_{'ADDED' if right else 'REMOVED'}", place, names[bool(right)])
            continue
        if names[0] != names[1]:
            yield Difference("ENUM_CONST_CHANGED", place, " → ".join(names))
        yield from _options(names[1], place, left[0].options, right[0].options)
    yield from _options(old.name, path, old.options, new.options)
    yield from _sets("RESERVED", path, _reserved(old.reserved), _reserved(new.reserved))


def _services(old: syntax.Service, new: syntax.Service, path: str) -> Iterator[Difference]:
    for name, before, after in paired(old.rpcs, new.rpcs):
        place = f"{path}/{name}"
        if before is None or after is None:
            yield Difference("RPC_ADDED" if before is None else "RPC_REMOVED", place, name)
            continue
        left, right = _signature(before), _signature(after)
        if left != right:
            yield Difference("RPC_CHANGED", place, f"{name}: {left} → {right}")
        yield from _options(name, place, before.options, after.options)
    yield from _options(old.name, path, old.options, new.options)


def _signature(rpc: syntax.Rpc) -> str:
    request, response = "stream " * rpc.request_stream, "stream " * rpc.response_stream
    return f"({request}{rpc.request}) returns ({response}{rpc.response})"


def _options(
    owner: str, path: str, old: Sequence[syntax.Option], new: Sequence[syntax.Option]
) -> Iterator[Difference]:
    before, after = _option_values(old), _option_values(new)
    for name in dict.fromkeys([*before, *after]):
        left, right = before.get(name), after.get(name)
        if left is None:
            yield Difference("OPTION_ADDED", path, f"{owner}: {name} = {right}")
        elif right is None:
            yield Difference("OPTION_REMOVED", path, f"{owner}: {name} = {left}")
        elif left != right:
            yield Difference("OPTION_CHANGED", path, f"{owner}: {name} = {_short(left)} → {_short(right)}")


def _option_values(options: Sequence[syntax.Option]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for each in options:
        found.setdefault(".".join(each.name), []).append(option_text(each))
    return {name: ", ".join(values) for name, values in found.items()}


def _short(value: str) -> str:
    return value if len(value) <= _MAX_VALUE else f"{value[: _MAX_VALUE - 1]}…"


def _sets(kind: str, path: str, old: Iterable[str], new: Iterable[str]) -> Iterator[Difference]:
    before, after = dict.fromkeys(old), dict.fromkeys(new)
    for each in before:
        if each not in after:
            yield Difference(f"{kind}_REMOVED", path, each)
    for each in after:
        if each not in before:
            yield Difference(f"{kind}_ADDED", path, each)


def _imports(file: syntax.File) -> Iterator[str]:
    return (f"{each.kind} {each.path}".strip() for each in file.imports)


def _reserved(statements: Sequence[syntax.Reserved]) -> Iterator[str]:
    for each in statements:
        for item in each.items:
            yield item if isinstance(item, str) else " to ".join(map(str, item))


def _ranges(message: syntax.Message) -> Iterator[str]:
    return (" to ".join(map(str, numbers)) for each in message.extensions for numbers in each.ranges)


def _extended(extends: Sequence[syntax.Extend]) -> dict[str, list[syntax.Field]]:
    found: dict[str, list[syntax.Field]] = {}
    for each in extends:
        found.setdefault(each.target, []).extend(each.fields)
    return found


def _values(enum: syntax.Enum) -> dict[int, list[syntax.EnumValue]]:
    found: dict[int, list[syntax.EnumValue]] = {}
    for each in enum.values:
        found.setdefault(each.number, []).append(each)
    return found
