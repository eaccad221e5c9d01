"""Functions for SQL, and queries over them: streams, views, pickled codecs."""

import json
import pickle

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from kcodec import AvroCodec, ConfigError, ConnectJsonCodec, MessageCodec, SchemaError
from kcodec_spark import (
    from_avro,
    from_connect_json,
    from_json,
    from_json_schema,
    from_protobuf,
    register,
    to_avro,
    to_connect_json,
    to_json,
    to_json_schema,
)

FIELDS = [{"name": "x", "type": "int"}, {"name": "y", "type": "string"}]
POINT = json.dumps({"type": "record", "name": "Point", "fields": FIELDS})


@pytest.fixture
def codec():
    return AvroCodec(POINT)


def test_decode_and_encode_in_sql(spark, codec):
    register(spark, {"point_of": codec, "point_bytes": (codec, "encode")})
    query = """
        SELECT p.x, p.y, point_bytes(p) AS again, value
        FROM (SELECT value, point_of(value) AS p FROM VALUES (X'020261'), (NULL), (X'0300') AS t(value))
    """
    rows = spark.sql(query).collect()
    assert [(row.x, row.y) for row in rows] == [(1, "a"), (None, None), (-2, "")]
    assert [row.again for row in rows] == [row.value for row in rows]


def test_modes_in_sql(spark, codec):
    register(spark, {"lax": codec}, options={"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad"})
    (row,) = spark.sql("SELECT p.bad.* FROM (SELECT lax(X'02') AS p)").collect()
    assert (row.code, row.offset, row.path, row.bytes) == ("truncated", 1, "y", b"\x02")


def test_functions_take_one_column(spark, codec):
    functions = {"point_of": codec, "point_bytes": (codec, "encode")}
    register(spark, functions)
    register(spark, {f"lax_{name}": each for name, each in functions.items()}, options={"mode": "PERMISSIVE"})
    for call in ("point_of(X'0200', 'schema')", "point_of()", "lax_point_of(X'0200', 'schema')"):
        with pytest.raises(PySparkException, match=r"TypeError: (lax_)?point_of takes one column, not [02]"):
            spark.sql(f"SELECT {call}").collect()
    for call in ("point_bytes(1, 'a')", "lax_point_bytes(1, 'a')"):
        with pytest.raises(
            PySparkException, match="point_bytes takes one column, not 2; several are a struct"
        ):
            spark.sql(f"SELECT {call}").collect()


def test_registering_refuses_what_it_does_not_know(spark, codec):
    with pytest.raises(ConfigError, match="neither decode nor encode"):
        register(spark, {"f": (codec, "decod")})
    with pytest.raises(ConfigError, match="Spark must know the type before the first value: give a schema"):
        register(spark, {"f": ConnectJsonCodec()})
    with pytest.raises(ConfigError, match="others are the codec's"):
        register(spark, {"f": codec}, options={"avroSchema": POINT})
    for functions, reason in (
        (codec, "functions are a dict, not AvroCodec"),
        ({1: codec}, "name of a function is a str, not int"),
        ({"f": (codec,)}, "f is a codec or serde, or a tuple of one and a direction, not 1 items"),
        ({"f": [codec, "decode"]}, "f is a codec or a serde, not list"),
        ({"f": None}, "f is a codec or a serde, not NoneType"),
        ({"f": '"long"'}, "f is a codec or a serde, not str"),
    ):
        with pytest.raises(TypeError, match=reason):
            register(spark, functions)


def test_columns_are_no_schemas(spark):
    """They have attributes of all names, also of those that codecs and types have."""
    schema = F.lit("id BIGINT")
    for function, error in (
        (from_avro, TypeError),
        (to_avro, TypeError),
        (from_json, ConfigError),
        (to_json, ConfigError),
        (from_connect_json, SchemaError),
        (to_connect_json, SchemaError),
        (from_json_schema, TypeError),
        (to_json_schema, TypeError),
        (from_protobuf, TypeError),
    ):
        with pytest.raises(error, match=r"not Column|is a Column, not|of the type Column"):
            function("value", schema)
    with pytest.raises(TypeError, match="f is a codec or a serde, not Column"):
        register(spark, {"f": schema})


def test_registering_refuses_messages_of_unknown_versions(spark):
    spec = json.dumps(
        {
            "type": "data",
            "name": "Commit",
            "validVersions": "0-1",
            "flexibleVersions": "none",
            "fields": [{"name": "Offset", "type": "int64", "versions": "0+"}],
        }
    )
    several = MessageCodec.for_versions(spec)
    for given in (
        several,
        (several, "encode"),
        (MessageCodec.for_versions(spec, header="version"), "encode"),
    ):
        with pytest.raises(ConfigError, match="Commit has several versions: give"):
            register(spark, {"f": given})
    register(spark, {"f": MessageCodec.for_versions(spec, header="version")})
    assert spark.sql("SELECT f(X'00010000000000000005').offset").first()[0] == 5


def test_a_pickled_codec_decodes_the_same(spark, codec):
    again = pickle.loads(pickle.dumps(codec))
    assert again == codec
    df = spark.sql("SELECT X'020261' AS value")
    assert df.select(from_avro("value", again)).first()[0] == (1, "a")


def test_streams(spark, codec, tmp_path):
    spark.range(20).selectExpr("CAST(id AS INT) AS x", "CAST(id AS STRING) AS y").select(
        to_avro(["x", "y"], POINT).alias("value")
    ).repartition(2).write.parquet(str(tmp_path / "in"))
    register(spark, {"point_of": codec})
    stream = spark.readStream.schema("value binary").parquet(str(tmp_path / "in"))
    decoded = stream.select(from_avro("value", POINT).alias("p")).select("p.*")
    query = (
        decoded.filter("x >= 5").selectExpr("x", "y").writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )  # fmt: skip
    assert query.awaitTermination(60)
    found = sorted(tuple(row) for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert found == [(n, str(n)) for n in range(5, 20)]


def test_the_names_of_sparks_own_functions(spark):
    """Where Spark is told to look at its session first; it has functions of these names, which need a jar."""
    codec = AvroCodec('"long"')
    register(spark, {"from_avro": codec, "to_avro": (codec, "encode")})
    order = "spark.sql.functionResolution.sessionOrder"
    try:
        assert spark.sql("SELECT session.from_avro(X'08')").first()[0] == 4
        spark.conf.set(order, "first")
        assert spark.sql("SELECT from_avro(to_avro(id)) FROM range(2)").collect()[1][0] == 1
    finally:
        spark.conf.unset(order)
        for name in ("from_avro", "to_avro"):
            spark.sql(f"DROP TEMPORARY FUNCTION {name}")
