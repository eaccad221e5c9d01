"""The Confluent prefix of a column's rows, on both implementations."""

from array import array

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from kcodec._impl import IMPLEMENTATIONS, kernel
from kcodec.columns.framed.frames import Indexes, decode_frames, frame_prefix, framed_rows, payload_starts
from kcodec.errors import CODES, ConfigError, EncodeError, Fault
from kcodec.frames import APICURIO, APICURIO_GLOBAL_ID, APICURIO_LEGACY, GLUE, SINGLE_OBJECT, Frame
from kcodec.wire import encode_message_indexes

GUID = bytes(range(16))
LAYOUTS = [pa.binary(), pa.large_binary(), pa.binary_view()]
TEXTS = [pa.string(), pa.large_string(), pa.string_view()]


def framed(schema_id, payload=b""):
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def both(values, indexes=False):
    """Read a column's frames with each implementation; the answers must be one and the same."""
    native, pure = (
        kernel("columns.framed._frames", impl).decode_frames(values, indexes) for impl in IMPLEMENTATIONS
    )
    assert native == pure
    selector, starts, keys, faults, _ = native
    return list(array("i", bytes(selector))), list(array("i", bytes(starts))), keys, faults


def frame_fault(row, code):
    return Fault(row, 0, "", code, CODES[code])


@pytest.mark.parametrize("kind", LAYOUTS, ids=str)
def test_each_layout(kind):
    rows = [framed(7, b"a" * 20), None, framed(1 << 20), b"\1" + GUID + b"x", framed(7, b"b"), None]
    values = pa.array(rows, kind)
    assert both(values) == ([0, -1, 1, 2, 0, -1], [5, 0, 5, 17, 5, 0], [7, 1 << 20, GUID], [])


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", [*LAYOUTS, *TEXTS], ids=str)
def test_rows_that_look_framed(kind, impl, monkeypatch):
    monkeypatch.setenv("KCODEC_IMPL", impl)
    rows = [
        b"{}",
        framed(7, b"a"),
        None,
        framed(7),
        framed(0, b"a"),
        framed(1 << 24, b"a"),
        b"",
        framed(9, b"bc"),
    ]
    values = pa.array(rows, pa.binary()).cast(kind)
    assert framed_rows(values, pa.array([9, *range(8)], pa.int64())[1:]) == [
        (1, "CONFLUENT", 7),
        (7, "CONFLUENT", 9),
    ]
    assert framed_rows(values[1:], pa.array([0, 1, 6], pa.int64())) == [
        (0, "CONFLUENT", 7),
        (2, "CONFLUENT", 9),
    ]


def test_fixed_width():
    assert both(pa.array([framed(3, b"ab"), None, framed(4, b"cd")], pa.binary(7))) == (
        [0, -1, 1],
        [5, 0, 5],
        [3, 4],
        [],
    )


@pytest.mark.parametrize("kind", [pa.binary(0), pa.binary(4)], ids=str)
def test_fixed_width_too_short_for_a_frame(kind):
    values = pa.array([bytes(kind.byte_width)] * 2, kind)
    assert both(values)[3] == [frame_fault(row, "frame_truncated") for row in range(2)]


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_text_columns(kind):
    values = pa.array(["\0\0\0\0\1{}", None, "{}", "é"], kind)
    assert both(values) == (
        [0, -1, -2, -2],
        [5, 0, 0, 0],
        [1],
        [frame_fault(2, "frame_magic"), frame_fault(3, "frame_magic")],
    )


@pytest.mark.parametrize("kind", LAYOUTS, ids=str)
def test_slices(kind):
    rows = [framed(row % 3, b"p" * row) if row % 4 else None for row in range(20)]
    values = pa.array(rows, kind)
    for first in (0, 1, 7, 19, 20):
        for size in (0, 1, 9, 20):
            assert both(values.slice(first, size)) == both(pa.array(rows[first : first + size], kind))


