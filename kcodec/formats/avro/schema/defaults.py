"""Default values of Avro fields: from JSON to the bytes that the binary encoding has for them."""

import math
import struct
from typing import Any

from kcodec.errors import SchemaError
from kcodec.formats.avro.schema.model import MAX_NESTING, Field, Schema
from kcodec.formats.avro.schema.parse import is_valid_default
from kcodec.java.numbers import round_to_double
from kcodec.wire.single import write

_NUMBERS = frozenset(["int", "long", "float", "double"])


def varint(value: int) -> bytes:
    """Return the zigzag varint of an integer of 64 bits.

    >>> varint(-65).hex()
    '8101'
    """
    return write(value << 1 ^ value >> 63)


def default_bytes(field: Field) -> bytes:
    """Return what a field's default is on the wire; a default that is no value of the type is a `SchemaError`.

    A union's default takes the first branch whose kind of JSON fits, at any position, as in Avro Java: a
    record, enum, array or map is taken to fit whatever the JSON is. Unlike there, a number takes the first
    branch that holds it exactly (Java makes 1.5 an int of 1), text beyond U+00FF is refused for bytes and
    fixed (Java writes ``?``), and so is text of another length for fixed (Java pads or cuts it).

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> field = {"name": "a", "type": ["null", "int"], "default": 5}
    >>> default_bytes(parse({"type": "record", "name": "R", "fields": [field]}).fields[0]).hex()
    '020a'
    """
    if not is_valid_default(field.type, field.default):
        raise SchemaError(f"default of {field.name}: {field.default!r} is not a value of {field.type.name}")
    return _bytes(field.type, field.default, field.name, 0)


def _bytes(schema: Schema, value: Any, path: str, depth: int) -> bytes:
    kind = schema.type
    if depth > MAX_NESTING:
        raise SchemaError(f"default of {path}: nested deeper than {MAX_NESTING} levels")
    if kind == "union":
        index = _branch(schema, value, path)
        return varint(index) + _bytes(schema.branches[index], value, path, depth + 1)
    if kind == "record" and isinstance(value, dict):
        return b"".join(_field(field, value, path, depth) for field in schema.fields)
    if kind == "array" and isinstance(value, list):
        assert schema.item is not None
        items = [_bytes(schema.item, item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
        return _block(items)
    if kind == "map" and isinstance(value, dict):
        assert schema.item is not None
        entries = [
            _sized(_utf8(key, path)) + _bytes(schema.item, item, f"{path}.{key}", depth + 1)
            for key, item in value.items()
        ]
        return _block(entries)
    if kind == "null" and value is None:
        return b""
    if kind == "boolean" and isinstance(value, bool):
        return bytes([value])
    if kind in _NUMBERS and _is_number(value):
        return _number(kind, value, path)
    if isinstance(value, str):
        if kind == "string":
            return _sized(_utf8(value, path))
        if kind == "bytes":
            return _sized(_latin1(value, path))
        if kind == "fixed":
            data = _latin1(value, path)
            if len(data) != schema.size:
                raise SchemaError(f"default of {path}: {len(data)} bytes for a fixed of {schema.size}")
            return data
        if kind == "enum":
            if value not in schema.numbers:
                raise SchemaError(f"default of {path}: {value!r} is not a symbol of {schema.name}")
            return varint(schema.numbers[value])
    raise SchemaError(f"default of {path}: {value!r} is not a value of {schema.name}")


def _field(field: Field, value: dict[str, Any], path: str, depth: int) -> bytes:
    where = f"{path}.{field.name}"
    if field.name in value:
        return _bytes(field.type, value[field.name], where, depth + 1)
    if not field.has_default:
        raise SchemaError(f"default of {where}: the field has none")
    return _bytes(field.type, field.default, where, depth + 1)


def _branch(union: Schema, value: Any, path: str) -> int:
    fitting = [i for i, branch in enumerate(union.branches) if _fits(branch.type, value)]
    if not fitting:
        raise SchemaError(f"default of {path}: {value!r} is not a value of the union")
    if not _is_number(value) or union.branches[fitting[0]].type not in _NUMBERS:
        return fitting[0]
    return next((i for i in fitting if _holds(union.branches[i].type, value)), fitting[0])


def _fits(kind: str, value: Any) -> bool:
    if kind in ("string", "bytes", "fixed"):
        return isinstance(value, str)
    if kind in _NUMBERS:
        return _is_number(value)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "null":
        return value is None
    return True


def _holds(kind: str, value: float) -> bool:
    if kind in ("int", "long"):
        bits = 31 if kind == "int" else 63
        return round_to_double(value).is_integer() and -(1 << bits) <= value < 1 << bits
    if kind == "float":
        number = round_to_double(value)
        return math.isinf(number) or math.isfinite(_single(number))
    return kind == "double"


def _number(kind: str, value: float, path: str) -> bytes:
    if kind in ("int", "long"):
        if not _holds(kind, value):
            raise SchemaError(f"default of {path}: {value!r} is not a value of {kind}")
        return varint(int(value))
    number = round_to_double(value)
    return struct.pack("<f", _single(number)) if kind == "float" else struct.pack("<d", number)


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _utf8(text: str, path: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"default of {path}: half of a surrogate pair is not text") from None


def _latin1(text: str, path: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise SchemaError(f"default of {path}: a byte is a character up to U+00FF") from None


def _sized(data: bytes) -> bytes:
    return varint(len(data)) + data


def _block(items: list[bytes]) -> bytes:
    return (varint(len(items)) + b"".join(items) if items else b"") + b"\0"
