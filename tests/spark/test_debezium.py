"""Debezium's change events as rows, and its dates and times in Spark's columns."""

import datetime
import json

import pytest
from pyspark.sql import functions as F

import kcodec
from kcodec import ConfigError, SchemaError
from kcodec_spark import from_avro, from_connect_json, to_avro, unwrap

KIND = """key string, topic string, headers array<struct<key: string, value: binary>>,
    value struct<before: struct<id: bigint, name: string>, after: struct<id: bigint, name: string>,
        source: struct<lsn: bigint, `a.b`: string>, transaction: struct<id: string>, op: string, ts_ms: bigint>"""
OLD, NEW = (7, "a"), (7, None)
EVENTS = [
    ("1", "orders", None, (None, OLD, (1, "x"), None, "c", 10)),
    ("2", "orders", [("h", b"v")], (OLD, NEW, (2, "y"), ("t",), "u", 20)),
    ("3", "orders", None, (OLD, None, (3, None), None, "d", 30)),
    ("3", "orders", None, None),
    ("4", "orders", None, (None, None, (4, None), None, "t", 40)),
]


@pytest.fixture
def changes(spark):
    return spark.createDataFrame(EVENTS, KIND).coalesce(1)


@pytest.mark.parametrize(
    ("mode", "keys"),
    [
        ("tombstone", "123"),
        ("drop", "12"),
        ("rewrite", "123"),
        ("rewrite-with-tombstone", "1233"),
        ("delete-to-tombstone", "123"),
    ],
)
def test_modes_are_those_of_columns(changes, mode, keys):
    names = "op,lsn,transaction.id:TX,nothing"
    settings = {"delete_tombstone_handling_mode": mode, "add_fields": names}
    rows = unwrap(changes, **settings)
    assert rows.columns == changes.columns
    collected = rows.collect()
    assert "".join(row.key for row in collected) == keys
    arrow = changes.select("value").toArrow().column("value")
    found = kcodec.unwrap(arrow, **settings)
    wanted = found.values.filter(found.kept).to_pylist()
    assert [row.value.asDict() if row.value else None for row in collected] == wanted
    assert rows.schema["value"].dataType.names == found.values.type.names


def test_headers_and_topics(changes):
    rows = unwrap(
        changes,
        delete_tombstone_handling_mode="rewrite-with-tombstone",
        add_headers=["op", "transaction.id"],
        route_by_field="name",
    ).collect()
    told = [[(header.key, header.value and bytes(header.value)) for header in row.headers] for row in rows]
    assert told == [
        [("__op", b"c"), ("__transaction_id", None)],
        [("h", b"v"), ("__op", b"u"), ("__transaction_id", b"t")],
        [("__op", b"d"), ("__transaction_id", None)],
        [("__op", b"d")],
    ]
    assert [row.topic for row in rows] == ["a", "orders", "a", "orders"]
    bare = unwrap(changes.select("value"), add_headers="op", route_by_field="name")
    assert bare.columns == ["value", "headers", "topic"]


def test_times_in_headers_do_not_depend_on_the_session(spark):
    """A time without a zone would not say which instant it was."""
    source = "struct<at: timestamp, local: timestamp_ntz>"
    kind = f"struct<before: struct<id: int>, after: struct<id: int>, source: {source}>"
    instants = ("2024-11-03 05:30:00Z", "1883-11-18 17:00:00.000001Z", "1500-02-28 00:00:00Z")
    rows = [
        f"struct(null, struct(1), struct(timestamp '{each}', timestamp_ntz '{each[:-1]}'))"
        for each in instants
    ]
    frame = spark.sql(f"SELECT explode(array({', '.join(rows)})) AS value")
    frame = frame.select(F.col("value").cast(kind).alias("value"))
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        found = unwrap(frame, add_headers="at,local").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert [[bytes(header.value).decode() for header in row.headers] for row in found] == [
        [each.replace(" ", "T"), each[:-1]] for each in instants
    ]


def test_blank_topics_are_none(changes):
    names = F.expr("explode(array('', ' ', '\t', '\u2003', ' x '))")
    rows = changes.limit(1).select("topic", names.alias("name"))
    envelope = F.expr("struct(struct(name) AS after, 'c' AS op)")
    found = unwrap(rows.select("topic", envelope.alias("value")), route_by_field="name").collect()
    assert [row.topic for row in found] == ["orders"] * 4 + [" x "]


@pytest.mark.parametrize("mode", ["tombstone", "rewrite-with-tombstone"])
def test_rows_beside_tombstones_are_taken_as_arrow(changes, mode):
    rows = unwrap(changes, delete_tombstone_handling_mode=mode, add_fields="op", unavailable="list")
    assert rows.select("value").toArrow().column("value").null_count == 1


