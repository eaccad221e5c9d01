"""Protobuf as confluent-kafka's serializer and deserializer have it, without its cost for each value.

Values are objects of generated classes, which Google's library writes and reads.
"""

from typing import Any

from confluent_kafka.schema_registry import protobuf as theirs
from confluent_kafka.serialization import SerializationError
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from kcodec.columns.framed.frames import indexes_end
from kcodec.confluent.quick import THEIRS, QuickDeserializer, QuickSerializer, given


class ProtobufSerializer(QuickSerializer, theirs.ProtobufSerializer):  # type: ignore[misc]  # its base has no types
    """``confluent_kafka.schema_registry.protobuf.ProtobufSerializer``, without what it does for each value.

    Constructor, call, settings, bytes and errors are its own.
    """

    def __init__(
        self,
        msg_type: Any,
        schema_registry_client: Any,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
    ) -> None:
        super().__init__(*given(msg_type, schema_registry_client, conf, rule_conf, rule_registry))
        self._start(conf, "_msg_class", "_schema")

    def __call__(self, message: Any, ctx: Any = None) -> bytes | None:
        """Write a message."""
        made: bytes | None
        if ctx is None or not self._is_quick or not isinstance(message, self._msg_class):
            made = super().__call__(message, ctx)
            return made
        subject = self._subject(ctx, message.DESCRIPTOR.full_name)
        latest = None if subject is None else self._latest(subject, "serialized")
        key = subject if latest is None else (subject, latest.schema_id)
        prefix = None if subject is None else self._kept.get(key)
        if prefix is None or prefix is THEIRS:
            made = super().__call__(message, ctx)
            if made and prefix is None and subject is not None:
                has_rules = latest is not None and latest.schema.rule_set
                found = THEIRS if has_rules else made[: len(made) - message.ByteSize()]
                self._keep(self._kept, key, found)
            return made
        self._note(message, ctx)
        made = prefix + message.SerializeToString()
        return made


class ProtobufDeserializer(QuickDeserializer, theirs.ProtobufDeserializer):  # type: ignore[misc]  # as above
    """``confluent_kafka.schema_registry.protobuf.ProtobufDeserializer``, without what it does for each value.

    Constructor, call, settings, messages and errors are its own.
    """

    def __init__(
        self,
        message_type: Any,
        conf: dict[str, Any] | None = None,
        schema_registry_client: Any = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
    ) -> None:
        super().__init__(*given(message_type, conf, schema_registry_client, rule_conf, rule_registry))
        self._start(conf, "_msg_class")
        # Its versions may ask for migrations, for which messages become dicts.
        self._is_quick = self._is_quick and not self._asks

    def __call__(self, data: Any, ctx: Any = None) -> Any:
        """Read a message."""
        prefix = self._prefix(data, ctx)
        if not prefix:
            return super().__call__(data, ctx)
        size = indexes_end(data, len(prefix))
        known = self._kept.get(data[:size]) if size else THEIRS
        if known is None or known is THEIRS:
            made = super().__call__(data, ctx)
            if known is None:
                rules = None
                if self._registry is not None:
                    rules = self._written(prefix, "PROTOBUF", None, "serialized").rule_set
                self._keep(self._kept, data[:size], THEIRS if rules else self._msg_class.FromString)
            return made
        self._note(data, ctx)
        try:
            return known(data[size:])
        except DecodeError as error:
            raise SerializationError(str(error)) from None
