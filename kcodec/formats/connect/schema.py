"""Kafka Connect's schemas as envelopes carry them, and their Arrow types."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kcodec.columns.types.fields import check_field, field_names, field_tree
from kcodec.columns.types.plain import is_list, stored_type
from kcodec.errors import ConfigError, SchemaError, check_choice, check_kind, is_whole
from kcodec.formats.connect.json_reader import Expansion, invalid_value, to_connect
from kcodec.formats.connect.json_writer import from_connect
from kcodec.formats.connect.model import DATE, DECIMAL, PRECISION, TIME, TIMESTAMP, parse_integer
from kcodec.formats.connect.values import Map, Struct, to_java
from kcodec.formats.time_types import TIME_TYPES, TimeType
from kcodec.java.jackson import JacksonError, quote, read_tree
from kcodec.java.numbers import narrow_integer
from kcodec.java.utf8 import SURROGATE
from kcodec.plan.failure import RowError, step

#: Levels of schemas within schemas.
MAX_DEPTH = 100

#: Characters that defaults within the defaults of a schema may add to it.
_MAX_EXPANSION = 1 << 20

#: Arrow types of the simple types.
PRIMITIVES = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_TYPES = (*PRIMITIVES, "array", "map", "struct")
_WIDE = ("decimal256", "string")

#: Arrow types of the logical types but Decimal.
LOGICAL_TYPES = {DATE: pa.date32(), TIME: pa.time32("ms"), TIMESTAMP: pa.timestamp("us", "UTC")}


@dataclass(frozen=True)
class ConnectSchema:
    """A schema of Kafka Connect, ``org.apache.kafka.connect.data.Schema``.

    Attributes
    ----------
    type : str
        ``boolean``, ``int8``, ``int16``, ``int32``, ``int64``, ``float``, ``double``, ``string``, ``bytes``,
        ``array``, ``map`` or ``struct``, as JsonConverter spells them.
    optional : bool
        Whether the value may be null.
    default : object
        What a null stands for; None if there is no default. Decimals are `decimal.Decimal`; dates, times and
        timestamps are milliseconds, as ``java.util.Date`` has them. It is kept in Java's classes, see
        `kcodec.formats.connect.values`.
    name : str or None
        Its name; that of a logical type makes it one.
    version : int or None
        Its version.
    doc : str or None
        Its documentation.
    parameters : dict of str to str
        Further facts, such as the scale of a Decimal.
    fields : dict of str to ConnectSchema
        Of a struct, in their order.
    key_schema, value_schema : ConnectSchema or None
        Of a map; ``value_schema`` also of an array.

    Examples
    --------
    >>> schema = ConnectSchema.from_json('{"type": "array", "items": {"type": "int64"}, "optional": true}')
    >>> schema.value_schema.type, schema.optional
    ('int64', True)
    >>> print(schema.to_arrow())
    list<item: int64 not null>
    >>> ConnectSchema.decimal(2, precision=9).to_json()["parameters"]
    {'scale': '2', 'connect.decimal.precision': '9'}
    """

    type: str
    optional: bool = False
    default: Any = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    fields: "Mapping[str, ConnectSchema]" = field(default_factory=dict)
    key_schema: "ConnectSchema | None" = None
    value_schema: "ConnectSchema | None" = None

    def __post_init__(self) -> None:
        if self.type not in _TYPES:
            raise SchemaError(f"Unknown schema type: {self.type}")
        if self.type in ("array", "map") and self.value_schema is None:
            raise SchemaError(f"{self.type} needs a value_schema")
        if self.type == "map" and self.key_schema is None:
            raise SchemaError("map needs a key_schema")
        for attribute, kind in _ATTRIBUTES.items():
            value = getattr(self, attribute)
            if not isinstance(value, kind) and (value is not None or kind is Mapping):
                raise SchemaError(f"{attribute} {value!r} is not of the type {kind.__name__}")
        for name, part in self.fields.items():
            if not isinstance(name, str) or not isinstance(part, ConnectSchema):
                raise SchemaError(f"the field {name!r} is {part!r}, not a ConnectSchema")
            if SURROGATE.search(name):
                raise SchemaError(f"the field {name!a} has half of a surrogate pair, which Arrow cannot hold")
        if not all(isinstance(text, str) for pair in self.parameters.items() for text in pair):
            raise SchemaError("Schema parameters must have string values.")
        if self.default is not None:
            try:
                object.__setattr__(self, "default", to_java(self, self.default))
            except RowError as error:
                raise SchemaError(f"Invalid default value: {error.reason}") from None

    @property
    def parts(self) -> "tuple[ConnectSchema, ...]":
        """The item of an array, or key and value of a map."""
        given = (self.key_schema, self.value_schema) if self.type == "map" else (self.value_schema,)
        return tuple(part for part in given if part is not None)

    @property
    def scale(self) -> int | None:
        """The scale of a Decimal; None without a valid one."""
        return parse_integer(self.parameters.get("scale", ""))

    @property
    def precision(self) -> int | None:
        """The digits of a Decimal in all; None without a valid number."""
        return parse_integer(self.parameters.get(PRECISION, ""))

    @classmethod
    def decimal(cls, scale: int, precision: int | None = None, **more: Any) -> "ConnectSchema":
        """Make the schema of a Decimal: unscaled bytes, with the scale as a parameter.

        Parameters
        ----------
        scale : int
            Digits behind the point.
        precision : int, optional
            Digits in all, which Connect itself does not know; kept as `PRECISION`.
        **more
            Further attributes.

        Returns
        -------
        ConnectSchema
        """
        parameters = {"scale": str(scale)}
        if precision is not None:
            parameters[PRECISION] = str(precision)
        return cls("bytes", name=DECIMAL, version=1, parameters=parameters, **more)

    @classmethod
    def date(cls, **more: Any) -> "ConnectSchema":
        """Make the schema of a Date: days since 1970."""
        return cls("int32", name=DATE, version=1, **more)

    @classmethod
    def time(cls, **more: Any) -> "ConnectSchema":
        """Make the schema of a Time: milliseconds since midnight."""
        return cls("int32", name=TIME, version=1, **more)

    @classmethod
    def timestamp(cls, **more: Any) -> "ConnectSchema":
        """Make the schema of a Timestamp: milliseconds since 1970, UTC."""
        return cls("int64", name=TIMESTAMP, version=1, **more)

    @classmethod
    def from_json(cls, schema: Any, *, replace_null: bool = True) -> "ConnectSchema":
        """Read a schema from the form in which JsonConverter's envelopes carry it.

        Parameters
        ----------
        schema : str, bytes, dict or ConnectSchema
            JSON text, or what it parses to.
        replace_null : bool, default True
            Whether nulls within defaults are defaults themselves: ``replace.null.with.default``.

        Returns
        -------
        ConnectSchema

        Raises
        ------
        SchemaError
            With the words of Kafka Connect where it refuses a schema.

        Examples
        --------
        >>> ConnectSchema.from_json({"type": "float64"})
        Traceback (most recent call last):
            ...
        kcodec.errors.SchemaError: Unknown schema type: float64
        """
        if isinstance(schema, ConnectSchema):
            return schema
        try:
            if isinstance(schema, str):
                schema = schema.encode()
            tree = read_tree(schema, leading_zeros=True) if isinstance(schema, bytes) else _tree(schema)
            if isinstance(tree, dict) and "type" not in tree and "schema" in tree:
                raise SchemaError("Schema must contain 'type' field: of an envelope, it is what 'schema' has")
            return cls.from_tree(tree, replace_null=replace_null)
        except JacksonError as error:
            raise SchemaError(f"the schema is not JSON: {error} at byte {error.offset}") from None
        except (TypeError, UnicodeEncodeError, RecursionError) as error:
            raise SchemaError(f"not a schema: {error}") from None

    @classmethod
    def from_tree(cls, tree: Any, *, replace_null: bool) -> "ConnectSchema":
        """Read a schema from a tree of `kcodec.java.jackson.read_tree`, with numbers as they were written.

        Raises
        ------
        SchemaError
            As `from_json`.
        """
        try:
            return _read(tree, 0, replace_null, Expansion(_MAX_EXPANSION))
        except RowError as error:
            raise SchemaError(error.reason) from None

    def select(self, fields: Sequence[str] | None) -> "ConnectSchema":
        """Return the schema with nothing but some fields, dotted for those of structs below; also in arrays and maps.

        Parameters
        ----------
        fields : sequence of str, optional
            Their names; all without.

        Returns
        -------
        ConnectSchema

        Raises
        ------
        ConfigError
            If there is no such field.

        Examples
        --------
        >>> row = ConnectSchema("struct", fields={"id": ConnectSchema("int64"), "note": ConnectSchema("string")})
        >>> print(ConnectSchema("array", value_schema=row).select(["id"]).to_arrow())
        list<item: struct<id: int64 not null> not null>
        """
        names = field_names(fields)
        return self if names is None else _selected(self, field_tree(names), "")

    def to_json(self, decimal_format: str = "BASE64") -> dict[str, Any]:
        """Return the form that envelopes carry, as a dict in JsonConverter's order.

        Parameters
        ----------
        decimal_format : {"BASE64", "NUMERIC"}
            How the defaults of decimals are written.

        Returns
        -------
        dict
            What ``json.loads`` makes of `to_text`; NUMERIC defaults are floats there.
        """
        return json.loads(self.to_text(decimal_format))

    def to_text(self, decimal_format: str = "BASE64", *, replace_null: bool = True) -> str:
        """Return the form that envelopes carry, byte for byte as JsonConverter writes it.

        Parameters
        ----------
        decimal_format, replace_null
            As for `to_json` and `from_json`.

        Returns
        -------
        str

        Raises
        ------
        SchemaError
            If the default of a Decimal has another scale than its schema, which Base64 cannot express.
        """
        decimal_format = str(decimal_format).upper()
        check_choice("decimal_format", decimal_format, ("BASE64", "NUMERIC"))
        try:
            return _write(self, decimal_format == "NUMERIC", replace_null, None)
        except RowError as error:
            raise SchemaError(error.reason) from None

    @classmethod
    def from_arrow(cls, kind: pa.DataType | pa.Schema | pa.Field, nullable: bool = False) -> "ConnectSchema":
        """Make the schema of an Arrow type.

        Parameters
        ----------
        kind : pyarrow.DataType, Schema or Field
            Nullable fields become optional ones. Unsigned integers become the next wider type, those of 64
            bits a Decimal; times and timestamps of any unit become those of Connect.
        nullable : bool, default False
            Whether the root is optional.

        Returns
        -------
        ConnectSchema

        Raises
        ------
        SchemaError
            If Connect has no such type.

        Examples
        --------
        >>> ConnectSchema.from_arrow(pa.struct([pa.field("id", pa.uint8(), nullable=False)])).to_text()
        '{"type":"struct","fields":[{"type":"int16","optional":false,"field":"id"}],"optional":false}'
        """
        name = ""
        if isinstance(kind, pa.Field):
            kind, nullable, name = kind.type, kind.nullable or nullable, kind.name
        if isinstance(kind, pa.Schema):
            kind = pa.struct(list(kind))
        check_kind(pa.DataType, "an Arrow type", kind=kind)
        try:
            return _from_arrow(kind, nullable, name)
        except RecursionError:
            raise SchemaError("the type is nested too deeply") from None

    def to_arrow(
        self,
        *,
        precision: int = 38,
        wide_decimals: str = "decimal256",
        large: bool = False,
        debezium: bool = True,
    ) -> pa.DataType:
        """Return the Arrow type of the values.

        Parameters
        ----------
        precision : int, default 38
            Digits of Decimals that do not say how many they have (in the parameter `PRECISION`).
        wide_decimals : {"decimal256", "string"}
            What decimals of more than 38 digits become.
        large : bool, default False
            Whether strings, binaries and lists have 64-bit offsets.
        debezium : bool, default True
            Whether Debezium's dates and times, numbers or text that are named ``io.debezium.time.*``, are such.

        Returns
        -------
        pyarrow.DataType
            Timestamps are microseconds, UTC; times are milliseconds.

        Raises
        ------
        SchemaError
            If a Decimal has no valid scale, or more digits or a greater scale than the 76 that Arrow holds.
        ConfigError
            If an argument is not valid.
        """
        check_widths(precision, wide_decimals)
        return arrow_type(self, precision, wide_decimals, large, debezium)

    def __eq__(self, other: object) -> bool:
        # Java compares the order of fields, and defaults with their scale.
        return str(self) == str(other) if isinstance(other, ConnectSchema) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        # Defaults with the scale that they have.
        return self.to_text("NUMERIC")


def _selected(schema: ConnectSchema, wanted: Mapping[str, Any], path: str) -> ConnectSchema:
    if not wanted:
        return schema
    if schema.type == "struct":
        for name in wanted:
            check_field(name, schema.fields, path, schema.name or "a struct")
        fields = {
            name: _selected(part, wanted[name], f"{path}.{name}".lstrip("."))
            for name, part in schema.fields.items()
            if name in wanted
        }
        made = replace(schema, fields=fields, default=None)
    elif schema.value_schema is not None:
        made = replace(schema, value_schema=_selected(schema.value_schema, wanted, path), default=None)
    else:
        raise ConfigError(f"{path or 'the root'} has no fields")
    return replace(made, default=_narrowed(schema.default, made))


def _narrowed(value: Any, schema: ConnectSchema) -> Any:
    """Return a value with nothing but the fields that its schema has."""
    if value is None:
        return None
    if schema.type == "struct":
        return Struct((name, _narrowed(value.get(name), part)) for name, part in schema.fields.items())
    if schema.value_schema is None:
        return value
    if schema.type == "map":
        return Map((key, _narrowed(item, schema.value_schema)) for key, item in value)
    return [_narrowed(item, schema.value_schema) for item in value]


_ATTRIBUTES: dict[str, type] = {
    "name": str,
    "version": int,
    "doc": str,
    "parameters": Mapping,
    "fields": Mapping,
    "key_schema": ConnectSchema,
    "value_schema": ConnectSchema,
}


def check_widths(precision: int, wide_decimals: str) -> None:
    """Check the arguments of `ConnectSchema.to_arrow`, which codecs have too."""
    check_choice("wide_decimals", wide_decimals, _WIDE)
    if not is_whole(precision) or precision < 1 or (precision > 76 and wide_decimals != "string"):
        raise ConfigError(f"precision={precision!r} is not within 1 and 76")


def _tree(value: Any) -> Any:
    """Return what Python's JSON parses in the form of `read_tree`."""
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {name: _tree(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_tree(item) for item in value]
    if isinstance(value, (float, Decimal)):
        number = Decimal(float.__repr__(value)) if isinstance(value, float) else value
        if number.is_finite():
            return number or number.copy_abs()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"{value!r} of the type {type(value).__name__} is not JSON")


