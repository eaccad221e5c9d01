"""Change events of Debezium, merged by key into a table of Delta Lake or Iceberg by ``merge_newest``, twice over.

Run with the name of what the table is of, the path of its classes, and a folder for it.
"""

import json
import sys

from pyspark.sql import SparkSession

from kcodec_spark import from_connect_json, merge_newest, unwrap

KIND, CLASSES, FOLDER = sys.argv[1:]
SETTINGS = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": FOLDER,
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": FOLDER,
    },
}
TABLE = {"delta": "orders", "iceberg": "ice.shop.orders"}[KIND]
ROW = "STRUCT<id: BIGINT NOT NULL, note: STRING>"

builder = SparkSession.builder.master("local[2]")
for name, value in {
    "spark.driver.extraClassPath": CLASSES,
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    **SETTINGS[KIND],
}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.sql(f"CREATE TABLE {TABLE} (id BIGINT, note STRING) USING {KIND}")


def merge(*events):
    """Merge events, each as its offset, before and after."""
    rows = []
    for offset, before, after in events:
        operation = "c" if before is None else "d" if after is None else "u"
        rows.append((json.dumps({"before": before, "after": after, "op": operation}), offset))
    taken = spark.createDataFrame(rows, "value STRING, offset BIGINT")
    columns = f"STRUCT<before: {ROW}, after: {ROW}, op: STRING>"
    decoded = taken.select(
        from_connect_json("value", columns, {"schemas.enable": "false"}).alias("value"), "offset"
    )
    changes = unwrap(decoded, delete_tombstone_handling_mode="rewrite").select("value.*", "offset")
    merge_newest(changes, TABLE, "id", deleted="__deleted = 'true'")


def found():
    return sorted(map(tuple, spark.table(TABLE).collect()))


def row(number, note):
    return {"id": number, "note": note}


first = [
    (0, None, row(1, "new")),
    (1, None, row(2, "new")),
    (2, row(1, "new"), row(1, "paid")),
    (3, row(2, "new"), None),
    (4, None, row(3, None)),
]
merge(*first)
assert found() == [(1, "paid"), (3, None)], found()
# A batch that comes again changes nothing.
merge(*first)
assert found() == [(1, "paid"), (3, None)], found()
merge((5, row(1, "paid"), None), (6, row(3, None), row(3, "late")), (7, None, row(4, "new")))
assert found() == [(3, "late"), (4, "new")], found()
spark.stop()
