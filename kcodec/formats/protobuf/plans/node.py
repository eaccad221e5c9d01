"""What the steps of plans of Protobuf do: messages, and their fields."""

import enum
from dataclasses import dataclass

from kcodec.plan.node import Node


class Op(enum.Enum):
    """What a node does."""

    MESSAGE = "message"  #: fields by number, the children, until the bytes end; ``column`` a struct, or -1
    FIELD = "field"  #: tag, value; a message stands in children[0]
    FAIL = "fail"  #: this value is an error of its row: ``code``, ``reason``; a `Node` without further attributes


@dataclass(frozen=True, slots=True)
class FieldNode(Node):
    """A field of a message.

    The column of a repeated field is a list, of a map a map; those of their items follow.
    """

    op: Op
    #: The field's number.
    number: int = 0
    #: A scalar type, ``"enum"``, ``"message"`` or ``"group"`` (the MESSAGE is children[0]), or a message read as one
    #: value: ``"timestamp"``, ``"duration"`` (at the column's unit), ``"raw"`` (its bytes). When encoding also
    #: ``"case"``: no field, but the name of the member of a oneof that is set, which is only checked.
    kind: str = ""
    #: Of a map, children[0] is the entry; ``"entry"``, when encoding, is for a key or value of one.
    label: str = "singular"
    #: Whether the column is null if the field is not set; else it holds the default. When encoding: whether the default
    #: is written.
    presence: bool = False
    #: Whether the default is null too, for fields without presence.
    nulls: bool = False
    #: Of a time: nanoseconds in a unit of the column. When encoding: its units in a second.
    factor: int = 1
    #: Number of the oneof of which it is a member; -1 for none.
    oneof: int = -1
    #: Whether text must be valid; if not, what is not is replaced as Java does.
    utf8: bool = True
    #: The names of an enum. Of a case: the members of its oneof.
    symbols: tuple[str, ...] = ()
    #: Of an enum: the number that it has by default.
    default: int = 0
    #: Of an enum: by position in `symbols`. Of a case: by member, the member's column, or -1.
    numbers: tuple[int, ...] = ()
    #: Whether other numbers of an enum are unknown fields; of a map, whether entries with such values are.
    closed: bool = False
    #: Whether other numbers of an open enum, and times that the column cannot hold exactly, are errors. When encoding
    #: unsigned numbers: whether negative ones are.
    strict: bool = False
    #: Whether repeated scalars are written packed.
    packed: bool = False
    #: How the field differs from the one that was written: what is told to people.
    conversion: str = ""

    def notes(self) -> list[str]:
        """Return number, cardinality and kind, and what else is printed of its attributes."""
        if self.kind == "case":
            # What it is for, its reason says.
            return []
        label = "" if self.label == "singular" else f"{self.label} "
        notes = [f"{self.number}", label + self.kind]
        if self.kind == "enum" and self.symbols:
            named = zip(self.symbols, self.numbers, strict=True)
            notes.append("{" + ", ".join(f"{name} = {number}" for name, number in named) + "}")
            notes += [f"default {self.default}"] * (self.default != 0)
        notes += [f"factor {self.factor}"] * (self.factor != 1)
        return notes + [f"[{self.conversion}]"] * (self.conversion != "")


@dataclass(frozen=True, slots=True)
class MessageNode(Node):
    """A message: its fields, by number."""

    op: Op
    #: The names of its oneofs.
    oneofs: tuple[str, ...] = ()
    #: Column of the unknown fields, -1 for none.
    unknown: int = -1
    #: By oneof: the column of the name of the member that is set; -1 for none.
    cases: tuple[int, ...] = ()
    #: Fields that the writer has and the reader does not, which are unknown fields to it: these are only printed.
    skipped: tuple[FieldNode, ...] = ()

    def notes(self) -> list[str]:
        """Return the oneofs with their members, and where unknown fields go."""
        notes = []
        for number, name in enumerate(self.oneofs):
            members = [each.name for each in self.children if getattr(each, "oneof", -1) == number]
            case = f" in column {self.cases[number]}" if self.cases and self.cases[number] >= 0 else ""
            notes.append(f"oneof {name} {{{', '.join(members)}}}{case}")
        notes += [f"unknown fields in column {self.unknown}"] * (self.unknown >= 0)
        return [", ".join(notes)] * bool(notes)

    def shown(self) -> tuple[Node, ...]:
        """Return its fields and those that are skipped, by number."""
        fields = (*self.children, *self.skipped)
        return tuple(sorted(fields, key=lambda node: getattr(node, "number", 0)))
