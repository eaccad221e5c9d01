"""Schemas of JSON whose documents are one of several, and schemas that are combined."""

import itertools

import pyarrow as pa
import pytest
from ksql_codecs import ONE_OF, codec_of, framed, registered

from kcodec import KsqlCodec, SchemaError
from kcodec.registry.memory import MemoryRegistry


def test_unions_of_documents(impl):
    """A value is in the struct of the first member that it is of; Connect's names of these are long."""
    registry = MemoryRegistry()
    plain = {"oneOf": [{"type": "null"}, {"type": "integer"}, {"type": "string"}]}
    objects = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"type": "integer"}, "c": {"type": "boolean"}}},
            {"type": "integer"},
            {"type": "number"},
        ]
    }
    properties = {"p": plain, "o": objects, "l": {"type": "array", "items": {"type": ["string", "boolean"]}}}
    number = registered(registry, {"type": "object", "properties": properties}, "JSON", subject="t-value")
    inferred = KsqlCodec("JSON_SR", registry=registry, topic="t")
    upper = ONE_OF.upper()
    assert [str(column) for column in inferred.columns] == [
        f"`P` STRUCT<`{upper}0` BIGINT, `{upper}1` STRING>",
        f"`L` ARRAY<STRUCT<`{upper}0` STRING, `{upper}1` BOOLEAN>>",
        f"`O` STRUCT<`{upper}0` STRUCT<`A` BIGINT, `B` STRING>, `{upper}1` STRUCT<`A` BIGINT, `C` BOOLEAN>, "
        f"`{upper}2` BIGINT, `{upper}3` DOUBLE>",
    ]
    bodies = [
        b'{"p":7,"o":{"a":1,"c":true},"l":["x",true]}',
        b'{"p":"7","o":{"a":1},"l":[]}',
        b'{"p":null,"o":5,"l":[]}',
        b'{"o":5.5,"l":[]}',
        b'{"p":1.5,"o":1,"l":[]}',
        b'{"p":1,"o":"x","l":[]}',
        b'{"p":1,"o":{"a":"x","b":"y"},"l":[]}',
        b'{"p":1,"o":null,"l":[]}',
    ]
    values = [framed(number, body) for body in bodies]

    def read(compat):
        codec = KsqlCodec("JSON_SR", registry=registry, topic="t", compat=compat)
        array, report = codec.decode(values, errors="report")
        rows = [
            None if row is None else {name: _set(value) for name, value in row.items()}
            for row in array.to_pylist()
        ]
        return rows, report.select(["row", "path", "code"]).to_pylist()

    rows, report = read(None)
    assert rows[:4] == [
        {"P": {0: 7}, "O": {1: {"A": 1, "C": True}}, "L": [{0: "x"}, {1: True}]},
        {"P": {1: "7"}, "O": {0: {"A": 1, "B": None}}, "L": []},
        {"P": None, "O": {2: 5}, "L": []},
        {"P": None, "O": {3: 5.5}, "L": []},
    ]
    assert [each["row"] for each in report] == [4, 5, 6, 7]
    assert [each["code"] for each in report[1:]] == ["json_type", "json_type", "null_value"]
    lenient, report = read("ksqldb")
    assert lenient[:4] == rows[:4]
    assert lenient[6]["O"] == {0: {"A": 0, "B": "y"}}
    assert [each["row"] for each in report] == [4, 5, 7]


