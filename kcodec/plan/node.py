"""Plans: what a schema, or a pair of writer's and reader's schemas, compiles to.

A plan is a tree of nodes in the order of the wire. Every node reads (or writes) one thing on the wire and says
which column it goes to (or comes from); names, aliases, defaults, promotions and union branches are resolved
when the plan is made, so that nothing of the schema is looked at per row.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from kcodec.columns.shown import MOST_ROWS, html_page, shortened
from kcodec.errors import ConfigError, is_whole, one_line

__all__ = ["JSON_KINDS", "MAX_DEPTH", "Form", "Limits", "Node", "Op", "Plan"]


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
    STRING = (
        "string"  #: long length, UTF-8; ``column`` a date, time or timestamp: ISO 8601, as `Form.UTC` says
    )
    FIXED = "fixed"  #: ``size`` bytes
    ENUM = "enum"  #: int index into ``symbols``
    DECIMAL = "decimal"  #: unscaled two's-complement big-endian: ``size`` bytes, or with a long length if 0
    RECORD = "record"  #: the children, one after the other
    ARRAY = "array"  #: blocks of children[0]
    MAP = "map"  #: blocks of children[0] (the key, a STRING) and children[1]
    UNION = "union"  #: long branch index, then that child

    # JSON; ``forms`` says what else than the form named here is read, or how it is written.
    JSON_OBJECT = "json_object"  #: ``{"name": value}`` of the children; ``column`` a struct, or -1 in a list
    JSON_TUPLE = "json_tuple"  #: ``[value, value]``, the children in order; ``column`` as in JSON_OBJECT
    JSON_LIST = "json_list"  #: ``[item]`` of children[0]; ``column`` a list, or a map whose entries these are
    JSON_MAP = "json_map"  #: ``{"key": value}``: children[0], a leaf inside quotes, and children[1]
    JSON_UNION = "json_union"  #: a value of one of several kinds, by children[i] into member i of the struct ``column``
    JSON_NULL = "json_null"  #: ``null``; ``column`` of the null type
    JSON_BOOLEAN = "json_boolean"
    JSON_INTEGER = "json_integer"  #: a number without a fraction, times ``factor``, within ``bounds``
    JSON_FLOAT = "json_float"  #: the nearest float or double, as the column is
    JSON_DECIMAL = "json_decimal"  #: exactly, at the column's scale; ``precision``, ``scale``: see BASE64
    JSON_STRING = "json_string"
    JSON_BYTES = "json_bytes"  #: Base64 in a string, padded
    JSON_TIME = "json_time"  #: a date, time or timestamp of ISO 8601 in a string, as the column is
    #: what an object holds beside its other children, as an object's text, or null; read as its first child, written as
    #: its last
    JSON_REST = "json_rest"
    JSON_TEXT = "json_text"  #: any value as written, null too without NULL; ``column`` of text or bytes

    # Protobuf: `kcodec.formats.protobuf.plan` says more of each.
    MESSAGE = "message"  #: fields by number, the children, until the bytes end; ``column`` a struct, or -1
    FIELD = "field"  #: tag, value; a message stands in children[0]

    PRESENT = "present"  #: the nullable ``column`` is not null; children[0] is its value
    ABSENT = "absent"  #: the nullable ``column`` is null (with all below it)
    MEMBER = (
        "member"  #: member ``size`` of the union struct ``column`` is set by children[0]; the others are null
    )
    DEFAULT = "default"  #: children[0] reads ``data`` instead of the row
    FAIL = "fail"  #: this value is an error of its row: ``code``, ``reason``
    CALL = "call"  #: the node called ``reason`` in ``Plan.named`` (only to drop values of recursive types)


class Form(enum.Flag):
    """What a JSON node reads beside its own form, or how it writes.

    The names of what is found in several places are those of JSON itself. Forms that say nothing in one
    direction, or for an op, are ignored there.
    """

    #: nothing but the form that the op names
    PLAIN = 0
    #: ``null``; without it a null is the error ``null_value``
    NULL = enum.auto()
    #: the key may be missing, which is ``data`` or null; written: a null's key is left out
    ABSENT = enum.auto()
    #: ``null`` is ``data`` too, if there are any
    DEFAULT = enum.auto()
    #: numbers: also inside a string; written: always there
    TEXT = enum.auto()
    #: decimals: also the Base64 of unscaled bytes, at ``scale``; written: always that
    BASE64 = enum.auto()
    #: strings: also numbers, true and false, as they are written
    SCALAR = enum.auto()
    #: floats: also the strings ``NaN``, ``Infinity``, ``-Infinity``
    NONFINITE = enum.auto()
    #: objects: a key that is no name is the name that its upper case is; the last one wins
    FOLD = enum.auto()
    #: objects, maps: a key that stands twice is ``duplicate_key``; else the last one wins
    UNIQUE = enum.auto()
    #: decimals are written as BigDecimal's ``toString`` does, else without exponent
    SCIENTIFIC = enum.auto()
    #: strings are written with pairs of escaped surrogates beyond U+FFFF, as Jackson does
    ESCAPED = enum.auto()
    #: ``json_type`` where BigDecimal would write another text: -0.0; numbers for SCALAR. Integers: only digits
    CANONICAL = enum.auto()
    #: times: as java.time prints what is in UTC, a Z behind dates and times too, without zeros at a fraction's end
    UTC = enum.auto()


#: What the first byte of a value tells of it, which is how the members of a JSON_UNION are chosen; those of JSON_TEXT
#: by their names.
JSON_KINDS = {
    Op.JSON_OBJECT: "object",
    Op.JSON_MAP: "object",
    Op.JSON_LIST: "array",
    Op.JSON_TUPLE: "array",
    Op.JSON_BOOLEAN: "boolean",
    Op.JSON_INTEGER: "number",
    Op.JSON_FLOAT: "number",
    Op.JSON_DECIMAL: "number",
    Op.JSON_STRING: "string",
    Op.JSON_BYTES: "string",
    Op.JSON_TIME: "string",
}

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
        repeated per item, and zero-byte items. The items of lists and maps may take as many bytes in all columns
        below, and 16 for each byte of the payload: numbers their width, text, bytes and lists an offset, whether or
        not they are there. An empty item of 500 absent fields of 64 bits takes 4,000.
    max_number_length : int
        Characters of a number in JSON.

    Examples
    --------
    >>> from kcodec import AvroCodec
    >>> codec = AvroCodec('{"type": "array", "items": "null"}', limits=Limits(max_zero_byte_items=10))
    >>> codec.decode([bytes([22, 0])])
    Traceback (most recent call last):
    kcodec.errors.DecodeError: size_limit: row 0, byte 0: the value expands to more than the limits allow
    """

    max_depth: int = 200
    max_zero_byte_items: int = 1 << 16
    max_expansion: int = 1 << 26
    max_number_length: int = 1000

    @classmethod
    def of(cls, limits: "Limits | None") -> "Limits":
        """Check what a codec was given; None stands for the defaults.

        Raises
        ------
        ConfigError
            If it is something else, or a limit is not a whole number from 0 to 2**63 - 1.

        Examples
        --------
        >>> Limits.of(Limits(max_depth=-1))
        Traceback (most recent call last):
        kcodec.errors.ConfigError: max_depth=-1 is not a number from 0 to 2**63 - 1
        """
        if limits is None:
            return cls()
        if not isinstance(limits, cls):
            raise ConfigError(f"limits={limits!r} is not a kcodec.Limits")
        for name, value in limits._asdict().items():
            if not is_whole(value) or not 0 <= value < 1 << 63:
                raise ConfigError(f"{name}={value!r} is not a number from 0 to 2**63 - 1")
        return limits


