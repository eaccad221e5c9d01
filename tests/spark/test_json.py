"""from_json and to_json, in a classic and a Connect session."""

import decimal

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from kcodec import ConfigError, JsonCodec, SchemaError
from kcodec_spark import from_json, to_json

DDL = "id BIGINT, price DECIMAL(9,2), tags ARRAY<STRING>"
TEXTS = ['{"id":1,"price":12.50,"tags":["a"]}', None, '{"price":0.125}', '{"id":3}']


@pytest.fixture
def frame(spark):
    return spark.createDataFrame([(text,) for text in TEXTS], "value string").coalesce(1)


def test_documents(frame):
    good = frame.where("value is null or value not like '%0.125%'")
    kinds = (DDL, T.StructType.fromDDL(DDL), pa.schema([("id", pa.int64()), ("price", pa.decimal128(9, 2)),
             ("tags", pa.list_(pa.string()))]))  # fmt: skip
    for schema in kinds:
        column = good.select(from_json("value", schema))
        assert column.columns == ["from_json(value)"]
        rows = [row[0] for row in column.collect()]
        assert rows == [(1, decimal.Decimal("12.50"), ["a"]), None, (3, None, None)]
    back = good.select(from_json(F.col("value").cast("binary"), DDL).alias("r")).select(
        to_json("r", nulls="omit").alias("v"), to_json("r", DDL).alias("w")
    )
    assert [row.v for row in back.collect()] == [TEXTS[0].encode(), None, b'{"id":3}']
    assert back.collect()[2].w == b'{"id":3,"price":null,"tags":null}'


def test_bad_rows(frame):
    with pytest.raises(PythonException, match="DecodeError: inexact: row 2, byte 9, price: "):
        frame.select(from_json("value", DDL)).collect()
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    rows = frame.select(from_json("value", DDL, options).alias("r")).select("r.*").collect()
    assert [row["_error"] and row["_error"].code for row in rows] == [None, None, "inexact", None]
    nan = frame.limit(1).select(to_json(F.struct(F.lit(float("nan")).alias("x")), options=options).alias("w"))
    assert nan.select("w._error.code").first()[0] is not None


def test_what_spark_cannot_hold_is_an_error_of_its_row(spark):
    kind = pa.struct([("t", pa.timestamp("ms", "UTC")), ("d", pa.list_(pa.duration("s")))])
    texts = ['{"t":1000,"d":[1]}', '{"t":9223372036854775807}', "{", '{"d":[9223372036854775807]}']
    frame = spark.createDataFrame([(text,) for text in texts], "value string").coalesce(1)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    rows = frame.select(from_json("value", kind, options, times="number").alias("r")).select(
        F.unix_millis("r.t"), "r._error"
    )
    told = [(time, error and (error.code, error.path)) for time, error in rows.collect()]
    assert told[:2] == [(1000, None), (None, ("out_of_range", "t"))]
    assert [(time, error[0]) for time, error in told[2:]] == [(None, "truncated"), (None, "out_of_range")]
    with pytest.raises(PythonException, match="DecodeError: out_of_range: row 1, t: "):
        frame.limit(2).select(from_json("value", kind, times="number")).collect()


def test_arguments(frame):
    assert frame.limit(1).select(from_json("value", JsonCodec(pa.struct([("id", pa.int64())])))).first()[
        0
    ] == (1,)
    times = frame.limit(1).select(
        to_json(F.struct(F.lit("1970-01-02").cast("date").alias("d")), times="number")
    )
    assert times.first()[0] == b'{"d":1}'
    for call, error, reason in (
        (lambda: from_json("value", "id NOTHING"), SchemaError, "not Spark's DDL"),
        (
            lambda: from_json("value", DDL, {"timestampFormat": "x"}),
            ConfigError,
            "is an argument, such as times=",
        ),
        (lambda: from_json("value", DDL, times="no"), ConfigError, "times"),
        (lambda: to_json("value", times="no"), ConfigError, "times"),
        (
            lambda: from_json("value", JsonCodec(pa.int32()), times="iso"),
            ConfigError,
            "given to the JsonCodec",
        ),
        (lambda: from_json("value", None), ConfigError, "not an Arrow type"),
    ):
        with pytest.raises(error, match=reason):
            call()
