"""Confluent's own client in Java, and Flink's serializers over it, with kcodec's registry server."""

import json
import uuid

import pyarrow as pa
from artifacts import JAVA, SPARK_JAVA, had, jars, program, run
from topics import Message

from kcodec import Serde

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "by", "type": ["null", "string"], "default": None},
            {"name": "lines", "type": {"type": "array", "items": "double"}},
        ],
    }
)
#: A version before it, which its readers understand.
EARLIER = json.dumps(
    {**json.loads(SCHEMA), "fields": [json.loads(SCHEMA)["fields"][each] for each in (0, 2)]}
)
ROWS = [
    {"id": row, "by": None if row % 3 else f"zoë {row}", "lines": [row / 4] * (row % 4)} for row in range(50)
]


def run_java(command, *arguments, lines=()):
    source = JAVA / "confluent" / "ConfluentTopic.java"
    java, *rest = had(lambda: program(source, jars("confluent"), SPARK_JAVA, JAVA / "Topic.java"))
    return run([java, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", *rest, command, *arguments], lines)


def test_client(own_server):
    """Registers, finds, checks, sets and deletes; a status and a code are what it refuses."""
    subject = f"carts/{uuid.uuid4().hex[:8]}"
    item = '{"type":"record","name":"Item","fields":[{"name":"n","type":"int"}]}'
    found = dict(line.split(": ", 1) for line in run_java("ask", own_server.address, subject))
    assert found == {
        "ids in order": "true",
        "schema": item,
        "references": "1",
        "resolved": item,
        "id": "true",
        "version": "1",
        "versions": "[1]",
        "latest": "1",
        "subjects": f"[{subject}, {subject}-base]",
        "subjects of id": f"[{subject}]",
        "versions of id": "1",
        "all schemas": "2",
        "of a subject": "true",
        "normalized": "true",
        "given an id": "422 42205",
        "all modes": "READWRITE",
        "all levels": "BACKWARD",
        "compatible": "false",
        "why not": "true",
        "incompatible": "409 40901",
        "no config": "404 40408",
        "set config": "NONE",
        "config": "NONE",
        "tagged": "true",
        "with metadata": "2",
        "mode": "READONLY READONLY",
        "read only": "422 42205",
        "referred to": "422 42206",
        "a version deleted": "2",
        "deleted ones too": "[1, 2]",
        "deleted": "[1]",
        "deleted for good": "[1]",
        "gone": "404 40401",
        "no schema": "404 40403",
    }


def test_java_writes(kafka, own_server, topic):
    lines = [json.dumps({**row, "by": row["by"] and {"string": row["by"]}}) for row in ROWS]
    run_java("write", own_server.address, kafka.address, topic, SCHEMA, lines=lines)
    values = [message.value for message in kafka.consume(topic, len(ROWS))]
    serde = Serde("AVRO", own_server.address, topic=topic)
    assert serde.deserialize(values).to_pylist() == ROWS


def test_java_reads(kafka, own_server, topic):
    """What two versions of a schema wrote."""
    earlier = [{"id": row["id"], "lines": row["lines"]} for row in ROWS[:20]]
    values = []
    for schema, rows in ((EARLIER, earlier), (SCHEMA, ROWS[20:])):
        serde = Serde("AVRO", own_server.address, topic=topic, schema=schema)
        values += serde.serialize(pa.array(rows)).to_pylist()
    kafka.produce(topic, [Message(b"%06d" % row, value) for row, value in enumerate(values)])
    found = [json.loads(line) for line in run_java("read", own_server.address, kafka.address, topic, SCHEMA)]
    assert found == [{**row, "by": None} for row in earlier] + ROWS[20:]
