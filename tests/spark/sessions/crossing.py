"""What a Spark Connect client can do at a server of another version; prints JSON. Arguments: the server's address."""

import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kcodec import AvroCodec
from kcodec_spark import check_server, decode, encode, from_avro, register, to_avro

FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
    {
        "name": "prices",
        "type": {
            "type": "array",
            "items": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}],
        },
    },
]
SCHEMA = json.dumps({"type": "record", "name": "R", "fields": FIELDS})
#: An id of 7, the first moment of 1600, and the prices 1.20 and null.
VALUE = bytes.fromhex("0e02ffff8ba79ed6bd29040202780000")


def main() -> None:
    spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    codec = AvroCodec(SCHEMA)
    # Rows from the client would need settings that older servers do not have.
    df = spark.range(0, 2, 1, 1).selectExpr(f"IF(id = 0, X'{VALUE.hex()}', NULL) AS value")

    def column() -> list:
        rows = df.select(F.to_json(from_avro("value", SCHEMA)).alias("r")).collect()
        return [row.r for row in rows]

    def sql() -> list:
        register(spark, {"r_of": codec})
        return [spark.sql(f"SELECT r_of(X'{VALUE.hex()}').id AS id").collect()[0].id]

    def frame() -> list:
        rows = decode(df, {"r": ("value", codec)}).select(F.to_json("r").alias("r")).collect()
        return [row.r for row in rows]

    def written_frame() -> list:
        found = encode(decode(df, {"r": ("value", codec)}), {"again": ("r", codec)}, keep=[]).collect()
        return [None if row.again is None else bytes(row.again).hex() for row in found]

    def written_column() -> list:
        rows = df.select(to_avro(from_avro("value", SCHEMA), SCHEMA).alias("again")).collect()
        return [None if row.again is None else bytes(row.again).hex() for row in rows]

    told = {"server": spark.version, "check": str(check_server(spark)), "value": VALUE.hex()}
    for function in (column, sql, frame, written_frame, written_column):
        try:
            told[function.__name__] = function()
        except Exception as error:
            told[function.__name__] = str(error).strip().splitlines()[0]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