@pytest.mark.parametrize("schema_id", [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_ids_are_unsigned(schema_id):
    assert both(pa.array([framed(schema_id)]))[2] == [schema_id]


def test_an_id_is_not_a_guid_of_the_same_bits():
    same = framed(5)[1:].rjust(8, b"\0") + bytes(8)
    assert both(pa.array([framed(5), b"\1" + same, framed(5)])) == ([0, 1, 0], [5, 17, 5], [5, same], [])


def test_guids_that_differ_in_one_half():
    guids = [bytes(15) + b"\1", b"\1" + bytes(15), b"\1" * 16, bytes(16)]
    rows = [b"\1" + guid for guid in guids]
    assert both(pa.array(rows * 2)) == ([0, 1, 2, 3] * 2, [17] * 8, guids, [])


@pytest.mark.parametrize("count", [31, 32, 33, 64, 65, 1000])
def test_many_keys(count):
    keys = [schema_id * 0x01000193 & 0xFFFFFFFF for schema_id in range(count)]
    values = pa.array([framed(key) for key in keys] + [framed(key) for key in reversed(keys)])
    selector, _, found, faults = both(values)
    assert found == keys
    assert selector == [*range(count), *reversed(range(count))]
    assert not faults


def test_many_guids():
    guids = [
        number.to_bytes(8, "big") + (number ^ number >> 3).to_bytes(8, "little") for number in range(500)
    ]
    assert both(pa.array([b"\1" + guid for guid in guids]))[2] == guids


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (b"", "frame_truncated"),
        (b"\0", "frame_truncated"),
        (b"\0\0\0\0", "frame_truncated"),
        (b"\1" + GUID[:15], "frame_truncated"),
        (b"\2", "frame_magic"),
        (b"\xff\0\0\0\1abc", "frame_magic"),
        (b"{}", "frame_magic"),
    ],
)
def test_bad_frames(row, code):
    values = pa.array([framed(1), row, framed(1), row])
    assert both(values) == ([0, -2, 0, -2], [5, 0, 5, 0], [1], [frame_fault(1, code), frame_fault(3, code)])


def test_no_rows_and_only_nulls():
    assert both(pa.array([], pa.binary())) == ([], [], [], [])
    assert both(pa.nulls(3, pa.binary())) == ([-1] * 3, [0] * 3, [], [])


def test_the_public_answer(impl):
    frames = decode_frames(pa.array([framed(9, b"x")]))
    assert (frames.keys, list(frames.starts), frames.faults) == ([9], [5, 0, 0, 0], [])


def common(rows, indexes=False):
    """Return the common frame as each implementation finds it, which must be one and the same."""
    values = pa.array(rows, pa.binary())
    native, pure = (
        kernel("columns.framed._frames", impl).common_frame(values, indexes) for impl in IMPLEMENTATIONS
    )
    assert native == pure
    return native


def test_the_frame_that_rows_have_in_common():
    assert common([None, framed(7, b"a"), framed(7), None, framed(7, b"b")]) == (framed(7), 7)
    assert common([b"\1" + GUID + b"x", b"\1" + GUID]) == (b"\1" + GUID, GUID)
    assert common([framed(7, b"\4\2\0abc"), framed(7, b"\4\2\0")], indexes=True) == (
        framed(7, b"\4\2\0"),
        (7, (1, 0)),
    )
    assert common([framed(7), framed(8)]) is None
    assert common([framed(7), b"\0\0"]) is None
    assert common([b"{}", framed(7)]) is None
    assert common([]) is common([None, None]) is None
    # Only some rows are looked at, whichever way.
    rows = [framed(7)] * 100
    assert common([*rows, framed(8), *rows]) == (framed(7), 7)
    assert common([*rows[:50], *[framed(8)] * 20, *rows]) is None


