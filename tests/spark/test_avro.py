"""from_avro and to_avro without a registry, in a classic and a Connect session."""

import datetime
import decimal
import json

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from kcodec import AvroCodec, ConfigError, SchemaError
from kcodec_spark import (
    encode_decimal,
    from_avro,
    from_json,
    register,
    to_avro,
    to_connect_json,
    to_json,
    to_json_schema,
    to_ksql,
    types,
)
from kcodec_spark.options import REGISTRY_PREFIX

UTC = datetime.timezone.utc


def record(name, /, **fields):
    listed = [{"name": key, "type": kind} for key, kind in fields.items()]
    return {"type": "record", "name": name, "fields": listed}


def logical(kind, name, /, **more):
    return {"type": kind, "logicalType": name, **more}


EVERYTHING = record(
    "Everything",
    null="null", boolean="boolean", int="int", long="long", float="float", double="double", bytes="bytes",
    string="string",
    fixed={"type": "fixed", "name": "Four", "size": 4},
    enum={"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS"]},
    decimal=logical("bytes", "decimal", precision=9, scale=2),
    decimal_fixed={"name": "Dec", "size": 16, **logical("fixed", "decimal", precision=38, scale=10)},
    date=logical("int", "date"),
    time_millis=logical("int", "time-millis"), time_micros=logical("long", "time-micros"),
    ts_millis=logical("long", "timestamp-millis"), ts_micros=logical("long", "timestamp-micros"),
    ts_nanos=logical("long", "timestamp-nanos"),
    local_millis=logical("long", "local-timestamp-millis"),
    local_micros=logical("long", "local-timestamp-micros"),
    local_nanos=logical("long", "local-timestamp-nanos"),
    uuid=logical("string", "uuid"), uuid_fixed={"name": "U", "size": 16, **logical("fixed", "uuid")},
    duration={"name": "D", "size": 12, **logical("fixed", "duration")},
    array={"type": "array", "items": ["null", logical("int", "time-millis")]},
    map={"type": "map", "values": {"type": "array", "items": "Four"}},
    nested=record("Nested", inner=["null", record("Inner", at=logical("long", "timestamp-nanos"))]),
    nullable=["null", "string"], wider=["int", "long"], union=["null", "int", "string", "Suit"],
)  # fmt: skip
MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 123000, tzinfo=UTC)
VALUES = {
    "null": None, "boolean": True, "int": -7, "long": 1 << 40, "float": 1.5, "double": -2.25,
    "bytes": b"\0\xff",
    "string": "héllo", "fixed": b"abcd", "enum": "HEARTS", "decimal": decimal.Decimal("-12345.67"),
    "decimal_fixed": decimal.Decimal("1234567890123456789012345678.0123456789"),
    "date": datetime.date(1969, 7, 20), "time_millis": datetime.time(1, 2, 3, 4000),
    "time_micros": datetime.time(23, 59, 59, 999999),
    "ts_millis": MOMENT, "ts_micros": MOMENT, "ts_nanos": MOMENT,
    "local_millis": MOMENT.replace(tzinfo=None), "local_micros": MOMENT.replace(tzinfo=None),
    "local_nanos": MOMENT.replace(tzinfo=None), "uuid": "00112233-4455-6677-8899-aabbccddeeff",
    "uuid_fixed": bytes(range(16)), "duration": bytes(range(12)),
    "array": [None, datetime.time(0, 0, 1)], "map": [("k", [b"wxyz"])],
    "nested": {"inner": {"at": MOMENT}}, "nullable": None, "wider": 5,
    "union": {"member0": None, "member1": "text", "member2": None},
}  # fmt: skip
NANOS = int(MOMENT.timestamp() * 1000) * 1_000_000

POINT = json.dumps(record("Point", x="int", name="string"))
POINTS = [{"x": 1, "name": "one"}, None, {"x": -300, "name": "zwölf"}]


def frame(spark, values):
    return spark.createDataFrame(list(enumerate(values)), "n int, value binary").coalesce(1)


def encoded(schema, rows):
    codec = AvroCodec(schema)
    return codec.encode(pa.array(rows, codec.arrow_type)).to_pylist()


@pytest.fixture
def points(spark):
    return frame(spark, encoded(POINT, POINTS))


