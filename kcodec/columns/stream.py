"""Readers of batches that are made as they are read."""

import threading
from collections.abc import Iterable, Iterator

import pyarrow as pa

from kcodec.errors import KcodecError
from kcodec.typing import Tables

__all__ = ["Lasting", "reader_of", "stream"]


class Lasting(Iterator[pa.RecordBatch]):
    """Batches up to an error, which is raised whenever another is asked for; a generator would then be at its end.

    Threads that ask at the same time get one each, in turn; a generator would raise `ValueError`.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        They are made as they are asked for.
    interrupted : type of KcodecError
        What is raised behind an interruption, such as that of a keyboard.

    Examples
    --------
    >>> lasting = Lasting(pa.record_batch({"half": [1 // number]}) for number in (1, 0, 2))
    >>> next(lasting).num_rows
    1
    >>> for _ in range(2):
    ...     try:
    ...         next(lasting)
    ...     except ZeroDivisionError as error:
    ...         print(error)
    integer division or modulo by zero
    integer division or modulo by zero
    """

    def __init__(
        self, batches: Iterable[pa.RecordBatch], interrupted: type[KcodecError] = KcodecError
    ) -> None:
        self._batches = iter(batches)
        self._interrupted = interrupted
        self._failure: Exception | None = None
        self._lock = threading.RLock()

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            return self._following()

    def _following(self) -> pa.RecordBatch:
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except BaseException as error:
            lasting = error if isinstance(error, Exception) else self._interrupted("reading was interrupted")
            self._failure = lasting
            raise


def stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Return a reader of batches that are made as it is read; after an error it has no end.

    Examples
    --------
    >>> schema = pa.schema({"id": pa.int64()})
    >>> stream(schema, (pa.record_batch([[number]], schema) for number in (1, 2))).read_all()["id"].to_pylist()
    [1, 2]
    """
    return pa.RecordBatchReader.from_batches(schema, Lasting(batches))


def reader_of(data: Tables) -> pa.RecordBatchReader:
    """Return the batches of a table, a batch, a reader, or of what else has Arrow's C interface for one.

    Raises
    ------
    TypeError
        If it is no table.

    Examples
    --------
    >>> reader_of(pa.record_batch({"id": [1, 2]})).read_all().num_rows
    2
    """
    if isinstance(data, pa.RecordBatchReader):
        return data
    try:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data)
        if hasattr(data, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(data)]).to_reader()
    except pa.ArrowInvalid as error:
        # A column.
        raise TypeError(f"{type(data).__name__} is no table: {error}") from None
    raise TypeError(f"{type(data).__name__} is no table")
