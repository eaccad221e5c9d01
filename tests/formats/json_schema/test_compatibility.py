"""Differences that Confluent's registry finds between pairs of JSON Schemas."""

import json

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from vector_files import read_vectors

from kcodec.errors import SchemaError
from kcodec.formats.json_schema.comparison import _match
from kcodec.formats.json_schema.compatibility import changes, differences
from kcodec.formats.json_schema.difference_types import BREAKING, LENIENT, describe
from kcodec.formats.json_schema.schema import parse
from kcodec.formats.language import NamedText

STRING = {"type": "string"}


def model(text, references=()):
    if not isinstance(text, str):
        text = json.dumps(text)
    return parse(text, [NamedText(each["name"], each["schema"]) for each in references]).root


def kinds(old, new):
    return [(each.type, each.path) for each in changes(model(old), model(new))]


def test_differences_of_the_real_registry():
    """Every line, but those where the original throws, which are below."""
    lines = read_vectors("registry_json_compat.jsonl.gz")
    seen, thrown = set(), 0
    for line in lines:
        old = model(line["old"], line.get("old_references", ()))
        new = model(line["new"], line.get("new_references", ()))
        found = changes(old, new)
        assert not differences(old, old)
        if "error" in line:
            assert [each.type in BREAKING for each in found] == [True], line["id"]
            thrown += 1
            continue
        listed = line["differences_seen"] if line["differences"] is None else [line["differences"]]
        expected = [sorted((each["path"], each["type"]) for each in one) for one in listed]
        assert sorted((each.path, each.type) for each in found) in expected, line["id"]
        assert (not differences(new, old)) is line["backward"], line["id"]
        assert (not differences(new, old, lenient=True)) is line["backward_lenient"], line["id"]
        seen.update(each.type for each in found)
    print(f"{len(lines)} pairs, {thrown} of them throw in the original; {len(seen)} types of differences")
    assert (len(lines), thrown) == (734, 3)


def test_differences_where_drafts_differ():
    """Pairs on which the registry's own rules, run on its commit 794611bd, always give the same.

    Unchanged schemas within ``not``, the parts of schemas of the newer drafts in the order of a hash table, keywords
    about ``contains`` in drafts that do not know them, ``unevaluated*`` that allow all, identifiers and null defaults,
    members of the newer drafts that say the same in other words, or in a part of them, what lists of types take up,
    pointers within parts that have an identifier, true beside an object that demands nothing, and schemas within
    themselves.
    """
    lines = read_vectors("registry_json_compat_more.jsonl.gz")
    for line in lines:
        old, new = model(line["old"]), model(line["new"])
        found = sorted((each.path, each.type) for each in changes(old, new))
        assert found == sorted((each["path"], each["type"]) for each in line["differences"]), line
        assert (not differences(new, old)) is line["backward"], line
        assert (not differences(new, old, lenient=True)) is line["backward_lenient"], line
    assert len(lines) == 215