def test_every_type_has_sparks_type_and_its_value(spark, converters):
    schema = json.dumps(EVERYTHING)
    values = encoded(schema, [VALUES, None, VALUES])
    column = frame(spark, values).select(from_avro("value", schema).alias("r"))
    assert json.loads(column.schema["r"].dataType.json()) == converters.to_sql_for_python(schema)
    rows = [row["r"] for row in column.collect()]
    assert rows[1] is None
    assert rows[0] == rows[2]
    got = rows[0].asDict(recursive=True)
    times = {"time_millis", "ts_millis", "ts_micros", "ts_nanos", "local_nanos", "array", "map", "nested"}
    for name in VALUES.keys() - times:
        assert got[name] == VALUES[name], name
    assert got["time_millis"] == 3723004
    assert (got["ts_nanos"], got["local_nanos"]) == (NANOS, NANOS)
    assert got["array"] == [None, 1000]
    assert got["map"] == {"k": [b"wxyz"]}
    assert got["nested"] == {"inner": {"at": NANOS}}
    times = column.selectExpr("unix_micros(r.ts_millis)", "unix_micros(r.ts_micros)").first()
    assert tuple(times) == (NANOS // 1000, NANOS // 1000)


@pytest.mark.parametrize("options", [{}, {"mode": "PERMISSIVE"}])
def test_functions_write_the_same_with_a_select_between(spark, options):
    schema = record(
        "R", at=logical("int", "time-millis"), n=record("N", nanos=logical("long", "timestamp-nanos"))
    )
    values = encoded(schema, [{"at": datetime.time(0, 0, 0, 512000), "n": {"nanos": MOMENT}}, None])
    read = from_avro("value", schema, options)
    for write in (to_json, to_json_schema):
        at_once = frame(spark, values).select(write(read)).collect()
        between = frame(spark, values).select(read.alias("r")).select(write("r")).collect()
        assert at_once == between
    assert json.loads(at_once[0][0]) == {"at": 512, "n": {"nanos": NANOS}}


def test_roots_that_are_no_records(spark):
    for schema, rows, expected in (
        ("long", [1, None, -1], [1, None, -1]),
        (["null", "string"], ["a", None], ["a", None]),
        ({"type": "array", "items": "int"}, [[1, 2], []], [[1, 2], []]),
        ({"type": "map", "values": "int"}, [[("a", 1)]], [{"a": 1}]),
    ):
        text = json.dumps(schema)
        back = frame(spark, encoded(text, rows)).select(from_avro("value", text).alias("v")).collect()
        assert [row["v"] for row in back] == expected


def test_empty_input(spark):
    nothing = frame(spark, [b"\x02"]).filter("n > 5")
    column = nothing.select(from_avro("value", POINT).alias("p"), to_avro("n").alias("b"))
    assert column.collect() == []


def test_positions_are_those_of_spark_and_databricks(points):
    evolved = json.dumps(record("Point", x="long"))
    column = points.select(from_avro(F.col("value"), POINT, {"avroSchema": evolved}).alias("p"))
    assert column.schema["p"].dataType.simpleString() == "struct<x:bigint>"
    assert [row["p"] for row in column.collect()] == [(1,), None, (-300,)]
    assert points.select(from_avro("value", POINT)).columns == ["from_avro(value)"]
    renamed = points.select(from_avro(data="value", jsonFormatSchema=POINT, options=None).alias("p"))
    assert renamed.select("p.name").collect()[2] == ("zwölf",)


def test_scale_that_grew(spark):
    old, new = (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale} for scale in (2, 3)
    )
    prices = frame(spark, encoded(json.dumps(old), [decimal.Decimal("3.14")]))
    reader = {"avroSchema": json.dumps(new)}
    both = [
        from_avro("value", json.dumps(old), options) for options in (reader, {**reader, "compat": "avro"})
    ]
    assert prices.select(*both).first()[:] == (decimal.Decimal("3.140"), decimal.Decimal("0.314"))
    with pytest.raises(ConfigError, match="compat='java'"):
        from_avro("value", json.dumps(old), {"compat": "java"})


