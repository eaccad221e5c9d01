"""Parsing of Avro schemas: what is accepted, what is refused and where, and the text that is printed."""

import gzip
import json
from collections import Counter

import pytest
from cases import cases

from kcodec.errors import SchemaError
from kcodec.formats.avro.schema.model import MAX_NESTING, canonical, same
from kcodec.formats.avro.schema.normalization import normalized
from kcodec.formats.avro.schema.parse import parse, parse_all


def record(*fields, name="R", **others):
    return {"type": "record", "name": name, "fields": list(fields), **others}


def field(name, kind, **others):
    return {"name": name, "type": kind, **others}


REFUSED = [
    ("{", "$: not JSON"),
    ("NaN", "$: not JSON"),
    ("wrong", "$: not JSON"),
    ('"wrong"', "$: wrong is not defined"),
    (5, "$: a schema is a name"),
    ({}, "$: the type is missing"),
    ({"type": {"type": "int"}}, '$.type: {"type": "int"} is not the name of a type'),
    ({"type": ["null", "int"]}, '$.type: ["null", "int"] is not the name of a type'),
    ({"type": "array"}, "$: items are missing"),
    ({"type": "map", "values": "nope"}, "$.values: nope is not defined"),
    ({"type": "record", "fields": []}, "$: the name of the record is missing"),
    ({"type": "record", "name": "R"}, "$.fields: a record has a list"),
    (record(5), "$.fields[0]: a field is an object"),
    (record({"type": "int"}), "$.fields[0]: the field's name is missing"),
    (record({"name": "a"}), "$.fields[0]: the type of the field a is missing"),
    (record(field("a-b", "int")), '$.fields[0]: "a-b" is not a name'),
    (record(field("a", "int"), field("a", "int")), "$.fields[1]: a is already a field of R"),
    (record(field("a", {"type": "array", "items": "X"})), "$.fields[0].type.items: X is not defined"),
    (record(field("a", "int", order="up")), '$.fields[0].order: "up" is not an order'),
    (record(field("a", "int", aliases="b")), "$.fields[0].aliases: not a list"),
    (record(name="int"), "may not be named after the primitive type int"),
    (record(name="1a"), '"1a" is not a name'),
    (record(name=""), "a name is empty"),
    (record(name="\U0001d400"), "is not a name"),
    (["int", ["null"]], "$[1]: a union may not stand directly in a union"),
    (["int", {"type": "int"}], "$[1]: int is already a branch"),
    ([record(), record()], "$[1]: R is already a branch"),
    ({"type": "enum", "name": "E"}, "$.symbols: an enum has a list"),
    ({"type": "enum", "name": "E", "symbols": ["A", "A"]}, "$.symbols: a symbol stands there twice"),
    ({"type": "enum", "name": "E", "symbols": ["a b"]}, '$.symbols[0]: "a b" is not a name'),
    ({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}, '$.default: "B" is not a symbol of E'),
    ({"type": "fixed", "name": "F"}, "$.size: null is not an integer"),
    ({"type": "fixed", "name": "F", "size": -1}, "$.size: -1 is outside"),
    ({"type": "fixed", "name": "F", "size": True}, "$.size: true is not an integer"),
    (
        record(field("a", record(field("x", "int"), name="S")), field("b", record(name="S"))),
        "S is already defined",
    ),
    (record(field("a", "int", default="x")), '$.fields[0].default: "x" is not a value of int'),
    (record(field("a", "int", default=1 << 31)), "is not a value of int"),
    (record(field("a", "boolean", default=1)), "is not a value of boolean"),
    (record(field("a", "int", default=True)), "is not a value of int"),
    (record(field("a", "float", default="1_0")), "is not a number"),
]


@cases(("schema", "message"), REFUSED, ids=str)
def test_refused_with_its_path(schema, message):
    with pytest.raises(SchemaError) as caught:
        parse(schema)
    assert message in str(caught.value)


def test_nesting_is_bounded():
    deep = "int"
    for _ in range(MAX_NESTING):
        deep = {"type": "array", "items": deep}
    parse(deep)
    with pytest.raises(SchemaError, match="nested deeper"):
        parse({"type": "array", "items": deep})
    with pytest.raises(SchemaError, match="nested deeper"):
        parse('{"type":"array","items":' * 100_000)


