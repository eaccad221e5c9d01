"""Connect's JSON as columns: schemas of rows, strictness, nulls, settings."""

import datetime
import json
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from connect_rows import DECIMAL, codes, rows, struct

from kcodec import (
    CODES,
    ConfigError,
    ConnectJsonCodec,
    ConnectSchema,
    DecodeError,
    EncodeError,
    Limits,
    SchemaError,
)
from kcodec.formats.connect import plan as connect_plan

FLAT = struct(
    id={"type": "int32"},
    name={"type": "string", "optional": True},
    price={**DECIMAL, "optional": True},
    tags={"type": "array", "items": {"type": "string"}, "optional": True},
    by_id={"type": "map", "keys": {"type": "int32"}, "values": {"type": "double"}, "optional": True},
)


def test_the_first_schema_makes_the_type(impl):
    codec = ConnectJsonCodec()
    assert codec.arrow_type is None
    array = codec.decode(
        [
            None,
            *rows(
                (FLAT, {"id": 1, "name": "a", "price": "AJw=", "tags": ["x"], "by_id": [[1, 0.5]]}),
                (FLAT, {"id": 2, "price": 1.5}),
            ),
        ]
    )
    assert str(array.type.field("price").type) == "decimal128(38, 2)"
    assert array.to_pylist() == [
        None,
        {"id": 1, "name": "a", "price": Decimal("1.56"), "tags": ["x"], "by_id": [(1, 0.5)]},
        {"id": 2, "name": None, "price": Decimal("1.50"), "tags": None, "by_id": None},
    ]


def test_both_forms_of_decimals_are_read_whatever_the_setting(impl):
    values = [b'"AJw="', b"1.5600", b"1", b"156e-2", b"15.6E-1", b'"/w=="', b"null"]
    for setting in ("BASE64", "NUMERIC"):
        codec = ConnectJsonCodec({**DECIMAL, "optional": True}, schemas_enable=False, decimal_format=setting)
        found = codec.decode(values).to_pylist()
        assert found == [*map(Decimal, ("1.56", "1.56", "1", "1.56", "1.56", "-0.01")), None]
        with pytest.raises(DecodeError, match="inexact: row 0"):
            codec.decode([b"1.567"])
        with pytest.raises(DecodeError, match="invalid_base64: row 0"):
            codec.decode([b'"1.56"'])
    array = pa.array([Decimal("1.56")], pa.decimal128(9, 2))
    schema = ConnectSchema.decimal(2)
    written = [
        ConnectJsonCodec(schema, schemas_enable=False, decimal_format=setting).encode(array)[0].as_py()
        for setting in ("base64", "numeric")
    ]
    assert written == [b'"AJw="', b"1.56"]


def test_other_schemas_are_read_as_the_first(impl):
    first = struct(
        a={"type": "int64"}, b={"type": "string", "optional": True}, c={**DECIMAL, "optional": True}
    )
    narrower = struct(c={**DECIMAL, "parameters": {"scale": "1"}}, a={"type": "int8"}, z={"type": "boolean"})
    without_a = struct(b={"type": "string"})
    other_type = struct(a={"type": "string"})
    array, report = ConnectJsonCodec().decode(
        rows(
            (first, {"a": 1, "b": "x", "c": 1.25}),
            (narrower, {"c": "AJw=", "a": 5, "z": True}),
            (without_a, {"b": "y"}),
            (other_type, {"a": "1"}),
            ({"type": "float64"}, 1),
            (narrower, {"c": "AJw=", "a": 300, "z": True}),
            (first, {"a": 2}),
        ),
        errors="report",
    )
    assert array.to_pylist()[:2] == [
        {"a": 1, "b": "x", "c": Decimal("1.25")},
        {"a": 5, "b": None, "c": Decimal("15.60")},
    ]
    assert array[6].as_py() == {"a": 2, "b": None, "c": None}
    assert codes(report) == ([2, 3, 4, 5], ["unresolvable", "unresolvable", "schema_error", "out_of_range"])
    assert report["reason"].to_pylist()[:3] == [
        "Required field `a` is missing from the row's schema",
        "a: string is not read as int64",
        "Unknown schema type: float64",
    ]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_a_given_schema_has_its_own_defaults(compat, impl):
    reader = struct(
        a={"type": "int32"}, b={"type": "string", "default": "none"}, c={"type": "int8", "optional": True}
    )
    writer = struct(a={"type": "int32"}, b={"type": "string", "optional": True})
    lacking = struct(a={"type": "int32"})
    codec = ConnectJsonCodec(reader, compat=compat)
    found = codec.decode(rows((writer, {"a": 1, "b": None}), (lacking, {"a": 2, "b": 7}), (reader, {"a": 3})))
    assert found.to_pylist() == [{"a": n, "b": "none", "c": None} for n in (1, 2, 3)]


@pytest.mark.parametrize("compat", [None, "connect"])
@pytest.mark.parametrize("replace", [True, False])
def test_nulls_and_defaults(compat, replace, impl):
    schema = struct(
        a={"type": "int32", "default": 7},
        b={"type": "string", "optional": True, "default": "x"},
        c={**DECIMAL, "default": "AJw="},
        d={"type": "array", "items": {"type": "int8"}, "default": [1, 2]},
    )
    codec = ConnectJsonCodec(schema, schemas_enable=False, replace_null_with_default=replace, compat=compat)
    values = [b'{"a":null,"b":null,"c":null,"d":null}', b"{}", b'{"a":1,"b":"y","c":0,"d":[]}']
    full = {"a": 1, "b": "y", "c": Decimal("0.00"), "d": []}
    array, report = codec.decode(values, errors="report")
    if replace:
        wanted = {"a": 7, "b": "x", "c": Decimal("1.56"), "d": [1, 2]}
        assert array.to_pylist() == [wanted, wanted, full]
        kind = pa.struct([field.with_nullable(True) for field in array.type])
        nulls = pa.array([{"a": None, "b": None, "c": None, "d": None}], kind)
        assert codec.encode(nulls).to_pylist() == [b'{"a":7,"b":"x","c":"AJw=","d":[1,2]}']
        assert codec.encode(pa.array([{"a": 1}], pa.struct([("a", pa.int32())]))).to_pylist() == [
            b'{"a":1,"b":"x","c":"AJw=","d":[1,2]}'
        ]
    else:
        assert array.to_pylist() == [None, None, full]
        assert set(report["code"].to_pylist()) <= {"null_value", "missing_key"}


