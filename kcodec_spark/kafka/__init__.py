"""Topics as a data source of Spark: ``kcodec_kafka``, for batches and streams, in and out."""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register_kafka"]


def register_kafka(spark: "SparkSession") -> None:
    """Register the format ``kcodec_kafka`` in a session."""
    from kcodec_spark.kafka.source import data_source
    from kcodec_spark.ship import check_local_python, shipped

    check_local_python()
    spark.dataSource.register(data_source(shipped(), logging.getLogger("kcodec").level))
