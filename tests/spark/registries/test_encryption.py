"""Encrypted fields in columns of Spark, whose workers fetch the keys themselves; and rules of other types."""

import base64
import json

import pyarrow as pa
import pytest
from encryption_box import Box
from fake_broker import FAST, PATIENT, FakeCluster
from pyspark.sql.functions import struct
from registry_server import serve

from kcodec import kafka as topics
from kcodec.registry import Rule, RuleSet, Schema
from kcodec.registry.keys.material import new_material
from kcodec.registry.keys.services import wrap
from kcodec.registry.keys.values import Dek, Kek
from kcodec.registry.memory import MemoryRegistry
from kcodec_spark import from_avro, register_kafka, to_avro

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


@pytest.mark.thorough
def test_a_topic(connect, box):
    """Written and read by Connect with two versions of the key; and no longer read once that is taken back."""
    box.register("customers-value", SCHEMA, encrypt_dek_expiry_days="9")
    kek = box.registry.keys.kek("pii")
    register_kafka(connect)
    with FakeCluster({"customers": 1}) as cluster:
        given = {f"kafka.{name}": value for name, value in PATIENT.items()}
        given |= {"kafka.bootstrap.servers": cluster.address, "schemaRegistryAddress": box.url}
        given |= {"value.format": "avro"}

        def write(rows):
            frame = connect.createDataFrame(pa.Table.from_pylist(rows)).coalesce(1)
            values = frame.selectExpr("struct(id, email) AS value").write.format("kcodec_kafka")
            values.options(**given, topic="customers").mode("append").save()

        def read(**options):
            source = connect.read.format("kcodec_kafka").options(**given, subscribe="customers", **options)
            return [row.value for row in source.load().collect()]

        write(ROWS[:10])
        encrypted = wrap(kek, new_material("AES256_GCM"), {"secret": "of the server"})
        text = base64.b64encode(encrypted).decode()
        box.registry.keys.register_dek(Dek("pii", "customers-value", 2, encrypted_key_material=text))
        write(ROWS[10:])
        values = (
            topics.read("customers", servers=cluster.address, config=FAST).read_all()["value"].to_pylist()
        )
        # Behind frame, id and length stands the text.
        versions = [base64.b64decode(value[8:])[:5] for value in values]
        assert versions == [b"\0\0\0\0\1"] * 10 + [b"\0\0\0\0\2"] * 10
        assert [row.asDict() for row in read()] == ROWS

        # Now the workers would have to ask the service themselves, whose secret they do not have.
        box.registry.keys.update_kek("pii", {"shared": False})
        permissive = read(mode="PERMISSIVE", columnNameOfCorruptRecord="_error")
        assert {(row._error.code, row._error.path) for row in permissive} == {("encryption", "email")}
        assert all("local-kms does not decrypt by the key pii" in row._error.reason for row in permissive)
        assert not any("of the server" in row._error.reason for row in permissive)


def test_rules_that_run_row_by_row(spark, box):
    rules = (
        Rule("positive", type="CEL", kind="CONDITION", mode="READ", expr="message.id > 0"),
        Rule("shout", type="CEL_FIELD", mode="READ", tags=("PII",), expr="value + '!'"),
    )
    box.registry.register("ruled-value", Schema(json.dumps(SCHEMA), rules=RuleSet(domain=rules)))
    place = {"subject": "ruled-value", "schemaRegistryAddress": box.url}
    rows = spark.createDataFrame(pa.Table.from_pylist(ROWS[:3]))
    written = rows.select(to_avro(struct("id", "email"), **place).alias("value"))
    permissive = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
    read = written.select(from_avro("value", options=permissive, **place).alias("row")).select("row.*")
    bad, *good = sorted(read.collect(), key=lambda row: row.id or 0)
    assert [row.email for row in good] == ["user1@example.com!", "user2@example.com!"]
    assert (bad._error.code, bad._error.reason) == (
        "rule",
        "the rule positive: Rule expr failed: message.id > 0",
    )
