"""Avro schemas to Arrow types, and Arrow types to Avro schemas.

The Arrow types are those whose Spark types equal the ones that Spark's own ``from_avro`` gives, so a union of
several types is a struct of nullable members, an enum a string, and a millisecond timestamp has microseconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kcodec.columns.types.fields import check_field, field_names, field_tree
from kcodec.columns.types.plain import is_bytes, is_list, is_text, plain_type
from kcodec.errors import ConfigError, SchemaError, check_booleans, check_choice, is_whole
from kcodec.formats.avro.schema.model import MAX_NESTING, Schema
from kcodec.formats.time_types import TIME_TYPES, TimeType
from kcodec.plan.failure import step

__all__ = [
    "MAX_COLUMNS",
    "AvroOptions",
    "arrow_type",
    "derive_schema",
    "logical_type",
    "member_name",
    "widest",
]

#: Columns that a schema may come to once its references are followed.
MAX_COLUMNS = 100_000

_LOGICAL_TYPES = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "timestamp-nanos": pa.timestamp("ns", "UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
}

_PRIMITIVE_TYPES = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
}

_WIRES = {"int32": "int", "int64": "long", "string": "string"}

_CHOICES = {
    "wide_decimals": ("decimal256", "string"),
    "union_members": ("index", "type"),
    "round": ("error", "truncate"),
    "compat": (None, "avro"),
}

_Wanted = Mapping[str, Any] | None


@dataclass(frozen=True)
class AvroOptions:
    """How a schema is laid out in Arrow columns, for a `kcodec.Serde`; see `kcodec.AvroCodec` for what they mean.

    Raises
    ------
    ConfigError
        If one of them is something else.

    Examples
    --------
    >>> from kcodec.formats.avro.schema.parse import parse
    >>> text = '{"type": "record", "name": "R", "fields": '
    >>> text += '[{"name": "a", "type": "string"}, {"name": "b", "type": "int"}]}'
    >>> arrow_type(parse(text), AvroOptions(fields=["a"], large=True))
    StructType(struct<a: large_string not null>)
    """

    large: bool = False
    recursive_depth: int | None = None
    wide_decimals: str = "decimal256"
    union_members: str = "index"
    union_prefix: str = "member_"
    fields: Sequence[str] | None = None
    round: str = "error"
    debezium: bool = True
    compat: str | None = None

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        check_booleans(large=self.large, debezium=self.debezium)
        depth = self.recursive_depth
        if depth is not None and (not is_whole(depth) or depth < 1):
            raise ConfigError(f"recursive_depth={depth!r} is not a number of at least 1")
        if not isinstance(self.union_prefix, str):
            raise ConfigError(f"union_prefix={self.union_prefix!r} is not text")
        object.__setattr__(self, "fields", field_names(self.fields))


def logical_type(schema: Schema, options: AvroOptions) -> str:
    """Return a schema's logical type; empty if it has none.

    Those of Debezium's, which ``connect.name`` says, have the names of Avro's own, ``time-nanos`` and ``iso-text``.
    """
    if schema.logical or not options.debezium:
        return schema.logical
    time = _time(schema)
    return "" if time is None else time.logical


def _time(schema: Schema) -> TimeType | None:
    if not schema.props:
        return None
    name = schema.props.get("connect.name")
    time = TIME_TYPES.get(name) if isinstance(name, str) else None
    return time if time is not None and _WIRES[time.wire] == schema.type else None


def widest(schema: Schema) -> str:
    """Return the name of the type that a union of two numeric types is read as; empty for any other union.

    As in Spark, a union of int and long is a long, and one of float and double a double; a null branch beside
    them makes it nullable.
    """
    values = schema.values
    kinds = sorted(branch.type for branch in values) if len(values) == 2 else []
    if kinds == ["int", "long"]:
        return "long"
    return "double" if kinds == ["double", "float"] else ""


def member_name(branch: Schema, index: int, options: AvroOptions) -> str:
    """Return the name of a union struct's member; `index` counts the branches that are not null."""
    return f"member{index}" if options.union_members == "index" else options.union_prefix + branch.simple_name


