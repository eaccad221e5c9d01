"""Which partition each record goes to."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec._impl import kernel
from kcodec.columns.arrays.given import payloads
from kcodec.errors import ConfigError, is_whole

#: Of its own: an application's seed stays as it is.
_RANDOM = random.Random()


def partition_of(keys: Any, partitions: int) -> pa.Array:
    """Return the partition of each key, as the default partitioner of Java's producer chooses it.

    Parameters
    ----------
    keys : pyarrow.Array, list of bytes or None, or an Arrow producer
        Encoded keys.
    partitions : int
        How many the topic has.

    Returns
    -------
    pyarrow.Int32Array
        Null where the key is null: these records may go anywhere.

    Raises
    ------
    ConfigError
        If a topic cannot have so many partitions.
    TypeError
        If the keys are not a column of payloads.

    Examples
    --------
    >>> partition_of([b"foobar", None, b"21"], 10).to_pylist()
    [6, None, 0]
    """
    if not is_whole(partitions) or not 0 < partitions < 1 << 31:
        raise ConfigError(f"partitions={partitions!r} is not a number of partitions")
    chunks = payloads(keys)[0]
    parts = []
    for chunk in chunks:
        numbers = (kernel("kafka.writing._murmur2").hash_rows(chunk) & 0x7FFFFFFF) % partitions
        null = None if not chunk.null_count else chunk.is_null().to_numpy(zero_copy_only=False)
        parts.append(pa.array(numbers.astype(np.int32), mask=null))
    return pa.concat_arrays(parts) if parts else pa.array([], pa.int32())


class Partitioner:
    """Chooses partitions of one topic, one column of records after the other.

    Records without a key become batches of one partition after the other.
    """

    def __init__(self, partitions: list[int], batch_bytes: int) -> None:
        self._partitions = np.array(partitions, np.int32)
        self._batch_bytes = batch_bytes
        # From any of them on: others write to the topic, too.
        first = _RANDOM.randrange(len(partitions))
        self._turns = itertools.cycle([*partitions[first:], *partitions[:first]])

    def runs(self, ends: Any) -> Iterator[tuple[int, int, int]]:
        """Yield the partition of each run of records without keys, its first record, and the one behind its last.

        `ends` is a NumPy array: how many bytes there are up to the end of each record. The runs are as few as batches
        can be, and of about the same size: then none is a short one, and each is a request of its own.
        """
        count = max(-(-int(ends[-1]) // self._batch_bytes), 1)
        rows = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count, "right")
        for start, end in itertools.pairwise([0, *rows.tolist(), len(ends)]):
            if start < end:
                yield next(self._turns), start, end

    def choose(self, keys: pa.Array, sizes: Any) -> Any:
        """Return the partition of each record, as a NumPy array; `sizes` are the bytes of the records."""
        count = len(self._partitions)
        free = keys.is_null().to_numpy(zero_copy_only=False)
        numbers = self._partitions[partition_of(keys, count).fill_null(0).to_numpy()]
        if free.any():
            ends = np.cumsum(sizes[free])
            numbers[free] = np.concatenate(
                [np.full(end - start, number, np.int32) for number, start, end in self.runs(ends)]
            )
        return numbers
