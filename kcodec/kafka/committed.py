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
    that says so. `unread` are the offsets of markers whose keys do not tell what they are: Java's consumers stop there,
    and what comes behind them is no part of the transaction.
    """

    def __init__(self, piece: Piece) -> None:
        markers, unread = _abort_markers(piece.records)
        #: First and last offsets of aborted transactions, by producer.
        self._aborted: dict[int, list[tuple[int, int]]] = {}
        self.unread: list[int] = []
        for producer, first in piece.aborted:
            ends = [at for at in markers.get(producer, ()) if at >= first]
            last = min(ends, default=(1 << 63) - 1)
            self._aborted.setdefault(producer, []).append((first, last))
            if last in unread:
                self.unread.append(last)

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


def _abort_markers(records: pa.Buffer) -> tuple[dict[int, list[int]], set[int]]:
    """Return the offsets of the markers that end aborted transactions, by producer, and of those that cannot be read.

    The latter are among the former.
    """
    found: dict[int, list[int]] = {}
    unread = set()
    source = BatchSource(BatchOptions(check_crc=False, control="only", errors="skip"))
    for chunk in source.buffer(records):
        names = ("control_type", "key", "producer_id", "offset")
        kinds, *others = (chunk.column(name) for name in names)
        columns = (kinds.cast(pa.string()), *others)
        for kind, key, producer, offset in zip(*(each.to_pylist() for each in columns), strict=True):
            # A version and a type, of two bytes each; there is no negative version.
            is_unread = key is None or len(key) < 4 or key[0] >= 0x80
            if is_unread:
                unread.add(offset)
            if is_unread or kind == "ABORT":
                found.setdefault(producer, []).append(offset)
    return found, unread
