"""Where strict reading and Connect's differ: the table of docs/connect.md."""

import datetime
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from connect_rows import DECIMAL, codes, rows, struct

from kcodec import ConnectJsonCodec, DecodeError

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
    ('{"type":"double"}', b"1e-9999999999", "0.0", "json_syntax"),
    ('{"type":"float"}', b"0e-2147483649", "0.0", "json_syntax"),
    ('{"type":"double"}', b"0e-2147483647", "0.0", "0.0"),
    ('{"type":"string","optional":true}', b"{}", "json_type", "None"),
    ('{"type":"bytes","optional":true}', b"5", "json_type", "None"),
    ('{"type":"bytes"}', b'" AQ== AQ==\\t"', "invalid_base64", repr(b"\x01\x01")),
    (json.dumps(DECIMAL), b'"AJw= "', "invalid_base64", repr(Decimal("1.56"))),
    (DATE, b"1.0", repr(datetime.date(1970, 1, 2)), "type_mismatch"),
    (BYTES_KEYS, b'[["AQ==",1],["AQ==",2]]', repr([(b"\x01", 2)]), repr([(b"\x01", 1), (b"\x01", 2)])),
    ('{"type":"int8"}', b"5 and more", "trailing_bytes", "5"),
    ('{"type":"int8"}', '"\ufeff5"'.strip('"').encode("utf-16-le"), "invalid_utf8", "5"),
    (json.dumps(struct(a={"type": "int8"})), b'{"a":"x","a":2}', "json_type", "{'a': 2}"),
    ('{"type":"string"}', b'"\xed\xa0\xbd\xed\xb8\x80"', "invalid_utf8", repr("\U0001f600")),
    ('{"type":"string"}', b'"\\ud800"', "lone_surrogate", "lone_surrogate"),
    (json.dumps(DECIMAL), b"1.567", "inexact", "inexact"),
    (json.dumps(DECIMAL), b"1" * 40, "decimal_precision", "decimal_precision"),
    ('{"type":"int8"}', b"0." + b"0" * 1200, "number_length", "json_syntax"),
]


@cases(("schema", "data", "strict", "lenient"), DIFFERENCES)
def test_documented_differences(schema, data, strict, lenient, impl):
    for compat, expected in ((None, strict), ("connect", lenient)):
        codec = ConnectJsonCodec(schema, schemas_enable=False, compat=compat)
        try:
            found = repr(codec.decode([data]).to_pylist()[0])
        except DecodeError as error:
            found = error.code
        assert found == expected


@cases(("schema", "payload", "code", "lenient"), STRICT)
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


def test_names_of_other_types(impl):
    """A Date that is an array is one where no struct is around it; text that is named as a Decimal is none."""
    dates = {"type": "array", "items": {"type": "int8"}, "name": "org.apache.kafka.connect.data.Date"}
    codec = ConnectJsonCodec(compat="connect")
    assert codec.decode(rows((dates, 5))).to_pylist() == [datetime.date(1970, 1, 6)]
    prices = {"type": "map", "keys": {**DECIMAL, "type": "string"}, "values": {"type": "int8"}}
    for schema, payload in ((dates, 5), (prices, {"AQ==": 1})):
        _, report = codec.decode(rows((struct(a=schema), {"a": payload})), errors="report")
        assert codes(report) == ([0], ["type_mismatch"])


def test_empty_rows_whose_schema_does_not_fit(impl):
    texts = {"type": "array", "items": {"type": "string"}, "optional": True}
    numbers = {"type": "array", "items": {"type": "int8"}}
    values = rows((texts, None), (texts, []), (texts, ["x"]))
    for compat, found in ((None, [None] * 3), ("connect", [None, [], None])):
        array, report = ConnectJsonCodec(numbers, compat=compat).decode(values, errors="report")
        assert array.to_pylist() == found
        assert set(report["code"].to_pylist()) == {"unresolvable"}


def test_the_default_of_a_map_keeps_its_order(impl):
    schema = {
        "type": "map",
        "keys": {"type": "int8"},
        "values": {"type": "int8"},
        "default": [[9, 1], [2, 1]],
    }
    for compat in (None, "connect"):
        (written,) = ConnectJsonCodec(schema, compat=compat).encode(
            pa.array([[(9, 1), (2, 1)]], pa.map_(pa.int8(), pa.int8()))
        )
        assert written.as_py().count(b"[[9,1],[2,1]]") == 2


def test_a_row_that_begins_and_ends_like_another(impl):
    """It is not read by the schema of that one when it is read again."""
    values = [
        b'{"payload":1,"schema":{"type":"int8","doc":"\\""}}',
        b'{"payload":300,"schema":{"x},"schema":{"type":"int8","doc":"\\""}}',
    ]
    for column in (values, values[1:]):
        array, report = ConnectJsonCodec({"type": "int8"}, compat="connect").decode(column, errors="report")
        assert array.to_pylist() == [1, None][-len(column) :]
        assert codes(report) == ([len(column) - 1], ["json_syntax"])


@cases(
    ("payload", "at"),
    [(b"true:1", 4), (b"1\0", 1), (b"null\\", 4), (b"00x", 2), (b"[" * 1000 + b"]" * 1000, None)],
)
def test_what_stands_behind_a_payload_belongs_to_its_envelope(payload, at, impl):
    schema = b'{"type":"string","optional":true}'
    codec = ConnectJsonCodec(schema, compat="connect")
    for start, end in (
        (b'{"payload":', b',"schema":%s}' % schema),
        (b'{"schema":%s,"payload":' % schema, b"}"),
    ):
        array, report = codec.decode([start + payload + end, start + b"00" + end], errors="report")
        assert array.to_pylist() == [None, None]
        assert codes(report) == ([0], ["json_syntax"])
        assert at is None or report["offset"].to_pylist() == [len(start) + at]
