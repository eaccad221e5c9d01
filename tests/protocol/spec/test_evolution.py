"""What may change in a message definition."""

import json

from cases import cases
from vector_files import read_vectors

from kcodec.protocol import MessageSpec, load
from kcodec.protocol.spec.evolution import VIOLATIONS, check_all, check_evolution
from kcodec.protocol.spec.parse import parse

#: Pairs that Kafka's checker judges otherwise than Kafka's README -> what the README's rules find.
README_WINS = {
    "add-tagged-field-old-version": set(),
    "tag-removed-made-regular": {"field_tagged"},
    "tag-swap": {"tag"},
}


def test_vectors_of_the_checker(capsys):
    vectors = read_vectors("kafka_schema_evolution.jsonl.gz")
    verdicts = {True: 0, False: 0}
    for vector in vectors:
        old, new = (parse(vector[key], "", MessageSpec) for key in ("old", "new"))
        found = {violation.code for violation in check_evolution(old, new)}
        if vector["id"] in README_WINS:
            assert found == README_WINS[vector["id"]], vector["id"]
        else:
            assert bool(found) == (vector["fixed_checker"] != "ok"), vector["id"]
        assert found <= VIOLATIONS.keys()
        verdicts[not found] += 1
    with capsys.disabled():
        print(f"\n{len(vectors)} pairs of definitions: {verdicts[True]} allowed, {verdicts[False]} refused")
    assert all(verdicts.values())


BASE = {"apiKey": 1, "type": "request", "name": "Foo", "validVersions": "0-2", "flexibleVersions": "2+"}


def field(name="a", kind="int32", versions="0+", **members):
    return {"name": name, "type": kind, "versions": versions, **members}


def spec(*fields, **members):
    return MessageSpec.parse(json.dumps({**BASE, "fields": list(fields), **members}))


def tagged(name="t", tag=0, versions="2+", kind="int32", **members):
    return field(name, kind, versions, tag=tag, taggedVersions="2+", **members)


@cases(
    ("old", "new", "codes"),
    [
        (spec(field()), spec(field(), validVersions="0-2"), []),
        (spec(field()), spec(field(), name="Bar"), ["message_name Bar"]),
        (spec(field()), spec(field(), apiKey=2), ["api_key Foo"]),
        (spec(field()), spec(field(), type="response"), ["message_type Foo"]),
        (spec(field()), spec(field(), validVersions="1-3"), []),
        (spec(field()), spec(field(), flexibleVersions="1+"), ["flexible_versions Foo"]),
        (
            spec(field(), flexibleVersions="none"),
            spec(field(), validVersions="0-3", flexibleVersions="3+"),
            [],
        ),
        # Fields that come and go.
        (spec(field()), spec(field(), field("b", versions="3+"), validVersions="0-3"), []),
        (spec(field()), spec(field(versions="0-2"), validVersions="0-3"), []),
        (spec(field()), spec(field(versions="0-1")), ["field_versions Foo.a"]),
        (spec(field(versions="1+")), spec(field()), ["field_versions Foo.a"]),
        (spec(field(), field("b", "int8")), spec(field()), ["field_removed Foo.b"]),
        (spec(field(), field("b", "int8")), spec(field("b", "int8")), ["field_removed Foo.a"]),
        (spec(field(versions="0-0"), field("b")), spec(field("b"), validVersions="1-2"), []),
        (spec(field()), spec(field("c", "int8"), field()), ["field_added Foo.c"]),
        # Another name is no change on the wire; another order is.
        (spec(field(), field("b", "int8")), spec(field("x"), field("y", "int8")), []),
        (spec(field(), field("b")), spec(field("b"), field()), ["field_reordered Foo.b"]),
        (
            spec(field(), field("b")),
            spec(field("x", "int64"), field("b")),
            ["field_removed Foo.a", "field_added Foo.x"],
        ),
        # Tagged fields.
        (spec(field()), spec(field(), tagged()), []),
        (spec(field(), tagged()), spec(field()), []),
        (spec(tagged(), field()), spec(field(), tagged()), []),
        (spec(tagged()), spec(tagged("u")), []),
        (spec(tagged()), spec(tagged("u", kind="int64")), ["tag_reused Foo.u"]),
        (spec(tagged()), spec(tagged("u"), tagged("t", 1)), ["tag Foo.t", "tag_reused Foo.u"]),
        (spec(field("t", versions="2+")), spec(tagged()), ["field_tagged Foo.t"]),
        # Fields that stay.
        (
            spec(field("s", "string")),
            spec(field("s", "string", nullableVersions="1+")),
            ["field_nullable Foo.s"],
        ),
        (
            spec(field("s", "string")),
            spec(field("s", "string", nullableVersions="3+"), validVersions="0-3"),
            [],
        ),
        (
            spec(field("s", "string")),
            spec(field("s", "string", flexibleVersions="none")),
            ["flexible_versions Foo.s"],
        ),
        (spec(field()), spec(field(default="1")), ["field_default Foo.a"]),
        (spec(field()), spec(field(about="Other.", ignorable=True, entityType="brokerId")), []),
        # Structs, shared or not.
        (
            spec(field("s", "[]S", fields=[field("x")])),
            spec(
                field("s", "S"),
                commonStructs=[{"name": "S", "versions": "0+", "fields": [field("x", "int8")]}],
            ),
            ["field_type Foo.s", "field_type Foo.s.x"],
        ),
        (
            spec(field("s", "S", fields=[field("x")])),
            spec(field("s", "S"), commonStructs=[{"name": "S", "versions": "0+", "fields": [field("x")]}]),
            [],
        ),
        # An array of values may become one of structs that hold a value each, where structs add no bytes.
        (spec(field("s", "[]int32", "0-1")), spec(field("s", "[]S", "0-1", fields=[field("x")])), []),
        (spec(field("s", "[]int32")), spec(field("s", "[]S", fields=[field("x")])), ["field_type Foo.s"]),
        (
            spec(field("s", "[]int32", "0-1")),
            spec(field("s", "[]S", "0-1", fields=[field("x", "int64")])),
            ["field_type Foo.s"],
        ),
        (
            spec(field("s", "[]int32", "0-1")),
            spec(field("s", "[]S", "0-1", fields=[field("x"), field("y")])),
            ["field_type Foo.s"],
        ),
        (
            spec(field("s", "[]string", "0-1")),
            spec(field("s", "[]S", "0-1", fields=[field("x", "string", nullableVersions="0+")])),
            ["field_type Foo.s"],
        ),
        (
            spec(field("s", "[]S", "0-1", fields=[field("x")])),
            spec(field("s", "[]int32", "0-1")),
            ["field_type Foo.s"],
        ),
    ],
)
def test_rules(old, new, codes):
    assert [f"{violation.code} {violation.path}" for violation in check_evolution(old, new)] == codes
    for violation in check_evolution(old, new):
        assert str(violation) == f"{violation.path}: {violation.code}: {violation.reason}"


def test_nothing_is_found_between_equal_definitions(shared):
    definitions = load(shared / "kafka-messages")
    assert check_all(definitions, definitions) == []


def test_a_message_that_is_gone():
    texts = [
        json.dumps({**BASE, "name": name, "apiKey": key, "fields": []})
        for key, name in enumerate(("Foo", "Bar"))
    ]
    found = check_all(load(texts), load(texts[:1]))
    assert [str(violation) for violation in found] == ["Bar: message_removed: the message is gone"]
    assert check_all(load(texts[:1]), load(texts)) == []
