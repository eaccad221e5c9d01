"""Arrays that pass `validate` and would lead outside of their buffers."""

import struct
import uuid

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcodec import (
    ArrayError,
    AvroCodec,
    ConnectJsonCodec,
    JsonCodec,
    JsonSchemaCodec,
    KsqlCodec,
    ProtobufCodec,
    Serde,
    rows,
)
from kcodec.columns.arrays import _integrity, _integrity_py
from kcodec.columns.arrays.given import arrays
from kcodec.columns.types.plain import plain_type
from kcodec.formats.schema_format import schema_format

if int(pa.__version__.partition(".")[0]) < 19:
    pytest.skip("pyarrow before 19 makes no views of buffers", allow_module_level=True)


def pack(code, *numbers):
    return pa.py_buffer(struct.pack(f"<{len(numbers)}{code}", *numbers))


DATA = pa.py_buffer(b"abcdefgh" * 4)
ITEMS = pa.array(["a", "b", "c", "d"])
NUMBERS = pa.array([1, 2, 3, 4])


def text(kind, *offsets, code="i"):
    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, pack(code, *offsets), DATA])


def listed(kind, child, *offsets, code="i"):
    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, pack(code, *offsets)], children=[child])


def list_views(kind, child, starts, sizes, code="i"):
    buffers = [None, pack(code, *starts), pack(code, *sizes)]
    return pa.Array.from_buffers(kind, len(starts), buffers, children=[child])


def union(codes, places=None, members=(ITEMS, NUMBERS)):
    """Make a union of the codes 5 and 7: a dense one where there are places."""
    fields = [pa.field(str(number), member.type) for number, member in enumerate(members)]
    make = pa.sparse_union if places is None else pa.dense_union
    buffers = [None, pack("b", *codes), *([] if places is None else [pack("i", *places)])]
    return pa.Array.from_buffers(make(fields, [5, 7]), len(codes), buffers, children=list(members))


def views(*parts, pieces=(b"abcdefghijklmnop",), valid=None):
    content = b"".join(struct.pack("<i4sii", *part) for part in parts)
    buffers = [valid and pa.py_buffer(bytes([valid])), pa.py_buffer(content), *map(pa.py_buffer, pieces)]
    return pa.Array.from_buffers(pa.binary_view(), len(parts), buffers)