def test_ready_codec_in_place_of_the_schema(points):
    codec = AvroCodec(POINT, fields=["name"])
    assert points.select(from_avro("value", codec).alias("p")).first()["p"] == ("one",)
    back = points.select(to_avro(from_avro("value", POINT), AvroCodec(POINT)).alias("b"), "value").collect()
    assert [row["b"] for row in back] == [row["value"] for row in back]
    with pytest.raises(ConfigError, match="fields: to be given to the AvroCodec itself"):
        from_avro("value", codec, fields=["x"])


def test_only_some_fields(spark):
    schema = json.dumps(
        record("R", a="int", big="string", inner=record("S", x="int", y=["null", "string"]),
               list={"type": "array", "items": record("T", p="int", q="string")})
    )  # fmt: skip
    row = {"a": 1, "big": "b" * 50, "inner": {"x": 2, "y": "why"}, "list": [{"p": 3, "q": "queue"}]}
    df = frame(spark, encoded(schema, [row, None]))
    column = df.select(from_avro("value", schema, fields=["inner.y", "list.p", "a"]).alias("r"))
    expected = "struct<a:int,inner:struct<y:string>,list:array<struct<p:int>>>"
    assert column.schema["r"].dataType.simpleString() == expected
    assert [r["r"] for r in column.collect()] == [(1, ("why",), [(3,)]), None]
    with pytest.raises(ConfigError, match="did you mean 'inner'"):
        from_avro("value", schema, fields=["iner"])


def test_failfast_names_row_byte_and_field(points):
    bad = points.withColumn("value", F.expr("if(n = 2, substring(value, 1, 2), value)"))
    with pytest.raises(PythonException) as failure:
        bad.select(from_avro("value", POINT)).collect()
    lines = [line for line in str(failure.value).splitlines() if "DecodeError" in line]
    assert lines[-1].endswith(
        "kcodec.errors.DecodeError: truncated: row 2, byte 2, name: the input ends inside this value"
    )


def test_permissive_gives_a_struct_of_nulls(points):
    bad = points.withColumn("value", F.expr("if(n = 2, X'04', value)"))
    column = bad.select(from_avro("value", POINT, {"mode": "permissive"}).alias("p"))
    assert [row["p"] for row in column.collect()] == [(1, "one"), None, (None, None)]
    assert all(field.nullable for field in column.schema["p"].dataType.fields)
    numbers = frame(points.sparkSession, [b"\x02", b"", None])
    decoded = numbers.select(from_avro("value", '"int"', {"mode": "PERMISSIVE"})).collect()
    assert [row[0] for row in decoded] == [1, None, None]


def test_corrupt_rows_tell_why(points):
    bad = points.withColumn("value", F.expr("if(n = 2, X'0404FF', value)"))
    options = {"MODE": "PERMISSIVE", "columnnameofcorruptrecord": "_corrupt"}
    column = bad.select(from_avro("value", POINT, options).alias("p"))
    good, tombstone, corrupt = (row["p"] for row in column.collect())
    assert good == (1, "one", None)
    assert tombstone is None
    assert corrupt[:2] == (None, None)
    found = corrupt["_corrupt"].asDict()
    assert found.pop("reason")
    assert (found["code"], found["offset"], found["path"]) == ("truncated", 2, "name")
    assert (found["schema_id"], found["bytes"]) == (None, b"\x04\x04\xff")
    codes = [row[0] for row in column.select("p._corrupt.code").collect()]
    assert codes == [None, None, "truncated"]
    all_good = points.select(from_avro("value", POINT, options).alias("p"))
    assert [row["p"] for row in all_good.collect()] == [(1, "one", None), None, (-300, "zwölf", None)]


def test_permissive_gives_null_for_null(spark):
    schema = ["null", record("R", id="int")]
    read = from_avro("value", schema, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"})
    df = frame(spark, [b"\x00", b"\x02\x02", b"\x02", None]).select(read.alias("r"))
    rows = df.select("r", "r._error.code", to_json("r", nulls="omit").alias("w")).collect()
    assert [(row.r and row.r.id, row.code) for row in rows] == [
        (None, None), (1, None), (None, "truncated"), (None, None),
    ]  # fmt: skip
    assert [row.r is None for row in rows] == [True, False, False, True]
    assert rows[0].w is None
    document = from_json("t", pa.struct([("id", pa.int32())]), {"mode": "PERMISSIVE"})
    texts = spark.createDataFrame([("null",), ("{",)], "t string").coalesce(1)
    assert [row[0] for row in texts.select(document).collect()] == [None, (None,)]
    empty = frame(spark, [b"", b"\x00", None]).select(
        from_avro("value", record("Empty"), {"mode": "PERMISSIVE"})
    )
    assert [row[0] for row in empty.collect()] == [(), (), None]


def test_corrupt_column_needs_a_place():
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "X"}
    with pytest.raises(ConfigError, match="x is already a field"):
        from_avro("value", POINT, options)
    with pytest.raises(ConfigError, match="needs a record"):
        from_avro("value", '"int"', options)


