"""Validation of documents: verdicts that differ from the specification, and how a row that fails is reported."""

import contextlib
import functools
import json
import pickle
import sys
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from vector_files import read_vectors

from kcodec import ConfigError, DecodeError, EncodeError, JsonSchemaCodec, SchemaError
from kcodec.formats.json_schema import engine, validation
from kcodec.formats.json_schema.references import Documents
from kcodec.formats.json_schema.schema import parse
from kcodec.formats.json_schema.validation import Validator

VERDICTS = [line for line in read_vectors("serde_vectors.jsonl.gz") if line["kind"] == "json_validation"]
OLD = {4: "http://json-schema.org/draft-04/schema#", 6: "http://json-schema.org/draft-06/schema#",
       7: "http://json-schema.org/draft-07/schema#"}  # fmt: skip
NEW = {
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
DRAFTS = {**OLD, **NEW}


def violation(schema, document, references=()):
    return Validator(Documents(schema, references)).violation(document.encode("utf-8", "surrogatepass"))


def accepts(draft, schema, document):
    return violation({"$schema": DRAFTS.get(draft, draft), **schema}, document) is None


@cases("line", VERDICTS, ids=[line["id"] for line in VERDICTS])
def test_verdicts_of_confluents_validators(line):
    try:
        found = Validator(parse(line["schema"]).documents).violation(line["document"].encode())
    except SchemaError:
        assert line["schema_error"]
    else:
        assert (found is None) == line["accepted"]


def test_there_are_verdicts():
    assert len(VERDICTS) == 94


@pytest.mark.parametrize("draft", DRAFTS)
def test_integers(draft):
    schema = {"properties": {"a": {"type": "integer"}, "type": {"type": ["integer", "null"]}, "integer": {}}}
    assert accepts(draft, schema, '{"a":1,"type":null,"integer":"x"}')
    assert not accepts(draft, schema, '{"a":1.5}')
    for text in ("1.0", "1e2", "-0.0", "1e400"):
        assert accepts(draft, schema, f'{{"a":{text}}}') == (draft in NEW)
        assert accepts(draft, schema, f'{{"type":{text}}}') == (draft in NEW)
        assert accepts(draft, schema, f'{{"integer":{text},"a":1}}')
    assert accepts(draft, {"type": ["integer", "number"]}, "1.0")
    assert accepts(draft, {"enum": [1]}, "1.0")
    # What a schema says as data is not a schema.
    assert accepts(draft, {"enum": [{"type": "integer"}]}, '{"type":"integer"}')


@pytest.mark.parametrize("draft", DRAFTS)
def test_dependencies(draft):
    schema = {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
    assert accepts(draft, schema, '{"b":1,"d":1}')
    for document in ('{"a":1}', '{"c":1}'):
        assert accepts(draft, schema, document) == (draft in NEW)
    # A reference may name what is not a keyword.
    assert not accepts(draft, {"properties": {"x": {"$ref": "#/dependencies/c"}}, **schema}, '{"x":{}}')


@pytest.mark.parametrize("draft", DRAFTS)
def test_patterns_of_java(draft):
    schema = {"properties": {"a": {"anyOf": [{"pattern": "(?i)^ab"}, {"pattern": "\\Ax\\z"}]}}}
    for text, expected in (("ABC", True), ("x", True), ("xx", False)):
        assert accepts(draft, schema, json.dumps({"a": text})) == expected
    assert accepts(draft, schema, '{"a":1}')
    found = violation({"$schema": DRAFTS[draft], "pattern": "(?i)^ab"}, '"x"')
    assert found == ("", 'pattern at the root: the value does not match "(?i)^ab"')
    if draft != 4:
        names = {"$schema": DRAFTS[draft], "propertyNames": {"allOf": [{"pattern": "\\Ax\\z"}]}}
        assert violation(names, '{"y\\"z":1}') == (
            "",
            'pattern at the root: "y\\"z" does not match "\\Ax\\z"',
        )
    with pytest.raises(SchemaError, match="cannot validate"):
        accepts(draft, {"pattern": "("}, '"x"')


@pytest.mark.parametrize("draft", NEW)
def test_fractions_of_lengths_are_cut_off(draft):
    one = dict.fromkeys(("minLength", "maxItems", "minProperties"), Decimal("1.5"))
    for document, expected in (
        ('"a"', True),
        ('""', False),
        ("[1]", True),
        ("[1,2]", False),
        ('{"a":1}', True),
        ("{}", False),
    ):
        assert accepts(draft, one, document) == expected


@pytest.mark.parametrize("draft", NEW)
@pytest.mark.parametrize("anchor", [True, False])
def test_recursive_references_are_not_followed(draft, anchor):
    schema = {
        "$id": "http://example.com/tree",
        "$recursiveAnchor": anchor,
        "properties": {"n": {"type": "integer"}, "below": {"$recursiveRef": "#"}, "$recursiveAnchor": False},
    }
    assert accepts(draft, schema, '{"n":1,"below":{"n":"x"}}')
    assert not accepts(draft, schema, '{"n":"x"}')
    assert not accepts(draft, schema, '{"$recursiveAnchor":1}')


@pytest.mark.parametrize("draft", DRAFTS)
def test_numbers_that_no_double_holds(draft):
    assert accepts(draft, {"maximum": 5}, "5.00000000000000000000001") == (draft in NEW)
    assert accepts(draft, {"type": "integer"}, "1" * 400)
    assert accepts(draft, {"type": "number"}, "1e400")
    assert accepts(draft, {"multipleOf": 0.01}, "19.99")
    assert not accepts(draft, {"multipleOf": 0.01}, "19.999")


@pytest.mark.parametrize("text", ["1e5223372036854775807", "-1E-5223372036854775807"])
def test_exponents_that_no_decimal_has_are_for_the_decoder(impl, text):
    schema = {"properties": {"a": {"type": "integer"}}}
    _, report = JsonSchemaCodec(schema, validate=True).decode(
        [b'{"a":1}', b'{"a":%s}' % text.encode()], errors="report"
    )
    assert report["row"].to_pylist() == [1]


@pytest.mark.parametrize("draft", DRAFTS)
def test_unique_items(draft):
    assert not accepts(draft, {"uniqueItems": True}, "[1,1]")
    assert accepts(draft, {"uniqueItems": True}, "[1,true,1.5]")
    assert accepts(draft, {"uniqueItems": True}, "[1,1.0]") == (draft in NEW)
    assert not accepts(draft, {"uniqueItems": True}, "[2.0,2.0]")
    assert accepts(draft, {"uniqueItems": False}, "[2.0,2.0]")


@pytest.mark.parametrize("draft", DRAFTS)
def test_formats(draft):
    for name, since in (
        ("email", 4),
        ("date-time", 4),
        ("ipv4", 4),
        ("json-pointer", 6),
        ("date", 7),
        ("time", 7),
    ):
        assert accepts(draft, {"format": name}, '"no"') == (draft in NEW or draft < since)
    for text in ('"/orders/7"', '"item.json"', '""'):
        assert accepts(draft, {"format": "uri"}, text) == (draft not in (6, 7))
    assert accepts(draft, {"format": "uri"}, '"urn:x"')
    assert accepts(draft, {"format": "uri"}, '"a b"') == (draft in NEW)
    for name in ("uuid", "duration", "idn-email", "iri", "made-up"):
        assert accepts(draft, {"format": name}, '"no way"')


@pytest.mark.parametrize("draft", DRAFTS)
def test_what_text_holds_is_not_checked(draft):
    assert accepts(draft, {"contentEncoding": "base64"}, '"!"')
    assert accepts(draft, {"contentEncoding": "base64", "contentMediaType": "application/json"}, '"{"')
    assert not accepts(draft, {"contentEncoding": "base64", "maxLength": 1}, '"!!"')


def test_unknown_drafts_are_draft_7():
    assert not accepts("urn:mine", {"type": "integer"}, "1.0")
    assert not accepts("urn:mine", {"format": "date"}, '"no"')


def test_references_are_those_given():
    item = {"$id": "http://x/item.json", "required": ["n"], "properties": {"n": {"$ref": "#/definitions/d"}},
            "definitions": {"d": {"type": "integer"}}}  # fmt: skip
    schema = {"$id": "http://x/main.json", "properties": {"item": {"$ref": "item.json"}}}
    for name in ("item.json", "http://x/item.json"):
        assert violation(schema, '{"item":{"n":1}}', [(name, item)]) is None
        assert violation(schema, '{"item":{}}', [(name, item)])[0] == "item"
        assert violation(schema, '{"item":{"n":2.0}}', [(name, item)])[0] == "item.n"
    assert violation({"$ref": "a.json"}, "1", [("a.json", {"type": "string"})])[1].startswith(
        "type at the root"
    )
    with pytest.raises(SchemaError, match="the schema cannot validate"):
        Validator(Documents({"$ref": "http://localhost:9/none.json"}, []))


def test_definitions_of_references_are_defs_too():
    item = {"definitions": {"d": {"type": "integer"}}}
    for draft in DRAFTS.values():
        schema = {"$schema": draft, "properties": {"a": {"$ref": "item.json#/$defs/d"}}}
        assert violation(schema, '{"a":1}', [("item.json", item)]) is None
        assert violation(schema, '{"a":"x"}', [("item.json", item)])[0] == "a"


@pytest.mark.parametrize("draft", DRAFTS)
def test_references_in_any_script(draft):
    key = "id" if draft == 4 else "$id"
    parts = {"größe": {"type": "integer"}, "other": {key: "http://x/größe.json", "type": "integer"}}
    for reference, identifier in (
        ("#/definitions/größe", ""),
        ("#/definitions/gr%C3%B6%C3%9Fe", ""),
        ("http://x/größe.json", ""),
        ("größe.json", ""),
        ("größe.json", "http://x/größe/main.json"),
    ):
        schema = {
            "$schema": DRAFTS[draft],
            **({key: identifier} if identifier else {}),
            "definitions": parts,
            "properties": {"größe": {"$ref": reference}, key: {"enum": ["größe"]}},
        }
        named = [("größe.json", {"type": "integer"})]
        assert violation(schema, '{"größe":1}', named) is None
        assert violation(schema, '{"größe":"x"}', named)[0] == "größe"
        assert violation(schema, f'{{"{key}":"größe"}}', named) is None


@pytest.mark.parametrize(
    ("draft", "other", "rest", "valid"),
    [
        (7, 4, '"minimum": 1, "exclusiveMinimum": true', [2]),
        (4, 7, '"const": 1', [1]),
        (6, 7, '"if": {"minimum": 1}, "then": false', [0]),
        (7, 2020, '"$ref": "#/definitions/a", "minimum": 5, "definitions": {"a": {}}', [0, 1, 2]),
        (2020, 7, '"$ref": "#/definitions/a", "minimum": 2, "definitions": {"a": {}}', [2]),
        # Flags of bounds that there are not.
        (4, 4, '"exclusiveMinimum": true, "exclusiveMaximum": false', [0, 1, 2]),
    ],
)
def test_references_of_other_drafts(draft, other, rest, valid):
    schema = {"$schema": DRAFTS[draft], "$ref": "a.json"}
    reference = json.loads(f'{{"$schema": "{DRAFTS[other]}", {rest}}}')
    validator = Validator(Documents(schema, [("a.json", reference)]))
    assert [number for number in range(3) if validator.violation(b"%d" % number) is None] == valid


def test_what_is_reported():
    schema = {"properties": {"a": {"items": {"additionalProperties": {"maxLength": 2}}}}}
    found = violation(schema, '{"a":[{},{"x/~y":"abc"}]}')
    assert found[0] == "a[1].x/~y"
    assert found[1] == "maxLength at /a/1/x~1~0y: the value is longer than 2 characters"
    # Values stand in no message.
    secret = "s3cret" * 3
    for rule in ({"enum": ["x"]}, {"const": 1}, {"pattern": "^x"}, {"maxLength": 2}, {"type": "integer"},
                 {"not": {}}, {"anyOf": [False]}):  # fmt: skip
        path, reason = violation(rule, json.dumps(secret))
        assert (path, secret in reason) == ("", False)
        assert reason.startswith(f"{next(iter(rule))} at the root: ")
    assert violation(False, "1")[1].startswith("false at the root")


def test_documents_as_jackson_reads_them():
    schema = {"type": "object", "properties": {"a": {"maximum": 1}}}
    for document in (
        b'\xef\xbb\xbf{"a":2}',
        '{"a":2}'.encode("utf-16"),
        b'{"a":2} and more',
        b' {"a":1,"a":2}',
    ):
        assert Validator(Documents(schema, [])).violation(document)[0] == "a"
    assert violation(schema, '{"a":"\\ud800"}') is None
    assert (
        violation({"items": [{"type": "number"}, {"pattern": "^.$"}]}, '[1.0000000000000000001,"\\ud800"]')
        is None
    )
    assert "not finite" in violation(schema, '{"a":NaN}')[1]
    for document in (b'{"a":2,"b":-INF}', '{"a":2,"b":NaN}'.encode("utf-16")):
        assert "not finite" in Validator(Documents(schema, [])).violation(document)[1]
    for document in ("", "{", "nope", '{"a":01}'):
        assert violation(schema, document) is None


def test_hostile_schemas_and_documents():
    names = {f"a{n}": {"allOf": [{"$ref": f"#/definitions/a{n + 1}"}] * 2} for n in range(15)}
    schema = {"$ref": "#/definitions/a0", "definitions": {**names, "a15": {"type": "integer"}}}
    assert violation(schema, "1") is None
    tree = {"properties": {"c": {"items": {"$ref": "#"}}}}
    for depth in (50, 400, 5000):
        found = violation(tree, '{"c":[' * depth + "]}" * depth)
        assert found is None or found[0] == ""
    assert violation({"pattern": "^(a+)+$"}, json.dumps("a" * 50 + "b"))[1].startswith("pattern")
    for circle in ({"$ref": "#"}, {"allOf": [{"$ref": "#"}]}):
        with contextlib.suppress(SchemaError):
            violation(circle, "1")


@cases(
    "keyword, message",
    [
        ("anyOf", "is not valid under any of the schemas listed in the 'anyOf' keyword"),
        ("oneOf", "is not valid under any of the schemas listed in the 'oneOf' keyword"),
    ],
)
def test_choices_at_many_levels(keyword, message):
    """The library would look for what is wrong with each choice, and in it with each of the next level."""
    node = {"type": "object", "properties": {"c": {"$ref": "#"}}}
    schema = {keyword: [{**node, "required": ["x"]}, {**node, "required": ["y"]}, {"type": "integer"}]}
    reason = f"{keyword} at the root: the value {message}"
    assert violation(schema, '{"c":' * 60 + '"z"' + "}" * 60) == ("", reason)
    assert violation(schema, '{"c":' * 60 + "1.0" + "}" * 60) == ("", reason)


@cases("draft", [7, 2019, 2020])
def test_two_schemas_of_one_value_at_many_levels(draft):
    """The library would look for a violation twice in a value, though it is valid, and in what is in it."""
    node = {"properties": {"c": {"$ref": "#/definitions/t"}}}
    root = {"$schema": DRAFTS[draft], "definitions": {"t": {"allOf": [node, node]}}}
    schema = {**root, "properties": {"a": {"$ref": "#/definitions/t"}, "b": {"type": "string"}}}
    document = '{"a":' + '{"c":' * 60 + "{}" + "}" * 60 + ',"b":1}'
    assert violation(schema, document) == ("b", 'type at /b: the value is not of type "string"')


def test_reasons_where_choices_may_recur():
    """They are those that schemas have where none may."""
    several = {"oneOf": [{"minimum": 1}, {"maximum": 3}]}
    parts = {
        "a": {"anyOf": [{"type": "null"}, {"const": 1}]},
        "b": {"allOf": [{"type": "string"}], "oneOf": [{"const": "x"}]},
        "c": several,
        "d": {"not": several},
        "e": {"propertyNames": {"anyOf": [{"const": "k"}]}},
        "f": {"anyOf": [{"type": "integer"}], "oneOf": [{"type": "integer"}]},
    }
    plain, recursive = ({"properties": {**parts, **more}} for more in ({}, {"z": {"$ref": "#"}}))
    documents = [
        '{"a":2}',
        '{"b":1}',
        '{"b":"y"}',
        '{"c":2}',
        '{"d":4}',
        '{"e":{"l":1}}',
        '{"f":1.0}',
        '{"f":1}',
    ]
    reasons = [violation(plain, each) for each in documents]
    assert [violation(recursive, each) for each in documents] == reasons
    assert [reason and reason[1].partition(" ")[0] for reason in reasons] == [
        "anyOf", "type", "oneOf", "oneOf", "not", "anyOf", "anyOf", None,
    ]  # fmt: skip
    # A reference to one of the choices by its place.
    by_place = {"anyOf": [{"type": "string"}], "properties": {"a": {"$ref": "#/anyOf/0"}}}
    assert violation(by_place, '{"a":1}')[1].startswith(("anyOf", "type"))


class TestCodec:
    schema = '{"properties": {"id": {"type": "integer", "minimum": 1}}, "required": ["id"]}'

    def test_rows(self, impl):
        codec = JsonSchemaCodec(self.schema, validate=True)
        rows = [b'{"id":1}', None, b'{"id":0}', b'{"id":"x"}', b"{}", b"{", b'{"id":1.0}']
        array, report = codec.decode(rows, errors="report")
        assert array.to_pylist() == [{"id": 1}, *[None] * 6]
        assert report.select(["row", "offset", "path", "code"]).to_pylist() == [
            {"row": 2, "offset": 0, "path": "id", "code": "schema_violation"},
            {"row": 3, "offset": 0, "path": "id", "code": "schema_violation"},
            {"row": 4, "offset": 0, "path": "", "code": "schema_violation"},
            {"row": 5, "offset": 1, "path": "", "code": "truncated"},
            {"row": 6, "offset": 0, "path": "id", "code": "schema_violation"},
        ]
        assert report["reason"][0].as_py() == "minimum at /id: the value is less than the minimum of 1"
        with pytest.raises(DecodeError, match="schema_violation: row 2, byte 0, id: minimum at /id"):
            codec.decode(rows)
        assert codec.decode(pa.array(['{"id":5}'])).to_pylist() == [{"id": 5}]

    def test_what_is_written(self, impl):
        codec = JsonSchemaCodec(self.schema, validate=True)
        column = pa.array([{"id": 1}, None, {"id": 0}], codec.arrow_type)
        array, report = codec.encode(column, errors="report")
        assert array.to_pylist() == [b'{"id":1}', None, None]
        assert report.select(["row", "offset", "path"]).to_pylist() == [
            {"row": 2, "offset": None, "path": "id"}
        ]
        with pytest.raises(EncodeError, match="schema_violation: row 2"):
            codec.encode(column)
        assert JsonSchemaCodec(self.schema).encode(column).null_count == 1

    def test_copies(self):
        codec = pickle.loads(pickle.dumps(JsonSchemaCodec(self.schema, validate=True)))
        assert codec != JsonSchemaCodec(self.schema)
        assert codec.decode([b'{"id":0}'], errors="null").null_count == 1
        validator = pickle.loads(pickle.dumps(Validator(Documents({"$ref": "a"}, [("a", False)]))))
        assert validator.violation(b"1") is not None

    def test_without_the_library(self, monkeypatch):
        monkeypatch.setattr(engine, "library", functools.cache(engine.library.__wrapped__))
        monkeypatch.setattr(validation, "library", engine.library)
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
        with pytest.raises(ConfigError, match=r"install kcodec\[jsonschema\]"):
            JsonSchemaCodec(self.schema, validate=True)
        JsonSchemaCodec(self.schema)


@cases("draft", [4, 7, 2020])
@cases("name", ["Page[Order]", "Page%5BOrder%5D", "Page%3COrder%3E", "a%20b", "é", "["])
def test_references_may_have_any_name_that_is_quoted(draft, name):
    number = {"type": "integer"}
    schema = {
        "properties": {"x": {"$ref": f"#/definitions/{name}"}},
        "definitions": dict.fromkeys(("Page[Order]", "Page<Order>", "a b", "é", "["), number),
    }
    assert accepts(draft, schema, '{"x":1}')
    assert not accepts(draft, schema, '{"x":"a"}')


@cases("draft", [4, 7, 2020])
@cases("name", ["Page<Order>", "a b", "a%b", "a|b"])
def test_references_with_what_has_to_be_quoted_are_refused_as_by_java(draft, name):
    schema = {
        "properties": {"x": {"$ref": f"#/definitions/{name}"}},
        "definitions": {name: {}, "other": {"default": {"$ref": "a b"}}},
    }
    with pytest.raises(SchemaError, match="is not a URI, in which a space is %20 and < is %3C") as caught:
        accepts(draft, schema, "{}")
    assert f"'#/definitions/{name}'" in str(caught.value)
    with pytest.raises(SchemaError, match=r"'a b\.json' is not a URI"):
        violation({"$schema": DRAFTS[draft], "$ref": "a b.json"}, "{}", [("a b.json", {})])


@cases("draft", DRAFTS)
@cases("other", DRAFTS)
def test_schemas_of_schemas_of_any_draft(draft, other):
    schema = {"$schema": DRAFTS[draft], "properties": {"s": {"$ref": DRAFTS[other]}}}
    assert violation(schema, '{"s":{"type":"object"}}') is None
    assert violation(schema, '{"s":{"type":"none"}}')[0] == "s.type"
    # Their own expressions are told in the reason.
    if other == 2020:
        assert '"^[A-Za-z_][-A-Za-z0-9._]*$"' in violation(schema, '{"s":{"$anchor":"1 2"}}')[1]


@cases("place", ["default", "const", "examples/0", "x-else", "enum/0"])
def test_patterns_that_only_a_reference_reaches(impl, place):
    key, _, number = place.partition("/")
    part = {"pattern": "^abc$"}
    schema = {
        "properties": {"s": {"properties": {"t": {"$ref": f"#/x/{place}"}}}},
        "x": {key: [part] if number else part},
    }
    column, report = JsonSchemaCodec(schema, validate=True).decode(
        [b'{"s":{"t":"abc"}}', b'{"s":{"t":"x"}}'], errors="report"
    )
    assert column.null_count == 1
    assert report["reason"].to_pylist() == ['pattern at /s/t: the value does not match "^abc$"']


@pytest.mark.parametrize("draft", OLD)
def test_an_identifier_beside_the_reference_of_the_root(draft):
    key = "id" if draft == 4 else "$id"
    named = [("https://x.org/b.json", {"type": "integer"})]
    root = {"$schema": OLD[draft], key: "https://x.org/a.json"}
    assert violation({**root, "$ref": "b.json"}, "1", named) is None
    assert violation({**root, "$ref": "b.json"}, '"1"', named) is not None
    inner = {"definitions": {"d": {"properties": {"p": {"$ref": "b.json"}}}}, "$ref": "#/definitions/d"}
    assert violation({**root, **inner}, '{"p":1}', named) is None
    assert violation({**root, **inner}, '{"p":"1"}', named)[0] == "p"


@pytest.mark.parametrize("draft", OLD)
def test_pointers_of_a_part_with_an_identifier_start_at_the_root(draft):
    """As Confluent's reader takes them; what only the part has is found there all the same."""
    key = "id" if draft == 4 else "$id"
    kinds = {"string": '"x"', "number": "1", "null": "null"}
    for own in ({}, {key: "https://x.org/a.json"}, {key: "a.json"}):
        for pointer, kind in (
            ("#/definitions/x", "number"),
            ("#/definitions/y", "null"),
            ("#/definitions/z", "string"),
        ):
            part = {key: "https://x.org/b.json", "properties": {"r": {"$ref": pointer}}}
            part["definitions"] = {"x": {"type": "string"}, "z": {"type": "string"}}
            schema = {"$schema": OLD[draft], **own, "properties": {"p": part}}
            schema["definitions"] = {"x": {"type": "number"}, "y": {"type": "null"}}
            refers = {"$schema": OLD[draft], **own, "allOf": [{"$ref": "c.json"}]}
            # What is named like the document that refers to it stands twice.
            named = [("c.json", {**schema, key: "c.json"})]
            for each, value in kinds.items():
                document = f'{{"p":{{"r":{value}}}}}'
                assert (violation(schema, document) is None) is (each == kind), (own, pointer, each)
                assert (violation(refers, document, named) is None) is (each == kind), (own, pointer, each)


@pytest.mark.parametrize("draft", OLD)
def test_an_identifier_beside_the_reference_of_a_part(draft):
    key = "id" if draft == 4 else "$id"
    part = {key: "https://x.org/b/", "$ref": "c.json", "type": "string"}
    schema = {"$schema": OLD[draft], "items": {"$ref": "https://x.org/b/"}, "definitions": {"part": part}}
    named = [("https://x.org/b/c.json", {"type": "integer"})]
    assert violation(schema, "[1]", named) is None
    assert violation(schema, '["x"]', named)[0] == "[0]"
    root = {"$ref": "#/definitions/x"}
    schema["definitions"] = {"x": {"type": "integer"}, "part": {key: "https://x.org/b/", **root}}
    assert violation(schema, "[1]") is None
    assert violation(schema, '["x"]') is not None
