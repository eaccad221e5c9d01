"""Schemas of several parts and drafts, properties that they do not name, and schemas that attack."""

import json

import pyarrow as pa
import pytest
from cases import cases
from json_schema_codecs import INTEGER, STRING, codec, decoded, encoded

from kcodec import Limits, SchemaError
from kcodec.formats.json.plan import RAW
from kcodec.formats.json_schema.shape import _ShapeReader

NESTED = {
    "properties": {
        "a": INTEGER,
        "o": {"properties": {"b": INTEGER}},
        "l": {"items": {"properties": {"c": {}}}},
    }
}


class TestUnknownProperties:
    def test_they_are_kept(self, impl):
        document = '{ "x" : [1, 2],"a":1,"o":{"b":2,"y":{"z":null}},"l":[{"c":1,"d":2,"e":3},{}], "é":1e5 }'
        (row,) = decoded(NESTED, document, unknown="keep")
        assert row == {
            "a": 1,
            "o": {"b": 2, "_unknown": '{"y":{"z":null}}'},
            "l": [{"c": "1", "_unknown": '{"d":2,"e":3}'}, {"c": None, "_unknown": None}],
            "_unknown": '{"x" : [1, 2],"é":1e5}',
        }
        back = encoded(NESTED, row, unknown="keep")
        assert back == ['{"a":1,"o":{"b":2,"y":{"z":null}},"l":[{"c":1,"d":2,"e":3},{}],"x":[1,2],"é":1E+5}']
        assert decoded(NESTED, document)[0] == {"a": 1, "o": {"b": 2}, "l": [{"c": "1"}, {"c": None}]}

    def test_in_many_rows(self, impl):
        documents = [json.dumps({"a": n, **({f"x{n}": n} if n % 3 else {})}) for n in range(300)]
        rows = decoded(NESTED, *documents, unknown="keep", large=True)
        assert [row["_unknown"] for row in rows] == [
            f'{{"x{n}": {n}}}' if n % 3 else None for n in range(300)
        ]

    def test_what_is_not_an_object_is_not_written(self, impl):
        made = codec(NESTED, unknown="keep")
        column = pa.array([{"_unknown": text} for text in ("{}", " { } ", '{"x":1}', "[1]", "{", None)])
        array, report = made.encode(column, errors="report")
        assert array.to_pylist() == [b"{}", b"{}", b'{"x":1}', None, None, b"{}"]
        assert report["path"].to_pylist() == ["_unknown", "_unknown"]

    def test_a_property_of_that_name(self):
        with pytest.raises(SchemaError, match="a property is called _unknown"):
            codec({"properties": {"_unknown": INTEGER}}, unknown="keep")

    def test_of_chosen_fields_the_others_are_kept(self, impl):
        made = codec({"properties": {"a": INTEGER, "b": INTEGER}}, unknown="keep", fields=["a", "_unknown"])
        rows = made.decode([b'{"b":2,"a":1,"c":[3]}', b'{"a":1}'])
        assert rows.to_pylist() == [{"a": 1, "_unknown": '{"b":2,"c":[3]}'}, {"a": 1, "_unknown": None}]
        assert made.encode(rows)[0].as_py() == b'{"a":1,"b":2,"c":[3]}'


class TestReferences:
    def test_definitions(self, impl):
        for key in ("definitions", "$defs"):
            schema = {"properties": {"a": {"$ref": f"#/{key}/x"}}, key: {"x": {"properties": {"b": INTEGER}}}}
            assert decoded(schema, '{"a":{"b":1}}') == [{"a": {"b": 1}}]

    def test_other_schemas(self, impl):
        references = {
            "item.json": {"type": "object", "properties": {"n": INTEGER}},
            "http://x/y": '{"type": "string"}',
        }
        schema = {
            "properties": {
                "i": {"$ref": "item.json"},
                "y": {"$ref": "http://x/y"},
                "n": {"$ref": "item.json#/properties/n"},
            }
        }
        assert decoded(schema, '{"i":{"n":1},"y":"z","n":2}', references=references) == [
            {"i": {"n": 1}, "y": "z", "n": 2}
        ]
        with pytest.raises(SchemaError, match=r"item\.json#/properties/n is not the name of a reference"):
            codec(schema)

    def test_siblings_count_from_2019_on(self):
        for draft, kind in (("http://json-schema.org/draft-07/schema#", pa.string()),
                            ("https://json-schema.org/draft/2019-09/schema", pa.date32())):  # fmt: skip
            schema = {
                "$schema": draft,
                "properties": {"a": {"$ref": "#/$defs/x", "format": "date"}},
                "$defs": {"x": STRING},
            }
            assert codec(schema).arrow_type.field("a").type == kind

    def test_schemas_that_contain_themselves(self, impl):
        tree = {"type": "object", "properties": {"v": INTEGER, "c": {"items": {"$ref": "#"}}}}
        document = '{"v":1,"c":[{"v":2,"c":[{"v":3}]}]}'
        assert decoded(tree, document) == [{"v": 1, "c": ['{"v":2,"c":[{"v":3}]}']}]
        (row,) = decoded(tree, document, recursive_depth=1)
        assert row == {"v": 1, "c": [{"v": 2, "c": ['{"v":3}']}]}
        assert encoded(tree, row, recursive_depth=1) == [document]
        assert decoded({"$ref": "#"}, "[1]") == ["[1]"]
        assert "c: json_list NULL+ABSENT -> column 2\n      json_text -> column 3" in str(
            codec(tree).decode_plan
        )

    def test_what_is_not_followed_keeps_its_kinds(self, impl):
        node = {"type": "object", "properties": {"v": INTEGER, "next": {"$ref": "#"}}}
        for depth in (0, 1):
            assert encoded(node, {"v": 1, "next": None}, recursive_depth=depth) == ['{"v":1}']
        checked = codec(node, validate=True)
        assert checked.encode(checked.decode([b'{"v":1}'])).to_pylist() == [b'{"v":1}']
        nullable = {**node, "type": ["object", "null"]}
        assert encoded(nullable, {"v": 1, "next": None}) == ['{"v":1,"next":null}']


