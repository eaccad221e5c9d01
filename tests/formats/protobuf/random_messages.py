"""Random schemas of Protobuf, and payloads of their messages as encoders write them, or nearly so."""

import random
import struct

from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.messages.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    GROUP_END,
    GROUP_START,
    VARINT,
    write_tag,
    write_varint,
)

__all__ = ["damaged", "payload", "schema_text", "spoiled"]

_VARINTS = ("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool")
_FIXED = ("fixed32", "sfixed32", "float", "fixed64", "sfixed64", "double")
_SCALARS = (*_VARINTS, *_FIXED, "string", "string", "bytes")
_WELL_KNOWN = (
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "google.protobuf.Int32Value",
    "google.protobuf.StringValue",
    "google.protobuf.DoubleValue",
    "google.protobuf.FieldMask",
)


def schema_text(rnd: random.Random, fields: tuple[int, int] = (0, 12)) -> str:
    """Return a file whose first message is M0, of some least and most fields; messages contain those after them."""
    syntax = rnd.choice(("proto2", "proto3", "proto3"))
    count = rnd.randint(1, 4)
    first = 1 if syntax == "proto2" else 0
    lines = [
        f'syntax = "{syntax}";',
        "package p;",
        'import "google/protobuf/duration.proto";',
        'import "google/protobuf/field_mask.proto";',
        'import "google/protobuf/timestamp.proto";',
        'import "google/protobuf/wrappers.proto";',
        f"enum E {{ A = {first}; B = 2; A_LONGER_NAME_THAN_FITS_INTO_32_BYTES = 5; D = -1; }}",
    ]
    for number in range(count):
        below = [f"M{other}" for other in range(number + 1, count)]
        most = fields if number == 0 else (0, 12)
        lines += [f"message M{number} {{", *_fields(rnd, syntax, below, rnd.randint(*most)), "}"]
    return "\n".join(lines)


def _fields(rnd: random.Random, syntax: str, below: list[str], count: int) -> list[str]:
    lines = []
    number = 0
    in_oneof = False
    for at in range(count):
        number += rnd.choice((1, 1, 1, 2, 20, 3000))
        kind = rnd.choice((*_SCALARS, "E", *_WELL_KNOWN, *(4 * below)))
        name = f"f{at}"
        shape = rnd.choice(("", "", "", "optional", "repeated", "map", "oneof", "required"))
        if in_oneof and shape != "oneof":
            lines.append("}")
            in_oneof = False
        if shape == "map":
            key = rnd.choice((*_VARINTS, "fixed32", "sfixed64", "string", "string"))
            lines.append(f"map<{key}, {kind}> {name} = {number};")
            continue
        if shape == "oneof":
            if not in_oneof:
                lines.append(f"oneof o{at} {{")
                in_oneof = True
            lines.append(f"{kind} {name} = {number};")
            continue
        packable = shape == "repeated" and (kind in _VARINTS or kind in _FIXED or kind == "E")
        packed = f" [packed = {rnd.choice(('true', 'false'))}]" if packable and rnd.random() < 0.5 else ""
        if syntax == "proto2":
            shape = shape or "optional"
            if shape == "optional" and rnd.random() < 0.1:
                lines.append(f"optional group G{at} = {number} {{ optional int32 g = 1; }}")
                continue
        elif shape == "required":
            shape = ""
        lines.append(f"{shape} {kind} {name} = {number}{packed};")
    return [*lines, "}"] if in_oneof else lines


def payload(rnd: random.Random, message: MessageType, density: float = 0.7, values: float = 0.9) -> bytes:
    """Return a message with about so many of its fields, in their order, and of the values of its maps."""
    chosen: dict[str, str] = {}
    for field in message.fields:
        if field.oneof and rnd.random() < 0.5:
            chosen[field.oneof] = field.name
    out = bytearray()
    for field in sorted(message.fields, key=lambda field: field.number):
        if field.oneof:
            if chosen.get(field.oneof) == field.name:
                _put(rnd, out, field, density, values)
        elif field.repeated:
            items = rnd.choice((0, 0, 1, 2, 3, 7)) if density < 1 else rnd.randint(1, 40)
            if field.packed:
                _put_packed(rnd, out, field, items)
            elif field.is_map:
                _put_entries(rnd, out, field, items, density, values)
            else:
                for _ in range(items):
                    _put(rnd, out, field, density, values)
        elif field.required or rnd.random() < density:
            _put(rnd, out, field, density, values)
    return bytes(out)


def _put_packed(rnd: random.Random, out: bytearray, field: FieldType, items: int) -> None:
    run = b"".join(_scalar(rnd, field)[1] for _ in range(items))
    if run:
        write_tag(out, field.number, BYTES)
        write_varint(out, len(run))
        out += run