@pytest.mark.parametrize("compat", [None, "connect"])
def test_no_payload_reaches_a_field_that_its_schema_lacks(compat, impl):
    codec = ConnectJsonCodec(struct(x={"type": "int8", "default": 5}), compat=compat)
    payload = {"x": 7, "\0x": 7, connect_plan.ABSENT[:5] + "x": 7}
    assert codec.decode(rows((struct(), payload))).to_pylist() == [{"x": 5}]
    bounded = ConnectJsonCodec(
        struct(x={"type": "string", "default": "text"}), compat=compat, limits=Limits(max_expansion=3)
    )
    _, report = bounded.decode(rows((struct(), {})), errors="report")
    assert (report["path"].to_pylist(), report["code"].to_pylist()) == (["x"], ["size_limit"])


def test_the_codec_s_own_bounds_hold_for_connect_too(impl):
    schema = struct(n={"type": "int8"}, s={"type": "string", "default": "a long text"})
    values = [
        b'{"n":1,"n":2,"s":""}',
        b'{"n":300,"s":""}',
        b'{"n":3,"s":"","x":[[[[[]]]]]}',
        b'{"n":4}',
    ]
    limits = Limits(max_depth=3, max_expansion=5)
    codec = ConnectJsonCodec(
        schema, schemas_enable=False, compat="connect", duplicate_keys="error", limits=limits
    )
    array, report = codec.decode(values, errors="report")
    assert codes(report) == ([0, 2, 3], ["duplicate_key", "depth_limit", "size_limit"])
    assert array[1].as_py() == {"n": 44, "s": ""}
    with pytest.raises(DecodeError, match="duplicate_key: row 0"):
        codec.decode(values)
    envelope = b'{"schema":null,"payload":{},"payload":null}'
    assert ConnectJsonCodec(compat="connect").decode([envelope]).null_count == 1
    strict = ConnectJsonCodec(compat="connect", duplicate_keys="error")
    assert strict.decode([envelope], errors="report")[1]["code"].to_pylist() == ["duplicate_key"]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_defaults_do_not_multiply(compat, impl):
    nested = {"type": "string", "default": "x" * 1000}
    for _ in range(4):
        nested = {"type": "array", "items": nested, "default": [None] * 1000}
    good = rows(({"type": "int32"}, 1))
    array, report = ConnectJsonCodec(compat=compat).decode(rows((nested, None)) + good, errors="report")
    assert array.to_pylist() == [None, 1]
    assert report["reason"].to_pylist() == [CODES["size_limit"]]


def test_defaults_are_bounded_in_rows_that_are_read_again(impl):
    number = {"type": "int8"}
    reader = struct(n=number, s={"type": "string", "default": "x" * 100})
    lacking, optional = struct(n=number), struct(n=number, s={"type": "string", "optional": True})
    codec = ConnectJsonCodec(
        {"type": "array", "items": reader}, compat="connect", limits=Limits(max_expansion=1000)
    )
    for writer in (reader, lacking, optional):
        schema = {"type": "array", "items": writer}
        array, report = codec.decode(
            rows((schema, [{"n": 300}] * 20), (schema, [{"n": 300}])), errors="report"
        )
        assert codes(report) == ([0], ["size_limit"])
        assert array[1].as_py() == [{"n": 44, "s": "x" * 100}]
    value = rows(({"type": "array", "items": reader}, [{"n": 300}] * 20))
    assert codec.to_schemaless(value, errors="report")[1]["code"].to_pylist() == ["size_limit"]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_entries_of_maps_have_the_same_steps(compat, impl):
    pairs = {"type": "map", "keys": {"type": "int8"}, "values": {"type": "bytes"}}
    codec = ConnectJsonCodec({**pairs, "values": pairs}, schemas_enable=False, compat=compat)
    _, report = codec.decode([b'[[1,[[1,"!"]]]]', b"[[null,[]]]", b"[[1,5]]"], errors="report")
    assert report["path"].to_pylist() == ["[0].value[0].value", "[0].key", "[0].value"]
    nested = pa.map_(pa.int8(), pa.map_(pa.int8(), pa.binary()))
    _, report = codec.encode(pa.array([[(1, [(1, None)])]], nested), errors="report")
    assert report["path"].to_pylist() == ["[0].value[0].value"]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_a_null_without_a_schema_is_a_null(compat, impl):
    for schema in ({"type": "int32"}, {"type": "int32", "default": 5}, struct(a={"type": "int8"})):
        codec = ConnectJsonCodec(schema, compat=compat)
        assert codec.decode(rows((None, None))).to_pylist() == [None]
    assert ConnectJsonCodec({"type": "int32"}, compat=compat).decode(rows((None, 7))).to_pylist() == [7]


