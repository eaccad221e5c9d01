"""The tree of a .proto text: what was written, in the order in which it was written, nothing resolved.

Descriptors become the same tree. `at` of a node is an offset in its text, or a running number if it had none; the
members of one node are ordered by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

#: The highest field number; ``max`` in the ranges of a message.
MAX_NUMBER = 2**29 - 1

#: One number, or the first and the last of a range.
Range = tuple[int, ...]


class Word(str):
    """A number, a name or a keyword that stands as the value of an option."""

    __slots__ = ()


@dataclass(slots=True)
class Quoted:
    """A text in quotation marks: what stands between them, once for each pair, with its escapes."""

    pieces: tuple[str, ...]


@dataclass(slots=True)
class Aggregate:
    """A message written out in braces; names of extensions are in brackets."""

    entries: list[tuple[str, Value]]


Value = Union[Word, Quoted, Aggregate, "list[Value]"]


@dataclass(slots=True)
class Option:
    """An option: ``(a.b).c.d = value`` has the name ``("(a.b)", "c", "d")``."""

    name: tuple[str, ...]
    value: Value
    at: int = 0


@dataclass(slots=True)
class Import:
    """An import; its kind is "", "public", "weak" or "option"."""

    path: str
    kind: str = ""
    at: int = 0


@dataclass(slots=True)
class Field:
    """A field of a message, of a oneof or of an extension.

    ``map<key, type>`` has a `key`; a group has its body in `group`, and its type is the group's name.
    """

    label: str
    type: str
    name: str
    number: int
    options: list[Option] = field(default_factory=list)
    key: str = ""
    group: Message | None = None
    oneof: Oneof | None = None
    at: int = 0


@dataclass(slots=True)
class Oneof:
    """A oneof, without its members."""

    name: str
    options: list[Option] = field(default_factory=list)
    at: int = 0


@dataclass(slots=True)
class Reserved:
    """One statement: numbers, ranges and names."""

    items: list[Range | str]
    at: int = 0


@dataclass(slots=True)
class Extensions:
    """One statement: ranges of numbers for extensions."""

    ranges: list[Range]
    options: list[Option] = field(default_factory=list)
    at: int = 0


@dataclass(slots=True)
class EnumValue:
    """A name and number of an enum."""

    name: str
    number: int
    options: list[Option] = field(default_factory=list)
    at: int = 0


@dataclass(slots=True)
class Enum:
    """An enum."""

    name: str
    values: list[EnumValue] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)
    visibility: str = ""
    at: int = 0


@dataclass(slots=True)
class Extend:
    """Fields that are added to another message."""

    target: str
    fields: list[Field] = field(default_factory=list)
    at: int = 0


@dataclass(slots=True)
class Message:
    """A message, or the body of a group; members of its oneofs are among its fields."""

    name: str
    fields: list[Field] = field(default_factory=list)
    oneofs: list[Oneof] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    enums: list[Enum] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)
    extensions: list[Extensions] = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    visibility: str = ""
    at: int = 0


@dataclass(slots=True)
class Rpc:
    """A method of a service; with a body it has options, if only empty ones."""

    name: str
    request: str
    response: str
    request_stream: bool = False
    response_stream: bool = False
    options: list[Option] = field(default_factory=list)
    at: int = 0
    has_body: bool = False


@dataclass(slots=True)
class Service:
    """A service."""

    name: str
    rpcs: list[Rpc] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    at: int = 0


@dataclass(slots=True)
class File:
    """A whole text."""

    #: ``"proto2"``, ``"proto3"`` or an edition; empty where the text says nothing, which means proto2.
    syntax: str = ""
    package: str = ""
    imports: list[Import] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    enums: list[Enum] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    #: Where comments begin and end.
    comments: list[tuple[int, int]] = field(default_factory=list, repr=False)
    #: What was read, to find lines and columns in; empty if it was a descriptor.
    text: str = field(default="", repr=False)
    #: Where and why Confluent's registry does not take the text, although protoc does.
    refused: tuple[int, str] | None = None
    #: Where a name is none to protoc, although Confluent's registry keeps the text.
    misnamed: tuple[int, str] | None = None


def find_option(options: list[Option], *name: str) -> Value | None:
    """Return the value of the last option of a name; None if there is none."""
    for option in reversed(options):
        if option.name == name:
            return option.value
    return None


def members_of(message: Message) -> list[list[Field]]:
    """Return the members of each oneof of a message."""
    found: dict[int, list[Field]] = {id(each): [] for each in message.oneofs}
    for each in message.fields:
        if each.oneof is not None:
            found[id(each.oneof)].append(each)
    return list(found.values())


def is_map_entry(message: Message) -> bool:
    """Return whether a message says that it is the entry of a map."""
    return find_option(message.options, "map_entry") == "true"


def merged(value: Aggregate) -> dict[str, Value]:
    """Return the fields of an aggregate; those that repeat become lists."""
    found: dict[str, list[Value]] = {}
    for name, each in value.entries:
        found.setdefault(name, []).append(each)
    return {name: values[0] if len(values) == 1 else _joined(values) for name, values in found.items()}


def _joined(values: list[Value]) -> list[Value]:
    return [item for each in values for item in (each if isinstance(each, list) else [each])]
