"""Kafka's log segments as a data source of Spark."""

from typing import TYPE_CHECKING

from kcodec.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register_segments(spark: "SparkSession") -> None:
    """Register the format ``kcodec_segment`` in a session: batch reads of log segments, one task a segment.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect. kcodec must be installed where it runs Python.

    Raises
    ------
    ConfigError
        If this pyspark is older than 4.0.

    Notes
    -----
    ``load`` takes a segment, a folder (all ``.log`` and ``.checkpoint`` below it), a pattern of either (``*``, ``?``,
    ``[ab]``, ``{a,b}``, ``**``), or a list of them: paths of the machines that run Spark, or URIs that pyarrow knows
    (``hdfs:``, ``s3:``, ``gs:``, ``file:``). What a broker leaves behind (``.log.deleted``, ``.log.cleaned``,
    ``.log.swap``) is read where a path or a pattern names it, not with its folder. A path where nothing is fails as
    soon as Spark asks for the columns. The columns are those of Spark's own Kafka source, ``topic`` and ``partition``
    by the name of the folder (``orders-0``), and ``partitionLeaderEpoch``, ``producerId``, ``producerEpoch``,
    ``sequence``, ``transactional``, ``controlType``, ``batch`` and ``file``. A task holds a few MiB of its segment at a
    time. A schema of one's own is refused.

    Options, whose names and values have no case:

    =================== ==========================================================================================
    ``isolation``       ``read_uncommitted`` (default) or ``read_committed``; see `kcodec.protocol.read_segment`
    ``control``         ``skip`` (default), ``keep`` or ``only``: what becomes of markers of transactions
    ``checkCrc``        ``true`` (default) or ``false``
    ``mode``            ``FAILFAST`` (default), or ``PERMISSIVE``: batches that cannot be read are left out
    ``maxDecompressed`` bytes that compressed batches may expand to that are read in one step (default 1 GiB)
    =================== ==========================================================================================

    Examples
    --------
    >>> register_segments(spark)                                                        # doctest: +SKIP
    >>> spark.read.format("kcodec_segment").load("/var/lib/kafka/orders-0/*.log")       # doctest: +SKIP
    """
    try:
        from kcodec_spark.segments.segment_source import SegmentDataSource
    except ModuleNotFoundError as error:
        if error.name != "pyspark.sql.datasource":
            raise
        raise ConfigError("kcodec_segment needs the Python data sources of Spark 4.0") from None

    spark.dataSource.register(SegmentDataSource)
