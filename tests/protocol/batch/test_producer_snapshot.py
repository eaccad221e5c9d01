"""Snapshots of producers."""

import struct

import pyarrow as pa
import pytest
from partition_files import name

from kcodec import DecodeError
from kcodec.protocol import read_segment
from kcodec.wire import crc32c


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