def test_tombstones(impl):
    schema = {"type": "int32", "optional": True}
    array = pa.array([1, None], pa.int32())
    text = '{"schema":{"type":"int32","optional":true},"payload":%s}'
    assert ConnectJsonCodec(schema).encode(array).to_pylist() == [(text % 1).encode(), None]
    for codec in (ConnectJsonCodec(schema, tombstones=False), ConnectJsonCodec(schema, compat="connect")):
        assert codec.encode(array).to_pylist() == [(text % 1).encode(), (text % "null").encode()]
        assert codec.decode(codec.encode(array)).to_pylist() == [1, None]
    assert ConnectJsonCodec(schema, compat="connect", tombstones=True).encode(array)[1].as_py() is None
    required = ConnectJsonCodec({"type": "int32"}, tombstones=False)
    with pytest.raises(EncodeError, match="null_value: row 1: Conversion error: null value for field"):
        required.encode(array)
    assert codes(required.encode(array, errors="report")[1]) == ([1], ["null_value"])


@pytest.mark.parametrize("compat", [None, "connect"])
def test_columns_of_arrow_may_be_null(compat, impl):
    array = pa.array([{"a": 1}, None], pa.struct([("a", pa.int8())]))
    for codec in (ConnectJsonCodec(compat=compat), ConnectJsonCodec(array.type, compat=compat)):
        written = codec.encode(array)
        assert (written[1].as_py() is None) == (compat is None)
        assert codec.decode(written).to_pylist() == array.to_pylist()
    plain = ConnectJsonCodec(array.type, schemas_enable=False, compat=compat)
    assert plain.decode([b'{"a":1}', b"null"]).to_pylist() == array.to_pylist()


def test_faults_have_the_words_of_connect_and_their_place(impl):
    schema = struct(
        a={"type": "array", "items": {"type": "int32"}},
        d={"type": "int32", "name": "org.apache.kafka.connect.data.Date", "optional": True},
    )
    codec = ConnectJsonCodec(schema, schemas_enable=False, compat="connect")
    _, report = codec.decode([b'{"a":[1, null]}', b'{"a":[],"d":"x"}', b'{"a":7'], errors="report")
    reason = "Invalid type for Date, underlying representation should be integer but was STRING"
    assert [tuple(row.values())[:5] for row in report.to_pylist()][:2] == [
        (0, 9, "a[1]", "null_value", "Invalid null value for required INT32 field"),
        (1, 12, "d", "type_mismatch", reason),
    ]
    assert report["offset"][2].as_py() == 6
    kind = pa.struct([("a", pa.list_(pa.int32())), ("d", pa.date64())])
    values = pa.array([{"a": [1, None]}, {"a": []}], kind)
    values = pa.StructArray.from_arrays([values.field(0), pa.array([None, 5], pa.date64())], ["a", "d"])
    found, report = codec.encode(values, errors="report")
    assert found.null_count == 2
    assert report["path"].to_pylist() == ["a[1]", "d"]
    assert report["reason"].to_pylist() == [
        "Conversion error: null value for field that is required and has no default value",
        "Kafka Connect Date type should not have any time fields set to non-zero values.",
    ]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_no_schema_has_an_arrow_type(compat, impl):
    wide = {**DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "80"}, "optional": True}
    values = rows((wide, 1.5), ({"type": "float64"}, 1))
    array, report = ConnectJsonCodec(compat=compat).decode(values, errors="report")
    assert array.type == pa.null()
    assert report["code"].to_pylist() == ["schema_error"] * 2
    assert 'wide_decimals="string" reads it as text' in report["reason"][0].as_py()
    assert report["reason"][1].as_py() == "Unknown schema type: float64"
    utf16 = json.dumps({"schema": {**DECIMAL, "default": 1.5}, "payload": None}).encode("utf-16")
    if compat:
        assert ConnectJsonCodec(compat=compat).decode([utf16]).to_pylist() == [Decimal("1.50")]


def test_fields_that_the_columns_lack(impl):
    writer = struct(a={"type": "int32"}, d={**DECIMAL, "optional": True})
    values = rows((writer, {"a": 1, "d": 1.5}), (writer, {"a": 2, "d": True}))
    reader = struct(a={"type": "int32"})
    assert ConnectJsonCodec(reader).decode(values).to_pylist() == [{"a": 1}, {"a": 2}]
    array, report = ConnectJsonCodec(reader, compat="connect").decode(values, errors="report")
    assert array.to_pylist() == [{"a": 1}, None]
    assert report["path"].to_pylist() == ["d"]


def test_without_any_schema(impl):
    codec = ConnectJsonCodec()
    assert codec.decode([None, b'{"schema":null,"payload":null}']).type == pa.null()
    for compat in (None, "connect"):
        array, report = ConnectJsonCodec(compat=compat).decode(
            [b'{"schema":null,"payload":1}', b"{"], errors="report"
        )
        assert array.to_pylist() == [None, None]
        assert codes(report)[0] == [0, 1]
        assert report["code"][0].as_py() == "schema_error"
        assert report["reason"][0].as_py().startswith("the row has no schema")
    given = ConnectJsonCodec({"type": "int64"})
    assert given.decode([b'{"schema":null,"payload":1}']).to_pylist() == [1]
    with pytest.raises(ConfigError, match="to_schemaless"):
        ConnectJsonCodec(schemas_enable=False).decode([b"1"])


STRICT = [
    ('{"type":"int8"}', "300", "out_of_range", 44),
    ('{"type":"int32"}', "1.9", "inexact", 1),
    ('{"type":"int32"}', '"1"', "json_type", 0),
    ('{"type":"int32"}', "true", "json_type", 0),
    ('{"type":"boolean"}', "1", "json_type", False),
    ('{"type":"double"}', '"1.5"', "json_type", 0.0),
    ('{"type":"double"}', "1e400", "out_of_range", float("inf")),
    ('{"type":"string"}', "12", "json_type", None),
    ('{"type":"array","items":{"type":"int8"}}', '{"a":1}', "json_type", [1]),
    ('{"type":"array","items":{"type":"int8"}}', '"x"', "json_type", []),
    ('{"type":"int32"}', "007", "trailing_bytes", 7),
]


