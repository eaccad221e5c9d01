"""What the steps of plans of Protobuf do: messages, and their fields."""

import enum
from dataclasses import dataclass

from kcodec.plan.node import Node

__all__ = ["FieldNode", "MessageNode", "Op"]


class Op(enum.Enum):
    """What a node does."""

    MESSAGE = "message"  #: fields by number, the children, until the bytes end; ``column`` a struct, or -1
    FIELD = "field"  #: tag, value; a message stands in children[0]
    FAIL = "fail"  #: this value is an error of its row: ``code``, ``reason``; a `Node` without further attributes


@dataclass(frozen=True, slots=True)
class FieldNode(Node):
    """A field of a message.

    The column of a repeated field is a list, of a map a map; those of their items follow.

    Attributes
    ----------
    number : int
        The field's number.
    kind : str
        A scalar type, ``"enum"``, ``"message"`` or ``"group"`` (the MESSAGE is children[0]), or a message read as one
        value: ``"timestamp"``, ``"duration"`` (at the column's unit), ``"raw"`` (its bytes). When encoding also
        ``"case"``: no field, but the name of the member of a oneof that is set, which is only checked.
    label : {"singular", "required", "repeated", "map", "entry"}
        Of a map, children[0] is the entry; ``"entry"``, when encoding, is for a key or value of one.
    presence : bool
        Whether the column is null if the field is not set; else it holds the default. When encoding: whether the
        default is written.
    nulls : bool
        Whether the default is null too, for fields without presence.
    factor : int
        Of a time: nanoseconds in a unit of the column. When encoding: its units in a second.
    oneof : int
        Number of the oneof of which it is a member; -1 for none.
    utf8 : bool
        Whether text must be valid; if not, what is not is replaced as Java does.
    symbols : tuple of str
        The names of an enum. Of a case: the members of its oneof.
    default : int
        Of an enum: the number that it has by default.
    numbers : tuple of int
        Of an enum: by position in `symbols`. Of a case: by member, the member's column, or -1.
    closed : bool
        Whether other numbers of an enum are unknown fields; of a map, whether entries with such values are.
    strict : bool
        Whether other numbers of an open enum, and times that the column cannot hold exactly, are errors. When
        encoding unsigned numbers: whether negative ones are.
    packed : bool
        Whether repeated scalars are written packed.
    conversion : str
        How the field differs from the one that was written: what is told to people.
    """

    op: Op
    number: int = 0
    kind: str = ""
    label: str = "singular"
    presence: bool = False
    nulls: bool = False
    factor: int = 1
    oneof: int = -1
    utf8: bool = True
    symbols: tuple[str, ...] = ()
    default: int = 0
    numbers: tuple[int, ...] = ()
    closed: bool = False
    strict: bool = False
    packed: bool = False
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
    """A message: its fields, by number.

    Attributes
    ----------
    oneofs : tuple of str
        Their names.
    unknown : int
        Column of the unknown fields, -1 for none.
    cases : tuple of int
        By oneof: the column of the name of the member that is set; -1 for none.
    skipped : tuple of FieldNode
        Fields that the writer has and the reader does not, which are unknown fields to it: these are only printed.
    """

    op: Op
    oneofs: tuple[str, ...] = ()
    unknown: int = -1
    cases: tuple[int, ...] = ()
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
