"""Files of a partition, written for tests: segments of transactions, entries of indexes, snapshots."""

import struct
from pathlib import Path

import pyarrow as pa

from kcodec.protocol import read_segment, write_batches
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
    return write_batches(table, compression=codec)


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


def write_segments(folder: Path) -> Path:
    (folder / name(0)).write_bytes(FIRST)
    (folder / name(14)).write_bytes(SECOND)
    return folder


def offsets(path, **options) -> list[int]:
    return read_segment(path, **options).column("offset").to_pylist()


def entry(producer: int, first: int, last: int, stable: int) -> bytes:
    return struct.pack(">hqqqq", 0, producer, first, last, stable)


def snapshot(*producers: tuple[int, int]) -> bytes:
    entries = [struct.pack(">qhiqiqiq", one, 0, 0, 0, 0, 0, 0, first) for one, first in producers]
    body = struct.pack(">i", len(entries)) + b"".join(entries)
    return struct.pack(">hI", 1, crc32c(body)) + body
