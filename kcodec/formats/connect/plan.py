"""Connect's schemas as plans of the JSON engine.

Decoding, the plan of a row's own schema writes into the columns of the schema that all rows are read as; what is
missing there, wider, or of another scale is resolved here, by the rules of Connect's ``SchemaProjector`` made
looser where nothing is lost: integers are read into narrower columns, and decimals to another scale, value by
value.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from kcodec.columns.types.layout import Column, layout
from kcodec.columns.types.plain import (
    MILLIS_PER_DAY,
    PER_MILLI,
    PER_SECOND,
    is_bytes,
    is_list,
    is_text,
    list_of,
    plain_type,
    stored_type,
)
from kcodec.errors import SchemaError, near
from kcodec.formats.connect.json_writer import from_connect
from kcodec.formats.connect.model import BITS, DATE, DECIMAL, TIME, TIMESTAMP
from kcodec.formats.connect.schema import ConnectSchema, arrow_type, debezium_time, decimal_type
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.formats.time_types import TimeType
from kcodec.java.numbers import integer_bounds
from kcodec.plan.failure import RowError, step
from kcodec.plan.node import Plan

#: Random prefix for keys of fields that the row's schema lacks, so that no payload can forge them.
ABSENT = f"\0{secrets.token_hex(16)}."

_LOGICAL = {DECIMAL: "Decimal", DATE: "Date", TIME: "Time", TIMESTAMP: "Timestamp"}
#: Of dates and times in columns of integers.
_BOUNDS = {DATE: integer_bounds(32), TIME: (0, MILLIS_PER_DAY), TIMESTAMP: integer_bounds(64)}
_IS_CONTAINER: dict[str, Callable[[pa.DataType], bool]] = {
    "struct": pa.types.is_struct,
    "array": is_list,
    "map": pa.types.is_map,
}
#: The unit of numbers, by the end of what Avro would call their type.
_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}


class Beyond(Exception):
    """The engine does not give the original's answer for this pair of types: each row is converted by itself."""


