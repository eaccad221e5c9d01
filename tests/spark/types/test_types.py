"""Spark types: against Spark's own SchemaConverters, called in the JVM."""

import functools
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from cases import cases
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from kcodec import AvroCodec, SchemaError
from kcodec_spark import from_avro, schema_of, to_avro, to_connect_json, to_json, to_json_schema, to_ksql
from kcodec_spark.functions.codecs import reader_of
from kcodec_spark.types import arrow, avro_schemas

VECTORS = Path(__file__).parents[2] / "vectors" / "avro_vectors.jsonl.gz"
REFUSALS = (Py4JJavaError, PySparkException)


def struct(*fields):
    return T.StructType([T.StructField(*field) for field in fields])


DECIMALS = [T.DecimalType(precision, precision // 3) for precision in range(1, 39)]
NESTED = struct(
    ("a", T.IntegerType()),
    ("b", struct(("d", T.DecimalType(9, 3)), ("n", T.NullType())), False),
    ("arr", T.ArrayType(struct(("x", T.DecimalType(4, 1)), ("y", T.ArrayType(T.DecimalType(4, 1)))))),
    ("m", T.MapType(T.StringType(), struct(("y", T.DateType())))),
    ("b2", struct(("b2", struct(("b2", T.TimestampType(), False))))),
)
SPARK_TYPES = [
    T.BooleanType(), T.ByteType(), T.ShortType(), T.IntegerType(), T.LongType(), T.FloatType(),
    T.DoubleType(), T.StringType(), T.BinaryType(), T.DateType(), T.TimestampType(), T.TimestampNTZType(),
    T.NullType(), T.TimeType(0), T.TimeType(3), T.TimeType(6), T.DayTimeIntervalType(),
    T.DayTimeIntervalType(1, 2),
    T.YearMonthIntervalType(), T.YearMonthIntervalType(0, 0),
    T.ArrayType(T.IntegerType()), T.ArrayType(T.IntegerType(), False), T.ArrayType(T.ArrayType(T.NullType())),
    T.MapType(T.StringType(), T.LongType()), T.MapType(T.StringType(), T.DecimalType(5, 1), False),
    struct(), struct(("Ünï_1", T.LongType())), NESTED, *DECIMALS,
]  # fmt: skip
REFUSED = [
    T.CalendarIntervalType(), T.VariantType(), T.VarcharType(5), T.CharType(5), T.StringType("UTF8_LCASE"),
    T.MapType(T.IntegerType(), T.LongType()), T.MapType(T.StringType("UTF8_LCASE"), T.LongType()),
    struct(("a b", T.LongType())), struct(("1a", T.LongType())), struct(("", T.LongType())),
    struct(("a", T.LongType()), ("a", T.LongType())),
]  # fmt: skip


@cases("kind", SPARK_TYPES, ids=lambda kind: kind.simpleString()[:60])
def test_avro_schema_of_a_spark_type_is_sparks_own(converters, kind):
    for arguments in ((False, "topLevelRecord", ""), (True, "rec", "my.ns"), (True, "a.rec", "")):
        assert avro_schemas.to_avro_type(kind, *arguments) == converters.to_avro(kind, *arguments)


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.simpleString())
def test_spark_types_refused_by_spark_are_refused(converters, kind):
    with pytest.raises(REFUSALS):
        converters.to_avro(kind, False, "topLevelRecord", "")
    with pytest.raises(SchemaError):
        avro_schemas.to_avro_type(kind)


ARROW_TYPES = {
    "smallint": [pa.int16(), pa.uint8()],
    "int": [pa.int32(), pa.uint16(), pa.time32("ms"), pa.time32("s")],
    "bigint": [pa.int64(), pa.uint32(), pa.timestamp("ns"), pa.timestamp("ns", "UTC")],
    "decimal(20,0)": [pa.uint64()],
    "decimal(38,3)": [pa.decimal128(38, 3), pa.decimal256(38, 3)],
    "string": [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    "binary": [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(7)],
    "timestamp": [pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Berlin")],
    "timestamp_ntz": [pa.timestamp("us"), pa.timestamp("s")],
    "time(6)": [pa.time64("us"), pa.time64("ns")],
    "void": [pa.null()],
    "array<int>": [pa.list_(pa.int32()), pa.large_list(pa.time32("ms")), pa.list_(pa.int32(), 3)],
    "map<string,struct<a:binary>>": [pa.map_(pa.string(), pa.struct([("a", pa.binary(2))]))],
    "struct<>": [pa.struct([])],
}


@pytest.mark.parametrize("name", ARROW_TYPES)
def test_spark_type_of_an_arrow_type(name):
    assert {arrow.from_arrow_type(kind).simpleString() for kind in ARROW_TYPES[name]} == {name}


@pytest.mark.parametrize("name", ARROW_TYPES)
def test_arrow_type_of_a_spark_type(name):
    kind = arrow.from_arrow_type(ARROW_TYPES[name][0])
    assert arrow.from_arrow_type(arrow.to_arrow_type(kind)) == kind


@pytest.mark.parametrize("name", ARROW_TYPES)
def test_types_are_sent_as_spark_does(name):
    for kind in ARROW_TYPES[name]:
        spark_type = arrow.from_arrow_type(kind)
        sent = arrow.sent_type(kind)
        assert arrow.from_arrow_type(sent) == spark_type
        if "large" not in str(kind):
            try:
                assert sent == to_arrow_type(spark_type, timezone="UTC")
            except TypeError:
                # Before Spark 4.2.
                assert sent == to_arrow_type(spark_type)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_variants_are_not_written(spark, mode):
    frame = spark.sql("SELECT named_struct('v', array(parse_json('1'))) AS s")
    for write in (
        to_avro,
        to_json,
        to_json_schema,
        to_connect_json,
        functools.partial(to_ksql, format="JSON"),
    ):
        with pytest.raises(PythonException, match=r"SchemaError: .*Spark's type variant"):
            frame.select(write("s", options={"mode": mode})).collect()


def test_nullability_is_kept():
    item = pa.field("item", pa.struct([pa.field("x", pa.int64(), False), pa.field("y", pa.int64())]), False)
    kind = arrow.from_arrow_type(pa.struct([pa.field("l", pa.list_(item), False)]))
    inner = struct(("x", T.LongType(), False), ("y", T.LongType()))
    assert kind == struct(("l", T.ArrayType(inner, False), False))


def test_what_spark_cannot_hold_is_refused_with_its_path():
    with pytest.raises(SchemaError, match=r'a\[\]\.d: .*38 digits, not 40.*wide_decimals="string"'):
        arrow.from_arrow_type(pa.struct([("a", pa.list_(pa.struct([("d", pa.decimal256(40, 2))])))]))
    for scale in (-2, 21):
        with pytest.raises(SchemaError, match=r"the value: .*none to all of their digits"):
            arrow.from_arrow_type(pa.decimal128(20, scale))
    with pytest.raises(SchemaError, match=r"the value: .*no type for Arrow's month_day_nano_interval"):
        arrow.from_arrow_type(pa.month_day_nano_interval())
    with pytest.raises(SchemaError, match="a name stands twice"):
        arrow.from_arrow_type(pa.struct([("a", pa.int8()), ("a", pa.int8())]))


def named(kind, name, **more):
    return {"type": kind, "name": name, **more}


def record(name, **fields):
    return named("record", name, fields=[{"name": key, "type": kind} for key, kind in fields.items()])


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


def catalyst(kind, name, **more):
    return {"type": kind, avro_schemas.CATALYST_TYPE: name, **more}


ENUM = named("enum", "a.E", symbols=["A", "B"])
FIXED = named("fixed", "F", size=4)
AVRO_SCHEMAS = [
    "null", "boolean", "int", "long", "float", "double", "bytes", "string", ENUM, FIXED,
    logical("int", "date"), logical("int", "time-millis"), logical("long", "time-micros"),
    logical("long", "timestamp-millis"), logical("long", "timestamp-micros"),
    logical("long", "local-timestamp-millis"), logical("long", "local-timestamp-micros"),
    logical("string", "uuid"), logical("bytes", "decimal", precision=9, scale=2),
    logical("bytes", "big-decimal"),
    logical("bytes", "decimal", precision=38, scale=38), logical("bytes", "decimal", precision=2, scale=3),
    named("fixed", "F", size=4, logicalType="decimal", precision=9, scale=4),
    named("fixed", "F", size=4, logicalType="decimal", precision=10),
    named("fixed", "F", size=16, logicalType="uuid"), named("fixed", "F", size=12, logicalType="duration"),
    logical("long", "date"), logical("string", "timestamp-millis"), logical("long", "no-such-type"),
    {"type": "array", "items": "int"}, {"type": "array", "items": ["null", "int"]},
    {"type": "map", "values": "int"}, {"type": "map", "values": ["int", "null"]}, named("fixed", "F", size=0),
    ["null", "string"], [], ["null"], ["int"], ["null", "int"], ["int", "null"], ["int", "long"],
    ["long", "null", "int"], ["float", "double"], ["double", "null", "float"], ["int", "float"],
    ["null", "int", "string"], ["int", "string", ENUM],
    ["null", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}],
    ["int", logical("long", "timestamp-millis")], [record("R"), "string"],
    record("R"), record("n.R", a="int", A=["null", "string"], e=ENUM, e2=["null", "a.E"]),
    record("R", inner=record("S", x=record("T", y="int"))),
    record("R", l={"type": "array", "items": FIXED}, g="F"),
    catalyst("int", "smallint", logicalType="date"), catalyst("long", "int", logicalType="timestamp-micros"),
]  # fmt: skip
# Schema, Spark's type (None: it refuses the schema), and that of `from_avro`. Spark takes no nanoseconds from Python;
# its notes of its own types are looked at where its to_avro writes them.
MARKED = [
    catalyst("int", "interval year to month"),
    catalyst("int", "interval month"),
    catalyst("int", "interval year"),
    catalyst("long", "interval day to second"),
    catalyst("long", "interval hour to minute"),
    catalyst("long", "interval second"),
    catalyst("long", "time(3)", logicalType="time-micros"),
]
MARKED_RECORD = record(
    "R", **{f"f{number}": schema for number, schema in enumerate(MARKED)},
    nullable=["null", catalyst("int", "interval month")],
    items={"type": "array", "items": ["null", catalyst("long", "interval day")]},
    values={"type": "map", "values": record("S", at=catalyst("int", "interval year"), plain="int")},
    wider=["int", catalyst("long", "interval day")],
    union=["string", catalyst("int", "interval year"), catalyst("long", "interval day")],
)  # fmt: skip
DIFFERENT = [
    (logical("long", "timestamp-nanos"), "timestamp_ltz(9)", "long"),
    (logical("long", "local-timestamp-nanos"), "timestamp_ntz(9)", "long"),
    (catalyst("long", "interval month"), "interval month", "long"),
    (catalyst("int", "interval day"), "interval day", "integer"),
    (catalyst("int", "interval month to year"), None, "integer"),
    (catalyst("long", "time(3)"), "time(3)", "long"),
    (catalyst("int", "smallint"), "short", "integer"),
    (catalyst("int", "no such type"), None, "integer"),
]
NODE = record(
    "N", v="int", n=["null", "N"], l={"type": "array", "items": "N"}, u=["int", "string", "N"],
    m=["null", {"type": "map", "values": "N"}], q=[{"type": "array", "items": "N"}], w=["null", "int", "N"],
)  # fmt: skip
STABLE = "enableStableIdentifiersForUnionType"
MEMBERS = ["int", "string", ENUM, {"type": "array", "items": "int"}, {"type": "map", "values": "int"}, FIXED]


def text(schema):
    return json.dumps(schema, separators=(",", ":"))


@pytest.fixture
def read_as(classic):
    """Return the type of `from_avro`'s column, as Spark names it, for a schema and options."""

    def column_type(schema, **options):
        column = from_avro(F.lit(b""), schema, options)
        return json.loads(classic.range(1).select(column.alias("v")).schema["v"].dataType.json())

    return column_type


@cases("schema", AVRO_SCHEMAS, ids=lambda schema: text(schema)[:70])
def test_spark_type_of_an_avro_schema_is_sparks_own(converters, read_as, schema):
    assert read_as(text(schema)) == converters.to_sql(text(schema))


@pytest.mark.parametrize("schema", [*MARKED, MARKED_RECORD], ids=lambda schema: text(schema)[:70])
def test_types_that_spark_marks_are_its_own_again(converters, read_as, schema):
    assert read_as(text(schema)) == converters.to_sql(text(schema))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_recursive_records_are_read_as_deep_as_spark_does(converters, read_as, depth):
    assert read_as(text(NODE), recursiveFieldMaxDepth=depth) == converters.to_sql(
        text(NODE), False, "", depth
    )


@pytest.mark.parametrize("prefix", ["member_", "", "Ü"])
def test_members_are_named_after_their_types_as_spark_does(converters, read_as, prefix):
    options = {STABLE: True, "stableIdentifierPrefixForUnionType": prefix}
    assert read_as(text(MEMBERS), **options) == converters.to_sql(text(MEMBERS), True, prefix)


def test_avro_schemas_refused_by_spark_are_refused(converters, read_as):
    wide = text(logical("bytes", "decimal", precision=40, scale=2))
    clash = text(["int", named("enum", "a.E", symbols=["A"]), named("enum", "e", symbols=["A"])])
    for schema, reason, options, more in (
        (wide, "at most 38 digits, not 40", {}, (False, "", -1)),
        (text(NODE), "N contains itself", {}, (False, "", 0)),
        (clash, "two members of the union would be named member_e", {STABLE: True}, (True, "", -1)),
    ):
        with pytest.raises(REFUSALS):
            converters.to_sql(schema, *more)
        with pytest.raises(SchemaError, match=reason):
            read_as(schema, **options)


@pytest.mark.parametrize(("schema", "own", "expected"), DIFFERENT, ids=str)
def test_what_differs_from_spark(converters, read_as, schema, own, expected):
    if own is None:
        with pytest.raises(REFUSALS):
            converters.to_sql(text(schema))
    else:
        assert converters.to_sql(text(schema)) == own
    assert read_as(text(schema)) == expected


def vector_schemas():
    with gzip.open(VECTORS, "rt", encoding="utf-8", newline="\n") as file:
        lines = [json.loads(line) for line in file.read().split("\n") if line]
    return sorted({line["schema"] for line in lines if line["kind"].startswith("decode")})


def test_types_of_the_schemas_of_the_vectors_are_sparks_own(converters):
    agreed = 0
    for schema in vector_schemas():
        try:
            own = converters.to_sql_for_python(schema)
        except REFUSALS:
            with pytest.raises(SchemaError):
                arrow.from_arrow_type(AvroCodec(schema).arrow_type)
            continue
        kind = arrow.from_arrow_type(AvroCodec(schema).arrow_type)
        assert json.loads(kind.json()) == own, schema
        agreed += 1
    assert agreed > 100


def test_the_schema_of_a_frame(spark):
    frame = spark.range(1).selectExpr("id", "cast(id AS string) AS note")
    for given in (frame, frame.schema):
        assert json.loads(schema_of(given, name="Order", namespace="shop")) == {
            "type": "record",
            "name": "Order",
            "namespace": "shop",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "note", "type": "string"},
            ],
        }


def test_intervals_beside_lists_of_nulls():
    """Arrow's cast of the whole column makes such lists longer than what they hold."""
    marked = {"type": "long", avro_schemas.CATALYST_TYPE: "interval day to second"}
    kind = {"type": "array", "items": "null"}
    fields = [{"name": "i", "type": marked}, {"name": "n", "type": kind}]
    codec = AvroCodec({"type": "record", "name": "R", "fields": fields})
    rows = [{"i": 1, "n": [None, None]}, {"i": 2, "n": [None]}]
    reading = reader_of(codec)
    found = reading.read(codec.encode(rows))
    found.validate(full=True)
    assert found.type == reading.arrow_type
    assert found.field("n").to_pylist() == [[None, None], [None]]
