"""Shapes of documents as Arrow types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kcodec.columns.types.fields import chosen, field_names, field_tree
from kcodec.columns.types.plain import is_list
from kcodec.errors import ConfigError, SchemaError, check_booleans, check_choice, is_whole
from kcodec.formats.connect.model import BITS, DECIMAL, PRECISION
from kcodec.formats.connect.schema import LOGICAL_TYPES, PRIMITIVES, decimal_type, digits
from kcodec.formats.json.plan import RAW
from kcodec.formats.json_schema.shape import ANYTHING, KINDS, Shape, either

__all__ = [
    "UNKNOWN",
    "JsonSchemaOptions",
    "arrow_type",
    "chosen_type",
    "decimal_scale",
    "entry_of",
    "has_no_columns",
    "is_map",
    "item_of",
    "kinds_of",
    "struct_of",
]

#: The column of the properties that the schema does not have.
UNKNOWN = "_unknown"

_CHOICES = {
    "formats": ("read", "ignore"),
    "unknown": ("skip", "keep"),
    "round": ("error", "truncate"),
}

_NULL = frozenset(("null",))


@dataclass(frozen=True)
class JsonSchemaOptions:
    """How documents are laid out in columns; the attributes are the arguments of `kcodec.JsonSchemaCodec`."""

    large: bool = False
    fields: Sequence[str] | None = None
    recursive_depth: int = 0
    formats: str = "read"
    precision: int = 38
    unknown: str = "skip"
    round: str = "error"
    arrow_type: pa.DataType | None = None

    def __post_init__(self) -> None:
        for name, valid in _CHOICES.items():
            check_choice(name, getattr(self, name), valid)
        object.__setattr__(self, "fields", field_names(self.fields))
        for name, limit in (("recursive_depth", 20), ("precision", 76)):
            value = getattr(self, name)
            least = 1 if name == "precision" else 0
            if not is_whole(value) or not least <= value <= limit:
                raise ConfigError(f"{name}={value!r} is not a number from {least} to {limit}")
        check_booleans(large=self.large)
        if isinstance(self.arrow_type, pa.Schema):
            object.__setattr__(self, "arrow_type", pa.struct(list(self.arrow_type)))
        if self.arrow_type is not None and not isinstance(self.arrow_type, pa.DataType):
            raise ConfigError(
                f"arrow_type is a {type(self.arrow_type).__name__}, not an Arrow type or schema"
            )


def kinds_of(shape: Shape) -> tuple[str, ...]:
    """Return the kinds of values in a place but null, in the order of `KINDS`; empty if there are no columns for them.

    >>> kinds_of(Shape(kinds=frozenset(("null", "string", "boolean"))))
    ('boolean', 'string')
    """
    if shape.cut:
        return ()
    kinds = shape.likely - {"null"}
    # Numbers that may be integers too.
    return () if len(kinds) == len(KINDS) - 2 else tuple(kind for kind in KINDS if kind in kinds)


def is_map(shape: Shape) -> bool:
    """Return whether objects are maps: all properties hold the same."""
    return shape.values is not None and (not shape.fields or shape.note("object").connect == "map")


def entry_of(shape: Shape) -> tuple[Shape, Shape] | None:
    """Return key and value of the entries of an array that is a map of Connect's; None for other arrays."""
    items = shape.items
    if not shape.may_be("array") or shape.note("array").connect != "map":
        return None
    if items is None or items.fields.keys() != {"key", "value"}:
        return None
    return items.fields["key"], items.fields["value"]


def tuple_names(shape: Shape) -> list[str]:
    """Return the names that the items of a tuple have as columns."""
    return [f"_{number}" for number in range(len(shape.prefix))]


