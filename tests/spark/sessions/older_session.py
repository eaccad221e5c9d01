"""What functions do in a classic session of a Spark before 4.1; run in an environment of its own, prints JSON.

Arguments: which functions, and the settings of the session.
"""

import json
import sys
import tempfile
from datetime import datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import kcodec
from kcodec.protocol import write_batches
from kcodec_spark import (
    check_server,
    decimal_to_text,
    decode,
    decode_decimal,
    encode,
    encode_decimal,
    from_avro,
    from_json,
    from_protobuf,
    read_topic,
    register,
    register_kafka,
    ship,
    to_avro,
)

sys.path.append(str(Path(__file__).parents[2] / "kafka"))
from fake_broker import PATIENT, FakeCluster

#: How rows that are bad become nulls.
LAX = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad"}
#: The second of three levels of records in lists.
LEVEL = {
    "type": "record",
    "name": "Level",
    "fields": [
        {
            "name": "parts",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Part",
                    "fields": [
                        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
                        {"name": "noon", "type": {"type": "int", "logicalType": "time-millis"}},
                        {
                            "name": "marks",
                            "type": {
                                "type": "map",
                                "values": {
                                    "type": "array",
                                    "items": {
                                        "type": "bytes",
                                        "logicalType": "decimal",
                                        "precision": 20,
                                        "scale": 1,
                                    },
                                },
                            },
                        },
                    ],
                },
            },
        }
    ],
}
SCHEMA = {
    "type": "record",
    "name": "Odd",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "text", "type": ["null", "string"]},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 4},
        },
        {
            "name": "prices",
            "type": {
                "type": "array",
                "items": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}],
            },
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": ["null", {"type": "long", "logicalType": "local-timestamp-micros"}]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "time", "type": ["null", {"type": "long", "logicalType": "time-micros"}]},
        {"name": "scores", "type": {"type": "map", "values": {"type": "array", "items": "int"}}},
        {
            "name": "inner",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "Inner",
                    "fields": [
                        {"name": "x", "type": ["null", "int"]},
                        {
                            "name": "times",
                            "type": {
                                "type": "array",
                                "items": ["null", {"type": "long", "logicalType": "timestamp-micros"}],
                            },
                        },
                    ],
                },
            ],
        },
        {"name": "raw", "type": "bytes"},
        {"name": "deep", "type": {"type": "array", "items": LEVEL}},
        {
            "name": "lasted",
            "type": ["null", {"type": "long", "spark.sql.catalyst.type": "interval day to second"}],
        },
        {
            "name": "months",
            "type": ["null", {"type": "int", "spark.sql.catalyst.type": "interval year to month"}],
        },
    ],
}
PROTO = """
syntax = "proto3";
import "google/protobuf/duration.proto";
message M {
  uint32 small = 1; uint64 large = 2; google.protobuf.Duration lasted = 3; repeated uint64 many = 4;
  map<string, google.protobuf.Duration> by = 5; fixed32 fixed = 6;
}
"""


DEEP = {
    "at": datetime(1500, 1, 1, tzinfo=timezone.utc),
    "noon": time(12),
    "marks": {"a": [Decimal("1234567890123456789.5")], "b": []},
}


def payloads(codec: kcodec.AvroCodec) -> list[bytes]:
    """Return what no conversion by pandas leaves as it is: dates of 1500, hours that a clock shows twice or never."""
    year_1500, summer, winter = -14831769600000000, 1729987199999999, 1729992600000000
    rows = [
        {
            "id": 2**60,
            "text": None,
            "price": 12345678901234567890,
            "prices": [120, None],
            "at": year_1500,
            "local": None,
            "day": -171607,
            "time": 3723000004,
            "scores": {"a": [1, 2], "b": []},
            "inner": None,
            "raw": b"\0\xff",
            "deep": [],
            "lasted": None,
            "months": None,
        },
        {
            "id": -5,
            "text": "ü€𝄞",
            "price": -1,
            "prices": [],
            "at": summer,
            "local": 1711852200000000,
            "day": 19723,
            "time": None,
            "scores": {},
            "inner": {"x": None, "times": [None, winter]},
            "raw": b"",
            "deep": [{"parts": []}, {"parts": [DEEP]}],
            "lasted": -1,
            "months": 13,
        },
    ]
    return codec.encode(pa.array([_exact(row) for row in rows], codec.arrow_type)).to_pylist()


def _exact(row: dict) -> dict:
    epoch = datetime(1970, 1, 1)

    def moment(number: int | None) -> datetime | None:
        return (
            None if number is None else (epoch + timedelta(microseconds=number)).replace(tzinfo=timezone.utc)
        )

    inner = row["inner"] and {**row["inner"], "times": [moment(each) for each in row["inner"]["times"]]}
    local, clock = row["local"], row["time"]
    return {
        **row,
        "price": Decimal(row["price"]).scaleb(-4),
        "prices": [None if each is None else Decimal(each).scaleb(-2) for each in row["prices"]],
        "at": moment(row["at"]),
        "local": None if local is None else epoch + timedelta(microseconds=local),
        "day": (epoch + timedelta(days=row["day"])).date(),
        "time": None if clock is None else (epoch + timedelta(microseconds=clock)).time(),
        "inner": inner,
    }


