"""AWS's serializers in Java, at moto's Glue."""

import base64
import json
import uuid

import pyarrow as pa
import pytest
from artifacts import JAVA, SPARK_JAVA, had, jars, program, run
from glue import CREDENTIALS, REGION, glue_server

from kcodec import ProtobufCodec, Serde
from kcodec import registry as registries

AVRO = (
    '{"type":"record","name":"Order","namespace":"shop","fields":'
    '[{"name":"id","type":"long"},{"name":"by","type":"string"}]}'
)
JSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "by": {"type": "string"}},
        "required": ["id", "by"],
        "additionalProperties": False,
    }
)
PROTOBUF = """syntax = "proto3";
package shop;
message Zero { message Deep { string name = 1; } map<string, int64> counts = 1; }
message Order { int64 id = 1; string by = 2; }
message Alpha { int64 id = 1; }
"""
SCHEMAS = {"AVRO": AVRO, "JSON": JSON, "PROTOBUF": PROTOBUF}
KIND = pa.struct([pa.field("id", pa.int64(), False), pa.field("by", pa.string(), False)])
ROWS = [{"id": row * 10**9, "by": f"zoë {row}" * row} for row in range(20)]
#: As AWS's serializers name schemas.
CONFIG = {"subject.name.strategy": "AWSSchemaNamingStrategyDefaultImpl"}


@pytest.fixture(scope="module")
def glue():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        with glue_server() as server:
            yield server


@pytest.fixture
def registry(glue):
    with glue.registry() as url:
        yield registries.open(url, glue.config)


def java(glue, registry, command, kind, topic, lines, **settings):
    source = JAVA / "glue" / "GlueValues.java"
    started = had(lambda: program(source, jars("glue"), SPARK_JAVA))
    settings |= {
        "endpoint": glue.endpoint,
        "region": REGION,
        "registry.name": registry.url.rpartition("/")[2],
    }
    schema = SCHEMAS[kind]
    if kind == "PROTOBUF":
        files = ProtobufCodec(PROTOBUF, "shop.Order").descriptor_set
        schema = f"{base64.b64encode(files).decode()} Order"
    named = [f"{name}={value}" for name, value in settings.items()]
    return run([*started, command, kind, topic, schema, *named], lines)


def made(kind, registry, topic, frame, **options):
    if kind == "PROTOBUF":
        options["message"] = "shop.Order"
    name = "JSON_SR" if kind == "JSON" else kind
    return Serde(name, registry, topic=topic, frame=frame, config=CONFIG, **options)


def lines_of(kind):
    """Return the rows as Java takes and gives them."""
    if kind != "PROTOBUF":
        return [json.dumps(row) for row in ROWS]
    codec = ProtobufCodec(PROTOBUF, "shop.Order")
    values = codec.encode(pa.array(ROWS, codec.arrow_type)).to_pylist()
    return [base64.b64encode(each).decode() for each in values]


@pytest.mark.parametrize(
    ("kind", "compression"),
    [(kind, compression) for kind in SCHEMAS for compression in ("NONE", "ZLIB")],
)
def test_both_ways(glue, registry, kind, compression):
    topic = f"orders{uuid.uuid4().hex}"
    printed = java(glue, registry, "write", kind, topic, lines_of(kind), compression=compression)
    values = [base64.b64decode(line) for line in printed]
    assert {value[:2] for value in values} == {b"\x03\x05" if compression == "ZLIB" else b"\x03\x00"}
    found = made(kind, registry, topic, "GLUE").deserialize(values)
    assert found.to_pylist() == ROWS

    frame = "GLUE_ZLIB" if compression == "ZLIB" else "GLUE"
    serde = made(kind, registry, f"{topic}ours", frame, schema=SCHEMAS[kind])
    ours = serde.serialize(pa.array(ROWS, KIND)).to_pylist()
    read = java(
        glue, registry, "read", kind, f"{topic}ours", [base64.b64encode(each).decode() for each in ours]
    )
    if kind == "PROTOBUF":
        assert read == lines_of(kind)
    else:
        assert list(map(json.loads, read)) == ROWS
