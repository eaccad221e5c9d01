"""Run by test_thin_client with the Python of an environment that has pyspark-client and kcodec, and no Java.

Arguments: queries or streams, the Connect server, the broker, the registry, a topic with framed orders, one poison
and one tombstone, beside it one of that name and -copy, and a folder for a checkpoint.
"""

import importlib.util
import json
import sys
import warnings

warnings.simplefilter("ignore")

for absent in ("py4j", "pyspark.core.context", "pyspark.sql.classic", "numba", "confluent_kafka"):
    try:
        found = importlib.util.find_spec(absent)
    except ModuleNotFoundError:
        found = None
    assert found is None, absent

from pyspark.errors import PySparkException  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

import kcodec  # noqa: E402
from kcodec_spark import check_server, from_avro, register, register_kafka, ship, to_avro  # noqa: E402

part, server, broker, registry_url, topic, checkpoint = sys.argv[1:]
subject = f"{topic}-value"
told = {}

spark = SparkSession.builder.remote(server).getOrCreate()
told["before"] = str(check_server(spark))
ship(spark)
told["after"] = str(check_server(spark))
told["registry"] = str(check_server(spark, registry_url))


def source(reader):
    place = reader.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", topic)
    return place.option("startingOffsets", "earliest").load()


permissive = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
decoded = from_avro("value", options=permissive, subject=subject, schemaRegistryAddress=registry_url)
failing = from_avro("value", subject=subject, schemaRegistryAddress=registry_url)

register_kafka(spark)
place = {"kafka.bootstrap.servers": broker, "schemaRegistryAddress": registry_url, "value.format": "avro"}
columns = {"subscribe": topic, "startingOffsets": "earliest", "columns": "value.*", **permissive}


def topic_columns(reader):
    return reader.format("kcodec_kafka").options(**place, **columns).load()


def queries() -> None:
    rows = source(spark.read).select(F.col("key").cast("string"), "value", decoded.alias("order"))
    good = rows.where("order.id is not null")
    told["ids"] = sorted(row[0] for row in good.select("order.id").collect())
    told["errors"] = [
        list(row) for row in rows.select("key", "order._error.code").where("code is not null").collect()
    ]
    told["tombstones"] = rows.where("order is null").count()
    try:
        source(spark.read).select(failing).collect()
    except PySparkException as error:
        told["failfast"] = [line for line in str(error).splitlines() if "DecodeError" in line][-1]

    latest = {"use.latest.version": True, "auto.register.schemas": False}
    serde = kcodec.Serde("AVRO", registry_url, topic=topic, config=latest)
    register(spark, {"order_of": serde, "order_bytes": (serde, "encode")})
    source(spark.read).where("key like 'good%'").createOrReplaceTempView("messages")
    told["sql"] = [
        list(row)
        for row in spark.sql(
            "SELECT order_of(value).id, order_of(value).customer FROM messages ORDER BY 1 LIMIT 2"
        ).collect()
    ]
    same = "SELECT order_bytes(order_of(value)) = value AS same FROM messages"
    told["same"] = spark.sql(f"SELECT count_if(same) FROM ({same})").first()[0]

    again = good.select(
        "key",
        to_avro(
            F.col("order").dropFields("_error"), subject=subject, schemaRegistryAddress=registry_url
        ).alias("again"),
        "value",
    )
    told["written"] = again.where("again = value").count()

    rows = topic_columns(spark.read)
    told["read"] = sorted(row[0] for row in rows.where("id is not null").select("id").collect())
    told["read errors"] = sorted(
        row[0] for row in rows.select("_error.code").where("code is not null").collect()
    )
    good = rows.where("id is not null").drop("_error")
    good.write.format("kcodec_kafka").options(
        **place, topic=f"{topic}-copy", **{"value.subject": subject}
    ).mode("append").save()


def streams() -> None:
    query = (
        source(spark.readStream)
        .where("key like 'good%'")
        .select(failing.alias("order"))
        .select("order.*")
        .writeStream.format("memory")
        .queryName("thin")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    told["streamed"] = sorted(row[0] for row in spark.table("thin").select("id").collect())

    def keep(batch, number):
        batch.select("id").write.mode("append").saveAsTable("thin_batches")

    each = (
        source(spark.readStream)
        .where("key like 'good%'")
        .select(failing.alias("order"))
        .select("order.*")
        .writeStream.foreachBatch(keep)
        .trigger(availableNow=True)
        .start()
    )
    each.awaitTermination(120)
    told["batches"] = sorted(row[0] for row in spark.table("thin_batches").collect())
    spark.sql("DROP TABLE thin_batches")

    query = topic_columns(spark.readStream).where("id is not null").drop("_error").writeStream
    query = query.format("kcodec_kafka").options(**place, topic=f"{topic}-copy", **{"value.subject": subject})
    query = query.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination(120)


{"queries": queries, "streams": streams}[part]()
copied = spark.read.format("kcodec_kafka").options(**place, subscribe=f"{topic}-copy", columns="value.id")
told["copied"] = sorted(row[0] for row in copied.option("subject", subject).load().collect())
spark.stop()
print(json.dumps(told))
