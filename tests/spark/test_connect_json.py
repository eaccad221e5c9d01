"""Connect's JSON in Spark: types, modes, schemas of rows, SQL and streams, in a classic and a Connect session."""

import datetime
import json
from decimal import Decimal

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from kcodec import ConfigError, ConnectJsonCodec, ConnectSchema, SchemaError
from kcodec_spark import from_connect_json, register, to_connect_json

UTC = datetime.timezone.utc
PRICE = {
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "9"},
    "optional": True,
}


def struct(**fields):
    return {"type": "struct", "fields": [{"field": name, **part} for name, part in fields.items()]}


ORDER = struct(
    id={"type": "int64"},
    price=PRICE,
    at={"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "optional": True},
    day={"type": "int32", "name": "org.apache.kafka.connect.data.Date", "optional": True},
    clock={"type": "int32", "name": "org.apache.kafka.connect.data.Time", "optional": True},
    raw={"type": "bytes", "optional": True},
    tags={"type": "array", "items": {"type": "string"}, "optional": True},
    counts={"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}, "optional": True},
)
FULL = {
    "id": 1, "price": "AJw=", "at": 1000, "day": 1, "clock": 5, "raw": "AQI=", "tags": ["a"], "counts": {"k": 7},
}  # fmt: skip
ROW = T.Row(
    id=1,
    price=Decimal("1.56"),
    at=datetime.datetime(1970, 1, 1, 0, 0, 1),
    day=datetime.date(1970, 1, 2),
    clock=5,
    raw=bytearray(b"\x01\x02"),
    tags=["a"],
    counts={"k": 7},
)


def envelope(schema, payload):
    return json.dumps({"schema": schema, "payload": payload}).encode()


def frame(spark, values):
    return spark.createDataFrame(list(enumerate(values)), "n int, value binary").coalesce(1)


@pytest.fixture
def orders(spark):
    older = struct(id={"type": "int32"}, price={**PRICE, "parameters": {"scale": "1"}})
    values = [
        envelope(ORDER, FULL),
        None,
        envelope(ORDER, {"id": 2, "price": 12.5}),
        envelope(older, {"id": 3, "price": 1.5}),
    ]
    return frame(spark, values)


def test_every_type(orders):
    column = orders.select("n", from_connect_json("value", json.dumps(ORDER)).alias("o")).orderBy("n")
    assert column.schema["o"].dataType.simpleString() == (
        "struct<id:bigint,price:decimal(9,2),at:timestamp,day:date,clock:int,raw:binary,"
        "tags:array<string>,counts:map<string,int>>"
    )
    rows = [row["o"] for row in column.collect()]
    assert rows[0].asDict() == {**ROW.asDict(), "at": rows[0]["at"]}
    assert column.selectExpr("unix_millis(o.at)").first()[0] == 1000
    assert rows[1] is None
    assert (rows[2]["price"], rows[3]["id"], rows[3]["price"]) == (Decimal("12.50"), 3, Decimal("1.50"))


@pytest.mark.parametrize(
    "schema",
    [
        ORDER,
        ConnectSchema.from_json(ORDER),
        ConnectJsonCodec(ORDER),
        "id BIGINT NOT NULL, price DECIMAL(9,2)",
        T.StructType([T.StructField("id", T.LongType()), T.StructField("price", T.DecimalType(9, 2))]),
    ],
    ids=["dict", "schema", "codec", "ddl", "struct type"],
)
def test_forms_of_the_schema(orders, schema):
    rows = (
        orders.select(from_connect_json(F.col("value"), schema).alias("o"))
        .selectExpr("o.id", "o.price")
        .collect()
    )
    assert [tuple(row) for row in rows] == [
        (1, Decimal("1.56")), (None, None), (2, Decimal("12.50")), (3, Decimal("1.50")),
    ]  # fmt: skip


def test_types_of_spark(spark):
    ddl = "at TIMESTAMP, day DATE, name STRING, ats ARRAY<TIMESTAMP>, seen MAP<STRING, TIMESTAMP_NTZ>, raw BINARY"
    schema = T.StructType([*T.DataType.fromDDL(ddl).fields, T.StructField("code", T.VarcharType(5))])
    off = {"schemas.enable": "false"}
    value = '{"at":1000,"day":1,"name":"n","ats":[0,null],"seen":{"k":5},"raw":"AQI=","code":"c"}'
    decoded = spark.createDataFrame([(value,)], "value string").select(
        from_connect_json("value", schema, off).alias("o")
    )
    assert decoded.schema["o"].dataType.simpleString() == (
        "struct<at:timestamp,day:date,name:string,ats:array<timestamp>,seen:map<string,timestamp_ntz>,"
        "raw:binary,code:string>"
    )
    row = decoded.selectExpr("unix_millis(o.at)", "o.day", "size(o.ats)", "o.seen.k", "o.code").first()
    assert tuple(row) == (
        1000,
        datetime.date(1970, 1, 2),
        2,
        datetime.datetime(1970, 1, 1, 0, 0, 0, 5000),
        "c",
    )
    assert decoded.select(to_connect_json("o", schema, off)).first()[0] == value.encode()
    with pytest.raises(SchemaError, match="no codec has a type for Spark's interval day to second"):
        from_connect_json("value", "i INTERVAL DAY TO SECOND", off)


BAD = [
    envelope(ORDER, {"id": 1}),
    b"{",
    envelope({"type": "float64"}, 1),
    envelope(ORDER, {"id": 1.5}),
    b'{"id":1}',
]


def test_modes(spark):
    df = frame(spark, BAD)
    with pytest.raises(PythonException, match="truncated: row 1, byte 1"):
        df.select(from_connect_json("value", ORDER)).collect()
    options = {"mode": "permissive", "columnNameOfCorruptRecord": "bad"}
    column = df.select("n", from_connect_json("value", ORDER, options).alias("o")).orderBy("n")
    rows = [row["o"] for row in column.collect()]
    assert [row["id"] for row in rows] == [1, None, None, None, None]
    assert rows[0]["bad"] is None
    assert [row["bad"]["code"] for row in rows[1:]] == ["truncated", "schema_error", "inexact", "json_type"]
    assert [bytes(row["bad"]["bytes"]) for row in rows[1:]] == BAD[1:]
    assert rows[2]["bad"]["reason"] == "Unknown schema type: float64"
    assert (rows[3]["bad"]["path"], rows[3]["bad"]["offset"]) == ("id", BAD[3].index(b"1.5"))


def test_connects_own_answer(spark):
    df = frame(spark, [envelope(ORDER, {"id": 1.5})])
    assert df.select(from_connect_json("value", ORDER, compat="connect")["id"]).first()[0] == 1


def test_settings_of_connect(spark):
    df = spark.createDataFrame([("5",), ("null",), (None,)], "value string").coalesce(1)
    off = {"schemas.enable": "false"}
    schema = {"type": "int32", "optional": True, "default": 7}
    rows = df.select(from_connect_json("value", schema, off)).collect()
    assert [row[0] for row in rows] == [5, 7, None]
    rows = df.select(
        from_connect_json("value", schema, {**off, "replace.null.with.default": False})
    ).collect()
    assert [row[0] for row in rows] == [5, None, None]
    worker = {"value.converter.schemas.enable": "false", "mode": "FAILFAST"}
    assert df.select(from_connect_json("value", schema, worker)).first()[0] == 5
    for options, message in (
        ({"schemas.enabel": "false"}, "unknown setting 'schemas.enabel'"),
        ({"decimal.format": "x"}, "NUMERIC, BASE64"),
        ({"avroSchema": "{}"}, "takes the options mode"),
        ({"modus": "x"}, "unknown option"),
    ):
        with pytest.raises(ConfigError, match=message):
            from_connect_json("value", schema, options)
    with pytest.raises(ConfigError, match="give a schema"):
        from_connect_json("value")
    worker = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    with pytest.raises(ConfigError, match="give a schema"):
        from_connect_json("value", options=worker)
    content = {**worker, "value.converter.schema.content": json.dumps(ORDER)}
    column = from_connect_json("value", options=content)
    values = spark.createDataFrame([('{"id":1,"price":1.5,"at":0}',)], "value string")
    assert values.select(column.getField("id")).first()[0] == 1
    with pytest.raises(ConfigError, match="to be given to the ConnectJsonCodec itself"):
        from_connect_json("value", ConnectJsonCodec(schema), off)
    with pytest.raises(ConfigError, match="did you mean mode"):
        to_connect_json("value", options={"modus": "FAILFAST"})
    with pytest.raises(ConfigError, match="needs a column"):
        to_connect_json([])
    with pytest.raises(SchemaError, match="at most 38 digits"):
        from_connect_json("value", ConnectSchema.decimal(2, precision=64))
    wide = from_connect_json("value", ConnectSchema.decimal(2, precision=64), off, wide_decimals="string")
    text = spark.createDataFrame([("1.5",)], "value string").select(wide.alias("value"))
    assert text.first()[0] == "1.50"
    options = {**off, "decimal.format": "NUMERIC"}
    schema = ConnectSchema.decimal(2, precision=64)
    assert (
        text.select(to_connect_json("value", schema, options, wide_decimals="string")).first()[0] == b"1.50"
    )
    with pytest.raises(ConfigError, match="wide_decimals='text' is not one of"):
        to_connect_json("value", schema, wide_decimals="text")
    with pytest.raises(SchemaError, match=r"not Spark's DDL: .*BIGGINT"):
        from_connect_json("value", "id BIGGINT", off)


def test_there_and_back(orders):
    decoded = orders.select(from_connect_json("value", ORDER).alias("o"))
    for options in (None, {"decimal.format": "NUMERIC"}, {"schemas.enable": "false"}):
        again = decoded.select(to_connect_json("o", ORDER, options).alias("value"))
        assert (
            again.select(from_connect_json("value", ORDER, options).alias("o")).collect() == decoded.collect()
        )
    # A schema of the column's type knows the time as an integer.
    whole = decoded.select(F.col("o").dropFields("clock").alias("o"))
    derived = whole.select(to_connect_json("o").alias("value"))
    found = derived.select(from_connect_json("value", ORDER)["price"].alias("price"))
    assert found.collect() == decoded.select("o.price").collect()


def test_what_is_written(spark):
    df = spark.sql("SELECT 1 AS id, CAST(1.5 AS DECIMAL(9,2)) AS price UNION ALL SELECT 2, NULL").coalesce(1)
    plain = {"schemas.enable": "false", "decimal.format": "NUMERIC"}
    for data in (["id", F.col("price")], F.struct("*")):
        rows = df.select(to_connect_json(data, options=plain).cast("string")).collect()
        assert [row[0] for row in rows] == ['{"id":1,"price":1.50}', '{"id":2,"price":null}']
    written = json.loads(df.select(to_connect_json(F.struct("*")).alias("value")).first()[0])
    assert written["payload"] == {"id": 1, "price": "AJY="}
    assert [field["field"] for field in written["schema"]["fields"]] == ["id", "price"]
    with pytest.raises(PythonException, match="out_of_range"):
        df.select(to_connect_json(F.lit(300), {"type": "int8"})).collect()


def test_sparks_own_from_json_is_not_exact(spark):
    text = '{"price":0.12345678901234567890123456789}'
    df = spark.createDataFrame([(text,)], "value string")
    ddl = "price DECIMAL(38,29)"
    ours = df.select(from_connect_json("value", ddl, {"schemas.enable": "false"})["price"]).first()[0]
    assert ours == Decimal("0.12345678901234567890123456789")
    rounded = df.select(F.from_json("value", "price DECIMAL(38,2)")["price"]).first()[0]
    assert rounded != ours
    with pytest.raises(PythonException, match="inexact"):
        df.select(from_connect_json("value", "price DECIMAL(38,2)", {"schemas.enable": "false"})).collect()


def test_sql(spark):
    codec = ConnectJsonCodec(struct(x={"type": "int32"}), schemas_enable=False)
    register(spark, {"order_of": codec, "order_json": (codec, "encode")})
    rows = spark.sql(
        """SELECT o.x, CAST(order_json(o) AS STRING) AS again
           FROM (SELECT order_of(CAST(value AS BINARY)) AS o FROM VALUES ('{"x": 1}'), (NULL) AS t(value))"""
    ).collect()
    assert [tuple(row) for row in rows] == [(1, '{"x":1}'), (None, None)]


def test_streams(orders, spark, tmp_path):
    orders.select("value").write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("value binary").parquet(str(tmp_path / "in"))
    decoded = stream.select(from_connect_json("value", ORDER).alias("o")).filter("o IS NOT NULL")
    query = (
        decoded.select(to_connect_json("o", ORDER).alias("value")).writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )  # fmt: skip
    query.awaitTermination(120)
    found = spark.read.parquet(str(tmp_path / "out")).select(from_connect_json("value", ORDER).alias("o"))
    assert sorted(row[0] for row in found.select("o.id").collect()) == [1, 2, 3]