#: The rest of the table in docs/connect.md: what both answer, a code or a value.
BYTES_KEYS = '{"type":"map","keys":{"type":"bytes"},"values":{"type":"int8"}}'
DATE = '{"type":"int32","name":"org.apache.kafka.connect.data.Date"}'
DIFFERENCES = [
    ('{"type":"double"}', b"-0.0", "-0.0", "0.0"),
    ('{"type":"string","optional":true}', b"{}", "json_type", "None"),
    ('{"type":"bytes","optional":true}', b"5", "json_type", "None"),
    ('{"type":"bytes"}', b'" AQ== AQ==\\t"', "invalid_base64", repr(b"\x01\x01")),
    (json.dumps(DECIMAL), b'"AJw= "', "invalid_base64", repr(Decimal("1.56"))),
    (DATE, b"1.0", repr(datetime.date(1970, 1, 2)), "type_mismatch"),
    (BYTES_KEYS, b'[["AQ==",1],["AQ==",2]]', repr([(b"\x01", 2)]), repr([(b"\x01", 1), (b"\x01", 2)])),
    ('{"type":"int8"}', b"5 and more", "trailing_bytes", "5"),
    ('{"type":"int8"}', '"\ufeff5"'.strip('"').encode("utf-16-le"), "invalid_utf8", "5"),
    (json.dumps(struct(a={"type": "int8"})), b'{"a":"x","a":2}', "json_type", "{'a': 2}"),
    ('{"type":"string"}', b'"\\ud800"', "lone_surrogate", "lone_surrogate"),
    (json.dumps(DECIMAL), b"1.567", "inexact", "inexact"),
    (json.dumps(DECIMAL), b"1" * 40, "decimal_precision", "decimal_precision"),
    ('{"type":"int8"}', b"0." + b"0" * 1200, "number_length", "json_syntax"),
]


@pytest.mark.parametrize(("schema", "data", "strict", "lenient"), DIFFERENCES)
def test_documented_differences(schema, data, strict, lenient, impl):
    for compat, expected in ((None, strict), ("connect", lenient)):
        codec = ConnectJsonCodec(schema, schemas_enable=False, compat=compat)
        try:
            found = repr(codec.decode([data]).to_pylist()[0])
        except DecodeError as error:
            found = error.code
        assert found == expected


@pytest.mark.parametrize(("schema", "payload", "code", "lenient"), STRICT)
def test_strict_and_lenient(schema, payload, code, lenient, impl):
    for enveloped in (True, False):
        value = f'{{"payload":{payload},"schema":{schema}}}' if enveloped else payload
        given = None if enveloped else schema
        strict = ConnectJsonCodec(given, schemas_enable=enveloped)
        with pytest.raises(DecodeError) as caught:
            strict.decode([value.encode()])
        assert caught.value.code == code
        found = ConnectJsonCodec(given, schemas_enable=enveloped, compat="connect").decode([value.encode()])
        assert found.to_pylist() == [lenient]


def test_what_is_no_envelope(impl):
    good = rows(({"type": "int32"}, 1))[0]
    values = [good, good[:-1] + b',"x":1}', good + b" trailing", b"", b'{"a":1}', good[:-1], good]
    array, report = ConnectJsonCodec().decode(values, errors="report")
    assert array.to_pylist() == [1, None, None, None, None, None, 1]
    assert codes(report) == (
        [1, 2, 3, 4, 5],
        ["json_type", "trailing_bytes", "json_type", "json_type", "truncated"],
    )
    assert report["reason"][0].as_py().startswith("JsonConverter with schemas.enable requires")
    array, report = ConnectJsonCodec(compat="connect").decode(values, errors="report")
    assert array.to_pylist() == [1, None, 1, None, None, None, 1]
    assert report["row"].to_pylist() == [1, 3, 4, 5]
    duplicate = b'{"payload":1,"payload":2,"schema":{"type":"int32"}}'
    assert ConnectJsonCodec(compat="connect").decode([duplicate]).to_pylist() == [2]
    with pytest.raises(DecodeError, match="duplicate_key"):
        ConnectJsonCodec().decode([good, duplicate])


def test_more_schemas_than_the_cache_holds(impl):
    values = rows(
        *(
            (struct(a={"type": "int32"}, **{f"b{n}": {"type": "int8"}}), {"a": n, f"b{n}": 1})
            for n in range(40)
        )
    )
    reader = struct(a={"type": "int32"})
    codec = ConnectJsonCodec(reader, schemas_cache_size=2)
    array, report = codec.decode([*values, b"x", *values], errors="report")
    assert array.to_pylist() == [*({"a": n} for n in range(40)), None, *({"a": n} for n in range(40))]
    assert codes(report) == ([40], ["json_type"])


def test_a_schema_is_parsed_once(impl, monkeypatch):
    parsed = []
    read = ConnectSchema.from_json
    monkeypatch.setattr(
        ConnectSchema, "from_json", lambda text, **more: parsed.append(text) or read(text, **more)
    )
    schemas = [{"type": "int32"}, {"type": "int8"}]
    values = rows(*((schemas[n % 2], n) for n in range(100)))
    codec = ConnectJsonCodec({"type": "int64"})
    parsed.clear()
    for _ in range(2):
        assert codec.decode(pa.chunked_array([values, values])).to_pylist() == [*range(100)] * 2
    assert sorted(parsed) == [b'{"type": "int32"}', b'{"type": "int8"}']


