"""Plans: what a schema, or a pair of writer's and reader's schemas, compiles to.

A plan is a tree of nodes in the order of the wire. Every node reads (or writes) one thing on the wire and says
which column it goes to (or comes from); names, aliases, defaults, promotions and union branches are resolved
when the plan is made, so that nothing of the schema is looked at per row.
"""

import enum
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

__all__ = ["MAX_DEPTH", "Limits", "Node", "Op", "Plan"]


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
    STRING = "string"  #: long length, UTF-8
    FIXED = "fixed"  #: ``size`` bytes
    ENUM = "enum"  #: int index into ``symbols``
    DECIMAL = "decimal"  #: unscaled two's-complement big-endian: ``size`` bytes, or with a long length if 0
    RECORD = "record"  #: the children, one after the other
    ARRAY = "array"  #: blocks of children[0]
    MAP = "map"  #: blocks of children[0] (the key, a STRING) and children[1]
    UNION = "union"  #: long branch index, then that child

    # Kafka's messages: numbers big-endian, "compact" lengths and counts as uvarint of one more, 0 for null.
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT16 = "uint16"
    UINT32 = "uint32"
    FLOAT64 = "float64"
    UUID = "uuid"  #: 16 bytes
    SHORT_STRING = "short_string"  #: int16 length, UTF-8
    COMPACT_STRING = "compact_string"
    SIZED_BYTES = "sized_bytes"  #: int32 length, bytes
    COMPACT_BYTES = "compact_bytes"
    COUNTED_ARRAY = "counted_array"  #: int32 count, that many of children[0]
    COMPACT_ARRAY = "compact_array"
    NULLABLE = "nullable"  #: children[0], whose length or count also may say that ``column`` is null
    NULLABLE_RECORD = "nullable_record"  #: int8 -1 for null, or 1 and children[0]
    TAGGED_RECORD = "tagged_record"  #: uvarint 0 for null, or 1 and children[0]
    TAG_SECTION = "tag_section"  #: the children, by tag; ``column`` holds unknown ones
    TAG = "tag"  #: tag ``size``: uvarint tag, uvarint bytes, children[0]; children[1] is its default
    UNSET = "unset"  #: no bytes: ``column`` must be at the default children[0], or it is ``code``, ``reason``

    PRESENT = "present"  #: the nullable ``column`` is not null; children[0] is its value
    ABSENT = "absent"  #: the nullable ``column`` is null (with all below it)
    MEMBER = (
        "member"  #: member ``size`` of the union struct ``column`` is set by children[0]; the others are null
    )
    DEFAULT = "default"  #: children[0] reads ``data`` instead of the row
    FAIL = "fail"  #: this value is an error of its row: ``code``, ``reason``
    CALL = "call"  #: the node called ``reason`` in ``Plan.named`` (only to drop values of recursive types)


#: More levels than this are never followed, whatever the limits say: each takes room on the stack.
MAX_DEPTH = 1000


class Limits(NamedTuple):
    """Bounds on what a row of hostile bytes may cost.

    Attributes
    ----------
    max_depth : int
        Levels of recursive types that are followed while dropping a value; at most `MAX_DEPTH`.
    max_zero_byte_items : int
        Items that take no bytes (nulls, empty records) in one row.
    max_expansion : int
        Bytes and items that one row may yield beyond what its own bytes hold: defaults and enum symbols
        repeated per item, and zero-byte items.
    """

    max_depth: int = 200
    max_zero_byte_items: int = 1 << 16
    max_expansion: int = 1 << 26


@dataclass(frozen=True, slots=True)
class Node:
    """One step of a plan.

    Attributes
    ----------
    op : Op
        What it does.
    column : int
        Number of the column in ``layout(plan.arrow_type)``; -1 if the value is dropped.
    name : str
        Its step in error paths: a field's name; empty for what adds no step. Items of arrays add ``[i]``,
        keys and values of maps ``[i].key`` and ``[i].value``, whatever their name.
    children : tuple of Node
        What stands below it.
    size : int
        FIXED and DECIMAL: bytes. MEMBER: which member.
    factor : int
        INT and LONG: the column holds the wire's value times this. Negative: the wire holds the column's value
        times ``-factor``, so writing multiplies; where a division leaves a rest, the value is ``inexact``.
    precision, scale : int
        DECIMAL: of the value as it is read (the reader's), or as it stands on the wire when encoding.
    symbols : tuple of str or None
        ENUM: decoding, the text per wire index, None where the reader has none; encoding, the symbols.
    data : bytes
        DEFAULT: the bytes that children[0] reads. When encoding: the bytes written.
    code, reason : str
        FAIL: the error. CALL: ``reason`` is the name of the node called.
    """

    op: Op
    column: int = -1
    name: str = ""
    children: "tuple[Node, ...]" = ()
    size: int = 0
    factor: int = 1
    precision: int = 0
    scale: int = 0
    symbols: tuple[str | None, ...] = ()
    data: bytes = b""
    code: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0))


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled schema: how its bytes become the columns of an Arrow type, or the reverse.

    Attributes
    ----------
    format : str
        Name of the format, such as ``"AVRO"``.
    direction : {"decode", "encode"}
        Which way.
    arrow_type : pyarrow.DataType
        The columns that nodes refer to.
    root : Node
        The tree.
    named : tuple of (str, Node)
        Trees that CALL nodes refer to, each dropping a value of a recursive type.

    Notes
    -----
    Decoding, a UNION reads the branch index and then runs that child; each child holds the PRESENT, ABSENT or
    MEMBER node of its case. Encoding, the children of a UNION are its branches in the schema's order: ABSENT
    with the union's column is chosen where that column is null, PRESENT where it is not, and MEMBER where that
    member is not null; the index written is the child's position.
    """

    format: str
    direction: str
    arrow_type: pa.DataType
    root: Node
    named: tuple[tuple[str, Node], ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.format} {self.direction}: {self.arrow_type}", *_lines(self.root, 1)]
        for name, node in self.named:
            lines += [f"  {name}:", *_lines(node, 2)]
        return "\n".join(lines)


def _lines(node: Node, depth: int) -> list[str]:
    parts = [node.op.value]
    if node.name:
        parts.insert(0, f"{node.name}:")
    if node.size:
        parts.append(f"size {node.size}")
    if node.factor != 1:
        parts.append(f"factor {node.factor}")
    if node.precision:
        parts.append(f"({node.precision}, {node.scale})")
    if node.symbols:
        parts.append("{" + ", ".join("-" if s is None else s for s in node.symbols) + "}")
    if node.op is Op.DEFAULT:
        parts.append(node.data.hex() or "(empty)")
    if node.code:
        parts.append(f"{node.code}: {node.reason}")
    elif node.reason:
        parts.append(node.reason)
    if node.column >= 0:
        parts.append(f"-> column {node.column}")
    elif node.op not in (Op.FAIL, Op.CALL):
        parts.append("(dropped)")
    lines = ["  " * depth + " ".join(parts)]
    for child in node.children:
        lines += _lines(child, depth + 1)
    return lines
