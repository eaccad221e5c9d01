"""Run by test_spark_source, which kills it: a stream of a topic into Parquet files, in small batches.

Arguments: the broker, the topic, and the folder of the data and the checkpoint.
"""

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

from processes import MASTER, SPARK
from pyspark.sql import SparkSession

from kcodec_spark import register_kafka

broker, topic, folder = sys.argv[1:]
spark = SparkSession.builder.master(MASTER).config(map=SPARK).getOrCreate()
register_kafka(spark)
options = {
    "kafka.bootstrap.servers": broker,
    "subscribe": topic,
    "startingOffsets": "earliest",
    "maxOffsetsPerTrigger": "2000",
    "minPartitions": "4",
}
frame = spark.readStream.format("kcodec_kafka").options(**options).load()
query = (
    frame.select("topic", "partition", "offset")
    .writeStream.format("parquet")
    .options(path=f"{folder}/data", checkpointLocation=f"{folder}/checkpoint")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