def test_settings_under_the_names_of_connect():
    codec = ConnectJsonCodec(
        config={"decimal.format": "numeric", "schemas.enable": "False", "schemas.cache.size": "5"}
    )
    assert codec == ConnectJsonCodec(decimal_format="NUMERIC", schemas_enable=False, schemas_cache_size=5)
    worker = {
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter.decimal.format": "NUMERIC",
        "bootstrap.servers": "broker:9092",
    }
    assert ConnectJsonCodec(config=worker) == ConnectJsonCodec(decimal_format="NUMERIC")
    assert ConnectJsonCodec(config=worker, key=True) == ConnectJsonCodec(schemas_enable=False)
    for arguments, message in (
        ({"decimal_format": "BASE10"}, "String must be one of .case insensitive.: NUMERIC, BASE64"),
        ({"config": {"decimal.format": "x"}}, "NUMERIC, BASE64"),
        ({"config": {"decimal.fromat": "NUMERIC"}}, "not one of schemas.enable, decimal.format"),
        ({"config": {"decimal.format": "NUMERIC"}, "decimal_format": "NUMERIC"}, "given twice"),
        ({"config": {"schemas.enable": "yes"}}, "not one of true, false"),
        ({"config": {"schemas.cache.size": "-1"}}, "a number of schemas"),
        ({"config": {"converter.type": "key"}}, "converter.type"),
        ({"compat": "ksqldb"}, "not one of None, 'connect'"),
        ({"precision": 77}, "not within 1 and 76"),
    ):
        with pytest.raises(ConfigError, match=message):
            ConnectJsonCodec(**arguments)


def test_an_external_schema(impl):
    config = {"schema.content": '{"type":"int64"}'}
    codec = ConnectJsonCodec(config=config)
    assert codec.decode([b"5"]).to_pylist() == [5]
    assert codec.encode(pa.array([5])).to_pylist() == [
        b'{"schema":{"type":"int64","optional":false},"payload":5}'
    ]
    with pytest.raises(ConfigError, match="one of them"):
        ConnectJsonCodec("int64", config=config)


@pytest.mark.parametrize(
    "codec",
    [
        ConnectJsonCodec(),
        ConnectJsonCodec(FLAT, decimal_format="NUMERIC", compat="connect"),
        ConnectJsonCodec(pa.schema([("a", pa.decimal128(9, 2))]), schemas_enable=False, tombstones=False),
    ],
)
def test_pickling_and_repr(codec):
    again = pickle.loads(pickle.dumps(codec))
    assert again == codec
    assert hash(again) == hash(codec)
    assert repr(again).startswith("ConnectJsonCodec(")
    assert codec != ConnectJsonCodec(large=True)
    assert codec != "codec"


def test_an_arrow_type_drives(impl):
    kind = pa.struct(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("price", pa.decimal128(9, 2)),
            ("at", pa.timestamp("ms", "UTC")),
            ("day", pa.date32()),
            ("clock", pa.time64("us")),
            ("raw", pa.binary()),
            ("counts", pa.map_(pa.int32(), pa.int64())),
        ]
    )
    codec = ConnectJsonCodec(kind, schemas_enable=False)
    assert codec.arrow_type == kind
    data = b'{"id":1,"price":1.5,"at":1000,"day":1,"clock":5,"raw":"AQI=","counts":[[1,2],[3,null]]}'
    array = codec.decode([data])
    row = array.to_pylist()[0]
    assert row["price"] == Decimal("1.50")
    assert row["clock"].microsecond == 5000
    assert row["counts"] == [(1, 2), (3, None)]
    written = codec.encode(array)[0].as_py()
    assert json.loads(written) == {**json.loads(data), "price": "AJY="}
    assert ConnectJsonCodec().decode(ConnectJsonCodec().encode(array)).to_pylist()[0]["raw"] == b"\x01\x02"
    with pytest.raises(SchemaError, match="Connect has no type for Arrow's"):
        ConnectJsonCodec(pa.struct([("a", pa.duration("s"))]))


@pytest.mark.parametrize("compat", [None, "connect"])
def test_columns_that_are_read_as_plainer_ones(compat, impl):
    kind = pa.struct(
        [
            ("a", pa.dictionary(pa.int8(), pa.string())),
            ("b", pa.list_(pa.large_binary(), 2)),
            ("c", pa.map_(pa.string(), pa.uint64())),
            ("d", pa.timestamp("s")),
            ("e", pa.decimal32(5, 2) if hasattr(pa, "decimal32") else pa.decimal128(5, 2)),
            ("f", pa.string_view()),
            ("g", pa.date64()),
        ]
    )
    codec = ConnectJsonCodec(kind, schemas_enable=False, compat=compat)
    values = ['{"a":"x","b":["AQ==","Ag=="],"c":{"k":18446744073709551615},"d":1500,"e":1.5,"f":"y","g":1}']
    array = codec.decode(values)
    assert array.type == codec.arrow_type
    assert [str(field.type) for field in array.type] == [
        "large_string",
        "large_list<item: large_binary>",
        "map<large_string, decimal128(20, 0)>",
        "timestamp[ms]",
        "decimal128(5, 2)",
        "large_string",
        "date64[ms]",
    ]
    assert array.to_pylist()[0]["c"] == [("k", Decimal(2**64 - 1))]
    assert codec.decode(codec.encode(array)).equals(array)


@pytest.mark.parametrize("compat", [None, "connect"])
def test_times_as_integers(compat, impl):
    schema = struct(
        **{
            name.lower(): {"type": kind, "name": f"org.apache.kafka.connect.data.{name}"}
            for name, kind in (("Date", "int32"), ("Time", "int32"), ("Timestamp", "int64"))
        }
    )
    payload = {"date": -1, "time": 86_400_000, "timestamp": 2**60}
    kind = pa.struct([("date", pa.int32()), ("time", pa.int32()), ("timestamp", pa.int64())])
    array = ConnectJsonCodec(kind, compat=compat).decode(rows((schema, payload)))
    assert array.to_pylist() == [payload]
    writer = ConnectJsonCodec(schema, schemas_enable=False, compat=compat)
    if compat is None:
        assert json.loads(writer.encode(array)[0].as_py()) == payload
    else:
        with pytest.raises(
            EncodeError, match=r"date: Invalid type for Date, expected Date but was class java.lang"
        ):
            writer.encode(array)


