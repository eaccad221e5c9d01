"""Messages that could not be read, as rows for a topic of dead letters."""

from typing import TYPE_CHECKING

from kcodec.errors import ConfigError
from kcodec_spark.functions.columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

#: Metadata of an error column that has errors of keys and of values, without their other halves.
OF_EITHER = {"kcodec.errors": "of keys or values"}

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
#: Column of Spark's Kafka source -> its type; a field of a record that was expanded may have its name.
_TYPES = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "headers": "array<struct<key:string,value:binary>>",
}


def dead_letters(df: "DataFrame", error: str = "_error") -> "DataFrame":
    """Select the rows that could not be read, as messages for a topic of their own.

    Parameters
    ----------
    df : DataFrame
        With the error column, and as many of the columns of Spark's Kafka source as are there, or those of
        ``kcodec_kafka``, whose values are decoded; batch or stream, classic or Connect. Columns are known by their
        names and types; where a record that was expanded has fields of the same, they are null in rows that could not
        be read.
    error : str
        The error column: its name, as option ``columnNameOfCorruptRecord`` gave it, if it stands in the data frame or
        in one struct of it; or its path, such as ``order._error``.

    Returns
    -------
    DataFrame
        What a Kafka sink takes: ``key`` (unless it was decoded; with the error in a struct ``key``, its bytes),
        ``value`` (the bytes as they were; of the column, or else those that could not be read, unless they are the
        key's) and ``headers``: those that there were, and as text ``error.code``, ``error.reason``, ``error.path``,
        ``error.byte`` (within the value), ``error.schema_id``, ``error.topic``, ``error.partition`` and
        ``error.offset``, as far as they are known.

    Raises
    ------
    ConfigError
        If there is no such error column, or more than one; or it is that of keys, and the values were decoded; or it
        is that of `read_ksql`, which has errors of keys and of values.

    Examples
    --------
    >>> from kcodec_spark import dead_letters
    >>> decoded = kafka.select("*", from_avro("value", options=permissive, **registry).alias("order"))  # doctest: +SKIP
    >>> dead_letters(decoded).write.format("kafka").options(**sink).save()              # doctest: +SKIP
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType, StringType

    names, fields = _error_column(df, error)
    if df.schema[names[0]].metadata == OF_EITHER:
        raise ConfigError(
            f"{names[0]} has the bytes of keys and of values, which are not told apart: decode the topic's records "
            "with from_ksql, beside their keys and values"
        )
    found = F.col(quoted(*names))
    kinds = {field.name.lower(): field.dataType for field in df.schema.fields}
    there = {name for name, kind in _TYPES.items() if name in kinds and kinds[name].simpleString() == kind}
    # Keys and values that were decoded in place are no longer bytes: the error has those of the value.
    raw = {name for name, kind in kinds.items() if isinstance(kind, BinaryType | StringType)}
    is_key = len(names) == 2 and names[0].lower() == "key" and "bytes" in fields
    if is_key and "value" not in raw:
        raise ConfigError(
            f"{'.'.join(names)} has the bytes of keys, and those of the values are not there: read value as bytes"
        )
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
        headers = F.concat(F.coalesce("headers", F.array().cast(_TYPES["headers"])), headers)
    key = [found["bytes"].alias("key")] if is_key else ["key"] if "key" in raw else []
    value = _value(found, fields, raw, len(names) == 1).alias("value")
    return df.where(found.isNotNull()).select(*key, value, headers.alias("headers"))


def _value(found: "Column", fields: list[str], raw: set[str], expanded: bool) -> "Column":
    """Return the bytes of the value."""
    from pyspark.sql import functions as F

    if "value" not in raw:
        return found["bytes"]
    if "bytes" not in fields or not expanded:
        return F.col("value")
    # A field of the record, which is null, or the column beside a key or value that could not be read.
    value = F.col("value").cast("binary")
    if "key" not in raw:
        return F.coalesce(value, found["bytes"])
    is_key = found["bytes"] == F.col("key").cast("binary")
    return F.when(is_key, value).otherwise(F.coalesce(value, found["bytes"]))


def _text(value: "Column") -> "Column":
    return value.cast("string").cast("binary")


def _error_column(df: "DataFrame", error: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the path of the error column, and the names of its fields."""
    from pyspark.sql.types import StructType

    if not isinstance(error, str):
        raise TypeError(f"error is the name of a column, not {type(error).__name__}")
    places: dict[tuple[str, ...], DataType] = {}
    for field in df.schema.fields:
        places[(field.name,)] = field.dataType
        if isinstance(field.dataType, StructType):
            places |= {(field.name, below.name): below.dataType for below in field.dataType.fields}
    named = [names for names in places if ".".join(names) == error] or [
        names for names in places if names[-1] == error
    ]
    known = {
        names: kind.names
        for names in named
        for kind in [places[names]]
        if isinstance(kind, StructType) and "code" in kind.names
    }
    if len(known) != 1:
        if known:
            raise ConfigError(f"several error columns are called {error}: {', '.join(map('.'.join, known))}")
        raise ConfigError(
            f"there is no error column {error}: in mode PERMISSIVE, columnNameOfCorruptRecord makes one"
        )
    return next(iter(known.items()))
