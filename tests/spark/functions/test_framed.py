"""Framed values and a registry in a file, which client and executors share."""

import json

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from registry_server import serve

from kcodec import AvroCodec, ConfigError, RegistryError, Serde, registry
from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec_spark import from_avro, register, to_avro
from kcodec_spark.functions.framed import framed_serde

SUBJECT = "orders-value"


def order(*fields):
    return json.dumps({"type": "record", "name": "Order", "fields": [json.loads(field) for field in fields]})


ID = '{"name": "id", "type": "int"}'
LONG_ID = '{"name": "id", "type": "long"}'
NOTE = '{"name": "note", "type": ["null", "string"], "default": null}'
ZIP = '{"name": "zip", "type": "string", "default": ""}'
PLACE = (
    f'{{"name": "place", "type": {{"type": "record", "name": "Place", "fields": [{ZIP}]}}, "default": {{}}}}'
)
LATEST = "struct<note:string,id:bigint,place:struct<zip:string>>"
VERSIONS = [order(ID), order(LONG_ID, NOTE), order(NOTE, LONG_ID, PLACE)]


@pytest.fixture
def address(tmp_path):
    return f"sqlite:///{tmp_path / 'schemas.db'}"


@pytest.fixture
def ids(address):
    handle = registry.open(address)
    handle.set_config(registry.Config(compatibility="NONE"))
    return [handle.register(SUBJECT, Schema(text)).id for text in VERSIONS]


def framed(ids, number, row):
    codec = AvroCodec(VERSIONS[number])
    payload = codec.encode(pa.array([row], codec.arrow_type))[0].as_py()
    return b"\0" + ids[number].to_bytes(4, "big") + payload


@pytest.fixture
def rows(ids):
    return [
        framed(ids, 0, {"id": 1}),
        framed(ids, 2, {"note": "n", "id": 2, "place": {"zip": "1010"}}),
        None,
        framed(ids, 1, {"id": 3, "note": None}),
        framed(ids, 0, {"id": 4}),
    ]


def test_each_version_is_asked_for_once():
    store = MemoryRegistry()
    for text in VERSIONS:
        store.register(SUBJECT, Schema(text))
    with serve(store) as server:
        serde = framed_serde("AVRO", SUBJECT, server.url, {}, VERSIONS[0], {})
        assert server.requests == [
            f"GET /subjects/{SUBJECT}/versions",
            *(f"GET /subjects/{SUBJECT}/versions/{number}" for number in (1, 2, 3)),
        ]
        server.requests.clear()
        assert serde.deserialize([framed([1, 2, 3], 0, {"id": 3})]).to_pylist() == [{"id": 3}]
        assert not server.requests
        registry.open(server.url).close()
    assert serde.arrow_type == pa.struct([pa.field("id", pa.int32(), False)])


def frame(spark, rows):
    return spark.createDataFrame([(row,) for row in rows], "value binary").coalesce(1)


def test_many_ids_are_read_as_the_latest(spark, address, rows):
    column = frame(spark, rows).select(
        from_avro("value", subject=SUBJECT, schemaRegistryAddress=address).alias("o")
    )
    assert column.schema["o"].dataType.simpleString() == LATEST
    found = [row["o"] for row in column.collect()]
    assert found == [(None, 1, ("",)), ("n", 2, ("1010",)), None, (None, 3, ("",)), (None, 4, ("",))]


def test_many_ids_are_read_as_the_schema_given(spark, address, rows):
    df = frame(spark, rows)
    by_position = df.select(from_avro("value", order(LONG_ID), None, SUBJECT, address).alias("o"))
    by_option = df.select(
        from_avro(
            "value", options={"avroSchema": order(LONG_ID)}, subject=SUBJECT, schemaRegistryAddress=address
        )
    )
    assert (
        [r[0] for r in by_position.collect()]
        == [r[0] for r in by_option.collect()]
        == [(1,), (2,), None, (3,), (4,)]
    )


def test_ids_registered_later_are_fetched_by_the_executors(spark, address, ids, rows):
    column = from_avro("value", order(LONG_ID), subject=SUBJECT, schemaRegistryAddress=address)
    later = order(ID, '{"name": "extra", "type": "string"}')
    number = registry.open(address).register(SUBJECT, Schema(later)).id
    df = frame(spark, [rows[0], b"\0" + number.to_bytes(4, "big") + b"\x0a\x02x"])
    assert [r[0] for r in df.select(column).collect()] == [(1,), (5,)]


