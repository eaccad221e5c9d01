"""Apicurio's serializers in Java, by their own API, with kcodec's registry server."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from artifacts import SPARK_JAVA, had, jars, program, run
from topics import Message

from kcodec import Serde, registry
from kcodec.registry import Reference, Schema

HERE = Path(__file__).parent

MONEY = '{"type":"record","name":"Money","namespace":"shop","fields":[{"name":"units","type":"long"}]}'
NAME = '{"name":"by","type":["null","string"],"default":null}'
FIELDS = f'[{{"name":"id","type":"long"}},{NAME},{{"name":"total","type":%s}}]'
#: With the type of the total written out, and with its name.
ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":%s}' % (FIELDS % MONEY)
REFERRING = '{"type":"record","name":"Order","namespace":"shop","fields":%s}' % (FIELDS % '"Money"')
JSON_ORDER = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "by": {"type": ["null", "string"]}},
        "required": ["id"],
    }
)
LATEST = {"auto.register.schemas": False, "use.latest.version": True}
ROWS = [
    {"id": row, "by": None if row % 3 else f"zoë {row}", "total": {"units": row * row}} for row in range(30)
]
DOCUMENTS = [{"id": row["id"], "by": row["by"]} for row in ROWS]
AVRO_LINES = [json.dumps({**row, "by": row["by"] and {"string": row["by"]}}) for row in ROWS]


@pytest.fixture
def run_java(kafka, own_server, topic):
    """Return what writes or reads the topic, with further settings of the serializers."""

    def run_topic(command, kind, lines=(), **settings):
        source = HERE / "apicurio" / "ApicurioTopic.java"
        names = {"bootstrap.servers": kafka.address, "apicurio.registry.url": own_server.address}
        names |= {f"apicurio.registry.{name.replace('_', '-')}": value for name, value in settings.items()}
        java = had(lambda: program(source, jars("apicurio"), SPARK_JAVA, HERE / "Topic.java"))
        named = [f"{name}={value}" for name, value in names.items()]
        printed = run([*java, command, kind, topic, ORDER, *named], lines)
        return [json.loads(line) for line in printed if line.startswith("{")]

    return run_topic


@pytest.fixture
def handle(own_server):
    opened = registry.open(own_server.address)
    yield opened
    opened.close()


def register(handle, topic):
    """Register the schema of orders with a reference; returns it."""
    handle.register(f"{topic}-money", Schema(MONEY))
    reference = Reference("shop.Money", f"{topic}-money", 1)
    return handle.register(f"{topic}-value", Schema(REFERRING, references=(reference,)))


@pytest.mark.parametrize(
    "settings",
    [{"auto_register": "true"}, {"find_latest": "true"}, {}, {"find_latest": "true", "use_id": "globalId"}],
    ids=["registers", "takes the latest", "looks for its own", "by global id"],
)
def test_java_writes_avro(kafka, handle, own_server, topic, run_java, settings):
    # It sends the types within a type as references.
    known = None if "auto_register" in settings else register(handle, topic)
    run_java("write", "AVRO", AVRO_LINES, **settings)
    values = [message.value for message in kafka.consume(topic, len(ROWS))]
    assert Serde("AVRO", own_server.address, topic=topic).deserialize(values).to_pylist() == ROWS
    (version,) = handle.versions(f"{topic}-value")
    assert known in (None, handle.get_version(f"{topic}-value", version))


def test_java_writes_to_a_group(handle, topic, run_java):
    """As Apicurio's own API of Confluent's shows it."""
    run_java("write", "AVRO", AVRO_LINES[:1], auto_register="true", **{"artifact.group_id": "shop"})
    assert handle.versions(f"shop:{topic}-value") == [1]


@pytest.mark.parametrize("use_id", ["contentId", "globalId"])
def test_java_reads_avro(kafka, handle, own_server, topic, run_java, use_id):
    """With a reference, which it asks for."""
    registered = register(handle, topic)
    serde = Serde("AVRO", own_server.address, topic=topic, config=LATEST)
    values = serde.serialize(pa.array(ROWS)).to_pylist()
    assert int.from_bytes(values[0][1:5], "big") == registered.id
    kafka.produce(topic, [Message(b"%06d" % row, value) for row, value in enumerate(values)])
    assert run_java("read", "AVRO", use_id=use_id) == ROWS


def test_json(kafka, handle, own_server, topic, run_java):
    handle.register(f"{topic}-value", Schema(JSON_ORDER, "JSON"))
    run_java("write", "JSON", map(json.dumps, DOCUMENTS), find_latest="true")
    values = [message.value for message in kafka.consume(topic, len(ROWS))]
    serde = Serde("JSON_SR", own_server.address, topic=topic)
    assert serde.deserialize(values).to_pylist() == DOCUMENTS
    assert run_java("read", "JSON") == DOCUMENTS


def test_json_of_kcodec(kafka, own_server, topic, run_java):
    serde = Serde("JSON_SR", own_server.address, topic=topic, schema=JSON_ORDER)
    values = serde.serialize(pa.array(DOCUMENTS)).to_pylist()
    kafka.produce(topic, [Message(b"%06d" % row, value) for row, value in enumerate(values)])
    assert run_java("read", "JSON") == DOCUMENTS
