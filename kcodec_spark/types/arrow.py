"""Types: Arrow to Spark, Spark to Arrow.

Only public names of ``pyspark.sql.types`` are used, and only once a function is called.
"""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec.columns.types.ddl import ddl_type
from kcodec.columns.types.plain import is_list, list_of
from kcodec.errors import SchemaError
from kcodec.plan.failure import step
from kcodec_spark.session import abilities
from kcodec_spark.types.intervals import MONTHS

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_ROOT = "the value"


def from_arrow_type(arrow_type: pa.DataType) -> "DataType":
    """Return the Spark type into which Spark's Python worker casts an Arrow type without loss.

    Names, order and nullability are those of the Arrow type. Milliseconds of a day (time32) are an integer and
    nanosecond timestamps a long, since Spark has no such types; fixed_size_binary is binary; unsigned integers take the
    next wider type, 64 bits ``decimal(20,0)``; time64 is ``time(6)``. A type that Spark does not have is a
    `SchemaError`; decimals over 38 digits are read as text by ``AvroCodec(..., wide_decimals="string")``.

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
        if is_variant(kind):
            return spark.VariantType()
        fields = []
        for field in kind:
            below = step(path, field.name)
            fields.append(spark.StructField(field.name, _from_arrow(field.type, below), field.nullable))
        names = [field.name for field in fields]
        if len(set(names)) != len(names):
            raise SchemaError(f"{path or _ROOT}: a name stands twice in the struct: {names}")
        return spark.StructType(fields)
    if is_list(kind) or pa.types.is_fixed_size_list(kind):
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
                'codecs and functions with wide_decimals="string" read them as text'
            )
        if not 0 <= kind.scale <= kind.precision:
            raise SchemaError(
                f"{path or _ROOT}: Spark's decimals have none to all of their digits behind the point: not {kind}"
            )
        return spark.DecimalType(kind.precision, kind.scale)
    raise SchemaError(f"{path or _ROOT}: Spark has no type for Arrow's {kind}")


def is_variant(kind: pa.DataType) -> bool:
    """Return whether a struct is the form in which Spark sends a variant."""
    return any((field.metadata or {}).get(b"variant") == b"true" for field in kind)


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
        # Below 4.1 there is no such type: the number of its units.
        ids.Type_TIME64: spark.TimeType(6) if abilities().time_type else spark.LongType(),
        ids.Type_DURATION: spark.DayTimeIntervalType(),
        MONTHS: spark.YearMonthIntervalType(),
    }


_SENT = {
    pa.lib.Type_UINT8: pa.int16(),
    pa.lib.Type_UINT16: pa.int32(),
    pa.lib.Type_UINT32: pa.int64(),
    pa.lib.Type_UINT64: pa.decimal128(20, 0),
    pa.lib.Type_HALF_FLOAT: pa.float32(),
    pa.lib.Type_STRING_VIEW: pa.string(),
    pa.lib.Type_BINARY_VIEW: pa.binary(),
    pa.lib.Type_FIXED_SIZE_BINARY: pa.binary(),
    pa.lib.Type_DATE64: pa.date32(),
    pa.lib.Type_TIME32: pa.int32(),
    pa.lib.Type_TIME64: pa.time64("ns"),
    pa.lib.Type_DURATION: pa.duration("us"),
}


def sent_type(kind: pa.DataType, nullable: bool = False) -> pa.DataType:
    """Return the Arrow type in which Spark sends values to Python that it got as another type; see `from_arrow_type`.

    Large types are kept, as they may hold more than others. With `nullable`, all fields, items and values may be null.

    >>> import pyarrow as pa
    >>> print(sent_type(pa.list_(pa.time32("ms"))))
    list<item: int32>
    """
    types = pa.types

    def below(field: pa.Field) -> pa.Field:
        return field.with_type(sent_type(field.type, nullable)).with_nullable(field.nullable or nullable)

    if types.is_dictionary(kind):
        return sent_type(kind.value_type, nullable)
    if types.is_struct(kind):
        return pa.struct([below(field) for field in kind])
    if is_list(kind) or types.is_fixed_size_list(kind):
        return list_of(below(kind.value_field), kind)
    if types.is_map(kind):
        return pa.map_(below(kind.key_field).with_nullable(False), below(kind.item_field))
    if types.is_timestamp(kind):
        return pa.int64() if kind.unit == "ns" else pa.timestamp("us", kind.tz and "UTC")
    if types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_time64(kind) and not abilities().time_type:
        return pa.int64()
    return _SENT.get(kind.id, kind)


def as_wide(kind: pa.DataType, is_large: bool) -> pa.DataType:
    """Return a type whose texts and bytes all have offsets of 64 bits, or all of 32; lists have those of 32 in Spark.

    >>> print(as_wide(pa.map_(pa.string(), pa.large_binary()), True))
    map<large_string, large_binary>
    """
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([field.with_type(as_wide(field.type, is_large)) for field in kind])
    if types.is_map(kind):
        return pa.map_(
            as_wide(kind.key_type, is_large), kind.item_field.with_type(as_wide(kind.item_type, is_large))
        )
    if is_list(kind):
        return pa.list_(kind.value_field.with_type(as_wide(kind.value_type, is_large)))
    if types.is_string(kind) or types.is_large_string(kind):
        return pa.large_string() if is_large else pa.string()
    if types.is_binary(kind) or types.is_large_binary(kind):
        return pa.large_binary() if is_large else pa.binary()
    return kind


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
    """Return the Arrow type of a Spark type; `from_arrow_type` returns the Spark type again.

    Lengths of text are not kept, nor how many digits times of the day have. What no codec has a type for is a
    `SchemaError`: intervals, variants, and what users define.

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
        raise SchemaError(f"no codec has a type for Spark's {kind.simpleString()}")
    return found


def arrow_schema(kind: "StructType") -> pa.Schema:
    """Return the Arrow schema by which Spark takes columns from Python as they are."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(kind, timezone="UTC")
    except TypeError:
        # Before Spark 4.2.
        return to_arrow_schema(kind)


def given_type(schema: Any) -> Any:
    """Return the Arrow type of a type of Spark, or of the DDL of one; anything else as it is."""
    if isinstance(schema, str):
        return ddl_type(schema)
    # A column, too, has an attribute of this name; its class has not.
    return to_arrow_type(schema) if hasattr(type(schema), "simpleString") else schema


def all_nullable(kind: "DataType") -> "DataType":
    """Return a type without its constraints: all fields, items and values may be null."""
    from pyspark.sql import types as spark

    if isinstance(kind, spark.StructType):
        return spark.StructType(
            [spark.StructField(field.name, all_nullable(field.dataType)) for field in kind.fields]
        )
    if isinstance(kind, spark.ArrayType):
        return spark.ArrayType(all_nullable(kind.elementType))
    if isinstance(kind, spark.MapType):
        return spark.MapType(kind.keyType, all_nullable(kind.valueType))
    return kind
