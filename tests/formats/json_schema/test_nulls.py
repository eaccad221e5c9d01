"""Nulls and properties that are not there: columns do not tell one from the other, schemas do."""

import json

from cases import cases
from hypothesis import assume, given
from hypothesis import strategies as st
from side_by_side import on_both

from kcodec import JsonSchemaCodec, Serde
from kcodec.formats.json_schema.references import Documents
from kcodec.formats.json_schema.validation import Validator

NULLABLE = {"type": ["null", "string"]}
#: What a schema may say of its object beside the properties: a null that is added could lead to another verdict.
BESIDE = {
    "dependencies": {"dependencies": {"a": ["b"]}},
    "dependentRequired": {"dependentRequired": {"a": ["b"]}},
    "dependentSchemas": {"dependentSchemas": {"a": {"required": ["b"]}}},
    "propertyNames": {"propertyNames": {"enum": ["b", "c"]}},
    "maxProperties": {"maxProperties": 1},
    "not": {"not": {"required": ["a"]}},
    "if": {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
    "if of a value": {"if": {"properties": {"a": {"const": "x"}}}, "then": {"required": ["b"]}},
    "oneOf": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "allOf": {"allOf": [{"maxProperties": 1}]},
    "patternProperties": {"patternProperties": {"^a": {"minLength": 1, "type": "string"}}},
}
NEWEST = "https://json-schema.org/draft/2020-12/schema"


def written_again(schema, *documents, **arguments):
    codec = JsonSchemaCodec(schema, **arguments)
    return codec.encode(codec.decode(documents)).to_pylist()


@cases(
    "kind", [{}, True, {"not": {}}, {"minimum": 1}, {"description": "of any kind"}, {"anyOf": [{}, NULLABLE]}]
)
def test_nothing_is_added_where_the_schema_does_not_say_null(impl, kind):
    schema = {"properties": {"op": {"type": "string"}, "value": kind}}
    documents = [b'{"op":"remove"}', b"{}"]
    for validate in (False, True):
        assert written_again(schema, *documents, validate=validate) == documents
    nested = {"items": {"anyOf": [schema, {"type": "null"}]}}
    assert written_again(nested, b'[{"op":"remove"},null]') == [b'[{"op":"remove"},null]']
    # What is required stands there, and a null where the schema has one.
    assert written_again({**schema, "required": ["value"]}, b'{"value":null}')[0] in (b'{"value":null}', None)
    assert written_again({"properties": {"a": NULLABLE}}, b"{}") == [b'{"a":null}']


def test_text_of_json_may_be_null(impl):
    codec = JsonSchemaCodec({"properties": {"value": {}}})
    assert codec.encode([{"value": "null"}, {"value": None}]).to_pylist() == [b'{"value":null}', b"{}"]


@cases("validate", [False, True])
@cases("beside", BESIDE)
def test_a_null_would_change_the_verdict(impl, beside, validate):
    schema = {"$schema": NEWEST, "properties": {"a": {}, "b": {}, "c": {}}, **BESIDE[beside]}
    if beside == "dependencies":
        del schema["$schema"]
    documents = [b'{"c":"x"}', b"{}"] if beside not in ("oneOf", "if of a value") else [b'{"b":"x"}']
    assert written_again(schema, *documents, validate=validate) == documents
    if beside != "patternProperties":
        schema["properties"].update(a=NULLABLE)
        if beside in ("propertyNames", "maxProperties", "allOf"):
            schema["properties"].update(b=NULLABLE, c=NULLABLE)
        assert written_again(schema, *documents, validate=validate) == documents


def test_what_is_not_valid_is_tried_the_other_way(impl):
    """Nulls that were read, though they are left out by rule, and the other way round."""
    schema = {
        "properties": dict.fromkeys("abc", NULLABLE),
        "minProperties": 2,
        "maxProperties": 2,
        "patternProperties": {"c": {"type": "string"}},
    }
    documents = [b'{"a":null,"b":null}', b'{"a":"x","b":null}', b'{"b":null,"c":"x"}']
    assert written_again(schema, *documents)[0] == b"{}"
    found = written_again(
        {"items": schema}, *(b"[%b,%b]" % (each, each) for each in documents), validate=True
    )
    codec = JsonSchemaCodec({"items": schema}, validate=True)
    assert codec.decode(found).null_count == 0
    assert found[0] == b"[%b,%b]" % (documents[0], documents[0])
    # What holds whatever is left out is an error still, with the values that others have in their places.
    rows = [{"a": "x", "b": "y", "c": "z"}, {"a": "x", "b": None, "c": None}]
    array, report = JsonSchemaCodec(schema, validate=True).encode(rows, errors="report")
    assert array.to_pylist()[0] is None
    assert json.loads(array.to_pylist()[1]) == {"a": "x", "b": None}
    assert report["row"].to_pylist() == [0]
    assert report["code"].to_pylist() == ["schema_violation"]


def test_numbers_and_texts_of_what_is_tried_stay_as_they_are(impl):
    schema = {
        "properties": {
            "a": NULLABLE,
            "d": {"type": "number"},
            "s": {"type": "string"},
            "j": {},
            "l": {"items": {"properties": {"a": NULLABLE}}},
        },
        "additionalProperties": False,
        "patternProperties": {"a": {"type": "string"}},
    }
    document = (
        '{"d":1.0E10,"s":"\\uD83D\\uDE00,{}:[é\\"","j":{"a":null,"b":[1E+2,{}]},"l":[{"a":"x"},{"a":null}]}'
    )
    assert written_again(schema, document.encode(), validate=True) == [document.encode()]


def test_in_a_registry(impl):
    schema = {
        "title": "T",
        "properties": {"a": NULLABLE, "b": {}},
        "patternProperties": {"^a$": {"type": "string"}},
    }
    config = {"json.fail.invalid.schema": True}
    serde = Serde("JSON_SR", "memory://nulls", topic="t", schema=json.dumps(schema), config=config)
    written = serde.serialize([{"a": None, "b": "1"}, {"a": None, "b": None}, {"a": "x", "b": None}])
    assert [value[5:] for value in written.to_pylist()] == [b'{"b":1}', b"{}", b'{"a":"x"}']
    assert serde.deserialize(written).null_count == 0


KINDS = st.sampled_from(
    [{}, True, NULLABLE, {"type": "string"}, {"minLength": 1}, {"enum": [None, "x"]}, {"enum": ["x"]}]
)
NAMES = st.sets(st.sampled_from("abcd"), max_size=3).map(sorted)


@st.composite
def objects(draw, depth=1):
    names = draw(st.sampled_from(["ab", "abc", "abcd"]))
    kinds = KINDS if not depth else st.one_of(KINDS, objects(depth=depth - 1))
    schema = {"properties": {name: draw(kinds) for name in names}}
    keywords = {
        "required": NAMES,
        "dependencies": st.dictionaries(st.sampled_from("abcd"), NAMES, max_size=2),
        "propertyNames": NAMES.map(lambda found: {"enum": [*found, "a"]}),
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(1, 3),
        "not": NAMES.filter(bool).map(lambda found: {"required": found}),
        "patternProperties": st.just({"[ab]": {"type": ["string", "object"]}}),
        "oneOf": st.lists(NAMES, min_size=1, max_size=3, unique_by=tuple).map(
            lambda found: [{"required": each} for each in found]
        ),
        "anyOf": st.lists(NAMES, min_size=1, max_size=3).map(lambda found: [{"required": each} for each in found]),
        "if": NAMES.map(lambda found: {"required": found}),
        "then": NAMES.map(lambda found: {"required": found}),
    }  # fmt: skip
    for key in draw(st.sets(st.sampled_from(sorted(keywords)), max_size=3)):
        schema[key] = draw(keywords[key])
    return schema


@st.composite
def valid(draw):
    """A schema, and documents of which all properties have columns."""

    def document(schema):
        return {
            name: document(below)
            if isinstance(below, dict) and "properties" in below
            else draw(st.sampled_from([None, "x"]))
            for name, below in schema["properties"].items()
            if draw(st.booleans())
        }

    schema = draw(objects())
    validator = Validator(Documents(schema, []))
    texts = [json.dumps(document(schema)).encode() for _ in range(5)]
    return schema, [text for text in texts if validator.violation(text) is None]


@given(valid())
def test_what_is_read_is_written_so_that_it_is_valid(pair):
    schema, documents = pair
    assume(documents)
    codec = JsonSchemaCodec(schema, validate=True)

    def written():
        columns, report = codec.decode(documents, errors="report")
        again, wrong = codec.encode(columns, errors="report")
        assert wrong.num_rows == 0
        assert again.null_count == report.num_rows
        assert codec.decode(again, errors="report")[0].equals(columns)
        return again.to_pylist()

    on_both(written)
