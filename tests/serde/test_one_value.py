"""Messages of Protobuf and documents of JSON Schema one by one, as columns of one row have them."""

import dataclasses
import datetime
import json
import uuid

import pyarrow as pa
import pytest
from one_value import same_as_columns

from kcodec import DecodeError, ProtobufOptions, Serde
from kcodec.formats.protobuf.codec import ProtobufCodec
from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.serde.objects import ObjectsReader

SHOP = """
syntax = "proto3";
package shop;
message Order { int64 id = 1; repeated Line lines = 2; map<string, int32> counts = 3;
  message Line { string what = 1; } }
message Refund { int64 id = 1; double amount = 2; }
"""
ROW = {"id": 7, "lines": [{"what": "é"}, {"what": ""}], "counts": [("a", 1), ("b", -1)]}
DOCUMENT = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "day": {"type": "string", "format": "date"},
        "tags": {"type": "array", "items": {"type": "number"}},
    },
    "required": ["id"],
}


@pytest.fixture
def quick(monkeypatch):
    """Fail where a value is read as a column that was read without one before."""

    def refuse(*arguments):
        raise AssertionError("a value is read as a column")

    return lambda: monkeypatch.setattr(ObjectsReader, "_in_column", refuse)


def registry_of(*schemas):
    registry = MemoryRegistry()
    for number, schema in enumerate(schemas):
        registry.register(f"t{number or ''}-value", schema)
    return registry


class TestProtobuf:
    def payload(self, message, row):
        return ProtobufCodec(SHOP, message).encode_one(row)

    def test_plain_messages_take_no_column(self, impl, quick):
        serde = Serde("PROTOBUF", registry_of(Schema(SHOP, "PROTOBUF")), topic="t", message="shop.Order")
        order = self.payload("shop.Order", ROW)
        for indexes in (b"\0", b"\2\0"):
            value = b"\0\0\0\0\1" + indexes + order
            assert same_as_columns(serde, value) == ROW
        quick()
        assert serde.deserialize_one(value) == ROW

    def test_whatever_else_there_is_in_a_value(self, impl):
        order, refund = self.payload("shop.Order", ROW), self.payload("shop.Refund", {"id": 1, "amount": 0.5})
        nested = self.payload("shop.Order.Line", {"what": "x"})
        values = [
            None,
            b"",
            b"\0\0\0\0\1",
            b"\0\0\0\0\1\0",
            b"\0\0\0\0\1\0" + order,
            b"\0\0\0\0\1\0" + order[:-1],
            b"\0\0\0\0\1\2\2" + refund,
            b"\0\0\0\0\1\4\0\0" + nested,
            b"\0\0\0\0\1\2\6" + order,
            b"\0\0\0\0\1\2\1" + order,
            b"\0\0\0\0\1\1" + order,
            b"\0\0\0\0\1\x80\0" + order,
            b"\0\0\0\0\1\2\x80\0" + order,
            b"\0\0\0\0\1\4\0",
            b"\0\0\0\0\1" + b"\xff" * 12,
            b"\0\0\0\0\x09\0" + order,
            b"\2" + order,
            b"\0\0\0\0\1\0" + order + b"\x1a\x05\x0a\x01a\x10\x05",
            b"\1" * 17 + b"\0" + order,
        ]
        for message in ("shop.Order", "shop.Refund", None):
            serde = Serde("PROTOBUF", registry_of(Schema(SHOP, "PROTOBUF")), topic="t", message=message)
            for value in values:
                same_as_columns(serde, value)

    @pytest.mark.parametrize("place", ["header", "prefix"])
    def test_frames(self, impl, quick, place):
        config = {"value.schema.id.serializer": "HeaderSchemaIdSerializer"} if place == "header" else {}
        serde = Serde(
            "PROTOBUF",
            f"memory://{uuid.uuid4()}",
            topic="t",
            schema=SHOP,
            message="shop.Refund",
            config=config,
        )
        headers = None
        if place == "header":
            values, headers = serde.serialize_with_headers([{"id": 1, "amount": 0.5}], as_list=True)
            value, headers = values[0], [("x", b""), (serde.header, headers[0])]
            same_as_columns(serde, value, [(serde.header, b"\1")])
        else:
            value = serde.serialize_one({"id": 1, "amount": 0.5})
        assert same_as_columns(serde, value, headers) == {"id": 1, "amount": 0.5}
        quick()
        assert serde.deserialize_one(value, headers) == {"id": 1, "amount": 0.5}


