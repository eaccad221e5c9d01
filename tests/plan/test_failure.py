"""What is raised for a row that fails."""

import pickle

import pytest

from kcodec.errors import CODES, Fault
from kcodec.plan.failure import RowError


def test_facts():
    error = RowError("truncated", 3, "a")
    assert error.fault(7) == Fault(7, 3, "a", "truncated", CODES["truncated"])
    assert str(RowError("truncated", reason="cut")) == "cut"
    assert pickle.loads(pickle.dumps(error)).fault(7) == error.fault(7)


@pytest.mark.parametrize(("path", "outer"), [("", "s"), ("a", "s.a"), ("[2].a", "s[2].a")])
def test_errors_from_within(path, outer):
    error = RowError("truncated", 3, path, "cut").within("s")
    assert (error.path, error.offset, error.reason) == (outer, 3, "cut")


def test_reasons_hold_no_halves_of_surrogate_pairs():
    assert RowError("schema_error", reason="a\ud800").reason == r"a\ud800"
