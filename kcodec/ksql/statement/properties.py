"""The properties that stand behind ``WITH``: what each takes, and what ksqlDB refuses of them together."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from kcodec.errors import SchemaError, near, one_line
from kcodec.java.blanks import trim
from kcodec.java.numbers import integer_bounds, narrow_integer, parse_java_integer
from kcodec.ksql.codec.windows import milliseconds
from kcodec.ksql.formats.delimited.rows import delimiter_of
from kcodec.ksql.formats.format import FORMATS
from kcodec.ksql.formats.properties import NULLABLE

_CLASSES = {str: "String", bool: "Boolean", float: "Double", Decimal: "BigDecimal"}
_WINDOWS = ("SESSION", "HOPPING", "TUMBLING")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid(name, value, f"Expected value to be a string, but it was a {_class(value)}")
    return trim(value)


def _integer(bits: int, what: str) -> Callable[[str, Any], int]:
    kind = {16: "SHORT", 32: "INT", 64: "LONG"}[bits]

    def read(name: str, value: Any) -> int:
        if isinstance(value, str):
            try:
                return parse_java_integer(trim(value), bits)
            except ValueError:
                raise _invalid(name, value, f"Not a number of type {kind}") from None
        if bits == 16 and isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
            # As Number.shortValue does; a double is an int before.
            bounds = integer_bounds(32)
            whole = min(max(int(value), bounds[0]), bounds[1]) if isinstance(value, float) else value
            return narrow_integer(Decimal(whole), 16)
        if type(value) is not int or not -1 << bits - 1 <= value < 1 << bits - 1:
            raise _invalid(name, value, f"Expected value to be {what}, but it was a {_class(value)}")
        return value

    return read


def _boolean(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and trim(value).lower() in ("true", "false"):
        return trim(value).lower() == "true"
    raise _invalid(name, value, "Expected value to be either true or false")


def _topic(name: str, value: Any) -> str:
    found = _text(name, value)
    if not found:
        raise _invalid(name, "", "String must be non-empty")
    return found


def _window(name: str, value: Any) -> str:
    found = _text(name, value).upper()
    if found not in _WINDOWS:
        raise _invalid(name, value, f"String must be one of: {', '.join(_WINDOWS)}, null")
    return found


def _nullable(name: str, value: Any) -> str:
    found = _text(name, value)
    if found not in NULLABLE:
        raise _invalid(name, value, f"String must be one of: {', '.join(NULLABLE)}, null")
    return found


def _checked(check: Callable[[str], Any]) -> Callable[[str, Any], str]:
    def read(name: str, value: Any) -> str:
        found = _text(name, value)
        try:
            check(found)
        except ValueError as error:
            raise SchemaError(f"Configuration {name} is invalid: {error}") from None
        return found

    return read


def _format(name: str, value: Any) -> str:
    found = _text(name, value).upper()
    if found not in FORMATS:
        known = f"not one of {', '.join(FORMATS)}{near(found, FORMATS)}"
        raise SchemaError(f"Unknown format: {one_line(found, 80)}: {known}")
    return found


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "KAFKA_TOPIC": _topic,
    "FORMAT": _format,
    "KEY_FORMAT": _format,
    "VALUE_FORMAT": _format,
    "PARTITIONS": _integer(32, "a 32-bit integer"),
    "REPLICAS": _integer(16, "a 16-bit integer (short)"),
    "RETENTION_MS": _integer(64, "a 64-bit integer (i.e. a long)"),
    "CLEANUP_POLICY": _text,
    "TIMESTAMP": _text,
    "TIMESTAMP_FORMAT": _text,
    "WRAP_SINGLE_VALUE": _boolean,
    "KEY_DELIMITER": _checked(delimiter_of),
    "VALUE_DELIMITER": _checked(delimiter_of),
    "KEY_SCHEMA_ID": _integer(32, "a 32-bit integer"),
    "VALUE_SCHEMA_ID": _integer(32, "a 32-bit integer"),
    "KEY_SCHEMA_FULL_NAME": _text,
    "VALUE_SCHEMA_FULL_NAME": _text,
    "VALUE_AVRO_SCHEMA_FULL_NAME": _text,
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION": _nullable,
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": _nullable,
    "WINDOW_TYPE": _window,
    "WINDOW_SIZE": _checked(milliseconds),
    "SOURCE_CONNECTOR": _text,
    "SOURCED_BY_CONNECTOR": _text,
}


def typed(name: str, value: Any) -> Any:
    """Return the value of a property as its type, or raise `SchemaError` with ksqlDB's reason."""
    read = _READERS.get(name)
    if read is None:
        shown = one_line(name, 80)
        raise SchemaError(f"Invalid config variable(s) in the WITH clause: {shown}{near(name, _READERS)}")
    if value is None:
        raise _invalid(name, "null", "it has no value")
    return read(name, value)


def check_properties(properties: Mapping[str, Any]) -> None:
    """Check what the properties say together."""
    if "KAFKA_TOPIC" not in properties:
        raise SchemaError('Missing required property "KAFKA_TOPIC" which has no default value.')
    for part in ("KEY_FORMAT", "VALUE_FORMAT"):
        if "FORMAT" in properties and part in properties:
            raise SchemaError(
                f"Cannot supply both '{part}' and 'FORMAT' properties, as 'FORMAT' sets both key and value formats. "
                "Either use just 'FORMAT', or use 'KEY_FORMAT' and 'VALUE_FORMAT'."
            )
    if "VALUE_AVRO_SCHEMA_FULL_NAME" in properties and "VALUE_SCHEMA_FULL_NAME" in properties:
        raise SchemaError(
            "Cannot supply both 'VALUE_AVRO_SCHEMA_FULL_NAME' and 'VALUE_SCHEMA_FULL_NAME' properties. "
            "Please only set 'VALUE_SCHEMA_FULL_NAME'."
        )
    window = properties.get("WINDOW_TYPE")
    if window in ("HOPPING", "TUMBLING"):
        if "WINDOW_SIZE" not in properties:
            raise SchemaError(
                f"{window} windows require 'WINDOW_SIZE' to be provided in the WITH clause. "
                "For example: 'WINDOW_SIZE'='10 SECONDS'"
            )
    elif "WINDOW_SIZE" in properties:
        raise SchemaError("'WINDOW_SIZE' should not be set for SESSION windows.")
    if "FORMAT" not in properties and "VALUE_FORMAT" not in properties:
        raise SchemaError(
            "Statement is missing the 'VALUE_FORMAT' property from the WITH clause. "
            "Either provide one or set a default via the 'ksql.persistence.default.format.value' config."
        )


def _class(value: Any) -> str:
    """Return the Java class of a literal."""
    name = _CLASSES.get(type(value))
    if name is None:
        name = "Integer" if -(1 << 31) <= value < 1 << 31 else "Long"
    return f"java.math.{name}" if name == "BigDecimal" else f"java.lang.{name}"


def _invalid(name: str, value: Any, reason: str) -> SchemaError:
    shown = str(value).lower() if isinstance(value, bool) else one_line(value, 80)
    return SchemaError(f"Invalid value {shown} for property {name}: {reason}")
