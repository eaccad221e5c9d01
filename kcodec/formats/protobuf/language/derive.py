"""From Arrow types to the .proto text that a person would have written for them."""

from __future__ import annotations

import re

import pyarrow as pa

from kcodec.columns.types.plain import is_bytes, is_list, is_text, plain_type
from kcodec.errors import SchemaError
from kcodec.formats.protobuf.language.syntax import Aggregate, Field, File, Import, Message, Option, Quoted
from kcodec.formats.protobuf.language.text import print_file
from kcodec.plan.failure import step

#: Name of the message that is derived from a column.
MESSAGE = "TopLevelRecord"

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KEYS = frozenset(["bool", "string", "int32", "int64", "uint32", "uint64"])

_SCALARS = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32()), "int32"),
    pa.int64(): "int64",
    **dict.fromkeys((pa.uint8(), pa.uint16(), pa.uint32()), "uint32"),
    pa.uint64(): "uint64",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "bool",
}


def _is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


#: Names that are known: from which import, and for which Arrow types.
_KNOWN = [
    (_is_instant, "google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
    (pa.types.is_duration, "google.protobuf.Duration", "google/protobuf/duration.proto"),
    (pa.types.is_date, "google.type.Date", "google/type/date.proto"),
    (pa.types.is_time, "google.type.TimeOfDay", "google/type/timeofday.proto"),
    (pa.types.is_decimal, "confluent.type.Decimal", "confluent/type/decimal.proto"),
]
_META = "confluent/meta.proto"

#: Levels of types in each other that a text is derived from.
_MAX_DEPTH = 30


def derive_text(kind: pa.DataType, name: str = MESSAGE) -> str:
    """Return the text of a schema with one message, of a full name, for columns of a struct.

    Fields are numbered in their order; those that may be null are ``optional``, and nested structs become nested
    messages. A type that Protobuf has nothing for is a `SchemaError`.

    >>> print(derive_text(pa.struct([pa.field("id", pa.int64(), False), ("tags", pa.list_(pa.string()))])))
    syntax = "proto3";
    <BLANKLINE>
    message TopLevelRecord {
      int64 id = 1;
      repeated string tags = 2;
    }
    <BLANKLINE>
    """
    if not pa.types.is_struct(kind):
        raise SchemaError(f"a Protobuf schema is derived from a struct, not from {kind}")
    imports: set[str] = set()
    package, _, simple = name.rpartition(".")
    message = _message(simple, plain_type(kind, days=True), imports, "", 0)
    file = File("proto3", package, imports=[Import(path) for path in sorted(imports)], messages=[message])
    return print_file(file)


def _message(name: str, kind: pa.DataType, imports: set[str], path: str, depth: int) -> Message:
    if depth > _MAX_DEPTH:
        raise SchemaError(f"{path}: types are nested deeper than {_MAX_DEPTH} levels")
    message = Message(name)
    names: set[str] = set()
    for number, field in enumerate(kind, 1):
        where = step(path, field.name)
        if _NAME.fullmatch(field.name) is None or field.name in names:
            problem = "is there twice" if field.name in names else "is not a name in Protobuf"
            raise SchemaError(f"{where}: {field.name!r} {problem}")
        names.add(field.name)
        message.fields.append(_field(message, field, number, imports, where, depth))
    return message


def _field(message: Message, field: pa.Field, number: int, imports: set[str], path: str, depth: int) -> Field:
    kind = field.type
    made = Field("optional" if field.nullable else "", "", field.name, number)
    value, name = kind, field.name
    if is_list(kind):
        made.label, value = "repeated", kind.value_type
    elif pa.types.is_map(kind):
        made.label = ""
        made.key = _type(message, kind.key_type, name, imports, path, depth)
        if made.key not in _KEYS:
            raise SchemaError(f"{path}: Protobuf has no maps with keys of {kind.key_type}")
        value = kind.item_type
    made.type = _type(message, value, name, imports, path, depth)
    if made.label == "optional" and ("." in made.type or pa.types.is_struct(kind)):
        # Messages always have presence.
        made.label = ""
    if pa.types.is_decimal(value):
        imports.add(_META)
        made.options.append(_decimal_option(value))
    return made


def _type(message: Message, kind: pa.DataType, name: str, imports: set[str], path: str, depth: int) -> str:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if is_text(kind):
        return "string"
    if is_bytes(kind) or pa.types.is_fixed_size_binary(kind):
        return "bytes"
    for is_kind, known, location in _KNOWN:
        if is_kind(kind):
            imports.add(location)
            return known
    if pa.types.is_struct(kind):
        nested = _nested_name(message, name)
        message.messages.append(_message(nested, kind, imports, path, depth + 1))
        return nested
    is_many = is_list(kind) or pa.types.is_map(kind)
    problem = "lists or maps in lists or maps" if is_many else str(kind)
    if pa.types.is_timestamp(kind):
        problem += ": its timestamps have a time zone"
    raise SchemaError(f"{path}: Protobuf has no {problem}")


def _nested_name(message: Message, field: str) -> str:
    """Return a name for the message of a field: ``order_line`` gives ``OrderLine``."""
    name = "".join(each[:1].upper() + each[1:] for each in field.split("_")) or "Nested"
    name = name if name[0].isalpha() else f"Nested{name}"
    taken = {message.name, *(each.name for each in message.messages)}
    found, count = name, 2
    while found in taken:
        found, count = f"{name}{count}", count + 1
    return found


def _decimal_option(kind: pa.DataType) -> Option:
    """Return precision and scale as Connect notes them."""
    params = [
        Aggregate([("key", Quoted((key,))), ("value", Quoted((str(value),)))])
        for key, value in (("precision", kind.precision), ("scale", kind.scale))
    ]
    return Option(("(confluent.field_meta)",), Aggregate([("params", list(params))]))
