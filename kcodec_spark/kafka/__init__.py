"""Topics in Spark: the data source ``kcodec_kafka``, for batches and streams, in and out, and `read_topic`."""

import logging
from typing import TYPE_CHECKING

from kcodec.errors import ConfigError
from kcodec_spark.kafka.frame import read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["read_topic", "register_kafka"]


def register_kafka(spark: "SparkSession") -> None:
    """Register the format ``kcodec_kafka`` in a session: topics in and out, in batches and streams, without a jar.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect. kcodec must be where it runs Python, or be sent there by `ship`, before this is called.

    Raises
    ------
    ConfigError
        If the workers of a classic session on this machine run another Python, or this pyspark has no data sources
        in Python, as Spark before 4.0.

    Notes
    -----
    Options are those of Spark's own Kafka source and sink under their names, ``kafka.`` and a setting of Kafka's
    client, and ``key.format``, ``value.format``, ``value.schema``, ``value.subject``, ``schemaRegistryAddress``,
    ``columns``, ``mode`` and others that docs/spark.md lists. Unknown ones are errors. The columns are those of Spark's
    source, with keys and values decoded; a task reads a range of offsets of one partition. Streams keep their offsets
    in the form of Spark's own source, and either goes on from a checkpoint of the other. The sink writes at least once.

    Examples
    --------
    >>> register_kafka(spark)                                                           # doctest: +SKIP
    >>> options = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "orders",
    ...            "schemaRegistryAddress": "http://registry:8081", "value.format": "avro"}
    >>> spark.read.format("kcodec_kafka").options(**options).load()                     # doctest: +SKIP
    """
    from importlib.util import find_spec

    import pyspark

    from kcodec_spark.kafka.source import data_source
    from kcodec_spark.workers.archives import shipped
    from kcodec_spark.workers.local_python import check_local_python

    # Databricks has them in what it calls 3.5.2.
    if find_spec("pyspark.sql.datasource") is None:
        raise ConfigError(
            f"kcodec_kafka needs the Python data sources of Spark 4.0, this is {pyspark.__version__}: "
            "read_topic(spark, options) reads batches; streams come from Spark's source kafka, decoded by from_avro"
        )
    check_local_python()
    spark.dataSource.register(data_source(shipped(), logging.getLogger("kcodec").level))
