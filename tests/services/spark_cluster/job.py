"""A job on a cluster, run by test_environments: what the workers have, and a topic read, decoded, streamed and written.

Its argument is a file with JSON: settings, broker, registry, topic, folder, and whether to ship the packages.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

from kcodec_spark import check_server, from_avro, register_kafka, ship

given = json.loads(Path(sys.argv[1]).read_text())
spark = SparkSession.builder.config(map=given["settings"]).getOrCreate()
if not is_remote():
    spark.sparkContext.setLogLevel("ERROR")
told = {"spark": spark.version, "before": str(check_server(spark))}
if given["ship"]:
    ship(spark)
    told["after"] = str(check_server(spark))


def who(batches):
    """Tell of a worker its process, its Python, and where it has kcodec from."""
    import os
    import sys

    import pyarrow

    import kcodec

    for _ in batches:
        row = {"pid": [os.getppid()], "python": [sys.executable], "kcodec": [kcodec.__file__]}
        yield pyarrow.RecordBatch.from_pydict(row)


schema = "pid bigint, python string, kcodec string"
rows = spark.range(4, numPartitions=4).mapInArrow(who, schema).collect()
told["daemons"] = len({row.pid for row in rows})
told["pythons"] = sorted({row.python for row in rows})
told["from"] = sorted({row.kcodec for row in rows})

register_kafka(spark)
place = {
    "kafka.bootstrap.servers": given["broker"],
    "subscribe": given["topic"],
    "startingOffsets": "earliest",
}
decoding = {"value.format": "avro", "schemaRegistryAddress": given["registry"], "columns": "value.id"}
told["read"] = (
    spark.read.format("kcodec_kafka").options(**place, **decoding).load().agg(F.sum("id")).first()[0]
)
order = from_avro("value", subject=f"{given['topic']}-value", schemaRegistryAddress=given["registry"])
raw = spark.read.format("kcodec_kafka").options(**place).load()
told["decoded"] = raw.select(order.alias("order")).agg(F.sum("order.id")).first()[0]

folder = given["folder"]
stream = spark.readStream.format("kcodec_kafka").options(**place).load()
query = (
    stream.select("key", order.alias("order"))
    .select("key", "order.id")
    .writeStream.format("parquet")
    .options(path=f"{folder}/data", checkpointLocation=f"{folder}/checkpoint")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
told["streamed"] = spark.read.parquet(f"{folder}/data").agg(F.sum("id")).first()[0]

copy = f"{given['topic']}-copy"
out = raw.select("key", "value").write.format("kcodec_kafka").option("topic", copy)
out.option("kafka.bootstrap.servers", given["broker"]).mode("append").save()
copied = spark.read.format("kcodec_kafka").options(**{**place, "subscribe": copy}).load()
told["copied"] = copied.count()
spark.stop()
print(json.dumps(told))
