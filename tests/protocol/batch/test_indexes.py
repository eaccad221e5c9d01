"""The indexes beside a segment."""

import struct

import pyarrow as pa
import pytest
from partition_files import entry, name

from kcodec import DecodeError
from kcodec.protocol import read_segment


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


@pytest.mark.parametrize(("suffix", "size"), [("index", 8), ("timeindex", 12), ("txnindex", 34)])
def test_cut_entries(tmp_path, suffix, size):
    path = tmp_path / name(0, suffix)
    path.write_bytes(b"\0\0" + b"\1" * (2 * size - 3))
    with pytest.raises(DecodeError) as caught:
        read_segment(path)
    assert (caught.value.code, caught.value.row, caught.value.offset) == ("truncated", 1, size)
