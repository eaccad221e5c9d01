"""Readers and writers by a codec or a serde, and where the schemas of a registry are."""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec import AvroCodec, MessageCodec
from kcodec.errors import ConfigError
from kcodec.formats.avro.schema.model import Schema
from kcodec_spark.session import is_column
from kcodec_spark.types.intervals import marked_schema, read_durations, with_durations, without_intervals
from kcodec_spark.workers.udf import Reader, Writer

#: How many messages an error names.
_MOST_NAMES = 8

#: Subject, address and settings of a registry.
RegistryPlace = tuple[str, str, Mapping[str, Any]]


#: What codecs are made with that only write: what contains itself is written to whatever depth its column has, and the
#: number is for columns that are read.
WRITTEN: Mapping[str, Any] = {"recursive_depth": 1}


class Decoding(NamedTuple):
    """What decodes a column."""

    read: Reader | Callable[..., Any]
    #: Type of its result.
    arrow_type: pa.DataType
    #: The reader's schema, if it may have types that Spark marked.
    marked: Schema | None = None
    #: Whether errors have schema ids as text.
    text_ids: bool = False


def registry_place(subject: Any, address: Any, settings: Mapping[str, Any]) -> RegistryPlace | None:
    """Return where a function's schemas are registered, or None without a registry."""
    subject = _text("subject", subject)
    address = _text("schemaRegistryAddress", address)
    if subject is not None and address is not None:
        return subject, address, settings
    if subject is not None or address is not None:
        raise ConfigError("subject and schemaRegistryAddress are given together, or neither")
    if "frame" in settings:
        raise ConfigError(
            "frame needs subject and schemaRegistryAddress, or give a kcodec.Serde with a frame as the schema"
        )
    if settings:
        raise ConfigError("settings of a registry without subject and schemaRegistryAddress")
    return None


def _text(name: str, value: Any) -> str | None:
    """Return an argument that is text, or a literal of it, as Databricks' Scala functions have it."""
    if value is None or isinstance(value, str):
        return value
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if is_column(value):
        try:
            # Spark answers it without a job.
            found = SparkSession.active().sql("SELECT 1").select(value).collect()[0][0]
        except PySparkException:
            found = value
        if isinstance(found, str):
            return found
    raise TypeError(f"{name} is a str or a literal of one, not {type(value).__name__}")


def reader_of(codec: Any) -> Decoding:
    """Return what decodes with a codec or a serde."""
    if _has_versions(codec) and codec.header not in ("version", "request"):
        raise ConfigError(
            f"{codec.spec.name} has several versions: give the version, or the column that has it"
        )
    is_serde = hasattr(codec, "deserialize")
    kind = known_type(codec, "messageName")
    frame = getattr(codec, "frame", None)
    if frame is not None and frame.header:
        raise ConfigError(
            f"{frame!r} stands in a header of the record: read the topic by spark.read.format('kcodec_kafka')"
        )
    read = codec.deserialize if is_serde else codec.decode
    text = getattr(codec, "reader_schema", None)
    marked = marked_schema(text) if isinstance(text, str) else None
    if marked is not None:
        durations = with_durations(kind, marked)
        if durations != kind:
            read, kind = functools.partial(read_durations, read, durations), durations
    return Decoding(read, kind, marked, text_ids=frame is not None and frame.has_text_ids)


def known_type(codec: Any, option: str) -> pa.DataType:
    """Return the type that a codec or serde reads; `option` is what chooses among several messages of its schema."""
    kind = codec.arrow_type
    if kind is not None:
        return kind
    is_serde = hasattr(codec, "deserialize")
    missing = "the serde a reader_schema" if is_serde else "a schema"
    names = codec.message_names if is_serde else []
    if names:
        listed = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
        missing = f"{option}, one message of {listed}, or several, which are fields then"
    raise ConfigError(f"Spark must know the type before the first value: give {missing}")


def writer_of(codec: Any, *, writes_intervals: bool = False) -> Writer:
    """Return what encodes with a codec or a serde; an `AvroCodec`, or any if so asked, writes intervals as numbers."""
    if _has_versions(codec):
        raise ConfigError(f"{codec.spec.name} has several versions: give a codec of one of them")
    if getattr(codec, "writes_headers", False):
        raise ConfigError(
            "the schema id goes to a header of the record: write the topic by df.write.format('kcodec_kafka')"
        )
    write: Writer = codec.serialize if hasattr(codec, "serialize") else codec.encode
    # As Spark's to_avro does; other formats have no numbers for intervals.
    writes_intervals = writes_intervals or isinstance(codec, AvroCodec)
    return functools.partial(_write_numbers, write) if writes_intervals else write


def _write_numbers(write: Writer, array: pa.Array, *, errors: str = "raise") -> Any:
    return write(without_intervals(array), errors=errors)


def _has_versions(codec: Any) -> bool:
    return isinstance(codec, MessageCodec) and len(codec.versions) > 1


def is_codec(given: Any) -> bool:
    """Return whether something is a codec or a serde."""
    # A column of Spark has attributes of all names, its class has not.
    kind = type(given)
    return not isinstance(given, (bytes, bytearray)) and (
        hasattr(kind, "decode") or hasattr(kind, "deserialize")
    )


def field_names(fields: Any) -> tuple[str, ...]:
    """Return the names given as ``fields=``, which may be a single text."""
    if not isinstance(fields, Iterable):
        raise TypeError(f"fields is a sequence of str, not {type(fields).__name__}")
    return (fields,) if isinstance(fields, str) else tuple(fields)


def check_codec(
    codec: Any, options: Mapping[str, Any], name: str = "jsonFormatSchema is a schema's text,"
) -> Any:
    """Return `codec`, checked to be a codec or serde, and to come without options that it would ignore."""
    if not is_codec(codec):
        raise TypeError(f"{name} a codec or a serde, not {type(codec).__name__}")
    if options:
        raise ConfigError(f"{', '.join(options)}: to be given to the {type(codec).__name__} itself")
    return codec
