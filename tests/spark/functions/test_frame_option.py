"""The option ``frame`` of functions and of the data source of topics."""

import uuid
import zlib

import pytest
from fake_broker import PATIENT, FakeCluster

from kcodec import ConfigError, Serde, registry
from kcodec.frames import Frame
from kcodec.registry import Schema
from kcodec_spark import from_avro, from_protobuf, read_topic, register_kafka, to_avro, to_protobuf

AVRO = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
PROTOBUF = 'syntax = "proto3"; message Other { } message Order { int64 id = 1; }'
SINGLE_OBJECT = Serde("AVRO", schema=AVRO, frame="SINGLE_OBJECT").serialize_one({"id": 1})
OWN = Frame(b"\xca\xfe", 8, name="OWN")
#: Frames of a user's own, and what stands before the payload; ``{guid}`` is the schema's.
OTHERS = {
    Frame(b"K"): "4b 00000001",
    Frame(b"K", compression="zlib"): "4b 05 00000001",
    Frame(b"K", 8, compression="zlib"): "4b 05 0000000000000001",
    Frame(b"", 16, "bytes"): "{guid}",
    Frame(b"\xca\xfe", 16, "bytes", "zlib"): "cafe 05 {guid}",
}


@pytest.fixture
def address(tmp_path):
    url = f"sqlite:///{tmp_path / 'schemas.db'}"
    handle = registry.open(url)
    handle.register("orders-value", Schema(AVRO))
    handle.register("messages-value", Schema(PROTOBUF, "PROTOBUF"))
    return url


@pytest.mark.parametrize(
    ("frame", "head"),
    [
        ("APICURIO", "00 0000000000000001"),
        ("single_object", SINGLE_OBJECT[:10].hex()),
        (OWN, "cafe 0000000000000001"),
    ],
)
def test_written_and_read(spark, address, frame, head):
    place = {"subject": "orders-value", "schemaRegistryAddress": address}
    rows = spark.range(3).select(to_avro(["id"], options={"frame": frame}, **place).alias("value"))
    found = sorted(row.value for row in rows.collect())
    assert {bytes(each[:-1]).hex() for each in found} == {head.replace(" ", "")}
    values = [found[1], b"\x03", b"\xc3\x01" + bytes(8)]
    bad = spark.createDataFrame([(bytearray(each),) for each in values], "value binary")
    permissive = {"frame": frame, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    read = bad.select(from_avro("value", options=permissive, **place).alias("order"))
    is_text = frame == "single_object"
    assert read.schema["order"].dataType["_error"].dataType["schema_id"].dataType.simpleString() == (
        "string" if is_text else "bigint"
    )
    good, *others = [row.order for row in read.collect()]
    assert (good.id, good._error) == (1, None)
    assert [each._error.code for each in others] == [
        "frame_magic",
        "unknown_schema_id" if is_text else "frame_magic",
    ]
    assert others[1]._error.schema_id == ("0000000000000000" if is_text else None)


def test_frames_of_the_users_own(spark, address):
    place = {"subject": "orders-value", "schemaRegistryAddress": address}
    guid = uuid.UUID(registry.open(address).get_version("orders-value").guid).hex
    rows = spark.range(1, 3).coalesce(1)
    made = rows.select(
        *(to_avro(["id"], options={"frame": each}, **place).alias(f"c{at}") for at, each in enumerate(OTHERS))
    )
    first = made.collect()[0]
    for value, (frame, head) in zip(first, OTHERS.items(), strict=True):
        assert bytes(value[: frame.size]).hex() == head.format(guid=guid).replace(" ", "")
        assert (zlib.decompress(value[frame.size :]) if frame.compression else value[frame.size :]) == b"\x02"
    # Options of Spark are texts where they come from a file.
    read = made.select(
        *(from_avro(f"c{at}", options={"frame": repr(each)}, **place) for at, each in enumerate(OTHERS))
    )
    assert [[each.id for each in row] for row in read.collect()] == [[1] * len(OTHERS), [2] * len(OTHERS)]


def test_bombs_cost_their_own_rows(spark, address):
    place = {"subject": "orders-value", "schemaRegistryAddress": address}
    guid = uuid.UUID(registry.open(address).get_version("orders-value").guid)
    head = b"\x03\x05" + guid.bytes
    values = [head + zlib.compress(bytes((1 << 26) + 100_000)), head + zlib.compress(b"\x02")]
    rows = spark.createDataFrame([(bytearray(each),) for each in values], "value binary")
    options = {"frame": "GLUE_ZLIB", "mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    read = rows.select(from_avro("value", options=options, **place).alias("order"))
    bad, good = (row.order for row in read.collect())
    assert (bad.id, bad._error.code, bad._error.schema_id) == (None, "size_limit", str(guid))
    assert (good.id, good._error) == (1, None)


def test_messages(spark, address):
    place = {"subject": "messages-value", "schemaRegistryAddress": address}
    options = {"frame": "APICURIO"}
    rows = spark.range(1, 3).select(to_protobuf(["id"], "Order", options=options, **place).alias("value"))
    assert bytes(rows.collect()[0].value).hex() == "000000000000000002" + "070a05" + b"Order".hex() + "0801"
    read = rows.select(from_protobuf("value", "Order", options=options, **place).alias("m"))
    assert [row.m.id for row in read.collect()] == [1, 2]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "frame",
    ["APICURIO_GLOBAL_ID", OWN, Frame(b"v1-", 16, "hex", header="own"), Frame(b"K", 16, "bytes", "zlib")],
    ids=str,
)
def test_a_topic(spark, address, frame):
    with FakeCluster({"orders": 1}) as cluster:
        place = {f"kafka.{name}": value for name, value in PATIENT.items()}
        place |= {"kafka.bootstrap.servers": cluster.address, "schemaRegistryAddress": address}
        place |= {"value.format": "avro", "value.frame": frame}
        register_kafka(spark)
        rows = spark.range(3).selectExpr("struct(id) AS value")
        rows.write.format("kcodec_kafka").options(**place, topic="orders").mode("append").save()
        read = read_topic(spark, {**place, "subscribe": "orders"})
        assert sorted(row.value.id for row in read.collect()) == [0, 1, 2]


def test_what_is_refused(address):
    place = {"subject": "orders-value", "schemaRegistryAddress": address}
    with pytest.raises(ConfigError, match="frame needs subject and schemaRegistryAddress"):
        from_avro("value", AVRO, {"frame": "GLUE"})
    with pytest.raises(ConfigError, match=r"AZURE stands in a header of the record.*kcodec_kafka"):
        from_avro("value", options={"frame": "AZURE"}, **place)
    with pytest.raises(ConfigError, match=r"goes to a header of the record.*kcodec_kafka"):
        to_avro("value", options={"frame": "APICURIO_GLOBAL_ID"}, **place)
    with pytest.raises(ConfigError, match="unknown frame 'GLU'"):
        from_avro("value", options={"frame": "GLU"}, **place)
    options = {"kafka.bootstrap.servers": "h:1", "subscribe": "t", "value.format": "avro"}
    options |= {"schemaRegistryAddress": "azure://host/group", "confluent.schema.registry.credential": "c"}
    with pytest.raises(ConfigError, match="credential is an object with get_token, not str"):
        read_topic(None, {**options, "value.frame": "AZURE"})
    options = {"kafka.bootstrap.servers": "h:1", "subscribe": "t", "value.schema": "id BIGINT"}
    options |= {"value.format": "json", "value.frame": "GLUE"}
    with pytest.raises(ConfigError, match=r"value\.frame: json has no schemas in a registry"):
        read_topic(None, options)
