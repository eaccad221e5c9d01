"""Protobuf as a schema format: what registry, serde and Spark functions know of it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from kcodec.errors import ConfigError, DecodeError, SchemaError
from kcodec.formats.language import Difference, NamedText
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder, flag
from kcodec.formats.protobuf.changes.evolution import BREAKING, MAX_DIFFERENCES, Side, changes, describe
from kcodec.formats.protobuf.changes.losses import losses
from kcodec.formats.protobuf.changes.written_changes import all_changes
from kcodec.formats.protobuf.exported.serialized import serialized
from kcodec.formats.protobuf.json.writer import to_json
from kcodec.formats.protobuf.language.checks import check_descriptors
from kcodec.formats.protobuf.language.known import KNOWN
from kcodec.formats.protobuf.language.normalize import check_names, normalize
from kcodec.formats.protobuf.language.text import print_file
from kcodec.formats.protobuf.messages.message import read_message
from kcodec.formats.protobuf.messages.ref import read_ref, write_ref
from kcodec.formats.protobuf.schema import ProtobufSchema, message_of
from kcodec.formats.schema_format import SchemaFormat
from kcodec.formats.tagged import TaggedField
from kcodec.plan.failure import RowError

if TYPE_CHECKING:
    # A registry needs no Arrow.
    import pyarrow as pa
    from typing_extensions import Self

    from kcodec.formats.protobuf.types import ProtobufOptions
    from kcodec.plan import Limits

_STRATEGIES = ("DefaultReferenceSubjectNameStrategy", "QualifiedReferenceSubjectNameStrategy")
_PACKAGE = "io.confluent.kafka.serializers.subject."


@dataclass(frozen=True)
class ProtobufFormat(SchemaFormat):
    """Protobuf, as Confluent's registry and serializers treat it.

    >>> protobuf = ProtobufFormat()
    >>> schema = protobuf.parse('syntax = "proto3"; message M { repeated N n = 1; } message N { }')
    >>> print(protobuf.normalized(schema))
    syntax = "proto3";
    <BLANKLINE>
    message M {
      repeated .N n = 1;
    }
    message N {}
    <BLANKLINE>
    >>> protobuf.record_name("package shop; message Order { } message Line { }")
    'shop.Order'
    """

    type: ClassVar[str] = "PROTOBUF"
    name: ClassVar[str] = "PROTOBUF"
    options_name: ClassVar[str] = "kcodec.ProtobufOptions"
    message_indexes: ClassVar[bool] = True
    settings: ClassVar[Mapping[str, str]] = {
        "reference.subject.name.strategy": "DefaultReferenceSubjectNameStrategy (default): imports are registered "
        "under their path; QualifiedReferenceSubjectNameStrategy: under a/b.proto's a.b",
        "use.message.indexes": "with ConfigSchemaIdDeserializer: the indexes of the message, such as 1,0 (default 0)",
        "reference.lookup.only": "look imports up, and never register them (default false)",
        "skip.known.types": "google/protobuf/*, google/type/* and confluent/* are not registered (default true)",
        "protobuf.any.message": "read payloads as the message that is wanted, whatever message their indexes "
        "name (default false)",
        "use.deprecated.format": "message indexes are varints without zigzag, both ways, as confluent-kafka wrote them "
        "up to 1.7 (default false)",
        "derive.type": "accepted: there are no Java classes here",
        "specific.protobuf.key.type": "accepted: there are no Java classes here",
        "specific.protobuf.value.type": "accepted: there are no Java classes here",
    }

    #: Names of the messages that payloads are read or written as; empty for that of the first payload, or the first of
    #: the schema.
    messages: tuple[str, ...] = ()
    #: Whether columns are structs of these messages, by name.
    is_struct: bool = False
    #: Whether payloads are read as the message that is wanted, whatever their indexes name.
    any_message: bool = False
    #: Whether imports are registered under their names with dots.
    qualified: bool = False
    #: Whether files that every registry knows are neither registered nor referred to.
    skip_known: bool = True
    #: Whether message indexes are varints without zigzag.
    plain_indexes: bool = False

    def configured(self, config: Mapping[str, Any]) -> Self:
        """Return the format with the flags of a serde's settings."""
        strategy = str(config.get("reference.subject.name.strategy") or _STRATEGIES[0])
        simple = strategy.removeprefix(_PACKAGE)
        found = next((each for each in _STRATEGIES if each.startswith(simple) and simple), None)
        if found is None:
            raise ConfigError(
                f"reference.subject.name.strategy={strategy!r} is not one of {', '.join(_STRATEGIES)}"
            )
        return replace(
            self,
            any_message=flag(config, "protobuf.any.message", False),
            qualified=found == _STRATEGIES[1],
            skip_known=flag(config, "skip.known.types", True),
            plain_indexes=flag(config, "use.deprecated.format", False),
        )

    def of_message(self, message: object) -> Self:
        """Return the format for messages of one name, or of several, by name."""
        if isinstance(message, str):
            return replace(self, messages=(message,))
        if isinstance(message, (list, tuple)) and message and all(isinstance(each, str) for each in message):
            return replace(self, messages=tuple(message), is_struct=True)
        raise ConfigError(f"message={message!r} is not the name of a message, or a list of names")

    def options_type(self) -> Any:
        """Return `ProtobufOptions`."""
        from kcodec.formats.protobuf.types import ProtobufOptions

        return ProtobufOptions

    # Texts

    def parse(self, text: str, references: Sequence[NamedText] = ()) -> ProtobufSchema:
        """Parse a text, or a descriptor in Base64; references are known by their import paths."""
        return _parse(text, tuple(references))

    def canonical(self, schema: ProtobufSchema) -> str:
        """Print a schema as the server does, without comments."""
        self._check(schema)
        check_names(schema.names, schema.path)
        return print_file(schema.main)

    def normalized(self, schema: ProtobufSchema) -> str:
        """Print a schema sorted and with full names."""
        self._check(schema)
        return print_file(normalize(schema.names, schema.path), normalized=True)

    def printed(self, schema: ProtobufSchema, form: str) -> str:
        """Return the canonical text, that ``ignore_extensions``, or a ``serialized`` descriptor in Base64."""
        if form == "ignore_extensions":
            return print_file(schema.main, extensions=False)
        if form == "serialized":
            return base64.b64encode(serialized(schema)).decode()
        return self.canonical(schema)

    def check_fields(self, schema: ProtobufSchema) -> None:
        """Refuse what protobuf-java makes no descriptor of, though a registry keeps the text."""
        check_descriptors(schema.names, schema.path)

    def top_fields(self, schema: ProtobufSchema) -> Collection[str]:
        """Return the names of the fields of all messages that are in no other; not those of oneofs."""
        return {
            each.name for message in schema.main.messages for each in message.fields if each.oneof is None
        }

    def check_references(self, schema: ProtobufSchema) -> None:
        """Refuse a text with a type that neither it nor what it imports declares."""
        check_names(schema.names, schema.path)

    def _check(self, schema: ProtobufSchema) -> None:
        if schema.main.refused is not None:
            schema.names.fail(schema.path, *schema.main.refused)

    def record_name(self, text: str) -> str | None:
        """Return the full name of the message that is wanted, or of the first."""
        schema = self.parse(text)
        names = schema.numbered_names()
        if self._message is None:
            return names[0] if names else None
        found = [name for name in names if f".{name}".endswith(f".{self._message}")]
        return self._message if self._message in found or len(found) != 1 else found[0]

    def given_text(self, schema: object) -> str:
        """Return the text of what a user gives: see `ProtobufSchema.parse`."""
        if isinstance(schema, str):
            return schema
        given = _given(schema)
        return given.main.text or print_file(given.main)

    def given_message(self, schema: object) -> str | None:
        """Return the full name of a generated class's message, or of a descriptor's."""
        return message_of(schema)

    def given_imports(self, schema: object) -> tuple[NamedText, ...]:
        """Return the texts of all imports that a user gives, and those of known files unless they are skipped."""
        if isinstance(schema, str) and self.skip_known:
            return ()
        given = _given(schema)
        return tuple(
            NamedText(path, file.text or print_file(file))
            for path, file in given.files.items()
            if path != given.path and not (self.skip_known and path in KNOWN)
        )

    def message_path(self, schema: ProtobufSchema, named: int | bytes | None) -> tuple[int, ...]:
        """Return the indexes of a message that is numbered or named; the wanted or else the first one if it is not."""
        if isinstance(named, int):
            names = _sorted_names(schema)
            if named >= len(names):
                raise SchemaError(f"the schema has {len(names)} messages, and none of the number {named}")
            return tuple(schema.indexes(names[named]))
        if not named:
            return tuple(schema.indexes(self._message))
        # Only the names of messages that are in no other are written, without their packages.
        name = read_ref(named)
        package = schema.main.package
        full = f"{package}.{name}" if package else name
        return tuple(schema.indexes(full if full in schema.numbered_names() else name))

    def message_number(self, schema: ProtobufSchema, indexes: Sequence[int]) -> int:
        """Return the place of a message among the sorted full names of all, entries of maps too.

        (``MessageIndexFinder`` of AWS's serializers.)
        """
        return _sorted_names(schema).index(schema.message(tuple(indexes)).name)

    def message_name(self, schema: ProtobufSchema, indexes: Sequence[int]) -> bytes:
        """Return a message with the name of a message as its only field; only those in no other can be read again."""
        name = schema.message(tuple(indexes)).name.rpartition(".")[2]
        if len(indexes) != 1:
            raise SchemaError(f"{name} is declared in another message: Apicurio's frame cannot name it")
        return write_ref(name)

    def imports(self, text: str) -> tuple[str, ...]:
        """Return the paths that a text imports, publicly imported ones last."""
        imports = sorted(self.parse(text).main.imports, key=lambda each: each.kind == "public")
        paths = dict.fromkeys(each.path for each in imports)
        return tuple(path for path in paths if not (self.skip_known and path in KNOWN))

    def reference_subject(self, name: str) -> str:
        """Return the path of an import, or with ``Qualified`` its parts with dots between them."""
        return name.replace(".proto", "").replace("/", ".") if self.qualified else name

    def derived_text(self, kind: pa.DataType) -> str:
        """Return a text with one message, of the name that is wanted or ``TopLevelRecord``."""
        from kcodec.formats.protobuf.language.derive import MESSAGE, derive_text

        return derive_text(kind, self._message or MESSAGE)

    def named_text(self, kind: pa.DataType, name: str, namespace: str) -> str:
        """Return a text with one message of this name in this package."""
        from kcodec.formats.protobuf.language.derive import MESSAGE, derive_text

        if "." in name:
            raise ConfigError(f"name={name!r} is not the name of a message alone: its package is namespace=")
        return derive_text(kind, f"{namespace}.{name or MESSAGE}".lstrip("."))

    # Comparison

    def same(self, left: ProtobufSchema, right: ProtobufSchema) -> bool:
        """Return whether two schemas have the same normalized texts."""
        return left == right or self.normalized(left) == self.normalized(right)

    def differences(
        self, reader: ProtobufSchema, writer: ProtobufSchema, *, policy: str = "STRICT"
    ) -> list[Difference]:
        """Compare two texts as Confluent's registry does, whatever the bytes of their messages can be read as."""
        found = [each for each in changes(_side(writer), _side(reader)) if each.type in BREAKING]
        return found[:MAX_DIFFERENCES]

    def changes(self, old: ProtobufSchema, new: ProtobufSchema) -> list[Difference]:
        """Return all changes: under the registry's names what it knows, under names of their own what it does not."""
        return all_changes(_side(old), _side(new))[:MAX_DIFFERENCES]

    def losses(self, reader: ProtobufSchema, writer: ProtobufSchema) -> list[Difference]:
        """Return which values are cut, or of several the last, although the registry lets their types pass."""
        return losses(reader.messages, writer.messages, reader.main.package)[:MAX_DIFFERENCES]

    def explain(self, difference: Difference, reader: str, writer: str) -> str:
        """Return a difference in the words of Confluent's registry, its quotes and braces included."""
        description = self.describe(difference, reader, writer)
        return f'{{errorType:"{difference.type}", description:"{description}"}}'

    def describe(self, difference: Difference, reader: str, writer: str) -> str:
        """Return the sentence of Confluent's registry."""
        return describe(difference.type, difference.path, reader, writer)

    # Payloads

    @property
    def _message(self) -> str | None:
        return self.messages[0] if self.messages and not self.is_struct else None

    def reading(
        self, schema: ProtobufSchema, first: tuple[ProtobufSchema, tuple[int, ...]] | None
    ) -> Self | None:
        """Return the format for the message of the first payload, where none is named and the schema has several."""
        if self.messages:
            return self
        if first is None:
            declared = schema.declared()
            return self.of_message(declared[0]) if len(declared) == 1 else None
        writer, indexes = first
        name = writer.message(indexes).name
        if name not in schema.messages and not self.any_message:
            raise SchemaError(f"the reader's schema has no message {name}")
        return self.of_message(name if name in schema.messages else schema.message().name)

    def json_text(
        self, schema: ProtobufSchema, value: bytes, start: int = 0, indexes: tuple[int, ...] = ()
    ) -> str:
        """Return a message in Protobuf's JSON."""
        try:
            message = read_message(schema.message(indexes), value[start:])
            return to_json(message, schema.messages)
        except RowError as error:
            fault = error.fault(0)
            raise DecodeError(
                *fault._replace(offset=None if fault.offset is None else start + fault.offset)
            ) from None

    def message_names(self, schema: ProtobufSchema) -> Sequence[str]:
        """Return the full names of the messages that the main file declares."""
        return schema.declared()

    def members(self) -> Mapping[str, Self]:
        """Return the format for each of several messages."""
        if not self.is_struct:
            return {}
        return {name: replace(self, messages=(name,), is_struct=False) for name in self.messages}

    def tagged_fields(
        self, schema: ProtobufSchema, ruled: ProtobufSchema, kind: pa.DataType, options: ProtobufOptions
    ) -> Sequence[TaggedField]:
        """Return the fields of messages, by their full names and, of another version, by their numbers."""
        from kcodec.formats.protobuf.tagged import tagged_fields

        if self.is_struct:
            return [
                each._replace(steps=(name, *each.steps))
                for name, member in self.members().items()
                if kind.get_field_index(name) >= 0
                for each in member.tagged_fields(schema, ruled, kind.field(name).type, options)
            ]
        message = schema.message(self._message)
        other = ruled.messages.get(message.name)
        return [] if other is None else tagged_fields(message, other, kind, options)

    def decoder(self, schema: ProtobufSchema, options: ProtobufOptions, limits: Limits) -> SchemaDecoder:
        """Return what reads payloads as messages of a schema."""
        from kcodec.formats.protobuf.payloads import MessageDecoder, StructDecoder

        if self.is_struct:
            return StructDecoder(schema, self.messages, options, limits)
        return MessageDecoder(schema, self._message, options, limits, any_message=self.any_message)

    def encoder(
        self, schema: ProtobufSchema, given: ProtobufSchema | None, options: ProtobufOptions, limits: Limits
    ) -> SchemaEncoder:
        """Return what writes columns as a message of a schema, or of the one given, which the schema has too."""
        from kcodec.formats.protobuf.payloads import MessageEncoder

        written = given or schema
        name = written.message(self._message).name
        return MessageEncoder(written, name, schema.indexes(name), options, limits)


