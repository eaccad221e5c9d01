"""The files of a partition: log segments, their indexes, snapshots of producers, and KRaft's checkpoints."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kcodec._impl import kernel
from kcodec.codec import report
from kcodec.errors import CODES, ConfigError, DecodeError
from kcodec.protocol.batch.read import BatchOptions, BatchSource, chunks_of, record_schema
from kcodec.protocol.batch.schema import CONTROL_BATCH, TIMESTAMP, TRANSACTIONAL

__all__ = [
    "ISOLATION",
    "read_offset_index",
    "read_producer_snapshot",
    "read_segment",
    "read_time_index",
    "read_transaction_index",
    "stream_segment",
]

ISOLATION = ("read_uncommitted", "read_committed")

#: What a broker appends to the name of a file that is about to go or to come.
_PASSING = re.compile(r"\.(deleted|cleaned|swap)$")
_SNAPSHOT_VERSION = 1

_OFFSET_ENTRY = [("offset", ">i4"), ("position", ">i4")]
_TIME_ENTRY = [("timestamp", ">i8"), ("offset", ">i4")]
_TRANSACTION_ENTRY = [
    ("version", ">i2"),
    ("producer_id", ">i8"),
    ("first_offset", ">i8"),
    ("last_offset", ">i8"),
    ("last_stable_offset", ">i8"),
]
_PRODUCER_ENTRY = [
    ("producer_id", ">i8"),
    ("producer_epoch", ">i2"),
    ("last_sequence", ">i4"),
    ("last_offset", ">i8"),
    ("offset_delta", ">i4"),
    ("timestamp", ">i8"),
    ("coordinator_epoch", ">i4"),
    ("current_txn_first_offset", ">i8"),
]


def read_segment(
    path: Any, *, isolation: str = "read_uncommitted", filesystem: Any = None, **options: Any
) -> Any:
    r"""Read a file of a partition's folder, of the kind its suffix says.

    Parameters
    ----------
    path : path
        ``.log`` and ``.checkpoint``: record batches. ``.index``, ``.timeindex``, ``.txnindex``: entries of the index,
        with whole offsets. ``.snapshot``: the state of producers. What a broker is about to delete or has just cleaned
        (``.deleted``, ``.cleaned``, ``.swap``) counts as what it was.
    isolation : {"read_uncommitted", "read_committed"}
        Of a ``.log``: whether to leave out the records of transactions that were aborted, and all from the first one on
        that is still open, as a consumer sees it. A transaction that ends in another segment is looked up there: in the
        transaction indexes and the markers of those that follow in the folder.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the path is; by default the local one.
    **options
        Of record batches those of `read_batches`.

    Returns
    -------
    pyarrow.Table
        Records as `read_batches` returns them, or entries.

    Raises
    ------
    DecodeError
        The file is not what its suffix says.
    ConfigError
        An option, or the suffix, is not one of these.

    Examples
    --------
    >>> import pathlib
    >>> from kcodec.protocol import write_batches
    >>> path = pathlib.Path("00000000000000000100.log")
    >>> path.write_bytes(write_batches(pa.table({"value": [b"a", b"b"]}), base_offset=100))
    77
    >>> read_segment(path).column("offset").to_pylist()
    [100, 101]
    >>> pathlib.Path("00000000000000000100.index").write_bytes(b"\0\0\0\1\0\0\0\0")
    8
    >>> read_segment("00000000000000000100.index").to_pylist()
    [{'offset': 101, 'position': 0}]
    """
    _check_isolation(isolation)
    suffix = suffix_of(path)
    if suffix in _ENTRIES:
        if options or isolation != ISOLATION[0]:
            raise ConfigError(f"a {suffix} takes no option but filesystem")
        return _ENTRIES[suffix](path, filesystem=filesystem)
    source = _records(path, isolation, filesystem, BatchOptions.of(options))
    schema = record_schema(source.options.views)
    table = pa.Table.from_batches(_chunks(source, path, filesystem), schema)
    return (table, report(source.faults)) if source.options.errors == "report" else table


def stream_segment(
    path: Any, *, isolation: str = "read_uncommitted", filesystem: Any = None, **options: Any
) -> pa.RecordBatchReader:
    """Read a ``.log`` or ``.checkpoint`` in memory that does not depend on its size.

    Parameters
    ----------
    path, isolation, filesystem, **options
        As `read_segment`; ``errors`` is ``raise`` or ``skip``.

    Returns
    -------
    pyarrow.RecordBatchReader
        The same columns in the same order.
    """
    _check_isolation(isolation)
    chosen = BatchOptions.of(options)
    if chosen.errors == "report":
        raise ConfigError("errors='report' is not for streams: raise or skip")
    if suffix_of(path) in _ENTRIES:
        raise ConfigError(f"{path} is not a log: read_segment reads it")
    source = _records(path, isolation, filesystem, chosen)
    return pa.RecordBatchReader.from_batches(record_schema(chosen.views), _chunks(source, path, filesystem))


def suffix_of(path: Any) -> str:
    """Return the suffix that says what a file is.

    Raises
    ------
    ConfigError
        It is none of a partition's.
    """
    suffix = PurePosixPath(_PASSING.sub("", os.fspath(path))).suffix
    if suffix not in (".log", ".checkpoint", *_ENTRIES):
        known = ", ".join((".log", ".checkpoint", *_ENTRIES))
        raise ConfigError(f"the suffix of {os.fspath(path)} is not one of {known}")
    return suffix


def base_offset_of(path: Any) -> int:
    """Return the offset that a file's name starts with.

    Raises
    ------
    ConfigError
        It does not start with one.
    """
    name = re.split(r"[/\\]", os.fspath(path))[-1]
    digits = name.split(".")[0]
    if not re.fullmatch("[0-9]{1,20}", digits):
        raise ConfigError(f"{name} does not start with an offset, as 00000000000000000000.index does")
    return int(digits)


def _check_isolation(isolation: str) -> None:
    if isolation not in ISOLATION:
        raise ConfigError(f"isolation={isolation!r} is not one of {', '.join(ISOLATION)}")


def _records(path: Any, isolation: str, filesystem: Any, options: BatchOptions) -> BatchSource:
    keep = None
    if isolation == "read_committed" and suffix_of(path) == ".log":
        keep = _Committed(path, filesystem).keep
    return BatchSource(options, keep)


def _chunks(source: BatchSource, path: Any, filesystem: Any) -> Iterator[pa.RecordBatch]:
    if filesystem is None:
        yield from chunks_of(path, source)
        return
    with filesystem.open_input_file(os.fspath(path)) as file:
        yield from chunks_of(file, source)


class _Committed:
    """What a consumer that reads committed records sees of a segment.

    The batches of a producer's transaction end with its next marker; a transaction without one is open, and nothing
    from the first open one on is stable.
    """

    def __init__(self, path: Any, filesystem: Any) -> None:
        import numpy as np

        before, following = _neighbours(path, filesystem)
        batches, markers = _transactions(path, filesystem)
        earlier = _open_before(path, before, filesystem)
        batches, markers = np.concatenate([earlier[0], batches]), np.concatenate([earlier[1], markers])
        aborted = _aborted(
            batches, [table for name in (path, *following) for table in _index(name, filesystem)]
        )
        state = _resolve(batches, markers)
        for name in following:
            if not np.any((state < 0) & ~aborted):
                break
            later = _transactions(name, filesystem)[1]
            state = np.where(state < 0, _resolve(batches, later), state)
        aborted |= state == 1
        unstable = batches[:, 1][(state < 0) & ~aborted]
        self._aborted = np.unique(batches[:, 1][aborted])
        #: The first offset that is not stable.
        self.last_stable_offset = int(unstable.min()) if len(unstable) else None

    def keep(self, _: int, scan: Any) -> bytes:
        """Tell which batches of a scan are committed."""
        import numpy as np

        found = scan.headers()
        keep = ~(_is_transactional(found) & np.isin(found["offset"], self._aborted))
        if self.last_stable_offset is not None:
            keep &= found["offset"] < self.last_stable_offset
        return bytes(keep.astype(np.uint8))


def _is_transactional(found: Any) -> Any:
    """Mark the data batches of transactions among the headers of a scan."""
    kind = found["attributes"] & (TRANSACTIONAL | CONTROL_BATCH)
    return (found["magic"] == 2) & (kind == TRANSACTIONAL)


def _neighbours(path: Any, filesystem: Any) -> tuple[list[str], list[str]]:
    """List the segments of the same folder that come before and after one, in order."""
    folder, base = os.path.dirname(os.fspath(path)), base_offset_of(path)
    if filesystem is None:
        names = os.listdir(folder or ".")
    else:
        import pyarrow.fs

        names = [each.base_name for each in filesystem.get_file_info(pyarrow.fs.FileSelector(folder))]
    logs = sorted(name for name in names if re.fullmatch(r"[0-9]{20}\.log", name))
    before = [os.path.join(folder, name) for name in logs if int(name[:20]) < base]
    return before, [os.path.join(folder, name) for name in logs if int(name[:20]) > base]


def _open_before(path: Any, before: list[str], filesystem: Any) -> tuple[Any, Any]:
    """Find the transactions that are open where a segment starts, as `_transactions` does.

    A broker writes the state of the producers beside a segment when it starts it. Without that file the segments before
    are read.
    """
    import numpy as np

    markers = np.empty((0, 3), np.int64)
    try:
        table = _read_beside(path, ".snapshot", filesystem)
    except FileNotFoundError:
        found = [_transactions(name, filesystem) for name in before]
        batches = [np.empty((0, 2), np.int64), *(each[0] for each in found)]
        return np.concatenate(batches), np.concatenate([markers, *(each[1] for each in found)])
    names = ("producer_id", "current_txn_first_offset")
    return _matrix(table.select(names).drop_null(), names), markers


def _read_beside(path: Any, suffix: str, filesystem: Any) -> pa.Table:
    """Read the entries that lie beside a segment; errors name the file, which is not the one that was asked for."""
    name = re.sub(r"\.log$", suffix, _PASSING.sub("", os.fspath(path)))
    try:
        return _ENTRIES[suffix](name, filesystem=filesystem)
    except DecodeError as error:
        reason = f"{error.reason}, in {name}"
        raise DecodeError(error.row, error.offset, error.path, error.code, reason) from error


def _transactions(path: Any, filesystem: Any) -> tuple[Any, Any]:
    """Read the batches and markers of transactions: rows of (producer, offset), and of (producer, offset, abort)."""
    import numpy as np

    batches = [np.empty((0, 2), np.int64)]

    def collect(_: int, scan: Any) -> None:
        found = scan.headers()
        found = found[_is_transactional(found)]
        batches.append(np.stack([found["producer_id"], found["offset"]], axis=1))

    source = BatchSource(BatchOptions(check_crc=False, control="only", errors="skip"), collect)
    markers = [np.empty((0, 3), np.int64)]
    for chunk in _chunks(source, path, filesystem):
        kinds = chunk.column("control_type").cast(pa.string()).to_numpy(zero_copy_only=False)
        columns = (chunk.column("producer_id"), chunk.column("offset"))
        ends = np.stack([*(column.to_numpy() for column in columns), kinds == "ABORT"], axis=1)
        markers.append(ends[(kinds == "ABORT") | (kinds == "COMMIT")])
    return np.concatenate(batches), np.concatenate(markers)


def _resolve(batches: Any, markers: Any) -> Any:
    """Tell of each batch how its transaction ended: 0 committed, 1 aborted, -1 not among these markers."""
    import numpy as np

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
    import numpy as np

    ranks = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)[1].reshape(-1)
    return ranks[: len(first)], ranks[len(first) :]


def _index(path: Any, filesystem: Any) -> list[pa.Table]:
    """Read the transaction index beside a segment, if there is one."""
    try:
        return [_read_beside(path, ".txnindex", filesystem)]
    except FileNotFoundError:
        return []


def _aborted(batches: Any, indexes: list[pa.Table]) -> Any:
    """Mark the batches that an index says are aborted; transactions of one producer do not overlap."""
    import numpy as np

    names = ("producer_id", "first_offset", "last_offset")
    entries = np.concatenate([np.empty((0, 3), np.int64), *(_matrix(table, names) for table in indexes)])
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
    import numpy as np

    return np.stack([table.column(name).to_numpy() for name in names], axis=1)


# --------------------------------------------------------------------------------------------------- entries


def _entries(path: Any, filesystem: Any, entry: list[tuple[str, str]]) -> Any:
    """Read a file of entries of one size."""
    import numpy as np

    data, kind = _content(path, filesystem), np.dtype(entry)
    count, rest = divmod(len(data), kind.itemsize)
    if rest:
        raise _error(count, len(data) - rest, "truncated")
    return np.frombuffer(data, kind)


def _content(path: Any, filesystem: Any) -> bytes:
    if filesystem is None:
        with open(path, "rb") as file:
            return file.read()
    with filesystem.open_input_file(os.fspath(path)) as file:
        content: bytes = file.read()
        return content


def _error(row: int, offset: int, code: str) -> DecodeError:
    return DecodeError(row, offset, "", code, CODES[code])


def _table(entries: Any, names: list[str]) -> dict[str, pa.Array]:
    return {name: pa.array(entries[name].astype(entries[name].dtype.newbyteorder("="))) for name in names}


def _without_padding(entries: Any) -> Any:
    """Leave out the zeros that a file preallocated by a running broker ends in."""
    import numpy as np

    empty = np.flatnonzero(entries["offset"][1:] == 0)
    return entries[: empty[0] + 1] if len(empty) else entries


def read_offset_index(path: Any, *, filesystem: Any = None) -> pa.Table:
    """Read an ``.index``: from offsets to positions in the segment.

    Parameters
    ----------
    path, filesystem
        As `read_segment`. The name starts with the base offset, which entries count from.

    Returns
    -------
    pyarrow.Table
        ``offset`` (the last one of a batch) and ``position`` (where that batch starts).

    Raises
    ------
    DecodeError
        It ends in part of an entry: ``truncated``.
    """
    entries = _without_padding(_entries(path, filesystem, _OFFSET_ENTRY))
    if len(entries) == 1 and not entries["offset"][0] and not entries["position"][0]:
        entries = entries[:0]
    columns = _table(entries, ["offset", "position"])
    offsets = pc.add(columns["offset"].cast(pa.int64()), base_offset_of(path))
    return pa.table({"offset": offsets, "position": columns["position"]})


def read_time_index(path: Any, *, filesystem: Any = None) -> pa.Table:
    """Read a ``.timeindex``: from timestamps to offsets.

    Parameters
    ----------
    path, filesystem
        As `read_segment`. The name starts with the base offset, which entries count from.

    Returns
    -------
    pyarrow.Table
        ``timestamp`` (the largest up to there) and ``offset``.

    Raises
    ------
    DecodeError
        It ends in part of an entry: ``truncated``.
    """
    entries = _without_padding(_entries(path, filesystem, _TIME_ENTRY))
    if len(entries) == 1 and not entries["offset"][0] and not entries["timestamp"][0]:
        entries = entries[:0]
    columns = _table(entries, ["timestamp", "offset"])
    offsets = pc.add(columns["offset"].cast(pa.int64()), base_offset_of(path))
    return pa.table({"timestamp": columns["timestamp"].cast(TIMESTAMP), "offset": offsets})


def read_transaction_index(path: Any, *, filesystem: Any = None) -> pa.Table:
    """Read a ``.txnindex``: the transactions whose abort marker is in the segment.

    Parameters
    ----------
    path, filesystem
        As `read_segment`.

    Returns
    -------
    pyarrow.Table
        ``version``, ``producer_id``, ``first_offset``, ``last_offset`` and ``last_stable_offset``.

    Raises
    ------
    DecodeError
        An entry of another version (``unsupported_version``), or part of one (``truncated``).
    """
    import numpy as np

    entries = _entries(path, filesystem, _TRANSACTION_ENTRY)
    other = np.flatnonzero(entries["version"] != 0)
    if len(other):
        raise _error(int(other[0]), int(other[0]) * entries.dtype.itemsize, "unsupported_version")
    return pa.table(_table(entries, [name for name, _ in _TRANSACTION_ENTRY]))


def read_producer_snapshot(path: Any, *, filesystem: Any = None) -> pa.Table:
    """Read a ``.snapshot``: what a broker knows of the producers of a partition.

    Parameters
    ----------
    path, filesystem
        As `read_segment`.

    Returns
    -------
    pyarrow.Table
        ``producer_id``, ``producer_epoch``, ``last_sequence``, ``last_offset``, ``offset_delta`` (records of the last
        batch, less one), ``timestamp`` (null if there is none), ``coordinator_epoch`` and ``current_txn_first_offset``
        (null if no transaction is open).

    Raises
    ------
    DecodeError
        Another version (``unsupported_version``), another checksum than of its bytes (``crc_mismatch``), or a count
        that is not that of its entries (``block_count``).
    """
    import numpy as np

    # int16 version | uint32 CRC-32C of what follows | int32 count | entries
    data = _content(path, filesystem)
    if len(data) < 2:
        raise _error(0, 0, "truncated")
    if int.from_bytes(data[:2], "big", signed=True) != _SNAPSHOT_VERSION:
        raise _error(0, 0, "unsupported_version")
    if len(data) < 10:
        raise _error(0, 2, "truncated")
    if kernel("wire._crc32c").of_buffer(data[6:], 0) != int.from_bytes(data[2:6], "big"):
        raise _error(0, 2, "crc_mismatch")
    kind = np.dtype(_PRODUCER_ENTRY)
    if int.from_bytes(data[6:10], "big", signed=True) * kind.itemsize != len(data) - 10:
        raise _error(0, 6, "block_count")
    columns = _table(np.frombuffer(data, kind, offset=10), [name for name, _ in _PRODUCER_ENTRY])
    for name in ("timestamp", "current_txn_first_offset"):
        columns[name] = pc.if_else(pc.equal(columns[name], -1), pa.scalar(None, pa.int64()), columns[name])
    columns["timestamp"] = columns["timestamp"].cast(TIMESTAMP)
    return pa.table(columns)


_ENTRIES = {
    ".index": read_offset_index,
    ".timeindex": read_time_index,
    ".txnindex": read_transaction_index,
    ".snapshot": read_producer_snapshot,
}
