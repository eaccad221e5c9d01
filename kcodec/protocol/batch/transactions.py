"""How the transactions in a log segment ended, and which batches a consumer of committed records sees."""

from typing import Any

import numpy as np
import pyarrow as pa

from kcodec.arguments import FilePath, FileSystem
from kcodec.errors import DecodeError
from kcodec.protocol.batch.indexes import read_transaction_index
from kcodec.protocol.batch.partition_files import beside, neighbours, open_file
from kcodec.protocol.batch.producer_snapshot import read_producer_snapshot
from kcodec.protocol.batch.read import BatchOptions, BatchSource, chunks_of
from kcodec.protocol.batch.schema import CONTROL_BATCH, TRANSACTIONAL

_NO_BATCHES = np.empty((0, 2), np.int64)
_NO_MARKERS = np.empty((0, 3), np.int64)


class CommittedSegment:
    """What a consumer that reads committed records sees of a segment.

    The batches of a producer's transaction end with its next marker; a transaction without one is open, and nothing
    from the first open one on is stable: `last_stable_offset`, None if all are.
    """

    def __init__(self, path: FilePath, filesystem: "FileSystem | None") -> None:
        before, following = neighbours(path, filesystem)
        batches, markers = _transactions(path, filesystem)
        open_batches, open_markers = _open_before(path, before, filesystem)
        batches = np.concatenate([open_batches, batches])
        aborted = _aborted(
            batches, [table for name in (path, *following) for table in _index(name, filesystem)]
        )
        state = _states(batches, np.concatenate([open_markers, markers]))
        for name in following:
            if not np.any((state < 0) & ~aborted):
                break
            later = _transactions(name, filesystem)[1]
            state = np.where(state < 0, _states(batches, later), state)
        aborted |= state == 1
        unstable = batches[:, 1][(state < 0) & ~aborted]
        self._aborted = np.unique(batches[:, 1][aborted])
        self.last_stable_offset = int(unstable.min()) if len(unstable) else None

    def keep(self, _: int, scan: Any) -> bytes:
        """Return a byte for each batch of a scan: whether it is committed."""
        found = scan.headers()
        keep = ~(_is_transactional(found) & np.isin(found["offset"], self._aborted))
        if self.last_stable_offset is not None:
            keep &= found["offset"] < self.last_stable_offset
        return bytes(keep.astype(np.uint8))


def _is_transactional(found: Any) -> Any:
    """Mark the data batches of transactions among the headers of a scan."""
    kind = found["attributes"] & (TRANSACTIONAL | CONTROL_BATCH)
    return (found["magic"] == 2) & (kind == TRANSACTIONAL)


def _open_before(path: FilePath, before: list[str], filesystem: "FileSystem | None") -> tuple[Any, Any]:
    """Find the transactions that are open where a segment starts, as `_transactions` does.

    A broker writes the state of the producers beside a segment when it starts it. Without that file the segments before
    are read.
    """
    try:
        table = _read_beside(path, ".snapshot", read_producer_snapshot, filesystem)
    except FileNotFoundError:
        found = [(_NO_BATCHES, _NO_MARKERS), *(_transactions(name, filesystem) for name in before)]
        batches, markers = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return batches, markers
    names = ("producer_id", "current_txn_first_offset")
    return _matrix(table.select(names).drop_null(), names), _NO_MARKERS


def _read_beside(path: FilePath, suffix: str, read: Any, filesystem: "FileSystem | None") -> pa.Table:
    """Read the entries that lie beside a segment; errors name the file, which is not the one that was asked for."""
    name = beside(path, suffix)
    try:
        return read(name, filesystem=filesystem)
    except DecodeError as error:
        reason = f"{error.reason}, in {name}"
        raise DecodeError(error.row, error.offset, error.path, error.code, reason) from error


def _transactions(path: FilePath, filesystem: "FileSystem | None") -> tuple[Any, Any]:
    """Read the batches and markers of transactions: rows of (producer, offset), and of (producer, offset, abort)."""
    batches, markers = [_NO_BATCHES], [_NO_MARKERS]

    def collect(_: int, scan: Any) -> None:
        found = scan.headers()
        found = found[_is_transactional(found)]
        batches.append(np.stack([found["producer_id"], found["offset"]], axis=1))

    source = BatchSource(BatchOptions(check_crc=False, control="only", errors="skip"), collect)
    with open_file(path, filesystem) as file:
        for chunk in chunks_of(file, source):
            kinds = chunk.column("control_type").cast(pa.string()).to_numpy(zero_copy_only=False)
            columns = (chunk.column("producer_id"), chunk.column("offset"))
            ends = np.stack([*(column.to_numpy() for column in columns), kinds == "ABORT"], axis=1)
            markers.append(ends[(kinds == "ABORT") | (kinds == "COMMIT")])
    return np.concatenate(batches), np.concatenate(markers)


def _states(batches: Any, markers: Any) -> Any:
    """Return the state of each batch's transaction: 0 committed, 1 aborted, -1 not ended by these markers."""
    markers = markers[np.lexsort((markers[:, 1], markers[:, 0]))]
    own, ends = _ranks(batches, markers[:, :2])
    place = np.searchsorted(ends, own)
    rows = np.flatnonzero(place < len(ends))
    rows = rows[markers[place[rows], 0] == batches[rows, 0]]
    state = np.full(len(batches), -1, np.int8)
    state[rows] = markers[place[rows], 2]
    return state


def _ranks(first: Any, second: Any) -> tuple[Any, Any]:
    """Return the places of the pairs of two arrays in their common order."""
    ranks = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)[1].reshape(-1)
    return ranks[: len(first)], ranks[len(first) :]


def _index(path: FilePath, filesystem: "FileSystem | None") -> list[pa.Table]:
    """Read the transaction index beside a segment, if there is one."""
    try:
        return [_read_beside(path, ".txnindex", read_transaction_index, filesystem)]
    except FileNotFoundError:
        return []


def _aborted(batches: Any, indexes: list[pa.Table]) -> Any:
    """Mark the batches that an index says are aborted; transactions of one producer do not overlap."""
    names = ("producer_id", "first_offset", "last_offset")
    entries = np.concatenate([_NO_MARKERS, *(_matrix(table, names) for table in indexes)])
    entries = entries[np.lexsort((entries[:, 1], entries[:, 0]))]
    own, starts = _ranks(batches, entries[:, :2])
    place = np.searchsorted(starts, own, side="right") - 1
    rows = np.flatnonzero(place >= 0)
    entry = entries[place[rows]]
    aborted = np.zeros(len(batches), bool)
    aborted[rows] = (entry[:, 0] == batches[rows, 0]) & (batches[rows, 1] <= entry[:, 2])
    return aborted


def _matrix(table: pa.Table, names: tuple[str, ...]) -> Any:
    """Return integer columns side by side."""
    return np.stack([table.column(name).to_numpy() for name in names], axis=1)
