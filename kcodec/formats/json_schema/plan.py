"""Columns and the shapes of documents as plans of the JSON engine."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import pyarrow as pa

from kcodec.columns.types.plain import (
    MILLIS_PER_DAY,
    PER_MILLI,
    is_bytes,
    is_list,
    is_text,
    plain_type,
    stored_type,
)
from kcodec.errors import SchemaError
from kcodec.formats.connect.model import BITS, DATE
from kcodec.formats.json.node import JSON_KINDS, Form, JsonNode, Op
from kcodec.formats.json.plan import RAW, place_of
from kcodec.formats.json_schema.references import ABSENT
from kcodec.formats.json_schema.shape import Shape
from kcodec.formats.json_schema.types import (
    UNKNOWN,
    JsonSchemaOptions,
    decimal_scale,
    entry_of,
    item_of,
    kinds_of,
    struct_of,
)
from kcodec.java.jackson import write_tree
from kcodec.java.numbers import integer_bounds
from kcodec.plan.node import MAX_DEPTH, Plan

__all__ = ["decode_plan", "encode_plan", "encoded_type", "is_marked"]

_MARK = b"kcodec.json"
#: What reads or writes a struct, by what it holds.
_STRUCTS = {"object": Op.JSON_OBJECT, "union": Op.JSON_UNION, "tuple": Op.JSON_TUPLE}


def decode_plan(kind: pa.DataType, shape: Shape, options: JsonSchemaOptions = JsonSchemaOptions()) -> Plan:  # noqa: B008
    """Plan how documents of a shape become columns of a type.

    >>> from kcodec.formats.json_schema.references import Documents
    >>> from kcodec.formats.json_schema.shape import shape_of
    >>> schema = {"properties": {"id": {"type": "integer"}, "any": {}}, "required": ["id"]}
    >>> shape = shape_of(Documents(schema, []))
    >>> print(decode_plan(pa.struct([pa.field("id", pa.int64(), False), ("any", pa.string())]), shape))
    JSON_SR decode: struct<id: int64 not null, any: string>
      json_object NULL -> column 0
        id: json_integer -> column 1
        any: json_text NULL+ABSENT -> column 2
    """
    return Plan("JSON_SR", "decode", kind, _Decoding(options).root(kind, kind, shape))


def encode_plan(
    kind: pa.DataType,
    shape: Shape,
    options: JsonSchemaOptions = JsonSchemaOptions(),  # noqa: B008
    nulls: str = "schema",
) -> Plan:
    """Plan how columns of a type are written as documents of a shape, once they are cast to `encoded_type`.

    A null of a property that is not required is written as the schema has it, or with ``nulls`` ``"all"`` wherever null
    may be, or with ``"none"`` nowhere.
    """
    plain = encoded_type(kind)
    return Plan("JSON_SR", "encode", plain, _Encoding(options, nulls).root(plain, kind, shape))


def encoded_type(kind: pa.DataType) -> pa.DataType:
    """Return the plain type that columns of a type are cast to before they are written; dates stay dates."""
    return plain_type(kind, days=True)


def is_marked(field: pa.Field) -> bool:
    """Return whether a field is marked to hold JSON itself."""
    return (field.metadata or {}).get(_MARK) == RAW[_MARK]


def _stored(kind: pa.DataType) -> pa.DataType:
    stored = stored_type(kind)
    return kind if stored is None else _stored(stored)


class _Planner(ABC):
    """Numbers the columns in pre-order, as `kcodec.columns.types.layout.layout` does.

    `shape` is None for columns that the schema does not mention.
    """

    def __init__(self, options: JsonSchemaOptions) -> None:
        self.options = options
        self.count = 0
        #: The names on the way to the column in hand.
        self.path: list[str] = []

    def root(self, kind: pa.DataType, given: pa.DataType, shape: Shape) -> JsonNode:
        return self.node(kind, pa.field("", given), shape, self.shared | Form.NULL, "")

    def node(
        self, kind: pa.DataType, given: pa.Field, shape: Shape | None, forms: Form, name: str
    ) -> JsonNode:
        made = JsonNode(Op.JSON_NULL, self.count, name, forms=forms)
        self.count += 1
        self.path.append(name or "[]")
        if len(self.path) > MAX_DEPTH // 2:
            raise SchemaError(f"types are nested deeper than {MAX_DEPTH // 2} levels")
        types, stored = pa.types, _stored(given.type)
        kinds = () if shape is None else kinds_of(shape)
        if is_raw(kind, given, shape):
            made = _with(made, Op.JSON_TEXT)
        elif types.is_struct(kind):
            made = self.struct(kind, stored, shape, made)
        elif types.is_map(kind):
            made = self.map(kind, stored, shape, made)
        elif is_list(kind):
            item = None if shape is None else item_of(shape)
            field = stored.field(0)
            below = self.node(kind.value_type, field, item, self.item_forms(kind.value_field, item), "")
            made = _with(made, Op.JSON_LIST, children=(below,))
        else:
            made = self.leaf(kind, shape, kinds, made)
        self.path.pop()
        return made

    def struct(self, kind: pa.DataType, given: pa.DataType, shape: Shape | None, made: JsonNode) -> JsonNode:
        names = [field.name for field in kind]
        if len(set(names)) < len(names):
            raise SchemaError(f"{kind}: two fields have the same name")
        op = Op.JSON_OBJECT if shape is None else _STRUCTS[struct_of(kind, shape)]
        children: list[JsonNode] = []
        rest: list[JsonNode] = []
        for number, field in enumerate(kind):
            below = None
            if shape is not None:
                if op is Op.JSON_UNION:
                    below = replace(shape, kinds=frozenset((field.name,)))
                elif op is Op.JSON_TUPLE:
                    below = shape.prefix[number]
                else:
                    below = shape.fields.get(field.name)
            if op is Op.JSON_OBJECT and self.keeps(field, below):
                rest.append(
                    JsonNode(
                        Op.JSON_REST, self.count, field.name, forms=Form.NULL | Form.ABSENT | self.shared
                    )
                )
                self.count += 1
                continue
            if op is Op.JSON_OBJECT:
                forms, data = self.field_forms(field, below, shape)
            else:
                forms, data = self.item_forms(field, below), b""
            child = self.node(field.type, given.field(number), below, forms, field.name)
            children.append(replace(child, data=data) if data else child)
        if op is Op.JSON_UNION and len({JSON_KINDS.get(each.op, each.name) for each in children}) < len(
            children
        ):
            raise SchemaError(f"{made.name or 'the root'}: two members of {kind} are of one kind of JSON")
        return _with(made, op, children=tuple(self.placed(rest, children)))

    def keeps(self, field: pa.Field, below: Shape | None) -> bool:
        """Return whether a field holds the properties that the schema does not have."""
        wanted = self.options.unknown == "keep" and below is None
        return wanted and field.name == UNKNOWN and is_text(field.type)

    def placed(self, rest: list[JsonNode], children: list[JsonNode]) -> list[JsonNode]:
        """Return the children of an object in their order."""
        return [*rest, *children]

    def map(self, kind: pa.DataType, given: pa.DataType, shape: Shape | None, made: JsonNode) -> JsonNode:
        entry = None if shape is None else entry_of(shape)
        key_shape, item_shape = entry or (None, None if shape is None else shape.values)
        key_forms = Form.PLAIN if entry else Form.TEXT
        key = self.node(
            kind.key_type, given.key_field, key_shape, self.shared | key_forms, "key" if entry else ""
        )
        if not entry and (key.children or key.op in (Op.JSON_NULL, Op.JSON_TEXT)):
            raise SchemaError(
                f"{place_of(self.path)}: a map with keys of {kind.key_type} has no form in JSON"
            )
        if entry:
            forms, data = self.field_forms(kind.item_field, item_shape, None)
        else:
            forms, data = self.item_forms(kind.item_field, item_shape), b""
        item = self.node(kind.item_type, given.item_field, item_shape, forms, "value" if entry else "")
        item = replace(item, data=data)
        if not entry:
            return _with(made, Op.JSON_MAP, children=(key, item))
        pair = JsonNode(Op.JSON_OBJECT, -1, "", (key, item), forms=self.shared)
        return _with(made, Op.JSON_LIST, children=(pair,))

    #: Forms of all nodes.
    shared = Form.PLAIN

    @abstractmethod
    def field_forms(self, field: pa.Field, below: Shape | None, shape: Shape | None) -> tuple[Form, bytes]:
        """Return how a null and a missing key of a field are read or written, and the default of one."""

    def item_forms(self, field: pa.Field, shape: Shape | None) -> Form:
        """Return how nulls are read or written where there are no keys."""
        return self.shared | (Form.NULL if field.nullable else Form.PLAIN)

    def leaf(
        self, kind: pa.DataType, shape: Shape | None, kinds: tuple[str, ...], made: JsonNode
    ) -> JsonNode:
        types = pa.types
        if types.is_null(kind):
            return _with(made, Op.JSON_NULL)
        if types.is_boolean(kind):
            return _with(made, Op.JSON_BOOLEAN)
        if types.is_integer(kind) or types.is_duration(kind):
            return self.integer(shape, made)
        if types.is_float32(kind) or types.is_float64(kind):
            return _with(made, Op.JSON_FLOAT, Form.NONFINITE)
        if types.is_decimal(kind):
            return self.decimal(shape, kinds, made)
        if is_text(kind):
            return self.text(kinds, made)
        if is_bytes(kind) or types.is_fixed_size_binary(kind):
            return _with(made, Op.JSON_BYTES)
        if types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind):
            return self.time(kind, shape, kinds, made)
        raise SchemaError(
            f"{place_of(self.path)}: a column of {kind} has no form in JSON: it is neither read nor written"
        )

    def integer(self, shape: Shape | None, made: JsonNode) -> JsonNode:
        return _with(made, Op.JSON_INTEGER)

    @abstractmethod
    def decimal(self, shape: Shape | None, kinds: tuple[str, ...], made: JsonNode) -> JsonNode:
        """Plan a decimal, as a number or as text."""

    def text(self, kinds: tuple[str, ...], made: JsonNode) -> JsonNode:
        return _with(made, Op.JSON_STRING)

    def time(
        self, kind: pa.DataType, shape: Shape | None, kinds: tuple[str, ...], made: JsonNode
    ) -> JsonNode:
        """Plan numbers, of days or of milliseconds, where the schema has numbers only; else ISO 8601."""
        if not kinds or not set(kinds) <= {"integer", "number"}:
            return _with(made, Op.JSON_TIME)
        types = pa.types
        if types.is_date(kind):
            factor = 1 if types.is_date32(kind) else MILLIS_PER_DAY
            return self.counted(made, factor, integer_bounds(32))
        if types.is_timestamp(kind) and shape is not None and shape.note("integer").name == DATE:
            return self.counted(made, PER_MILLI[kind.unit] * MILLIS_PER_DAY, integer_bounds(32))
        bounds = (0, MILLIS_PER_DAY - 1) if types.is_time(kind) else None
        return self.counted(made, PER_MILLI[kind.unit], bounds)

    def counted(self, made: JsonNode, factor: int, bounds: tuple[int, int] | None) -> JsonNode:
        if factor < 0:
            raise SchemaError(f"{made.name}: a column of seconds does not hold milliseconds")
        return _with(made, Op.JSON_INTEGER, factor=factor, bounds=bounds)


class _Decoding(_Planner):
    def field_forms(self, field: pa.Field, below: Shape | None, shape: Shape | None) -> tuple[Form, bytes]:
        # What is required is there, or was added to the schema with a default. A null that is there is one.
        forms = Form.NULL | Form.ABSENT if field.nullable else Form.PLAIN
        is_required = not field.nullable or (shape is not None and field.name in shape.required)
        default = below.default if is_required and below is not None else ABSENT
        if default is ABSENT or default is None:
            return forms, b""
        return forms | Form.ABSENT, write_tree(default).encode("utf-8", "surrogatepass")

    def decimal(self, shape: Shape | None, kinds: tuple[str, ...], made: JsonNode) -> JsonNode:
        scale = None if shape is None else decimal_scale(shape)
        if scale is None:
            return _with(made, Op.JSON_DECIMAL, Form.TEXT)
        return _with(made, Op.JSON_DECIMAL, Form.BASE64, scale=scale)

    def text(self, kinds: tuple[str, ...], made: JsonNode) -> JsonNode:
        scalar = Form.SCALAR if kinds and kinds != ("string",) else Form.PLAIN
        return _with(made, Op.JSON_STRING, scalar)


class _Encoding(_Planner):
    shared = Form.ESCAPED

    def __init__(self, options: JsonSchemaOptions, nulls: str) -> None:
        super().__init__(options)
        self.nulls = nulls

    def placed(self, rest: list[JsonNode], children: list[JsonNode]) -> list[JsonNode]:
        return [*children, *rest]

    def field_forms(self, field: pa.Field, below: Shape | None, shape: Shape | None) -> tuple[Form, bytes]:
        is_optional = shape is not None and field.name not in shape.required
        accepts_null = below is None or below.accepts_null
        if not is_optional:
            is_written = accepts_null
        elif shape is None or below is None or self.nulls != "schema":
            is_written = accepts_null and self.nulls != "none"
        else:
            is_written = shape.writes_null(field.name)
        if is_written:
            return Form.NULL | Form.ESCAPED, b""
        # No null may be there, but perhaps nothing.
        return Form.ESCAPED | (Form.ABSENT if is_optional else Form.PLAIN), b""

    def item_forms(self, field: pa.Field, shape: Shape | None) -> Form:
        nullable = shape is None or shape.accepts_null
        return Form.ESCAPED | (Form.NULL if nullable else Form.PLAIN)

    def leaf(
        self, kind: pa.DataType, shape: Shape | None, kinds: tuple[str, ...], made: JsonNode
    ) -> JsonNode:
        is_time = shape is not None and kinds == ("string",) and shape.note("string").format == "date-time"
        if is_time and pa.types.is_integer(kind) and self.options.formats == "read":
            raise SchemaError(
                f"{place_of(self.path)}: {kind} is not written where the schema has times as text"
            )
        return super().leaf(kind, shape, kinds, made)

    def integer(self, shape: Shape | None, made: JsonNode) -> JsonNode:
        bits = None if shape is None else BITS.get(shape.note("integer").connect or "")
        return _with(made, Op.JSON_INTEGER, bounds=None if bits is None else integer_bounds(bits))

    def decimal(self, shape: Shape | None, kinds: tuple[str, ...], made: JsonNode) -> JsonNode:
        scale = None if shape is None else decimal_scale(shape)
        if kinds == ("string",):
            if scale is not None:
                return _with(made, Op.JSON_DECIMAL, Form.BASE64, scale=scale)
            return _with(made, Op.JSON_DECIMAL, Form.TEXT | Form.SCIENTIFIC)
        return _with(made, Op.JSON_DECIMAL, Form.SCIENTIFIC)

    def counted(self, made: JsonNode, factor: int, bounds: tuple[int, int] | None) -> JsonNode:
        floor = factor > 1 and self.options.round == "truncate"
        return _with(made, Op.JSON_INTEGER, factor=factor, bounds=bounds, floor=floor)


def is_raw(kind: pa.DataType, given: pa.Field, shape: Shape | None) -> bool:
    """Return whether a column holds JSON text: it is marked so, or it is text where the schema has no column."""
    if is_marked(given):
        return is_text(kind) or is_bytes(kind)
    if not is_text(kind) or shape is None:
        return False
    kinds = kinds_of(shape)
    return not kinds or "object" in kinds or "array" in kinds


def _with(node: JsonNode, op: Op, forms: Form = Form.PLAIN, **more: Any) -> JsonNode:
    return replace(node, op=op, forms=node.forms | forms, **more)
