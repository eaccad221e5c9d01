"""Columns with some of their values changed: which, in what order, and how often a column is made anew."""

import numpy as np
import pyarrow as pa
import pytest

from kcodec.contracts import columns
from kcodec.formats.tagged import ITEMS, VALUES


def adding(text):
    return lambda values, place, chosen: pa.array([f"{each}{text}" for each in values.to_pylist()])


def test_changes_of_many_fields_make_a_column_once(monkeypatch):
    made, rebuild = [], columns.rebuild
    monkeypatch.setattr(
        columns, "rebuild", lambda array, parts: made.append(array.type) or rebuild(array, parts)
    )
    array = pa.array([{f"f{number}": "x" for number in range(20)}] * 3)
    found = columns.changed(array, [((f"f{number}",), adding(number)) for number in range(20)])
    assert found.to_pylist() == [{f"f{number}": f"x{number}" for number in range(20)}] * 3
    assert len(made) == 1


def test_changes_of_one_field_keep_their_order():
    kind = pa.struct(
        [
            ("a", pa.string()),
            ("b", pa.list_(pa.struct([("c", pa.string())]))),
            ("m", pa.map_(pa.string(), pa.string())),
        ]
    )
    array = pa.array([{"a": "", "b": [{"c": ""}] * 2, "m": [("k", "")]}], kind)

    def whole(values, place, chosen):
        seen.append(values.to_pylist())
        return values

    seen = []
    changes = [
        (("a",), adding(1)),
        (("b", ITEMS, "c"), adding(1)),
        (("m", VALUES), adding(1)),
        ((), whole),
        (("b", ITEMS, "c"), adding(2)),
        (("a",), adding(2)),
        (("m", VALUES), adding(2)),
        (("a",), adding(3)),
    ]
    found = columns.changed(array, changes)
    assert seen == [[{"a": "1", "b": [{"c": "1"}] * 2, "m": [("k", "1")]}]]
    assert found.to_pylist() == [{"a": "123", "b": [{"c": "12"}] * 2, "m": [("k", "12")]}]


@pytest.mark.parametrize("chosen", [None, [True, True, False]])
@pytest.mark.parametrize("is_map", [False, True])
def test_items_behind_nulls_stay(is_map, chosen):
    """A row that failed has hidden its items, which are neither decrypted nor told of."""
    offsets = pa.array([0, 1, 3, 4], pa.int32())
    texts = pa.array(["a", "hidden", "hidden", "d"])
    child = pa.array([False, True, False])
    lists = pa.ListArray.from_arrays(offsets, texts, mask=child)
    if is_map:
        kind = pa.map_(pa.string(), pa.string())
        entries = pa.StructArray.from_arrays([texts, texts], fields=[kind.key_field, kind.item_field])
        lists = pa.Array.from_buffers(kind, 3, lists.buffers()[:2], children=[entries])
    rows = pa.StructArray.from_arrays([lists], ["f"], mask=child)
    seen = []

    def change(values, place, picked):
        seen.extend(values.filter(pa.array(picked)).to_pylist())
        return values

    mask = None if chosen is None else np.array(chosen)
    columns.changed(rows, [(("f", VALUES if is_map else ITEMS), change)], mask)
    assert seen == (["a", "d"] if chosen is None else ["a"])
