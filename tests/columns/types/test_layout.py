"""Columns of an Arrow type are numbered in pre-order."""

import pyarrow as pa

from kcodec.columns.types.layout import Column, layout

NESTED = pa.struct(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("tags", pa.list_(pa.field("element", pa.struct([("k", pa.string()), ("v", pa.binary(3))]), False))),
        ("more", pa.map_(pa.string(), pa.large_list(pa.float32()))),
        ("nothing", pa.struct([])),
        ("last", pa.null()),
    ]
)


def test_a_single_column():
    assert layout(pa.int32()) == (Column(0, "", pa.int32(), True, -1, (), 1),)


def test_numbers_names_and_ranges():
    columns = layout(NESTED)
    assert [column.name for column in columns] == [
        *("", "id", "tags", "item", "k", "v", "more", "key", "value", "item", "nothing", "last")
    ]
    assert [column.index for column in columns] == list(range(12))
    assert [column.parent for column in columns] == [-1, 0, 0, 2, 3, 3, 0, 6, 6, 8, 0, 0]
    assert [column.end for column in columns] == [12, 2, 6, 6, 5, 6, 10, 8, 10, 10, 11, 12]


def test_children_lie_within_their_parent():
    columns = layout(NESTED)
    for column in columns:
        assert [columns[child].parent for child in column.children] == [column.index] * len(column.children)
        assert list(column.children) == [c.index for c in columns if c.parent == column.index]
        assert all(column.index < child < column.end for child in column.children)


def test_what_may_be_null():
    nullable = {column.name: column.nullable for column in layout(NESTED) if column.name not in ("item", "k")}
    assert nullable == {
        "": True,
        "id": False,
        "tags": True,
        "v": True,
        "more": True,
        "key": False,
        "value": True,
        "nothing": True,
        "last": True,
    }
    assert not layout(NESTED)[3].nullable
    # The root of a column may be null whatever it is.
    assert layout(pa.bool_())[0].nullable


def test_types():
    kinds = [column.type for column in layout(NESTED)]
    assert kinds[0] == NESTED
    assert kinds[3] == NESTED.field("tags").type.value_type
    assert kinds[8:10] == [pa.large_list(pa.float32()), pa.float32()]


def test_the_layout_of_equal_types_is_equal():
    assert layout(pa.list_(pa.string())) == layout(pa.list_(pa.string()))
