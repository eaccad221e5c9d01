"""Write and read a topic of Azure's frames in Spark, classic and Connect; in a process of its own.

Workers find Azure as those of a cluster do: by the environment that all of it was started with.
"""

import json
import os
import sys

from pyspark.sql import SparkSession

from kcodec_spark import read_topic, register_kafka


def topic(spark: SparkSession, options: dict[str, str], name: str) -> list[list[object]]:
    """Write a topic with the data source, and read it with the newest version of the schema."""
    register_kafka(spark)
    rows = spark.range(3).selectExpr("struct(id, 'new' AS note) AS value")
    rows.write.format("kcodec_kafka").options(**options, topic=name).mode("append").save()
    again = spark.read.format("kcodec_kafka").options(**options, subscribe=name).load()
    found = sorted([row.value.id, row.value.note] for row in again.collect())
    whole = read_topic(spark, {**options, "subscribe": name, "columns": "value.id"})
    assert sorted(row.id for row in whole.collect()) == [number for number, _ in found]
    return found


def main() -> None:
    """Print what each session has read."""
    settings, options, port = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
    builder = SparkSession.builder.master("local[1]").config("spark.connect.grpc.binding.port", port)
    builder = builder.config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    for name, value in settings.items():
        builder = builder.config(name, value)
    classic = builder.getOrCreate()
    found = {"classic": topic(classic, options, "classic")}
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    connect = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    found["connect"] = topic(connect, options, "connect")
    connect.stop()
    print(json.dumps(found))


main()