def _put_entries(
    rnd: random.Random, out: bytearray, field: FieldType, items: int, density: float, values: float
) -> None:
    """Write a map, mostly one without equal keys."""
    key, value = (field.message.by_number[number] for number in (1, 2))
    keys = dict.fromkeys(_scalar(rnd, key) for _ in range(items))
    for wire_type, data in keys:
        entry = bytearray()
        if any(data) or rnd.random() < 0.5:
            write_tag(entry, 1, wire_type)
            if wire_type == BYTES:
                write_varint(entry, len(data))
            entry += data
        if rnd.random() < values:
            _put(rnd, entry, value, density, values)
        write_tag(out, field.number, BYTES)
        write_varint(out, len(entry))
        out += entry


def _put(rnd: random.Random, out: bytearray, field: FieldType, density: float, values: float) -> None:
    if field.type == "group":
        write_tag(out, field.number, GROUP_START)
        out += payload(rnd, field.message, min(density, 0.7), values)
        write_tag(out, field.number, GROUP_END)
        return
    if field.message is None:
        wire_type, data = _scalar(rnd, field)
    else:
        wire_type = BYTES
        data = (
            _time(rnd)
            if field.message.name.endswith(("Timestamp", "Duration"))
            else payload(rnd, field.message, min(density, 0.7), values)
        )
    write_tag(out, field.number, wire_type)
    if wire_type == BYTES:
        write_varint(out, len(data))
    out += data


def _time(rnd: random.Random) -> bytes:
    out = bytearray()
    seconds = rnd.choice((0, 1, 1_700_000_000, 10**11))
    for number, value in ((1, seconds), (2, rnd.choice((0, 5000, 123_456_000)))):
        if value:
            write_tag(out, number, VARINT)
            write_varint(out, value)
    return bytes(out)


def _scalar(rnd: random.Random, field: FieldType) -> tuple[int, bytes]:
    """Return a wire type and a value."""
    kind = field.type
    if kind in ("string", "bytes"):
        size = rnd.choice((0, 1, 5, 5, 5, 12, 31, 32, 33, 127, 128, 300))
        text = "".join(rnd.choice("abcxyz 0ä€😀" if rnd.random() < 0.1 else "abcxyz 0") for _ in range(size))
        return BYTES, text.encode() if kind == "string" else rnd.randbytes(size)
    if kind in ("double", "fixed64", "sfixed64"):
        return FIXED64, struct.pack("<d", rnd.random()) if rnd.random() < 0.8 else bytes(8)
    if kind in ("float", "fixed32", "sfixed32"):
        return FIXED32, rnd.choice((bytes(4), rnd.randbytes(4)))
    out = bytearray()
    if kind == "bool":
        value = rnd.choice((0, 1, 1, 1))
    elif kind == "enum":
        value = rnd.choice(
            (*field.enum.names, *field.enum.names, *field.enum.names, 77 if rnd.random() < 0.005 else 2)
        )
    else:
        value = rnd.getrandbits(rnd.choice((0, 1, 7, 14, 20, 31, 32, 56, 63 if "64" in kind else 31)))
        if "sint" not in kind and rnd.random() < 0.1:
            value = -value
    write_varint(out, value & (1 << 64) - 1)
    return VARINT, bytes(out)


def damaged(rnd: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Return what a payload may become: cut, changed, with unknown fields, merged with another."""
    how = rnd.randrange(8)
    at = rnd.randrange(len(data) + 1)
    if how == 0:
        return data[:at]
    if how == 1 and data:
        return data[: at - 1] + bytes([rnd.choice((0, 1, 0x7F, 0x80, 0xFF, rnd.randrange(256)))]) + data[at:]
    if how == 2:
        return data[:at] + rnd.randbytes(1) + data[at:]
    if how == 3:
        return data + rnd.choice(others)
    if how == 4:
        return data + bytes.fromhex("f2ffffff0f03616263")
    if how == 5:
        return data + bytes.fromhex("f0ffffff0f8001f5ffffff0f01020304f1ffffff0f0102030405060708")
    if how == 6:
        return data + bytes.fromhex("f3ffffff0ff4ffffff0f")
    return b""


def spoiled(rnd: random.Random, value: object) -> object:
    """Return a value of a column with something in it set to null: a field, an item, the value of an entry."""
    if isinstance(value, dict) and value:
        name = rnd.choice(list(value))
        return {**value, name: spoiled(rnd, value[name]) if rnd.random() < 0.7 else None}
    if isinstance(value, list) and value:
        at = rnd.randrange(len(value))
        if isinstance(value[at], tuple):
            return [*value[:at], (value[at][0], spoiled(rnd, value[at][1])), *value[at + 1 :]]
        return [*value[:at], spoiled(rnd, value[at]), *value[at + 1 :]]
    return None