# The JSON form --------------------------------------------------------------------------------------


def _read(node: Any, depth: int, replace_null: bool, expansion: Expansion) -> ConnectSchema:
    """Read a schema's JSON tree, as ``JsonConverter.asConnectSchema`` does."""
    if depth > MAX_DEPTH:
        raise SchemaError(f"schemas stand within schemas more than {MAX_DEPTH} levels deep")
    kind = node.get("type") if isinstance(node, dict) else None
    if not isinstance(kind, str):
        raise SchemaError("Schema must contain 'type' field")
    if kind not in _TYPES:
        raise SchemaError(f"Unknown schema type: {kind}")
    parts: dict[str, Any] = {}
    if kind == "array":
        if node.get("items") is None:
            raise SchemaError("Array schema did not specify the element type")
        parts["value_schema"] = _read(node["items"], depth + 1, replace_null, expansion)
    elif kind == "map":
        for name, what in (("keys", "key"), ("values", "value")):
            if name not in node:
                raise SchemaError(f"Map schema did not specify the {what} type")
        for name, what in (("keys", "key"), ("values", "value")):
            if node[name] is not None:
                parts[f"{what}_schema"] = _read(node[name], depth + 1, replace_null, expansion)
        for what in ("key", "value"):
            if f"{what}_schema" not in parts:
                raise SchemaError(f"{what}Schema cannot be null.")
    elif kind == "struct":
        if not isinstance(node.get("fields"), list):
            raise SchemaError('Struct schema\'s "fields" argument is not an array.')
        fields = parts["fields"] = {}
        for part in node["fields"]:
            field_name = part.get("field") if isinstance(part, dict) else None
            if not isinstance(field_name, str):
                raise SchemaError("Struct schema's field name not specified properly")
            field = _read(part, depth + 1, replace_null, expansion)
            if not field_name:
                raise SchemaError("fieldName cannot be null.")
            if field_name in fields:
                raise SchemaError(f"Cannot create field because of field name duplication {field_name}")
            fields[field_name] = field
    for name in ("name", "doc"):
        if isinstance(node.get(name), str):
            parts[name] = node[name]
    version = node.get("version")
    if is_whole(version):
        parts["version"] = narrow_integer(version, 32)
    if isinstance(node.get("parameters"), dict):
        if not all(isinstance(value, str) for value in node["parameters"].values()):
            raise SchemaError("Schema parameters must have string values.")
        parts["parameters"] = node["parameters"]
    schema = ConnectSchema(kind, node.get("optional") is True, **parts)
    if "default" in node:
        default = to_connect(schema, node["default"], replace_null, expansion)
        if invalid_value(schema, default, "value", "") is not None:
            raise SchemaError("Invalid default value")
        if default is not None:
            schema = ConnectSchema(kind, schema.optional, default, **parts)
    return schema


