"""ksqlDB's SQL types as JSON: the plans that the row loop of JSON runs.

What is read strictly is what ksqlDB reads without loss; see ``docs/ksql.md``. In the compatible plans, texts that
ksqlDB would give another form are refused too (`Form.CANONICAL`), so that they are read again by its own rules.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from kcodec.columns.arrays import casts
from kcodec.columns.shown import shortened
from kcodec.columns.types.layout import Column, layout
from kcodec.columns.types.plain import MILLIS_PER_DAY, PER_MILLI, is_list, is_text, list_of, stored_type
from kcodec.errors import Fault, SchemaError, near
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.java.numbers import integer_bounds, parse_java_decimal
from kcodec.ksql.formats.json.reader import fit
from kcodec.ksql.types import SqlField, SqlType, arrow_type, sql_type
from kcodec.plan.failure import prefix, step
from kcodec.plan.node import Plan


def is_ambiguous(kind: SqlType) -> bool:
    """Return whether two names of one STRUCT are equal in upper case: then one key may be both."""
    names = {field.name for field in kind.fields}
    return any(name.upper() in names and name.upper() != name for name in names) or any(
        map(is_ambiguous, kind.parts)
    )


def decode_plan(kind: SqlType, *, wrapped: bool, compatible: bool, large: bool = False) -> Plan:
    """Plan how JSON is read: wrapped documents are never ``null``, and compatible plans refuse what ksqlDB changes.

    >>> from kcodec.ksql.types import parse_type
    >>> print(decode_plan(parse_type("STRUCT<ID INT, AT TIMESTAMP>"), wrapped=True, compatible=False))
    KSQL_JSON decode: struct<ID: int32, AT: timestamp[us, tz=UTC]>
      json_object FOLD -> column 0
        ID: json_integer NULL+ABSENT+TEXT -> column 1
        AT: json_integer factor 1000 NULL+ABSENT+TEXT -> column 2
    """
    given = arrow_type(kind, large=large)
    columns = iter(layout(given))
    forms = Form.PLAIN if wrapped else Form.NULL
    return Plan("KSQL_JSON", "decode", given, _Decoder(columns, compatible).node(kind, "", forms))


class _Decoder:
    """Takes the columns in their order."""

    def __init__(self, columns: Iterator[Column], compatible: bool) -> None:
        self.columns = columns
        self.canonical = Form.CANONICAL if compatible else Form.PLAIN

    def node(self, kind: SqlType, name: str, forms: Form) -> JsonNode:
        column = next(self.columns).index
        below = Form.NULL | Form.ABSENT
        if kind.base == "STRUCT":
            children = tuple(self.node(field.type, field.name, below) for field in kind.fields)
            return JsonNode(Op.JSON_OBJECT, column, name, children, forms=forms | Form.FOLD)
        if kind.base == "ARRAY":
            return JsonNode(
                Op.JSON_LIST, column, name, (self.node(kind.parts[0], "", Form.NULL),), forms=forms
            )
        if kind.base == "MAP":
            key, item = kind.parts
            entry = (self.node(key, "", Form.PLAIN), self.node(item, "", Form.NULL))
            return JsonNode(Op.JSON_MAP, column, name, entry, forms=forms)
        return self.leaf(kind, column, name, forms)

    def leaf(self, kind: SqlType, column: int, name: str, forms: Form) -> JsonNode:
        if kind.base == "BOOLEAN":
            return JsonNode(Op.JSON_BOOLEAN, column, name, forms=forms)
        if kind.base == "DOUBLE":
            forms |= Form.TEXT | Form.NONFINITE | self.canonical
            return JsonNode(Op.JSON_FLOAT, column, name, forms=forms)
        if kind.base == "DECIMAL":
            return JsonNode(Op.JSON_DECIMAL, column, name, forms=forms | Form.TEXT)
        if kind.base == "STRING":
            return JsonNode(Op.JSON_STRING, column, name, forms=forms | Form.SCALAR | self.canonical)
        if kind.base == "BYTES":
            return JsonNode(Op.JSON_BYTES, column, name, forms=forms)
        factor = 1000 if kind.base == "TIMESTAMP" else 1
        return JsonNode(Op.JSON_INTEGER, column, name, factor=factor, forms=forms | Form.TEXT)


def match_fields(fields: tuple[SqlField, ...], given: pa.StructType) -> tuple[int | None, ...]:
    """Find the Arrow field of each column: the one of its name, or else the only one that has it in upper case.

    None stands for a column without a field, which is null. Fields that match no column, or the same one, are refused.
    """
    names = dict.fromkeys(field.name for field in fields)
    found: dict[str, int] = {}
    for number, field in enumerate(given):
        name = field.name if field.name in names else field.name.upper()
        if name not in names:
            raise SchemaError(
                f"{field.name!r} is not one of the columns {shortened(', '.join(names), 200)}{near(name, names)}"
            )
        if name in found:
            raise SchemaError(
                f"two fields stand for the column {name}: {given.field(found[name]).name!r}, {field.name!r}"
            )
        found[name] = number
    return tuple(found.get(name) for name in names)


def written_type(kind: SqlType, given: pa.DataType, path: str = "") -> pa.DataType:
    """Return the Arrow type that a column is cast to before it is written; `path` is its name, for errors.

    Columns that are missing are added as nulls. Only DECIMALs can be lost: those that are given with more digits
    than the type has, or as text.
    """
    types = pa.types
    stored = stored_type(given)
    if stored is not None:
        return written_type(kind, stored, path)
    if types.is_null(given):
        return given
    if kind.base == "STRUCT" and types.is_struct(given):
        places = match_fields(kind.fields, given)
        kinds = {place: field.type for place, field in zip(places, kind.fields, strict=True)}
        found = [
            field.with_type(written_type(kinds[number], field.type, step(path, field.name)))
            for number, field in enumerate(given)
        ]
        missing = [field.name for place, field in zip(places, kind.fields, strict=True) if place is None]
        return pa.struct([*found, *(pa.field(name, pa.null()) for name in missing)])
    if kind.base == "ARRAY" and (is_list(given) or types.is_fixed_size_list(given)):
        item = given.value_field.with_type(written_type(kind.parts[0], given.value_type, f"{path}[]"))
        return list_of(item, given)
    if kind.base == "MAP" and types.is_map(given):
        return pa.map_(
            given.key_field.with_type(written_type(kind.parts[0], given.key_type, f"{path}[].key")),
            given.item_field.with_type(written_type(kind.parts[1], given.item_type, f"{path}[].value")),
        )
    if kind.base == "DECIMAL" and (types.is_decimal(given) or sql_type(given).base == "STRING"):
        wanted = arrow_type(kind)
        narrower = types.is_decimal(given) and given.precision <= kind.precision and given.scale == kind.scale
        # The row loop reads decimals of 128 and 256 bits.
        return given if narrower and given.bit_width >= 128 else wanted
    for accepts, target in _WRITTEN.get(kind.base, ()):
        if accepts(given):
            return target or given
    raise SchemaError(f"{path or 'the column'}: Arrow's {given} cannot be written as {kind}")


_TEXT = (
    (pa.types.is_string, None),
    (pa.types.is_large_string, None),
    (pa.types.is_string_view, pa.string()),
)
_INTEGERS = ((lambda given: pa.types.is_integer(given) and given != pa.uint64(), None),)
_WRITTEN = {
    "BOOLEAN": ((pa.types.is_boolean, None),),
    "INTEGER": _INTEGERS,
    "BIGINT": ((pa.types.is_integer, None),),
    "DOUBLE": ((pa.types.is_floating, pa.float64()),),
    "STRING": _TEXT,
    "BYTES": (
        (pa.types.is_binary, None),
        (pa.types.is_large_binary, None),
        (pa.types.is_fixed_size_binary, None),
        (pa.types.is_binary_view, pa.binary()),
    ),
    # Spark has milliseconds of the day as an integer.
    "TIME": ((pa.types.is_time, None), *_INTEGERS),
    "DATE": ((pa.types.is_date32, None), (pa.types.is_date64, pa.timestamp("ms"))),
    "TIMESTAMP": ((pa.types.is_timestamp, None),),
}


def code_of(value: pa.Array, kind: pa.DataType) -> str:
    """Return the code of why a number, or the text of one, cannot be cast to the Arrow type of a DECIMAL."""
    if not pa.types.is_decimal(kind) or not is_text(value.type):
        return casts.code_of(value, kind)
    try:
        number = parse_java_decimal(value[0].as_py())
    except ValueError:
        # Not UTF-8 is one, too.
        return "invalid_number"
    return fit(number, SqlType("DECIMAL", kind.precision, kind.scale))[1] or "inexact"


def cast_written(array: pa.Array, kind: SqlType, wanted: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    """Cast columns to the type from `written_type`; paths of what is lost have the names of SQL, as all others do."""
    plain, lost = casts.cast_rows(array, wanted, code_of)
    return plain, [fault._replace(path=_sql_path(fault.path, kind, wanted)) for fault in lost]


def _sql_path(path: str, kind: SqlType, given: pa.DataType) -> str:
    """Return the path of a value with the names that columns of a type have in SQL."""
    if path[:1] == "[":
        step, _, rest = path.partition("]")
        if kind.base != "MAP":
            return prefix(f"{step}]", _sql_path(rest.removeprefix("."), kind.parts[0], given.value_type))
        for name, part, below in zip(
            (".key", ".value"), kind.parts, (given.key_type, given.item_type), strict=True
        ):
            if rest.startswith(name):
                return prefix(f"{step}]{name}", _sql_path(rest[len(name) :].removeprefix("."), part, below))
    if kind.base == "STRUCT":
        for field, place in zip(kind.fields, match_fields(kind.fields, given), strict=True):
            at = None if place is None else given.field(place)
            if at is not None and path.startswith(at.name) and path[len(at.name) :][:1] in ("", ".", "["):
                rest = path[len(at.name) :].removeprefix(".")
                return prefix(field.name, _sql_path(rest, field.type, at.type))
    return path


def encode_plan(kind: SqlType, given: pa.DataType, *, floor: bool = False, source: Any = None) -> Plan:
    """Plan how columns, of a type from `written_type`, are written as JSON.

    With `floor`, times are cut off. The `source` is the JSON Schema that they are written as, if there is one: a
    `kcodec.formats.connect.from_json_schema.JsonSchemaAsConnect`.
    """
    return Plan("KSQL_JSON", "encode", given, _Encoder(layout(given), floor).node(kind, "", 0, source))


class _Encoder:
    """Nodes of the columns of what is given."""

    def __init__(self, columns: tuple[Column, ...], floor: bool) -> None:
        self.columns = columns
        self.floor = floor

    def node(self, kind: SqlType, name: str, column: int, source: Any) -> JsonNode:
        at = self.columns[column]
        if pa.types.is_null(at.type):
            return JsonNode(Op.JSON_NULL, column, name, forms=Form.NULL)
        if kind.base == "STRUCT":
            below = {} if source is None or source.type != "struct" else source.fields
            children = tuple(
                self.below(field.type, field.name, at.children[place], below.get(field.name))
                for field, place in zip(kind.fields, match_fields(kind.fields, at.type), strict=True)
                if place is not None
            )
            op = Op.JSON_UNION if source is not None and source.is_union else Op.JSON_OBJECT
            return JsonNode(op, column, name, children, forms=Form.NULL | Form.ESCAPED)
        if kind.base == "ARRAY":
            (below,) = _parts(source, "array")
            item = self.below(kind.parts[0], "", at.children[0], below)
            return JsonNode(Op.JSON_LIST, column, name, (item,), forms=Form.NULL)
        if kind.base == "MAP":
            entries = source is not None and source.has_entries
            names = ("key", "value") if entries else ("", "")
            entry = tuple(map(self.below, kind.parts, names, at.children, _parts(source, "map")))
            if entries:
                whole = JsonNode(Op.JSON_OBJECT, -1, children=entry, forms=Form.ESCAPED)
                return JsonNode(Op.JSON_LIST, column, name, (whole,), forms=Form.NULL)
            return JsonNode(Op.JSON_MAP, column, name, entry, forms=Form.NULL | Form.ESCAPED)
        return self.leaf(kind, name, column, at.type)

    def below(self, kind: SqlType, name: str, column: int, source: Any) -> JsonNode:
        """Return the node of a part, which may be null only if its schema allows null."""
        made = self.node(kind, name, column, source)
        if source is None:
            return made
        if not source.optional:
            return dataclasses.replace(made, forms=made.forms & ~Form.NULL)
        return with_default(made, source)

    def leaf(self, kind: SqlType, name: str, column: int, given: pa.DataType) -> JsonNode:
        if kind.base == "BOOLEAN":
            return JsonNode(Op.JSON_BOOLEAN, column, name, forms=Form.NULL)
        if kind.base == "DOUBLE":
            return JsonNode(Op.JSON_FLOAT, column, name, forms=Form.NULL | Form.NONFINITE)
        if kind.base == "DECIMAL":
            return JsonNode(Op.JSON_DECIMAL, column, name, forms=Form.NULL | Form.SCIENTIFIC)
        if kind.base == "STRING":
            return JsonNode(Op.JSON_STRING, column, name, forms=Form.NULL | Form.ESCAPED)
        if kind.base == "BYTES":
            return JsonNode(Op.JSON_BYTES, column, name, forms=Form.NULL)
        factor, bounds = 1, _BOUNDS[kind.base]
        if kind.base == "DATE" and pa.types.is_timestamp(given):
            factor = MILLIS_PER_DAY
        elif pa.types.is_time(given) or pa.types.is_timestamp(given):
            factor = PER_MILLI[given.unit]
        floor = factor > 1 and self.floor
        return JsonNode(
            Op.JSON_INTEGER, column, name, factor=factor, forms=Form.NULL, bounds=bounds, floor=floor
        )


#: What is said of the parts of a type where nothing is.
_NOTHING = {"array": (None,), "map": (None, None)}


def _parts(source: Any, type: str) -> tuple[Any, ...]:
    """Return what is said of the parts of an array or a map; nothing where the schema has another type."""
    return source.parts if source is not None and source.type == type else _NOTHING[type]


def with_default(node: JsonNode, source: Any) -> JsonNode:
    """Return a node that writes the default of a JSON Schema in place of a null."""
    default = source.written_default
    return dataclasses.replace(node, forms=node.forms | Form.DEFAULT, data=default) if default else node


_INT, _LONG = integer_bounds(32), integer_bounds(64)
_BOUNDS = {"INTEGER": _INT, "BIGINT": _LONG, "TIME": (0, MILLIS_PER_DAY), "DATE": _INT, "TIMESTAMP": _LONG}
