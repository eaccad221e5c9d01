"""Where the rows of a stream go: each sink as users have it, and what Spark reads of it."""

from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery


class Sink:
    """A sink of rows (id, partition, offset)."""

    #: What a session needs to be told.
    settings: ClassVar[dict[str, str]] = {}

    def __init__(self, spark: SparkSession, folder: Path, given: dict[str, Any]) -> None:
        self.spark = spark
        self.place = str(folder / "data")
        self.given = given
        self._checkpoint = str(folder / "checkpoint")

    def start(self, rows: DataFrame) -> StreamingQuery:
        writer = rows.writeStream.option("checkpointLocation", self._checkpoint)
        return self.write(writer.trigger(processingTime="0 seconds"))

    def write(self, writer: DataStreamWriter) -> StreamingQuery:
        raise NotImplementedError

    def rows(self) -> DataFrame | None:
        """Return all rows of the sink; None where others read them."""
        raise NotImplementedError


class Files(Sink):
    """Parquet files, of which Spark's log in their folder says which count."""

    def write(self, writer: DataStreamWriter) -> StreamingQuery:
        return writer.format("parquet").start(self.place)

    def rows(self) -> DataFrame:
        return self.spark.read.parquet(self.place)


class Batches(Sink):
    """`foreachBatch`: each batch has a folder of its number, which is written over when the batch comes again."""

    def write(self, writer: DataStreamWriter) -> StreamingQuery:
        place = self.place

        def keep(batch: DataFrame, number: int) -> None:
            batch.write.mode("overwrite").parquet(f"{place}/batch={number}")

        return writer.foreachBatch(keep).start()

    def rows(self) -> DataFrame:
        return self.spark.read.parquet(self.place)


class Topic(Sink):
    """Another topic, by ``kcodec_kafka``."""

    def write(self, writer: DataStreamWriter) -> StreamingQuery:
        options = {
            "kafka.bootstrap.servers": self.given["broker"],
            "kafka.delivery.timeout.ms": "10000",
            "kafka.request.timeout.ms": "5000",
            "topic": f"{self.given['topic']}-copy",
            "value.format": "json",
        }
        return writer.format("kcodec_kafka").options(**options).start()

    def rows(self) -> None:
        return None


class Delta(Sink):
    """A Delta table, which keeps the number of the batch that it took last."""

    settings: ClassVar[dict[str, str]] = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }

    def write(self, writer: DataStreamWriter) -> StreamingQuery:
        return writer.format("delta").start(self.place)

    def rows(self) -> DataFrame:
        return self.spark.read.format("delta").load(self.place)


class Iceberg(Sink):
    """An Iceberg table, whose snapshots have the numbers of their batches."""

    settings: ClassVar[dict[str, str]] = {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
    }

    def start(self, rows: DataFrame) -> StreamingQuery:
        self.spark.conf.set("spark.sql.catalog.ice.warehouse", self.place)
        columns = "id bigint, partition int, offset bigint"
        self.spark.sql(f"CREATE TABLE IF NOT EXISTS ice.shop.rows ({columns}) USING iceberg")
        return super().start(rows)

    def write(self, writer: DataStreamWriter) -> StreamingQuery:
        return writer.format("iceberg").toTable("ice.shop.rows")

    def rows(self) -> DataFrame:
        return self.spark.table("ice.shop.rows")


SINKS = {"files": Files, "foreachBatch": Batches, "kcodec_kafka": Topic, "Delta": Delta, "Iceberg": Iceberg}

#: These have no runtime for the newest Spark.
TABLES = ("Delta", "Iceberg")

#: Of these a row may be there twice, where a task is run again.
AT_LEAST_ONCE = ("kcodec_kafka",)
