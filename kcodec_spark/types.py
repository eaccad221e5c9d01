"""Types: Arrow and Avro to Spark, Spark to Arrow and Avro, as Spark's own ``SchemaConverters`` (4.3) has them.

Only public names of ``pyspark.sql.types`` are used, and only once a function is called.
"""

import json
import re
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from kcodec.errors import SchemaError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

    from kcodec.formats.avro.schema import Schema

__all__ = ["from_arrow_type", "to_arrow_type", "to_avro_type", "to_sql_type"]

CATALYST_TYPE = "spark.sql.catalyst.type"

_ROOT = "the value"


def from_arrow_type(arrow_type: pa.DataType) -> "DataType":
    """Give the Spark type into which Spark's Python worker casts an Arrow type without loss.

    Parameters
    ----------
    arrow_type : pyarrow.DataType
        Such as the ``arrow_type`` of a codec.

    Returns
    -------
    pyspark.sql.types.DataType
        Names, order and nullability are those of the Arrow type. Milliseconds of a day (time32) are an
        integer and nanosecond timestamps a long, since Spark has no such types; fixed_size_binary is binary;
        unsigned integers take the next wider type, 64 bits ``decimal(20,0)``; time64 is ``time(6)``.

    Raises
    ------
    SchemaError
        If Spark has no type for it. Decimals over 38 digits are read as text by
        ``AvroCodec(..., wide_decimals="string")``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from_arrow_type(pa.struct([pa.field("id", pa.int64(), False)])).simpleString()
    'struct<id:bigint>'
    """
    return _from_arrow(arrow_type, "")


def _from_arrow(kind: pa.DataType, path: str) -> "DataType":
    from pyspark.sql import types as spark

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    simple = _simple_types().get(kind.id)
    if simple is not None:
        return simple
    if pa.types.is_struct(kind):
        if any((field.metadata or {}).get(b"variant") == b"true" for field in kind):
            return spark.VariantType()
        fields = []
        for field in kind:
            below = f"{path}.{field.name}" if path else field.name
            fields.append(spark.StructField(field.name, _from_arrow(field.type, below), field.nullable))
        names = [field.name for field in fields]
        if len(set(names)) != len(names):
            raise SchemaError(f"{path or _ROOT}: a name stands twice in the struct: {names}")
        return spark.StructType(fields)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return spark.ArrayType(_from_arrow(kind.value_type, f"{path}[]"), kind.value_field.nullable)
    if pa.types.is_map(kind):
        key = _from_arrow(kind.key_type, f"{path}[].key")
        value = _from_arrow(kind.item_type, f"{path}[].value")
        return spark.MapType(key, value, kind.item_field.nullable)
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns":
            return spark.LongType()
        return spark.TimestampNTZType() if kind.tz is None else spark.TimestampType()
    if pa.types.is_decimal(kind):
        if kind.precision > 38:
            raise SchemaError(
                f"{path or _ROOT}: Spark's decimals have at most 38 digits, not {kind.precision}; "
                f'wide_decimals="string" reads them as text'
            )
        return spark.DecimalType(kind.precision, kind.scale)
    raise SchemaError(f"{path or _ROOT}: Spark has no type for Arrow's {kind}")


def _simple_types() -> "dict[int, DataType]":
    from pyspark.sql import types as spark

    ids = pa.lib
    return {
        ids.Type_NA: spark.NullType(),
        ids.Type_BOOL: spark.BooleanType(),
        ids.Type_INT8: spark.ByteType(),
        ids.Type_INT16: spark.ShortType(),
        ids.Type_INT32: spark.IntegerType(),
        ids.Type_INT64: spark.LongType(),
        ids.Type_UINT8: spark.ShortType(),
        ids.Type_UINT16: spark.IntegerType(),
        ids.Type_UINT32: spark.LongType(),
        ids.Type_UINT64: spark.DecimalType(20, 0),
        ids.Type_HALF_FLOAT: spark.FloatType(),
        ids.Type_FLOAT: spark.FloatType(),
        ids.Type_DOUBLE: spark.DoubleType(),
        ids.Type_STRING: spark.StringType(),
        ids.Type_LARGE_STRING: spark.StringType(),
        ids.Type_STRING_VIEW: spark.StringType(),
        ids.Type_BINARY: spark.BinaryType(),
        ids.Type_LARGE_BINARY: spark.BinaryType(),
        ids.Type_BINARY_VIEW: spark.BinaryType(),
        ids.Type_FIXED_SIZE_BINARY: spark.BinaryType(),
        ids.Type_DATE32: spark.DateType(),
        ids.Type_DATE64: spark.DateType(),
        ids.Type_TIME32: spark.IntegerType(),
        ids.Type_TIME64: spark.TimeType(6),
        ids.Type_DURATION: spark.DayTimeIntervalType(),
    }


