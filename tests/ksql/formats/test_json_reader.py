"""The row-at-a-time reader: every answer that was measured of ksqlDB's own class, and what it cannot hold."""

import base64
from decimal import Decimal

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from ksql_vectors import PREFIX, payload, plain, tagged
from vector_files import read_vectors

from kcodec.ksql.formats.json.reader import fit, read_row
from kcodec.ksql.types import SqlField, SqlType, parse_columns, parse_type
from kcodec.plan.failure import RowError

VECTORS = [
    vector
    for vector in read_vectors("ksql_measured_vectors.jsonl.gz")
    if (vector["format"], vector["op"]) == ("JSON", "decode")
]
#: Days beyond those of date32, which ksqlDB keeps in 64 bits of milliseconds.
BEYOND_ARROW = {"JSON:134:dec", "JSON:135:dec"}
#: Texts of ``NumberFormatException`` are not Java's.
OTHER_TEXT = {"JSON:89:dec", "JSON:94:dec"}


def answer(vector):
    """Read a vector's row; give its columns as the vectors write them, or what it was refused for."""
    columns = parse_columns(vector["sql"])
    fields = tuple(SqlField(column.name, column.type) for column in columns)
    kind = fields[0].type if vector["unwrap"] else SqlType("STRUCT", fields=fields)
    try:
        value = read_row(payload(vector), kind, wrapped=not vector["unwrap"])
    except RowError as refused:
        return refused
    if vector["unwrap"]:
        return [tagged(value, kind)]
    return [tagged(value[field.name], field.type) for field in fields]


def test_every_measured_vector(capsys):
    rows = refused = texts = 0
    for vector in VECTORS:
        expected, got = vector["expected"], answer(vector)
        if vector["id"] in BEYOND_ARROW:
            assert got.code == "out_of_range"
        elif "row" in expected:
            assert got == plain(expected["row"]), vector
            rows += 1
        else:
            assert isinstance(got, RowError), vector
            refused += 1
            if ", path: " in expected["message"] and vector["id"] not in OTHER_TEXT:
                assert PREFIX + got.reason == expected["message"]
                texts += 1
    with capsys.disabled():
        print(
            f"\n{rows} rows, {refused} refused ({texts} with ksqlDB's own text), {len(BEYOND_ARROW)} beyond Arrow"
        )
    assert rows + refused + len(BEYOND_ARROW) == len(VECTORS) == 145
    assert texts > 30


@cases(
    ("data", "value"),
    [
        (
            b'{"A":[1.50,[true,null],{"b":"\xf0\x9f\x98\x80"},"x"]}',
            '[1.50, [true, null], {"b":"\U0001f600"}, x]',
        ),
        (b'{"A":{"k":[1e5,-0.0,"\\u0001\\n"],"k2":null}}', '{"k":[1E+5,0.0,"\\u0001\\n"],"k2":null}'),
        (b'{"A":"\\ud83d"}', "?"),
        (b'{"A":{"\\ude00":["\\ud83d","\\ud83d\\ude00"]}}', '{"?":["?","\U0001f600"]}'),
        (b'{"A":"\\ud83d\\ude00"}', "\U0001f600"),
        (b'{"A":"\xc1\x81"}', "A"),
        (b'{"A":"\xed\xa0\xbd\xed\xb8\x80"}', "\U0001f600"),
        ('{"A":"é"}'.encode("utf-16"), "é"),
        ('{"A":"é"}'.encode("utf-32-le"), "é"),
        (b'{"A":' + b"[" * 900 + b"]" * 900 + b"}", "[" * 900 + "]" * 900),
    ],
)
def test_strings(data, value):
    assert read_row(data, parse_type("STRUCT<A STRING>")) == {"A": value}


@pytest.mark.parametrize(
    "data", [b'{"A":"\xff"}', b'{"A":"\xe2\x82"}', b'{"A":' + b"[" * 1001 + b"]" * 1001 + b"}"]
)
def test_what_jackson_refuses(data):
    with pytest.raises(RowError) as refused:
        read_row(data, parse_type("STRUCT<A STRING>"))
    assert refused.value.code == "json_syntax"
    assert refused.value.offset is not None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.9E-400", 0),
        ("1E400", 0),
        ("-1.9", -1),
        ("1e19", -8446744073709551616),
        ("-2E63", 0),
        ("1E-2147483647", 0),
        ("123456789012345678901234567890", 123456789012345678901234567890 % 2**64 - 2**64),
    ],
)
def test_numbers_are_cut_to_64_bits(text, number):
    assert read_row(f'{{"A":{text}}}'.encode(), parse_type("STRUCT<A BIGINT>")) == {"A": number}


