"""How far a command is, on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kcodec.cli.terminal import Terminal

if TYPE_CHECKING:
    import pyarrow as pa


class Progress:
    """What was read or written so far, on a terminal."""

    def __init__(self) -> None:
        self._terminal = sys.stderr if isinstance(sys.stderr, Terminal) else None
        self._start = self._last = time.monotonic()
        self._records = self._bytes = 0

    def add(self, batch: pa.RecordBatch, lag: int | None = None) -> None:
        """Count a batch, and show the sum every half a second."""
        self._records += len(batch)
        self._bytes += batch.get_total_buffer_size()
        now = time.monotonic()
        if self._terminal is not None and now - self._last > 0.5:
            self._last = now
            rate = self._records / max(now - self._start, 0.001)
            behind = "" if lag is None else f", lag {lag:,}"
            self._terminal.show_line(
                f"{self._records:,} records, {self._bytes / 1e6:,.1f} MB, {rate:,.0f} a second{behind}"
            )

    def clear(self) -> None:
        """Leave the line, for others to write there."""
        if self._terminal is not None:
            self._terminal.clear_line()
