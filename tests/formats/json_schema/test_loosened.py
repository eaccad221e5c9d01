"""Schemas that their metaschemas refuse and Confluent's serializers read: what they say of documents.

The verdicts are those of Confluent's serializers 8.5.0 (everit 1.14.6, json-sKema 0.31.0): per document 1 where it is
valid, and 0 where not.
"""

import json

import pytest
from cases import cases

from kcodec import SchemaError
from kcodec.formats.json_schema.schema import parse
from kcodec.formats.json_schema.validation import Validator

DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
DOCUMENTS = ("1", '"x"', "{}", '{"a":1}', "[]", "[1,1]", "null")
ALL, OLD, NEW = tuple(DRAFTS), (4, 6, 7), (2019, 2020)


def verdicts(draft, schema, documents):
    validator = Validator(parse(json.dumps({"$schema": DRAFTS[draft], **json.loads(schema)})).documents)
    return "".join("01"[validator.violation(each.encode()) is None] for each in documents)


@cases(
    ("drafts", "schema", "expected"),
    [
        (ALL, '{"type":[]}', "0000000"),
        (ALL, '{"type":["string","string"]}', "0100000"),
        (ALL, '{"multipleOf":-1}', "1111111"),
        (ALL, '{"maxLength":-1}', "1011111"),
        (ALL, '{"maxItems":-1}', "1111001"),
        (ALL, '{"maxProperties":-1}', "1100111"),
        (ALL, '{"minLength":-1,"minItems":-1,"minProperties":-1}', "1111111"),
        (ALL, '{"required":["a","a"]}', "1101111"),
        (ALL, '{"dependencies":{"a":["a","a"]}}', "1111111"),
        (ALL, '{"allOf":[]}', "1111111"),
        (ALL, '{"anyOf":[]}', "0000000"),
        (ALL, '{"oneOf":[]}', "0000000"),
        (ALL, '{"definitions":1}', "1111111"),
        (ALL, '{"examples":1}', "1111111"),
        (ALL, '{"$comment":1,"contentEncoding":1,"contentMediaType":1}', "1111111"),
        (ALL, '{"x":{"minLength":"x","required":[[]],"type":1},"type":"null"}', "0000001"),
        (OLD, '{"items":[],"additionalItems":false}', "1111111"),
        (OLD, '{"definitions":{"a":1}}', "1111111"),
        ((4,), '{"required":[]}', "1111111"),
        ((4,), '{"properties":{"a":{"required":[]}}}', "1111111"),
        ((4,), '{"dependencies":{"a":[]}}', "1111111"),
        ((4,), '{"properties":{"a":true}}', "1111111"),
        ((4,), '{"properties":{"a":false}}', "1110111"),
        ((4,), '{"patternProperties":{"a":false}}', "1110111"),
        ((4,), '{"items":[true,false]}', "1111101"),
        ((4,), '{"allOf":[true],"anyOf":[false,true],"oneOf":[true,false]}', "1111111"),
        ((4,), '{"not":true}', "0000000"),
        ((4,), '{"not":false}', "1111111"),
        ((4,), '{"definitions":{"b":false},"properties":{"a":{"$ref":"#/definitions/b"}}}', "1110111"),
        (NEW, '{"multipleOf":0}', "0111111"),
        (NEW, '{"dependencies":1,"then":1,"else":1,"contentSchema":1,"$vocabulary":1}', "1111111"),
        (NEW, '{"$id":1,"$anchor":1}', "1111111"),
        (NEW, '{"dependentRequired":{"a":["a","a"],"type":[]}}', "1111111"),
        (NEW, '{"prefixItems":[],"items":false}', "1111101"),
        (NEW, '{"minContains":"x","maxContains":null}', "1111111"),
        (NEW, '{"contains":{"const":1},"minContains":1.5}', "1111011"),
        (NEW, '{"contains":{"const":1},"minContains":2.0}', "1111011"),
        (NEW, '{"contains":{"const":1},"minContains":-1}', "1111011"),
        (NEW, '{"contains":{"const":1},"maxContains":-1}', "1111001"),
        (NEW, '{"contains":{"const":1},"maxContains":1.5}', "1111001"),
        (NEW, '{"contains":{"const":1},"maxContains":null}', "1111011"),
    ],
)
def test_schemas_that_metaschemas_refuse(drafts, schema, expected):
    for draft in drafts:
        assert verdicts(draft, schema, DOCUMENTS) == expected


@cases(
    ("drafts", "reference", "rest", "expected"),
    [
        # An integer is meant by "10", the root by "01".
        (ALL, "#/x~1y", {"x/y": {"type": "integer"}}, "10"),
        (ALL, "#/x%2Fy", {"x/y": {"type": "integer"}, "x": {"y": {}}}, "10"),
        (ALL, "#/x%7E1y", {"x/y": {"type": "integer"}}, "10"),
        (ALL, "#/x+y", {"x y": {"type": "integer"}, "x+y": {}}, "10"),
        (ALL, "#/x%2By", {"x+y": {"type": "integer"}}, "10"),
        (ALL, "#/x+y", {"x+y": {}}, None),
        (ALL, "#/x%2Fy", {"x": {"y": {}}}, None),
        (OLD, "#z", {}, "01"),
        (OLD, "#%20z", {}, "01"),
        (OLD, "#z/x", {"x": {"type": "integer"}}, "10"),
        (OLD, "#z/x", {}, None),
        (OLD, "#/", {"": {"type": "integer"}}, "01"),
        (OLD, "#//", {"": {"": {"type": "integer"}}}, "01"),
        (OLD, "#/x/", {"x": {"type": "integer", "": {"type": "string"}}}, "10"),
        (OLD, "#z", {"x": {"$anchor": "z", "type": "integer"}}, "01"),
        (NEW, "#/", {"": {"type": "integer"}}, "10"),
        (NEW, "#z", {}, None),
        (NEW, "#z", {"$defs": {"x": {"$anchor": "z", "type": "integer"}}}, "10"),
    ],
)
def test_references_within_a_document(drafts, reference, rest, expected):
    schema = json.dumps({"type": "object", "properties": {"b": {"$ref": reference}}, **rest})
    for draft in drafts:
        if expected is None:
            with pytest.raises(SchemaError, match="does not exist"):
                parse(json.dumps({"$schema": DRAFTS[draft], **json.loads(schema)}))
        else:
            assert verdicts(draft, schema, ('{"b":1}', '{"b":{}}')) == expected
