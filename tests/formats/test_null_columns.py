"""Columns of Arrow's null type within others: written like nulls of any other type."""

import pyarrow as pa
import pytest

import kcodec

_AVRO = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": %s}]}'
_NULLABLE = '["null", "int"]'
_REQUIRED = {"type": "struct", "fields": [{"field": "a", "type": "int32"}]}


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
    "ksql": (kcodec.KsqlCodec("JSON", "A INT, B INT"), _value, None),
}


@pytest.mark.parametrize("case", list(_CASES))
def test_nulls_without_a_type_are_those_of_one(impl, case):
    codec, kind, value = _CASES[case]
    rows = [{"a": value}, None]
    typed, lost = codec.encode(pa.array(rows, pa.struct([("a", kind(pa.int32()))])), errors="report")
    given, report = codec.encode(pa.array(rows, pa.struct([("a", kind(pa.null()))])), errors="report")
    assert given.equals(typed)
    assert report.equals(lost)
