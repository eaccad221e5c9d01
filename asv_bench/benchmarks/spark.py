"""Decoding in a classic Spark session, and a codec of zero cost beside it. Left out without Java."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .avro_records import array, codec, payloads

_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
}


class Decode:
    """One column of flat records; ``zero`` returns columns that were there before."""

    params = (["kcodec", "zero"],)
    param_names = ("codec",)
    timeout = 300
    number = 1
    warmup_time = 0

    def setup(self, name: str) -> None:
        home = os.environ.get("JAVA_HOME")
        if not shutil.which(str(Path(home, "bin", "java")) if home else "java"):
            raise NotImplementedError("no Java")
        try:
            from pyspark.sql import SparkSession
            from pyspark.sql.functions import arrow_udf
        except ImportError:
            raise NotImplementedError("no pyspark") from None
        from kcodec_spark import from_avro
        from kcodec_spark.types import from_arrow_type

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master("local[2]").appName("kcodec benchmarks")
        for key, value in _SETTINGS.items():
            builder = builder.config(key, value)
        self.spark = builder.getOrCreate()
        self.folder = tempfile.mkdtemp()
        file = f"{self.folder}/values.parquet"
        pq.write_table(pa.table({"value": payloads("flat")}), file, row_group_size=10_000)
        rows = self.spark.read.parquet(file)
        if name == "kcodec":
            column = from_avro("value", codec("flat"))
        else:
            ready = array("flat")
            kind = from_arrow_type(ready.type)

            def canned(values: pa.Array) -> pa.Array:
                return ready.slice(0, len(values))

            column = arrow_udf(canned, kind).asNondeterministic()("value")
        self.frame = rows.select(column.alias("r")).select("r.*")
        self.time_decode(name)

    def teardown(self, name: str) -> None:
        self.spark.stop()
        shutil.rmtree(self.folder)

    def time_decode(self, name: str) -> None:
        self.frame.write.format("noop").mode("overwrite").save()
