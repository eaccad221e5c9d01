"""Messages that could not be read, as the rows of a topic for them."""

from typing import TYPE_CHECKING

from kcodec.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["dead_letters"]

#: Header -> field of the error.
_FACTS = {
    "error.code": "code",
    "error.reason": "reason",
    "error.path": "path",
    "error.byte": "offset",
    "error.schema_id": "schema_id",
}
#: Header -> column of Spark's Kafka source.
_SOURCE = {"error.topic": "topic", "error.partition": "partition", "error.offset": "offset"}


def dead_letters(df: "DataFrame", error: str = "_error") -> "DataFrame":
    """Take the rows that could not be read, as messages for a topic of them.

    Parameters
    ----------
    df : DataFrame
        With the error column, and as many of the columns of Spark's Kafka source as are there, or those of
        ``kcodec_kafka``, whose values are decoded; batch or stream, classic or Connect.
    error : str
        The error column: its name, as option ``columnNameOfCorruptRecord`` gave it, if it stands in the data frame or
        in one struct of it; or its path, such as ``order._error``.

    Returns
    -------
    DataFrame
        What a Kafka sink takes: ``key`` (unless it was decoded), ``value`` (the bytes as they were) and ``headers``:
        those that there were, and as text ``error.code``, ``error.reason``, ``error.path``, ``error.byte`` (within the
        value), ``error.schema_id``, ``error.topic``, ``error.partition`` and ``error.offset``, as far as they are
        known.

    Raises
    ------
    ConfigError
        If there is no such error column, or more than one.

    Examples
    --------
    >>> from kcodec_spark import dead_letters
    >>> decoded = kafka.select("*", from_avro("value", options=permissive, **registry).alias("order"))  # doctest: +SKIP
    >>> dead_letters(decoded).write.format("kafka").options(**sink).save()              # doctest: +SKIP
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType, StringType

    found, fields = _error_column(df, error)
    there = {name.lower() for name in df.columns}
    # Keys and values that were decoded in place are no longer bytes: the error has those of the value.
    raw = {
        field.name.lower()
        for field in df.schema.fields
        if isinstance(field.dataType, BinaryType | StringType)
    }
    values = {header: found[name] for header, name in _FACTS.items() if name in fields}
    values |= {header: F.col(name) for header, name in _SOURCE.items() if name in there}
    told = F.array(
        *(
            F.struct(F.lit(header).alias("key"), _text(value).alias("value"))
            for header, value in values.items()
        )
    )
    headers = F.filter(told, lambda header: header["value"].isNotNull())
    if "headers" in there:
        headers = F.concat(
            F.coalesce("headers", F.array().cast("array<struct<key:string,value:binary>>")), headers
        )
    bytes_of = F.col("value") if "value" in raw else found["bytes"]
    columns = [bytes_of.alias("value"), headers.alias("headers")]
    return df.where(found.isNotNull()).select(*(["key"] if "key" in raw else []), *columns)


def _text(value: "Column") -> "Column":
    return value.cast("string").cast("binary")


def _error_column(df: "DataFrame", error: str) -> "tuple[Column, list[str]]":
    """Return the error column and the names of its fields."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    if not isinstance(error, str):
        raise TypeError(f"error is the name of a column, not {type(error).__name__}")
    paths = {}
    for field in df.schema.fields:
        paths[field.name] = field.dataType
        if isinstance(field.dataType, StructType):
            paths |= {f"{field.name}.{below.name}": below.dataType for below in field.dataType.fields}
    named = [path for path in paths if path == error] or [
        path for path in paths if path.endswith(f".{error}")
    ]
    known = [path for path in named if isinstance(paths[path], StructType) and "code" in paths[path].names]
    if len(known) != 1:
        what = f"{len(known)} columns are called so: {', '.join(known)}" if known else "there is none"
        raise ConfigError(
            f"no one error column {error}: {what}; columnNameOfCorruptRecord names it, with PERMISSIVE"
        )
    parts = known[0].split(".", 1)
    column = F.col(f"`{parts[0]}`")
    return (column[parts[1]] if len(parts) > 1 else column), paths[known[0]].names
