"""Confluent frames and Protobuf message indexes."""

import uuid

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from vector_files import read_vectors
from wire_columns import column, same

from kcodec import ConfigError, DecodeError, EncodeError, frames
from kcodec.wire import (
    MessageIndexes,
    decode_message_indexes,
    encode_message_indexes,
    join_frames,
    split_frames,
)

GUID = uuid.UUID("89791762-2336-186f-9674-299b90a802e2").bytes


def test_ids_of_a_column(impl):
    values = [b"\0" + n.to_bytes(4, "big", signed=True) + b"x" * (n % 5) for n in (0, 1, 7, 2**31 - 1, -1)]
    for kind in (np.int32, np.int64):
        data, offsets = column(values, kind)
        frames = split_frames(data, offsets)
        assert frames.ids.tolist() == [0, 1, 7, 2**31 - 1, -1]
        assert frames.starts.tolist() == (offsets[:-1] + 5).tolist()
        assert frames.guids is frames.indexes is None
        payloads = [data[start:end] for start, end in zip(frames.starts, offsets[1:], strict=True)]
        assert join_frames(*column(payloads), frames.ids).to_list() == values


def test_guids_among_ids(impl):
    values = [b"\0\0\0\0\7abc", b"\1" + GUID + b"de", b"\1" + bytes(16)]
    frames = split_frames(*column(values))
    assert frames.ids.tolist() == [7, -1, -1]
    assert frames.starts.tolist() == [5, 25, 44]
    assert [row.tobytes() for row in frames.guids] == [bytes(16), GUID, bytes(16)]
    payloads = column([b"a", b""])
    assert join_frames(*payloads, guids=GUID).to_list() == [b"\1" + GUID + b"a", b"\1" + GUID]
    each = join_frames(*payloads, guids=frames.guids[:2]).to_list()
    assert each == [b"\1" + bytes(16) + b"a", b"\1" + GUID]


def test_null_rows_have_no_frame(impl):
    data, offsets = column([b"\0\0\0\0\7a", b"", b"junk", b"\0\0\0\0\x08\0"])
    valid = np.array([True, False, False, True])
    frames = split_frames(data, offsets, valid=valid, indexes=False)
    assert frames.ids.tolist() == [7, -1, -1, 8]
    assert frames.starts.tolist() == [5, 6, 6, 15]
    joined = join_frames(*column([b"a", b"", b"junk", b""]), [7, 0, 0, 8], valid=valid, indexes=[0])
    assert joined.to_list() == [b"\0\0\0\0\7\0a", b"", b"", b"\0\0\0\0\x08\0"]
    assert split_frames(*joined, valid=valid, indexes=True).indexes.to_list() == [[0], [], [], [0]]


@cases(
    ("value", "code"),
    [
        (b"", "frame_truncated"),
        (b"\0\0\0\0", "frame_truncated"),
        (b"\1" + bytes(15), "frame_truncated"),
        (b"\2\0\0\0\0", "frame_magic"),
        (b"{}", "frame_magic"),
    ],
)
def test_bad_frames(impl, value, code):
    with pytest.raises(DecodeError) as caught:
        split_frames(*column([b"\0\0\0\0\1", b"\0\0\0\0\2z", value]))
    assert (caught.value.row, caught.value.offset, caught.value.code) == (2, 11, code)


@cases(
    ("indexes", "code"),
    [
        (b"", "frame_truncated"),
        (b"\x04\x00", "frame_truncated"),
        (b"\x80", "frame_truncated"),
        (b"\x01", "negative_length"),
        (b"\x02\x01", "out_of_range"),
        (b"\x82\x10" + bytes(1025), "size_limit"),
        (b"\xff\xff\xff\xff\x0f", "negative_length"),
        (b"\xfe\xff\xff\xff\x0f", "size_limit"),
        (b"\x80\x80\x80\x80\x80\x00", "varint_overlong"),
        (b"\x02\xff\xff\xff\xff\x1f", "varint_overflow"),
    ],
)
def test_bad_indexes(impl, indexes, code):
    good, bad = b"\0\0\0\0\1\0", b"\0\0\0\0\1" + indexes
    # The bad frame behind it is not the first error.
    with pytest.raises(DecodeError) as caught:
        split_frames(*column([good, bad, b""]), indexes=True)
    assert (caught.value.row, caught.value.offset, caught.value.code) == (1, 6, code)
    with pytest.raises(DecodeError):
        decode_message_indexes(indexes)


