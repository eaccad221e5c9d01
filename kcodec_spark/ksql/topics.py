"""Topics as the streams and tables of ksqlDB: a statement, and a DataFrame of its columns."""

import functools
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kcodec import KsqlCodec, ksql
from kcodec.errors import ConfigError, KcodecError, SchemaError, check_choice
from kcodec.ksql.codec.windows import COLUMNS as WINDOWS
from kcodec.ksql.records.records import ROW_TIMES, is_as_read, written_names
from kcodec.ksql.records.row_time import row_time
from kcodec.ksql.statement.parser import parse_one
from kcodec.ksql.statement.statement import Statement
from kcodec.registry.base import RegistryLike
from kcodec.serde.config import KEYS
from kcodec_spark.dead_letters import OF_EITHER
from kcodec_spark.functions.codecs import Decoding, reader_of, writer_of
from kcodec_spark.functions.columns import computed, decoded, encoded, quoted
from kcodec_spark.functions.framed import opened
from kcodec_spark.options import REGISTRY_PREFIX, RowsOptions, rows_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

__all__ = ["KsqlView", "ksql_views", "readStream_ksql", "read_ksql", "select_ksql", "write_ksql"]

logger = logging.getLogger("kcodec")

#: The data source that is used unless another is named.
SOURCE = "kcodec_kafka"
_PSEUDO = ("partition", "offset", "timestamp")
_ROWS = ("mode", "columnnameofcorruptrecord", "onregistryfailure")


def read_ksql(
    spark: "SparkSession",
    statement: Statement | str,
    *,
    servers: str | Sequence[str] | None = None,
    registry: RegistryLike | None = None,
    variables: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    source: str = SOURCE,
    compat: str | None = None,
    timezone: str = "UTC",
    wide_decimals: str | None = None,
    row_time: str = "milliseconds",
) -> "DataFrame":
    """Read the topic of a stream or table of ksqlDB.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect.
    statement : str or kcodec.ksql.Statement
        One ``CREATE STREAM`` or ``CREATE TABLE``. A table is read as its changes: a row for each record of its topic.
    servers : str or list of str, optional
        ``host:port`` of brokers; also the option ``kafka.bootstrap.servers``.
    registry : str or kcodec.registry.SchemaRegistry, optional
        Where the schemas of AVRO, JSON_SR and PROTOBUF are; the settings of its client are options with the prefix
        ``confluent.schema.registry.``.
    variables : mapping, optional
        As for `kcodec.ksql.parse`.
    options : dict, optional
        Those of the source, such as ``startingOffsets``, by default the ``earliest``; ``mode``,
        ``columnNameOfCorruptRecord`` and ``onRegistryFailure`` as for `from_avro`. What is wrong with a row is that of
        its value, else of its key; for `dead_letters`, decode the records with `from_ksql` instead.
    source : str
        ``"kcodec_kafka"``, or ``"kafka"`` for Spark's own, whose jar the session needs.
    compat
        As for `kcodec.KsqlCodec`.
    timezone : str
        The zone of texts that TIMESTAMP_FORMAT finds none in; ksqlDB takes that of its server.
    wide_decimals : {"string"}, optional
        Read decimals over 38 digits, which Spark cannot hold, as text.
    row_time : {"milliseconds", "timestamp"}
        What ROWTIME is: a BIGINT, as in ksqlDB, or a timestamp.

    Returns
    -------
    DataFrame
        With key columns, WINDOWSTART and WINDOWEND of windowed keys, the other columns as they are declared, and
        ROWTIME, ROWPARTITION and ROWOFFSET.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        When called: if the statement is not valid, or lacks columns that the registry has no schema of; if another
        argument or an option is not valid; or if the registry cannot be asked.

    Examples
    --------
    >>> from kcodec_spark import read_ksql
    >>> text = "CREATE STREAM orders (id BIGINT KEY) WITH (kafka_topic='orders', value_format='AVRO');"
    >>> read_ksql(spark, text, servers="broker:9092", registry="http://registry:8081")          # doctest: +SKIP
    """
    how = {
        "registry": registry,
        "compat": compat,
        "timezone": timezone,
        "wide_decimals": wide_decimals,
        "row_time": row_time,
    }
    return _selected(spark.read, spark, statement, servers, variables, options, source, how)


