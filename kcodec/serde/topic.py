"""The schemas of a topic's keys or values: under which subject, in which format, in which registry."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from kcodec import registry as registries
from kcodec.columns.frames import Indexes
from kcodec.errors import ConfigError, RegistryError, SchemaError
from kcodec.formats.schema_format import NamedText, SchemaFormat
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SchemaRegistry,
    context_of,
    context_prefix,
)
from kcodec.registry.references import named_texts
from kcodec.registry.subjects import ConfiguredSchema
from kcodec.serde.config import SerdeConfig

__all__ = ["Given", "SchemaTexts", "TopicSchemas", "latest_versions", "registry_handle"]

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
    """Where a serde finds its schemas, and the settings that it has for them."""

    format: SchemaFormat
    registry: SchemaRegistry
    topic: str | None
    is_key: bool
    config: SerdeConfig

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
        return "__key_schema_id" if self.is_key else "__value_schema_id"

    @property
    def index_kind(self) -> Indexes:
        """Which message indexes frames have."""
        if not self.format.message_indexes:
            return Indexes.NONE
        return Indexes.PLAIN if self.format.plain_indexes else Indexes.ZIGZAG

    @property
    def context(self) -> str:
        """The context of the topic's subject; the default one while the strategy needs a schema."""
        strategy = self.config.name_strategy
        try:
            subject = None if strategy is None else strategy(self.topic, self.is_key, None)
        except (ConfigError, SchemaError):
            return DEFAULT_CONTEXT
        return DEFAULT_CONTEXT if subject is None else context_of(subject)

    def registered(self, schema_id: int) -> RegisteredSchema:
        """Fetch a schema by its id, which is one of the context."""
        prefix = context_prefix(self.context)
        return self.registry.get(schema_id, prefix) if prefix else self.registry.get(schema_id)

    def texts(self, schema: Schema) -> SchemaTexts:
        """Fetch what a schema refers to; one that does not exist is a `SchemaError`."""
        if schema.type != self.format.type:
            raise SchemaError(f"a schema of type {schema.type} is not of type {self.format.type}")
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
        """Parse a schema with what it refers to; what only registries refuse is theirs to refuse."""
        return self.format.parse_known(texts.text, texts.references)


def latest_versions(registry: SchemaRegistry, subject: str) -> list[RegisteredSchema]:
    """Return the latest versions of a subject; none if there is no such subject."""
    try:
        return [registry.get_version(subject, number) for number in registry.versions(subject)[-_LATEST:]]
    except RegistryError as error:
        if not error.missing:
            raise
        return []


def registry_handle(registry: SchemaRegistry | str | None, url: Any = None) -> SchemaRegistry:
    """Return the handle of a registry, or of the one that the setting ``schema.registry.url`` names."""
    if registry is None:
        registry = url
    elif url is not None:
        raise ConfigError("schema.registry.url and a registry are both given")
    if registry is None:
        raise ConfigError("no registry is given")
    if isinstance(registry, str):
        return registries.open(registry)
    if not isinstance(registry, SchemaRegistry):
        raise ConfigError(f"a registry is a URL or a handle, not {type(registry).__name__}")
    return registry
