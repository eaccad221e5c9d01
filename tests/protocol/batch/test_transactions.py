"""What a committed reader sees of a segment, by the markers, indexes and snapshots of the folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from partition_files import ABORT, COMMIT, data, entry, marker, name, offsets, snapshot, write_segments

from kcodec import DecodeError
from kcodec.protocol import read_segment, stream_segment


@pytest.fixture
def folder(tmp_path):
    return write_segments(tmp_path)


def test_committed_by_markers(impl, folder):
    committed = {"isolation": "read_committed"}
    assert offsets(folder / name(0), **committed) == [0, 1, 8, 12, 13]
    # Producer 5 has neither committed nor aborted: nothing from its first record on is stable.
    assert offsets(folder / name(14), **committed) == [17]
    assert offsets(folder / name(14), control="keep", **committed) == [15, 16, 17]
    stream = stream_segment(str(folder / name(0)), **committed)
    assert stream.read_all().column("offset").to_pylist() == [0, 1, 8, 12, 13]
    (folder / name(14)).unlink()
    assert offsets(folder / name(0), **committed) == [0, 1, 8]


def test_transactions_that_are_open_where_a_segment_starts(impl, folder):
    committed = {"isolation": "read_committed"}
    (folder / name(14, "snapshot")).write_bytes(snapshot((3, 11), (4, 12), (5, -1)))
    assert offsets(folder / name(14), **committed) == [17]
    (folder / name(14, "snapshot")).write_bytes(snapshot((3, 11), (9, 13)))
    assert offsets(folder / name(14), **committed) == []
    (folder / name(20)).write_bytes(marker(20, 9, ABORT) + marker(21, 5, COMMIT))
    assert offsets(folder / name(14), **committed) == [17, 18, 19]


def test_committed_by_the_index(impl, folder):
    """Markers that compaction has removed are in the index still."""
    (folder / name(0)).write_bytes(data(0, 1) + data(1, 2) + data(2) + data(3, 2))
    (folder / name(14)).unlink()
    assert offsets(folder / name(0), isolation="read_committed") == []
    (folder / name(0, "txnindex")).write_bytes(entry(1, 0, 5, 0))
    assert offsets(folder / name(0), isolation="read_committed") == []
    (folder / name(14, "log")).write_bytes(b"")
    (folder / name(14, "txnindex")).write_bytes(entry(2, 1, 15, 1))
    assert offsets(folder / name(0), isolation="read_committed") == [2]


@given(
    steps=st.lists(st.tuples(st.sampled_from("wwwwacn"), st.integers(0, 2)), max_size=24),
    cut=st.integers(0, 24),
)
def test_committed_is_what_a_consumer_sees(steps, cut, tmp_path_factory):
    """Against a broker's rules, step by step, with the log cut into two segments."""
    root = tmp_path_factory.mktemp("log")
    segments, cut = [[], []], min(cut, len(steps))
    state: dict[int, str] = {}
    transactions: dict[int, list[int]] = {}
    for offset, (step, producer) in enumerate(steps):
        batch = data(offset)
        if step == "w":
            batch = data(offset, producer)
            transactions.setdefault(producer, []).append(offset)
            state[offset] = "open"
        elif step in "ac":
            batch = marker(offset, producer, ABORT if step == "a" else COMMIT)
            for each in transactions.pop(producer, []):
                state[each] = "aborted" if step == "a" else "committed"
        else:
            state[offset] = "committed"
        segments[offset >= cut].append(batch)
    stable = min((offset for offset, how in state.items() if how == "open"), default=len(steps))
    seen = []
    # Cut at 0 there is one segment.
    files = {0: segments[0], cut: segments[1]}
    for base, batches in files.items():
        (root / name(base)).write_bytes(b"".join(batches))
    for base in files:
        seen += offsets(root / name(base), isolation="read_committed")
    assert seen == [offset for offset, how in sorted(state.items()) if how == "committed" and offset < stable]


@pytest.mark.parametrize("suffix", ["txnindex", "snapshot"])
def test_errors_of_what_lies_beside_name_it(folder, suffix):
    other = folder / name(14, suffix)
    other.write_bytes(b"\0")
    with pytest.raises(DecodeError, match=f"truncated: row 0, byte 0: .*, in {other}"):
        read_segment(folder / name(14, "log"), isolation="read_committed")