def test_unknown_ids_and_bad_frames_cost_their_rows_only(spark, address, rows):
    bad = [rows[0], b"\0\0\0\0\x63abc", b"{}", b"\0\0", rows[1][:7], rows[1]]
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad"}
    column = frame(spark, bad).select(
        from_avro(
            "value", options=options, subject=SUBJECT, schemaRegistryAddress=address, fields=["id"]
        ).alias("o")
    )
    found = [
        (r.o.id, r.o.bad and (r.o.bad.code, r.o.bad.offset, r.o.bad.schema_id)) for r in column.collect()
    ]
    codes = [why and why[0] for _, why in found]
    assert codes == [None, "unknown_schema_id", "frame_magic", "frame_truncated", "truncated", None]
    assert found[1][1] == ("unknown_schema_id", 0, 99)
    assert [number for number, _ in found] == [1, None, None, None, None, 2]
    with pytest.raises(
        PythonException, match=r"DecodeError: unknown_schema_id: row 1, byte 0, schema id 99: "
    ):
        frame(spark, bad).select(from_avro("value", subject=SUBJECT, schemaRegistryAddress=address)).collect()


def test_written_as_the_latest_with_its_id(spark, address, ids, rows):
    df = frame(spark, rows)
    decoded = df.select(from_avro("value", subject=SUBJECT, schemaRegistryAddress=address).alias("o"))
    written = decoded.select(to_avro("o", subject=SUBJECT, schemaRegistryAddress=address).alias("b"))
    expected = [
        framed(ids, 2, {"note": None, "id": 1, "place": {"zip": ""}}), rows[1], None,
        framed(ids, 2, {"note": None, "id": 3, "place": {"zip": ""}}),
        framed(ids, 2, {"note": None, "id": 4, "place": {"zip": ""}}),
    ]  # fmt: skip
    assert [r["b"] for r in written.collect()] == expected


def test_written_as_the_schema_given(spark, address, ids):
    df = spark.range(2).withColumn("note", F.lit("x"))
    values = df.select(to_avro(["id", "note"], VERSIONS[1], SUBJECT, address)).collect()
    assert [r[0] for r in values] == [framed(ids, 1, {"id": n, "note": "x"}) for n in (0, 1)]
    with pytest.raises(RegistryError, match="not found") as refused:
        to_avro("id", order('{"name": "new", "type": "int"}'), SUBJECT, address)
    assert refused.value.error_code == 40403


def test_finer_times_are_cut_off_in_frames_too(spark, address):
    schema = {"type": "long", "logicalType": "timestamp-millis"}
    options = {"confluent.schema.registry.auto.register.schemas": "true", "round": "truncate"}
    times = spark.sql("SELECT timestamp'1970-01-01 00:00:00.001999' t")
    framed_one = times.select(to_avro("t", schema, "times-value", address, options)).first()[0]
    assert framed_one[5:] == b"\x02"


def test_schemas_may_be_registered_on_the_way(spark, address):
    options = {"confluent.schema.registry.auto.register.schemas": "true"}
    values = spark.range(2).select(to_avro(["id"], order(LONG_ID), "fresh-value", address, options)).collect()
    number = registry.open(address).get_version("fresh-value").id
    assert [r[0] for r in values] == [b"\0" + number.to_bytes(4, "big") + byte for byte in (b"\x00", b"\x02")]


def test_a_subject_that_does_not_exist_fails_when_the_query_is_made(classic, address):
    with pytest.raises(RegistryError, match="not found"):
        from_avro("value", subject="nothing-value", schemaRegistryAddress=address)
    with pytest.raises(
        RegistryError, match=r"not found.*\(without a schema the latest one is written: give one"
    ):
        to_avro("value", subject="nothing-value", schemaRegistryAddress=address)
    with pytest.raises(
        RegistryError, match=r"not found.*\(confluent\.schema\.registry\.auto\.register\.schemas set to true"
    ):
        to_avro("value", '"long"', subject="nothing-value", schemaRegistryAddress=address)