def test_schema_options_of_spark(spark, converters):
    union = json.dumps(record("R", u=["int", "string"]))
    stable = {"enableStableIdentifiersForUnionType": "true", "stableIdentifierPrefixForUnionType": "is_"}
    df = frame(spark, [b"\x02\x04hi"])
    assert df.select(from_avro("value", union, stable).alias("r")).select("r.u.is_string").first() == ("hi",)
    node = json.dumps(record("N", v="int", next=["null", "N"]))
    deep = frame(spark, [bytes([2, 2, 4, 2, 6, 0])]).select(
        from_avro("value", node, {"recursiveFieldMaxDepth": "2"}).alias("n")
    )
    assert json.loads(deep.schema["n"].dataType.json()) == converters.to_sql(node, depth=2)
    assert deep.first()["n"] == (1, (2,))
    with pytest.raises(SchemaError, match=r"N contains itself.*in Spark the option recursiveFieldMaxDepth"):
        from_avro("value", node)


def test_records_that_contain_themselves_are_written(spark):
    """To the depth that the column has, as by Spark's own function."""
    node = json.dumps(record("N", v="int", next=["null", "N"]))
    third = F.struct(F.lit(3).alias("v"), F.lit(None).cast("struct<v:int>").alias("next"))
    second = F.struct(F.lit(2).alias("v"), third.alias("next"))
    nodes = spark.range(1).select(F.struct(F.lit(1).alias("v"), second.alias("next")).alias("n"))
    assert nodes.select(to_avro("n", node)).first()[0] == bytes([2, 2, 4, 2, 6, 0])
    assert nodes.select(to_avro(["n.v", "n.next"], node)).first()[0] == bytes([2, 2, 4, 2, 6, 0])


def test_wide_decimals_are_text_or_refused(spark):
    wide = json.dumps(logical("bytes", "decimal", precision=40, scale=2))
    with pytest.raises(SchemaError, match='wide_decimals="string"'):
        from_avro("value", wide)
    value = (10**39 + 7).to_bytes(17, "big")
    df = frame(spark, [bytes([34]) + value])
    text = df.select(from_avro("value", wide, wide_decimals="string")).first()[0]
    assert text == "10000000000000000000000000000000000000.07"


def test_decode_is_not_evaluated_twice_below_a_filter(points, capsys):
    def decodes(**more):
        column = points.select("n", from_avro("value", POINT, **more).alias("p")).select("n", "p.*")
        column.filter("x > 0").explain()
        return capsys.readouterr().out.count("ArrowEvalPython")

    assert decodes() == 1
    assert decodes(deterministic=True) == 2


# --- to_avro ------------------------------------------------------------------------------------------------


def test_bytes_without_a_schema_are_those_of_spark(spark):
    # The examples of pyspark.sql.avro.functions.
    df = spark.createDataFrame([("SPADES",)], "value string")
    assert df.select(to_avro("value")).first()[0] == b"\x00\x0cSPADES"
    suit = json.dumps(["null", {"type": "enum", "name": "value", "symbols": ["SPADES", "HEARTS"]}])
    assert df.select(to_avro(df.value, suit)).first()[0] == b"\x02\x00"
    people = spark.createDataFrame([(1, (2, "Alice"))], "key int, value struct<age: bigint, name: string>")
    assert people.select(to_avro(people.value)).first()[0] == b"\x00\x00\x04\x00\nAlice"


def test_nullability_of_the_column_decides_the_derived_schema(spark):
    df = spark.range(2).select("id", F.when(F.col("id") > 0, F.col("id")).alias("maybe"))
    whole, one, maybe = zip(
        *df.select(to_avro(F.struct("*")), to_avro("id"), to_avro("maybe")).collect(), strict=True
    )
    assert whole == (b"\x00\x02", b"\x02\x00\x02")
    assert one == (b"\x00", b"\x02")
    assert maybe == (None, b"\x00\x02")


