"""Snapshots of producers: int16 version | uint32 CRC-32C of what follows | int32 count | entries, big-endian."""

import numpy as np
import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.arguments import FilePath, FileSystem
from kcodec.errors import CODES, DecodeError
from kcodec.protocol.batch.indexes import entry_columns
from kcodec.protocol.batch.partition_files import open_file
from kcodec.protocol.batch.schema import TIMESTAMP

_VERSION = 1
_ENTRY = np.dtype(
    [
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("timestamp", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("current_txn_first_offset", ">i8"),
    ]
)


def read_producer_snapshot(path: FilePath, *, filesystem: "FileSystem | None" = None) -> pa.Table:
    """Read a ``.snapshot``: what a broker knows of the producers of a partition.

    ``offset_delta`` is the number of records of the last batch, less one; ``timestamp`` is null if there is none, and
    ``current_txn_first_offset`` if no transaction is open.
    """
    with open_file(path, filesystem) as file:
        data = file.read()
    code, offset = _fault(data)
    if code:
        raise DecodeError(0, offset, "", code, CODES[code])
    columns = entry_columns(np.frombuffer(data, _ENTRY, offset=10), _ENTRY.names or ())
    for name in ("timestamp", "current_txn_first_offset"):
        columns[name] = pc.if_else(pc.equal(columns[name], -1), pa.scalar(None, pa.int64()), columns[name])
    columns["timestamp"] = columns["timestamp"].cast(TIMESTAMP)
    return pa.table(columns)


def _fault(data: bytes) -> tuple[str, int]:
    """Return the code and the offset of what is wrong with a snapshot before its entries; ``""`` if nothing is."""
    if len(data) < 2:
        return "truncated", 0
    if int.from_bytes(data[:2], "big", signed=True) != _VERSION:
        return "unsupported_version", 0
    if len(data) < 10:
        return "truncated", 2
    if kernel("wire.buffers._crc32c").of_buffer(data[6:], 0) != int.from_bytes(data[2:6], "big"):
        return "crc_mismatch", 2
    if int.from_bytes(data[6:10], "big", signed=True) * _ENTRY.itemsize != len(data) - 10:
        return "block_count", 6
    return "", 0
