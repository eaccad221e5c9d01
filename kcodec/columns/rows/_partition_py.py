"""Rows of a column that are read apart from others, in plain Python; see ``partition.py``."""

import sys
from collections.abc import Sequence

from kcodec.arguments import Buffer

__all__ = ["partition"]


def partition(selector: Buffer, numbers: Sequence[int], count: int) -> list[bytearray]:
    """Return the rows of each part; see `kcodec.columns.rows.partition.partition`."""
    parts = [bytearray() for _ in range(count)]
    for row, chosen in enumerate(memoryview(selector).cast("B").cast("i")):
        number = numbers[chosen] if 0 <= chosen < len(numbers) else -1
        if 0 <= number < count:
            parts[number] += row.to_bytes(4, sys.byteorder)
    return parts
