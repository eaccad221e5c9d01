"""What happens on Spark's Python workers: a function that comes with a task is loaded once per process."""

import functools
import logging
import pickle
from collections.abc import Callable
from typing import Any

__all__ = ["load"]

#: Functions that a worker keeps; workers serve one task after another, of any query.
_MAX_FUNCTIONS = 32

_logger = logging.getLogger("kcodec")


def load(content: bytes, level: int) -> Callable[..., Any]:
    """Return a pickled function, loaded once per process, and set the level that kcodec's logger has from now on.

    What the function holds (compiled programs, schemas fetched by their id, the registry's client) thus serves all
    tasks that this process gets.
    """
    if _logger.level != level:
        _logger.setLevel(level)
    return _unpickled(content)


@functools.lru_cache(maxsize=_MAX_FUNCTIONS)
def _unpickled(content: bytes) -> Callable[..., Any]:
    function: Callable[..., Any] = pickle.loads(content)
    return function
