"""Topics of Azure's schemas in Spark, against answers as Azure's registry gave them."""

import pyarrow as pa
import pytest
from azure.schemaregistry.encoder.avroencoder import AvroEncoder
from fake_broker import PATIENT, FakeCluster

from kcodec.protocol import write_batches
from kcodec_spark import read_topic, register_kafka

V1 = '{"type": "record", "name": "shop.R", "fields": [{"name": "id", "type": "long"}]}'
V2 = (
    '{"type": "record", "name": "shop.R", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "note", "type": "string", "default": "none"}]}'
)


@pytest.fixture
def azure(azure_place, monkeypatch):
    azure_place.known_by(monkeypatch)
    yield azure_place
    azure_place.schemas.clear()


def test_topics(azure, spark):
    """A topic is written by the data source, and read with the newest version of the schema."""
    encoder = AvroEncoder(client=azure.client(), group_name="shop", auto_register=True)
    old = encoder.encode({"id": 9}, schema=V1)
    azure.client().register_schema("shop", "shop.R", V2, "Avro")
    record = {"value": [old["content"]], "headers": [[("content-type", old["content_type"].encode())]]}
    kind = pa.schema([("value", pa.binary()), ("headers", pa.map_(pa.string(), pa.binary()))])
    register_kafka(spark)
    with FakeCluster({"t": 1}) as cluster:
        cluster.append(("t", 0), write_batches(pa.table(record, kind)))
        options = {f"kafka.{name}": str(value) for name, value in PATIENT.items()}
        options |= {
            "kafka.bootstrap.servers": cluster.address,
            "schemaRegistryAddress": azure.url,
            "confluent.schema.registry.timeout": "60",
            "confluent.schema.registry.max.retries": "1",
            "value.subject": "shop.R",
            "value.format": "avro",
            "value.frame": "AZURE",
        }
        rows = spark.range(3).selectExpr("struct(id, 'new' AS note) AS value").coalesce(1)
        rows.write.format("kcodec_kafka").options(**options, topic="t").mode("append").save()
        again = spark.read.format("kcodec_kafka").options(**options, subscribe="t").load()
        found = sorted((row.value.id, row.value.note) for row in again.collect())
        assert found == [(0, "new"), (1, "new"), (2, "new"), (9, "none")]
        whole = read_topic(spark, {**options, "subscribe": "t", "columns": "value.id"})
        assert sorted(row.id for row in whole.collect()) == [0, 1, 2, 9]
