"""Rows of a column that are read apart from others, and their results among nulls."""

import random

import numpy as np
import pyarrow as pa
import pytest

from kcodec.columns.rows.partition import partition, scatter

TYPES = [
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.timestamp("us", "UTC"),
    pa.decimal128(20, 0),
    pa.string(),
    pa.large_binary(),
    pa.list_(pa.int32()),
    pa.large_list(pa.string()),
    pa.map_(pa.string(), pa.struct([("x", pa.bool_())])),
    pa.null(),
    pa.binary(3),
]
VALUES = [
    [True, False],
    [1, -1],
    [2, -2],
    [3, -3],
    [4, -4],
    [5, -5],
    ["", "text"],
    [b"", b"bytes"],
    [[], [1, 2]],
    [["a"], []],
    [[("k", {"x": True})], []],
    [None, None],
    [b"abc", b"xyz"],
]


@pytest.mark.parametrize(("kind", "values"), list(zip(TYPES, VALUES, strict=True)))
@pytest.mark.parametrize("share", [0, 0.3])
def test_values_are_scattered(impl, kind, values, share):
    drawn = random.Random(1)
    column = pa.array([None if drawn.random() < share else drawn.choice(values) for _ in range(90)], kind)
    below = pa.array([{"a": value.as_py()} for value in column], pa.struct([("a", kind)]))
    for array in (column, column[5:70], below, below[3:]):
        length = 2 * len(array) + 3
        rows = sorted(drawn.sample(range(length), len(array)))
        expected = [None] * length
        for row, value in zip(rows, array.to_pylist(), strict=True):
            expected[row] = value
        found = scatter(array, np.array(rows, np.int32), length)
        found.validate(full=True)
        assert found.type == array.type
        assert found.to_pylist() == expected
        assert found.null_count == pa.array(expected, array.type).null_count


def test_all_rows_and_none(impl):
    assert scatter(pa.array([1, 2]), np.array([0, 1], np.int32), 2).to_pylist() == [1, 2]
    assert scatter(pa.array([], pa.string()), b"", 3).to_pylist() == [None] * 3


@pytest.mark.parametrize("rows", [[1, 1], [1, 0], [0, 3], [-1, 0], [0]])
def test_rows_that_are_not_in_order_are_refused(impl, rows):
    with pytest.raises(ValueError, match="rows"):
        scatter(pa.array([1, 2]), np.array(rows, np.int32), 3)


def test_rows_are_told_apart(impl):
    selector = np.array([0, 1, 2, -1, 3, 0, 9, -2, 2], np.int32)
    parts = partition(selector, [1, 0, 1, -1], 3)
    assert [np.frombuffer(part, np.int32).tolist() for part in parts] == [[1], [0, 2, 5, 8], []]
