"""The codec: its arguments, wrapping, nulls, what strict reading refuses, and columns of other Arrow types."""

import pickle
import time
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from ksql_vectors import storage

from kcodec import ConfigError, DecodeError, EncodeError, KsqlCodec, Limits, SchemaError
from kcodec.ksql.formats.format import FORMATS
from kcodec.ksql.formats.json.plan import match_fields
from kcodec.ksql.types import parse_columns, sql_type


def codes(codec, values):
    return codec.decode(values, errors="report")[1]["code"].to_pylist()


# Arguments --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "columns", "options", "message"),
    [
        ("XML", "A INT", {}, "Unknown format: XML"),
        (None, "A INT", {}, "Unknown format: None"),
        ("JSON", "A INT", {"compat": "connect"}, "compat='connect' is not one of None, ksqldb"),
        ("JSON", "A INT", {"wide_decimals": "double"}, "'double' is not one of decimal256, string"),
        (
            "JSON",
            "A INT",
            {"properties": {"delimiter": ","}},
            "JSON does not support the following configs: [delimiter]",
        ),
        (
            "JSON",
            "A INT, B INT",
            {"wrap": True},
            "'WRAP_SINGLE_VALUE' is only valid for single-field value schemas",
        ),
        ("JSON", "A INT KEY", {"wrap": True, "is_key": True}, "ksqlDB has no choice for keys"),
    ],
)
def test_wrong_arguments(format, columns, options, message):
    with pytest.raises(ConfigError) as error:
        KsqlCodec(format, columns, **options)
    assert message in str(error.value)


@cases(
    ("columns", "key", "message"),
    [
        ("A MAP<INT, INT>", False, "JSON only supports MAP types with STRING keys"),
        ("A ARRAY<STRUCT<M MAP<INT, INT>>>", False, "JSON only supports MAP types with STRING keys"),
        (
            "A STRUCT<M MAP<STRING, INT>> KEY",
            True,
            "Map keys, including types that contain maps, are not supported",
        ),
        ("A INT KEY", False, "there is no value column"),
        ("A BYTES HEADER('a')", False, "there is no value column"),
        ("A DECIMAL(77,0)", False, "76 digits at most"),
        ("`\ud83d` INT", False, r"the name '\\ud83d' holds half of a surrogate pair"),
        (
            pa.struct([("A", pa.decimal128(5, 7))]),
            False,
            r"A: ksqlDB has no type for Arrow's decimal128\(5, 7\)",
        ),
        (
            pa.struct([("A", pa.struct([("B", pa.list_(pa.uint64()))]))]),
            False,
            r"A\.B\[\]: ksqlDB has no type for Arrow's uint64",
        ),
    ],
)
@cases("wide_decimals", ["decimal256", "string"])
def test_columns_that_json_cannot_hold(columns, key, message, wide_decimals):
    with pytest.raises(SchemaError, match=message):
        KsqlCodec("JSON", columns, is_key=key, wide_decimals=wide_decimals)


def test_codecs_are_values(impl):
    codec = KsqlCodec(
        "json", "a INT KEY, b DECIMAL(50,1), h BYTES HEADER('h')", wide_decimals="string", compat="ksqldb"
    )
    again = pickle.loads(pickle.dumps(codec))
    assert again == codec
    assert hash(again) == hash(codec)
    assert again.decode([b'{"B": 1}']).to_pylist() == [{"B": "1.0"}]
    assert repr(codec) == (
        "KsqlCodec('JSON', \"`A` INTEGER KEY, `B` DECIMAL(50, 1), `H` BYTES HEADER('h')\", compat='ksqldb', "
        "wide_decimals='string')"
    )
    assert eval(repr(codec)) == codec
    assert codec != KsqlCodec("JSON", codec.columns)
    assert codec != "JSON"
    assert str(codec.decode_plan).startswith("KSQL_JSON decode")


def test_columns_in_any_form():
    text = "ID BIGINT, NAME STRING"
    kinds = pa.struct([("ID", pa.int64()), ("NAME", pa.string())])
    assert KsqlCodec("JSON", text) == KsqlCodec("JSON", parse_columns(text)) == KsqlCodec("JSON", kinds)


# Wrapping and nulls -----------------------------------------------------------------------------------


