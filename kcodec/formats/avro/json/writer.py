"""Avro's JSON encoding of decoded values, as Java's ``JsonEncoder`` and console consumers print it."""

import math
from collections.abc import Iterable
from datetime import time
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kcodec.columns.arrays.nested import cast_leaves
from kcodec.columns.types.plain import is_list
from kcodec.formats.avro.schema.model import Schema
from kcodec.formats.avro.schema.types import widest
from kcodec.java.jackson import quote
from kcodec.java.numbers import format_java_double


def json_lines(array: pa.Array, schema: Schema, *, decimals: bool = False) -> list[str | None]:
    """Return the JSON of each value of a column that was decoded with a schema; None for null.

    Unions name the type of their value, bytes and fixed are text of one character a byte, and values of logical types
    are those of the types below. A union of int and long, or of float and double, names the wider one, since the column
    does not keep which it was. With `decimals` these are numbers, for people to read: Java prints their bytes.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> json_lines(pa.array(["x", None]), parse('["null", "string"]'))
    ['{"string":"x"}', None]
    """
    values = cast_leaves(array, _numbered(array.type)).to_pylist()
    return [None if value is None else _text(value, schema, decimals) for value in values]


def _numbered(kind: pa.DataType) -> pa.DataType:
    """Return a type whose dates and timestamps are numbers: Python's end with the year 9999."""
    types = pa.types
    if types.is_timestamp(kind):
        return pa.int64()
    if types.is_date32(kind):
        return pa.int32()
    if types.is_struct(kind):
        return pa.struct([field.with_type(_numbered(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(_numbered(kind.item_type)))
    if is_list(kind):
        make = pa.list_ if types.is_list(kind) else pa.large_list
        return make(kind.value_field.with_type(_numbered(kind.value_type)))
    return kind


def _text(value: Any, schema: Schema, decimals: bool) -> str:
    kind = schema.type
    if kind == "union":
        return _union(value, schema, decimals)
    if kind == "record":
        return _object(
            (field.name, _text(value[field.name], field.type, decimals)) for field in schema.fields
        )
    if kind == "array":
        assert schema.item is not None
        return "[" + ",".join(_text(each, schema.item, decimals) for each in value) + "]"
    if kind == "map":
        assert schema.item is not None
        return _object((name, _text(each, schema.item, decimals)) for name, each in value)
    if kind in ("bytes", "fixed"):
        if decimals and isinstance(value, Decimal):
            return f"{value:f}"
        return quote(_bytes(value, schema).decode("latin-1"))
    if kind in ("string", "enum"):
        return quote(str(value))
    if kind in ("int", "long"):
        return str(_integer(value, schema))
    if kind in ("float", "double"):
        # Java adds a double of 0 to a float.
        text = format_java_double(value + 0.0 if kind == "float" else value)
        return text if math.isfinite(value) else f'"{text}"'
    return {None: "null", True: "true", False: "false"}[value]


def _object(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{quote(name)}:{value}" for name, value in pairs) + "}"


def _union(value: Any, schema: Schema, decimals: bool) -> str:
    if value is None:
        return "null"
    branches = schema.values
    if len(branches) == 1:
        branch = branches[0]
    elif wider := widest(schema):
        branch = next(each for each in branches if each.type == wider)
        if wider == "long":
            # Plain numbers, also where the branch has a logical type.
            return _object([(wider, str(value))])
    else:
        # A struct with a member for each branch, of which one is set.
        branch, value = next(
            (each, member)
            for each, member in zip(branches, value.values(), strict=True)
            if member is not None
        )
    return _object([(branch.name, _text(value, branch, decimals))])


def _bytes(value: Any, schema: Schema) -> bytes:
    # The root type bytes is read as it stands, whatever its logical type.
    if schema.logical != "decimal" or isinstance(value, bytes):
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
        # Columns of milliseconds hold microseconds.
        return value // 1000 if schema.logical.endswith("timestamp-millis") else value
    assert isinstance(value, time)
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return (seconds * 1_000_000 + value.microsecond) // (1000 if schema.logical == "time-millis" else 1)
