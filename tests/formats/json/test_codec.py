"""JSON documents by Arrow type: values exact, errors with their facts, options, and what users do with a codec."""

import datetime
import decimal
import json
import math
import pickle
import struct

import pyarrow as pa
import pytest
from cases import cases

import kcodec
from kcodec.formats.json import codec as json_codec
from kcodec.formats.json.codec import infer
from kcodec.formats.json.plan import RAW
from kcodec.plan import Limits

D = decimal.Decimal


def decode(kind, *documents, **options):
    errors = options.pop("errors", "report")
    return kcodec.JsonCodec(kind, **options).decode(
        [d.encode() if isinstance(d, str) else d for d in documents], errors
    )


def value(kind, document, **options):
    """Decode one value that is good."""
    column, report = decode(kind, document, **options)
    column.validate(full=True)
    assert report.num_rows == 0, report.to_pylist()
    return column[0].as_py()


def fault(kind, document, **options):
    """Decode one document that is bad: its code, offset and path."""
    column, report = decode(kind, document, **options)
    assert column.null_count == 1
    (row,) = report.to_pylist()
    assert (row["row"], row["reason"]) == (0, kcodec.CODES[row["code"]])
    return row["code"], row["offset"], row["path"]


@cases(
    ("kind", "document", "expected"),
    [
        (pa.bool_(), "true", True),
        (pa.bool_(), " false\n", False),
        (pa.int8(), "-128", -128),
        (pa.uint8(), "255", 255),
        (pa.int64(), "-9223372036854775808", -(1 << 63)),
        (pa.uint64(), "18446744073709551615", (1 << 64) - 1),
        (pa.int64(), "1.0", 1),
        (pa.int64(), "12e2", 1200),
        (pa.int64(), "1200e-2", 12),
        (pa.int64(), "-0", 0),
        (pa.int32(), "0.00e+5", 0),
        (pa.float64(), "0.1", 0.1),
        (pa.float64(), "1e-400", 0.0),
        (pa.float64(), "4.9e-324", 5e-324),
        (pa.float64(), "2.2250738585072011e-308", 2.2250738585072011e-308),
        (pa.float64(), "1.7976931348623157e308", 1.7976931348623157e308),
        (pa.float64(), "9007199254740993", 9007199254740992.0),
        (pa.float64(), "123456789012345678901234567890", 1.2345678901234568e29),
        (pa.string(), '"a\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"', 'a"\\/\b\f\n\r\té😀'),
        (pa.string(), '"é😀\x7f\u2028"', "é😀\x7f\u2028"),
        (pa.string(), '""', ""),
        (pa.string(), '"\\u0000"', "\0"),
        (pa.binary(), '"AAECAw=="', b"\0\1\2\3"),
        (pa.binary(), '"\\/\\/\\/\\/"', b"\xff\xff\xff"),
        (pa.binary(2), '"\\u0041AE="', b"\0\1"),
        (pa.decimal128(9, 2), "12.5", D("12.50")),
        (pa.decimal128(9, 2), "12.500", D("12.50")),
        (pa.decimal128(9, 2), '"-0.01"', D("-0.01")),
        (pa.decimal128(9, 2), "1e3", D("1000.00")),
        (pa.decimal128(9, 2), "125e-2", D("1.25")),
        (pa.decimal128(9, -2), "123400", D("1.234e5")),
        (pa.decimal128(38, 0), "9" * 38, D("9" * 38)),
        (pa.decimal128(38, 37), "-1." + "3" * 37, D("-1." + "3" * 37)),
        (pa.decimal256(76, 38), "1" * 38 + "." + "2" * 38, D("1" * 38 + "." + "2" * 38)),
        (pa.date32(), '"2024-02-29"', datetime.date(2024, 2, 29)),
        (pa.date64(), '"0001-01-01"', datetime.date(1, 1, 1)),
        (pa.time32("s"), '"23:59:59"', datetime.time(23, 59, 59)),
        (pa.time64("us"), '"01:02:03.000004"', datetime.time(1, 2, 3, 4)),
        (pa.timestamp("us"), '"2024-05-01 10:20:30.5"', datetime.datetime(2024, 5, 1, 10, 20, 30, 500000)),
        (pa.list_(pa.int8()), " [ 1 , null , 3 ] ", [1, None, 3]),
        (pa.list_(pa.list_(pa.int8())), "[[],[1],null]", [[], [1], None]),
        (pa.map_(pa.string(), pa.int8()), '{"a":1,"b":null}', [("a", 1), ("b", None)]),
        (pa.map_(pa.string(), pa.int8()), '{"a":1,"b":2,"a":3}', [("b", 2), ("a", 3)]),
        (pa.map_(pa.int64(), pa.int8()), '{"7":1,"-1":2,"7":3}', [(-1, 2), (7, 3)]),
        (pa.map_(pa.date32(), pa.bool_()), '{"2024-01-01":true}', [(datetime.date(2024, 1, 1), True)]),
        (pa.null(), "null", None),
        (pa.duration("ms"), "1500", datetime.timedelta(seconds=1.5)),
        (pa.struct([("a", pa.int8())]), '\ufeff{"a":1}', {"a": 1}),
        (pa.struct([]), '{"a":[{}]}', {}),
    ],
    ids=repr,
)
def test_values(impl, kind, document, expected):
    found = value(kind, document)
    assert found == expected
    if isinstance(expected, float):
        assert struct.pack("d", found) == struct.pack("d", expected)


