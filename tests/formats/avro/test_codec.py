"""AvroCodec: what it takes and gives back, errors, options, pickling, threads."""

import decimal
import io
import json
import math
import pickle
import subprocess
import sys

import fastavro
import polars as pl
import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from side_by_side import on_both
from strategies import avro_payloads, avro_schemas

import kcodec
from kcodec.errors import ConfigError, DecodeError, EncodeError, SchemaError
from kcodec.formats.avro.codec import AvroCodec, AvroReader, AvroWriter
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema.types import arrow_type, derive_schema
from kcodec.plan import Limits

POINT = {
    "type": "record",
    "name": "Point",
    "fields": [{"name": "x", "type": "int"}, {"name": "tag", "type": ["null", "string"], "default": None}],
}
ROWS = [b"\x02\x00", b"\x04\x02\x02a", None, b"\x06\x00"]
VALUES = [{"x": 1, "tag": None}, {"x": 2, "tag": "a"}, None, {"x": 3, "tag": None}]


@pytest.mark.parametrize(
    ("default", "value"), [(1 << 40, {"member2": 1 << 40}), (1.5, {"member3": 1.5}), (7, {"member0": 7})]
)
def test_the_default_of_a_union_is_a_number_where_one_comes_first(impl, default, value):
    branches = ["int", {"type": "enum", "name": "E", "symbols": ["A"]}, "long", "double"]
    reader = {**POINT, "fields": [{"name": "a", "type": branches, "default": default}]}
    (row,) = AvroCodec({**POINT, "fields": []}, reader).decode([b""]).to_pylist()
    assert {name: member for name, member in row["a"].items() if member is not None} == value


@pytest.mark.parametrize("kind", ["float", "double", ["int", "long", "float"]])
def test_defaults_beyond_all_numbers_are_infinite(impl, kind):
    """As Jackson reads them, also where they are written without an exponent."""
    for number, value in ((10**400, math.inf), (-(10**400), -math.inf)):
        reader = json.dumps({**POINT, "fields": [{"name": "a", "type": kind, "default": number}]})
        (row,) = AvroCodec({**POINT, "fields": []}, reader).decode([b""]).to_pylist()
        found = row["a"]
        assert (found["member2"] if isinstance(found, dict) else found) == value


#: Types with a default that is none of their values, which registries took for years.
WRONG_DEFAULTS = [
    (["null", "int"], "null"),
    ("int", "5"),
    ("double", "much"),
    ("boolean", "false"),
    ("string", 5),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, "B"),
    ({"type": "fixed", "name": "F", "size": 2}, "a"),
    ({"type": "array", "items": "int"}, {}),
    ({"type": "map", "values": "int"}, []),
    ({"type": "record", "name": "S", "fields": [{"name": "a", "type": "int"}]}, {}),
]


@cases(("kind", "default"), WRONG_DEFAULTS)
def test_a_wrong_default_matters_only_where_it_is_needed(impl, kind, default):
    flag = {"name": "flag", "type": kind, "default": default}
    wrong = {**POINT, "fields": [POINT["fields"][0], flag]}
    right = {**POINT, "fields": POINT["fields"][:1]}
    codec = AvroCodec(wrong)
    value = {"array": [], "map": [], "record": {"a": 1}, "enum": "A", "fixed": b"ab"}.get(
        kind["type"] if isinstance(kind, dict) else "", True
    )
    value = {"string": "yes", "double": 1.5}.get(kind if isinstance(kind, str) else "", value)
    value = 7 if kind in ("int", ["null", "int"]) else value
    column = pa.array([{"x": 1, "flag": value}], codec.arrow_type)
    encoded = codec.encode(column)
    assert codec.decode(encoded).equals(column)
    assert AvroCodec(wrong, right).decode(encoded).to_pylist() == [{"x": 1}]
    decoded, report = AvroCodec(right, wrong).decode([b"\x02", None], errors="report")
    assert decoded.to_pylist() == [None, None]
    assert (report["row"].to_pylist(), report["code"].to_pylist()) == ([0], ["unresolvable"])
    assert "no field flag, whose default is wrong: default of flag" in report["reason"][0].as_py()
    with pytest.raises(EncodeError, match="there is no column flag, and the default of flag"):
        codec.encode(pa.array([{"x": 1}]))


