"""What a query has read, for ``DataFrame.observe``: columns that the JVM computes, without Python."""

from typing import TYPE_CHECKING

from kcodec.errors import ConfigError
from kcodec.frames import Frame
from kcodec_spark.functions.columns import as_column

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Where the parts of a GUID stand among its digits, from 1, and how many digits they have.
_GUID = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))


def schema_id(data: "Column | str", *, frame: Frame | str = "CONFLUENT") -> "Column":
    """Return the schema id that each framed value begins with.

    Parameters
    ----------
    data : Column or str
        Binary column.
    frame : Frame or str
        One of `kcodec.frames`, its name, or a frame of one's own; none in a header, as a column has none.

    Returns
    -------
    Column
        Of type bigint, or string where ids are no numbers: a UUID, or hexadecimal digits. It is null where the value is
        null, or too short for the frame, or does not begin like one; and where Confluent's has a GUID.

    Raises
    ------
    ConfigError
        If there is no such frame, or values do not begin with it.

    Examples
    --------
    >>> df.groupBy(schema_id("value")).count()                                          # doctest: +SKIP
    >>> df.groupBy(schema_id("value", frame="GLUE")).count()                            # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    kind = Frame.of(frame)
    if kind.header or not kind.id_size:
        raise ConfigError(f"values do not begin with an id by {kind!r}")
    column = as_column(data)
    digits = F.hex(F.substring(column, kind.size - kind.id_size + 1, kind.id_size))
    # By a base below 0 the number has a sign: 4 bytes never reach it, 8 bytes have one here too.
    key = _text(digits, kind.id_size) if kind.has_text_ids else F.conv(digits, 16, -10).cast("bigint")
    framed = F.octet_length(column) >= kind.size
    if kind.prefix:
        framed &= F.substring(column, 1, len(kind.prefix)) == F.lit(kind.prefix)
    if kind.compression:
        packs = F.substring(column, len(kind.prefix) + 1, 1)
        framed &= (packs == F.lit(b"\0")) | (packs == F.lit(b"\5"))
    return F.when(framed, key)


def _text(digits: "Column", size: int) -> "Column":
    """Return an id that is no number as error reports have it; see `kcodec.frames.key_text`."""
    from pyspark.sql import functions as F

    text = F.lower(digits)
    if size != 16:
        return text
    return F.concat_ws("-", *(text.substr(start, count) for start, count in _GUID))


def metrics(
    data: "Column | str" = "value", error: "Column | str | None" = None, *, frame: Frame | str = "CONFLUENT"
) -> "list[Column]":
    """Make the columns of an observation: how much was read, with how many schemas, how much of it is bad.

    Parameters
    ----------
    data : Column or str
        The framed values, as bytes: schema ids stand in them. Where only decoded ones are left, ``F.count("*")`` counts
        rows, and ``F.count`` of the error bad ones.
    error : Column or str, optional
        The field of `from_avro`'s option ``columnNameOfCorruptRecord``, such as ``order._error``.
    frame : Frame or str
        The frame of the values, as `schema_id` takes it.

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
        F.approx_count_distinct(schema_id(column, frame=frame), 0.01).alias("schema_ids"),
    ]
    return columns if error is None else [*columns, F.count(as_column(error)).alias("bad_rows")]