def test_negative_zero_and_single_floats(impl):
    assert math.copysign(1, value(pa.float64(), "-0.0")) == -1
    assert math.copysign(1, value(pa.float64(), "-1e-999")) == -1
    # The nearest float to the text, not to the nearest double: 1 + 2**-24 + 2**-60.
    above = "1.00000005960464477626373545"
    assert value(pa.float32(), above) == 1 + 2**-23
    assert value(pa.float32(), "3.4028235677973366e38") == 3.4028234663852886e38
    assert fault(pa.float32(), "3.4028235677973367e38")[0] == "out_of_range"


ORDER = pa.struct(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("lines", pa.list_(pa.struct([("sku", pa.string()), ("price", pa.decimal128(5, 2))]))),
        ("by", pa.map_(pa.string(), pa.int8())),
    ]
)


@cases(
    ("kind", "document", "expected"),
    [
        (ORDER, "{}", ("missing_key", 1, "id")),
        (ORDER, '{"id":null}', ("null_value", 6, "id")),
        (ORDER, '{"id":1,"lines":[{"sku":"a"},{"price":1.234}]}', ("inexact", 38, "lines[1].price")),
        (ORDER, '{"id":1,"lines":[{"sku":"a"},{"price":1234}]}', ("decimal_precision", 38, "lines[1].price")),
        (ORDER, '{"id":1,"by":{"a":1,"b":128}}', ("out_of_range", 24, "by[1].value")),
        (ORDER, '{"id":1,"lines":[{"sku":1}]}', ("json_type", 24, "lines[0].sku")),
        (ORDER, '{"id":1.5}', ("inexact", 6, "id")),
        (ORDER, '{"id":"1"}', ("json_type", 6, "id")),
        (ORDER, '{"id":9223372036854775808}', ("out_of_range", 6, "id")),
        (ORDER, '{"id":1', ("truncated", 7, "")),
        (ORDER, '{"id":', ("truncated", 6, "id")),
        (ORDER, '{"id"', ("truncated", 5, "")),
        (ORDER, "", ("truncated", 0, "")),
        (ORDER, "  ", ("truncated", 2, "")),
        (ORDER, '{"id":1}}', ("trailing_bytes", 8, "")),
        (ORDER, '{"id":1,}', ("json_syntax", 8, "")),
        (ORDER, '{"id" 1}', ("json_syntax", 6, "")),
        (ORDER, "{id:1}", ("json_syntax", 1, "")),
        (ORDER, "{'id':1}", ("json_syntax", 1, "")),
        (ORDER, '{"id":01}', ("json_syntax", 7, "")),
        (ORDER, '{"id":+1}', ("json_syntax", 6, "id")),
        (ORDER, '{"id":.5}', ("json_syntax", 6, "id")),
        (ORDER, '{"id":1.}', ("json_syntax", 8, "id")),
        (ORDER, '{"id":1e}', ("json_syntax", 8, "id")),
        (ORDER, '{"id":-}', ("json_syntax", 7, "id")),
        (ORDER, '{"id":NaN}', ("json_syntax", 6, "id")),
        (ORDER, '{"id":tru}', ("json_type", 6, "id")),
        (ORDER, '{"id":nul}', ("json_syntax", 6, "id")),
        (ORDER, '{"id":1 /* */}', ("json_syntax", 8, "")),
        (ORDER, '{"id":1,"x":[1,}', ("json_syntax", 15, "")),
        (ORDER, '{"id":1,"x":"\t"}', ("json_syntax", 13, "")),
        (ORDER, '{"id":1,"x":tru}', ("json_syntax", 12, "")),
        (ORDER, '{"id":1,"x":?}', ("json_syntax", 12, "")),
        (ORDER, '{"id":1,"x":[1,?]}', ("json_syntax", 15, "")),
        (ORDER, '{"id":1,"x":{"y":0x1}}', ("json_syntax", 18, "")),
        (ORDER, "[]", ("json_type", 0, "")),
        (ORDER, b"\xff\xfe{\0", ("invalid_utf8", 0, "")),
        (ORDER, b'{"id":1,"x":"\xc3"}', ("invalid_utf8", 13, "")),
        (pa.string(), '"\\x41"', ("json_syntax", 1, "")),
        (pa.string(), '"\\u12g4"', ("json_syntax", 1, "")),
        (pa.string(), '"a\\ud800"', ("lone_surrogate", 2, "")),
        (pa.string(), '"\\ud800\\u0041"', ("lone_surrogate", 1, "")),
        (pa.string(), '"\\udc00"', ("lone_surrogate", 1, "")),
        (pa.string(), '"\\ud83d', ("truncated", 7, "")),
        (pa.string(), b'"\xed\xa0\x80"', ("invalid_utf8", 1, "")),
        (pa.string(), '"a\nb"', ("json_syntax", 2, "")),
        (pa.binary(), '"YQ"', ("invalid_base64", 0, "")),
        (pa.binary(), '"YQ=="x', ("trailing_bytes", 6, "")),
        (pa.binary(), '"Y-=="', ("invalid_base64", 0, "")),
        (pa.binary(), '"YWJj "', ("invalid_base64", 0, "")),
        (pa.binary(2), '"YWJj"', ("fixed_size", 0, "")),
        (pa.decimal128(9, 2), '"1,5"', ("invalid_number", 0, "")),
        (pa.decimal128(9, 2), '" 1"', ("invalid_number", 0, "")),
        (pa.decimal128(9, 2), '""', ("invalid_number", 0, "")),
        (pa.decimal128(9, 2), "1e999999999999", ("decimal_precision", 0, "")),
        (pa.decimal128(9, 2), "1e-999999999999", ("inexact", 0, "")),
        (pa.decimal128(38, 0), "1" + "0" * 38, ("decimal_precision", 0, "")),
        (pa.float64(), "1e400", ("out_of_range", 0, "")),
        (pa.float64(), '"1"', ("json_type", 0, "")),
        (pa.float64(), "Infinity", ("json_syntax", 0, "")),
        (pa.date32(), '"2023-02-29"', ("invalid_time", 0, "")),
        (pa.date32(), '"2024-1-1"', ("invalid_time", 0, "")),
        (pa.time32("s"), '"24:00:00"', ("invalid_time", 0, "")),
        (pa.timestamp("us", "UTC"), '"2024-05-01T10:20:30"', ("invalid_time", 0, "")),
        (pa.timestamp("us"), '"2024-05-01T10:20:30Z"', ("invalid_time", 0, "")),
        (pa.timestamp("ms", "UTC"), '"2024-05-01T10:20:30.0001Z"', ("inexact", 0, "")),
        (pa.timestamp("ns"), '"2262-04-11T23:47:16.854775808"', ("out_of_range", 0, "")),
        (pa.map_(pa.string(), pa.int8()), '{"a":1 "b":2}', ("json_syntax", 7, "")),
        (pa.map_(pa.string(), pa.int8()), "{1:1}", ("json_syntax", 1, "")),
        (pa.map_(pa.int8(), pa.int8()), '{"x":1}', ("invalid_number", 1, "[0].key")),
    ],
    ids=repr,
)
def test_faults(impl, kind, document, expected):
    assert fault(kind, document) == expected


