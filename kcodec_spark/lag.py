"""How far consumer groups are behind their topics."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kcodec_spark.protocol import decode_consumer_offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Without it Spark's Kafka source leaves internal topics out.
_INTERNAL = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
_COLUMNS = "`group` string, topic string, partition int, committed long, end long, lag long"


def consumer_lag(
    spark: "SparkSession", servers: str, group: str | None = None, *, options: Mapping[str, str] | None = None
) -> "DataFrame":
    """Find out how far consumer groups are behind.

    Reads ``__consumer_offsets``, and of the topics what comes after the offsets that are committed, with the
    session's Kafka connector.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect.
    servers : str
        The brokers, as ``kafka.bootstrap.servers`` has them.
    group : str, optional
        The only group to look at.
    options : dict, optional
        Further options of the Kafka source, such as ``kafka.security.protocol``.

    Returns
    -------
    DataFrame
        ``group``, ``topic``, ``partition``, ``committed`` (the offset), ``end`` (that after the last message) and
        ``lag``, the difference. Of this moment: the queries are run when the function is called.

    Notes
    -----
    Kafka's own tool takes the end of the log, which after a transaction is an offset or more behind the last message.

    Examples
    --------
    >>> from kcodec_spark import consumer_lag
    >>> consumer_lag(spark, "broker:9092").where("lag > 1000").show()                   # doctest: +SKIP
    """
    before = spark.conf.get(_INTERNAL, None)
    spark.conf.set(_INTERNAL, "true")
    try:
        committed = _committed(spark, servers, group, options or {})
        starts: dict[str, dict[str, int]] = {}
        for (_, topic, partition), offset in committed.items():
            places = starts.setdefault(topic, {})
            places[str(partition)] = min(offset, places.get(str(partition), offset))
        ends = _ends(spark, servers, starts, options or {}) if starts else {}
    finally:
        if before is None:
            spark.conf.unset(_INTERNAL)
        else:
            spark.conf.set(_INTERNAL, before)
    rows = []
    for (name, topic, partition), offset in sorted(committed.items()):
        end = max(ends.get((topic, partition), offset), offset)
        rows.append((name, topic, partition, offset, end, end - offset))
    return spark.createDataFrame(rows, _COLUMNS)


def _committed(
    spark: "SparkSession", servers: str, group: str | None, options: Mapping[str, str]
) -> dict[tuple[str, str, int], int]:
    """Return the offset that each group committed last for each partition, unless it was deleted since."""
    from pyspark.sql import functions as F

    source = _source(spark, servers, options).option("subscribe", "__consumer_offsets")
    # Else offsets of transactions that were aborted are read, too.
    frame = source.option("kafka.isolation.level", "read_committed").load()
    # Newer brokers may have records of other kinds there.
    decoded = decode_consumer_offsets(frame.select("key", "value", "offset"), options={"mode": "PERMISSIVE"})
    commits = decoded.where("OffsetCommit IS NOT NULL AND kind IN ('record', 'tombstone')")
    commits = commits.select(
        "OffsetCommit.key.*", F.col("OffsetCommit.value.offset").alias("committed"), "offset"
    )
    if group is not None:
        commits = commits.where(F.col("group") == group)
    # All records of a key are in one partition.
    latest = commits.groupBy("group", "topic", "partition").agg(F.max_by("committed", "offset"))
    return {(row[0], row[1], row[2]): row[3] for row in latest.collect() if row[3] is not None}


def _ends(
    spark: "SparkSession", servers: str, starts: Mapping[str, Mapping[str, int]], options: Mapping[str, str]
) -> dict[tuple[str, int], int]:
    """Return the offset after the last message of each partition, for those with a message at or after the start."""
    from pyspark.sql import functions as F

    assigned = {topic: [int(partition) for partition in places] for topic, places in starts.items()}
    source = _source(spark, servers, options).option("assign", json.dumps(assigned))
    frame = source.option("startingOffsets", json.dumps(starts)).load()
    found = frame.groupBy("topic", "partition").agg(F.max("offset")).collect()
    return {(row[0], row[1]): row[2] + 1 for row in found}


def _source(spark: "SparkSession", servers: str, options: Mapping[str, str]) -> Any:
    # What is committed may have been deleted since.
    source = spark.read.format("kafka").option("failOnDataLoss", "false").options(**options)
    return source.option("kafka.bootstrap.servers", servers)
