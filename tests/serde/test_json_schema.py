"""JSON Schema through a registry: many ids in one column, references, settings of Confluent's serializers."""

import json
import pickle

import pyarrow as pa
import pytest

import kcodec
from kcodec import ConfigError, DecodeError, EncodeError, Serde
from kcodec.formats.json_schema.types import JsonSchemaOptions
from kcodec.registry import Config, Reference, Schema
from kcodec.registry.memory import MemoryRegistry

FRAME = b"\0\0\0\0"
FIRST = {"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
SECOND = {**FIRST, "properties": {"id": {"type": "number", "maximum": 9}, "who": {"type": "string"}}}


@pytest.fixture
def registry():
    registry = MemoryRegistry()
    registry.set_config(Config("NONE"))
    for schema in (FIRST, SECOND):
        registry.register("t-value", Schema(json.dumps(schema), "JSON"))
    return registry


def test_many_ids_are_read_as_one(impl, registry):
    serde = Serde("JSON_SR", registry, topic="t")
    values = [
        FRAME + b'\2{"id":2.5,"who":"a"}',
        FRAME + b'\1{"id":1}',
        None,
        FRAME + b"\7{}",
        FRAME + b'\1{"id":true}',
    ]
    array, report = serde.deserialize(values, errors="report")
    assert array.to_pylist() == [{"id": 2.5, "who": "a"}, {"id": 1.0, "who": None}, None, None, None]
    assert report.select(["row", "offset", "path", "code", "schema_id"]).to_pylist() == [
        {"row": 3, "offset": 0, "path": "", "code": "unknown_schema_id", "schema_id": 7},
        {"row": 4, "offset": 11, "path": "id", "code": "json_type", "schema_id": 1},
    ]
    assert pickle.loads(pickle.dumps(serde)).deserialize(values[:3]).to_pylist() == array[:3].to_pylist()
    # In any one's columns.
    old = Serde("JSON_SR", registry, topic="t", reader_schema=1)
    found, report = old.deserialize(values[:2], errors="report")
    assert found.to_pylist() == [None, {"id": 1}]
    assert report["code"].to_pylist() == ["inexact"]
    typed = JsonSchemaOptions(arrow_type=pa.schema([("id", pa.decimal128(9, 1)), ("else", pa.int8())]))
    assert (
        Serde("JSON_SR", registry, topic="t", options=typed).deserialize(values[:1])[0]["id"].as_py() == 2.5
    )
    assert serde.select(["who"]).arrow_type == pa.struct([("who", pa.string())])


def test_documents_are_validated_by_their_own_schema(impl, registry):
    values = [
        FRAME + b'\1{"id":10}',
        FRAME + b'\2{"id":10}',
        FRAME + b'\1{"id":1.0}',
        FRAME + b'\2{"id":1.0}',
    ]
    validating = {"json.fail.invalid.schema": "true"}
    serde = Serde("JSON_SR", registry, topic="t", config=validating)
    array, report = serde.deserialize(values, errors="report")
    assert [row and row["id"] for row in array.to_pylist()] == [10.0, None, None, 1.0]
    assert report["offset"].to_pylist() == [5, 5]
    assert report["schema_id"].to_pylist() == [2, 1]
    assert report["reason"][0].as_py().startswith("maximum at /id: ")
    with pytest.raises(DecodeError, match="schema_violation: row 1, byte 5, id, schema id 2"):
        serde.deserialize(values)
    again = pickle.loads(pickle.dumps(serde))
    assert again.deserialize(values, errors="report")[1].num_rows == 2
    # Under use.latest.version by the latest.
    latest = Serde("JSON_SR", registry, topic="t", config={**validating, "use.latest.version": "true"})
    assert latest.deserialize(values, errors="report")[1]["row"].to_pylist() == [0, 1]


def test_a_bad_document_leaves_its_schema_registered(impl):
    registry = MemoryRegistry()
    config = {"json.fail.invalid.schema": True}
    serde = Serde("JSON_SR", registry, topic="t", schema=FIRST, config=config)
    with pytest.raises(EncodeError, match=r"schema_violation: row 0, id, .*type at /id"):
        serde.serialize(pa.array([{"id": "x"}]))
    assert registry.subjects() == ["t-value"]
    values, report = serde.serialize(pa.array([{"id": 1}, None, {"id": None}]), errors="report")
    assert values.to_pylist() == [FRAME + b'\1{"id":1}', None, None]
    assert report["code"].to_pylist() == ["null_value"]


def test_references(impl, registry):
    registry.register("line", Schema('{"properties":{"sku":{"type":"string"}},"required":["sku"]}', "JSON"))
    order = {"properties": {"lines": {"type": "array", "items": {"$ref": "line.json"}}}}
    schema = Schema(json.dumps(order), "JSON", [Reference("line.json", "line", 1)])
    config = {"json.fail.invalid.schema": True}
    serde = Serde("JSON_SR", registry, topic="r", schema=schema, config=config)
    values = serde.serialize([{"lines": [{"sku": "a"}]}])
    reader = Serde("JSON_SR", registry, topic="r", config=config)
    assert reader.deserialize(values).to_pylist() == [{"lines": [{"sku": "a"}]}]
    with pytest.raises(DecodeError, match=r"lines\[0\].*required at /lines/0"):
        reader.deserialize([values[0].as_py()[:5] + b'{"lines":[{}]}'])


class TestEnvelopes:
    """What looks like an envelope is one only where that is asked for."""

    config = (("json.envelope.detection", "true"),)

    def test_structs(self, impl, registry):
        # Left to itself, older pyarrow sorts the names.
        kind = pa.struct([("schema", pa.string()), ("payload", pa.struct([("y", pa.int64())]))])
        rows = pa.array([{"schema": "s", "payload": {"y": 3}}, None], kind)
        for config, written in ({}, b'{"schema":"s","payload":{"y":3}}'), (dict(self.config), b'{"y":3}'):
            serde = Serde("JSON_SR", registry, topic="e", schema={}, config=config)
            assert serde.serialize(rows).to_pylist() == [FRAME + b"\3" + written, None]
        serde = Serde("JSON_SR", registry, topic="e", schema={}, config=dict(self.config))
        assert serde.serialize(pa.array([{"schema": 1, "x": 2}])).to_pylist() == [None]

    def test_texts(self, impl, registry):
        texts = ['{"schema":1,"payload":[ 1e2]}', '{"schema":1}', '{"payload":1}', "[]", None]
        serde = Serde("JSON_SR", registry, topic="e", schema={}, config=dict(self.config))
        written = [row and row[5:] for row in serde.serialize(pa.array(texts)).to_pylist()]
        assert written == [b"[1E+2]", None, b'{"payload":1}', b"[]", None]


def test_several_lines(impl, registry):
    serde = Serde("JSON_SR", registry, topic="i", schema={}, config={"json.indent.output": "true"})
    values = serde.serialize(pa.array(['{"a":[1,{"b":{}}],"c":"x{,\\"y","d":[]}', None]))
    assert values[0].as_py()[5:].decode() == (
        '{\n  "a" : [ 1, {\n    "b" : { }\n  } ],\n  "c" : "x{,\\"y",\n  "d" : [ ]\n}'
    )
    assert serde.deserialize(values).to_pylist()[1] is None


KIND = pa.struct(
    [
        pa.field("id", pa.int64(), False),
        ("name", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("tags", pa.map_(pa.string(), pa.field("value", pa.int32(), False))),
        ("raw", pa.binary()),
        pa.field("any", pa.string(), metadata={"kcodec.json": "raw"}),
    ]
)


class TestDerivedSchemas:
    def derived(self, kind=KIND, **config):
        registry = MemoryRegistry()
        named = {name.replace("_", "."): value for name, value in config.items()}
        serde = Serde("JSON_SR", registry, topic="d", config=named)
        row = {"id": 1, "name": None, "tags": [("a", 1)], "raw": b"\0", "any": "[1]"}
        column = pa.array([{name: row.get(name) for name in (field.name for field in kind)}], kind)
        assert serde.deserialize(serde.serialize(column)).to_pylist() == column.to_pylist()
        return json.loads(registry.get_version("d-value").schema.text)

    def test_as_confluents_generator(self, impl):
        def nullable(schema):
            return {"oneOf": [{"type": "null", "title": "Not included"}, schema]}

        assert self.derived() == {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "id": {"type": "integer"},
                "name": nullable({"type": "string"}),
                "at": nullable({"type": "string", "format": "date-time"}),
                "tags": nullable({"type": "object", "additionalProperties": {"type": "integer"}}),
                "raw": nullable({"type": "string", "contentEncoding": "base64"}),
                "any": {},
            },
            "required": ["id"],
        }

    def test_settings(self, impl):
        kind = pa.struct([("id", pa.int64())])
        made = self.derived(
            kind,
            json_schema_spec_version="draft_2020_12",
            json_oneof_for_nullables=False,
            json_fail_unknown_properties="false",
        )
        assert made == {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"id": {"type": "integer"}},
        }
        for config in (
            {"json.schema.spec.version": "draft_5"},
            {"json.fail.invalid.schema": "maybe"},
            {"json.what": 1},
        ):
            with pytest.raises(ConfigError, match=next(iter(config))):
                Serde("JSON_SR", "memory://derived-settings", config=config)


