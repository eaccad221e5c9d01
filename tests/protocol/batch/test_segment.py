"""Log segments, what a committed reader sees of them, and the files beside them."""

import struct

import pyarrow as pa
import pyarrow.fs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcodec import ConfigError, DecodeError
from kcodec.protocol import list_batches, read_batches, read_segment, stream_segment, write_batches
from kcodec.wire import crc32c

ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"


def name(offset: int, suffix: str = "log") -> str:
    return f"{offset:020d}.{suffix}"


def data(offset: int, producer: int | None = None, count: int = 1, codec: str = "none") -> bytes:
    """Return a batch, of a transaction if there is a producer."""
    rows = list(range(offset, offset + count))
    table = pa.table(
        {
            "offset": rows,
            "value": [b"%d" % row for row in rows],
            "producer_id": [-1 if producer is None else producer] * count,
            "transactional": [producer is not None] * count,
        }
    )
    return write_batches(table, codec=codec)


def marker(offset: int, producer: int, key: bytes) -> bytes:
    table = pa.table(
        {
            "offset": [offset],
            "key": [key],
            "value": [struct.pack(">hi", 0, 3)],
            "producer_id": [producer],
            "transactional": [True],
            "control": [True],
        }
    )
    return write_batches(table)


#: Producer 1 commits, 2 aborts, 1 aborts, 3 aborts in the next segment, 4 commits there, 5 ends nowhere.
FIRST = b"".join(
    [
        data(0, 1),
        data(1),
        data(2, 2, 2, "zstd"),
        marker(4, 1, COMMIT),
        data(5, 2),
        marker(6, 2, ABORT),
        data(7, 1),
        data(8, 2),
        marker(9, 1, ABORT),
        marker(10, 2, COMMIT),
        data(11, 3),
        data(12, 4),
        data(13),
    ]
)
SECOND = b"".join([data(14, 3), marker(15, 3, ABORT), marker(16, 4, COMMIT), data(17), data(18, 5), data(19)])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / name(0)).write_bytes(FIRST)
    (tmp_path / name(14)).write_bytes(SECOND)
    return tmp_path


def offsets(path, **options) -> list[int]:
    return read_segment(path, **options).column("offset").to_pylist()


def test_uncommitted(impl, folder):
    assert offsets(folder / name(0)) == [0, 1, 2, 3, 5, 7, 8, 11, 12, 13]
    assert offsets(folder / name(0), control="only") == [4, 6, 9, 10]
    assert read_segment(folder / name(0)).equals(read_batches(FIRST))


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


def entry(producer: int, first: int, last: int, stable: int) -> bytes:
    return struct.pack(">hqqqq", 0, producer, first, last, stable)


def snapshot(*producers: tuple[int, int]) -> bytes:
    entries = [struct.pack(">qhiqiqiq", one, 0, 0, 0, 0, 0, 0, first) for one, first in producers]
    body = struct.pack(">i", len(entries)) + b"".join(entries)
    return struct.pack(">hI", 1, crc32c(body)) + body


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


def test_checkpoints_and_passing_names(impl, tmp_path):
    for file in ("00000000000000000042-0000000003.checkpoint", "bootstrap.checkpoint", name(0) + ".deleted"):
        (tmp_path / file).write_bytes(data(5, count=3))
        assert offsets(tmp_path / file) == [5, 6, 7]
        assert offsets(tmp_path / file, isolation="read_committed") == [5, 6, 7]


def test_faults_are_reported(impl, tmp_path):
    good = data(0)
    (tmp_path / name(0)).write_bytes(good + good[:-1] + b"x" + data(2))
    table, faults = read_segment(tmp_path / name(0), errors="report")
    assert table.column("offset").to_pylist() == [0, 2]
    assert faults.select(["row", "code"]).to_pylist() == [{"row": 1, "code": "crc_mismatch"}]
    assert offsets(tmp_path / name(0), errors="skip") == [0, 2]
    with pytest.raises(DecodeError):
        read_segment(tmp_path / name(0))
    assert list_batches(tmp_path / name(0)).column("crc_valid").to_pylist() == [True, False, True]


def test_other_filesystems(impl, folder):
    filesystem = pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem())
    for isolation in ("read_uncommitted", "read_committed"):
        there = read_segment(name(0), filesystem=filesystem, isolation=isolation)
        assert there.to_pylist() == read_segment(folder / name(0), isolation=isolation).to_pylist()
    (folder / name(0, "index")).write_bytes(struct.pack(">ii", 3, 99))
    assert read_segment(name(0, "index"), filesystem=filesystem).to_pylist() == [
        {"offset": 3, "position": 99}
    ]


