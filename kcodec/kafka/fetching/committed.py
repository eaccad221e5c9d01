"""Which batches of a fetch response are visible to a consumer that reads committed records."""

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec.kafka.fetching.fetcher import Piece
from kcodec.protocol.batch.read import BatchOptions, BatchSource
from kcodec.protocol.batch.schema import CONTROL_BATCH, TRANSACTIONAL


class CommittedPiece:
    """The batches of a piece without those of aborted transactions.

    A transaction that the broker lists as aborted begins at its first offset and ends with its producer's next marker
    that says so. `unread` are the offsets of markers whose keys do not tell what they are: Java's consumers stop there,
    and what comes behind them is no part of the transaction.
    """

    def __init__(self, piece: Piece) -> None:
        markers, unread = _abort_markers(piece.records)
        #: First offsets of aborted transactions by producer, and the last ones, both in order.
        self._aborted: dict[int, tuple[list[int], list[int]]] = {}
        self.unread: list[int] = []
        for producer, first in _ordered(piece.aborted):
            ends = markers.get(producer, [])
            at = bisect_left(ends, first)
            last = ends[at] if at < len(ends) else (1 << 63) - 1
            firsts, lasts = self._aborted.setdefault(producer, ([], []))
            firsts.append(first)
            lasts.append(last)
            if last in unread:
                self.unread.append(last)

    def keep(self, _: int, scan: Any) -> bytes:
        """Return a byte for each batch of a scan: whether it is committed."""
        found = scan.headers()
        kind = found["attributes"] & (TRANSACTIONAL | CONTROL_BATCH)
        keep = np.ones(len(found), np.uint8)
        for row in np.flatnonzero((found["magic"] == 2) & (kind == TRANSACTIONAL)).tolist():
            offset = int(found["offset"][row])
            firsts, lasts = self._aborted.get(int(found["producer_id"][row]), ((), ()))
            # The transaction that began last is the one that ends last.
            number = bisect_right(firsts, offset) - 1
            keep[row] = number < 0 or offset > lasts[number]
        return keep.tobytes()


def _ordered(aborted: Any) -> list[list[int]]:
    """Return transactions by their first offsets, each once, even if a broker lists it several times."""
    return np.unique(aborted[:, ::-1], axis=0)[:, ::-1].tolist()


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