def test_names_that_java_reads_without_a_look_at_them(impl):
    schema = {**POINT, "name": "Job", "namespace": "org.Test$Reflect", "aliases": ["1z"]}
    assert AvroCodec(schema).decode(ROWS).to_pylist() == VALUES
    with pytest.raises(SchemaError, match="is not a name"):
        AvroCodec({**POINT, "name": "Job$"})


def test_fixed_size_binary_and_chunks(impl):
    codec = AvroCodec(POINT)
    rows = pa.array([b"\x02\x00", b"\x06\x00"], pa.binary(2))
    assert codec.decode(rows.slice(1)).to_pylist() == VALUES[3:]
    chunks = pa.chunked_array([ROWS[:2], [], ROWS[2:]], pa.binary())
    decoded = codec.decode(chunks)
    assert isinstance(decoded, pa.ChunkedArray)
    assert decoded.to_pylist() == VALUES
    assert codec.decode(pa.chunked_array([], pa.binary())).type == codec.arrow_type
    assert codec.decode(pl.Series(ROWS, dtype=pl.Binary)).to_pylist() == VALUES
    assert codec.decode(pa.nulls(2)).to_pylist() == [None, None]


def test_what_is_not_a_column_of_payloads(impl):
    for values in (5, pa.array([1]), "text"):
        with pytest.raises(TypeError):
            AvroCodec(POINT).decode(values)


def test_errors(impl):
    codec = AvroCodec(POINT)
    values = pa.chunked_array([[ROWS[0], b"\x02"], [b"", ROWS[1], b"\x02\x00\x00"]], pa.binary())
    with pytest.raises(DecodeError) as caught:
        codec.decode(values)
    assert (caught.value.row, caught.value.offset, caught.value.path) == (1, 1, "tag")
    assert caught.value.code == "truncated"
    assert [row is None for row in codec.decode(values, errors="null").to_pylist()] == [0, 1, 1, 0, 1]
    decoded, report = codec.decode(values, errors="report")
    assert decoded.null_count == 3
    assert report.to_pylist() == [
        {
            "row": row,
            "offset": offset,
            "path": path,
            "code": code,
            "reason": reason,
            "schema_id": None,
        }
        for row, offset, path, code, reason in [
            (1, 1, "tag", "truncated", "the input ends inside this value"),
            (2, 0, "x", "truncated", "the input ends inside this value"),
            (4, 2, "", "trailing_bytes", "bytes are left after the value"),
        ]
    ]
    with pytest.raises(ConfigError, match="'ignore' is not one of raise, null, report"):
        codec.decode(values, errors="ignore")
    assert AvroCodec(POINT, trailing=True).decode([b"\x02\x00\x00"]).to_pylist() == VALUES[:1]


def test_encode(impl):
    codec = AvroCodec(POINT)
    array = codec.decode(ROWS)
    assert codec.encode(array).to_pylist() == ROWS
    assert codec.encode(array.slice(1, 2)).to_pylist() == ROWS[1:3]
    table = pa.table({"tag": ["a", None], "x": pa.array([2, 1], pa.uint8())})
    assert codec.encode(table).to_pylist() == [ROWS[1], ROWS[0]]
    assert codec.encode(table.to_batches()[0]).to_pylist() == [ROWS[1], ROWS[0]]
    assert codec.encode(pl.from_arrow(table)).to_pylist() == [ROWS[1], ROWS[0]]
    coded = pa.table({"x": pa.array([2]), "tag": pa.array(["a"]).dictionary_encode()})
    assert codec.encode(coded).to_pylist() == [ROWS[1]]
    assert codec.encode(pa.array([{"x": 1}])).to_pylist() == [ROWS[0]]
    assert AvroCodec(POINT, large=True).encode(table).type == pa.large_binary()


def test_bytes_of_a_fixed_size_are_written_as_any(impl):
    values = [b"a" * 100, None, b"\xff" * 100]
    column = pa.array(values, pa.binary(100))
    assert AvroCodec("bytes").decode(AvroCodec("bytes").encode(column)).to_pylist() == values
    text, report = AvroCodec("string").encode(column, errors="report")
    assert AvroCodec("string").decode(text).to_pylist() == ["a" * 100, None, None]
    assert report["code"].to_pylist() == ["invalid_utf8"]
    rows = pa.array([values[0]] * 300, pa.binary(100))
    assert AvroCodec(["null", "bytes"]).encode(rows.slice(299)).to_pylist() == [b"\x02\xc8\x01" + values[0]]


