"""What decodes and encodes: a given codec or serde, a codec of a schema's text, or the schemas of a registry."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kcodec import MessageCodec
from kcodec.errors import ConfigError
from kcodec_spark.udf import Reader, Writer

__all__ = [
    "Place",
    "check_codec",
    "reader_of",
    "registry_place",
    "schema_reader",
    "schema_writer",
    "writer_of",
]

#: Subject, address and settings of a registry.
Place = tuple[str, str, Mapping[str, Any]]


def registry_place(subject: str | None, address: str | None, settings: Mapping[str, Any]) -> Place | None:
    """Return where a function's schemas are registered, or None without a registry."""
    for name, value in (("subject", subject), ("schemaRegistryAddress", address)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is a str, not {type(value).__name__}")
    if subject is not None and address is not None:
        return subject, address, settings
    if subject is not None or address is not None:
        raise ConfigError("subject and schemaRegistryAddress are given together, or neither")
    if settings:
        raise ConfigError("settings of a registry without subject and schemaRegistryAddress")
    return None


def schema_reader(
    format: str,
    codec_class: type,
    schema: Any,
    reader_schema: tuple[str, Any],
    codec_options: Mapping[str, Any],
    place: Place | None,
) -> tuple[Reader, pa.DataType]:
    """Return what decodes values of a schema, and the Arrow type of its result.

    `format` is that of a serde for the registry. `schema` is the writer's schema, or a codec or serde; with a
    registry, the reader's schema. That may also be given as an option, in `reader_schema`: the option's name and its
    value, or None. `codec_class` makes a codec of the writer's schema, the reader's schema or None, and
    `codec_options`.
    """
    option, text = reader_schema
    if place is not None:
        text = schema if text is None else text
        if text is not None and not isinstance(text, str):
            raise TypeError(f"with a registry, the schema to read as is its text, not {type(text).__name__}")
        # Only here: functions without a registry, and workers, load nothing of one.
        from kcodec_spark.framed import framed_reader

        return framed_reader(format, *place, text, codec_options)
    if isinstance(schema, str):
        return reader_of(codec_class(schema, text, **codec_options))
    return reader_of(check_codec(schema, codec_options if text is None else {**codec_options, option: text}))


def schema_writer(format: str, codec_class: type, schema: Any, place: Place | None) -> Writer:
    """Return what encodes values of a schema; without one, of the registry's latest."""
    if place is not None:
        if schema is not None and not isinstance(schema, str):
            raise TypeError(f"jsonFormatSchema is a schema's text, not {type(schema).__name__}")
        from kcodec_spark.framed import framed_writer

        writer: Writer = framed_writer(format, *place, schema)
        return writer
    return writer_of(codec_class(schema) if isinstance(schema, str) else check_codec(schema, {}))


def reader_of(codec: Any) -> tuple[Reader, pa.DataType]:
    """Return what decodes with a codec or a serde, and the Arrow type of what it returns."""
    if _has_versions(codec) and codec.header not in ("version", "request"):
        raise ConfigError(
            f"{codec.spec.name} has several versions: give the version, or the column that has it"
        )
    is_serde = hasattr(codec, "deserialize")
    if codec.arrow_type is None:
        missing = "the serde a reader_schema" if is_serde else "a schema"
        raise ConfigError(f"Spark must know the type before the first value: give {missing}")
    return (codec.deserialize if is_serde else codec.decode), codec.arrow_type


def writer_of(codec: Any) -> Writer:
    """Return what encodes with a codec or a serde."""
    if _has_versions(codec):
        raise ConfigError(f"{codec.spec.name} has several versions: give a codec of one of them")
    writer: Writer = codec.serialize if hasattr(codec, "serialize") else codec.encode
    return writer


def _has_versions(codec: Any) -> bool:
    return isinstance(codec, MessageCodec) and len(codec.versions) > 1


def check_codec(
    codec: Any, options: Mapping[str, Any], name: str = "jsonFormatSchema is a schema's text,"
) -> Any:
    """Return `codec`, checked to be a codec or serde, and to come without options that it would not heed."""
    if isinstance(codec, (str, bytes, type)) or not (
        hasattr(codec, "decode") or hasattr(codec, "deserialize")
    ):
        raise TypeError(f"{name} a codec or a serde, not {type(codec).__name__}")
    if options:
        raise ConfigError(f"{', '.join(options)}: to be given to the {type(codec).__name__} itself")
    return codec
