"""``from_json`` and ``to_json``: plain JSON documents, exactly, with the options of the other functions."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec import JsonCodec
from kcodec_spark.functions.codecs import check_codec, is_codec, reader_of, writer_of
from kcodec_spark.functions.columns import decoded, encoded
from kcodec_spark.options import rows_options, write_options
from kcodec_spark.types.arrow import given_type
from kcodec_spark.workers.udf import TypedWriter, Writer

if TYPE_CHECKING:
    from pyspark.sql import Column

_OTHERS = "; how JSON is laid out is an argument, such as times="


def from_json(
    data: "Column | str",
    schema: Any,
    options: Mapping[str, Any] | None = None,
    *,
    deterministic: bool = False,
    **arguments: Any,
) -> "Column":
    """Decode a column of JSON documents.

    Parameters
    ----------
    data : Column or str
        Binary or string column. Null gives null.
    schema : str, DataType, pyarrow.DataType, pyarrow.Schema or JsonCodec
        The type of the documents: Spark's, also as DDL; Arrow's; or a codec.
    options : dict, optional
        ``mode`` and ``columnNameOfCorruptRecord``, as for `from_avro`.
    deterministic : bool
        As for `from_avro`.
    **arguments
        Of `kcodec.JsonCodec`, such as ``times="number"``.

    Returns
    -------
    Column
        Of the type given, times of the day as ``time(6)``. What does not fit a column, which Spark's own function reads
        as null, is an error of its row.

    Raises
    ------
    SchemaError, ConfigError
        When called. A bad row fails the query with `pyspark.errors.PythonException`, or in mode PERMISSIVE is a
        struct of nulls.

    Examples
    --------
    >>> from kcodec_spark import from_json
    >>> df.select(from_json("value", "id BIGINT, price DECIMAL(9,2)").alias("order"))   # doctest: +SKIP
    """
    rows = rows_options(options, "from_json", _OTHERS)
    codec = _codec(schema, arguments)
    return decoded(data, reader_of(codec), rows, "from_json", deterministic=deterministic)


def to_json(
    data: "Column | str | Sequence[Column | str]",
    schema: Any = None,
    options: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> "Column":
    """Encode a column, or several as one object, as JSON documents.

    Parameters
    ----------
    data : Column or str or sequence of these
        What to encode, such as ``struct("*")``; null gives null. Several columns are what ``struct`` of them is.
    schema : str, DataType, pyarrow.DataType, pyarrow.Schema or JsonCodec, optional
        As for `from_json`. Without one, the type is that of the column.
    options : dict, optional
        ``mode``, ``columnNameOfCorruptRecord`` and ``round``, as for `to_avro`.
    **arguments
        Of `kcodec.JsonCodec`, such as ``nulls="omit"``.

    Returns
    -------
    Column
        Binary, where that of Spark's own function is a string.

    Raises
    ------
    SchemaError, ConfigError
        When called. A value that cannot be written fails the query.

    Examples
    --------
    >>> from kcodec_spark import to_json
    >>> df.select(to_json(["id", "price"], nulls="omit").alias("value"))                # doctest: +SKIP
    """
    settings = write_options(options, "to_json", _OTHERS)
    arguments |= settings.codec
    if schema is not None:
        write = writer_of(_codec(schema, arguments))
    else:
        # Arguments are checked now, the type is known later.
        JsonCodec(pa.null(), **arguments)
        write = TypedWriter(functools.partial(_derived_writer, arguments))
    return encoded(data, write, "to_json", settings.rows)


def _derived_writer(arguments: Mapping[str, Any], kind: pa.DataType) -> Writer:
    return writer_of(JsonCodec(kind, **arguments))


def _codec(schema: Any, arguments: Mapping[str, Any]) -> Any:
    if is_codec(schema):
        return check_codec(schema, arguments)
    return JsonCodec(given_type(schema), **arguments)
