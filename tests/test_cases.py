"""Cases of a table: all of them run, and each that fails is told."""

import inspect

import pytest
from cases import cases


def failure(test, **fixtures) -> str:
    with pytest.raises(pytest.fail.Exception) as caught:
        test(**fixtures)
    return str(caught.value)


def test_every_case_that_fails_is_told():
    seen = []

    @cases(("number", "wanted"), [(1, 1), (2, 3), pytest.param(3, 4, id="the last")])
    def test(number, wanted, kind):
        seen.append((number, kind))
        assert number == wanted

    text = failure(test, kind="x")
    assert text.startswith("2 of 3 cases:\n2-3\nTraceback ")
    assert "\nthe last\nTraceback " in text
    assert "assert 2 == 3" in text
    assert "assert 3 == 4" in text
    assert seen == [(1, "x"), (2, "x"), (3, "x")]


def test_what_did_not_fail_as_it_should_is_told():
    @cases("text", ["1", "x"], ids=["a number", "none"])
    def test(text):
        with pytest.raises(ValueError, match="x"):
            int(text)

    assert failure(test).startswith("1 of 2 cases:\na number\nTraceback ")


def test_tables_within_tables():
    @pytest.mark.thorough
    @cases("b", [1, 2], ids=lambda each: f"b is {each}")
    @cases("a", range(3))
    def test(a, b, impl):
        assert a < b

    assert [*inspect.signature(test).parameters] == ["impl"]
    text = failure(test, impl="pure")
    assert text.startswith("2 of 2 cases:\nb is 1\n")
    assert "2 of 3 cases:\n1\n" in text
    assert "b is 2" in text
    assert "1 of 3 cases:\n2\n" in text


def test_a_case_does_not_skip_the_others():
    @cases("number", [1, 2])
    def test(number):
        if number == 1:
            pytest.skip("not here")

    assert failure(test).startswith("1 of 2 cases:\n1\nTraceback ")


def test_a_table_has_cases():
    with pytest.raises(AssertionError, match="no cases"):
        cases("a", [])
