"""Message types as the wire needs them: a schema whose names, features and options are resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_INTEGERS = ("int32", "int64", "uint32", "uint64", "sint32", "sint64")
_FIXED = ("fixed32", "fixed64", "sfixed32", "sfixed64", "float", "double")

#: Names of the scalar types, as a .proto text spells them.
SCALARS = frozenset(("bool", "string", "bytes", *_INTEGERS, *_FIXED))


@dataclass(eq=False, slots=True)
class EnumType:
    """An enum."""

    #: Its full name, without a leading dot.
    name: str
    #: Names and numbers as declared, aliases included.
    values: tuple[tuple[str, int], ...]
    #: Whether a number that is not declared is an unknown field.
    closed: bool = False
    names: Mapping[int, str] = field(init=False, repr=False)
    numbers: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.numbers = dict(self.values)
        names: dict[int, str] = {}
        for name, number in self.values:
            # Of aliases the first is what a number is called.
            names.setdefault(number, name)
        self.names = names


@dataclass(eq=False, slots=True)
class FieldType:
    """A field, or an extension."""

    #: As declared; an extension's full name.
    name: str
    #: From 1 to 2**29 - 1.
    number: int
    #: One of `SCALARS`, ``"enum"``, ``"message"``, or ``"group"`` for a message between start and end tags.
    type: str
    #: Its cardinality; neither: singular. Map fields are repeated.
    repeated: bool = False
    required: bool = False
    #: Whether "not set" differs from the default (proto2, ``optional``, members of oneofs, messages).
    presence: bool = False
    #: Whether a repeated scalar is written packed.
    packed: bool = False
    #: Of messages and groups; of a map field its entry.
    message: "MessageType | None" = None
    #: Of enums.
    enum: EnumType | None = None
    #: Name of the oneof that it is a member of; empty for none, and for that of a proto3 ``optional``.
    oneof: str = ""
    #: The declared default of proto2 and editions: int, float, bool, str, bytes, for enums a name; None for none.
    default: Any = None
    #: Its name in JSON, which may be empty; None for that which it is declared with.
    json_name: str | None = None
    #: Whether a string must be valid UTF-8.
    utf8: bool = True
    #: The field's options that no attribute stands for, by name; extensions in parentheses, such as
    #: ``"(confluent.field_meta).params"``.
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name_in_json(self) -> str:
        """Its name in JSON, declared or not."""
        return self.name if self.json_name is None else self.json_name

    @property
    def is_map(self) -> bool:
        """Whether it is a map, whose entries are messages of a key and a value."""
        return self.repeated and self.message is not None and self.message.map_entry


@dataclass(eq=False)
class MessageType:
    """A message.

    Types may refer to each other in circles, so `fields` is filled in after the types are made.
    """

    #: Its full name, without a leading dot.
    name: str
    #: As declared, without extensions.
    fields: tuple[FieldType, ...] = ()
    #: Whether it is the entry of a map field: ``key`` is number 1, ``value`` number 2.
    map_entry: bool = False
    #: Whether it has the old format of message sets.
    message_set: bool = False
    #: The extensions of it that the schema knows, by number.
    extensions: dict[int, FieldType] = field(default_factory=dict)
    #: ``"proto2"``, ``"proto3"``, or the edition.
    syntax: str = "proto3"

    @cached_property
    def by_number(self) -> dict[int, FieldType]:
        """The fields in the order of their numbers."""
        return {each.number: each for each in sorted(self.fields, key=lambda each: each.number)}

    @cached_property
    def by_name(self) -> dict[str, FieldType]:
        """The fields by their declared names."""
        return {each.name: each for each in self.fields}

    @cached_property
    def by_json_name(self) -> dict[str, FieldType]:
        """The fields by the names that JSON may give them: that of JSON, and the declared one."""
        return {name: each for each in self.fields for name in (each.name, each.name_in_json)}

    def __repr__(self) -> str:
        return f"<message {self.name}>"