def has_archive() -> bool:
    """Return whether a worker has what was sent to a classic session before Spark 4.0."""
    from pyspark import SparkFiles

    return Path(SparkFiles.getRootDirectory(), "kcodec", "__init__.py").exists()


def unsigned(spark: SparkSession) -> dict:
    """Read and write durations and unsigned numbers, which Spark has other types for."""
    codec = kcodec.ProtobufCodec(PROTO)
    day = timedelta(days=-3, microseconds=-1)
    row = {"small": 2**32 - 1, "large": 2**64 - 1, "lasted": day, "many": [2**63, 0], "by": {"a": day}}
    values = codec.encode([{**row, "fixed": 2**31}, {}]).to_pylist()
    df = spark.createDataFrame([(value,) for value in [*values, None]], "value binary")
    options = {"upcast.unsigned.ints": "true"}
    column = from_protobuf("value", schema=PROTO, options=options).alias("r")
    found = df.select(column)
    texts = found.selectExpr(
        "r.small",
        "r.large",
        "CAST(r.lasted AS STRING) AS lasted",
        "r.many",
        "CAST(r.by.a AS STRING) AS by",
        "r.fixed",
    )
    again = encode(decode(df, {"m": ("value", codec)}), {"again": ("m", codec)}, keep=["value"]).collect()
    return {
        "type": found.schema["r"].dataType.simpleString(),
        "rows": [str(tuple(row)) for row in texts.collect()],
        "again": [row.again == row.value for row in again],
    }


def numbers(spark: SparkSession) -> list:
    """Give functions numbers, which pandas takes for floats where there are nulls."""
    df = spark.createDataFrame(
        [(1.25, 2**53 - 1, Decimal("1.20")), (None, None, None)], "d double, n bigint, e decimal(9,2)"
    )
    columns = [
        decode_decimal("d", 2, 9),
        decimal_to_text("n", 0),
        decimal_to_text("e", 2),
        encode_decimal("e", 2),
    ]
    return [[str(value) for value in row] for row in df.select(*columns).collect()]


def streamed(spark: SparkSession, text: str, values: list[bytes]) -> list:
    """Decode a stream in mode PERMISSIVE, and the same in mode FAILFAST until it fails."""
    with tempfile.TemporaryDirectory() as folder:
        spark.createDataFrame([(value,) for value in values], "value binary").write.parquet(f"{folder}/in")
        stream = spark.readStream.schema("value binary").parquet(f"{folder}/in")
        found = []
        for name, given in (("lax", LAX), ("strict", {})):
            column = from_avro("value", text, given).alias("r")
            fields = ["r.id", "r.bad.code"] if given else ["r.id"]
            writer = stream.select(column).select(*fields).writeStream.format("memory").queryName(name)
            query = writer.option("checkpointLocation", f"{folder}/{name}").trigger(availableNow=True).start()
            try:
                query.awaitTermination()
                found.append([list(row) for row in spark.table(name).collect()])
            except Exception as error:
                found.append(str(error))
    return found


def topics(spark: SparkSession, codec: kcodec.AvroCodec) -> dict:
    """Read topics, and write them where there are data sources."""
    told = {}
    values = codec.encode(pa.array([{"id": number} for number in range(20)], codec.arrow_type))
    with FakeCluster({"t": 2, "u": 2}) as cluster:
        for partition in range(2):
            cluster.append(("t", partition), write_batches(pa.table({"value": values})))
        place = {f"kafka.{name}": str(value) for name, value in PATIENT.items()}
        place |= {"kafka.bootstrap.servers": cluster.address, "value.format": "avro"}
        place |= {"value.schema": codec.schema}
        some = {"subscribe": "t", "where": "value.id in [3, 15] and offset < 10"}
        found = read_topic(spark, {**place, **some, "columns": "partition, offset, value.id"}).collect()
        told["read_topic"] = sorted([row.partition, row.offset, row.id] for row in found)
        whole = read_topic(
            spark, {**place, "subscribe": "t", "includeHeaders": True, "maxRecordsPerPartition": 7}
        )
        told["columns"] = whole.schema.simpleString()
        told["sum"] = whole.selectExpr("sum(value.id) AS sum").collect()[0].sum
        try:
            register_kafka(spark)
        except kcodec.ConfigError as error:
            return told | {"no source": str(error)}
        frame = spark.read.format("kcodec_kafka").options(**place, **some).load()
        told["source"] = sorted([row.partition, row.value.id] for row in frame.collect())
        out = {**place, "topic": "u"}
        frame.select("value").write.format("kcodec_kafka").options(**out).mode("append").save()
        told["written"] = [row["value"] for at in range(2) for row in cluster.records(("u", at)).to_pylist()]
        told["written"] = sorted(codec.decode(told["written"]).field("id").to_pylist())

        stream = {**place, "subscribe": "u", "startingOffsets": "earliest"}

        def started(folder: str, write):
            frame = spark.readStream.format("kcodec_kafka").options(**stream).load()
            query = write(frame.writeStream).option("checkpointLocation", folder)
            return query.trigger(availableNow=True).start()

        seen: list[int] = []

        def keep(batch, number: int) -> None:
            rows = batch.select("value").collect()
            seen.extend(row.value.id for row in rows)
            batch.select("value").write.format("kcodec_kafka").options(**out).mode("append").save()

        told["batches"] = []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                # The second one goes on where the first one ended: at what that has written.
                started(folder, lambda writer: writer.foreachBatch(keep)).awaitTermination()
                told["batches"].append(sorted(seen))
                seen.clear()
        try:
            with tempfile.TemporaryDirectory() as folder:
                writes = lambda writer: writer.format("kcodec_kafka").options(**out)  # noqa: E731
                started(folder, writes).awaitTermination()
        except Exception as error:
            told["writeStream"] = str(error)
    return told


