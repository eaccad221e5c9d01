"""Decimals of Kafka's tools in Spark: exact, or an error."""

from decimal import Decimal

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F

from kcodec import ConfigError, DecimalCodec
from kcodec_spark import decimal_to_text, decode_decimal, encode_decimal, register, text_to_decimal

VALUES = [Decimal("1.56"), None, Decimal("-0.01")]


@pytest.fixture
def decimals(spark):
    rows = [(bytearray(b"\x00\x9c"), "AJw=", "1.56", 1.56, (2, bytearray(b"\x00\x9c"))), (None,) * 5,
            (bytearray(b"\xff"), "/w==", "-1e-2", -0.01, (2, bytearray(b"\xff")))]  # fmt: skip
    schema = (
        "bytes binary, base64 string, number string, double double, variable struct<scale:int,value:binary>"
    )
    return spark.createDataFrame(rows, schema).coalesce(1)


def values(df, column):
    return [row[0] for row in df.select(column).collect()]


def test_every_form_is_read(decimals):
    for name in ("bytes", "base64", "double", "variable"):
        column = decode_decimal(name, 2, 9)
        assert decimals.select(column.alias("d")).schema["d"].dataType.simpleString() == "decimal(9,2)"
        assert values(decimals, column) == VALUES, name
    assert values(decimals, decode_decimal("number", 2, 9, text="number")) == VALUES
    assert values(decimals, text_to_decimal(F.col("number"), 2, 9)) == VALUES


def test_writing(decimals):
    read = decimals.select(decode_decimal("bytes", 2).alias("d"))
    assert [None if v is None else bytes(v) for v in values(read, encode_decimal("d", 2))] == [
        b"\x00\x9c",
        None,
        b"\xff",
    ]
    assert values(read, encode_decimal("d", 2, base64=True)) == ["AJw=", None, "/w=="]
    assert values(read, decimal_to_text("d", 2)) == ["1.56", None, "-0.01"]
    for name in ("bytes", "base64"):
        assert values(decimals, decimal_to_text(name, 2)) == ["1.56", None, "-0.01"]
    assert values(decimals, decimal_to_text("bytes", 9)) == ["1.56E-7", None, "-1E-9"]
    assert values(decimals, decimal_to_text("bytes", 9, plain=True)) == ["0.000000156", None, "-0.000000001"]


def test_nothing_is_rounded(spark):
    df = spark.createDataFrame([("1.567",), ("1.56",)], "text string").coalesce(1)
    assert values(df, F.col("text").cast("decimal(9,2)")) == [Decimal("1.57"), Decimal("1.56")]
    with pytest.raises(PythonException, match="inexact: row 0"):
        values(df, text_to_decimal("text", 2, 9))
    assert values(df, text_to_decimal("text", 2, 9, {"mode": "PERMISSIVE"})) == [None, Decimal("1.56")]
    with pytest.raises(PythonException, match="inexact"):
        values(spark.sql("SELECT 1.567 AS d"), encode_decimal("d", 2))
    with pytest.raises(ConfigError, match="takes the option mode"):
        decode_decimal("d", 2, options={"columnNameOfCorruptRecord": "bad", "mode": "PERMISSIVE"})
    with pytest.raises(ConfigError, match="not within 1 and 76"):
        decode_decimal("d", 2, 0)
    for scale, precision in ((2, 39), (10, 9), (-2, 9)):
        for function in (decode_decimal, text_to_decimal):
            with pytest.raises(ConfigError, match=f"not precision={precision} and scale={scale}"):
                function("d", scale, precision)


def test_sql(spark, decimals):
    register(spark, {"price_of": DecimalCodec(2, 9)})
    decimals.createOrReplaceTempView("decimals")
    rows = spark.sql("SELECT price_of(base64), price_of(bytes) FROM decimals").collect()
    assert [tuple(row) for row in rows] == [(value, value) for value in VALUES]
