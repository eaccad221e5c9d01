"""The settings of a serde, under the keys that Confluent's serializers and deserializers have."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kcodec.contracts.settings import RuleSettings, is_rule_setting
from kcodec.errors import ConfigError, near
from kcodec.formats.payloads import flag
from kcodec.frames import CONFLUENT, Frame
from kcodec.registry.base import Schema, SchemaRegistry
from kcodec.registry.client_settings import plain_name
from kcodec.registry.subjects import SubjectNameStrategy, strategy, topic_subject

#: Every key that is understood whatever the format, and what it does; a format may have further ones.
KEYS: dict[str, str] = {
    "auto.register.schemas": "register what is written (default true); false where use.* alone says what is written",
    "use.schema.id": "write with the schema of this id; see ConfigSchemaIdDeserializer",
    "use.schema.guid": "the same by GUID",
    "use.latest.with.metadata": "write with, and read as, the latest version that has 'key=value,key=value'",
    "use.latest.version": "write with, and read as, the subject's latest version, which must exist",
    "id.compatibility.strict": "the schema of use.schema.id or guid must read the one given (default true)",
    "latest.compatibility.strict": "the latest version must be able to read the one given (default true)",
    "normalize.schemas": "ask the registry to normalize schemas (default false)",
    "subject.name.strategy": "TopicNameStrategy (default), RecordNameStrategy, TopicRecordNameStrategy, "
    "AssociatedNameStrategy, or a function of topic, is_key, schema",
    "key.subject.name.strategy": "the same for keys",
    "value.subject.name.strategy": "the same for values",
    "subject.name.strategy.fallback.type": "without association: TOPIC (default), RECORD, TOPIC_RECORD, NONE",
    "subject.name.strategy.kafka.cluster.id": "the cluster whose associations count (default any)",
    "key.schema.id.serializer": "PrefixSchemaIdSerializer (default) or HeaderSchemaIdSerializer",
    "value.schema.id.serializer": "the same for values",
    "key.schema.id.deserializer": "DualSchemaIdDeserializer (default), PrefixSchemaIdDeserializer, "
    "HeaderSchemaIdDeserializer, or ConfigSchemaIdDeserializer: all have that of use.schema.id or guid",
    "value.schema.id.deserializer": "the same for values",
    "schema.registry.url": "the registry, where none is given",
    "rule.executors.NAME.param.*": "parameters of the rule NAME, _default_ for all: credentials of a key service",
    "rule.executors.NAME.onFailure": "ERROR or NONE in place of what the rule says, or both with a comma between: "
    "first writing, then reading",
    "rule.executors.NAME.onSuccess": "the same where a rule does not fail",
    "rule.executors.NAME.disabled": "whether the rule is left out",
}

#: What takes the place of settings that confluent-kafka's serializers alone have.
_INSTEAD = {
    "schema.id.serializer": "key.schema.id.serializer and value.schema.id.serializer take its name, such as "
    "'HeaderSchemaIdSerializer'",
    "schema.id.deserializer": "key.schema.id.deserializer and value.schema.id.deserializer take its name, such as "
    "'PrefixSchemaIdDeserializer'",
    "subject.name.strategy.type": "subject.name.strategy takes its name, such as 'RecordNameStrategy'",
    "subject.name.strategy.conf": "subject.name.strategy.fallback.type and subject.name.strategy.kafka.cluster.id are "
    "what it holds",
    "validate": "json.fail.invalid.schema validates documents",
    **dict.fromkeys(
        ("validate.strict", "validate.strict.allow.default"), "values are always checked by their schema"
    ),
}

_PACKAGE = "io.confluent.kafka.serializers.schema.id."
_SERIALIZERS = ("PrefixSchemaIdSerializer", "HeaderSchemaIdSerializer")
_DESERIALIZERS = (
    "DualSchemaIdDeserializer",
    "PrefixSchemaIdDeserializer",
    "HeaderSchemaIdDeserializer",
    "ConfigSchemaIdDeserializer",
)
_FALLBACKS = {
    "TOPIC": "TopicNameStrategy",
    "RECORD": "RecordNameStrategy",
    "TOPIC_RECORD": "TopicRecordNameStrategy",
}


@dataclass(frozen=True)
class SerdeConfig:
    """Settings, checked; the attributes are those of `KEYS`, and None where a setting is absent.

    `header_out` is whether the schema's GUID goes to a header; `framing` is where it is looked for: ``"dual"``,
    ``"prefix"``, ``"header"`` or ``"config"``, or ``"none"`` where the schema is given. Without `name_strategy`,
    subjects are those associated with the topic, and without `fallback` there are no others. `auto_register` is None
    where nothing is said: see `registers`.
    """

    auto_register: bool | None = None
    use_latest: bool = False
    id_strict: bool = True
    latest_strict: bool = True
    normalize: bool = False
    lookup_references: bool = False
    use_id: int | None = None
    use_guid: str | None = None
    use_indexes: tuple[int, ...] = (0,)
    use_metadata: tuple[tuple[str, str], ...] = ()
    header_out: bool = False
    framing: str = "dual"
    name_strategy: SubjectNameStrategy | None = field(default=topic_subject)
    fallback: SubjectNameStrategy | None = field(default=topic_subject)
    cluster: str = "-"
    rules: RuleSettings = field(default_factory=RuleSettings, compare=False)

    @classmethod
    def of(
        cls, config: Mapping[str, Any], is_key: bool, settings: Mapping[str, str] | None = None
    ) -> "SerdeConfig":
        """Check a configuration, for keys or values; `settings` are the format's own keys.

        Examples
        --------
        >>> SerdeConfig.of({"use.latest.version": "true"}, False).use_latest
        True
        >>> SerdeConfig.of({"use.latest": "true"}, False)
        Traceback (most recent call last):
        kcodec.errors.ConfigError: unknown setting 'use.latest': did you mean 'use.latest.version'?
        """
        known = {**KEYS, **(settings or {})}
        for key in config:
            if key not in known and not is_rule_setting(key):
                if key in _INSTEAD and config[key] is None:
                    continue
                of_registry = plain_name(str(key))
                if of_registry is not None:
                    raise ConfigError(
                        f"unknown setting {key!r}: it is the registry's, "
                        f"kcodec.registry.open(url, {{{of_registry!r}: ...}}) takes it"
                    )
                instead = _INSTEAD.get(key)
                hint = f": {instead}" if instead else near(str(key), known)
                hint = hint or f"; known are {', '.join(known)}"
                raise ConfigError(f"unknown setting {key!r}{hint}")
        # What is None is not set: so it stands among the defaults of confluent-kafka's.
        config = {key: value for key, value in config.items() if value is not None}
        side = "key" if is_key else "value"

        def sided(key: str) -> Any:
            return config.get(f"{side}.{key}", config.get(key))

        deserializer = _class(sided("schema.id.deserializer") or _DESERIALIZERS[0], _DESERIALIZERS)
        named = sided("subject.name.strategy") or "TopicNameStrategy"
        associated = isinstance(named, str) and named.rpartition(".")[2] in (
            "AssociatedNameStrategy",
            "AssociatedName",
            "Associated",
        )
        fallback = str(config.get("subject.name.strategy.fallback.type") or "TOPIC").upper()
        if fallback != "NONE" and fallback not in _FALLBACKS:
            raise ConfigError(
                f"subject.name.strategy.fallback.type={fallback} is not {', '.join(_FALLBACKS)} or NONE"
            )
        guid = config.get("use.schema.guid")
        return cls(
            auto_register=flag(config, "auto.register.schemas", True)
            if "auto.register.schemas" in config
            else None,
            use_latest=flag(config, "use.latest.version", False),
            id_strict=flag(config, "id.compatibility.strict", True),
            latest_strict=flag(config, "latest.compatibility.strict", True),
            normalize=flag(config, "normalize.schemas", False),
            lookup_references=flag(config, "reference.lookup.only", False),
            use_id=_number(config, "use.schema.id"),
            use_guid=None if guid in (None, "") else str(guid),
            use_indexes=_indexes(config, "use.message.indexes"),
            use_metadata=_pairs(config, "use.latest.with.metadata"),
            header_out=_class(sided("schema.id.serializer") or _SERIALIZERS[0], _SERIALIZERS)
            == _SERIALIZERS[1],
            framing=deserializer.removesuffix("SchemaIdDeserializer").lower(),
            name_strategy=None if associated else strategy(named),
            fallback=None if fallback == "NONE" else strategy(_FALLBACKS[fallback]),
            cluster=str(config.get("subject.name.strategy.kafka.cluster.id") or "-"),
            rules=RuleSettings.of(config),
        )

    def framed(self, frame: Frame, config: Mapping[str, Any], is_key: bool) -> "SerdeConfig":
        """Return the settings with the places where a frame stands; those of Confluent's are settings.

        A place that is set for a frame that has its own is a `ConfigError`.
        """
        if frame == CONFLUENT:
            return self
        side = "key" if is_key else "value"
        for name in (f"{side}.schema.id.serializer", f"{side}.schema.id.deserializer"):
            if config.get(name):
                raise ConfigError(f"{name} chooses where Confluent's frame stands, and frame is {frame!r}")
        if not frame.id_size:
            has_id = self.use_id is not None or self.use_guid is not None
            return replace(self, framing="config" if has_id else "none", header_out=False)
        if frame.header:
            return replace(self, framing="header", header_out=True)
        return replace(self, framing="prefix", header_out=False)

    @property
    def chooses(self) -> str | None:
        """The setting that chooses a schema that is registered already; None if there is none."""
        by_setting = {
            "use.schema.id": self.use_id is not None,
            "use.schema.guid": self.use_guid is not None,
            "use.latest.with.metadata": bool(self.use_metadata),
            "use.latest.version": self.use_latest,
        }
        return next((name for name, is_set in by_setting.items() if is_set), None)

    @property
    def registers(self) -> bool:
        """Whether what is written is registered: as ``auto.register.schemas`` says, else unless a schema is chosen."""
        return self.chooses is None if self.auto_register is None else self.auto_register

    @property
    def guid(self) -> bytes | None:
        """The bytes of ``use.schema.guid``."""
        try:
            return None if self.use_guid is None else uuid.UUID(self.use_guid).bytes
        except ValueError:
            raise ConfigError(f"use.schema.guid={self.use_guid!r} is not a GUID") from None

    def subject(
        self, registry: SchemaRegistry, topic: str | None, is_key: bool, schema: Schema | None
    ) -> str | None:
        """Return the subject of a schema; None while the strategy needs a schema and there is none."""
        if self.name_strategy is not None:
            return self.name_strategy(topic, is_key, schema)
        if topic is None:
            raise ConfigError("AssociatedNameStrategy needs a topic")
        found = registry.associated_subjects(topic, is_key, self.cluster)
        if len(found) > 1:
            raise ConfigError(f"topic {topic!r} is associated with several subjects: {', '.join(found)}")
        if found:
            return found[0]
        if self.fallback is None:
            raise ConfigError(f"topic {topic!r} is associated with no subject")
        return self.fallback(topic, is_key, schema)


def _number(config: Mapping[str, Any], key: str) -> int | None:
    value = config.get(key, -1)
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{key}={value!r} is not a number") from None
    return number if number >= 0 else None


def _indexes(config: Mapping[str, Any], key: str) -> tuple[int, ...]:
    value = str(config.get(key) or "0")
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError:
        raise ConfigError(f"{key}={value!r} is not numbers with commas between them") from None


def _pairs(config: Mapping[str, Any], key: str) -> tuple[tuple[str, str], ...]:
    value = config.get(key)
    if not value:
        return ()
    if isinstance(value, Mapping):
        return tuple(sorted((str(name), str(each)) for name, each in value.items()))
    pairs = [part.partition("=") for part in value.split(",")] if isinstance(value, str) else []
    if not pairs or any(not name.strip() or not equals for name, equals, _ in pairs):
        raise ConfigError(f"{key}={value!r} is not of the form key=value,key=value")
    return tuple(sorted((name.strip(), each.strip()) for name, _, each in pairs))


def _class(value: Any, known: tuple[str, ...]) -> str:
    if isinstance(value, str):
        name = value.removeprefix(_PACKAGE)
        for each in known:
            if name in (each, each.partition("SchemaId")[0]):
                return each
    raise ConfigError(f"schema id class {value!r} is not one of {', '.join(known)}")
