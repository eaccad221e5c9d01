"""Avro schemas to Spark types, as Spark's own ``SchemaConverters`` (4.3) has them.

Only public names of ``pyspark.sql.types`` are used, and only once a function is called.
"""

import re
from typing import TYPE_CHECKING, cast

from kcodec.errors import SchemaError
from kcodec.formats.avro.schema import parse

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

    from kcodec.formats.avro.schema import Schema

__all__ = ["CATALYST_TYPE", "to_sql_type"]

#: Property of an Avro schema in which Spark keeps the type of a column that Avro has no type for.
CATALYST_TYPE = "spark.sql.catalyst.type"


def to_sql_type(
    schema: str,
    *,
    stable_identifiers: bool = False,
    stable_prefix: str = "member_",
    recursive_depth: int = -1,
    wide_decimals: str | None = None,
) -> "DataType":
    """Return the Spark type of an Avro schema, as ``SchemaConverters.toSqlType`` does.

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