def arrow_type(schema: Schema, options: AvroOptions | None = None) -> pa.DataType:
    """Return the Arrow type that values of an Avro schema are decoded to.

    Schemas that have none: records that contain themselves without ``recursive_depth``, decimals wider than 76
    digits, unions with two members of one name, more than `MAX_COLUMNS` columns.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> str(arrow_type(parse('["null", {"type": "int", "logicalType": "date"}]')))
    'date32[day]'
    """
    options = options or AvroOptions()
    wanted = None
    if options.fields is not None:
        if len(schema.values) != 1 or schema.values[0].type != "record":
            raise ConfigError("fields= needs a schema whose root is a record")
        wanted = field_tree(options.fields)
    result = _Types(options).type(schema, wanted, {}, "", 0)
    assert result is not None
    return result


class _Types:
    def __init__(self, options: AvroOptions) -> None:
        self.options = options
        self.columns = 0

    def type(
        self, schema: Schema, wanted: _Wanted, open_records: Mapping[str, int], path: str, depth: int
    ) -> pa.DataType | None:
        """Return the type; None for what is left out below the recursive depth."""
        self.columns += 1
        if self.columns > MAX_COLUMNS:
            raise SchemaError(f"the schema comes to more than {MAX_COLUMNS} columns")
        if depth > MAX_NESTING:
            raise SchemaError(f"{path}: types are nested deeper than {MAX_NESTING} levels")
        if wanted and schema.type not in ("record", "union", "array", "map"):
            raise ConfigError(f"{path} is not a record, so it has no field {next(iter(wanted))}")
        large = self.options.large
        if schema.type == "record":
            return self.record(schema, wanted, open_records, path, depth)
        if schema.type == "union":
            return self.union(schema, wanted, open_records, path, depth)
        if schema.type in ("array", "map"):
            assert schema.item is not None
            item = self.type(schema.item, wanted, open_records, path, depth + 1)
            if item is None:
                return None
            if schema.type == "map":
                text = pa.large_string() if large else pa.string()
                return pa.map_(text, pa.field("value", item, schema.item.nullable))
            field = pa.field("item", item, schema.item.nullable)
            return pa.large_list(field) if large else pa.list_(field)
        if schema.logical == "decimal":
            return self.decimal(schema, path)
        if schema.logical in _LOGICAL_TYPES:
            return _LOGICAL_TYPES[schema.logical]
        time = _time(schema) if self.options.debezium else None
        if time is not None:
            return time.arrow_type
        if schema.type == "fixed":
            return pa.binary(schema.size)
        if schema.type == "bytes":
            return pa.large_binary() if large else pa.binary()
        if schema.type in ("string", "enum"):
            return pa.large_string() if large else pa.string()
        return _PRIMITIVE_TYPES[schema.type]

    def decimal(self, schema: Schema, path: str) -> pa.DataType:
        if schema.precision <= 38:
            return pa.decimal128(schema.precision, schema.scale)
        if self.options.wide_decimals == "string":
            return pa.large_string() if self.options.large else pa.string()
        if schema.precision <= 76:
            return pa.decimal256(schema.precision, schema.scale)
        raise SchemaError(
            f"{path or 'the root'}: a decimal of {schema.precision} digits exceeds the 76 of decimal256: "
            'wide_decimals="string" reads it as text'
        )

    def record(
        self, schema: Schema, wanted: _Wanted, open_records: Mapping[str, int], path: str, depth: int
    ) -> pa.DataType | None:
        level = open_records.get(schema.name, 0)
        if level:
            if self.options.recursive_depth is None:
                raise SchemaError(
                    f"{path}: the record {schema.name} contains itself: recursive_depth=, in Spark the "
                    "option recursiveFieldMaxDepth, says how many levels become columns"
                )
            if level >= self.options.recursive_depth:
                return None
        inner = {**open_records, schema.name: level + 1}
        if wanted:
            names = {field.name: None for field in schema.fields}
            for name in wanted:
                check_field(name, names, path, schema.name)
        fields = []
        for field in schema.fields:
            if wanted and field.name not in wanted:
                continue
            below = wanted.get(field.name) if wanted else None
            where = step(path, field.name)
            kind = self.type(field.type, below, inner, where, depth + 1)
            if kind is not None:
                fields.append(pa.field(field.name, kind, field.type.nullable))
        return pa.struct(fields)

    def union(
        self, schema: Schema, wanted: _Wanted, open_records: Mapping[str, int], path: str, depth: int
    ) -> pa.DataType | None:
        values = schema.values
        if len(values) == 1:
            return self.type(values[0], wanted, open_records, path, depth + 1)
        if wanted:
            raise ConfigError(f"{path} is a union of several types, so it has no field {next(iter(wanted))}")
        number = widest(schema)
        if number:
            return _PRIMITIVE_TYPES[number]
        members = []
        seen: set[str] = set()
        for i, branch in enumerate(values):
            name = member_name(branch, i, self.options)
            if name.lower() in seen:
                raise SchemaError(f"{path or 'the root'}: two members of the union would be named {name}")
            seen.add(name.lower())
            kind = self.type(branch, None, open_records, path, depth + 1)
            if kind is not None:
                members.append(pa.field(name, kind, True))
        return pa.struct(members)