@cases(
    ("columns", "options", "payload"),
    [
        ("V INT", {}, b'{"V":5}'),
        ("V INT", {"wrap": True}, b'{"V":5}'),
        ("V INT", {"wrap": False}, b"5"),
        ("K STRING KEY, V INT", {}, b'{"V":5}'),
        ("V INT KEY", {"is_key": True}, b"5"),
        ("V INT", {"is_key": True}, b"5"),
        ("V INT KEY, W INT KEY, X INT", {"is_key": True}, b'{"V":5,"W":null}'),
    ],
)
def test_wrapping(impl, columns, options, payload):
    codec = KsqlCodec("JSON", columns, **options)
    row = {column.name: 5 if column.name == "V" else None for column in codec.columns}
    assert codec.decode([payload, None]).to_pylist() == [row, None]
    assert codec.encode(pa.array([row, None], codec.arrow_type)).to_pylist() == [payload, None]


def test_nulls_of_a_bare_column(impl):
    codec = KsqlCodec("JSON", "V INT", wrap=False)
    assert codec.decode([b"null", None]).to_pylist() == [{"V": None}, None]
    assert codec.encode(pa.array([{"V": None}, None, {"V": 3}])).to_pylist() == [None, None, b"3"]
    assert codec.encode(pa.array([None, 3])).to_pylist() == [None, b"3"]
    array, report = codec.decode([b"x", b"1"], errors="report")
    assert (array.to_pylist(), report["row"].to_pylist()) == ([None, {"V": 1}], [0])


def test_a_bare_struct(impl):
    codec = KsqlCodec("JSON", "S STRUCT<X INT>", wrap=False)
    assert codec.decode([b'{"x":1}']).to_pylist() == [{"S": {"X": 1}}]
    for given in ([{"S": {"X": 1}}], [{"X": 1}]):
        assert codec.encode(pa.array(given)).to_pylist() == [b'{"X":1}']


def test_a_bare_struct_with_a_field_of_its_name(impl):
    codec = KsqlCodec("JSON", "S STRUCT<S INT>", wrap=False)
    for given in ({"S": {"S": 1}}, {"s": {"s": 1}}, {"S": 1}):
        assert codec.encode(pa.array([given])).to_pylist() == [b'{"S":1}']
    codec = KsqlCodec("JSON", "S STRUCT<S STRUCT<S INT>>", wrap=False)
    for given in ({"S": {"S": {"S": 1}}}, {"S": {"S": 1}}):
        assert codec.encode(pa.array([given])).to_pylist() == [b'{"S":{"S":1}}']
    assert codec.encode(pa.array([{"S": None}])).to_pylist() == [None]


def test_chunks_and_errors(impl):
    codec = KsqlCodec("JSON", "A INT", compat="ksqldb")
    chunks = pa.chunked_array([[b'{"A":1}', b"[]"], [None, b'{"A":"x"}']])
    column, report = codec.decode(chunks, errors="report")
    assert column.to_pylist() == [{"A": 1}, None, None, None]
    assert report.select(["row", "code", "path"]).to_pylist() == [
        {"row": 1, "code": "json_type", "path": ""},
        {"row": 3, "code": "invalid_number", "path": "A"},
    ]
    with pytest.raises(
        DecodeError, match=r"json_type: row 1, byte 0: Can't convert type. sourceType: ArrayNode"
    ):
        codec.decode(chunks)
    assert codec.decode(chunks, errors="null").null_count == 3


# What strict reading refuses --------------------------------------------------------------------------


@cases(
    ("sql", "text", "code", "lenient"),
    [
        ("INT", "2147483648", "out_of_range", -(2**31)),
        ("INT", "1.9", "inexact", 1),
        ("BIGINT", "1e19", "out_of_range", 10**19 - 2**64),
        ("INT", '"+7"', "invalid_number", 7),
        ("DOUBLE", "1e400", "out_of_range", float("inf")),
        ("DOUBLE", '" 1d"', "invalid_number", 1.0),
        ("DECIMAL(4,2)", '".5"', "invalid_number", Decimal("0.50")),
        ("STRING", "[1]", "json_type", "[1]"),
        ("STRING", '{"a":1}', "json_type", '{"a":1}'),
        ("STRING", '"\\ud83d"', "lone_surrogate", "?"),
        ("INT", "1} x", "trailing_bytes", 1),
    ],
)
def test_strict_refuses_what_loses_something(impl, sql, text, code, lenient):
    value = b'{"A":' + text.encode() + (b"" if "}" in text[-3:] and code != "json_type" else b"}")
    assert codes(KsqlCodec("JSON", f"A {sql}"), [value]) == [code]
    array = KsqlCodec("JSON", f"A {sql}", compat="ksqldb").decode([value])
    assert storage(array).to_pylist() == [{"A": lenient}]