class TestJsonSchema:
    @pytest.mark.parametrize("validate", [False, True])
    def test_documents(self, impl, validate):
        other = {**DOCUMENT, "properties": {**DOCUMENT["properties"], "more": {"type": "boolean"}}}
        registry = registry_of(Schema(json.dumps(DOCUMENT), "JSON"), Schema(json.dumps(other), "JSON"))
        serde = Serde("JSON_SR", registry, topic="t", config={"json.fail.invalid.schema": validate})
        texts = [
            '{"id": 1, "name": "é", "day": "2024-02-29", "tags": [1, 2.5]}',
            '{"id": 1, "day": "soon"}',
            '{"id": 1, "id": 2} trailing',
            '{"id": 1.5}',
            '{"name": "x"}',
            '{"id": null}',
            "null",
            "7",
            "[",
            "",
        ]
        for number in (1, 2, 9):
            for text in texts:
                same_as_columns(serde, b"\0\0\0\0" + bytes([number]) + text.encode())

    def test_plain_documents_take_no_column(self, impl, quick):
        serde = Serde("JSON_SR", registry_of(Schema(json.dumps(DOCUMENT), "JSON")), topic="t")
        value = b'\0\0\0\0\1{"id": 1, "name": "x"}'
        wanted = same_as_columns(serde, value)
        quick()
        assert serde.deserialize_one(value) == wanted
        with pytest.raises(DecodeError, match="byte 12"):
            serde.deserialize_one(b'\0\0\0\0\1{"id": "1"}')


def test_forms(impl):
    """Of messages that are plain, and of one whose map has a key twice."""
    line = dataclasses.make_dataclass("Line", ["what"])
    order = dataclasses.make_dataclass("Order", [("id", int), ("lines", list[line]), ("counts", dict)])
    serde = Serde("PROTOBUF", f"memory://{uuid.uuid4()}", topic="t", schema=SHOP, message="shop.Order")
    value = serde.serialize_one(ROW)
    for data in (value, value + b"\x1a\x05\x0a\x01b\x10\x02"):
        wanted = dict(serde.deserialize_one(data)["counts"])
        found = serde.deserialize_one(data, maps="dict", unions="value", into=order)
        assert found == order(7, [line("é"), line("")], wanted)
    both = Serde("PROTOBUF", serde.registry, topic="t", message=["shop.Order", "shop.Refund"])
    assert both.deserialize_one(value, maps="dict")["shop.Order"]["counts"] == {"a": 1, "b": -1}
    documents = Serde("JSON_SR", f"memory://{uuid.uuid4()}", topic="t", schema=json.dumps(DOCUMENT))
    named = dataclasses.make_dataclass("Named", ["id", "name", "day", "tags"])
    for text in (b'{"id": 7}', b'{"i\\u0064": 7}'):
        data = documents.serialize_one({"id": 7})[:5] + text
        assert documents.deserialize_one(data, into=named) == named(7, None, None, None)


@pytest.mark.parametrize("message", ["Event", ["Event", "Other"]])
def test_nanoseconds_of_messages(impl, message):
    """They are an error, or dropped as the options say, whether a message is read alone or as a column of one row."""
    text = """syntax = "proto3"; import "google/protobuf/timestamp.proto";
    message Event { google.protobuf.Timestamp at = 1; } message Other { int32 x = 1; }"""
    registry = MemoryRegistry()
    written = Serde("PROTOBUF", registry, topic="t", schema=text, options=ProtobufOptions(unit="ns"))
    value = written.serialize(pa.array([{"at": 1_501}], pa.struct([("at", pa.timestamp("ns", "UTC"))])))
    serdes = {
        how: Serde("PROTOBUF", registry, topic="t", message=message, options=ProtobufOptions(unit="ns", round=how))
        for how in ("error", "truncate")
    }  # fmt: skip
    with pytest.raises(DecodeError, match=r"inexact: row 0, (Event\.)?at(, schema id 1)?: Python's times"):
        serdes["error"].deserialize_one(value[0].as_py())
    found = serdes["truncate"].deserialize_one(value[0].as_py())
    found = found if message == "Event" else found["Event"]
    assert found == {"at": datetime.datetime(1970, 1, 1, 0, 0, 0, 1, datetime.timezone.utc)}


def test_an_exception_is_no_warning_beside(registry, caplog):
    caplog.set_level("DEBUG", "kcodec")
    for schema in ('"int"', '"long"'):
        registry.register("alone-value", Schema(schema))
    serde = Serde("AVRO", registry, topic="alone")
    # Of a frame that is none, of an id that nobody knows, of a payload, of a value that is read as a column.
    for value in (b"?", b"\0\0\0\0\x63\2", b"\0\0\0\0\1", b""):
        caplog.clear()
        with pytest.raises(DecodeError):
            serde.deserialize_one(value)
        assert {record.levelname for record in caplog.records} <= {"DEBUG", "INFO"}
        assert caplog.records[-1].bad_rows == 1
    assert serde.metrics.bad_rows == 4
    with pytest.raises(DecodeError):
        serde.deserialize([b"\0\0\0\0\1\2", b"?"])
    assert caplog.records[-1].levelname == "WARNING"


def test_frames_of_others(impl):
    serde = Serde("JSON_SR", registry_of(Schema(json.dumps(DOCUMENT), "JSON")), topic="t")
    told = same_as_columns(serde, bytes(5) + b'{"id": 1}')
    assert told[1].endswith("no schema of this id (looks like Apicurio's frame: frame=APICURIO)")