def decimal_scale(shape: Shape) -> int | None:
    """Return the scale of Connect's decimals; None if the numbers or strings are not decimals."""
    for kind in ("number", "string", "integer"):
        note = shape.note(kind)
        # Beside numbers, text is a member of its own.
        if note.name == DECIMAL and (kind != "string" or kinds_of(shape) == ("string",)):
            text = dict(note.parameters).get("scale", "0")
            if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 4:
                raise SchemaError(f"the scale {text!r} of a Decimal is not a number")
            return int(text)
    return None


def arrow_type(shape: Shape, options: JsonSchemaOptions) -> pa.DataType:
    """Return the type that documents of a shape are decoded as; `SchemaError` for a decimal beyond Arrow's digits.

    >>> from kcodec.formats.json_schema.schema import parse
    >>> from kcodec.formats.json_schema.shape import shape_of
    >>> schema = parse('{"properties": {"id": {"type": "integer"}, "any": {}}, "required": ["id"]}')
    >>> print(arrow_type(shape_of(schema.documents), JsonSchemaOptions()))
    struct<id: int64 not null, any: string>
    """
    return _Typing(options).type(shape)


def chosen_type(kind: pa.DataType, shape: Shape, fields: Sequence[str] | None) -> pa.DataType:
    """Return the type of documents of a shape with nothing but some fields, each of which it has to have.

    Members of a union or a tuple are refused: documents of other members would not fit.
    """
    found = chosen(kind, fields)
    if fields is not None:
        _check_chosen(kind, shape, field_tree(fields), "")
    return found


def _check_chosen(kind: pa.DataType, shape: Shape | None, wanted: Mapping[str, Any], path: str) -> None:
    if not wanted or shape is None:
        return
    if pa.types.is_map(kind):
        entry = entry_of(shape)
        _check_chosen(kind.item_type, entry[1] if entry else shape.values, wanted, path)
    elif is_list(kind):
        _check_chosen(kind.value_type, item_of(shape), wanted, path)
    elif pa.types.is_struct(kind):
        what = {"union": "union of several types", "tuple": "tuple"}.get(struct_of(kind, shape))
        if what:
            raise ConfigError(f"{path or 'the root'} is a {what}, so it has no field {next(iter(wanted))}")
        for name, below in wanted.items():
            where = f"{path}.{name}" if path else name
            _check_chosen(kind.field(name).type, shape.fields.get(name), below, where)


def struct_of(kind: pa.DataType, shape: Shape) -> str:
    """Return what a struct holds of documents of a shape: a ``"union"`` of types, a ``"tuple"``, or an ``"object"``.

    >>> shape = Shape(kinds=frozenset(("integer", "string")))
    >>> struct_of(pa.struct([("integer", pa.int64())]), shape)
    'union'
    """
    names = [field.name for field in kind]
    kinds = kinds_of(shape)
    if len(kinds) > 1 and set(names) <= set(kinds):
        return "union"
    return "tuple" if kinds == ("array",) and shape.is_tuple and names == tuple_names(shape) else "object"


