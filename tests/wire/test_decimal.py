"""Decimals of columns: against Python's int and decimal, native against pure."""

import decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from wire_columns import column, same

from kcodec import DecodeError, EncodeError
from kcodec.wire import decimals_from_arrow, decimals_from_text, decimals_to_arrow, decimals_to_text

EDGES = sorted(
    {
        sign * (base + step)
        for base in [0, *(10**k for k in range(80)), *(2**k for k in range(0, 300, 1))]
        for step in (-1, 0, 1)
        for sign in (1, -1)
    }
)


def to_bytes(number: int) -> bytes:
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def answer(function, *args, **kwargs):
    """Bytes that both implementations give, or the facts of their error."""
    result, error = same(function, *args, **kwargs)
    if error:
        return error
    if isinstance(result[0], tuple):
        (_, data), (_, edges) = result
        return [bytes(data[first:last]) for first, last in pairwise(edges)]
    return bytes(result[1])


# What java.math.BigDecimal prints: unscaled, scale, toString, toPlainString.
JAVA = [
    (0, 0, "0", "0"),
    (0, 2, "0.00", "0.00"),
    (0, 6, "0.000000", "0.000000"),
    (0, 7, "0E-7", "0.0000000"),
    (0, -2, "0E+2", "0"),
    (123, 0, "123", "123"),
    (-123, 0, "-123", "-123"),
    (123, -1, "1.23E+3", "1230"),
    (123, -3, "1.23E+5", "123000"),
    (123, 1, "12.3", "12.3"),
    (123, 5, "0.00123", "0.00123"),
    (123, 10, "1.23E-8", "0.0000000123"),
    (-123, 12, "-1.23E-10", "-0.000000000123"),
    (1, -2147483647, "1E+2147483647", None),
    (1, 2147483647, "1E-2147483647", None),
    (12, 2147483647, "1.2E-2147483646", None),
    (10**20, 20, "1.00000000000000000000", "1.00000000000000000000"),
    (10**40, -1, "1.0000000000000000000000000000000000000000E+41", "1" + "0" * 41),
]


@cases(("unscaled", "scale", "text", "plain"), JAVA)
def test_text_is_that_of_java(impl, unscaled, scale, text, plain):
    data, offsets = column([to_bytes(unscaled)])
    assert decimals_to_text(data, offsets, scale).to_list() == [text.encode()]
    if plain is not None:
        assert decimals_to_text(data, offsets, scale, plain=True).to_list() == [plain.encode()]
    assert decimals_from_text(text.encode(), [0, len(text)], scale).to_list() == [to_bytes(unscaled)]


def test_every_edge_of_the_widths(impl):
    data, offsets = column([to_bytes(number) for number in EDGES])
    text = decimals_to_text(data, offsets)
    assert [int(t) for t in text.to_list()] == EDGES
    assert decimals_from_text(*text, 0).to_list() == [to_bytes(number) for number in EDGES]
    for bits, digits in ((128, 38), (256, 76)):
        fitting = [number for number in EDGES if abs(number) < 10**digits]
        data, offsets = column([to_bytes(number) for number in fitting])
        slots = decimals_to_arrow(data, offsets, precision=digits, bits=bits)
        kind = pa.decimal128(digits, 0) if bits == 128 else pa.decimal256(digits, 0)
        array = pa.Array.from_buffers(kind, len(fitting), [None, pa.py_buffer(slots)])
        array.validate(full=True)
        assert [int(value) for value in array.to_pylist()] == fitting
        assert decimals_from_arrow(slots, bits=bits).to_list() == [to_bytes(number) for number in fitting]
        padded = decimals_from_arrow(slots, bits=bits, size=40)
        assert decimals_to_arrow(padded.data, size=40, precision=digits, bits=bits).tolist() == slots.tolist()