def test_parts_are_bounded(monkeypatch):
    monkeypatch.setattr("kcodec.formats.avro.schema.parse.MAX_PARTS", 4)
    assert len(parse(record(*(field(name, "int") for name in "abc"))).fields) == 3
    with pytest.raises(SchemaError, match="the schema has more than 4 parts"):
        parse(record(*(field(name, "int") for name in "abcd")))


def test_what_java_takes_beyond_the_specification():
    unicode = parse({"type": "enum", "name": "Été", "symbols": ["ß", "Ж1"]})
    assert unicode.symbols == ("ß", "Ж1")
    inner = record(field("x", "int"), name="S")
    assert parse(record(field("a", inner), field("b", {"type": "S"}))).fields[1].type.name == "S"
    assert parse(record(field("a", "S"), field("b", inner))).fields[0].type.type == "record"
    outer = record(field("y", "S"), name="n.T")
    assert parse(record(field("s", inner), field("t", outer))).fields[1].type.fields[0].type.name == "S"
    assert parse(record(field("a", inner), field("b", dict(inner)))).fields[1].type.name == "S"


def test_names_and_aliases():
    schema = parse(record(field("a", "n.R"), namespace="n", aliases=["Old", "m.Older"]))
    assert schema.name == "n.R"
    assert schema.simple_name == "R"
    assert schema.aliases == ("n.Old", "m.Older")
    assert schema.fields[0].type is schema
    assert parse(record(name="a.b.C", namespace="ignored")).name == "a.b.C"
    assert parse(record(field("i", record(name="I", namespace="")), namespace="n")).fields[0].type.name == "I"


def test_named_schemas_come_first():
    named = [{"type": "fixed", "name": "n.F", "size": 2}, record(field("f", "n.F"), name="n.G")]
    assert parse("n.G", named).fields[0].type.size == 2
    assert parse(["null", "n.F"], named).branches[1].name == "n.F"
    with pytest.raises(SchemaError, match="named schema 0: "):
        parse("int", ["nope"])
    assert canonical(parse(record(field("a", "n.F")), named), ["n.F"]).endswith('"type":"n.F"}]}')


@cases(
    "schema",
    [
        {"type": "bytes", "logicalType": "decimal"},
        {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3},
        {"type": "bytes", "logicalType": "decimal", "precision": 2.0},
        {"type": "fixed", "name": "F", "size": 1, "logicalType": "decimal", "precision": 3},
        {"type": "fixed", "name": "F", "size": 15, "logicalType": "uuid"},
        {"type": "fixed", "name": "F", "size": 16, "logicalType": "duration"},
        {"type": "long", "logicalType": "date"},
        {"type": "int", "logicalType": "Date"},
        {"type": "int", "logicalType": 5},
    ],
    ids=str,
)
def test_logical_types_that_do_not_fit_are_ignored(schema):
    assert parse(schema).logical == ""
    assert "logicalType" in canonical(parse(schema))


def test_same_ignores_documentation_aliases_and_defaults_of_enums():
    left = parse(record(field("a", "int", doc="x", default=1), doc="d", aliases=["Q"]))
    assert same(left, parse(record(field("a", "int", default=1))))
    assert not same(left, parse(record(field("a", "int"))))
    recursive = record(field("next", ["null", "R"]))
    assert same(parse(recursive), parse(recursive))
    enum = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    assert same(parse({**enum, "default": "A"}), parse(enum))
    assert (
        parse(record(field("a", enum), field("b", {**enum, "default": "A"}))).fields[1].type.default is None
    )
    nan = record(field("a", "double", default="NaN"))
    assert same(parse(nan), parse(nan))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A logical type of any kind is an attribute.
        ('{"type": "long", "logicalType": {"a": [1]}}', '{"type":"long","logicalType":{"a":[1]}}'),
        # What is no byte is lost in the default of bytes.
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "bytes", "default": "\u00e9\u20ac"}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"bytes","default":"\u00e9?"}]}',
        ),
    ],
)
def test_normalized_as_avro_java(text, expected):
    assert normalized(parse(text)) == expected