@pytest.mark.parametrize("value", ['{"A":1}'.encode("utf-16"), b"\xff\xfe\x00\x00{\x00\x00\x00"])
def test_strict_reads_utf8_only(impl, value):
    assert codes(KsqlCodec("JSON", "A INT"), [value]) == ["invalid_utf8"]


@cases(
    ("sql", "text", "value"),
    [
        ("INT", "1e2", 100),
        ("INT", '"7"', 7),
        ("INT", "1.0", 1),
        ("DOUBLE", '"NaN"', "nan"),
        ("DOUBLE", "-0.0", -0.0),
        ("STRING", "1.50", "1.50"),
        ("STRING", "1e5", "1e5"),
        ("STRING", "true", "true"),
        ("DECIMAL(4,2)", '"1.120"', Decimal("1.12")),
        ("TIMESTAMP", "-1", -1000),
        ("DATE", "-1", -1),
        ("BYTES", '""', b""),
    ],
)
def test_strict_reads(impl, sql, text, value):
    array = KsqlCodec("JSON", f"A {sql}").decode([b'{"a":%s}' % text.encode()])
    got = storage(array).to_pylist()[0]["A"]
    assert (repr(got) if value == "nan" else got) == value
    assert str(got) == str(value)


def test_a_key_that_may_be_two_columns(impl):
    columns = "`id` INT, ID INT"
    assert KsqlCodec("JSON", columns).decode([b'{"id":1}']).to_pylist() == [{"id": 1, "ID": None}]
    lenient = KsqlCodec("JSON", columns, compat="ksqldb")
    assert lenient.decode([b'{"id":1}', None]).to_pylist() == [{"id": 1, "ID": 1}, None]
    assert codes(lenient, [None, b"x"]) == ["json_syntax"]


def test_strict_beside_a_column_that_differs_in_case(impl):
    columns = "ID INT, `id` INT"
    for sql, wrap in ((columns, "%s"), (f"R STRUCT<{columns}>", '{"r":%s}')):
        codec = KsqlCodec("JSON", sql)
        rows = {
            '{"Id":7}': {"ID": 7, "id": None},
            '{"id":1}': {"ID": None, "id": 1},
            '{"id":1,"iD":2}': {"ID": 2, "id": 1},
            '{"ID":2,"id":1}': {"ID": 2, "id": 1},
            '{"ID":1,"Id":2}': {"ID": 1, "id": None},
            '{"Id":1,"ID":2}': {"ID": 2, "id": None},
            '{"Id":1,"iD":2}': {"ID": 2, "id": None},
            '{"id":1,"id":2}': {"ID": None, "id": 2},
        }
        expected = [row if sql is columns else {"R": row} for row in rows.values()]
        assert codec.decode([(wrap % text).encode() for text in rows]).to_pylist() == expected


@pytest.mark.parametrize("text", [b'{"Id":"abc","ID":5}', b'{"ID":"x","ID":5}', b'{"iD":[],"Id":5}'])
def test_strict_refuses_a_key_that_does_not_count(impl, text):
    assert len(codes(KsqlCodec("JSON", "ID INT"), [text])) == 1
    for value in (text, b'{"ID":5,"Id":"abc"}'):
        assert KsqlCodec("JSON", "ID INT", compat="ksqldb").decode([value]).to_pylist() == [{"ID": 5}]
    assert codes(KsqlCodec("JSON", "ID INT"), [b'{"ID":5,"Id":"abc"}']) == []


