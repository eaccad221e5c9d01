"""Rows of a column that are read apart from others."""

import random

import numpy as np

from kcodec.columns.rows.partition import partition


def test_rows_are_told_apart(impl):
    selector = np.array([0, 1, 2, -1, 3, 0, 9, -2, 2], np.int32)
    parts = partition(selector, [1, 0, 1, -1], 3)
    assert [np.frombuffer(part, np.int32).tolist() for part in parts] == [[1], [0, 2, 5, 8], []]


def test_many_rows_of_many_parts(impl):
    drawn = random.Random(1)
    for length in [0, 1, 3, 4, 5, 1000, 1003]:
        chosen = [drawn.randrange(-2, 40) for _ in range(length)]
        numbers = [drawn.randrange(-1, 9) for _ in range(30)]
        named = [numbers[each] if 0 <= each < 30 else -1 for each in chosen]
        parts = partition(np.array(chosen, np.int32), numbers, 7)
        expected = [[row for row in range(length) if named[row] == part] for part in range(7)]
        assert [np.frombuffer(part, np.int32).tolist() for part in parts] == expected