def test_where_a_payload_starts():
    starts = array("i", [5, 17]).tobytes()
    assert [payload_starts(memoryview(starts))(row) for row in range(2)] == [5, 17]
    assert payload_starts(b"\0\0\0\0\7")(1) == 5
    assert payload_starts(None)(1) == 0


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.binary(max_size=20),
            st.builds(framed, st.integers(0, 300), st.binary(max_size=3)),
            st.binary(min_size=16, max_size=18).map(lambda rest: b"\1" + rest),
        ),
        max_size=12,
    ),
    st.sampled_from(LAYOUTS),
    st.integers(0, 12),
)
def test_any_bytes(rows, kind, first):
    selector, starts, keys, faults = both(pa.array(rows, kind).slice(first))
    assert common(rows[first:]) is None or keys[0] == common(rows[first:])[1]
    bad = [fault.row for fault in faults]
    for row, value in enumerate(rows[first:]):
        assert (selector[row] == -1) == (value is None)
        assert (selector[row] == -2) == (row in bad)
        if selector[row] >= 0:
            key = keys[selector[row]]
            assert value[: starts[row]] == (framed(key) if isinstance(key, int) else b"\1" + key)


def written(value):
    """Return the zigzag varint of an integer."""
    value = value << 1 if value >= 0 else ~(value << 1)
    made = b""
    while value > 0x7F:
        made += bytes([value & 0x7F | 0x80])
        value >>= 7
    return made + bytes([value])


class TestMessageIndexes:
    def test_keys_are_pairs(self):
        rows = [
            framed(7, b"\0x"),
            None,
            framed(7, b"\2\0x"),
            framed(7, b"\4\2\0"),
            b"\1" + GUID + b"\2\2yy",
            framed(8, b"\0"),
            framed(7, b"\x84\0\2\0"),
        ]
        keys = [(7, (0,)), (7, (1, 0)), (GUID, (1,)), (8, (0,))]
        for kind in LAYOUTS:
            assert both(pa.array(rows, kind), indexes=True) == (
                [0, -1, 0, 1, 2, 3, 1],
                [6, 0, 7, 8, 19, 6, 9],
                keys,
                [],
            )

    @cases(
        ("indexes", "code"),
        [
            (b"", "frame_truncated"),
            (b"\x04\x00", "frame_truncated"),
            (b"\x80", "frame_truncated"),
            (b"\x01", "negative_length"),
            (b"\xff\xff\xff\xff\x0f", "negative_length"),
            (b"\xfe\xff\xff\xff\x0f", "size_limit"),
            (b"\x82\x10" + bytes(1025), "size_limit"),
            (b"\x02\x01", "out_of_range"),
            (b"\x04\x00\xff\xff\xff\xff\x0f", "out_of_range"),
            (b"\x80\x80\x80\x80\x80\x00", "varint_overlong"),
            (b"\x02\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", "varint_overlong"),
            (b"\x02\xff\xff\xff\xff\x1f", "varint_overflow"),
        ],
    )
    @cases("kind", LAYOUTS, ids=str)
    def test_bad_indexes(self, indexes, code, kind):
        values = pa.array([framed(1, b"\0"), framed(1, indexes), b"", framed(1, b"\2\2")], kind)
        faults = [
            Fault(1, 5, "", code, f"message indexes: {CODES[code]}", 1),
            frame_fault(2, "frame_truncated"),
        ]
        assert both(values, indexes=True) == ([0, -2, -2, 1], [6, 0, 0, 7], [(1, (0,)), (1, (1,))], faults)

    def test_long_lists_and_many_of_them(self):
        lists = [tuple(range(first, first + 1024 - first % 3)) for first in range(300)]
        rows = [framed(1, b"".join(map(written, (len(each), *each)))) for each in lists]
        selector, starts, keys, faults = both(pa.array(rows + rows[::-1]), indexes=True)
        assert keys == [(1, each) for each in lists]
        assert selector == [*range(300), *reversed(range(300))]
        assert starts[:300] == [len(row) for row in rows]
        assert not faults

    def test_lists_that_begin_alike(self):
        lists = [(1,), (1, 0), (1, 0, 0), (0, 1), (0,), (2**31 - 1,)]
        rows = [framed(1, b"".join(map(written, (len(each), *each)))) for each in lists]
        assert both(pa.array(rows), indexes=True)[2] == [(1, each) for each in lists]

    @given(
        st.lists(
            st.one_of(
                st.none(),
                st.binary(max_size=12),
                st.binary(max_size=12).map(lambda tail: framed(1, tail)),
                st.binary(max_size=30).map(lambda tail: b"\1" + GUID + tail),
                st.lists(st.integers(-2, 3), max_size=4).map(
                    lambda levels: framed(2, b"".join(map(written, (len(levels), *levels))))
                ),
            ),
            max_size=12,
        ),
        st.sampled_from(LAYOUTS),
    )
    def test_any_bytes(self, rows, kind):
        selector, starts, keys, faults = both(pa.array(rows, kind), indexes=True)
        bad = [fault.row for fault in faults]
        for row, value in enumerate(rows):
            assert (selector[row] == -2) == (row in bad)
            if selector[row] >= 0:
                key, levels = keys[selector[row]]
                assert levels
                assert value.startswith(frame_prefix(key))
                assert starts[row] <= len(value)