@dataclass(frozen=True)
class PlanOptions:
    """How Connect's values are read and written."""

    exact: bool = False  # only what JsonConverter itself answers; `Beyond` where the engine alone does not
    replace_null: bool = True  # nulls become defaults
    numeric: bool = False  # decimals are written as numbers
    unique: bool = False  # a key that stands twice is an error
    text: bool = False  # columns of text are written as Decimals
    nonfinite: bool = False  # text of NaN and infinities is read as floats
    floor: bool = False  # times finer than milliseconds are cut off when written
    debezium: bool = True  # its dates and times are such

    def time(self, schema: ConnectSchema) -> TimeType | None:
        """Return which date or time of Debezium's a schema is; None if it is another type, or not to be one."""
        return debezium_time(schema) if self.debezium else None


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that columns of a type are first decoded as: one that the engine makes and that holds as much."""
    types = pa.types

    def item(field: pa.Field) -> pa.Field:
        return field.with_type(decoded_type(field.type))

    stored = stored_type(kind)
    if stored is not None:
        return decoded_type(stored)
    if types.is_struct(kind):
        return pa.struct([item(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(item(kind.key_field), item(kind.item_field))
    if is_list(kind) or types.is_fixed_size_list(kind):
        return list_of(item(kind.value_field), kind)
    if types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if (types.is_time(kind) or types.is_timestamp(kind)) and kind.unit == "s":
        return pa.time32("ms") if types.is_time(kind) else pa.timestamp("ms", kind.tz)
    return plain_type(kind, days=True)


def decode_plan(
    writer: ConnectSchema, reader: ConnectSchema, kind: pa.DataType, options: PlanOptions = PlanOptions()
) -> Plan:
    """Plan how payloads of one schema become columns of another, whose defaults stand where the first has no field.

    Columns of numbers that become others there are of the writer's type, and are cast from it. Schemas that do not fit
    together are a `SchemaError`, or `Beyond` with ``options.exact``.

    >>> schema = ConnectSchema.from_json('{"type": "struct", "fields": [{"field": "id", "type": "int64"}]}')
    >>> print(decode_plan(schema, schema, schema.to_arrow()))
    CONNECT_JSON decode: struct<id: int64 not null>
      json_object -> column 0
        id: json_integer -9223372036854775808..9223372036854775807 -> column 1
    """
    if not options.exact:
        kind = _own_type(writer, kind)
    columns = layout(kind)
    root = _Decoder(columns, options).node(writer, reader, columns[0], "", "")
    return Plan("CONNECT_JSON", "decode", kind, root)


def _own_type(writer: ConnectSchema, kind: pa.DataType) -> pa.DataType:
    """Return a type with columns of floats as narrow as the numbers that rows have for them."""
    types = pa.types

    def item(schema: ConnectSchema | None, field: pa.Field) -> pa.Field:
        return field if schema is None else field.with_type(_own_type(schema, field.type))

    if types.is_floating(kind) and writer.name not in _LOGICAL:
        # Arrow has the same names for these.
        return pa.type_for_alias(writer.type) if writer.type in (*BITS, "float") else kind
    if types.is_struct(kind):
        return pa.struct([item(writer.fields.get(field.name), field) for field in kind])
    if types.is_map(kind):
        return pa.map_(item(writer.key_schema, kind.key_field), item(writer.value_schema, kind.item_field))
    if is_list(kind):
        return list_of(item(writer.value_schema, kind.value_field), kind)
    return kind


class _Decoder:
    def __init__(self, columns: tuple[Column, ...], options: PlanOptions) -> None:
        self.columns = columns
        self.options = options
        self.canonical = Form.CANONICAL if options.exact else Form.PLAIN
        self.unique = Form.UNIQUE if options.unique else Form.PLAIN

    def node(
        self, writer: ConnectSchema, reader: ConnectSchema, column: Column, name: str, path: str
    ) -> JsonNode:
        forms, data = self.null(writer, reader, column)
        made = JsonNode(Op.JSON_NULL, column.index, name, forms=forms, data=data)
        if writer.name not in _LOGICAL and writer.type in ("struct", "array", "map"):
            if reader.type != writer.type or not _IS_CONTAINER[writer.type](column.type):
                raise _mismatch(writer, column, path)
            if writer.type == "struct":
                return self.struct(writer, reader, column, made, path)
            if writer.type == "map":
                return self.map(writer, reader, column, made, path)
            below = self.columns[column.children[0]]
            item = self.node(writer.parts[0], reader.parts[0], below, "", f"{path}[]")
            return _with(made, Op.JSON_LIST, children=(item,))
        return self.leaf(writer, column, made, path)

    def null(self, writer: ConnectSchema, reader: ConnectSchema, column: Column) -> tuple[Form, bytes]:
        """Return how a null and a missing key are read, and the default that stands for them."""
        default = None
        if writer.default is not None and self.options.replace_null:
            default = from_connect(writer, writer.default, numeric=True)
        elif writer.optional and column.nullable:
            return Form.NULL | Form.ABSENT, b""
        elif writer.optional and not reader.optional and reader.default is not None:
            default = from_connect(reader, reader.default, True, self.options.replace_null)
        if default is None:
            return Form.PLAIN, b""
        return Form.ABSENT | Form.DEFAULT, default.encode()

    def struct(
        self, writer: ConnectSchema, reader: ConnectSchema, column: Column, made: JsonNode, path: str
    ) -> JsonNode:
        wanted = {self.columns[child].name: self.columns[child] for child in column.children}
        if self.options.exact and not writer.fields.keys() <= wanted.keys():
            # The converter looks at these fields too, and the engine goes past them.
            raise Beyond
        # In the writer's order: that of the keys in its rows.
        children = [
            self.node(field, reader.fields[key], wanted[key], key, step(path, key))
            for key, field in writer.fields.items()
            if key in wanted
        ]
        for key, child in wanted.items():
            if key not in writer.fields:
                children.append(self.absent(reader.fields[key], child, step(path, key)))
        return _with(made, Op.JSON_OBJECT, self.unique, children=tuple(children))

    def absent(self, reader: ConnectSchema, column: Column, path: str) -> JsonNode:
        """Plan a field that is missing in the rows' schema."""
        if not column.nullable and reader.default is None:
            raise SchemaError(f"Required field `{path}` is missing from the row's schema")
        # As Connect does it: an optional field is null, whatever its default.
        default = None if column.nullable else reader.default
        absent = replace(reader, optional=column.nullable, default=default)
        decoder = _Decoder(self.columns, replace(self.options, replace_null=True))
        return decoder.node(absent, reader, column, ABSENT + column.name, path)

    def map(
        self, writer: ConnectSchema, reader: ConnectSchema, column: Column, made: JsonNode, path: str
    ) -> JsonNode:
        key, value = (self.columns[child] for child in column.children)
        key_schema, value_schema = writer.parts
        keys = self.node(key_schema, reader.parts[0], key, "", f"{path}[].key")
        values = self.node(value_schema, reader.parts[1], value, "", f"{path}[].value")
        if key_schema.type == "string":
            if self.options.exact and key_schema.name in _LOGICAL:
                # Which the converter leaves text.
                raise Beyond
            return _with(made, Op.JSON_MAP, self.unique, children=(keys, values))
        plain = key_schema.type in (*BITS, "boolean") and key_schema.name != DECIMAL
        if self.options.exact and not plain:
            # Java compares bytes by identity, decimals with their scale; the engine keeps equal structs.
            raise Beyond
        return _with(made, Op.JSON_LIST, children=(_entry(keys, values),))

    def leaf(self, writer: ConnectSchema, column: Column, made: JsonNode, path: str) -> JsonNode:
        kind, types = column.type, pa.types
        if types.is_null(kind):
            return _with(made, Op.JSON_NULL)
        logical = _LOGICAL.get(writer.name or "")
        if self.options.exact and writer.type in _IS_CONTAINER:
            # A name that says another type: the converter refuses it within structs.
            raise Beyond
        if logical == "Decimal":
            if types.is_decimal(kind):
                scale = writer.scale
                if scale is None:
                    raise SchemaError(f"{path or 'the root'}: a Decimal needs a parameter scale")
                return _with(made, Op.JSON_DECIMAL, Form.BASE64, scale=scale)
        elif logical is not None and types.is_integer(kind):
            # As it stands there: days or milliseconds.
            return _with(made, Op.JSON_INTEGER, self.canonical, bounds=_BOUNDS[writer.name or ""])
        elif logical == "Date":
            if types.is_date(kind):
                factor = 1 if types.is_date32(kind) else MILLIS_PER_DAY
                return _with(made, Op.JSON_INTEGER, self.canonical, factor=factor, bounds=integer_bounds(32))
        elif logical == "Time":
            if types.is_time(kind) and kind.unit != "s":
                bounds = (0, MILLIS_PER_DAY - 1)
                return _with(
                    made, Op.JSON_INTEGER, self.canonical, factor=PER_MILLI[kind.unit], bounds=bounds
                )
        elif logical == "Timestamp":
            if types.is_timestamp(kind) and kind.unit != "s":
                return _with(
                    made,
                    Op.JSON_INTEGER,
                    self.canonical,
                    factor=PER_MILLI[kind.unit],
                    bounds=integer_bounds(64),
                )
        elif (time := self.options.time(writer)) and types.is_temporal(kind):
            read = _time_node(made, time, kind, self.options)
            if read is not None and read.factor > 0:
                return read
        elif writer.type in BITS:
            if types.is_integer(kind):
                return _with(made, Op.JSON_INTEGER, bounds=integer_bounds(BITS[writer.type]))
            if types.is_floating(kind):
                raise Beyond
        elif writer.type in ("float", "double"):
            if kind == (pa.float32() if writer.type == "float" else pa.float64()):
                nonfinite = Form.NONFINITE if self.options.nonfinite else Form.PLAIN
                return _with(made, Op.JSON_FLOAT, self.canonical | nonfinite)
            if types.is_float64(kind):
                raise Beyond
        elif writer.type == "boolean" and types.is_boolean(kind):
            return _with(made, Op.JSON_BOOLEAN)
        elif writer.type == "string" and is_text(kind):
            return _with(made, Op.JSON_STRING)
        elif writer.type == "bytes" and (is_bytes(kind) or types.is_fixed_size_binary(kind)):
            return _with(made, Op.JSON_BYTES)
        raise _mismatch(writer, column, path)


