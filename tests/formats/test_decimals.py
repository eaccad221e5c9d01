"""Decimals in every form in which Kafka's tools write them."""

import struct
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from side_by_side import on_both

from kcodec import (
    AvroCodec,
    ConfigError,
    ConnectJsonCodec,
    DecimalCodec,
    DecodeError,
    EncodeError,
    JsonSchemaCodec,
    SchemaError,
)

VALUES = [Decimal("1.56"), None, Decimal("-0.01"), Decimal("0.00"), Decimal("1234567.89")]


def column(kind):
    """VALUES in one of the forms."""
    if kind in ("bytes", "base64", "number"):
        return DecimalCodec(2, output=kind).encode(pa.array(VALUES, pa.decimal128(9, 2)))
    if kind == "double":
        return pa.array([None if value is None else float(value) for value in VALUES])
    if kind == "variable":
        unscaled = [None if value is None else int(value.scaleb(2)) for value in VALUES]
        return pa.array(
            [None if each is None else {"scale": 2, "value": struct.pack(">q", each)} for each in unscaled]
        )
    return pa.array(VALUES, pa.decimal128(20, 4))


@cases("kind", ["bytes", "base64", "number", "double", "variable", "decimal"])
@cases("precision", [9, 50])
def test_every_form_is_read(kind, precision, impl):
    text = "number" if kind == "number" else "base64"
    codec = DecimalCodec(2, precision, text=text)
    values = column(kind)
    array = codec.decode(values)
    assert array.type == codec.arrow_type
    assert array.to_pylist() == VALUES
    assert codec.decode(values.slice(1, 3)).to_pylist() == VALUES[1:4]
    assert codec.decode(pa.chunked_array([values, values])).to_pylist() == 2 * VALUES
    as_text = DecimalCodec(2, text=text, as_text=True).decode(values)
    expected = [None if value is None else str(value) for value in VALUES]
    assert as_text.to_pylist() == (
        [None if each is None else each + "00" for each in expected] if kind == "decimal" else expected
    )


def test_what_does_not_fit_costs_its_row(impl):
    cases = [
        (pa.array([b"\x01", b"\x7f" * 9, None, b"\x02", b"\x7f" * 80]), "base64", [1, 4], ["decimal_precision"] * 2),
        (pa.array(["AQ==", "A", None, "1.5!", "AQ=\\u003d", 'AQ==" '], pa.large_string()), "base64", [1, 3, 4, 5],
         ["invalid_base64"] * 4),
        (pa.array(["1", "1.567", "x", None, "1e99"]), "number", [1, 2, 4],
         ["inexact", "invalid_number", "decimal_precision"]),
        (pa.array([1.5, float("nan"), float("inf"), None, 0.001]), "base64", [1, 2, 4],
         ["out_of_range", "out_of_range", "inexact"]),
        (pa.array([b"\x01", b""]), "base64", [1], ["empty_decimal"]),
        (pa.array(["AQ==", "f////w==", "", "?"]), "base64", [1, 2, 3],
         ["decimal_precision", "empty_decimal", "invalid_base64"]),
        (pa.array([{"scale": 0, "value": "AQ=="}, {"scale": 0, "value": "f////w=="}, {"scale": 0, "value": "?"}]),
         "base64", [1, 2], ["decimal_precision", "invalid_base64"]),
        (pa.array([{"scale": 0, "value": b""}, {"scale": 1 << 40, "value": b"\x01"}, {"scale": 1, "value": None}]),
         "base64", [0, 1, 2], ["empty_decimal", "out_of_range", "null_value"]),
        (pa.array([{"scale": 3, "value": b"\x01"}, {"scale": 1, "value": b"\x01"}, {"scale": None, "value": b""}]),
         "base64", [0, 2], ["inexact", "null_value"]),
    ]  # fmt: skip
    for values, text, rows, codes in cases:
        codec = DecimalCodec(2, 9, text=text)
        array, report = codec.decode(values, errors="report")
        assert (report["row"].to_pylist(), report["code"].to_pylist()) == (rows, codes)
        assert all(array[row].as_py() is None for row in rows)
        assert array.null_count == len(rows) + values.null_count
        with pytest.raises(DecodeError) as caught:
            codec.decode(values)
        assert (caught.value.row, caught.value.code) == (rows[0], codes[0])


def test_what_fits_beside_it_in_a_slice(impl):
    """Within which older ones of pyarrow misplace values when some of them become null."""
    values = pa.array([b"\x7f" * 3, b"\x01\x00", b"", b"\x02", None, b"\x03\x00\x00"])
    scales = pa.array([0, 1, 1, 1, 1, 2], pa.int32())
    expected = [Decimal("2.56"), None, Decimal("0.02"), None, Decimal("1966.08")]
    assert DecimalCodec(2, 9).decode(values.slice(1), errors="null").to_pylist() == expected
    variable = pa.StructArray.from_arrays([scales, values], ["scale", "value"])
    expected[:3] = [Decimal("25.60"), None, Decimal("0.20")]
    assert DecimalCodec(2, 9).decode(variable, errors="null").to_pylist()[1:] == expected


@pytest.mark.parametrize("made", [pc.dictionary_encode, pc.run_end_encode])
def test_variable_scales_of_other_layouts(impl, made):
    scales, values = pa.array([2, 2, 3, None], pa.int32()), pa.array([b"\1", b"\1", b"\x0a", b"\2"])
    structs = pa.StructArray.from_arrays([made(scales), made(values)], ["scale", "value"])
    found, report = DecimalCodec(2, 9).decode(structs, errors="report")
    assert found.to_pylist() == [Decimal("0.01")] * 3 + [None]
    assert report["code"].to_pylist() == ["null_value"]


