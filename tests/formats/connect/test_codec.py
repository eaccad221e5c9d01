"""Connect's JSON as columns: schemas of rows, faults, settings."""

import json
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from connect_rows import DECIMAL, codes, rows, struct

from kcodec import ConfigError, ConnectJsonCodec, ConnectSchema, DecodeError, EncodeError, Limits, SchemaError

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
def test_entries_of_maps_have_the_same_steps(compat, impl):
    pairs = {"type": "map", "keys": {"type": "int8"}, "values": {"type": "bytes"}}
    codec = ConnectJsonCodec({**pairs, "values": pairs}, schemas_enable=False, compat=compat)
    _, report = codec.decode([b'[[1,[[1,"!"]]]]', b"[[null,[]]]", b"[[1,5]]"], errors="report")
    assert report["path"].to_pylist() == ["[0].value[0].value", "[0].key", "[0].value"]
    nested = pa.map_(pa.int8(), pa.map_(pa.int8(), pa.binary()))
    _, report = codec.encode(pa.array([[(1, [(1, None)])]], nested), errors="report")
    assert report["path"].to_pylist() == ["[0].value[0].value"]


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


def test_what_is_no_envelope_among_rows_that_are_not_read(impl):
    """Such a row has the same fault wherever it stands, also behind one of the same schema."""
    codec = ConnectJsonCodec({"type": "int64"})
    [other] = rows(({"type": "string"}, "x"))
    twice = other[:-1] + b',"payload":1}'
    array, report = codec.decode([other, twice, other], errors="report")
    assert array.null_count == 3
    assert codes(report) == ([0, 1, 2], ["unresolvable", "duplicate_key", "unresolvable"])
    assert report["offset"][1] == codec.decode([twice], errors="report")[1]["offset"][0]


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


def test_schemas_that_are_read_alike(impl):
    """They share a program, unless a default differs."""

    def schema(version, default):
        return {**struct(a={"type": "double", "default": default}, b={"type": "string"}), "version": version}

    schemas = [schema(1, 0.5), schema(2, 0.5), schema(3, 1.5)]
    values = rows(
        *((schemas[n % 3], {"b": str(n)} if n % 4 else {"a": n / 2, "b": str(n)}) for n in range(300))
    )
    codec = ConnectJsonCodec()
    defaults = [0.5, 0.5, 1.5]
    assert codec.decode(values).to_pylist() == [
        {"a": defaults[n % 3] if n % 4 else n / 2, "b": str(n)} for n in range(300)
    ]
    (target,) = codec._reader._targets._values.values()
    first, second, third = (target.reading(json.dumps(each).encode()).program for each in schemas)
    assert first is second is not third


def test_schemas_that_are_kept_are_bounded_by_their_size(impl, monkeypatch):
    def row(number):
        fields = [{"field": f"f{number % 2}", "type": "int64", "optional": True}]
        schema = {"type": "struct", "name": f"v{number}", "fields": fields}
        return json.dumps({"schema": schema, "payload": {f"f{number % 2}": number}}).encode()

    rows = [row(number) for number in range(12)]
    wanted = ConnectJsonCodec().decode([*rows, b"{", *rows], errors="report")
    # Some three of these.
    monkeypatch.setattr("kcodec.formats.connect.fast.MAX_TEXTS", 300)
    codec = ConnectJsonCodec()
    found = codec.decode([*rows, b"{", *rows], errors="report")
    assert found[0].equals(wanted[0])
    assert found[1].equals(wanted[1])
    (target,) = codec._reader._targets._values.values()
    assert len(target._readings._values) == 3
    pickle.loads(pickle.dumps(target._readings))


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
    assert ConnectJsonCodec(config=worker, is_key=True) == ConnectJsonCodec(schemas_enable=False)
    for arguments, message in (
        ({"decimal_format": "BASE10"}, "String must be one of .case insensitive.: NUMERIC, BASE64"),
        ({"config": {"decimal.format": "x"}}, "NUMERIC, BASE64"),
        ({"config": {"decimal.fromat": "NUMERIC"}}, "not one of schemas.enable, decimal.format"),
        ({"config": {"decimal.format": "NUMERIC"}, "decimal_format": "NUMERIC"}, "given twice"),
        ({"config": {"schemas.enable": "yes"}}, "not one of true, false"),
        ({"config": {"schemas.cache.size": "-1"}}, "a number of schemas"),
        ({"config": {"schemas.cache.size": "9" * 5000}}, "a number of schemas"),
        ({"config": {"converter.type": "key"}}, "converter.type"),
        (
            {"config": [("decimal.format", "NUMERIC")]},
            "config is a mapping of names to values, not this list",
        ),
        ({"config": {1: "NUMERIC"}}, "not this dict"),
        ({"compat": "ksqldb"}, "compat='ksqldb' is not one of None, connect"),
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


def test_the_first_bad_row_that_is_written_may_be_a_null(impl):
    codec = ConnectJsonCodec(struct(a={"type": "double"}), schemas_enable=False, compat="connect")
    column = pa.array([{"a": 1.0}, None, {"a": None}], pa.struct([("a", pa.float64())]))
    assert codec.encode(column, errors="report")[1]["row"].to_pylist() == [1, 2]
    with pytest.raises(EncodeError) as caught:
        codec.encode(column)
    assert caught.value.row == 1


def test_unsigned_integers_of_64_bits_are_no_integers_of_connect(impl):
    codec = ConnectJsonCodec(struct(a={"type": "int64"}), schemas_enable=False, compat="connect")
    _, report = codec.encode(pa.array([{"a": 1}], pa.struct([("a", pa.uint64())])), errors="report")
    assert codes(report) == ([0], ["type_mismatch"])


@pytest.mark.parametrize("compat", [None, "connect"])
def test_two_columns_of_one_name_are_refused(impl, compat):
    array = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["i", "i"])
    codec = ConnectJsonCodec(pa.schema([("i", pa.int64())]), compat=compat)
    with pytest.raises(SchemaError, match="the root: two columns have the same name"):
        codec.encode(array)


