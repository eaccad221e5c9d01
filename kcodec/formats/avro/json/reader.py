"""Avro's JSON encoding to Avro's bytes, as Java's ``JsonDecoder`` reads what ``JsonEncoder`` prints."""

import json
import math
import re
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from kcodec.formats.avro.schema.model import Schema
from kcodec.java.numbers import round_to_double
from kcodec.wire.single import write as varint

_BOUNDS = {"int": 31, "long": 63}


def payload_of(text: bytes, schema: Schema) -> bytes:
    r"""Return the payload of a value in Avro's JSON encoding.

    Unions are null, or an object of one member that is called as its type; bytes and fixed are text of one character a
    byte, and values of logical types those of the types below. All fields of a record are there. What is not in that
    encoding is a `ValueError`, which says where, and what was wanted.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> payload_of(b'{"string": "x"}', parse('["null", "string"]'))
    b'\x02\x02x'
    >>> payload_of(b'"x"', parse('["null", "string"]'))
    Traceback (most recent call last):
    ValueError: the value: null or an object with the member string is wanted
    """
    made: list[bytes] = []
    try:
        _write(json.loads(text), schema, "", made)
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None
    return b"".join(made)


def tagged_lines(schema: Schema) -> Callable[[list[bytes]], pa.Array] | None:
    """Return what makes payloads of lines in which a union's value names its type; null for other lines.

    Without a union there is no such line, and so nothing that makes payloads of it.
    """
    names = {branch.name for union in _unions(schema, {}) for branch in union.values}
    if not names:
        return None
    tag = re.compile(
        rb'\{\s*"(?:' + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb')"\s*:'
    )

    def read(line: bytes) -> bytes | None:
        if tag.search(line) is None:
            return None
        try:
            return payload_of(line, schema)
        except ValueError:
            return None

    return lambda lines: pa.array(map(read, lines), pa.binary())


def _unions(schema: Schema, seen: dict[int, Schema]) -> list[Schema]:
    """Return all unions of a schema, each once; types that contain themselves are not followed again."""
    if id(schema) in seen:
        return []
    seen[id(schema)] = schema
    below = [*schema.branches, *(field.type for field in schema.fields)]
    if schema.item is not None:
        below.append(schema.item)
    found = [schema] if schema.type == "union" else []
    for each in below:
        found += _unions(each, seen)
    return found


def _write(value: Any, schema: Schema, path: str, made: list[bytes]) -> None:
    kind = schema.type
    if kind == "union":
        number, value = _branch(value, schema, path)
        made.append(varint(number << 1))
        _write(value, schema.branches[number], path, made)
    elif kind == "record":
        names = [field.name for field in schema.fields]
        if not isinstance(value, dict) or value.keys() != set(names):
            raise _wanted(path, f"an object with the members {', '.join(names) or 'none'}")
        for field in schema.fields:
            _write(value[field.name], field.type, f"{path}.{field.name}".lstrip("."), made)
    elif kind in ("array", "map"):
        _write_items(value, schema, path, made)
    else:
        made.append(_leaf(value, schema, path))


def _branch(value: Any, schema: Schema, path: str) -> tuple[int, Any]:
    names = [branch.name for branch in schema.branches]
    if value is None and "null" in names:
        return names.index("null"), None
    if isinstance(value, dict) and len(value) == 1:
        ((name, inner),) = value.items()
        if name in names and name != "null":
            return names.index(name), inner
    tags = [name for name in names if name != "null"]
    null = "null or " if "null" in names else ""
    raise _wanted(path, f"{null}an object with the member {' or '.join(tags)}")


def _write_items(value: Any, schema: Schema, path: str, made: list[bytes]) -> None:
    is_map = schema.type == "map"
    if not isinstance(value, dict if is_map else list):
        raise _wanted(path, "an object" if is_map else "an array")
    assert schema.item is not None
    if value:
        made.append(varint(len(value) << 1))
        for at, each in enumerate(value):
            if is_map:
                made += (_counted(each.encode("utf-8")),)
                _write(value[each], schema.item, f"{path}[{each!r}]", made)
            else:
                _write(each, schema.item, f"{path}[{at}]", made)
    made.append(b"\0")


def _leaf(value: Any, schema: Schema, path: str) -> bytes:
    kind = schema.type
    if kind == "null" and value is None:
        return b""
    if kind == "boolean" and isinstance(value, bool):
        return bytes([value])
    if kind in _BOUNDS and isinstance(value, int) and not isinstance(value, bool):
        bits = _BOUNDS[kind]
        if -(1 << bits) <= value < 1 << bits:
            return varint(value << 1 if value >= 0 else ~value << 1 | 1)
    if kind in ("float", "double") and (number := _number(value)) is not None:
        try:
            return struct.pack("<f" if kind == "float" else "<d", number)
        except OverflowError:
            return struct.pack("<f", math.copysign(math.inf, number))
    if isinstance(value, str):
        if kind == "string":
            return _counted(value.encode("utf-8", "surrogatepass"))
        if kind == "enum" and value in schema.symbols:
            return varint(schema.symbols.index(value) << 1)
        if kind in ("bytes", "fixed") and all(each <= "\xff" for each in value):
            data = value.encode("latin-1")
            if kind == "bytes":
                return _counted(data)
            if len(data) == schema.size:
                return data
    raise _wanted(path, _told(schema))


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return float(value.replace("Infinity", "inf")) if value in ("NaN", "Infinity", "-Infinity") else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return round_to_double(value)


def _counted(data: bytes) -> bytes:
    return varint(len(data) << 1) + data


def _told(schema: Schema) -> str:
    if schema.type == "enum":
        return f"one of {', '.join(schema.symbols)}"
    if schema.type == "fixed":
        return f"text of {schema.size} characters up to \\u00ff"
    return "text of characters up to \\u00ff" if schema.type == "bytes" else f"a value of {schema.type}"


def _wanted(path: str, what: str) -> ValueError:
    return ValueError(f"{path or 'the value'}: {what} is wanted")
