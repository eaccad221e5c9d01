"""The schemas of a topic's keys or values: under which subject, in which format, in which registry."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcodec import registry as registries
from kcodec.columns.framed.frames import Indexes
from kcodec.contracts.keyring import Keyring
from kcodec.contracts.rules import Contract, contract_of
from kcodec.errors import ConfigError, RegistryError, SchemaError
from kcodec.formats.language import NamedText
from kcodec.formats.schema_format import SchemaFormat
from kcodec.frames import CONFLUENT, CONFLUENT_HEADER, Frame, key_of, key_text
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    RegistryLike,
    Schema,
    SchemaRegistry,
    context_of,
    context_prefix,
    unknown_schema,
)
from kcodec.registry.references import named_texts
from kcodec.registry.subjects import ConfiguredSchema
from kcodec.serde.config import SerdeConfig

#: What stands for an id where no frame has one: that of the schema that is given.
GIVEN = b""
#: What names the message of a payload, by `Frame.message`.
_NAMED_BY = {
    "indexes": Indexes.ZIGZAG,
    "number": Indexes.NUMBER,
    "name": Indexes.BYTES,
    "header": Indexes.NONE,
    "": Indexes.NONE,
}
#: How many of a subject's versions, the latest ones, are fetched in advance.
_LATEST = 64


class Given(NamedTuple):
    """A schema as a user gives it, and the texts that it imports and that are perhaps not registered yet."""

    schema: Schema
    imports: tuple[NamedText, ...] = ()


class SchemaTexts(NamedTuple):
    """A schema, and those it refers to, deepest first."""

    text: str
    references: tuple[NamedText, ...] = ()


@dataclass
class TopicSchemas:
    """Where a serde finds its schemas, and the settings that it has for them.

    `given` are the schemas that its user gives, the one that payloads are written with first. Without a `registry` of
    its own, which only frames without ids and fingerprints can do without, there are no others.
    """

    format: SchemaFormat
    registry: SchemaRegistry
    topic: str | None
    is_key: bool
    config: SerdeConfig
    frame: Frame = CONFLUENT
    given: tuple[Given, ...] = ()
    has_registry: bool = True
    ring: Keyring = field(init=False, repr=False, compare=False)
    _last: tuple[SchemaTexts, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        #: The keys of encrypted fields.
        self.ring = Keyring(self.registry, self.config.rules)

    def contract(self, schema: Schema, mode: str) -> Contract | None:
        """Return what the rules of a schema do with its values, read or written; None if they do nothing."""
        if schema.rules is None:
            return None
        subject = None
        with suppress(ConfigError, SchemaError):
            subject = self.subject(schema)
        return contract_of(schema, subject, mode, self.config.rules)

    def subject(self, schema: Schema | None, language: SchemaFormat | None = None) -> str | None:
        """Return the subject of a schema, or of its message that the language is for; see `SerdeConfig.subject`."""
        if schema is not None:
            schema = ConfiguredSchema(
                schema.text,
                schema.type,
                schema.references,
                schema.metadata,
                schema.rules,
                language=language or self.format,
            )
        return self.config.subject(self.registry, self.topic, self.is_key, schema)

    @property
    def header(self) -> str:
        """Name of the Kafka header that a schema id travels in, where it is not a prefix."""
        return (self.frame if self.frame.header else CONFLUENT_HEADER).header_of(is_key=self.is_key)

    @property
    def message_header(self) -> str:
        """Name of the Kafka header that names the message of a payload; empty if none does."""
        if self.frame.message != "header" or not self.format.message_indexes:
            return ""
        # (``ProtobufSerdeHeaders`` of Apicurio's serializers.)
        return "apicurio.protobuf.type.key" if self.is_key else "apicurio.protobuf.type"

    @property
    def index_kind(self) -> Indexes:
        """Which message indexes frames have."""
        if not self.format.message_indexes:
            return Indexes.NONE
        kind = _NAMED_BY[self.frame.message]
        return Indexes.PLAIN if kind == Indexes.ZIGZAG and self.format.plain_indexes else kind

    @property
    def context(self) -> str:
        """The context of the topic's subject; the default one while the strategy needs a schema."""
        strategy = self.config.name_strategy
        try:
            subject = None if strategy is None else strategy(self.topic, self.is_key, None)
        except (ConfigError, SchemaError):
            return DEFAULT_CONTEXT
        return DEFAULT_CONTEXT if subject is None else context_of(subject)

    def message_path(self, schema: Any, indexes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the message indexes of a payload from what the frame has in their place."""
        if not self.format.message_indexes or self.frame.message == "indexes":
            return indexes
        if self.frame.message == "number":
            return self.format.message_path(schema, indexes[0])
        return self.format.message_path(schema, bytes(indexes) if self.frame.message else None)

    def message_name(self, schema: Any, indexes: tuple[int, ...]) -> tuple[int, ...]:
        """Return what a frame has instead of the indexes of a message, as numbers."""
        if not self.format.message_indexes or self.frame.message == "indexes":
            return indexes
        if self.frame.message == "number":
            return (self.format.message_number(schema, indexes),)
        return tuple(self.format.message_name(schema, indexes)) if self.frame.message == "name" else ()

    def name_of(self, registered: RegisteredSchema) -> int | bytes | None:
        """Return the id that frames have for a registered schema; None if the registry has no such id for it."""
        frame = self.frame
        try:
            if frame.id_type == "fingerprint":
                return self.fingerprint(self.texts(registered.schema))
            if frame.has_text_ids:
                return key_of(registered.guid, frame.id_size)
            # What is put into headers are GUIDs.
            return (
                key_of(registered.guid)
                if self.config.framing == "header" and frame.layout is None
                else registered.id
            )
        except (ConfigError, SchemaError):
            return None

    def told_id(self, name: int | bytes) -> int | str | None:
        """Return an id as error reports have it; Confluent's GUIDs are not told."""
        if isinstance(name, bytes) and (self.frame.layout is None or not name):
            return None
        return key_text(name)

    def named(self, name: int | bytes) -> RegisteredSchema:
        """Fetch the schema that a frame names."""
        if isinstance(name, int):
            return self.registered(name)
        try:
            return self.registry.get_by_guid(str(key_text(name)))
        except RegistryError as error:
            found = self._of_fingerprint(name) if error.missing else None
            if found is None:
                raise
            return found

    def _of_fingerprint(self, name: bytes) -> RegisteredSchema | None:
        """Find a schema that single objects name, among those given and the subject's versions."""
        if self.frame.id_type != "fingerprint":
            return None
        known = [RegisteredSchema(None, "", each.schema) for each in self.given]
        with suppress(ConfigError, SchemaError):
            subject = self.subject(None)
            known += [] if subject is None else latest_versions(self.registry, subject)
        return next((each for each in known if self.fingerprint(self.texts(each.schema)) == name), None)

    def fingerprint(self, texts: SchemaTexts) -> bytes:
        """Return the bytes that single objects have as id."""
        return self.format.fingerprint(self.parsed(texts))

    def registered(self, schema_id: int) -> RegisteredSchema:
        """Fetch a schema by its id, which is one of the context."""
        if schema_id < 0:
            unknown_schema(schema_id)
        prefix = context_prefix(self.context)
        return self.registry.get(schema_id, prefix) if prefix else self.registry.get(schema_id)

    def texts(self, schema: Schema) -> SchemaTexts:
        """Return a schema that is given with its imports, or fetch what it refers to, which has to exist."""
        if schema.type != self.format.type:
            whose = f", which the {'keys' if self.is_key else 'values'} of topic {self.topic} are taken as"
            raise SchemaError(
                f"a schema of type {schema.type} is not of type {self.format.type}{whose if self.topic else ''}"
            )
        for each in self.given:
            if each.imports and each.schema == schema:
                return SchemaTexts(schema.text, each.imports)
        try:
            return SchemaTexts(schema.text, named_texts(self.registry, schema, self.context))
        except RegistryError as error:
            if not error.missing:
                raise
            raise SchemaError(f"a reference does not exist: {error}") from error

    def given_texts(self, given: Given) -> SchemaTexts:
        """Return the texts of a schema with its own imports, or fetch what it refers to."""
        if given.imports:
            return SchemaTexts(given.schema.text, given.imports)
        return self.texts(given.schema)

    def parsed(self, texts: SchemaTexts) -> Any:
        """Parse a schema with what it refers to; errors that only a registry finds are left to it."""
        last = self._last
        if last is None or last[0] != texts:
            # The first value's schema is mostly the reader's too, and is asked for as both.
            last = self._last = texts, self.format.parse_known(texts.text, texts.references)
        return last[1]


def latest_versions(registry: SchemaRegistry, subject: str) -> list[RegisteredSchema]:
    """Return the latest versions of a subject; none if there is no such subject."""
    try:
        return [registry.get_version(subject, number) for number in registry.versions(subject)[-_LATEST:]]
    except RegistryError as error:
        if not error.missing:
            raise
        return []


def registry_handle(
    registry: RegistryLike | None, url: Any = None, frame: Frame = CONFLUENT
) -> SchemaRegistry:
    """Return the handle of a registry, or of the one that the setting ``schema.registry.url`` names.

    A frame may do without one; then the handle is that of a registry that has nothing.
    """
    if registry is None:
        registry = url
    elif url is not None:
        raise ConfigError("schema.registry.url and a registry are both given")
    if registry is None and not frame.needs_registry:
        return registries.of({})
    if registry is None:
        raise ConfigError("no registry is given")
    if isinstance(registry, str):
        return registries.open(registry)
    if not isinstance(registry, SchemaRegistry):
        raise ConfigError(f"a registry is a URL or a handle, not {type(registry).__name__}")
    return registry
