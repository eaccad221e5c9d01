"""Java's patterns of dates and times, beside what Java 17 reads by them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_files import read_vectors

from kcodec.ksql.records.datetime_parts import check_zone
from kcodec.ksql.records.datetimes import DateTimePattern


def answer(pattern, text, zone):
    """Return the milliseconds as text; else what is wrong."""
    try:
        made = DateTimePattern(pattern)
    except ValueError as error:
        return f"pattern: {error}"
    try:
        return str(made.milliseconds(text, zone))
    except ValueError:
        return "text"


def test_answers_of_java():
    """Patterns, and texts that Java wrote by them and that were then damaged, at random."""
    vectors = read_vectors("java_datetimes.jsonl.gz")
    answers = [each["answer"] for each in vectors]
    assert len(vectors) > 2500
    assert answers.count("text") > 500
    for each in vectors:
        assert answer(each["pattern"], each["text"], each["zone"]) == each["answer"], each


@pytest.mark.parametrize(
    ("pattern", "text", "milliseconds"),
    [
        ("yyyy-MM-dd HH:mm:ss.SSS", "1970-01-01 00:00:00.001", 1),
        ("yyyy-MM-dd'T'HH:mm:ssX", "2024-02-29T12:00:00+02", 1709200800000),
        ("[yyyy-MM-dd][yyyyMMdd]", "20240229", 1709164800000),
        ("MMM d yyyy h:mm a", "jan 2 1970 12:00 am", 86400000),
        ("yyyy-MM-dd VV", "2024-07-01 europe/paris", 1719784800000),
    ],
)
def test_patterns_that_are_often_used(pattern, text, milliseconds):
    assert DateTimePattern(pattern).milliseconds(text) == milliseconds


def test_what_is_not_read():
    for pattern in ("YYYY-MM-dd", "B", "v", "g", "e"):
        with pytest.raises(ValueError, match="kcodec does not read the pattern letter"):
            DateTimePattern(pattern)
    with pytest.raises(ValueError, match="could not be parsed at index 5"):
        DateTimePattern("yyyy z").milliseconds("2024 PST")
    with pytest.raises(ValueError, match="nested deeper"):
        DateTimePattern("[" * 100)
    with pytest.raises(ValueError, match="longer than 10000"):
        DateTimePattern("y" * 100_000)


def test_zones():
    assert check_zone("europe/PARIS") == "Europe/Paris"
    for zone in ("", "+2", "Mars/Base", "EST", "Europe/Paris ", None, 3):
        with pytest.raises(ValueError, match="is not a time zone"):
            check_zone(zone)


@given(st.text("yMdHms'[]p SzXVO-", max_size=12), st.text("0123456789-+: Z[]", max_size=20))
def test_any_pattern_and_text(pattern, text):
    try:
        made = DateTimePattern(pattern)
    except ValueError:
        return
    with contextlib.suppress(ValueError):
        assert isinstance(made.milliseconds(text), int)
