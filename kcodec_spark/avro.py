"""``from_avro`` and ``to_avro``: as in Spark, and as in Databricks, without the jar.

They take what ``pyspark.sql.avro.functions`` takes, in the same places, and what Databricks adds to it for a
schema registry. What they return is a `Column` of the session type that is active when they are called.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec import AvroCodec
from kcodec.errors import ConfigError, SchemaError
from kcodec_spark.functions.codecs import (
    WRITTEN,
    RegistryPlace,
    check_codec,
    field_names,
    reader_of,
    registry_place,
    writer_of,
)
from kcodec_spark.functions.columns import decoded, encoded, encoded_by_shape, encoded_within, is_several
from kcodec_spark.options import flag, integer, read_options, write_options
from kcodec_spark.types.arrow import from_arrow_type
from kcodec_spark.types.avro_schemas import CATALYST_TYPE, to_avro_type
from kcodec_spark.types.intervals import without_intervals
from kcodec_spark.workers.udf import TypedWriter, Writer, encode_packed, pack

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Spark's options of Avro.
OPTIONS = (
    "avroSchema",
    "avroSchemaEvolutionMode",
    "recursiveFieldMaxDepth",
    "enableStableIdentifiersForUnionType",
    "stableIdentifierPrefixForUnionType",
    "datetimeRebaseMode",
    "readerSchemaId",
    "readerSchemaVersion",
    "debezium",
    "compat",
)
_MAX_RECURSION = 15


def from_avro(
    data: "Column | str",
    jsonFormatSchema: Any = None,
    options: Mapping[str, Any] | None = None,
    subject: "str | Column | None" = None,
    schemaRegistryAddress: "str | Column | None" = None,
    *,
    fields: Sequence[str] | None = None,
    wide_decimals: str | None = None,
    deterministic: bool = False,
) -> "Column":
    """Decode a column of Avro.

    Parameters
    ----------
    data : Column or str
        Binary column. Null gives null.
    jsonFormatSchema : str, dict, list, codec or serde, optional
        Without a registry: the schema that the values were written with, or a codec or serde
        (`kcodec.AvroCodec`, `kcodec.Serde`). With a registry: the schema to read as.
    options : dict, optional
        ``mode``: FAILFAST (default: a row that cannot be decoded fails the query) or PERMISSIVE (it becomes a
        struct of nulls, as in Spark); ``columnNameOfCorruptRecord``: with PERMISSIVE, a further field with
        ``reason``, ``code``, ``offset``, ``path``, ``schema_id`` and ``bytes`` of such a row;
        ``onRegistryFailure``: with PERMISSIVE, whether a registry that cannot be asked fails the task (``fail``,
        the default), or makes the rows whose schema is missing bad rows (``null``);
        ``avroSchema``: the schema to read as, or from the registry ``readerSchemaId``, ``readerSchemaVersion``;
        ``recursiveFieldMaxDepth``,
        ``enableStableIdentifiersForUnionType``, ``stableIdentifierPrefixForUnionType`` as in Spark;
        ``datetimeRebaseMode`` and Databricks' ``avroSchemaEvolutionMode``, which may be ``CORRECTED`` and ``none``;
        ``debezium``: whether Debezium's dates and times, which ``connect.name`` says, are such (``true``, the default)
        or the numbers and the text of Spark's own function;
        ``compat``: ``avro`` reads bytes and numbers of a logical type that the schema to read as changes as that type,
        as Spark's own function does; by default decimals are converted to its scale, and times to its unit;
        ``frame``: what names the schemas of values, such as ``GLUE``, if not Confluent's ids: see `kcodec.frames`;
        ``confluent.schema.registry.`` and a setting of confluent-kafka's registry client.
    subject, schemaRegistryAddress : str or literal Column, optional
        Subject and address (any that `kcodec.registry.open` takes; without a scheme, http) of the registry:
        the values are framed then, with whatever schema ids, and read as the schema given or else as the
        subject's latest when the query is made. Executors fetch the other schemas when they meet their ids.
    fields : sequence of str, optional
        The only fields to decode, dotted below records (also in arrays, maps and nullable types). The others
        are skipped in the bytes.
    wide_decimals : {"string"}, optional
        Read decimals over 38 digits, which Spark cannot hold, as text.
    deterministic : bool
        Let Spark treat the function as it treats built-in ones: it may then stand in aggregates and join
        conditions, but a filter on its result may decode twice.

    Returns
    -------
    Column
        Of the type that Spark's ``from_avro`` returns, except what Spark does not take from Python: nanosecond
        timestamps are numbers; and Debezium's dates and times.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        When called. A bad row fails the query with `pyspark.errors.PythonException`, whose last line is that
        of the `kcodec.DecodeError`.

    Examples
    --------
    >>> from kcodec_spark import from_avro
    >>> df.select(from_avro("value", '"long"').alias("n"))                              # doctest: +SKIP
    >>> df.select(from_avro("value", subject="orders-value",                            # doctest: +SKIP
    ...                     schemaRegistryAddress="http://registry:8081").alias("order"))
    """
    settings = read_options(options, OPTIONS)
    place = registry_place(subject, schemaRegistryAddress, settings.registry)
    codec = avro_codec(jsonFormatSchema, settings.format, place, fields, wide_decimals)
    return decoded(data, reader_of(codec), settings.rows, "from_avro", deterministic=deterministic)


def to_avro(
    data: "Column | str | Sequence[Column | str]",
    jsonFormatSchema: Any = "",
    subject: "str | Column | None" = None,
    schemaRegistryAddress: "str | Column | None" = None,
    options: Mapping[str, Any] | None = None,
) -> "Column":
    """Encode a column, or several as one record, as Avro.

    Parameters
    ----------
    data : Column or str or sequence of these
        What to encode, such as ``struct("*")``; null gives null. Several columns are what ``struct`` of them
        is.
    jsonFormatSchema : str, dict, list, codec or serde, optional
        The schema to write as, or a codec or serde. Without one the schema is derived from the
        column's type, as Spark does; with a registry, it is the subject's latest.
    subject, schemaRegistryAddress : str or literal Column, optional
        Subject and address of the registry: each value is framed with the id that the schema has there. A
        schema that is not registered under the subject is an error, unless registering is asked for.
    options : dict, optional
        ``mode``: FAILFAST (default: a value that cannot be written fails the query) or PERMISSIVE (it becomes
        null); ``columnNameOfCorruptRecord``: with PERMISSIVE, the result is a struct of ``value`` and this field,
        which has ``reason``, ``code``, ``path`` and ``schema_id`` of such a row; ``round``: ``error`` (default: a
        time that the schema's type does not hold exactly cannot be written) or ``truncate`` (it becomes the one
        before that it does, as in Spark); ``frame``, as for `from_avro` (with one whose ids are no numbers,
        ``schema_id`` is null); ``confluent.schema.registry.`` and a setting of confluent-kafka's registry client, or
        ``auto.register.schemas`` or ``use.schema.id``.

    Returns
    -------
    Column
        Binary.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        When called. A value that cannot be written fails the query with `pyspark.errors.PythonException`.

    Examples
    --------
    >>> from kcodec_spark import to_avro
    >>> df.select(to_avro(struct("*")))                                                 # doctest: +SKIP
    >>> df.select(to_avro(["id", "name"], schema))                                      # doctest: +SKIP
    """
    settings = write_options(options, "to_avro", has_registry=True)
    place = registry_place(subject, schemaRegistryAddress, settings.registry)
    schema = None if isinstance(jsonFormatSchema, str) and not jsonFormatSchema else jsonFormatSchema
    if schema is None and place is None:
        derived = TypedWriter(functools.partial(derived_writer, settings.codec))
        if is_several(data):
            return encoded_by_shape(data, functools.partial(_encode_shape, derived), "to_avro", settings.rows)
        return encoded_within(data, functools.partial(_encode_within, derived), "to_avro", settings.rows)
    known = _schema_writer(schema, place, settings.codec)
    if is_several(data):
        return encoded_by_shape(data, functools.partial(encode_packed, known), "to_avro", settings.rows)
    if CATALYST_TYPE in str(schema):
        # An interval of months, if it is one, has no array of its own.
        return encoded_within(data, functools.partial(_encode_only, known), "to_avro", settings.rows)
    return encoded(data, known, "to_avro", settings.rows)


def avro_codec(
    schema: Any,
    given: Mapping[str, Any],
    place: RegistryPlace | None,
    fields: Sequence[str] | None,
    wide_decimals: str | None = None,
) -> Any:
    """Return the codec or serde that decodes Avro, by what `from_avro` takes: `given` are its options of Avro."""
    codec_options = _codec_options(given)
    if fields is not None:
        codec_options["fields"] = field_names(fields)
    if wide_decimals is not None:
        codec_options["wide_decimals"] = wide_decimals
    option, text = _reader_schema(given, schema, place is not None)
    if place is not None:
        text = schema if text is None else text
        if text is not None and not isinstance(text, (str, dict, list, int)):
            raise TypeError(f"with a registry, the schema to read as is its text, not {type(text).__name__}")
        # Only here: functions without a registry, and workers, load nothing of one.
        from kcodec_spark.functions.framed import framed_serde

        return framed_serde("AVRO", *place, text, codec_options)
    if isinstance(schema, (str, dict, list)):
        return AvroCodec(schema, text, **codec_options)
    return check_codec(schema, codec_options if text is None else {**codec_options, option: text})


def _reader_schema(given: Mapping[str, Any], schema: Any, has_registry: bool) -> tuple[str, Any]:
    """Return the option that says which schema to read as, and what it says."""
    names = [name for name in ("avroSchema", "readerSchemaId", "readerSchemaVersion") if name in given]
    if not names:
        return "avroSchema", None
    name = names[0]
    if len(names) > 1:
        raise ConfigError(
            f"{' and '.join(names)} are both given: only one of them may say which schema to read as"
        )
    if name == "avroSchema":
        return name, given[name]
    if not has_registry:
        raise ConfigError(f"{name} needs subject and schemaRegistryAddress")
    if schema is not None:
        raise ConfigError(f"jsonFormatSchema and {name}: only one of them says which schema to read as")
    number = integer(given, name)
    if number < 1:
        raise ConfigError(f"{name} {given[name]!r} is not a number from 1 on")
    return name, number if name == "readerSchemaId" else f"version:{number}"


def _codec_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return Spark's options as those of `kcodec.AvroCodec`."""
    if str(given.get("avroSchemaEvolutionMode", "none")).lower() != "none":
        raise ConfigError(
            f"avroSchemaEvolutionMode {given['avroSchemaEvolutionMode']!r}: only none is supported, "
            "the reader's schema stays what it was when the query was made"
        )
    if str(given.get("datetimeRebaseMode", "CORRECTED")).upper() != "CORRECTED":
        raise ConfigError(
            f"datetimeRebaseMode {given['datetimeRebaseMode']!r}: only CORRECTED is supported, "
            "dates and times are what they are in the proleptic Gregorian calendar"
        )
    options: dict[str, Any] = {}
    depth = integer(given, "recursiveFieldMaxDepth")
    if depth > _MAX_RECURSION:
        raise ConfigError(f"recursiveFieldMaxDepth {depth} is more than {_MAX_RECURSION}")
    if depth > 0:
        options["recursive_depth"] = depth
    if flag(given, "enableStableIdentifiersForUnionType"):
        options["union_members"] = "type"
        options["union_prefix"] = str(given.get("stableIdentifierPrefixForUnionType", "member_"))
    if "compat" in given:
        options["compat"] = given["compat"]
    if not flag(given, "debezium", default=True):
        options["debezium"] = False
    return options


