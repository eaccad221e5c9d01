"""The base of classes made by ``kcodec protocol generate``."""

import keyword
import sys
import uuid
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from kcodec.protocol.message.codec import UNKNOWN, MessageCodec
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import FieldSpec, StructSpec

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "UNKNOWN_ATTRIBUTE",
    "ZERO_UUID",
    "Collection",
    "Message",
    "UnknownTaggedField",
    "attributes",
    "class_names",
    "keys",
]

Item = TypeVar("Item")

#: Attribute of the tags that the definition does not know.
UNKNOWN_ATTRIBUTE = "unknown_tagged_fields"


#: What a UUID is without a default: Kafka's way to say that there is none.
ZERO_UUID = uuid.UUID(int=0)

#: Names that generated classes use themselves.
_USED = ("bool", "bytes", "dataclass", "field", "float", "int", "list", "str", "uuid")


class UnknownTaggedField(NamedTuple):
    """A tagged field that the definition does not know.

    Attributes
    ----------
    tag : int
        Its tag.
    data : bytes
        Its value, as it was written.
    """

    tag: int
    data: bytes


class Collection(list[Item], Generic[Item]):
    """Structs that are found by key. They keep their order, and several may have the same key."""

    __slots__ = ()

    def _find_all(self, **key: object) -> list[Item]:
        return [item for item in self if all(getattr(item, name) == value for name, value in key.items())]

    def _find(self, **key: object) -> Item | None:
        found = (item for item in self if all(getattr(item, name) == value for name, value in key.items()))
        return next(found, None)


class Message:
    """A message of any version: fields that a version does not have are at their defaults.

    Attributes
    ----------
    API_KEY : int or None
        Number of the API or record type.
    VALID_VERSIONS, FLEXIBLE_VERSIONS : str
        As the definition says them.
    DEFINITION : str
        The definition, in JSON.
    """

    __slots__ = ()

    API_KEY: ClassVar[int | None]
    VALID_VERSIONS: ClassVar[str]
    FLEXIBLE_VERSIONS: ClassVar[str]
    DEFINITION: ClassVar[str]

    @classmethod
    def spec(cls) -> MessageSpec:
        """Return the definition, parsed."""
        return _binding(cls).codec.spec

    @classmethod
    def from_bytes(cls, data: bytes, version: int) -> "Self":
        """Read a message.

        Raises
        ------
        DecodeError
            If the bytes are none of this version.
        ConfigError
            If there is no such version.
        """
        codec, shape = _binding(cls)
        return shape.read(codec.decode_one(data, version))

    def to_bytes(self, version: int) -> bytes:
        """Write the message.

        Raises
        ------
        EncodeError
            If a value does not fit its field, or a field that the version does not have is not at its default and
            may not be ignored.
        ConfigError
            If there is no such version.
        """
        codec, shape = _binding(type(self))
        return codec.encode_one(shape.write(self), version)

    def size(self, version: int) -> int:
        """Return how many bytes `to_bytes` returns; it raises the same errors."""
        codec, shape = _binding(type(self))
        return codec.size(shape.write(self), version)

    @classmethod
    def from_json(cls, node: Any, version: int) -> "Self":
        """Read the JSON form, as Kafka's JsonConverters do; raise `EncodeError` if it is none of this version."""
        codec, shape = _binding(cls)
        return shape.read(codec.from_json(node, version))

    def to_json(self, version: int) -> dict[str, Any]:
        """Write the JSON form, as Kafka's JsonConverters do; it raises the errors of `to_bytes`."""
        codec, shape = _binding(type(self))
        return codec.to_json(shape.write(self), version)


def class_names(spec: MessageSpec) -> dict[tuple[str, bool], str]:
    """Name the classes of a message's structs: of each struct its class, and with True that of its collections."""
    taken = {spec.name, "ClassVar", "Collection", "Message", "UnknownTaggedField"}
    named: dict[tuple[str, bool], str] = {}
    for collection in (False, True):
        for struct in spec.structs:
            name = f"{struct}Collection" if collection else struct
            while name in taken:
                name += "_"
            taken.add(name)
            named[struct, collection] = name
    return named