def test_zones(impl):
    kind = pa.timestamp("us", "UTC")
    for text in ("2024-05-01T12:20:30Z", "2024-05-01t14:20:30+02:00", "2024-05-01 06:50:30-0530"):
        found = value(kind, json.dumps(text))
        assert found == datetime.datetime(2024, 5, 1, 12, 20, 30, tzinfo=datetime.timezone.utc)


def test_a_bad_row_costs_itself_only(impl):
    column, report = decode(
        ORDER, '{"id":1,"lines":[{"sku":"a"}]}', '{"id":2,"lines":[{"sku":"b"},', None, '{"id":3}'
    )
    assert column.to_pylist() == [
        {"id": 1, "lines": [{"sku": "a", "price": None}], "by": None},
        None,
        None,
        {"id": 3, "lines": None, "by": None},
    ]
    assert report["row"].to_pylist() == [1]
    with pytest.raises(kcodec.DecodeError, match=r"truncated: row 1, byte 29, lines\[1\]: ") as caught:
        decode(ORDER, '{"id":1}', '{"id":2,"lines":[{"sku":"b"},', errors="raise")
    assert (caught.value.row, caught.value.offset, caught.value.path) == (1, 29, "lines[1]")


def test_the_order_of_keys_does_not_matter(impl):
    kind = pa.struct([(name, pa.int8()) for name in "abcdefgh"])
    documents = [
        "{" + ",".join(f'"{c}":{i}' for i, c in enumerate(order)) + "}" for order in ("hgfedcba", "badcfehg")
    ]
    column, report = decode(kind, *documents)
    assert report.num_rows == 0
    assert column.to_pylist() == [
        {c: "hgfedcba".index(c) for c in "abcdefgh"},
        {c: "badcfehg".index(c) for c in "abcdefgh"},
    ]


