"""JSON Schemas as a registry keeps them."""

import json
import re
from decimal import Decimal

import pytest
from cases import cases
from vector_files import read_vectors

from kcodec.errors import SchemaError
from kcodec.formats.json_schema.references import is_uri
from kcodec.formats.json_schema.schema import parse
from kcodec.formats.json_schema.schema_format import JsonSchemaFormat
from kcodec.formats.language import NamedText
from kcodec.formats.schema_format import schema_format

JSON = JsonSchemaFormat()


def named(line):
    return [NamedText(each["name"], each["schema"]) for each in line.get("references", ())]


def test_texts_of_the_real_registry():
    checked = 0
    for line in read_vectors("registry_normalize.jsonl.gz"):
        if line["type"] == "JSON":
            schema = JSON.parse(line["schema"], named(line))
            assert JSON.canonical(schema) == line["canonical"], line["id"]
            assert JSON.normalized(schema) == line["normalized"], line["id"]
            assert JSON.normalized(JSON.parse(line["normalized"], named(line))) == line["normalized"]
            checked += 1
    assert checked == 18


def test_what_the_real_registry_refuses():
    accepted = refused = 0
    for line in read_vectors("registry_invalid.jsonl.gz"):
        if line["type"] != "JSON":
            continue
        try:
            schema = JSON.parse(line["schema"], named(line))
            found = "ok"
            try:
                JSON.check_fields(schema)
                fields = "ok"
            except SchemaError:
                fields = "refused"
            accepted += 1
        except SchemaError:
            found = fields = "refused"
            refused += 1
        assert (found == "ok") is (line["register"] == "ok"), line["id"]
        assert (fields == "ok") is (line["register_validate_fields"] == "ok"), line["id"]
    assert (accepted, refused) == (9, 20)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('{"a": NaN, "b": -Infinity}', '{"a":"NaN","b":"-Infinity"}'),
        ("[1e2, 1e-5, 0.1e1, -0.0, 1.10]", None),
        ('{"x": [1e2, 1e-5, 0.1e1, -0.0, 1.10]}', '{"x":[1E+2,0.00001,1,0.0,1.10]}'),
        (' \n{"a": 1} trailing', '{"a":1}'),
        ('{"a": 1, "b": 2, "a": 3}', '{"a":3,"b":2}'),
    ],
)
def test_canonical_text(text, canonical):
    if canonical is None:
        with pytest.raises(SchemaError):
            JSON.parse(text)
    else:
        assert JSON.canonical(JSON.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"properties": {"a": {"type": "foo"}}}', "#/properties/a/type"),
        ('{"allOf": [{}, {"items": 1}]}', "#/allOf/1/items"),
        ('{"patternProperties": {"[": {}}}', "#/patternProperties"),
        ('{"$ref": "#/definitions/none"}', "#/definitions/none"),
    ],
)
def test_errors_have_the_place(text, path):
    with pytest.raises(SchemaError, match=path.replace("$", r"\$")):
        JSON.parse(text)


@cases(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"not":' * 150 + "{}" + "}" * 150,
        '{"x":' * 1500 + "{}" + "}" * 1500,
        '{"minimum": 1e999999999999}',
        '{"minimum": 1e5223372036854775807}',
        '{"minimum": ' + "9" * 100_000 + "}",
        '{"type": "object", "properties": {"a": {"$ref": "http://[x"}}}',
        json.dumps({"pattern": "\\p{" * 500_000}),
        json.dumps({"pattern": "\\k<" * 500_000}),
        json.dumps({"pattern": "a" * 1_000_000 + "|" + "a" * 1_000_000}),
    ],
    ids=range(11),
)
def test_hostile_texts_are_refused(text):
    with pytest.raises(SchemaError):
        JSON.parse(text)


@cases("number", ["1e30", "1e999999999", "12345678901234567890123456789012.0", "1e2", "10.0"])
@cases("key", ["minLength", "maxItems", "minProperties", "maxContains"])
def test_whole_numbers_of_any_size_are_lengths(key, number):
    draft = "https://json-schema.org/draft/2020-12/schema"
    root = parse(f'{{"$schema": "{draft}", "contains": {{}}, "{key}": {number}}}').root
    nodes = root.members or [root]
    assert [each.rules[key] for each in nodes if key in each.rules] == [Decimal(number)]


@pytest.mark.parametrize(
    "number", ["0.5", "1e-999999999", "12345678901234567890123456789012.5", "true", "NaN"]
)
def test_a_length_is_a_whole_number(number):
    with pytest.raises(SchemaError, match="#/maxLength: not an integer"):
        parse(f'{{"maxLength": {number}}}')


