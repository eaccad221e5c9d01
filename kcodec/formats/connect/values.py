"""Values of Kafka Connect, from and to JSON exactly as ``org.apache.kafka.connect.json.JsonConverter`` does it.

This is the specification of ``compat="connect"``, one value at a time: with every leniency of the original, and
with its own words for what it refuses. Values are kept as Java keeps them:

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

import base64
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from kcodec.errors import CODES
from kcodec.java.jackson import node_type, quote

if TYPE_CHECKING:
    from kcodec.formats.connect.schema import ConnectSchema

__all__ = [
    "DATE",
    "DECIMAL",
    "ENVELOPE",
    "MILLIS_PER_DAY",
    "TIME",
    "TIMESTAMP",
    "DataError",
    "Expansion",
    "Float32",
    "Int8",
    "Int16",
    "Int32",
    "Map",
    "Millis",
    "Struct",
    "from_connect",
    "invalid_null",
    "java_decimal",
    "java_double",
    "to_connect",
    "to_double",
    "to_float",
    "to_java",
    "wrap",
]

DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"

MILLIS_PER_DAY = 86_400_000

#: Bytes of a decimal in Base64; to read more takes time that grows with their square.
MAX_UNSCALED = 750

#: What Connect says of a document that is no envelope.
ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional '
    "fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter "
    "configuration."
)

_INFINITY = float("inf")


class DataError(ValueError):
    """What Connect throws as a ``DataException``.

    Attributes
    ----------
    code : str
        A key of `kcodec.CODES`.
    message : str
        Connect's own words.
    path : str
        Where in the value.
    offset : int or None
        Byte position, of what is no JSON.
    """

    def __init__(self, code: str, message: str, path: str = "", offset: int | None = None) -> None:
        # Names of JSON may hold halves of surrogate pairs, which reports do not.
        message = message.encode(errors="backslashreplace").decode()
        super().__init__(code, message, path, offset)
        self.code = code
        self.message = message
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        return self.message

    def within(self, step: str) -> "DataError":
        """Return the same error one level further out."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        return DataError(self.code, self.message, f"{step}{joint}{self.path}")


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