def test_arguments(registry):
    with pytest.raises(ConfigError, match="'JSON' is a schema type"):
        Serde("JSON", registry)
    own = r"options= are kcodec\.JsonSchemaOptions, not "
    with pytest.raises(ConfigError, match=own + "dict"):
        Serde("JSON_SR", registry, options={"formats": "read"})
    with pytest.raises(ConfigError, match=own + "AvroOptions"):
        Serde("JSON_SR", registry, options=kcodec.AvroOptions(round="truncate"))
    with pytest.raises(ConfigError, match="takes no message="):
        Serde("JSON_SR", registry, message="M")
    with pytest.raises(ConfigError, match="its text or a dict"):
        Serde("JSON_SR", registry, schema=7)


def test_envelopes_that_are_tombstones_need_no_schema(impl):
    registry = MemoryRegistry()
    config = {"json.envelope.detection": "true"}
    serde = Serde("JSON_SR", registry, topic="e", config=config)
    for column in (
        pa.array([{"schema": "s"}, None]),
        pa.array([{"schema": "s", "payload": None}, None]),
        pa.array(['{"schema": 1}', None]),
    ):
        assert serde.serialize(column).to_pylist() == [None, None]
    assert registry.subjects() == []
    assert serde.serialize([{"schema": "s", "payload": {"a": 1}}])[0].as_py()[5:] == b'{"a":1}'
    assert registry.subjects() == ["e-value"]


def test_a_mark_makes_another_schema(impl):
    """Arrow types are equal whatever their metadata, which may mark text as JSON; both are derived in turn."""
    registry = MemoryRegistry()
    registry.set_config(Config("NONE"))
    serde = Serde("JSON_SR", registry, topic="t")
    rows = [[{"j": '{"a":1}'}]]
    marked = pa.field("j", pa.string(), metadata={"kcodec.json": "raw"})
    found = []
    for field in (marked, pa.field("j", pa.string()), marked):
        kind = pa.struct([pa.field("items", pa.list_(pa.struct([field])))])
        found += serde.serialize(pa.array([{"items": row} for row in rows], kind)).to_pylist()
    assert found == [
        FRAME + b'\1{"items":[{"j":{"a":1}}]}',
        FRAME + b'\2{"items":[{"j":"{\\"a\\":1}"}]}',
        FRAME + b'\1{"items":[{"j":{"a":1}}]}',
    ]
