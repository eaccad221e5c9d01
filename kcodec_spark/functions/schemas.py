"""What functions of Spark do for any format whose schemas a registry may have: by its codec, or by a serde.

The table of formats says which codec, and how the functions are called.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec.errors import ConfigError
from kcodec.formats.payloads import SchemaPayloads
from kcodec.formats.schema_format import schema_format
from kcodec.formats.table import FORMATS, load
from kcodec_spark.functions.codecs import check_codec, reader_of, registry_place, writer_of
from kcodec_spark.functions.columns import decoded, encoded
from kcodec_spark.options import read_options, write_options
from kcodec_spark.workers.udf import TypedWriter, Writer

if TYPE_CHECKING:
    from pyspark.sql import Column


def decoded_by_schema(
    format: str,
    data: "Column | str",
    schema: Any,
    options: Mapping[str, Any] | None,
    subject: "str | Column | None",
    address: "str | Column | None",
    arguments: Mapping[str, Any],
    *,
    settings: Mapping[str, Any] | None = None,
    deterministic: bool = False,
) -> "Column":
    """Return the column that decodes another: what ``from_`` functions do.

    The format has its name in the table of formats. `arguments` are those of its codec, or of its options with a
    registry, and `settings` those of the serde besides the options. All others are what the function was called with.
    """
    given = read_options(options)
    place = registry_place(subject, address, {**given.registry, **(settings or {})})
    if place is None:
        codec = schema_codec(format, schema, arguments)
    else:
        # Only here: functions without a registry, and workers, load nothing of one.
        from kcodec_spark.functions.framed import framed_serde

        if schema is not None and not isinstance(schema, (str, dict, int)):
            raise TypeError(
                f"with a registry, the schema to read as is its text, not {type(schema).__name__}"
            )
        codec = framed_serde(format, *place, schema, arguments)
    name = f"from_{FORMATS[format].spark}"
    return decoded(data, reader_of(codec), given.rows, name, deterministic=deterministic)


def encoded_by_schema(
    format: str,
    data: "Column | str | Sequence[Column | str]",
    schema: Any,
    options: Mapping[str, Any] | None,
    subject: "str | Column | None",
    address: "str | Column | None",
    arguments: Mapping[str, Any],
    *,
    settings: Mapping[str, Any] | None = None,
) -> "Column":
    """Return the column that encodes another, or several as one: what ``to_`` functions do.

    Without a schema and a registry, the schema is the one that the format derives from the column's type. The arguments
    are those of `decoded_by_schema`.
    """
    name = f"to_{FORMATS[format].spark}"
    given = write_options(options, name, has_registry=True)
    arguments = {**arguments, **given.codec}
    place = registry_place(subject, address, {**given.registry, **(settings or {})})
    write: Writer | TypedWriter
    if place is not None:
        from kcodec_spark.functions.framed import framed_writer

        if schema is not None and not isinstance(schema, (str, dict)):
            raise TypeError(f"schema is a schema's text, not {type(schema).__name__}")
        write = writer_of(framed_writer(format, *place, schema, arguments))
    elif schema is None:
        write = TypedWriter(
            functools.partial(_derived_writer, schema_format(format), _codec(format), arguments)
        )
    else:
        write = writer_of(schema_codec(format, schema, arguments))
    return encoded(data, write, name, given.rows)


def schema_codec(format: str, schema: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the codec of a schema's text, or `schema` itself if it is a codec or a serde already."""
    if schema is None:
        raise ConfigError("a schema is needed, or subject and schemaRegistryAddress")
    if isinstance(schema, (str, dict, bool)):
        return _codec(format)(schema, **arguments)
    return check_codec(schema, arguments, "schema is a schema's text,")


def _codec(format: str) -> Any:
    place = FORMATS[format].codec
    assert place is not None
    return load(place)


def _derived_writer(
    language: SchemaPayloads, codec: Any, arguments: Mapping[str, Any], kind: pa.DataType
) -> Writer:
    return writer_of(codec(language.derived_text(kind), **arguments))
