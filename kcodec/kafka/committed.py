"""Which batches of a fetch response a consumer that reads committed records sees."""

from typing import Any

import numpy as np
import pyarrow as pa

from kcodec.kafka.fetcher import Piece
from kcodec.protocol.batch.read import BatchOptions, BatchSource
from kcodec.protocol.batch.schema import CONTROL_BATCH, TRANSACTIONAL

__all__ = ["CommittedBatches"]


class CommittedBatches:
    """The batches of a piece without those of aborted transactions.

    A transaction that the broker lists as aborted begins at its first offset and ends with its producer's next marker
    that says so.
    """

    def __init__(self, piece: Piece) -> None:
        markers = _abort_markers(piece.records)
        #: First and last offsets of aborted transactions, by producer.
        self._aborted: dict[int, list[tuple[int, int]]] = {}
        for producer, first in piece.aborted:
            ends = [at for at in markers.get(producer, ()) if at >= first]
            self._aborted.setdefault(producer, []).append((first, min(ends, default=(1 << 63) - 1)))

    def keep(self, _: int, scan: Any) -> bytes:
        """Return a byte for each batch of a scan: whether it is committed."""
        found = scan.headers()
        kind = found["attributes"] & (TRANSACTIONAL | CONTROL_BATCH)
        keep = np.ones(len(found), np.uint8)
        for row in np.flatnonzero((found["magic"] == 2) & (kind == TRANSACTIONAL)).tolist():
            offset = int(found["offset"][row])
            spans = self._aborted.get(int(found["producer_id"][row]), ())
            keep[row] = not any(first <= offset <= last for first, last in spans)
        return keep.tobytes()


def _abort_markers(records: pa.Buffer) -> dict[int, list[int]]:
    """Return the offsets of the markers that end aborted transactions, by producer."""
    found: dict[int, list[int]] = {}
    source = BatchSource(BatchOptions(check_crc=False, control="only", errors="skip"))
    for chunk in source.buffer(records):
        kinds = chunk.column("control_type").cast(pa.string()).to_pylist()
        for kind, producer, offset in zip(
            kinds, chunk.column("producer_id").to_pylist(), chunk.column("offset").to_pylist(), strict=True
        ):
            if kind == "ABORT":
                found.setdefault(producer, []).append(offset)
    return found