@cases(("number", "length"), [("1.5", 1), ("-1.5", -1), ("1e-999999999", 0)])
@cases("key", ["minLength", "maxItems", "minProperties"])
def test_fractions_of_lengths_are_cut_off(key, number, length):
    for draft in NEW:
        assert parse(f'{{"$schema": "{draft}", "{key}": {number}}}').root.rules[key] == length


OLD = [f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 6, 7)]
NEW = [f"https://json-schema.org/draft/{name}/schema" for name in ("2019-09", "2020-12")]


@cases("draft", [*OLD, *NEW])
@cases("key", ["minLength", "maxItems", "minProperties"])
@cases(
    ("number", "is_old"),
    [("2", True), ("2e0", True), ("1.5e1", True), ("-1", True), ("2147483647", True), ("2147483648", False),
     ("-2147483649", False), ("2.0", False), ("20e-1", False), ("1e2", False), ("1e400", False)],
)  # fmt: skip
def test_lengths_that_the_reader_of_a_draft_takes(draft, key, number, is_old):
    text = f'{{"$schema": "{draft}", "properties": {{"a": {{"{key}": {number}}}}}}}'
    if draft in NEW or is_old:
        assert parse(text).root.rules["properties"]["a"].rules[key] == Decimal(number)
    else:
        with pytest.raises(SchemaError, match=f"#/properties/a/{key}: not an integer"):
            parse(text)


@cases("draft", [*OLD, *NEW])
@cases("number", ["0", "-0", "0.0", "0e5", "1e-400"])
def test_a_multiple_of_nothing(draft, number):
    text = f'{{"$schema": "{draft}", "multipleOf": {number}}}'
    if draft in NEW:
        assert parse(text).root.rules["multipleOf"] == Decimal(number)
    else:
        with pytest.raises(SchemaError, match="#/multipleOf: zero"):
            parse(text)


@cases("draft", [*OLD, *NEW])
@cases("key", ["readOnly", "writeOnly", "deprecated"])
@cases("beside", ["", '"$ref": "#", ', '"type": "string", '])
def test_what_schemas_say_of_themselves_is_a_boolean(draft, key, beside):
    parse(f'{{"$schema": "{draft}", {beside} "{key}": true}}')
    text = f'{{"$schema": "{draft}", {beside} "{key}": null}}'
    if draft in NEW or (draft == OLD[2] and key != "deprecated"):
        with pytest.raises(SchemaError, match=f"#/{key}: not a boolean"):
            parse(text)
    else:
        parse(text)


@cases("draft", [*OLD, *NEW])
@cases(
    ("rest", "path"),
    [
        ('"$defs": {"a": {"type": "foo"}}', "#/$defs/a/type"),
        ('"definitions": {"a": []}', "#/definitions/a"),
        ('"properties": {"x": {"$defs": {"a": {"$ref": "#/nope"}}}}', "#/properties/x/$defs/a"),
        ('"not": {"$defs": 1}', "#/not/$defs"),
    ],
)
def test_definitions_of_the_newer_drafts_are_schemas(draft, rest, path):
    text = f'{{"$schema": "{draft}", {rest}}}'
    if draft in NEW:
        with pytest.raises(SchemaError, match=re.escape(path)):
            parse(text)
    else:
        parse(text)