def test_canonical_text_is_that_of_java(shared):
    with gzip.open(shared / "vectors" / "avro_normalize.json.gz", "rt", encoding="utf-8") as file:
        vectors = json.load(file)
    counts = Counter()
    for vector in vectors:
        if "canonical" not in vector:
            counts["refused"] += 1
            with pytest.raises(SchemaError):
                parse(vector["schema"])
        elif '"bad"' in vector["canonical"]:
            # A registry keeps defaults of the wrong type.
            counts["other"] += 1
            with pytest.raises(SchemaError, match="is not a value of"):
                parse(vector["schema"])
        else:
            counts["equal"] += 1
            named = vector.get("refs", [])
            known = [parse(text, named[:i]).name for i, text in enumerate(named)]
            assert canonical(parse(vector["schema"], named), known) == vector["canonical"]
    assert counts == {"equal": 37, "refused": 7, "other": 1}


@pytest.mark.parametrize(
    ("texts", "printed"),
    [
        # Of what stands before it, only the outermost type is known.
        (
            [
                '{"type":"record","name":"n.A","fields":[{"name":"b","type":{"type":"fixed","name":"B","size":2}}]}',
                '{"type":"record","name":"n.M","fields":[{"name":"b","type":"n.B"},{"name":"a","type":"A"}]}',
            ],
            '{"type":"record","name":"M","namespace":"n","fields":[{"name":"b","type":{"type":"fixed","name":"B",'
            '"size":2}},{"name":"a","type":"A"}]}',
        ),
        (
            ['{"type":"record","name":"n.R","aliases":["int","n.long","m.X","n.Y",".Z"],"fields":[]}'],
            '{"type":"record","name":"R","namespace":"n","fields":[],"aliases":["n.int","n.long","m.X","Y","Z"]}',
        ),
        (
            ['{"type":"record","name":"n.record","fields":[{"name":"b","type":["null","record"]}]}'],
            '{"type":"record","name":"record","namespace":"n","fields":[{"name":"b","type":["null","n.record"]}]}',
        ),
        (
            [
                '{"type":"error","name":"E","fields":[{"name":"d","type":"double","default":"NaN"},{"name":"e",'
                '"type":"float","default":1},{"name":"g","type":"double","default":1e2},{"name":"h",'
                '"type":"double","default":"1"}]}'
            ],
            '{"type":"error","name":"E","fields":[{"name":"d","type":"double","default":"NaN"},{"name":"e",'
            '"type":"float","default":1},{"name":"g","type":"double","default":100.0},{"name":"h",'
            '"type":"double","default":1.0}]}',
        ),
        (
            [
                '{"type":"int","x":1e10,"y":1.10,"z":123456789012345678901234567890,"w":null,"v":true,'
                '"u":[1.0,{"a":1e-7}],"t":"\\u001f\\u007f\\u00e9\\ud83d\\ude00/"}'
            ],
            '{"type":"int","x":1.0E10,"y":1.1,"z":123456789012345678901234567890,"w":null,"v":true,'
            '"u":[1.0,{"a":1.0E-7}],"t":"\\u001F\x7f\u00e9\U0001f600/"}',
        ),
    ],
    ids=["known", "aliases", "clash", "doubles", "properties"],
)
def test_what_avro_java_prints(texts, printed):
    """As Avro Java 1.12.1 printed these."""
    *named, root = parse_all(texts)
    assert canonical(root, [each.name for each in named]) == printed


@cases(
    "names",
    [
        {"name": "..R"},
        {"name": "a..R"},
        {"name": ".a.R"},
        {"name": "R", "namespace": "1"},
        {"name": "R", "namespace": "a."},
        {"name": "1-.R"},
        {"name": "R", "aliases": ["1z"]},
        {"name": "R", "aliases": [""]},
        {"name": "R", "aliases": ["n."]},
        {"name": "R", "aliases": [".1x"]},
    ],
    ids=str,
)
def test_names_that_avro_java_refuses(names):
    with pytest.raises(SchemaError, match=r"is not a name|a name is empty"):
        parse({"type": "record", "fields": [], **names})


