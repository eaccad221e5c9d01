"""What differs between two .proto texts, and which of it a registry takes for breaking.

The rules are those of Confluent's registry, and so is the order: messages and enums are matched by name at each level,
fields by number, and only what is written is compared. (Whether the bytes of one message can be read as another is
`compatibility`'s matter.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from kcodec.errors import SchemaError
from kcodec.formats.language import Difference
from kcodec.formats.protobuf.language.names import Names, full_name
from kcodec.formats.protobuf.language.syntax import Enum, Field, File, Message, Rpc, Service, is_map_entry
from kcodec.java.hashing import hash_order

__all__ = ["BREAKING", "MAX_DIFFERENCES", "Side", "changes", "describe", "paired"]

#: Types of differences by which a registry refuses a new schema.
BREAKING = frozenset(
    [
        "PACKAGE_CHANGED",
        "MESSAGE_REMOVED",
        "FIELD_KIND_CHANGED",
        "FIELD_SCALAR_KIND_CHANGED",
        "FIELD_NAMED_TYPE_CHANGED",
        "FIELD_NUMERIC_LABEL_CHANGED",
        "REQUIRED_FIELD_ADDED",
        "REQUIRED_FIELD_REMOVED",
        "ONEOF_FIELD_REMOVED",
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        "FIELD_MOVED_TO_EXISTING_ONEOF",
    ]
)

#: Differences that are listed.
MAX_DIFFERENCES = 1000

#: Messages that one comparison looks at.
MAX_COMPARED = 200_000

#: Messages and fields that one looks at if types of other files are compared wherever they are named.
MAX_REPEATED = 20_000

_GROUPS = {
    **dict.fromkeys(["int32", "int64", "uint32", "uint64", "bool"], "varint"),
    **dict.fromkeys(["sint32", "sint64"], "zigzag"),
    **dict.fromkeys(["string", "bytes"], "text"),
    **dict.fromkeys(["fixed32", "sfixed32"], "fixed32"),
    **dict.fromkeys(["fixed64", "sfixed64"], "fixed64"),
    "float": "float",
    "double": "double",
}

_T = TypeVar("_T", Message, Enum, Service, Rpc)


class Kind(NamedTuple):
    """What a field holds, as far as a registry looks."""

    #: ``SCALAR`` (enums too), ``MAP`` or ``MESSAGE``.
    kind: str
    #: Of a scalar: which scalars it may become.
    group: str = ""
    #: Of a message: its name without the package.
    name: str = ""
    #: Its full name; None if nothing of that name is known.
    full: str | None = None
    #: What the text calls it.
    written: str = ""
    #: Key and value of a map.
    parts: tuple[Kind, ...] = ()


@dataclass(frozen=True)
class Side:
    """One of two schemas: the names that its files declare, its main file, and where a registry has its imports.

    See `kcodec.formats.protobuf.schema.ProtobufSchema`.
    """

    names: Names
    path: str
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def main(self) -> File:
        """The main file."""
        return self.names.files[self.path]


def changes(old: Side, new: Side) -> list[Difference]:
    """Return all differences of a new schema to an old one, those that break nothing included.

    >>> from kcodec.formats.protobuf.language.parse import parse
    >>> texts = ("message M { int32 a = 1; }", "message M { int64 b = 1; }")
    >>> old, new = (Side(Names({"": parse('syntax = "proto3"; ' + text)}), "") for text in texts)
    >>> [(each.type, each.path) for each in changes(old, new)]
    [('FIELD_NAME_CHANGED', '#/M/1')]
    """
    try:
        try:
            return list(_Comparison(old, new, once=False).files())
        except _TooLongError:
            return list(_Comparison(old, new, once=True).files())
    except RecursionError:
        raise SchemaError("messages are nested too deeply to be compared") from None


def describe(kind: str, path: str, reader: str, writer: str) -> str:
    """Return what a breaking difference means in the server's words, with what the two schemas are called."""
    sentence = _SENTENCES.get(kind, "The {reader} schema differs from the {writer} schema at path '{path}'")
    return sentence.format(path=path, reader=reader, writer=writer)