def test_parts_of_a_reference_stand_in_the_order_of_its_text():
    """Those of the main document in that of a hash table, as the server reads the two."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    main = {**draft, "properties": {"p": {"$ref": "r.json"}}}
    long, short = ({"oneOf": [{**STRING, "minLength": length}]} for length in (2, 1))
    number = {"type": "number"}
    for before, after, place in (
        (number | long, number | short, "#/properties/p/allOf/1/oneOf/0/minLength"),
        (long | number, short | number, "#/properties/p/allOf/0/oneOf/0/minLength"),
    ):
        old, new = (
            model(main, [{"name": "r.json", "schema": json.dumps(draft | each)}]) for each in (before, after)
        )
        assert [(each.type, each.path) for each in changes(old, new)] == [("MIN_LENGTH_DECREASED", place)]
        assert kinds(draft | before, draft | after) == [
            ("MIN_LENGTH_DECREASED", "#/allOf/0/oneOf/0/minLength")
        ]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            {"type": "array", "items": [STRING]},
            {"items": [{"type": "integer"}], "additionalItems": False, "maxItems": 3, "minContains": 1}
            | {"type": "array", "uniqueItems": True, "minItems": 1},
            [
                ("TYPE_CHANGED", "#/items/0"),
                ("ADDITIONAL_ITEMS_REMOVED", "#/additionalItems"),
                ("MAX_ITEMS_ADDED", "#/maxItems"),
                ("MIN_ITEMS_ADDED", "#/minItems"),
                ("UNIQUE_ITEMS_ADDED", "#/uniqueItems"),
                ("MIN_CONTAINS_ADDED", "#/minContains"),
            ],
        ),
        (
            {"properties": {"id": {}, "price": {}, "name": {}}},
            {"properties": {"id": {}, "price": {}, "name": {}}, "required": ["id", "name", "price"]}
            | {"minProperties": 1, "dependencies": {"x": ["a"], "b": ["c"]}},
            [
                *(("REQUIRED_ATTRIBUTE_ADDED", f"#/required/{name}") for name in ("price", "name", "id")),
                *(("DEPENDENCY_ARRAY_ADDED", f"#/dependencies/{name}") for name in "bx"),
                ("MIN_PROPERTIES_ADDED", "#/minProperties"),
            ],
        ),
    ],
)
def test_order_of_differences(old, new, found):
    """That of the registry's messages."""
    assert kinds(old, new) == found


def test_types_of_differences_are_counted_as_the_original_has_them():
    assert (len(BREAKING), len(LENIENT)) == (66, 9)
    assert LENIENT < BREAKING


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        # The original throws.
        (
            {"type": "number", "exclusiveMaximum": 7},
            {"type": "number", "exclusiveMaximum": 4},
            [("EXCLUSIVE_MAXIMUM_DECREASED", "#/exclusiveMaximum")],
        ),
        ({"const": None}, {"const": 1}, [("ENUM_ARRAY_CHANGED", "#/const")]),
        ({"const": None}, {"const": None}, []),
        # A higher maximum hides it, there and here.
        (
            {"type": "number", "exclusiveMaximum": 9, "maximum": 10},
            {"type": "number", "exclusiveMaximum": 8, "maximum": 10},
            [],
        ),
    ],
)
def test_where_the_original_throws_there_is_a_difference(old, new, found):
    assert kinds(old, new) == found


def test_a_reference_is_followed_one_step():
    chain = {
        "$ref": "#/definitions/A",
        "definitions": {"A": {"$ref": "#/definitions/B"}, "B": {"type": "integer"}},
    }
    other = {**chain, "definitions": {"A": {"$ref": "#/definitions/B"}, "B": {"type": "string"}}}
    assert kinds(chain, other) == []


@pytest.mark.parametrize(
    "draft", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
)
def test_hostile_schemas_end(draft):
    def bomb(leaf):
        definitions = {"d0": leaf}
        for level in range(1, 60):
            step = {"$ref": f"#/definitions/d{level - 1}"}
            definitions[f"d{level}"] = {"type": "object", "properties": {"a": step, "b": step}}
        return {"$schema": draft, "definitions": definitions, "$ref": "#/definitions/d59"}

    found = differences(model(bomb({"type": "integer"})), model(bomb({"type": "number"})))
    assert 0 < len(found) <= 1000
    circle = {"$schema": draft, "$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/b"}}}
    circle["definitions"]["b"] = {"$ref": "#/definitions/a"}
    assert differences(model(circle), model(circle)) == []
    assert differences(model({"$ref": "#"}), model({"$ref": "#"})) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('{"maxLength": 1e30}', '{"maxLength": 2e30}', [("MAX_LENGTH_INCREASED", "#/maxLength")]),
        ('{"maxItems": 1e30}', '{"maxItems": 1.0e30}', []),
        ('{"minItems": 1e999999999}', '{"minItems": 3}', [("MIN_ITEMS_DECREASED", "#/minItems")]),
        (
            '{"multipleOf": 1e999999999}',
            '{"multipleOf": 2e999999999}',
            [("MULTIPLE_OF_EXPANDED", "#/multipleOf")],
        ),
        (
            '{"multipleOf": 6e-999999999}',
            '{"multipleOf": 3e-999999999}',
            [("MULTIPLE_OF_REDUCED", "#/multipleOf")],
        ),
        ('{"multipleOf": 0.3}', '{"multipleOf": 1e1000}', [("MULTIPLE_OF_CHANGED", "#/multipleOf")]),
        ('{"multipleOf": 0.25}', '{"multipleOf": 1e1000}', [("MULTIPLE_OF_EXPANDED", "#/multipleOf")]),
    ],
)
def test_large_numbers_are_compared(old, new, found):
    # The drafts up to 7 have no such lengths.
    draft = '{"$schema": "https://json-schema.org/draft/2020-12/schema", '
    assert kinds(draft + old[1:], draft + new[1:]) == found


