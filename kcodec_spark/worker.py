"""What happens on Spark's Python workers: a function that comes with a task is loaded once per process."""

import functools
import logging
import pickle
from collections.abc import Callable
from typing import Any

__all__ = ["load"]

#: How many functions a worker keeps; workers serve one task after another, of any query.
_KEPT = 32

_logger = logging.getLogger("kcodec")


def load(content: bytes, level: int) -> Callable[..., Any]:
    """Load a pickled function, or give the one that this process has loaded before.

    What it holds (compiled programs, schemas fetched by their id, the registry's client) thus serves all
    tasks that this process gets.

    Parameters
    ----------
    content : bytes
        The pickled function.
    level : int
        What the logger ``kcodec`` is to tell from now on: its level where the query was made.

    Returns
    -------
    callable

    Examples
    --------
    >>> import pickle
    >>> load(pickle.dumps(len), 0) is len
    True
    """
    if _logger.level != level:
        _logger.setLevel(level)
    return _unpickled(content)


@functools.lru_cache(maxsize=_KEPT)
def _unpickled(content: bytes) -> Callable[..., Any]:
    function: Callable[..., Any] = pickle.loads(content)
    return function