@pytest.mark.parametrize("compat", [None, "connect"])
def test_logical_types_are_not_read_as_each_other(compat, impl):
    kinds = {"Date": pa.date32(), "Time": pa.time32("ms"), "Timestamp": pa.timestamp("us", "UTC")}
    for name, other in (("Date", "Time"), ("Time", "Timestamp"), ("Timestamp", "Date")):
        schema = {"type": "int64", "name": f"org.apache.kafka.connect.data.{name}"}
        codec = ConnectJsonCodec(kinds[other], compat=compat)
        assert codec.decode(rows((schema, 0)), errors="report")[1]["code"].to_pylist() == ["unresolvable"]
    array, report = ConnectJsonCodec(
        struct(a={**DECIMAL, "type": "map", "keys": DECIMAL, "values": DECIMAL}),
        schemas_enable=False,
        compat=compat,
    ).decode([b'{"a":{}}', b'{"a":"AJw="}', b'{"a":1.5}', b'{"a":"!"}'], errors="report")
    found = [row and row["a"] for row in array.to_pylist()]
    assert found == [None, Decimal("1.56"), Decimal("1.50"), None]
    assert codes(report)[0] == [0, 3]


def test_wide_decimals(impl):
    schema = {**DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "64"}}
    digits = "1" + "0" * 50 + ".25"
    for compat in (None, "connect"):
        wide = ConnectJsonCodec(schema, schemas_enable=False, compat=compat)
        assert wide.decode([digits.encode()]).to_pylist() == [Decimal(digits)]
        text = ConnectJsonCodec(schema, schemas_enable=False, wide_decimals="string", compat=compat)
        assert text.arrow_type == pa.string()
        assert text.decode([digits.encode(), b'"AJw="']).to_pylist() == [digits, "1.56"]
        record = ConnectJsonCodec(
            struct(d=schema, n={"type": "int32"}), schemas_enable=False, wide_decimals="string", compat=compat
        )
        # One scale, and one precision, whoever reads the row.
        values = [b'{"d":1.5,"n":%s}' % number for number in (b"1", b"1.5")]
        found = record.decode(values, errors="report")[0].to_pylist()
        assert found == [{"d": "1.50", "n": 1}, None if compat is None else {"d": "1.50", "n": 1}]
        array, report = text.decode([b"1e2", b"1e2 x", b"1.567", b"1e100"], errors="report")
        assert array.to_pylist() == ["100.00", None if compat is None else "100.00", None, None]
        assert report["code"].to_pylist()[-2:] == ["inexact", "decimal_precision"]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_wide_decimals_as_text_are_written(compat, impl):
    schema = struct(d={**DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "64"}})
    digits = "1" + "0" * 50 + ".25"
    for setting, text in (("BASE64", b'"AJw="'), ("NUMERIC", b"1.56")):
        codec = ConnectJsonCodec(
            schema, schemas_enable=False, wide_decimals="string", decimal_format=setting, compat=compat
        )
        values = [b'{"d":%s}' % text, b'{"d":%s}' % digits.encode()]
        assert codec.decode(codec.encode(codec.decode(values))).to_pylist() == [{"d": "1.56"}, {"d": digits}]
        given = pa.array([{"d": each} for each in ("1.5600", "x", "NaN", "1.567", "1" + "0" * 70)])
        written, report = codec.encode(given, errors="report")
        assert written.to_pylist() == [values[0], None, None, None, None]
        assert report["code"].to_pylist() == ["invalid_number"] * 2 + ["inexact", "decimal_precision"]
        assert set(report["path"].to_pylist()) == {"d"}


@pytest.mark.parametrize("compat", [None, "connect"])
def test_scales_that_arrow_does_not_have(compat, impl):
    for scale in (77, -77, 2**31 - 1):
        for wide in ("decimal256", "string"):
            with pytest.raises(SchemaError, match=f"Arrow has no decimal of scale {scale}"):
                ConnectJsonCodec(ConnectSchema.decimal(scale, 64), wide_decimals=wide, compat=compat)
    small = ConnectJsonCodec(ConnectSchema.decimal(70, 20), schemas_enable=False, compat=compat)
    assert small.arrow_type == pa.decimal256(20, 70)
    assert small.decode(small.encode(small.decode([b"1.5E-60"]))).to_pylist() == [Decimal("1.5E-60")]
    # What Oracle's numbers without a scale have.
    schema = ConnectSchema.decimal(127, optional=True).to_json()
    array = ConnectJsonCodec(pa.decimal128(38, 2), compat=compat).decode(rows((schema, 1.5), (schema, None)))
    assert array.to_pylist() == [Decimal("1.50"), None]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_the_scale_of_what_is_written(compat, impl):
    array = pa.array([Decimal("1.505"), Decimal("1.500")], pa.decimal128(9, 3))
    codec = ConnectJsonCodec(DECIMAL, schemas_enable=False, decimal_format="NUMERIC", compat=compat)
    written, report = codec.encode(array, errors="report")
    if compat is None:
        assert written.to_pylist() == [None, b"1.50"]
        assert codes(report) == ([0], ["inexact"])
    else:
        assert written.to_pylist() == [b"1.505", b"1.500"]
    # Fields without nulls, behind a null.
    inner = pa.struct([pa.field("l", pa.list_(pa.int32()), nullable=False)])
    fields = [pa.field("s", inner, nullable=False), pa.field("d", pa.decimal128(9, 3), nullable=False)]
    kind = pa.struct([pa.field("o", pa.struct(fields))])
    values = [{"o": {"s": {"l": [1]}, "d": Decimal(text)}} for text in ("1.505", "1.500")]
    required = struct(s=struct(l={"type": "array", "items": {"type": "int32", "optional": True}}), d=DECIMAL)
    codec = ConnectJsonCodec(
        struct(o={**required, "optional": True}), schemas_enable=False, decimal_format="NUMERIC"
    )
    written, report = codec.encode(pa.array([*values, {"o": None}], kind), errors="report")
    assert written.to_pylist() == [None, b'{"o":{"s":{"l":[1]},"d":1.50}}', b'{"o":null}']
    assert report["path"].to_pylist() == ["o.d"]
    far = pa.array([Decimal("5E+70")], pa.decimal256(9, -70))
    codec = ConnectJsonCodec(ConnectSchema.decimal(70), schemas_enable=False, decimal_format="NUMERIC")
    with pytest.raises(SchemaError, match="is not written as"):
        codec.encode(far)


