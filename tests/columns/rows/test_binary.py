"""Arrays of Python's bytes, and lists of them, on both implementations."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcodec._impl import IMPLEMENTATIONS, kernel
from kcodec.columns.arrays.given import arrays

BINARY = [pa.binary(), pa.large_binary(), pa.binary_view()]
OTHERS = st.binary(max_size=40).flatmap(
    lambda data: st.sampled_from([data, bytearray(data), memoryview(data), memoryview(data)[::2]])
)


def both(values, **options):
    """Make an array with each implementation; the answers must be one and the same."""
    native, pure = (
        kernel("columns.rows._binary", impl).binary_array(values, **options) for impl in IMPLEMENTATIONS
    )
    if native is not None:
        native.validate(full=True)
        assert native.equals(pure)
    else:
        assert pure is None
    return native


@given(st.lists(st.none() | st.binary(max_size=40), max_size=40), st.sampled_from([list, tuple]))
def test_bytes(rows, kind):
    assert both(kind(rows)).equals(pa.array(rows, pa.binary()))


@given(st.lists(st.none() | OTHERS | st.text(max_size=9), max_size=20))
def test_what_holds_bytes(rows):
    plain = [each.encode() if isinstance(each, str) else each and bytes(each) for each in rows]
    assert both(rows, others=True).equals(pa.array(plain, pa.binary()))


@pytest.mark.parametrize(
    "value",
    [bytearray(b"a"), memoryview(b"a"), "a", 7, 1.5, [b"a"], {1}],
    ids=lambda value: type(value).__name__,
)
def test_other_values(value):
    assert both([b"a", None, value]) is None
    if not isinstance(value, (bytearray, memoryview, str)):
        assert both([b"a", value], others=True) is None


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
def test_text_that_is_no_utf8(impl, monkeypatch):
    monkeypatch.setenv("KCODEC_IMPL", impl)
    with pytest.raises(TypeError, match="a list holds bytes and None"):
        arrays(["\ud800"])


def test_lists_longer_than_a_block():
    """Sizes that the first values say nothing of, and nulls on both sides of the blocks' ends."""
    for rows in (
        [b"x"] * 5000 + [b"y" * 3000] * 900,
        [b"y" * 3000] * 900 + [b""] * 5000,
        [None if row % 1023 < 3 else b"z" * (row % 70) for row in range(9000)],
        [None] * 3000,
    ):
        found = both(rows)
        assert found.equals(pa.array(rows, pa.binary()))
        assert found.null_count == rows.count(None)


def test_other_values_in_a_late_block():
    rows = [b"x" * (row % 9) for row in range(2000)]
    rows[700], rows[1999] = bytearray(b"y" * 90_000), "z"
    assert both(rows) is None
    expected = [row.encode() if isinstance(row, str) else bytes(row) for row in rows]
    assert both(rows, others=True).equals(pa.array(expected, pa.binary()))


def test_a_list_that_shrinks_meanwhile():
    """A value that is asked for its bytes may run anything."""

    class Shrinking(str):
        def encode(self, *_):
            del rows[1000:]
            return b"!"

    rows = [Shrinking("a"), *[b"b"] * 5000]
    found = kernel("columns.rows._binary", "native").binary_array(rows, others=True)
    found.validate(full=True)
    assert found.to_pylist() == [b"!", *[b"b"] * (len(found) - 1)]


@given(st.data(), st.lists(st.none() | st.binary(max_size=40), max_size=20), st.sampled_from(BINARY))
def test_lists_of_bytes(data, rows, kind):
    start = data.draw(st.integers(0, len(rows)))
    column = pa.array(rows, kind).slice(start)
    for impl in IMPLEMENTATIONS:
        assert kernel("columns.rows._binary", impl).bytes_list(column) == rows[start:]


def test_lists_of_fixed_width():
    column = pa.array([b"abc", None, b"def"], pa.binary(3))
    for impl in IMPLEMENTATIONS:
        assert kernel("columns.rows._binary", impl).bytes_list(column) == [b"abc", None, b"def"]


def test_memory_is_used_again_when_nothing_holds_it():
    make = kernel("columns.rows._binary", "native").binary_array
    first = make([b"a" * 5000])
    address = first.buffers()[2].address
    # Of columns, of their parts, and of views of their memory.
    part = first.slice(0, 1)
    del first
    other = make([b"b" * 5000])
    assert other.buffers()[2].address != address
    del other
    view = memoryview(part.buffers()[2])
    del part
    assert make([b"c" * 5000]).buffers()[2].address != address
    assert bytes(view) == b"a" * 5000
    del view
    one, two = make([b"d" * 5000]), make([b"e" * 5000])
    assert (one.to_pylist(), two.to_pylist()) == ([b"d" * 5000], [b"e" * 5000])


def test_memory_of_many_threads():
    make = kernel("columns.rows._binary", "native").binary_array

    def work(number):
        letter = bytes([97 + number])
        for size in range(1, 400):
            rows = [letter * size] * size
            assert make(rows).to_pylist() == rows

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
