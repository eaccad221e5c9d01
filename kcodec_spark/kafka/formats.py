"""The formats of keys and values: what the options of the source ask for, and what decodes it."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec import ConnectJsonCodec, JsonCodec, JsonSchemaCodec, KsqlCodec
from kcodec.columns.ddl import ddl_type
from kcodec.errors import ConfigError, SchemaError
from kcodec.formats.schema_format import find_schema_format
from kcodec_spark import avro, protobuf
from kcodec_spark.codecs import Place, registry_place
from kcodec_spark.kafka.options import Given
from kcodec_spark.kafka.payload import Payload
from kcodec_spark.options import RowsOptions
from kcodec_spark.types import to_arrow_type

__all__ = ["FORMATS", "FORMAT_OPTIONS", "format_of", "json_type", "payload", "place_of"]

_KSQL = ("DELIMITED", "KAFKA")
#: Settings of Kafka Connect's converter.
_CONNECT = ("schemas.enable", "decimal.format", "replace.null.with.default")
#: Format -> the options that it has beside those of all.
FORMATS: dict[str, tuple[str, ...]] = {
    "AVRO": avro.OPTIONS,
    "PROTOBUF": protobuf.OPTIONS,
    "JSON_SR": (),
    "JSON": (),
    "CONNECT_JSON": _CONNECT,
    **dict.fromkeys(_KSQL, ()),
    "BYTES": (),
}
#: Those of any format.
FORMAT_OPTIONS = tuple(dict.fromkeys(name for names in FORMATS.values() for name in names))


def format_of(given: Given, part: str) -> str | None:
    """Return the format of keys or values; None if they are bytes."""
    text = given.text(f"{part}.format")
    if text is None:
        if others := [name for name in given.names(f"{part}.") if name != "format"]:
            raise ConfigError(f"{part}.{others[0]} needs {part}.format, such as avro")
        return None
    name = text.strip().upper()
    if name not in FORMATS:
        raise ConfigError(f"{part}.format={text!r} is not one of {', '.join(map(str.lower, FORMATS))}")
    known = {"format", "schema", "subject", "fields", "message", *FORMATS[name]}
    for other in given.names(f"{part}."):
        if other not in known:
            raise ConfigError(f"{part}.{other} is no option of {name.lower()}")
    return None if name == "BYTES" else name


def place_of(given: Given, part: str, format: str, topics: Sequence[str]) -> Place | None:
    """Return where the schemas of keys or values are registered, None without a registry."""
    subject, address = given.text(f"{part}.subject"), given.text("schemaRegistryAddress")
    if find_schema_format(format) is None or format == "JSON":
        if subject is not None:
            raise ConfigError(f"{part}.subject: {format.lower()} has no schemas in a registry")
        return None
    if address is None:
        return registry_place(subject, None, given.registry)
    if subject is None:
        if len(topics) != 1:
            raise ConfigError(f"give {part}.subject: there is not one topic that it could be named after")
        subject = f"{topics[0]}-{part}"
    return subject, address, given.registry


def payload(given: Given, part: str, topics: Sequence[str], rows: RowsOptions) -> Payload | None:
    """Return what decodes keys or values; None if they are bytes. `topics` are those that are named."""
    format = format_of(given, part)
    if format is None:
        return None
    codec = _codec(given, part, format, place_of(given, part, format, topics))
    kind = codec.arrow_type
    if part == "key" and kind is not None and not pa.types.is_struct(kind):
        # What is wrong with it has no place.
        rows = rows._replace(corrupt_column=None)
    try:
        return Payload(codec, rows)
    except ConfigError as error:
        raise ConfigError(f"{part}: {error}") from None


def _codec(given: Given, part: str, format: str, place: Place | None) -> Any:
    schema, message = given.text(f"{part}.schema"), given.text(f"{part}.message")
    text = given.text(f"{part}.fields")
    fields = None if text is None else [name.strip() for name in text.split(",") if name.strip()]
    own = {name: value for name, value in given.names(f"{part}.").items() if name in FORMATS[format]}
    if message is not None and format != "PROTOBUF":
        raise ConfigError(f"{part}.message is an option of protobuf")
    if place is None and schema is None:
        raise ConfigError(f"{part}.schema is needed, or schemaRegistryAddress")
    is_key = part == "key"
    match format:
        case "AVRO":
            return avro.avro_codec(schema, own, place, fields)
        case "PROTOBUF":
            return protobuf.protobuf_codec(schema, message, own, place, fields)
        case "JSON_SR":
            return _json_schema_codec(schema, place, fields)
        case "JSON":
            codec: Any = JsonCodec(json_type(str(schema), part))
        case "CONNECT_JSON":
            codec = ConnectJsonCodec(schema, config=own, key=is_key)
        case _:
            codec = KsqlCodec(format, str(schema), key=is_key)
    return codec if fields is None else codec.select(fields)


def _json_schema_codec(schema: str | None, place: Place | None, fields: list[str] | None) -> Any:
    from kcodec_spark.framed import framed_serde

    chosen: dict[str, Any] = {} if fields is None else {"fields": tuple(fields)}
    if place is None:
        return JsonSchemaCodec(str(schema), **chosen)
    return framed_serde("JSON_SR", *place, schema, chosen)


def json_type(text: str, part: str) -> pa.DataType:
    """Return the Arrow type of a type of Spark, as DDL or as JSON."""
    if text.lstrip()[:1] not in ("{", '"'):
        try:
            return ddl_type(text)
        except SchemaError as error:
            raise ConfigError(f"{part}.schema of json: {error}") from None
    from pyspark.sql.types import _parse_datatype_json_value

    try:
        return to_arrow_type(_parse_datatype_json_value(json.loads(text)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, SchemaError):
            raise
        raise ConfigError(
            f"{part}.schema of json is a type of Spark, as DDL such as 'id BIGINT' or as JSON"
        ) from None
