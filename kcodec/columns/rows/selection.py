"""Which rows of a column are read, of those that belong to several programs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kcodec.arguments import Buffer


def select_rows(selector: Buffer, chosen: Sequence[bool]) -> Any:
    """Return the selector of the rows whose programs are chosen: 0 where they are, negative where they are not.

    >>> select_rows(np.array([0, 1, -2], np.int32), [False, True]).tolist()
    [-1, 0, -1]
    """
    if len(chosen) == 1 and chosen[0]:
        return selector
    numbers = np.frombuffer(selector, np.int32)
    if all(chosen):
        return np.minimum(numbers, 0)
    return mapped_rows(selector, [0 if each else -1 for each in chosen])


def mapped_rows(selector: Buffer, numbers: Sequence[int]) -> Any:
    """Return the selector of rows whose programs have other numbers, which are negative for those that are not read.

    >>> mapped_rows(np.array([0, 1, -2], np.int32), [3, -1]).tolist()
    [3, -1, -1]
    """
    # A negative number picks from the end.
    table = np.array([*numbers, -1], np.int32)
    return table[np.maximum(np.frombuffer(selector, np.int32), -1)]