def _time_node(made: JsonNode, time: TimeType, kind: pa.DataType, options: PlanOptions) -> JsonNode | None:
    """Plan a date or time of Debezium's; None if the column is of another kind."""
    types, wanted = pa.types, time.arrow_type
    if types.is_timestamp(kind):
        if not types.is_timestamp(wanted) or (kind.tz is None) != (wanted.tz is None):
            return None
    elif kind != wanted and not (types.is_time(kind) and types.is_time(wanted)):
        return None
    if time.wire == "string":
        return _with(made, Op.JSON_TIME, Form.UTC, floor=options.floor)
    bounds = integer_bounds(BITS[time.wire])
    if types.is_date(kind):
        return _with(made, Op.JSON_INTEGER, bounds=bounds)
    column, wire = PER_SECOND[kind.unit], PER_SECOND[_UNITS[time.logical.rpartition("-")[2]]]
    factor = column // wire if column >= wire else -(wire // column)
    return _with(made, Op.JSON_INTEGER, factor=factor, bounds=bounds, floor=factor > 1 and options.floor)


def _mismatch(writer: ConnectSchema, column: Column, path: str) -> SchemaError:
    name = writer.type if writer.name is None else f"{writer.type} {writer.name}"
    return SchemaError(f"{path or 'the root'}: {name} is not read as {column.type}")


