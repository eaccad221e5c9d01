"""Records one by one, as Python objects made of columns."""

import functools
from collections import namedtuple
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from kcodec.errors import check_kind
from kcodec.objects.rows import rows

#: Rows whose objects are made together.
_ROWS = 1024


@functools.lru_cache(64)
def _kind(names: tuple[str, ...]) -> Any:
    return namedtuple("Record", names, rename=True)  # noqa: PYI024


def records(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """Give the rows of batches one by one, as named tuples.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        What `read` returns, or others. Those of a follower are better taken by `Follower.records`, which keeps its
        positions at the record in hand.

    Yields
    ------
    Record
        A named tuple with the names of the columns, such as ``record.key``, ``record.value`` and ``record.offset``; a
        name that is none in Python is its place, ``_3``. Its objects are those of `kcodec.rows`.

    Raises
    ------
    KafkaError, RecordError
        As the batches do.
    ConfigError
        For what is no batch, such as the columns that a table gives one by one.
    OverflowError
        For a date or time outside the years 1 to 9999.

    Examples
    --------
    >>> for record in records([pa.record_batch({"value": ["a", None], "offset": [7, 8]})]):
    ...     print(record.offset, record.value)
    7 a
    8 None
    """
    for batch in batches:
        check_kind(pa.RecordBatch, "a batch, such as a table has in to_batches()", batches=batch)
        make = _kind(tuple(batch.schema.names))._make
        for start in range(0, batch.num_rows, _ROWS):
            part = batch.slice(start, _ROWS)
            yield from map(make, zip(*map(rows, part.columns), strict=True))