@cases(
    "draft",
    [
        "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema", "urn:unknown",
    ],
)  # fmt: skip
def test_drafts(impl, draft):
    schema = {"$schema": draft, "properties": {"a": INTEGER, "b": {"const": "x"}}, "required": ["a"]}
    assert decoded(schema, '{"a":1,"b":"x"}')[0]["a"] == 1
    # Draft 4 has no const.
    assert (codec(schema).arrow_type.field("b").metadata == RAW) == ("04" in draft)


class TestHostileSchemas:
    @staticmethod
    def doubled(part, levels=30):
        """A schema of 2**levels places in few bytes."""
        names = {f"a{n}": part({"$ref": f"#/definitions/a{n + 1}"}) for n in range(levels)}
        return {"$ref": "#/definitions/a0", "definitions": {**names, f"a{levels}": INTEGER}}

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize(
        "part",
        [
            lambda below: {"properties": {"l": below, "r": below}},
            lambda below: {"allOf": [below, below]},
            lambda below: {"anyOf": [below, {"items": below}]},
        ],
    )
    def test_references_that_double(self, part):
        with pytest.raises(SchemaError, match="more than 120000 places"):
            codec(self.doubled(part))

    def test_a_part_that_many_places_refer_to_is_read_once(self, monkeypatch):
        read, parts = _ShapeReader.read, []

        def counted(reader, part, *rest):
            parts.append(part)
            return read(reader, part, *rest)

        monkeypatch.setattr(_ShapeReader, "read", counted)
        shared = {"properties": {f"q{n}": INTEGER for n in range(20)}}
        names = {f"p{n}": {"$ref": "#/definitions/shared"} for n in range(50)}
        made = codec({"properties": names, "definitions": {"shared": shared}})
        assert {each.type.num_fields for each in made.arrow_type} == {20}
        # The schema itself, fifty references, what they refer to, and its properties.
        assert len(parts) == 1 + 50 + 1 + 20

    @pytest.mark.parametrize("depth", [0, 1])
    @pytest.mark.parametrize("kind", ["deep", "circle"])
    def test_a_part_is_read_alike_wherever_it_stands(self, kind, depth):
        def nested(below, levels):
            for _ in range(levels):
                below = {"properties": {"a": below}}
            return below

        def part(name):
            circle = {"properties": {"b": INTEGER, "c": {"$ref": f"#/definitions/{name}"}}}
            return nested(INTEGER, 20) if kind == "deep" else circle

        def made(other):
            near, far = {"$ref": "#/definitions/part"}, {"$ref": f"#/definitions/{other}"}
            places = {"near": near, "far": nested(far, 50), "again": near}
            definitions = {"part": part("part"), "copy": part("copy")}
            return codec({"properties": places, "definitions": definitions}, recursive_depth=depth)

        assert made("part").decode_plan == made("copy").decode_plan
        assert "json_text" in str(made("part").decode_plan)

    def test_deep_ones(self):
        deep: dict = INTEGER
        for _ in range(99):
            deep = {"properties": {"a": deep}}
        assert "json_text" in str(codec(deep).decode_plan)
        chain = {f"a{n}": {"$ref": f"#/definitions/a{n + 1}"} for n in range(3000)}
        schema = {"$ref": "#/definitions/a0", "definitions": {**chain, "a3000": INTEGER}}
        assert codec(schema).arrow_type == pa.string()

    def test_circles(self):
        for schema in ({"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"anyOf": [{"$ref": "#"}, STRING]}):
            assert codec(schema).arrow_type == pa.string()

    def test_members_with_a_property_each(self):
        members = [{"required": [f"p{n}"], "properties": {f"p{n}": STRING}} for n in range(4000)]
        assert codec({"oneOf": members[:1000]}).arrow_type.num_fields == 1000
        assert codec({"allOf": members[:1000]}).arrow_type.num_fields == 1000
        with pytest.raises(SchemaError, match="joins too many schemas"):
            codec({"allOf": members})

    def test_many_properties(self, impl):
        made = codec({"properties": {f"p{n}": INTEGER for n in range(3000)}})
        row = made.decode([b'{"p2999":1,"p0":2,"x":3}']).to_pylist()[0]
        assert {name: value for name, value in row.items() if value} == {"p0": 2, "p2999": 1}

    def test_deep_documents(self, impl):
        tree = {"properties": {"c": {"items": {"$ref": "#"}}}}
        documents = [b'{"c":[' * 90 + b"]}" * 90, b'{"c":[' * 500 + b"]}" * 500]
        made = codec(tree, limits=Limits(max_depth=200))
        array, report = made.decode(documents, errors="report")
        assert array.null_count == 1
        assert report["code"].to_pylist() == ["depth_limit"]