def test_everything_refers_to_everything():
    """Schemas that refer to each other without end are compared within bounds."""

    def web(leaf, size=60):
        every = {f"p{n}": {"$ref": f"#/definitions/d{n}"} for n in range(size)}
        one = {"type": "object", "properties": {**every, "leaf": leaf}}
        return {"$ref": "#/definitions/d0", "definitions": {f"d{n}": one for n in range(size)}}

    assert differences(model(web({"type": "integer"})), model(web({"type": "number"})))
    assert not differences(model(web({"type": "integer"})), model(web({"type": "integer"})))


def test_many_properties_are_compared():
    wide = {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(20_000)}}
    narrow = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(20_000)}}
    assert len(differences(model(wide), model(narrow))) == 1000


def test_many_required_names_are_compared():
    names = [f"p{n}" for n in range(30_000)]
    closed = {"type": "object", "additionalProperties": False}
    full = {**closed, "properties": dict.fromkeys(names, True)}
    assert kinds({**full, "required": names}, {**full, "required": names[::-1]}) == []
    added = kinds(closed, {**full, "required": names[::-1]})
    assert {kind for kind, _ in added} == {"REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"}


def test_many_members_are_compared():
    def choice(size, first="v"):
        return {"oneOf": [{"const": first}, *({"const": f"v{n}"} for n in range(size))]}

    assert kinds(choice(3000), choice(3001)) == [("SUM_TYPE_EXTENDED", "#/")]
    assert kinds(choice(3001), choice(3000)) == [("SUM_TYPE_NARROWED", "#/")]
    assert kinds(choice(500), choice(500, "w")) == [("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/")]


@pytest.mark.parametrize("target", ["#/definitions/a", "#"])
def test_members_that_refer_to_one_schema_are_work(target):
    def choice(first, size):
        members = [{"$ref": target, "x": f"{first}{n}"} for n in range(size)]
        return {"definitions": {"a": {"type": "string"}}, "oneOf": members}

    assert kinds(choice("v", 100), choice("w", 101))[0] == ("SUM_TYPE_EXTENDED", "#/")
    with pytest.raises(SchemaError, match="takes more than"):
        kinds(choice("v", 1000), choice("w", 1000))


def test_a_choice_that_many_refer_to_is_work():
    choice = {"oneOf": [{"$ref": "#/definitions/no", "x": n} for n in range(800)]}
    definitions = {"no": {"type": "boolean"}, "choice": choice}

    def model_of(kind):
        return model(
            {
                "definitions": definitions,
                "type": "object",
                "properties": {f"p{n}": kind(n) for n in range(800)},
            }
        )

    old, new = model_of(lambda n: {"title": f"t{n}"}), model_of(lambda n: {"$ref": "#/definitions/choice"})
    with pytest.raises(SchemaError, match="takes more than"):
        changes(old, new)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("criterion", ["oneOf", "anyOf", "allOf"])