@cases("draft", NEW)
@cases(
    ("rest", "path"),
    [
        ('"$dynamicAnchor": 1', "#/$dynamicAnchor: not text"),
        ('"$dynamicRef": 1', "#/$dynamicRef: not text"),
        ('"$dynamicRef": "#x"', "#: #x does not exist"),
        ('"$dynamicRef": "x.json"', "#: x.json is not the name of a reference"),
        ('"$dynamicRef": "#/x", "x": 1', "#/x: a schema is an object or a boolean"),
        ('"$defs": {"x": {"$dynamicRef": "#x"}}', "#/$defs/x: #x does not exist"),
        ('"$anchor": "a b"', "#/$anchor: not the fragment of a URI"),
        ('"items": {"$dynamicAnchor": "#a"}', "#/items/$dynamicAnchor: not the fragment of a URI"),
        ('"items": {"$anchor": ""}', "#/items/$anchor: not the fragment of a URI"),
        ('"items": {"$anchor": "a"}, "not": {"$dynamicAnchor": "a"}', "nchor: 'a' stands twice"),
        ('"items": {"$dynamicAnchor": "a"}, "not": {"$dynamicAnchor": "a"}', None),
        ('"items": {"$id": "x"}, "unknown": [{"$id": "x#"}]', "$id: 'x"),
        ('"$id": "http://e.org/x", "items": {"$id": "x"}', "$id: 'x' stands twice"),
        ('"items": {"$id": ""}', "$id: '' stands twice"),
        ('"enum": [{"$id": "x"}], "items": {"$id": "x"}', None),
        # The server copies definitions, and their names with them.
        ('"definitions": {"a": {"items": {"$id": "x"}}}', "$id: 'x' stands twice"),
        ('"definitions": {"a": {"$anchor": "x"}}', "$anchor: 'x' stands twice"),
        ('"definitions": {"a": {"$id": "x"}}, "$defs": {"a": {}}', None),
        ('"$defs": {"a": {"items": {"$id": "x", "$anchor": "x"}}}', None),
        ('"definitions": {"x": {}}, "$defs": 1', "#/$defs: not an object"),
        ('"definitions": {"x": 1}', "#/definitions/x: a schema is an object or a boolean"),
        ('"$anchor": 1, "definitions": 1', None),
        ('"$anchor": "a", "$dynamicAnchor": "a", "$dynamicRef": "#a"', None),
        ('"items": {"$id": "http://a.test/1", "$anchor": "a"}, "not": {"$anchor": "a"}', None),
        ('"items": {"definitions": {"x": 1}}', None),
    ],
)
def test_names_of_the_newer_drafts(draft, rest, path):
    text = f'{{"$schema": "{draft}", {rest}}}'
    if path is None:
        parse(text)
    else:
        with pytest.raises(SchemaError, match=re.escape(path)):
            parse(text)


@pytest.mark.parametrize("draft", NEW)
def test_names_of_documents_that_a_newer_draft_refers_to(draft):
    def read(*texts):
        named = [NamedText(f"{number}.json", text) for number, text in enumerate(texts)]
        members = [{"$ref": each.name} for each in named]
        return parse(json.dumps({"$schema": draft, "allOf": members}), named)

    for texts in (
        ['{"$id": "http://e.org/x"}', '{"$id": "http://e.org/x"}'],
        ['{"items": {"$id": "http://e.org/x"}}', '{"not": {"$id": "http://e.org/x"}}'],
        ['{"items": {"$anchor": "a"}, "not": {"$anchor": "a"}}'],
    ):
        with pytest.raises(SchemaError, match="stands twice"):
            read(*texts)
    read('{"definitions": {"a": {"$id": "x", "$anchor": "a"}}}', '{"items": {"$anchor": "a"}}')


_MARKS = {
    4: '"minimum": 1, "exclusiveMinimum": true',
    6: '"readOnly": 1, "propertyNames": {}',
    7: '"items": [{}]',
    2020: '"minLength": 1.5',
}


def test_drafts_that_are_named_otherwise():
    for draft, names in (
        (4, ["https://json-schema.org/draft-04/schema", "http://json-schema.org/schema#"]),
        (6, ["https://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-06/schema/"]),
        (
            7,
            [
                "https://json-schema.org/draft-07/schema#",
                "http://e.org/",
                "HTTP://json-schema.org/draft-04/schema",
            ],
        ),
        (
            2020,
            ["http://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft/2020-12/schema#"],
        ),
    ):
        for name in names:
            schema = parse(f'{{"$schema": "{name}", {_MARKS[draft]}}}')
            assert schema.documents.main.draft == draft
            assert schema.root.kind != "empty"
    for value in ("null", "4", "{}"):
        with pytest.raises(SchemaError, match="schema: not text"):
            parse(f'{{"$schema": {value}}}')


@cases("main", [*OLD, *NEW])
@cases("other", [*OLD, *NEW, "http://e.org/", None])
def test_drafts_of_documents_that_are_referred_to(main, other):
    """Those of a newer draft are all read as it; those of an older one as what they name, or as it but for draft 4."""
    known = dict(zip(OLD, (4, 6, 7), strict=True))
    expected = known.get(other, known[main]) if main in OLD else 2020
    reference = NamedText("a.json", json.dumps({"$schema": other} if other else {}))
    parse(f'{{"$schema": "{main}"}}', [reference])
    text = f'{{"$schema": "{main}", "items": {{"$ref": "a.json"}}}}'
    if main == OLD[0] and other not in (*OLD, None):
        with pytest.raises(SchemaError, match=re.escape("#/items: a.json is of a draft")):
            parse(text, [reference])
    else:
        documents = parse(text, [reference]).documents
        assert documents.find(documents.main, "a.json", "#").resource.draft == expected


