"""The schemas of ksqlDB's keys or values in a registry: columns taken from them, and payloads behind their ids."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kcodec.errors import ConfigError, Fault, RegistryError, SchemaError
from kcodec.ksql.formats.format import FORMATS
from kcodec.ksql.formats.languages import language
from kcodec.ksql.formats.reading import inferred_columns
from kcodec.ksql.types import RowOptions, SqlColumn
from kcodec.registry.base import RegisteredSchema, Schema, SchemaRegistry
from kcodec.serde.config import SerdeConfig
from kcodec.serde.read import FramedReader, ReadingSteps
from kcodec.serde.topic import Given, TopicSchemas, latest_versions
from kcodec.serde.write import FramedWriter

if TYPE_CHECKING:
    from kcodec.ksql.formats.languages import Language


class KsqlSchemas(NamedTuple):
    """Where the schemas of keys or values are, and what a statement says of them.

    The `source` is the stream or table, `properties` are those of the format as ksqlDB keeps them, `config` the
    settings of a serde.
    """

    name: str
    registry: SchemaRegistry | None
    topic: str | None
    is_key: bool
    source: str | None
    properties: Mapping[str, str]
    config: Mapping[str, Any]

    @property
    def handle(self) -> SchemaRegistry:
        """The registry."""
        if self.registry is None:
            raise ConfigError(f"{self.name} needs registry=: its schemas are there")
        return self.registry

    @property
    def schema_id(self) -> int | None:
        """The id of the schema that is written."""
        number = self.properties.get("schemaId")
        return None if number is None else int(number)

    @property
    def _side(self) -> str:
        return "key" if self.is_key else "value"

    def _where(self) -> str:
        parts = [] if self.topic is None else [f"topic: {self.topic}"]
        parts += [] if self.schema_id is None else [f"schema id: {self.schema_id}"]
        return ", ".join(parts)

    def written(self) -> RegisteredSchema | None:
        """Return the schema to write with, if it is another than that of the columns.

        It is the one of the id; or the latest of the property ``subjectName``, if that defines several messages.
        """
        subject = self.properties.get("subjectName")
        if self.registry is None or (self.schema_id is None and subject is None):
            return None
        if self.schema_id is not None:
            return self.found()
        assert subject is not None
        found = self.registry.get_version(subject)
        return found if len(self.language().definitions(self._parsed(found))) > 1 else None

    def language(self, options: RowOptions | None = None) -> "Language":
        """Return the language of the schemas, for rows or only to look at schemas."""
        return language(self.name, options, self.properties, is_key=self.is_key, source=self.source)

    def _parsed(self, found: RegisteredSchema) -> Any:
        topic = TopicSchemas(self.language(), self.handle, self.topic, self.is_key, SerdeConfig())
        return topic.parsed(topic.texts(found.schema))

    def found(self) -> RegisteredSchema:
        """Return the schema of the id, or else the latest of the topic."""
        handle = self.handle
        if self.schema_id is None and self.topic is None:
            raise ConfigError("columns are inferred from the schema of topic=, or of a schema id")
        try:
            if self.schema_id is not None:
                return handle.get(self.schema_id)
            return handle.get_version(f"{self.topic}-{self._side}")
        except RegistryError as error:
            if not error.missing:
                raise
            what = f"topic '{self.topic}'" if self.topic is not None else f"schema id {self.schema_id}"
            raise SchemaError(
                f"Schema for message {self._side}s on {what} does not exist in the Schema Registry. {error}"
            ) from error

    def versions(self) -> list[RegisteredSchema]:
        """Return the latest schemas of the topic's subject; none without a topic."""
        return [] if self.topic is None else latest_versions(self.handle, f"{self.topic}-{self._side}")

    def columns(self, wrapped: bool) -> tuple[SqlColumn, ...]:
        """Return the columns that ``CREATE STREAM`` takes from the registry."""
        found = self.found()
        side = self._side
        known = self.language()
        if found.schema.type != known.type:
            raise SchemaError(
                f"{side.capitalize()} schema is not in the expected format. You may want to set "
                f"{side.upper()}_FORMAT to '{found.schema.type}'.\n{self._where()}\nexpected format: {known.type}\n"
                f"actual format from Schema Registry: {found.schema.type}"
            )
        parsed = self._parsed(found)
        names = known.definitions(parsed)
        if len(names) > 1 and "fullSchemaName" not in self.properties:
            listed = "\n".join(f"- {name}" for name in names)
            raise SchemaError(
                f"{side.capitalize()} schema has multiple schema definitions.\n\n{listed}\n\nPlease specify a schema "
                f"full name in the WITH clause using {side.upper()}_SCHEMA_FULL_NAME"
            )
        try:
            columns = inferred_columns(
                known.source(parsed),
                wrapped=wrapped,
                key=self.is_key,
                original_names=self.schema_id is not None,
            )
        except SchemaError as error:
            raise SchemaError(
                f"Unable to verify if the {side} schema for {self._where()} is compatible with ksqlDB.\n"
                f"Reason: {error}\nSchema:{found.schema.text}"
            ) from error
        if self.is_key and len(columns) > 1:
            raise SchemaError(
                f"The key schema for {self._where()} contains multiple columns, which is not supported by ksqlDB at "
                f"this time.\nSchema:{found.schema.text}"
            )
        return columns

    def check(self, columns: tuple[SqlColumn, ...], wrapped: bool) -> None:
        """Refuse columns that are not those of the chosen schema, from the first on."""
        found = self.columns(wrapped)
        if not wrapped:
            # The name of a bare column stands in no schema.
            found = tuple(SqlColumn(columns[0].name, each.type, each.kind) for each in found)
        pairs = [(each.name, each.type) for each in found]
        changed = [each for n, each in enumerate(columns) if (each.name, each.type) not in pairs[n : n + 1]]
        if changed:
            listed, known = (", ".join(map(str, each)) for each in (changed, found))
            raise SchemaError(
                f"The following {self._side} columns are changed, missing or reordered: [{listed}]. Schema from "
                f"schema registry is [{known}]"
            )

    def unwraps(self, wrap: bool | None) -> bool:
        """Return whether the schema is that of a bare column, before its columns are known."""
        able = FORMATS[self.name]
        return (able.wraps and able.unwraps) if self.is_key else wrap is False


