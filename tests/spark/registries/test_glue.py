"""Columns and topics of Glue's schemas in Spark, against moto's server and the Python package of Glue's serializer."""

import uuid

import pytest
from aws_schema_registry import SchemaRegistryClient
from aws_schema_registry.avro import AvroSchema
from aws_schema_registry.serde import KafkaDeserializer, KafkaSerializer
from doc_pages import DOCS, blocks, needs_spark
from fake_broker import PATIENT, FakeCluster
from glue import glue_server

from kcodec import registry as registries
from kcodec.registry import Schema
from kcodec_spark import (
    from_avro,
    from_json_schema,
    from_protobuf,
    read_topic,
    register_kafka,
    to_avro,
    to_json_schema,
    to_protobuf,
)

V1 = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
V2 = (
    '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "note", "type": "string", "default": "none"}]}'
)
V3 = V2.replace('"none"', '"nothing"').replace('"note"', '"remark"')
JSON = '{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}'
PROTOBUF = 'syntax = "proto3"; message Other { } message Order { int64 id = 1; }'


@pytest.fixture(scope="module")
def glue(jvm):
    with glue_server() as server:
        yield server


@pytest.fixture
def place(glue):
    """Return where a registry is, as functions of Spark take it, and the registry."""
    with glue.registry() as url:
        endpoint = {"confluent.schema.registry.endpoint.url": glue.endpoint}
        yield {"schemaRegistryAddress": url}, endpoint, registries.open(url, glue.config)


def peer(glue, registry):
    return SchemaRegistryClient(
        glue.client, registry_name=registry.url.rpartition("/")[2], wait_interval_seconds=0
    )


def binary(spark, values):
    return spark.createDataFrame([(bytearray(each),) for each in values], "value binary")


@pytest.mark.filterwarnings("ignore:The 'warn' method:DeprecationWarning")  # of the peer
def test_a_column(spark, glue, place):
    where, options, registry = place
    where = {**where, "subject": "orders-value"}
    serializer = KafkaSerializer(peer(glue, registry))
    old = serializer.serialize("orders", ({"id": 1}, AvroSchema(V1)))
    registry.register("orders-value", Schema(V2))
    rows = spark.range(5, 7).selectExpr("id", "'new' AS note")
    packed = {**options, "frame": "GLUE_ZLIB"}
    written = rows.select(to_avro(["id", "note"], options=packed, **where).alias("value"))
    values = [bytes(row.value) for row in written.collect()]
    assert {each[:2] for each in values} == {b"\x03\x05"}
    deserializer = KafkaDeserializer(peer(glue, registry))
    assert [deserializer.deserialize("orders", each).data["id"] for each in values] == [5, 6]
    options = {
        **options,
        "frame": "GLUE",
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": "_error",
    }
    column = from_avro("value", options=options, **where).alias("order")
    # Made before this version was there: the executors ask for it.
    registry.register("orders-value", Schema(V3))
    new = KafkaSerializer(peer(glue, registry)).serialize(
        "orders", ({"id": 9, "remark": "r"}, AvroSchema(V3))
    )
    unknown = b"\x03\x00" + bytes(16) + b"\x02"
    found = [
        row.order for row in binary(spark, [old, values[0], new, unknown, old[:18]]).select(column).collect()
    ]
    assert [(row.id, row.note) for row in found[:3]] == [(1, "none"), (5, "new"), (9, "none")]
    assert [row._error and (row._error.code, row._error.schema_id) for row in found] == [
        *[None] * 3,
        ("unknown_schema_id", str(uuid.UUID(int=0))),
        ("truncated", str(uuid.UUID(bytes=old[2:18]))),
    ]


def test_other_formats(classic, place):
    where, options, registry = place
    options = {**options, "frame": "GLUE"}
    registry.register("orders-value", Schema(JSON, "JSON"))
    registry.register("messages-value", Schema(PROTOBUF, "PROTOBUF"))
    rows = classic.range(1, 3)
    of_json, of_protobuf = ({**where, "subject": name} for name in ("orders-value", "messages-value"))
    made = rows.select(
        to_json_schema(["id"], options=options, **of_json).alias("json"),
        to_protobuf(["id"], "Order", options=options, **of_protobuf).alias("message"),
    )
    assert bytes(made.collect()[0].message)[18:] == bytes.fromhex("000801")
    read = made.select(
        from_json_schema("json", options=options, **of_json).alias("json"),
        from_protobuf("message", "Order", options=options, **of_protobuf).alias("message"),
    )
    assert [(row.json.id, row.message.id) for row in read.collect()] == [(1, 1), (2, 2)]


def test_a_topic(connect, place):
    where, options, registry = place
    with FakeCluster({"orders": 1}) as cluster:
        given = {f"kafka.{name}": value for name, value in PATIENT.items()}
        given |= {"kafka.bootstrap.servers": cluster.address, **where, **options}
        given |= {"value.format": "avro", "value.frame": "GLUE"}
        registry.register("orders-value", Schema(V1))
        register_kafka(connect)
        rows = connect.range(3).selectExpr("struct(id) AS value")
        rows.write.format("kcodec_kafka").options(**given, topic="orders").mode("append").save()
        frame = read_topic(connect, {**given, "subscribe": "orders"})
        assert sorted(row.value.id for row in frame.collect()) == [0, 1, 2]


def test_the_examples_of_the_page(spark, glue, place, monkeypatch):
    where, _, registry = place
    registry.register("orders-value", Schema(V2))
    monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", glue.endpoint)
    (block,) = filter(needs_spark, blocks(DOCS / "howto" / "msk_glue.md"))
    placed = block.replace("glue://eu-central-1/orders", where["schemaRegistryAddress"])
    exec(compile(placed, "msk_glue.md", "exec"), {"spark": spark})
