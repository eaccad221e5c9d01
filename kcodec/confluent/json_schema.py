"""JSON Schema as confluent-kafka's serializer and deserializer have it, validated by compiled code if that is there."""

import json
import sys
from collections.abc import Callable
from typing import Any

from confluent_kafka.schema_registry import json_schema as theirs

from kcodec.confluent.quick import THEIRS, VALUE, QuickDeserializer, QuickSerializer, given
from kcodec.errors import ConfigError
from kcodec.formats.json_schema.engine import library

#: Keywords whose meaning depends on other documents, or differs between the libraries.
_LEFT = (
    '"$ref"',
    '"$dynamicRef"',
    '"$recursiveRef"',
    '"pattern"',
    '"patternProperties"',
    '"multipleOf"',
    # Where 1.0 is no integer.
    "json-schema.org/draft-03",
    "json-schema.org/draft-04",
)


class JSONSerializer(QuickSerializer, theirs.JSONSerializer):  # type: ignore[misc]  # its base has no types
    """``confluent_kafka.schema_registry.json_schema.JSONSerializer``, without what it does for each value.

    Constructor, call, settings, bytes and errors are its own. With the extra ``kcodec[jsonschema]`` values are
    validated by compiled code; what that does not call valid is validated as there.
    """

    def __init__(
        self,
        schema_str: Any,
        schema_registry_client: Any,
        to_dict: Callable[[Any, Any], Any] | None = None,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
        json_encode: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(
            *given(schema_str, schema_registry_client, to_dict, conf, rule_conf, rule_registry, json_encode)
        )
        self._start(conf, "_schema", "_schema_name", "_to_dict", "_validate", "_json_encode")
        #: By topic, the prefix of values of which nothing is asked before they are written.
        self._prefixes: dict[str, bytes] = {}
        self._encode = _straight(getattr(self, "_json_encode", None))

    def __call__(self, obj: Any, ctx: Any = None) -> bytes | None:
        """Write a value."""
        made: bytes | None
        if ctx is not None and ctx.field is VALUE and obj is not None:
            known = self._prefixes.get(ctx.topic)
            if known is not None:
                text = self._encode(obj)
                made = known + (text if type(text) is bytes else text.encode())
                return made
        subject = None
        if obj is not None and ctx is not None and self._is_quick:
            subject = self._subject(ctx, self._schema_name)
        if subject is None:
            made = super().__call__(obj, ctx)
            return made
        latest = self._latest(subject)
        key = subject if latest is None else (subject, latest.schema_id)
        prefix, validator = self._kept.get(key) or (None, None)
        value = obj if self._to_dict is None else self._to_dict(obj, ctx)
        if prefix is not None and validator is not THEIRS:
            self._note(obj, ctx)
            asks = self._asks or self._has_own_strategy or self._to_dict is not None or validator is not None
            if not asks and ctx.field is VALUE:
                self._keep(self._prefixes, ctx.topic, prefix)
            if validator is None or _is_valid(validator, value):
                text = self._json_encode(value)
                made = prefix + (text.encode() if isinstance(text, str) else text)
                return made
        made = self._by_theirs(obj, value, ctx)
        if prefix is None and made:
            schema = self._schema if latest is None else latest.schema
            self._keep(self._kept, key, (made[:5], _validator(schema, self._validate)))
        return made


class JSONDeserializer(QuickDeserializer, theirs.JSONDeserializer):  # type: ignore[misc]  # its base has no types
    """``confluent_kafka.schema_registry.json_schema.JSONDeserializer``, without what it does for each value.

    Constructor, call, settings, objects and errors are its own. With the extra ``kcodec[jsonschema]`` values are
    validated by compiled code; what that does not call valid is validated as there.
    """

    def __init__(
        self,
        schema_str: Any,
        from_dict: Callable[[Any, Any], Any] | None = None,
        schema_registry_client: Any = None,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
        json_decode: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(
            *given(schema_str, from_dict, schema_registry_client, conf, rule_conf, rule_registry, json_decode)
        )
        self._start(conf, "_schema", "_from_dict", "_validate", "_json_decode")
        # Its versions may ask for migrations.
        self._is_quick = self._is_quick and not self._asks

    def __call__(self, data: Any, ctx: Any = None) -> Any:
        """Read a value."""
        prefix = self._prefix(data, ctx)
        if not prefix or ctx is None:
            return super().__call__(data, ctx)
        validator = self._kept.get(prefix, self)
        if validator is None or (validator is not self and validator is not THEIRS):
            self._note(data, ctx)
            value = self._json_decode(data[len(prefix) :])
            if validator is None or validator.is_valid(value):
                return value if self._from_dict is None else self._from_dict(value, ctx)
        made = super().__call__(data, ctx)
        if validator is self:
            written = None if self._registry is None else self._written(prefix, "JSON", None)
            found = THEIRS if written is not None and written.rule_set else None
            self._keep(self._kept, prefix, found or _validator(self._schema or written, self._validate))
        return made


def _straight(encode: Any) -> Any:
    """Return a function for JSON; in place of their own the one that it calls, whose bytes it makes text of."""
    own = getattr(theirs, "_json_dumps", None)
    if encode is not own or own is None:
        return encode
    orjson = getattr(sys.modules[own.__module__], "orjson", None)
    return encode if orjson is None else orjson.dumps


def _is_valid(validator: Any, value: Any) -> bool:
    """Return whether a value is known to be valid: objects that JSON has not are an error of the library."""
    try:
        return bool(validator.is_valid(value))
    except ValueError:
        return False


def _validator(schema: Any, validates: bool) -> Any:
    """Return what tells that values are valid; None if they need not be, `THEIRS` if their code tells."""
    if schema is not None and schema.rule_set:
        return THEIRS
    if not validates:
        return None
    if schema is None or schema.references or any(each in schema.schema_str for each in _LEFT):
        return THEIRS
    try:
        return library().validator_for(json.loads(schema.schema_str), validate_formats=False)
    except (ConfigError, ValueError):
        # Not installed, or not a schema for it.
        return THEIRS
