"""The files of a partition: log segments, their indexes, snapshots of producers, and KRaft's checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from kcodec.arguments import FilePath, FileSystem
from kcodec.codec import report
from kcodec.columns.stream import stream
from kcodec.errors import ConfigError, check_choice
from kcodec.protocol.batch.indexes import read_offset_index, read_time_index, read_transaction_index
from kcodec.protocol.batch.partition_files import LOGS, open_file, suffix_of
from kcodec.protocol.batch.producer_snapshot import read_producer_snapshot
from kcodec.protocol.batch.read import BatchOptions, BatchSource, chunks_of
from kcodec.protocol.batch.schema import record_schema
from kcodec.protocol.batch.transactions import CommittedSegment

ISOLATION = ("read_uncommitted", "read_committed")

_ENTRIES = {
    ".index": read_offset_index,
    ".timeindex": read_time_index,
    ".txnindex": read_transaction_index,
    ".snapshot": read_producer_snapshot,
}


def read_segment(
    path: FilePath,
    *,
    isolation: str = "read_uncommitted",
    filesystem: FileSystem | None = None,
    **options: Any,
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
    check_choice("isolation", isolation, ISOLATION)
    suffix = suffix_of(path)
    if suffix not in LOGS:
        if options or isolation != ISOLATION[0]:
            raise ConfigError(f"a {suffix} takes no option but filesystem")
        return _ENTRIES[suffix](path, filesystem=filesystem)
    source = _records(path, isolation, filesystem, BatchOptions.of(options))
    schema = record_schema(source.options.views)
    table = pa.Table.from_batches(_chunks(source, path, filesystem), schema)
    return (table, report(source.faults)) if source.options.errors == "report" else table


def stream_segment(
    path: FilePath,
    *,
    isolation: str = "read_uncommitted",
    filesystem: FileSystem | None = None,
    **options: Any,
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

    Raises
    ------
    ConfigError
        If an option is not one of these, or the file is no log by its suffix.
    DecodeError
        While it is read, as for `read_segment`.

    Examples
    --------
    >>> import pathlib
    >>> from kcodec.protocol import write_batches
    >>> path = pathlib.Path("00000000000000000200.log")
    >>> path.write_bytes(write_batches(pa.table({"value": [b"a", b"b"]}), base_offset=200))
    77
    >>> stream_segment(path).read_all().column("offset").to_pylist()
    [200, 201]
    """
    check_choice("isolation", isolation, ISOLATION)
    chosen = BatchOptions.of(options)
    if chosen.errors == "report":
        raise ConfigError("errors='report' is not for streams: raise or skip")
    if suffix_of(path) not in LOGS:
        raise ConfigError(f"{path} is not a log: read_segment reads it")
    source = _records(path, isolation, filesystem, chosen)
    return stream(record_schema(chosen.views), _chunks(source, path, filesystem))


def _records(
    path: FilePath, isolation: str, filesystem: FileSystem | None, options: BatchOptions
) -> BatchSource:
    is_committed = isolation == "read_committed" and suffix_of(path) == ".log"
    return BatchSource(options, CommittedSegment(path, filesystem).keep if is_committed else None)


def _chunks(source: BatchSource, path: FilePath, filesystem: FileSystem | None) -> Iterator[pa.RecordBatch]:
    with open_file(path, filesystem) as file:
        yield from chunks_of(file, source)