def _write(schema: ConnectSchema, numeric: bool, replace_null: bool, field_name: str | None) -> str:
    parts = [f'"type":"{schema.type}"']
    if schema.type == "array":
        parts.append(f'"items":{_write(schema.parts[0], numeric, replace_null, None)}')
    elif schema.type == "map":
        for name, part in zip(("keys", "values"), schema.parts, strict=True):
            parts.append(f'"{name}":{_write(part, numeric, replace_null, None)}')
    elif schema.type == "struct":
        fields = [_write(part, numeric, replace_null, name) for name, part in schema.fields.items()]
        parts.append(f'"fields":[{",".join(fields)}]')
    parts.append(f'"optional":{"true" if schema.optional else "false"}')
    if schema.name is not None:
        parts.append(f'"name":{quote(schema.name)}')
    if schema.version is not None:
        parts.append(f'"version":{schema.version}')
    if schema.doc is not None:
        parts.append(f'"doc":{quote(schema.doc)}')
    if schema.parameters:
        entries = [f"{quote(key)}:{quote(value)}" for key, value in schema.parameters.items()]
        parts.append(f'"parameters":{{{",".join(entries)}}}')
    if schema.default is not None:
        parts.append(f'"default":{from_connect(schema, schema.default, numeric, replace_null)}')
    if field_name is not None:
        parts.append(f'"field":{quote(field_name)}')
    return "{" + ",".join(parts) + "}"