@pytest.mark.parametrize("name", ["a.b", "a`b", "`", "Δ c"])
def test_columns_of_any_name(changes, name):
    rows = unwrap(changes.withColumnRenamed("value", name), name)
    assert [row[name] and row[name].id for row in rows.collect()] == [7, 7, None]


def test_values_that_are_not_available(spark):
    mark = "__debezium_unavailable_value"
    kinds = "a: string, b: binary, c: array<string>, d: array<int>, e: map<string, string>, id: int"
    row = (mark, bytearray(mark.encode()), [mark], list(mark.encode()), {mark: mark}, 1)
    other = ("x", bytearray(b"x"), ["x"], [1], {"x": mark}, 2)
    nulls = (None,) * 6
    kind = f"value struct<before: struct<{kinds}>, after: struct<{kinds}>, op: string>"
    events = spark.createDataFrame([((None, each, "u"),) for each in (row, other, nulls)], kind).coalesce(1)
    assert [tuple(found) for (found,) in unwrap(events).collect()] == [row, other, nulls]
    found = [tuple(found) for (found,) in unwrap(events, unavailable="list").collect()]
    assert found == [(None,) * 5 + (1, list("abcde")), (*other, []), (*nulls, [])]


def test_what_is_not_valid(changes):
    with pytest.raises(SchemaError, match="no one column nothing"):
        unwrap(changes, "nothing")
    with pytest.raises(SchemaError, match="not an envelope"):
        unwrap(changes, "key")
    with pytest.raises(SchemaError, match="no text field id"):
        unwrap(changes, route_by_field="id")
    with pytest.raises(SchemaError, match="stands twice"):
        unwrap(changes, add_fields="op:name", add_fields_prefix="")
    with pytest.raises(ConfigError, match="not one of"):
        unwrap(changes, delete_tombstone_handling_mode="none")
    with pytest.raises(TypeError, match="name of a column"):
        unwrap(changes, 7)


def named(kind, name):
    return {"type": kind, "connect.name": f"io.debezium.time.{name}"}


TIMES = {
    "d": ("int", "Date"),
    "t": ("long", "Timestamp"),
    "z": ("string", "ZonedTimestamp"),
    "n": ("long", "NanoTime"),
}
AVRO = {
    "type": "record",
    "name": "R",
    "fields": [{"name": name, "type": named(*each)} for name, each in TIMES.items()],
}
RAW = {"d": 19000, "t": 1_700_000_000_123, "z": "2024-01-31T12:34:56.5Z", "n": 5_000}


def test_dates_and_times_are_read_and_written(spark):
    import pyarrow as pa

    payload = kcodec.AvroCodec(AVRO, debezium=False).encode(pa.array([RAW]))[0].as_py()
    df = spark.createDataFrame([(payload,)], "value binary")
    read = df.select(from_avro("value", AVRO).alias("r"))
    assert read.schema["r"].dataType.simpleString() == (
        "struct<d:date,t:timestamp_ntz,z:timestamp,n:time(6)>"
    )
    row = read.selectExpr("r.d", "r.t", "cast(r.z as string) z", "r.n").first()
    assert row.asDict() == {
        "d": datetime.date(2022, 1, 8),
        "t": datetime.datetime(2023, 11, 14, 22, 13, 20, 123_000),
        "z": "2024-01-31 12:34:56.5",
        "n": datetime.time(0, 0, 0, 5),
    }
    assert bytes(read.select(to_avro("r", AVRO).alias("w")).first().w) == payload
    plain = df.select(from_avro("value", AVRO, {"debezium": "false"}).alias("r")).select("r.*").first()
    assert plain.asDict() == RAW


def test_connects_json_too(spark):
    fields = [
        {
            "field": name,
            "type": {"int": "int32", "long": "int64"}.get(kind, kind),
            "name": f"io.debezium.time.{each}",
        }
        for name, (kind, each) in TIMES.items()
    ]
    schema = {"type": "struct", "fields": fields, "optional": True}
    df = spark.createDataFrame([(json.dumps({"schema": schema, "payload": RAW}),)], "value string")
    read = df.select(from_connect_json("value", schema).alias("r"))
    assert read.schema["r"].dataType.simpleString() == (
        "struct<d:date,t:timestamp_ntz,z:timestamp,n:time(6)>"
    )
    assert read.select("r.t").first().t == datetime.datetime(2023, 11, 14, 22, 13, 20, 123_000)
    plain = (
        df.select(from_connect_json("value", schema, {"debezium": "FALSE"}).alias("r")).select("r.*").first()
    )
    assert plain.asDict() == RAW
