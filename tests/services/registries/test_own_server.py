"""kcodec's registry server, with the clients of others: confluent-kafka's, its serializers, curl."""

import html
import json
import re
import shutil
import subprocess
import sys
import urllib.request
import uuid
from pathlib import Path

import processes
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import (
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    ServerConfig,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from topics import order, order_schema

ROOT = Path(__file__).parents[3]

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
CART = '{"type":"record","name":"Cart","namespace":"shop","fields":[{"name":"first","type":"Order"}]}'


@pytest.fixture
def client(own_server):
    with SchemaRegistryClient({"url": own_server.address, "timeout": 30}) as made:
        yield made


@pytest.fixture
def subject():
    return f"orders-{uuid.uuid4().hex[:8]}-value"


class TestConfluentClient:
    """Every method of confluent-kafka's client that concerns schemas."""

    def test_schemas_and_versions(self, client, subject):
        schema = Schema(ORDER)
        number = client.register_schema(subject, schema)
        assert client.get_schema(number).schema_str == ORDER
        found = client.lookup_schema(subject, schema)
        assert (found.subject, found.version, found.schema_id) == (subject, 1, number)
        assert client.get_schema_by_guid(found.guid).schema_str == ORDER
        assert client.get_latest_version(subject).version == 1
        assert client.get_version(subject, 1).schema_id == number
        assert client.get_version(subject, "latest").schema_id == number
        assert client.get_versions(subject) == [1]
        assert subject in client.get_subjects()
        assert [(each.subject, each.version) for each in client.get_schema_versions(number)] == [(subject, 1)]
        assert client.get_subjects_by_schema_id(number) == [subject]
        assert set(client.get_schema_types()) >= {"AVRO", "JSON", "PROTOBUF"}
        assert "." in client.get_contexts()

    def test_references(self, client, subject):
        client.register_schema(f"{subject}-order", Schema(ORDER))
        reference = SchemaReference("shop.Order", f"{subject}-order", 1)
        number = client.register_schema(subject, Schema(CART, references=[reference]))
        assert client.get_schema(number).references[0].subject == f"{subject}-order"
        assert client.get_referenced_by(f"{subject}-order", 1) == [number]

    def test_metadata(self, client, subject):
        tagged = Schema(ORDER, metadata=Metadata(None, MetadataProperties({"owner": "shop"}), None))
        client.register_schema(subject, tagged)
        assert client.get_latest_with_metadata(subject, {"owner": "shop"}).version == 1

    def test_compatibility_and_settings(self, client, subject):
        client.register_schema(subject, Schema('"int"'))
        assert client.test_compatibility(subject, Schema('"long"'))
        assert not client.test_compatibility(subject, Schema('"string"'))
        assert not client.test_compatibility_all_versions(subject, Schema('"string"'))
        assert client.set_compatibility(subject, "FULL") == {"compatibility": "FULL"}
        assert client.get_compatibility(subject) == "FULL"
        client.set_config(subject, ServerConfig(ConfigCompatibilityLevel.NONE, compatibility_group="major"))
        assert client.get_config(subject).compatibility_group == "major"
        client.delete_config(subject)
        with pytest.raises(SchemaRegistryError) as info:
            client.get_config(subject)
        assert (info.value.http_status_code, info.value.error_code) == (404, 40408)
        client.update_mode(subject, "READONLY")
        assert client.get_mode(subject) == "READONLY"
        with pytest.raises(SchemaRegistryError) as info:
            client.register_schema(subject, Schema('"long"'))
        assert (info.value.http_status_code, info.value.error_code) == (422, 42205)
        client.delete_mode(subject)
        assert client.get_global_mode() == "READWRITE"

    def test_deletion(self, client, subject):
        client.register_schema(subject, Schema('"int"'))
        client.register_schema(subject, Schema('"long"'))
        assert client.delete_version(subject, 1) == 1
        assert client.delete_subject(subject) == [2]
        assert client.delete_subject(subject, permanent=True) == [1, 2]
        with pytest.raises(SchemaRegistryError) as info:
            client.get_latest_version(subject)
        assert (info.value.http_status_code, info.value.error_code) == (404, 40401)

    def test_serializers(self, client, subject):
        """With the default strategy of subjects, which asks for associations."""
        context = SerializationContext(subject.removesuffix("-value"), MessageField.VALUE)
        serialize = AvroSerializer(client, order_schema())
        data = serialize(order(7), context)
        assert AvroDeserializer(client)(data, context) == order(7)
        title = {"title": "Event", "type": "object", "properties": {"id": {"type": "integer"}}}
        context = SerializationContext(f"json-{subject}", MessageField.VALUE)
        data = JSONSerializer(json.dumps(title), client)({"id": 7}, context)
        assert JSONDeserializer(None, schema_registry_client=client)(data, context) == {"id": 7}


#: What a user types: a producer with confluent-kafka, a consumer with kcodec.
PRODUCER = """
import sys
from confluent_kafka import SerializingProducer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer

broker, registry, topic = sys.argv[1:]
schema = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
serializer = AvroSerializer(SchemaRegistryClient({"url": registry, "timeout": 10}), schema)
producer = SerializingProducer({"bootstrap.servers": broker, "value.serializer": serializer})
for number in range(100):
    producer.produce(topic, value={"id": number})
assert producer.flush(30) == 0
"""
CONSUMER = """
import sys
import kcodec
from kcodec import kafka

broker, registry, topic = sys.argv[1:]
serde = kcodec.Serde("AVRO", registry, topic=topic)
table = kafka.read(topic, servers=broker, value=serde, columns=["value.id"]).read_all()
print(sum(table["id"].to_pylist()))
"""


def test_two_commands(kafka, own_server, topic):
    """``kcodec registry serve`` is all that a producer and a consumer need beside a broker."""

    def run(script):
        command = [sys.executable, "-c", script, kafka.address, own_server.address, topic]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(PRODUCER)
    assert run(CONSUMER).strip() == str(sum(range(100)))


def test_topics_of_a_broker_on_pages(kafka, topic, tmp_path):
    """Two workers show what confluent-kafka has written, and how far its consumer has come."""
    (tmp_path / "client.properties").write_text("client.id=pages\n")
    options = f"--broker={kafka.address}", f"--broker-config={tmp_path}/client.properties"
    server, address = processes.own_registry(tmp_path, *options)
    server.start()
    try:
        command = [sys.executable, "-c", PRODUCER, kafka.address, address, topic]
        subprocess.run(command, cwd=ROOT, timeout=120, check=True)
        consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": f"{topic}-totals"})
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, each), 30)[1] for each in range(2)]
        consumer.commit(
            offsets=[TopicPartition(topic, 0, ends[0]), TopicPartition(topic, 1, 0)], asynchronous=False
        )
        consumer.close()
        page = shown(f"{address}/ui/topic?name={topic}")
        assert "2 partitions, 100 records" in page
        assert re.search(r'\{"id":\d+\} schema id 1 ', page)
        assert f"{topic}-totals 0 {ends[0]} 0 {topic}-totals 1 0 {ends[1]}" in page
        listed = shown(f"{address}/ui/topics?q={topic}")
        assert re.search(rf"{topic} 2 100 [\d,]+ ", listed)
    finally:
        server.stop()