def test_keys_may_be_escaped_and_unknown_ones_are_read_past(impl):
    kind = pa.struct([("aé", pa.int8()), ('q"', pa.int8()), ("long_name_of_more_than_16", pa.int8())])
    document = '{"x":{"a":[{}]},"\\u0061\\u00e9":1,"q\\"":2,"long_name_of_more_than_16":3,"long_name_of_more_than_":4}'
    assert value(kind, document) == {"aé": 1, 'q"': 2, "long_name_of_more_than_16": 3}


def test_duplicate_keys(impl):
    kind = pa.struct([("a", pa.list_(pa.int8())), ("b", pa.string())])
    document = '{"a":[1,2,3],"b":"x","a":[4],"b":null}'
    assert value(kind, document) == {"a": [4], "b": None}
    assert fault(kind, document, duplicate_keys="error") == ("duplicate_key", 21, "")
    maps = pa.map_(pa.string(), pa.int8())
    assert fault(maps, '{"a":1,"\\u0061":1}', duplicate_keys="error") == ("duplicate_key", 18, "")


def test_depth(impl):
    kind = pa.struct([("a", pa.int8())])
    limits = Limits(max_depth=3)
    assert value(kind, '{"x":[[1]],"a":1}', limits=limits) == {"a": 1}
    assert fault(kind, '{"x":[[[1]]],"a":1}', limits=limits) == ("depth_limit", 7, "")
    assert fault(kind, '{"x":' + "[" * 100_000) == ("depth_limit", 204, "")
    assert fault(pa.list_(pa.list_(pa.int8())), "[[1]]", limits=Limits(max_depth=1)) == (
        "depth_limit",
        1,
        "[0]",
    )


def test_numbers_have_a_length(impl):
    assert fault(pa.float64(), "1" * 1001) == ("number_length", 0, "")
    assert value(pa.float64(), "1" * 300 + "e-299") == pytest.approx(1.1111111)
    assert fault(pa.int64(), "123", limits=Limits(max_number_length=2)) == ("number_length", 0, "")


def test_numbers_as_text(impl):
    kind = pa.struct([("i", pa.int64()), ("f", pa.float64()), ("d", pa.decimal128(20, 0))])
    codec = kcodec.JsonCodec(kind, text_numbers=True)
    document = b'{"i":"9007199254740993","f":"1.5","d":"12345678901234567890"}'
    column = codec.decode([document, b'{"i":1,"f":2,"d":3}'])
    assert column[0].as_py() == {"i": 9007199254740993, "f": 1.5, "d": D("12345678901234567890")}
    assert codec.encode(column)[0].as_py() == document
    assert fault(kind, '{"i":"1.0"}', text_numbers=True) == ("invalid_number", 5, "i")


def test_floats_that_are_not_finite(impl):
    codec = kcodec.JsonCodec(pa.float64(), nonfinite=True)
    column = pa.array([float("nan"), float("inf"), float("-inf")])
    assert codec.encode(column).to_pylist() == [b'"NaN"', b'"Infinity"', b'"-Infinity"']
    assert [str(x) for x in codec.decode(codec.encode(column)).to_pylist()] == ["nan", "inf", "-inf"]
    report = kcodec.JsonCodec(pa.float64()).encode(column, errors="report")[1]
    assert report["code"].to_pylist() == ["out_of_range"] * 3


def test_times_as_numbers(impl):
    kind = pa.struct(
        [("t", pa.timestamp("ms", "UTC")), ("d", pa.date32()), ("e", pa.date64()), ("s", pa.time32("ms"))]
    )
    codec = kcodec.JsonCodec(kind, times="number")
    document = b'{"t":1714558830500,"d":19844,"e":19844,"s":86399999}'
    column = codec.decode([document])
    assert column[0].as_py()["e"] == datetime.date(2024, 5, 1)
    assert codec.encode(column).to_pylist() == [document]
    assert fault(kind, '{"s":86400000}', times="number") == ("out_of_range", 5, "s")


def test_numbers_are_written_for_times_that_are_numbers(impl):
    """In columns and in lists, however deep they are."""
    codec = kcodec.JsonCodec("t TIMESTAMP, l ARRAY<TIMESTAMP>, m MAP<STRING, TIMESTAMP>", times="number")
    rows = [{"t": -5, "l": [7], "m": {"a": 9}}]
    assert codec.encode(rows).to_pylist() == [b'{"t":-5,"l":[7],"m":{"a":9}}']
    assert codec.encode(pa.array([{"t": -5}, {"t": None}])).to_pylist()[0] == b'{"t":-5,"l":null,"m":null}'
    for kind in (pa.time32("ms"), pa.time64("us"), pa.duration("s")):
        assert kcodec.JsonCodec(kind, times="number").encode([7, None]).to_pylist() == [b"7", None]
    assert kcodec.JsonCodec(pa.duration("s")).encode([7]).to_pylist() == [b"7"]
    with pytest.raises(TypeError, match="the column: Integer value 2147483648 not in range"):
        kcodec.JsonCodec(pa.time32("ms"), times="number").encode([1 << 31])
    with pytest.raises(TypeError, match="int64 is not written as time32"):
        kcodec.JsonCodec(pa.time32("ms")).encode([7])


