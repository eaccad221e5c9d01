"""The classes that Spark sends to its Python workers.

They are pickled by value and use nothing of these packages until they are called, so that they can look for what was
shipped first. What they do is in the other modules of this package.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kcodec_spark.importer import importer

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource

__all__ = ["data_source"]


def data_source(marker: str | None, level: int) -> "type[DataSource]":
    """Make the data source; `marker` is the name of the file that marks what was shipped, `level` the logger's."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

    streams: tuple[type, ...] = (DataSourceStreamReader,)
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

        streams = (DataSourceStreamReader, SupportsTriggerAvailableNow)
    except ImportError:
        # Of Spark 4.2.
        pass
    find: Callable[[str], Any] = importer(marker)

    def module(name: str) -> Any:
        import logging

        found = find(f"kcodec_spark.kafka.{name}")
        logger = logging.getLogger("kcodec")
        if logger.level != level:
            logger.setLevel(level)
        return found

    class KafkaReader(DataSourceReader):  # type: ignore[misc]
        """Finds the offsets when a query is planned, and reads a part of a partition a task."""

        def __init__(self, scan: bytes) -> None:
            self.scan = scan

        def partitions(self) -> list[InputPartition]:
            return [InputPartition(tuple(each)) for each in module("scan").load(self.scan).ranges()]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            return module("scan").load(self.scan).read(partition.value)

    class KafkaDataSource(DataSource):  # type: ignore[misc]
        """Topics, as ``spark.read.format("kcodec_kafka")`` reads them."""

        scan: bytes | None = None

        @classmethod
        def name(cls) -> str:
            return "kcodec_kafka"

        def schema(self) -> Any:
            # The source is sent with what is found out here, so that later versions of a schema change nothing.
            self.scan, schema = module("scan").make(dict(self.options))
            return schema

        def reader(self, schema: Any) -> KafkaReader:
            return KafkaReader(module("scan").checked(self.scan, schema))

    return KafkaDataSource