def test_several_columns_are_the_struct_of_them(spark):
    df = spark.range(3).select("id", F.lit("x").alias("s"), F.array(F.lit(1)).alias("l"))
    schema = json.dumps(record("R", s="string", id="int"))
    pairs = df.select(
        to_avro(["id", F.col("s").alias("t"), "l"]),
        to_avro(F.struct("id", F.col("s").alias("t"), "l")),
        to_avro(["id", "s"], schema), to_avro(F.struct("id", "s"), schema),
    ).collect()  # fmt: skip
    for left, right, left_given, right_given in pairs:
        assert left == right
        assert left_given == right_given
    assert pairs[1][2] == b"\x02x\x02"


def test_every_type_comes_back_from_the_derived_schema(spark):
    sql = """SELECT true b, 1Y i8, 2S i16, 3 i32, 4L i64, float(1.5) f, 2.5D d, 'é' s, X'00FF' x, 12.34BD c,
        date'2024-02-29' da, timestamp'2024-02-29 12:00:00.123456' t,
        timestamp_ntz'2024-02-29 12:00:00.123456' n, array(1, null) l, map('k', 1.5BD) m,
        named_struct('z', array(named_struct('y', 'deep'))) st, null nothing,
        time'12:34:56.123456' ti"""
    df = spark.sql(sql)
    written = df.select(to_avro(F.struct("*")).alias("value"))
    schema = types.to_avro_type(T.StructType(df.schema.fields))
    back = written.select(from_avro("value", schema).alias("r")).select("r.*")
    row = df.first()
    assert back.first() == row
    assert back.select("i8").first()[0] == 1


def test_aggregates_are_written(spark):
    column = (
        spark.range(4).groupBy(F.expr("id % 2").alias("k")).agg(to_avro(F.struct(F.max("id").alias("m"))))
    )
    assert sorted(tuple(row) for row in column.collect()) == [(0, b"\x00\x04"), (1, b"\x00\x06")]


def test_a_filter_goes_below_encoding(spark, capsys):
    spark.range(9).repartition(1).select("id", to_avro("id").alias("b")).filter("id > 5").explain()
    plan = capsys.readouterr().out
    assert plan.count("ArrowEvalPython") == 1
    assert plan.index("ArrowEvalPython") < plan.index("Filter")


def test_what_cannot_be_written_fails_the_query(spark):
    df = spark.range(3)
    with pytest.raises(PythonException, match=r"kcodec\.errors\.EncodeError: out_of_range: row 0, id: "):
        df.select(
            to_avro([(F.col("id") + (1 << 40)).alias("id")], json.dumps(record("R", id="int")))
        ).collect()
    with pytest.raises(PythonException, match="type variant is not written"):
        df.select(to_avro(F.parse_json(F.lit("1")))).collect()


def test_bad_arguments():
    for call, error, reason in (
        (lambda: from_avro(3, POINT), TypeError, "data is a Column"),
        (lambda: from_avro("v"), TypeError, "codec or a serde, not NoneType"),
        (lambda: from_avro("v", POINT, {"mod": "x"}), ConfigError, "unknown option 'mod'; did you mean mode"),
        (lambda: from_avro("v", POINT, "FAILFAST"), TypeError, "options are a dict"),
        (lambda: from_avro("v", POINT, subject="s"), ConfigError, "together"),
        (lambda: from_avro("v", POINT, {f"{REGISTRY_PREFIX}timeout": 1}), ConfigError, "without subject"),
        (lambda: from_avro("v", "{"), SchemaError, "not JSON"),
        (lambda: from_avro("v", b'"int"'), TypeError, "codec or a serde, not bytes"),
        (lambda: from_avro("v", AvroCodec), TypeError, "codec or a serde, not type"),
        (lambda: from_avro("v", POINT, fields=5), TypeError, "fields is a sequence of str, not int"),
        (
            lambda: from_avro("v", AvroCodec(POINT), None, "s", "registry"),
            TypeError,
            "the schema to read as is its text, not AvroCodec",
        ),
        (
            lambda: to_avro("v", AvroCodec(POINT), "s", "memory://"),
            TypeError,
            "a schema's text, not AvroCodec",
        ),
        (lambda: to_avro([]), ConfigError, "needs a column"),
        (lambda: to_avro(3), TypeError, "not int"),
        (lambda: to_avro("v", options={"mod": "FAILFAST"}), ConfigError, "did you mean mode"),
    ):
        with pytest.raises(error, match=reason):
            call()