def test_values_kept_as_json(impl):
    kind = pa.struct([pa.field("any", pa.string(), metadata=RAW), ("n", pa.int8())])
    codec = kcodec.JsonCodec(kind)
    document = b'{"any":{"x": [1, "\\u00e9"]} ,"n":1}'
    column = codec.decode([document, b'{"any":null}', b'{"any":1.50}'])
    assert [row["any"] for row in column.to_pylist()] == ['{"x": [1, "\\u00e9"]}', None, "1.50"]
    assert codec.encode(column)[0].as_py() == b'{"any":{"x": [1, "\\u00e9"]},"n":1}'
    bad = pa.array(
        [{"any": "{", "n": 1}, {"any": "1 2", "n": 1}], pa.struct([("any", pa.string()), ("n", pa.int8())])
    )
    report = codec.encode(bad, errors="report")[1]
    assert report.select(["code", "path"]).to_pylist() == [
        {"code": "truncated", "path": "any"},
        {"code": "trailing_bytes", "path": "any"},
    ]


def test_encoding(impl):
    kind = pa.struct(
        [
            ("s", pa.string()),
            ("d", pa.decimal128(10, 8)),
            ("e", pa.decimal128(5, -3)),
            ("b", pa.binary()),
            ("l", pa.list_(pa.bool_())),
            ("m", pa.map_(pa.int32(), pa.struct([("x", pa.int8())]))),
            ("t", pa.timestamp("us", "UTC")),
            ("o", pa.struct([])),
        ]
    )
    row = {
        "s": 'a"\\/\b\f\n\r\t\x01\x1f\x7f\u2028é😀',
        "d": D("0.00000001"),
        "e": D("12000"),
        "b": b"\0\1\2\3",
        "l": [True, None],
        "m": [(1, {"x": 2}), (-5, None)],
        "t": datetime.datetime(2024, 5, 1, tzinfo=datetime.timezone.utc),
        "o": {},
    }
    column = pa.array([row, None, {}], kind)
    codec = kcodec.JsonCodec(kind)
    first, second, third = codec.encode(column).to_pylist()
    assert first.decode() == (
        '{"s":"a\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001F\x7f\u2028é😀","d":0.00000001,"e":12000,"b":"AAECAw==",'
        '"l":[true,null],"m":{"1":{"x":2},"-5":null},"t":"2024-05-01T00:00:00.000000Z","o":{}}'
    )
    assert second is None
    assert json.loads(third) == dict.fromkeys(row)
    assert codec.decode([first]).to_pylist() == column.slice(0, 1).to_pylist()
    assert kcodec.JsonCodec(kind, nulls="omit").encode(column)[2].as_py() == b"{}"
    text = kcodec.JsonCodec(kind, decimals="text").encode(column)[0].as_py()
    assert b'"d":"0.00000001","e":"12000"' in text


@cases(
    ("number", "double", "single"),
    [
        (0.0, "0.0", "0.0"),
        (-0.0, "-0.0", "-0.0"),
        (1.0, "1.0", "1.0"),
        (100.0, "100.0", "100.0"),
        (9999999.0, "9999999.0", "9999999.0"),
        (1e7, "1.0E7", "1.0E7"),
        (0.001, "0.001", "0.001"),
        (0.0001, "1.0E-4", "1.0E-4"),
        (0.1 + 0.2, "0.30000000000000004", "0.3"),
        (123456.789, "123456.789", "123456.79"),
        (2e23, "2.0E23", "2.0E23"),
        (5e-324, "4.9E-324", "0.0"),
        (1.7976931348623157e308, "1.7976931348623157E308", None),
        (1.401298464324817e-45, "1.401298464324817E-45", "1.4E-45"),
        (3.4028234663852886e38, "3.4028234663852886E38", "3.4028235E38"),
        (9007199254740993.0, "9.007199254740992E15", "9.007199E15"),
        (0.0010000000000000002, "0.0010000000000000002", "0.001"),
        (999999.9999999999, "999999.9999999999", "1000000.0"),
    ],
)
def test_floats_are_spelt_as_java_does(impl, number, double, single):
    assert kcodec.JsonCodec(pa.float64()).encode(pa.array([number])).to_pylist() == [double.encode()]
    if single is not None:
        column = pa.array([number], pa.float64()).cast(pa.float32())
        assert kcodec.JsonCodec(pa.float32()).encode(column).to_pylist() == [single.encode()]


