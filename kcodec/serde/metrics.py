"""What a serde has read so far, and the log that tells of it."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kcodec._fork import fork_safe_lock
from kcodec.columns.faults import Faults
from kcodec.errors import Fault
from kcodec.frames import key_text

#: The package's logger. Its records carry their facts as attributes too, see `Meter`.
logger = logging.getLogger("kcodec")

_DEBUG = logging.DEBUG
#: Values that wait to be counted.
_MOST_ALONE = 1000


@dataclass(frozen=True, slots=True)
class SerdeMetrics:
    """Counts of what a serde has read in this process.

    Attributes
    ----------
    batches : int
        Columns, or chunks of them.
    rows : int
        Values, nulls included.
    bad_rows : int
        Values that could not be read. With ``errors="raise"`` the first of a column ends it, and counts alone.
    schema_ids : int
        Different schema ids (or GUIDs) that stood in values and that the registry has.
    fetched : int
        Schemas asked of the registry by their id.

    Examples
    --------
    >>> SerdeMetrics(2, 200, 3, 1, 1) - SerdeMetrics(1, 100, 1, 1, 1)
    SerdeMetrics(batches=1, rows=100, bad_rows=2, schema_ids=0, fetched=0)
    """

    batches: int = 0
    rows: int = 0
    bad_rows: int = 0
    schema_ids: int = 0
    fetched: int = 0

    def __sub__(self, before: "SerdeMetrics") -> "SerdeMetrics":
        """Return what was read since an earlier count."""
        return SerdeMetrics(
            self.batches - before.batches,
            self.rows - before.rows,
            self.bad_rows - before.bad_rows,
            self.schema_ids - before.schema_ids,
            self.fetched - before.fetched,
        )


class Meter:
    """Counts for a serde, and logs.

    Each batch is a record of level DEBUG, or WARNING if it has bad rows, with the attributes ``rows``,
    ``bad_rows``, ``codes`` (how many rows by code), ``schema_ids`` and ``fetched``; each schema fetched one
    of level INFO with ``schema_id``. Of a single value that is an exception there is no warning: it tells the same.
    """

    def __init__(self) -> None:
        self._lock = fork_safe_lock()
        self._batches = self._rows = self._bad_rows = self._fetched = self._told = 0
        self._ids: set[int | bytes] = set()
        #: Of values that were read alone, the ids that are not counted yet: the lock takes as long as a small value.
        self._alone: list[int | bytes] = []

    def fetched(self, key: int | bytes, url: str) -> None:
        """Count a schema that was fetched."""
        with self._lock:
            self._fetched += 1
        name = key_text(key)
        logger.info("fetched schema %s from %s", name, url, extra={"schema_id": name})

    def read_one(self, key: int | bytes) -> None:
        """Count a batch of a single value that was decoded."""
        if logger.isEnabledFor(_DEBUG):
            self.read(1, (key,), ())
            return
        alone = self._alone
        alone.append(key)
        if len(alone) >= _MOST_ALONE:
            with self._lock:
                self._count_alone()

    def _count_alone(self) -> None:
        """Count, under the lock, what was read alone; other threads may add more meanwhile, at the end."""
        count = len(self._alone)
        self._ids.update(self._alone[:count])
        del self._alone[:count]
        self._batches += count
        self._rows += count

    def read(
        self, rows: int, ids: Iterable[int | bytes], faults: Sequence[Fault], *, raised: bool = False
    ) -> None:
        """Count a batch, of which the first fault may be raised."""
        bad = len(faults)
        ids = set(ids)
        with self._lock:
            self._batches += 1
            self._rows += rows
            self._bad_rows += bad
            self._ids |= ids
            fetched, self._told = self._fetched - self._told, self._fetched
        level = logging.WARNING if bad and not (raised and rows == 1) else _DEBUG
        if not logger.isEnabledFor(level):
            return
        codes = faults.codes() if isinstance(faults, Faults) else Counter(fault.code for fault in faults)
        facts = {
            "rows": rows,
            "bad_rows": bad,
            "codes": dict(codes),
            "schema_ids": len(ids),
            "fetched": fetched,
        }
        told = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))
        logger.log(
            level,
            "read %d rows: %d bad%s, %d schema ids, %d fetched",
            rows,
            bad,
            f" ({told})" if told else "",
            len(ids),
            fetched,
            extra=facts,
        )

    def metrics(self) -> SerdeMetrics:
        """Return the counts of this moment."""
        with self._lock:
            self._count_alone()
            return SerdeMetrics(self._batches, self._rows, self._bad_rows, len(self._ids), self._fetched)