@cases("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_are_written_as_decimals(impl, kind):
    bits, is_signed = int(kind.lstrip("uint")), kind[0] == "i"
    edges = (
        [-(1 << bits - 1), -1, 0, (1 << bits - 1) - 1] if is_signed else [0, 1 << bits - 1, (1 << bits) - 1]
    )
    column = pa.array([*edges, None], kind)
    for precision in (22, 45):
        schema = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}
        codec = AvroCodec(schema)
        assert codec.decode(codec.encode(column)).to_pylist() == [*map(decimal.Decimal, edges), None]
    narrow = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    _, report = AvroCodec(narrow).encode(pa.array([99, 100], kind), errors="report")
    assert [(row["row"], row["code"]) for row in report.to_pylist()] == [(1, "decimal_precision")]


def test_text_that_is_no_number_is_no_decimal(impl):
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    encoded, report = AvroCodec(schema).encode(pa.array(["1.5", "x", ""]), errors="report")
    assert encoded.to_pylist() == [b"\x04\x00\x96", None, None]
    assert report["code"].to_pylist() == ["invalid_number"] * 2


def test_none_is_no_schema():
    with pytest.raises(ConfigError, match="JSON text, a dict or a list, not None"):
        AvroCodec(None)


def test_encode_errors(impl):
    codec = AvroCodec(POINT)
    array = pa.array([{"x": 1}, {"x": 1 << 40}, None, {"x": None}])
    encoded, report = codec.encode(array, errors="report")
    assert encoded.to_pylist() == [ROWS[0], None, None, None]
    assert [(row["row"], row["path"], row["code"]) for row in report.to_pylist()] == [
        (1, "x", "out_of_range"),
        (3, "x", "null_value"),
    ]
    with pytest.raises(EncodeError, match="out_of_range: row 1, x"):
        codec.encode(array)
    wrong = pa.array([{"x": "1"}, None])
    _, report = codec.encode(wrong, errors="report")
    assert report["code"].to_pylist() == ["type_mismatch"]
    _, report = codec.encode(pa.array([{"x": 1, "y": 2}]), errors="report")
    assert report["reason"].to_pylist() == ["the record Point has no field for the column y"]
    micros = AvroCodec({"type": "long", "logicalType": "timestamp-micros"})
    with pytest.raises(EncodeError, match=r"timestamp\[us\] cannot be written as long \(timestamp-micros\)"):
        micros.encode(pa.array([1], pa.timestamp("us")))


@cases(
    ("schema", "column", "told"),
    [
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            pa.array([1], pa.timestamp("us")),
            "long (timestamp-micros): it has no time zone, and timestamp[us, tz=UTC] has one",
        ),
        (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            pa.array([1], pa.timestamp("us", "UTC")),
            "long (local-timestamp-micros): it has a time zone, and timestamp[us] has none",
        ),
        (
            ["null", "string", "int"],
            pa.array(["x"]),
            "union of null, string, int: a struct of its members is wanted, of which one is not null: "
            "member0 (string), member1 (int)",
        ),
        (
            {"type": "map", "values": "string"},
            pa.array([{"a": "b"}]),
            "map: a map is wanted, with keys of text, which pa.Table.from_pylist(rows, "
            "pa.schema(codec.arrow_type)) makes of dicts",
        ),
        (
            {"type": "map", "values": "string"},
            pa.array([["a"]]),
            "map: a map is wanted, with keys of text",
        ),
    ],
)
def test_what_is_wanted_is_told(impl, schema, column, told):
    _, report = AvroCodec(schema).encode(column, errors="report")
    assert report["reason"].to_pylist() == [f"{column.type} cannot be written as {told}"]


def test_of_many_members_some_are_told():
    branches = [{"type": "fixed", "name": f"F{number}", "size": 1} for number in range(100)]
    _, report = AvroCodec(branches).encode(pa.array(["x"]), errors="report")
    assert report["reason"][0].as_py().endswith("member7 (fixed F7), ...")


