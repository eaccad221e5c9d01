"""Nested columns with other columns below them."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cases import cases

from kcodec import AvroCodec, JsonCodec, KsqlCodec, SchemaError
from kcodec.columns.arrays.casts import cast_rows
from kcodec.columns.arrays.nested import add_columns, arrange, hide_nulls, unpack
from kcodec.columns.types.plain import plain_type

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


ITEMS = pa.list_(pa.struct([("a", pa.string())]))


def test_lists_of_a_fixed_size_and_empty_structs():
    array = pa.array([[{"a": 1}], None], pa.list_(INNER, 1))
    assert add_columns(unpack(array), pa.list_(WIDER)).to_pylist() == [[{"a": 1, "b": None}], None]
    empty = pa.array([{}, None], pa.struct([]))
    assert add_columns(empty, pa.struct([("b", pa.null())])).to_pylist() == [{"b": None}, None]
    assert add_columns(empty, pa.struct([])) is empty


def test_what_is_behind_nulls():
    behind = pa.StructArray.from_arrays([pa.array(["x", "y"])], ["a"], mask=pa.array([True, False]))
    nested = pa.MapArray.from_arrays([0, 1, 2], pa.array([1, 2]), behind)
    assert hide_nulls(nested).items.field(0).to_pylist() == [None, "y"]


def _runs(values):
    return pc.run_end_encode(pa.array(values))


@cases(
    "array",
    [
        pa.array([["a"], None, [], ["b", "c"]], pa.list_(pa.string_view())),
        pa.array([[1, 2], None, [3, 4], [5, None]], pa.list_(pa.int8(), 2)),
        pa.array([[], None, [], []], pa.list_(pa.int8(), 0)),
        pa.array([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.int8())),
        pa.array([[{"n": None, "x": 1}], None, [], [{"n": None, "x": 2}]]),
        pa.array([{"n": None, "l": [1]}, None, {"n": None, "l": None}, {"n": None, "l": [2, 3]}]),
        pa.DictionaryArray.from_arrays([0, None, 1, 0], pa.array(["a", "b"], pa.string_view())),
        pa.DictionaryArray.from_arrays([0, None, 1, 0], pa.array([{"a": [1]}, None])),
        pa.RunEndEncodedArray.from_arrays([1, 3, 4], pa.array(["a", None, "b"], pa.string_view())),
        pa.RunEndEncodedArray.from_arrays([2, 4], pa.array([{"a": [1]}, {"a": None}])),
        pa.DictionaryArray.from_arrays([3, None, 0, 1], _runs(["a", "a", None, "b"])),
        pa.ListArray.from_arrays([0, 1, 1, 2, 4], _runs(["a", "a", None, "b"])),
        pa.StructArray.from_arrays([_runs([1, 1, 2, 2])], ["r"], mask=pa.array([True, False, False, True])),
        pa.nulls(4, pa.large_list(pa.null())),
    ],
    ids=lambda array: str(array.type),
)
def test_slices_dictionaries_run_ends_and_fixed_sizes_are_unpacked(array):
    for start, stop in ((0, 4), (1, 4), (3, 4), (2, 2)):
        part = array.slice(start, stop - start)
        found = unpack(part)
        found.validate(full=True)
        assert found.to_pylist() == part.to_pylist()
        # What a cast of the slice itself is not.
        found.cast(plain_type(found.type)).validate(full=True)


def test_runs_of_which_nothing_shows():
    broken = pa.Array.from_buffers(
        pa.run_end_encoded(pa.int32(), pa.string()),
        2,
        [None],
        children=[pa.array([0, 2], pa.int32()), pa.array(["a", "b"])],
    )
    empty = pa.ListArray.from_arrays(pa.array([0, 0]), broken)
    none = pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), broken)
    for array in (broken.slice(0, 0), none, empty, pa.StructArray.from_arrays([empty], ["f"])):
        found = unpack(array)
        found.validate(full=True)
        assert found.to_pylist() == array.to_pylist()


def test_fields_are_arranged_by_their_names():
    kind = pa.struct(
        [pa.field("a", pa.struct([("x", pa.int8()), ("y", pa.string())]), False), ("b", pa.int8())]
    )
    given = pa.array(
        [{"b": 1, "a": {"x": 2}}, None], pa.struct([("b", pa.int64()), ("a", pa.struct([("x", pa.int8())]))])
    )
    found = arrange(given, kind)
    found.validate(full=True)
    assert found.to_pylist() == [{"a": {"x": 2, "y": None}, "b": 1}, None]
    assert found.cast(kind).type == kind
    for given in ({"a": {"z": 1}}, {"b": 1}, {"a": 1, "b": 1}):
        with pytest.raises(TypeError, match=r"^(a|a: struct|the column).*"):
            arrange(pa.array([given]), kind)


class _Named(pa.ExtensionType):
    def __init__(self, storage):
        super().__init__(storage, "kcodec.test.named")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)


def _views_of_extension():
    words = pa.array(["a", "b"]).dictionary_encode()
    named = pa.ExtensionArray.from_storage(_Named(words.type), words)
    places, sizes = pa.array([0, 1], pa.int32()), pa.array([1, 1], pa.int32())
    return pa.ListViewArray.from_arrays(places, sizes, named)


_UNION = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array(["a", "b"])])


def test_structs_with_nulls_that_pyarrow_cannot_hide():
    """Their rows end the process, or raise what has no name."""
    array = pa.StructArray.from_arrays([_UNION], ["f"], mask=pa.array([True, False]))
    kind = pa.struct([("f", pa.list_(pa.string()))])
    for codec in (JsonCodec(kind), KsqlCodec("KAFKA", "F STRING"), KsqlCodec("JSON", "F STRING")):
        with pytest.raises((TypeError, SchemaError), match="union"):
            codec.encode(array)


@pytest.mark.parametrize("values", [_UNION, _views_of_extension()], ids=["union", "views"])
def test_dictionaries_and_runs_whose_values_cannot_be_taken(values):
    for array in (
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), values),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), values),
    ):
        for codec in (AvroCodec('"string"'), JsonCodec(pa.string())):
            with pytest.raises(TypeError, match="is not written"):
                codec.encode(array)


def test_lists_of_structs_that_lack_a_column_are_cast():
    """By Arrow alone, the column of nulls would be as long as the list."""
    items = [{"a": str(number)} for number in range(5)]
    given = pa.array(
        [{"l": items, "i": 1}, {"l": items[:1], "i": 300}], pa.struct([("l", ITEMS), ("i", pa.int16())])
    )
    missing = pa.list_(pa.struct([("a", pa.string()), ("b", pa.null())]))
    for kind, valid in ((pa.int64(), 2), (pa.int8(), 1)):
        found, lost = cast_rows(given, pa.struct([("l", missing), ("i", kind)]))
        found.validate(full=True)
        assert (len(found) - found.null_count, len(lost)) == (valid, 2 - valid)
        assert found[0].as_py() == {"l": [{**item, "b": None} for item in items], "i": 1}


@pytest.mark.parametrize(("made", "wanted"), [(pa.list_, pa.large_list), (pa.large_list, pa.list_)])
def test_lists_are_cast_to_those_of_other_offsets(made, wanted):
    given = pa.array([[1], None, [300, 2]], made(pa.int16()))
    for array in (given, given.slice(1)):
        whole, lost = cast_rows(array, wanted(pa.int64()))
        whole.validate(full=True)
        assert (whole.type, whole.to_pylist(), lost) == (wanted(pa.int64()), array.to_pylist(), [])
        found, lost = cast_rows(array, wanted(pa.int8()))
        found.validate(full=True)
        assert (found.type, found.to_pylist()[:-1], len(lost)) == (
            wanted(pa.int8()),
            array.to_pylist()[:-1],
            1,
        )