def test_deep_indexes_and_many_of_them(impl):
    deep = list(range(1024))
    assert decode_message_indexes(encode_message_indexes(deep)) == (
        tuple(deep),
        len(encode_message_indexes(deep)),
    )
    data, offsets = column([b"\0\0\0\0\1" + encode_message_indexes(deep)] * 20)
    assert split_frames(data, offsets, indexes=True).indexes.to_list() == [deep] * 20
    with pytest.raises(EncodeError, match="size_limit"):
        encode_message_indexes(range(1025))
    with pytest.raises(EncodeError, match="out_of_range"):
        encode_message_indexes([0, -1])


def test_guids_between_deep_indexes(impl):
    deep = list(range(1024))
    values = [b"\0\0\0\0\7" + encode_message_indexes(deep), b"\1" + GUID + encode_message_indexes(deep)] * 5
    frames = split_frames(*column(values), indexes=True)
    assert frames.ids.tolist() == [7, -1] * 5
    assert [row.tobytes() for row in frames.guids] == [bytes(16), GUID] * 5
    assert frames.starts.tolist() == column(values)[1][1:].tolist()
    assert frames.indexes.to_list() == [deep] * 10


def test_errors_of_indexes_that_are_written(impl):
    payloads = column([b"a", b"b"])
    for levels, code in (([1, -2], "out_of_range"), ([1] * 1026, "size_limit")):
        each = MessageIndexes(np.array(levels, np.int32), np.array([0, 1, len(levels)]))
        with pytest.raises(EncodeError, match=code) as caught:
            join_frames(*payloads, 7, indexes=each)
        assert caught.value.row == 1
    for ends in ([0, 2, 1], [0, 1, 3]):
        with pytest.raises(ValueError, match="offsets of element 1"):
            join_frames(*payloads, 7, indexes=MessageIndexes(np.array([1, 2]), np.array(ends)))


def test_short_and_long_form_of_the_first_message(impl):
    assert decode_message_indexes(b"\x00") == ((0,), 1)
    assert decode_message_indexes(b"\xff\x00", 1) == ((0,), 2)
    assert decode_message_indexes(b"\x02\x00") == ((0,), 2)
    assert encode_message_indexes([]) == encode_message_indexes([0]) == b"\x00"
    for start in (-1, 2):
        with pytest.raises(ValueError, match="start"):
            decode_message_indexes(b"\0", start)


def test_what_must_match(impl):
    data, offsets = column([b"a", b"b"])
    with pytest.raises(TypeError, match="either"):
        join_frames(data, offsets)
    with pytest.raises(TypeError, match="either"):
        join_frames(data, offsets, 1, guids=GUID)
    with pytest.raises(ValueError, match="rows"):
        join_frames(data, offsets, [1, 2, 3])
    with pytest.raises(ValueError, match="16 bytes"):
        join_frames(data, offsets, guids=b"short")
    with pytest.raises(ValueError, match="rows"):
        join_frames(data, offsets, 1, indexes=MessageIndexes(np.zeros(3, np.int32), np.arange(4)))
    with pytest.raises(OverflowError):
        join_frames(data, offsets, 1 << 32)
    with pytest.raises(TypeError, match="bool"):
        split_frames(data, offsets, valid=[1, 1])
    with pytest.raises(ValueError, match="valid"):
        split_frames(data, offsets, valid=[True])
    assert join_frames(data, offsets, 0xFFFFFFFF).to_list()[0] == b"\0\xff\xff\xff\xffa"
    assert join_frames(b"", [0], 1).to_list() == []


def test_vectors_of_message_indexes(impl, shared):
    lines = read_vectors("registry_message_indexes.jsonl.gz", shared / "vectors")
    checked = 0
    for line in lines:
        if line.get("wire") and line.get("indexes"):
            wire = bytes.fromhex(line["wire"])
            assert encode_message_indexes(line["indexes"]) == wire
            assert decode_message_indexes(wire) == (tuple(line["indexes"]), len(wire))
            checked += 1
    assert checked > 10


def test_vectors_of_guids(impl, shared):
    lines = [line for line in read_vectors("registry_guid.jsonl.gz", shared / "vectors") if line.get("guid")]
    guids = [uuid.UUID(line["guid"]).bytes for line in lines]
    framed = join_frames(b"", np.zeros(len(guids) + 1, np.int64), guids=b"".join(guids))
    assert framed.to_list() == [b"\1" + guid for guid in guids]
    assert split_frames(*framed).guids.tobytes() == b"".join(guids)


levels = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5)
rows = st.lists(st.tuples(st.binary(max_size=70), st.integers(-(2**31), 2**31 - 1), levels), max_size=8)