class TestPrefix:
    def test_what_payloads_stand_behind(self, impl):
        assert frame_prefix(7) == framed(7)
        assert frame_prefix(0xFFFFFFFF, (0,)) == framed(0xFFFFFFFF, b"\0")
        assert frame_prefix(GUID, [1, 2**31 - 1]) == b"\1" + GUID + encode_message_indexes([1, 2**31 - 1])
        assert frame_prefix(1, range(1024))[5:] == encode_message_indexes(range(1024))

    def test_what_is_refused(self, impl):
        for indexes, code in ((range(1025), "size_limit"), ((1, -1), "out_of_range")):
            with pytest.raises(EncodeError, match=code):
                frame_prefix(1, indexes)
        with pytest.raises(ValueError, match="16 bytes"):
            frame_prefix(b"short")
        # A registry may answer with any number.
        for number in (-1, 1 << 32, 1 << 64):
            with pytest.raises(ConfigError, match="does not fit the 4 bytes"):
                frame_prefix(number)


PROTOBUF_KINDS = (Indexes.NONE, Indexes.ZIGZAG, Indexes.PLAIN, Indexes.NUMBER, Indexes.BYTES)
OWN_FRAMES = [
    GLUE,
    APICURIO,
    APICURIO_LEGACY,
    SINGLE_OBJECT,
    APICURIO_GLOBAL_ID,
    Frame(b"\xca\xfe", 16, "bytes", "zlib"),
    Frame(b"12345678", 8, "bytes"),
    Frame(b"", 4, compression="none"),
]


def both_read(values, frame, indexes=Indexes.NONE):
    """Read frames that are not Confluent's with each implementation; the answers must be one and the same."""
    native, pure = (
        kernel("columns.framed._frames", impl).decode_frames(values, indexes, frame.layout)
        for impl in IMPLEMENTATIONS
    )
    assert native == pure
    selector, starts, keys, faults, packed = native
    return list(array("i", bytes(selector))), list(array("i", bytes(starts))), keys, faults, packed


@cases("kind", LAYOUTS, ids=str)
@cases("frame", OWN_FRAMES, ids=repr)
def test_frames_that_are_not_confluents(frame, kind):
    if frame.id_type == "int":
        ids = [7, 2**31, 2**40 if frame.id_size == 8 else 9]
    else:
        ids = [bytes([at]) * frame.id_size for at in (1, 2, 255)]
    one, two, three = (frame.written(each) for each in ids)
    values = pa.array([one + b"a", None, two, one, three + b"b" * 30, three], kind)
    size = frame.size
    assert both_read(values, frame) == (
        [0, -1, 1, 0, 2, 2],
        [size, 0, size, size, size, size],
        ids,
        [],
        [frame.compression == "zlib"] * 3,
    )
    cut = pa.array([one[:at] for at in range(size)], kind)
    assert [fault.code for fault in both_read(cut, frame)[3]] == ["frame_truncated"] * size
    if frame.prefix:
        wrong = pa.array([b"\xff" + one[1:], one], kind)
        assert [(fault.row, fault.code) for fault in both_read(wrong, frame)[3]] == [(0, "frame_magic")]