@dataclass(frozen=True, slots=True)
class Node:
    """One step of a plan.

    Attributes
    ----------
    op : enum.Enum
        What it does: one of the ops of its format.
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
    divisor : int
        LONG, read: the wire's value is divided by this before; what leaves a rest is ``inexact``.
    floor : bool
        INT, LONG, JSON_INTEGER: that rest is dropped, so that the value is the next lower one. JSON_TIME and
        STRING: read, digits beyond the column's unit are.
    precision, scale : int
        DECIMAL: of the value as it is read (the reader's), or as it stands on the wire when encoding.
    shift : int
        DECIMAL, read: the digits of `scale` that the wire's value does not have, zeros; if negative, those that it
        has too many, which are zeros, else the value is ``inexact``.
    symbols : tuple of str or None
        ENUM: decoding, the text per wire index, None where the reader has none; encoding, the symbols.
    data : bytes
        DEFAULT: the bytes that children[0] reads. When encoding: the bytes written; with a child, which writes the
        value, only where an object has none. JSON: the text of the default value; empty if there is none.
    code, reason : str
        FAIL: the error. CALL: ``reason`` is the name of the node called.
    forms : Form
        JSON: what else is read, or how it is written.
    bounds : tuple of (int, int) or None
        JSON_INTEGER: least and greatest value as it stands in the text; None for those of the column.
    conversion : str
        Of a value that is read as another logical type than it was written with: what is told to people.
    """

    op: enum.Enum
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
    forms: Form = Form.PLAIN
    bounds: tuple[int, int] | None = None
    floor: bool = False
    divisor: int = 1
    shift: int = 0
    conversion: str = ""

    def __str__(self) -> str:
        return "\n".join(map(str, _steps(self, 0)))

    def notes(self) -> list[str]:
        """Return what is printed of the attributes that the nodes of its format have."""
        symbols = ", ".join("-" if name is None else name for name in self.symbols)
        notes = [f"size {self.size}"] * (self.size != 0) + [f"{{{symbols}}}"] * (symbols != "")
        if self.divisor != 1:
            notes.append(f"divisor {self.divisor}" + " floor" * self.floor)
        if self.factor != 1:
            notes.append(f"factor {self.factor}" + " floor" * (self.floor and self.divisor == 1))
        if self.precision:
            notes.append(f"({self.precision}, {self.scale})")
        if self.conversion:
            notes.append(f"[{self.conversion}]")
        if self.forms:
            notes.append("+".join(form.name or "" for form in Form if form & self.forms and form.value))
        if self.bounds:
            notes.append(f"{self.bounds[0]}..{self.bounds[1]}")
        if self.op is Op.DEFAULT:
            notes.append(self.data.hex() or "(empty)")
        return notes

    def shown(self) -> "tuple[Node, ...]":
        """Return what is printed below it."""
        return self.children


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """A compiled schema: how its bytes become the columns of an Arrow type, or the reverse.

    Printed, it is a tree, a line for each step; its ``repr`` is one screen of that, and in a notebook it is a table.

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
        return "\n".join([f"{self._title}: {_escaped(str(self.arrow_type))}", *map(str, self._steps())])

    def __repr__(self) -> str:
        steps = list(self._steps())
        lines = [f"{self._title}: {self.arrow_type}", *map(str, steps[:MOST_ROWS])]
        if len(steps) > MOST_ROWS:
            lines.append(f"  ... and {len(steps) - MOST_ROWS:,} more: print it for all")
        # `shortened` makes one blank of those in front.
        return "\n".join(" " * (len(each) - len(each.lstrip(" "))) + shortened(each, 120) for each in lines)

    def _repr_html_(self) -> str:
        rows = [("· " * (each.depth - 1) + each.name, each.text, each.goes) for each in self._steps()]
        return html_page(self._title, ("name", "step", "column"), rows)

    @property
    def _title(self) -> str:
        return f"{self.format} {self.direction}"

    def _steps(self) -> "Iterator[_Step]":
        yield from _steps(self.root, 1)
        for name, node in self.named:
            yield _Step(1, name, "", "")
            yield from _steps(node, 2)


class _Step(NamedTuple):
    """A line of a plan that is printed."""

    depth: int
    name: str
    text: str
    goes: str

    def __str__(self) -> str:
        parts = (f"{self.name}:" if self.name else "", self.text, self.goes)
        return "  " * self.depth + " ".join(filter(None, parts))


def _steps(node: Node, depth: int) -> Iterator[_Step]:
    parts = [node.op.value, *node.notes()]
    if node.code:
        parts.append(f"{node.code}: {node.reason}")
    elif node.reason:
        parts.append(node.reason)
    goes = f"-> column {node.column}" if node.column >= 0 else ""
    if not goes and not node.code and not node.reason and not _has_column(node):
        goes = "(dropped)"
    yield _Step(depth, _escaped(node.name), _escaped(" ".join(parts)), goes)
    for child in node.shown():
        yield from _steps(child, depth + 1)


def _has_column(node: Node) -> bool:
    return node.column >= 0 or any(map(_has_column, node.children))


def _escaped(text: str) -> str:
    """Return a text of a schema, which may be a stranger's, as it may be printed."""
    # Escaped, a character is ten at most.
    return one_line(text, 10 * len(text) + 1)