def test_a_key_may_be_two_columns():
    kind = parse_type("STRUCT<`id` INT, ID INT, `Id` INT>")
    assert read_row(b'{"id":1}', kind) == {"id": 1, "ID": 1, "Id": None}
    assert read_row(b'{"id":1,"iD":2}', kind) == {"id": 1, "ID": 2, "Id": None}


def test_times_out_of_range():
    for sql, value in [
        ("TIME", 86_400_001),
        ("TIME", 86_400_000),
        ("TIME", -1),
        ("DATE", 1 << 31),
        ("TIMESTAMP", 1 << 62),
    ]:
        with pytest.raises(RowError) as refused:
            read_row(b'{"A":%d}' % value, parse_type(f"STRUCT<A {sql}>"))
        assert refused.value.code == "out_of_range"
    assert read_row(b'{"A":86399999}', parse_type("STRUCT<A TIME>")) == {"A": 86_399_999}


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-2000, max_value=2000))
def test_fit_never_rounds(number):
    fitted, code, _ = fit(number, parse_type("DECIMAL(5,2)"))
    if fitted is None:
        assert code == ("decimal_precision" if abs(number) >= 1000 else "inexact")
    else:
        assert (fitted, fitted.as_tuple().exponent) == (number, -2)


@given(st.binary(max_size=40))
def test_base64_is_read_with_padding_only(data):
    text = base64.b64encode(data)
    assert read_row(b'{"A":"%s"}' % text, parse_type("STRUCT<A BYTES>")) == {"A": data}
    if text.endswith(b"="):
        with pytest.raises(RowError, match="not a valid Base64"):
            read_row(b'{"A":"%s"}' % text.rstrip(b"="), parse_type("STRUCT<A BYTES>"))


def test_base64_may_have_white_space():
    kind = parse_type("STRUCT<A BYTES>")
    for text in (r"AQID\nBA==\n", "AQ==AgME", " AQIDBA== "):
        assert read_row(b'{"A":"%s"}' % text.encode(), kind) == {"A": b"\1\2\3\4"}
    with pytest.raises(RowError, match="not a valid Base64 encoded string: AQ ID"):
        read_row(b'{"A":"AQ ID"}', kind)


def test_halves_of_surrogate_pairs_before_an_error():
    """Jackson takes them for UTF-8; where the error is, is told in bytes."""
    with pytest.raises(RowError) as refused:
        read_row(b'{"\xed\xa0\x80":.5}', parse_type("STRUCT<A INT>"))
    assert (refused.value.code, refused.value.offset) == ("json_syntax", 7)


@pytest.mark.parametrize(
    ("sql", "text", "reason"),
    [
        ("DECIMAL(4,2)", "1e23", "Got 100000000000000000000000, path: $.A"),
        ("ARRAY<DATE>", "1", "sourceType: IntNode, requiredType: ARRAY<INT>, path: $.A"),
        ("MAP<STRING, TIMESTAMP>", "1", "requiredType: MAP<VARCHAR, BIGINT>, path: $.A"),
        ("DATE", "{}", "requiredType: DATE, path: $.A"),
    ],
)
def test_reasons(sql, text, reason):
    with pytest.raises(RowError) as refused:
        read_row(f'{{"A":{text}}}'.encode(), parse_type(f"STRUCT<A {sql}>"))
    assert refused.value.reason.endswith(reason)


def test_decimals_keep_all_digits():
    digits = "9" * 60
    assert read_row(f'{{"A":{digits}.5}}'.encode(), parse_type("STRUCT<A DECIMAL(61,1)>")) == {
        "A": Decimal(f"{digits}.5")
    }


@pytest.mark.parametrize("text", ["9" * 100_000, "0." + "0" * 100_000 + "1", "1e-2147483647", "x" * 100_000])
def test_reasons_stay_short(text):
    with pytest.raises(RowError) as refused:
        read_row(b'{"A":"%s"}' % text.encode(), parse_type("STRUCT<A DECIMAL(4,2)>"))
    assert len(refused.value.reason) < 1100
