"""Decimals of Connect's JSON: both forms, wide ones, and scales."""

from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from connect_rows import DECIMAL, codes, rows, struct

from kcodec import ConnectJsonCodec, ConnectSchema, DecodeError, SchemaError


def test_both_forms_of_decimals_are_read_whatever_the_setting(impl):
    values = [b'"AJw="', b"1.5600", b"1", b"156e-2", b"15.6E-1", b'"/w=="', b"null"]
    for setting in ("BASE64", "NUMERIC"):
        codec = ConnectJsonCodec({**DECIMAL, "optional": True}, schemas_enable=False, decimal_format=setting)
        found = codec.decode(values).to_pylist()
        assert found == [*map(Decimal, ("1.56", "1.56", "1", "1.56", "1.56", "-0.01")), None]
        with pytest.raises(DecodeError, match="inexact: row 0"):
            codec.decode([b"1.567"])
        with pytest.raises(DecodeError, match="invalid_base64: row 0"):
            codec.decode([b'"1.56"'])
    array = pa.array([Decimal("1.56")], pa.decimal128(9, 2))
    schema = ConnectSchema.decimal(2)
    written = [
        ConnectJsonCodec(schema, schemas_enable=False, decimal_format=setting).encode(array)[0].as_py()
        for setting in ("base64", "numeric")
    ]
    assert written == [b'"AJw="', b"1.56"]


def test_wide_decimals(impl):
    schema = {**DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "64"}}
    digits = "1" + "0" * 50 + ".25"
    for compat in (None, "connect"):
        wide = ConnectJsonCodec(schema, schemas_enable=False, compat=compat)
        assert wide.decode([digits.encode()]).to_pylist() == [Decimal(digits)]
        text = ConnectJsonCodec(schema, schemas_enable=False, wide_decimals="string", compat=compat)
        assert text.arrow_type == pa.string()
        assert text.decode([digits.encode(), b'"AJw="']).to_pylist() == [digits, "1.56"]
        record = ConnectJsonCodec(
            struct(d=schema, n={"type": "int32"}), schemas_enable=False, wide_decimals="string", compat=compat
        )
        # One scale, and one precision, whoever reads the row.
        values = [b'{"d":1.5,"n":%s}' % number for number in (b"1", b"1.5")]
        found = record.decode(values, errors="report")[0].to_pylist()
        assert found == [{"d": "1.50", "n": 1}, None if compat is None else {"d": "1.50", "n": 1}]
        array, report = text.decode([b"1e2", b"1e2 x", b"1.567", b"1e100"], errors="report")
        assert array.to_pylist() == ["100.00", None if compat is None else "100.00", None, None]
        assert report["code"].to_pylist()[-2:] == ["inexact", "decimal_precision"]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_wide_decimals_are_text_beside_what_is_never_null(compat, impl):
    wide = {**DECIMAL, "parameters": {"scale": "0", "connect.decimal.precision": "50"}}
    schema = struct(part=struct(n={"type": "int32"}), d=wide)
    codec = ConnectJsonCodec(schema, wide_decimals="string", compat=compat)
    values = [*rows((schema, {"part": {"n": 1}, "d": 7})), None, b"{", b'{"schema":1']
    array, report = codec.decode(values, errors="report")
    assert array.to_pylist() == [{"part": {"n": 1}, "d": "7"}, None, None, None]
    assert report["row"].to_pylist() == [2, 3]
    assert codec.decode(values[1:], errors="null").to_pylist() == [None, None, None]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_wide_decimals_as_text_are_written(compat, impl):
    schema = struct(d={**DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "64"}})
    digits = "1" + "0" * 50 + ".25"
    for setting, text in (("BASE64", b'"AJw="'), ("NUMERIC", b"1.56")):
        codec = ConnectJsonCodec(
            schema, schemas_enable=False, wide_decimals="string", decimal_format=setting, compat=compat
        )
        values = [b'{"d":%s}' % text, b'{"d":%s}' % digits.encode()]
        assert codec.decode(codec.encode(codec.decode(values))).to_pylist() == [{"d": "1.56"}, {"d": digits}]
        given = pa.array([{"d": each} for each in ("1.5600", "x", "NaN", "1.567", "1" + "0" * 70)])
        written, report = codec.encode(given, errors="report")
        assert written.to_pylist() == [values[0], None, None, None, None]
        assert report["code"].to_pylist() == ["invalid_number"] * 2 + ["inexact", "decimal_precision"]
        assert set(report["path"].to_pylist()) == {"d"}