#: By the names of Spark's types, as nothing of Spark is imported until a function is called.
_ARROW_TYPES = {
    "NullType": pa.null(),
    "BooleanType": pa.bool_(),
    "ByteType": pa.int8(),
    "ShortType": pa.int16(),
    "IntegerType": pa.int32(),
    "LongType": pa.int64(),
    "FloatType": pa.float32(),
    "DoubleType": pa.float64(),
    "StringType": pa.string(),
    "VarcharType": pa.string(),
    "CharType": pa.string(),
    "BinaryType": pa.binary(),
    "DateType": pa.date32(),
    "TimeType": pa.time64("us"),
    "TimestampType": pa.timestamp("us", "UTC"),
    "TimestampNTZType": pa.timestamp("us"),
}


def to_arrow_type(kind: "DataType") -> pa.DataType:
    """Give the Arrow type of a Spark type; `from_arrow_type` gives the Spark type back.

    Lengths of text are not kept.

    Raises
    ------
    SchemaError
        If no codec has a type for it: intervals, variants, and what users define.

    Examples
    --------
    >>> from pyspark.sql.types import ArrayType, TimestampType
    >>> print(to_arrow_type(ArrayType(TimestampType())))
    list<item: timestamp[us, tz=UTC]>
    """
    from pyspark.sql import types as spark

    if isinstance(kind, spark.StructType):
        fields = ((field.name, to_arrow_type(field.dataType), field.nullable) for field in kind.fields)
        return pa.struct([pa.field(*field) for field in fields])
    if isinstance(kind, spark.ArrayType):
        return pa.list_(pa.field("item", to_arrow_type(kind.elementType), kind.containsNull))
    if isinstance(kind, spark.MapType):
        item = pa.field("value", to_arrow_type(kind.valueType), kind.valueContainsNull)
        return pa.map_(to_arrow_type(kind.keyType), item)
    if isinstance(kind, spark.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    found = _ARROW_TYPES.get(type(kind).__name__)
    if found is None:
        raise SchemaError(f"{kind.simpleString()} of Spark has no type of Arrow here")
    return found


def to_sql_type(
    schema: str,
    *,
    stable_identifiers: bool = False,
    stable_prefix: str = "member_",
    recursive_depth: int = -1,
    wide_decimals: str | None = None,
) -> "DataType":
    """Give the Spark type of an Avro schema, as ``SchemaConverters.toSqlType`` does.

    Parameters
    ----------
    schema : str
        Avro schema, as JSON.
    stable_identifiers : bool
        Name the members of unions after their types rather than ``member0``, ``member1``, ... (Spark's option
        ``enableStableIdentifiersForUnionType``).
    stable_prefix : str
        What these names begin with (``stableIdentifierPrefixForUnionType``).
    recursive_depth : int
        How often a record may stand within itself before it is left out (``recursiveFieldMaxDepth``); 0 and
        less refuse recursive records.
    wide_decimals : {None, "string"}
        What decimals over 38 digits are: refused, or text.

    Returns
    -------
    pyspark.sql.types.DataType
        The type of the values that Spark's ``from_avro`` gives.

    Raises
    ------
    SchemaError
        If the schema is not valid, or Spark has no type for it.

    Notes
    -----
    One difference: nanosecond timestamps are longs, since pyspark has no class for Spark's preview type.

    Examples
    --------
    >>> to_sql_type('["null", {"type": "int", "logicalType": "date"}]').simpleString()
    'date'
    """
    from kcodec.formats.avro.schema import parse

    converter = _ToSql(stable_identifiers, stable_prefix, recursive_depth, wide_decimals)
    # The root is never left out: only a record within itself is.
    return cast("DataType", converter.convert(parse(schema), {}))


class _ToSql:
    """The options of one conversion from Avro to Spark."""

    def __init__(self, stable: bool, prefix: str, depth: int, wide_decimals: str | None) -> None:
        self.stable = stable
        self.prefix = prefix
        self.depth = depth
        self.wide_decimals = wide_decimals

    def convert(self, schema: "Schema", around: dict[str, int]) -> "DataType | None":
        """Return the Spark type; None where only a recursive record deeper than allowed would be left."""
        from pyspark.sql import types as spark

        if schema.type == "union":
            return self.union(schema, around)
        if schema.type == "record":
            return self.record(schema, around)
        if schema.type in ("array", "map"):
            assert schema.item is not None
            item = self.convert(schema.item, around)
            if item is None:
                return None
            if schema.type == "array":
                return spark.ArrayType(item, schema.item.nullable)
            return spark.MapType(spark.StringType(), item, schema.item.nullable)
        if schema.logical == "decimal":
            return self.decimal(schema)
        logical = _logical_types().get(schema.logical)
        if logical is not None and (schema.logical in _BEFORE_CATALYST or CATALYST_TYPE not in schema.props):
            return logical
        if schema.type in ("int", "long") and CATALYST_TYPE in schema.props:
            return _from_catalyst_name(schema.props[CATALYST_TYPE])
        return _sql_primitives()[schema.type]

    def decimal(self, schema: "Schema") -> "DataType":
        from pyspark.sql import types as spark

        if schema.precision <= 38:
            return spark.DecimalType(schema.precision, schema.scale)
        if self.wide_decimals == "string":
            return spark.StringType()
        raise SchemaError(
            f"Spark's decimals have at most 38 digits, not {schema.precision}; "
            f'wide_decimals="string" reads them as text'
        )

    def record(self, schema: "Schema", around: dict[str, int]) -> "DataType | None":
        from pyspark.sql import types as spark

        depth = around.get(schema.name, 0)
        if depth and self.depth <= 0:
            raise SchemaError(
                f"{schema.name} is recursive: recursiveFieldMaxDepth, 1 to 15, says how deep to read it"
            )
        if depth and depth >= self.depth:
            return None
        around = {**around, schema.name: depth + 1}
        fields = []
        for field in schema.fields:
            kind = self.convert(field.type, around)
            if kind is not None:
                fields.append(spark.StructField(field.name, kind, field.type.nullable))
        return spark.StructType(fields)

    def union(self, schema: "Schema", around: dict[str, int]) -> "DataType | None":
        from pyspark.sql import types as spark

        values = schema.values
        kinds = {value.type for value in values}
        if len(values) == 1:
            return self.convert(values[0], around)
        if len(values) == 2 and kinds == {"int", "long"}:
            return spark.LongType()
        if len(values) == 2 and kinds == {"float", "double"}:
            return spark.DoubleType()
        members = []
        for number, value in enumerate(values):
            kind = self.convert(value, around)
            if kind is not None:
                name = f"{self.prefix}{value.simple_name}" if self.stable else f"member{number}"
                members.append(spark.StructField(name, kind, True))
        names = [member.name.lower() for member in members]
        if len(set(names)) != len(names):
            raise SchemaError(f"the members of a union cannot be named after their types: {sorted(names)}")
        return spark.StructType(members)


#: Logical types that Spark looks at before its own property.
_BEFORE_CATALYST = frozenset(
    ["date", "timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros"]
)


def _logical_types() -> "dict[str, DataType]":
    from pyspark.sql import types as spark

    return {
        "date": spark.DateType(),
        "time-micros": spark.TimeType(6),
        "timestamp-millis": spark.TimestampType(),
        "timestamp-micros": spark.TimestampType(),
        "local-timestamp-millis": spark.TimestampNTZType(),
        "local-timestamp-micros": spark.TimestampNTZType(),
    }


def _sql_primitives() -> "dict[str, DataType]":
    from pyspark.sql import types as spark

    return {
        "null": spark.NullType(),
        "boolean": spark.BooleanType(),
        "int": spark.IntegerType(),
        "long": spark.LongType(),
        "float": spark.FloatType(),
        "double": spark.DoubleType(),
        "bytes": spark.BinaryType(),
        "fixed": spark.BinaryType(),
        "string": spark.StringType(),
        "enum": spark.StringType(),
    }


def _from_catalyst_name(name: object) -> "DataType":
    """Return the type that Spark itself noted in a schema it wrote: an interval or a time of day."""
    from pyspark.sql import types as spark

    text = str(name).strip().lower()
    if match := re.fullmatch(r"time\(([0-6])\)", text):
        return spark.TimeType(int(match[1]))
    if match := re.fullmatch(r"interval (\w+)(?: to (\w+))?", text):
        start, end = match[1], match[2] or match[1]
        months, times = ("year", "month"), ("day", "hour", "minute", "second")
        for units, kind in ((months, spark.YearMonthIntervalType), (times, spark.DayTimeIntervalType)):
            if start in units and end in units and units.index(start) <= units.index(end):
                return kind(units.index(start), units.index(end))
    for simple in (spark.ByteType(), spark.ShortType(), spark.IntegerType(), spark.LongType()):
        if text == simple.simpleString():
            return simple
    raise SchemaError(f"{CATALYST_TYPE} {name!r} is not a type that Spark writes as a number")


def to_avro_type(
    data_type: "DataType", nullable: bool = False, record_name: str = "topLevelRecord", namespace: str = ""
) -> str:
    """Give the Avro schema of a Spark type, as ``SchemaConverters.toAvroType`` does.

    Parameters
    ----------
    data_type : pyspark.sql.types.DataType
        Type of a column.
    nullable : bool
        Whether the column may be null: the schema is then a union with null as its second branch.
    record_name, namespace : str
        Name and namespace of the record, where the type is a struct; names of nested records follow.

    Returns
    -------
    str
        JSON text, laid out as Java's ``Schema.toString()``.

    Raises
    ------
    SchemaError
        If Spark refuses the type too (variants, maps whose keys are no strings), or a name is not one in
        Avro.

    Examples
    --------
    >>> from pyspark.sql.types import LongType
    >>> to_avro_type(LongType(), nullable=True)
    '["long","null"]'
    """
    tree = _to_avro(data_type, nullable, record_name, namespace)
    return json.dumps(tree, separators=(",", ":"), ensure_ascii=False)


def _to_avro(kind: "DataType", nullable: bool, record_name: str, namespace: str) -> Any:
    from pyspark.sql import types as spark

    tree: Any
    if isinstance(kind, spark.StructType):
        tree = _record(kind, record_name, namespace)
    elif isinstance(kind, spark.ArrayType):
        items = _to_avro(kind.elementType, kind.containsNull, record_name, namespace)
        tree = {"type": "array", "items": items}
    elif isinstance(kind, spark.MapType) and kind.keyType == spark.StringType():
        values = _to_avro(kind.valueType, kind.valueContainsNull, record_name, namespace)
        tree = {"type": "map", "values": values}
    elif isinstance(kind, spark.DecimalType):
        full_name = f"{namespace}.{record_name}.fixed" if namespace else f"{record_name}.fixed"
        tree = {
            "type": "fixed",
            **_name(full_name, ""),
            "size": _bytes_for(kind.precision),
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    elif isinstance(kind, spark.TimeType):
        tree = {"type": "long", "logicalType": "time-micros", CATALYST_TYPE: kind.simpleString()}
    elif isinstance(kind, spark.DayTimeIntervalType):
        tree = {"type": "long", CATALYST_TYPE: kind.simpleString()}
    elif isinstance(kind, spark.YearMonthIntervalType):
        tree = {"type": "int", CATALYST_TYPE: kind.simpleString()}
    else:
        # A collated string is a StringType that differs from the plain one.
        plain = type(kind) is not spark.StringType or kind == spark.StringType()
        tree = _avro_primitives().get(type(kind)) if plain else None
        if tree is None:
            raise SchemaError(f"Spark's type {kind.simpleString()} has no Avro schema")
    return [tree, "null"] if nullable and tree != "null" else tree


def _avro_primitives() -> "dict[type[DataType], Any]":
    from pyspark.sql import types as spark

    return {
        spark.NullType: "null",
        spark.BooleanType: "boolean",
        spark.ByteType: "int",
        spark.ShortType: "int",
        spark.IntegerType: "int",
        spark.LongType: "long",
        spark.FloatType: "float",
        spark.DoubleType: "double",
        spark.StringType: "string",
        spark.BinaryType: "bytes",
        spark.DateType: {"type": "int", "logicalType": "date"},
        spark.TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
        spark.TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
    }


def _record(kind: Any, record_name: str, namespace: str) -> dict[str, Any]:
    below = f"{namespace}.{record_name}" if namespace else record_name
    names = [field.name for field in kind.fields]
    if len(set(names)) != len(names):
        raise SchemaError(f"record {record_name}: a field's name stands twice: {names}")
    fields = [
        {"name": _checked(field.name), "type": _to_avro(field.dataType, field.nullable, field.name, below)}
        for field in kind.fields
    ]
    return {"type": "record", **_name(record_name, namespace), "fields": fields}


def _name(name: str, namespace: str) -> dict[str, str]:
    space, _, name = name.rpartition(".") if "." in name else (namespace, "", name)
    for part in space.split(".") if space else ():
        _checked(part)
    return {"name": _checked(name), **({"namespace": space} if space else {})}


def _checked(name: str) -> str:
    letters = name.replace("_", "a")
    if not letters or not letters[0].isalpha() or not letters.isalnum():
        raise SchemaError(f"{name!r} is not a name in Avro: rename the column")
    return name


def _bytes_for(precision: int) -> int:
    """Return the bytes that hold every decimal of a precision, as ``Decimal.minBytesForPrecision``."""
    size = 1
    while 2 ** (8 * size - 1) < 10**precision:
        size += 1
    return size
