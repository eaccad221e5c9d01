"""The languages of the schemas that are in a registry, as formats of ksqlDB use them."""

from collections.abc import Mapping
from typing import Any, Protocol

from kcodec.formats.ksql.avro import VALUE_NAME, KsqlAvroFormat, key_name
from kcodec.formats.ksql.json_sr import KsqlJsonSchemaFormat
from kcodec.formats.ksql.protobuf import KsqlProtobufFormat
from kcodec.formats.ksql.source import Source
from kcodec.formats.ksql.types import RowOptions
from kcodec.formats.schema_format import SchemaFormat

__all__ = ["Language", "language"]


class Language(Protocol):
    """What is asked of a `SchemaFormat` here beside its own methods."""

    def text(self) -> str:
        """Return the schema that is registered for the columns."""

    def source(self, schema: Any) -> Source:
        """Return a parsed schema in Connect's types."""

    def definitions(self, schema: Any) -> list[str]:
        """Return the names of what a schema defines, where one of them has to be chosen."""


def language(
    name: str, rows: RowOptions | None, properties: Mapping[str, str], *, key: bool, source: str | None
) -> SchemaFormat:
    """Return the language of a format for rows; without them, only to look at schemas.

    Avro's record of keys is named after the `source`, a stream or table.
    """
    full_name = properties.get("fullSchemaName", "").strip()
    if name == "JSON_SR":
        return KsqlJsonSchemaFormat(rows=rows)
    if name == "PROTOBUF":
        return KsqlProtobufFormat(
            rows=rows,
            record=full_name,
            nullable=properties.get("nullableRepresentation", ""),
            # As statements have it; those of old servers do not.
            unwraps=properties.get("unwrapPrimitives", "true").lower() == "true",
        )
    default = key_name(source) if key and source is not None else VALUE_NAME
    return KsqlAvroFormat(rows=rows, record=full_name or default)
