"""Avro as confluent-kafka's serializer and deserializer have it, by compiled code instead of fastavro."""

import datetime
import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from confluent_kafka.schema_registry import avro as theirs
from confluent_kafka.serialization import SerializationError

from kcodec.columns.types.layout import Column, layout
from kcodec.confluent.quick import THEIRS, QuickDeserializer, QuickSerializer, given
from kcodec.errors import DecodeError, EncodeError, SchemaError
from kcodec.formats.avro.codec import AvroReader, AvroWriter
from kcodec.formats.avro.plans.node import AvroNode, Op
from kcodec.objects.form import ObjectForm

#: Whose values are the same objects here and in fastavro.
_LOGICAL = {
    "date",
    "decimal",
    "local-timestamp-micros",
    "local-timestamp-millis",
    "time-micros",
    "time-millis",
    "timestamp-micros",
    "timestamp-millis",
}
_ZONED = {"timestamp-micros", "timestamp-millis"}
#: Types of a union of which a Python value does not tell which one is meant.
_ALIKE = {
    "long": "int",
    "float": "int",
    "double": "int",
    "enum": "string",
    "fixed": "bytes",
    "map": "record",
}
_TOLD_APART = {"null", "boolean", "int", "string", "bytes", "record", "array"}

_Finds = Callable[[Any], bool]


class AvroSerializer(QuickSerializer, theirs.AvroSerializer):  # type: ignore[misc]  # its base has no types
    r"""``confluent_kafka.schema_registry.avro.AvroSerializer``, whose values are written by compiled code.

    Constructor, call, settings and errors are its own. What is written is the same, byte for byte: values that kcodec
    refuses, such as tuples that choose a branch, keys that are no fields, and times without a zone, are written as
    there. Some that fastavro refuses are written: text for bytes, and the other way round; whole numbers for decimals.

    Examples
    --------
    >>> from confluent_kafka.schema_registry import SchemaRegistryClient
    >>> from confluent_kafka.serialization import MessageField, SerializationContext
    >>> client = SchemaRegistryClient.new_client({"url": "mock://avro-example"})
    >>> serializer = AvroSerializer(client, '"string"')
    >>> serializer("hi", SerializationContext("t", MessageField.VALUE))
    b'\x00\x00\x00\x00\x01\x04hi'
    """

    def __init__(
        self,
        schema_registry_client: Any,
        schema_str: Any = None,
        to_dict: Callable[[Any, Any], Any] | None = None,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
    ) -> None:
        super().__init__(*given(schema_registry_client, schema_str, to_dict, conf, rule_conf, rule_registry))
        self._start(conf, "_schema", "_schema_name", "_to_dict", "_get_parsed_schema")
        # What fastavro is to be strict about, it looks for itself.
        self._is_quick = self._is_quick and not any(
            (conf or {}).get(name) for name in ("validate.strict", "validate.strict.allow.default")
        )

    def __call__(self, obj: Any, ctx: Any = None) -> bytes | None:
        """Write a value."""
        if obj is None or ctx is None or not self._is_quick:
            return _bytes(super().__call__(obj, ctx))
        subject = self._subject(ctx, self._schema_name)
        if subject is None:
            return _bytes(super().__call__(obj, ctx))
        latest = self._latest(subject)
        key = subject if latest is None else (subject, latest.schema_id)
        found = self._kept.get(key)
        if found is None:
            value = obj if self._to_dict is None else self._to_dict(obj, ctx)
            made = _bytes(self._by_theirs(obj, value, ctx))
            schema = self._schema if latest is None else latest.schema
            self._keep(self._kept, key, self._made(schema, made))
            return made
        writer, prefix, is_local = found
        if writer is THEIRS:
            return _bytes(super().__call__(obj, ctx))
        self._note(obj, ctx)
        value = obj if self._to_dict is None else self._to_dict(obj, ctx)
        if is_local is None or not is_local(value):
            try:
                return _bytes(writer.encode_one(value, prefix))
            except (EncodeError, TypeError):
                pass
        return _bytes(self._by_theirs(obj, value, ctx))

    def _made(self, schema: Any, made: bytes | None) -> tuple[Any, bytes, _Finds | None]:
        """Return what writes values of a schema behind a prefix, and what finds those that their code is to write."""
        parsed = None if schema is None or schema.rule_set else _plain(self._get_parsed_schema(schema))
        if not made or parsed is None or not _is_clear(parsed):
            return THEIRS, b"", None
        try:
            writer = AvroWriter(parsed).object_writer(ObjectForm(unions="value"))
        except SchemaError:
            return THEIRS, b"", None
        return writer, made[:5], _local_times(parsed)


