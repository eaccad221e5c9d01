"""Run by test_thin: a client without a JVM of its own, as pyspark-client is, at the server of the tests."""

import importlib.abc
import sys

MISSING = ("py4j", "pyspark.core", "pyspark.sql.classic")


class Missing(importlib.abc.MetaPathFinder):
    """Hide what the thin client does not have."""

    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(f"{each}.") for each in MISSING):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return


sys.meta_path.insert(0, Missing())

from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from kcodec import AvroCodec  # noqa: E402
from kcodec_spark import (  # noqa: E402
    check_server,
    from_avro,
    from_json_schema,
    from_protobuf,
    register,
    ship,
    to_avro,
    to_json_schema,
    to_protobuf,
    types,
)

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
assert check_server(spark).ready
ship(spark)
register(spark, {"number": AvroCodec('"long"')})
df = spark.range(3).select("id", to_avro("id").alias("value"))
decoded = df.select(from_avro("value", '"long"').alias("n"))
assert decoded.dtypes == [("n", "bigint")]
assert decoded.collect() == [(0,), (1,), (2,)]
assert df.selectExpr("number(value)").collect() == [(0,), (1,), (2,)]
assert df.select(to_avro(F.struct("id"))).first()[0] == b"\x00"
assert types.to_avro_type(decoded.schema["n"].dataType) == '"long"'
text = 'syntax = "proto3"; message M { int64 id = 1; }'
messages = df.select(to_protobuf(["id"], schema=text).alias("value"))
assert messages.select(from_protobuf("value", "M", schema=text).id).collect() == [(None,), (1,), (2,)]
documents = df.select(to_json_schema(["id"]).alias("value"))
schema = '{"properties": {"id": {"type": "integer"}}}'
assert documents.select(from_json_schema("value", schema).id).collect() == [(0,), (1,), (2,)]
spark.stop()
print("thin client: all as expected")
