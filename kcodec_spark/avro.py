"""``from_avro`` and ``to_avro``: as in Spark, and as in Databricks, without the jar.

They take what ``pyspark.sql.avro.functions`` takes, in the same places, and what Databricks adds to it for a
schema registry. What they return is a `Column` of the session type that is active when they are called.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec import AvroCodec
from kcodec.errors import ConfigError
from kcodec_spark.codecs import registry_place, schema_reader, schema_writer
from kcodec_spark.columns import decoded, encoded, encoded_by_shape, is_several
from kcodec_spark.options import flag, integer, read_options, write_options
from kcodec_spark.types import from_arrow_type, to_avro_type
from kcodec_spark.udf import TypedWriter, Writer, encode_packed, pack

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["from_avro", "to_avro"]

#: Spark's options of Avro.
_OPTIONS = (
    "avroSchema",
    "avroSchemaEvolutionMode",
    "recursiveFieldMaxDepth",
    "enableStableIdentifiersForUnionType",
    "stableIdentifierPrefixForUnionType",
)
_MAX_RECURSION = 15


def from_avro(
    data: "Column | str",
    jsonFormatSchema: Any = None,
    options: Mapping[str, Any] | None = None,
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
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
    jsonFormatSchema : str or codec or serde, optional
        Without a registry: the schema that the values were written with, or a codec or serde
        (`kcodec.AvroCodec`, `kcodec.Serde`). With a registry: the schema to read as.
    options : dict, optional
        ``mode``: FAILFAST (default: a row that cannot be decoded fails the query) or PERMISSIVE (it becomes a
        struct of nulls, as in Spark); ``columnNameOfCorruptRecord``: with PERMISSIVE, a further field with
        ``reason``, ``code``, ``offset``, ``path``, ``schema_id`` and ``bytes`` of such a row; ``avroSchema``:
        the schema to read as; ``recursiveFieldMaxDepth`` (errors call it ``recursive_depth``),
        ``enableStableIdentifiersForUnionType``, ``stableIdentifierPrefixForUnionType`` as in Spark;
        ``confluent.schema.registry.`` and a setting of confluent-kafka's registry client.
    subject, schemaRegistryAddress : str, optional
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
        timestamps and intervals are numbers, and times of any precision are ``time(6)``.

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
    settings = read_options(options, _OPTIONS)
    codec_options = _codec_options(settings.format)
    if fields is not None:
        if not isinstance(fields, Iterable):
            raise TypeError(f"fields are a sequence of str, not {type(fields).__name__}")
        codec_options["fields"] = (fields,) if isinstance(fields, str) else tuple(fields)
    if wide_decimals is not None:
        codec_options["wide_decimals"] = wide_decimals
    reader = schema_reader(
        "AVRO",
        AvroCodec,
        jsonFormatSchema,
        ("avroSchema", settings.format.get("avroSchema")),
        codec_options,
        registry_place(subject, schemaRegistryAddress, settings.registry),
    )
    return decoded(data, reader, settings.rows, "from_avro", deterministic=deterministic)


def to_avro(
    data: "Column | str | Sequence[Column | str]",
    jsonFormatSchema: Any = "",
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> "Column":
    """Encode a column, or several as one record, as Avro.

    Parameters
    ----------
    data : Column or str or sequence of these
        What to encode, such as ``struct("*")``; null gives null. Several columns are what ``struct`` of them
        is.
    jsonFormatSchema : str or codec or serde, optional
        The schema to write as, or a codec or serde. Without one the schema is derived from the
        column's type, as Spark does; with a registry, it is the subject's latest.
    subject, schemaRegistryAddress : str, optional
        Subject and address of the registry: each value is framed with the id that the schema has there. A
        schema that is not registered under the subject is an error, unless registering is asked for.
    options : dict, optional
        ``confluent.schema.registry.`` and a setting of confluent-kafka's registry client, or
        ``confluent.schema.registry.auto.register.schemas``.

    Returns
    -------
    Column
        Binary.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        When called. A value that cannot be written fails the query.

    Examples
    --------
    >>> from kcodec_spark import to_avro
    >>> df.select(to_avro(struct("*")))                                                 # doctest: +SKIP
    >>> df.select(to_avro(["id", "name"], schema))                                      # doctest: +SKIP
    """
    place = registry_place(subject, schemaRegistryAddress, write_options(options))
    schema = None if isinstance(jsonFormatSchema, str) and not jsonFormatSchema else jsonFormatSchema
    if schema is None and place is None:
        write = functools.partial(_encode_derived, TypedWriter(_derived_writer), is_several(data))
        return encoded_by_shape(data, write, "to_avro")
    known = schema_writer("AVRO", AvroCodec, schema, place)
    if is_several(data):
        return encoded_by_shape(data, functools.partial(encode_packed, known), "to_avro")
    return encoded(data, known, "to_avro")


def _codec_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return Spark's options as those of `kcodec.AvroCodec`."""
    if str(given.get("avroSchemaEvolutionMode", "none")).lower() != "none":
        raise ConfigError(
            f"avroSchemaEvolutionMode {given['avroSchemaEvolutionMode']!r}: only none is supported, "
            "the reader's schema stays what it was when the query was made"
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
    return options


def _derived_writer(item: pa.Field) -> Writer:
    """Return what encodes by the schema that Spark's ``to_avro`` derives where none is given."""
    codec = AvroCodec(to_avro_type(from_arrow_type(item.type), item.nullable))
    plain = _without_durations(item.type)

    def encode(array: pa.Array) -> pa.Array:
        return codec.encode(array if plain == item.type else array.cast(plain))

    return encode


def _encode_derived(write: TypedWriter, is_packed: bool, shape: pa.Array, *columns: pa.Array) -> pa.Array:
    return write(pack(shape, columns) if is_packed else columns[0], shape.type.value_field)


def _without_durations(kind: pa.DataType) -> pa.DataType:
    """Return a type with longs for its intervals, as Spark writes them."""
    if pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_durations(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_durations(kind.value_type)))
    if pa.types.is_map(kind):
        value = kind.item_field.with_type(_without_durations(kind.item_type))
        return pa.map_(kind.key_field, value)
    return kind