def test_members_of_unions_are_told_by_what_is_below_them_too(impl):
    registry = MemoryRegistry()
    lines = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "more": {"$ref": "#/definitions/lines"}},
    }
    placed = {"total": {"type": "integer"}, "lines": {"$ref": "#/definitions/lines"}}
    moved = {"from": {"type": "string"}, "to": {"type": "string"}}
    events = [
        {"properties": {"id": {"type": "integer"}, "data": {"type": "object", "properties": data}}}
        for data in (placed, moved)
    ]
    text = {"properties": {"e": {"oneOf": events}}, "definitions": {"lines": lines}}
    number = registered(registry, text, "JSON")
    columns = (
        f"E STRUCT<`{ONE_OF}0` STRUCT<`data` STRUCT<TOTAL BIGINT>>, "
        f"`{ONE_OF}1` STRUCT<ID BIGINT, `data` STRUCT<`to` STRING>>>"
    )
    bodies = [
        b'{"e":{"id":1,"data":{"to":"b"}}}',
        b'{"e":{"id":1,"data":{"lines":{"n":1,"more":{"n":2}},"to":"b"}}}',
        b'{"e":{"id":1,"data":{"other":1}}}',
    ]
    for compat in (None, "ksqldb"):
        codec = codec_of("JSON_SR", columns, registry=registry, compat=compat)
        rows = codec.decode([framed(number, body) for body in bodies]).to_pylist()
        assert [list(_set(row["E"])) for row in rows] == [[1], [0], [0]]


def _set(value):
    """Return the members of a union that are set, by their numbers."""
    if isinstance(value, list):
        return [_set(each) for each in value]
    if value is None:
        return None
    return {int(name.rpartition(".")[2]): member for name, member in value.items() if member is not None}


def test_unions_of_one_member_are_that(impl):
    registry = MemoryRegistry()
    one = {"$ref": "#/definitions/one"}
    properties = {
        "t": {"type": ["string"]},
        "o": {"oneOf": [one]},
        "a": {"anyOf": [{"type": "array", "items": {"anyOf": [one]}}]},
        "n": {"oneOf": [{"type": "null"}, {"anyOf": [{"type": "boolean"}]}]},
        "x": {"oneOf": [{"type": "null"}]},
    }
    text = {"type": "object", "properties": properties, "definitions": {"one": {"type": "integer"}}}
    number = registered(registry, text, "JSON", subject="t-value")
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t")
    found = ", ".join(map(str, codec.columns))
    assert found == "`A` ARRAY<BIGINT>, `T` STRING, `N` BOOLEAN, `O` BIGINT"
    values = [framed(number, b'{"t":"x","o":1,"a":[2],"n":true,"x":null}')]
    assert codec.decode(values).to_pylist() == [{"T": "x", "O": 1, "A": [2], "N": True}]
    chosen = KsqlCodec("JSON_SR", "`a` ARRAY<BIGINT>, `t` STRING", registry=registry, topic="t",
                       properties={"VALUE_SCHEMA_ID": number})  # fmt: skip
    assert chosen.encode(pa.array([{"a": [2], "t": "y"}])).to_pylist() == [
        framed(number, b'{"a":[2],"t":"y"}')
    ]


def test_what_is_said_of_a_list_of_types_is_said_of_none_of_them(impl):
    """For Connect they are a union, which has a default and a type of its own, and none of its members has."""
    registry = MemoryRegistry()
    date = {"title": "org.apache.kafka.connect.data.Date", "connect.type": "int32"}
    properties = {
        "a": {"type": ["null", "integer"], "connect.type": "int32", "default": 3},
        "b": {"type": ["integer", "null"], **date},
        "c": {"type": ["integer"], "connect.type": "int8"},
        "d": {"type": ["null", "object"], "connect.type": "map", "properties": {"x": {"type": ["string"]}}},
        "e": {"type": ["null", "string"], "pattern": "x", "maxLength": 3},
        "f": {"oneOf": [{"type": "null"}, {"anyOf": [{"type": "boolean"}]}]},
    }
    properties = {name: {**each, "connect.index": n} for n, (name, each) in enumerate(properties.items())}
    number = registered(registry, {"type": "object", "properties": properties}, "JSON", subject="t-value")
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t")
    assert ", ".join(map(str, codec.columns)) == (
        "`A` BIGINT, `B` BIGINT, `C` BIGINT, `D` STRUCT<`X` STRING>, `E` STRING, `F` BOOLEAN"
    )
    values = [
        framed(number, b'{"c":300,"e":null,"d":{"x":"y"}}'),
        framed(number, b'{"c":null}'),
        framed(number, b'{"c":1,"f":null}'),
    ]
    array, report = codec.decode(values, errors="report")
    assert array.to_pylist() == [
        {"A": None, "B": None, "C": 300, "D": {"X": "y"}, "E": None, "F": None},
        None,
        None,
    ]
    # What one member alone is in has no null, also where a null stands around it.
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 1, "path": "c", "code": "null_value"},
        {"row": 2, "path": "f", "code": "null_value"},
    ]