def test_columns_of_other_layouts_are_encoded(impl):
    codec = kcodec.JsonCodec(pa.struct([("a", pa.string()), ("b", pa.decimal128(5, 1))]))
    other = pa.struct([("b", pa.decimal128(3, 0)), ("a", pa.dictionary(pa.int8(), pa.string()))])
    column = pa.array([{"a": "x", "b": D(1)}, None], other)
    assert codec.encode(column).to_pylist() == [b'{"a":"x","b":1.0}', None]
    table = pa.table({"b": pa.array([D("1.5")])})
    assert codec.encode(table).to_pylist() == [b'{"a":null,"b":1.5}']


#: Type of a field, a column of another type, its documents, and the codes of its bad rows.
CASTS = [
    (pa.int32(), pa.array([1, 2**40, None]), ["1", None, "null"], ["out_of_range"]),
    (pa.float64(), pa.array([3, 2**53 + 1]), ["3.0", None], ["inexact"]),
    (pa.float64(), pa.array([0.5], pa.float32()), ["0.5"], []),
    (pa.decimal128(3, 1), pa.array([7, 700]), ["7.0", None], ["decimal_precision"]),
    (pa.decimal128(3, 1), pa.array([D("1.25"), D("1.50")]), [None, "1.5"], ["inexact"]),
    (pa.date32(), pa.array([86_400_000], pa.date64()), ['"1970-01-02"'], []),
    (
        pa.timestamp("ms"),
        pa.array([1000, 1], pa.timestamp("us")),
        ['"1970-01-01T00:00:00.001"', None],
        ["inexact"],
    ),
    (pa.timestamp("ns"), pa.array([2**60], pa.timestamp("s")), [None], ["out_of_range"]),
    (pa.string(), pa.array(["a"], pa.string_view()), ['"a"'], []),
    (pa.binary(), pa.array([b"a"], pa.binary_view()), ['"YQ=="'], []),
    (
        pa.list_(pa.int8()),
        pa.array([[1, 2], None, [3, 300]], pa.list_(pa.int64(), 2)),
        ["[1,2]", "null", None],
        ["out_of_range"],
    ),
    (
        pa.map_(pa.string(), pa.int8()),
        pa.array([[("a", 1)], [("b", 300)]], pa.map_(pa.string(), pa.int64())),
        ['{"a":1}', None],
        ["out_of_range"],
    ),
]


@cases(("kind", "column", "values", "codes"), CASTS, ids=[str(case[0]) for case in CASTS])
def test_what_a_type_cannot_hold_costs_its_row(impl, kind, column, values, codes):
    codec = kcodec.JsonCodec(pa.struct([("x", kind)]))
    # A slice, in which the values of other rows do not count.
    encoded, report = codec.encode(
        pa.table({"x": pa.concat_arrays([column, column])}).slice(len(column)), errors="report"
    )
    assert encoded.to_pylist() == [None if value is None else f'{{"x":{value}}}'.encode() for value in values]
    assert report["code"].to_pylist() == codes


@cases(
    ("kind", "column"),
    [
        (pa.decimal128(9, 2), [1.005]),
        (pa.float64(), [D("0.1")]),
        (pa.float32(), [0.1]),
        (pa.date32(), pa.array([1], pa.timestamp("ms"))),
        (pa.timestamp("us"), pa.array([1], pa.timestamp("us", "Europe/Berlin"))),
        (pa.bool_(), [2]),
        (pa.string(), [b"x"]),
        (pa.list_(pa.string()), ["x"]),
        (pa.struct([("y", pa.int8())]), [{"x": 1}]),
        (pa.struct([pa.field("y", pa.int8(), False)]), [{}]),
    ],
    ids=str,
)
def test_types_of_another_kind_are_refused(impl, kind, column):
    with pytest.raises(TypeError, match=r"is not written as|has no place for|is missing"):
        kcodec.JsonCodec(pa.struct([("x", kind)])).encode(pa.table({"x": column}))


@pytest.mark.parametrize(
    "codec",
    [
        kcodec.JsonCodec(", ".join(f"F{each} INT" for each in range(2000))),
        kcodec.KsqlCodec("JSON", ", ".join(f"F{each} INT" for each in range(2000))),
    ],
)
def test_an_unknown_column_of_a_wide_type_takes_few_words(codec):
    with pytest.raises((TypeError, kcodec.SchemaError)) as caught:
        codec.encode(pa.table({"Other": [1]}))
    assert "Other" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_among_many_fields_the_one_of_other_case_is_near():
    kind = pa.schema([(f"f{each}", pa.int8()) for each in range(2000)])
    with pytest.raises(kcodec.ConfigError, match="has no field F7: did you mean 'f7'"):
        kcodec.JsonCodec(kind, fields=["F7"])


