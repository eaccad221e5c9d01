"""Intervals, and times of fewer digits: numbers in Avro, which Spark's to_avro marks with a property of its own.

Day-time intervals pass between Spark and Python as Arrow's durations. For year-month intervals pyarrow has no arrays,
and Spark takes none from Python: they are read as months, which Spark then casts, and written by way of the struct that
they come in.
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kcodec.columns.arrays.nested import cast_leaves
from kcodec.columns.types.plain import is_list, list_of
from kcodec.errors import SchemaError
from kcodec.formats.avro.schema.model import Schema
from kcodec.formats.avro.schema.parse import parse
from kcodec_spark.types.avro_schemas import CATALYST_TYPE

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_DAY_TIME = ("day", "hour", "minute", "second")
_YEAR_MONTH = ("year", "month")
_INTERVAL = re.compile(r"interval (\w+)(?: to (\w+))?")
_TIME = re.compile(r"time\(([0-6])\)")

#: The id of Arrow's intervals of months, as Spark sends them; older pyarrow has no name for it.
MONTHS = getattr(pa.lib, "Type_INTERVAL_MONTHS", 21)


def marked_schema(text: str) -> Schema | None:
    """Return the Avro schema of a text if it may have types that Spark marked, else None."""
    if CATALYST_TYPE not in text:
        return None
    try:
        return parse(text, strict=False)
    except SchemaError:
        # Of another language than Avro.
        return None


def with_durations(kind: pa.DataType, schema: Schema) -> pa.DataType:
    """Return the Arrow type of a schema, with durations for the longs that are day-time intervals."""
    schema = _value(schema)
    if pa.types.is_int64(kind) and _ends(schema, "long", _DAY_TIME):
        return pa.duration("us")
    if pa.types.is_struct(kind):
        below = _members(schema, [field.name for field in kind])
        return pa.struct([field.with_type(with_durations(field.type, below[field.name])) for field in kind])
    if is_list(kind):
        item = kind.value_field.with_type(with_durations(kind.value_type, _item(schema)))
        return list_of(item, kind)
    if pa.types.is_map(kind):
        value = kind.item_field.with_type(with_durations(kind.item_type, _item(schema)))
        return pa.map_(kind.key_field, value)
    return kind


def read_durations(
    read: Callable[..., Any], kind: pa.DataType, *columns: pa.Array, errors: str = "raise"
) -> Any:
    """Read columns, and cast the result to a type."""
    found = read(*columns, errors=errors)
    return (cast_leaves(found[0], kind), found[1]) if errors == "report" else cast_leaves(found, kind)


def casts(kind: "DataType", schema: Schema) -> "list[DataType]":
    """Return the types that Spark casts what was read to, one after another, to get the marked types; or none."""
    steps: list[DataType] = []
    for as_months in (True, False):
        step = _marked(kind, schema, as_months)
        if step != (steps[-1] if steps else kind):
            steps.append(step)
    return steps


def _marked(kind: "DataType", schema: Schema, as_months: bool) -> "DataType":
    """Return Spark's type of a schema with the marked types; numbers can only be cast to intervals of months."""
    from pyspark.sql import types as spark

    schema = _value(schema)
    if isinstance(kind, spark.StructType):
        below = _members(schema, kind.names)
        fields = []
        for field in kind.fields:
            # The error column is in no schema.
            known = field.name in below
            data_type = _marked(field.dataType, below[field.name], as_months) if known else field.dataType
            fields.append(spark.StructField(field.name, data_type, field.nullable))
        return spark.StructType(fields)
    if isinstance(kind, spark.ArrayType):
        return spark.ArrayType(_marked(kind.elementType, _item(schema), as_months), kind.containsNull)
    if isinstance(kind, spark.MapType):
        value = _marked(kind.valueType, _item(schema), as_months)
        return spark.MapType(kind.keyType, value, kind.valueContainsNull)
    if isinstance(kind, spark.DayTimeIntervalType):
        return spark.DayTimeIntervalType(*(_ends(schema, "long", _DAY_TIME) or (0, 3)))
    if isinstance(kind, spark.IntegerType):
        ends = _ends(schema, "int", _YEAR_MONTH)
        return spark.YearMonthIntervalType(*((1, 1) if as_months else ends)) if ends else kind
    if type(kind).__name__ == "TimeType":
        found = _TIME.fullmatch(str(schema.props.get(CATALYST_TYPE)))
        return spark.TimeType(int(found[1])) if found else kind
    return kind


def _value(schema: Schema) -> Schema:
    """Return the schema of the values that are not null."""
    return schema.values[0] if len(schema.values) == 1 else schema


def _item(schema: Schema) -> Schema:
    """Return the schema of the items of an array, or the values of a map."""
    assert schema.item is not None
    return schema.item


def _members(schema: Schema, names: Iterable[str]) -> dict[str, Schema]:
    """Return the schemas of a struct's fields: those of a record, or the members of a union."""
    if schema.type == "union":
        return dict(zip(names, schema.values, strict=False))
    return {field.name: field.type for field in schema.fields}


def _ends(schema: Schema, kind: str, units: tuple[str, ...]) -> tuple[int, int] | None:
    """Return the first and the last unit of an interval that is marked on an Avro type, or None."""
    found = _INTERVAL.fullmatch(str(schema.props.get(CATALYST_TYPE)))
    if found is None or schema.type != kind or schema.logical or found[1] not in units:
        return None
    start, end = found[1], found[2] or found[1]
    return (units.index(start), units.index(end)) if end in units[units.index(start) :] else None


class _Retyped(NamedTuple):
    """An array under another type of the same layout, handed to pyarrow through Arrow's C interface without a cast."""

    array: pa.Array
    kind: pa.DataType

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self.kind.__arrow_c_schema__(), self.array.__arrow_c_array__()[1]


def without_intervals(array: pa.Array) -> pa.Array:
    """Return an array with the numbers that Spark writes for the intervals in it: microseconds and months."""
    kind = _without_intervals(array.type)
    return array if kind == array.type else pa.array(_Retyped(array, kind))


def _without_intervals(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_duration(kind):
        return pa.int64()
    if kind.id == MONTHS:
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_intervals(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_intervals(kind.value_type)))
    if pa.types.is_map(kind):
        value = kind.item_field.with_type(_without_intervals(kind.item_type))
        return pa.map_(kind.key_field, value)
    return kind
