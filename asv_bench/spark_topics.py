"""What ``end_to_end.py`` measures of topics in Spark, in a session of its own: ``kcodec_kafka`` beside Spark's source.

    python spark_topics.py classic|sc://HOST:PORT BROKER REGISTRY TOPIC SUBJECT PREPARED ROWS ROUNDS [filters]

All read the topic, of so many rows, into the 15 columns of its values and write them, or one row of a hundred, to the
noop sink, in interleaved rounds, of which the first does not count; at a Connect server this runs with the Python of a
thin client. A stream is measured from its start to its end, and, of so many rows too, a batch of one that is running:
those behind the first of TOPIC-long, which has several times the rows. With `filters` only what writes one row of a
hundred is measured. Prints medians in seconds as JSON.
"""

import functools
import json
import os
import statistics
import sys
import tempfile
import time

import pyarrow as pa
from spark_peers import run, zero_cost

#: Settings of Spark's source that read a topic fast: by default its consumer hands over 500 records at a time.
TUNED = {
    "kafka.max.poll.records": "100000",
    "kafka.max.partition.fetch.bytes": "16000000",
    "kafka.fetch.max.bytes": "64000000",
    "kafka.receive.buffer.bytes": "4000000",
}
#: Keeps one row of a hundred.
ONE_PERCENT = "price > 99"


def session(place):
    """Start a classic session, or open one at a Connect server, whose workers are sent the packages."""
    from pyspark.sql import SparkSession

    from kcodec_spark import register_kafka, ship

    if place.startswith("sc:"):
        spark = SparkSession.builder.remote(place).getOrCreate()
        ship(spark)
    else:
        settings = json.loads(place.partition(" ")[2])
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
    register_kafka(spark)
    return spark


def frames(spark, reader, broker, registry, topic, subject, prepared, where=None):
    """Return what is measured, of a batch or a stream; of all rows, or of those for which a condition holds."""
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro
    from pyspark.sql.functions import arrow_udf

    from kcodec_spark.types import from_arrow_type

    place = {"kafka.bootstrap.servers": broker, "subscribe": topic, "startingOffsets": "earliest"}
    tuned = {**place, **TUNED}
    columns = {
        "value.format": "avro",
        "schemaRegistryAddress": registry,
        "subject": subject,
        "columns": "value.*",
    }
    if where:
        columns["where"] = f"value.{where}"
    with open(f"{prepared}.avsc") as file:
        schema = file.read()
    kind = from_arrow_type(pa.ipc.open_file(pa.memory_map(prepared)).schema.field("record").type)
    zero = arrow_udf(zero_cost(prepared, "record"), kind).asNondeterministic()
    source = reader.format("kafka").options(**tuned).load().select("value")
    bare = source.select(F.substring("value", 6, 2**31 - 1).alias("value"))
    java = bare.select(from_avro("value", schema).alias("r")).select("r.*")
    return {
        "source alone, defaults": reader.format("kafka").options(**place).load().select("value"),
        "source alone": source,
        "Java from_avro": java.where(where) if where else java,
        "zero cost": source.select(zero("value").alias("r")).select("r.*"),
        "kcodec_kafka": reader.format("kcodec_kafka").options(**place, **columns).load(),
    }


def stream(frame):
    """Run a stream of all that there is; return what it tells of its batches."""
    with tempfile.TemporaryDirectory() as folder:
        writer = frame.writeStream.format("noop").option("checkpointLocation", folder)
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(600)
        assert query.exception() is None
        return query.recentProgress


def running_batches(frame, rows):
    """Run a stream of batches of so many rows; return the seconds of each, but for the first."""
    # A thin client is told the rows of each source only; the attribute adds them up.
    _, *batches = [each for each in stream(frame) if each.numInputRows]
    assert batches
    assert all(each.numInputRows == rows for each in batches)
    return [each.durationMs["triggerExecution"] / 1000 for each in batches]


def main():
    """Measure one session."""
    place, broker, registry, topic, subject, prepared, rows, rounds, *only = sys.argv[1:]
    given = [broker, registry, topic, subject, prepared]
    spark = session(place)
    runs, running = {}, {}
    for name, frame in frames(spark, spark.read, *given, where=ONE_PERCENT).items():
        if name in ("Java from_avro", "kcodec_kafka"):
            runs[f"{name}, 1 %"] = functools.partial(run, frame)
    if not only:
        for name, frame in frames(spark, spark.read, *given).items():
            runs[name] = functools.partial(run, frame)
        for name, frame in frames(spark, spark.readStream, *given).items():
            runs[f"{name}, stream"] = functools.partial(stream, frame)
        long = [broker, registry, f"{topic}-long", subject, prepared]
        reader = spark.readStream.option("maxOffsetsPerTrigger", rows)
        for name, frame in frames(spark, reader, *long).items():
            running[f"{name}, running stream"] = frame
    assert frames(spark, spark.read, *given)["kcodec_kafka"].where("device is null").count() == 0
    seconds = {name: [] for name in [*runs, *running]}
    for turn in range(int(rounds) + 1):
        for name, work in runs.items():
            start = time.perf_counter()
            work()
            if turn:
                seconds[name].append(time.perf_counter() - start)
        for name, frame in running.items():
            found = running_batches(frame, int(rows))
            if turn:
                seconds[name] += found
    spark.stop()
    print(json.dumps({name: round(statistics.median(each), 3) for name, each in seconds.items()}), flush=True)
    # Not what the JVM of a classic session says at its end.
    os._exit(0)


main()