# Arrow ----------------------------------------------------------------------------------------------


def debezium_time(schema: ConnectSchema) -> TimeType | None:
    """Return the date or time of Debezium's that the name of a schema means; None if it means none."""
    time = TIME_TYPES.get(schema.name or "")
    return time if time is not None and time.wire == schema.type else None


def arrow_type(
    schema: ConnectSchema, precision: int, wide_decimals: str, large: bool, debezium: bool
) -> pa.DataType:
    """Return the Arrow type of a schema; see `ConnectSchema.to_arrow`.

    ``wide_decimals="engine"`` gives decimals of more than 76 digits the most digits that Arrow has.
    """
    if schema.name == DECIMAL:
        return _decimal_type(schema, precision, wide_decimals, large)
    if schema.name in LOGICAL_TYPES:
        return LOGICAL_TYPES[schema.name]
    time = debezium_time(schema) if debezium else None
    if time is not None:
        return time.arrow_type

    def item(name: str, part: ConnectSchema) -> pa.Field:
        return pa.field(name, arrow_type(part, precision, wide_decimals, large, debezium), part.optional)

    if schema.type == "struct":
        return pa.struct([item(name, part) for name, part in schema.fields.items()])
    if schema.type == "array":
        inner = item("item", schema.parts[0])
        return pa.large_list(inner) if large else pa.list_(inner)
    if schema.type == "map":
        key, value = schema.parts
        return pa.map_(item("key", key).with_nullable(False), item("value", value))
    if large and schema.type in ("string", "bytes"):
        return pa.large_string() if schema.type == "string" else pa.large_binary()
    return PRIMITIVES[schema.type]