def readStream_ksql(
    spark: "SparkSession",
    statement: Statement | str,
    *,
    servers: str | Sequence[str] | None = None,
    registry: RegistryLike | None = None,
    variables: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    source: str = SOURCE,
    compat: str | None = None,
    timezone: str = "UTC",
    wide_decimals: str | None = None,
    row_time: str = "milliseconds",
) -> "DataFrame":
    """Follow the topic of a stream or table of ksqlDB.

    Parameters
    ----------
    spark, statement, servers, registry, variables, options, source, compat, timezone, wide_decimals, row_time
        As for `read_ksql`.

    Returns
    -------
    DataFrame
        A streaming one, with the columns of `read_ksql`.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        As for `read_ksql`.

    Examples
    --------
    >>> from kcodec_spark import readStream_ksql
    >>> text = "CREATE STREAM orders (id BIGINT KEY) WITH (kafka_topic='orders', value_format='AVRO');"
    >>> readStream_ksql(spark, text, servers="broker:9092", registry="http://registry:8081")    # doctest: +SKIP
    """
    how = {
        "registry": registry,
        "compat": compat,
        "timezone": timezone,
        "wide_decimals": wide_decimals,
        "row_time": row_time,
    }
    return _selected(spark.readStream, spark, statement, servers, variables, options, source, how)


def _selected(
    reader: Any,
    spark: "SparkSession",
    statement: Statement | str,
    servers: Any,
    variables: Mapping[str, str] | None,
    options: Mapping[str, Any] | None,
    source: str,
    how: Mapping[str, Any],
) -> "DataFrame":
    """Return the rows of the records that a reader of Spark finds; `how` is what `select_ksql` is told beside them."""
    rows, client, others = _split(options)
    found = parse_one(statement, variables)
    # Spark compares names of options without regard to case.
    given = {name.lower() for name in others}
    if not given.isdisjoint(("subscribe", "subscribepattern", "assign")):
        raise ConfigError("the statement says which topic is read")
    places = {"subscribe": found.topic, **_place(servers, given)}
    if given.isdisjoint(("startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp")):
        places["startingOffsets"] = "earliest"
    # Headers may name schemas.
    if (found.header_columns or found.has_schemas) and "includeheaders" not in given:
        places["includeHeaders"] = "true"
    _register(spark, source)
    frame = reader.format(source).options(**{**places, **others}).load()
    return select_ksql(frame, found, options={**rows, **client}, **how)


