"""Schemas of every language in Connect's types: the same row comes to the same types, whichever language it is in."""

import json

import pytest

from kcodec import ConnectSchema, SchemaError
from kcodec.formats.avro.schema.parse import parse as parse_avro
from kcodec.formats.connect.from_avro import AvroAsConnect
from kcodec.formats.connect.from_json_schema import JsonSchemaAsConnect
from kcodec.formats.connect.from_protobuf import MessageAsConnect
from kcodec.formats.connect.model import PACKAGE, ConnectType
from kcodec.formats.json_schema.schema import parse as parse_json_schema
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.ksql.formats.reading import inferred_columns
from kcodec.ksql.types import parse_type

DIGITS = {"scale": "2", "connect.decimal.precision": "9"}


def connect(type, simple=None, **more):
    name = {} if simple is None else {"title": f"{PACKAGE}.{simple}"}
    return {"connect.type": type, **name, **more}


def from_avro(schema):
    return AvroAsConnect(parse_avro(json.dumps(schema)))


def from_json_schema(schema):
    documents = parse_json_schema(json.dumps(schema)).documents
    return JsonSchemaAsConnect(documents.main.document, documents.main, documents)


def from_protobuf(text):
    return MessageAsConnect(ProtobufSchema.parse(text).message(None), wrappers=False)


def decimal_of(**attributes):
    return {"type": "bytes", **attributes}


AVRO = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "small", "type": {"type": "int", "connect.type": "int16"}},
        {"name": "single", "type": "float"},
        {"name": "wide", "type": ["null", "double"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "connect.name": f"{PACKAGE}.Timestamp"}},
        {"name": "price", "type": decimal_of(logicalType="decimal", scale=2, precision=9)},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
    ],
}
JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "small": {"type": "integer", **connect("int16", **{"connect.index": 0})},
        "single": {"type": "number", **connect("float32", **{"connect.index": 1})},
        "wide": {"oneOf": [{"type": "null"}, {"type": "number"}], "connect.index": 2},
        "day": {"type": "integer", **connect("int32", "Date", **{"connect.index": 3})},
        "at": {"type": "integer", **connect("int64", "Timestamp", **{"connect.index": 4})},
        "price": {
            "type": "number",
            **connect("bytes", "Decimal", **{"connect.index": 5, "connect.parameters": DIGITS}),
        },
        "tags": {"type": "array", "items": {"type": "string"}, "connect.index": 6},
        "counts": {
            "type": "object",
            **connect("map", **{"connect.index": 7}),
            "additionalProperties": {"type": "integer"},
        },
    },
}
PROTOBUF = """
    syntax = "proto3";
    import "confluent/meta.proto";
    import "confluent/type/decimal.proto";
    import "google/type/date.proto";
    import "google/protobuf/timestamp.proto";
    message R {
      int32 small = 1 [(confluent.field_meta) = {params: [{key: "connect.type", value: "int16"}]}];
      float single = 2;
      double wide = 3;
      google.type.Date day = 4;
      google.protobuf.Timestamp at = 5;
      confluent.type.Decimal price = 6
        [(confluent.field_meta) = {params: [{key: "scale", value: "2"}, {key: "precision", value: "9"}]}];
      repeated string tags = 7;
      map<string, int64> counts = 8;
    }
"""


def field(name, type, simple=None, **more):
    named = {} if simple is None else {"name": f"{PACKAGE}.{simple}", "version": 1}
    return {"field": name, "type": type, **named, **more}


ENVELOPE = {
    "type": "struct",
    "fields": [
        field("small", "int16"),
        field("single", "float"),
        field("wide", "double", optional=True),
        field("day", "int32", "Date"),
        field("at", "int64", "Timestamp"),
        field("price", "bytes", "Decimal", parameters=DIGITS),
        field("tags", "array", items={"type": "string"}),
        field("counts", "map", keys={"type": "string"}, values={"type": "int64"}),
    ],
}
LANGUAGES = {
    "avro": lambda: from_avro(AVRO),
    "json_schema": lambda: from_json_schema(JSON_SCHEMA),
    "protobuf": lambda: from_protobuf(PROTOBUF),
    "envelope": lambda: ConnectSchema.from_json(ENVELOPE),
}