def test_many_members_that_have_nothing_in_common_are_work(criterion):
    def choice(first, size):
        names = [[f"{first}{n}_{place}" for place in range(3)] for n in range(size)]
        return {
            criterion: [{"required": each[:1], "properties": dict.fromkeys(each, STRING)} for each in names]
        }

    assert kinds(choice("a", 60), choice("b", 60)) == [("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/")]
    with pytest.raises(SchemaError, match="takes more than 150000 steps"):
        kinds(choice("a", 400), choice("b", 400))
    # Of those in the same words none is compared with others.
    assert kinds(choice("a", 400), choice("a", 401))[0][0] in ("SUM_TYPE_EXTENDED", "PRODUCT_TYPE_EXTENDED")


def test_matching_many_members_with_few_is_little_work():
    looked = []

    class Edges(dict):
        def __iter__(self):
            looked.append(len(self))
            return super().__iter__()

    assert len(_match([Edges.fromkeys(range(30)) for _ in range(1000)])) == 30
    assert sum(looked) < 100_000


def test_a_pattern_that_backtracks_does_not_hang():
    old = {"type": "object", "patternProperties": {"(a|aa)+$": {"type": "string"}}}
    new = {**old, "properties": {"a" * 100 + "!": {"type": "string"}}}
    assert kinds(old, new) == [
        ("OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", f"#/properties/{'a' * 100}!")
    ]
    old["patternProperties"] = {"(?=a)(a|aa)+$": {"type": "string"}}
    assert len(kinds(old, new)) == 1
    # Empty alternatives in a row are as many ways as repeated groups.
    old["patternProperties"] = {"(?!z)" + "(||||||||||)" * 12 + "!!": {"type": "string"}}
    assert len(kinds(old, new)) == 1
    old["patternProperties"] = {"^(?:(?=a)a|a(?=a|b))*$": {"type": "string"}}
    with pytest.raises(SchemaError, match="takes too long"):
        kinds(old, new)
    old["patternProperties"] = {r"(?!q)\p{L}{200}": {"type": "string"}}
    with pytest.raises(SchemaError, match="is too large"):
        kinds(old, new)


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ([f"^q{n}$" for n in range(2000)], [f"p{n}" for n in range(2000)]),
        (["^a", "[c-z]$"], ["b" * 4_000_000]),
        ([f"(?!q)a*a*a*b{n}" for n in range(40)], ["a" * 90 + str(n) for n in range(1000)]),
        (["(?i:[\\u0001-\\uffff])" * 4000], ["a"]),
    ],
    ids=["many", "long", "backtracking", "case"],
)
def test_matching_names_with_patterns_is_work(patterns, names):
    old = {"type": "object", "patternProperties": dict.fromkeys(patterns, True)}
    new = {**old, "properties": dict.fromkeys(names, True)}
    with pytest.raises(SchemaError, match="takes more than"):
        kinds(old, new)


def test_the_first_pattern_that_matches_a_name_counts():
    patterns = {"^a": {"type": "string"}, "(?<!b)c": {"type": "integer"}, "[ab]": {"type": "boolean"}}
    old = {"type": "object", "patternProperties": patterns, "additionalProperties": {"type": "null"}}
    properties = {"ac": "string", "xc": "integer", "bc": "boolean", "d": "null", "\ud800": "null"}
    new = {**old, "properties": {name: {"type": kind} for name, kind in properties.items()}}
    assert not differences(model(new), model(old))
    for name in properties:
        other = {**old, "properties": {**new["properties"], name: {"type": "number"}}}
        paths = {each.path for each in differences(model(other), model(old))}
        assert paths == (set() if name == "xc" else {f"#/properties/{name}"})


STRING, INTEGER = {"type": "string"}, {"type": "integer"}