def test_times_do_not_depend_on_the_session(spark):
    schema = json.dumps(record("R", at=logical("long", "timestamp-micros"), on=logical("int", "date")))
    value = encoded(schema, [{"at": MOMENT, "on": datetime.date(1900, 1, 1)}])
    spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        decoded = frame(spark, value).select(from_avro("value", schema).alias("r")).select("r.*")
        assert decoded.selectExpr("unix_micros(at)").first() == (NANOS // 1000,)
        again = decoded.select(to_avro(["at", "on"], schema), to_avro(F.struct("at", "on"), schema)).first()
        assert tuple(again) == (value[0], value[0])
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "false")


INTERVALS = """SELECT interval '1-2' year to month y, interval '-3' month m, interval '1 02:03:04.5' day to second d,
    interval '7' hour h, array(interval '2' year, null) a, map('k', interval '5' minute) p,
    named_struct('z', interval '4' month, 'n', 5) s, CAST(NULL AS interval year) n"""


def test_intervals_come_back_as_what_they_were(spark):
    df = spark.sql(INTERVALS)
    schema = types.to_avro_type(df.schema)
    written = df.select(to_avro(F.struct("*")).alias("v"), to_avro(F.struct("*"), schema).alias("w"))
    assert written.first()["v"] == written.first()["w"]
    for options in (None, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}):
        back = written.select(from_avro("v", schema, options).alias("r")).select("r.*").drop("_error")
        assert back.dtypes == df.dtypes
        texts = [f"CAST({name} AS STRING) {name}" for name in df.columns]
        assert back.selectExpr(*texts).first() == df.selectExpr(*texts).first()
    for name in ("y", "m", "d"):
        one = types.to_avro_type(df.schema[name].dataType)
        values = df.select(to_avro(name).alias("v"), to_avro(name, json.loads(one)).alias("w"))
        assert values.first()["v"] == values.first()["w"]
        again = values.select(from_avro("v", one)).columns
        assert again == ["from_avro(v)"]
    assert df.select(to_avro("y")).first()[0] == b"\x1c"
    register(spark, {"long_of": AvroCodec(types.to_avro_type(df.schema["d"].dataType))})
    assert spark.sql("SELECT long_of(X'02')").dtypes[0][1] == "interval day to second"


def test_columns_have_the_names_that_functions_of_spark_give(spark):
    df = spark.range(1).select("id", F.lit("a").alias("b"))
    named = [
        (to_avro("id"), "to_avro(id)"),
        (to_avro(F.col("id")), "to_avro(id)"),
        (to_avro(F.col("id"), "long"), "to_avro(id)"),
        (to_avro(F.col("id") + 1, '"long"'), "to_avro((id + 1))"),
        (to_avro(["id", F.col("b")]), "to_avro(struct(id, b))"),
        (to_avro(F.struct("id", "b")), "to_avro(struct(id, b))"),
        (to_avro(F.struct("id", "b"), record("R", id="long", b="string")), "to_avro(struct(id, b))"),
        (to_ksql(["id", "b"], "JSON"), "to_ksql(struct(id, b))"),
        (to_connect_json(F.struct("id")), "to_connect_json(struct(id))"),
        (from_avro(F.encode("b", "utf-8"), '"int"'), "from_avro(encode(b, utf-8))"),
        (encode_decimal("id", 0), "encode_decimal(id)"),
    ]
    assert df.select(*(column for column, _ in named)).columns == [name for _, name in named]