@pytest.mark.parametrize("draft", NEW)
def test_definitions_may_refer_to_everything(draft):
    definitions = {
        f"d{n}": {"properties": {f"p{at}": {"$ref": f"#/$defs/d{at}"} for at in range(20)}} for n in range(20)
    }
    definitions["root"] = {"items": {"$ref": "#"}, "$defs": {"inner": {"$ref": "#/$defs/root"}}}
    assert (
        parse(json.dumps({"$schema": draft, "$defs": definitions, "$ref": "#/$defs/d0"})).root.kind
        == "reference"
    )


@pytest.mark.parametrize("draft", [*OLD, *NEW])
def test_what_no_draft_looks_at_may_be_anything(draft):
    with pytest.raises(SchemaError, match=re.escape("#/$ref: empty")):
        parse(f'{{"$schema": "{draft}", "$ref": ""}}')
    text = f'{{"$schema": "{draft}", "contains": {{}}, "minContains": "x", "then": 1}}'
    if draft in NEW:
        assert parse(text).root.rules["minContains"] == 1
    elif draft == OLD[2]:
        with pytest.raises(SchemaError, match="#/then"):
            parse(text)
    else:
        parse(text)


@cases("draft", [*OLD, *NEW])
@cases(
    ("rest", "path", "refused"),
    [
        ('"items": true', "#/items", OLD[:1]),
        ('"dependencies": {"a": false}', "#/dependencies/a", OLD[:1]),
        ('"$id": 5', "#/$id", OLD[1:]),
        ('"$id": "a#b"', "#/$id", NEW),
        ('"properties": {"x": {"$id": "a#b"}}', "", []),
    ],
)
def test_what_only_some_drafts_refuse(draft, rest, path, refused):
    text = f'{{"$schema": "{draft}", {rest}}}'
    if draft in refused:
        with pytest.raises(SchemaError, match=re.escape(path)):
            parse(text)
    else:
        parse(text)


def test_values_nested_deeply_are_kept():
    text = '{"x":' * 400 + "{}" + "}" * 400
    assert JSON.canonical(JSON.parse(text)) == text


@pytest.mark.parametrize(
    "pattern", [r"^\p{L}+$", "(?<year>[0-9]{4})", "a++", r"\Aa\z", "[a-z&&[^b]]", "(?i)a"]
)
def test_regular_expressions_of_java_are_taken(pattern):
    assert parse(json.dumps({"pattern": pattern})).root.rules["pattern"] == pattern


def test_a_type_that_stands_many_times_is_read_once():
    names = [f"n{n}" for n in range(20_000)]
    source = {"type": ["object", "string"] * 10_000, "required": names, **dict.fromkeys(names, 1)}
    members = parse(json.dumps(source)).root.members
    assert [len(members), *(each.kind for each in members[:2])] == [20_000, "object", "string"]


def test_references_by_name_and_by_identifier():
    root = {"$id": "http://a.test/x/root.json", "properties": {"p": {"$ref": "leaf.json#/$defs/K"}}}
    leaf = {"definitions": {"K": {"type": "integer"}}}
    found = parse(json.dumps(root), [NamedText("leaf.json", json.dumps(leaf))])
    assert found.root.rules["properties"]["p"].target.kind == "number"
    leaf["$id"] = "http://a.test/x/leaf.json"
    found = parse(json.dumps(root), [NamedText("other", json.dumps(leaf))])
    assert found.root.rules["properties"]["p"].target.kind == "number"
    with pytest.raises(SchemaError, match="not the name of a reference"):
        parse(json.dumps(root))


def test_anchors_of_newer_drafts_are_of_the_part_that_has_an_identifier():
    for places, reference, found in (
        ("a", "#there", True),
        ("b", "#there", True),
        ("ab", "#there", False),
        ("ba", "#there", False),
        ("ab", "root.json#there", True),
        ("ba", "b.json#there", True),
    ):
        root = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "http://a.test/root.json"}
        root["$defs"] = {"a": {"$defs": {}}, "b": {"$id": "b.json", "$defs": {}}}
        root["$defs"][places[0]]["$defs"]["anchor"] = {"$anchor": "there"}
        root["$defs"][places[-1]]["$defs"]["reference"] = {"$ref": reference}
        if found:
            parse(json.dumps(root))
        else:
            with pytest.raises(SchemaError, match="does not exist"):
                parse(json.dumps(root))