class _Typing:
    def __init__(self, options: JsonSchemaOptions) -> None:
        self.options = options
        self.text = pa.large_string() if options.large else pa.string()
        self.binary = pa.large_binary() if options.large else pa.binary()

    def type(self, shape: Shape) -> pa.DataType:
        kinds = kinds_of(shape)
        if not kinds:
            return pa.null() if shape.kinds == _NULL else self.text
        if len(kinds) == 1:
            return self.of_kind(shape, kinds[0])
        return pa.struct(
            [
                pa.field(
                    kind, self.of_kind(shape, kind), metadata=RAW if has_no_columns(shape, kind) else None
                )
                for kind in kinds
            ]
        )

    def of_kind(self, shape: Shape, kind: str) -> pa.DataType:
        return getattr(self, kind)(shape)

    def field(self, name: str, shape: Shape, nullable: bool) -> pa.Field:
        kinds = kinds_of(shape)
        raw = shape.kinds != _NULL and not kinds
        raw = raw or (len(kinds) == 1 and has_no_columns(shape, kinds[0]))
        return pa.field(name, self.type(shape), nullable, RAW if raw else None)

    def boolean(self, shape: Shape) -> pa.DataType:
        return pa.bool_()

    def integer(self, shape: Shape) -> pa.DataType:
        note = shape.note("integer")
        if note.name in LOGICAL_TYPES:
            return LOGICAL_TYPES[note.name]
        return self.decimal(shape) or PRIMITIVES[note.connect if note.connect in BITS else "int64"]

    def number(self, shape: Shape) -> pa.DataType:
        note = shape.note("number")
        return self.decimal(shape) or PRIMITIVES["float" if note.connect == "float" else "double"]

    def string(self, shape: Shape) -> pa.DataType:
        note = shape.note("string")
        decimal = self.decimal(shape)
        if decimal is not None and kinds_of(shape) == ("string",):
            return decimal
        if note.connect == "bytes" or (note.encoding or "").lower() == "base64":
            return self.binary
        if self.options.formats == "read" and note.connect is None:
            if note.format == "date-time":
                return pa.timestamp("us", "UTC")
            if note.format == "date":
                return pa.date32()
        return self.text

    def decimal(self, shape: Shape) -> pa.DataType | None:
        scale = decimal_scale(shape)
        if scale is None:
            return None
        given = [
            text
            for kind in ("number", "string", "integer")
            if (text := dict(shape.note(kind).parameters).get(PRECISION)) is not None
        ]
        precision = digits(given[0]) if given else self.options.precision
        if precision > 76 or abs(scale) > 76:
            raise SchemaError(
                f"Arrow has no decimal({precision}, {scale}), at most 76 digits: an arrow_type reads it as another type"
            )
        return decimal_type(precision, scale)

    def array(self, shape: Shape) -> pa.DataType:
        entry = entry_of(shape)
        if entry is not None:
            key = self.field("key", entry[0], False)
            return pa.map_(key, self.field("value", entry[1], entry[1].accepts_null))
        if shape.is_tuple:
            return pa.struct(
                [
                    self.field(name, item, item.accepts_null)
                    for name, item in zip(tuple_names(shape), shape.prefix, strict=True)
                ]
            )
        item = item_of(shape)
        inner = self.field("item", item, item.accepts_null)
        return pa.large_list(inner) if self.options.large else pa.list_(inner)

    def object(self, shape: Shape) -> pa.DataType:
        if is_map(shape):
            assert shape.values is not None
            return pa.map_(self.text, self.field("value", shape.values, shape.values.accepts_null))
        if not shape.fields:
            return self.text
        fields = [self.field(name, below, is_nullable(shape, name)) for name, below in ordered_fields(shape)]
        if self.options.unknown == "keep":
            if UNKNOWN in shape.fields:
                raise SchemaError(
                    f"a property is called {UNKNOWN}, as is the column of what the schema does not have"
                )
            fields.append(pa.field(UNKNOWN, self.text, metadata=RAW))
        return pa.struct(fields)


def has_no_columns(shape: Shape, kind: str) -> bool:
    """Return whether values of a kind are JSON text: objects of which no property is known."""
    return kind == "object" and not shape.fields and not is_map(shape)


def item_of(shape: Shape) -> Shape:
    """Return the shape of all items of an array that is a list."""
    below = [*shape.prefix, *([] if shape.items is None else [shape.items])]
    return either(below) if below else ANYTHING


def is_nullable(shape: Shape, name: str) -> bool:
    """Return whether a property may be null or missing."""
    return name not in shape.required or shape.fields[name].accepts_null


def ordered_fields(shape: Shape) -> list[tuple[str, Shape]]:
    """Return the properties of an object in the order of ``connect.index``, others in their own."""
    places = list(shape.fields.items())
    order = {
        name: number if below.index is None else below.index for number, (name, below) in enumerate(places)
    }
    return sorted(places, key=lambda each: order[each[0]])
