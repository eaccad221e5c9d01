"""How long calls took: what is remembered of them, and for how many."""

import time

import pytest

from kcodec.server.api.durations import Durations


def nothing():
    pass


def test_what_took_long_the_last_time_is_not_quick():
    durations = Durations(0.05)
    durations.measured("a", 0, nothing)
    assert durations.is_quick("a", 0)
    durations.measured("a", 0, lambda: time.sleep(0.06))
    assert not durations.is_quick("a", 0)


def test_a_failure_takes_its_time_too():
    durations = Durations(0.05)
    with pytest.raises(ZeroDivisionError):
        durations.measured("a", 0, lambda: 1 / 0)
    assert durations.is_quick("a", 0)


def test_the_oldest_are_forgotten():
    durations = Durations(10, most=2)
    for call in "abac":
        durations.measured(call, 0, nothing)
    assert [durations.is_quick(call, 0) for call in "abc"] == [True, False, True]


@pytest.mark.parametrize(("size", "quick"), [(0, True), (300, True), (301, False)])
def test_much_more_than_before_is_not_quick(size, quick):
    durations = Durations(10)
    durations.measured("a", 100, nothing)
    assert durations.is_quick("a", size) == quick
