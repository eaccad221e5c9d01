"""The headers of record batches, as rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.protocol.batch.compression import CODECS
from kcodec.protocol.batch.read import BatchOptions, BatchSource, chunks_of
from kcodec.protocol.batch.schema import BATCHES, CONTROL_BATCH, DELETE_HORIZON, TRANSACTIONAL

#: Bytes of a file that are held at a time.
_WINDOW = 4 << 20


def list_batches(source: Any, *, check_crc: bool = True, max_decompressed: int = 1 << 30) -> pa.Table:
    """List the batches of a buffer or file by their headers.

    Parameters
    ----------
    source : buffer, pyarrow.Buffer, path, binary file or pyarrow.NativeFile
        Batches, back to back; of a file a few MiB are held at a time.
    check_crc : bool
        Whether to compare the checksums.
    max_decompressed : int
        As `read_batches`. Only compressed messages of magic 0 and 1 are looked into, for their first offset and their
        number.

    Returns
    -------
    pyarrow.Table
        One row a batch, of the schema `BATCHES`: ``position``, ``size`` (bytes, header included), ``magic``,
        ``compression`` (null if unknown), ``base_offset``, ``last_offset``, ``count``, ``timestamp_type``,
        ``base_timestamp``, ``max_timestamp``, ``delete_horizon``, ``partition_leader_epoch``, ``producer_id``,
        ``producer_epoch``, ``base_sequence``, ``last_sequence``, ``transactional``, ``control``, ``crc``,
        ``crc_valid`` (null if not compared). What follows the last one, at ``position + size``, is no whole
        batch.

    Raises
    ------
    DecodeError
        A header is none, as ``invalid_batch``.

    Examples
    --------
    >>> from kcodec.protocol import write_batches
    >>> batches = write_batches(pa.table({"value": [b"1", b"2"]}))
    >>> list_batches(batches).select(["size", "count", "compression"]).to_pylist()
    [{'size': 77, 'count': 2, 'compression': 'none'}]
    """
    options = BatchOptions(check_crc=check_crc, max_decompressed=max_decompressed)
    tables = [
        batch_table(scan, data, position, options)
        for scan, data, position in chunks_of(source, Scans(options), _WINDOW)
    ]
    return pa.concat_tables([BATCHES.empty_table(), *tables])


class Scans(BatchSource):
    """Batches of which only the headers are read: scans, each with its buffer and the buffer's position in the file."""

    def decode(self, scan: Any, data: pa.Buffer, position: int) -> Iterator[tuple[Any, pa.Buffer, int]]:
        """Return a scan as it is."""
        yield scan, data, position


def batch_table(scan: Any, data: pa.Buffer, position: int, options: BatchOptions) -> pa.Table:
    """Make the table of the batches of one scan, whose buffer is at a position in its file."""
    found = scan.headers()
    attributes, modern, base = found["attributes"], found["magic"] == 2, found["base_sequence"]
    codec = attributes & 7
    horizon = modern & (attributes & DELETE_HORIZON != 0)
    bases = pa.array(found["offset"])
    counts = pa.array(found["count"])
    inside = np.flatnonzero(~modern & (codec > 0))
    if len(inside):
        known = [
            _inside(data, found["position"][row], found["size"][row], options) for row in inside.tolist()
        ]
        rows = pa.array(np.isin(np.arange(len(found)), inside))
        bases = pc.replace_with_mask(bases, rows, pa.array([each[0] for each in known], pa.int64()))
        counts = pc.replace_with_mask(counts, rows, pa.array([each[1] for each in known], pa.int32()))
    with np.errstate(over="ignore"):
        columns = {
            "position": found["position"] + position,
            "size": found["size"],
            "magic": found["magic"],
            "compression": pa.array([*CODECS, None, None, None]).take(pa.array(codec)),
            "base_offset": bases,
            "last_offset": found["offset"] + found["last_delta"],
            "count": counts,
            "timestamp_type": np.where(
                found["magic"] == 0, np.int8(-1), (attributes >> 3 & 1).astype(np.int8)
            ),
            "base_timestamp": pa.array(
                found["base_timestamp"], mask=horizon | (found["base_timestamp"] == -1)
            ),
            "max_timestamp": pa.array(found["max_timestamp"], mask=found["max_timestamp"] == -1),
            "delete_horizon": pa.array(found["base_timestamp"], mask=~horizon),
            "partition_leader_epoch": found["leader_epoch"],
            "producer_id": found["producer_id"],
            "producer_epoch": found["producer_epoch"],
            "base_sequence": base,
            # After the largest sequence comes 0.
            "last_sequence": np.where(base < 0, -1, base + found["last_delta"] & 0x7FFFFFFF),
            "transactional": modern & (attributes & TRANSACTIONAL != 0),
            "control": modern & (attributes & CONTROL_BATCH != 0),
            "crc": found["crc"],
            "crc_valid": pa.array(found["crc_valid"] == 1, mask=found["crc_valid"] < 0),
        }
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in BATCHES]
    return pa.Table.from_arrays(arrays, schema=BATCHES)


def _inside(
    data: pa.Buffer, position: int, size: int, options: BatchOptions
) -> tuple[int | None, int | None]:
    """Find the first offset and the number of the messages in one; None if they cannot be read."""
    source = BatchSource(options._replace(check_crc=False, errors="skip"))
    offsets = [
        offset
        for chunk in source.buffer(data.slice(position, size))
        for offset in chunk.column("offset").to_pylist()
    ]
    return (offsets[0], len(offsets)) if offsets else (None, None)