class AvroDeserializer(QuickDeserializer, theirs.AvroDeserializer):  # type: ignore[misc]  # its base has no types
    r"""``confluent_kafka.schema_registry.avro.AvroDeserializer``, whose values are read by compiled code.

    Constructor, call and settings are its own, and so are the objects that it returns. Damaged bytes, of which it
    raises anything from `EOFError` to `MemoryError` or makes a value, are a ``SerializationError`` with code, offset
    and path.

    Examples
    --------
    >>> from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
    >>> client = SchemaRegistryClient.new_client({"url": "mock://avro-example-2"})
    >>> deserializer = AvroDeserializer(client)
    >>> client.register_schema("t-value", Schema('"string"', "AVRO"))
    1
    >>> deserializer(b"\x00\x00\x00\x00\x01\x04hi")
    'hi'
    """

    def __init__(
        self,
        schema_registry_client: Any,
        schema_str: Any = None,
        from_dict: Callable[[Any, Any], Any] | None = None,
        return_record_name: bool = False,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
    ) -> None:
        super().__init__(
            *given(
                schema_registry_client,
                schema_str,
                from_dict,
                return_record_name,
                conf,
                rule_conf,
                rule_registry,
            )
        )
        self._start(conf, "_schema", "_from_dict", "_get_parsed_schema", "_get_migrations")
        self._is_quick = self._is_quick and not return_record_name

    def __call__(self, data: Any, ctx: Any = None) -> Any:
        """Read a value."""
        prefix = self._prefix(data, ctx)
        if not prefix or (ctx is None and self._from_dict is not None):
            return super().__call__(data, ctx)
        subject = latest = None
        if self._asks and ctx is not None:
            subject = self._subject(ctx, None)
            if subject is None:
                return super().__call__(data, ctx)
            latest = self._latest(subject)
        key = prefix if latest is None else (prefix, subject, latest.schema_id)
        reader = self._kept.get(key)
        if reader is None:
            made = super().__call__(data, ctx)
            self._keep(self._kept, key, self._made(prefix, subject, latest))
            return made
        if reader is THEIRS:
            return super().__call__(data, ctx)
        self._note(data, ctx)
        try:
            made = reader.decode_one(data, len(prefix))
        except DecodeError as error:
            raise SerializationError(str(error)) from error
        return made if self._from_dict is None else self._from_dict(made, ctx)

    def _made(self, prefix: bytes, subject: str | None, latest: Any) -> Any:
        """Return what reads the values behind a prefix."""
        written = self._written(prefix, "AVRO", subject)
        wanted = latest.schema if latest is not None else self._schema or written
        if written.rule_set or wanted.rule_set:
            return THEIRS
        if latest is not None and self._get_migrations(subject, written, latest, None):
            return THEIRS
        schemas = [_plain(self._get_parsed_schema(each)) for each in (written, wanted)]
        if None in schemas:
            return THEIRS
        try:
            reader = AvroReader(schemas[1])
            plan = reader.plan(schemas[0])
            if _has_typed_default(plan.root, layout(plan.arrow_type)):
                return THEIRS
            form = ObjectForm(maps="dict", unions="value")
            return reader.object_reader(plan, form, trailing=True)
        except SchemaError:
            return THEIRS


def _bytes(made: Any) -> bytes | None:
    return made


def _plain(parsed: Any) -> Any:
    """Return a schema without what fastavro has noted in it; None if kcodec has other objects for its values.

    Bytes that are the whole value stand there without a length.
    """
    kind = parsed.get("type") if isinstance(parsed, dict) else parsed
    if kind == "bytes" or not _is_known(parsed):
        return None
    return json.loads(json.dumps(parsed, default=list), object_hook=_without_notes)


def _has_typed_default(node: AvroNode, columns: Sequence[Column], within: bool = False) -> bool:
    """Return whether a default is of bytes or of a logical type, for which fastavro gives the JSON in the schema."""
    if within and node.op in (Op.BYTES, Op.FIXED, Op.DECIMAL):
        return True
    if within and node.column >= 0 and pa.types.is_temporal(columns[node.column].type):
        return True
    below = node.children
    if node.op is Op.DEFAULT and below[0].op is Op.UNION:
        # A default is one of the first branch.
        below = below[0].children[:1]
    return any(_has_typed_default(each, columns, within or node.op is Op.DEFAULT) for each in below)


def _without_notes(part: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in part.items() if not name.startswith("__")}


def _below(schema: Any) -> list[Any]:
    """Return the schemas that a schema is made of."""
    if isinstance(schema, list):
        return schema
    if not isinstance(schema, dict):
        return []
    found = [schema[name] for name in ("items", "values") if name in schema]
    if isinstance(schema.get("type"), (dict, list)):
        found.append(schema["type"])
    return found + [field["type"] for field in schema.get("fields", ())]


def _is_known(schema: Any) -> bool:
    if isinstance(schema, dict) and schema.get("logicalType", "date") not in _LOGICAL:
        return False
    return all(map(_is_known, _below(schema)))


def _is_clear(schema: Any) -> bool:
    """Return whether a Python value tells which branch of a union is meant, wherever there is one."""
    if isinstance(schema, list) and len(schema) - ("null" in schema) > 1:
        kinds = [each.get("type") if isinstance(each, dict) else each for each in schema]
        # Beside others, named types are taken to be alike, and so are values of logical types.
        if not all(isinstance(each, str) for each in kinds) or any("logicalType" in each for each in schema):
            return False
        alike = [_ALIKE.get(str(each), str(each)) for each in kinds]
        if len({*alike}) < len(alike) or not {*alike} <= _TOLD_APART:
            return False
    return all(map(_is_clear, _below(schema)))


def _local_times(schema: Any) -> _Finds | None:
    """Return what finds, in a value, times without a zone, which fastavro takes to be local ones; None if it has none.

    Other values than those of the schema are found as well.
    """
    if isinstance(schema, dict) and schema.get("logicalType") in _ZONED:
        return lambda value: isinstance(value, datetime.datetime) and value.tzinfo is None
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind in ("record", "error"):
        fields = [(field["name"], _local_times(field["type"])) for field in schema["fields"]]
        below = [(name, finds) for name, finds in fields if finds is not None]
        if not below:
            return None
        return lambda value: (
            value is not None
            and (not isinstance(value, dict) or any(finds(value.get(name)) for name, finds in below))
        )
    parts = [finds for finds in map(_local_times, _below(schema)) if finds is not None]
    if not parts:
        return None
    if kind == "array":
        return lambda value: value is not None and (not isinstance(value, list) or any(map(parts[0], value)))
    if kind == "map":
        return lambda value: (
            value is not None and (not isinstance(value, dict) or any(map(parts[0], value.values())))
        )
    # A union, or a type within a type.
    return lambda value: any(finds(value) for finds in parts)
