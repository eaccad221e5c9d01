"""Ranges of versions."""

import re

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from kcodec.protocol import Versions
from kcodec.protocol.spec.versions import MAX_VERSION

ends = st.integers(0, MAX_VERSION)
ranges = st.builds(Versions, ends, ends)


@cases(
    ("text", "versions", "printed"),
    [
        ("none", Versions(0, -1), "none"),
        (" 0-3 ", Versions(0, 3), "0-3"),
        ("2", Versions(2, 2), "2"),
        ("+1", Versions(1, 1), "1"),
        ("4+", Versions(4, MAX_VERSION), "4+"),
        ("3-1", Versions(3, 1), "none"),
        ("32767", Versions(32767, 32767), "32767"),
        ("1-32767", Versions(1, 32767), "1+"),
    ],
)
def test_parse(text, versions, printed):
    assert Versions.parse(text) == versions
    assert str(versions) == printed


@cases(
    ("text", "error"),
    [
        ("40000", 'Value out of range. Value:"40000" Radix:10'),
        ("0 - 3", 'For input string: "0 "'),
        ("None", 'For input string: "None"'),
        ("-1", 'For input string: ""'),
        ("", 'For input string: ""'),
        ("1--2", "Invalid version range 1 to -2"),
        ("+", 'For input string: ""'),
        ("99999999999", 'For input string: "99999999999"'),
    ],
)
def test_refused(text, error):
    with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
        Versions.parse(text)


@given(ranges, ranges, ends)
def test_intersection_and_membership(a, b, version):
    assert (version in a & b) == (version in a and version in b)
    assert a.covers(a & b)
    assert a.covers(b) == (b.empty or (a & b) == b)


@given(ends, st.integers(0, 50))
def test_iteration(lowest, count):
    highest = min(lowest + count, MAX_VERSION)
    assert list(Versions(lowest, highest)) == list(range(lowest, highest + 1))
    assert list(Versions.NONE) == []
