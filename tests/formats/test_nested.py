"""Nested columns with other columns below them."""

import pyarrow as pa
import pytest

from kcodec.formats.nested import add_columns, hide_nulls

INNER = pa.struct([("a", pa.int32())])
WIDER = pa.struct([("a", pa.int32()), ("b", pa.null())])
ROWS = [{"a": 1}, None, {"a": None}]


@pytest.mark.parametrize(
    ("make", "nest"),
    [
        (lambda kind: kind, lambda row: row),
        (pa.list_, lambda row: [row, row]),
        (pa.large_list, lambda row: [row]),
        (lambda kind: pa.list_(pa.list_(kind)), lambda row: [[], None, [row]]),
        (lambda kind: pa.map_(pa.string(), kind), lambda row: [("k", row)]),
        (lambda kind: pa.struct([("x", pa.int8()), ("y", kind)]), lambda row: {"x": 1, "y": row}),
    ],
)
def test_columns_are_added_everywhere(make, nest):
    rows = [*map(nest, ROWS), None]
    array = pa.array(rows, make(INNER))
    for given, expected in (
        (array, rows),
        (pa.concat_arrays([array, array]).slice(3, 3), [rows[3], *rows[:2]]),
    ):
        found = add_columns(given, make(WIDER))
        found.validate(full=True)
        assert found.type == make(WIDER)
        assert str(found.to_pylist()).replace(", 'b': None", "") == str(expected)
        assert hide_nulls(given).equals(given)


def test_lists_of_a_fixed_size_and_empty_structs():
    array = pa.array([[{"a": 1}], None], pa.list_(INNER, 1))
    assert add_columns(array, pa.list_(WIDER)).to_pylist() == [[{"a": 1, "b": None}], None]
    empty = pa.array([{}, None], pa.struct([]))
    assert add_columns(empty, pa.struct([("b", pa.null())])).to_pylist() == [{"b": None}, None]
    assert add_columns(empty, pa.struct([])) is empty


def test_what_is_behind_nulls():
    behind = pa.StructArray.from_arrays([pa.array(["x", "y"])], ["a"], mask=pa.array([True, False]))
    nested = pa.MapArray.from_arrays([0, 1, 2], pa.array([1, 2]), behind)
    assert hide_nulls(nested).items.field(0).to_pylist() == [None, "y"]