@cases(
    "around", [lambda t: pa.struct([("a", t)]), pa.list_, pa.large_list, lambda t: pa.map_(pa.string(), t)]
)
def test_nested_arrow_types(impl, around):
    kind = pa.int8()
    for _ in range(200):
        kind = around(kind)
    deep = pa.array([None, {} if pa.types.is_struct(kind) else []], kind)
    assert AvroCodec("int").encode(deep, errors="report")[1]["code"].to_pylist() == ["type_mismatch"]
    with pytest.raises(SchemaError, match="nested deeper than 200 levels"):
        AvroCodec("int").encode(pa.nulls(1, around(kind)))
    with pytest.raises(SchemaError, match="nested deeper than 200 levels"):
        derive_schema(around(kind))


def test_fields(impl):
    inner = {"type": "record", "name": "I", "fields": POINT["fields"]}
    outer = {
        "type": "record",
        "name": "O",
        "fields": [
            {"name": "a", "type": inner},
            {"name": "b", "type": {"type": "array", "items": ["null", "I"]}},
            {"name": "c", "type": "int"},
        ],
    }
    row = ROWS[1] + b"\x02\x02" + ROWS[1] + b"\x00" + b"\x08"
    for fields, value in [
        (["c"], {"c": 4}),
        (["a.x"], {"a": {"x": 2}}),
        (["c", "b.tag"], {"b": [{"tag": "a"}], "c": 4}),
        (["a", "a.x"], {"a": {"x": 2, "tag": "a"}}),
    ]:
        assert AvroCodec(outer, fields=fields).decode([row]).to_pylist() == [value]
    with pytest.raises(ConfigError, match=r"a \(I\) has no field tga: did you mean 'tag'"):
        AvroCodec(outer, fields=["a.tga"])
    with pytest.raises(ConfigError, match="root is a record"):
        AvroCodec("int", fields=["a"])
    for wrong in ("a", [], [1], 5):
        with pytest.raises(ConfigError, match="is not a list of one name or more"):
            AvroCodec(outer, fields=wrong)


def test_schemas_that_are_no_json():
    for schema in (object(), b'"int"', {"type": {"int"}}):
        with pytest.raises(ConfigError, match="a schema is JSON text, a dict or a list"):
            AvroCodec(schema)
    deep = "int"
    for _ in range(10_000):
        deep = {"type": "array", "items": deep}
    # Python itself has a limit, before 3.14.
    with pytest.raises(
        (ConfigError, SchemaError), match=r"a schema is JSON text, a dict or a list|nested deeper than"
    ):
        AvroCodec(deep)


def test_options():
    for name, value in [
        ("wide_decimals", "float"),
        ("union_members", "name"),
        ("recursive_depth", 0),
        ("recursive_depth", "2"),
        ("large", "yes"),
        ("trailing", "no"),
        ("union_prefix", 5),
        ("named_schemas", 5),
        ("named_schemas", "int"),
    ]:
        with pytest.raises(ConfigError, match=f"^{name}="):
            AvroCodec("int", **{name: value})
    union = ["null", "int", {"type": "enum", "name": "n.E", "symbols": ["A"]}]
    assert AvroCodec(union).arrow_type.names == ["member0", "member1"]
    assert AvroCodec(union, union_members="type").arrow_type.names == ["member_int", "member_E"]
    codec = AvroCodec(union, union_members="type", union_prefix="")
    assert codec.arrow_type.names == ["int", "E"]
    both = [{"type": "fixed", "name": "a.F", "size": 1}, {"type": "fixed", "name": "b.f", "size": 1}]
    with pytest.raises(SchemaError, match="would be named"):
        AvroCodec(both, union_members="type")
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 77, "scale": 1}
    with pytest.raises(SchemaError, match="77 digits"):
        AvroCodec(wide)
    assert AvroCodec(wide, wide_decimals="string").arrow_type == pa.string()
    assert AvroCodec("string", large=True).arrow_type == pa.large_string()


