"""Kafka's own messages in Spark: ``from_kafka_message``, and the internal topics as columns."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec import MessageCodec, protocol
from kcodec.errors import ConfigError
from kcodec_spark.functions.codecs import Decoding, reader_of
from kcodec_spark.functions.columns import decoded
from kcodec_spark.options import RowsOptions, rows_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def from_kafka_message(
    data: "Column | str",
    spec: Any,
    version: "int | Column | str | None" = None,
    options: Mapping[str, Any] | None = None,
    *,
    header: str | None = None,
    compat: str | None = None,
    unknown_tags: bool = False,
    deterministic: bool = False,
) -> "Column":
    """Decode a column of Kafka's messages.

    Parameters
    ----------
    data : Column or str
        Binary column. Null gives null.
    spec : MessageSpec, str or MessageCodec
        The definition, its JSON text, or a codec.
    version : int, Column or str, optional
        The version of all messages, or the column of integers with the version of each row. Messages that begin with
        their version or the header of a request need none.
    options : dict, optional
        ``mode`` and ``columnNameOfCorruptRecord``, as for `from_avro`.
    header, compat, unknown_tags
        As for `kcodec.MessageCodec`.
    deterministic : bool
        As for `from_avro`.

    Returns
    -------
    Column
        A struct of the fields of the version, or of those of all versions. UUIDs are binary, uint16 an integer,
        uint32 a long.

    Raises
    ------
    SpecError, ConfigError
        When called. A bad row fails the query with `pyspark.errors.PythonException`, or in mode PERMISSIVE is a struct
        of nulls.

    Examples
    --------
    >>> from kcodec_spark import from_kafka_message
    >>> df.select(from_kafka_message("value", spec, 3).alias("message"))                        # doctest: +SKIP
    >>> df.select(from_kafka_message("value", spec, "api_version", header="request"))           # doctest: +SKIP
    """
    rows = rows_options(options, "from_kafka_message")
    codec = _codec(spec, version, header=header, compat=compat, unknown_tags=unknown_tags)
    if version is None or isinstance(version, int):
        return decoded(data, reader_of(codec), rows, "from_kafka_message", deterministic=deterministic)
    reading = Decoding(_by_version(codec), codec.arrow_type)
    return decoded(data, reading, rows, "from_kafka_message", deterministic=deterministic, beside=[version])


def _codec(spec: Any, version: Any, **options: Any) -> MessageCodec:
    if isinstance(spec, MessageCodec):
        if isinstance(version, int) or any(options.values()):
            raise ConfigError(
                "version, header, compat and unknown_tags are to be given to the MessageCodec itself"
            )
        codec = spec
    elif not isinstance(spec, (protocol.MessageSpec, str)):
        raise TypeError(f"spec is a MessageSpec, its JSON text or a MessageCodec, not {type(spec).__name__}")
    elif isinstance(version, int):
        codec = MessageCodec(spec, version, **options)
    else:
        codec = MessageCodec.for_versions(spec, **options)
    return codec


def _by_version(codec: MessageCodec) -> Any:
    def read(values: pa.Array, versions: pa.Array, *, errors: str = "raise") -> Any:
        # Of any integer type, or refused; rows without one are of no version at all.
        return codec.decode(values, errors, versions=versions)

    return read


def decode_consumer_offsets(
    df: "DataFrame",
    definitions: "protocol.Definitions | None" = None,
    *,
    key: "Column | str" = "key",
    value: "Column | str" = "value",
    options: Mapping[str, Any] | None = None,
    unknown_tags: bool = False,
) -> "DataFrame":
    """Decode the records of ``__consumer_offsets``.

    Parameters
    ----------
    df : DataFrame
        With the key and the value of each record, as Spark's Kafka source gives them; classic or Connect, batch or
        stream.
    definitions : kcodec.protocol.Definitions, optional
        Of the broker's messages. Without them OffsetCommit and GroupMetadata are known.
    key, value : Column or str
        Where key and value are.
    options : dict, optional
        ``mode``: FAILFAST (default: a record that cannot be decoded fails the query) or PERMISSIVE (its row is of kind
        ``error``).
    unknown_tags : bool
        Whether structs have a column of the tags that the definitions do not know.

    Returns
    -------
    DataFrame
        All columns there were, and those of `kcodec.protocol.TopicCodec`: ``kind``, ``type``, ``version``, and a
        struct with ``key`` and ``value`` for each record type, null in rows of other types.

    Raises
    ------
    ConfigError
        If there is such a column already, or an argument is wrong.

    Notes
    -----
    Spark's Kafka source leaves internal topics out, even those that are subscribed to by name, unless the session has
    ``spark.sql.streaming.kafka.useDeprecatedOffsetFetching`` set to true. Records of transactions that were aborted are
    read, too, unless the source has the option ``kafka.isolation.level`` set to ``read_committed``.

    Examples
    --------
    >>> from kcodec_spark import decode_consumer_offsets
    >>> offsets = decode_consumer_offsets(spark.read.format("kafka").options(**source).load())  # doctest: +SKIP
    >>> offsets.where("kind = 'record'").select("OffsetCommit.key.*", "OffsetCommit.value.*")   # doctest: +SKIP
    """
    return _decode_topic("__consumer_offsets", df, definitions, key, value, options, unknown_tags)


def decode_transaction_state(
    df: "DataFrame",
    definitions: "protocol.Definitions | None" = None,
    *,
    key: "Column | str" = "key",
    value: "Column | str" = "value",
    options: Mapping[str, Any] | None = None,
    unknown_tags: bool = False,
) -> "DataFrame":
    """Decode the records of ``__transaction_state``.

    Parameters
    ----------
    df, definitions, key, value, options, unknown_tags
        As for `decode_consumer_offsets`; without definitions TransactionLog is known.

    Returns
    -------
    DataFrame
        As of `decode_consumer_offsets`.

    Raises
    ------
    ConfigError
        As `decode_consumer_offsets` does.

    Examples
    --------
    >>> from kcodec_spark import decode_transaction_state
    >>> decode_transaction_state(df).select("TransactionLog.key.transactionalId")               # doctest: +SKIP
    """
    return _decode_topic("__transaction_state", df, definitions, key, value, options, unknown_tags)


def _decode_topic(
    topic: str,
    df: "DataFrame",
    definitions: "protocol.Definitions | None",
    key: "Column | str",
    value: "Column | str",
    options: Mapping[str, Any] | None,
    unknown_tags: bool,
) -> "DataFrame":
    if not hasattr(df, "columns"):
        raise TypeError(f"df is a DataFrame, not {type(df).__name__}")
    if definitions is not None and not isinstance(definitions, protocol.Definitions):
        raise TypeError(
            f"definitions are those that kcodec.protocol.load reads, not {type(definitions).__name__}"
        )
    name = topic.strip("_")
    reason = ": rows of kind error keep their key and value"
    rows = rows_options(options, f"decode_{name}", reason, has_error_column=False)
    codec = protocol.TopicCodec(topic, definitions, unknown_tags=unknown_tags)
    names = {name.lower() for name in df.columns}
    taken = [name for name in codec.schema.names if name.lower() in names]
    if taken:
        raise ConfigError(f"the data frame has a column {taken[0]} already")
    errors = "null" if rows.permissive else "raise"
    kind = pa.struct(list(codec.schema))

    def read(keys: pa.Array, values: pa.Array) -> pa.Array:
        table = codec.decode(keys, values, errors)
        return pa.StructArray.from_arrays(
            [column.combine_chunks() for column in table.columns], fields=list(codec.schema)
        )

    # Named so that no column of the data frame can be meant.
    record = f"kcodec{topic}"
    column = decoded(key, Decoding(read, kind), RowsOptions(), name, beside=[value])
    # Columns may share a name, which nothing but a star can select.
    return df.select("*", column.alias(record)).select("*", f"{record}.*").drop(record)