def test_types_that_mix_offsets(impl):
    kind = pa.struct([("a", pa.string()), ("b", pa.large_binary()), ("l", pa.list_(pa.large_string()))])
    codec = kcodec.JsonCodec(kind)
    document = b'{"a":"x","b":"YQ==","l":["y"]}'
    column = codec.decode([document, None])
    assert column.type == kind
    assert codec.encode(column).to_pylist() == [document, None]


def test_anything_may_follow(impl):
    assert value(pa.int64(), "1 x", trailing=True) == 1
    for kind, text in ((pa.int64(), "12,"), (pa.float64(), "1.5x"), (pa.bool_(), "truex"), (ORDER, "nullé")):
        assert fault(kind, text, trailing=True)[0] == "trailing_bytes"
    for kind, text, expected in (
        (pa.bool_(), "false,", False),
        (pa.bool_(), "true$", True),
        (ORDER, "null]", None),
        (pa.string(), '"a"x', "a"),
    ):
        assert value(kind, text, trailing=True) == expected
    assert fault(pa.int64(), "1x") == ("trailing_bytes", 1, "")


def test_codecs_are_values(impl):
    kind = pa.schema([pa.field("a", pa.string(), metadata=RAW)])
    codec = kcodec.JsonCodec(kind, nulls="omit", limits=Limits(max_depth=5))
    again = pickle.loads(pickle.dumps(codec))
    assert again == codec
    assert hash(again) == hash(codec)
    assert again != kcodec.JsonCodec(
        pa.schema([("a", pa.string())]), nulls="omit", limits=Limits(max_depth=5)
    )
    assert again.decode([b'{"a":[1]}']).to_pylist() == [{"a": "[1]"}]
    assert repr(codec).startswith("JsonCodec(struct<a: string>, nulls='omit', limits=Limits(")
    assert "a: json_text" in str(codec.decode_plan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"times": "rfc"}, "times='rfc' is not one of iso, number"),
        ({"decimals": "float"}, "decimals='float' is not one of number, text"),
        ({"nulls": None}, "nulls=None is not one of write, omit"),
        ({"duplicate_keys": "first"}, "duplicate_keys='first' is not one of last, error"),
        ({"trailing": "no"}, "trailing='no' is not True or False"),
        ({"limits": 5}, "limits=5 is not a kcodec.Limits"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(kcodec.ConfigError, match=message):
        kcodec.JsonCodec(pa.int8(), **options)


def test_types_are_checked():
    with pytest.raises(kcodec.ConfigError, match="arrow_type is a bytes"):
        kcodec.JsonCodec(b"int")
    for kind in (
        pa.month_day_nano_interval(),
        pa.float16(),
        pa.list_(pa.int8(), 2),
        pa.map_(pa.list_(pa.int8()), pa.int8()),
    ):
        with pytest.raises(kcodec.SchemaError):
            kcodec.JsonCodec(pa.struct([("a", kind)]))
    deep = pa.int8()
    for _ in range(2000):
        deep = pa.list_(deep)
    with pytest.raises(kcodec.SchemaError, match="nested"):
        kcodec.JsonCodec(deep)
    with pytest.raises(kcodec.SchemaError, match=r"a\.b\[\]: a column of halffloat has no form in JSON"):
        kcodec.JsonCodec(pa.schema([("a", pa.struct([("b", pa.list_(pa.float16()))]))]))
    with pytest.raises(kcodec.SchemaError, match="two fields have the same name"):
        kcodec.JsonCodec(pa.struct([pa.field("a", pa.int8()), pa.field("a", pa.int8())]))
    with pytest.raises(kcodec.SchemaError, match="cannot hold JSON"):
        kcodec.JsonCodec(pa.schema([pa.field("a", pa.int8(), metadata=RAW)]))


@cases(
    ("documents", "options", "expected"),
    [
        (['{"a":1}', '{"b":"x","a":null}'], {}, pa.struct([("a", pa.int64()), ("b", pa.string())])),
        (["1", "2.5"], {}, pa.float64()),
        (["1", "9223372036854775808"], {}, pa.uint64()),
        (["-1", "9223372036854775808"], {}, pa.decimal128(21, 0)),
        (["1.25", "-1000"], {"decimals": True}, pa.decimal128(8, 2)),
        (["1e-3", "1"], {"decimals": True}, pa.decimal128(6, 3)),
        (["1e300"], {"decimals": True}, pa.float64()),
        (['{"a":1e500}', '{"a":1}'], {}, pa.struct([pa.field("a", pa.string(), metadata=RAW)])),
        (['\ufeff{"a":1}'], {}, pa.struct([("a", pa.int64())])),
        (['["2024-01-01"]', "[]"], {}, pa.list_(pa.date32())),
        (['"2024-02-30"'], {}, pa.string()),
        (['"2024-01-01"'], {"times": False}, pa.string()),
        (['"10:00:00"'], {}, pa.time64("us")),
        (['"2024-01-01T10:00:00"'], {}, pa.timestamp("us")),
        (['"2024-01-01T10:00:00+01:00"', "null"], {}, pa.timestamp("us", "UTC")),
        (["null"], {}, pa.null()),
        (["[]"], {}, pa.list_(pa.null())),
        (["true"], {}, pa.bool_()),
        (["1", '"x"'], {"sample": 1}, pa.int64()),
    ],
    ids=repr,
)
def test_inference(impl, documents, options, expected):
    kind = infer([document.encode() for document in documents], **options)
    assert kind == expected == infer(pa.array(documents), **options)
    if "sample" not in options:
        assert decode(kind, *documents)[1].num_rows == 0


@cases(
    ("document", "row"),
    [
        (b'{"a":1,"a":"x"}', {"a": '"x"'}),
        (b'{"a":"x","a":null}', {"a": None}),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"b":{"c":1,"c":[1]}}', {"b": {"c": "[1]"}}),
        (b'{"a":{"b":1},"a":{"c":2}}', {"a": {"b": None, "c": 2}}),
    ],
)
def test_inference_sees_each_value_of_a_key(impl, document, row):
    assert kcodec.JsonCodec.infer([document]).decode([document]).to_pylist() == [row]