def test_members_of_unions_that_are_no_columns(impl):
    registry = MemoryRegistry()
    text = {"type": "object", "properties": {"p": {"oneOf": [{"type": "integer"}, {"type": "string"}]}}}
    number = registered(registry, text, "JSON")
    codec = codec_of("JSON_SR", f"P STRUCT<`{ONE_OF}1` STRING, OTHER INT>", registry=registry)
    values = [framed(number, body) for body in (b'{"p":1}', b'{"p":"x"}', b"{}")]
    assert codec.decode(values, errors="null").to_pylist() == [
        {"P": {f"{ONE_OF}1": None, "OTHER": None}},
        {"P": {f"{ONE_OF}1": "x", "OTHER": None}},
        {"P": None},
    ]
    wrong = codec_of("JSON_SR", f"P STRUCT<`{ONE_OF}1` INT>", registry=registry)
    assert wrong.decode(values, errors="report")[1]["code"].to_pylist() == ["unresolvable"] * 2


def test_unions_and_maps_are_written_as_the_chosen_schema_has_them(impl):
    registry = MemoryRegistry()
    properties = {
        "p": {"oneOf": [{"type": "null"}, {"type": "integer"}, {"type": "string"}]},
        "m": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
        "n": {
            "type": "array",
            "connect.type": "map",
            "items": {"properties": {"key": {"type": ["null", "string"]}, "value": {"type": "integer"}}},
        },
    }
    number = registered(registry, {"type": "object", "properties": properties}, "JSON")
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t", properties={"VALUE_SCHEMA_ID": number})
    rows = [
        {"p": {f"{ONE_OF}0": 7}, "m": [("k", 1)], "n": [("k", 1)]},
        {"p": {f"{ONE_OF}1": "x"}, "m": [], "n": []},
        {"p": None, "m": [], "n": []},
        {"p": {f"{ONE_OF}0": 7, f"{ONE_OF}1": "x"}, "m": [], "n": []},
        {"p": None, "m": None, "n": []},
        {"p": None, "m": [], "n": [("k", None)]},
    ]
    array = pa.array(rows, codec.arrow_type)
    written, report = codec.encode(array, errors="report")
    assert written.to_pylist() == [
        framed(number, b'{"p":7,"m":{"k":1},"n":[{"key":"k","value":1}]}'),
        framed(number, b'{"p":"x","m":{},"n":[]}'),
        framed(number, b'{"p":null,"m":{},"n":[]}'),
        None,
        None,
        None,
    ]
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 3, "path": "p", "code": "union_members"},
        {"row": 4, "path": "m", "code": "null_value"},
        {"row": 5, "path": "n[0].value", "code": "null_value"},
    ]


