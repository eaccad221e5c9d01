"""Encrypted fields as the columns of statements."""

import encryption_box
import pytest

from kcodec import KsqlCodec
from kcodec.registry import open as open_registry

AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "Email", "type": ["null", "string"], "default": None, "confluent:tags": ["PII"]},
        {"name": "id", "type": "long"},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "note", "type": "string", "confluent:tags": ["PII"]}],
                },
            },
        },
    ],
}
JSON = {
    "type": "object",
    "title": "Order",
    "properties": {
        "id": {"type": "integer"},
        "Email": {"type": "string", "confluent:tags": ["PII"]},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "title": "Line",
                "properties": {"note": {"type": "string", "confluent:tags": ["PII"]}},
            },
        },
    },
}
PROTOBUF = """syntax = "proto3";
import "confluent/meta.proto";
message Order {
  string Email = 2 [(confluent.field_meta).tags = "PII"];
  int64 id = 1;
  repeated Line lines = 3;
  message Line { string note = 1 [(confluent.field_meta).tags = "PII"]; }
}
"""
ROW = {"id": 1, "Email": "ada@example.com", "lines": [{"note": "a"}, {"note": "b"}]}
COLUMNS = "ID BIGINT, EMAIL STRING, LINES ARRAY<STRUCT<NOTE STRING>>"
#: In an order that JSON Schema has too, whose properties are sorted.
EXACT = "`Email` STRING, `id` BIGINT, `lines` ARRAY<STRUCT<`note` STRING>>"
READ = {"ID": 1, "EMAIL": "ada@example.com", "LINES": [{"NOTE": "a"}, {"NOTE": "b"}]}


@pytest.fixture(scope="module")
def box():
    with encryption_box.box() as made:
        yield made


@pytest.fixture(
    params=[("AVRO", "AVRO", AVRO), ("JSON_SR", "JSON", JSON), ("PROTOBUF", "PROTOBUF", PROTOBUF)]
)
def written(request, box, impl):
    """A format, its topic, a value of it, and the id of its schema."""
    name, kind, text = request.param
    topic = f"{name}-{impl}"
    found = box.register(f"{topic}-value", text, kind)
    return name, topic, box.serde(name, topic).serialize([ROW]), found.id


def codec(box, name, topic, columns=COLUMNS, secret=encryption_box.SECRET, **more):
    settings = {"rule.executors._default_.param.secret": secret, **more.pop("config", {})}
    return KsqlCodec(name, columns, registry=open_registry(box.url), topic=topic, config=settings, **more)


def test_read(box, written):
    """Whatever case names of columns have; columns that are not there are not looked for."""
    name, topic, values, _ = written
    assert codec(box, name, topic).decode(values).to_pylist() == [READ]
    assert codec(box, name, topic, "EMAIL STRING").decode(values).to_pylist() == [{"EMAIL": READ["EMAIL"]}]
    assert codec(box, name, topic, "ID BIGINT").decode(values).to_pylist() == [{"ID": 1}]


def test_without_the_key(box, written):
    name, topic, values, _ = written
    rows, report = codec(box, name, topic, secret="another").decode(values, errors="report")
    assert rows.to_pylist() == [None]
    assert (report["code"].to_pylist(), report["path"].to_pylist()) == (["encryption"], ["EMAIL"])


def test_written_by_the_id_of_a_schema(box, written):
    name, topic, _, schema_id = written
    own = codec(box, name, topic, EXACT, properties={"VALUE_SCHEMA_ID": schema_id})
    values = own.encode([ROW])
    assert b"example" not in values[0].as_py()
    assert box.serde(name, topic).deserialize(values).to_pylist() == [ROW]