def select_ksql(
    df: "DataFrame",
    statement: Statement | str,
    *,
    registry: RegistryLike | None = None,
    variables: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    compat: str | None = None,
    timezone: str = "UTC",
    wide_decimals: str | None = None,
    row_time: str = "milliseconds",
) -> "DataFrame":
    """Return the rows of a stream or table of ksqlDB from the records of its topic, whatever has read them.

    Parameters
    ----------
    df : DataFrame
        With the columns of Spark's Kafka source: ``key``, ``value``, ``partition``, ``offset``, ``timestamp``, and
        ``headers`` if the statement has columns of them. It may be streaming.
    statement, registry, variables, compat, timezone, wide_decimals, row_time
        As for `read_ksql`.
    options : dict, optional
        ``mode``, ``columnNameOfCorruptRecord``, ``onRegistryFailure`` and settings of the registry.

    Returns
    -------
    DataFrame
        As of `read_ksql`.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        As for `read_ksql`, and if the records lack a column.

    Examples
    --------
    >>> from kcodec_spark import select_ksql
    >>> text = "CREATE STREAM clicks (url STRING) WITH (kafka_topic='clicks', value_format='JSON');"
    >>> records = spark.read.format("kafka").options(**{"subscribe": "clicks"}).load()           # doctest: +SKIP
    >>> select_ksql(records, text)                                                               # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    check_choice("row_time", row_time, ROW_TIMES)
    given, client, others = _split(options)
    if others:
        known = ", ".join(("mode", "columnNameOfCorruptRecord", "onRegistryFailure", REGISTRY_PREFIX + "..."))
        raise ConfigError(f"unknown option {next(iter(others))!r}: {known} are options")
    rows = rows_options(given, "select_ksql", has_registry=True)
    found, codecs = _codecs(statement, registry, variables, client, compat, wide_decimals)
    headers = {column.name: column.header for column in found.header_columns}
    pseudo = (*_PSEUDO, "headers") if headers else _PSEUDO
    missing = [name for name in pseudo if name not in df.columns]
    if missing:
        hint = ": headers need the option includeHeaders" if "headers" in missing else ""
        raise ConfigError(f"the records have no {', '.join(missing)}{hint}")
    parts = {part: codec for part, codec in codecs.items() if codec is not None}
    # Each is decoded once, whatever is selected of it.
    step = df.select(
        *(_decoded(df, part, codec, rows).alias(f"__{part}") for part, codec in parts.items()),
        *(F.col(name) for name in pseudo),
    )
    columns: dict[str, Column] = {
        field.name: F.col(f"__{part}").getField(field.name)
        for part, codec in parts.items()
        for field in codec.arrow_type
    }
    columns |= {name: _header(header) for name, header in headers.items()}
    keys = [field.name for field in parts["key"].arrow_type] if "key" in parts else []
    rest = [column.name for column in found.columns if column.kind != "key"]
    made = [columns[name].alias(name) for name in (*keys, *rest)]
    time = _row_time(found, timezone, columns, rows)
    made.append((F.timestamp_millis(time) if row_time == "timestamp" else time).alias("ROWTIME"))
    made += [F.col("partition").alias("ROWPARTITION"), F.col("offset").alias("ROWOFFSET")]
    if rows.corrupt_column is not None:
        bad = [F.col(f"__{part}").getField(rows.corrupt_column) for part in ("value", "key") if part in parts]
        if bad:
            of = {"metadata": OF_EITHER} if "key" in parts else {}
            made.append(F.coalesce(*bad).alias(rows.corrupt_column, **of))
    return step.select(*made)


def write_ksql(
    df: "DataFrame",
    statement: Statement | str,
    *,
    servers: str | Sequence[str] | None = None,
    registry: RegistryLike | None = None,
    variables: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    source: str = SOURCE,
) -> "DataStreamWriter | None":
    """Write rows to the topic of a stream or table of ksqlDB, as ``INSERT INTO`` does.

    Parameters
    ----------
    df : DataFrame
        Columns are found by their names as they are, or else in upper case; those that are missing are null. The time
        of records is that of their writing: Spark's sinks have no other. Rows as `read_ksql` returns them are written
        without their ROWTIME, ROWPARTITION and ROWOFFSET.
    statement, servers, registry, variables, source
        As for `read_ksql`.
    options : dict, optional
        Those of the sink, and settings of the registry.

    Returns
    -------
    DataStreamWriter or None
        Of a streaming DataFrame what starts the query, once it has a checkpoint and a trigger; others are written.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        As for `read_ksql`, and if nothing can be inserted, or a column is none of the statement's.

    Examples
    --------
    >>> from kcodec_spark import write_ksql
    >>> text = "CREATE STREAM orders (id BIGINT KEY, n INT) WITH (kafka_topic='orders', value_format='JSON');"
    >>> write_ksql(spark.range(3), text, servers="broker:9092")                                 # doctest: +SKIP
    """
    given, client, others = _split(options)
    if given:
        raise ConfigError(f"{next(iter(given))}: a row that cannot be written fails its task")
    found, codecs = _codecs(statement, registry, variables, client, None, None)
    if found.source:
        raise SchemaError(f"Cannot insert values into read-only {found.kind.lower()}: {found.name}")
    names = _written_names(df.columns, found, codecs)
    records = df.select(*_payloads(found, codecs, names))
    taken = {name.lower() for name in others}
    if "topic" in taken:
        raise ConfigError("the statement says which topic is written")
    places = {"topic": found.topic, **_place(servers, taken), **others}
    _register(df.sparkSession, source)
    if df.isStreaming:
        return records.writeStream.format(source).options(**places)
    records.write.format(source).options(**places).mode("append").save()
    return None


class KsqlView(NamedTuple):
    """A view of a stream or table.

    Attributes
    ----------
    name : str
        Its name.
    statement : Statement or None
        What it is read by.
    error : str or None
        Why there is no view.

    Examples
    --------
    >>> KsqlView("ORDERS", None, "no schema").error
    'no schema'
    """

    name: str
    statement: Statement | None
    error: str | None = None


def ksql_views(
    spark: "SparkSession",
    url: str,
    *,
    servers: str | Sequence[str] | None = None,
    registry: RegistryLike | None = None,
    options: Mapping[str, Any] | None = None,
    source: str = SOURCE,
    compat: str | None = None,
    timezone: str = "UTC",
    streaming: bool = False,
    prefix: str = "",
    config: Mapping[str, Any] | None = None,
) -> list[KsqlView]:
    """Make a temporary view of each stream and table of a ksqlDB server, under its name.

    Decimals of more than 38 digits are text in them.

    Parameters
    ----------
    url : str
        The server, such as ``http://ksqldb:8088``.
    spark, servers, registry, options, source, compat, timezone
        As for `read_ksql`.
    streaming : bool
        Whether the views follow their topics.
    prefix : str
        Stands before the names of views.
    config : mapping, optional
        As for `kcodec.ksql.list_statements`.

    Returns
    -------
    list of KsqlView
        Also of those that have no view, with the reason: one stream that cannot be read does not stop the others.

    Examples
    --------
    >>> from kcodec_spark import ksql_views
    >>> ksql_views(spark, "http://ksqldb:8088", servers="broker:9092")                           # doctest: +SKIP
    >>> spark.sql("SELECT * FROM ORDERS")                                                        # doctest: +SKIP
    """
    from pyspark.errors import PySparkException

    read = readStream_ksql if streaming else read_ksql
    views: list[KsqlView] = []
    for entry in ksql.list_statements(url, config=config):
        statement, error = entry.statement, entry.error
        if statement is not None:
            try:
                frame = read(
                    spark,
                    statement,
                    servers=servers,
                    registry=registry,
                    options=options,
                    source=source,
                    compat=compat,
                    timezone=timezone,
                    wide_decimals="string",
                )
                frame.createOrReplaceTempView(f"`{prefix}{statement.name}`")
            except (KcodecError, PySparkException) as failure:
                error = str(failure)
                logger.warning("ksqlDB's %s has no view: %s", entry.name, error)
        views.append(KsqlView(entry.name, statement, error))
    return views


def _split(options: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Split options into those for bad rows, settings of the registry, and options of the source."""
    rows: dict[str, Any] = {}
    client: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in (options or {}).items():
        lower = name.lower()
        kind = rows if lower in _ROWS else client if lower.startswith(REGISTRY_PREFIX) else others
        kind[name] = value
    return rows, client, others


