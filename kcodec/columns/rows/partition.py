"""Rows of a column that are read apart from others, and their results among nulls."""

from collections.abc import Sequence

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.arguments import Buffer

__all__ = ["partition", "scatter"]


def partition(selector: Buffer, numbers: Sequence[int], count: int) -> list[bytearray]:
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
    parts: list[bytearray] = kernel("columns.rows._partition").partition(selector, numbers, count)
    return parts


def scatter(array: pa.Array, rows: Buffer, length: int) -> pa.Array:
    """Return the values of an array in some of more rows, of which the others are null.

    Parameters
    ----------
    array : pyarrow.Array
        The values.
    rows : buffer of int32
        The row of each, in order.
    length : int
        The number of rows in all.

    Examples
    --------
    >>> import numpy as np
    >>> scatter(pa.array(["a", "b"]), np.array([1, 3], np.int32), 5).to_pylist()
    [None, 'a', None, 'b', None]
    """
    return kernel("columns.rows._partition").scatter(array, rows, length)
