"""Connect's values to JSON, exactly as ``org.apache.kafka.connect.json.JsonConverter`` writes them."""

import base64
from decimal import Decimal
from typing import Any

from kcodec.columns.types.plain import MILLIS_PER_DAY
from kcodec.formats.connect.model import DATE, DECIMAL, TIME, TIMESTAMP, ConnectType
from kcodec.formats.connect.values import CLASSES, JAVA_NAMES, Float32, Map, Millis, Struct
from kcodec.java.jackson import quote, write_scalar
from kcodec.java.numbers import format_java_decimal, format_java_float, narrow_integer
from kcodec.plan.failure import RowError

_TYPES = {kind: name for name, (kind, _) in CLASSES.items()} | {dict: "map"}


def from_connect(schema: ConnectType | None, value: Any, numeric: bool, replace_null: bool = True) -> str:
    """Write a value as JSON without blanks, as ``JsonConverter.convertToJson`` does; what that throws is a `RowError`.

    `numeric` is Connect's ``decimal.format`` NUMERIC, and `replace_null` its ``replace.null.with.default``.
    """
    if value is None:
        if schema is None:
            return "null"
        if schema.default is not None and replace_null:
            return from_connect(schema, schema.default, numeric, replace_null)
        if schema.optional:
            return "null"
        message = "Conversion error: null value for field that is required and has no default value"
        raise RowError("null_value", reason=message)
    if schema is not None and schema.name in _WRITERS:
        return _WRITERS[schema.name](schema, value, numeric)
    java = JAVA_NAMES[type(value)]
    kind = _TYPES.get(type(value)) if schema is None else schema.type
    if type(value) is dict:
        value = Map(value.items())
    if kind is None:
        raise RowError(
            "type_mismatch", reason=f"Java class class {java} does not have corresponding schema type."
        )
    if type(value) is not CLASSES[kind][0]:
        if kind == "bytes":
            raise RowError("type_mismatch", reason=f"Invalid type for bytes type: class {java}")
        raise RowError("type_mismatch", reason=f"Invalid type for {CLASSES[kind][1]}: class {java}")
    if kind in ("array", "map", "struct"):
        return _write_container(schema, value, numeric, replace_null)
    return _write_scalar(value)


def _write_scalar(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    if isinstance(value, Float32):
        text = format_java_float(value)
        return text if text[-1].isdigit() else f'"{text}"'
    return write_scalar(value)


def _write_container(schema: ConnectType | None, value: Any, numeric: bool, replace_null: bool) -> str:
    def write(part: ConnectType | None, item: Any, step: str) -> str:
        try:
            return from_connect(part, item, numeric, replace_null)
        except RowError as error:
            raise error.within(step) from None

    if isinstance(value, Struct):
        assert schema is not None
        fields = [
            f"{quote(name)}:{write(field, value.get(name), name)}" for name, field in schema.fields.items()
        ]
        return "{" + ",".join(fields) + "}"
    items = schema.parts[-1] if schema else None
    if isinstance(value, Map):
        keys = schema.parts[0] if schema else None
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


def _write_decimal(schema: ConnectType, value: Any, numeric: bool) -> str:
    if not isinstance(value, Decimal):
        raise _not_logical("Decimal", "BigDecimal", value)
    if numeric:
        return format_java_decimal(value)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if schema.scale is None:
        message = "Invalid Decimal schema: scale parameter not found."
        if "scale" in schema.parameters:
            message = "Invalid scale parameter found in Decimal schema: "
        raise RowError("schema_error", reason=message)
    if -exponent != schema.scale:
        message = "Decimal value has mismatching scale for given Decimal schema. "
        message += f"Schema has scale {schema.scale}, value has scale {-exponent}."
        raise RowError("inexact", reason=message)
    unscaled = int(Decimal((sign, digits, 0)))
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return _write_scalar(unscaled.to_bytes(size, "big", signed=True))


def _write_date(schema: ConnectType, value: Any, numeric: bool) -> str:
    if not isinstance(value, Millis):
        raise _not_logical("Date", "Date", value)
    if value % MILLIS_PER_DAY:
        message = "Kafka Connect Date type should not have any time fields set to non-zero values."
        raise RowError("inexact", reason=message)
    # Java narrows silently.
    return str(narrow_integer(value // MILLIS_PER_DAY, 32))


def _write_time(schema: ConnectType, value: Any, numeric: bool) -> str:
    if not isinstance(value, Millis):
        raise _not_logical("Time", "Date", value)
    if not 0 <= value <= MILLIS_PER_DAY:
        message = "Kafka Connect Time type should not have any date fields set to non-zero values."
        raise RowError("out_of_range", reason=message)
    return str(int(value))


def _write_timestamp(schema: ConnectType, value: Any, numeric: bool) -> str:
    if not isinstance(value, Millis):
        raise _not_logical("Timestamp", "Date", value)
    return str(int(value))


def _not_logical(name: str, wanted: str, value: Any) -> RowError:
    java = JAVA_NAMES[type(value)]
    message = f"Invalid type for {name}, expected {wanted} but was class {java}"
    return RowError("type_mismatch", reason=message)


_WRITERS = {DECIMAL: _write_decimal, DATE: _write_date, TIME: _write_time, TIMESTAMP: _write_timestamp}
