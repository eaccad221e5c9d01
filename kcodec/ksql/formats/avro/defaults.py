"""What stands for the nulls of ksqlDB's columns in Avro, by its schemas and by what Connect adds to them."""

from copy import copy
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kcodec.formats.avro.schema.model import Field, Schema
from kcodec.formats.connect.from_avro import AvroAsConnect, member_name
from kcodec.formats.connect.model import DATE, DECIMAL, TIME, TIMESTAMP
from kcodec.java.jackson import write_tree
from kcodec.java.numbers import narrow_integer, round_to_double
from kcodec.ksql.formats.reading import DECIMAL_PRECISION, Reading
from kcodec.ksql.types import SqlType, arrow_type

#: Avro's names of logical types, by Connect's.
_LOGICAL = {DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis", DECIMAL: "decimal"}


def with_logical_types(schema: Schema) -> Schema:
    """Return a schema with the logical types that only Connect's names give it."""
    return _with_logical_types(schema, {})


def _with_logical_types(schema: Schema, made: dict[int, Schema]) -> Schema:
    known = made.get(id(schema))
    if known is not None:
        return known
    found = made[id(schema)] = copy(schema)
    if schema.type == "record":
        found.fields = []
        for field in schema.fields:
            found.fields.append(copy(field))
            found.fields[-1].type = _with_logical_types(field.type, made)
    elif schema.type == "union":
        found.branches = [_with_logical_types(each, made) for each in schema.branches]
    elif schema.item is not None:
        found.item = _with_logical_types(schema.item, made)
    elif not schema.logical:
        source = AvroAsConnect(schema)
        found.logical = _LOGICAL.get(source.name or "", "")
        if found.logical == "decimal":
            found.precision, found.scale = source.precision or DECIMAL_PRECISION, source.scale or 0
    return found


_NATURAL = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}


def with_default(found: Reading, source: AvroAsConnect) -> Reading:
    """Return a reading with the ``connect.default`` of its type, if that is of the type."""
    value = source.schema.props.get("connect.default")
    if value is None:
        return found
    try:
        default = pa.scalar(_natural(value, source.schema), _natural_type(found, source))
    except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException):
        return found
    return replace(found, default=default)


def _natural_type(found: Reading, source: AvroAsConnect) -> pa.DataType:
    base = found.kind.base
    if base == "STRUCT":
        fields = source.fields
        return pa.struct(
            [
                (name, _natural_type(part, fields[name]))
                for part in found.parts
                if (name := part.field) is not None and name in fields
            ]
        )
    if base == "ARRAY":
        return pa.list_(_natural_type(found.parts[0], source.parts[0]))
    if base == "MAP":
        return pa.map_(pa.string(), _natural_type(found.parts[1], source.parts[1]))
    return _NATURAL[source.schema.type]


def field_default(field: Field, kind: SqlType) -> pa.Scalar | None:
    """Return what ksqlDB writes for a null in a field: its default, or else the ``connect.default`` of its type.

    A union of one type, and maybe null, takes no default of its field.
    """
    source = AvroAsConnect(field.type)
    value = field.default if source.schema is field.type else None
    if value is None:
        value = source.schema.props.get("connect.default")
    if value is None:
        return None
    try:
        return pa.scalar(_column_value(_natural(value, source.schema), source, kind), arrow_type(kind))
    except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException):
        return None


def _column_value(value: Any, source: AvroAsConnect, kind: SqlType) -> Any:
    """Return a value of Avro's natural types as Arrow takes it for a column."""
    if value is None:
        return None
    if kind.base == "DECIMAL":
        return Decimal(f"{int.from_bytes(value, 'big', signed=True)}E-{source.scale or 0}")
    if kind.base == "TIMESTAMP":
        return value * 1000
    if kind.base == "ARRAY":
        return [_column_value(each, source.parts[0], kind.parts[0]) for each in value]
    if kind.base == "MAP":
        return [(key, _column_value(each, source.parts[-1], kind.parts[1])) for key, each in value]
    if kind.base == "STRUCT":
        return {
            each.name: _column_value(value.get(each.name), source.fields[each.name], each.type)
            for each in kind.fields
        }
    return value


def _natural(value: Any, schema: Schema) -> Any:
    """Return a default as Connect takes it: almost any JSON is accepted for any type."""
    schema = schema.values[0] if len(schema.values) == 1 else schema
    kind = schema.type
    if value is None:
        return None
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    if kind in ("int", "long"):
        bits = {"int8": 8, "int16": 16}.get(
            str(schema.props.get("connect.type")), 32 if kind == "int" else 64
        )
        return narrow_integer(Decimal(str(value)), bits) if is_number else 0
    if kind in ("float", "double"):
        return round_to_double(value) if is_number else 0.0
    if kind == "boolean":
        return (
            value.strip() == "true"
            if isinstance(value, str)
            else isinstance(value, (int, float)) and bool(value)
        )
    if kind in ("string", "enum"):
        return (
            value if isinstance(value, str) else "" if isinstance(value, (dict, list)) else write_tree(value)
        )
    if kind in ("bytes", "fixed"):
        return value.encode("latin-1")
    if kind == "array" and schema.item is not None and isinstance(value, list):
        return [_natural(each, schema.item) for each in value]
    if kind == "map" and schema.item is not None and isinstance(value, dict):
        return [(key, _natural(each, schema.item)) for key, each in value.items()]
    if kind == "record" and isinstance(value, dict):
        return {field.name: _natural(value.get(field.name), field.type) for field in schema.fields}
    if kind == "union" and schema.branches[0].type != "null":
        return {member_name(schema.branches[0]): _natural(value, schema.branches[0])}
    raise ValueError(f"{value!r} is no default of {kind}")