def test_union_members_round_trip(impl):
    union = ["null", "int", "string"]
    codec = AvroCodec(union, union_members="type")
    rows = [b"\x02\x02", b"\x04\x02a"]
    decoded = codec.decode(rows)
    assert decoded.to_pylist() == [
        {"member_int": 1, "member_string": None},
        {"member_int": None, "member_string": "a"},
    ]
    assert codec.encode(decoded).to_pylist() == rows


def test_limits(impl):
    nulls = AvroCodec({"type": "array", "items": "null"})
    assert nulls.decode([b"\x06\x00"]).to_pylist() == [[None] * 3]
    bomb = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    for row in (bomb, b"\x02" + bomb, b"\x02\x02" + bomb):
        assert nulls.decode([row], errors="report")[1]["code"].to_pylist() == ["size_limit"]
    gone = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "gone", "type": {"type": "array", "items": "null"}}],
    }
    dropped = AvroCodec(gone, {"type": "record", "name": "R", "fields": []})
    for row in (bomb, b"\x02" + bomb, b"\x02\x02" + bomb):
        assert dropped.decode([row], errors="report")[1]["code"].to_pylist() == ["size_limit"]
    symbol = {"type": "array", "items": {"type": "enum", "name": "E", "symbols": ["x" * 100]}}
    small = AvroCodec(symbol, limits=Limits(max_expansion=250))
    codes = small.decode([b"\x04\0\0\0", b"\x06\0\0\0\0"], errors="report")[1]["code"]
    assert codes.to_pylist() == ["size_limit"]


def test_schemas_that_multiply_are_refused():
    schemas = [{"type": "record", "name": "R0", "fields": [{"name": "a", "type": "int"}]}]
    for i in range(1, 40):
        fields = [{"name": name, "type": f"R{i - 1}"} for name in "ab"]
        schemas.append({"type": "record", "name": f"R{i}", "fields": fields})
    with pytest.raises(SchemaError, match="more than"):
        AvroCodec("R39", named_schemas=schemas)
    with pytest.raises(SchemaError, match="more than"):
        AvroCodec(
            {"type": "record", "name": "Top", "fields": [{"name": "gone", "type": "R39"}]},
            {"type": "record", "name": "Top", "fields": []},
            named_schemas=schemas,
        )


def test_pickles_compares_and_prints(impl):
    codec = AvroCodec(POINT, named_schemas=["int"], fields=["x"], limits=Limits(max_depth=3))
    codec.decode(ROWS)
    copy = pickle.loads(pickle.dumps(codec))
    assert copy == codec
    assert hash(copy) == hash(codec)
    assert copy.decode_plan == codec.decode_plan
    assert pickle.loads(pickle.dumps(codec.decode_plan)) == codec.decode_plan
    assert copy.decode(ROWS) == codec.decode(ROWS)
    assert codec != AvroCodec(POINT)
    assert AvroCodec("int") == AvroCodec({"type": "int"})
    assert AvroCodec("int") != "int"
    assert (
        repr(AvroCodec({"type": "int"}, "long", large=True)) == "AvroCodec('\"int\"', '\"long\"', large=True)"
    )
    assert str(AvroCodec(POINT).decode_plan).splitlines()[1:3] == [
        "  record -> column 0",
        "    x: int -> column 1",
    ]


def test_reader_and_writer(impl):
    reader = AvroReader(POINT)
    old = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}
    assert reader.plan(old).arrow_type == reader.arrow_type == reader.program(old).plan.arrow_type
    writer = AvroWriter(POINT)
    encoded, faults = writer.encode(pa.array([{"x": 1}, {"x": None}]), prefix=b"\x00\x00\x00\x00\x07")
    assert encoded.to_pylist() == [b"\x00\x00\x00\x00\x07" + ROWS[0], None]
    assert [fault.code for fault in faults] == ["null_value"]


def test_a_pickled_codec_needs_only_pyarrow(impl):
    code = (
        "import sys, pickle\n"
        "for name in ('numpy', 'fastavro', 'pandas', 'confluent_kafka'): sys.modules[name] = None\n"
        "codec = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
        "array = codec.decode([b'\\x02\\x00'])\n"
        "assert array.to_pylist() == [{'x': 1, 'tag': None}], array\n"
        "assert codec.encode(array).to_pylist() == [b'\\x02\\x00']\n"
    )
    pickled = pickle.dumps(AvroCodec(POINT)).hex()
    subprocess.run([sys.executable, "-c", code, pickled], check=True)