class RegisteredRows:
    """How the columns are read and written as payloads behind the ids of registered schemas."""

    def __init__(self, schemas: KsqlSchemas, options: RowOptions) -> None:
        self._schemas = schemas
        known = schemas.language(options)
        chosen = schemas.written()
        self.text = known.text() if chosen is None else chosen.schema.text
        self._reader: FramedReader | None = None
        self._writer: FramedWriter | None = None
        if schemas.registry is not None:
            settings = dict(schemas.config)
            if chosen is not None:
                settings |= {"auto.register.schemas": False, "use.schema.id": chosen.id}
            config = SerdeConfig.of(settings, schemas.is_key, known.settings)
            topic = TopicSchemas(
                known.configured(settings), schemas.registry, schemas.topic, schemas.is_key, config
            )
            given = Given(Schema(known.text(), known.type))
            self._reader = FramedReader(topic, given, None, options.limits)
            self._writer = FramedWriter(topic, None, None, options.limits)

    def _read(self) -> FramedReader:
        if self._reader is None:
            raise ConfigError(f"{self._schemas.name} is read with registry=: its schemas are there")
        return self._reader

    def _write(self) -> FramedWriter:
        if self._writer is None:
            raise ConfigError(f"{self._schemas.name} is written with registry=: its schemas are there")
        return self._writer

    def reading(self, chunks: list[pa.Array], errors: str, headers: Any) -> ReadingSteps:
        """Find out how the chunks of a column are read."""
        return self._read().reading(chunks, errors, headers)

    def encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Write an array; its schema is registered, unless one was chosen."""
        step, _ = self._write().step(array.type)
        encoded, faults = step(array, stop)
        return encoded, list(faults)

    def register(self) -> int | None:
        """Choose the schema that is written, and return its id."""
        return self._write().choose(pa.null()).schema_id

    def fetch(self) -> None:
        """Fetch the latest schemas of the topic's subject."""
        self._read().fetch(self._schemas.versions())