@cases("precision", [*range(1, 39), 57, 76])
def test_precision_is_checked_at_its_edge(impl, precision):
    bits = 128 if precision <= 38 else 256
    for number in (10**precision, -(10**precision)):
        good, bad = number - (1 if number > 0 else -1), number
        data, offsets = column([to_bytes(good), b"", to_bytes(bad)])
        decimals_to_arrow(data, offsets[:3], precision=precision, bits=bits)
        decimals_to_text(data, offsets[:3], precision=precision)
        for call in (
            lambda: decimals_to_arrow(data, offsets, precision=precision, bits=bits),  # noqa: B023
            lambda: decimals_to_text(data, offsets, precision=precision),  # noqa: B023
        ):
            with pytest.raises(DecodeError) as caught:
                call()
            assert (caught.value.row, caught.value.offset) == (2, offsets[2])
            assert caught.value.code == "decimal_precision"


def test_padded_and_empty_values(impl):
    values = [b"", b"\x00" * 50, b"\xff" * 50, b"\x00" * 40 + b"\x01\x00", b"\xff" * 9 + b"\x00"]
    data, offsets = column(values)
    expected = [0, 0, -1, 256, -256]
    assert [int(t) for t in decimals_to_text(data, offsets).to_list()] == expected
    for bits in (128, 256):
        slots = decimals_to_arrow(data, offsets, precision=5, bits=bits)
        assert decimals_from_arrow(slots, bits=bits).to_list() == [to_bytes(number) for number in expected]


@cases(
    ("text", "code"),
    [
        *(
            (bad, "invalid_number")
            for bad in [
                "",
                "+",
                ".",
                "1e",
                "1e+",
                "x",
                "1x",
                " 1",
                "1 ",
                "NaN",
                "1_0",
                "--1",
                "1.2.3",
                "e5",
                "0x1",
                "\u0661",
            ]
        ),
        ("1.001", "inexact"),
        ("1e-3", "inexact"),
        ("1e-99999999999999999999999", "inexact"),
        ("12345678.9", "decimal_precision"),
        ("1e8", "decimal_precision"),
        ("1e99999999999999999999999", "decimal_precision"),
    ],
)
def test_text_that_is_refused(impl, text, code):
    data, offsets = column([b"1", text.encode()])
    with pytest.raises(DecodeError) as caught:
        decimals_from_text(data, offsets, 2, precision=9)
    assert (caught.value.row, caught.value.offset, caught.value.code) == (1, 1, code)


@cases("text", ["1", "+1", "1.", "01.00", "1.000", "10e-1", ".1E1", "0.001e+3", "1e0", "1e00000"])
def test_text_that_is_one(impl, text):
    assert decimals_from_text(text.encode(), [0, len(text)], 2, precision=3).to_list() == [b"\x64"]


@cases("text", ["0", "-0", "0.0000", "0e99999999999999999999", "-0e-99999999999999999999"])
def test_text_that_is_zero(impl, text):
    assert decimals_from_text(text.encode(), [0, len(text)], 2, precision=3, size=3).to_list() == [b"\0\0\0"]


def test_size_too_small(impl):
    slots = decimals_to_arrow(b"\x00\x80", size=2, precision=5)
    assert decimals_from_arrow(slots, size=2).to_list() == [b"\x00\x80"]
    with pytest.raises(EncodeError) as caught:
        decimals_from_arrow(slots, size=1)
    assert (caught.value.row, caught.value.code) == (0, "decimal_precision")
    with pytest.raises(DecodeError):
        decimals_from_text(b"128", [0, 3], 0, size=1)


@cases("offsets", [[1, 0], [0, 5], [-1, 2], [0, 2, 1]])
def test_offsets_outside_the_data(impl, offsets):
    for kind in (np.int32, np.int64):
        with pytest.raises(ValueError, match="offsets of element"):
            decimals_to_text(b"abc", np.array(offsets, kind))


def test_what_a_column_may_be(impl):
    assert decimals_to_text(b"", [0]).to_list() == []
    assert decimals_to_text(memoryview(b"\x01\x02"), size=1, large=True).offsets.dtype == np.int64
    assert decimals_to_text(pa.py_buffer(b"\x01"), np.array([0, 1])).offsets.dtype == np.int32
    with pytest.raises(TypeError):
        decimals_to_text(b"\x01")
    with pytest.raises(TypeError):
        decimals_to_text(b"\x01", np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="whole number"):
        decimals_to_text(b"\x01\x02\x03", size=2)
    with pytest.raises(ValueError, match="scale"):
        decimals_to_text(b"\x01", [0, 1], 2**31)