def _decimal_type(schema: ConnectSchema, precision: int, wide_decimals: str, large: bool) -> pa.DataType:
    scale = schema.scale
    if scale is None:
        raise SchemaError(f"a Decimal needs a parameter scale, not {dict(schema.parameters)}")
    given = schema.parameters.get(PRECISION)
    if given is not None:
        precision = digits(given)
    if wide_decimals == "engine":
        precision = min(precision, 76)
    if abs(scale) > 76:
        # It has the type, but neither casts nor prints it.
        raise SchemaError(
            f"Arrow has no decimal of scale {scale}, the greatest is 76; an Arrow type reads it as another"
        )
    if precision > 38 and wide_decimals == "string":
        return pa.large_string() if large else pa.string()
    if precision > 76:
        raise SchemaError(
            f'Arrow has no decimal of {precision} digits, at most 76; wide_decimals="string" reads it as text'
        )
    return decimal_type(precision, scale)


def digits(text: str) -> int:
    """Return the precision of a Decimal as the parameter `PRECISION` says it."""
    precision = parse_integer(text)
    if precision is None or precision < 1:
        raise SchemaError(f"{PRECISION} {text!r} is not a number of digits")
    return precision


def decimal_type(precision: int, scale: int) -> pa.DataType:
    """Return the narrowest type of up to 76 digits, and a scale of up to 76, that Arrow can print."""
    narrow = precision <= 38 and abs(scale) <= 38
    return pa.decimal128(precision, scale) if narrow else pa.decimal256(precision, scale)


