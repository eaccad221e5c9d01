"""Kafka's message definitions: messages, structs and fields with their versions."""

from dataclasses import dataclass, field
from typing import Any

from kcodec.protocol.spec import defaults
from kcodec.protocol.spec.json import SpecError
from kcodec.protocol.spec.versions import Versions

#: What a message can be. Those of ``data`` are written to topics and files, or inside of other messages.
MESSAGE_TYPES = ("response", "data", "header", "request", "metadata", "coordinator-key", "coordinator-value")

#: What the value of a field stands for -> the type it must have.
ENTITY_TYPES: dict[str, str | None] = {
    "unknown": None,
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}

#: Where a request can be served.
LISTENERS = ("broker", "zkBroker", "controller")

#: Name of a primitive type -> bytes of its values; None where each value has its own length.
PRIMITIVES: dict[str, int | None] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
    "string": None,
    "bytes": None,
    "records": None,
}

#: API key of the request by which a client asks for all others.
API_VERSIONS = 18


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of a field.

    Attributes
    ----------
    element : str
        A primitive type, or the name of a struct (with a capital first letter).
    is_array : bool
        Whether the field is an array of these.

    Examples
    --------
    >>> FieldType.parse(" []Topic "), str(FieldType("int32", True))
    (FieldType(element='Topic', is_array=True), '[]int32')
    """

    element: str
    is_array: bool = False

    @classmethod
    def parse(cls, text: str) -> "FieldType":
        """Read a type; raise `SpecError` if it is none."""
        text = text.strip()
        if not text.startswith("[]"):
            if text in PRIMITIVES or text[:1].isupper():
                return cls(text)
            raise SpecError(f"Can't parse type {text}", "field_type")
        if text == "[]":
            raise SpecError(f"Can't parse array type {text}.  No element type found.", "field_type")
        element = cls.parse(text[2:])
        if element.is_array:
            raise SpecError(
                "Can't have an array of arrays.  Use an array of structs containing an array instead.",
                "field_type",
            )
        return cls(element.element, True)

    @property
    def is_struct(self) -> bool:
        """Whether it is a struct; not true of an array of structs."""
        return not self.is_array and self.element not in PRIMITIVES

    @property
    def is_struct_array(self) -> bool:
        """Whether it is an array of structs."""
        return self.is_array and self.element not in PRIMITIVES

    @property
    def has_struct(self) -> bool:
        """Whether it is a struct or an array of structs."""
        return self.element not in PRIMITIVES

    @property
    def kind(self) -> str:
        """``array``, ``struct``, or the name of the primitive type."""
        if self.is_array:
            return "array"
        return self.element if self.element in PRIMITIVES else "struct"

    @property
    def nullable(self) -> bool:
        """Whether there can be a null of it."""
        return self.is_array or self.is_struct or PRIMITIVES[self.element] is None

    @property
    def size(self) -> int | None:
        """Bytes of a value, if all take the same."""
        return None if self.has_struct or self.is_array else PRIMITIVES[self.element]

    def __str__(self) -> str:
        return f"[]{self.element}" if self.is_array else self.element


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a message or struct.

    Attributes
    ----------
    name : str
        As it is written, such as ``TopicName``.
    type : FieldType
        Its type.
    versions : Versions
        Where it is present, tagged or not.
    nullable_versions : Versions
        Where it may be null.
    tagged_versions : Versions
        Where it is tagged; always within `versions` and open.
    tag : int or None
        Its tag.
    flexible_versions : Versions or None
        Where strings and bytes have the compact form, if not in the message's own flexible versions.
    default : str
        As it is written; empty if there is none. `default_value` is what it means.
    ignorable : bool
        Whether a value other than the default is silently left out of versions without the field.
    map_key : bool
        Whether it is (part of) the key by which the items of the array are found.
    entity_type : str
        What the value stands for: one of `ENTITY_TYPES`.
    zero_copy : bool
        Whether Kafka reads the bytes without a copy.
    about : str
        What it is, in words.
    fields : tuple of FieldSpec
        Those of the struct that is defined here.

    Examples
    --------
    >>> from kcodec.protocol import MessageSpec
    >>> spec = MessageSpec.parse('''{"type": "data", "name": "Marker", "validVersions": "0-1",
    ...   "flexibleVersions": "1+", "fields": [{"name": "LeaderId", "type": "int32", "versions": "1+"}]}''')
    >>> [field] = spec.fields
    >>> field.snake_name, field.type.kind, field.versions.covers(spec.valid_versions)
    ('leader_id', 'int32', False)
    """

    name: str
    type: FieldType
    versions: Versions
    nullable_versions: Versions = Versions.NONE
    tagged_versions: Versions = Versions.NONE
    tag: int | None = None
    flexible_versions: Versions | None = None
    default: str = ""
    ignorable: bool = False
    map_key: bool = False
    entity_type: str = "unknown"
    zero_copy: bool = False
    about: str = ""
    fields: "tuple[FieldSpec, ...]" = ()

    @property
    def json_name(self) -> str:
        """The name in the JSON form and in columns: the first letter is small."""
        return self.name[0].lower() + self.name[1:]

    @property
    def snake_name(self) -> str:
        """The name as Kafka's documentation and Python write it, such as ``topic_name``."""
        return snake_case(self.name)

    def nullable_in(self, version: int) -> bool:
        """Return whether it may be null in a version."""
        return version in self.nullable_versions

    def tagged_in(self, version: int) -> bool:
        """Return whether it is a tagged field of a version."""
        return version in self.tagged_versions

    @property
    def default_value(self) -> Any:
        """The value of the field where it is not written, as a Python value.

        A bool, int, float, str, bytes, `uuid.UUID`, None; ``()`` for an empty array, ``{}`` for a struct whose
        fields have their defaults.

        Raises
        ------
        SpecError
            If the default passes Kafka's generator but is no value in the code that it generates: octal digits
            over 7, a sign after ``0x``, a UUID that is longer than one.

        Examples
        --------
        >>> FieldSpec("F", FieldType("int8"), Versions(0, 3), default="010").default_value
        8
        """
        self.check_default()
        return defaults.value(self.name, self.type.kind, self.default)

    def check_default(self) -> None:
        """Raise `SpecError`, in the words of Kafka's generator, if it refuses the default."""
        defaults.check(self.name, self.type.kind, self.default, self.nullable_versions.covers(self.versions))


