"""JSON of any schema in ksqlDB's columns."""

import json
from decimal import Decimal

import pyarrow as pa
import pytest
from ksql_codecs import ONE_OF, codec_of, framed, registered

from kcodec import DecodeError, KsqlCodec, SchemaError
from kcodec.registry import Reference
from kcodec.registry.memory import MemoryRegistry


def test_any_document_is_read_into_the_columns(impl):
    registry = MemoryRegistry()
    number = registered(
        registry,
        {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "name": {"type": ["string", "null"]},
                "price": {"type": "number", "title": "org.apache.kafka.connect.data.Decimal", "connect.type": "bytes",
                          "connect.parameters": {"scale": "2"}},
                "tags": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
                "address": {"$ref": "#/definitions/address"},
                "ok": {"type": "boolean"},
                "kind": {"enum": ["a", "b"]},
            },
            "definitions": {"address": {"type": "object", "properties": {"zip": {"type": "string"}}}},
        },
        "JSON",
    )  # fmt: skip
    codec = codec_of(
        "JSON_SR",
        "ID STRING, NAME STRING, PRICE DECIMAL(6, 3), TAGS MAP<STRING, BIGINT>, ADDRESS STRUCT<ZIP STRING>, "
        "OK BOOLEAN, "
        "KIND STRING",
        registry=registry,
    )
    text = '{"x":[1],"id":7,"name":null,"price":1.5,"tags":{"k":1},"address":{"zip":"9"},"ok":true,"kind":"a"} tail'
    array, report = codec.decode(
        [framed(number, text.encode()), framed(number, b'{"id":"7"}')], errors="report"
    )
    assert array.to_pylist() == [
        {
            "ID": "7", "NAME": None, "PRICE": Decimal("1.500"), "TAGS": [("k", 1)], "ADDRESS": {"ZIP": "9"}, "OK": True,
            "KIND": "a",
        },
        None,
    ]  # fmt: skip
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 1, "path": "id", "code": "json_type"}
    ]


def test_floats_are_rounded_before_they_are_doubles(impl):
    registry = MemoryRegistry()
    kind = {"type": "number", "connect.type": "float32"}
    number = registered(
        registry, {"properties": {"D": kind, "S": kind, "A": {"type": "array", "items": kind}}}, "JSON"
    )
    texts = [b'{"D":0.1,"S":0.1,"A":[16777217]}', b'{"D":1e39,"A":[-1e39]}', b'{"D":"x"}']
    rows = [framed(number, text) for text in texts]
    columns = "D DOUBLE, S STRING, A ARRAY<DOUBLE>"
    first = {"D": 0.10000000149011612, "S": "0.1", "A": [16777216.0]}
    array, report = codec_of("JSON_SR", columns, registry=registry).decode(rows, errors="report")
    assert array.to_pylist() == [first, None, None]
    assert report["code"].to_pylist() == ["out_of_range", "json_type"]
    codec = codec_of("JSON_SR", columns, registry=registry, compat="ksqldb")
    infinity = float("inf")
    assert codec.decode(rows).to_pylist() == [
        first,
        {"D": infinity, "S": None, "A": [-infinity]},
        {"D": 0.0, "S": None, "A": None},
    ]


def test_doubles_that_are_minus_zero(impl):
    """BigDecimal, which ksqlDB has numbers as, knows no -0.0; what is too small for a double keeps its sign."""
    columns, registry = "A DOUBLE, B ARRAY<DOUBLE>", MemoryRegistry()
    strict = codec_of("JSON_SR", columns, registry=registry)
    row = framed(strict.register(), b'{"A":-0.0,"B":[-0,-0e5,1.5,-1e-400]}')
    found = strict.decode([row]).to_pylist()
    assert repr(found) == "[{'A': -0.0, 'B': [-0.0, -0.0, 1.5, -0.0]}]"
    found = codec_of("JSON_SR", columns, registry=registry, compat="ksqldb").decode([row]).to_pylist()
    assert repr(found) == "[{'A': 0.0, 'B': [0.0, 0.0, 1.5, -0.0]}]"