@pytest.mark.parametrize(
    ("sql", "value"), [("INT", b'"x"'), ("BYTES", b'"\\ud83d"'), ("STRUCT<A INT>", b"[]")]
)
def test_keys_with_half_of_a_surrogate_pair(impl, sql, value):
    codec = KsqlCodec("JSON", f"M MAP<STRING, {sql}>", compat="ksqldb")
    array, report = codec.decode([b'{"m":{"\\ud83d":%s}}' % value, b'{"m":{}}'], errors="report")
    assert array.to_pylist() == [None, {"M": []}]
    assert report["path"].to_pylist() == ["M[0].value"]
    assert report["reason"][0].as_py().endswith(", path: $.M.?.value")


def test_limits(impl):
    deep = b'{"x":' + b"[" * 100 + b"]" * 100 + b"}"
    assert codes(KsqlCodec("JSON", "A INT"), [deep]) == []
    assert codes(KsqlCodec("JSON", "A INT", limits=Limits(max_depth=50)), [deep]) == ["depth_limit"]


# Writing ----------------------------------------------------------------------------------------------


@cases(
    ("sql", "given", "text"),
    [
        ("INT", pa.array([7], pa.int8()), b"7"),
        ("INT", pa.array([7], pa.uint32()), b"7"),
        ("BIGINT", pa.array([7], pa.uint64()), b"7"),
        ("DOUBLE", pa.array([0.1], pa.float32()), b"0.10000000149011612"),
        ("STRING", pa.array(["x"], pa.large_string()), b'"x"'),
        ("STRING", pa.array(["x"], pa.string_view()), b'"x"'),
        ("STRING", pa.array(["x"]).dictionary_encode(), b'"x"'),
        ("BYTES", pa.array([b"abc"], pa.binary(3)), b'"YWJj"'),
        ("DECIMAL(6,2)", pa.array([Decimal("1.5000")], pa.decimal128(9, 4)), b"1.50"),
        ("DECIMAL(6,2)", pa.array(["1.5"]), b"1.50"),
        ("DECIMAL(60,2)", pa.array([Decimal("1.5")], pa.decimal128(9, 1)), b"1.50"),
        ("TIME", pa.array([1_000_000], pa.time64("us")), b"1000"),
        ("TIME", pa.array([2], pa.time32("s")), b"2000"),
        ("TIME", pa.array([5]), b"5"),
        ("DATE", pa.array([86_400_000], pa.date64()), b"1"),
        ("TIMESTAMP", pa.array([2], pa.timestamp("s")), b"2000"),
        ("TIMESTAMP", pa.array([2_000_000], pa.timestamp("ns", "Europe/Paris")), b"2"),
        ("ARRAY<INT>", pa.array([[1, 2]], pa.list_(pa.int64(), 2)), b"[1,2]"),
        ("ARRAY<STRUCT<A INT, B INT>>", pa.array([[{"b": 1}]]), b'[{"A":null,"B":1}]'),
        ("MAP<STRING, INT>", pa.array([[("k", None)]], pa.map_(pa.large_string(), pa.int8())), b'{"k":null}'),
        ("STRUCT<X INT>", pa.nulls(1), b"null"),
    ],
    ids=str,
)  # fmt: skip
def test_columns_of_other_types(impl, sql, given, text):
    codec = KsqlCodec("JSON", f"A {sql}")
    array = pa.StructArray.from_arrays([given], ["a"])
    assert codec.encode(array).to_pylist() == [b'{"A":' + text + b"}"]
    assert codec.encode(pa.table([given], ["A"])).to_pylist() == [b'{"A":' + text + b"}"]


@pytest.mark.skipif(not hasattr(pa, "decimal64"), reason="this Arrow has no narrow decimals")
@pytest.mark.parametrize("kind", ["decimal32", "decimal64"])
@pytest.mark.parametrize("precision", [5, 9, 50])
def test_narrow_decimals(impl, kind, precision):
    narrow = getattr(pa, kind)(5, 2)
    values = pa.array([Decimal("1.50"), None], narrow)
    lists = pa.array([[Decimal("-1.50")], None], pa.list_(narrow))
    sql = f"DECIMAL({precision},2)"
    json = KsqlCodec("JSON", f"D {sql}, L ARRAY<{sql}>").encode(pa.table({"D": values, "L": lists}))
    assert json.combine_chunks().to_pylist() == [b'{"D":1.50,"L":[-1.50]}', b'{"D":null,"L":null}']
    lines = KsqlCodec("DELIMITED", f"D {sql}").encode(pa.table({"D": values}))
    assert lines.combine_chunks().to_pylist() == [b"1.50", b""]


