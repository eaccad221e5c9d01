"""Spark types to Avro schemas, as Spark's own ``SchemaConverters`` (4.3) has them.

Only public names of ``pyspark.sql.types`` are used, and only once a function is called.
"""

import json
from typing import TYPE_CHECKING, Any

from kcodec.errors import SchemaError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

#: Property of an Avro schema in which Spark keeps the type of a column that Avro has no type for.
CATALYST_TYPE = "spark.sql.catalyst.type"


def to_avro_type(
    data_type: "DataType", nullable: bool = False, record_name: str = "topLevelRecord", namespace: str = ""
) -> str:
    """Return the Avro schema of a Spark type, as ``SchemaConverters.toAvroType`` does.

    It is laid out as Java's ``Schema.toString()``; that of a column that may be null is a union with null as its second
    branch. Name and namespace are those of the record, where the type is a struct; names of nested records follow.
    A `SchemaError` is what Spark refuses too (variants, maps whose keys are no strings), and a name that Avro has not.

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
    elif type(kind).__name__ == "TimeType":
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
        raise SchemaError(f"record {record_name}: two fields have the same name: {names}")
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
