"""from_ksql and to_ksql, in a classic and a Connect session."""

import datetime
import decimal

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from kcodec import ConfigError, KsqlCodec, SchemaError, registry
from kcodec_spark import from_ksql, to_ksql
from kcodec_spark.ksql.functions import _columns

UTC = datetime.timezone.utc
COLUMNS = (
    "id BIGINT, amount DECIMAL(10,2), s STRUCT<x INT, `y` STRING>, m MAP<STRING, INT>, a ARRAY<DOUBLE>, raw BYTES, "
    "t TIME, day DATE, at TIMESTAMP, ok BOOLEAN, big DECIMAL(60,1)"
)
DOCUMENT = (
    b'{"ID":7,"AMOUNT":1.50,"S":{"X":1,"y":"z"},"M":{"k":2},"A":[1.0,null],"RAW":"YWJj","T":1000,"DAY":19000,'
    b'"AT":1700000000123,"OK":true,"BIG":' + b"9" * 50 + b".5}"
)
ROW = {
    "ID": 7, "AMOUNT": decimal.Decimal("1.50"), "S": {"X": 1, "y": "z"}, "M": {"k": 2}, "A": [1.0, None],
    "RAW": b"abc", "T": 1000, "DAY": datetime.date(2022, 1, 8), "OK": True, "BIG": "9" * 50 + ".5",
}  # fmt: skip


def frame(spark, values):
    return spark.createDataFrame(list(enumerate(values)), "n int, value binary").coalesce(1).sort("n")


def test_every_type(spark):
    frames = frame(spark, [DOCUMENT, None])
    decoded = frames.select(from_ksql("value", "json", COLUMNS, wide_decimals="string").alias("r"))
    first, second = decoded.select("r", F.unix_millis("r.AT").alias("at")).collect()
    assert second["r"] is None
    got = first["r"].asDict(recursive=True)
    got.pop("AT")
    assert (got, first["at"]) == (ROW, 1700000000123)
    written = decoded.select(to_ksql("r", "JSON", COLUMNS)).collect()
    assert [row[0] for row in written] == [DOCUMENT, None]


def test_decimals_that_spark_cannot_hold():
    with pytest.raises(SchemaError, match='wide_decimals="string"'):
        from_ksql("value", "JSON", "A DECIMAL(39,0)")


def test_a_bad_row_fails_the_query_or_is_kept(spark):
    frames = frame(spark, [b'{"id":1}', b'{"id":1.5}', None])
    with pytest.raises(PythonException, match=r"inexact: row 1, byte 6, ID"):
        frames.select(from_ksql("value", "JSON", "ID INT")).collect()
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    column = from_ksql("value", "JSON", "ID INT", options).alias("r")
    rows = [row["r"] for row in frames.select(column).collect()]
    assert rows[0]["ID"] == 1
    assert rows[0]["_error"] is None
    assert rows[1]["ID"] is None
    assert (rows[1]["_error"]["code"], rows[1]["_error"]["path"]) == ("inexact", "ID")
    assert rows[1]["_error"]["bytes"] == b'{"id":1.5}'
    assert rows[2] is None


def test_compat_and_keys(spark):
    frames = frame(spark, [b'{"id":1.5} x', b'{"id":2147483648}'])
    column = from_ksql("value", "JSON", "ID INT", compat="ksqldb").alias("r")
    assert [row["r"]["ID"] for row in frames.select(column).collect()] == [1, -(2**31)]
    keys = frame(spark, [b'"x"', b"null"])
    column = from_ksql("value", "JSON", "K STRING KEY, V INT", is_key=True).alias("r")
    assert [row["r"]["K"] for row in keys.select(column).collect()] == ["x", None]
    bare = frame(spark, [b"[1]"]).select(from_ksql("value", "JSON", "A ARRAY<INT>", wrap=False).alias("r"))
    assert bare.select(to_ksql("r", "JSON", "A ARRAY<INT>", wrap=False)).collect()[0][0] == b"[1]"


def test_columns_of_the_frame(spark):
    frames = spark.sql(
        "SELECT 1 AS id, 2.50D AS amount, array(named_struct('Y', date'1970-01-02')) AS nested"
    )
    rows = frames.select(
        to_ksql(["id", "amount"], "JSON"),
        to_ksql(F.struct("*"), "JSON"),
        to_ksql(F.struct("amount"), "JSON", "id INT, amount DOUBLE"),
        to_ksql([F.col("id").alias("K")], "JSON", is_key=True),
    ).collect()
    assert tuple(rows[0]) == (
        b'{"id":1,"amount":2.5}',
        b'{"id":1,"amount":2.5,"nested":[{"Y":1}]}',
        b'{"ID":null,"AMOUNT":2.5}',
        b"1",
    )
    with pytest.raises(PythonException, match="only a struct has names"):
        frames.select(to_ksql("id", "JSON")).collect()


