"""``from_ksql`` and ``to_ksql``: keys and values of ksqlDB's streams and tables, in ksqlDB's formats."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec import KsqlCodec
from kcodec.errors import SchemaError
from kcodec.ksql.types import SqlColumn, SqlType
from kcodec_spark.functions.codecs import reader_of, writer_of
from kcodec_spark.functions.columns import decoded, encoded
from kcodec_spark.functions.framed import opened
from kcodec_spark.options import read_options, rows_options, write_options
from kcodec_spark.types.arrow import to_arrow_type
from kcodec_spark.workers.udf import TypedWriter, Writer

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType


def from_ksql(
    data: "Column | str",
    format: str,
    columns: "str | StructType | None" = None,
    options: Mapping[str, Any] | None = None,
    *,
    is_key: bool = False,
    wrap: bool | None = None,
    compat: str | None = None,
    properties: Mapping[str, Any] | None = None,
    registry: str | None = None,
    topic: str | None = None,
    source: str | None = None,
    window: str | None = None,
    window_size: int | str | None = None,
    wide_decimals: str | None = None,
    deterministic: bool = False,
) -> "Column":
    """Decode a column of ksqlDB's keys or values.

    Parameters
    ----------
    data : Column or str
        Binary column. Null gives null.
    format : str
        ksqlDB's name of the format, such as ``"JSON"``.
    columns : str or StructType, optional
        What stands between the parentheses of ``CREATE STREAM``; or a struct, whose names are taken as they
        are. Without it, those of the registry's schema.
    options : dict, optional
        ``mode`` and ``columnNameOfCorruptRecord``, as for `from_avro`; with a registry also
        ``confluent.schema.registry.`` with a setting of its client.
    is_key, wrap, compat, properties, source, window, window_size
        As for `kcodec.KsqlCodec`.
    registry : str, optional
        For AVRO, PROTOBUF and JSON_SR: the registry, any address that `kcodec.registry.open` takes (without a scheme,
        http).
    topic : str, optional
        The topic, whose schemas are fetched when the query is made. Executors fetch others when they meet their ids.
    wide_decimals : {"string"}, optional
        Read decimals over 38 digits, which Spark cannot hold, as text.
    deterministic : bool
        As for `from_avro`.

    Returns
    -------
    Column
        A struct of the columns, also where a single one stands bare. TIME is an integer: milliseconds of the
        day.

    Raises
    ------
    SchemaError, ConfigError
        When called. A bad row fails the query with `pyspark.errors.PythonException`, or in mode PERMISSIVE is
        a struct of nulls.

    Examples
    --------
    >>> from kcodec_spark import from_ksql
    >>> df.select(from_ksql("value", "JSON", "ID BIGINT, TOTAL DECIMAL(10,2)").alias("order"))    # doctest: +SKIP
    """
    settings: Mapping[str, Any] = {}
    if registry is None:
        rows = rows_options(options, "from_ksql")
    else:
        rows, _, settings = read_options(options)
    codec = KsqlCodec(
        format,
        _columns(columns),
        wrap=wrap,
        is_key=is_key,
        compat=compat,
        properties=properties,
        topic=topic,
        source=source,
        window=window,
        window_size=window_size,
        wide_decimals=wide_decimals or "decimal256",
        **_place(registry, settings),
    )
    if registry is not None:
        codec.fetch()
    return decoded(data, reader_of(codec), rows, "from_ksql", deterministic=deterministic)


def to_ksql(
    data: "Column | str | Sequence[Column | str]",
    format: str,
    columns: "str | StructType | None" = None,
    options: Mapping[str, Any] | None = None,
    *,
    is_key: bool = False,
    wrap: bool | None = None,
    compat: str | None = None,
    properties: Mapping[str, Any] | None = None,
    registry: str | None = None,
    topic: str | None = None,
    source: str | None = None,
    window: str | None = None,
    window_size: int | str | None = None,
) -> "Column":
    """Encode a struct, or several columns as one, as ksqlDB's keys or values.

    Parameters
    ----------
    data : Column or str or sequence of these
        What to encode; null gives null. Fields are found by their names as they are, or else in upper case;
        columns that are missing are null.
    format : str
        ksqlDB's name of the format.
    columns : str or StructType, optional
        As for `from_ksql`. By default the fields of the struct, by their names as they are.
    options : dict, optional
        ``mode``, ``columnNameOfCorruptRecord`` and ``round``, as for `to_avro`; with a registry its settings, as for
        `from_ksql`.
    is_key, wrap, compat, properties, source, window, window_size
        As for `kcodec.KsqlCodec`.
    registry, topic : str, optional
        Where the schema of AVRO, PROTOBUF and JSON_SR is registered, as ksqlDB does; if the columns are given, when
        the query is made.

    Returns
    -------
    Column
        Binary.

    Raises
    ------
    SchemaError, ConfigError
        When called. A value that cannot be written fails the query.

    Examples
    --------
    >>> from kcodec_spark import to_ksql
    >>> df.select(to_ksql(["id", "total"], "JSON", "ID BIGINT, TOTAL DECIMAL(10,2)"))             # doctest: +SKIP
    """
    settings = write_options(options, "to_ksql", has_registry=registry is not None)
    arguments: dict[str, Any] = {
        "wrap": wrap,
        "is_key": is_key,
        "compat": compat,
        "properties": properties,
        "topic": topic,
        "source": source,
        "window": window,
        "window_size": window_size,
        **settings.codec,
    }
    place = _place(registry, settings.registry)
    make = functools.partial(_writer, format, {**arguments, **place})
    if columns is not None:
        return encoded(data, make(_columns(columns)), "to_ksql", settings.rows)
    # The columns are not known yet; all other arguments are checked with sample ones.
    sample_columns = () if str(format).upper() == "NONE" else (SqlColumn("C", SqlType("STRING")),)
    KsqlCodec(format, sample_columns, **arguments)
    derived = TypedWriter(functools.partial(_derived_writer, make))
    return encoded(data, derived, "to_ksql", settings.rows)


def _place(address: str | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for a registry and the settings of its client and of the serializer."""
    if address is None:
        return {}
    registry, config = opened(address, settings)
    return {"registry": registry, "config": config}


def _writer(format: str, arguments: Mapping[str, Any], columns: Any) -> Writer:
    codec = KsqlCodec(format, columns, **arguments)
    if arguments.get("registry") is not None:
        codec.register()
    return writer_of(codec)


def _derived_writer(make: Callable[[Any], Writer], kind: pa.DataType) -> Writer:
    if not pa.types.is_struct(kind):
        raise SchemaError(f"to_ksql needs columns for {kind}: only a struct has names")
    return make(kind)


def _columns(columns: Any) -> Any:
    """Return columns that are text as they are, and a Spark schema as an Arrow struct."""
    if columns is None or isinstance(columns, str):
        return columns
    from pyspark.sql.types import StructType

    if not isinstance(columns, StructType):
        raise TypeError(f"columns are text or a StructType, not {type(columns).__name__}")
    return to_arrow_type(columns)
