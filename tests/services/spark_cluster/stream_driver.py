"""A streaming query of a topic into a sink, run by `Trial` as a process of its own, with the Python of the cluster.

Its argument is a file with JSON: settings, sink, broker, registry, topic, folder, phase. A query that fails is started
again, as a user's supervisor does it, until there is a file ``stop`` in the folder: what the sink has by then
is counted by Spark, and stands in the file ``found``.
"""

import json
import sys
import time
from pathlib import Path

import sinks
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kcodec_spark import register_kafka

given = json.loads(Path(sys.argv[1]).read_text())
folder = Path(given["folder"])


def slowly(batches):
    """Take a while for each task, so that what is killed is in the middle of one."""
    import time

    for batch in batches:
        time.sleep(given["pause"])
        yield batch


def start():
    """Start the query."""
    options = {
        "kafka.bootstrap.servers": given["broker"],
        "kafka.default.api.timeout.ms": "5000",
        "subscribe": given["topic"],
        "startingOffsets": "earliest",
        "value.format": "avro",
        "schemaRegistryAddress": given["registry"],
        "confluent.schema.registry.max.retries": "1",
    }
    frame = spark.readStream.format("kcodec_kafka").options(**options).load()
    rows = frame.select("value.id", "partition", "offset")
    return sink.start(rows.mapInArrow(slowly, rows.schema))


spark = SparkSession.builder.config(map=given["settings"]).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
register_kafka(spark)
sink = sinks.SINKS[given["sink"]](spark, folder, given)
query, failures = None, 0
while not (folder / "stop").exists():
    try:
        query = start()
        while query.isActive and not (folder / "stop").exists():
            query.awaitTermination(0.2)
        if query.exception() is not None:
            raise query.exception()
    except Exception as error:
        failures += 1
        told = [line for line in str(error).splitlines() if "Error" in line or "Exception" in line]
        print(f"the query failed: {(told or [repr(error)])[-1][:300]}", flush=True)
        time.sleep(1)
if query is not None:
    query.stop()
found = {"failures": failures}
rows = sink.rows()
if rows is not None:
    counted = rows.groupBy(F.floor(F.col("id") / given["phase"]).alias("phase")).agg(
        F.count("*"), F.count_distinct("id"), F.count_distinct("partition", "offset")
    )
    found["phases"] = {row[0]: list(row[1:]) for row in counted.collect()}
(folder / "found.part").write_text(json.dumps(found))
(folder / "found.part").rename(folder / "found")
spark.stop()
