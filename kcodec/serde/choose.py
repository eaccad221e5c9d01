"""Which schema a column is written with."""

from typing import NamedTuple

from kcodec.errors import ConfigError, RegistryError, SchemaError
from kcodec.registry.base import RegisteredSchema, Schema
from kcodec.serde.config import SerdeConfig
from kcodec.serde.imports import with_references
from kcodec.serde.topic import Given, SchemaTexts, TopicSchemas

#: What a registry answers where a subject is there, and the schema is not.
_NO_SUCH_SCHEMA = 40403
#: And to a version that the subject's level refuses.
_INCOMPATIBLE = 409
_DERIVED = (
    "this schema was derived from the columns: give the serde a schema, or use.latest.version=true to write as the "
    "latest version"
)


class Chosen(NamedTuple):
    """What a column is written as; `given` is the schema whose values it holds, where that is another.

    `ruled` is the schema as it is registered, with its rules.
    """

    schema_id: int | None
    guid: str
    schema: SchemaTexts
    given: SchemaTexts | None = None
    ruled: Schema | None = None


def choose(topic: TopicSchemas, given: Given, is_derived: bool) -> Chosen:
    """Choose what a column is written as, in the order of Confluent's ``AbstractKafkaAvroSerializer``.

    A schema that was derived from the column's type is not compared with the one that is chosen.
    """
    config, registry = topic.config, topic.registry
    schema = given.schema
    text = topic.format.written_text(schema.text)
    given = Given(Schema(text, schema.type, schema.references, schema.metadata, schema.rules), given.imports)
    if not topic.has_registry:
        return Chosen(None, "", topic.given_texts(given), ruled=schema)
    _check_one_choice(config, is_derived)
    subject = topic.subject(given.schema)
    if subject is None:
        raise ConfigError("the subject name strategy gives no subject")
    if config.registers:
        schema = with_references(topic, given)
        try:
            found = registry.register(subject, schema, normalize=config.normalize)
        except RegistryError as error:
            if not is_derived or error.status != _INCOMPATIBLE:
                raise
            raise error.hinted(_DERIVED) from error
        return _written(topic, schema, found)
    compared = None if is_derived else given
    if config.use_id is not None:
        found = topic.registered(config.use_id)
        return _target(topic, found, compared, config.id_strict, "id")
    if config.use_guid is not None:
        chosen = registry.get_by_guid(config.use_guid)
        target = _target(topic, chosen, compared, config.id_strict, "id")
        found = registry.lookup(subject, chosen.schema, normalize=config.normalize)
        return target._replace(schema_id=found.id)
    if config.use_metadata:
        found = registry.get_latest_with_metadata(subject, dict(config.use_metadata))
        return _target(topic, found, compared, False, "latest")
    if config.use_latest:
        found = registry.get_version(subject)
        return _target(topic, found, compared, config.latest_strict, "latest")
    schema = with_references(topic, given)
    try:
        found = registry.lookup(subject, schema, normalize=config.normalize)
    except RegistryError as error:
        if error.error_code != _NO_SUCH_SCHEMA:
            raise
        told = f"{error}: subject {subject!r} has other schemas, and auto.register.schemas is false"
        raise RegistryError(told, error.status, error.error_code) from error
    return _written(topic, schema, found)


def _check_one_choice(config: SerdeConfig, is_derived: bool) -> None:
    """Raise if the settings ask both to register a schema and to use another one.

    Java's serializer registers and passes over the other settings, which is how subjects get versions that nobody
    asked for. confluent-kafka refuses it, and so does this; only where the data has no schema of its own, and nothing
    is said of registering, is there but one choice.
    """
    if config.chooses is None or config.auto_register is False:
        return
    if config.auto_register is None and is_derived:
        return
    raise ConfigError(
        f"cannot enable both auto.register.schemas (true unless it is set) and {config.chooses}: set "
        "auto.register.schemas=false to write with the schema that is registered"
    )


def _written(topic: TopicSchemas, schema: Schema, found: RegisteredSchema) -> Chosen:
    """Return a schema that the registry has; message indexes count in the text that it keeps."""
    texts = topic.texts(schema)
    if topic.format.message_indexes:
        texts = topic.texts(found.schema)
        if topic.config.normalize:
            # Older servers answer with the id alone.
            texts = texts._replace(text=topic.format.normalized(topic.parsed(texts)))
    return Chosen(found.id, found.guid, texts, ruled=found.schema)


def _target(
    topic: TopicSchemas, found: RegisteredSchema, schema: Given | None, is_strict: bool, name: str
) -> Chosen:
    """Return a schema that was found as the target; compare it with the one that was given, if any."""
    chosen = topic.texts(found.schema)
    if schema is None:
        return Chosen(found.id, found.guid, chosen, ruled=found.schema)
    given = topic.given_texts(schema)
    reader, writer = topic.parsed(chosen), topic.parsed(given)
    if is_strict and topic.format.differences(reader, writer):
        raise SchemaError(
            f"Incompatible schema of type '{topic.format.type}'. Set {name}.compatibility.strict=false to "
            "disable this check"
        )
    converted = None if topic.format.same(reader, writer) else given
    return Chosen(found.id, found.guid, chosen, converted, found.schema)
