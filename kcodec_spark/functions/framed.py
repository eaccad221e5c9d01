"""Values framed with schema ids: a serde made on the client, so that executors hardly ask the registry.

The reader's schema, the schema to write as and the ids under the subject are looked up when the query is
made; an executor asks the registry only for ids that were not there then.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kcodec import Serde
from kcodec import registry as registries
from kcodec.contracts.settings import RuleSettings, is_rule_setting
from kcodec.errors import ConfigError, RegistryError
from kcodec.formats.payloads import SchemaPayloads
from kcodec.formats.schema_format import schema_format
from kcodec.frames import Frame
from kcodec.registry.base import Schema, SchemaRegistry
from kcodec.serde.config import KEYS
from kcodec.serde.topic import latest_versions
from kcodec_spark.options import REGISTRY_PREFIX

#: Settings of serdes that find a subject, where here it is given: the beginnings of their names.
_STRATEGIES = tuple(f"{part}subject.name.strategy" for part in ("", "key.", "value."))


class Subject:
    """A subject name strategy that always gives one name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, topic: str | None, is_key: bool, schema: Schema | None) -> str:
        """Return the name."""
        return self.name


def framed_serde(
    format: str,
    subject: str,
    address: str,
    settings: Mapping[str, Any],
    reader_schema: Any,
    options: Mapping[str, Any],
    message: str | Sequence[str] | None = None,
) -> Serde:
    """Return what decodes framed values; without a schema, as the subject's latest.

    `settings` are those of the registry's client and of the serde, by Confluent's names, and ``frame``; `options` those
    of the format; `message` is what `kcodec.Serde` takes. The schema may also be an id, or ``version:`` and a number.
    """
    language = schema_format(format)
    registry, config, frame = _open(language, subject, address, settings)
    if reader_schema is None:
        reader_schema = "latest"
    elif not isinstance(reader_schema, int) and not str(reader_schema).startswith("version:"):
        reader_schema = _given(reader_schema, language)
    serde = Serde(
        format,
        registry,
        reader_schema=reader_schema,
        message=message,
        config=config,
        options=language.named_options(options),
        frame=frame,
    )
    # Known from now on, and an error now if it cannot be had.
    serde.arrow_type  # noqa: B018
    serde.fetch(latest_versions(registry, subject))
    return serde


def framed_writer(
    format: str,
    subject: str,
    address: str,
    settings: Mapping[str, Any],
    schema: Any,
    options: Mapping[str, Any],
    message: str | Sequence[str] | None = None,
) -> Serde:
    """Return what encodes with a frame; without a schema, as that of ``use.schema.id`` or the subject's latest.

    A schema must be registered under the subject, unless ``auto.register.schemas`` is set. Of several messages, which
    are members of a struct, each value sets one.
    """
    language = schema_format(format)
    registry, config, frame = _open(language, subject, address, settings)
    config.setdefault("auto.register.schemas", False)
    if schema is None:
        wanted = config.get("use.schema.id")
        try:
            found = registry.get_version(subject) if wanted is None else registry.get(int(wanted))
        except RegistryError as error:
            if not error.missing or wanted is not None:
                raise
            hint = "without a schema the latest one is written: give one to register it, as schema_of(df) makes it"
            raise error.hinted(hint) from None
        given = found.schema
        # Registries of GUIDs have no numbers.
        chosen = {"use.schema.guid": found.guid} if found.id is None else {"use.schema.id": found.id}
        config = {**config, "auto.register.schemas": False, **chosen}
    else:
        given = _given(schema, language)
    named = language.named_options(options)
    serde = Serde(format, registry, schema=given, message=message, config=config, options=named, frame=frame)
    # Writing a value of each message, whatever it is, makes the serde choose its schema and keep the id.
    value = pa.array([True])
    if message is not None and not isinstance(message, str):
        value = pa.StructArray.from_arrays([value] * len(message), list(message))
    try:
        (serde.serialize_with_headers if serde.writes_headers else serde.serialize)(value, errors="null")
    except RegistryError as error:
        if schema is None or not error.missing or config["auto.register.schemas"] is not False:
            raise
        raise error.hinted(
            f"{REGISTRY_PREFIX}auto.register.schemas set to true registers the schema"
        ) from None
    return serde


def registry_failure(address: str, settings: Mapping[str, Any]) -> str:
    """Ask a registry for a schema, and return why it does not answer; empty if it answers, even that there is none."""
    try:
        registry, *_ = _open(schema_format("AVRO"), "", address, settings)
        registry.get(1)
    except RegistryError as error:
        return "" if error.missing else str(error)
    except ConfigError as error:
        return str(error)
    return ""


def _open(
    language: SchemaPayloads, subject: str, address: str, settings: Mapping[str, Any]
) -> tuple[SchemaRegistry, dict[str, Any], Frame]:
    for name in settings:
        if name in ("schema.registry.url", "use.schema.guid") or name.startswith(_STRATEGIES):
            raise ConfigError(
                f"{REGISTRY_PREFIX}{name}: subject (such as orders-value, shop.Order or orders-shop.Order) and "
                "schemaRegistryAddress say where the schemas are"
            )
    frame = Frame.of(settings.get("frame"))
    others = {name: value for name, value in settings.items() if name != "frame"}
    registry, config = opened(address, others, KEYS.keys() | language.settings.keys())
    return registry, {**config, "subject.name.strategy": Subject(subject)}, frame


def opened(
    address: str, settings: Mapping[str, Any], known: Container[str] = KEYS
) -> tuple[SchemaRegistry, dict[str, Any]]:
    """Return the registry at an address (without a scheme, http), and the settings of serdes, which are `known`.

    The others are those of the registry's client.
    """
    config = {name: value for name, value in settings.items() if name in known or is_rule_setting(name)}
    secrets = RuleSettings.of(config).secrets
    if secrets:
        raise ConfigError(
            f"{secrets[0]} would have to travel to the executors, which no secret does: they have the credentials of "
            "their own environment"
        )
    client = {name: value for name, value in settings.items() if name not in config}
    return registries.open(address if "://" in address else f"http://{address}", client), config


def _given(schema: Any, language: SchemaPayloads) -> Any:
    """Wrap a given schema, so that its text is not taken for the name of a version."""
    return Schema(language.given_text(schema), language.type) if isinstance(schema, str) else schema