def test_columns_of_a_schema(spark):
    schema = T.StructType(
        [
            T.StructField("i", T.ShortType()),
            T.StructField("d", T.DecimalType(4, 1)),
            T.StructField("a", T.ArrayType(T.MapType(T.StringType(), T.DateType()))),
        ]
    )
    frames = frame(spark, [b'{"i":1,"d":2,"a":[{"k":3}]}'])
    row = frames.select(from_ksql("value", "JSON", schema).alias("r")).collect()[0]["r"]
    assert row.asDict() == {"i": 1, "d": decimal.Decimal("2.0"), "a": [{"k": datetime.date(1970, 1, 4)}]}
    with pytest.raises(SchemaError, match="no codec has a type for Spark's interval"):
        from_ksql("value", "JSON", T.StructType([T.StructField("x", T.CalendarIntervalType())]))
    with pytest.raises(TypeError, match="columns are text or a StructType, not int"):
        from_ksql("value", "JSON", 3)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("boolean", "BOOLEAN"), ("tinyint", "INTEGER"), ("smallint", "INTEGER"), ("int", "INTEGER"),
        ("bigint", "BIGINT"), ("float", "DOUBLE"), ("double", "DOUBLE"), ("string", "STRING"),
        ("varchar(5)", "STRING"), ("char(5)", "STRING"), ("binary", "BYTES"), ("date", "DATE"),
        ("time(3)", "TIME"), ("timestamp", "TIMESTAMP"), ("timestamp_ntz", "TIMESTAMP"),
        ("decimal(38,38)", "DECIMAL(38, 38)"), ("array<tinyint>", "ARRAY<INTEGER>"),
        ("map<string,float>", "MAP<STRING, DOUBLE>"), ("struct<x:float>", "STRUCT<`x` DOUBLE>"),
    ],
)  # fmt: skip
def test_column_of_each_spark_type(classic, kind, column):
    schema = T.StructType([T.StructField("c", T.DataType.fromDDL(kind))])
    codec = KsqlCodec("JSON", _columns(schema))
    assert [str(each) for each in codec.columns] == [f"`c` {column}"]


def test_options_are_checked(spark):
    with pytest.raises(ConfigError, match="mode and columnNameOfCorruptRecord"):
        from_ksql("value", "JSON", "A INT", {"avroSchema": "{}"})
    with pytest.raises(ConfigError, match="Unknown format: XML"):
        from_ksql("value", "XML", "A INT")
    with pytest.raises(ConfigError, match="does not support the following configs"):
        to_ksql("value", "JSON", "A INT", properties={"delimiter": "x"})
    for format, arguments, reason in (
        ("JSN", {}, "Unknown format: JSN"),
        ("KAFKA", {"wrap": True}, "does not support 'WRAP_SINGLE_VALUE' set to 'true'"),
        ("JSON", {"wrap": True, "is_key": True}, "wrap is for values"),
        ("JSON", {"compat": "ksql"}, "compat='ksql' is not one of"),
        ("NONE", {"properties": {"delimiter": "x"}}, "does not support the following configs"),
    ):
        with pytest.raises(ConfigError, match=reason):
            to_ksql(["id"], format, **arguments)
    with pytest.raises(ConfigError, match="to_ksql needs a column"):
        to_ksql([], "JSON")
    with pytest.raises(TypeError, match="data is a Column or the name of one"):
        from_ksql(3, "JSON", "A INT")


def test_other_formats(spark):
    frames = frame(spark, [b"a|1.50", None])
    column = from_ksql("value", "DELIMITED", "A STRING, B DECIMAL(4,2)", properties={"delimiter": "|"})
    decoded = frames.select(column.alias("r"))
    assert [row["r"] and tuple(row["r"]) for row in decoded.collect()] == [
        ("a", decimal.Decimal("1.50")),
        None,
    ]
    again = decoded.select(to_ksql("r", "DELIMITED", properties={"delimiter": "|"}).alias("v"))
    assert [row["v"] for row in again.collect()] == [b"a|1.50", None]
    keys = frame(spark, [(7).to_bytes(4, "big")]).select(
        from_ksql("value", "KAFKA", "K INT", is_key=True).alias("r")
    )
    assert keys.collect()[0]["r"]["K"] == 7
    assert keys.select(to_ksql("r.K", "KAFKA", "K INT")).collect()[0][0] == (7).to_bytes(4, "big")


REGISTERED = (
    "id BIGINT, amount DECIMAL(10,2), s STRUCT<x INT, `y` STRING>, m MAP<STRING, INT>, t TIME, day DATE"
)


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_formats_of_a_registry(spark, tmp_path, name):
    place = {"registry": f"sqlite:///{tmp_path / 'schemas.db'}", "topic": "orders"}
    row = {"ID": 7, "AMOUNT": decimal.Decimal("1.50"), "S": {"X": 1, "y": "z"}, "M": {"k": 2}, "T": 1000}
    row["DAY"] = datetime.date(2022, 1, 8)
    kind = "ID bigint, AMOUNT decimal(10,2), S struct<X:int,y:string>, M map<string,int>, T int, DAY date"
    frames = spark.createDataFrame([row], kind)
    written = frames.select(to_ksql(F.struct("*"), name, REGISTERED, **place).alias("value"))
    decoded = written.select(from_ksql("value", name, REGISTERED, **place).alias("r")).collect()
    assert decoded[0]["r"].asDict(recursive=True) == row
    # The columns of the schema that is registered now.
    inferred = written.select(from_ksql("value", name, **place).alias("r")).collect()
    assert {key.upper() for key in inferred[0]["r"].asDict()} == set(row)
    assert registry.open(place["registry"]).subjects() == ["orders-value"]


def test_windowed_keys(spark):
    frames = spark.createDataFrame([(7, 1000)], "K int, WINDOWSTART bigint")
    window = {"is_key": True, "window": "TUMBLING", "window_size": "5 SECONDS"}
    written = frames.select(to_ksql(F.struct("*"), "KAFKA", "K INT KEY", **window).alias("key"))
    rows = written.select(from_ksql("key", "KAFKA", "K INT KEY", **window).alias("r")).collect()
    assert rows[0]["r"].asDict() == {"K": 7, "WINDOWSTART": 1000, "WINDOWEND": 6000}


def test_registry_options(tmp_path):
    with pytest.raises(ConfigError, match="takes no registry="):
        from_ksql("value", "JSON", "ID INT", registry=f"sqlite:///{tmp_path / 's.db'}")
    with pytest.raises(ConfigError, match="needs registry="):
        from_ksql("value", "AVRO")