def _from_arrow(kind: pa.DataType, optional: bool, path: str) -> ConnectSchema:
    types = pa.types
    stored = stored_type(kind)
    if stored is not None:
        return _from_arrow(stored, optional, path)
    if types.is_struct(kind):
        names = [part.name for part in kind]
        if len(set(names)) != len(names):
            raise SchemaError(f"{path or 'the root'}: two fields have the same name: {names}")
        if "" in names:
            raise SchemaError(f"{path or 'the root'}: Connect has no fields without a name")
        fields = {part.name: _from_arrow(part.type, part.nullable, step(path, part.name)) for part in kind}
        return ConnectSchema("struct", optional, fields=fields)
    if is_list(kind) or types.is_fixed_size_list(kind):
        item = _from_arrow(kind.value_type, kind.value_field.nullable, f"{path}[]")
        return ConnectSchema("array", optional, value_schema=item)
    if types.is_map(kind):
        key = _from_arrow(kind.key_type, False, f"{path}[].key")
        item = _from_arrow(kind.item_type, kind.item_field.nullable, f"{path}[].value")
        return ConnectSchema("map", optional, key_schema=key, value_schema=item)
    if types.is_decimal(kind):
        return ConnectSchema.decimal(kind.scale, kind.precision, optional=optional)
    if types.is_uint64(kind):
        return ConnectSchema.decimal(0, 20, optional=optional)
    if types.is_date(kind):
        return ConnectSchema.date(optional=optional)
    if types.is_time(kind):
        return ConnectSchema.time(optional=optional)
    if types.is_timestamp(kind):
        return ConnectSchema.timestamp(optional=optional)
    name = _FROM_ARROW.get(kind.id)
    if name is None:
        raise SchemaError(f"{path or 'the root'}: Connect has no type for Arrow's {kind}")
    return ConnectSchema(name, optional)


_FROM_ARROW = {
    pa.lib.Type_BOOL: "boolean",
    pa.lib.Type_INT8: "int8",
    pa.lib.Type_INT16: "int16",
    pa.lib.Type_INT32: "int32",
    pa.lib.Type_INT64: "int64",
    pa.lib.Type_UINT8: "int16",
    pa.lib.Type_UINT16: "int32",
    pa.lib.Type_UINT32: "int64",
    pa.lib.Type_HALF_FLOAT: "float",
    pa.lib.Type_FLOAT: "float",
    pa.lib.Type_DOUBLE: "double",
    pa.lib.Type_STRING: "string",
    pa.lib.Type_LARGE_STRING: "string",
    pa.lib.Type_STRING_VIEW: "string",
    pa.lib.Type_BINARY: "bytes",
    pa.lib.Type_LARGE_BINARY: "bytes",
    pa.lib.Type_BINARY_VIEW: "bytes",
    pa.lib.Type_FIXED_SIZE_BINARY: "bytes",
}
