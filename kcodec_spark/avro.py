"""``from_avro`` and ``to_avro``: as in Spark, and as in Databricks, without the jar.

They take what ``pyspark.sql.avro.functions`` takes, in the same places, and what Databricks adds to it for a
schema registry. What they return is a `Column` of the session type that is active when they are called.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcodec.errors import ConfigError
from kcodec_spark.options import read_options, write_options
from kcodec_spark.udf import decode_udf, encode_udf

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["as_column", "as_struct", "from_avro", "reader_of", "ready", "to_avro", "writer_of"]


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
        Without a registry: the schema that the values were written with, or a codec or serde made ready
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
        Let Spark treat the result as it treats a built-in function's: a filter on it may then decode twice,
        but it may stand in aggregates and join conditions.

    Returns
    -------
    Column
        Of the type that Spark's ``from_avro`` gives (`kcodec_spark.types.to_sql_type`), but that nanosecond
        timestamps are longs, and so are intervals and times that Spark itself wrote with a type of its own:
        Spark takes neither back from Python.

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
    settings = read_options(options)
    codec_options = dict(settings.codec)
    if fields is not None:
        if not isinstance(fields, Iterable):
            raise TypeError(f"fields are a sequence of str, not {type(fields).__name__}")
        codec_options["fields"] = (fields,) if isinstance(fields, str) else tuple(fields)
    if wide_decimals is not None:
        codec_options["wide_decimals"] = wide_decimals
    reader_schema = settings.avro_schema
    place = _place(subject, schemaRegistryAddress)
    if place is not None:
        if reader_schema is None:
            reader_schema = jsonFormatSchema
        if reader_schema is not None and not isinstance(reader_schema, str):
            raise TypeError(
                f"with a registry, the schema to read as is its text, not {type(reader_schema).__name__}"
            )
        from kcodec_spark.framed import framed_reader

        read, arrow_type = framed_reader(*place, settings.registry, reader_schema, codec_options)
    else:
        _no_registry_settings(settings.registry)
        if isinstance(jsonFormatSchema, str):
            from kcodec import AvroCodec

            codec = AvroCodec(jsonFormatSchema, reader_schema, **codec_options)
        else:
            if reader_schema is not None:
                codec_options["avroSchema"] = reader_schema
            codec = ready(jsonFormatSchema, codec_options)
        read, arrow_type = reader_of(codec)
    udf = decode_udf(
        read,
        arrow_type,
        permissive=settings.permissive,
        corrupt_column=settings.corrupt_column,
        deterministic=deterministic,
    )
    return udf(as_column(data))


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
        The schema to write as, or a codec or serde made ready. Without one the schema is derived from the
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
    from pyspark.sql import functions as F

    settings = write_options(options)
    if isinstance(jsonFormatSchema, str) and not jsonFormatSchema:
        jsonFormatSchema = None
    place = _place(subject, schemaRegistryAddress)
    if place is not None:
        from kcodec_spark.framed import framed_writer

        write = framed_writer(*place, settings.registry, jsonFormatSchema)
    else:
        _no_registry_settings(settings.registry)
        if jsonFormatSchema is None:
            write = None
        elif isinstance(jsonFormatSchema, str):
            from kcodec import AvroCodec

            write = AvroCodec(jsonFormatSchema).encode
        else:
            write = writer_of(ready(jsonFormatSchema, {}))
    packed = isinstance(data, (list, tuple))
    columns = [as_column(item) for item in data] if packed else [as_column(data)]
    if not columns:
        raise ConfigError("to_avro needs a column")
    udf = encode_udf(write, packed=packed)
    if not packed and write is not None:
        return udf(columns[0])
    # A null that the optimizer folds to a literal: only its type reaches the executors.
    whole = F.struct(*columns) if packed else columns[0]
    return udf(F.when(F.lit(False), F.array(whole)), *columns)


def reader_of(codec: Any) -> Any:
    """Return what decodes with a codec or a serde, and the Arrow type of what it gives."""
    if _has_versions(codec) and codec.header not in ("version", "request"):
        raise ConfigError(
            f"{codec.spec.name} has several versions: give the version, or the column that has it"
        )
    if codec.arrow_type is None:
        raise ConfigError("Spark must know the type before the first value: give the serde a reader_schema")
    return (codec.deserialize if hasattr(codec, "deserialize") else codec.decode), codec.arrow_type


def writer_of(codec: Any) -> Any:
    """Return what encodes with a codec or a serde."""
    if _has_versions(codec):
        raise ConfigError(f"{codec.spec.name} has several versions: give a codec of one of them")
    return codec.serialize if hasattr(codec, "serialize") else codec.encode


def _has_versions(codec: Any) -> bool:
    from kcodec import MessageCodec

    return isinstance(codec, MessageCodec) and len(codec.versions) > 1


def _place(subject: str | None, address: str | None) -> tuple[str, str] | None:
    """Return subject and address, or None without a registry."""
    for name, value in (("subject", subject), ("schemaRegistryAddress", address)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is a str, not {type(value).__name__}")
    if subject is None and address is None:
        return None
    if subject is None or address is None:
        raise ConfigError("subject and schemaRegistryAddress are given together, or neither")
    return subject, address


def _no_registry_settings(settings: Mapping[str, Any]) -> None:
    if settings:
        raise ConfigError("settings of a registry without subject and schemaRegistryAddress")


def ready(codec: Any, options: Mapping[str, Any], name: str = "jsonFormatSchema is a schema's text,") -> Any:
    """Check that a codec or serde was given, without options that had to be given to it."""
    if isinstance(codec, (str, bytes, type)) or not (
        hasattr(codec, "decode") or hasattr(codec, "deserialize")
    ):
        raise TypeError(f"{name} a codec or a serde, not {type(codec).__name__}")
    if options:
        raise ConfigError(f"{', '.join(options)}: to be given to the {type(codec).__name__} itself")
    return codec


def _is_column(data: Any) -> bool:
    from pyspark.sql import Column

    return isinstance(data, (str, Column))


def as_column(data: Any) -> "Column":
    """Return a column, or the one of a name."""
    from pyspark.sql import functions as F

    if not _is_column(data):
        raise TypeError(f"data is a Column or the name of one, not {type(data).__name__}")
    return F.col(data) if isinstance(data, str) else data


def as_struct(data: Any, name: str) -> "Column":
    """Return a column, or the struct of several, for the function of a name."""
    from pyspark.sql import functions as F

    if isinstance(data, str) or not isinstance(data, Sequence):
        return as_column(data)
    if not data:
        raise ConfigError(f"{name} needs a column")
    return F.struct(*(as_column(item) for item in data))
