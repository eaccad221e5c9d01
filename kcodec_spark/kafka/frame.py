"""Topics as a DataFrame without a data source, which Spark 3.5 has none of: each task reads what it is told."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcodec_spark.workers.archives import shipped
from kcodec_spark.workers.importer import importer
from kcodec_spark.workers.local_python import check_local_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_topic(spark: "SparkSession", options: Mapping[str, Any]) -> "DataFrame":
    """Read topics into a DataFrame of a batch, on every Spark from 3.5 on.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect.
    options : dict
        Those of ``kcodec_kafka`` for batches, such as ``where``, but for ``pushFilters``.

    Returns
    -------
    DataFrame
        The columns that ``kcodec_kafka`` gives. Brokers are asked for offsets here and now, from this process, and the
        DataFrame keeps them: it always has the same records.

    Raises
    ------
    ConfigError
        If an option is none, or the workers of a classic session on this machine run another Python.
    KafkaError
        If the brokers refuse, fail, or do not answer in time.

    Examples
    --------
    >>> place = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "orders"}
    >>> read_topic(spark, {**place, "columns": "value, offset"}).show()                          # doctest: +SKIP
    """
    from kcodec_spark.kafka.query import make
    from kcodec_spark.kafka.scan import load

    # As Spark's own readers take them.
    given = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
        if value is not None
    }
    scan, schema = make(given)
    parts = [tuple(each) for each in load(scan).ranges()]
    check_local_python()
    sent = _reading(scan, parts, shipped(), logging.getLogger("kcodec").level)
    # A row, and with it a part, for each task.
    return spark.range(0, len(parts), 1, max(len(parts), 1)).mapInArrow(sent, schema)


def _reading(
    scan: bytes, parts: Sequence[tuple[Any, ...]], marker: str | None, level: int
) -> Callable[[Any], Any]:
    """Return the function that Spark sends; it uses nothing of these packages, so that it can look for them first."""
    find = importer(marker)

    def read(batches: Any) -> Any:
        found = find("kcodec_spark.kafka.scan")
        logger = logging.getLogger("kcodec")
        if logger.level != level:
            logger.setLevel(level)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from found.load(scan).read(parts[number])

    return read