ENTRY = pa.StructArray.from_arrays(
    [ITEMS, ITEMS], fields=[pa.field("key", pa.string(), False), pa.field("value", pa.string())]
)
#: Of a dictionary without values.
NO_VALUES = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0], pa.int8()), ITEMS[:0], safe=False)
INNER = pa.StructArray.from_arrays([NO_VALUES], ["a"], mask=pa.array([True, False, True]))
BROKEN = {
    "back and forth": text(pa.binary(), 0, 30, 5, 8),
    "below": text(pa.string(), 0, -(2**31), 8),
    "far": text(pa.string(), 0, 2**30, 8),
    "large": text(pa.large_binary(), 0, 2**60, 3, 8, code="q"),
    "large below": text(pa.large_string(), 0, -(2**60), 8, code="q"),
    "slice": text(pa.binary(), 0, 3, 2**30, 5, 8).slice(1, 2),
    "list": listed(pa.list_(pa.string()), ITEMS, 0, 2**30, 4),
    "list of broken": listed(pa.list_(pa.string()), text(pa.string(), 0, 2**30, 8), 0, 2),
    "list of lists": listed(
        pa.list_(pa.list_(pa.string())),
        listed(pa.list_(pa.string()), ITEMS, *[0] * 3000, 2**30, 4),
        *range(3001),
    ),
    "large list": listed(pa.large_list(pa.string()), ITEMS, 0, 2**40, 4, code="q"),
    "map": listed(pa.map_(pa.string(), pa.string()), ENTRY, 0, 2**30, 4),
    "struct": pa.StructArray.from_arrays([text(pa.string(), 0, -8, 8)], ["f"]),
    "fixed": pa.FixedSizeListArray.from_arrays(text(pa.string(), 0, 2**30, 8), 2),
    "view of nothing": views((20, b"abcd", 7, 0)),
    "view beyond": views((20, b"abcd", 0, 0)),
    "view before": views((13, b"abcd", 0, -1)),
    "view of less": views((-5, b"abcd", 0, 0)),
    "null view of less": views((16, b"abcd", 0, 0), (-(2**31), b"abcd", 0, 0), valid=1),
    "view that no list shows": listed(pa.list_(pa.binary_view()), views((-5, b"abcd", 0, 0)), 0, 0),
    "view in a struct that no list shows": listed(
        pa.large_list(pa.struct([("v", pa.binary_view())])),
        pa.StructArray.from_arrays([views((20, b"abcd", 7, 0))], ["v"]),
        *(0, 0),
        code="q",
    ),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int32()), ITEMS, safe=False),
    "dictionary that no list shows": listed(
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.DictionaryArray.from_arrays(pa.array([9], pa.int8()), ITEMS, safe=False),
        *(0, 0),
    ),
    "dictionary without values": NO_VALUES,
    "dictionary without values in a struct": pa.StructArray.from_arrays([INNER], ["s"]).slice(1),
    "dictionary of broken": pa.DictionaryArray.from_arrays(pa.array([0, 0]), text(pa.string(), 0, 2**30, 8)),
    "run ends": pa.Array.from_buffers(
        pa.run_end_encoded(pa.int32(), pa.string()),
        4,
        [None],
        children=[pa.array([3, 1, 4], pa.int32()), pa.array(["a", "b", "c"])],
    ),
}
#: Which no codec writes, but envelopes may have.
BROKEN_VIEWS_OF_LISTS = {
    "list views": list_views(pa.list_view(pa.string()), ITEMS, (0, 2**30), (4, 1)),
    "list views of less": list_views(pa.list_view(pa.string()), ITEMS, (3, 0), (1, -1)),
    "list views before": list_views(pa.large_list_view(pa.string()), ITEMS, (-1, 0), (2, 1), code="q"),
    "list views of broken": list_views(pa.list_view(pa.string()), text(pa.string(), 0, 2**30, 8), (0,), (0,)),
}
BROKEN_UNIONS = {
    "union of no member": union([5, 6, 7, 5]),
    "union below": union([5, -1, 7, 5]),
    "union of no member in a slice": union([5, 7, 100, 5]).slice(1, 2),
    "dense union of no member": union([5, 6], [0, 0]),
    "dense union below": union([5, -128], [0, 0]),
    "dense union beyond": union([5, 7], [0, 4]),
    "dense union before": union([5, 7], [-(2**20), 0]),
    "union of broken": union([7, 7], members=(text(pa.string(), 0, 2**30, 8), NUMBERS)),
    "union that no list shows": listed(pa.list_(union([5]).type), union([6, 6, 6, 6]), 0, 0),
}
SOUND = {
    "union": union([5, 7, 7, 5]).slice(1, 2),
    "union behind the slice": union([6, 7, 7, 6]).slice(1, 2),
    "dense union": union([5, 7, 7], [3, 0, 3]).slice(1),
    "nulls": views((20, b"abcd", 7, 0), (16, b"abcd", 0, 0), valid=2),
    "empty": text(pa.binary(), 0),
    "sliced": pa.array(["a", "bb", None, "ccc"]).slice(1, 2),
    "nested": pa.array([[{"a": [["x"], None]}], None, []]).slice(1),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
    "behind the slice": text(pa.binary(), 0, 2**30, 3, 5, 8).slice(2, 2),
    "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
    "dictionary without values beneath nulls": pa.StructArray.from_arrays(
        [INNER.slice(1)], ["s"], mask=pa.array([True, False])
    ),
    "dictionary without values beneath nulls of a slice": pa.StructArray.from_arrays([INNER], ["s"]).slice(2),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int16()), pa.array(["a", "b"])).slice(
        2
    ),
    "list views": list_views(pa.list_view(pa.string()), ITEMS, (3, 0, 4), (1, 4, 0)).slice(1),
    "other layouts": pa.array([1, None]),
}


@cases("name", BROKEN | BROKEN_VIEWS_OF_LISTS | BROKEN_UNIONS)
def test_broken_arrays_are_refused(name, impl):
    array = (BROKEN | BROKEN_VIEWS_OF_LISTS | BROKEN_UNIONS)[name]
    array.validate()
    with pytest.raises(ArrayError):
        arrays(array)
    with pytest.raises(ArrayError):
        rows(array)
    with pytest.raises(ArrayError):
        arrays(pa.chunked_array([array.slice(0, 0), array]))


@cases("name", SOUND)
def test_sound_arrays_are_not(name, impl):
    assert arrays(SOUND[name])[0][0] is SOUND[name]


def test_structs_that_are_all_null_are_written(impl):
    """Arrow gives their dictionaries indices, and no values."""
    nulls = pa.array([None, None], pa.struct([("a", pa.dictionary(pa.int8(), pa.string()))]))
    kind = pa.struct([("s", pa.struct([("a", pa.string())]))])
    column = pa.StructArray.from_arrays([nulls], ["s"])
    assert JsonCodec(kind).encode(column).to_pylist() == [b'{"s":null}'] * 2
    assert rows(column) == [{"s": None}] * 2