@pytest.mark.parametrize(
    ("names", "full", "aliases"),
    [
        ({"name": ".R", "namespace": "n"}, "R", ()),
        ({"name": "x.R", "namespace": "1"}, "x.R", ()),
        ({"name": "é.R"}, "é.R", ()),
        ({"name": "n.R", "aliases": ["a-b.z", ".x"]}, "n.R", ("a-b.z", "x")),
    ],
    ids=str,
)
def test_names_that_avro_java_takes(names, full, aliases):
    schema = parse({"type": "record", "fields": [], **names})
    assert (schema.name, schema.aliases) == (full, aliases)


def test_types_that_nest_only_when_written_out():
    chain = [record(field("next", f"R{i + 1}"), name=f"R{i}") for i in range(2000)]
    schema = parse([*chain, record(name="R2000")])
    with pytest.raises(SchemaError, match="too deeply"):
        canonical(schema)


def _within(inner, namespace="n"):
    """A record without a namespace, which has one with a namespace in it, whose field is given."""
    record = {"type": "record", "name": "S", "namespace": namespace, "fields": [{"name": "a", "type": inner}]}
    return {"type": "record", "name": "R", "fields": [{"name": "s", "type": record}]}


def test_a_complete_type_without_a_namespace_comes_before_the_one_that_is_open():
    # As Avro Java has it, whose records are known by their names once their fields are.
    inner = {"type": "record", "name": "n.R", "fields": [{"name": "a", "type": ["null", "R"]}]}
    enum = {"type": "enum", "name": "R", "symbols": ["x"]}
    schema = parse(
        {"type": "record", "name": "S", "fields": [{"name": "e", "type": enum}, {"name": "r", "type": inner}]}
    )
    assert [branch.name for branch in schema.fields[1].type.fields[0].type.branches] == ["null", "R"]
    # Without one, and by its full name, it is the record itself.
    assert parse(inner).fields[0].type.branches[1].name == "n.R"
    inner["fields"][0]["type"] = ["null", "n.R"]
    assert parse(inner, [enum]).fields[0].type.branches[1].name == "n.R"


@cases(
    "schema",
    [
        # A type without a namespace is found from within one, once it is complete.
        _within("R"),
        _within(["null", "R"]),
        {
            "type": "record",
            "name": "R",
            "namespace": "n",
            "fields": [
                {"name": "a", "type": "F"},
                {"name": "b", "type": {"type": "fixed", "name": "F", "namespace": "", "size": 1}},
            ],
        },
        # Defaults are looked at when their field is read.
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": "R", "default": {}}]},
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "R"], "default": {}}]},
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "a", "type": ["null", "E"], "default": "x"},
                {"name": "b", "type": {"type": "enum", "name": "E", "symbols": ["x"]}},
            ],
        },
        {"type": "fixed", "name": "F", "size": 2147483640},
        {"type": "array", "items": "int", "x": 2**63},
        {"type": "record", "name": "R", "fields": [], "x": [{"y": -(2**63) - 1}]},
        '{"type": "int"} // a comment behind',
        '{"type": "string", "x": "/*"} /* a comment behind */',
        '/* not closed "int"',
        # White space that is not JSON's.
        '\x0c"int"',
        '\x00"int"',
        '"int"\u00a0',
        '{"type": "int"}\u2028',
    ],
)
def test_what_avro_java_refuses_too(schema):
    with pytest.raises(SchemaError):
        parse(schema)


@cases(
    ("schema", "text"),
    [
        ('// first\n{"type": /* of all */ "int"}', '"int"'),
        ('{"type": "string", // one\n "x": "a//b /*c*/ \\"//"}', '{"type":"string","x":"a//b /*c*/ \\"//"}'),
        (
            '{"type": "fixed", "name": "F", "namespace": 1, "size": 2147483639, "aliases": ["G", "H", "G"]}',
            '{"type":"fixed","name":"F","size":2147483639,"aliases":["G","H"]}',
        ),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "aliases": ["b", "b"]}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"int","aliases":["b"]}]}',
        ),
        (
            '{"type": "enum", "name": "E", "symbols": ["a"], "default": 1}',
            '{"type":"enum","name":"E","symbols":["a"]}',
        ),
        ('{"type": "int", "x": 9223372036854775808}', '{"type":"int","x":9223372036854775808}'),
        (' \t\r\n"int"\x00\x1f ', '"int"'),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "order": "\u0131gnore"}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"int","order":"ignore"}]}',
        ),
        (
            '{"type": "fixed", "name": "F", "size": 2, "aliases": ["..G", ".H", "n..K"]}',
            '{"type":"fixed","name":"F","size":2,"aliases":["..G","H","n..K"]}',
        ),
    ],
)
def test_what_avro_java_takes_too(schema, text):
    assert canonical(parse(schema)) == text