@dataclass(frozen=True, slots=True)
class StructSpec:
    """A struct: its fields in the order of the wire.

    Attributes
    ----------
    name : str
        As types name it.
    versions : Versions
        Of the message, where there is such a struct.
    fields : tuple of FieldSpec
        All fields of all versions.
    deprecated_versions : Versions
        For documentation only.

    Examples
    --------
    >>> from kcodec.protocol import MessageSpec
    >>> spec = MessageSpec.parse('''{"type": "data", "name": "Marker", "validVersions": "0-1",
    ...   "flexibleVersions": "none", "fields": [{"name": "Parts", "type": "[]Part", "versions": "0+",
    ...   "fields": [{"name": "Id", "type": "int32", "versions": "0+", "mapKey": true}]}]}''')
    >>> part = spec.structs["Part"]
    >>> part.name, part.has_keys
    ('Part', True)
    """

    name: str
    versions: Versions
    fields: tuple[FieldSpec, ...] = ()
    deprecated_versions: Versions = Versions.NONE

    @property
    def has_keys(self) -> bool:
        """Whether its items are found by a key."""
        return any(field.map_key for field in self.fields)

    def regular_fields(self, version: int) -> tuple[FieldSpec, ...]:
        """Return the fields that a version writes one after the other."""
        return tuple(f for f in self.fields if version in f.versions and version not in f.tagged_versions)

    def tagged_fields(self, version: int) -> tuple[FieldSpec, ...]:
        """Return the tagged fields of a version in the order of their tags."""
        tagged = (f for f in self.fields if version in f.tagged_versions)
        return tuple(sorted(tagged, key=lambda f: f.tag or 0))


@dataclass(frozen=True, slots=True)
class MessageModel:
    """What a definition says of its message: the attributes of `kcodec.protocol.MessageSpec`."""

    name: str
    type: str
    struct: StructSpec
    flexible_versions: Versions
    api_key: int | None = None
    common_structs: tuple[StructSpec, ...] = ()
    listeners: tuple[str, ...] = ()
    latest_version_unstable: bool = False
    header_versions: tuple[tuple[Versions, int], ...] | None = None
    file: str = field(default="", compare=False)

    @property
    def valid_versions(self) -> Versions:
        """All versions of the message."""
        return self.struct.versions

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        """The message's own fields."""
        return self.struct.fields

    @property
    def structs(self) -> dict[str, StructSpec]:
        """All structs by name: the common ones, and those defined where they are used."""
        found = {struct.name: struct for struct in self.common_structs}
        common = frozenset(found)

        def collect(fields: tuple[FieldSpec, ...]) -> None:
            for each in fields:
                if each.type.has_struct and each.type.element not in common:
                    found[each.type.element] = StructSpec(each.type.element, each.versions, each.fields)
                    collect(each.fields)

        collect(self.fields)
        return found

    def flexible_in(self, version: int) -> bool:
        """Return whether a version has compact forms and tagged fields."""
        return version in self.flexible_versions

    def compact_in(self, field: FieldSpec, version: int) -> bool:
        """Return whether the length of a field (and of its items) has the compact form in a version."""
        flexible = self.flexible_versions if field.flexible_versions is None else field.flexible_versions
        return version in flexible

    def header_version(self, version: int) -> int:
        """Return the version of the header that stands before a version of a request or response.

        Requests have header 2 in flexible versions, else 1, but version 0 of ControlledShutdownRequest has 0.
        Responses have header 1 in flexible versions, else 0; ApiVersionsResponse always has 0 (KIP-511). Any other
        message is a `ValueError`.
        """
        for versions, header in self.header_versions or ():
            if version in versions:
                return header
        if self.type == "request":
            if self.api_key == 7 and version == 0:
                return 0
            return 2 if self.flexible_in(version) else 1
        if self.type == "response":
            return int(self.flexible_in(version) and self.api_key != API_VERSIONS)
        raise ValueError(f"{self.name} is a {self.type} message: it has no header")


def snake_case(name: str) -> str:
    """Write a name in small letters, words separated by underscores, as Kafka's generator does.

    >>> snake_case("TopicName"), snake_case("ISR"), snake_case("ZkConfig1")
    ('topic_name', 'isr', 'zk_config1')
    """
    parts = []
    small = False
    for letter in name:
        if letter.isupper():
            if small:
                parts.append("_")
            parts.append(letter.lower())
        else:
            parts.append(letter)
        small = not letter.isupper()
    return "".join(parts)