def test_the_schema_of_a_row_bounds_it_in_wider_columns(impl):
    values = rows(
        ({"type": "double"}, 1.5),
        ({"type": "int8"}, 300),
        ({"type": "int8"}, 1.5),
        ({"type": "int32"}, 9e99),
        ({"type": "float"}, 1e39),
        ({"type": "float"}, 0.1),
        ({"type": "int64"}, 2**53 + 1),
        ({"type": "int64"}, 2**53),
    )
    strict = ConnectJsonCodec({"type": "double"})
    array, report = strict.decode(values, errors="report")
    narrow = float(np.float32(0.1))
    assert array.to_pylist() == [1.5, None, None, None, None, narrow, None, 2.0**53]
    wrong = ["out_of_range", "inexact", "out_of_range", "out_of_range", "inexact"]
    assert codes(report) == ([1, 2, 3, 4, 6], wrong)
    for some, row in ((values, 1), (values[6:], 0), ([values[5], values[0], *values[3:]], 2)):
        with pytest.raises(DecodeError) as caught:
            strict.decode(some)
        assert caught.value.row == row
    lenient = ConnectJsonCodec({"type": "double"}, compat="connect").decode(values).to_pylist()
    assert lenient == [1.5, 44, 1, 0, float("inf"), narrow, 2.0**53, 2.0**53]
    single = rows(({"type": "int32"}, 2**24 + 1), ({"type": "int16"}, 7))
    array, report = ConnectJsonCodec({"type": "float"}).decode(single, errors="report")
    assert (array.to_pylist(), codes(report)) == ([None, 7.0], ([0], ["inexact"]))
    assert ConnectJsonCodec({"type": "float"}, compat="connect").decode(single).to_pylist() == [2.0**24, 7.0]


def test_numbers_widen_within_other_values(impl):
    def record(number, **more):
        return struct(
            a={"type": "array", "items": {"type": number}},
            m={"type": "map", "keys": {"type": "string"}, "values": {"type": number}, "optional": True},
            **more,
        )

    reader = record("double", new={"type": "string", "default": "d"})
    writer = record("int64", old={"type": "int8"})
    values = rows(
        (reader, {"a": [0.5], "m": None, "new": "n"}),
        (writer, {"a": [1], "m": {"k": 2}, "old": "passed over"}),
        (writer, {"a": [1, 2**53 + 1]}),
        (writer, {"a": [], "m": {"k": 2**60 + 1}}),
    )
    array, report = ConnectJsonCodec(reader).decode(values, errors="report")
    assert array.to_pylist()[:2] == [
        {"a": [0.5], "m": None, "new": "n"},
        {"a": [1.0], "m": [("k", 2.0)], "new": "d"},
    ]
    assert codes(report) == ([2, 3], ["inexact"] * 2)
    assert report["path"].to_pylist() == ["a[1]", "m[0].value"]
    # Nulls around fields that have none, and rows that are bad in themselves.
    nested = [struct(o={**record(number), "optional": True}) for number in ("double", "int64")]
    values = rows(
        (nested[1], {"o": None}),
        (nested[1], {"o": {"a": [2**53 + 1]}}),
        (nested[1], {"o": {"a": [1.5]}}),
        (nested[0], {"o": {"a": [1.5]}}),
        (nested[1], {"o": {"a": [2**60]}}),
    )
    array, report = ConnectJsonCodec(nested[0]).decode([None, *values], errors="report")
    array.validate(full=True)
    fields = [{"o": None}, None, None, {"o": {"a": [1.5], "m": None}}, {"o": {"a": [2.0**60], "m": None}}]
    assert array.to_pylist() == [None, *fields]
    assert codes(report) == ([2, 3], ["inexact"] * 2)
    assert report["path"].to_pylist() == ["o.a[0]"] * 2


def test_unsigned_and_unusual_columns_are_written(impl):
    array = pa.array(
        [{"u": 2**64 - 1, "h": np.float16(1.5), "f": pa.scalar(0.1, pa.float32()).as_py(), "d": "x", "t": 1}],
        pa.struct(
            [
                ("u", pa.uint64()),
                ("h", pa.float16()),
                ("f", pa.float32()),
                ("d", pa.dictionary(pa.int8(), pa.string())),
                ("t", pa.timestamp("s")),
            ]
        ),
    )
    codec = ConnectJsonCodec(schemas_enable=False, decimal_format="NUMERIC")
    assert codec.encode(array).to_pylist() == [b'{"u":18446744073709551615,"h":1.5,"f":0.1,"d":"x","t":1000}']
    finer = pa.array([1500], pa.timestamp("us"))
    with pytest.raises(EncodeError, match="inexact"):
        codec.encode(finer)
    with pytest.raises(SchemaError, match="the schema has no field x"):
        ConnectJsonCodec(struct(a={"type": "int8"})).encode(pa.array([{"a": 1, "x": 2}]))
    with pytest.raises(SchemaError, match="no column for the field a"):
        ConnectJsonCodec(struct(a={"type": "int8"})).encode(pa.array([{}], pa.struct([])))
    with pytest.raises(SchemaError, match="a: a column of string is not written as int8"):
        ConnectJsonCodec(struct(a={"type": "int8"})).encode(pa.array([{"a": "1"}]))