def test_text_that_stands_for_a_number_is_one_also_where_defaults_are_not_looked_at():
    (schema,) = parse_all([record(field("a", "double", default="1.5"))], strict=False)
    assert schema.fields[0].default == 1.5
    (schema,) = parse_all([record(field("a", "float", default="x"))], strict=False)
    assert schema.fields[0].default == "x"
    with pytest.raises(SchemaError, match="is not a number"):
        parse_all([record(field("a", "float", default="x"))])


def test_namespaces_are_looked_at_only_where_it_is_strict():
    text = record(field("a", "int"), name="n.Test$Job.R")
    assert parse(text, strict=False).name == "n.Test$Job.R"
    with pytest.raises(SchemaError, match=r"\$: \"Test\$Job\" is not a name"):
        parse(text)
    with pytest.raises(SchemaError, match="is not a name"):
        parse(record(field("a", "int"), name="n.R$"), strict=False)


@pytest.mark.parametrize("text", ["*/ " + "/*" * 300_000, '"' + '\\"' * 300_000, '{"' + '"' * 300_000])
def test_comments_and_texts_without_end_take_no_square_of_time(text):
    with pytest.raises(SchemaError, match="not JSON"):
        parse(text)


@cases(
    ("fields", "reason"),
    [
        ([field("a", [])], "the field a is a union of nothing"),
        ([field("a", record(name="G"), default={"x": 1})], "a default has x, which G does not"),
        (
            [field("a", {"type": "array", "items": "double"}, default=[2**63])],
            "a default holds 9223372036854775808, which has more than 64 bits",
        ),
        # Measured on Avro Java 1.12.1: parts of defaults that are values of another branch than the first one.
        (
            [field("a", {"type": "array", "items": ["bytes", "double"]}, default=[2.5])],
            "a part of a default is not a value of its type",
        ),
        (
            [field("a", {"type": "map", "values": ["null", "string"]}, default={"k": "A"})],
            "a part of a default is not a value of its type",
        ),
        (
            [field("a", ["int", {"type": "array", "items": "int"}], default=[1])],
            "a list is the default of a type int",
        ),
        (
            [field("a", {"type": "array", "items": {"type": "array", "items": []}}, default=[[1]])],
            "a default is one of a union of nothing",
        ),
        ([field("a", ["double", "int"], default=1e400)], "a default holds inf, which is written as text"),
        ([field("a", {"type": "map", "values": "float"}, default={"k": -1e400})], "a default holds -inf"),
    ],
)
def test_what_the_server_fails_to_normalize(fields, reason):
    with pytest.raises(SchemaError, match=reason):
        normalized(parse_all([record(*fields)], strict=False)[0])


def test_what_the_server_normalizes_nearby():
    assert normalized(parse(record(field("a", {"type": "array", "items": []})))).count("[]") == 1
    kept = normalized(parse(record(field("a", ["null", record(name="G")], default={"x": 1}))))
    assert '"default":{"x":1}' in kept
    assert normalized(parse(record(field("a", "double", default=2**63)))).endswith('"type":"double"}]}')
    # An integer too large for the first branch, a list without items, text that a branch takes.
    for kind, default, text in (
        (["int", "double"], 2**31, "2147483648"),
        (["long", {"type": "array", "items": "int"}], [], "[]"),
        (["double", "string"], 1e400, '"Infinity"'),
        (["float", {"type": "fixed", "name": "F", "size": 2}], 1e400, '"Infinity"'),
        (["null", "double"], 1.5, None),
    ):
        made = json.loads(normalized(parse(record(field("a", kind, default=default)))))
        assert made["fields"][0].get("default") == (None if text is None else json.loads(text))