@cases("name", BROKEN)
def test_what_reads_payloads_refuses_them(name, impl):
    array = BROKEN[name]
    for call in (
        AvroCodec('"string"').decode,
        JsonCodec(pa.string()).decode,
        KsqlCodec("JSON", "A STRING").decode,
        Serde("AVRO", "memory://integrity", topic="t").deserialize,
    ):
        with pytest.raises(ArrayError):
            call(array)


def writers(kind):
    """What writes columns of a type."""
    avro, protobuf, json_schema = map(schema_format, ("AVRO", "PROTOBUF", "JSON"))
    yield JsonCodec(plain_type(kind)).encode
    yield AvroCodec(avro.derived_text(kind)).encode
    yield ConnectJsonCodec().encode
    yield KsqlCodec("JSON", "A STRING").encode
    yield Serde("AVRO", f"memory://{uuid.uuid4()}", topic="t").serialize
    yield JsonSchemaCodec(json_schema.derived_text(kind)).encode
    if pa.types.is_struct(kind) and "list<item: list" not in str(kind):
        yield ProtobufCodec(protobuf.derived_text(kind)).encode


@cases("name", BROKEN)
def test_what_writes_columns_refuses_them(name, impl):
    array = BROKEN[name]
    inside = pa.StructArray.from_arrays([array], ["f"])
    for column in (array, inside, pa.chunked_array([inside.slice(0, 1), inside.slice(1)])):
        for call in writers(column.type):
            with pytest.raises(ArrayError):
                call(column)


@cases("name", BROKEN_UNIONS)
def test_what_writes_no_unions_refuses_broken_ones(name, impl):
    """It looks which of their values are null."""
    column = pa.StructArray.from_arrays([BROKEN_UNIONS[name]], ["f"])
    union = ["null", "string", "long"]
    for codec in (
        AvroCodec({"type": "record", "name": "R", "fields": [{"name": "f", "type": union}]}),
        ProtobufCodec('syntax = "proto3"; message R { oneof f { string s = 1; int64 n = 2; } }'),
    ):
        with pytest.raises(ArrayError):
            codec.encode(column)


def test_threads_look_where_their_parts_end(impl):
    ends = [2**30 if row % 1000 == 999 else 8 for row in range(40_000)]
    with pytest.raises(ArrayError):
        JsonCodec(pa.string()).encode(text(pa.string(), 0, *ends, 8), use_threads=True)


def defect(module, array):
    try:
        module.check_offsets(array)
    except ArrayError as error:
        return str(error)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-3, 34), min_size=2, max_size=6), st.integers(0, 4), st.integers(0, 5))
def test_both_implementations_agree(offsets, first, count):
    for make in (text, lambda kind, *offsets: listed(pa.list_(kind), ITEMS, *offsets)):
        try:
            array = make(pa.string(), *offsets).slice(first, count)
        except pa.ArrowInvalid:
            continue
        assert defect(_integrity, array) == defect(_integrity_py, array)


def stored_once(values):
    """Values of a type in layouts that have each of them once, of which pyarrow takes any extensions for the same."""
    yield pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 1, 0], pa.int8()), values)
    yield pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), values)
    inside = pa.StructArray.from_arrays([values], ["v"])
    yield pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 1, 0], pa.int8()), inside)


EXTENSIONS = {
    "json": pa.array(['{"a":1}', "[]"]).cast(pa.json_()),
    "large json": pa.array(['{"a":1}', "[]"], pa.large_string()).cast(pa.json_(pa.large_string())),
    "uuid": pa.array([b"\xff" * 16, b"\x7f" * 16], pa.binary(16)).cast(pa.uuid()),
    "bool": pa.array([1, 0], pa.int8()).cast(pa.bool8()),
}


@cases("after", EXTENSIONS)
def test_extensions_are_read_as_what_they_are(after, impl):
    for before in EXTENSIONS.values():
        for other, array in zip(stored_once(before), stored_once(EXTENSIONS[after]), strict=True):
            assert rows(other) == other.to_pylist()
            assert rows(array) == array.to_pylist()


def test_extensions_are_written_as_what_they_are(impl):
    json, _, ids, _ = (next(stored_once(values)) for values in EXTENSIONS.values())
    columns = [pa.StructArray.from_arrays([array], ["x"]) for array in (json, ids)]
    expected = [b'{"x":"[]"}', b'{"x":"7f7f7f7f-7f7f-7f7f-7f7f-7f7f7f7f7f7f"}']
    for order in (1, -1):
        codec = JsonSchemaCodec({})
        assert [codec.encode(column)[0].as_py() for column in columns[::order]] == expected[::order]
