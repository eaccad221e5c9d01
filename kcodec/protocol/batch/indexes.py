"""The indexes beside a log segment: files of entries of one size, big-endian."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.arguments import FilePath, FileSystem
from kcodec.errors import CODES, DecodeError
from kcodec.protocol.batch.partition_files import base_offset_of, open_file
from kcodec.protocol.batch.schema import TIMESTAMP

_OFFSET_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
_TIME_ENTRY = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])
_TRANSACTION_ENTRY = np.dtype(
    [
        ("version", ">i2"),
        ("producer_id", ">i8"),
        ("first_offset", ">i8"),
        ("last_offset", ">i8"),
        ("last_stable_offset", ">i8"),
    ]
)


def _entries(path: FilePath, filesystem: "FileSystem | None", kind: np.dtype[Any]) -> Any:
    with open_file(path, filesystem) as file:
        data = file.read()
    count, surplus = divmod(len(data), kind.itemsize)
    if surplus:
        raise DecodeError(count, len(data) - surplus, "", "truncated", CODES["truncated"])
    return np.frombuffer(data, kind)


def entry_columns(entries: Any, names: Iterable[str]) -> dict[str, pa.Array]:
    """Return fields of an array of entries as columns."""
    return {name: pa.array(entries[name].astype(entries[name].dtype.newbyteorder("="))) for name in names}


def _offset_columns(
    path: FilePath, filesystem: "FileSystem | None", kind: np.dtype[Any]
) -> dict[str, pa.Array]:
    """Read an index from or to offsets, which its entries count from the base offset in its name."""
    entries = _entries(path, filesystem, kind)
    # A file preallocated by a running broker ends in zeros.
    padding = np.flatnonzero(entries["offset"][1:] == 0)
    entries = entries[: padding[0] + 1] if len(padding) else entries
    if len(entries) == 1 and not any(entries[0].item()):
        entries = entries[:0]
    columns = entry_columns(entries, kind.names or ())
    columns["offset"] = pc.add(columns["offset"].cast(pa.int64()), base_offset_of(path))
    return columns


def read_offset_index(path: FilePath, *, filesystem: "FileSystem | None" = None) -> pa.Table:
    """Read an ``.index``: ``offset``, the last one of a batch, and ``position``, where that batch starts."""
    return pa.table(_offset_columns(path, filesystem, _OFFSET_ENTRY))


def read_time_index(path: FilePath, *, filesystem: "FileSystem | None" = None) -> pa.Table:
    """Read a ``.timeindex``: ``timestamp``, the largest up to there, and ``offset``."""
    columns = _offset_columns(path, filesystem, _TIME_ENTRY)
    return pa.table({**columns, "timestamp": columns["timestamp"].cast(TIMESTAMP)})


def read_transaction_index(path: FilePath, *, filesystem: "FileSystem | None" = None) -> pa.Table:
    """Read a ``.txnindex``: the transactions whose abort marker is in the segment."""
    entries = _entries(path, filesystem, _TRANSACTION_ENTRY)
    newer = np.flatnonzero(entries["version"] != 0)
    if len(newer):
        code, row = "unsupported_version", int(newer[0])
        raise DecodeError(row, row * _TRANSACTION_ENTRY.itemsize, "", code, CODES[code])
    return pa.table(entry_columns(entries, _TRANSACTION_ENTRY.names or ()))
