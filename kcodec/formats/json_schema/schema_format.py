"""JSON Schema as a schema format: what registries know of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kcodec.errors import CODES, DecodeError, SchemaError
from kcodec.formats.json_schema.compatibility import differences
from kcodec.formats.json_schema.difference_types import describe
from kcodec.formats.json_schema.document import read_document, sorted_document, write_document
from kcodec.formats.json_schema.schema import JsonSchema, parse
from kcodec.formats.schema_format import Difference, NamedText, SchemaFormat

__all__ = ["JsonSchemaFormat"]


@dataclass(frozen=True)
class JsonSchemaFormat(SchemaFormat):
    """JSON Schema, drafts 4, 6, 7, 2019-09 and 2020-12, as Confluent's registry treats it.

    Examples
    --------
    >>> known = JsonSchemaFormat()
    >>> schema = known.parse('{"type": "number", "maximum": 1e2}')
    >>> known.canonical(schema), known.normalized(schema)
    ('{"type":"number","maximum":1E+2}', '{"maximum":1E+2,"type":"number"}')
    >>> known.differences(schema, known.parse("true"))[0].type
    'TYPE_CHANGED'
    """

    type: ClassVar[str] = "JSON"
    name: ClassVar[str] = "JSON_SR"
    policies: ClassVar[tuple[str, ...]] = ("STRICT", "LENIENT")

    def parse(self, text: str, references: Sequence[NamedText] = ()) -> JsonSchema:
        """Read a schema; references are known by their names and by their identifiers."""
        return parse(text, references)

    def canonical(self, schema: JsonSchema) -> str:
        """Print a schema with its keys in their order."""
        return write_document(schema.document)

    def normalized(self, schema: JsonSchema) -> str:
        """Print a schema with its keys sorted."""
        return write_document(sorted_document(schema.document))

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
