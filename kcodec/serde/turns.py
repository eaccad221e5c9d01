"""Of threads that come at once one asks the registry, and those that waited for it share what it was told in vain."""

import copy
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from kcodec._fork import fork_safe_lock
from kcodec.errors import RegistryError
from kcodec.registry.tokens import TRIED_AGAIN

T = TypeVar("T")


class Turns:
    """Under its reentrant `lock`, a registry is asked.

    Without it each thread that waits would ask a registry that does not answer for itself, one after the other, and the
    last of them would wait for as many time-outs as there are threads.

    >>> turns = Turns()
    >>> with turns.lock:
    ...     turns.ask(lambda: 7)
    7
    """

    def __init__(self) -> None:
        self._lock = fork_safe_lock()
        #: Since when a thread waits for the lock, or has waited.
        self._local = threading.local()
        self._asked = 0.0
        self._failure: RegistryError | None = None

    @property
    def lock(self) -> Any:
        """The lock, for a thread that takes it now."""
        if not self._lock._is_owned():
            self._local.since = time.monotonic()
        return self._lock

    def ask(self, asking: Callable[[], T]) -> T:
        """Return what the registry answers, or raise what came of a try that began after this thread came."""
        if self._failure is not None and self._asked >= self._local.since:
            raise copy.copy(self._failure).with_traceback(None)
        asked = time.monotonic()
        try:
            return asking()
        except RegistryError as error:
            # Others are answers, which another schema may not get.
            if error.error_code is None and (error.status is None or error.status in TRIED_AGAIN):
                self._asked, self._failure = asked, error
            raise