def told(type: ConnectType):
    """Return all that the model tells of a type but what a null is."""
    below = {name: told(each) for name, each in type.fields.items()} if type.type == "struct" else {}
    parts = [told(each) for each in type.parts] if type.type in ("array", "map") else []
    return (type.type, type.name, type.scale, type.precision, below, parts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_comes_to_the_same_types(language):
    made = LANGUAGES[language]()
    leaf = (None, None, {}, [])
    assert told(made) == (
        "struct",
        None,
        None,
        None,
        {
            "small": ("int16", None, *leaf),
            "single": ("float", None, *leaf),
            "wide": ("double", None, *leaf),
            "day": ("int32", f"{PACKAGE}.Date", *leaf),
            "at": ("int64", f"{PACKAGE}.Timestamp", *leaf),
            "price": ("bytes", f"{PACKAGE}.Decimal", 2, 9, {}, []),
            "tags": ("array", None, None, None, {}, [("string", None, *leaf)]),
            "counts": ("map", None, None, None, {}, [("string", None, *leaf), ("int64", None, *leaf)]),
        },
        [],
    )
    columns = inferred_columns(made, wrapped=True, key=False, original_names=False)
    assert [(each.name, each.type) for each in columns] == [
        ("SMALL", parse_type("INT")),
        ("SINGLE", parse_type("DOUBLE")),
        ("WIDE", parse_type("DOUBLE")),
        ("DAY", parse_type("DATE")),
        ("AT", parse_type("TIMESTAMP")),
        ("PRICE", parse_type("DECIMAL(9, 2)")),
        ("TAGS", parse_type("ARRAY<STRING>")),
        ("COUNTS", parse_type("MAP<STRING, BIGINT>")),
    ]


@pytest.mark.parametrize("given", ["", "x", "2.5", "99999999999", " 2"])
def test_digits_that_are_no_number_are_none(given):
    digits = {"scale": given, "connect.decimal.precision": given}
    name = f"{PACKAGE}.Decimal"
    for made in (
        from_avro(decimal_of(**{"connect.name": name, "connect.parameters": digits})),
        from_json_schema({"type": "number", **connect("bytes", "Decimal", **{"connect.parameters": digits})}),
        ConnectSchema("bytes", name=name, parameters=digits),
    ):
        assert (made.name, made.scale, made.precision) == (name, None, None)


def test_names_of_other_types_make_no_logical_type():
    for made in (
        from_avro({"type": "long", "connect.name": f"{PACKAGE}.Date"}),
        from_json_schema({"type": "integer", **connect("int64", "Date")}),
    ):
        assert (made.type, made.name) == ("int64", None)


def test_types_that_connect_does_not_have_have_no_name():
    assert from_json_schema({"enum": []}).type == "string"
    assert from_json_schema({"type": "null"}).type == ""
    assert from_json_schema(True).type == ""
    assert from_json_schema({"type": "number", **connect("float64")}).type == "double"
    assert from_json_schema({"type": "number", **connect("float")}).type == "double"


def test_schemas_may_contain_themselves():
    avro = {"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]}
    document = {"properties": {"next": {"$ref": "#"}}}
    protobuf = 'syntax = "proto3"; message R { R next = 1; }'
    for made in (from_avro(avro), from_json_schema(document), from_protobuf(protobuf)):
        for _ in range(3):
            made = made.fields["next"]
            assert made.type == "struct"
        assert made.fields is made.fields


def test_two_fields_of_one_name_are_refused():
    records = [{"type": "record", "name": name, "fields": []} for name in ("a.R", "b.R")]
    with pytest.raises(SchemaError, match="field name duplication R"):
        print(from_avro(records).fields)
    text = 'syntax = "proto3"; message R { oneof o { int32 a = 1; } int32 o_0 = 2; }'
    with pytest.raises(SchemaError, match="field name duplication o_0"):
        print(from_protobuf(text).fields)
