"""Fingerprints and parsing canonical forms, beside fastavro's."""

import json

import pytest
from fastavro.schema import fingerprint as fastavro_fingerprint
from fastavro.schema import to_parsing_canonical_form

from kcodec.formats.avro.schema.fingerprint import fingerprint, parsing_form
from kcodec.formats.avro.schema.parse import parse

SCHEMAS = [
    "int",
    {"type": "string", "avro.java.string": "String"},
    ["null", {"type": "array", "items": {"type": "map", "values": "bytes"}}],
    {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
    {"type": "enum", "name": "a.b.E", "symbols": ["X", "Y"], "default": "X", "doc": "d", "aliases": ["F"]},
    {"size": 12, "type": "fixed", "name": "F", "namespace": "n.s", "logicalType": "duration"},
    {
        "type": "record",
        "name": "Outer",
        "namespace": "n",
        "doc": "documentation",
        "fields": [
            {"name": "inner", "type": {"type": "record", "name": "Inner", "fields": []}, "order": "ignore"},
            {"name": "again", "type": ["null", "Inner"], "default": None},
            {"name": "self", "type": ["null", "n.Outer"], "aliases": ["me"]},
            {"name": "other", "type": {"type": "enum", "name": "m.E", "symbols": ["A"]}},
        ],
    },
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_as_fastavro_has_them(schema):
    form = to_parsing_canonical_form(schema)
    parsed = parse(json.dumps(schema))
    assert parsing_form(parsed) == form
    assert fingerprint(parsed).hex() == fastavro_fingerprint(form, "CRC-64-AVRO")


@pytest.mark.parametrize(
    ("schema", "number"),
    # Of share/test/data/schema-tests.txt, the specification's own.
    [("null", 7195948357588979594), ("int", 8247732601305521295), ("string", -8142146995180207161)],
)
def test_as_the_specification_has_them(schema, number):
    assert int.from_bytes(fingerprint(parse(f'"{schema}"')), "little", signed=True) == number
