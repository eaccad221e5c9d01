"""Arrow types as JSON: the plans of plain JSON documents, and how dialects make and run their own.

A dialect of JSON compiles its schema to a tree of `JsonNode`, with `Form` flags for what it reads or writes beside the
plain form. The row loops run it (`kcodec.formats.json.kernel.JsonKernel`).

Rules for trees:

- A child of JSON_OBJECT is named by its key, all else that is named only adds a step to error paths. Names of one
  object differ; with FOLD no name is the upper case of another.
- NULL and ABSENT are for nullable columns, or for nodes with ``data``. The root column always may be null.
- JSON_MAP's first child is the key: a string, or with TEXT a number or boolean. A JSON_LIST whose column is a map
  has one child, with ``column == -1``: a JSON_OBJECT or JSON_TUPLE of key and value. Of several entries with an
  equal key the last is kept, unless keys are structs or lists.
- The children of JSON_UNION are nullable columns, of different `JSON_KINDS`.
- JSON_REST has no key, whatever its name, and no forms but NULL and ABSENT.
- JSON_DECIMAL reads to the scale of its column, so ``precision`` and ``scale`` are only for BASE64.

What a dialect answers to input that strict reading refuses is its own: see `kcodec.formats.json.reread`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from kcodec.columns.types.plain import MILLIS_PER_DAY, is_bytes, is_list, is_text
from kcodec.errors import SchemaError, check_booleans, check_choice
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.plan.node import MAX_DEPTH, Plan

__all__ = ["RAW", "JsonOptions", "decodable", "json_plan"]

#: Metadata of a field of text or bytes that holds JSON itself, whatever the value is.
RAW = {b"kcodec.json": b"raw"}

_CHOICES = {
    "times": ("iso", "number"),
    "decimals": ("number", "text"),
    "nulls": ("write", "omit"),
    "duplicate_keys": ("last", "error"),
    "round": ("error", "truncate"),
}


class JsonOptions(NamedTuple):
    """How values of Arrow types stand in JSON; the parameters are those of `kcodec.JsonCodec`."""

    times: str = "iso"
    decimals: str = "number"
    nulls: str = "write"
    duplicate_keys: str = "last"
    text_numbers: bool = False
    nonfinite: bool = False
    round: str = "error"

    def check(self) -> None:
        """Check that values are among the valid ones."""
        for name, valid in _CHOICES.items():
            check_choice(name, getattr(self, name), valid)
        check_booleans(text_numbers=self.text_numbers, nonfinite=self.nonfinite)


def json_plan(kind: pa.DataType, direction: str, options: JsonOptions = JsonOptions()) -> Plan:  # noqa: B008
    """Plan how documents become columns of a type (``"decode"``), or the reverse (``"encode"``).

    >>> print(json_plan(pa.struct([pa.field("id", pa.int64(), False), ("tags", pa.list_(pa.string()))]), "decode"))
    JSON decode: struct<id: int64 not null, tags: list<item: string>>
      json_object NULL -> column 0
        id: json_integer -> column 1
        tags: json_list NULL+ABSENT -> column 2
          json_string NULL+ABSENT -> column 3
    """
    return Plan("JSON", direction, kind, _Planner(direction, options).node(pa.field("", kind), Form.NULL))


def union_columns(node: JsonNode) -> frozenset[int]:
    """Return the columns at or below a node that are unions, as structs of their members."""
    own = {node.column} if node.op is Op.JSON_UNION else set()
    return frozenset(own.union(*map(union_columns, node.children)))


def decodable(kind: pa.DataType) -> pa.DataType:
    """Return the type that columns of a type are decoded as: with 64-bit offsets for all, if for any."""
    return _widened(kind) if _is_large(kind) else kind


def _is_large(kind: pa.DataType) -> bool:
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_large_list(kind):
        return True
    return any(_is_large(kind.field(i).type) for i in range(kind.num_fields))


def _widened(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_string(kind):
        return pa.large_string()
    if types.is_binary(kind):
        return pa.large_binary()
    if types.is_struct(kind):
        return pa.struct([field.with_type(_widened(field.type)) for field in kind])
    if types.is_map(kind):
        key, item = kind.key_field, kind.item_field
        return pa.map_(key.with_type(_widened(key.type)), item.with_type(_widened(item.type)))
    if is_list(kind):
        return pa.large_list(kind.value_field.with_type(_widened(kind.value_type)))
    return kind


def place_of(path: Sequence[str]) -> str:
    """Return where a column stands, for errors: `path` has the names on the way to it, first that of the root."""
    return ".".join(path[1:]).replace(".[]", "[]") or "the root"


class _Planner:
    """Numbers the columns in pre-order, as `kcodec.columns.types.layout.layout` does."""

    def __init__(self, direction: str, options: JsonOptions) -> None:
        self.options = options
        self.decoding = direction == "decode"
        self.count = 0
        #: The names on the way to the column in hand.
        self.path: list[str] = []
        self.shared = Form.PLAIN
        if options.duplicate_keys == "error":
            self.shared |= Form.UNIQUE
        self.numbers = Form.TEXT if options.text_numbers else Form.PLAIN

    def field(self, field: pa.Field, name: str = "") -> JsonNode:
        forms = Form.PLAIN
        if field.nullable:
            forms = Form.NULL
            if self.decoding or self.options.nulls == "omit":
                forms |= Form.ABSENT
        return self.node(field, forms, name)

    def node(self, field: pa.Field, forms: Form, name: str = "") -> JsonNode:
        kind = field.type
        column = self.count
        self.count += 1
        self.path.append(name or "[]")
        if len(self.path) > MAX_DEPTH // 2:
            raise SchemaError(f"types are nested deeper than {MAX_DEPTH // 2} levels")
        if pa.types.is_struct(kind):
            names = [child.name for child in kind]
            if len(set(names)) < len(names):
                raise SchemaError(f"{kind}: two fields have the same name")
            children = tuple(self.field(child, child.name) for child in kind)
            node = JsonNode(Op.JSON_OBJECT, column, name, children, forms=forms | self.shared)
        elif pa.types.is_map(kind):
            key = self.node(kind.key_field, Form.TEXT)
            if key.children or key.op in (Op.JSON_NULL, Op.JSON_TEXT):
                raise SchemaError(
                    f"{place_of(self.path)}: a map with keys of {kind.key_type} has no form in JSON"
                )
            entry = (key, self.field(kind.item_field))
            node = JsonNode(Op.JSON_MAP, column, name, entry, forms=forms | self.shared)
        elif is_list(kind):
            item = self.field(kind.value_field)
            node = JsonNode(Op.JSON_LIST, column, name, (item,), forms=forms)
        else:
            node = self.leaf(field, column, name, forms)
        self.path.pop()
        return node

    def leaf(self, field: pa.Field, column: int, name: str, forms: Form) -> JsonNode:
        kind, types = field.type, pa.types
        if (field.metadata or {}).get(b"kcodec.json") == RAW[b"kcodec.json"]:
            if not is_text(kind) and not is_bytes(kind):
                raise SchemaError(f"{field.name}: a column of {kind} cannot hold JSON text")
            return JsonNode(Op.JSON_TEXT, column, name, forms=forms)
        if types.is_null(kind):
            # Also what Spark says is never null: the items of empty arrays.
            return JsonNode(Op.JSON_NULL, column, name, forms=forms | Form.NULL)
        if types.is_boolean(kind):
            return JsonNode(Op.JSON_BOOLEAN, column, name, forms=forms)
        if types.is_integer(kind) or types.is_duration(kind):
            return JsonNode(Op.JSON_INTEGER, column, name, forms=forms | self.numbers)
        if types.is_float32(kind) or types.is_float64(kind):
            nonfinite = Form.NONFINITE if self.options.nonfinite else Form.PLAIN
            return JsonNode(Op.JSON_FLOAT, column, name, forms=forms | self.numbers | nonfinite)
        if types.is_decimal128(kind) or types.is_decimal256(kind):
            if self.decoding or self.options.decimals == "text":
                forms |= Form.TEXT
            return JsonNode(Op.JSON_DECIMAL, column, name, forms=forms | self.numbers)
        if is_text(kind):
            return JsonNode(Op.JSON_STRING, column, name, forms=forms)
        if is_bytes(kind) or types.is_fixed_size_binary(kind):
            return JsonNode(Op.JSON_BYTES, column, name, forms=forms)
        if types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind):
            if self.options.times == "number":
                # Dates are days, whatever counts them in the column.
                factor = MILLIS_PER_DAY if types.is_date64(kind) else 1
                floor = factor > 1 and self.options.round == "truncate"
                forms |= self.numbers
                return JsonNode(Op.JSON_INTEGER, column, name, factor=factor, forms=forms, floor=floor)
            return JsonNode(Op.JSON_TIME, column, name, forms=forms)
        raise SchemaError(
            f"{place_of(self.path)}: a column of {kind} has no form in JSON: it is neither read nor written"
        )