@cases("format", ["JSON", "DELIMITED", "AVRO", "PROTOBUF", "JSON_SR", "PROTOBUF_NOSR"])
def test_paths_have_the_names_of_the_statement(impl, format):
    place = {"registry": "memory://sql-paths", "topic": format} if FORMATS[format].rows is None else {}
    codec = KsqlCodec(format, "TOTAL DECIMAL(4,2), N INT", **place)
    given = pa.array([{"total": "x"}, {"total": "1.555"}, {"n": 1 << 40}])
    _, report = codec.encode(given, errors="report")
    assert report["path"].to_pylist() == ["TOTAL", "TOTAL", "N"]


def test_paths_within_columns_have_the_names_of_the_statement(impl):
    codec = KsqlCodec(
        "JSON", "A ARRAY<STRUCT<D DECIMAL(3,1)>>, M MAP<STRING, STRUCT<D DECIMAL(3,1), DD STRING>>"
    )
    below = pa.struct([("dd", pa.string()), ("d", pa.string())])
    given = [
        {"a": [None, {"d": "x"}], "m": None},
        {"a": None, "m": [("k", None), ("l", {"dd": "", "d": "1.55"})]},
    ]
    kind = pa.struct([("a", pa.list_(pa.struct([("d", pa.string())]))), ("m", pa.map_(pa.string(), below))])
    _, report = codec.encode(pa.array(given, kind), errors="report")
    assert report["path"].to_pylist() == ["A[1].D", "M[1].value.D"]


def test_python_values_have_names_in_either_case(impl):
    codec = KsqlCodec("JSON", "ID BIGINT, `low` INT, A ARRAY<STRUCT<X INT, `y` INT>>")
    rows = [{"id": 1, "low": 2, "a": [{"x": 3, "y": 4}]}, None, {"id": 5}]
    assert codec.encode(rows).to_pylist() == [
        b'{"ID":1,"low":2,"A":[{"X":3,"y":4}]}',
        None,
        b'{"ID":5,"low":null,"A":null}',
    ]
    with pytest.raises(TypeError, match="there is no field 'LOW': did you mean 'low'"):
        codec.encode([{"LOW": 1}])
    with pytest.raises(SchemaError, match="two fields stand for the column ID: 'id', 'ID'"):
        codec.encode([{"id": 1}, {"ID": 2}])


def test_maps_with_equal_keys(impl):
    given = pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int32()))
    codec = KsqlCodec("JSON", "M MAP<STRING, INT>", wrap=False)
    assert codec.encode(given).to_pylist() == [b'{"k":1,"k":2}']


@cases(
    ("sql", "values", "code"),
    [
        ("INT", pa.array([1 << 40, 1]), "out_of_range"),
        ("TIME", pa.array([1001, 1000], pa.time64("us")), "inexact"),
        ("TIMESTAMP", pa.array([1, 1000], pa.timestamp("us")), "inexact"),
        ("DECIMAL(4,2)", pa.array([Decimal("1.555"), Decimal("1.550")]), "inexact"),
        ("DECIMAL(4,2)", pa.array(["x", "1"]), "invalid_number"),
        ("DECIMAL(4,2)", pa.array([Decimal("100.0"), Decimal("1.0")]), "decimal_precision"),
    ],
    ids=str,
)
def test_values_that_do_not_fit_cost_their_row(impl, sql, values, code):
    codec = KsqlCodec("JSON", f"A {sql}")
    array = pa.StructArray.from_arrays([values], ["A"])
    written, report = codec.encode(array, errors="report")
    assert report.select(["row", "code"]).to_pylist() == [{"row": 0, "code": code}]
    assert [value is None for value in written.to_pylist()] == [True, False]
    with pytest.raises(EncodeError, match=f"{code}: row 0"):
        codec.encode(array)


@pytest.mark.parametrize("format", ["JSON", "DELIMITED", "PROTOBUF_NOSR"])
def test_a_time_is_one_of_a_day(impl, format):
    given = pa.array([-1, 5, 90_000], pa.int32()).view(pa.time32("s"))
    report = KsqlCodec(format, "A TIME").encode(pa.table({"A": given}), errors="report")[1]
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": row, "path": "A", "code": "out_of_range"} for row in (0, 2)
    ]