_JAVA = {
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
_CLASSES: dict[str, tuple[type, str]] = {
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
_TYPES = {kind: name for name, (kind, _) in _CLASSES.items()} | {dict: "map"}


# Python to values -----------------------------------------------------------------------------------


def to_java(schema: "ConnectSchema", value: Any) -> Any:
    """Give a plain value the class that Java has for it.

    Parameters
    ----------
    schema : ConnectSchema
        What the value is.
    value : object
        As Python has it; dates, times and timestamps are milliseconds. What has its class stays what it is.

    Returns
    -------
    object
        See the module.

    Raises
    ------
    DataError
        If it is no value of the schema.

    Examples
    --------
    >>> from kcodec.formats.connect.schema import ConnectSchema
    >>> type(to_java(ConnectSchema("int8"), 5)).__name__
    'Int8'
    """
    if value is None and schema.optional:
        return None
    if schema.name in _LOGICAL:
        wanted = Decimal if schema.name == DECIMAL else Millis
        if isinstance(value, wanted) and (not isinstance(value, Decimal) or value.is_finite()):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return wanted(value)
    elif schema.type == "struct":
        if isinstance(value, Mapping) and value.keys() <= schema.fields.keys():
            return Struct((name, to_java(field, value.get(name))) for name, field in schema.fields.items())
    elif schema.type == "map":
        if isinstance(value, (Mapping, Map)):
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            pairs = value.items() if isinstance(value, Mapping) else value
            return Map((to_java(schema.key_schema, k), to_java(schema.value_schema, v)) for k, v in pairs)
    elif schema.type == "array":
        if isinstance(value, (list, tuple)):
            assert schema.value_schema is not None
            return [to_java(schema.value_schema, item) for item in value]
    elif schema.type in ("float", "double"):
        if isinstance(value, float):
            finite = schema.type == "float" and math.isfinite(value)
            return to_float(Decimal(value)) if finite else _CLASSES[schema.type][0](value)
    elif schema.type.startswith("int"):
        if _is_int(value, int(schema.type[3:])):
            return _CLASSES[schema.type][0](value)
    elif isinstance(value, _CLASSES[schema.type][0]):
        return value
    raise DataError("type_mismatch", f"{value!r} is not of the type {schema.name or schema.type}")


# JSON to values -------------------------------------------------------------------------------------


class Expansion:
    """Counts what defaults add to a document: one of a few kilobytes may ask for gigabytes of them.

    Parameters
    ----------
    most : int
        Characters of JSON.
    """

    def __init__(self, most: int) -> None:
        self._left = most
        self._sizes: dict[int, int] = {}

    def default(self, schema: "ConnectSchema") -> Any:
        """Return the default of a schema.

        Raises
        ------
        DataError
            ``size_limit``.
        """
        key = id(schema)
        if key not in self._sizes:
            self._sizes[key] = len(from_connect(schema, schema.default, True))
        self._left -= self._sizes[key]
        if self._left < 0:
            raise DataError("size_limit", CODES["size_limit"])
        return schema.default


def to_connect(
    schema: "ConnectSchema", node: Any, replace_null: bool = True, expansion: Expansion | None = None
) -> Any:
    """Convert a JSON tree to a value, as ``JsonConverter.convertToConnect`` does.

    Parameters
    ----------
    schema : ConnectSchema
        What the value is.
    node : object
        A tree of `kcodec.java.jackson.read_tree`.
    replace_null : bool, default True
        Connect's ``replace.null.with.default``.
    expansion : Expansion, optional
        What bounds the defaults.

    Returns
    -------
    object
        See the module.

    Raises
    ------
    DataError
        What Connect throws.
    """
    if node is None:
        if schema.default is not None and replace_null:
            return schema.default if expansion is None else expansion.default(schema)
        if schema.optional:
            return None
        raise DataError("null_value", f"Invalid null value for required {_CLASSES[schema.type][1]} field")
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name](schema, node)
    if schema.type in ("array", "map", "struct"):
        return _CONTAINERS[schema.type](schema, node, replace_null, expansion)
    return _scalar(schema.type, node)


def wrap(value: int | Decimal, bits: int) -> int:
    """Convert to an integer as Java does: towards zero, and modulo ``2**bits``.

    Examples
    --------
    >>> wrap(300, 8), wrap(Decimal("-1.9"), 32), wrap(Decimal("1e100"), 32)
    (44, -1, 0)
    """
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        # 10**64 and beyond are multiples of 2**64.
        value = 0 if exponent >= 64 or value.adjusted() < 0 else int(value)
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def to_double(value: int | Decimal) -> float:
    """Round to the nearest double; infinite beyond the largest."""
    return float(str(value))


def to_float(value: int | Decimal) -> Float32:
    """Round to the nearest float at once, not by way of a double."""
    wide = to_double(value)
    if wide == 0 or wide in (_INFINITY, -_INFINITY):
        return Float32(wide)
    unit = Fraction(2) ** max(math.frexp(wide)[1] - 24, -149)
    near = float(round(abs(Fraction(value)) / unit) * unit)
    return Float32(math.copysign(near if near < 2.0**128 else _INFINITY, wide))


def _scalar(kind: str, node: Any) -> Any:
    number = isinstance(node, (int, Decimal)) and not isinstance(node, bool)
    if kind == "boolean":
        return node is True
    if kind == "string":
        return node if isinstance(node, str) else None
    if kind == "bytes":
        return _base64(node, "Invalid bytes field") if isinstance(node, str) else None
    if kind == "float":
        return to_float(node) if number else Float32(0.0)
    if kind == "double":
        return to_double(node) if number else 0.0
    if kind == "int64":
        return wrap(node, 64) if number else 0
    bits = int(kind[3:])
    return _CLASSES[kind][0](wrap(node, bits) if number else 0)


_BASE64_GROUP = re.compile(r"[\x00-\x20]*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)")


def _base64(text: str, message: str) -> bytes:
    """Decode Base64 as Jackson does: groups of four, white space between them, more after a padded one."""
    parts = []
    at = 0
    while match := _BASE64_GROUP.match(text, at):
        parts.append(base64.b64decode(match[1]))
        at = match.end()
    if text[at:].strip("".join(map(chr, range(33)))):
        raise DataError("invalid_base64", message)
    return b"".join(parts)


def _decimal(schema: "ConnectSchema", node: Any) -> Decimal:
    if isinstance(node, (int, Decimal)) and not isinstance(node, bool):
        return Decimal(node)
    if isinstance(node, str):
        message = "Invalid bytes for Decimal field"
        scale = schema.scale
        data = _base64(node, message)
        if scale is None or not data:
            raise DataError("invalid_base64" if scale is not None else "schema_error", message)
        if len(data) > MAX_UNSCALED:
            raise DataError("number_length", CODES["number_length"])
        sign, digits, _ = Decimal(int.from_bytes(data, "big", signed=True)).as_tuple()
        return Decimal((sign, digits, -scale))
    raise DataError(
        "type_mismatch",
        "Invalid type for Decimal, underlying representation should be numeric or bytes but was "
        + node_type(node),
    )


def _is_int(node: Any, bits: int) -> bool:
    return isinstance(node, int) and not isinstance(node, bool) and wrap(node, bits) == node


def _date(schema: "ConnectSchema", node: Any) -> Millis:
    if not _is_int(node, 32):
        raise _not_integer("Date", "integer", node)
    return Millis(node * MILLIS_PER_DAY)


def _time(schema: "ConnectSchema", node: Any) -> Millis:
    if not _is_int(node, 32):
        raise _not_integer("Time", "integer", node)
    if not 0 <= node <= MILLIS_PER_DAY:
        message = "Time values must use number of milliseconds greater than 0 and less than 86400000"
        raise DataError("out_of_range", message)
    return Millis(node)


def _timestamp(schema: "ConnectSchema", node: Any) -> Millis:
    if isinstance(node, bool) or not isinstance(node, int):
        raise _not_integer("Timestamp", "integral", node)
    return Millis(wrap(node, 64))


def _not_integer(name: str, wanted: str, node: Any) -> DataError:
    return DataError(
        "type_mismatch",
        f"Invalid type for {name}, underlying representation should be {wanted} but was {node_type(node)}",
    )


_LOGICAL = {DECIMAL: _decimal, DATE: _date, TIME: _time, TIMESTAMP: _timestamp}


def _array(schema: "ConnectSchema", node: Any, replace_null: bool, expansion: Expansion | None) -> list[Any]:
    assert schema.value_schema is not None
    # What has no children yields nothing; of an object, its values.
    items: Iterable[Any] = node if isinstance(node, list) else node.values() if isinstance(node, dict) else ()
    result = []
    for index, item in enumerate(items):
        try:
            result.append(to_connect(schema.value_schema, item, replace_null, expansion))
        except DataError as error:
            raise error.within(f"[{index}]") from None
    return result


def _map(schema: "ConnectSchema", node: Any, replace_null: bool, expansion: Expansion | None) -> Map:
    assert schema.key_schema is not None
    assert schema.value_schema is not None
    pairs: list[tuple[Any, Any]] = []
    if schema.key_schema.type == "string":
        if not isinstance(node, dict):
            message = "Maps with string fields should be encoded as JSON objects, but found "
            raise DataError("type_mismatch", message + node_type(node))
        pairs = list(node.items())
    else:
        if not isinstance(node, list):
            message = "Maps with non-string fields should be encoded as JSON array of tuples, but found "
            raise DataError("type_mismatch", message + node_type(node))
        for index, entry in enumerate(node):
            if not isinstance(entry, list):
                message = f"Found invalid map entry instead of array tuple: {node_type(entry)}"
                raise DataError("type_mismatch", message, f"[{index}]")
            if len(entry) != 2:
                message = f"Found invalid map entry, expected length 2 but found :{len(entry)}"
                raise DataError("type_mismatch", message, f"[{index}]")
            pairs.append((entry[0], entry[1]))
    result: dict[Any, tuple[Any, Any]] = {}
    for index, (key, item) in enumerate(pairs):
        try:
            if schema.key_schema.type != "string":
                key = to_connect(schema.key_schema, key, replace_null, expansion)
        except DataError as error:
            raise error.within(f"[{index}].key") from None
        # Java's maps have no order; the engine keeps the last entry of a key where it stands.
        identity = _identity(key)
        result.pop(identity, None)
        try:
            result[identity] = (key, to_connect(schema.value_schema, item, replace_null, expansion))
        except DataError as error:
            raise error.within(f"[{index}].value") from None
    return Map(result.values())


def _identity(key: Any) -> Any:
    """Give a map's key a form that can be hashed and keeps apart what Java keeps apart."""
    if isinstance(key, (list, Map)):
        return (type(key), tuple(_identity(item) for item in key))
    if isinstance(key, tuple):
        return tuple(_identity(item) for item in key)
    if isinstance(key, Struct):
        return tuple((name, _identity(value)) for name, value in key.items())
    if isinstance(key, Decimal):
        return key.as_tuple()
    if isinstance(key, float):
        return str(key)
    if isinstance(key, bytes):
        # An array of Java is equal to itself alone.
        return object()
    return key


def _struct(schema: "ConnectSchema", node: Any, replace_null: bool, expansion: Expansion | None) -> Struct:
    if not isinstance(node, dict):
        message = f"Structs should be encoded as JSON objects, but found {node_type(node)}"
        raise DataError("type_mismatch", message)
    result = Struct()
    for name, field in schema.fields.items():
        try:
            value = to_connect(field, node.get(name), replace_null, expansion)
        except DataError as error:
            raise error.within(name) from None
        refused = invalid_null(field, value, f'field: "{name}"', name)
        if refused is not None:
            raise refused
        result[name] = value
    return result


_CONTAINERS = {"array": _array, "map": _map, "struct": _struct}


def invalid_null(schema: "ConnectSchema", value: Any, place: str, path: str) -> DataError | None:
    """Find the null that ``ConnectSchema.validateValue`` refuses: one that came of a value of the wrong type."""
    if value is None:
        if schema.optional:
            return None
        kind = _CLASSES[schema.type][1]
        message = f"Invalid value: null used for required {place}, schema type: {kind}"
        return DataError("null_value", message, path)
    if schema.name in _LOGICAL:
        return None
    if schema.type == "array" and schema.value_schema is not None:
        element = f"element of array {place}"
        parts = [(schema.value_schema, item, element, f"{path}[{index}]") for index, item in enumerate(value)]
    elif schema.type == "map" and schema.key_schema is not None and schema.value_schema is not None:
        parts = []
        for index, (key, item) in enumerate(value):
            parts.append((schema.key_schema, key, f"key of map {place}", f"{path}[{index}].key"))
            parts.append((schema.value_schema, item, f"value of map {place}", f"{path}[{index}].value"))
    else:
        return None
    return next(filter(None, (invalid_null(*part) for part in parts)), None)


# Values to JSON -------------------------------------------------------------------------------------


def from_connect(
    schema: "ConnectSchema | None", value: Any, numeric: bool = False, replace_null: bool = True
) -> str:
    """Write a value as JSON, as ``JsonConverter.convertToJson`` does.

    Parameters
    ----------
    schema : ConnectSchema or None
        What the value is; without one, its Java class says.
    value : object
        See the module.
    numeric : bool, default False
        Write decimals as numbers: Connect's ``decimal.format`` NUMERIC.
    replace_null : bool, default True
        Connect's ``replace.null.with.default``.

    Returns
    -------
    str
        JSON text without blanks.

    Raises
    ------
    DataError
        What Connect throws.
    """
    if value is None:
        if schema is None:
            return "null"
        if schema.default is not None and replace_null:
            return from_connect(schema, schema.default, numeric, replace_null)
        if schema.optional:
            return "null"
        message = "Conversion error: null value for field that is required and has no default value"
        raise DataError("null_value", message)
    if schema is not None and schema.name in _WRITERS:
        return _WRITERS[schema.name](schema, value, numeric)
    java = _JAVA[type(value)]
    kind = _TYPES.get(type(value)) if schema is None else schema.type
    if type(value) is dict:
        value = Map(value.items())
    if kind is None:
        raise DataError("type_mismatch", f"Java class class {java} does not have corresponding schema type.")
    if type(value) is not _CLASSES[kind][0]:
        if kind == "bytes":
            raise DataError("type_mismatch", f"Invalid type for bytes type: class {java}")
        raise DataError("type_mismatch", f"Invalid type for {_CLASSES[kind][1]}: class {java}")
    if kind in ("array", "map", "struct"):
        return _write_container(schema, value, numeric, replace_null)
    return _write_scalar(value)


def _write_scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    if isinstance(value, float):
        text = java_double(value)
        return text if text[-1].isdigit() else f'"{text}"'
    return str(int(value))


def _write_container(schema: "ConnectSchema | None", value: Any, numeric: bool, replace_null: bool) -> str:
    def write(part: "ConnectSchema | None", item: Any, step: str) -> str:
        try:
            return from_connect(part, item, numeric, replace_null)
        except DataError as error:
            raise error.within(step) from None

    if isinstance(value, Struct):
        assert schema is not None
        fields = [
            f"{quote(name)}:{write(field, value.get(name), name)}" for name, field in schema.fields.items()
        ]
        return "{" + ",".join(fields) + "}"
    items = schema.value_schema if schema else None
    if isinstance(value, Map):
        keys = schema.key_schema if schema else None
        named = keys.type == "string" if keys else all(isinstance(key, str) for key, _ in value)
        pairs = [
            (key, write(keys, key, f"[{i}].key"), write(items, item, f"[{i}].value"))
            for i, (key, item) in enumerate(value)
        ]
        if named:
            # A null key is the text "null"; of keys that stand twice the last wins.
            entries = {quote("null") if key is None else text: item for key, text, item in pairs}
            return "{" + ",".join(f"{key}:{item}" for key, item in entries.items()) + "}"
        return "[" + ",".join(f"[{key},{item}]" for _, key, item in pairs) + "]"
    return "[" + ",".join(write(items, item, f"[{i}]") for i, item in enumerate(value)) + "]"


def _write_decimal(schema: "ConnectSchema", value: Any, numeric: bool) -> str:
    if not isinstance(value, Decimal):
        raise _not_logical("Decimal", "BigDecimal", value)
    if numeric:
        return java_decimal(value)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if schema.scale is None:
        raise DataError("schema_error", "Invalid Decimal schema: scale parameter not found.")
    if -exponent != schema.scale:
        message = "Decimal value has mismatching scale for given Decimal schema. "
        message += f"Schema has scale {schema.scale}, value has scale {-exponent}."
        raise DataError("inexact", message)
    unscaled = int(Decimal((sign, digits, 0)))
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return _write_scalar(unscaled.to_bytes(size, "big", signed=True))


def _write_date(schema: "ConnectSchema", value: Any, numeric: bool) -> str:
    if not isinstance(value, Millis):
        raise _not_logical("Date", "Date", value)
    if value % MILLIS_PER_DAY:
        message = "Kafka Connect Date type should not have any time fields set to non-zero values."
        raise DataError("inexact", message)
    # Java narrows silently.
    return str(wrap(value // MILLIS_PER_DAY, 32))


def _write_time(schema: "ConnectSchema", value: Any, numeric: bool) -> str:
    if not isinstance(value, Millis):
        raise _not_logical("Time", "Date", value)
    if not 0 <= value <= MILLIS_PER_DAY:
        message = "Kafka Connect Time type should not have any date fields set to non-zero values."
        raise DataError("out_of_range", message)
    return str(int(value))


def _write_timestamp(schema: "ConnectSchema", value: Any, numeric: bool) -> str:
    if not isinstance(value, Millis):
        raise _not_logical("Timestamp", "Date", value)
    return str(int(value))


def _not_logical(name: str, wanted: str, value: Any) -> DataError:
    java = _JAVA[type(value)]
    message = f"Invalid type for {name}, expected {wanted} but was class {java}"
    return DataError("type_mismatch", message)


_WRITERS = {DECIMAL: _write_decimal, DATE: _write_date, TIME: _write_time, TIMESTAMP: _write_timestamp}


def java_decimal(value: Decimal) -> str:
    """Write a decimal as ``BigDecimal.toString``; there is no negative zero.

    Examples
    --------
    >>> [java_decimal(Decimal(text)) for text in ("1.50", "1E-7", "1E+2", "-0.00")]
    ['1.50', '1E-7', '1E+2', '0.00']
    """
    return str(value if value else value.copy_abs())


def java_double(value: float) -> str:
    """Write a float or double as Java does since JDK 19: the nearest of the shortest texts of 2 digits or more.

    Examples
    --------
    >>> java_double(100.0), java_double(1e10), java_double(5e-324), java_double(-math.inf)
    ('100.0', '1.0E10', '4.9E-324', '-Infinity')
    """
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    value = type(value)(abs(value))
    texts = (f"{value:.{size}e}" for size in range(1, 18))
    narrow = isinstance(value, Float32)
    text = next(text for text in texts if (to_float(Decimal(text)) if narrow else float(text)) == value)
    digits, _, power = text.partition("e")
    exponent = int(power)
    digits = digits.replace(".", "").rstrip("0") or "0"
    if value and not -3 <= exponent < 7:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"
    digits = "0" * -exponent + digits.ljust(exponent + 1, "0")
    point = max(exponent, 0) + 1
    return f"{sign}{digits[:point]}.{digits[point:] or '0'}"
