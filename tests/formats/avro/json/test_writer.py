"""Avro's JSON encoding beside fastavro's."""

import io
import json
import re

import fastavro
import pyarrow as pa
import pytest
from cases import cases

import kcodec
from kcodec.formats.avro.json.reader import payload_of
from kcodec.formats.avro.json.writer import json_lines
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema_format import AvroFormat
from kcodec.java.jackson import quote

INNER = {"type": "record", "name": "In", "fields": [{"name": "x", "type": "long"}]}
SCHEMA = {
    "type": "record",
    "name": "ns.R",
    "fields": [
        {"name": "i", "type": "int"},
        {"name": "l", "type": ["null", "long"]},
        {"name": "d", "type": "double"},
        {"name": "b", "type": "boolean"},
        {"name": "y", "type": "bytes"},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}},
        {"name": "e", "type": ["null", {"type": "enum", "name": "E", "symbols": ["A", "B"]}]},
        {
            "name": "u",
            "type": [
                "string",
                "int",
                {"type": "record", "name": "In", "fields": [{"name": "x", "type": "long"}]},
            ],
        },
        {"name": "a", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "m", "type": {"type": "map", "values": "long"}},
    ],
}
ROWS = [
    {
        "i": -1,
        "l": None,
        "d": 0.5,
        "b": True,
        "y": b"\x00\xff'\"",
        "f": b"ab",
        "e": "B",
        "u": "t",
        "a": [],
        "m": {},
    },
    {
        "i": 7,
        "l": 1 << 40,
        "d": -2.25,
        "b": False,
        "y": b"",
        "f": b"\xe9\x01",
        "e": None,
        "u": 5,
        "a": [None, "ü\n"],
        "m": {"k": 1},
    },
    {
        "i": 0,
        "l": 3,
        "d": 3.0,
        "b": False,
        "y": b"x",
        "f": b"zz",
        "e": "A",
        "u": {"x": 9},
        "a": ["q"],
        "m": {"k": 0, "z": 2},
    },
]


def encoded(schema, row):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, row)
    return out.getvalue()


def lines(schema, rows):
    values = kcodec.AvroCodec(schema).decode([encoded(schema, row) for row in rows])
    return json_lines(values, parse(schema))


def test_every_type_as_fastavro_has_it():
    for row, line in zip(ROWS, lines(SCHEMA, ROWS), strict=True):
        out = io.StringIO()
        fastavro.json_writer(out, SCHEMA, [row])
        assert json.loads(line) == json.loads(out.getvalue())
        (again,) = fastavro.json_reader(io.StringIO(line), SCHEMA)
        assert again == row


def test_payloads_of_lines():
    root = parse(SCHEMA)
    for row, line in zip(ROWS, lines(SCHEMA, ROWS), strict=True):
        assert payload_of(line.encode(), root) == encoded(SCHEMA, row)
        # Members come in any order.
        turned = json.dumps(dict(reversed(json.loads(line).items()))).encode()
        assert payload_of(turned, root) == encoded(SCHEMA, row)