@lru_cache(maxsize=256)
def _parse(text: str, references: tuple[NamedText, ...]) -> ProtobufSchema:
    places = {each.name: each.place for each in references if each.place is not None}
    try:
        return ProtobufSchema.of(text, {each.name: each.text for each in references}, places)
    except SchemaError as error:
        try:
            return ProtobufSchema.of(
                _descriptor(text), {each.name: _descriptor(each.text) for each in references}, places
            )
        except SchemaError:
            raise error from None


def _sorted_names(schema: ProtobufSchema) -> list[str]:
    """Return the sorted full names of all messages of the main file, entries of maps included."""
    found = set(schema.numbered_names())
    # Shorter names first: those of the messages that others are in.
    for name in sorted(schema.messages, key=len):
        if name.rpartition(".")[0] in found:
            found.add(name)
    return sorted(found)


def _side(schema: ProtobufSchema) -> Side:
    return Side(schema.names, schema.path, schema.places)


def _descriptor(text: str) -> str | bytes:
    """Return the descriptor that stands in Base64, as some clients register them; other texts as they are."""
    try:
        return base64.b64decode(text.strip(), validate=True) or text
    except (binascii.Error, ValueError):
        return text


def _given(schema: object) -> ProtobufSchema:
    try:
        return ProtobufSchema.of(schema)
    except SchemaError as error:
        raise ConfigError(str(error)) from error
