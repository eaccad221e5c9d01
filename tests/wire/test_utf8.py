"""UTF-8 validation."""

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from wire_columns import column, same

from kcodec import DecodeError
from kcodec.wire import validate_utf8

BAD = [
    "80", "bf", "c0 80", "c1 bf", "c2", "c2 41", "e0 80 80", "e0 9f bf", "e1 80", "ed a0 80", "ed bf bf",
    "f0 80 80 80", "f0 8f bf bf", "f1 80 80", "f4 90 80 80", "f5 80 80 80", "ff", "fe", "c2 80 80",
]  # fmt: skip
GOOD = ["", "\0", "~", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"]


@cases("bad", BAD)
def test_bad_sequences_wherever_they_stand(bad):
    for before in (0, 1, 7, 8, 13, 29, 30, 31, 32, 61, 64, 127):
        for filler in ("x", "é"):
            text = (filler * before).encode()
            for after in (b"", b"y", ("ü" * 40).encode()):
                _, error = same(validate_utf8, *column([text, text + bytes.fromhex(bad) + after, b"z"]))
                assert error == (DecodeError, 1, len(text), "invalid_utf8"), (filler, after)


@cases("length", range(0, 70, 3))
def test_good_sequences_wherever_they_stand(impl, length):
    for good in GOOD:
        for filler in ("x", "é", "漢", "🙂"):
            text = filler * length + good + filler
            validate_utf8(*column([text.encode(), b"", text.encode()]))


def test_a_sequence_may_not_go_over_two_elements(impl):
    text = "smørrebrød".encode()
    for cut in range(len(text) + 1):
        inside = text[cut : cut + 1] and text[cut] & 0xC0 == 0x80
        if not inside:
            validate_utf8(text, [0, cut, len(text)])
            continue
        with pytest.raises(DecodeError) as caught:
            validate_utf8(text, [0, cut, len(text)])
        assert (caught.value.row, caught.value.offset) == (0, 0)


def test_only_the_elements_are_looked_at(impl):
    validate_utf8(b"\xffab\xff", [1, 3])
    validate_utf8(b"\xff", [1, 1])
    validate_utf8(b"\xff", [0])
    validate_utf8("éü".encode(), size=2)
    with pytest.raises(ValueError, match="offsets"):
        validate_utf8(b"ab", np.array([0, 3]))


@given(st.lists(st.text(max_size=40)), st.integers(0, 10**6), st.integers(0, 255))
def test_mutated_text(texts, at, byte):
    data, offsets = column([text.encode() for text in texts])
    same(validate_utf8, data, offsets)
    if data:
        mutated = bytearray(data)
        mutated[at % len(data)] = byte
        same(validate_utf8, bytes(mutated), offsets)


@given(st.lists(st.binary(max_size=80)))
def test_any_bytes(values):
    same(validate_utf8, *column(values))
