"""What a query has read, for ``DataFrame.observe``: columns that the JVM computes, without Python."""

from typing import TYPE_CHECKING

from kcodec_spark.columns import as_column

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["metrics", "schema_id"]


def schema_id(data: "Column | str") -> "Column":
    """Return the schema id that each framed value begins with.

    Parameters
    ----------
    data : Column or str
        Binary column.

    Returns
    -------
    Column
        Of type bigint; null where the value is null, or too short for a frame, or does not begin with 0.

    Examples
    --------
    >>> df.groupBy(schema_id("value")).count()                                          # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    column = as_column(data)
    number = F.conv(F.hex(F.substring(column, 2, 4)), 16, 10).cast("bigint")
    framed = (F.octet_length(column) >= 5) & (F.substring(column, 1, 1) == F.lit(b"\0"))
    return F.when(framed, number)


def metrics(data: "Column | str" = "value", error: "Column | str | None" = None) -> "list[Column]":
    """Make the columns of an observation: how much was read, with how many schemas, how much of it is bad.

    Parameters
    ----------
    data : Column or str
        The framed values, as bytes: schema ids stand in them. Where only decoded ones are left, ``F.count("*")`` counts
        rows, and ``F.count`` of the error bad ones.
    error : Column or str, optional
        The field of `from_avro`'s option ``columnNameOfCorruptRecord``, such as ``order._error``.

    Returns
    -------
    list of Column
        ``rows``, ``tombstones``, ``schema_ids`` (different ones, by Spark's ``approx_count_distinct``), and with
        `error` ``bad_rows``.

    Examples
    --------
    >>> observation = Observation("orders")                                             # doctest: +SKIP
    >>> decoded.observe(observation, *metrics("value", "order._error"))                 # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    column = as_column(data)
    columns = [
        F.count(F.lit(1)).alias("rows"),
        F.count_if(column.isNull()).alias("tombstones"),
        # Not the exact number: that takes memory for each id, and foreign bytes may hold any.
        F.approx_count_distinct(schema_id(column), 0.01).alias("schema_ids"),
    ]
    return columns if error is None else [*columns, F.count(as_column(error)).alias("bad_rows")]
