"""Run by test_ship: a Connect server whose Python workers have no kcodec, before and after it is shipped."""

import json
import os
import sys

from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from kcodec import AvroCodec, registry
from kcodec.registry import Schema
from kcodec_spark import check_server, from_avro, register, ship

NUMBER = '{"type": "record", "name": "Number", "fields": [{"name": "n", "type": "int"}]}'

# As ``remote("local[1]")`` starts it, but for the port.
settings = {
    "spark.driver.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.port": sys.argv[1],
    "spark.sql.artifact.isolation.enabled": "true",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
}
SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
spark = SparkSession.builder.remote(f"sc://localhost:{sys.argv[1]}").create()
report = {"before": str(check_server(spark))}
df = spark.sql("SELECT X'02' AS value")
try:
    df.select(from_avro("value", '"int"')).collect()
except PythonException as error:
    lines = [line for line in str(error).splitlines() if "No module named" in line]
    report["unshipped"] = lines[-1].partition(" kcodec==")[0]
ship(spark)
ship(spark)
report["after"] = str(check_server(spark))
report["value"] = df.select(from_avro("value", '"int"')).first()[0]
register(spark, {"number": AvroCodec('"int"')})
report["sql"] = spark.sql("SELECT number(X'04')").first()[0]
# A schema that is registered later, and an id that there is none of: workers with pyarrow alone ask for both.
place = {"subject": "numbers", "schemaRegistryAddress": sys.argv[2]}
options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "error"}
store = registry.open(sys.argv[2])
store.register("numbers", Schema(NUMBER))
number = from_avro("value", options=options, **place).alias("r")
later = store.register("later", Schema(NUMBER.replace("Number", "Later").replace("int", "long"))).id
values = spark.sql(f"SELECT explode(array(X'000000000104', X'{later:010x}06', X'000000006308')) AS value")
rows = values.select(number).select("r.n", "r.error.code").collect()
report["rows"] = [list(row) for row in rows]
report["registry"] = check_server(spark, sys.argv[2]).ready
# Spark has the workers of a streaming query look in another folder.
rows = spark.readStream.format("rate").load().selectExpr("X'06' AS value")
query = rows.select(from_avro("value", '"int"').alias("n")).writeStream.format("memory").queryName("stream")
query = query.start()
query.processAllAvailable()
while not spark.table("stream").count():
    assert query.isActive, query.exception()
report["stream"] = spark.table("stream").first()[0]
query.stop()
spark.stop()
json.dump(report, sys.stdout)
