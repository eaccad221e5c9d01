"""Writes the classes that Spark's JVM loads into an archive, from which later ones have them ready.

Argument: the archive. `make test` runs this once; the tests use the archive that stands in the environment's folder.
"""

import os
import sys
import tempfile
from pathlib import Path


def main(archive: str) -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    os.environ["SPARK_SUBMIT_OPTS"] = f'"-XX:ArchiveClassesAtExit={archive}" -Xlog:cds*=off'
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": "0",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        frame = session.range(9).mapInArrow(lambda batches: batches, "id long")
        frame.groupBy("id").count().write.parquet(f"{folder}/rows")
        stream = session.readStream.schema("id long, count long").parquet(f"{folder}/rows")
        stream.writeStream.option("checkpointLocation", f"{folder}/checkpoint").trigger(
            availableNow=True
        ).start(f"{folder}/again", "parquet").awaitTermination()
    gateway = SparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).absolute()))