_SENTENCES = {
    "PACKAGE_CHANGED": "The package at '{path}' in the {reader} schema does not match the package in the {writer} "
    "schema",
    "MESSAGE_REMOVED": "The {reader} schema is missing a MESSAGE type at path '{path}' in the {writer} schema",
    "FIELD_KIND_CHANGED": "The type of a field at path '{path}' in the {reader} schema does not match the {writer} "
    "schema",
    "FIELD_SCALAR_KIND_CHANGED": "The kind of a SCALAR field at path '{path}' in the {reader} schema does not match "
    "its kind in the {writer} schema",
    "FIELD_NAMED_TYPE_CHANGED": "The type of a MESSAGE field at path '{path}' in the {reader} schema does not match "
    "its type in the {writer} schema",
    "FIELD_NUMERIC_LABEL_CHANGED": "The label for a NUMERIC field at path '{path}' in the {reader} schema does not "
    "match its label in the {writer} schema",
    "REQUIRED_FIELD_ADDED": "A required field  at path '{path}' in the {reader} schema is missing in the {writer} "
    "schema",
    "REQUIRED_FIELD_REMOVED": "The {reader} schema is missing a required field at path: '{path}' in the {writer} "
    "schema",
    "ONEOF_FIELD_REMOVED": "The {reader} schema is missing a oneof field at path '{path}' in the {writer} schema",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": "Multiple fields in the oneof at path '{path}' in the {reader} schema are "
    "outside a oneof in the {writer} schema",
    "FIELD_MOVED_TO_EXISTING_ONEOF": "A field in the oneof at path '{path}' in the {reader} schema is outside an "
    "existing oneof in the {writer} schema",
}


class _TooLongError(Exception):
    """Comparing takes too long if each type of another file is compared wherever it is named."""