def test_inference_of_more_fields_than_a_schema_may_have(monkeypatch):
    """Where keys are data, each document has others: columns of all would take minutes, and gigabytes."""
    monkeypatch.setattr(json_codec, "_MAX_FIELDS", 6)
    documents = [b'{"a":{"1":1,"2":[{"3":3}]}}', b'{"a":{"4":4,"1":1}}', b'{"a":{"5":5}}']
    assert infer(documents[:2]).field("a").type.num_fields == 3
    with pytest.raises(kcodec.SchemaError, match="the documents have more than 6 fields: are keys of theirs"):
        infer([*documents, b'{"a":{"6":6}}'])


def test_inference_of_several_kinds(impl):
    documents = [b'{"a":1,"l":[1,"x"]}', b'{"a":{"b":2}}', None]
    kind = infer(documents)
    assert kind.field("a").metadata == RAW
    assert kind.field("l").type.value_field.metadata == RAW
    column = kcodec.JsonCodec.infer(documents).decode(documents)
    assert column.to_pylist() == [{"a": "1", "l": ["1", '"x"']}, {"a": '{"b":2}', "l": None}, None]
    with pytest.raises(kcodec.SchemaError, match="several kinds"):
        infer([b"1", b"[]"])
    for document in (
        "{}".encode("utf-16"),
        b"1" * 5000,
        b"1e1000000000000000000000",
        b"\xff",
        b'{"\\ud800":1}',
        b"[" * 2000,
    ):
        with pytest.raises(kcodec.SchemaError, match="row 1 is not JSON that can be read"):
            infer([b"1", document])
    with pytest.raises(kcodec.SchemaError, match="row 0 is not JSON"):
        infer([b"{"])
    # Of a sample, tombstones are none.
    column = pa.chunked_array([[None, b"1"], [None, None], [None, b"2", b"x"]])
    assert infer(column, sample=2) == pa.int64()
    with pytest.raises(kcodec.SchemaError, match="row 6 is not JSON"):
        infer(column, sample=3)
    with pytest.raises(kcodec.SchemaError, match="NaN is not JSON"):
        infer([b"NaN"])
    with pytest.raises(kcodec.SchemaError, match="nested too deeply"):
        infer([b"[" * 600 + b"]" * 600])


def test_chosen_fields(impl):
    kind = "id INT NOT NULL, of STRUCT<a: INT, b: ARRAY<STRUCT<c: INT, d: INT>>>, any STRING"
    whole = kcodec.JsonCodec(kind)
    codec = whole.select(["of.b.d", "any"])
    assert codec == kcodec.JsonCodec(kind, fields=("of.b.d", "any")) != whole
    assert str(codec.arrow_type) == "struct<of: struct<b: list<item: struct<d: int32>>>, any: string>"
    document = b'{"id":"x","of":{"a":"y","b":[{"c":"z","d":7}]},"any":"w"}'
    assert codec.decode([document, None]).to_pylist() == [{"of": {"b": [{"d": 7}]}, "any": "w"}, None]
    assert whole.decode([document], errors="null").to_pylist() == [None]
    rows = whole.decode([b'{"id":1,"of":{"a":2,"b":[{"c":3,"d":4}]},"any":null}'])
    # All of them are written.
    assert codec.encode(rows) == whole.encode(rows)
    with pytest.raises(kcodec.ConfigError, match=r"of \(an object\) has no field c"):
        whole.select(["of.c"])


def test_fields_of_types_that_are_nested_too_deeply():
    kind = pa.int8()
    for _ in range(3000):
        kind = pa.list_(kind)
    with pytest.raises(kcodec.SchemaError, match="nested too deeply"):
        kcodec.JsonCodec(kind, fields=["id"])
