"""Messages of Protobuf as Connect's ``ProtobufData`` has them."""

from collections.abc import Mapping
from typing import Any

from kcodec.formats.protobuf.descriptor import FieldType, MessageType

__all__ = ["WRAPPED", "FieldSource", "MessageSource", "is_map", "oneofs_of"]

_TYPES = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "int32"),
    **dict.fromkeys(("uint32", "fixed32", "int64", "uint64", "sint64", "fixed64", "sfixed64"), "int64"),
    "float": "float32",
    "double": "float64",
    "bool": "boolean",
    "string": "string",
    "bytes": "bytes",
    "enum": "string",
}
_LOGICAL = {
    "confluent.type.Decimal": ("bytes", "Decimal"),
    "google.type.Date": ("int32", "Date"),
    "google.type.TimeOfDay": ("int32", "Time"),
    "google.protobuf.Timestamp": ("int64", "Timestamp"),
}
WRAPPED = {
    f"google.protobuf.{name}Value": kind
    for name, kind in (
        ("Double", "float64"),
        ("Float", "float32"),
        ("Int64", "int64"),
        ("UInt64", "int64"),
        ("Int32", "int32"),
        ("UInt32", "int64"),
        ("Bool", "boolean"),
        ("String", "string"),
        ("Bytes", "bytes"),
    )
}


class MessageSource:
    """A message as Connect's ``ProtobufData`` has it; see `kcodec.ksql.formats.source.Source`."""

    type = "struct"
    logical = ""
    precision = scale = 0

    def __init__(self, message: MessageType, wrappers: bool) -> None:
        self.message = message
        self.wrappers = wrappers

    @property
    def fields(self) -> list[tuple[str, Any]]:
        """Oneofs first, as structs of their members, then all other fields but groups, which Connect leaves out."""
        oneofs = dict.fromkeys(each.oneof for each in self.message.fields if each.oneof)
        found: list[tuple[str, Any]] = [
            (f"{name}_{number}", _OneofSource(self.message, name, self.wrappers))
            for number, name in enumerate(oneofs)
        ]
        return found + [
            (each.name, FieldSource(each, self.wrappers))
            for each in self.message.fields
            if not each.oneof and each.type != "group"
        ]

    @property
    def key(self) -> Any:
        """The keys of a map."""
        raise AssertionError("a message has no keys")

    item = key


class _OneofSource(MessageSource):
    """A oneof: a struct of its members."""

    def __init__(self, message: MessageType, name: str, wrappers: bool) -> None:
        super().__init__(message, wrappers)
        self.name = name

    @property
    def fields(self) -> list[tuple[str, Any]]:
        """The fields of its message."""
        return [
            (each.name, FieldSource(each, self.wrappers))
            for each in self.message.fields
            if each.oneof == self.name and each.type != "group"
        ]


class FieldSource:
    """A field, or with `single` one of its values."""

    def __init__(self, field: FieldType, wrappers: bool, single: bool = False) -> None:
        self.field = field
        self.wrappers = wrappers
        self.repeated = field.repeated and not single

    @property
    def _is_map(self) -> bool:
        return self.repeated and is_map(self.field)

    @property
    def type(self) -> str:
        """Connect's name of the type."""
        if self.repeated:
            return "map" if self._is_map else "array"
        message = self.field.message
        if message is None:
            if self.field.type == "int32" or self.field.type in ("sint32", "sfixed32"):
                kind = self._params.get("connect.type")
                return kind if kind in ("int8", "int16") else "int32"
            return _TYPES[self.field.type]
        if message.name in _LOGICAL:
            return _LOGICAL[message.name][0]
        return WRAPPED.get(message.name, "struct") if self.wrappers else "struct"

    @property
    def logical(self) -> str:
        """Connect's name of the logical type."""
        message = self.field.message
        return "" if message is None or self.repeated else _LOGICAL.get(message.name, ("", ""))[1]

    @property
    def _params(self) -> Mapping[str, str]:
        return _params(self.field)

    @property
    def precision(self) -> int:
        """Digits of a Decimal, 0 where the schema has none."""
        return _number(self._params.get("precision"))

    @property
    def scale(self) -> int:
        """Digits of a Decimal behind the point."""
        return _number(self._params.get("scale"))

    @property
    def fields(self) -> list[tuple[str, Any]]:
        """The fields of its message."""
        assert self.field.message is not None
        return MessageSource(self.field.message, self.wrappers).fields

    @property
    def key(self) -> Any:
        """The keys of a map."""
        assert self.field.message is not None
        return FieldSource(self.field.message.fields[0], self.wrappers)

    @property
    def item(self) -> Any:
        """The items of an array, the values of a map."""
        if not self._is_map:
            return FieldSource(self.field, self.wrappers, single=True)
        assert self.field.message is not None
        return FieldSource(self.field.message.fields[1], self.wrappers)


def is_map(field: FieldType) -> bool:
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


def _number(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0


def oneofs_of(message: MessageType) -> dict[str, str]:
    """Return the oneofs of a message by the names that Connect gives them."""
    names = dict.fromkeys(each.oneof for each in message.fields if each.oneof)
    return {f"{name}_{number}": name for number, name in enumerate(names)}
