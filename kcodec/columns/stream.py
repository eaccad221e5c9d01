"""Readers of batches that are made as they are read."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from kcodec.errors import KcodecError

__all__ = ["stream"]


class _Lasting(Iterator[pa.RecordBatch]):
    """Batches up to an error, which is raised whenever another is asked for; a generator would then be at its end."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._failure: Exception | None = None

    def __next__(self) -> pa.RecordBatch:
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except BaseException as error:
            self._failure = error if isinstance(error, Exception) else KcodecError("reading was interrupted")
            raise


def stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Return a reader of batches that are made as it is read; after an error it has no end.

    Examples
    --------
    >>> schema = pa.schema({"id": pa.int64()})
    >>> stream(schema, (pa.record_batch([[number]], schema) for number in (1, 2))).read_all()["id"].to_pylist()
    [1, 2]
    """
    return pa.RecordBatchReader.from_batches(schema, _Lasting(batches))
