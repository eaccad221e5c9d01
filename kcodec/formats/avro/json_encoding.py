"""Avro's JSON encoding of decoded values, as Java's ``JsonEncoder`` and console consumers print it."""

import json
import math
from collections.abc import Iterable
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kcodec.formats.avro.schema import Schema
from kcodec.formats.avro.types import widest
from kcodec.java.numbers import format_java_double, format_java_float

__all__ = ["json_lines"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: Nanoseconds of the units of logical types.
_UNITS = {"millis": 1_000_000, "micros": 1_000, "nanos": 1}


def json_lines(array: pa.Array, schema: Schema) -> list[str | None]:
    """Return the JSON of each value of a column that was decoded with a schema; None for null.

    Unions name the type of their value, bytes and fixed are text of one character a byte, and values of logical types
    are those of the types below. A union of int and long, or of float and double, names the wider one, since the column
    does not keep which it was.

    Examples
    --------
    >>> from kcodec.formats.avro.schema import parse
    >>> json_lines(pa.array(["x", None]), parse('["null", "string"]'))
    ['{"string":"x"}', None]
    """
    return [None if value is None else _text(value, schema) for value in array.to_pylist()]


def _text(value: Any, schema: Schema) -> str:
    kind = schema.type
    if kind == "union":
        return _union(value, schema)
    if kind == "record":
        return _object((field.name, _text(value[field.name], field.type)) for field in schema.fields)
    if kind == "array":
        assert schema.item is not None
        return "[" + ",".join(_text(each, schema.item) for each in value) + "]"
    if kind == "map":
        assert schema.item is not None
        return _object((name, _text(each, schema.item)) for name, each in value)
    if kind in ("bytes", "fixed"):
        return _quoted(_bytes(value, schema).decode("latin-1"))
    if kind in ("string", "enum"):
        return _quoted(str(value))
    if kind in ("int", "long"):
        return str(_integer(value, schema))
    if kind in ("float", "double"):
        if not math.isfinite(value):
            return f'"{format_java_double(value)}"'
        return format_java_float(value) if kind == "float" else format_java_double(value)
    return {None: "null", True: "true", False: "false"}[value]


def _object(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{_quoted(name)}:{value}" for name, value in pairs) + "}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _union(value: Any, schema: Schema) -> str:
    if value is None:
        return "null"
    branches = schema.values
    if len(branches) == 1:
        branch = branches[0]
    elif wider := widest(schema):
        branch = next(each for each in branches if each.type == wider)
    else:
        # A struct with a member for each branch, of which one is set.
        branch, value = next(
            (each, member)
            for each, member in zip(branches, value.values(), strict=True)
            if member is not None
        )
    return _object([(branch.name, _text(value, branch))])


def _bytes(value: Any, schema: Schema) -> bytes:
    if schema.logical != "decimal":
        return bytes(value)
    # Not Decimal.scaleb, which rounds.
    numerator, denominator = Decimal(value).as_integer_ratio()
    unscaled: int = numerator * 10**schema.scale // denominator
    if schema.type == "fixed":
        return unscaled.to_bytes(schema.size, "big", signed=True)
    # BigInteger.toByteArray: as few bytes as hold the sign, too.
    bits = unscaled.bit_length() if unscaled >= 0 else (-unscaled - 1).bit_length()
    return unscaled.to_bytes(bits // 8 + 1, "big", signed=True)


def _integer(value: Any, schema: Schema) -> int:
    if isinstance(value, int):
        return value
    unit = _UNITS.get(schema.logical.rpartition("-")[2], 1)
    if isinstance(value, datetime):
        # pandas' timestamps have nanoseconds beside.
        moment = value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
        delta = moment - _EPOCH
        nanos = (delta.days * 86_400 + delta.seconds) * 10**9 + delta.microseconds * 1000
        return int((nanos + getattr(delta, "nanoseconds", 0)) // unit)
    if isinstance(value, time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return (seconds * 10**9 + value.microsecond * 1000) // unit
    assert isinstance(value, date)
    return (value - _EPOCH.date()).days