def _schema_writer(schema: Any, place: RegistryPlace | None, codec_options: Mapping[str, Any]) -> Writer:
    """Return what encodes values of a schema, by default the registry's latest."""
    if place is not None:
        if schema is not None and not isinstance(schema, (str, dict, list)):
            raise TypeError(f"jsonFormatSchema is a schema's text, not {type(schema).__name__}")
        from kcodec_spark.functions.framed import framed_writer

        return writer_of(framed_writer("AVRO", *place, schema, codec_options), writes_intervals=True)
    if isinstance(schema, (str, dict, list)):
        return writer_of(AvroCodec(schema, **WRITTEN, **codec_options))
    return writer_of(check_codec(schema, codec_options), writes_intervals=True)


def derived_writer(options: Mapping[str, Any], item: pa.Field) -> Writer:
    """Return what encodes by the schema that Spark's ``to_avro`` derives where none is given."""
    return writer_of(AvroCodec(to_avro_type(from_arrow_type(item.type), item.nullable), **options))


def _encode_shape(write: TypedWriter, shape: pa.Array, *columns: pa.Array, errors: str = "raise") -> Any:
    return write(pack(shape, columns), shape.type.value_field, errors=errors)


def _encode_within(write: TypedWriter, within: pa.Array, *, errors: str = "raise") -> Any:
    # The type is the one that intervals still have.
    return write(_only(within), within.type.field(0), errors=errors)


def _encode_only(write: Writer, within: pa.Array, *, errors: str = "raise") -> Any:
    return write(_only(within), errors=errors)


def _only(within: pa.Array) -> pa.Array:
    """Return the only field of a struct that is never null."""
    if within.type.num_fields != 1:
        raise SchemaError(f"{within.type.num_fields} columns where one is written: give * within a struct")
    return without_intervals(within).field(0)