def shown(address):
    """Return the text of a page."""
    with urllib.request.urlopen(address, timeout=60) as answer:
        text = re.sub(r"<[^>]*>", " ", answer.read().decode())
    return re.sub(r"\s+", " ", html.unescape(text))


CURL = """
set -e
post() { curl -sS -X POST -H 'Content-Type: application/vnd.schemaregistry.v1+json' "$@"; echo; }
post --data '{"schema": "\\"int\\""}' $URL/subjects/$SUBJECT/versions
post --data '{"schema": "\\"string\\""}' $URL/compatibility/subjects/$SUBJECT/versions/latest
curl -sS $URL/subjects/$SUBJECT/versions/latest/schema; echo
curl -sS -X PUT -H 'Content-Type: application/json' --data '{"compatibility": "NONE"}' $URL/config/$SUBJECT; echo
curl -sS $URL/config/$SUBJECT; echo
curl -sS -X DELETE $URL/subjects/$SUBJECT; echo
curl -sS -X DELETE "$URL/subjects/$SUBJECT?permanent=true"; echo
curl -sS $URL/subjects/$SUBJECT/versions; echo
"""


def test_curl(own_server, subject):
    if shutil.which("curl") is None:
        pytest.skip("no curl on the PATH")
    environment = {"URL": own_server.address, "SUBJECT": subject, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", CURL], env=environment, capture_output=True, text=True, check=True)
    first, *others = map(json.loads, done.stdout.splitlines())
    assert first["version"] == 1
    assert others == [
        {"is_compatible": False},
        "int",
        {"compatibility": "NONE"},
        {"compatibilityLevel": "NONE"},
        [1],
        [1],
        {"error_code": 40401, "message": f"Subject '{subject}' not found."},
    ]
