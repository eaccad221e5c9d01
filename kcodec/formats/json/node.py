"""What the steps of plans of JSON do: each has the form that its op names, and `Form` says what else there is.

`kcodec.formats.json.plan` has the rules for trees of them.
"""

import enum
from dataclasses import dataclass

from kcodec.plan.node import Node


class Op(enum.Enum):
    """What a node does."""

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


@dataclass(frozen=True, slots=True)
class JsonNode(Node):
    """One step of a plan of JSON."""

    op: Op
    children: "tuple[JsonNode, ...]" = ()
    #: What else is read, or how it is written.
    forms: Form = Form.PLAIN
    #: The text of the default value; empty if there is none.
    data: bytes = b""
    #: JSON_INTEGER: the column holds the text's value times this. Negative: the text holds the column's value times
    #: ``-factor``, so writing multiplies; where a division leaves a rest, the value is ``inexact``.
    factor: int = 1
    #: JSON_INTEGER: that rest is dropped, so that the value is the next lower one. JSON_TIME: read, digits beyond the
    #: column's unit are.
    floor: bool = False
    #: JSON_INTEGER: least and greatest value as it stands in the text; None for those of the column.
    bounds: tuple[int, int] | None = None
    #: JSON_DECIMAL: of what is in Base64.
    precision: int = 0
    scale: int = 0

    def notes(self) -> list[str]:
        """Return what is printed of its attributes, which is all but a default."""
        notes = [f"factor {self.factor}" + " floor" * self.floor] * (self.factor != 1)
        notes += [f"({self.precision}, {self.scale})"] * (self.precision != 0)
        if self.forms:
            notes.append("+".join(form.name or "" for form in Form if form & self.forms))
        if self.bounds:
            notes.append(f"{self.bounds[0]}..{self.bounds[1]}")
        return notes
