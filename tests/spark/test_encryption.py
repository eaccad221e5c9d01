"""Encrypted fields in columns of Spark: workers fetch the keys themselves."""

import pyarrow as pa
import pytest
from encryption_box import Box
from pyspark.sql.functions import struct
from registry_server import serve

from kcodec.registry.keys.values import Kek
from kcodec.registry.memory import MemoryRegistry
from kcodec_spark import from_avro, to_avro

SCHEMA = {
    "type": "record",
    "name": "Customer",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "email", "type": "string", "confluent:tags": ["PII"]},
    ],
}
ROWS = [{"id": number, "email": f"user{number}@example.com"} for number in range(20)]


@pytest.fixture
def box(monkeypatch):
    # Of the server in this process: the workers have no such variable.
    monkeypatch.setenv("LOCAL_SECRET", "of the server")
    registry = MemoryRegistry()
    with serve(registry) as served:
        registry.keys.register_kek(Kek("pii", "local-kms", "mykey", shared=True))
        yield Box(registry, served)


def test_both_ways(spark, box):
    box.register("customers-value", SCHEMA)
    place = {"subject": "customers-value", "schemaRegistryAddress": box.url}
    table = spark.createDataFrame(pa.Table.from_pylist(ROWS)).repartition(3)
    written = table.select(to_avro(struct("id", "email"), **place).alias("value")).cache()
    values = [bytes(row.value) for row in written.collect()]
    assert not any(b"example" in value for value in values)
    read = written.select(from_avro("value", **place).alias("row")).select("row.*")
    assert sorted(row.asDict()["email"] for row in read.collect()) == sorted(row["email"] for row in ROWS)
    ours = box.serde("AVRO", "customers", {"rule.executors._default_.param.secret": "none"})
    assert sorted(ours.deserialize(values).to_pylist(), key=lambda row: row["id"]) == ROWS

    options = {"confluent.schema.registry.rule.executors._default_.disabled": "true"}
    closed = written.select(from_avro("value", options=options, **place).alias("row")).select("row.*")
    assert not any("example" in row.email for row in closed.collect())
