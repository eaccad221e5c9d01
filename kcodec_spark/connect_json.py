"""``from_connect_json`` and ``to_connect_json``: what Kafka Connect's JsonConverter writes and reads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcodec import ConnectJsonCodec
from kcodec_spark.functions.codecs import check_codec, is_codec, reader_of, writer_of
from kcodec_spark.functions.columns import decoded, encoded
from kcodec_spark.options import flag, rows_options, write_options
from kcodec_spark.types.arrow import given_type

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Settings of Connect's converter, and what is read of Debezium.
OPTIONS = ("schemas.enable", "decimal.format", "replace.null.with.default", "schemas.cache.size", "debezium")


def from_connect_json(
    data: "Column | str",
    schema: Any = None,
    options: Mapping[str, Any] | None = None,
    *,
    compat: str | None = None,
    is_key: bool = False,
    wide_decimals: str | None = None,
    fields: Sequence[str] | None = None,
    deterministic: bool = False,
) -> "Column":
    """Decode a column of what JsonConverter writes.

    Parameters
    ----------
    data : Column or str
        Binary or string column. Null gives null.
    schema : str, dict, ConnectSchema, DataType or ConnectJsonCodec
        What the rows are read as: Connect's schema, as envelopes carry it; a type of Spark or its DDL; or a codec.
        Rows with a schema of their own are read by it, and projected to this one.
    options : dict, optional
        ``mode`` and ``columnNameOfCorruptRecord``, as for `from_avro`; and the converter's settings under
        Connect's names: ``schemas.enable``, ``decimal.format``, ``replace.null.with.default``,
        ``schemas.cache.size``. ``debezium`` is ``false`` where Debezium's dates and times are to be the numbers and the
        text that they are in Connect.
    compat : {"connect"}, optional
        Answer as JsonConverter does, silent narrowing included.
    is_key : bool
        Whether to use a worker's settings of ``key.converter``, rather than of ``value.converter``.
    wide_decimals : {"string"}, optional
        Read decimals over 38 digits, which Spark cannot hold, as text.
    fields : sequence of str, optional
        The only fields to decode, dotted for those of structs below.
    deterministic : bool
        As for `from_avro`.

    Returns
    -------
    Column
        Of the schema's type; decimals whose schema does not say how many digits they have get 38. Times are
        integers: milliseconds of the day.

    Raises
    ------
    SchemaError, ConfigError
        When called. A bad row fails the query with `pyspark.errors.PythonException`, or in mode PERMISSIVE is a
        struct of nulls.

    Examples
    --------
    >>> from kcodec_spark import from_connect_json
    >>> df.select(from_connect_json("value", "id BIGINT, price DECIMAL(9,2)").alias("order"))     # doctest: +SKIP
    """
    converter, others = _settings(options, "debezium")
    rows = rows_options(others, "from_connect_json", ", debezium, and Connect's")
    arguments = {"compat": compat, "is_key": is_key, "wide_decimals": wide_decimals, "fields": fields}
    codec = connect_codec(schema, converter, **arguments)
    return decoded(data, reader_of(codec), rows, "from_connect_json", deterministic=deterministic)


def to_connect_json(
    data: "Column | str | Sequence[Column | str]",
    schema: Any = None,
    options: Mapping[str, Any] | None = None,
    *,
    compat: str | None = None,
    is_key: bool = False,
    wide_decimals: str | None = None,
) -> "Column":
    """Encode a column, or several as one struct, as JsonConverter does.

    Parameters
    ----------
    data : Column or str or sequence of these
        What to encode, such as ``struct("*")``; null gives null. Several columns are what ``struct`` of them is.
    schema : str, dict, ConnectSchema, DataType or ConnectJsonCodec, optional
        As for `from_connect_json`. Without one the schema is that of the column's type.
    options : dict, optional
        The converter's settings, as for `from_connect_json`; ``mode``, ``columnNameOfCorruptRecord`` and ``round``, as
        for `to_avro`.
    compat, is_key
        As for `from_connect_json`.
    wide_decimals : {"string"}, optional
        Write decimals over 38 digits, which Spark cannot hold, from text.

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
    >>> from kcodec_spark import to_connect_json
    >>> df.select(to_connect_json(["id", "price"], options={"decimal.format": "NUMERIC"}))        # doctest: +SKIP
    """
    converter, others = _settings(options)
    settings = write_options(others, "to_connect_json", ", and Connect's")
    arguments = {"compat": compat, "is_key": is_key, "wide_decimals": wide_decimals, **settings.codec}
    codec = connect_codec(schema, converter, **arguments)
    return encoded(data, writer_of(codec), "to_connect_json", settings.rows)


def _settings(options: Mapping[str, Any] | None, *own: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options with a dot in their name, which are Connect's, or of names in `own`; and the others."""
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options are a dict, not {type(options).__name__}")
    converter: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in (options or {}).items():
        lower = str(name).lower()
        if "." in lower or lower in own:
            converter[lower] = value
        else:
            others[name] = value
    return converter, others


def connect_codec(schema: Any, options: Mapping[str, Any], **arguments: Any) -> Any:
    """Return the codec of a schema, with options by their names in `OPTIONS`."""
    converter = {name: value for name, value in options.items() if name != "debezium"}
    arguments = {name: value for name, value in arguments.items() if value not in (None, False)}
    if not flag(options, "debezium", default=True):
        arguments["debezium"] = False
    if is_codec(schema):
        return check_codec(schema, {**converter, **arguments})
    if not isinstance(schema, str) or not schema.lstrip().startswith("{"):
        schema = given_type(schema)
    return ConnectJsonCodec(schema, config=converter, **arguments)