def _place(servers: Any, given: set[str]) -> dict[str, str]:
    if servers is None:
        return {}
    if "kafka.bootstrap.servers" in given:
        raise ConfigError("servers= and the option kafka.bootstrap.servers are both given")
    return {"kafka.bootstrap.servers": servers if isinstance(servers, str) else ",".join(servers)}


def _register(spark: "SparkSession", source: str) -> None:
    if source == SOURCE:
        from kcodec_spark.kafka import register_kafka

        register_kafka(spark)


def _codecs(
    statement: Statement | str,
    registry: RegistryLike | None,
    variables: Mapping[str, str] | None,
    client: Mapping[str, Any],
    compat: str | None,
    wide_decimals: str | None,
) -> tuple[Statement, dict[str, KsqlCodec | None]]:
    """Return the statement with all columns, and the codecs of its keys and values."""
    found = parse_one(statement, variables)
    settings = {name[len(REGISTRY_PREFIX) :]: value for name, value in client.items()}
    # Those of serializers stand among those of the registry's client, as for `from_avro`.
    config = {name: settings.pop(name) for name in KEYS if name in settings}
    if isinstance(registry, str):
        registry, _ = opened(registry, settings)
    elif settings or (registry is None and config):
        raise ConfigError(f"{next(iter(client))}: a setting of a registry without its address")
    if registry is None and found.has_schemas:
        raise ConfigError(f"{found.name} has schemas in a registry: registry= is missing")
    found = found.inferred(registry, config)
    given = {
        "registry": registry,
        "config": config,
        "compat": compat,
        "wide_decimals": wide_decimals or "decimal256",
    }
    return found, {"key": found.key_codec(**given), "value": found.value_codec(**given)}