def test_schemas_that_are_combined(impl):
    registry = MemoryRegistry()
    text = {
        "allOf": [
            {"$ref": "#/definitions/base"},
            {"type": "object", "properties": {"b": {"allOf": [{"type": "string"}, {"minLength": 1}]}}},
        ],
        "definitions": {"base": {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}}},
    }
    number = registered(registry, text, "JSON", subject="t-value")
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t")
    assert [str(column) for column in codec.columns] == ["`A` BIGINT", "`B` STRING"]
    assert codec.decode([framed(number, b'{"a":1,"b":"x"}')]).to_pylist() == [{"A": 1, "B": "x"}]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        pytest.param(
            {"properties": {"x": {"allOf": [{"type": "array", "items": {"type": "boolean"}}]}}},
            ["`X` ARRAY<BOOLEAN>"],
            id="one member alone",
        ),
        pytest.param(
            {
                "allOf": [
                    {"type": "object", "properties": {"p": {"type": "string", "connect.index": 5}, "q": {}}},
                    {"type": "object", "properties": {"q": {"type": "string", "connect.index": 0}}},
                ]
            },
            ["`P` STRING", "`Q` STRING"],
            id="no indexes, the last of a name",
        ),
        pytest.param(
            {
                "properties": {
                    "x": {
                        "allOf": [
                            {"type": "object", "properties": {"a": {"type": "string"}}},
                            {"oneOf": [{"type": "null"}, {"properties": {"b": {"type": "string"}}}]},
                        ]
                    }
                }
            },
            ["`X` STRUCT<`A` STRING>"],
            id="none of choices",
        ),
        pytest.param(
            {
                "properties": {"p": {"type": "integer"}, "q": {"type": "integer"}},
                "allOf": [{"type": "object", "properties": {"p": {"type": "string"}}}],
            },
            ["`P` BIGINT", "`Q` BIGINT"],
            id="own ones last",
        ),
    ],
)
def test_columns_of_schemas_that_are_combined(text, columns):
    registry = MemoryRegistry()
    registered(
        registry, {"type": "object", **text} if "properties" in text else text, "JSON", subject="t-value"
    )
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t")
    assert [str(column) for column in codec.columns] == columns


@pytest.mark.parametrize("key", ["allOf", "anyOf"])
def test_combinations_of_combinations(key):
    """Each of these refers to the next one twice; there is no end of what they come to."""
    names = [f"d{number}" for number in range(40)]
    text = {
        name: {key: [{"$ref": f"#/definitions/{below}"}] * 2} for name, below in itertools.pairwise(names)
    }
    registry = MemoryRegistry()
    document = {"$ref": "#/definitions/d0", "definitions": {**text, names[-1]: {"type": "string"}}}
    registered(
        registry, {"type": "object", "properties": {"a": document}, **document}, "JSON", subject="t-value"
    )
    with pytest.raises(SchemaError):
        KsqlCodec("JSON_SR", registry=registry, topic="t")


def test_unions_of_members_that_are_alike_are_written(impl):
    registry = MemoryRegistry()
    lists = [{"type": "array", "items": {"type": each}} for each in ("integer", "boolean")]
    numbers = [{"type": "integer"}, {"type": "number"}, {"oneOf": [{"type": "string"}, {"type": "boolean"}]}]
    properties = {"l": {"oneOf": [{"type": "null"}, *lists]}, "n": {"oneOf": numbers}}
    number = registered(registry, {"type": "object", "properties": properties}, "JSON")
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t", properties={"VALUE_SCHEMA_ID": number})
    rows = [
        {"l": {f"{ONE_OF}0": [1]}, "n": {f"{ONE_OF}0": 7}},
        {"l": {f"{ONE_OF}1": [True]}, "n": {f"{ONE_OF}1": 1.5}},
        {"l": None, "n": {f"{ONE_OF}2": {f"{ONE_OF}0": "x"}}},
        {"l": None, "n": {f"{ONE_OF}2": {f"{ONE_OF}1": True}}},
    ]
    assert codec.encode(pa.array(rows, codec.arrow_type)).to_pylist() == [
        framed(number, row)
        for row in (
            b'{"l":[1],"n":7}',
            b'{"l":[true],"n":1.5}',
            b'{"l":null,"n":"x"}',
            b'{"l":null,"n":true}',
        )
    ]


def test_halves_of_surrogate_pairs_in_unions(impl):
    registry = MemoryRegistry()
    text = {"properties": {"u": {"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}}}
    number = registered(registry, text, "JSON")
    codec = codec_of("JSON_SR", f"U STRUCT<`{ONE_OF}2` STRING>", registry=registry, compat="ksqldb")
    values = [framed(number, b'{"u":"a\\ud83d"}'), framed(number, '{"u":"😀"}'.encode())]
    assert codec.decode(values).field("U").field(0).to_pylist() == ["a?", "😀"]
