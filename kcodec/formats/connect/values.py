"""Values of Kafka Connect, in classes that tell apart what Java tells apart.

========================  ===================================================
Connect                   here
========================  ===================================================
int8, int16, int32        `Int8`, `Int16`, `Int32` (Byte, Short, Integer)
int64                     int (Long)
float, double             `Float32`, float
boolean, string, bytes    bool, str, bytes
array, map, struct        list, `Map` (pairs) or without a schema dict, `Struct` (a dict by field)
Decimal                   `decimal.Decimal`, whose exponent is the negated scale
Date, Time, Timestamp     `Millis` (``java.util.Date``)
========================  ===================================================
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from kcodec.errors import is_whole
from kcodec.formats.connect.model import DECIMAL, LOGICAL, ConnectType
from kcodec.java.numbers import narrow_integer, round_to_float
from kcodec.plan.failure import RowError


class Int8(int):
    """A ``java.lang.Byte``."""


class Int16(int):
    """A ``java.lang.Short``."""


class Int32(int):
    """A ``java.lang.Integer``."""


class Float32(float):
    """A ``java.lang.Float``: the double nearest to it."""


class Millis(int):
    """A ``java.util.Date``: milliseconds since 1970."""


class Struct(dict[str, Any]):
    """An ``org.apache.kafka.connect.data.Struct``: values by field."""


class Map(list[tuple[Any, Any]]):
    """A ``java.util.Map`` as pairs: its keys may be of any type."""


#: Java class of values here -> its name.
JAVA_NAMES = {
    bool: "java.lang.Boolean",
    Int8: "java.lang.Byte",
    Int16: "java.lang.Short",
    Int32: "java.lang.Integer",
    int: "java.lang.Long",
    Float32: "java.lang.Float",
    float: "java.lang.Double",
    str: "java.lang.String",
    bytes: "[B",
    Decimal: "java.math.BigDecimal",
    Millis: "java.util.Date",
    list: "java.util.ArrayList",
    dict: "java.util.HashMap",
    Map: "java.util.HashMap",
    Struct: "org.apache.kafka.connect.data.Struct",
}

#: Connect's name of a type -> Java class of its values, and the type's name in messages.
CLASSES: dict[str, tuple[type, str]] = {
    "boolean": (bool, "BOOLEAN"),
    "int8": (Int8, "INT8"),
    "int16": (Int16, "INT16"),
    "int32": (Int32, "INT32"),
    "int64": (int, "INT64"),
    "float": (Float32, "FLOAT32"),
    "double": (float, "FLOAT64"),
    "string": (str, "STRING"),
    "bytes": (bytes, "BYTES"),
    "array": (list, "ARRAY"),
    "map": (Map, "MAP"),
    "struct": (Struct, "STRUCT"),
}


def to_java(schema: ConnectType, value: Any) -> Any:
    """Convert a plain value to the class that Java has for it; raise `RowError` if it is not a value of the schema.

    Dates, times and timestamps become milliseconds; values that have their class already stay as they are.
    """
    if value is None and schema.optional:
        return None
    if schema.name in LOGICAL:
        wanted = Decimal if schema.name == DECIMAL else Millis
        if isinstance(value, wanted) and (not isinstance(value, Decimal) or value.is_finite()):
            return value
        if is_whole(value):
            return wanted(value)
    elif schema.type == "struct":
        if isinstance(value, Mapping) and value.keys() <= schema.fields.keys():
            return Struct((name, to_java(field, value.get(name))) for name, field in schema.fields.items())
    elif schema.type == "map":
        if isinstance(value, (Mapping, Map)):
            key, item = schema.parts
            pairs = value.items() if isinstance(value, Mapping) else value
            return Map((to_java(key, k), to_java(item, v)) for k, v in pairs)
    elif schema.type == "array":
        if isinstance(value, (list, tuple)):
            return [to_java(schema.parts[0], item) for item in value]
    elif schema.type in ("float", "double"):
        if isinstance(value, float):
            if schema.type == "float" and math.isfinite(value):
                value = round_to_float(Decimal(value))
            return CLASSES[schema.type][0](value)
    elif schema.type.startswith("int"):
        if is_integer(value, int(schema.type[3:])):
            return CLASSES[schema.type][0](value)
    elif isinstance(value, CLASSES[schema.type][0]):
        return value
    raise RowError("type_mismatch", reason=f"{value!r} is not of the type {schema.name or schema.type}")


def is_integer(value: Any, bits: int) -> bool:
    """Return whether a value is an integer of so many bits; a boolean is not."""
    return is_whole(value) and narrow_integer(value, bits) == value