def test_maps_of_entries_whose_keys_are_never_null_are_objects(impl):
    entry = {"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "integer"}}}
    registry = MemoryRegistry()
    properties = {"m": {"type": "array", "connect.type": "map", "items": entry}}
    number = registered(registry, {"type": "object", "properties": properties}, "JSON", subject="t-value")
    codec = codec_of("JSON_SR", "`m` MAP<STRING, BIGINT>", registry=registry, properties={"schemaId": number})
    rows = codec.encode(pa.array([{"m": [("a", 1)]}], codec.arrow_type))
    assert rows.to_pylist() == [framed(number, b'{"m":{"a":1}}')]
    assert codec.decode(rows).to_pylist() == [{"m": [("a", 1)]}]
    lenient = codec_of("JSON_SR", "`m` MAP<STRING, BIGINT>", registry=registry, compat="ksqldb")
    entries = framed(number, b'{"m":[{"key":"a","value":1}]}')
    assert codec.decode([entries], errors="report")[1]["code"].to_pylist() == ["json_type"]
    (reason,) = lenient.decode([entries], errors="report")[1]["reason"].to_pylist()
    assert reason == "Maps with string fields should be encoded as JSON objects, but found ARRAY"


def test_properties_of_registered_schemas_stand_as_ksqldb_has_them():
    """What ksqlDB registered for the columns; another order would be another schema of the subject."""
    names = ["ID", "NAME", "PRICE", "QTY", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J"]
    codec = codec_of("JSON_SR", f"{' INT, '.join(names)} INT, `m` MAP<STRING, INT>")
    properties = json.loads(codec.schema)["properties"]
    assert " ".join(properties) == "A B C PRICE D E F G H I J m NAME QTY ID"
    assert [properties[name]["connect.index"] for name in names] == list(range(14))
    assert list(properties["m"]["oneOf"][1]["items"]["properties"]) == ["value", "key"]


def test_documents_as_ksqldb_reads_them(impl):
    """What the row loop refuses is 0, false or null, where Connect's converter has it so."""
    columns = "I INT, L BIGINT, B BOOLEAN, D DOUBLE, S STRING, N DECIMAL(4, 1), E DATE, A ARRAY<INT>"
    columns += ", M MAP<STRING, INT>"
    registry = MemoryRegistry()
    strict = codec_of("JSON_SR", columns, registry=registry)
    number = strict.register()
    lenient = codec_of("JSON_SR", columns, registry=registry, compat="ksqldb")
    bodies = {
        '{"I":1.9,"L":"7","B":1,"D":"x","S":[1]}': {"I": 1, "L": 0, "B": False, "D": 0.0},
        '{"I":"","N":"Dw=="}': {"I": 0, "N": Decimal("1.5")},
        '{"I":2147483648,"A":7,"M":[{"key":"k","value":1.5}]}': {"I": -(1 << 31), "A": [], "M": [("k", 1)]},
        '{"A":{"x":1,"y":null}}': {"A": [1, None]},
        '{"S":true,"L":1e2}': {"L": 100},
    }
    values = [framed(number, body.encode()) for body in bodies]
    absent = dict.fromkeys(column.name for column in lenient.columns)
    assert lenient.decode(values).to_pylist() == [{**absent, **row} for row in bodies.values()]
    assert strict.decode(values, errors="report")[1]["row"].to_pylist() == [0, 1, 2, 3]
    refused = ["1", '{"E":1.5}', '{"M":{"k":1}}', '{"M":[{"key":"k"}]}', '{"N":0.55}', '{"N":1e4}', "", "{"]
    values = [framed(number, body.encode()) for body in refused]
    array, report = lenient.decode(values, errors="report")
    assert array.null_count == len(refused)
    assert report["code"].to_pylist()[:6] == [*["json_type"] * 4, "inexact", "decimal_precision"]
    assert report["reason"][0].as_py() == "Structs should be encoded as JSON objects, but found NUMBER"
    with pytest.raises(DecodeError):
        lenient.decode(values[:1])


def test_numbers_that_are_not_finite(impl):
    """Confluent's Jackson reads them, for ksqlDB's too."""
    plain = {"oneOf": [{"type": "number"}, {"type": "string"}]}
    others = {"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}
    properties = {
        "d": {"type": "number"},
        "f": {"type": "number", "connect.type": "float32"},
        "s": {"type": "string"},
        "b": {"type": "boolean"},
        **{f"i{bits}": {"type": "integer", "connect.type": f"int{bits}"} for bits in (8, 16, 32, 64)},
        "n": {"type": "number", "title": "org.apache.kafka.connect.data.Decimal", "connect.type": "bytes"},
        "p": plain,
        "o": others,
    }
    registry = MemoryRegistry()
    number = registered(registry, {"properties": properties}, "JSON")
    columns = (
        "D DOUBLE, F DOUBLE, S STRING, B BOOLEAN, I8 INT, I16 INT, I32 INT, I64 BIGINT, N DECIMAL(9, 0), "
    )
    columns += f"P STRUCT<`{ONE_OF}0` DOUBLE>, O STRUCT<`{ONE_OF}1` DOUBLE>"
    values = [
        framed(number, body)
        for body in (
            b'{"d":NaN,"f":-Infinity}',
            b'{"s":+INF,"b":NaN}',
            b'{"i8":NaN,"i16":NaN,"i32":NaN,"i64":NaN}',
            b'{"i8":Infinity,"i16":Infinity,"i32":Infinity,"i64":Infinity}',
            b'{"i8":-INF,"i16":-INF,"i32":-INF,"i64":-INF}',
            b'{"p":-INF,"o":+INF}',
            b'{"n":NaN}',
            b'{"d":nan}',
        )
    ]
    codec = codec_of("JSON_SR", columns, registry=registry, compat="ksqldb")
    array, report = codec.decode(values, errors="report")
    given = [
        {name: str(value) for name, value in row.items() if value is not None} if row else row
        for row in array.to_pylist()
    ]
    integers = ["I8", "I16", "I32", "I64"]
    assert given == [
        {"D": "nan", "F": "-inf"},
        {"B": "False"},
        dict.fromkeys(integers, "0"),
        dict(zip(integers, ["-1", "-1", str((1 << 31) - 1), str((1 << 63) - 1)], strict=True)),
        dict(zip(integers, ["0", "0", str(-(1 << 31)), str(-(1 << 63))], strict=True)),
        {"P": f"{{'{ONE_OF}0': -inf}}", "O": f"{{'{ONE_OF}1': inf}}"},
        None,
        None,
    ]
    assert report.select(["row", "code"]).to_pylist() == [
        {"row": 6, "code": "invalid_number"},
        {"row": 7, "code": "json_syntax"},
    ]
    strict = codec_of("JSON_SR", columns, registry=registry)
    assert set(strict.decode(values, errors="report")[1]["code"].to_pylist()) == {"json_syntax"}


def test_base64_as_jackson_reads_it(impl):
    registry = MemoryRegistry()
    strict = codec_of("JSON_SR", "B BYTES, N DECIMAL(4, 1)", registry=registry)
    lenient = codec_of("JSON_SR", "B BYTES, N DECIMAL(4, 1)", registry=registry, compat="ksqldb")
    number = strict.register()
    bodies = [
        '{"B":"YWJj\\r\\nYQ==\\n"}',
        '{"N":" Dw=="}',
        '{"B":""}',
        '{"N":""}',
        '{"B":"YQ"}',
        f'{{"N":"{"AAAA" * 2000}"}}',
    ]
    values = [framed(number, body.encode()) for body in bodies]
    array, report = lenient.decode(values, errors="report")
    assert array.to_pylist() == [
        {"B": b"abca", "N": None},
        {"B": None, "N": Decimal("1.5")},
        {"B": b"", "N": None},
        *[None] * 3,
    ]
    assert report["code"].to_pylist() == ["empty_decimal", "invalid_base64", "number_length"]
    assert strict.decode(values, errors="report")[1]["row"].to_pylist() == [0, 1, 3, 4, 5]


def test_days_and_times_beyond_32_bits_are_none(impl):
    registry = MemoryRegistry()
    codec = codec_of("JSON_SR", "D DATE, T TIME, M TIMESTAMP", registry=registry, compat="ksqldb")
    number = codec.register()
    bodies = [b'{"D":2147483648}', b'{"T":4294967296}', b'{"D":-2147483648,"M":18446744073709551617}']
    array, report = codec.decode([framed(number, body) for body in bodies], errors="report")
    assert report.select(["row", "code"]).to_pylist() == [
        {"row": 0, "code": "json_type"},
        {"row": 1, "code": "json_type"},
    ]
    assert report["reason"][0].as_py().startswith("Invalid type for Date, underlying representation")
    assert array.field("D")[2].cast(pa.int32()).as_py() == -(1 << 31)
    assert array.field("M")[2].cast(pa.int64()).as_py() == 1000


def test_days_and_times_with_a_point_are_none(impl):
    registry = MemoryRegistry()
    columns = "D DATE, T TIME, M TIMESTAMP, I INT"
    codec = codec_of("JSON_SR", columns, registry=registry, compat="ksqldb")
    number = codec.register()
    bodies = [b'{"D":1.0}', b'{"T":1e2}', b'{"M":1e2}', b'{"I":1e2}', b'{"D":1,"T":2,"M":3}']
    values = [framed(number, body) for body in bodies]
    array, report = codec.decode(values, errors="report")
    assert report.select(["row", "code", "path"]).to_pylist() == [
        {"row": row, "code": "json_type", "path": path} for row, path in enumerate("DTM")
    ]
    assert array.field("I").to_pylist()[3] == 100
    assert codec_of("JSON_SR", columns, registry=registry).decode(values).null_count == 0


def test_defaults_of_properties_stand_for_nulls(impl):
    registry = MemoryRegistry()
    properties = {
        "a": {"oneOf": [{"type": "null"}, {"type": "integer", "default": 5}]},
        "b": {"type": "string", "default": "x"},
        "c": {"type": "number", "default": "wrong"},
    }
    number = registered(registry, {"type": "object", "properties": properties}, "JSON")
    codec = codec_of("JSON_SR", "A BIGINT, B STRING, C DOUBLE", registry=registry)
    values = [framed(number, body) for body in (b'{"a":null}', b'{"a":1,"b":"y","c":2}')]
    assert codec.decode(values).to_pylist() == [{"A": 5, "B": "x", "C": None}, {"A": 1, "B": "y", "C": 2.0}]


def test_defaults_of_lists_and_objects_stand_for_nulls(impl):
    registry = MemoryRegistry()
    properties = {
        "a": {"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
        "b": {"type": "object", "properties": {"x": {"type": "string"}}, "default": {"x": "y"}},
        "c": {"type": "array", "items": {"type": "integer"}},
    }
    number = registered(registry, {"type": "object", "properties": properties}, "JSON")
    for compat in (None, "ksqldb"):
        columns = "A ARRAY<BIGINT>, B STRUCT<X STRING>, C ARRAY<BIGINT>"
        codec = codec_of("JSON_SR", columns, registry=registry, compat=compat)
        values = [
            framed(number, body) for body in (b"{}", b'{"a":null,"b":null}', b'{"a":[],"b":{},"c":[3]}')
        ]
        given = {"A": [1, 2], "B": {"X": "y"}, "C": None}
        assert codec.decode(values).to_pylist() == [given, given, {"A": [], "B": {"X": None}, "C": [3]}]


def test_nulls_and_missing_columns_are_written_as_the_chosen_schema_has_them(impl):
    registry = MemoryRegistry()

    def maybe(kind, **more):
        return {"oneOf": [{"type": "null"}, {"type": kind, **more}]}

    properties = {
        "a": {"type": "integer"},
        "b": maybe("string"),
        "c": maybe("string", default="\u00e9"),
        "d": {"type": "array", "items": maybe("integer", default=7)},
        # No columns are declared of these.
        "e": maybe("boolean"),
        "f": {"type": "integer", "default": 3},
        "g": maybe("number", default=1e21),
        "h": {"type": "number", "connect.type": "float32", "default": 0.1},
        "i": {"type": "string"},
        "j": {"type": "object", "properties": {"a": {"type": "string"}}},
        "k": maybe("object", properties={}),
    }
    text = {
        "type": "object",
        "properties": {
            name: {**each, "connect.index": n} for n, (name, each) in enumerate(properties.items())
        },
    }
    number = registered(registry, text, "JSON")
    codec = codec_of(
        "JSON_SR",
        "`a` BIGINT, `b` STRING, `c` STRING, `d` ARRAY<BIGINT>",
        registry=registry,
        properties={"VALUE_SCHEMA_ID": number},
    )
    rest = b',"e":null,"f":3,"g":1.0E21,"h":0.1,"k":null}'
    written, report = codec.encode(
        pa.array(
            [
                None,
                {"a": 1, "b": "x", "c": "y", "d": [1, None]},
                {"a": 2, "b": None, "c": None, "d": []},
                {"a": None, "b": None, "c": None, "d": []},
                {"a": 4, "b": None, "c": None, "d": None},
            ],
            codec.arrow_type,
        ),
        errors="report",
    )
    assert written.to_pylist() == [
        None,
        framed(number, b'{"a":1,"b":"x","c":"y","d":[1,7]' + rest),
        framed(number, b'{"a":2,"b":null,"c":"\xc3\xa9","d":[]' + rest),
        None,
        None,
    ]
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 3, "path": "a", "code": "null_value"},
        {"row": 4, "path": "d", "code": "null_value"},
    ]
    # Columns that are not given are null, and those of the schema that have no column are none.
    assert codec.encode(pa.array([{"a": 1, "d": []}])).to_pylist() == [
        framed(number, b'{"a":1,"b":null,"c":"\xc3\xa9","d":[]' + rest)
    ]
    with pytest.raises(SchemaError, match="'e' is not one of the columns"):
        codec.encode(pa.array([{"a": 1, "e": True}]))


def test_types_that_keywords_stand_for(impl):
    registry = MemoryRegistry()
    properties = {
        "n": {"minimum": 0},
        "s": {"maxLength": 3},
        "d": {"format": "date"},
        "o": {"required": ["a"]},
        "a": {"allOf": [True, {"minimum": 0}, {"type": "integer"}]},
        "u": {"oneOf": [{"pattern": "^x"}, {"multipleOf": 2}]},
        "e": {"enum": [1], "minimum": 0},
        "c": {"const": 1},
        "x": {"title": "anything"},
    }
    number = registered(registry, {"type": "object", "properties": properties}, "JSON", subject="t-value")
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t")
    upper = ONE_OF.upper()
    assert [str(column) for column in codec.columns] == [
        "`A` BIGINT", "`S` STRING", "`C` STRING", "`D` STRING", f"`U` STRUCT<`{upper}0` STRING, `{upper}1` DOUBLE>",
        "`E` DOUBLE", "`N` DOUBLE", "`O` STRUCT< >",
    ]  # fmt: skip
    body = b'{"n":1,"s":"x","d":"y","o":{"a":1},"a":2,"u":4,"e":1,"c":"1","x":[]}'
    assert codec.decode([framed(number, body)]).to_pylist() == [
        {
            "N": 1,
            "S": "x",
            "D": "y",
            "O": {},
            "A": 2,
            "U": {f"{upper}0": None, f"{upper}1": 4},
            "E": 1,
            "C": "1",
        }
    ]


def test_references_of_schemas(impl):
    registry = MemoryRegistry()
    registered(registry, {"type": "string"}, "JSON", subject="name")
    text = {"type": "object", "properties": {"name": {"$ref": "name.json"}}}
    number = registered(registry, text, "JSON", (Reference("name.json", "name", 1),))
    codec = codec_of("JSON_SR", "NAME STRING", registry=registry)
    assert codec.decode([framed(number, b'{"name":"a"}')]).to_pylist() == [{"NAME": "a"}]


def test_large_columns_of_what_is_read_as_text(impl):
    """Unions that are looked at value by value, and items that cannot be read, beside columns of 64-bit offsets."""
    registry = MemoryRegistry()
    union = {"oneOf": [{"type": "integer"}, {"type": "number"}]}
    listed = {"type": "array", "items": {"type": "integer"}}
    properties = {"s": {"type": "string"}, "u": union, "l": listed}
    number = registered(registry, {"type": "object", "properties": properties}, "JSON")
    member = "io.confluent.connect.json.OneOf.field."
    codec = codec_of(
        "JSON_SR",
        f"S STRING, U STRUCT<`{member}0` BIGINT, `{member}1` DOUBLE>, L ARRAY<BOOLEAN>",
        registry=registry,
        large=True,
    )
    array = codec.decode([framed(number, b'{"s":"a","u":1.5,"l":[]}')])
    array.validate(full=True)
    assert array.type == codec.arrow_type
    assert array.to_pylist() == [{"S": "a", "U": {f"{member}0": None, f"{member}1": 1.5}, "L": []}]
