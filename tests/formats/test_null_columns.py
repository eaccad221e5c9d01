"""Columns of Arrow's null type within others: written like nulls of any other type."""

import pyarrow as pa
import pytest
from cases import cases

import kcodec

_AVRO = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": %s}]}'
_NULLABLE = '["null", "int"]'
_REQUIRED = {"type": "struct", "fields": [{"field": "a", "type": "int32"}]}
_PROTOBUF = """
    syntax = "proto2";
    message Required { required int32 a = 1; }
    message List { repeated int32 a = 1; }
    message Map { map<string, int32> a = 1; }
    message Optional { optional int32 a = 1; }
"""


def _protobuf(message):
    return kcodec.ProtobufCodec(_PROTOBUF, message)


def _json_schema(schema, required=()):
    return kcodec.JsonSchemaCodec({"properties": {"a": schema}, "required": list(required)})


def _value(kind):
    return kind


def _items(kind):
    return pa.list_(kind)


def _values(kind):
    return pa.map_(pa.string(), kind)


_INTEGER = {"type": "integer"}
_CASES = {
    "avro": (kcodec.AvroCodec(_AVRO % '"int"'), _value, None),
    "avro nullable": (kcodec.AvroCodec(_AVRO % _NULLABLE), _value, None),
    "avro items": (kcodec.AvroCodec(_AVRO % '{"type": "array", "items": "int"}'), _items, [None]),
    "avro no items": (kcodec.AvroCodec(_AVRO % '{"type": "array", "items": "int"}'), _items, []),
    "avro nullable items": (
        kcodec.AvroCodec(_AVRO % f'{{"type": "array", "items": {_NULLABLE}}}'),
        _items,
        [None],
    ),
    "avro values": (kcodec.AvroCodec(_AVRO % '{"type": "map", "values": "int"}'), _values, [("k", None)]),
    "json": (kcodec.JsonCodec(pa.schema([pa.field("a", pa.int32(), False)])), _value, None),
    "connect": (kcodec.ConnectJsonCodec(_REQUIRED), _value, None),
    "connect exact": (kcodec.ConnectJsonCodec(_REQUIRED, compat="connect"), _value, None),
    "json schema": (_json_schema(_INTEGER), _value, None),
    "json schema required": (_json_schema(_INTEGER, "a"), _value, None),
    "json schema items": (_json_schema({"type": "array", "items": _INTEGER}), _items, [None]),
    "json schema no items": (_json_schema({"type": "array", "items": _INTEGER}), _items, []),
    "json schema values": (
        _json_schema({"type": "object", "additionalProperties": _INTEGER}),
        _values,
        [("k", None)],
    ),
    "protobuf": (_protobuf("Optional"), _value, None),
    "protobuf required": (_protobuf("Required"), _value, None),
    "protobuf items": (_protobuf("List"), _items, [None]),
    "protobuf no items": (_protobuf("List"), _items, []),
    "protobuf values": (_protobuf("Map"), _values, [("k", None)]),
    "ksql": (kcodec.KsqlCodec("JSON", "A INT, B INT"), _value, None),
    "ksql items": (kcodec.KsqlCodec("PROTOBUF_NOSR", "A ARRAY<INT>, B INT"), _items, [None]),
    "ksql no items": (kcodec.KsqlCodec("PROTOBUF_NOSR", "A ARRAY<INT>, B INT"), _items, []),
}


@cases("case", list(_CASES))
def test_nulls_without_a_type_are_those_of_one(impl, case):
    codec, kind, value = _CASES[case]
    rows = [{"a": value}, None]
    typed, lost = codec.encode(pa.array(rows, pa.struct([("a", kind(pa.int32()))])), errors="report")
    given, report = codec.encode(pa.array(rows, pa.struct([("a", kind(pa.null()))])), errors="report")
    assert given.equals(typed)
    assert report.equals(lost)


@pytest.mark.parametrize(
    ("message", "kind", "value", "path"),
    [("Required", _value, None, "a"), ("Map", _values, [("k", None)], "a[0].value")],
)
def test_nulls_of_a_type_that_does_not_fit_are_no_values_either(impl, message, kind, value, path):
    given = pa.array([{"a": value}], pa.struct([("a", kind(pa.string()))]))
    written, report = _protobuf(message).encode(given, errors="report")
    assert written.to_pylist() == [None]
    assert report.select(["path", "code"]).to_pylist() == [{"path": path, "code": "type_mismatch"}]
