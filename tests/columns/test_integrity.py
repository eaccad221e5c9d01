"""Arrays that pass `validate` and would lead outside of their buffers."""

import struct

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcodec import ArrayError, AvroCodec, ConnectJsonCodec, JsonCodec, KsqlCodec, Serde
from kcodec.columns import _integrity, _integrity_py
from kcodec.columns.source import arrays


def pack(code, *numbers):
    return pa.py_buffer(struct.pack(f"<{len(numbers)}{code}", *numbers))


DATA = pa.py_buffer(b"abcdefgh" * 4)


def text(kind, *offsets, code="i"):
    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, pack(code, *offsets), DATA])


def listed(kind, child, *offsets, code="i"):
    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, pack(code, *offsets)], children=[child])


def views(*parts, pieces=(b"abcdefghijklmnop",), valid=None):
    content = b"".join(struct.pack("<i4sii", *part) for part in parts)
    buffers = [valid and pa.py_buffer(bytes([valid])), pa.py_buffer(content), *map(pa.py_buffer, pieces)]
    return pa.Array.from_buffers(pa.binary_view(), len(parts), buffers)


ITEMS = pa.array(["a", "b", "c", "d"])
ENTRY = pa.StructArray.from_arrays(
    [ITEMS, ITEMS], fields=[pa.field("key", pa.string(), False), pa.field("value", pa.string())]
)
BROKEN = {
    "back and forth": text(pa.binary(), 0, 30, 5, 8),
    "below": text(pa.string(), 0, -(2**31), 8),
    "far": text(pa.string(), 0, 2**30, 8),
    "large": text(pa.large_binary(), 0, 2**60, 3, 8, code="q"),
    "large below": text(pa.large_string(), 0, -(2**60), 8, code="q"),
    "slice": text(pa.binary(), 0, 3, 2**30, 5, 8).slice(1, 2),
    "list": listed(pa.list_(pa.string()), ITEMS, 0, 2**30, 4),
    "list of broken": listed(pa.list_(pa.string()), text(pa.string(), 0, 2**30, 8), 0, 2),
    "large list": listed(pa.large_list(pa.string()), ITEMS, 0, 2**40, 4, code="q"),
    "map": listed(pa.map_(pa.string(), pa.string()), ENTRY, 0, 2**30, 4),
    "struct": pa.StructArray.from_arrays([text(pa.string(), 0, -8, 8)], ["f"]),
    "fixed": pa.FixedSizeListArray.from_arrays(text(pa.string(), 0, 2**30, 8), 2),
    "view of nothing": views((20, b"abcd", 7, 0)),
    "view beyond": views((20, b"abcd", 0, 0)),
    "view before": views((13, b"abcd", 0, -1)),
    "view of less": views((-5, b"abcd", 0, 0)),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int32()), ITEMS, safe=False),
    "dictionary of broken": pa.DictionaryArray.from_arrays(pa.array([0, 0]), text(pa.string(), 0, 2**30, 8)),
    "run ends": pa.Array.from_buffers(
        pa.run_end_encoded(pa.int32(), pa.string()),
        4,
        [None],
        children=[pa.array([3, 1, 4], pa.int32()), pa.array(["a", "b", "c"])],
    ),
}
SOUND = {
    "nulls": views((20, b"abcd", 7, 0), (16, b"abcd", 0, 0), valid=2),
    "empty": text(pa.binary(), 0),
    "sliced": pa.array(["a", "bb", None, "ccc"]).slice(1, 2),
    "nested": pa.array([[{"a": [["x"], None]}], None, []]).slice(1),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
    "behind the slice": text(pa.binary(), 0, 2**30, 3, 5, 8).slice(2, 2),
    "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int16()), pa.array(["a", "b"])).slice(
        2
    ),
    "other layouts": pa.array([1, None]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_arrays_are_refused(name, impl):
    array = BROKEN[name]
    array.validate()
    with pytest.raises(ArrayError):
        arrays(array)
    with pytest.raises(ArrayError):
        arrays(pa.chunked_array([array.slice(0, 0), array]))


@pytest.mark.parametrize("name", SOUND)
def test_sound_arrays_are_not(name, impl):
    assert arrays(SOUND[name])[0][0] is SOUND[name]


@pytest.mark.parametrize("name", BROKEN)
def test_codecs_and_serdes_refuse_them(name, impl):
    array = BROKEN[name]
    schema = '{"type": "array", "items": "string"}'
    serde = Serde("AVRO", "memory://integrity", topic="t")
    for call in (
        AvroCodec('"string"').decode,
        AvroCodec(schema).encode,
        JsonCodec(pa.string()).decode,
        JsonCodec(pa.list_(pa.string())).encode,
        ConnectJsonCodec().encode,
        KsqlCodec("JSON", "A STRING").decode,
        KsqlCodec("JSON", "A STRING").encode,
        serde.deserialize,
        serde.serialize,
    ):
        with pytest.raises(ArrayError):
            call(array)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-3, 34), min_size=2, max_size=6), st.integers(0, 4), st.integers(0, 5))
def test_both_implementations_agree(offsets, first, count):
    for make in (text, lambda kind, *offsets: listed(pa.list_(kind), ITEMS, *offsets)):
        try:
            array = make(pa.string(), *offsets).slice(first, count)
        except pa.ArrowInvalid:
            continue
        assert _integrity.defect(array) == _integrity_py.defect(array)