# Encoding -------------------------------------------------------------------------------------------


def encoded_type(
    schema: ConnectSchema, kind: pa.DataType, options: PlanOptions = PlanOptions()
) -> pa.DataType:
    """Return the type that a column is cast to before it is written as a schema.

    Fields of the schema that have no column, but may be null or have a default, become columns of nulls. Only
    decimals may lose something in that cast: those from text, and those of another scale. With `options.exact`,
    floats that are to be doubles stay what they are, as Java refuses them, and numbers keep their scale.
    """
    kind, types = plain_type(kind), pa.types
    if schema.name == DECIMAL:
        return _encoded_decimal(schema, kind, options)
    if types.is_float32(kind) and schema.type == "double" and not options.exact:
        return pa.float64()
    if types.is_struct(kind) and schema.type == "struct":
        fields = [_encoded_field(schema.fields.get(field.name), field, options) for field in kind]
        names = {field.name for field in kind}
        for name, part in schema.fields.items():
            if name not in names and (part.optional or part.default is not None):
                fields.append(pa.field(name, pa.null()))
        return pa.struct(fields)
    if types.is_map(kind) and schema.type == "map":
        key = _encoded_field(schema.key_schema, kind.key_field, options)
        return pa.map_(key, _encoded_field(schema.value_schema, kind.item_field, options))
    if is_list(kind) and schema.type == "array":
        return list_of(_encoded_field(schema.value_schema, kind.value_field, options), kind)
    return kind


def _encoded_field(schema: ConnectSchema | None, field: pa.Field, options: PlanOptions) -> pa.Field:
    return field if schema is None else field.with_type(encoded_type(schema, field.type, options))