def test_permissive_writing(spark):
    df = (
        spark.range(3)
        .select(F.expr("if(id = 1, id << 40, id)").alias("id"), F.lit("b").alias("b"))
        .coalesce(1)
    )
    schema = record("R", id="int")
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    error = {"code": "out_of_range", "path": "id", "schema_id": None}
    for data in (["id"], F.struct("id")):
        assert [
            row[0] for row in df.select(to_avro(data, schema, options={"mode": "permissive"})).collect()
        ] == [
            b"\x00",
            None,
            b"\x04",
        ]
        told = df.select(to_avro(data, schema, options=options).alias("out")).select("out.*")
        assert told.columns == ["value", "_error"]
        rows = told.collect()
        assert [row["value"] for row in rows] == [b"\x00", None, b"\x04"]
        assert [row["_error"] is None for row in rows] == [True, False, True]
        found = rows[1]["_error"].asDict()
        assert found.pop("reason")
        assert found == error
    null = df.select(to_avro(F.lit(None).cast("int"), "int", options=options).alias("out")).first()["out"]
    assert null == (None, None)
    for column in (
        to_ksql(["id"], "JSON", "ID INT", options),
        to_connect_json(["id"], {"type": "struct", "fields": [{"field": "id", "type": "int32"}]}, options),
    ):
        codes = df.select(column.alias("out")).select("out._error.code").collect()
        assert [row[0] for row in codes] == [None, "out_of_range", None]
    halves = spark.sql("SELECT 1.5BD AS d")
    assert halves.select(encode_decimal("d", 0, {"mode": "PERMISSIVE"})).first()[0] is None
    register(spark, {"bytes_of": (AvroCodec(schema), "encode")}, options=options)
    df.createOrReplaceTempView("numbers")
    sql = spark.sql("SELECT bytes_of(struct(id))._error.code FROM numbers")
    assert [row[0] for row in sql.collect()] == [None, "out_of_range", None]
    with pytest.raises(ConfigError, match="value is the field of what is written"):
        to_avro("id", options={**options, "columnNameOfCorruptRecord": "Value"})


MILLIS = {"type": "long", "logicalType": "timestamp-millis"}


def test_finer_times_are_cut_off_where_that_is_asked_for(spark):
    """As Spark's own to_avro does unasked: these bytes are its."""
    df = spark.sql(
        """SELECT explode(array(timestamp'2024-01-01 00:00:00.123456', timestamp'1969-12-31 23:59:59.999999',
           timestamp'1960-01-01 00:00:00.000001')) t"""
    ).coalesce(1)
    with pytest.raises(PythonException, match=r"inexact: row 0.*round"):
        df.select(to_avro("t", MILLIS)).collect()
    cut = {"round": "truncate"}
    written = [row[0].hex() for row in df.select(to_avro("t", MILLIS, options=cut)).collect()]
    assert written == ["f6d18fa59863", "01", "ffaff6c5af12"]
    places = (
        to_avro(["t"], record("R", t=MILLIS), options=cut),
        to_avro(F.struct("t"), record("R", t=MILLIS), options=cut),
        to_connect_json("t", {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
                        {**cut, "schemas.enable": "false"}),
        to_ksql(["t"], "JSON", "T TIMESTAMP", cut),
        to_json(["t"], "t TIMESTAMP", cut, times="number"),
    )  # fmt: skip
    found = df.select(*places).collect()[1]
    assert found[:2] == (b"\x01", b"\x01")
    assert found[2] == b"-1"
    assert found[3] == b'{"T":-1}'
    assert found[4] == b'{"t":-1}'
    with pytest.raises(ConfigError, match="round: to be given to the AvroCodec itself"):
        to_avro("t", AvroCodec(MILLIS), options=cut)
    told = df.select(
        to_avro("t", MILLIS, options={"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "e"}).alias("w")
    )
    assert [row[0] for row in told.select("w.e.code").collect()] == ["inexact"] * 3


def test_a_dict_is_a_schema(points):
    tree = json.loads(POINT)
    assert points.select(from_avro("value", tree).alias("p")).select("p.name").first() == ("one",)
    same = points.select(to_avro(from_avro("value", POINT), tree).alias("b"), "value").collect()
    assert [row["b"] for row in same] == [row["value"] for row in same]


def test_intervals_are_written_as_spark_does(spark):
    df = spark.sql(
        "SELECT interval '1' day d, array(interval '2' second, null) a, map('k', interval '0' day) m"
    )
    day, two_seconds = encoded('"long"', [86_400_000_000, 2_000_000])
    whole, one = df.select(to_avro(F.struct("*")), to_avro(["d"])).first()
    assert one == day
    assert whole == day + b"\x04\x00" + two_seconds + b"\x02\x00" + b"\x02\x02k\x00\x00"