@cases(
    ("old", "new", "found"),
    [
        ({"anyOf": [STRING]}, STRING, []),
        ({"oneOf": [STRING]}, STRING, []),
        ({"allOf": [INTEGER]}, {"type": "number"}, ["TYPE_EXTENDED"]),
        ({"type": ["string"]}, STRING, []),
        ({"anyOf": [STRING]}, INTEGER, ["TYPE_CHANGED"]),
        (STRING, {"anyOf": [STRING]}, []),
        (STRING, {"allOf": [{**STRING, "maxLength": 3}]}, ["TYPE_CHANGED"]),
        ({"oneOf": [STRING]}, {"allOf": [STRING]}, ["COMBINED_TYPE_EXTENDED"]),
        ({"oneOf": [STRING]}, {"allOf": [STRING, INTEGER]}, ["COMBINED_TYPE_CHANGED"]),
        (
            {"allOf": [STRING, {"maxLength": 3}]},
            {"oneOf": [STRING]},
            ["COMBINED_TYPE_EXTENDED", "PRODUCT_TYPE_NARROWED"],
        ),
        ({"oneOf": [STRING, INTEGER]}, {"allOf": [STRING]}, ["COMBINED_TYPE_CHANGED"]),
        # What is written twice counts once among the members, but is no single one.
        ({"anyOf": [True, True]}, {"oneOf": [True, True]}, ["COMBINED_TYPE_CHANGED"]),
        ({"type": ["string", "string"]}, {"oneOf": [STRING]}, ["COMBINED_TYPE_CHANGED"]),
        ({"anyOf": [STRING, STRING]}, {"anyOf": [STRING, INTEGER]}, ["SUM_TYPE_EXTENDED"]),
    ],
)
def test_a_single_member_of_a_combined_schema(old, new, found):
    assert [kind for kind, _ in kinds(old, new)] == found


NEWER = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


@cases(
    ("old", "new", "found"),
    [
        # Without `contains` its bounds demand nothing.
        ({**NEWER, "maxContains": 1}, {**NEWER, "minContains": 2}, []),
        ({**NEWER, "maxContains": 1}, {**NEWER, "maxItems": 1}, ["TYPE_CHANGED"]),
        # What is unknown hides others only where it stands beside nothing else.
        ({"contains": {}, "foo": 1, **NEWER}, {"contains": {}, **NEWER}, ["MIN_CONTAINS_ADDED"]),
        (
            {"contains": {}, "minLength": 1, "foo": 1, **NEWER},
            {"contains": {}, "minLength": 1, **NEWER},
            [],
        ),
        (
            {"type": ["object"], "unevaluatedProperties": False, "foo": 1, **NEWER},
            {"type": ["object"], "unevaluatedProperties": False, **NEWER},
            [],
        ),
        # A format and no properties demand nothing, nor do they tell a type.
        ({**NEWER, "type": "number"}, {**NEWER, "type": "number", "properties": {}}, []),
        ({**NEWER, "type": "number"}, {**NEWER, "patternProperties": {}, "properties": {}}, []),
        ({**NEWER, "required": [], "properties": {}}, {**NEWER, "type": "number"}, ["TYPE_CHANGED"]),
        ({**NEWER, "type": "integer"}, {**NEWER, "type": "integer", "format": "int32"}, []),
        ({**NEWER, "type": "boolean"}, {**NEWER, "format": "ipv4"}, []),
        ({**NEWER, "format": "ipv4"}, {**NEWER, "type": "string"}, ["TYPE_CHANGED"]),
        ({"type": "integer"}, {"type": "integer", "format": "int32"}, ["TYPE_CHANGED"]),
        # Booleans for all items say whether there may be any.
        ({**NEWER, "items": True}, {**NEWER, "minItems": 0, "items": True}, ["MIN_ITEMS_ADDED"]),
        ({**NEWER, "uniqueItems": False}, {**NEWER, "items": True}, []),
        ({**NEWER, "uniqueItems": False}, {**NEWER, "items": False}, ["ADDITIONAL_ITEMS_REMOVED"]),
        ({"uniqueItems": False}, {"items": True}, ["SCHEMA_ADDED"]),
        # Where all items have one schema there are none beyond them.
        ({"items": {}}, {"items": {}, "additionalItems": False}, []),
        ({"items": []}, {"items": [], "additionalItems": False}, ["ADDITIONAL_ITEMS_REMOVED"]),
        # No names are no dependency.
        ({"dependencies": {}}, {"dependencies": {"a": []}}, []),
        ({"dependencies": {"a": []}}, {"dependencies": {"a": ["b"]}}, ["DEPENDENCY_ARRAY_ADDED"]),
        ({**NEWER, "dependentRequired": {}}, {**NEWER, "dependentRequired": {"a": []}}, []),
    ],
)
def test_keywords_that_demand_nothing_where_they_stand(old, new, found):
    assert [each.type for each in differences(model(new), model(old))] == found


