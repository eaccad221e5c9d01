"""The vectors of protobuf-java, and its forms of values."""

import base64

from vector_files import read_vectors

from kcodec.formats.protobuf.messages.message import Message, default_of
from kcodec.formats.protobuf.messages.wire import (
    BYTES,
    canonical_unknown,
    read_length,
    read_tag,
    read_varint,
    skip_field,
    write_tag,
    write_varint,
)
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.java.utf8 import decode_utf8

VECTORS = read_vectors("protobuf_vectors.jsonl.gz")
SCHEMAS = {
    each["name"]: ProtobufSchema.parse(base64.b64decode(each["descriptor_set"]))
    for each in VECTORS
    if each["kind"] == "schema"
}
ROWS = [each for each in VECTORS if each["kind"] != "schema"]
#: Where kcodec is stricter: varints that Java ends at a tenth byte that says more follow, tags and lengths wider than
#: 32 bits.
STRICTER = ("varint-10th-byte-81", "varint-10th-byte-ff", "tag-over-32-bits", "length-2^32+3")


def type_of(row):
    return SCHEMAS[row["schema"]].message(row["message"])


def is_stricter(row):
    return row["id"].rpartition("/")[2].startswith(STRICTER)


def value_of(message: Message):
    """Return a message in the form of the vectors."""
    made = {"r": [[field.name, field_value(message, field)] for field in message.type.fields]}
    unknown = bytes(message.unknown)
    if unknown:
        made["u"] = (items(unknown) if message.type.message_set else canonical_unknown(unknown)).hex()
    return made


def items(data):
    """Return items of a message set as fields of their own, as the vectors show them."""
    out, at = bytearray(), 0
    while at < len(data):
        number, wire_type, at = read_tag(data, at, len(data))
        end = skip_field(data, at, len(data), number, wire_type, 100)
        kind, at = read_varint(data, read_tag(data, at, end)[2], end)
        length, at = read_length(data, read_tag(data, at, end)[2], end)
        write_tag(out, kind, BYTES)
        write_varint(out, length)
        out += data[at : at + length]
        at = end
    return bytes(out)


def field_value(message, field):
    value = message.values.get(field.number)
    if field.is_map:
        key_field, value_field = field.message.by_number[1], field.message.by_number[2]
        return {
            "m": [[single(key_field, key), single(value_field, item)] for key, item in (value or {}).items()]
        }
    if field.repeated:
        return [single(field, item) for item in value or []]
    if value is None:
        return None if field.presence else single(field, default_of(field))
    return single(field, value)


def single(field, value):
    kind = field.type
    if field.message:
        return value_of(value)
    if field.enum:
        return {"e": [field.enum.names.get(value), value]}
    if kind == "bool":
        return value
    if kind == "string":
        return {"s": decode_utf8(value.encode("utf-8", "surrogateescape"))}
    if kind == "bytes":
        return {"b": value.hex()}
    if kind in ("float", "double"):
        return {"f32": f"{value:08x}"} if kind == "float" else {"f64": f"{value:016x}"}
    return {"i": str(value)}