FUNCTIONS = [
    (lambda **given: decimals_to_text(b"\1", [0, 1], **given), ["scale", "precision"]),
    (lambda **given: decimals_to_text(b"\1", **given), ["size"]),
    (
        lambda **given: decimals_from_text(b"1", [0, 1], **{"scale": 0, **given}),
        ["scale", "precision", "size"],
    ),
    (
        lambda **given: decimals_to_arrow(b"\1", [0, 1], **{"precision": 5, **given}),
        ["precision", "rescale"],
    ),
    (lambda **given: decimals_from_arrow(bytes(16), **given), ["rescale", "size"]),
]


@cases(("call", "names"), FUNCTIONS)
def test_numbers_that_are_none(impl, call, names):
    for name in names:
        for value in (1.5, "x", b"1"):
            with pytest.raises(TypeError):
                call(**{name: value})
        for value in (2**70, -(2**70), *([0, -1] if name in ("precision", "size") else [])):
            with pytest.raises(ValueError, match=r"must be within|must be at least|whole number"):
                call(**{name: value})


def test_a_precision_beyond_any_number(impl):
    assert decimals_to_text(b"\1", [0, 1], 2, precision=2**31 - 1).to_list() == [b"0.01"]


def test_hostile_lengths_are_refused_at_once(impl):
    with pytest.raises(DecodeError, match="decimal_precision"):
        decimals_to_text(b"\x7f" * 10_000_000, [0, 10_000_000])
    digits = b"9" * 10_000
    assert decimals_to_text(*decimals_from_text(digits, [0, len(digits)], 0)).to_list() == [digits]


unscaled = st.one_of(
    st.integers(-(2**63), 2**63),
    st.integers(-(2**127), 2**127),
    st.integers(-(2**400), 2**400),
    st.builds(lambda digits, zeros: digits * 10**zeros, st.integers(-(10**20), 10**20), st.integers(0, 60)),
)


@given(st.lists(unscaled, max_size=8), st.integers(-30, 60), st.booleans())
def test_text_round_trip(numbers, scale, plain):
    data, offsets = column([to_bytes(number) for number in numbers])
    text = answer(decimals_to_text, data, offsets, scale, plain=plain)
    with decimal.localcontext(decimal.Context(prec=400)):
        assert [decimal.Decimal(t.decode()) for t in text] == [
            decimal.Decimal(n).scaleb(-scale) for n in numbers
        ]
    assert answer(decimals_from_text, *column(text), scale) == [to_bytes(number) for number in numbers]


@given(st.lists(st.binary(max_size=50), max_size=6), st.integers(1, 76), st.integers(-80, 80))
def test_any_bytes_to_arrow(values, precision, rescale):
    for shift in (0, rescale):
        for bits in (128, 256):
            same(decimals_to_arrow, *column(values), precision=precision, bits=bits, rescale=shift)


@given(unscaled, st.integers(-80, 80), st.integers(1, 38))
def test_rescale_is_exact_or_refused(number, rescale, precision):
    result = answer(decimals_to_arrow, *column([to_bytes(number)]), precision=precision, rescale=rescale)
    if isinstance(result, bytes):
        assert int.from_bytes(result, "little", signed=True) * 10 ** max(-rescale, 0) == number * 10 ** max(
            rescale, 0
        )


@given(st.binary(max_size=96), st.sampled_from([128, 256]), st.integers(-80, 80), st.integers(1, 40))
def test_any_slots_to_bytes(data, bits, rescale, size):
    data = data[: len(data) // (bits // 8) * (bits // 8)]
    for shift in (0, rescale):
        same(decimals_from_arrow, data, bits=bits, rescale=shift)
        same(decimals_from_arrow, data, bits=bits, rescale=shift, size=size)


@given(st.lists(st.text("0123456789+-.eE ", max_size=12), max_size=6), st.integers(-5, 5), st.integers(1, 60))
def test_any_text(texts, scale, precision):
    same(decimals_from_text, *column([text.encode() for text in texts]), scale, precision=precision)
