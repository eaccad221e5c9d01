"""Columns of JSON Schemas: which type each keyword gives, and how values are read and written."""

import datetime
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from json_schema_codecs import BOOLEAN, INTEGER, NUMBER, STRING, codec, decoded, encoded

from kcodec import ConfigError, DecodeError, EncodeError, JsonSchemaCodec, SchemaError
from kcodec.formats.json.plan import RAW

CONNECT = "org.apache.kafka.connect.data."
UTC = datetime.timezone.utc


def value_type(schema, **arguments):
    """The type that a property of this schema has."""
    return codec({"properties": {"v": schema}, "required": ["v"]}, **arguments).arrow_type.field("v")


STRUCT = pa.struct([pa.field("boolean", pa.bool_()), pa.field("string", pa.string())])


@cases(
    ("schema", "kind", "nullable"),
    [
        (INTEGER, pa.int64(), False),
        (NUMBER, pa.float64(), False),
        (BOOLEAN, pa.bool_(), False),
        (STRING, pa.string(), False),
        ({"type": "null"}, pa.null(), True),
        ({"type": ["string", "null"]}, pa.string(), True),
        ({"type": ["integer", "number"]}, pa.float64(), False),
        ({"type": ["boolean", "string", "null"]}, STRUCT, True),
        ({"oneOf": [{"type": "null"}, STRING]}, pa.string(), True),
        ({"anyOf": [STRING, BOOLEAN]}, STRUCT, False),
        ({"anyOf": [STRING, {}]}, "raw", True),
        ({}, "raw", True),
        (True, "raw", True),
        ({"type": "object"}, "raw", False),
        ({"type": "object", "additionalProperties": False}, "raw", False),
        ({"not": STRING}, "raw", True),
        ({"enum": ["a", "b"]}, pa.string(), False),
        ({"enum": ["a", None]}, pa.string(), True),
        ({"enum": [1, 2.5]}, pa.float64(), False),
        ({"type": "number", "enum": [1, 2]}, pa.int64(), False),
        ({"const": 7}, pa.int64(), False),
        ({"type": "string", "format": "date"}, pa.date32(), False),
        ({"type": "string", "format": "date-time"}, pa.timestamp("us", "UTC"), False),
        ({"type": "string", "format": "time"}, pa.string(), False),
        ({"type": "string", "format": "uuid"}, pa.string(), False),
        ({"type": "string", "contentEncoding": "base64"}, pa.binary(), False),
        ({"minimum": 3}, pa.float64(), True),
        ({"minLength": 3}, pa.string(), True),
        ({"type": "array", "items": STRING}, pa.list_(pa.field("item", pa.string(), False)), False),
        ({"items": {"type": ["string", "null"]}}, pa.list_(pa.string()), True),
        (
            {"type": "object", "additionalProperties": INTEGER},
            pa.map_(pa.string(), pa.field("value", pa.int64(), False)),
            False,
        ),
        (
            {"patternProperties": {"^x": INTEGER}, "additionalProperties": False},
            pa.map_(pa.string(), pa.field("value", pa.int64(), False)),
            True,
        ),
        ({"properties": {"a": INTEGER}}, pa.struct([("a", pa.int64())]), True),
        (
            {"type": "array", "items": [INTEGER, STRING], "additionalItems": False, "minItems": 2},
            pa.struct([pa.field("_0", pa.int64(), False), pa.field("_1", pa.string(), False)]),
            False,
        ),
        ({"type": "array", "items": [NUMBER, NUMBER]}, pa.list_(pa.field("item", pa.float64(), False)), False),
        # allOf is merged, and so are the members of oneOf that are objects.
        (
            {"allOf": [{"properties": {"a": INTEGER}}, {"properties": {"b": STRING}, "required": ["b"]}]},
            pa.struct([("a", pa.int64()), pa.field("b", pa.string(), False)]),
            True,
        ),
        ({"allOf": [{"type": ["string", "null"]}, {"format": "date"}]}, pa.date32(), True),
        ({"allOf": [NUMBER, INTEGER]}, pa.int64(), False),
        (
            {
                "oneOf": [
                    {"type": "object", "properties": {"kind": {"const": "a"}, "x": INTEGER}, "required": ["kind"]},
                    {"type": "object", "properties": {"kind": {"const": "b"}, "y": STRING}, "required": ["kind"]},
                ]
            },
            pa.struct([pa.field("kind", pa.string(), False), ("x", pa.int64()), ("y", pa.string())]),
            False,
        ),
        (
            {
                "type": "object",
                "properties": {"a": STRING},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
                "if": {"required": ["a"]},
                "then": {"properties": {"b": INTEGER}, "required": ["b"]},
            },
            pa.struct([("a", pa.string()), ("b", pa.int64())]),
            False,
        ),
        # What need not hold narrows nothing down.
        (
            {
                "type": "object",
                "properties": {"a": STRING},
                "oneOf": [{"not": {"required": ["a"]}}, {"required": ["a"]}],
            },
            pa.struct([("a", pa.string())]),
            False,
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": ["string", "boolean"]}, "b": STRING, "c": STRING},
                "if": {"required": ["b"]},
                "then": {"properties": {"a": STRING, "b": {"format": "date"}}},
                "dependencies": {"b": {"properties": {"c": {"type": "null"}}}},
            },
            pa.struct([("a", STRUCT), ("b", pa.string()), ("c", pa.string())]),
            False,
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"items": {"properties": {"b": STRING}}}},
                "anyOf": [
                    {"properties": {"a": {"items": {"required": ["b"]}}}},
                    {"properties": {"c": STRING}, "required": ["c"]},
                ],
            },
            pa.struct([("a", pa.list_(pa.struct([("b", pa.string())]))), ("c", pa.string())]),
            False,
        ),
        (
            {
                "type": "object",
                "allOf": [
                    {"if": {"required": ["b"]}, "then": {"properties": {"a": STRING}}},
                    {"if": {"required": ["c"]}, "then": {"properties": {"a": BOOLEAN}}},
                ],
            },
            pa.struct([("a", STRUCT)]),
            False,
        ),
        # One of these holds.
        (
            {"if": {"minLength": 0}, "then": {"type": "string"}, "else": BOOLEAN},
            STRUCT,
            False,
        ),
        (
            {
                "type": "object",
                "properties": {"a": {}},
                "if": {"required": ["b"]},
                "then": {"properties": {"a": STRING}, "required": ["a"]},
                "else": {"properties": {"a": BOOLEAN}, "required": ["a"]},
            },
            pa.struct([pa.field("a", STRUCT, False)]),
            False,
        ),
        # Kafka Connect's
        ({"type": "integer", "connect.type": "int8"}, pa.int8(), False),
        ({"type": "number", "connect.type": "float32"}, pa.float32(), False),
        ({"type": "string", "connect.type": "bytes"}, pa.binary(), False),
        (
            {
                "type": "number",
                "title": f"{CONNECT}Decimal",
                "connect.type": "bytes",
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"},
            },
            pa.decimal128(9, 2),
            False,
        ),
        ({"type": "integer", "title": f"{CONNECT}Date", "connect.type": "int32"}, pa.date32(), False),
        ({"type": "integer", "title": f"{CONNECT}Time", "connect.type": "int32"}, pa.time32("ms"), False),
        (
            {"oneOf": [{"type": "null"}, {"type": "integer", "title": f"{CONNECT}Timestamp", "connect.type": "int64"}]},
            pa.timestamp("us", "UTC"),
            True,
        ),
        ({"type": "integer", "title": "Date"}, pa.int64(), False),
        (
            {
                "type": "array",
                "connect.type": "map",
                "items": {"type": "object", "properties": {"key": INTEGER, "value": {"type": ["null", "string"]}}},
            },
            pa.map_(pa.int64(), pa.string()),
            False,
        ),
    ],
    ids=str,
)  # fmt: skip
def test_types(schema, kind, nullable):
    field = value_type(schema)
    assert (field.metadata == RAW) == (kind == "raw")
    assert field.type == (pa.string() if kind == "raw" else kind)
    assert field.nullable == nullable