@pytest.mark.parametrize("compat", [None, "connect"])
def test_a_column_of_nulls_is_written_as_it_was_read(impl, compat):
    codec = ConnectJsonCodec(compat=compat)
    array = codec.decode([None, b'{"schema":null,"payload":null}', None])
    assert array.type == pa.null()
    assert codec.encode(array).to_pylist() == [None] * 3
    assert codec.encode(pa.chunked_array([array, array])).num_chunks == 2
    large = ConnectJsonCodec(compat=compat, large=True)
    assert large.encode(array).type == pa.large_binary()


@pytest.mark.parametrize("kind", [None, pa.time32("s"), pa.time64("us")])
def test_the_end_of_the_day_is_no_time(impl, kind):
    codec = ConnectJsonCodec(kind or ConnectSchema.time(), schemas_enable=False, compat="connect")
    array, report = codec.decode([b"86399000", b"86400000", b"86400001"], errors="report")
    assert array.to_pylist() == [datetime.time(23, 59, 59), None, None]
    assert report["code"].to_pylist() == ["out_of_range"] * 2
    assert report["reason"].to_pylist() == [
        f"86400000 ms is outside the range of {array.type}",
        "Time values must use number of milliseconds greater than 0 and less than 86400000",
    ]
    whole = ConnectJsonCodec(ConnectSchema.time(), schemas_enable=False, compat="connect")
    assert whole.encode(pa.array([86_399_999], pa.time32("ms"))).to_pylist() == [b"86399999"]


def test_the_end_of_the_day_as_an_integer(impl):
    schema = ConnectSchema("struct", fields={"a": ConnectSchema.time()})
    row = b'{"schema":%s,"payload":{"a":86400000}}' % schema.to_text().encode()
    for compat in (None, "connect"):
        codec = ConnectJsonCodec(pa.struct([pa.field("a", pa.int32())]), compat=compat)
        assert codec.decode([row]).to_pylist() == [{"a": 86_400_000}]


@pytest.mark.parametrize("compat", [None, "connect"])
@pytest.mark.parametrize("enveloped", [True, False])
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_what_is_not_finite_is_read_as_it_was_written(compat, enveloped, kind, impl):
    fields = [("f", kind), ("l", pa.list_(kind)), ("m", pa.map_(pa.int32(), kind))]
    rows = [
        {"f": value, "l": [value, 1.5, None], "m": [(1, value)]}
        for value in (float("nan"), float("inf"), -float("inf"), 0.5, None)
    ]
    column = pa.array(rows, pa.struct(fields))
    codec = ConnectJsonCodec(pa.schema(fields), schemas_enable=enveloped, compat=compat, nonfinite=True)
    encoded = codec.encode(column)
    assert b'"f":"NaN"' in encoded[0].as_py()
    assert str(codec.decode(encoded).to_pylist()) == str(column.to_pylist())
    plain = ConnectJsonCodec(pa.schema(fields), schemas_enable=enveloped, compat=compat)
    if compat is None:
        assert plain.decode(encoded, errors="report")[1]["code"].to_pylist() == ["json_type"] * 3
    else:
        assert plain.decode(encoded)[0]["f"].as_py() == 0.0
    assert codec != plain


@pytest.mark.parametrize("compat", [None, "connect"])
def test_floats_that_are_not_finite_widen(compat, impl):
    schema = {"type": "array", "items": {"type": "double"}}
    row = b'{"schema":{"type":"array","items":{"type":"float"}},"payload":["NaN","-Infinity",1.5]}'
    codec = ConnectJsonCodec(schema, compat=compat, nonfinite=True)
    assert str(codec.decode([row]).to_pylist()) == "[[nan, -inf, 1.5]]"
    # Other texts are none.
    for text in (b'"nan"', b'"+Infinity"', b'""', b'"1.5"', b"true"):
        found, report = codec.decode([row.replace(b'"NaN"', text)], errors="report")
        if compat is None:
            assert report["code"].to_pylist() == ["json_type"]
        else:
            assert found[0].as_py() == [0.0, -float("inf"), 1.5]
    assert str(codec.to_schemaless([row])) == "[[nan, -inf, 1.5]]"


def test_nonfinite_is_true_or_false():
    with pytest.raises(ConfigError, match="nonfinite"):
        ConnectJsonCodec(nonfinite="yes")


def test_schemas_that_are_kept_are_bounded_by_their_size(impl, monkeypatch):
    def row(number):
        fields = [{"field": f"f{number % 2}", "type": "int64", "optional": True}]
        schema = {"type": "struct", "name": f"v{number}", "fields": fields}
        return json.dumps({"schema": schema, "payload": {f"f{number % 2}": number}}).encode()

    rows = [row(number) for number in range(12)]
    wanted = ConnectJsonCodec().decode([*rows, b"{", *rows], errors="report")
    # Some three of these.
    monkeypatch.setattr("kcodec.formats.connect.target.MAX_TEXTS", 300)
    monkeypatch.setattr("kcodec.formats.connect.runs.MAX_TEXTS", 300)
    codec = ConnectJsonCodec()
    found = codec.decode([*rows, b"{", *rows], errors="report")
    assert found[0].equals(wanted[0])
    assert found[1].equals(wanted[1])
    (target,) = codec._targets._values.values()
    assert len(target._readings._values) == 3
    pickle.loads(pickle.dumps(target._readings))
