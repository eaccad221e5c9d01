"""What happens on Spark's Python workers: a function that comes with a task is loaded once per process."""

import functools
import pickle
from collections.abc import Callable
from typing import Any

__all__ = ["load"]

#: How many functions a worker keeps; workers serve one task after another, of any query.
_KEPT = 32


@functools.lru_cache(maxsize=_KEPT)
def load(content: bytes) -> Callable[..., Any]:
    """Load a pickled function, or give the one that this process has loaded before.

    What it holds (compiled programs, schemas fetched by their id, the registry's client) thus serves all
    tasks that this process gets.

    Parameters
    ----------
    content : bytes
        The pickled function.

    Returns
    -------
    callable

    Examples
    --------
    >>> import pickle
    >>> load(pickle.dumps(len)) is len
    True
    """
    function: Callable[..., Any] = pickle.loads(content)
    return function