def test_optional_properties_are_nullable():
    kind = codec({"properties": {"a": INTEGER, "b": INTEGER}, "required": ["a"]}).arrow_type
    assert [field.nullable for field in kind] == [False, True]


def test_properties_come_in_connects_order():
    properties = {
        "a": {**INTEGER, "connect.index": 1},
        "b": {"oneOf": [STRING], "connect.index": 0},
        "c": BOOLEAN,
    }
    assert [field.name for field in codec({"properties": properties}).arrow_type] == ["b", "a", "c"]


class TestReading:
    def test_objects(self, impl):
        schema = {
            "type": "object",
            "properties": {"id": INTEGER, "any": {}, "l": {"items": {}}},
            "required": ["id"],
        }
        assert decoded(
            schema, '{"any":{"x": [1]},"more":1,"id":1.0}', ' {"id":2,"l":[1, null,"x"],"any":null} '
        ) == [
            {"id": 1, "any": '{"x": [1]}', "l": None},
            {"id": 2, "any": None, "l": ["1", None, '"x"']},
        ]
        _, report = codec(schema).decode([b"{}", b'{"id":"1"}', b'{"id":null}', b"[]"], errors="report")
        assert report["code"].to_pylist() == ["missing_key", "json_type", "null_value", "json_type"]
        assert report["path"].to_pylist() == ["id", "id", "id", ""]

    def test_roots_of_any_kind(self, impl):
        assert decoded(INTEGER, "7", "null") == [7, None]
        assert decoded({}, '{"a": 1}', "null") == ['{"a": 1}', None]
        assert decoded({"type": ["string", "integer"]}, '"a"', "1") == [
            {"integer": None, "string": "a"},
            {"integer": 1, "string": None},
        ]
        assert decoded(False, "1") == ["1"]

    def test_unions(self, impl):
        schema = {"items": {"type": ["string", "number", "object", "array", "null"], "items": BOOLEAN}}
        rows = decoded(schema, '["a",1.5,{"x":1},[true],null]')[0]
        assert [None if row is None else {k: v for k, v in row.items() if v is not None} for row in rows] == [
            {"string": "a"}, {"number": 1.5}, {"object": '{"x":1}'}, {"array": [True]}, None,
        ]  # fmt: skip
        with pytest.raises(DecodeError, match=r"json_type: row 0, byte 1, \[0\]"):
            codec(schema).decode([b"[true]"])
        with pytest.raises(DecodeError, match=r"json_type: row 0, byte 4, \[1\]\.array\[0\]"):
            codec(schema).decode([b"[1,[0]]"])

    def test_unions_of_both_maps(self, impl):
        entries = {
            "type": "array", "connect.type": "map", "items": {"properties": {"key": INTEGER, "value": STRING}},
        }  # fmt: skip
        schema = {"items": {"oneOf": [entries, {"type": "object", "additionalProperties": STRING}]}}
        document = b'[[{"key":1,"value":"a"}],{"1":"b"}]'
        rows = codec(schema).decode([document])
        assert rows.to_pylist() == [
            [{"array": [(1, "a")], "object": None}, {"array": None, "object": [("1", "b")]}]
        ]
        assert codec(schema).encode(rows).to_pylist() == [document]

    def test_what_jackson_reads(self, impl):
        schema = {"properties": {"a": NUMBER}}
        documents = [
            b'\xef\xbb\xbf{"a":1}', '{"a":2}'.encode("utf-16"), '{"a":3}'.encode("utf-32-le"), b'{"a":NaN}',
            b'{"a":4} x', b'{"a":-INF}', b'{"a":1,"a":5}',
        ]  # fmt: skip
        values = [row["a"] for row in codec(schema).decode(documents).to_pylist()]
        assert [str(value) for value in values] == ["1.0", "2.0", "3.0", "nan", "4.0", "-inf", "5.0"]
        for text in ("12", "true$", "-INF$", "[+INF]"):
            assert decoded({}, text) == [
                text.replace("$", "").replace("-INF", '"-Infinity"').replace("+INF", '"Infinity"')
            ]
        assert codec({}).decode(["12".encode("utf-16"), "7".encode("utf-16-le")]).to_pylist() == ["12", "7"]
        for text in (b"INF", b"[INF]", "+INF×".encode(), b"NaN_", b"[NaN$]", b"-NaN"):
            assert codec({}).decode([text], errors="null").null_count == 1
        wrong = [b"{'a':1}", b'{"a":01}', b'{"a":nan}', b"/**/{}", b"", b"\xff", b'{"a":"x"}', b'{"a":tru}']
        array, report = codec(schema).decode(wrong, errors="report")
        assert array.null_count == report.num_rows == len(wrong)
        assert codec({"items": INTEGER}).decode([b"[NaN]"], errors="null").null_count == 1
        # Odd rows and bad ones, the first of which is told of.
        mixed = [b'{"a":NaN}', b'{"a":1}', b'{"a":', b'{"a":+INF}', b'{"a":NaN,}']
        array, report = codec(schema).decode(mixed, errors="report")
        assert [str(row and row["a"]) for row in array.to_pylist()] == ["nan", "1.0", "None", "inf", "None"]
        with pytest.raises(DecodeError, match="truncated: row 2, byte 5"):
            codec(schema).decode(mixed)

    def test_times_and_bytes(self, impl):
        schema = {
            "properties": {
                "d": {"type": "string", "format": "date"},
                "t": {"type": "string", "format": "date-time"},
                "b": {"type": "string", "contentEncoding": "base64"},
            }
        }
        document = '{"d":"2024-02-29","t":"2024-02-29T12:00:00.25+02:00","b":"AP8="}'
        moment = datetime.datetime(2024, 2, 29, 10, 0, 0, 250000, UTC)
        assert decoded(schema, document) == [{"d": datetime.date(2024, 2, 29), "t": moment, "b": b"\0\xff"}]
        text = decoded(schema, '{"d":"soon","t":"never"}', formats="ignore")
        assert text == [{"d": "soon", "t": "never", "b": None}]
        with pytest.raises(DecodeError, match="invalid_time"):
            codec(schema).decode([b'{"d":"soon"}'])

    def test_connect(self, impl):
        decimal = {
            "title": f"{CONNECT}Decimal", "connect.type": "bytes", "connect.parameters": {"scale": "2"},
        }  # fmt: skip
        properties = {
            "n": {"type": "number", **decimal},
            "s": {"type": "string", **decimal},
            "d": {"type": "integer", "title": f"{CONNECT}Date", "connect.type": "int32"},
            "t": {"type": "integer", "title": f"{CONNECT}Timestamp", "connect.type": "int64"},
            "m": {
                "type": "array",
                "connect.type": "map",
                "items": {"properties": {"key": STRING, "value": {"oneOf": [{"type": "null"}, INTEGER]}}},
            },
        }
        schema = {"properties": properties}
        entries = '[{"value":1,"key":"a"},{"key":"b"},{"key":"a","value":3}]'
        document = f'{{"n":1.5,"s":"AJY=","d":19000,"t":1000,"m":{entries}}}'
        row = {
            "n": Decimal("1.50"),
            "s": Decimal("1.50"),
            "d": datetime.date(2022, 1, 8),
            "t": datetime.datetime(1970, 1, 1, 0, 0, 1, 0, UTC),
            "m": [("b", None), ("a", 3)],
        }
        assert decoded(schema, document) == [row]
        assert encoded(schema, row) == [
            '{"n":1.50,"s":"AJY=","d":19000,"t":1000,"m":[{"key":"b","value":null},{"key":"a","value":3}]}'
        ]
        assert value_type(properties["n"], precision=20).type == pa.decimal128(20, 2)
        # Both forms of a decimal are read, whatever the schema says.
        assert decoded(schema, '{"n":"AJY=","s":1.5}')[0]["n"] == Decimal("1.50")

    def test_defaults_stand_for_what_is_required(self, impl):
        schema = {
            "properties": {
                "a": {"type": "integer", "default": 7},
                "b": {"type": "integer", "default": 8},
                "c": {"type": "array", "items": STRING, "default": ["x"]},
            },
            "required": ["a", "c"],
        }
        assert decoded(schema, "{}") == [{"a": 7, "b": None, "c": ["x"]}]
        with pytest.raises(DecodeError, match="null_value"):
            codec(schema).decode([b'{"a":null}'])

    @pytest.mark.parametrize(
        "kind",
        [{"type": ["null", "string"]}, {"oneOf": [{"type": "null"}, STRING]}],
    )
    def test_defaults_stand_for_what_is_required_and_may_be_null(self, impl, kind):
        schema = {"properties": {"a": {**kind, "default": "d"}, "b": STRING}, "required": ["a"]}
        documents = ["{}", '{"a":null}', '{"b":"x"}', '{"a":"y","b":null}', '{"b":"x","a":null}'] * 200
        found = decoded(schema, *documents)
        assert [row["a"] for row in found] == ["d", None, "d", "y", None] * 200
        schema["required"] = []
        assert decoded(schema, "{}") == [{"a": None, "b": None}]

    def test_defaults_stand_for_values_of_maps(self, impl):
        entry = {"properties": {"key": INTEGER, "value": {"type": "boolean", "default": False}}}
        schema = {"type": "array", "connect.type": "map", "items": entry}
        assert decoded(schema, '[{"key":1,"value":true},{"key":2}]') == [[(1, True), (2, False)]]

    def test_tuples(self, impl):
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "prefixItems": [INTEGER, {"type": ["string", "null"]}],
            "items": False,
            "minItems": 2,
        }
        assert decoded(schema, "[1,null]") == [{"_0": 1, "_1": None}]
        assert encoded(schema, {"_0": 1, "_1": "x"}) == ['[1,"x"]']
        assert codec(schema).decode([b"[1]", b"[1,null,2]"], errors="null").null_count == 2
        # Without minItems they may be shorter, so they are lists.
        del schema["minItems"]
        assert decoded(schema, "[1]") == [[{"integer": 1, "string": None}]]

    def test_fields(self, impl):
        line = {"properties": {"sku": STRING, "n": INTEGER}}
        schema = {
            "properties": {"id": INTEGER, "lines": {"items": line}, "by": {"additionalProperties": line}}
        }
        document = '{"id":1,"lines":[{"sku":"a","n":2}],"by":{"k":{"sku":"b","n":"wrong"}}}'
        found = decoded(schema, document, fields=["lines.n", "by.sku"])
        assert found == [{"lines": [{"n": 2}], "by": [("k", {"sku": "b"})]}]
        assert codec(schema).select(["id"]).decode([document]).to_pylist() == [{"id": 1}]
        with pytest.raises(ConfigError, match=r"lines .* has no field sky: did you mean 'sku'\?"):
            codec(schema, fields=["lines.sky"])
        with pytest.raises(ConfigError, match="id has no fields"):
            codec(schema, fields=["id.x"])

    @cases("name", ["u", "lines.u", "by.u", "entries.u"])
    def test_members_are_no_fields(self, impl, name):
        """Documents that have another member would not fit."""
        for member, what, values in (
            ({"type": ["integer", "string"]}, "union of several types", ["1", '"x"']),
            (
                {"oneOf": [STRING, {"properties": {"integer": INTEGER}}]},
                "union of several types",
                ['"x"', "{}"],
            ),
            ({"items": [INTEGER, STRING], "additionalItems": False, "minItems": 2}, "tuple", ['[1,"x"]']),
        ):
            inner = {"properties": {"u": member, "n": INTEGER}}
            entry = {"properties": {"key": INTEGER, "value": inner}}
            schema = {
                "properties": {
                    "u": member,
                    "lines": {"items": inner},
                    "by": {"additionalProperties": inner},
                    "entries": {"type": "array", "connect.type": "map", "items": entry},
                }
            }
            whole = codec(schema, fields=[name])
            kind = next(each.type for each in codec({"properties": {"u": member}}).arrow_type)
            for below in kind:
                with pytest.raises(ConfigError, match=f"{name} is a {what}, so it has no field {below.name}"):
                    codec(schema, fields=["by.n", f"{name}.{below.name}"])
            documents = [
                f'{{"u":{value},"lines":[{{"u":{value}}}],"by":{{"k":{{"u":{value}}}}},'
                f'"entries":[{{"key":1,"value":{{"u":{value}}}}}]}}'
                for value in values
            ]
            assert whole.decode(documents).null_count == 0

    def test_columns_of_other_types(self, impl):
        schema = {
            "properties": {"price": NUMBER, "at": INTEGER, "o": {"properties": {"x": INTEGER}}, "n": INTEGER}
        }
        kind = pa.schema(
            [("price", pa.decimal128(9, 2)), ("at", pa.timestamp("ms")), ("o", pa.string()), ("n", pa.string()),
             ("extra", pa.list_(pa.int8()))]
        )  # fmt: skip
        document = '{"price":1.5,"at":1000,"o":{"x": 1},"n":7,"extra":[1]}'
        row = {
            "price": Decimal("1.50"), "at": datetime.datetime(1970, 1, 1, 0, 0, 1), "o": '{"x": 1}', "n": "7",
            "extra": [1],
        }  # fmt: skip
        assert decoded(schema, document, arrow_type=kind) == [row]
        assert encoded(schema, row, arrow_type=kind) == [
            '{"price":1.50,"at":1000,"o":{"x":1},"n":"7","extra":[1]}'
        ]


