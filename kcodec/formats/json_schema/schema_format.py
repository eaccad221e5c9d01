"""JSON Schema as a schema format: what registry, serde and Spark functions know of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from kcodec.errors import CODES, ConfigError, DecodeError, SchemaError, check_choice
from kcodec.formats.json_schema.compatibility import differences
from kcodec.formats.json_schema.difference_types import describe
from kcodec.formats.json_schema.document import read_document, schema_text, sorted_document
from kcodec.formats.json_schema.schema import JsonSchema, parse
from kcodec.formats.language import Difference, NamedText
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder, flag
from kcodec.formats.schema_format import SchemaFormat
from kcodec.formats.tagged import TaggedField
from kcodec.java.jackson import write_tree

if TYPE_CHECKING:
    # A registry needs no Arrow.
    import pyarrow as pa
    from typing_extensions import Self

    from kcodec.formats.json_schema.types import JsonSchemaOptions
    from kcodec.plan import Limits


@dataclass(frozen=True)
class JsonSchemaFormat(SchemaFormat):
    """JSON Schema, drafts 4, 6, 7, 2019-09 and 2020-12, as Confluent's registry and serializers treat it.

    >>> known = JsonSchemaFormat()
    >>> schema = known.parse('{"type": "number", "maximum": 1e2}')
    >>> known.canonical(schema), known.normalized(schema)
    ('{"type":"number","maximum":1E+2}', '{"maximum":1E+2,"type":"number"}')
    >>> known.differences(schema, known.parse("true"))[0].type
    'TYPE_CHANGED'
    """

    type: ClassVar[str] = "JSON"
    name: ClassVar[str] = "JSON_SR"
    options_name: ClassVar[str] = "kcodec.JsonSchemaOptions"
    policies: ClassVar[tuple[str, ...]] = ("STRICT", "LENIENT")
    settings: ClassVar[Mapping[str, str]] = {
        "json.fail.invalid.schema": "validate documents by their schema (default false)",
        "json.validate.before.domain.rules": "accepted: documents are validated as they stand in payloads",
        "json.envelope.detection": "write the key payload alone of values with a key schema (default false, which "
        "Confluent's is not)",
        "json.indent.output": "write documents in several lines (default false)",
        "json.schema.spec.version": "the draft of derived schemas: draft_4, draft_6, draft_7 (default), draft_2019_09 "
        "or draft_2020_12",
        "json.oneof.for.nullables": "derived schemas have oneOf null and the type for nullable columns (default true)",
        "json.fail.unknown.properties": "derived schemas have objects without other properties (default true)",
        "json.key.type": "accepted: there are no Java classes here",
        "json.value.type": "accepted: there are no Java classes here",
        "type.property": "accepted: there are no Java classes here",
    }

    #: Whether documents are validated.
    validate: bool = False
    #: Whether those that are read are validated by the reader's schema, rather than the writer's.
    by_reader: bool = False
    #: Whether of values with a key ``schema`` only what their key ``payload`` holds is written.
    envelope: bool = False
    #: Whether documents are written in several lines.
    indent: bool = False
    #: How schemas are derived: the draft, whether nullable columns are ``oneOf`` null, whether objects are closed.
    derived: tuple[str, bool, bool] = ("draft_7", True, True)

    def configured(self, config: Mapping[str, Any]) -> Self:
        """Return the format with the flags of a serde's settings."""
        from kcodec.formats.json_schema.derive import DRAFTS

        draft = str(config.get("json.schema.spec.version", "draft_7")).lower()
        check_choice("json.schema.spec.version", draft, DRAFTS)
        is_latest = flag(config, "use.latest.version", False) or bool(config.get("use.latest.with.metadata"))
        return replace(
            self,
            validate=flag(config, "json.fail.invalid.schema", False),
            by_reader=is_latest,
            envelope=flag(config, "json.envelope.detection", False),
            indent=flag(config, "json.indent.output", False),
            derived=(
                draft,
                flag(config, "json.oneof.for.nullables", True),
                flag(config, "json.fail.unknown.properties", True),
            ),
        )

    def options_type(self) -> Any:
        """Return `JsonSchemaOptions`."""
        from kcodec.formats.json_schema.types import JsonSchemaOptions

        return JsonSchemaOptions

    def given_text(self, schema: object) -> str:
        """Return the text of a schema that is given as text, or as objects of Python."""
        return schema_text(schema)

    def derived_text(self, kind: pa.DataType) -> str:
        """Return a schema as Confluent's generator makes them of classes."""
        from kcodec.formats.json_schema.derive import derive_text

        draft, nulls, closed = self.derived
        return derive_text(kind, draft=draft, nulls=nulls, closed=closed)

    def named_text(self, kind: pa.DataType, name: str, namespace: str) -> str:
        """Return a schema with a title, as Confluent's generator gives it the name of the class."""
        from kcodec.formats.json_schema.derive import derive_text

        if namespace:
            raise ConfigError("a JSON Schema has no namespace: leave out namespace=")
        draft, nulls, closed = self.derived
        return derive_text(kind, draft=draft, nulls=nulls, closed=closed, title=name)

    def parse(self, text: str, references: Sequence[NamedText] = ()) -> JsonSchema:
        """Read a schema; references are known by their names and by their identifiers."""
        return parse(text, references)

    def canonical(self, schema: JsonSchema) -> str:
        """Print a schema with its keys in their order."""
        return write_tree(schema.document)

    def is_printable(self, schema: JsonSchema) -> bool:
        """Return whether a schema can be printed, which any that was read can."""
        return True

    def normalized(self, schema: JsonSchema) -> str:
        """Print a schema with its keys sorted."""
        return write_tree(sorted_document(schema.document))

    def check_fields(self, schema: JsonSchema) -> None:
        """Refuse properties whose names begin with ``$$``."""
        waiting = [schema.document]
        while waiting:
            part = waiting.pop()
            if isinstance(part, dict):
                properties = part.get("properties")
                for name in properties if isinstance(properties, dict) else ():
                    if name.startswith("$$"):
                        raise SchemaError(f"the name of the property {name} is reserved: it begins with $$")
                waiting += part.values()
            elif isinstance(part, list):
                waiting += part

    def top_fields(self, schema: JsonSchema) -> Collection[str]:
        """Return the names of the properties of the schema itself."""
        document = schema.document
        properties = document.get("properties") if isinstance(document, dict) else None
        return properties.keys() if isinstance(properties, dict) else ()

    def record_name(self, text: str) -> str | None:
        """Return the title of a schema."""
        document = read_document(text)
        title = document.get("title") if isinstance(document, dict) else None
        return title if isinstance(title, str) else None

    def same(self, left: JsonSchema, right: JsonSchema) -> bool:
        """Return whether two schemas are the same but for the order of keys."""
        return self.normalized(left) == self.normalized(right)

    def differences(
        self, reader: JsonSchema, writer: JsonSchema, *, policy: str = "STRICT"
    ) -> list[Difference]:
        """Return why the reader's schema refuses what the writer's accepts, as Confluent's registry has it."""
        return differences(reader.root, writer.root, lenient=policy == "LENIENT")

    def explain(self, difference: Difference, reader: str, writer: str) -> str:
        """Return a difference in the words of Confluent's registry, its quotes and braces included."""
        description = self.describe(difference, reader, writer)
        return f'{{errorType:"{difference.type}", description:"{description}\'}}'

    def describe(self, difference: Difference, reader: str, writer: str) -> str:
        """Return the sentence of Confluent's registry."""
        return describe(difference.type, difference.path, reader, writer)

    def json_text(
        self, schema: JsonSchema, value: bytes, start: int = 0, indexes: tuple[int, ...] = ()
    ) -> str:
        """Return the text of a payload, which is JSON already."""
        try:
            text = value[start:].decode()
        except UnicodeDecodeError as error:
            raise DecodeError(0, start + error.start, "", "invalid_utf8", CODES["invalid_utf8"]) from None
        try:
            json.loads(text, parse_int=str, parse_float=str)
        except json.JSONDecodeError as error:
            offset = start + len(text[: error.pos].encode())
            raise DecodeError(0, offset, "", "json_syntax", f"{CODES['json_syntax']}: {error.msg}") from None
        except RecursionError:
            raise DecodeError(0, start, "", "depth_limit", CODES["depth_limit"]) from None
        return text

    def printer(self, schema: JsonSchema) -> Callable[[pa.Array], list[str | None]]:
        """Return what prints values as documents of a schema."""
        from kcodec.formats.json_schema.codec import JsonSchemaWriter
        from kcodec.formats.json_schema.shape import shape_of

        writer = JsonSchemaWriter(shape_of(schema.documents))

        def documents(array: pa.Array) -> list[str | None]:
            encoded = writer.encode(array)[0].to_pylist()
            return [None if each is None else each.decode() for each in encoded]

        return documents

    def conversions(self, reader: JsonSchema, writer: JsonSchema) -> list[Difference]:
        """Return what Connect's logical types in both mean for values."""
        from kcodec.formats.json_schema.shape import shape_of
        from kcodec.formats.json_schema.written import conversions

        try:
            return conversions(shape_of(reader.documents), shape_of(writer.documents))
        except SchemaError:
            # What has no columns has no values that could be converted.
            return []

    # Payloads

    def writes_nulls(self, array: pa.Array) -> bool:
        """Return whether all are nulls (with ``envelope`` also values with a key ``schema`` and no ``payload``)."""
        from kcodec.formats.json_schema.payloads import unwrapped

        return super().writes_nulls(unwrapped(array) if self.envelope else array)

    def tagged_fields(
        self, schema: JsonSchema, ruled: JsonSchema, kind: pa.DataType, options: JsonSchemaOptions
    ) -> Sequence[TaggedField]:
        """Return the properties of objects, by their paths: ``$.customer.email``."""
        from kcodec.formats.json_schema.tagged import tagged_fields

        return tagged_fields(schema, ruled, kind, options)

    def decoder(self, schema: JsonSchema, options: JsonSchemaOptions, limits: Limits) -> SchemaDecoder:
        """Return what reads documents as those of a schema."""
        from kcodec.formats.json_schema.payloads import DocumentDecoder

        return DocumentDecoder(schema, options, limits, validate=self.validate, by_reader=self.by_reader)

    def encoder(
        self, schema: JsonSchema, given: JsonSchema | None, options: JsonSchemaOptions, limits: Limits
    ) -> SchemaEncoder:
        """Return what writes columns as documents of a schema, whichever one their values have."""
        from kcodec.formats.json_schema.payloads import DocumentEncoder

        return DocumentEncoder(
            schema,
            options,
            limits,
            validate=self.validate,
            envelope=self.envelope,
            indent=self.indent,
        )