def test_indexes(impl, tmp_path):
    index = tmp_path / name(1000, "index")
    index.write_bytes(struct.pack(">iiii", 7, 100, 12, 250))
    assert read_segment(index).to_pylist() == [
        {"offset": 1007, "position": 100},
        {"offset": 1012, "position": 250},
    ]
    index.write_bytes(index.read_bytes() + bytes(80))
    assert read_segment(index).num_rows == 2
    for empty in (b"", bytes(80)):
        index.write_bytes(empty)
        assert read_segment(index).num_rows == 0
    times = tmp_path / name(1000, "timeindex")
    times.write_bytes(struct.pack(">qiqi", 5, 7, 9, 12) + bytes(24))
    table = read_segment(times)
    assert table.column("timestamp").cast(pa.int64()).to_pylist() == [5, 9]
    assert table.column("offset").to_pylist() == [1007, 1012]
    times.write_bytes(bytes(24))
    assert read_segment(times).num_rows == 0
    transactions = tmp_path / name(1000, "txnindex")
    transactions.write_bytes(entry(7, 1000, 1010, 1000))
    assert read_segment(transactions).to_pylist() == [
        {
            "version": 0,
            "producer_id": 7,
            "first_offset": 1000,
            "last_offset": 1010,
            "last_stable_offset": 1000,
        }
    ]


def test_producer_snapshots(impl, tmp_path):
    path = tmp_path / name(9, "snapshot")
    entries = struct.pack(">qhiqiqiq", 7, 1, 5, 111, 1, 2000, 5, -1) + struct.pack(
        ">qhiqiqiq", 8, 0, -1, -1, 0, -1, -1, 150
    )
    body = struct.pack(">i", 2) + entries
    good = struct.pack(">hI", 1, crc32c(body)) + body
    path.write_bytes(good)
    table = read_segment(path)
    assert table.column("producer_id").to_pylist() == [7, 8]
    assert table.column("current_txn_first_offset").to_pylist() == [None, 150]
    assert table.column("timestamp").cast(pa.int64()).to_pylist() == [2000, None]
    long = struct.pack(">i", 3) + entries
    for content, code in [
        (b"", "truncated"),
        (good[:5], "truncated"),
        (b"\0\2" + good[2:], "unsupported_version"),
        (good[:-1] + b"\0", "crc_mismatch"),
        (good[:-1], "crc_mismatch"),
        (struct.pack(">hI", 1, crc32c(long)) + long, "block_count"),
    ]:
        path.write_bytes(content)
        with pytest.raises(DecodeError) as caught:
            read_segment(path)
        assert caught.value.code == code


@pytest.mark.parametrize(("suffix", "size"), [("index", 8), ("timeindex", 12), ("txnindex", 34)])
def test_cut_entries(tmp_path, suffix, size):
    path = tmp_path / name(0, suffix)
    path.write_bytes(b"\0\0" + b"\1" * (2 * size - 3))
    with pytest.raises(DecodeError) as caught:
        read_segment(path)
    assert (caught.value.code, caught.value.row, caught.value.offset) == ("truncated", 1, size)


def test_what_is_refused(tmp_path, folder):
    for call, match in [
        (lambda: read_segment("a.txt"), "is not one of .log, .checkpoint, .index"),
        (lambda: read_segment(folder / name(0), isolation="serializable"), "not one of read_uncommitted"),
        (lambda: read_segment(folder / name(0, "index"), check_crc=False), "takes no option"),
        (lambda: read_segment(folder / name(0), control="x"), "control='x'"),
        (lambda: stream_segment(folder / name(0, "index")), "is not a log"),
        (lambda: stream_segment(folder / name(0), isolation="x"), "isolation='x'"),
        (lambda: stream_segment(folder / name(0), errors="report"), "not for streams"),
    ]:
        with pytest.raises(ConfigError, match=match):
            call()
    (tmp_path / "x.index").write_bytes(b"")
    with pytest.raises(ConfigError, match="does not start with an offset"):
        read_segment(tmp_path / "x.index")
    (tmp_path / name(3, "txnindex")).write_bytes(b"\0\1" + bytes(32))
    with pytest.raises(DecodeError, match="unsupported_version"):
        read_segment(tmp_path / name(3, "txnindex"))
    with pytest.raises(FileNotFoundError):
        read_segment(tmp_path / name(99))
