"""Payloads of ksqlDB's formats that are made to cost much, or to break a reader."""

import pyarrow as pa
import pytest
from cases import cases
from side_by_side import on_both

from kcodec import CODES, KsqlCodec

COLUMNS = "ID BIGINT, NAME STRING, PRICE DECIMAL(9,2), TAGS ARRAY<STRING>, M MAP<STRING, INT>, D DOUBLE"
DEEP = 50_000
JSON = {
    "deep list": b"[" * DEEP,
    "deep list, closed": b"[" * DEEP + b"]" * DEEP,
    "deep object": b'{"TAGS":' * DEEP,
    "deep in a column": b'{"ID":1,"TAGS":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep beside the columns": b'{"ID":1,"OTHER":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "a number of many digits": b'{"ID":' + b"9" * 100_000 + b"}",
    "a decimal of many digits": b'{"PRICE":1.' + b"0" * 100_000 + b"}",
    "a great exponent": b'{"PRICE":1e999999999,"D":1e-999999999}',
    "a decimal as text": b'{"PRICE":"' + b"1" * 100_000 + b'"}',
    "many keys": b"{" + b",".join(b'"K%d":1' % number for number in range(20_000)) + b"}",
    "one key often": b"{" + b",".join([b'"ID":1'] * 20_000) + b"}",
    "a long key": b'{"' + b"k" * 200_000 + b'":1}',
    "an open text": b'{"NAME":"' + b"x" * 200_000,
    "escapes without end": b'{"NAME":"' + b"\\" * 99_999,
    "half a surrogate": b'{"NAME":"\\ud83d"}',
    "no UTF-8": b'{"NAME":"\xff\xfe\xc0\xaf"}',
    "zeros": bytes(1000),
    "a byte order mark": b'\xef\xbb\xbf{"ID":1}',
    "blanks": b" " * 100_000 + b"{}" + b"\n" * 100_000,
    "NaN": b'{"D":NaN,"PRICE":Infinity}',
}
DELIMITED = {
    "an open quote": b'1,"' + b"x" * 200_000,
    "quotes alone": b'"' * 99_999,
    "many columns": b"," * 100_000,
    "lines": b"1,a\r\n" * 20_000,
    "a number of many digits": b"9" * 100_000 + b",a",
    "zeros": bytes(1000),
    "no UTF-8": b"1,\xff\xfe",
    "a text of quotes": b'1,"' + b'""' * 50_000 + b'"',
    "nothing": b"",
}
KAFKA = {"nothing": b"", "short": b"\0" * 7, "long": b"\0" * 100_000}
CODECS = {
    "JSON": (lambda **more: KsqlCodec("JSON", COLUMNS, **more), JSON, b'{"ID":7}'),
    "JSON, bare": (lambda **more: KsqlCodec("JSON", "T ARRAY<BIGINT>", wrap=False, **more), JSON, b"[7]"),
    "DELIMITED": (lambda **more: KsqlCodec("DELIMITED", "ID BIGINT, NAME STRING", **more), DELIMITED, b"7,x"),
    "KAFKA": (lambda **more: KsqlCodec("KAFKA", "ID BIGINT", **more), KAFKA, b"\0" * 7 + b"\7"),
}


@cases("compat", [None, "ksqldb"])
@cases("format", CODECS)
def test_each_costs_its_own_row(format, compat):
    make, hostile, good = CODECS[format]
    codec = make(compat=compat)
    column = [good, *(row for each in hostile.values() for row in (each, good)), None]

    def read():
        array, report = codec.decode(column, errors="report")
        array.validate(full=True)
        assert set(report["code"].to_pylist()) <= set(CODES)
        assert report.nbytes < 100_000
        return array.to_pylist(), report.drop_columns("reason").to_pylist()

    found, report = on_both(read)
    bad = {each["row"] for each in report}
    assert bad
    # The good ones, which stand at each second place, are as they are alone.
    expected = codec.decode([good])[0].as_py()
    assert found[::2][: len(hostile) + 1] == [expected] * (len(hostile) + 1)
    assert not bad & set(range(0, len(column), 2))


@pytest.mark.parametrize("compat", [None, "ksqldb"])
def test_columns_that_are_written(compat, impl):
    """Text of a megabyte, of quotes, zeros and line ends comes back from each format."""
    texts = [
        '"' * 100_000,
        "\0" * 1000,
        "\r\n" * 1000,
        "," * 1000,
        "\\" * 10_000,
        "\U0010ffff" * 10_000,
        "x" * 1_000_000,
    ]
    for format in ("JSON", "DELIMITED", "KAFKA"):
        codec = KsqlCodec(format, "NAME STRING", compat=compat)
        column = pa.array([{"NAME": text} for text in texts], codec.arrow_type)
        assert codec.decode(codec.encode(column)).to_pylist() == column.to_pylist()
