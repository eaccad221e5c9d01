"""Messages of Protobuf in Connect's types, as its ``ProtobufData`` has them."""

from collections.abc import Mapping
from functools import cached_property

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
from kcodec.formats.protobuf.descriptor import FieldType, MessageType

_TYPES = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "int32"),
    **dict.fromkeys(("uint32", "fixed32", "int64", "uint64", "sint64", "fixed64", "sfixed64"), "int64"),
    "float": "float",
    "double": "double",
    "bool": "boolean",
    "string": "string",
    "bytes": "bytes",
    "enum": "string",
}
_LOGICAL = {
    "confluent.type.Decimal": DECIMAL,
    "google.type.Date": DATE,
    "google.type.TimeOfDay": TIME,
    "google.protobuf.Timestamp": TIMESTAMP,
}
#: Connect's types of the wrappers' values, by the names of the wrappers.
WRAPPED = {
    f"google.protobuf.{name}Value": kind
    for name, kind in (
        ("Double", "double"),
        ("Float", "float"),
        ("Int64", "int64"),
        ("UInt64", "int64"),
        ("Int32", "int32"),
        ("UInt32", "int64"),
        ("Bool", "boolean"),
        ("String", "string"),
        ("Bytes", "bytes"),
    )
}


class MessageAsConnect(ConnectType):
    """A message as Connect's ``ProtobufData`` has it; with `wrappers` the wrappers of values are these values."""

    type = "struct"

    def __init__(self, message: MessageType, wrappers: bool) -> None:
        self.message = message
        self.wrappers = wrappers

    @cached_property
    def fields(self) -> Mapping[str, ConnectType]:
        """Oneofs first, as structs of their members, then all other fields but groups, which Connect leaves out."""
        oneofs = [
            (given, _OneofAsConnect(self.message, name, self.wrappers))
            for given, name in oneofs_of(self.message).items()
        ]
        return struct_fields([*oneofs, *self._fields("")])

    def _fields(self, oneof: str) -> list[tuple[str, ConnectType]]:
        return [
            (each.name, FieldAsConnect(each, self.wrappers))
            for each in self.message.fields
            if (each.oneof or "") == oneof and each.type != "group"
        ]


class _OneofAsConnect(MessageAsConnect):
    """A oneof: a struct of its members."""

    def __init__(self, message: MessageType, oneof: str, wrappers: bool) -> None:
        super().__init__(message, wrappers)
        self._oneof = oneof

    @cached_property
    def fields(self) -> Mapping[str, ConnectType]:
        """The fields of its message."""
        return dict(self._fields(self._oneof))


class FieldAsConnect(ConnectType):
    """A field, or with `single` one of its values."""

    def __init__(self, field: FieldType, wrappers: bool, single: bool = False) -> None:
        self.field = field
        self.wrappers = wrappers
        self.repeated = field.repeated and not single

    @property
    def _is_map(self) -> bool:
        return self.repeated and _is_map(self.field)

    @cached_property
    def name(self) -> str | None:
        """The name that makes it a logical type."""
        message = self.field.message
        return None if message is None or self.repeated else _LOGICAL.get(message.name)

    @cached_property
    def type(self) -> str:
        """Connect's name of the type."""
        if self.repeated:
            return "map" if self._is_map else "array"
        if self.name is not None:
            return LOGICAL[self.name]
        message = self.field.message
        if message is not None:
            return WRAPPED.get(message.name, "struct") if self.wrappers else "struct"
        kind, said = _TYPES[self.field.type], _params(self.field).get("connect.type")
        return said if kind == "int32" and said in ("int8", "int16") else kind

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        """What Connect has put into the options of the field: the digits of a Decimal."""
        found = _params(self.field)
        return {**found, PRECISION: found["precision"]} if "precision" in found else found

    @cached_property
    def fields(self) -> Mapping[str, ConnectType]:
        """The fields of its message."""
        assert self.field.message is not None
        return MessageAsConnect(self.field.message, self.wrappers).fields

    @cached_property
    def parts(self) -> tuple[ConnectType, ...]:
        """The items of an array; the keys and the values of a map."""
        if not self._is_map:
            return (FieldAsConnect(self.field, self.wrappers, single=True),)
        assert self.field.message is not None
        key, value = self.field.message.fields[:2]
        return FieldAsConnect(key, self.wrappers), FieldAsConnect(value, self.wrappers)


def _is_map(field: FieldType) -> bool:
    """Return whether a field is a map, of Protobuf or as Connect writes it."""
    if not field.repeated or field.message is None:
        return False
    if field.is_map:
        return not field.message.fields[1].repeated
    below = field.message.fields
    return (
        field.message.name.endswith("Entry")
        and [each.name for each in below] == ["key", "value"]
        and not any(each.repeated for each in below)
    )


def _params(field: FieldType) -> dict[str, str]:
    """Return the parameters that Connect has put into the options of a field."""
    meta = field.options.get("(confluent.field_meta)")
    found = (
        meta.get("params")
        if isinstance(meta, Mapping)
        else field.options.get("(confluent.field_meta).params")
    )
    if isinstance(found, Mapping) and not found.keys() <= {"key", "value"}:
        # The schema imports the option, which is a map.
        return {str(key): str(value or "") for key, value in found.items()}
    entries = found if isinstance(found, (list, tuple)) else [found]
    return {
        str(each["key"]): str(each.get("value", ""))
        for each in entries
        if isinstance(each, Mapping) and "key" in each
    }


def oneofs_of(message: MessageType) -> dict[str, str]:
    """Return the oneofs of a message by the names that Connect gives them."""
    names = dict.fromkeys(each.oneof for each in message.fields if each.oneof)
    return {f"{name}_{number}": name for number, name in enumerate(names)}
