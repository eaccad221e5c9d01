"""What is wrong with a log, and with what was read of it, is found."""

import numpy as np
import pytest
from ledger import (
    ABORTED,
    ACKNOWLEDGED,
    UNKNOWN,
    WRITER,
    Call,
    Rows,
    check_read,
    check_whole_calls,
    check_written,
)

FIRST = WRITER


def log(*values, partition=0):
    numbers = np.array(values, np.int64) + FIRST
    return Rows(np.full(len(values), partition, np.int64), np.arange(len(values), dtype=np.int64), numbers)


def call(first, end, outcome=ACKNOWLEDGED):
    return Call("t", FIRST + first, FIRST + end, outcome)


@pytest.mark.parametrize(
    ("calls", "found", "wrong"),
    [
        ([call(0, 3), call(3, 5)], log(0, 1, 2, 3, 4), None),
        ([call(0, 3), call(3, 5)], log(0, 1, 2, 4), "1 acknowledged records are lost"),
        ([call(0, 3)], log(0, 1, 2, 2), "1 records are there twice"),
        ([call(0, 2)], log(0, 1, 7), "1 records that nobody wrote"),
        ([call(0, 3)], log(0, 2, 1), "not in order"),
        ([call(0, 2), call(2, 4, ABORTED)], log(0, 1), None),
        ([call(0, 2), call(2, 4, ABORTED)], log(0, 1, 2), "1 records of an aborted transaction"),
        ([call(0, 2, UNKNOWN), call(2, 3)], log(2, 1), None),
        ([call(0, 2, UNKNOWN), call(2, 3)], log(1, 1, 2), "1 records are there twice"),
    ],
)
def test_logs(calls, found, wrong):
    told = check_written(calls, found)
    assert (wrong is None and not told) or wrong in "".join(told)


def test_parts_of_transactions():
    assert check_whole_calls([call(0, 2), call(2, 4)], log(2, 3)) == []
    assert len(check_whole_calls([call(0, 2), call(2, 4)], log(1, 2, 3))) == 1


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (log(0, 1, 2, 3), None),
        (log(0, 1, 2), "1 missing"),
        (log(0, 1, 2, 3, 4), "1 that are not there"),
        (log(0, 1, 2, 9), "0 missing"),
        (log(1, 0, 2, 3), "0 missing"),
    ],
)
def test_reads(read, wrong):
    told = check_read("reading", read, log(0, 1, 2, 3), {0: 0}, {0: 5})
    assert (wrong is None and not told) or wrong in "".join(told)
    assert check_read("reading", log(), log(0, 1), {0: 2}) == []
