"""Subject name strategies: under which subject a schema is registered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kcodec.errors import ConfigError, SchemaError
from kcodec.formats.language import SchemaLanguage
from kcodec.formats.schema_format import schema_format
from kcodec.objects.into import signature
from kcodec.registry.base import Schema

#: ``strategy(topic, is_key, schema) -> subject``. ``schema`` is None where only a topic is known; a strategy
#: that needs it then returns None.
SubjectNameStrategy = Callable[[str | None, bool, Schema | None], str | None]

_PACKAGE = "io.confluent.kafka.serializers.subject."


@dataclass(frozen=True, slots=True)
class ConfiguredSchema(Schema):
    """A schema, and its language as a serde is configured for it: which of its messages is meant."""

    language: SchemaLanguage | None = None


def topic_subject(topic: str | None, is_key: bool, schema: Schema | None) -> str | None:
    """Return the subject that is named after a topic: ``orders-value``, ``orders-key``."""
    if topic is None:
        raise ConfigError("the TopicName strategy needs a topic")
    return f"{topic}-key" if is_key else f"{topic}-value"


def record_subject(topic: str | None, is_key: bool, schema: Schema | None) -> str | None:
    """Return the subject that is named after a record: ``shop.v1.Order``."""
    return None if schema is None else record_name(schema, is_key, "RecordNameStrategy")


def _topic_record_subject(topic: str | None, is_key: bool, schema: Schema | None) -> str | None:
    if topic is None:
        raise ConfigError("the TopicRecordName strategy needs a topic")
    return None if schema is None else f"{topic}-{record_name(schema, is_key, 'TopicRecordNameStrategy')}"


def _transport_subject(topic: str | None, is_key: bool, schema: Schema | None) -> str | None:
    """Return the name that AWS's Java serializers give a schema: the topic's, for keys and for values."""
    if topic is None:
        raise ConfigError("the strategy AWSSchemaNamingStrategyDefaultImpl needs a topic")
    return topic


#: Confluent's strategies, and AWS's default one, by the simple names of their classes.
STRATEGIES: dict[str, SubjectNameStrategy] = {
    "TopicNameStrategy": topic_subject,
    "RecordNameStrategy": record_subject,
    "TopicRecordNameStrategy": _topic_record_subject,
    "AWSSchemaNamingStrategyDefaultImpl": _transport_subject,
}


#: Strategies by the names of confluent-kafka's functions, which take other arguments.
_OF_PYTHON = {
    "topic_subject_name_strategy": "TopicNameStrategy",
    "record_subject_name_strategy": "RecordNameStrategy",
    "topic_record_subject_name_strategy": "TopicRecordNameStrategy",
}


def strategy(value: Any) -> SubjectNameStrategy:
    """Find a strategy by what stands in a configuration: a function, or the name of Confluent's class.

    The name may lack its package, and ``Strategy`` or ``NameStrategy`` at its end. Functions of confluent-kafka are
    their names.

    >>> strategy("io.confluent.kafka.serializers.subject.TopicNameStrategy")("orders", False, None)
    'orders-value'
    >>> strategy("RecordName")("orders", False, Schema('{"type": "record", "name": "n.R", "fields": []}'))
    'n.R'
    """
    if callable(value):
        if str(getattr(value, "__module__", "")).startswith("confluent_kafka."):
            return strategy(_OF_PYTHON.get(getattr(value, "__name__", ""), getattr(value, "__name__", "")))
        try:
            signature(value).bind("", False, None)
        except TypeError:
            raise ConfigError(
                "a function that is a subject name strategy takes a topic, whether it is the key, and a schema"
            ) from None
        except ValueError:
            # Nothing is known of functions that are not written in Python.
            pass
        return value
    if isinstance(value, str):
        name = value.removeprefix(_PACKAGE)
        for known in (name, f"{name}Strategy", f"{name}NameStrategy"):
            if known in STRATEGIES:
                return STRATEGIES[known]
    names = (*STRATEGIES, "AssociatedNameStrategy")
    raise ConfigError(f"subject name strategy {value!r} is not one of {', '.join(names)}, or a function")


def record_name(schema: Schema, is_key: bool, configured: str) -> str:
    """Return the name that a schema has in its language: that of an Avro record, the title of a JSON Schema.

    Any other schema is a `SchemaError`, which names the strategy that is `configured`.
    """
    language = schema.language if isinstance(schema, ConfiguredSchema) else None
    name = (language or schema_format(schema.type)).record_name(schema.text)
    if name is not None:
        return name
    side = "key" if is_key else "value"
    hint = ", and a JSON Schema needs a title" if schema.type == "JSON" else ""
    raise SchemaError(
        f"In configuration {side}.subject.name.strategy = {configured}, the message {side} must only be a "
        f"record schema{hint}"
    )