@pytest.mark.parametrize("mark", [1, 4, 6, 255])
def test_a_byte_of_compression_that_nobody_knows(mark):
    values = pa.array([b"\x03" + bytes([mark]) + GUID, b"\x03\x00" + GUID, b"\x03\x05" + GUID])
    selector, _, keys, faults, packed = both_read(values, GLUE)
    assert (selector, keys, packed) == ([-2, 0, 1], [GUID, GUID], [False, True])
    assert [(fault.row, fault.code) for fault in faults] == [(0, "compression")]
    assert "neither 0 nor 5" in faults[0].reason


def test_negative_ids_of_eight_bytes():
    assert both_read(pa.array([b"\0" + b"\xff" * 8]), APICURIO)[2] == [-1]
    assert both_read(pa.array([b"\0" + b"\xff" * 4]), APICURIO_LEGACY)[2] == [2**32 - 1]


@pytest.mark.parametrize(
    ("frame", "kind", "named"),
    [
        (GLUE, Indexes.NUMBER, (300,)),
        (APICURIO, Indexes.BYTES, tuple(b"\n\x05Order")),
        (APICURIO, Indexes.BYTES, ()),
    ],
)
def test_what_names_a_message_instead_of_indexes(frame, kind, named):
    key = 7 if frame.id_type == "int" else GUID
    whole = frame_prefix(key, named, kind, frame)
    values = pa.array([whole + b"abc", whole, whole[:-1]])
    selector, starts, keys, faults, _ = both_read(values, frame, kind)
    assert (selector, starts[:2], keys) == ([0, 0, -2], [len(whole)] * 2, [(key, named)])
    assert [(fault.code, fault.offset) for fault in faults] == [("frame_truncated", frame.size)]


def test_more_bytes_than_a_name_has():
    long = APICURIO.written(7) + b"\x81\x08" + bytes(1025)
    assert [fault.code for fault in both_read(pa.array([long]), APICURIO, Indexes.BYTES)[3]] == ["size_limit"]


@given(
    st.sampled_from(OWN_FRAMES),
    st.sampled_from(PROTOBUF_KINDS),
    st.lists(
        st.none() | st.binary(max_size=40) | st.tuples(st.integers(0, 3), st.binary(max_size=30)), max_size=30
    ),
)
def test_any_bytes_on_both_implementations(frame, kind, rows):
    heads = [
        frame.written(each if frame.id_type == "int" else bytes([each]) * frame.id_size) for each in range(4)
    ]
    values = pa.array(
        [heads[row[0]] + row[1] if isinstance(row, tuple) else row for row in rows], pa.binary()
    )
    selector, starts, keys, faults, packed = both_read(values, frame, kind)
    for row, (number, start) in enumerate(zip(selector, starts, strict=True)):
        value = values[row].as_py()
        assert (number == -1) == (value is None)
        if number >= 0:
            assert 0 < start <= len(value)
            key = keys[number][0] if kind else keys[number]
            mark = len(frame.prefix)
            assert (
                frame.read(
                    value[:mark]
                    + heads[0][mark : mark + bool(frame.compression)]
                    + value[mark + bool(frame.compression) : frame.size]
                )
                == key
            )
    assert [fault.row for fault in faults] == [row for row, number in enumerate(selector) if number == -2]
    assert len(packed) == len(keys)
    native, pure = (
        kernel("columns.framed._frames", impl).common_frame(values, kind, frame.layout)
        for impl in IMPLEMENTATIONS
    )
    assert native == pure


def test_rows_that_begin_like_other_frames():
    rows = [
        GLUE.written(GUID),
        b"\x03\x07" + GUID,
        SINGLE_OBJECT.written(GUID[:8]),
        b"\xc3\x01\x00",
        APICURIO.written(9),
        APICURIO.written(1 << 60),
        b"\x01" + GUID,
    ]
    values, numbers = pa.array(rows), pa.array(range(len(rows)), pa.int64())
    expected = [(0, "GLUE", GUID), (2, "SINGLE_OBJECT", GUID[:8]), (4, "APICURIO", 9)]
    for impl in IMPLEMENTATIONS:
        found = kernel("columns.framed._frames", impl).framed_rows(
            values, memoryview(numbers.buffers()[1]).cast("B").cast("q")
        )
        assert found == expected