class TestWriting:
    def test_nulls(self, impl):
        schema = {
            "properties": {
                "required": INTEGER,
                "nullable": {"type": ["integer", "null"]},
                "optional": INTEGER,
                "list": {"items": {"type": ["integer", "null"]}},
            },
            "required": ["required"],
        }
        row = {"required": 1, "nullable": None, "optional": None, "list": [None]}
        assert encoded(schema, row, None) == ['{"required":1,"nullable":null,"list":[null]}', None]
        kind = pa.struct([("required", pa.int64())])
        with pytest.raises(EncodeError, match="null_value: row 0, required: a null stands"):
            codec(schema).encode(pa.array([{"required": None}], kind))
        kind = pa.struct([("list", pa.list_(pa.int64()))])
        with pytest.raises(EncodeError, match=r"null_value: row 0, list\[0\]"):
            codec({"properties": {"list": {"items": INTEGER}}}).encode(pa.array([{"list": [None]}], kind))

    def test_columns_keep_their_order_and_unknown_ones_are_written(self, impl):
        kind = pa.struct([("b", pa.string()), ("x", pa.list_(pa.bool_())), ("a", pa.int8())])
        schema = {"properties": {"a": INTEGER, "b": STRING}}
        assert encoded(schema, {"b": "é😀\x01", "x": [True], "a": 1}, kind=kind) == [
            '{"b":"é\\uD83D\\uDE00\\u0001","x":[true],"a":1}'
        ]

    def test_numbers_are_those_of_java(self, impl):
        kind = pa.struct(
            [("d", pa.float64()), ("f", pa.float32()), ("x", pa.decimal128(20, 10)), ("u", pa.uint64())]
        )
        row = {"d": 1e10, "f": 0.1, "x": Decimal("1E-10"), "u": 2**64 - 1}
        assert encoded(True, row, kind=kind) == ['{"d":1.0E10,"f":0.1,"x":1E-10,"u":18446744073709551615}']
        assert encoded(True, {"d": float("nan")}, kind=pa.struct([("d", pa.float64())])) == ['{"d":"NaN"}']
        kind = pa.struct([("x", pa.decimal128(9, 2))])
        assert encoded({"properties": {"x": STRING}}, {"x": Decimal("1.50")}, kind=kind) == ['{"x":"1.50"}']

    def test_texts_of_json(self, impl):
        schema = {"properties": {"v": {}}}
        texts = {
            '{"b" : 1e2, "a":[ ], "b":-0.0}': '{"b":0.0,"a":[]}',
            '"\\u00e9\\ud83d\\ude00\\/"': '"é\\uD83D\\uDE00/"',
            '"\\ud800"': '"\\uD800"',
            "1.10": "1.10",
            " null ": "null",
        }
        assert encoded(schema, *({"v": text} for text in texts)) == [
            f'{{"v":{text}}}' for text in texts.values()
        ]
        rows = pa.array([{"v": text} for text in ("", "x", "1 2", "[1", '"\\ud800" x', None)])
        array, report = codec(schema).encode(rows, errors="report")
        assert array.to_pylist() == [None] * 5 + [b"{}"]
        assert report["path"].to_pylist() == ["v"] * 5
        # In lists, maps, unions and tuples too.
        schema = {"items": {"type": ["object", "string"]}}
        assert encoded(schema, [{"object": '{"a": 1}', "string": None}]) == ['[{"a":1}]']
        schema = {"additionalProperties": {"items": {}}}
        assert encoded(schema, [("k", ["1.0", None, "[1, 2]"])]) == ['{"k":[1.0,null,[1,2]]}']
        sliced = codec(schema).decode([b'{"a":[1]}', b'{"b":[ 2]}', None, b'{"c":[3]}']).slice(1)
        assert codec(schema).encode(sliced).to_pylist() == [b'{"b":[2]}', None, b'{"c":[3]}']

    def test_unions(self, impl):
        schema = {"type": ["integer", "string", "null"]}
        rows = [{"integer": 1, "string": None}, {"integer": None, "string": "a"}, None]
        assert encoded({"items": schema}, rows) == ['[1,"a",null]']
        kind = pa.struct([("integer", pa.int64()), ("string", pa.string())])
        column = pa.array([{"integer": 1, "string": "a"}, {"integer": None, "string": None}], kind)
        _, report = codec(schema).encode(column, errors="report")
        assert report["code"].to_pylist() == ["union_members"] * 2
        # A column of one kind is written as what it is.
        assert encoded(schema, 1, kind=pa.int8()) == ["1"]

    @cases("key", ["oneOf", "anyOf"])
    @cases("more", [True, False])
    def test_nulls_of_members_that_a_document_is_not(self, impl, key, more):
        def member(name, spare, required):
            return {
                "type": "object",
                "properties": {"kind": {"const": name}, spare: {"type": ["null", "string"]}, "any": {}},
                "required": ["kind", *required],
                "additionalProperties": more,
            }

        schema = {"properties": {"x": {key: [member("a", "b", []), member("c", "d", []), {"type": "null"}]}}}
        rows = [
            b'{"x":{"kind":"a"}}',
            b'{"x":{"kind":"a","b":"x"}}',
            b'{"x":{"kind":"c","d":"y"}}',
            b'{"x":null}',
        ]
        validating = codec(schema, validate=True)
        assert validating.encode(validating.decode(rows)).to_pylist() == rows
        # One that its member requires is written.
        required = codec({"properties": {"x": {key: [member("a", "b", ["b"]), member("c", "d", [])]}}})
        assert required.encode(required.decode([b'{"x":{"kind":"a","b":null}}'])).to_pylist() == [
            b'{"x":{"kind":"a","b":null}}'
        ]

    def test_times(self, impl):
        kind = pa.struct(
            [("d", pa.date64()), ("t", pa.timestamp("us", "UTC")), ("n", pa.timestamp("us", "UTC"))]
        )
        properties = {
            "d": {"type": "string", "format": "date"}, "t": {"type": "string", "format": "date-time"}, "n": INTEGER,
        }  # fmt: skip
        moment = datetime.datetime(2024, 2, 29, 10, 0, 0, 250000, UTC)
        row = {"d": datetime.date(2024, 2, 29), "t": moment, "n": moment}
        assert encoded({"properties": properties}, row, kind=kind) == [
            '{"d":"2024-02-29","t":"2024-02-29T10:00:00.250000Z","n":1709200800250}'
        ]
        column = pa.array([{"n": 1}], pa.struct([("n", pa.timestamp("us"))]))
        with pytest.raises(EncodeError, match="inexact"):
            codec({"properties": properties}).encode(column)
        cut = codec({"properties": properties}, round="truncate").encode(column)
        assert cut.to_pylist() == [b'{"n":0}']

    def test_columns_of_any_layout(self, impl):
        schema = {"properties": {"s": STRING, "l": {"items": INTEGER}}}
        texts = pa.array(["a", "b", "a"]).dictionary_encode()
        lists = pa.array([[1], [2], [3]], pa.list_(pa.int64(), 1))
        column = pa.StructArray.from_arrays([texts, lists], ["s", "l"])
        assert codec(schema).encode(column)[2].as_py() == b'{"s":"a","l":[3]}'
        assert codec(schema, large=True).encode(column).type == pa.large_binary()
        with pytest.raises(SchemaError, match="two fields have the same name"):
            codec(schema).encode(pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]))
        with pytest.raises(
            SchemaError, match="the root: a column of month_day_nano_interval has no form in JSON"
        ):
            codec(True).encode(pa.array([(1, 2, 3)], pa.month_day_nano_interval()))


