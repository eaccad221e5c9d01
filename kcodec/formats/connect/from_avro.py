"""Schemas of Avro in Connect's types, as its ``AvroData`` has them."""

from collections.abc import Mapping
from functools import cached_property

from kcodec.formats.avro.schema.model import Schema
from kcodec.formats.connect.model import (
    DATE,
    DECIMAL,
    LOGICAL,
    PRECISION,
    TIME,
    TIMESTAMP,
    ConnectType,
    struct_fields,
)

_ENTRY_NAME = "io.confluent.connect.avro.MapEntry"
_TYPES = {
    "boolean": "boolean",
    "int": "int32",
    "long": "int64",
    "float": "float",
    "double": "double",
    "bytes": "bytes",
    "fixed": "bytes",
    "string": "string",
    "enum": "string",
    "array": "array",
    "map": "map",
    "record": "struct",
    "union": "struct",
}
#: Connect's logical types, by Avro's name of them and the type that it has them for.
_LOGICAL = {
    ("bytes", "decimal"): DECIMAL,
    ("fixed", "decimal"): DECIMAL,
    ("int", "date"): DATE,
    ("int", "time-millis"): TIME,
    ("long", "timestamp-millis"): TIMESTAMP,
}


class AvroAsConnect(ConnectType):
    """A type of Avro as Connect's ``AvroData`` has it: a union of one type and null is that type."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema.values[0] if len(schema.values) == 1 else schema

    @cached_property
    def type(self) -> str:
        """Connect's name of the type."""
        schema = self.schema
        kind = schema.props.get("connect.type")
        if schema.type == "int" and kind in ("int8", "int16") and "logicalType" not in schema.props:
            return str(kind)
        if schema.type == "union" and not schema.values:
            return ""
        return "map" if self._entry is not None else _TYPES.get(schema.type, "")

    @cached_property
    def name(self) -> str | None:
        """The name that makes it a logical type; an integer of 8 or 16 bits may have one too."""
        schema = self.schema
        found = _LOGICAL.get((schema.type, str(schema.props.get("logicalType", "")).lower()))
        named = schema.props.get("connect.name")
        is_named = isinstance(named, str) and LOGICAL.get(named) == _TYPES.get(schema.type)
        return found or (named if is_named else None)

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        """The digits of a Decimal: of its logical type, or else Connect's own parameters."""
        props = self.schema.props
        given = props.get("connect.parameters")
        found = {str(key): str(value) for key, value in given.items()} if isinstance(given, Mapping) else {}
        for name, parameter in (("scale", "scale"), ("precision", PRECISION)):
            if isinstance(props.get(name), int):
                found[parameter] = str(props[name])
        return found

    @cached_property
    def fields(self) -> "Mapping[str, AvroAsConnect]":
        """The fields of a record, or the members of a union by their names."""
        if self.schema.type == "union":
            return struct_fields((member_name(each), AvroAsConnect(each)) for each in self.schema.values)
        return {field.name: AvroAsConnect(field.type) for field in self.schema.fields}

    @cached_property
    def parts(self) -> "tuple[AvroAsConnect, ...]":
        """The items of an array; the keys and the values of a map."""
        if self._entry is not None:
            key, value = self._entry.fields
            return AvroAsConnect(key.type), AvroAsConnect(value.type)
        assert self.schema.item is not None
        item = AvroAsConnect(self.schema.item)
        return (item,) if self.schema.type == "array" else (AvroAsConnect(Schema("string")), item)

    @property
    def _entry(self) -> Schema | None:
        """The record of an entry, if the array is how Connect writes a map."""
        item = self.schema.item
        if self.schema.type != "array" or item is None or item.type != "record":
            return None
        is_entry = item.props.get("connect.internal.type") == "MapEntry" or item.name == _ENTRY_NAME
        return item if is_entry and [field.name for field in item.fields] == ["key", "value"] else None


def member_name(schema: Schema) -> str:
    """Return what Connect calls a member of a union."""
    return schema.simple_name if schema.type in ("record", "enum", "fixed") else schema.type
