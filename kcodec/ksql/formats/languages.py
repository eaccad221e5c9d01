"""The languages of the schemas that are in a registry, as formats of ksqlDB use them.

They are loaded when they are asked for: other formats need neither them nor NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kcodec.java.blanks import trim
from kcodec.ksql.types import RowOptions

if TYPE_CHECKING:
    from kcodec.ksql.formats.avro.schema_format import KsqlAvroFormat
    from kcodec.ksql.formats.json_sr.schema_format import KsqlJsonSchemaFormat
    from kcodec.ksql.formats.protobuf.schema_format import KsqlProtobufFormat

    #: What is asked of these beside the methods of every schema format: ``text`` is the schema that is registered,
    #: ``source`` a parsed one in Connect's types, ``definitions`` the names of what has to be chosen from in one.
    Language = KsqlAvroFormat | KsqlProtobufFormat | KsqlJsonSchemaFormat


def language(
    name: str, rows: RowOptions | None, properties: Mapping[str, str], *, is_key: bool, source: str | None
) -> Language:
    """Return the language of a format for rows; without them, only to look at schemas.

    Avro's record of keys is named after the `source`, a stream or table.
    """
    full_name = trim(properties.get("fullSchemaName", ""))
    if name == "JSON_SR":
        from kcodec.ksql.formats.json_sr.schema_format import KsqlJsonSchemaFormat

        return KsqlJsonSchemaFormat(rows=rows)
    if name == "PROTOBUF":
        from kcodec.ksql.formats.protobuf.schema_format import KsqlProtobufFormat

        return KsqlProtobufFormat(
            rows=rows,
            record=full_name,
            nullable=properties.get("nullableRepresentation", ""),
            # As statements have it; those of old servers do not.
            unwraps=properties.get("unwrapPrimitives", "true").lower() == "true",
        )
    from kcodec.ksql.formats.avro.schema_format import VALUE_NAME, KsqlAvroFormat, key_name

    default = key_name(source) if is_key and source is not None else VALUE_NAME
    return KsqlAvroFormat(rows=rows, record=full_name or default)
