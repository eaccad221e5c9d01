"""Java's numbers: one printer and one parser, whoever prints and parses."""

import json
import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import kcodec
from kcodec.formats.avro.schema.model import canonical
from kcodec.formats.avro.schema.parse import parse
from kcodec.java.numbers import (
    format_java_decimal,
    format_java_double,
    format_java_float,
    parse_java_decimal,
    parse_java_double,
    parse_java_integer,
    round_to_double,
    round_to_float,
)

DOUBLES = [sign * 2.0**power for power in range(-1074, 1024) for sign in (1, -1)]
FLOATS = [sign * 2.0**power for power in range(-149, 128) for sign in (1, -1)]


def answer(parse, *arguments):
    """Return what a parser reads; None if it refuses."""
    try:
        return parse(*arguments)
    except ValueError:
        return None


@pytest.mark.parametrize("number", [10**400, Decimal("1e999999999"), 1e308 * 10, f"1{500 * '0'}"])
def test_what_is_beyond_all_numbers(number):
    assert round_to_double(number) == round_to_float(number) == float("inf")


# Printing -------------------------------------------------------------------------------------------


@cases(
    ("value", "text"),
    [
        (2.0**-1017, "7.120236347223045E-307"),
        (2.0**-1074, "4.9E-324"),
        (2.0**-44, "5.684341886080802E-14"),
        (2e23, "2.0E23"),
        (1e23, "1.0E23"),
        (0.001, "0.001"),
        (9.999e-4, "9.999E-4"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (-0.0, "-0.0"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_printed_as_jdk_19_does(value, text):
    assert format_java_double(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0**-149, "1.4E-45"),
        (1 / 3, "0.33333334"),
        (2.0**24, "1.6777216E7"),
        (3.4028234663852886e38, "3.4028235E38"),
    ],
)
def test_floats_are_printed_as_jdk_19_does(value, text):
    assert format_java_float(round_to_float(Decimal(value))) == text


@pytest.mark.parametrize(
    ("kind", "values", "format_java"),
    [(pa.float64(), DOUBLES, format_java_double), (pa.float32(), FLOATS, format_java_float)],
    ids=["double", "float"],
)
def test_powers_of_two_are_printed_alike(impl, kind, values, format_java):
    texts = [format_java(value) for value in values]
    column = pa.array(values, kind)
    assert kcodec.JsonCodec(kind).encode(column).to_pylist() == [text.encode() for text in texts]
    codec = kcodec.ConnectJsonCodec(kind, schemas_enable=False)
    assert codec.encode(column).to_pylist() == [text.encode() for text in texts]
    rows = kcodec.KsqlCodec("JSON", "A DOUBLE", wrap=False).encode(pa.array(values)).to_pylist()
    if kind == pa.float64():
        assert rows == [text.encode() for text in texts]


def test_powers_of_two_in_schemas():
    wrong = []
    for value in DOUBLES[::2]:
        end = f'"default":{format_java_double(value)}}}'
        field = {"name": "a", "type": "double", "default": value}
        schema = canonical(parse(json.dumps({"type": "record", "name": "r", "fields": [field]})))
        connect = kcodec.ConnectSchema("double", default=value).to_text()
        if not schema.endswith(f"{end}]}}") or not connect.endswith(end):
            wrong.append((value.hex(), schema, connect))
    assert wrong == []


@given(st.floats(allow_nan=False))
def test_printed_doubles_read_back(value):
    assert parse_java_double(format_java_double(value)) == value


@given(st.floats(width=32, allow_nan=False))
def test_printed_floats_read_back(value):
    text = format_java_float(value)
    assert struct.pack("<f", value) == struct.pack(
        "<f", round_to_float(text) if text[-1].isdigit() else value
    )


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_printed_decimals_read_back(value):
    assert str(parse_java_decimal(format_java_decimal(value))) == str(value if value else abs(value))


# Parsing --------------------------------------------------------------------------------------------


@cases(
    ("text", "value"),
    [
        ("1e400", float("inf")),
        ("-1e400", float("-inf")),
        ("0x1p9999", float("inf")),
        ("-0x.8p1d", -1.0),
        ("+Infinity", float("inf")),
        (" \t1.5f ", 1.5),
        ("-0.0", -0.0),
        ("", None),
        ("1_0", None),
        ("infinity", None),
        ("١", None),
        ("1e", None),
        ("0x1", None),
        ("1 d", None),
        (".", None),
    ],
)
def test_doubles_are_read(text, value):
    assert repr(answer(parse_java_double, text)) == repr(value)


@cases(
    ("text", "value"),
    [
        ("٣", 3),
        ("+0049", 49),
        ("-2147483648", -(2**31)),
        ("2147483648", None),
        ("", None),
        ("-", None),
        ("1.0", None),
        ("\U0001d7d8", None),
        ("9" * 30, None),
        ("0" * 5000 + "7", 7),
    ],
)
def test_integers_are_read(text, value):
    assert answer(parse_java_integer, text, 32) == value


@cases(
    ("text", "value"),
    [
        (".5", "0.5"),
        ("5.", "5"),
        ("+1e1", "1E+1"),
        ("-0.00", "0.00"),
        ("٣.٣", "3.3"),
        ("1e2147483648", None),
        ("1e12345678901", None),
        ("1e00000000000001", "1E+1"),
        ("", None),
        (".", None),
        ("e1", None),
        ("1e", None),
        (" 1", None),
        ("NaN", None),
    ],
)
def test_decimals_are_read(text, value):
    number = answer(parse_java_decimal, text)
    assert (None if number is None else str(number)) == value


@pytest.mark.parametrize(
    ("text", "bits", "radix", "reason"),
    [
        ("zz", 8, 16, 'For input string: "zz" under radix 16'),
        ("128", 8, 10, 'Value out of range. Value:"128" Radix:10'),
        ("2147483648", 8, 10, 'For input string: "2147483648"'),
    ],
)
def test_integers_are_refused_with_javas_words(text, bits, radix, reason):
    with pytest.raises(ValueError, match="^" + reason.replace(".", "[.]") + "$"):
        parse_java_integer(text, bits, radix)
