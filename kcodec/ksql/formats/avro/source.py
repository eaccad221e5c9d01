"""Schemas of Avro as Connect's ``AvroData`` has them."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kcodec.formats.avro.model import Field, Schema
from kcodec.formats.connect.values import PACKAGE, PRECISION
from kcodec.java.jackson import write_tree
from kcodec.java.numbers import narrow_integer
from kcodec.ksql.formats.source import Reading
from kcodec.ksql.types import SqlType, arrow_type

__all__ = ["AvroSource", "field_default", "member_name", "with_default", "with_logical_types"]


def _connect_name(schema: Schema) -> str:
    name = schema.props.get("connect.name")
    return name.removeprefix(f"{PACKAGE}.") if isinstance(name, str) and name.startswith(PACKAGE) else ""


class AvroSource:
    """A type of Avro as Connect's ``AvroData`` has it; see `kcodec.ksql.formats.source.Source`."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema.values[0] if len(schema.values) == 1 else schema

    @property
    def type(self) -> str:
        """Connect's name of the type."""
        schema = self.schema
        if schema.type == "int":
            kind = schema.props.get("connect.type")
            return kind if kind in ("int8", "int16") and "logicalType" not in schema.props else "int32"
        if schema.type == "array" and self._entry is not None:
            return "map"
        return _TYPES.get(schema.type, "")

    @property
    def logical(self) -> str:
        """Connect's name of the logical type."""
        schema = self.schema
        named = _connect_name(schema)
        logical = str(schema.props.get("logicalType", "")).lower()
        if schema.type in ("bytes", "fixed"):
            return "Decimal" if logical == "decimal" or named == "Decimal" else ""
        if schema.type == "int":
            return {"date": "Date", "time-millis": "Time"}.get(logical) or (
                named if named in ("Date", "Time") else ""
            )
        if schema.type == "long":
            return "Timestamp" if logical == "timestamp-millis" or named == "Timestamp" else ""
        return ""

    @property
    def precision(self) -> int:
        """Digits of a Decimal, 0 where the schema has none."""
        return self._parameter("precision", PRECISION)

    @property
    def scale(self) -> int:
        """Digits of a Decimal behind the point."""
        return self._parameter("scale", "scale")

    def _parameter(self, name: str, parameter: str) -> int:
        """Return a number of a Decimal: of its logical type, or else a parameter of Connect's."""
        value = self.schema.props.get(name)
        parameters = self.schema.props.get("connect.parameters")
        if not isinstance(value, int) and isinstance(parameters, Mapping):
            value = parameters.get(parameter)
        try:
            return int(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return 0

    @property
    def fields(self) -> list[tuple[str, "AvroSource"]]:
        """The fields of a record, or the members of a union by their names."""
        if self.schema.type == "union":
            return [(member_name(each), AvroSource(each)) for each in self.schema.values]
        return [(field.name, AvroSource(field.type)) for field in self.schema.fields]

    @property
    def key(self) -> "AvroSource":
        """The keys of a map."""
        return AvroSource(Schema("string") if self._entry is None else self._entry.fields[0].type)

    @property
    def item(self) -> "AvroSource":
        """The items of an array, the values of a map."""
        if self._entry is not None:
            return AvroSource(self._entry.fields[1].type)
        assert self.schema.item is not None
        return AvroSource(self.schema.item)

    @property
    def _entry(self) -> Schema | None:
        """The record of an entry, if the array is how Connect writes a map."""
        item = self.schema.item
        if self.schema.type != "array" or item is None or item.type != "record":
            return None
        is_entry = item.props.get("connect.internal.type") == "MapEntry" or item.name == _ENTRY_NAME
        return item if is_entry and [field.name for field in item.fields] == ["key", "value"] else None


#: Avro's names of logical types, by Connect's.
_LOGICAL = {"Date": "date", "Time": "time-millis", "Timestamp": "timestamp-millis", "Decimal": "decimal"}
#: Digits of a Decimal that has none.
_PRECISION = 64


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
        source = AvroSource(schema)
        found.logical = _LOGICAL.get(source.logical, "")
        if found.logical == "decimal":
            found.precision, found.scale = source.precision or _PRECISION, source.scale
    return found


_ENTRY_NAME = "io.confluent.connect.avro.MapEntry"
_TYPES = {
    "boolean": "boolean",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "bytes": "bytes",
    "fixed": "bytes",
    "string": "string",
    "enum": "string",
    "array": "array",
    "map": "map",
    "record": "struct",
    "union": "struct",
}


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


def with_default(found: Reading, source: AvroSource) -> Reading:
    """Return a reading with the ``connect.default`` of its type, if that is of the type."""
    value = source.schema.props.get("connect.default")
    if value is None:
        return found
    try:
        default = pa.scalar(_natural(value, source.schema), _natural_type(found, source))
    except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException):
        return found
    return replace(found, default=default)


def _natural_type(found: Reading, source: AvroSource) -> pa.DataType:
    base = found.kind.base
    if base == "STRUCT":
        fields = dict(source.fields)
        return pa.struct(
            [
                (part.field, _natural_type(part, fields[part.field]))
                for part in found.parts
                if part.field in fields
            ]
        )
    if base == "ARRAY":
        return pa.list_(_natural_type(found.parts[0], source.item))
    if base == "MAP":
        return pa.map_(pa.string(), _natural_type(found.parts[1], source.item))
    return _NATURAL[source.schema.type]


def field_default(field: Field, kind: SqlType) -> pa.Scalar | None:
    """Return what ksqlDB writes for a null in a field: its default, or else the ``connect.default`` of its type.

    A union of one type, and maybe null, takes no default of its field.
    """
    source = AvroSource(field.type)
    value = field.default if source.schema is field.type else None
    if value is None:
        value = source.schema.props.get("connect.default")
    if value is None:
        return None
    try:
        return pa.scalar(_column_value(_natural(value, source.schema), source, kind), arrow_type(kind))
    except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException):
        return None


def _column_value(value: Any, source: AvroSource, kind: SqlType) -> Any:
    """Return a value of Avro's natural types as Arrow takes it for a column."""
    if value is None:
        return None
    if kind.base == "DECIMAL":
        return Decimal(f"{int.from_bytes(value, 'big', signed=True)}E-{source.scale}")
    if kind.base == "TIMESTAMP":
        return value * 1000
    if kind.base == "ARRAY":
        return [_column_value(each, source.item, kind.parts[0]) for each in value]
    if kind.base == "MAP":
        return [(key, _column_value(each, source.item, kind.parts[1])) for key, each in value]
    if kind.base == "STRUCT":
        fields = dict(source.fields)
        return {
            each.name: _column_value(value.get(each.name), fields[each.name], each.type)
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
        return float(value) if is_number else 0.0
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


def member_name(schema: Schema) -> str:
    """Return what Connect calls a member of a union."""
    return schema.simple_name if schema.type in ("record", "enum", "fixed") else schema.type