@cases("compat", [None, "connect"])
@cases("enveloped", [True, False])
def test_chosen_fields(impl, compat, enveloped):
    schema = {
        "type": "struct",
        "fields": [
            {
                "field": "a",
                "type": "struct",
                "optional": True,
                "fields": [{"field": "x", "type": "int32"}, {"field": "y", "type": "string"}],
                "default": {"x": 1, "y": "q"},
            },
            {
                "field": "l",
                "type": "array",
                "items": {
                    "type": "struct",
                    "fields": [{"field": "u", "type": "int32"}, {"field": "v", "type": "int8"}],
                },
            },
            {"field": "z", "type": "int32"},
        ],
    }
    payloads = [{"a": {"x": 2, "y": "w"}, "l": [{"u": 1, "v": 2}], "z": 3}, {"a": None, "l": [], "z": 4}]
    rows = [{"schema": schema, "payload": each} if enveloped else each for each in payloads]
    values = [*(json.dumps(row, separators=(",", ":")).encode() for row in rows), None]
    wanted = [{"a": {"y": "w"}, "l": [{"u": 1}]}, {"a": {"y": "q"}, "l": []}, None]
    whole = ConnectJsonCodec(schema, schemas_enable=enveloped, compat=compat)
    codec = whole.select(["a.y", "l.u"])
    assert codec == ConnectJsonCodec(schema, schemas_enable=enveloped, compat=compat, fields=("a.y", "l.u"))
    assert (
        str(codec.arrow_type)
        == "struct<a: struct<y: string not null>, l: list<item: struct<u: int32 not null> not null> not null>"
    )
    assert (
        codec.decode(values).to_pylist()
        == pickle.loads(pickle.dumps(codec)).decode(values).to_pylist()
        == wanted
    )
    assert codec.select(["z"]) is codec
    # All of them are written.
    assert codec.schema == whole.schema
    decoded = whole.decode(values[:2])
    assert codec.encode(decoded) == whole.encode(decoded)
    if enveloped:
        assert ConnectJsonCodec(compat=compat, fields=["a.y", "l.u"]).decode(values).to_pylist() == wanted
    elif compat is None:
        bad = [b'{"a":null,"l":[{"u":1,"v":"x"}],"z":[]}']
        assert codec.decode(bad).to_pylist() == [{"a": {"y": "q"}, "l": [{"u": 1}]}]
        assert whole.decode(bad, errors="null").to_pylist() == [None]


def test_chosen_fields_of_an_arrow_type(impl):
    kind = pa.schema([("a", pa.int32()), ("b", pa.struct([("c", pa.int8()), ("d", pa.int8())]))])
    codec = ConnectJsonCodec(kind, schemas_enable=False, fields=["b.d"])
    assert codec.decode([b'{"a":"x","b":{"c":"x","d":1}}']).to_pylist() == [{"b": {"d": 1}}]
    assert codec.encode(pa.table({"a": [1], "b": [{"c": 2, "d": 3}]})).to_pylist() == [
        b'{"a":1,"b":{"c":2,"d":3}}'
    ]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("id", "fields='id' is not a list of one name or more"),
        ([], r"fields=\[\] is not a list of one name or more"),
        (["none"], "the root [(]a struct[)] has no field none"),
        (["id.none"], "id has no fields"),
    ],
)
def test_fields_that_are_none(fields, reason):
    schema = {"type": "struct", "fields": [{"field": "id", "type": "int64"}]}
    with pytest.raises(ConfigError, match=reason):
        ConnectJsonCodec(schema, fields=fields)