@given(st.data())
def test_bytes_to_columns_to_bytes(data):
    text = data.draw(avro_schemas())
    schema = parse(text)
    payloads = data.draw(st.lists(avro_payloads(schema), max_size=4))
    for large in (False, True):
        codec = AvroCodec(text, large=large)
        decoded = codec.decode(payloads)
        decoded.validate(full=True)
        written = codec.encode(decoded).to_pylist()
        assert len(written) == len(payloads)
        assert codec.decode(written) == decoded


@given(st.data())
def test_fastavro_reads_the_same(data):
    text = data.draw(avro_schemas(plain=True).filter(lambda schema: "ß" not in str(schema)))
    codec = AvroCodec(text)
    payloads = data.draw(st.lists(avro_payloads(parse(text), canonical=False), max_size=4))
    parsed = fastavro.parse_schema(text)
    expected = [fastavro.schemaless_reader(io.BytesIO(payload), parsed, None) for payload in payloads]
    assert repr(_plain(codec.decode(payloads).to_pylist())) == repr(_plain(expected))


def _plain(value):
    """Make maps of both libraries dicts in the same order."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in sorted(value.items())}
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return _plain(dict(value))
    if isinstance(value, list):
        return [_plain(item) for item in value] or {}
    return value or {} if isinstance(value, (list, dict)) else value


def test_derived_schemas(impl):
    array = pa.array(
        [{"a": 1, "b": "x", "c": [decimal.Decimal("1.50")], "d": b"12", "e": 18446744073709551615}, None],
        pa.struct(
            [
                pa.field("a", pa.int16(), nullable=False),
                pa.field("b", pa.string()),
                pa.field("c", pa.list_(pa.decimal128(5, 2))),
                pa.field("d", pa.binary(2)),
                pa.field("e", pa.decimal128(20, 0)),
            ]
        ),
    )
    codec = AvroCodec(derive_schema(array.type, "Row"))
    assert codec.decode(codec.encode(array)).to_pylist() == array.to_pylist()
    assert arrow_type(parse(derive_schema(pa.timestamp("ns")))) == pa.timestamp("ns")
    with pytest.raises(SchemaError, match="Avro has no type for"):
        derive_schema(pa.struct([("a", pa.duration("s"))]))


def test_empty_literals_of_spark(impl):
    # The types of array() and map() there.
    null = pa.field("element", pa.null()).with_nullable(False)
    offsets = pa.array([0, 0, 0], pa.int32()).buffers()[1]
    kind = pa.list_(null)
    lists = pa.Array.from_buffers(kind, 2, [None, offsets], children=[pa.nulls(0)])
    fields = [null.with_name("key"), null.with_name("value")]
    entries = pa.StructArray.from_arrays([pa.nulls(0), pa.nulls(0)], fields=fields)
    maps = pa.Array.from_buffers(pa.map_(*fields), 2, [None, offsets], children=[entries])
    assert AvroCodec('{"type":"array","items":"int"}').encode(lists).to_pylist() == [b"\0", b"\0"]
    assert AvroCodec('{"type":"map","values":"int"}').encode(maps).to_pylist() == [b"\0", b"\0"]
    table = pa.table({"l": lists, "m": maps})
    for codec in (
        kcodec.JsonCodec(pa.schema([("l", pa.list_(pa.int8())), ("m", pa.map_(pa.string(), pa.int8()))])),
        kcodec.KsqlCodec("JSON", "`l` ARRAY<INT>, `m` MAP<STRING, INT>"),
    ):
        assert codec.encode(table).to_pylist() == [b'{"l":[],"m":{}}'] * 2


@pytest.mark.parametrize("size", [0, 20])
@pytest.mark.parametrize("limit", [0, 40, 60])
def test_decimals_as_text_that_expand_too_far_have_one_place(size, limit):
    """It is where the digits start, whatever implementation counts them."""
    decimal = {"logicalType": "decimal", "precision": 40, "scale": 2}
    kind = {"type": "fixed", "name": "F", "size": size} if size else {"type": "bytes"}
    schema = {"type": "array", "items": {**kind, **decimal}}
    codec = AvroCodec(schema, wide_decimals="string", limits=Limits(max_expansion=limit))
    values = AvroCodec(schema, wide_decimals="string").encode(
        pa.array([["-" + "9" * 30 + ".00", "1.00"] * 2])
    )
    (found,) = on_both(lambda: codec.decode(values, errors="report")[1].to_pylist())
    assert found["code"] == "size_limit"
    assert found["path"] in ("[0]", "[1]", "[2]")


def test_items_that_are_unresolvable_in_several_rows(impl):
    """Of their columns nothing is written: the text in them is not looked at."""
    writer = {
        "type": "map",
        "values": {"type": "record", "name": "H", "fields": [{"name": "i", "type": "int"}]},
    }
    fields = [
        {"name": "f", "type": {"type": "array", "items": "bytes"}},
        {"name": "p", "type": "string"},
        {"name": "g", "type": {"type": "map", "values": "bytes"}},
    ]
    reader = {"type": "map", "values": {"type": "record", "name": "H", "fields": fields}}
    codec = AvroCodec(writer, reader)
    for _ in range(50):
        rows = [
            b"\x06\x02a\x02\x02b\x04\x02c\x06\x00",
            b"\x00",
            b"\x04\x02a\x02\x02b\x02\x00",
            b"\x00" + bytes(40),
        ]
        array, report = codec.decode(rows, errors="report")
        assert array.to_pylist() == [None, [], None, None]
        assert report["code"].to_pylist() == ["unresolvable", "unresolvable", "trailing_bytes"]


def test_nulls_where_the_schema_has_none(impl):
    inner = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}
    kinds = {"a": inner, "l": {"type": "array", "items": "int"}, "m": {"type": "map", "values": "int"}}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    full = {"a": {"x": 1}, "l": [1], "m": []}
    kind = pa.struct(
        [
            ("a", pa.struct([("x", pa.int32())])),
            ("l", pa.list_(pa.int32())),
            ("m", pa.map_("string", "int32")),
        ]
    )
    codec = AvroCodec({"type": "record", "name": "R", "fields": fields})
    column = pa.array([full, *({**full, name: None} for name in kinds)], kind)
    encoded, report = codec.encode(column, errors="report")
    assert encoded.is_null().to_pylist() == [False, True, True, True]
    found = report.select(["row", "path", "code"]).to_pylist()
    assert [tuple(each.values()) for each in found] == [
        (row, name, "null_value") for row, name in enumerate(kinds, 1)
    ]


@cases(
    ("kinds", "wanted"),
    [
        # The branches one below the other: what needs a field that is not there, or whose field does not fit, is none.
        ((["null", "string"], ["null", "long"]), 1),
        (("string", "long"), 1),
        (("boolean", ["string", "double"], "int"), 1),
        (("string", "boolean"), None),
    ],
)
def test_a_record_is_read_as_the_first_of_a_union_that_it_fits(impl, kinds, wanted):
    """Names do not have to be the same, as Avro Java has it."""
    writer = {"type": "record", "name": "W", "fields": [{"name": "x", "type": "int"}]}
    more = {"type": "record", "name": "More", "fields": [*writer["fields"], {"name": "y", "type": "int"}]}
    branches = [
        {"type": "record", "name": f"R{number}", "fields": [{"name": "x", "type": kind}]}
        for number, kind in enumerate(kinds)
    ]
    codec = AvroCodec(writer, reader_schema=["null", more, *branches])
    if wanted is None:
        with pytest.raises(DecodeError, match="record W cannot be read as union of null, More, R0"):
            codec.decode([b"\2"])
    else:
        (found,) = codec.decode([b"\2"]).to_pylist()
        assert [name for name, each in found.items() if each is not None] == [f"member{wanted + 1}"]


@cases(("number", "fits"), [(9999, True), (-9999, True), (10_000, False), (32_768, False)])
def test_decimals_of_fixed_size(impl, number, fits):
    """Both the precision and the bytes bound them."""
    schema = {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 0}
    encoded, report = AvroCodec(schema).encode(pa.array([str(number)]), errors="report")
    wanted = number.to_bytes(2, "big", signed=True) if fits else None
    assert (encoded.to_pylist(), report["code"].to_pylist()) == ([wanted], ["decimal_precision"] * (not fits))