def test_arguments():
    made = codec({"properties": {"a": INTEGER}}, {"r": {}}, unknown="keep")
    again = pickle.loads(pickle.dumps(made))
    assert again == made != codec({"properties": {"a": INTEGER}}, unknown="keep")
    assert again.decode([b'{"a":1}']).to_pylist() == [{"a": 1, "_unknown": None}]
    marked, plain = (pa.struct([pa.field("a", pa.binary(), metadata=each)]) for each in (RAW, None))
    assert codec(True, arrow_type=marked) != codec(True, arrow_type=plain)
    assert codec(True, arrow_type=marked).decode([b'{"a":[1]}']).to_pylist() == [{"a": b"[1]"}]
    assert codec(True, arrow_type=marked).encode(pa.array([{"a": b"1e2"}], marked)).to_pylist() == [
        b'{"a":1E+2}'
    ]
    assert made.schema == '{"properties":{"a":{"type":"integer"}}}'
    assert repr(codec(True)) == "JsonSchemaCodec('true')"
    for arguments in (
        {"formats": "no"}, {"unknown": None}, {"round": "up"}, {"fields": []}, {"fields": "a"}, {"precision": 0},
        {"recursive_depth": 21}, {"large": 1}, {"arrow_type": "int"}, {"validate": "yes"}, {"limits": 3},
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=next(iter(arguments))):
            codec(True, **arguments)
    for schema in ("{", "[]", {"type": "nothing"}, {"properties": []}, {"$ref": "#/x"}):
        with pytest.raises(SchemaError):
            codec(schema)
    with pytest.raises(ConfigError, match="its text or a dict"):
        codec(7)
    with pytest.raises(ConfigError, match="not JSON"):
        codec({7: 1})
    circle = {"properties": {}}
    circle["properties"]["a"] = circle
    with pytest.raises(ConfigError, match="nested deeper"):
        codec(circle)
    with pytest.raises(SchemaError, match="at most 76 digits"):
        value_type(
            {"type": "number", "title": f"{CONNECT}Decimal", "connect.type": "bytes",
             "connect.parameters": {"scale": "2", "connect.decimal.precision": "99"}}
        )  # fmt: skip


def test_decimals_beside_text(impl):
    """What says of a union's number that it is a Decimal says nothing of its text."""
    decimal = {
        "type": "number",
        "title": "org.apache.kafka.connect.data.Decimal",
        "connect.type": "bytes",
        "connect.parameters": {"scale": "2"},
    }
    codec = JsonSchemaCodec({"properties": {"u": {"oneOf": [decimal, {"type": "string"}]}}})
    rows = [b'{"u":1.50}', b'{"u":"AJw="}', b"{}"]
    array = codec.decode(rows)
    assert [row["u"] for row in array.to_pylist()] == [
        {"number": Decimal("1.50"), "string": None},
        {"number": None, "string": "AJw="},
        None,
    ]
    assert codec.encode(array).to_pylist() == rows
    kind = pa.struct([("u", pa.struct([("number", pa.float64()), ("string", pa.int64())]))])
    with pytest.raises(SchemaError, match="of one kind"):
        JsonSchemaCodec({"properties": {"u": {"type": ["number", "string"]}}}, arrow_type=kind)
