"""Record batches and log segments."""

import os
import tempfile
from pathlib import Path

import pyarrow as pa

from kcodec.protocol import list_batches, read_batches, read_segment, stream_segment, write_batches

from . import ROWS


def _table(value_bytes: int) -> pa.Table:
    rows = range(ROWS)
    return pa.table(
        {
            "timestamp": pa.array([1_700_000_000_000 + 7 * row for row in rows], pa.int64()),
            "key": [b"key-%06d" % row for row in rows],
            "value": [
                (b'{"id":%d,"v":"' % row).ljust(value_bytes, b"abcdefghij"[row % 10 : row % 10 + 1])
                for row in rows
            ],
        }
    )


class Read:
    """Batches of 128 KiB, by codec."""

    params = (["none", "gzip", "snappy", "lz4", "zstd"], [100, 1000])
    param_names = ("codec", "value_bytes")

    def setup(self, codec: str, value_bytes: int) -> None:
        self.data = pa.py_buffer(write_batches(_table(value_bytes), compression=codec, max_bytes=128 << 10))

    def time_read(self, codec: str, value_bytes: int) -> None:
        read_batches(self.data)

    def time_read_copied(self, codec: str, value_bytes: int) -> None:
        read_batches(self.data, views=False)

    def time_list(self, codec: str, value_bytes: int) -> None:
        list_batches(self.data)


class Write:
    """The same, written."""

    params = (["none", "lz4"], [100, 1000])
    param_names = ("codec", "value_bytes")

    def setup(self, codec: str, value_bytes: int) -> None:
        self.table = _table(value_bytes)

    def time_write(self, codec: str, value_bytes: int) -> None:
        write_batches(self.table, compression=codec, max_bytes=128 << 10)


class Segment:
    """A file of uncompressed batches, whole and as a stream; memory at its peak with the process."""

    repeats = 20

    def setup(self) -> None:
        file, name = tempfile.mkstemp(suffix=".log", prefix="00000000000000000000")
        os.close(file)
        self.path = Path(name)
        self.path.write_bytes(write_batches(_table(1000), max_bytes=128 << 10) * self.repeats)

    def teardown(self) -> None:
        self.path.unlink()

    def time_segment(self) -> None:
        read_segment(self.path)

    def time_stream(self) -> None:
        for _ in stream_segment(self.path):
            pass

    def peakmem_stream(self) -> None:
        for _ in stream_segment(self.path):
            pass