@pytest.mark.parametrize("criterion", ["anyOf", "oneOf", "allOf"])
def test_several_keywords_of_a_member_are_several_members_in_the_newer_drafts(criterion):
    old = {criterion: [{"maximum": 3}, STRING]}
    new = {criterion: [{"maximum": 3, "minLength": 1}, STRING]}
    extended = ["PRODUCT_TYPE_EXTENDED"] if criterion == "allOf" else []
    assert [each.type for each in differences(model({**NEWER, **new}), model({**NEWER, **old}))] == extended
    assert [each.type for each in differences(model(new), model(old))] == ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"]
    # Those that are written as a combination stay one member.
    written = {criterion: [{"allOf": [{"maximum": 3}, {"minLength": 1}]}, STRING]}
    found = differences(model({**NEWER, **written}), model({**NEWER, **old}))
    assert [each.type for each in found] == ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"]


@cases(
    ("kind", "words"),
    [
        ("MAXIMUM_DECREASED", "is less than its value"),
        ("MIN_LENGTH_INCREASED", "is more than its value"),
        ("MULTIPLE_OF_EXPANDED", "is more than its value"),
        ("SUM_TYPE_NARROWED", "has fewer elements"),
        ("NOT_TYPE_EXTENDED", "has more elements"),
        ("PATTERN_CHANGED", "The value at path '#/x' is different between the new and old schema"),
        ("TYPE_NARROWED", "A type at path '#/x' is different"),
        ("ENUM_ARRAY_CHANGED", "A type at path '#/x' is different"),
        ("PATTERN_ADDED", "The keyword at path '#/x' in the new schema is not present"),
        ("ADDITIONAL_PROPERTIES_REMOVED", "The keyword at path '#/x' in the new schema is not present"),
        ("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", "has an open content model"),
    ],
)
def test_words_of_the_server(kind, words):
    assert words in describe(kind, "#/x", "new", "old")


schemas = st.recursive(
    st.sampled_from(
        [True, False, {}, {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"const": 1}]
    )
    | st.builds(lambda low: {"minimum": low}, st.integers(-2, 2)),
    lambda inner: (
        st.builds(lambda a: {"type": "array", "items": a}, inner)
        | st.builds(lambda a: {"items": a}, st.lists(inner, max_size=2))
        | st.builds(
            lambda a, b: {"type": "object", "properties": a, "additionalProperties": b},
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            inner,
        )
        | st.builds(
            lambda a, b: {a: b},
            st.sampled_from(["allOf", "anyOf", "oneOf"]),
            st.lists(inner, min_size=1, max_size=3),
        )
        | st.builds(lambda a: {"not": a}, inner)
    ),
    max_leaves=8,
)


@given(schemas, schemas)
def test_properties_of_comparing(old, new):
    """A schema is compatible with itself; lenient lets more pass than strict; verdict and differences agree."""
    before, after = model(old), model(new)
    assert not differences(before, before)
    strict, lenient = differences(after, before), differences(after, before, lenient=True)
    assert not lenient or strict
    found = {each.type for each in changes(before, after)}
    assert bool(found & BREAKING) is bool(strict)