@pytest.mark.parametrize("compat", [None, "connect"])
def test_scales_that_arrow_does_not_have(compat, impl):
    for scale in (77, -77, 2**31 - 1):
        for wide in ("decimal256", "string"):
            with pytest.raises(SchemaError, match=f"Arrow has no decimal of scale {scale}"):
                ConnectJsonCodec(ConnectSchema.decimal(scale, 64), wide_decimals=wide, compat=compat)
    small = ConnectJsonCodec(ConnectSchema.decimal(70, 20), schemas_enable=False, compat=compat)
    assert small.arrow_type == pa.decimal256(20, 70)
    assert small.decode(small.encode(small.decode([b"1.5E-60"]))).to_pylist() == [Decimal("1.5E-60")]
    # What Oracle's numbers without a scale have.
    schema = ConnectSchema.decimal(127, optional=True).to_json()
    array = ConnectJsonCodec(pa.decimal128(38, 2), compat=compat).decode(rows((schema, 1.5), (schema, None)))
    assert array.to_pylist() == [Decimal("1.50"), None]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_the_scale_of_what_is_written(compat, impl):
    array = pa.array([Decimal("1.505"), Decimal("1.500")], pa.decimal128(9, 3))
    codec = ConnectJsonCodec(DECIMAL, schemas_enable=False, decimal_format="NUMERIC", compat=compat)
    written, report = codec.encode(array, errors="report")
    if compat is None:
        assert written.to_pylist() == [None, b"1.50"]
        assert codes(report) == ([0], ["inexact"])
    else:
        assert written.to_pylist() == [b"1.505", b"1.500"]
    # Fields without nulls, behind a null.
    inner = pa.struct([pa.field("l", pa.list_(pa.int32()), nullable=False)])
    fields = [pa.field("s", inner, nullable=False), pa.field("d", pa.decimal128(9, 3), nullable=False)]
    kind = pa.struct([pa.field("o", pa.struct(fields))])
    values = [{"o": {"s": {"l": [1]}, "d": Decimal(text)}} for text in ("1.505", "1.500")]
    required = struct(s=struct(l={"type": "array", "items": {"type": "int32", "optional": True}}), d=DECIMAL)
    codec = ConnectJsonCodec(
        struct(o={**required, "optional": True}), schemas_enable=False, decimal_format="NUMERIC"
    )
    written, report = codec.encode(pa.array([*values, {"o": None}], kind), errors="report")
    assert written.to_pylist() == [None, b'{"o":{"s":{"l":[1]},"d":1.50}}', b'{"o":null}']
    assert report["path"].to_pylist() == ["o.d"]
    far = pa.array([Decimal("5E+70")], pa.decimal256(9, -70))
    codec = ConnectJsonCodec(ConnectSchema.decimal(70), schemas_enable=False, decimal_format="NUMERIC")
    with pytest.raises(SchemaError, match="is not written as"):
        codec.encode(far)


@cases(("scale", "precision"), [(-76, 76), (-61, 38), (-38, 38), (37, 5), (76, 1)])
def test_decimals_of_rows_that_are_read_again(scale, precision, impl):
    """Arrow itself takes few decimals from Python whose scale is below zero or above their digits."""
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    codec = ConnectJsonCodec({**DECIMAL, "parameters": parameters}, schemas_enable=False, compat="connect")
    values = [b"%se%d more" % (digits, -scale) for digits in (b"0", b"1", b"-" + b"9" * precision)]
    array = codec.decode(values)
    assert array.to_pylist() == [Decimal(value.split()[0].decode()) for value in values]
