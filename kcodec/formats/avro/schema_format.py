"""Avro as a schema format: what registry, serde and Spark functions know of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kcodec.errors import ConfigError, SchemaError
from kcodec.formats.avro.changes.compatibility import differences
from kcodec.formats.avro.changes.losses import losses
from kcodec.formats.avro.schema.fingerprint import fingerprint
from kcodec.formats.avro.schema.model import PRIMITIVES, Schema, canonical, same
from kcodec.formats.avro.schema.normalization import normalized
from kcodec.formats.avro.schema.parse import load, parse_ordered
from kcodec.formats.language import Difference, NamedText
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder, flag
from kcodec.formats.schema_format import SchemaFormat
from kcodec.formats.tagged import TaggedField

if TYPE_CHECKING:
    # A registry needs no Arrow.
    import pyarrow as pa
    from typing_extensions import Self

    from kcodec.formats.avro.schema.types import AvroOptions
    from kcodec.plan import Limits


#: What the server says of each type of difference.
_SENTENCES = {
    "NAME_MISMATCH": "The name of the schema has changed (path '{path}')",
    "FIXED_SIZE_MISMATCH": "The size of FIXED type field at path '{path}' in the {reader} schema does not match with "
    "the {writer} schema",
    "MISSING_ENUM_SYMBOLS": "The {reader} schema is missing enum symbols '{message}' at path '{path}' in the "
    "{writer} schema",
    "READER_FIELD_MISSING_DEFAULT_VALUE": "The field '{message}' at path '{path}' in the {reader} schema has no "
    "default value and is missing in the {writer} schema",
    "TYPE_MISMATCH": "The type (path '{path}') of a field in the {reader} schema does not match with the {writer} "
    "schema",
    "MISSING_UNION_BRANCH": "The {reader} schema is missing a type inside a union field at path '{path}' in the "
    "{writer} schema",
    "AMBIGUOUS_FIELD": "The field at path '{path}' in the {reader} schema matches several fields of the {writer} "
    "schema",
}


class ParsedSchema(NamedTuple):
    """A schema, its text, the names of the types that other texts define at their roots, and these texts.

    If they are `in_order`, no type is used before its definition.
    """

    text: str
    root: Schema
    references: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    in_order: bool = False


@dataclass(frozen=True)
class AvroFormat(SchemaFormat):
    """Avro, as Confluent's registry and serializers treat it.

    >>> avro = AvroFormat()
    >>> avro.canonical(avro.parse('{"type": "int"}'))
    '"int"'
    >>> avro.differences(avro.parse('"int"'), avro.parse('"long"'))[0].type
    'TYPE_MISMATCH'
    """

    type: ClassVar[str] = "AVRO"
    name: ClassVar[str] = "AVRO"
    options_name: ClassVar[str] = "kcodec.AvroOptions"
    settings: ClassVar[Mapping[str, str]] = {
        "avro.fail.on.trailing.data": "bytes after a value are an error of its row (default false)",
        "avro.remove.java.properties": "register schemas without avro.java.string (default false)",
        "avro.use.logical.type.converters": "accepted: columns always have the types of logical types",
        "avro.reflection.allow.null": "accepted: there are no Java classes here",
        "specific.avro.reader": "accepted: there are no Java classes here",
        "schema.reflection": "accepted: there are no Java classes here",
    }

    fail_on_trailing: bool = False
    remove_java: bool = False
    #: Whether values that are printed have decimals as numbers, not as their bytes.
    decimals_as_numbers: bool = False

    def configured(self, config: Mapping[str, Any]) -> Self:
        """Return the format with the flags of a serde's settings."""
        return replace(
            self,
            fail_on_trailing=flag(config, "avro.fail.on.trailing.data", False),
            remove_java=flag(config, "avro.remove.java.properties", False),
        )

    def options_type(self) -> Any:
        """Return `AvroOptions`."""
        from kcodec.formats.avro.schema.types import AvroOptions

        return AvroOptions

    def parse(self, text: str, references: Sequence[NamedText] = ()) -> ParsedSchema:
        """Parse a schema; references are known by the names in their texts."""
        return self._parsed(text, references, True)

    def parse_known(self, text: str, references: Sequence[NamedText] = ()) -> ParsedSchema:
        """Parse a schema without a look at its defaults, and at the names of aliases."""
        return self._parsed(text, references, False)

    def _parsed(self, text: str, references: Sequence[NamedText], strict: bool) -> ParsedSchema:
        texts = tuple(each.text for each in references)
        (*named, root), in_order = parse_ordered([*texts, text], strict=strict)
        return ParsedSchema(text, root, tuple(each.name for each in named), texts, in_order)

    def canonical(self, schema: ParsedSchema) -> str:
        """Print a schema as the server does; types that other texts define only deeper down are written out."""
        return self._printed(schema, schema.references)

    def is_printable(self, schema: ParsedSchema) -> bool:
        """Return whether the text is JSON of a schema, and no type is used before it is defined."""
        return schema.in_order and self._is_json(schema)

    def normalized(self, schema: ParsedSchema) -> str:
        """Print a schema with attributes and aliases sorted, defaults as values of their types."""
        self.canonical(schema)
        return normalized(schema.root, schema.texts, schema.references)

    def resolved(self, schema: ParsedSchema) -> str:
        """Print a schema with the types of all references written out."""
        return self._printed(schema, ())

    def printed(self, schema: ParsedSchema, form: str) -> str:
        """Return the canonical text, or that with all references written out (``resolved``)."""
        return self.resolved(schema) if form == "resolved" else self.canonical(schema)

    def _printed(self, schema: ParsedSchema, known: Sequence[str]) -> str:
        if not self._is_json(schema):
            raise SchemaError("not JSON that can be a schema")
        return canonical(schema.root, known)

    def _is_json(self, schema: ParsedSchema) -> bool:
        # Not the bare name of a type. A comment may stand first, such as a licence.
        return schema.text.lstrip().startswith(("{", "[", '"', "/"))

    def fingerprint(self, schema: ParsedSchema) -> bytes:
        """Return the CRC-64-AVRO of the parsing canonical form, least significant byte first."""
        return fingerprint(schema.root)

    def top_fields(self, schema: ParsedSchema) -> Collection[str]:
        """Return the names of a record's fields."""
        return [each.name for each in schema.root.fields]

    def record_name(self, text: str) -> str | None:
        """Return the full name of a record; None of any other type."""
        parsed = load(text)
        if isinstance(parsed, dict) and parsed.get("type") in ("record", "error"):
            name, space = parsed.get("name"), parsed.get("namespace")
            if isinstance(name, str) and name:
                return f"{space}.{name}" if isinstance(space, str) and space and "." not in name else name
        return None

    def given_text(self, schema: object) -> str:
        """Return JSON text of what a user gives: text, the bare name of a primitive type, a dict or a list."""
        if isinstance(schema, str):
            return json.dumps(schema.strip()) if schema.strip() in PRIMITIVES else schema
        if isinstance(schema, (dict, list)):
            from kcodec.formats.avro.codec import schema_text

            return schema_text(schema)
        raise ConfigError(f"a schema is JSON text, a dict, a list or a Schema, not {type(schema).__name__}")

    def written_text(self, text: str) -> str:
        """Leave out ``avro.java.string``, if ``avro.remove.java.properties`` asks for that."""
        if not self.remove_java:
            return text
        try:
            return json.dumps(_without_java(load(text)), ensure_ascii=False)
        except RecursionError:
            raise SchemaError("the schema is nested too deeply") from None

    def derived_text(self, kind: pa.DataType) -> str:
        """Return the schema of a column, with the root record named ``topLevelRecord``."""
        from kcodec.formats.avro.schema.types import derive_schema

        return json.dumps(derive_schema(kind))

    def named_text(self, kind: pa.DataType, name: str, namespace: str) -> str:
        """Return the schema of a column, with the root record of this name; only a record has one."""
        import pyarrow as pa

        from kcodec.formats.avro.schema.types import ROOT, derive_schema

        if not pa.types.is_struct(kind):
            raise SchemaError(f"a name is one of a record, which {kind} is not")
        return json.dumps(derive_schema(kind, name or ROOT, namespace=namespace), ensure_ascii=False)

    def printer(self, schema: Any) -> Callable[[pa.Array], list[str | None]] | None:
        """Return what prints values in Avro's JSON encoding."""
        from kcodec.formats.avro.json.writer import json_lines

        return lambda array: json_lines(array, schema.root, decimals=self.decimals_as_numbers)

    def line_reader(self, schema: ParsedSchema) -> Callable[[list[bytes]], pa.Array] | None:
        """Return what reads lines of Avro's JSON encoding in which a union's value names its type."""
        from kcodec.formats.avro.codec import AvroCodec
        from kcodec.formats.avro.json.reader import tagged_lines

        payloads = tagged_lines(schema.root)
        if payloads is None:
            return None
        codec = AvroCodec(self.resolved(schema))
        return lambda lines: codec.decode(payloads(lines))

    def json_text(
        self, schema: ParsedSchema, value: bytes, start: int = 0, indexes: tuple[int, ...] = ()
    ) -> str:
        """Return a value in Avro's JSON encoding, but with decimals as numbers, for people to read.

        Bytes behind it are an error, whatever the settings say.
        """
        strict = replace(self, fail_on_trailing=True, decimals_as_numbers=True)
        return super(AvroFormat, strict).json_text(schema, value, start, indexes)

    def console_text(
        self, schema: ParsedSchema, value: bytes, start: int = 0, indexes: tuple[int, ...] = ()
    ) -> str:
        """Return a value in Avro's JSON encoding, with decimals as their bytes."""
        return super(AvroFormat, replace(self, fail_on_trailing=True)).json_text(
            schema, value, start, indexes
        )

    def same(self, left: ParsedSchema, right: ParsedSchema) -> bool:
        """Return whether two schemas are equal as Avro Java's ``Schema.equals`` has it."""
        return same(left.root, right.root)

    def differences(
        self, reader: ParsedSchema, writer: ParsedSchema, *, policy: str = "STRICT"
    ) -> list[Difference]:
        """Compare two schemas as Avro Java's ``SchemaCompatibility`` does."""
        return differences(reader.root, writer.root)

    def losses(self, reader: ParsedSchema, writer: ParsedSchema) -> list[Difference]:
        """Return what is rounded, or read as an enum's default, where the schemas are compatible."""
        return losses(reader.root, writer.root)

    def conversions(self, reader: ParsedSchema, writer: ParsedSchema) -> list[Difference]:
        """Return what the logical types of both mean for values: see `kcodec.formats.avro.changes.logical_types`."""
        # With Arrow, which a registry does not need.
        from kcodec.formats.avro.changes.logical_types import conversions

        return conversions(reader.root, writer.root)

    def explain(self, difference: Difference, reader: str, writer: str) -> str:
        """Return a difference in the words of Confluent's registry, its quotes and braces included."""
        sentence = self.describe(difference, reader, writer)
        return f"{{errorType:'{difference.type}', description:'{sentence}', additionalInfo:'{difference.message}'}}"

    def describe(self, difference: Difference, reader: str, writer: str) -> str:
        """Return the sentence of Confluent's registry."""
        kind, path, message = difference
        return _SENTENCES[kind].format(path=path, message=message, reader=reader, writer=writer)

    def tagged_fields(
        self, schema: ParsedSchema, ruled: ParsedSchema, kind: pa.DataType, options: AvroOptions
    ) -> Sequence[TaggedField]:
        """Return the fields of records, by their full names."""
        from kcodec.formats.avro.tagged import tagged_fields

        return tagged_fields(schema.root, ruled.root, kind, options)

    def decoder(self, schema: ParsedSchema, options: AvroOptions, limits: Limits) -> SchemaDecoder:
        """Return what reads payloads as a schema; the root type bytes is read as binary, whatever its logical type."""
        from kcodec.formats.avro.payloads import AvroDecoder

        if schema.root.type == "bytes":
            schema = self.parse('"bytes"')
        trailing = not self.fail_on_trailing
        return AvroDecoder(schema.text, schema.root, options, limits, trailing=trailing)

    def encoder(
        self, schema: ParsedSchema, given: ParsedSchema | None, options: AvroOptions, limits: Limits
    ) -> SchemaEncoder:
        """Return what writes columns as a schema; values of another are resolved as Avro has it."""
        from kcodec.formats.avro.payloads import AvroEncoder, BytesEncoder

        encoder = BytesEncoder if schema.root.type == "bytes" else AvroEncoder
        return encoder(schema.root, None if given is None else given.root, options, limits)


def _without_java(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_java(each) for each in node]
    if isinstance(node, dict):
        return {key: _without_java(each) for key, each in node.items() if key != "avro.java.string"}
    return node
