"""Payloads as the Python objects that confluent-kafka's rules look at, and back."""

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, Protocol

import referencing
from confluent_kafka.schema_registry.common import avro as their_avro
from confluent_kafka.schema_registry.common import json_schema as their_json
from confluent_kafka.schema_registry.common import protobuf as their_protobuf
from fastavro import schemaless_writer
from fastavro.schema import expand_schema
from google.protobuf import (  # type: ignore[import-untyped]
    descriptor_pb2,
    descriptor_pool,
    json_format,
    message_factory,
)

from kcodec.contracts.row_rules import RowRules, ValueShape
from kcodec.errors import SchemaError
from kcodec.formats.protobuf.exported.descriptor_bytes import write_descriptor_set
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.objects.form import ObjectForm
from kcodec.plan import Limits


class Values(Protocol):
    """What payloads of a format are as objects."""

    #: Tags of fields that the walk itself does not find.
    tags: Mapping[str, set[str]] | None

    def load(self, payload: bytes) -> Any:
        """Return the object of a payload."""

    def dump(self, value: Any) -> bytes:
        """Return the payload of an object."""

    def migrating(self, value: Any) -> Any:
        """Return an object as rules of migrations take it."""

    def migrated(self, value: Any) -> Any:
        """Return an object as all other rules take it."""

    def walk(self, ctx: Any, change: Callable[..., Any], value: Any) -> Any:
        """Let a rule change the fields of an object."""


def values_of(rules: RowRules) -> Values:
    """Return what the payloads are as objects; `SchemaError` if confluent-kafka has no rules for the format."""
    made = _VALUES.get(rules.format.type)
    if made is None:
        raise SchemaError(f"rules do not run on values of type {rules.format.type}")
    return made(rules)


class _Plain:
    """Values that migrations take as they are."""

    tags: Mapping[str, set[str]] | None = None

    def migrating(self, value: Any) -> Any:
        return value

    def migrated(self, value: Any) -> Any:
        return value


class _AvroValues(_Plain):
    def __init__(self, rules: RowRules) -> None:
        language, given, made = rules.format, rules.given, rules.made
        written = language.parse_known(given.text, given.references)
        is_migrated = any(each.mode in ("UPGRADE", "DOWNGRADE") for each in rules.phases)
        read = written if is_migrated else language.parse_known(made.text, made.references)
        decoder = language.decoder(read, language.options(None), Limits.of(None))
        form = ObjectForm(maps="dict", unions="value")
        reader = decoder.object_reader(decoder.program(written), form)
        assert reader is not None, "Avro is read as objects"
        self.load: Callable[[bytes], Any] = lambda payload: reader.decode_one(payload, 0)
        self._schema = _fastavro(made)
        self._expanded = expand_schema(self._schema)
        self.tags = their_avro.get_inline_tags(self._schema)
        kind = self._schema.get("type") if isinstance(self._schema, dict) else self._schema
        self._is_bytes = kind == "bytes"

    def dump(self, value: Any) -> bytes:
        if self._is_bytes:
            return value if isinstance(value, bytes) else value.encode()
        out = BytesIO()
        schemaless_writer(out, self._schema, value)
        return out.getvalue()

    def walk(self, ctx: Any, change: Callable[..., Any], value: Any) -> Any:
        return their_avro.transform(ctx, self._expanded, value, change)


class _JsonValues(_Plain):
    def __init__(self, rules: RowRules) -> None:
        self._schema = json.loads(rules.made.text)
        spec = their_json.DEFAULT_SPEC
        root = referencing.Resource.from_contents(self._schema, default_specification=spec)
        named = [
            (each.name, referencing.Resource.from_contents(json.loads(each.text), default_specification=spec))
            for each in rules.made.references
        ]
        # Nothing is fetched from the network.
        self._registry = referencing.Registry().with_resources(named)
        self._resolver = self._registry.resolver_with_root(root)

    def load(self, payload: bytes) -> Any:
        return json.loads(payload)

    def dump(self, value: Any) -> bytes:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()

    def walk(self, ctx: Any, change: Callable[..., Any], value: Any) -> Any:
        return their_json.transform(ctx, self._schema, self._registry, self._resolver, "$", value, change)


class _ProtobufValues:
    tags: Mapping[str, set[str]] | None = None

    def __init__(self, rules: RowRules) -> None:
        given, made = rules.given, rules.made
        is_migrated = any(each.mode in ("UPGRADE", "DOWNGRADE") for each in rules.phases)
        self._made = message_class(rules.format.parse_known(made.text, made.references), made)
        # Without migrations a message tells itself what it is.
        self._given = self._made
        if is_migrated:
            self._given = message_class(rules.format.parse_known(given.text, given.references), given)

    def load(self, payload: bytes) -> Any:
        return self._given.FromString(payload)

    def dump(self, value: Any) -> bytes:
        return value.SerializeToString()

    def migrating(self, value: Any) -> Any:
        return value if isinstance(value, dict) else json_format.MessageToDict(value, True)

    def migrated(self, value: Any) -> Any:
        return json_format.ParseDict(value, self._made()) if isinstance(value, dict) else value

    def walk(self, ctx: Any, change: Callable[..., Any], value: Any) -> Any:
        return their_protobuf.transform(ctx, self._made.DESCRIPTOR, value, change)


def _fastavro(shape: ValueShape) -> Any:
    """Return a schema as fastavro has it."""
    named = {each.name: json.loads(each.text) for each in shape.references}
    return their_avro.parse_schema_with_repo(shape.text, named)


def message_class(schema: ProtobufSchema, shape: ValueShape) -> Any:
    """Return a class of google.protobuf for the messages of a shape."""
    name = schema.message(shape.indexes).name
    files = descriptor_pb2.FileDescriptorSet.FromString(write_descriptor_set(schema))
    pool = descriptor_pool.DescriptorPool()
    their_protobuf._init_pool(pool)
    for file in files.file:
        try:
            pool.FindFileByName(file.name)
        except KeyError:
            pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


_VALUES: dict[str, Callable[[RowRules], Values]] = {
    "AVRO": _AvroValues,
    "JSON": _JsonValues,
    "PROTOBUF": _ProtobufValues,
}