def test_settings_without_meaning_are_refused(address):
    strategies = [f"{side}subject.name.strategy" for side in ("", "key.", "value.")]
    for name in ("schema.registry.url", *strategies, "subject.name.strategy.fallback.type"):
        with pytest.raises(ConfigError, match=rf"registry\.{name}: subject \(.*say where the schemas are"):
            from_avro("v", '"int"', {f"confluent.schema.registry.{name}": "RECORD"}, SUBJECT, address)
    for name in strategies:
        with pytest.raises(ConfigError, match=f"unknown option '{name}': give the whole subject"):
            from_avro("v", '"int"', {name: "RecordNameStrategy"}, SUBJECT, address)
    with pytest.raises(ConfigError, match="takes no configuration"):
        from_avro("v", '"int"', {"confluent.schema.registry.timeout": 5}, SUBJECT, address)


def test_a_registry_that_fails_makes_no_bad_rows_unless_asked_to(spark, ids, rows):
    """By default the task fails, and Spark tries it again: a row that is only late is no dead letter."""
    store = MemoryRegistry()
    numbers = [store.register(SUBJECT, Schema(text)).id for text in VERSIONS]
    later = b"\0" + (len(numbers) + 1).to_bytes(4, "big") + b"\x0a"
    options = {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": "bad",
        "confluent.schema.registry.max.retries": "0",
    }
    with serve(store) as server:

        def column(**more):
            place = {"subject": SUBJECT, "schemaRegistryAddress": server.url}
            return from_avro("value", order(LONG_ID), {**options, **more}, **place).alias("o")

        failing, null = column(), column(onRegistryFailure="null")
        df = frame(spark, [rows[0], later, rows[4]])
        registry.open(server.url).close()
    with pytest.raises(PythonException, match=r"kcodec\.errors\.RegistryError: .*127\.0\.0\.1"):
        df.select(failing).collect()
    found = df.select(null).collect()
    assert [r.o.id for r in found] == [1, None, 4]
    assert found[1].o.bad.code == "registry_error"


def test_the_schema_to_read_as_by_its_id_or_version(spark, address, ids, rows):
    df = frame(spark, rows)
    place = {"subject": SUBJECT, "schemaRegistryAddress": address}
    for options in ({"readerSchemaId": str(ids[1])}, {"readerSchemaVersion": 2}):
        found = df.select(from_avro("value", options=options, **place)).collect()
        assert [r[0] for r in found] == [(1, None), (2, "n"), None, (3, None), (4, None)]
    options = {"confluent.schema.registry.use.schema.id": ids[0]}
    written = spark.range(2).select(to_avro([F.col("id").cast("int").alias("id")], options=options, **place))
    assert [r[0] for r in written.collect()] == [framed(ids, 0, {"id": n}) for n in (0, 1)]
    for schema, options, reason in (
        (order(ID), {"readerSchemaId": 1}, "only one of them"),
        (None, {"readerSchemaVersion": "0"}, "not a number from 1 on"),
    ):
        with pytest.raises(ConfigError, match=reason):
            from_avro("value", schema, options, SUBJECT, address)


def test_literals_and_trees_as_in_databricks(spark, address, ids, rows):
    place = {"subject": F.lit(SUBJECT), "schemaRegistryAddress": F.lit(address)}
    df = frame(spark, rows)
    as_third = df.select(from_avro("value", json.loads(VERSIONS[2]), **place).alias("o"), "value")
    assert [r[0] for r in as_third.select("o.id").collect()] == [1, 2, None, 3, 4]
    again = as_third.select(to_avro("o", json.loads(VERSIONS[2]), **place))
    assert again.collect()[1][0] == rows[1]
    for wrong in (F.lit(5), F.col("value"), 5):
        with pytest.raises(TypeError, match="subject is a str or a literal of one"):
            from_avro("value", subject=wrong, schemaRegistryAddress=address)


def test_a_ready_serde_in_place_of_the_schema_and_in_sql(spark, address, ids, rows):
    serde = Serde("AVRO", address, topic="orders", reader_schema="latest", schema=VERSIONS[2])
    df = frame(spark, rows)
    decoded = df.select(from_avro("value", serde).alias("o"), "value")
    assert [r[0] for r in decoded.select("o.id").collect()] == [1, 2, None, 3, 4]
    assert decoded.select(to_avro("o", serde)).collect()[1][0] == rows[1]
    register(spark, {"order_of": serde, "order_bytes": (serde, "encode")})
    df.createOrReplaceTempView("orders")
    again = spark.sql("SELECT order_bytes(order_of(value)) FROM orders").collect()
    assert again[1][0] == rows[1]
    open_end = Serde("AVRO", address, topic="unheard-of")
    with pytest.raises(ConfigError, match="reader_schema"):
        from_avro("value", open_end)