def _decoded(frame: "DataFrame", part: str, codec: KsqlCodec, rows: RowsOptions) -> "Column":
    name = f"read_ksql_{part}"
    # Executors ask the registry only for what is not there yet.
    codec.fetch()
    if codec.has_schemas and "headers" in frame.columns:
        read = functools.partial(_decode_with_headers, codec)
        return decoded(frame[part], Decoding(read, codec.arrow_type), rows, name, beside=[frame["headers"]])
    return decoded(frame[part], reader_of(codec), rows, name)


def _decode_with_headers(codec: KsqlCodec, values: pa.Array, headers: pa.Array, errors: str = "raise") -> Any:
    return codec.decode(values, errors, headers=None if headers.null_count == len(headers) else headers)


def _header(name: str | None) -> "Column":
    """Return all headers, or the last one of a name."""
    from pyspark.sql import functions as F

    if name is None:
        made = F.transform("headers", lambda each: F.struct(each.key.alias("KEY"), each.value.alias("VALUE")))
        return F.coalesce(made, F.array().cast("array<struct<KEY:string,VALUE:binary>>"))
    named = F.filter("headers", lambda each: each.key == name)
    return F.try_element_at(named, F.lit(-1)).getField("value")


def _row_time(
    statement: Statement, timezone: str, columns: "Mapping[str, Column]", rows: RowsOptions
) -> "Column":
    from pyspark.sql import functions as F

    time = row_time(statement, timezone)
    if time is None:
        return F.unix_millis("timestamp")
    column = columns[time.column]
    if time.base == "BIGINT":
        return column
    if time.base == "TIMESTAMP":
        return F.unix_millis(column)
    return computed(column, time, pa.int64(), "read_ksql_time", rows)


def _written_names(
    given: list[str], statement: Statement, codecs: Mapping[str, KsqlCodec | None]
) -> dict[str, str]:
    """Return the columns to be written, by ksqlDB's names."""
    known = [column.name for codec in codecs.values() if codec is not None for column in codec.columns]
    if statement.window_type:
        known += WINDOWS
    if is_as_read(given):
        given = [name for name in given if name not in ("ROWTIME", "ROWPARTITION", "ROWOFFSET")]
    if any(name not in known and name.upper() == "ROWTIME" for name in given):
        raise SchemaError("ROWTIME: Spark's sinks do not write the times of records")
    found = written_names(statement, given, known)
    if statement.kind == "TABLE" and found.keys().isdisjoint(column.name for column in statement.key_columns):
        names = ", ".join(column.name for column in statement.key_columns)
        raise SchemaError(f"Value for primary key column(s) {names} is required for tables")
    return found


def _payloads(
    statement: Statement, codecs: Mapping[str, KsqlCodec | None], names: Mapping[str, str]
) -> "list[Column]":
    from pyspark.sql import functions as F

    made = []
    for part, codec in codecs.items():
        fields = [] if codec is None else [column.name for column in codec.columns]
        if part == "key" and statement.window_type and codec is not None:
            fields += WINDOWS
        chosen = [F.col(quoted(names[name])).alias(name) for name in fields if name in names]
        if codec is None:
            if part == "value":
                made.append(F.lit(None).cast("binary").alias(part))
        elif chosen:
            codec.register()
            column = encoded(F.struct(*chosen), writer_of(codec), f"write_ksql_{part}", RowsOptions())
            made.append(column.alias(part))
        else:
            made.append(F.lit(_empty(codec)).cast("binary").alias(part))
    return made


def _empty(codec: KsqlCodec) -> bytes | None:
    """Return the payload of a row of nulls."""
    return codec.encode(pa.array([{}], codec.arrow_type)).to_pylist()[0]
