"""Columns to Python objects and back, beside pyarrow's own."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import kcodec
from kcodec.errors import ArrayError

NAMES = ("a", "b", "ß", "long name")
LEAVES = {
    pa.null(): st.none(),
    pa.bool_(): st.booleans(),
    **{
        pa.type_for_alias(f"{sign}int{bits}"): st.integers(
            0 if sign else -(2 ** (bits - 1)), 2 ** (bits if sign else bits - 1) - 1
        )
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    pa.float16(): st.sampled_from([0.0, -1.5, 2.0]),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    **dict.fromkeys([pa.string(), pa.large_string(), pa.string_view()], st.text(max_size=20)),
    **dict.fromkeys([pa.binary(), pa.large_binary(), pa.binary_view()], st.binary(max_size=20)),
    pa.binary(3): st.binary(min_size=3, max_size=3),
    pa.decimal128(9, 2): st.decimals(-9999999, 9999999, places=2),
    pa.decimal256(60, 30): st.decimals(-(10**20), 10**20, places=30),
    # As of pyarrow 19.
    **({pa.decimal32(5, 1): st.decimals(-9999, 9999, places=1)} if hasattr(pa, "decimal32") else {}),
    pa.decimal128(5, -2): st.sampled_from([Decimal("1E+2"), Decimal("-12E+3")]),
    pa.date32(): st.dates(),
    pa.date64(): st.dates(),
    pa.time32("s"): st.times().map(lambda time: time.replace(microsecond=0)),
    pa.time64("us"): st.times(),
    pa.time64("ns"): st.times(),
    pa.timestamp("s"): st.datetimes().map(lambda time: time.replace(microsecond=0)),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(datetime.timezone.utc)),
    pa.timestamp("ms", "Europe/Berlin"): st.datetimes(
        datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1), timezones=st.just(datetime.timezone.utc)
    ).map(lambda time: time.replace(microsecond=0)),
    pa.duration("ms"): st.timedeltas().map(lambda delta: delta - delta % datetime.timedelta(milliseconds=1)),
}
PLAIN = [pa.string(), pa.int64()]


def drawn_type(draw, depth):
    kind = draw(st.sampled_from(["leaf", "leaf", "struct", "list", "map", "fixed", "large", "dictionary"]))
    if kind == "leaf" or not depth:
        return draw(st.sampled_from([*LEAVES]))
    if kind == "struct":
        names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
        return pa.struct([(name, drawn_type(draw, depth - 1)) for name in names])
    if kind == "dictionary":
        return pa.dictionary(draw(st.sampled_from([pa.int8(), pa.uint32()])), draw(st.sampled_from(PLAIN)))
    item = drawn_type(draw, depth - 1)
    if kind == "map":
        return pa.map_(pa.string(), item)
    if kind == "fixed":
        return pa.list_(item, 2)
    return pa.large_list(item) if kind == "large" else pa.list_(item)


def values_of(kind):
    types = pa.types
    if types.is_struct(kind):
        found = st.fixed_dictionaries({field.name: values_of(field.type) for field in kind})
    elif types.is_map(kind):
        found = st.lists(st.tuples(st.text(max_size=3), values_of(kind.item_type)), max_size=3)
    elif types.is_fixed_size_list(kind):
        found = st.lists(values_of(kind.value_type), min_size=2, max_size=2)
    elif types.is_list(kind) or types.is_large_list(kind):
        found = st.lists(values_of(kind.value_type), max_size=3)
    elif types.is_dictionary(kind):
        found = LEAVES[kind.value_type]
    else:
        found = LEAVES[kind]
    return st.none() | found


@st.composite
def arrow_columns(draw):
    kind = drawn_type(draw, 3)
    array = pa.array(draw(st.lists(values_of(kind), min_size=4, max_size=9)), kind)
    start = draw(st.integers(0, 2))
    # Also those that start somewhere within their buffers, and within those of what is around them.
    return (
        pa.StructArray.from_arrays([array], ["x"])[start:].field(0) if draw(st.booleans()) else array[start:]
    )


@given(array=arrow_columns())
def test_rows_are_those_of_pyarrow(array):
    for each in (array, pa.chunked_array([array, array])):
        assert repr(normal(kcodec.rows(each))) == repr(normal(each.to_pylist()))


def normal(value):
    """A value with one name for UTC."""
    if isinstance(value, list):
        return [normal(each) for each in value]
    if isinstance(value, tuple):
        return tuple(map(normal, value))
    if isinstance(value, dict):
        return {name: normal(each) for name, each in value.items()}
    if isinstance(value, datetime.datetime) and str(value.tzinfo) == "UTC":
        return value.replace(tzinfo=datetime.timezone.utc)
    return value


@cases(
    "array",
    [
        pa.array([1, 1, 2, None, 2]).dictionary_encode(),
        pa.array([1000, 1000, None, 2000, 2000], pa.timestamp("ns")).dictionary_encode(),
        pa.ListArray.from_arrays(
            [0, 2, 2, 3, 5], pa.array([1000, 1000, None, 2000, 3000], pa.duration("us")).dictionary_encode()
        )[1:],
        pa.RunEndEncodedArray.from_arrays([2, 5], ["a", None]),
        pa.UnionArray.from_dense(
            pa.array([0, 1, 0, 1], pa.int8()),
            pa.array([0, 0, 1, 1], pa.int32()),
            [pa.array([1, 2]), pa.array(["a", "b"])],
        ),
        pa.array([[1], None, [2, 3], []], pa.list_view(pa.int8())),
        pa.array([b"0123456789abcdef", None] * 3, pa.binary(16)).cast(pa.uuid()),
        pa.array([{"a": b"0123456789abcdef"}] * 5, pa.struct([("a", pa.binary(16))])).cast(
            pa.struct([("a", pa.uuid())])
        ),
        pa.array([[{"x": 1}], None, [{"x": 2}], []], pa.list_(pa.struct([("x", pa.duration("us"))]))),
        pa.array([-1, 86_400_000_001, 0, 1], pa.int64()).view(pa.time64("us")),
        pa.array([-1, 1, -86_400_001, 0], pa.int64()).view(pa.date64()),
        pa.nulls(5, pa.struct([("a", pa.list_(pa.string()))])),
        pa.array([{}] * 5, pa.struct([])),
    ],
    ids=lambda array: str(array.type)[:20],
)
def test_rare_columns(impl, array):
    assert kcodec.rows(array) == array.to_pylist()
    assert kcodec.rows(array[1:]) == array[1:].to_pylist()


def test_what_is_no_array(impl):
    table = pa.table({"a": [1, 2, 3, 4], "b": [None, "x", "y", "z"]})
    assert kcodec.rows(table) == table.to_pylist()
    assert kcodec.rows(table.to_batches()[0]) == table.to_pylist()
    assert kcodec.rows(pa.chunked_array([], pa.int8())) == []
    for wrong in ([1], 7, "text"):
        with pytest.raises(TypeError, match="not an Arrow column"):
            kcodec.rows(wrong)


def test_names_that_are_there_twice(impl):
    array = pa.StructArray.from_arrays([pa.array([1] * 5), pa.array([2] * 5)], ["a", "a"])
    with pytest.raises(ValueError, match="name"):
        kcodec.rows(array)


@cases("kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.date64()], ids=str)
def test_years_that_python_does_not_have(impl, kind):
    low = pa.array([-(2**31)] * 5, pa.int32()) if kind == pa.date32() else pa.array([-(2**62)] * 5)
    with pytest.raises(OverflowError):
        kcodec.rows(low.view(kind))


def test_columns_that_point_outside(impl):
    offsets = pa.array([0, 2, 90, 3, 4], pa.int32()).buffers()[1]
    array = pa.Array.from_buffers(pa.string(), 4, [None, offsets, pa.py_buffer(b"abcd")])
    with pytest.raises(ArrayError):
        kcodec.rows(array)
    offsets = pa.array([0, 1, 2, 3, 4], pa.int32()).buffers()[1]
    with pytest.raises(UnicodeDecodeError):
        kcodec.rows(pa.Array.from_buffers(pa.string(), 4, [None, offsets, pa.py_buffer(b"ab\xffd")]))


class TestColumn:
    KIND = pa.struct(
        [("id", pa.int64()), ("at", pa.timestamp("ms", "UTC")), ("tags", pa.map_(pa.string(), pa.date32()))]
    )

    @given(array=arrow_columns())
    def test_rows_make_the_column_again(self, array):
        made = kcodec.column(kcodec.rows(array), array.type)
        assert made.type == array.type
        assert made.to_pylist() == array.to_pylist()

    def test_missing_keys_are_nulls(self, impl):
        values = [{"id": 7}, None, {"tags": {"a": datetime.date(2020, 1, 1)}}]
        made = kcodec.column(values, self.KIND)
        assert made.type == self.KIND
        assert made.to_pylist() == [
            {"id": 7, "at": None, "tags": None},
            None,
            {"id": None, "at": None, "tags": [("a", datetime.date(2020, 1, 1))]},
        ]

    @cases(
        ("value", "told"),
        [
            ({"di": 7}, "no field 'di'"),
            ({"id": 1.5}, "id: 1.5 is no int64"),
            ({"id": "x"}, "row 1 of the list does not fit"),
            (
                {"at": datetime.datetime(2020, 1, 1, microsecond=7)},
                r"at: a value is finer than timestamp\[ms",
            ),
            (
                {"tags": {"a": datetime.datetime(2020, 1, 1, 1)}},
                r"tags\[\].value: a value is finer than date32",
            ),
        ],
    )
    def test_what_does_not_fit(self, impl, value, told):
        with pytest.raises(TypeError, match=told):
            kcodec.column([{"id": 1}, value], self.KIND)

    def test_what_is_no_list(self, impl):
        with pytest.raises(TypeError, match="no list of values"):
            kcodec.column({"id": 7}, self.KIND)
        with pytest.raises(kcodec.ConfigError, match="an Arrow type"):
            kcodec.column([], "int64")
