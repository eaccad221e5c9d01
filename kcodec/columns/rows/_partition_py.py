"""Rows of a column that are read apart from others, in plain Python; see ``partition.py``."""

import sys
from collections.abc import Sequence

import pyarrow as pa

from kcodec.arguments import Buffer
from kcodec.columns.faults import integers

__all__ = ["partition", "scatter"]


def partition(selector: Buffer, numbers: Sequence[int], count: int) -> list[bytearray]:
    """Return the rows of each part; see `kcodec.columns.rows.partition.partition`."""
    parts = [bytearray() for _ in range(count)]
    for row, chosen in enumerate(memoryview(selector).cast("B").cast("i")):
        number = numbers[chosen] if 0 <= chosen < len(numbers) else -1
        if 0 <= number < count:
            parts[number] += row.to_bytes(4, sys.byteorder)
    return parts


def scatter(array: pa.Array, rows: Buffer, length: int) -> pa.Array:
    """Return the values of an array in some of more rows; see `kcodec.columns.rows.partition.scatter`."""
    places: list[int | None] = [None] * length
    before = -1
    for number, row in enumerate(memoryview(rows).cast("B").cast("i")):
        if not before < row < length:
            raise ValueError("the rows are not in order")
        places[row], before = number, row
    count = len(memoryview(rows).cast("B")) // 4
    if count != len(array):
        raise ValueError(f"{len(array)} values do not go to {count} rows")
    return array.take(integers(places))