def rows(spark: SparkSession, codec: kcodec.AvroCodec, values: list[bytes]) -> dict:
    """Read and write rows that no conversion by pandas leaves as they are, on workers that are sent the packages."""
    told: dict[str, object] = {}
    text = json.dumps(SCHEMA)
    df = spark.createDataFrame([(value,) for value in [*values, None]], "value binary")
    report = check_server(spark)
    told |= {"ready": report.ready, "server": str(report)}
    told["type"] = df.select(from_avro("value", text).alias("r")).schema["r"].dataType.simpleString()

    # What Spark itself writes of the column tells whether a value was changed on its way.
    shown = df.select(F.to_json(from_avro("value", text)).alias("r")).collect()
    told["rows"] = [row.r for row in shown]
    told["null"] = df.select(from_avro("value", text).isNull().alias("r")).collect()[-1].r

    bad = spark.createDataFrame([(values[1],), (b"\x01",), (None,)], "value binary")
    found = bad.select(from_avro("value", text, LAX).alias("r")).select("r.id", "r.bad.code", "r.bad.bytes")
    told["permissive"] = [
        [row.id, row.code, None if row.bytes is None else bytes(row.bytes).hex()] for row in found.collect()
    ]
    try:
        bad.select(from_avro("value", text)).collect()
    except Exception as error:
        told["failfast"] = str(error)
    try:
        to_avro("value")
    except kcodec.ConfigError as error:
        told["to_avro"] = str(error)
    decoded = decode(df, {"order": ("value", codec)})
    again = encode(decoded, {"again": ("order", codec)}, keep=["value"]).collect()
    told["again"] = [row.again == row.value for row in again]
    worse = decode(bad, {"order": ("value", codec)}, keep=[], options=LAX).select("order.bad.code").collect()
    told["frame"] = [row.code for row in worse]
    ship(spark)
    told["shipped"] = spark.range(1).rdd.map(lambda _: has_archive()).collect()
    plain = kcodec.AvroCodec('{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}')
    told["topics"] = topics(spark, plain)
    return told


def others(spark: SparkSession, codec: kcodec.AvroCodec, values: list[bytes]) -> dict:
    """Try what stands on the same way: fields, other formats, SQL, streams."""
    told: dict[str, object] = {}
    text = json.dumps(SCHEMA)
    df = spark.createDataFrame([(value,) for value in [*values, None]], "value binary")
    kept = df.select(from_avro("value", text).alias("r")).where("r.id < 0").select("r.text").collect()
    told["filtered"] = [row.text for row in kept]
    some = df.select(from_avro("value", text, fields=["id", "prices"]).alias("r"))
    told["fields"] = some.select("r.*").columns
    told["streamed"] = streamed(spark, text, [values[1], b"\x01"])
    told["unsigned"] = unsigned(spark)
    told["numbers"] = numbers(spark)

    # Spark 4.0 has a function of that name, which takes more arguments.
    register(spark, {"odd_of": codec, "from_avro": kcodec.AvroCodec('"long"')})
    df.createOrReplaceTempView("odd")
    found = spark.sql("SELECT odd_of(value).id AS id, odd_of(value).at AS at FROM odd").collect()
    told["sql"] = [row.id for row in found]
    told["plain"] = spark.sql("SELECT from_avro(X'0e') AS item").collect()[0].item

    documents = spark.createDataFrame([('{"a": [1.25, null]}',), (None,)], "value string")
    listed = documents.select(F.to_json(from_json("value", "a ARRAY<DECIMAL(20,2)>")).alias("r")).collect()
    told["text"] = [row.r for row in listed]
    return told


def main() -> None:
    builder = SparkSession.builder.master("local[1]")
    for name, value in json.loads(sys.argv[2]).items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.session.timeZone", "Europe/Berlin")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    codec = kcodec.AvroCodec(json.dumps(SCHEMA))
    told = {"rows": rows, "others": others}[sys.argv[1]](spark, codec, payloads(codec))
    spark.stop()
    print(json.dumps({"spark": pyspark.__version__, **told}))


main()
