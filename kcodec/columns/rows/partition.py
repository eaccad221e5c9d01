"""Rows of a column that are read apart from others."""

from collections.abc import Sequence

from kcodec._impl import kernel
from kcodec.arguments import Buffer

__all__ = ["partition"]


def partition(selector: Buffer, numbers: Sequence[int], count: int) -> Sequence[Buffer]:
    """Return the rows of each part, as int32.

    Parameters
    ----------
    selector : buffer of int32
        Per row a position in `numbers`; others, such as negative ones, are in no part.
    numbers : sequence of int
        The part that it stands for; negative: none.
    count : int
        The number of parts.

    Examples
    --------
    >>> import numpy as np
    >>> parts = partition(np.array([1, 0, -1, 1], np.int32), [0, 1], 2)
    >>> [np.frombuffer(rows, np.int32).tolist() for rows in parts]
    [[1], [0, 3]]
    """
    return kernel("columns.rows._partition").partition(selector, numbers, count)