def test_anchors_and_parts_with_identifiers():
    root = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "http://a.test/root.json",
        "properties": {
            "p": {"$ref": "#there"},
            "q": {"$ref": "part.json"},
            "r": {"$ref": "part.json#/$defs/s"},
        },
        "$defs": {
            "one": {"$anchor": "there", "type": "string"},
            "two": {"$id": "part.json", "type": "boolean", "$defs": {"s": {"type": "null"}}},
        },
    }
    properties = parse(json.dumps(root)).root.rules["properties"]
    assert [properties[name].target.kind for name in "pqr"] == ["string", "boolean", "null"]


@cases("draft", [*OLD, *NEW])
@cases("scheme", ["http:", "https:"])
def test_a_metaschema_is_known_without_being_fetched(draft, scheme):
    text = f'{{"$ref": "{scheme}{draft.partition(":")[2]}"}}'
    assert parse(text).root.target.kind == "combined"


@pytest.mark.parametrize("draft", [OLD[0], NEW[0]])
def test_identifiers_have_a_length_together(draft):
    key = "id" if draft in OLD else "$id"
    text = "".join(f'{{"{key}": "{"x" * 3000}/", "a": ' for _ in range(300))
    with pytest.raises(SchemaError, match="identifiers in the schema have more than"):
        parse(f'{{"$schema": "{draft}", "a": {text}1{"}" * 301}')


def test_it_is_a_schema_format():
    known = schema_format("JSON")
    assert known == JSON
    assert JSON.record_name('{"title": "Order"}') == "Order"
    assert JSON.record_name("true") is None
    assert JSON.same(JSON.parse('{"a": 1, "b": 2}'), JSON.parse('{"b": 2, "a": 1}'))
    found = JSON.differences(JSON.parse('{"type": "integer"}'), JSON.parse('{"type": "number"}'))
    assert [JSON.explain(each, "old", "new") for each in found] == [
        '{errorType:"TYPE_NARROWED", description:"A type at path \'#/\' is different between the old schema and the '
        "new schema'}"
    ]


@cases(
    "text",
    ["", "#", "#a[b]", "x?a[b]", "a%20b", "é", "urn:a[b]", "//[::1]:80/x", "http://é@[::1]", "///x", "a/b:c"],
)
def test_uris_that_java_takes(text):
    assert is_uri(text)


@cases(
    "text",
    ["a b", "a<", "a[b]", "/a]", "##", "a#b#", "a%b", "%4", "a\u00a0", "\u2028", "\x85", "a\x00", ":a", "é:a", "1:a",
     "a:", "a:#b", "//", "http://", "//[x/", "//x[/", "\\", "{a}", "^", "`", "|", '"'],
)  # fmt: skip
def test_what_java_takes_for_no_uri(text):
    assert not is_uri(text)


@pytest.mark.parametrize(
    ("reference", "refused"),
    [
        ({"definitions": {"a": {}}, "$ref": "#/definitions/b"}, True),
        ({"definitions": {"a": {}, "b": {"$ref": "#/definitions/c"}}}, True),
        ({"definitions": {"a": {}}, "minLength": "x"}, True),
        ({"definitions": {"a": {}}, "items": [{}]}, True),
        ({"definitions": {"a": {}}, "anyOf": [{"$ref": "other.json"}]}, True),
        ({"definitions": {"a": {}}, "x": {"$ref": "#/definitions/b"}}, False),
    ],
)
def test_documents_that_are_referred_to_are_read_whole_by_newer_drafts(reference, refused):
    """Asked of json-sKema 0.31.0 and everit 1.14.6 in Confluent's registry."""
    named = [NamedText("a.json", json.dumps(reference))]
    part = {"$ref": "a.json#/definitions/a"}
    parse(json.dumps(part), named)
    newer = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    parse(json.dumps(newer), named)
    if refused:
        with pytest.raises(SchemaError):
            parse(json.dumps({**newer, **part}), named)
    else:
        parse(json.dumps({**newer, **part}), named)


@pytest.mark.parametrize("text", ["true", "false", "[]", "null", "5"])
def test_references_of_older_drafts_are_objects(text):
    named = [NamedText("a.json", text)]
    with pytest.raises(SchemaError, match=r"a\.json: before draft 2019-09"):
        parse("{}", named)
    parse('{"$schema": "https://json-schema.org/draft/2020-12/schema"}', named)
