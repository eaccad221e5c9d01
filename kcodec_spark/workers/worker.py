"""What happens on Spark's Python workers: a function that comes with a task is loaded once per process."""

import functools
import logging
import pickle
import time
from collections.abc import Callable
from typing import Any

#: Functions that a worker keeps; workers serve one task after another, of any query.
_MAX_FUNCTIONS = 32

#: Seconds in which a function warns once, whatever the number of its batches with bad rows.
_QUIET = 60

_logger = logging.getLogger("kcodec")


class _Function:
    """A function of Spark with its name and its last warnings."""

    def __init__(self, content: bytes) -> None:
        self.name = ""
        self._function: Callable[..., Any] = pickle.loads(content)
        self._warned: float | None = None
        self._unsaid = 0

    def __call__(self, *columns: Any) -> Any:
        """Return what the function returns, with its warnings named after it, and throttled."""
        _logger.addFilter(self._told)
        try:
            return self._function(*columns)
        finally:
            _logger.removeFilter(self._told)

    def _told(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        now = time.monotonic()
        if self._warned is not None and now < self._warned + _QUIET and _logger.level != logging.DEBUG:
            self._unsaid += 1
            return False
        before = f" ({self._unsaid} such warnings since the last one)" if self._unsaid else ""
        record.msg, record.args = f"{self.name}: {record.getMessage()}{before}", ()
        self._warned, self._unsaid = now, 0
        return True


def load(content: bytes, level: int, name: str) -> Callable[..., Any]:
    """Return a pickled function, loaded once per process, and set the level that kcodec's logger has from now on.

    What the function holds (compiled programs, schemas fetched by their id, the registry's client) thus serves all
    tasks that this process gets. `name` is what its warnings begin with.
    """
    if _logger.level != level:
        _logger.setLevel(level)
    function = _unpickled(content)
    function.name = name
    return function


@functools.lru_cache(maxsize=_MAX_FUNCTIONS)
def _unpickled(content: bytes) -> _Function:
    return _Function(content)
