"""The classes that Spark sends to its Python workers.

They are pickled by value and use nothing of these packages until they are called, so that they can look for what was
shipped first. What they do is in the other modules of this package.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kcodec_spark.workers.importer import importer

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource


def data_source(marker: str | None, level: int) -> "type[DataSource]":
    """Make the data source; `marker` is the name of the file that marks what was shipped, `level` the logger's."""
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamReader,
        InputPartition,
        WriterCommitMessage,
    )

    streams: tuple[type, ...] = (DataSourceStreamReader,)
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

        streams = (DataSourceStreamReader, SupportsTriggerAvailableNow)
    except ImportError:
        # Of Spark 4.2.
        pass
    stream_writers: tuple[type, ...] = ()
    try:
        from pyspark.sql.datasource import DataSourceStreamArrowWriter

        stream_writers = (DataSourceStreamArrowWriter,)
    except ImportError:
        # Of Spark 4.1.
        pass
    find: Callable[[str], Any] = importer(marker)

    def module(name: str) -> Any:
        import logging

        found = find(f"kcodec_spark.kafka.{name}")
        logger = logging.getLogger("kcodec")
        if logger.level != level:
            logger.setLevel(level)
        return found

    class Reads:
        """Reads a part of a partition a task."""

        def __init__(self, scan: bytes) -> None:
            self.scan = scan

        def read(self, partition: InputPartition) -> Any:
            return module("scan").load(self.scan).read(partition.value)

    class KafkaReader(Reads, DataSourceReader):  # type: ignore[misc]
        """Finds the offsets when a query is planned."""

        def partitions(self) -> list[InputPartition]:
            return [InputPartition(tuple(each)) for each in module("scan").load(self.scan).ranges()]

    class FilteringReader(KafkaReader):
        """Takes filters of the query: a class of its own, as Spark refuses one that could, where it is not set to."""

        def pushFilters(self, filters: Any) -> Any:
            self.scan, left = module("pushed").push(self.scan, filters)
            return left

    class KafkaStreamReader(Reads, *streams):  # type: ignore[misc]
        """Finds the offsets of each micro-batch, in the one process that a stream has for it."""

        _stream: Any = None

        @property
        def stream(self) -> Any:
            if self._stream is None:
                self._stream = module("stream").stream(self.scan)
            return self._stream

        def initialOffset(self) -> Any:
            return self.stream.initial()

        # Without arguments it is called before Spark 4.2.
        def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> Any:
            return self.stream.latest(start, type(limit).__name__ != "ReadAllAvailable")

        def getDefaultReadLimit(self) -> Any:
            from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

            if self.stream.max_offsets is not None:
                return ReadMaxRows(self.stream.max_offsets)
            if self.stream.min_offsets is not None:
                return ReadMinRows(self.stream.min_offsets)
            return ReadAllAvailable()

        def reportLatestOffset(self) -> Any:
            return self.stream.reported()

        def prepareForTriggerAvailableNow(self) -> None:
            self.stream.finish_here()

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
            return [InputPartition(tuple(each)) for each in self.stream.parts(start, end)]

        def stop(self) -> None:
            if self._stream is not None:
                self._stream.close()

    class Writes:
        """Writes the rows of a task; when it ends, the brokers have them, and there is nothing to commit."""

        def __init__(self, sink: bytes) -> None:
            self.sink = sink

        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            module("sink").load(self.sink).write(iterator)
            return WriterCommitMessage()

    class KafkaWriter(Writes, DataSourceArrowWriter):  # type: ignore[misc]
        """Of a batch."""

    class KafkaStreamWriter(Writes, *stream_writers):  # type: ignore[misc]
        """Of each micro-batch."""

    class KafkaDataSource(DataSource):  # type: ignore[misc]
        """Topics, as ``spark.read.format("kcodec_kafka")`` reads them."""

        scan: bytes | None = None

        @classmethod
        def name(cls) -> str:
            return "kcodec_kafka"

        def schema(self) -> Any:
            # The source is sent with what is found out here, so that later versions of a schema change nothing.
            self.scan, schema = module("query").make(dict(self.options))
            return schema

        def planned(self) -> bytes:
            if self.scan is None:
                raise ValueError("the columns of kcodec_kafka come from its options: read without .schema()")
            return self.scan

        def reader(self, schema: Any) -> KafkaReader:
            if not module("scan").load(self.planned()).takes_filters:
                return KafkaReader(self.planned())
            if not hasattr(DataSourceReader, "pushFilters"):
                raise ValueError("pushFilters needs Spark 4.1: the option where has conditions before")
            return FilteringReader(self.planned())

        def streamReader(self, schema: Any) -> KafkaStreamReader:
            return KafkaStreamReader(self.planned())

        def writer(self, schema: Any, overwrite: bool) -> KafkaWriter:
            if overwrite:
                raise ValueError("kcodec_kafka writes with mode append: topics are not overwritten")
            return KafkaWriter(module("sink").make(dict(self.options), schema))

        def streamWriter(self, schema: Any, overwrite: bool) -> KafkaStreamWriter:
            if not stream_writers:
                raise ValueError(
                    "streams are written to kcodec_kafka from Spark 4.1 on: before, foreachBatch writes each batch"
                )
            return KafkaStreamWriter(module("sink").make(dict(self.options), schema))

    return KafkaDataSource