@pytest.mark.parametrize(
    ("sql", "given", "message"),
    [
        ("INT", pa.array(["1"]), "A: Arrow's string cannot be written as INTEGER"),
        ("ARRAY<INT>", pa.array([[True]]), r"A\[\]: Arrow's bool cannot be written as INTEGER"),
        ("STRUCT<X INT>", pa.array([{"Y": 1}]), "'Y' is not one of the columns X"),
        ("STRUCT<X INT>", pa.array([{"X": 1, "x": 1}]), "two fields stand for the column X: 'X', 'x'"),
        ("DOUBLE", pa.array([1]), "A: Arrow's int64 cannot be written as DOUBLE"),
        ("DECIMAL(4,2)", pa.array([1.5]), "A: Arrow's double cannot be written as DECIMAL"),
    ],
)
def test_types_that_cannot_be_written(sql, given, message):
    with pytest.raises(SchemaError, match=message):
        KsqlCodec("JSON", f"A {sql}").encode(pa.StructArray.from_arrays([given], ["A"]))


def test_columns_are_found_in_time_that_grows_with_their_number():
    given = pa.struct([(f"F{number}", pa.int32()) for number in range(40_000)])
    begin = time.process_time()
    assert match_fields(sql_type(given).fields, given) == tuple(range(40_000))
    # Looked up in a list, they took half a minute.
    assert time.process_time() - begin < 5


def test_large_offsets(impl):
    codec = KsqlCodec("JSON", "A ARRAY<STRING>", large=True)
    array = codec.decode([b'{"A":["x"]}'])
    assert array.type.field(0).type == pa.large_list(pa.large_string())
    assert codec.encode(array).type == pa.large_binary()


def test_formats_are_listed():
    assert {"JSON", "DELIMITED", "KAFKA", "NONE", "AVRO"} <= set(FORMATS)


def test_doubles_after_longer_ones(impl):
    values = [0.1 + 0.2, 8.8, 1e-300, 9.8, 123456.789, 6.9, 86.30000000000001] * 3 + [
        n / 10 for n in range(500)
    ]
    written = KsqlCodec("JSON", "A DOUBLE", wrap=False).encode(pa.array(values)).to_pylist()
    assert [float(text) for text in written] == values


def test_decimals_that_cannot_be_written_cost_their_row(impl):
    text = pa.struct([("D", pa.string())])
    kind = pa.struct([("S", text), ("A", pa.list_(text)), ("M", pa.map_(pa.string(), pa.list_(text)))])
    codec = KsqlCodec(
        "JSON",
        "S STRUCT<D DECIMAL(3,1)>, A ARRAY<STRUCT<D DECIMAL(3,1)>>, M MAP<STRING, ARRAY<STRUCT<D DECIMAL(3,1)>>>",
    )
    rows = [
        ({"S": {"D": "1.50"}}, b'{"S":{"D":1.5},"A":null,"M":null}'),
        ({"S": {"D": "1.55"}}, ("S.D", "inexact")),
        ({"A": [None, {"D": "1"}, {"D": "1000"}]}, ("A[2].D", "decimal_precision")),
        (None, None),
        ({"M": {"k": [], "l": [{"D": "x"}]}}, ("M[1].value[0].D", "invalid_number")),
        ({"A": [{"D": None}, None], "M": {"k": None}}, b'{"S":null,"A":[{"D":null},null],"M":{"k":null}}'),
    ]
    array = pa.array([each for each, _ in rows], kind)
    for start in (0, 1, 5):
        written, report = codec.encode(array.slice(start), errors="report")
        expected = [answer for _, answer in rows[start:]]
        assert written.to_pylist() == [None if isinstance(each, tuple) else each for each in expected]
        faults = {row: each for row, each in enumerate(expected) if isinstance(each, tuple)}
        found = zip(*(report[name].to_pylist() for name in ("row", "path", "code")), strict=True)
        assert {row: (path, code) for row, path, code in found} == faults
    views = pa.array([["1"], ["x"]], pa.list_(pa.string_view()))
    written, report = KsqlCodec("JSON", "A ARRAY<DECIMAL(2,1)>", wrap=False).encode(views, errors="report")
    assert (written.to_pylist(), report["path"].to_pylist()) == ([b"[1.0]", None], ["[0]"])