#: Name of the record that is derived from a column, as Spark names it.
ROOT = "topLevelRecord"


def derive_schema(kind: pa.DataType, name: str = ROOT, *, namespace: str = "") -> dict[str, Any] | str:
    """Return the Avro schema that a column of an Arrow type is encoded with when none is given.

    Every type is written so that nothing is lost: unsigned 64-bit integers are decimals of 20 digits, seconds become
    milliseconds, and a field that may be null is a union with null, which is also its default. Records below the
    root are named after their field, within the namespace of the record around them, as Spark does.

    >>> derive_schema(pa.struct([pa.field("id", pa.int64(), nullable=False)]), "Order")
    {'type': 'record', 'name': 'Order', 'fields': [{'name': 'id', 'type': 'long'}]}
    """
    return _derive(plain_type(kind), name, namespace, name, 0)


def _derive(kind: pa.DataType, name: str, space: str, path: str, depth: int) -> Any:
    types = pa.types
    if depth > MAX_NESTING:
        raise SchemaError(f"{path}: types are nested deeper than {MAX_NESTING} levels")
    if types.is_struct(kind):
        record: dict[str, Any] = {"type": "record", "name": name}
        if space:
            record["namespace"] = space
        inner = f"{space}.{name}" if space else name
        record["fields"] = [_derive_field(field, inner, path, depth) for field in kind]
        return record
    if is_list(kind):
        item = _derive(kind.value_type, name, space, f"{path}[]", depth + 1)
        return {"type": "array", "items": _optional(item, kind.value_field.nullable)}
    if types.is_map(kind):
        if not is_text(kind.key_type):
            raise SchemaError(f"{path}: the keys of a map are text in Avro, not {kind.key_type}")
        value = _derive(kind.item_type, name, space, f"{path}{{}}", depth + 1)
        return {"type": "map", "values": _optional(value, kind.item_field.nullable)}
    if types.is_decimal(kind):
        if not 0 <= kind.scale <= kind.precision:
            raise SchemaError(f"{path}: Avro has no {kind}")
        return _decimal(kind.precision, kind.scale)
    if types.is_fixed_size_binary(kind):
        fixed = {"type": "fixed", "name": f"{name}_fixed", "size": kind.byte_width}
        return {**fixed, "namespace": space} if space else fixed
    if types.is_time(kind):
        if kind.unit in ("s", "ms"):
            return {"type": "int", "logicalType": "time-millis"}
        return {"type": "long", "logicalType": "time-micros"}
    if types.is_timestamp(kind):
        local = "" if kind.tz else "local-"
        unit = {"s": "millis", "ms": "millis", "us": "micros", "ns": "nanos"}[kind.unit]
        return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
    if types.is_date(kind):
        return {"type": "int", "logicalType": "date"}
    if types.is_uint64(kind):
        return _decimal(20, 0)
    if types.is_integer(kind):
        return "long" if kind in (pa.int64(), pa.uint32()) else "int"
    if is_text(kind):
        return "string"
    if is_bytes(kind):
        return "bytes"
    for avro, arrow in _PRIMITIVE_TYPES.items():
        if kind == arrow:
            return avro
    raise SchemaError(f"{path}: Avro has no type for {kind}")


def _derive_field(field: pa.Field, space: str, path: str, depth: int) -> dict[str, Any]:
    kind = _derive(field.type, field.name, space, f"{path}.{field.name}", depth + 1)
    if not field.nullable or kind == "null":
        return {"name": field.name, "type": kind}
    return {"name": field.name, "type": ["null", kind], "default": None}


def _optional(kind: Any, nullable: bool) -> Any:
    return ["null", kind] if nullable and kind != "null" else kind


def _decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