def attributes(spec: MessageSpec, struct: StructSpec) -> dict[str, FieldSpec]:
    """Name the attributes of a struct's fields: in small letters, with an underscore behind where a name is taken.

    Fields that no valid version of the message has are left out.
    """
    taken = {*keyword.kwlist, *dir(Message), *_USED, UNKNOWN_ATTRIBUTE}
    named: dict[str, FieldSpec] = {}
    for field in struct.fields:
        if (field.versions & spec.valid_versions).empty:
            continue
        name = field.snake_name
        while name in taken:
            name += "_"
        taken.add(name)
        named[name] = field
    return named


def keys(spec: MessageSpec, struct: StructSpec) -> dict[str, FieldSpec]:
    """Name the attributes by which the items of a collection are found."""
    return {name: field for name, field in attributes(spec, struct).items() if field.map_key}


class _Binding(NamedTuple):
    codec: MessageCodec
    shape: "_Shape"


#: What is known of each generated class that was used.
_BINDINGS: dict[type[Message], _Binding] = {}


def _binding(kind: type[Message]) -> _Binding:
    binding = _BINDINGS.get(kind)
    if binding is None:
        codec = MessageCodec.for_versions(kind.DEFINITION)
        module = sys.modules[kind.__module__]
        classes = {key: getattr(module, name, None) for key, name in class_names(codec.spec).items()}
        shape = _Shapes(codec.spec, classes).shape(kind, codec.spec.struct)
        # Threads that come here at once make the same; the last one put there stays.
        binding = _BINDINGS[kind] = _Binding(codec, shape)
    return binding


_Conversion = Callable[[Any], Any] | None


class _Shape:
    """How the objects of one class are converted from and to the dicts of the codec.

    `fields` are the attribute and key of each field, and what turns a value into an attribute, and back; None where
    they are the same.
    """

    def __init__(self, kind: type[Any], fields: list[tuple[str, str, _Conversion, _Conversion]]) -> None:
        self.kind = kind
        self.fields = fields

    def read(self, values: dict[str, Any]) -> Any:
        found: dict[str, Any] = {}
        for name, key, read, _ in self.fields:
            if key in values:
                value = values[key]
                found[name] = value if read is None or value is None else read(value)
        unknown = values.get(UNKNOWN)
        if unknown:
            found[UNKNOWN_ATTRIBUTE] = [UnknownTaggedField(entry["tag"], entry["data"]) for entry in unknown]
        return self.kind(**found)

    def write(self, made: Any) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, key, _, write in self.fields:
            value = getattr(made, name)
            values[key] = value if write is None or value is None else write(value)
        unknown = getattr(made, UNKNOWN_ATTRIBUTE)
        if unknown:
            values[UNKNOWN] = [{"tag": tag, "data": data} for tag, data in unknown]
        return values


class _Shapes:
    """Makes the shapes of a message and its structs."""

    def __init__(self, spec: MessageSpec, classes: dict[tuple[str, bool], Any]) -> None:
        self.spec = spec
        self.structs = spec.structs
        self.classes = classes

    def shape(self, kind: type[Any], struct: StructSpec) -> _Shape:
        named = attributes(self.spec, struct).items()
        return _Shape(kind, [(name, field.json_name, *self.conversions(field)) for name, field in named])

    def conversions(self, field: FieldSpec) -> tuple[_Conversion, _Conversion]:
        element = field.type.element
        make: Callable[[Iterable[Any]], Any] = list
        read: Callable[[Any], Any]
        write: Callable[[Any], Any]
        if element == "uuid":
            read, write = (lambda value: uuid.UUID(bytes=value)), (lambda value: value.bytes)
        elif field.type.has_struct:
            struct = self.structs[element]
            shape = self.shape(self.classes[element, False], struct)
            read, write = shape.read, shape.write
            if field.type.is_array and keys(self.spec, struct):
                make = self.classes[element, True]
        else:
            return None, None
        if not field.type.is_array:
            return read, write
        return (lambda values: make(map(read, values))), (lambda items: list(map(write, items)))