@cases(
    ("schema", "text", "reason"),
    [
        (SCHEMA, "{}", "the value: an object with the members i, l, d"),
        ({"type": "array", "items": "int"}, "[1, 2147483648]", "[1]: a value of int is wanted"),
        ("int", "true", "a value of int"),
        ("long", "1.5", "a value of long"),
        ("boolean", "1", "a value of boolean"),
        ("double", '"nan"', "a value of double"),
        ("bytes", '"Ā"', "characters up to"),
        ({"type": "fixed", "name": "F", "size": 2}, '"a"', "text of 2 characters"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, '"B"', "one of A is wanted"),
        (["null", "string", INNER], '"x"', "null or an object with the member string or In is wanted"),
        (["null", "string"], '{"string": "x", "null": 1}', "null or an object"),
        ({"type": "map", "values": "int"}, "[]", "an object is wanted"),
        ("string", "{", "Expecting"),
        ("string", "[" * 100_000, "nested too deeply"),
    ],
)
def test_lines_that_are_not_in_the_encoding(schema, text, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        payload_of(text.encode(), parse(schema))


@pytest.mark.parametrize("text", ['"NaN"', '"-Infinity"', "1e400", "1" + 400 * "0", "5", "-0.0"])
def test_numbers_as_java_reads_them(text):
    payload = payload_of(text.encode(), parse("double"))
    assert json_lines(kcodec.AvroCodec("double").decode([payload]), parse("double")) == [
        {"1e400": '"Infinity"', "1" + 400 * "0": '"Infinity"', "5": "5.0"}.get(text, text)
    ]


@cases(
    ("logical", "raw", "text"),
    [
        ({"type": "int", "logicalType": "date"}, 20_000, "20000"),
        ({"type": "int", "logicalType": "time-millis"}, 1234, "1234"),
        ({"type": "long", "logicalType": "time-micros"}, 86_399_999_999, "86399999999"),
        ({"type": "long", "logicalType": "timestamp-millis"}, -1, "-1"),
        ({"type": "long", "logicalType": "timestamp-micros"}, 1_700_000_000_000_001, "1700000000000001"),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, 5, "5"),
        # Beyond the year 9999, and finer than Python's times.
        ({"type": "int", "logicalType": "date"}, (1 << 31) - 1, "2147483647"),
        ({"type": "long", "logicalType": "timestamp-millis"}, 253_402_300_800_000, "253402300800000"),
        (
            {"type": "long", "logicalType": "timestamp-nanos"},
            1_700_000_000_000_000_001,
            "1700000000000000001",
        ),
    ],
)
def test_logical_types_are_those_below(logical, raw, text):
    plain = {"type": logical["type"]}
    assert json_lines(kcodec.AvroCodec(logical).decode([encoded(plain, raw)]), parse(logical)) == [text]


@pytest.mark.parametrize(
    "raw", [b"\x00", b"\xff", b"\x7f", b"\x00\x80", b"\xff\x7f", b"\x01\x02\x03", bytes(range(1, 24))]
)
def test_decimals_are_their_bytes(raw):
    logical = {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 2}
    values = kcodec.AvroCodec(logical).decode([encoded("bytes", raw)])
    assert json_lines(values, parse(logical)) == [quote(raw.decode("latin-1"))]


def test_root_bytes_stand_as_they_are_under_any_logical_type():
    text = '{"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}'
    schema = AvroFormat().parse(text)
    assert AvroFormat().json_text(schema, b"\x01\xff") == '"\\u0001\u00ff"'


def test_times_beyond_all_years_within_others():
    when = {"type": "long", "logicalType": "timestamp-millis"}
    fields = [
        {"name": "list", "type": {"type": "array", "items": when}},
        {"name": "map", "type": {"type": "map", "values": when}},
        {"name": "null", "type": ["null", when]},
        {"name": "wide", "type": ["int", when]},
    ]
    schema = {"type": "record", "name": "R", "fields": fields}
    plain = json.loads(json.dumps(schema).replace(', "logicalType": "timestamp-millis"', ""))
    late = 253_402_300_800_000
    row = {"list": [late], "map": {"a": late}, "null": late, "wide": late}
    (line,) = json_lines(kcodec.AvroCodec(schema).decode([encoded(plain, row)]), parse(schema))
    assert json.loads(line) == {**row, "null": {"long": late}, "wide": {"long": late}}


def test_text_and_floats_are_printed_as_java_does():
    """As Avro Java 1.12.1 printed these."""
    fields = [("f", "float"), ("g", "float"), ("s", "string"), ("b", "bytes")]
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": name, "type": kind} for name, kind in fields],
    }
    row = {"f": 0.1, "g": -0.0, "s": "\x1e\x7f\U0001f600/\u2028\u00e9", "b": b"\x01\xff\x1e\x7f\x85"}
    assert json_lines(kcodec.AvroCodec(schema).decode([encoded(schema, row)]), parse(schema)) == [
        '{"f":0.10000000149011612,"g":0.0,"s":"\\u001E\x7f\\uD83D\\uDE00/\u2028\u00e9","b":"\\u0001\xff\\u001E\x7f\x85"}'
    ]


def test_numbers_are_printed_as_java_does():
    values = pa.array([1e10, 1.0, float("nan"), float("-inf"), None])
    assert json_lines(values, parse('["null", "double"]')) == [
        '{"double":1.0E10}', '{"double":1.0}', '{"double":"NaN"}', '{"double":"-Infinity"}', None,
    ]  # fmt: skip
