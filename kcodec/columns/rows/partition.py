"""Rows of a column that are read apart from others."""

from collections.abc import Sequence

from kcodec._impl import kernel
from kcodec.arguments import Buffer


def partition(selector: Buffer, numbers: Sequence[int], count: int) -> Sequence[Buffer]:
    """Return the rows of each of so many parts, as int32.

    `selector` has per row, as int32, a position in `numbers`, where the number of its part stands. A row whose position
    is none, or whose part is negative, is in no part.

    >>> import numpy as np
    >>> parts = partition(np.array([1, 0, -1, 1], np.int32), [0, 1], 2)
    >>> [np.frombuffer(rows, np.int32).tolist() for rows in parts]
    [[1], [0, 3]]
    """
    return kernel("columns.rows._partition").partition(selector, numbers, count)
