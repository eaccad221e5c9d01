"""The fields of Protobuf's messages that rules are about."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from kcodec.columns.types.plain import is_list
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.types import ProtobufOptions, reading_of
from kcodec.formats.tagged import ITEMS, VALUES, TaggedField

#: The option that has the tags of a field, however a text spells it.
_TAGS = "(confluent.field_meta).tags"
_INTEGERS = {"32": "INT", "64": "LONG"}
_KINDS = {
    "string": "STRING",
    "bytes": "BYTES",
    "enum": "ENUM",
    "bool": "BOOLEAN",
    "float": "FLOAT",
    "double": "DOUBLE",
}


def tagged_fields(
    reader: MessageType, ruled: MessageType, kind: pa.DataType, options: ProtobufOptions
) -> list[TaggedField]:
    """Return the fields of a column that is laid out as one message, by the names and tags of another; or the same.

    >>> from kcodec.formats.protobuf.schema import ProtobufSchema
    >>> text = 'syntax = "proto3"; import "confluent/meta.proto"; package shop; message Order {'
    >>> text += ' string email = 1 [(confluent.field_meta).tags = "PII"]; }'
    >>> order = ProtobufSchema.parse(text).message()
    >>> found, = tagged_fields(order, order, pa.struct([("email", pa.string())]), ProtobufOptions())
    >>> found.name, sorted(found.tags), found.is_never_absent
    ('shop.Order.email', ['PII'], True)
    """
    return list(_fields(reader, ruled, kind, options.readings(), ()))


def _fields(
    reader: MessageType,
    ruled: MessageType,
    kind: pa.DataType,
    readings: Mapping[str, str],
    steps: tuple[str | int, ...],
) -> Iterator[TaggedField]:
    if not pa.types.is_struct(kind):
        return
    for field in reader.fields:
        at, named = kind.get_field_index(field.name), ruled.by_number.get(field.number)
        if at >= 0 and named is not None:
            name = f"{ruled.name}.{named.name}"
            yield from _values(field, named, name, kind.field(at).type, readings, (*steps, field.name))


def _values(
    field: FieldType,
    named: FieldType,
    name: str,
    kind: pa.DataType,
    readings: Mapping[str, str],
    steps: tuple[str | int, ...],
) -> Iterator[TaggedField]:
    tags = _tags(named)
    if field.is_map and named.is_map and pa.types.is_map(kind):
        assert field.message is not None
        assert named.message is not None
        value, other = field.message.by_number[2], named.message.by_number[2]
        steps, kind = (*steps, VALUES), kind.item_type
        if value.message is None or other.message is None or reading_of(value.message, readings):
            # Confluent's rules take the type of the field for that of its values, which is then no text.
            yield TaggedField(steps, name, tags, "MAP")
        else:
            yield from _fields(value.message, other.message, kind, readings, steps)
        return
    if field.repeated and is_list(kind):
        steps, kind = (*steps, ITEMS), kind.value_type
    if field.message is not None and named.message is not None:
        if not reading_of(field.message, readings):
            yield from _fields(field.message, named.message, kind, readings, steps)
        return
    is_never_absent = not (field.presence or field.repeated)
    yield TaggedField(steps, name, tags, _kind(named), is_never_absent=is_never_absent)


def _kind(field: FieldType) -> str:
    return _KINDS.get(field.type) or _INTEGERS.get(field.type[-2:], "NULL")


def _tags(field: FieldType) -> frozenset[str]:
    found = field.options.get(_TAGS, ())
    return frozenset(each for each in found if isinstance(each, str))