def _encoded_decimal(schema: ConnectSchema, kind: pa.DataType, options: PlanOptions) -> pa.DataType:
    types = pa.types
    if types.is_uint64(kind):
        kind = pa.decimal128(20, 0)
    # Arrow has powers of ten up to the 76th.
    scale = schema.scale if schema.scale is not None and abs(schema.scale) <= 76 else None
    if scale is not None and options.text and is_text(kind):
        return arrow_type(schema, 76, "engine", False, options.debezium)
    if scale is not None and options.numeric and not options.exact and types.is_decimal(kind):
        shift = scale - kind.scale
        precision = min(max(kind.precision + shift, 1), 76)
        if 0 < abs(shift) <= 76:
            return decimal_type(precision, scale)
    return kind


def encode_plan(schema: ConnectSchema, kind: pa.DataType, options: PlanOptions = PlanOptions()) -> Plan:
    """Plan how columns, of a type from `encoded_type`, are written as payloads of a schema.

    Columns that do not fit it are a `SchemaError`; with ``options.exact``, types that Connect does not have are
    `Beyond`.
    """
    columns = layout(kind)
    root = _Encoder(columns, options).node(schema, columns[0], "", "")
    return Plan("CONNECT_JSON", "encode", kind, root)


class _Encoder:
    def __init__(self, columns: tuple[Column, ...], options: PlanOptions) -> None:
        self.columns = columns
        self.options = options

    def node(self, schema: ConnectSchema, column: Column, name: str, path: str) -> JsonNode:
        forms, data = self.null(schema)
        kind, types = column.type, pa.types
        made = JsonNode(Op.JSON_NULL, column.index, name, forms=forms | Form.ESCAPED, data=data)
        if types.is_null(kind):
            return _with(made, Op.JSON_NULL)
        logical = schema.name in _LOGICAL
        if not logical and schema.type == "struct" and types.is_struct(kind):
            return _with(made, Op.JSON_OBJECT, children=self.fields(schema, column, path))
        if not logical and schema.type == "array" and is_list(kind):
            item = self.node(schema.parts[0], self.columns[column.children[0]], "", f"{path}[]")
            return _with(made, Op.JSON_LIST, children=(item,))
        if not logical and schema.type == "map" and types.is_map(kind):
            (key_schema, value_schema), (key, value) = schema.parts, column.children
            pair = (
                self.node(key_schema, self.columns[key], "", f"{path}[].key"),
                self.node(value_schema, self.columns[value], "", f"{path}[].value"),
            )
            if key_schema.type == "string":
                return _with(made, Op.JSON_MAP, children=pair)
            return _with(made, Op.JSON_LIST, children=(_entry(*pair),))
        if self.options.exact:
            natural = ConnectSchema.from_arrow(kind)
            if (natural.name or natural.type) != (schema.name if logical else schema.type):
                raise Beyond
        leaf = self.leaf(schema, kind, made)
        if leaf is None:
            named = schema.type if schema.name is None else f"{schema.type} {schema.name}"
            raise SchemaError(f"{path or 'the root'}: a column of {kind} is not written as {named}")
        return leaf

    def null(self, schema: ConnectSchema) -> tuple[Form, bytes]:
        if schema.default is not None and self.options.replace_null:
            try:
                return Form.DEFAULT, from_connect(schema, schema.default, self.options.numeric).encode()
            except RowError as error:
                # A Decimal of another scale; Java stumbles over it where it comes to it.
                if self.options.exact:
                    raise Beyond from None
                raise SchemaError(error.reason) from None
        return Form.NULL if schema.optional else Form.PLAIN, b""

    def fields(self, schema: ConnectSchema, column: Column, path: str) -> tuple[JsonNode, ...]:
        given = {self.columns[child].name: self.columns[child] for child in column.children}
        if len(given) < len(column.children):
            raise SchemaError(f"{path or 'the root'}: two columns have the same name: {column.type}")
        strange = [name for name in given if name not in schema.fields]
        if strange:
            raise SchemaError(
                f"{path or 'the root'}: the schema has no field {', '.join(strange)}{near(strange[0], schema.fields)}"
            )
        missing = [name for name in schema.fields if name not in given]
        if missing:
            raise SchemaError(
                f"{path or 'the root'}: no column for the field {', '.join(missing)}{near(missing[0], given)}"
            )
        return tuple(
            self.node(field, given[name], name, step(path, name)) for name, field in schema.fields.items()
        )

    def leaf(self, schema: ConnectSchema, kind: pa.DataType, made: JsonNode) -> JsonNode | None:
        types = pa.types
        if schema.name == DECIMAL:
            if not types.is_decimal(kind):
                return None
            if self.options.numeric:
                fits = self.options.exact or schema.scale in (None, kind.scale)
                return _with(made, Op.JSON_DECIMAL, Form.SCIENTIFIC) if fits else None
            if schema.scale is None:
                raise SchemaError("Invalid Decimal schema: scale parameter not found.")
            if self.options.exact and kind.scale != schema.scale:
                raise Beyond
            return _with(made, Op.JSON_DECIMAL, Form.BASE64, scale=schema.scale)
        if schema.name in _BOUNDS and types.is_integer(kind):
            # As it stands there: days or milliseconds.
            return _with(made, Op.JSON_INTEGER, bounds=_BOUNDS[schema.name])
        if schema.name == DATE:
            if types.is_date32(kind):
                return _with(made, Op.JSON_INTEGER)
            # What date64 is cast to.
            if kind == pa.timestamp("ms"):
                return self.time(made, MILLIS_PER_DAY, integer_bounds(32))
            return None
        if schema.name == TIME:
            if not types.is_time(kind):
                return None
            return self.time(made, PER_MILLI[kind.unit], (0, MILLIS_PER_DAY))
        if schema.name == TIMESTAMP:
            return self.time(made, PER_MILLI[kind.unit]) if types.is_timestamp(kind) else None
        time = self.options.time(schema)
        if time is not None and types.is_temporal(kind):
            return _time_node(made, time, kind, self.options)
        if schema.type in BITS:
            if not types.is_integer(kind):
                return None
            return _with(made, Op.JSON_INTEGER, bounds=integer_bounds(BITS[schema.type]))
        if schema.type in ("float", "double"):
            wanted = types.is_float32(kind) if schema.type == "float" else types.is_float64(kind)
            return _with(made, Op.JSON_FLOAT, Form.NONFINITE) if wanted else None
        if schema.type == "boolean":
            return _with(made, Op.JSON_BOOLEAN) if types.is_boolean(kind) else None
        if schema.type == "string":
            return _with(made, Op.JSON_STRING) if is_text(kind) else None
        if is_bytes(kind) or types.is_fixed_size_binary(kind):
            return _with(made, Op.JSON_BYTES)
        return None

    def time(self, made: JsonNode, factor: int, bounds: tuple[int, int] | None = None) -> JsonNode:
        floor = factor > 1 and self.options.floor
        return _with(made, Op.JSON_INTEGER, factor=factor, bounds=bounds, floor=floor)


def _entry(key: JsonNode, value: JsonNode) -> JsonNode:
    """Plan an entry of a map as a pair, its steps in error paths being those of all maps."""
    return JsonNode(Op.JSON_TUPLE, -1, "", (replace(key, name="key"), replace(value, name="value")))


def _with(node: JsonNode, op: Op, forms: Form = Form.PLAIN, **more: object) -> JsonNode:
    # Flags of Python take long to join.
    forms = node.forms if forms is Form.PLAIN else node.forms | forms
    parts: dict[str, object] = {"forms": forms, "data": node.data, **more}
    return JsonNode(op, node.column, node.name, **parts)  # type: ignore[arg-type]