@given(rows, st.booleans())
def test_round_trip(rows, one):
    payloads = column([payload for payload, _, _ in rows])
    ids = np.array([number for _, number, _ in rows], np.int32)
    each = MessageIndexes(
        np.array([level for _, _, some in rows for level in some], np.int32),
        np.cumsum([0, *(len(some) for _, _, some in rows)]),
    )
    indexes = [1, 2] if one else each
    (framed, offsets), error = same(join_frames, *payloads, ids, indexes=indexes, large=True)
    assert error is None
    framed, offsets = bytes(framed[1]), np.array(offsets[1])
    (found_ids, starts, _, found), error = same(split_frames, framed, offsets, indexes=True)
    assert error is None
    assert found_ids[1] == ids.tolist()
    assert found[0][1] == ([1, 2] * len(rows) if one else each.values.tolist())
    ends = offsets[1:].tolist()
    assert [framed[a:b] for a, b in zip(starts[1], ends, strict=True)] == [payload for payload, _, _ in rows]


@given(st.lists(st.one_of(st.binary(max_size=30), st.binary(max_size=20).map(lambda b: b"\0\0\0\0\1\2" + b))))
def test_any_bytes(values):
    for indexes in (False, True):
        same(split_frames, *column(values), indexes=indexes)


@given(st.binary(max_size=40), st.lists(st.integers(-3, 45), min_size=1, max_size=6))
def test_any_offsets(data, offsets):
    for kind in (np.int32, np.int64):
        same(split_frames, data, np.array(offsets, kind))
        same(join_frames, data, np.array(offsets, kind), 1)


HEADS = [frames.GLUE, frames.GLUE_ZLIB, frames.APICURIO, frames.APICURIO_LEGACY, frames.SINGLE_OBJECT]


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize("frame", HEADS, ids=repr)
@pytest.mark.parametrize("one", [False, True])
def test_frames_that_are_not_confluents(frame, one):
    payloads, ends, valid = b"abcd", [0, 1, 1, 3, 4], [True, False, True, True]
    layout = frame.layout
    if layout.is_number:
        ids = 7 if one else np.array([7, 8, -2, 2**31 - 1])
        keys = {"ids": ids}
        heads = [
            frame.written(int(each) % 2**32 if layout.id_size == 4 else int(each))
            for each in np.broadcast_to(ids, 4)
        ]
    else:
        raw = [bytes([at]) * layout.id_size for at in range(1 if one else 4)]
        keys = {"guids": b"".join(raw)}
        heads = [frame.written(each) for each in raw * (4 if one else 1)]
    joined = join_frames(payloads, ends, **keys, valid=valid, frame=frame)
    expected = [heads[0] + b"a", b"", heads[2] + b"bc", heads[3] + b"d"]
    assert joined.to_list() == expected
    found = split_frames(joined.data, joined.offsets, valid=valid, frame=frame)
    edges = joined.offsets.tolist()
    assert found.starts.tolist() == [
        edges[0] + frame.size,
        edges[1],
        *(edges[at] + frame.size for at in (2, 3)),
    ]
    if layout.is_number:
        assert (found.ids[[0, 2, 3]] == np.broadcast_to(keys["ids"], 4)[[0, 2, 3]]).all()
        assert (found.ids[1], found.guids) == (-1, None)
    else:
        assert [bytes(each) for each in found.guids[[0, 2]]] == [
            heads[0][-layout.id_size :],
            heads[2][-layout.id_size :],
        ]


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "frame_truncated"),
        (b"\x03\x00" + bytes(15), "frame_truncated"),
        (b"\x00\x00" + bytes(16), "frame_magic"),
        (b"\x03\x01" + bytes(16), "compression"),
    ],
)
def test_bytes_that_are_no_frame_of_glue(value, code):
    good = frames.GLUE.written(bytes(16))
    with pytest.raises(DecodeError) as caught:
        split_frames(good + value, [0, len(good), len(good) + len(value)], frame=frames.GLUE)
    assert (caught.value.row, caught.value.offset, caught.value.code) == (1, len(good), code)


@pytest.mark.usefixtures("impl")
def test_arguments_that_do_not_fit_a_frame():
    for call in (
        lambda: split_frames(b"", [0], frame=frames.NONE),
        lambda: split_frames(b"", [0], frame=frames.AZURE),
        lambda: split_frames(b"", [0], indexes=True, frame=frames.GLUE),
        lambda: join_frames(b"", [0], 7, frame=frames.GLUE),
        lambda: join_frames(b"", [0], guids=bytes(16), frame=frames.APICURIO),
    ):
        with pytest.raises(ConfigError):
            call()
    with pytest.raises(ValueError, match="16 bytes each"):
        join_frames(b"a", [0, 1], guids=bytes(8), frame=frames.GLUE)
    with pytest.raises(ValueError, match="2 ids or GUIDs for 1 rows"):
        join_frames(b"a", [0, 1], guids=bytes(32), frame=frames.GLUE)