class _Comparison:
    """One comparison of two schemas.

    The registry compares a type of another file for each field that has it, with no end where many types name each
    other: with `once` each is compared for the first one only.
    """

    def __init__(self, old: Side, new: Side, *, once: bool) -> None:
        self.old = old
        self.new = new
        self.once = once
        self.compared = 0
        #: The old messages that are being compared.
        self.open: set[int] = set()
        #: Types of other files that are being compared, or have been, with whether that found something breaking.
        self.types: dict[tuple[str, str], bool] = {}

    def files(self) -> Iterator[Difference]:
        old, new = self.old.main, self.new.main
        if old.package != new.package:
            yield _difference("PACKAGE_CHANGED", "#/")
        yield from self.bodies(
            (old.messages, old.enums),
            (new.messages, new.enums),
            (self.old.path, old.package),
            (self.new.path, new.package),
            "#",
        )

    def bodies(
        self,
        old: tuple[Sequence[Message], Sequence[Enum]],
        new: tuple[Sequence[Message], Sequence[Enum]],
        old_scope: tuple[str, str],
        new_scope: tuple[str, str],
        path: str,
    ) -> Iterator[Difference]:
        """Compare the messages and enums of one level."""
        old_places, new_places = ({each.name: at for at, each in enumerate(side[0])} for side in (old, new))
        for name, before, after in _paired_by_hash(old[0], new[0]):
            place = f"{path}/{name}"
            # Entries of maps that are spelled out come and go.
            if before is None:
                if after is not None and not is_map_entry(after):
                    yield _difference("MESSAGE_ADDED", place)
            elif after is None:
                if not is_map_entry(before):
                    yield _difference("MESSAGE_REMOVED", place)
            else:
                yield from self.messages(
                    before,
                    after,
                    (old_scope[0], full_name(old_scope[1], name)),
                    (new_scope[0], full_name(new_scope[1], name)),
                    place,
                )
                if old_places[name] != new_places[name]:
                    yield _difference("MESSAGE_MOVED", place)
        for name, before_enum, after_enum in _paired_by_hash(old[1], new[1]):
            place = f"{path}/{name}"
            if before_enum is None:
                yield _difference("ENUM_ADDED", place)
            elif after_enum is None:
                yield _difference("ENUM_REMOVED", place)
            else:
                yield from self.enums(before_enum, after_enum, place)

    def enums(self, old: Enum, new: Enum, path: str) -> Iterator[Difference]:
        before = {each.number: each.name for each in old.values}
        after = {each.number: each.name for each in new.values}
        for number in hash_order(hash_order((), before), hash_order((), after)):
            place = f"{path}/{number}"
            if number not in after:
                yield _difference("ENUM_CONST_REMOVED", place)
            elif number not in before:
                yield _difference("ENUM_CONST_ADDED", place)
            elif before[number] != after[number]:
                yield _difference("ENUM_CONST_CHANGED", place)

    def messages(
        self, old: Message, new: Message, old_scope: tuple[str, str], new_scope: tuple[str, str], path: str
    ) -> Iterator[Difference]:
        self.count(old, new)
        is_first = id(old) not in self.open
        if is_first:
            self.open.add(id(old))
            yield from self.members(old, new, old_scope, new_scope, path)
        yield from self.bodies(
            (old.messages, old.enums), (new.messages, new.enums), old_scope, new_scope, path
        )
        if is_first:
            self.open.remove(id(old))

    def count(self, old: Message, new: Message) -> None:
        """Count what is compared, up to the most."""
        self.compared += 1 if self.once else 1 + len(old.fields) + len(new.fields)
        if not self.once and self.compared > MAX_REPEATED:
            raise _TooLongError
        if self.compared > MAX_COMPARED:
            raise SchemaError(f"comparing the schemas takes more than {MAX_COMPARED} steps")

    def members(
        self, old: Message, new: Message, old_scope: tuple[str, str], new_scope: tuple[str, str], path: str
    ) -> Iterator[Difference]:
        """Compare the fields and oneofs of a message."""
        before = {each.number: each for each in old.fields if each.group is None}
        after = {each.number: each for each in new.fields if each.group is None}
        old_oneofs, new_oneofs = _members(before, old), _members(after, new)
        gone, removed = before.keys() - after.keys(), old_oneofs.keys() - new_oneofs.keys()
        lost = {name for name in removed if gone.issuperset(old_oneofs[name])}
        for oneof in new.oneofs:
            yield from _moved(before, new_oneofs[oneof.name], f"{path}/{oneof.name}")
        for name in sorted(old_oneofs.keys() ^ new_oneofs.keys()):
            yield _difference(f"ONEOF_{'REMOVED' if name in removed else 'ADDED'}", f"{path}/{name}")
        for number in sorted(before.keys() | after.keys()):
            left, right = before.get(number), after.get(number)
            if right is None:
                assert left is not None
                if left.oneof is not None:
                    if left.oneof.name not in lost:
                        yield _difference("ONEOF_FIELD_REMOVED", f"{path}/{left.oneof.name}/{number}")
                else:
                    required = "REQUIRED_" if left.label == "required" else ""
                    yield _difference(f"{required}FIELD_REMOVED", f"{path}/{number}")
            elif left is None:
                if right.oneof is not None:
                    yield _difference("ONEOF_FIELD_ADDED", f"{path}/{right.oneof.name}/{number}")
                else:
                    required = "REQUIRED_" if right.label == "required" else ""
                    yield _difference(f"{required}FIELD_ADDED", f"{path}/{number}")
            else:
                place = f"{path}/{number}" if right.oneof is None else f"{path}/{right.oneof.name}/{number}"
                if left.oneof is not None and right.oneof is None:
                    yield _difference("ONEOF_FIELD_MOVED_TO_TOP_LEVEL", place)
                yield from self.fields(left, right, old_scope, new_scope, place)

    def fields(
        self, old: Field, new: Field, old_scope: tuple[str, str], new_scope: tuple[str, str], path: str
    ) -> Iterator[Difference]:
        if old.name != new.name:
            yield _difference("FIELD_NAME_CHANGED", path)
        before = _kind(self.old.names, old_scope, old)
        after = _kind(self.new.names, new_scope, new)
        yield from self.kinds(before, after, path)
        is_same = before.kind == after.kind == "SCALAR" and before.group == after.group
        if is_same and old.label and new.label and old.label != new.label:
            which = "STRING_OR_BYTES" if after.group == "text" else "NUMERIC"
            yield _difference(f"FIELD_{which}_LABEL_CHANGED", path)

    def kinds(self, old: Kind, new: Kind, path: str) -> Iterator[Difference]:
        if old.kind != new.kind:
            yield _difference("FIELD_KIND_CHANGED", path)
        elif old.kind == "SCALAR":
            if old.group != new.group:
                yield _difference("FIELD_SCALAR_KIND_CHANGED", path)
        elif old.kind == "MAP":
            for left, right in zip(old.parts, new.parts, strict=True):
                yield from self.kinds(left, right, path)
        elif old.full is None or new.full is None:
            if old.written != new.written:
                yield _difference("FIELD_NAMED_TYPE_CHANGED", path)
        elif old.name != new.name:
            yield _difference("FIELD_NAMED_TYPE_CHANGED", path)
        else:
            yield from self.other_files(old, new, path)

    def other_files(self, old_kind: Kind, new_kind: Kind, path: str) -> Iterator[Difference]:
        """Compare the contents of messages that other files declare; paths begin anew there."""
        old, new = old_kind.full or "", new_kind.full or ""
        left, right = self.old.names.paths[old], self.new.names.paths[new]
        if left == self.old.path and right == self.new.path:
            return
        place = self.old.places.get(left)
        if place is not None and place == self.new.places.get(right):
            # One version of a file: what changed in its own imports is passed over.
            return
        before, after = self.old.names.types[old], self.new.names.types[new]
        if not isinstance(before, Message) or not isinstance(after, Message):
            return
        if self.once and (old, new) in self.types:
            if self.types[old, new]:
                yield _difference("FIELD_NAMED_TYPE_CHANGED", path)
            return
        self.types[old, new] = False
        found = list(self.messages(before, after, (left, old), (right, new), _path(old_kind.name)))
        self.types[old, new] = any(each.type in BREAKING for each in found)
        yield from found
        if self.types[old, new]:
            yield _difference("FIELD_NAMED_TYPE_CHANGED", path)


