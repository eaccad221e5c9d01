"""What the steps of plans of Avro do.

Decoding, a UNION reads the branch index and then runs that child; each child holds the PRESENT, ABSENT or MEMBER node
of its case. Encoding, the children of a UNION are its branches in the schema's order: ABSENT with the union's column is
chosen where that column is null, PRESENT where it is not, and MEMBER where that member is not null; the index written
is the child's position.
"""

import enum
from dataclasses import dataclass

from kcodec.plan.node import Node


class Op(enum.Enum):
    """What a node does.

    The first group are things on the wire. A node of these with ``column == -1`` reads its value and drops it.
    The second group takes no bytes itself.
    """

    NULL = "null"  #: no bytes
    BOOLEAN = "boolean"
    INT = "int"  #: zigzag varint of 32 bits
    LONG = "long"  #: zigzag varint of 64 bits
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"  #: long length, bytes
    STRING = "string"  #: long length, UTF-8; ``column`` a date, time or timestamp: ISO 8601, in UTC
    FIXED = "fixed"  #: ``size`` bytes
    ENUM = "enum"  #: int index into ``symbols``
    DECIMAL = "decimal"  #: unscaled two's-complement big-endian: ``size`` bytes, or with a long length if 0
    RECORD = "record"  #: the children, one after the other
    ARRAY = "array"  #: blocks of children[0]
    MAP = "map"  #: blocks of children[0] (the key, a STRING) and children[1]
    UNION = "union"  #: long branch index, then that child

    PRESENT = "present"  #: the nullable ``column`` is not null; children[0] is its value
    ABSENT = "absent"  #: the nullable ``column`` is null (with all below it)
    #: member ``size`` of the union struct ``column`` is set by children[0]; the others are null
    MEMBER = "member"
    DEFAULT = "default"  #: children[0] reads ``data`` instead of the row
    FAIL = "fail"  #: this value is an error of its row: ``code``, ``reason``
    CALL = "call"  #: the node called ``reason`` in ``Plan.named`` (only to drop values of recursive types)


@dataclass(frozen=True, slots=True)
class AvroNode(Node):
    """One step of a plan of Avro."""

    op: Op
    children: "tuple[AvroNode, ...]" = ()
    #: FIXED and DECIMAL: bytes. MEMBER: which member.
    size: int = 0
    #: ENUM: decoding, the text per wire index, None where the reader has none; encoding, the symbols.
    symbols: tuple[str | None, ...] = ()
    #: LONG, read: the wire's value is divided by this before; what leaves a rest is ``inexact``.
    divisor: int = 1
    #: INT and LONG: the column holds the wire's value times this. Negative: the wire holds the column's value times
    #: ``-factor``, so writing multiplies; where a division leaves a rest, the value is ``inexact``.
    factor: int = 1
    #: INT, LONG: that rest is dropped, so that the value is the next lower one. STRING: read, digits beyond the
    #: column's unit are.
    floor: bool = False
    #: DECIMAL: of the value as it is read (the reader's), or as it stands on the wire when encoding.
    precision: int = 0
    scale: int = 0
    #: DECIMAL, read: the digits of `scale` that the wire's value does not have, zeros; if negative, those that it has
    #: too many, which are zeros, else the value is ``inexact``.
    shift: int = 0
    #: Of a value that is read as another logical type than it was written with: what is told to people.
    conversion: str = ""
    #: DEFAULT: the bytes that children[0] reads. When encoding: the bytes written; with a child, which writes the
    #: value, only where an object has none; with a ``reason``, that is an error there.
    data: bytes = b""

    def notes(self) -> list[str]:
        """Return what is printed of its attributes."""
        floor = " floor" * self.floor
        symbols = ", ".join("-" if name is None else name for name in self.symbols)
        notes = [f"size {self.size}"] * (self.size != 0) + [f"{{{symbols}}}"] * (symbols != "")
        notes += [f"divisor {self.divisor}{floor}"] * (self.divisor != 1)
        notes += [f"factor {self.factor}{floor if self.divisor == 1 else ''}"] * (self.factor != 1)
        notes += [f"({self.precision}, {self.scale})"] * (self.precision != 0)
        notes += [f"[{self.conversion}]"] * (self.conversion != "")
        return notes + [self.data.hex() or "(empty)"] * (self.op is Op.DEFAULT)