def test_variable_scales_and_their_base64(impl):
    rows = [(1, "Dw=="), (3, "BdI="), None, (0, "BQ=="), (-2, "BQ=="), (1, "EA==")]
    values = pa.array([None if row is None else {"scale": row[0], "value": row[1]} for row in rows])
    wanted = [Decimal(text) if text else None for text in ("1.5", "1.49", "", "5", "500", "1.6")]
    assert DecimalCodec(2).decode(values).to_pylist() == wanted
    bad = pa.array([{"scale": 0, "value": "BQ=="}, {"scale": 0, "value": "?"}])
    array, report = DecimalCodec(2).decode(bad, errors="report")
    assert array.to_pylist() == [Decimal("5"), None]
    assert report["code"].to_pylist() == ["invalid_base64"]


def test_encoding_is_exact(impl):
    codec = DecimalCodec(1, 5)
    array = pa.array([Decimal("1.50"), Decimal("1.55"), None, Decimal("99999.90")])
    data, report = codec.encode(array, errors="report")
    assert data.to_pylist() == [b"\x0f", None, None, None]
    assert report["code"].to_pylist() == ["inexact", "decimal_precision"]
    with pytest.raises(EncodeError, match="inexact: row 1"):
        codec.encode(array)
    plain = DecimalCodec(8, output="number", plain=True)
    assert plain.encode(pa.array([Decimal("1E-8")])).to_pylist() == ["0.00000001"]
    assert DecimalCodec(8, output="number").encode(pa.array([Decimal("1E-8")])).to_pylist() == ["1E-8"]


def test_wide_values_as_text(impl):
    wide = 10**200 + 7
    data = wide.to_bytes(100, "big", signed=True)
    assert DecimalCodec(3, as_text=True).decode(pa.array([data])).to_pylist() == [f"1{'0' * 197}.007"]


def test_other_columns():
    codec = DecimalCodec(2)
    assert codec.decode(pa.nulls(2)).to_pylist() == [None, None]
    for laid in (pc.dictionary_encode, pc.run_end_encode):
        assert codec.decode(laid(pa.array(["AQ=="]))).to_pylist() == [Decimal("0.01")]
    for column in (pa.array([[1]]), pa.array([{"a": 1}])):
        with pytest.raises(SchemaError):
            codec.decode(column)
    for arguments in ({"scale": 1.5}, {"scale": 1, "precision": 77}, {"scale": 1, "text": "x"}):
        with pytest.raises(ConfigError):
            DecimalCodec(**arguments)


@given(
    st.lists(st.none() | st.binary(max_size=20), max_size=10),
    st.integers(-3, 10),
    st.integers(1, 76),
)
def test_the_implementations_agree(values, scale, precision):
    def answers():
        codec = DecimalCodec(scale, precision)
        array, report = codec.decode(pa.array(values, pa.binary()), errors="report")
        return array.to_pylist(), report.to_pylist(), codec.encode(array).to_pylist()

    decoded, _, encoded = on_both(answers)
    for value, data, again in zip(values, decoded, encoded, strict=True):
        if data is not None:
            assert Fraction(data) * Fraction(10) ** scale == int.from_bytes(value, "big", signed=True)
            assert int.from_bytes(again, "big", signed=True) == int.from_bytes(value, "big", signed=True)


@cases("values", [["AJw="], [b"\x00\x9c"], [Decimal("1.56")], [1.56], ("AJw=",)])
def test_a_list_is_read_as_what_it_holds(impl, values):
    assert DecimalCodec(2, 9).decode([*values, None]).to_pylist() == [Decimal("1.56"), None]


DECIMAL = "org.apache.kafka.connect.data.Decimal"
EMPTY = {
    "AVRO": (
        lambda: AvroCodec(
            '{"type":"record","name":"R","fields":[{"name":"d","type":{"type":"bytes","logicalType":"decimal",'
            '"precision":4,"scale":2}},{"name":"x","type":"int"}]}'
        ),
        b"\2\1\2",
        b"\0\2",
        1,
    ),
    "AVRO, cut": (
        lambda: AvroCodec('{"type":"bytes","logicalType":"decimal","precision":40,"scale":2}'),
        b"\2\1",
        b"\0",
        1,
    ),
    "JSON_SR": (
        lambda: JsonSchemaCodec(
            {
                "type": "object",
                "properties": {
                    "d": {
                        "type": "string",
                        "title": DECIMAL,
                        "connect.parameters": {"scale": "2", "connect.decimal.precision": "4"},
                        "connect.type": "bytes",
                        "contentEncoding": "base64",
                    }
                },
            }
        ),
        b'{"d":"AQ=="}',
        b'{"d":""}',
        5,
    ),
    "CONNECT_JSON": (
        lambda: ConnectJsonCodec(
            {
                "type": "struct",
                "fields": [
                    {
                        "field": "d",
                        "type": "bytes",
                        "name": DECIMAL,
                        "parameters": {"scale": "2", "connect.decimal.precision": "4"},
                    }
                ],
            },
            schemas_enable=False,
        ),
        b'{"d":"AQ=="}',
        b'{"d":""}',
        5,
    ),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_decimal_of_no_bytes_is_empty(name):
    """No number, as to Java; and not a value that was cut off, alone or in a block of rows."""
    make, good, empty, offset = EMPTY[name]

    def decode(rows):
        decoded, report = make().decode(rows, errors="report")
        return decoded.is_valid().to_pylist(), report.to_pylist()

    for rows in (1, 20):
        valid, (fault,) = on_both(lambda rows=rows: decode([good] * rows + [empty] + [good] * rows))
        assert valid == [row != rows for row in range(2 * rows + 1)]
        assert (fault["row"], fault["code"], fault["offset"]) == (rows, "empty_decimal", offset)
        assert fault["reason"] == "the decimal has no bytes"