def _difference(kind: str, path: str) -> Difference:
    return Difference(kind, path, describe(kind, path, "new", "old"))


def _path(name: str) -> str:
    return "#/" + name.replace(".", "/")


def paired(old: Sequence[_T], new: Sequence[_T]) -> Iterator[tuple[str, _T | None, _T | None]]:
    """Yield each name, and what has it before and after."""
    before: dict[str, _T] = {each.name: each for each in old}
    after: dict[str, _T] = {each.name: each for each in new}
    for name in dict.fromkeys([*before, *after]):
        yield name, before.get(name), after.get(name)


def _paired_by_hash(old: Sequence[_T], new: Sequence[_T]) -> list[tuple[str, _T | None, _T | None]]:
    """Return the same in the order of the registry's hash table."""
    pairs = {pair[0]: pair for pair in paired(old, new)}
    return [pairs[name] for name in hash_order((each.name for each in old), pairs)]


def _moved(before: dict[int, Field], members: list[int], path: str) -> Iterator[Difference]:
    """Compare where the members of a oneof were before: each oneof, and each field outside one, is an origin."""
    fields = [before[number] for number in members if number in before]
    origins = {each.number if each.oneof is None else each.oneof.name for each in fields}
    if len(origins) > 1:
        several = sum(each.oneof is None for each in fields) > 1
        yield _difference(
            "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if several else "FIELD_MOVED_TO_EXISTING_ONEOF", path
        )


def _members(fields: dict[int, Field], message: Message) -> dict[str, list[int]]:
    """Return the numbers of each oneof's members; it may have none."""
    found: dict[str, list[int]] = {}
    for number, each in fields.items():
        if each.oneof is not None:
            found.setdefault(each.oneof.name, []).append(number)
    for oneof in message.oneofs:
        found.setdefault(oneof.name, [])
    return found


def _kind(names: Names, scope: tuple[str, str], field: Field) -> Kind:
    if field.key:
        return Kind("MAP", parts=(_type(names, scope, field.key), _type(names, scope, field.type)))
    found = _type(names, scope, field.type)
    entry = names.types.get(found.full) if found.full is not None else None
    if isinstance(entry, Message) and is_map_entry(entry) and found.full is not None:
        place = (names.paths[found.full], found.full)
        parts = {each.name: _type(names, place, each.type) for each in reversed(entry.fields)}
        if "key" in parts and "value" in parts:
            return Kind("MAP", parts=(parts["key"], parts["value"]))
    return found


def _type(names: Names, scope: tuple[str, str], name: str) -> Kind:
    if name in _GROUPS:
        return Kind("SCALAR", _GROUPS[name])
    full = names.find(*scope, name)
    if full is None:
        return Kind("MESSAGE", written=name)
    if isinstance(names.types[full], Enum):
        return Kind("SCALAR", "varint", full=full)
    package = names.files[names.paths[full]].package
    return Kind("MESSAGE", "", full.removeprefix(f"{package}.") if package else full, full, name)
